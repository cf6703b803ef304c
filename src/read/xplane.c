/* XPlane: what XLA, JAX and TensorFlow write as <host>.xplane.pb. docs/formats/xplane.md
 *
 * The file is one protobuf message; its planes are read one at a time: first their names and all
 * else that is no line, then the lines. */
#include "read/xplane.h"

#include "base/input.h"
#include "base/test.h"
#include "base/turns.h"
#include "read/reader.h"

enum { SNIFF_FIELDS = 8, META_STATS_MAX = 64, KNOWN_MAX = 32 };
static const uint64_t args_per_byte = 16, args_least = 64u << 20;

/* ------------------------------------------------------------------ which file it is */

static bool is_plane_name(assay_str s)
{
	static const char *const starts[] = {"/host:",    "/device:", XPLANE_TASK,
					     "Host CPUs", "Syscalls", "#Chip"};
	for (size_t i = 0; i < ASSAY_COUNT_OF(starts); i++)
		if (assay_str_starts(s, starts[i]))
			return true;
	return false;
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
	return -1;
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

static void add_stat_meta(xplane *x, assay_str entry)
{
	uint64_t key;
	assay_str value;
	if (!map_entry(entry, &key, &value)) {
		assay_count(x->part, ASSAY_ISSUE_bad_record, 1);
		return;
	}
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
	if (!map_entry(entry, &key, &value)) {
		assay_count(x->part, ASSAY_ISSUE_bad_record, 1);
		return;
	}
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
	if (!v.field || v.field == XSTAT_BYTES)
		return;
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
	for (size_t i = 0; i < ASSAY_COUNT_OF(names); i++)
		if (assay_str_starts(name, names[i]))
			return true;
	return false;
}

/* The number behind a plane's name; ids are missing in some files. */
static bool number_of(assay_str name, size_t prefix, int64_t *id)
{
	return assay_str_i64((assay_str){name.p + prefix, name.n - prefix}, id) && *id >= 0 &&
	       *id <= INT32_MAX;
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
		if (x->plane->stats.p[i].known == XPLANE_FROM_SCOPES)
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
	} else {
		if (assay_str_is(x->plane->name, XPLANE_TASK))
			each_plane_stat(x, task_stat);
		if (whole.n && !is_our_hlo(x))
			xplane_keep(x, x->plane->place, ASSAY_KEPT_PLACE, ASSAY_NO_ROW,
				    xplane_place_bytes(x->text, &x->window, whole));
	}
	end_plane(x);
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
	x->args_left += args_per_byte * (left < want ? left : want);
}

