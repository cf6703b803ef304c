/* Puts the page together: template, style, scripts, the report as JSON, the events as columns.
 *
 * Text from inputs reaches the page in one way only: deflated, as base64 (put_packed). The scripts
 * put it into the document with textContent. Nothing else of an input is written. */
#include "render/html.h"

#include <inttypes.h>
#include <stdio.h>

#include "assets.h"
#include "base/output.h"
#include "base/test.h"
#include "render/html_page.h"
#include "render/printout.h"
#include "render/report.h"

enum { META_MAX = 4000 };

static const char *const other_kind_names[] = {
#define X(id, name) name,
	ASSAY_PAGE_KINDS(X)
#undef X
};

static void put_names(assay_jsonw *w, const char *key, const char *const *name, size_t n)
{
	assay_jsonw_open_flat(w, key, '[');
	for (size_t i = 0; i < n; i++)
		assay_jsonw_z(w, NULL, name[i]);
	assay_jsonw_close(w, ']');
}

/* Names of the small numbers in the columns. */
static void put_enums(assay_jsonw *w)
{
	assay_jsonw_open(w, "enums", '{');
	assay_jsonw_open_flat(w, "span.kind", '[');
	for (int i = 0; i < ASSAY_HOST_KIND_COUNT; i++)
		assay_jsonw_z(w, NULL, assay_host_kind_name[i]);
	for (int i = 0; i < ASSAY_GPU_KIND_COUNT; i++)
		assay_jsonw_z(w, NULL, assay_gpu_kind_name[i]);
	for (size_t i = 0; i < ASSAY_COUNT_OF(other_kind_names); i++)
		assay_jsonw_z(w, NULL, other_kind_names[i]);
	for (int i = 0; i < ASSAY_DERIVED_ROW_COUNT; i++)
		assay_jsonw_z(w, NULL, assay_derived_row_name[i]);
	assay_jsonw_close(w, ']');
	put_names(w, "kernel.kind", assay_gpu_kind_name, ASSAY_GPU_KIND_COUNT);
	put_names(w, "family", assay_family_name, ASSAY_FAMILY_COUNT);
	put_names(w, "class", assay_class_name, ASSAY_CLASS_COUNT);
	put_names(w, "state", assay_state_name, ASSAY_STATE_COUNT);
	put_names(w, "cause", assay_why_name, ASSAY_WHY_COUNT);
	assay_jsonw_open_flat(w, "cause_text", '[');
	for (int i = 0; i < ASSAY_WHY_COUNT; i++)
		assay_jsonw_z(w, NULL, assay_why_rows[i].text);
	assay_jsonw_close(w, ']');
	assay_jsonw_open_flat(w, "cause_colour", '[');
	for (int i = 0; i < ASSAY_WHY_COUNT; i++) {
		assay_jsonw_z(w, NULL, assay_why_rows[i].light);
		assay_jsonw_z(w, NULL, assay_why_rows[i].dark);
	}
	assay_jsonw_close(w, ']');
	put_names(w, "queued", assay_queued_name, ASSAY_QUEUED_COUNT);
	put_names(w, "wait.kind", assay_wait_kind_name, ASSAY_WAIT_KIND_COUNT);
	put_names(w, "wait.class", assay_wait_class_name, ASSAY_WAIT_CLASS_COUNT);
	put_names(w, "edge.kind", assay_edge_kind_name, ASSAY_EDGE_KIND_COUNT);
	put_names(w, "scope.kind", assay_scope_kind_name, ASSAY_SCOPE_KIND_COUNT);
	put_names(w, "bound", assay_bound_name, ASSAY_BOUND_COUNT);
	put_names(w, "math", assay_math_name, ASSAY_MATH_COUNT);
	assay_jsonw_open_flat(w, "path.class", '[');
	for (int i = 0; i < ASSAY_PATH_CLASSES; i++)
		assay_jsonw_z(w, NULL, assay_path_class_name(i));
	assay_jsonw_close(w, ']');
	put_names(w, "gpu_scope.how", assay_scope_how_name, ASSAY_SCOPE_HOW_COUNT);
	assay_jsonw_close(w, '}');
}

