/* XPlane: what XLA, JAX and TensorFlow write as <host>.xplane.pb. docs/formats/xplane.md
 *
 * The file is one protobuf message; its planes are read one at a time: first their names and all
 * else that is no line, then the lines. */
#include "read/xplane.h"

#include <stdio.h>

#include "base/input.h"
#include "base/limits.h"
#include "base/turns.h"
#include "read/reader.h"

enum { SNIFF_FIELDS = 8, META_STATS_MAX = 64, KNOWN_MAX = 32 };

/* ------------------------------------------------------------------ which file it is */

static bool is_plane_name(assay_str s)
{
	static const char *const starts[] = {"/host:",    "/device:", XPLANE_TASK,
					     "Host CPUs", "Syscalls", "#Chip"};
	return assay_str_starts_any(s, starts, ASSAY_COUNT_OF(starts));
}

static bool plane_has_name(assay_str message)
{
	assay_proto c = assay_proto_on(message);
	for (assay_field f; assay_proto_next(&c, &f);)
		if (f.number == XPLANE_NAME && f.wire == ASSAY_WIRE_BYTES)
			return is_plane_name(f.bytes);
	return false;
}

static int xplane_sniff(assay_str head)
{
	assay_proto c = assay_proto_on(head);
	assay_field f;
	for (int i = 0; i < SNIFF_FIELDS; i++) {
		if (!assay_proto_next(&c, &f) && !c.cut)
			return 0;
		if (f.wire != ASSAY_WIRE_BYTES || f.number > XSPACE_HOSTNAMES)
			return 0;
		if (f.number == XSPACE_PLANES)
			return plane_has_name(f.bytes) ? 92 : 0;
		if (c.cut)
			return 0;
	}
	return 0;
}

/* ------------------------------------------------------------------ what a plane's names are */

static int8_t known_stat(assay_str name)
{
	if (name.n > KNOWN_MAX) /* as most texts that only values refer to */
		return -1;
	for (int8_t i = 0; i < XPLANE_STAT_COUNT; i++)
		if (assay_str_is(name, xplane_stat_name[i]))
			return i;
	return assay_str_is(name, "labels_from_scopes") ? XPLANE_MADE : -1; /* in older files */
}

/* A map entry: the key, and the message it leads to. */
static bool map_entry(assay_str entry, uint64_t *key, assay_str *value)
{
	assay_proto c = assay_proto_on(entry);
	*key = 0;
	*value = (assay_str){"", 0};
	for (assay_field f; assay_proto_next(&c, &f);) {
		if (f.number == XENTRY_KEY && f.wire == ASSAY_WIRE_VARINT)
			*key = f.value;
		else if (f.number == XENTRY_VALUE && f.wire == ASSAY_WIRE_BYTES)
			*value = f.bytes;
	}
	return !c.bad && !c.cut;
}

static assay_str text_field(assay_str message, uint32_t field)
{
	assay_proto c = assay_proto_on(message);
	assay_str found = {"", 0};
	for (assay_field f; assay_proto_next(&c, &f);)
		if (f.number == field && f.wire == ASSAY_WIRE_BYTES)
			found = f.bytes;
	return found;
}

static void set_index(xplane_ids *ids, uint64_t id, size_t index)
{
	if (id >= XPLANE_LOW_IDS) {
		*assay_map_at(&ids->high, id) = (uint32_t)index;
		return;
	}
	while (ids->low.n <= id)
		*assay_push(&ids->low) = ASSAY_MAP_ABSENT;
	ids->low.p[id] = (uint32_t)index;
}

/* Whether the plane is taken apart; of the others the writer has every byte. */
static bool is_taken_apart(const xplane_plane *p)
{
	return p->device || p->host || p->beside;
}

static void keep_name(xplane *x, assay_kept_of of, assay_str name)
{
	if (x->rest.out.n && name.n)
		xplane_keep(x, x->plane->place, of, assay_intern(&x->part->strings, name),
			    assay_protow_data(&x->rest));
}

