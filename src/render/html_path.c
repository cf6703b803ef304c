/* The critical path on the page: its figures as `assay path` has them, its stretches as columns. */
#include "render/html_page.h"
#include "render/path.h"

/* More stretches than this would be a page of their own: the figures then stand alone. */
enum { STRETCHES_MAX = 100000 };

/* They lie one behind the other, so lengths say where they are. */
static void put_stretches(assay_page *p, const assay_path *path)
{
	const assay_tables *t = &p->run->part.t;
#define X(column, value)                                                                           \
	{                                                                                          \
		page_column c = assay_column_begin(p, "path_stretch." #column, "delta");           \
		for (size_t i = 0; i < path->seg.n; i++) {                                         \
			const assay_path_seg *s = &path->seg.p[i];                                 \
			assay_column_i64(&c, value);                                               \
		}                                                                                  \
		assay_column_end(&c);                                                              \
	}
	X(dur, s->dur)
	X(class, s->class)
	X(host, assay_page_span(p->host_span, t->host.n, s->host))
	X(gpu, assay_page_span(p->gpu_span, t->gpu.n, s->gpu))
	X(track, s->track < t->track.n ? (int64_t)s->track : -1)
	X(inferred, s->inferred)
#undef X
}

void assay_page_path(assay_page *p, assay_jsonw *w, const assay_path *path)
{
	assay_jsonw text = {.compact = true};
	assay_path_figures_json(&text, p->run, path);
	assay_jsonw_raw(w, "path", assay_jsonw_text(&text));
	assay_jsonw_free(&text);
	/* page time, and the row of step it is the path of */
	assay_jsonw_i64(w, "path_start", assay_page_time(p, path->source, path->from));
	assay_jsonw_i64_if(w, "path_step", path->step != ASSAY_NO_ROW, path->step);
	assay_jsonw_u64(w, "path_stretches", path->seg.n);
	if (path->seg.n <= STRETCHES_MAX)
		put_stretches(p, path);
}