static void put_tracks(assay_jsonw *w, const assay_run *run)
{
	const assay_track_table *t = &run->part.t.track;
	assay_jsonw_open(w, "tracks", '[');
	for (size_t i = 0; i < t->n; i++) {
		assay_jsonw_open_flat(w, NULL, '{');
		assay_jsonw_z(w, "kind", assay_track_kind_name[t->kind[i]]);
		assay_jsonw_u64(w, "source", assay_group_of(&run->part.t, t->source[i]));
		assay_jsonw_i64(w, "pid", t->pid[i]);
		assay_jsonw_i64(w, "tid", t->tid[i]);
		assay_jsonw_str(w, "process", assay_text(run, t->process[i]));
		assay_jsonw_str(w, "name", assay_text(run, t->name[i]));
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, ']');
}

static void put_sources(assay_jsonw *w, const assay_page *p)
{
	const assay_source_table *s = &p->run->part.t.source;
	assay_jsonw_open(w, "sources", '[');
	for (size_t i = 0; i < s->n; i++) {
		assay_jsonw_open_flat(w, NULL, '{');
		assay_jsonw_str(w, "path", assay_text(p->run, s->path[i]));
		assay_jsonw_str(w, "format", assay_text(p->run, s->format[i]));
		assay_jsonw_i64(w, "rank", s->rank[i]);
		assay_jsonw_i64(w, "world", s->world[i]);
		assay_jsonw_z(w, "clock", assay_clock_name[p->clocks.source[i].clock]);
		assay_jsonw_i64(w, "zone_ns", p->clocks.source[i].zone);
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, ']');
}

/* Of a job of many ranks most have findings only; the page leaves their headers out. */
static bool has_events(const assay_run *run, uint32_t source)
{
	return !run->in_full || source < run->in_full || source == ASSAY_NO_ROW;
}

static void put_devices(assay_jsonw *w, const assay_run *run)
{
	const assay_device_table *d = &run->part.t.device;
	assay_jsonw_open(w, "devices", '[');
	for (size_t i = 0; i < d->n; i++) {
		if (!has_events(run, d->source[i]))
			continue;
		assay_jsonw_open_flat(w, NULL, '{');
		assay_jsonw_u64(w, "source", assay_group_of(&run->part.t, d->source[i]));
		assay_jsonw_i64(w, "id", d->id[i]);
		assay_jsonw_str(w, "name", assay_text(run, d->name[i]));
		assay_jsonw_str(w, "vendor", assay_text(run, d->vendor[i]));
		assay_jsonw_str(w, "arch", assay_text(run, d->arch[i]));
		assay_jsonw_i64(w, "memory", d->memory[i]);
		assay_jsonw_i64(w, "units", d->units[i]);
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, ']');
}

static void put_meta(assay_jsonw *w, const assay_run *run)
{
	const assay_meta_table *m = &run->part.t.meta;
	assay_jsonw_open(w, "meta", '[');
	for (size_t i = 0; i < m->n; i++) {
		if (!has_events(run, m->source[i]))
			continue;
		assay_str value = assay_text(run, m->value[i]);
		value.n = value.n < META_MAX ? value.n : META_MAX;
		assay_jsonw_open_flat(w, NULL, '{');
		assay_jsonw_u64(w, "source", m->source[i]);
		assay_jsonw_str(w, "key", assay_text(run, m->key[i]));
		assay_jsonw_str(w, "value", value);
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, ']');
}

/* Short names of GPU work as the other reports have them, one a row of kernel. */
static void put_labels(assay_jsonw *w, assay_page *p)
{
	enum { LABEL_WIDTH = 200 };
	size_t n = p->run->part.t.kernel.n;
	assay_printout out = {.run = p->run, .width = LABEL_WIDTH};
	uint32_t *rows = assay_alloc(&p->scratch, (n + 1) * sizeof *rows);
	for (uint32_t i = 0; i < n; i++)
		rows[i] = i;
	const char **label = assay_kernel_labels(&out, rows, n, LABEL_WIDTH);
	assay_jsonw_open_flat(w, "kernel_labels", '[');
	for (size_t i = 0; i < n; i++)
		assay_jsonw_z(w, NULL, label[i]);
	assay_arena_free(&out.scratch);
	assay_jsonw_close(w, ']');
}