/* The halves of an entry of a map of metadata; one that has none is counted. */
static bool take_meta(xplane *x, assay_str entry, uint64_t *key, assay_str *value)
{
	bool ok = map_entry(entry, key, value);
	assay_count(x->part, ASSAY_ISSUE_bad_record, !ok);
	return ok;
}

static void add_stat_meta(xplane *x, assay_str entry)
{
	uint64_t key;
	assay_str value;
	if (!take_meta(x, entry, &key, &value))
		return;
	assay_str name = text_field(value, XMETA_NAME);
	set_index(&x->plane->stat_at, key, x->plane->stats.n);
	*assay_push(&x->plane->stats) = (xplane_stat_meta){
		name, known_stat(name), xplane_host_kind(name), xplane_is_label(name)};
	if (!is_taken_apart(x->plane))
		return;
	assay_proto c = assay_proto_on(value);
	x->rest.out.n = 0;
	for (assay_field f; assay_proto_next(&c, &f);)
		if (f.number >= XMETA_BYTES)
			assay_protow_raw(&x->rest, f.whole);
	keep_name(x, ASSAY_KEPT_STAT_NAME, name);
}

static void add_event_meta(xplane *x, assay_str entry)
{
	uint64_t key;
	assay_str value;
	if (!take_meta(x, entry, &key, &value))
		return;
	assay_str name = text_field(value, XMETA_NAME);
	if (!name.n)
		name = text_field(value, XMETA_DISPLAY_NAME);
	set_index(&x->plane->event_at, key, x->plane->events.n);
	xplane_event_meta meta = {.name = name,
				  .first = (uint32_t)x->plane->meta_stats.n,
				  .runtime = x->plane->host && xplane_name_is_runtime(name)};
	assay_proto c = assay_proto_on(value);
	for (assay_field f; meta.stats < META_STATS_MAX && assay_proto_next(&c, &f);)
		if (f.number == XMETA_STATS && f.wire == ASSAY_WIRE_BYTES) {
			*assay_push(&x->plane->meta_stats) = (xplane_stat_at){f.whole, f.bytes};
			meta.stats++;
		}
	*assay_push(&x->plane->events) = meta;
}

static void keep_child(xplane *x, uint64_t id)
{
	uint32_t i = xplane_index(&x->plane->event_at, id);
	assay_str name = {"", 0};
	if (i != ASSAY_MAP_ABSENT)
		name = x->plane->events.p[i].name;
	if (name.n && xplane_afford(x, name.n))
		assay_protow_bytes(&x->rest, XMETA_CHILD_ID, name);
}

/* A list of numbers is one field or many. */
static void keep_children(xplane *x, const assay_field *f)
{
	if (f->wire == ASSAY_WIRE_VARINT)
		keep_child(x, f->value);
	if (f->wire != ASSAY_WIRE_BYTES)
		return;
	uint64_t id;
	for (assay_str list = f->bytes; assay_proto_varint(&list, &id);)
		keep_child(x, id);
}

static void keep_meta_stat(xplane *x, assay_str stat)
{
	const xplane_stat_meta *meta;
	xplane_value v;
	bool more;
	if (xplane_value_read(x->plane, stat, &meta, &v, &more) && more)
		xplane_stat_rest(x, &x->rest, XMETA_STATS, meta->name, stat);
}

/* What an event's metadata has beyond what rows say, once all names are known. */
static void keep_event_meta(xplane *x, assay_str entry)
{
	uint64_t key;
	assay_str value;
	if (!map_entry(entry, &key, &value))
		return;
	assay_proto c = assay_proto_on(value);
	x->rest.out.n = 0;
	for (assay_field f; assay_proto_next(&c, &f);) {
		if (f.number == XMETA_CHILD_ID)
			keep_children(x, &f);
		else if (f.number >= XMETA_BYTES && f.number != XMETA_STATS)
			assay_protow_raw(&x->rest, f.whole);
	}
	c = assay_proto_on(value);
	for (assay_field f; assay_proto_next(&c, &f);)
		if (f.number == XMETA_STATS && f.wire == ASSAY_WIRE_BYTES)
			keep_meta_stat(x, f.bytes);
	keep_name(x, ASSAY_KEPT_NAME, text_field(value, XMETA_NAME));
}

