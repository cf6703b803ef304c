/* What the parts of the HTML page share. docs/formats/html.md describes the page's data. */
#ifndef ASSAY_RENDER_HTML_PAGE_H
#define ASSAY_RENDER_HTML_PAGE_H

#include "base/jsonw.h"
#include "base/num.h"
#include "base/pack.h"
#include "model/clock.h"
#include "model/path.h"
#include "model/run.h"

/* X(id, name): what a span of the page is; host and GPU kinds keep their order from the model. */
#define ASSAY_PAGE_KINDS(X)                                                                        \
	X(MARK, "device annotation")                                                               \
	X(INFERRED, "inferred scope")                                                              \
	X(SYNC, "wait")                                                                            \
	X(GAP, "idle gap")

enum {
	PAGE_HOST = 0,
	PAGE_GPU = PAGE_HOST + ASSAY_HOST_KIND_COUNT,
	PAGE_OTHER = PAGE_GPU + ASSAY_GPU_KIND_COUNT,
#define X(id, name) PAGE_##id,
	PAGE_BEFORE_MARK = PAGE_OTHER - 1,
	ASSAY_PAGE_KINDS(X)
#undef X
		PAGE_DERIVED, /* and one a row, in the model's order */
};

typedef struct page_lane {
	uint32_t track, depth;
	uint32_t spans;
	uint8_t kind; /* any kind of the spans in it: tells host, GPU, mark, gap lanes apart */
} page_lane;

typedef struct assay_page {
	const assay_run *run;
	assay_arena scratch;
	assay_clocks clocks; /* page time is run time */
	assay_vec(page_lane) lanes;
	uint32_t *gpu_span, *host_span; /* row -> span of the page, or ASSAY_NO_ROW */
	uint32_t *gpu_row;              /* the other way: GPU work are the first spans */
	size_t spans, gpu_spans, first_gap;
	bool *labelled;    /* by track: its work has labels of XLA; NULL until asked for */
	uint64_t clipped;  /* spans cut short because too many ran at once */
	assay_map text_of; /* sid -> text of the page */
	assay_vec(assay_sid) texts;
	assay_blob columns; /* all columns, one behind the other */
	assay_jsonw index;  /* JSON array: what the columns are */
} assay_page;

/* Page time of a time of a source. */
static inline int64_t assay_page_time(const assay_page *p, uint32_t source, int64_t ts)
{
	int64_t shift = source < p->run->part.t.source.n ? p->clocks.source[source].shift
							 : -p->clocks.origin;
	return assay_wrap_add(ts, shift);
}

/* Span of a row of gpu or host, -1 for none. */
static inline int64_t assay_page_span(const uint32_t *span, size_t rows, uint32_t row)
{
	return row < rows && span[row] != ASSAY_NO_ROW ? (int64_t)span[row] : -1;
}

/* Number of a text on the page, 0 for none. */
uint32_t assay_page_text(assay_page *p, assay_sid sid);

/* Columns: begin, put values, end. Codes: "plain" unsigned varints; "delta" differences as zigzag
 * varints; "f64" eight bytes; "bytes". */
typedef struct page_column {
	assay_page *page;
	size_t start, n;
	int64_t last;
	const char *name, *code;
} page_column;

page_column assay_column_begin(assay_page *p, const char *name, const char *code);
void assay_column_u64(page_column *c, uint64_t v);
void assay_column_i64(page_column *c, int64_t v); /* code delta */
void assay_column_f64(page_column *c, double v);
void assay_column_end(page_column *c);

/* Spans made from the ranges of GPU work, in the sources' times. */
typedef struct page_bands {
	assay_vec(int64_t) ts;
	assay_vec(int64_t) dur;
	assay_vec(uint32_t) track;
	assay_vec(assay_sid) name;
	assay_vec(uint8_t) kind; /* counted from the first kind of their lanes */
} page_bands;
void assay_page_scope_bands(assay_page *p, page_bands *out);
/* Spans of a derived row: of steps, and of streams whose work has labels of XLA. Bands are made for
 * the other streams. */
void assay_page_derived(assay_page *p, assay_derived_row row, page_bands *out);
void assay_page_bands_free(page_bands *b);

void assay_page_lanes(assay_page *p);
void assay_page_samples(assay_page *p, assay_jsonw *series);
void assay_page_tables(assay_page *p);
void assay_page_chains(assay_page *p);
void assay_page_path(assay_page *p, assay_jsonw *w, const assay_path *path);
void assay_page_texts(assay_page *p); /* last */

#endif