/* As text: only the browser takes it apart, and only if it is JSON. */
static void put_notes(assay_jsonw *w, const assay_html_note *note, size_t n)
{
	assay_jsonw_open(w, "notes", '[');
	for (size_t i = 0; i < n; i++) {
		assay_jsonw_open_flat(w, NULL, '{');
		assay_jsonw_z(w, "path", note[i].path);
		assay_jsonw_z(w, "kind", note[i].env ? "env" : "run");
		assay_jsonw_str(w, "json", note[i].json);
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, ']');
}

static void build_run(assay_page *p, assay_jsonw *w, const assay_html_run *r)
{
	p->index.compact = true;
	assay_jsonw_open(&p->index, NULL, '[');
	assay_clocks_find(&p->clocks, p->run, &p->scratch); /* the others need page times */
	assay_page_lanes(p);
	assay_jsonw_open(w, NULL, '{');
	assay_page_samples(p, w);
	assay_page_tables(p);
	assay_page_chains(p);
	if (r->path)
		assay_page_path(p, w, r->path);
	assay_page_texts(p);
	assay_jsonw_close(&p->index, ']');
	assay_jsonw_z(w, "made_by", "assay " ASSAY_VERSION);
	assay_jsonw_bool(w, "epoch", p->clocks.epoch);
	assay_jsonw_z(w, "origin_ns", assay_printf(&p->scratch, "%" PRId64, p->clocks.origin));
	assay_jsonw_i64(w, "length_ns", p->clocks.length);
	assay_jsonw_u64(w, "spans", p->spans);
	assay_jsonw_u64(w, "gpu_spans", p->gpu_spans);
	assay_jsonw_u64(w, "first_gap", p->first_gap);
	assay_jsonw_u64(w, "clipped", p->clipped);
	assay_jsonw_u64(w, "data_bytes", p->columns.n);
	put_enums(w);
	put_sources(w, p);
	put_devices(w, p->run);
	put_tracks(w, p->run);
	put_meta(w, p->run);
	put_notes(w, r->note, r->notes);
	put_labels(w, p);
	assay_jsonw_raw(w, "scopes", r->scopes);
	assay_jsonw report = {.compact = true};
	assay_report_page_json(&report, p->run);
	assay_jsonw_raw(w, "report", assay_jsonw_text(&report));
	assay_jsonw_free(&report);
	assay_jsonw_raw(w, "columns", assay_jsonw_text(&p->index));
	assay_jsonw_close(w, '}');
}

static void put_hash(FILE *out, const uint8_t digest[32])
{
	assay_blob text = {0};
	assay_base64(&text, digest, 32);
	fprintf(out, "'sha256-%.*s'", (int)text.n, (const char *)text.p);
	assay_vec_free(&text);
}

/* Bytes as the text of a script element; returns how many they are deflated. */
static size_t put_packed(FILE *out, const uint8_t *p, size_t n)
{
	assay_blob packed = {0}, text = {0};
	assay_deflate(&packed, p, n);
	assay_base64(&text, packed.p, packed.n);
	fwrite(text.p, 1, text.n, out);
	size_t size = packed.n;
	assay_vec_free(&packed);
	assay_vec_free(&text);
	return size;
}

static void put_events(FILE *out, const assay_blob *columns, uint64_t *packed_size)
{
	fputs("<script type=\"text/plain\" class=\"events\">", out);
	*packed_size += put_packed(out, columns->p, columns->n);
	fputs("</script>\n", out);
}

/* Room for a number that is not known yet; where it is. */
static long put_room(FILE *out)
{
	long at = ftell(out);
	fprintf(out, "%20s", "");
	return at;
}

struct pages {
	assay_page page[2];
	size_t n;
};