/* ------------------------------------------------------------------ planes */

void xplane_keep(xplane *x, assay_str place, assay_kept_of of, uint32_t row, assay_str bytes)
{
	assay_kept_table *k = &x->part->t.kept;
	uint32_t r = assay_add(&x->part->t, ASSAY_T_kept);
	k->of[r] = (uint8_t)of;
	k->row[r] = row;
	k->source[r] = x->part->source;
	k->format[r] = assay_intern_z(&x->part->strings, "xplane");
	k->place[r] = assay_intern(&x->part->strings, place);
	k->bytes[r] = assay_intern(&x->part->strings, bytes);
}

/* A plane's own stats become header facts named "<plane>.<stat>". */
static void plane_stat(xplane *x, assay_str message)
{
	const xplane_stat_meta *meta;
	xplane_value v;
	bool more;
	if (!xplane_value_read(x->plane, message, &meta, &v, &more) || !meta->name.n)
		return;
	if (more) {
		x->rest.out.n = 0;
		xplane_stat_rest(x, &x->rest, XPLANE_STATS, meta->name, message);
		xplane_keep(x, x->plane->place, ASSAY_KEPT_PLANE, ASSAY_NO_ROW,
			    assay_protow_data(&x->rest));
	}
	if (!v.field || v.field == XSTAT_BYTES || assay_str_is(meta->name, XPLANE_INPUT) ||
	    assay_str_is(meta->name, XPLANE_DEVICE_ID))
		return;
	if (assay_str_is(meta->name, XPLANE_THREADS)) {
		xplane_threads_stat(x, v.text);
		return;
	}
	assay_jsonw w = {.compact = true};
	xplane_value_json(&w, &v, &x->scratch);
	const char *key = assay_printf(&x->scratch, "%.*s.%.*s", (int)x->plane->name.n,
				       x->plane->name.p, (int)meta->name.n, meta->name.p);
	assay_meta_add(x->part, key, assay_jsonw_text(&w));
	assay_jsonw_free(&w);
	if (assay_str_is(meta->name, "process_id") && v.num >= 0)
		x->plane->pid = v.num;
}

static void each_plane_stat(xplane *x, void (*take)(xplane *, assay_str))
{
	assay_proto c = assay_proto_on(x->plane->message);
	for (assay_field f; assay_proto_next(&c, &f);)
		if (f.number == XPLANE_STATS && f.wire == ASSAY_WIRE_BYTES)
			take(x, f.bytes);
}

static void device_stat(xplane *x, assay_str message)
{
	const xplane_stat_meta *meta;
	xplane_value v;
	assay_device_table *d = &x->part->t.device;
	uint32_t r = (uint32_t)d->n - 1;
	bool more;
	if (!xplane_value_read(x->plane, message, &meta, &v, &more))
		return;
	if (assay_str_is(meta->name, "device_vendor")) {
		assay_vendor vendor = assay_vendor_of(v.text);
		x->plane->amd = vendor == ASSAY_VENDOR_AMD;
		d->vendor[r] = assay_intern_z(&x->part->strings, assay_vendor_name[vendor]);
	} else if (assay_str_is(meta->name, "gpu_device_name")) {
		d->name[r] = assay_intern(&x->part->strings, v.text);
	} else if (assay_str_is(meta->name, XPLANE_PRODUCT)) {
		x->plane->product = assay_intern(&x->part->strings, v.text);
	} else if (assay_str_is(meta->name, "memory_size")) {
		d->memory[r] = v.num;
	} else if (assay_str_is(meta->name, "core_count")) {
		d->units[r] = v.num >= 0 && v.num <= INT32_MAX ? (int32_t)v.num : -1;
	} else if (assay_str_is(meta->name, "warp_size")) {
		d->warp[r] = v.num > 0 && v.num <= INT32_MAX ? (int32_t)v.num : -1;
	} else if (assay_str_is(meta->name, "compute_cap_major") && v.num < 1000) {
		x->plane->major = v.num;
	} else if (assay_str_is(meta->name, "compute_cap_minor") && v.num < 1000) {
		x->plane->minor = v.num;
	}
}