static bool xplane_read(assay_run *run, assay_input *in, assay_err *err)
{
	assay_arena a = {0};
	xplane_plane plane = {0};
	xplane_text text;
	xplane *x = assay_alloc(&a, sizeof *x);
	assay_file_stacks stacks;
	assay_file_stacks_begin(&stacks, &run->part);
	*x = (xplane){.part = &run->part,
		      .plane = &plane,
		      .text = &text,
		      .window.ahead = XPLANE_PEEK,
		      .args_left = args_least,
		      .stacks = &stacks};
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

/* ------------------------------------------------------------------ tests */

/* A plane being built: metadata ids are given out in order of first use. */
typedef struct plane_maker {
	assay_protow plane, line, event, stat;
	uint64_t metas;
} plane_maker;

static uint64_t make_meta(plane_maker *m, uint32_t field, const char *name)
{
	assay_protow entry = {0}, value = {0};
	assay_protow_varint(&value, XMETA_ID, ++m->metas);
	assay_protow_text(&value, XMETA_NAME, assay_str_of(name));
	assay_protow_varint(&entry, XENTRY_KEY, m->metas);
	assay_protow_message(&entry, XENTRY_VALUE, &value);
	assay_protow_message(&m->plane, field, &entry);
	assay_protow_free(&entry);
	assay_protow_free(&value);
	return m->metas;
}

static void make_stat(plane_maker *m, const char *name, uint32_t field, uint64_t num,
		      const char *text)
{
	assay_protow_varint(&m->stat, XSTAT_META, make_meta(m, XPLANE_STAT_META, name));
	if (text)
		assay_protow_bytes(&m->stat, field, assay_str_of(text));
	else
		assay_protow_varint(&m->stat, field, num);
	assay_protow_message(&m->event, XEVENT_STATS, &m->stat);
}

static void make_event(plane_maker *m, const char *name, int64_t at_ps, int64_t dur_ps)
{
	assay_protow_varint(&m->event, XEVENT_META, make_meta(m, XPLANE_EVENT_META, name));
	assay_protow_varint(&m->event, XEVENT_OFFSET_PS, (uint64_t)at_ps);
	assay_protow_varint(&m->event, XEVENT_DURATION_PS, (uint64_t)dur_ps);
	assay_protow_message(&m->line, XLINE_EVENTS, &m->event);
}

static void make_line(plane_maker *m, int64_t id, const char *name, int64_t ts)
{
	assay_protow_varint(&m->line, XLINE_ID, (uint64_t)id);
	assay_protow_text(&m->line, XLINE_NAME, assay_str_of(name));
	assay_protow_varint(&m->line, XLINE_TIMESTAMP_NS, (uint64_t)ts);
	assay_protow_message(&m->plane, XPLANE_LINES, &m->line);
}

static void make_plane(plane_maker *m, assay_protow *space, const char *name)
{
	assay_protow_text(&m->plane, XPLANE_NAME, assay_str_of(name));
	assay_protow_message(space, XSPACE_PLANES, &m->plane);
	assay_protow_free(&m->plane);
	assay_protow_free(&m->line);
	assay_protow_free(&m->event);
	assay_protow_free(&m->stat);
	*m = (plane_maker){0};
}

static assay_run *read_bytes(assay_str bytes)
{
	assay_run *run = assay_run_new();
	assay_input *in = assay_input_memory(bytes.p, bytes.n);
	run->part.source = assay_add(&run->part.t, ASSAY_T_source);
	xplane_read(run, in, NULL);
	assay_input_close(in);
	return run;
}

/* One kernel, one copy, an allocation, a launch, a step, a range, and rows xprof derives. */
static void make_sample(assay_protow *space)
{
	plane_maker m = {0};
	make_stat(&m, "correlation_id", XSTAT_UINT64, 1ull << 40, NULL);
	make_stat(&m, "scope_range_id", XSTAT_INT64, (uint64_t)-5, NULL);
	make_stat(
		&m, "kernel_details", XSTAT_STR, 0,
		"regs:32 static_shared:16 dynamic_shared:1024 grid:8,2,1 block:128,1,1 occ_pct:50");
	make_event(&m, "gemm", 1000500, 2000000);
	make_stat(&m, "correlation_id", XSTAT_UINT64, 9, NULL);
	make_stat(&m, "memcpy_details", XSTAT_STR, 0, "kind_src:pinned kind_dst:device size:4096");
	make_event(&m, "MemcpyH2D", 4000000, 1000000);
	make_stat(&m, "memalloc_details", XSTAT_STR, 0, "kind:device num_bytes:64");
	make_event(&m, "MemoryAlloc", 4000000, 0);
	make_line(&m, 7, "Stream #7(Compute,MemcpyH2D)", 100);
	make_event(&m, "jit_step", 0, 9000000);
	make_line(&m, 1, "XLA Modules - from #7", 100);
	make_event(&m, "3", 0, 9000000);
	make_line(&m, -559038737, "Steps", 100);
	make_plane(&m, space, "/device:GPU:3");
	make_stat(&m, "correlation_id", XSTAT_UINT64, 1ull << 40, NULL);
	make_stat(&m, "scope_range_id", XSTAT_INT64, (uint64_t)-5, NULL);
	make_event(&m, "hipLaunchKernel", 0, 500000);
	make_stat(&m, "_r", XSTAT_INT64, 1, NULL);
	make_stat(&m, "step_num", XSTAT_INT64, 17, NULL);
	make_event(&m, "train", 0, 8000000);
	make_event(&m, "$file.py:1 f", 0, 8000000);
	make_event(&m, "Foo::Bar", 0, 8000000);
	make_line(&m, 42, "Host Threads/42", 100);
	make_event(&m, "my range", 0, 8000000);
	make_line(&m, 1ll << 32, "Host Threads/42/NVTX", 100);
	make_plane(&m, space, "/host:CPU");
	assay_protow tree = {0};
	assay_protow_varint(&m.stat, XSTAT_META, (uint64_t)-5);
	assay_protow_varint(&m.stat, XSTAT_INT64, 77);
	assay_protow_message(&tree, XPLANE_STATS, &m.stat);
	assay_protow_text(&tree, XPLANE_NAME, ASSAY_S(XPLANE_SCOPE_TREE));
	assay_protow_message(space, XSPACE_PLANES, &tree);
	assay_protow_free(&m.stat);
	assay_protow_free(&tree);
	make_plane(&m, space, "/host:something new");
	assay_protow_text(space, XSPACE_HOSTNAMES, ASSAY_S("node1"));
}

TEST(rows_come_from_planes)
{
	assay_protow space = {0};
	make_sample(&space);
	CHECK(xplane_sniff(assay_protow_data(&space)) > 90);
	assay_run *run = read_bytes(assay_protow_data(&space));
	const assay_tables *t = &run->part.t;
	CHECK(t->gpu.n == 2 && t->host.n == 5);
	CHECK(t->gpu.ts[0] == 1100 && t->gpu.dur[0] == 2000); /* 1000.5 and 3000.5 ns, both cut */
	CHECK(t->gpu.corr[0] == 1ull << 40 && t->gpu.regs[0] == 32 && t->gpu.shared[0] == 1040);
	CHECK(t->gpu.grid_x[0] == 8 && t->gpu.grid_y[0] == 2 && t->gpu.block_x[0] == 128);
	CHECK(t->gpu.kind[1] == ASSAY_GPU_MEMCPY && t->gpu.bytes[1] == 4096);
	static const assay_host_kind kinds[] = {ASSAY_HOST_RUNTIME, ASSAY_HOST_ANNOTATION,
						ASSAY_HOST_PYTHON, ASSAY_HOST_OP,
						ASSAY_HOST_MARKER};
	for (int i = 0; i < 5; i++)
		CHECK_EQ(t->host.kind[i], kinds[i]);
	CHECK(t->host.track[4] == t->host.track[0]); /* a band belongs to its thread */
	CHECK(t->step.n == 1 && t->step.number[0] == 17);
	CHECK(t->given_scope.n == 2 && t->given_scope.id[0] == -5 && t->given_scope.host[1] == 1);
	CHECK(t->given_link.n == 1 && t->given_link.child[0] == -5 &&
	      t->given_link.parent[0] == 77);
	CHECK(t->kept.n == 5); /* the plane, the band, the host's name, what lines count from */
	CHECK(assay_str_is(assay_meta_get(run, "hostname"), "node1"));
	assay_run_free(run);
	assay_protow_free(&space);
	return 0;
}

TEST(derived_rows_are_marks_and_no_work)
{
	assay_protow space = {0};
	make_sample(&space);
	assay_run *run = read_bytes(assay_protow_data(&space));
	const assay_tables *t = &run->part.t;
	CHECK(t->mark.n == 3 && t->gpu.n == 2); /* the allocation, the module, the step */
	CHECK(t->track.tid[t->mark.track[2]] == -559038737);
	assay_run_free(run);
	assay_protow_free(&space);
	return 0;
}

TEST(steps_come_from_the_first_device_when_no_thread_marked_them)
{
	assay_protow space = {0};
	plane_maker m = {0};
	for (int device = 1; device < 3; device++) {
		make_event(&m, "4", 0, 9000000);
		make_event(&m, "5", 9000000, 9000000);
		make_line(&m, -559038737, "Steps", 0);
		make_plane(&m, &space, device == 1 ? "/device:GPU:6" : "/device:GPU:2");
	}
	assay_run *run = read_bytes(assay_protow_data(&space));
	const assay_step_table *s = &run->part.t.step;
	CHECK(s->n == 2 && s->number[0] == 4 && s->number[1] == 5 && s->ts[1] == 9000);
	assay_run_free(run);
	assay_protow_free(&space);
	return 0;
}

/* Numbers of devices come from names and are never made dense. */
TEST(an_idle_device_0_does_not_renumber_the_others)
{
	assay_protow space = {0};
	make_sample(&space);
	assay_run *run = read_bytes(assay_protow_data(&space));
	CHECK(run->part.t.device.n == 1 && run->part.t.device.id[0] == 3);
	CHECK(run->part.t.track.pid[run->part.t.gpu.track[0]] == 3);
	assay_run_free(run);
	assay_protow_free(&space);
	return 0;
}

TEST(amd_grids_in_blocks_become_work_items)
{
	for (int blocks = 0; blocks < 2; blocks++) {
		assay_protow space = {0};
		plane_maker m = {0};
		make_stat(&m, "kernel_details", XSTAT_STR, 0,
			  blocks ? " grid:16,1,1 block:512,1,1 private_mem:0 group_mem:64"
				 : " grid:8192,1,1 block:512,1,1 private_mem:0 group_mem:64");
		make_event(&m, "k", 0, 5);
		make_line(&m, 1, "Stream #1", 0);
		assay_protow_varint(&m.stat, XSTAT_META,
				    make_meta(&m, XPLANE_STAT_META, "device_vendor"));
		assay_protow_text(&m.stat, XSTAT_STR, ASSAY_S("AMD"));
		assay_protow_message(&m.plane, XPLANE_STATS, &m.stat);
		make_plane(&m, &space, "/device:GPU:0");
		assay_run *run = read_bytes(assay_protow_data(&space));
		const assay_gpu_table *g = &run->part.t.gpu;
		CHECK(g->n == 1 && g->grid_x[0] == 8192 && g->shared[0] == 64 &&
		      g->scratch[0] == 0);
		CHECK(assay_str_is(assay_text(run, run->part.t.device.vendor[0]), "amd"));
		assay_run_free(run);
		assay_protow_free(&space);
	}
	return 0;
}

TEST(a_file_cut_anywhere_keeps_whole_events)
{
	assay_protow space = {0};
	make_sample(&space);
	assay_str all = assay_protow_data(&space);
	size_t most = 0;
	for (size_t n = 0; n < all.n; n++) {
		assay_run *run = read_bytes((assay_str){all.p, n});
		const assay_tables *t = &run->part.t;
		size_t rows = t->gpu.n + t->mark.n + t->host.n;
		CHECK(rows >= most); /* more bytes, never fewer rows */
		CHECK(rows <= 10);
		most = rows;
		assay_run_free(run);
	}
	CHECK_EQ(most, 10);
	assay_protow_free(&space);
	return 0;
}

TEST(hostile_bytes_are_counted_and_survived)
{
	static const assay_str cases[] = {
		{"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f/", 11},
		{"\x0a\x04\x12\xff\xff\xff", 6},
		{"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 11},
		{"\x0b", 1},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(cases); i++) {
		assay_run *run = read_bytes(cases[i]);
		CHECK(run->part.issues[ASSAY_ISSUE_truncated] +
		      run->part.issues[ASSAY_ISSUE_bad_record]);
		CHECK(run->part.t.gpu.n == 0);
		assay_run_free(run);
	}
	/* every single byte of a good file, flipped */
	assay_protow space = {0};
	make_sample(&space);
	for (size_t i = 0; i < space.out.n; i++) {
		space.out.p[i] ^= (char)0xff;
		assay_run_free(read_bytes(assay_protow_data(&space)));
		space.out.p[i] ^= (char)0xff;
	}
	assay_protow_free(&space);
	return 0;
}

/* A few bytes of an event can ask for any number of long names: in many events, or in one. */
TEST(long_names_are_written_while_the_file_may_ask_for_them)
{
	enum { NAME = 100000, STATS = 5000 };
	static char name[NAME + 1];
	memset(name, 'n', NAME);
	for (int in_one = 0; in_one < 2; in_one++) {
		assay_protow space = {0};
		plane_maker m = {0};
		uint64_t meta = make_meta(&m, XPLANE_STAT_META, name);
		for (int i = 0; i < STATS; i++) {
			assay_protow_varint(&m.stat, XSTAT_META, meta);
			assay_protow_varint(&m.stat, XSTAT_INT64, (uint64_t)i);
			assay_protow_message(&m.event, XEVENT_STATS, &m.stat);
			if (!in_one || i == STATS - 1)
				make_event(&m, "e", i, 1);
		}
		make_line(&m, 1, "thread", 0);
		make_plane(&m, &space, "/host:CPU");
		assay_run *run = read_bytes(assay_protow_data(&space));
		const assay_host_table *h = &run->part.t.host;
		size_t written = 0;
		for (size_t i = 0; i < h->n; i++)
			written += assay_text(run, h->args[i]).n;
		CHECK_EQ(h->n, in_one ? 1 : STATS);
		CHECK(written > args_least / 2);
		CHECK(written <= args_least + args_per_byte * space.out.n);
		CHECK_EQ(run->part.issues[ASSAY_ISSUE_wide_value], STATS - written / NAME);
		assay_run_free(run);
		assay_protow_free(&space);
	}
	return 0;
}

TEST(other_text_is_not_xplane)
{
	CHECK(!xplane_sniff(ASSAY_S("\n{\"traceEvents\": []}")));
	CHECK(!xplane_sniff(ASSAY_S("{\"a\": 1}")));
	CHECK(!xplane_sniff((assay_str){"", 0}));
	return 0;
}

TEST(the_bundled_jax_profile_reads_in_full)
{
	assay_run *run = assay_run_new();
	if (!assay_read_path(run, "tests/xplane/jax.xplane.pb.gz", NULL)) {
		assay_run_free(run);
		return 77;
	}
	const assay_tables *t = &run->part.t;
	CHECK(t->gpu.n == 240 && t->host.n == 458 && t->step.n == 5);
	int64_t sum = 0;
	for (size_t i = 0; i < t->gpu.n; i++)
		sum += t->gpu.dur[i];
	CHECK_EQ(sum, 3252681); /* ns, added up from the file by other means */
	CHECK(t->given_scope.n == 240 + 97 && t->device.units[0] == 132);
	CHECK(t->source.base[0] == 1794709255007941979 && t->source.epoch[0] == 1);
	for (int i = 0; i < ASSAY_ISSUE_COUNT; i++)
		CHECK_EQ(run->part.issues[i], 0);
	assay_run_free(run);
	return 0;
}