/* The template, with what stands between @ signs filled in. */
static void put_page(FILE *out, const struct pages *p, assay_str json, assay_html_size *size)
{
	long size_at = -1;
	assay_str rest = {(const char *)assay_asset_page, sizeof assay_asset_page};
	while (rest.n) {
		assay_str plain = assay_str_cut(&rest, '@'), slot = assay_str_cut(&rest, '@');
		fwrite(plain.p, 1, plain.n, out);
		if (assay_str_is(slot, "STYLE_HASH"))
			put_hash(out, assay_asset_style_sha256);
		else if (assay_str_is(slot, "SCRIPT_HASH"))
			put_hash(out, assay_asset_script_sha256);
		else if (assay_str_is(slot, "BOOT_HASH"))
			put_hash(out, assay_asset_boot_sha256);
		else if (assay_str_is(slot, "STYLE"))
			fwrite(assay_asset_style, 1, sizeof assay_asset_style, out);
		else if (assay_str_is(slot, "SCRIPT"))
			put_packed(out, assay_asset_script, sizeof assay_asset_script);
		else if (assay_str_is(slot, "BOOT"))
			fwrite(assay_asset_boot, 1, sizeof assay_asset_boot, out);
		else if (assay_str_is(slot, "DATA"))
			put_packed(out, (const uint8_t *)json.p, json.n);
		else if (assay_str_is(slot, "BYTES"))
			size_at = put_room(out);
		for (size_t i = 0; assay_str_is(slot, "EVENTS") && i < p->n; i++)
			put_events(out, &p->page[i].columns, &size->packed);
	}
	long end = ftell(out);
	size->page = end > 0 ? (uint64_t)end : 0;
	/* the page states its own size, known only now; a pipe goes without */
	if (size_at >= 0 && !fseek(out, size_at, SEEK_SET))
		fprintf(out, "%" PRIu64, size->page);
}

static void page_free(assay_page *p)
{
	assay_arena_free(&p->scratch);
	assay_vec_free(&p->lanes);
	assay_map_free(&p->text_of);
	assay_vec_free(&p->texts);
	assay_vec_free(&p->columns);
	assay_jsonw_free(&p->index);
}

static void build_all(struct pages *p, assay_jsonw *w, const assay_html_run *runs,
		      const assay_diff *diff)
{
	assay_jsonw_open(w, NULL, '{');
	assay_jsonw_open(w, "runs", '[');
	for (size_t i = 0; i < p->n; i++) {
		p->page[i].run = runs[i].run;
		build_run(&p->page[i], w, &runs[i]);
	}
	assay_jsonw_close(w, ']');
	if (diff) {
		assay_jsonw text = {.compact = true};
		assay_diff_json(&text, diff, SIZE_MAX);
		assay_jsonw_raw(w, "diff", assay_jsonw_text(&text));
		assay_jsonw_free(&text);
	}
	assay_jsonw_close(w, '}');
}

bool assay_html_write(const assay_html_run *runs, size_t n, const assay_diff *diff,
		      const char *path, assay_html_size *size, assay_err *err)
{
	assay_output *out = assay_output_open(path, err);
	if (!out)
		return false;
	struct pages p = {.n = n};
	assay_jsonw w = {.compact = true};
	*size = (assay_html_size){0};
	build_all(&p, &w, runs, diff);
	put_page(assay_output_file(out), &p, assay_jsonw_text(&w), size);
	for (size_t i = 0; i < n; i++) {
		size->events += p.page[i].columns.n;
		size->spans += p.page[i].spans;
		page_free(&p.page[i]);
	}
	assay_jsonw_free(&w);
	return assay_output_close(out, err);
}

TEST(packed_text_cannot_end_its_element)
{
	char got[128] = "";
	FILE *f = fmemopen(got, sizeof got, "w");
	size_t n = put_packed(f, (const uint8_t *)"</script><!--", 13);
	fclose(f);
	CHECK(n > 0 && *got && !strpbrk(got, "<>\"&"));
	return 0;
}