static void read_device(xplane *x)
{
	char arch[32];
	uint32_t r = assay_add(&x->part->t, ASSAY_T_device);
	assay_device_table *d = &x->part->t.device;
	d->source[r] = x->part->source;
	d->id[r] = (int32_t)x->plane->id;
	each_plane_stat(x, device_stat);
	if (x->plane->major >= 0 && x->plane->minor >= 0 && !x->plane->amd) {
		snprintf(arch, sizeof arch, "sm_%d%d", (int)x->plane->major, (int)x->plane->minor);
		d->arch[r] = assay_intern_z(&x->part->strings, arch);
	} else if (assay_str_starts(assay_pool_get(&x->part->strings, d->name[r]), "gfx")) {
		d->arch[r] = d->name[r];
	}
	if (x->plane->product)
		d->name[r] = x->plane->product;
}

static void task_stat(xplane *x, assay_str message)
{
	const xplane_stat_meta *meta;
	xplane_value v;
	bool more;
	if (!xplane_value_read(x->plane, message, &meta, &v, &more) ||
	    !assay_str_is(meta->name, "profile_start_time") || v.num <= 0)
		return;
	x->part->t.source.base[x->part->source] = v.num;
	x->part->t.source.epoch[x->part->source] = 1;
}

/* What our writer knew of the input beside them. */
static void number_fact(xplane *x, assay_str name, int64_t v)
{
	assay_source_table *s = &x->part->t.source;
	uint32_t source = x->part->source;
	if (v < 0 || v > INT32_MAX)
		return;
	if (assay_str_is(name, xplane_number_name[XPLANE_RANK]))
		s->rank[source] = (int32_t)v;
	else if (assay_str_is(name, xplane_number_name[XPLANE_WORLD]))
		s->world[source] = (int32_t)v;
	else if (assay_str_is(name, xplane_number_name[XPLANE_ZEROS]))
		s->zeros[source] = (uint8_t)(v & ((1 << ASSAY_ZEROS) - 1));
}

/* A fact of the header that our writer put here. */
static void fact_stat(xplane *x, assay_str message)
{
	const xplane_stat_meta *meta;
	xplane_value v;
	bool more;
	if (!xplane_value_read(x->plane, message, &meta, &v, &more) || !meta->name.n)
		return;
	if (assay_str_is(meta->name, XPLANE_DEVICES))
		xplane_devices_stat(x, v.text);
	else if (assay_str_is(meta->name, XPLANE_STREAMS))
		xplane_streams_stat(x, v.text);
	else if (v.field == XSTAT_STR || v.field == XSTAT_REF)
		assay_meta_add(x->part, assay_dup(&x->scratch, meta->name), v.text);
	else if (v.field == XSTAT_INT64)
		number_fact(x, meta->name, v.num);
}

/* Behind the looks that lead to it. */
static void frames_stat(xplane *x, assay_str message)
{
	const xplane_stat_meta *meta;
	xplane_value v;
	bool more;
	if (xplane_value_read(x->plane, message, &meta, &v, &more) &&
	    assay_str_is(meta->name, XPLANE_FRAMES) && v.text.n)
		assay_file_stacks_add(x->stacks, v.text);
}

/* metadata_id is the child, int64_value the parent; there are no names. */
static void tree_stat(xplane *x, assay_str message)
{
	assay_proto c = assay_proto_on(message);
	int64_t child = 0, parent = 0;
	for (assay_field f; assay_proto_next(&c, &f);) {
		if (f.number == XSTAT_META && f.wire == ASSAY_WIRE_VARINT)
			child = assay_field_i64(&f);
		else if (f.number == XSTAT_INT64 && f.wire == ASSAY_WIRE_VARINT)
			parent = assay_field_i64(&f);
	}
	if (!child || !parent)
		return;
	uint32_t r = assay_add(&x->part->t, ASSAY_T_given_link);
	x->part->t.given_link.source[r] = x->part->source;
	x->part->t.given_link.child[r] = child;
	x->part->t.given_link.parent[r] = parent;
}

/* Names first: events refer to them and stand in front of them. */
static void read_names(xplane *x)
{
	xplane_plane *p = x->plane;
	assay_proto c = assay_proto_on(p->message);
	for (assay_field f; assay_proto_next(&c, &f);) {
		if (f.number == XPLANE_ID && f.wire == ASSAY_WIRE_VARINT)
			p->id = assay_field_i64(&f);
		else if (f.wire != ASSAY_WIRE_BYTES)
			continue;
		else if (f.number == XPLANE_STAT_META)
			add_stat_meta(x, f.bytes);
		else if (f.number == XPLANE_EVENT_META)
			add_event_meta(x, f.bytes);
	}
	c = assay_proto_on(p->message);
	for (assay_field f; is_taken_apart(p) && assay_proto_next(&c, &f);)
		if (f.number == XPLANE_EVENT_META && f.wire == ASSAY_WIRE_BYTES)
			keep_event_meta(x, f.bytes);
}

/* Planes of a recorder's own that are merged into /host:CPU when a file is finished. */
static bool is_host_plane(assay_str name)
{
	static const char *const names[] = {XPLANE_HOST, "/host:CUPTI", "/host:ROCTRACER",
					    "/host:NVTX-CUPTI", "/host:python-tracer"};
	return assay_str_starts_any(name, names, ASSAY_COUNT_OF(names));
}

/* The number behind a plane's name; ids are missing in some files. */
static bool number_of(assay_str name, size_t prefix, int64_t *id)
{
	return assay_str_i64((assay_str){name.p + prefix, name.n - prefix}, id) && *id >= 0 &&
	       *id <= INT32_MAX;
}

static bool is_facts(const xplane_plane *p)
{
	return assay_str_starts(p->name, XPLANE_FACTS);
}

/* Where the lines are, and all else there is. */
static void look_over(xplane *x, xplane_place message)
{
	xplane_plane *p = x->plane;
	xplane_walk k = xplane_walk_on(x->text, &x->window, message);
	xplane_field f;
	while (xplane_walk_next(&k, &f)) {
		if (f.f.number == XPLANE_LINES && f.f.wire == ASSAY_WIRE_BYTES) {
			*assay_push(&p->lines) = f.body;
			continue;
		}
		assay_str whole = xplane_place_bytes(x->text, &x->window, f.whole);
		assay_vec_reserve(&p->fields, p->fields.n + whole.n + ASSAY_PAD);
		memcpy(p->fields.p + p->fields.n, whole.p, whole.n);
		p->fields.n += whole.n;
	}
	if (k.cut && f.f.number == XPLANE_LINES && f.f.wire == ASSAY_WIRE_BYTES)
		*assay_push(&p->lines) = f.body; /* the whole events in front of the cut */
	if (k.bad || k.cut)
		assay_count(x->part, ASSAY_ISSUE_bad_record, 1);
	p->message = (assay_str){p->fields.p, p->fields.n};
}

/* Of planes that our writer made of several inputs: what they were there. */
static void find_input(xplane *x)
{
	xplane_plane *p = x->plane;
	int64_t number = p->id;
	x->part->source = x->inputs->first;
	if (!p->device && !p->beside && !is_facts(p))
		return;
	each_plane_stat(x, xplane_input_stat);
	if (p->id != number) {
		snprintf(p->renamed, sizeof p->renamed, "%s%d",
			 p->device ? XPLANE_GPU : XPLANE_BESIDE, (int)p->id);
		p->name = p->place = assay_str_of(p->renamed);
	}
}

static void begin_plane(xplane *x, xplane_place message)
{
	xplane_plane *p = x->plane;
	*p = (xplane_plane){.number = p->number + 1, .pid = -1, .major = -1, .minor = -1};
	look_over(x, message);
	p->name = text_field(p->message, XPLANE_NAME);
	p->device = assay_str_starts(p->name, XPLANE_GPU);
	p->beside = assay_str_starts(p->name, XPLANE_BESIDE);
	p->host = is_host_plane(p->name);
	/* all hosts are written as one */
	p->place = p->host ? ASSAY_S(XPLANE_HOST) : p->name;
	read_names(x);
	if (p->beside && !number_of(p->name, sizeof XPLANE_BESIDE - 1, &p->id))
		p->id = -1;
	int64_t id;
	if (p->device && number_of(p->name, sizeof XPLANE_GPU - 1, &id))
		p->id = id;
	find_input(x);
}

static void free_ids(xplane_ids *ids)
{
	assay_vec_free(&ids->low);
	assay_map_free(&ids->high);
}

static void end_plane(xplane *x)
{
	assay_vec_free(&x->plane->fields);
	assay_vec_free(&x->plane->lines);
	assay_vec_free(&x->plane->stats);
	assay_vec_free(&x->plane->events);
	assay_vec_free(&x->plane->meta_stats);
	free_ids(&x->plane->stat_at);
	free_ids(&x->plane->event_at);
}

/* Modules that our writer made of scopes: made again when the run is written. */
static bool is_our_hlo(const xplane *x)
{
	if (!assay_str_is(x->plane->name, XPLANE_METADATA))
		return false;
	for (size_t i = 0; i < x->plane->stats.n; i++)
		if (x->plane->stats.p[i].known == XPLANE_MADE)
			return true;
	return false;
}

/* whole: with its tag; empty where the file ends in it. */
static void read_plane(xplane *x, xplane_crew *crew, xplane_place message, xplane_place whole)
{
	size_t first_gpu_row = x->part->t.gpu.n;
	begin_plane(x, message);
	if (x->plane->beside) {
		each_plane_stat(x, frames_stat);
		xplane_lines_read(crew);
	} else if (x->plane->device) {
		each_plane_stat(x, plane_stat);
		read_device(x);
		xplane_lines_read(crew);
		xplane_device_end(x, first_gpu_row);
	} else if (x->plane->host) {
		each_plane_stat(x, plane_stat);
		xplane_lines_read(crew);
	} else if (assay_str_is(x->plane->name, XPLANE_SCOPE_TREE)) {
		each_plane_stat(x, tree_stat);
	} else if (is_facts(x->plane)) {
		each_plane_stat(x, fact_stat);
	} else {
		if (assay_str_is(x->plane->name, XPLANE_TASK))
			each_plane_stat(x, task_stat);
		if (whole.n && !is_our_hlo(x))
			xplane_keep(x, x->plane->place, ASSAY_KEPT_PLACE, ASSAY_NO_ROW,
				    xplane_place_bytes(x->text, &x->window, whole));
	}
	end_plane(x);
	x->part->source = x->inputs->first;
}

/* A field of the file itself that is no plane. */
static void take_field(assay_run *run, xplane *x, const xplane_field *f)
{
	assay_str whole = xplane_place_bytes(x->text, &x->window, f->whole);
	assay_str bytes = {whole.p + (f->whole.n - f->body.n), (size_t)f->body.n};
	bool text = f->f.wire == ASSAY_WIRE_BYTES && whole.n == f->whole.n;
	if (text && (f->f.number == XSPACE_WARNINGS || f->f.number == XSPACE_ERRORS))
		assay_warn(run, "xplane_warning", "the recorder says: %.*s",
			   (int)(bytes.n < 400 ? bytes.n : 400), bytes.p);
	if (text && f->f.number == XSPACE_HOSTNAMES)
		assay_meta_add(x->part, "hostname", bytes);
	xplane_keep(x, ASSAY_S(XPLANE_KEPT_SPACE), ASSAY_KEPT_PLACE, ASSAY_NO_ROW, whole);
}

/* The field that starts at pos, which is then behind it; false when the file ends in it. */
static bool read_field(assay_run *run, xplane *x, xplane_crew *crew, uint64_t *pos)
{
	xplane_walk k =
		xplane_walk_on(x->text, &x->window, (xplane_place){*pos, x->text->end - *pos});
	xplane_field f;
	bool whole = xplane_walk_next(&k, &f);
	bool plane = f.f.number == XSPACE_PLANES && f.f.wire == ASSAY_WIRE_BYTES;
	*pos = k.at;
	if (whole && plane) {
		read_plane(x, crew, f.body, f.whole);
	} else if (whole) {
		take_field(run, x, &f);
	} else if (k.cut) {
		assay_count(x->part, ASSAY_ISSUE_truncated, 1);
		if (plane)
			read_plane(x, crew, f.body, (xplane_place){0});
	} else {
		assay_count(x->part, ASSAY_ISSUE_bad_record, 1);
	}
	return whole;
}

/* By what the file has to say, as far as its next field goes. */
static void allow_args(xplane *x, uint64_t pos)
{
	size_t want = assay_proto_need(xplane_bytes(x->text, &x->window, pos, ASSAY_PROTO_HEAD));
	uint64_t left = x->text->end - pos;
	x->args_left += ASSAY_LIMIT_ARGS_RATIO * (left < want ? left : want);
}

static bool xplane_read(assay_run *run, assay_input *in, assay_err *err)
{
	assay_arena a = {0};
	xplane_plane plane = {0};
	xplane_text text;
	xplane *x = assay_alloc(&a, sizeof *x);
	assay_file_stacks stacks;
	xplane_inputs inputs = {.first = run->part.source};
	assay_file_stacks_begin(&stacks, &run->part);
	*x = (xplane){.part = &run->part,
		      .plane = &plane,
		      .text = &text,
		      .window.ahead = XPLANE_PEEK,
		      .args_left = ASSAY_LIMIT_ARGS,
		      .stacks = &stacks,
		      .inputs = &inputs};
	xplane_crew *crew = xplane_crew_new(x, assay_run_threads(run), &a);
	(void)err;
	for (uint64_t pos = 0; xplane_text_from(&text, in, pos);) {
		allow_args(x, pos);
		if (!read_field(run, x, crew, &pos))
			break;
		assay_input_drop(in, pos);
		if (run->progress)
			run->progress(run->progress_ctx, assay_input_path(in),
				      text.held ? assay_input_file_pos(in) : pos,
				      assay_input_file_bytes(in));
	}
	xplane_steps_end(x);
	assay_file_stacks_end(&stacks, &run->part);
	xplane_inputs_end(run, &inputs);
	run->part.t.source.records[run->part.source] += x->events;
	xplane_crew_free(crew);
	xplane_free(x);
	assay_arena_free(&a);
	return true;
}

const assay_reader assay_reader_xplane = {
	.name = "xplane",
	.ends = {".pb", ".xplane"},
	.about = "XPlane protobuf: JAX, TensorFlow and XLA profiles (.xplane.pb)",
	.waits = "calls only",
	.scopes = "yes",
	.page = "xplane",
	.sniff = xplane_sniff,
	.read = xplane_read,
	.alone = true,
	.ranked = true,
	.traits = ASSAY_TRAIT_PLANES,
};
