/* The table of names and kinds, and a stack for each cause. */
#include "analyze/host_cause.h"

#include "base/sort.h"

enum { NO_CAUSE = ASSAY_WHY_COUNT };

static const uint8_t cause_of_kind[ASSAY_HOST_KIND_COUNT] = {
	[ASSAY_HOST_OP] = ASSAY_WHY_HOST_OP,
	[ASSAY_HOST_ANNOTATION] = ASSAY_WHY_HOST_UNTRACED, /* a name for time, not work */
	[ASSAY_HOST_RUNTIME] = ASSAY_WHY_HOST_RUNTIME,
	[ASSAY_HOST_DRIVER] = ASSAY_WHY_HOST_RUNTIME,
	[ASSAY_HOST_PYTHON] = ASSAY_WHY_HOST_PYTHON,
	[ASSAY_HOST_OVERHEAD] = NO_CAUSE,
	[ASSAY_HOST_INSTANT] = NO_CAUSE,
	[ASSAY_HOST_MARKER] = ASSAY_WHY_HOST_UNTRACED,
	[ASSAY_HOST_OTHER] = NO_CAUSE,
	[ASSAY_HOST_PROCESS_RANGE] = NO_CAUSE,
};

/* Names that change the cause of a row: calls that block until the device is done, and operators or
 * ranges that mean input data. A word is found anywhere, in any case. */
static const struct word {
	const char *text;
	bool whole;
	assay_why cause;
} words[] = {
	{"synchronize", false, ASSAY_WHY_HOST_SYNC},
	{"cudaMemcpy", true, ASSAY_WHY_HOST_SYNC},
	{"hipMemcpy", true, ASSAY_WHY_HOST_SYNC},
	{"cuMemcpyDtoH_v2", true, ASSAY_WHY_HOST_SYNC},
	{"hipMemcpyDtoH", true, ASSAY_WHY_HOST_SYNC},
	{"load", true, ASSAY_WHY_HOST_DATA},
	{"data", true, ASSAY_WHY_HOST_DATA},
	{"dataloader", false, ASSAY_WHY_HOST_DATA},
	{"data_loader", false, ASSAY_WHY_HOST_DATA},
	{"data loader", false, ASSAY_WHY_HOST_DATA},
	{"load_data", false, ASSAY_WHY_HOST_DATA},
	{"load data", false, ASSAY_WHY_HOST_DATA},
	{"data_load", false, ASSAY_WHY_HOST_DATA},
	{"data load", false, ASSAY_WHY_HOST_DATA},
	{"data_wait", false, ASSAY_WHY_HOST_DATA},
	{"load_batch", false, ASSAY_WHY_HOST_DATA},
	{"next_batch", false, ASSAY_WHY_HOST_DATA},
	{"fetch_batch", false, ASSAY_WHY_HOST_DATA},
};

static bool can_mean_data(uint8_t kind)
{
	return kind == ASSAY_HOST_OP || kind == ASSAY_HOST_ANNOTATION || kind == ASSAY_HOST_MARKER;
}

static assay_why cause_of_name(assay_str name)
{
	for (size_t i = 0; i < ASSAY_COUNT_OF(words); i++)
		if (words[i].whole ? assay_str_is(name, words[i].text)
				   : assay_str_find_nocase(name, words[i].text) >= 0)
			return words[i].cause;
	return (assay_why)NO_CAUSE;
}

static uint8_t name_cause(assay_host_causes *c, assay_sid name)
{
	uint8_t *known = &c->of_name[name];
	if (!*known)
		*known = (uint8_t)(1 + cause_of_name(assay_text(c->run, name)));
	return (uint8_t)(*known - 1);
}

static uint8_t row_cause(assay_host_causes *c, uint32_t h)
{
	const assay_host_table *host = &c->run->part.t.host;
	uint8_t kind = host->kind[h];
	if (assay_is_call(kind) && name_cause(c, host->name[h]) == ASSAY_WHY_HOST_SYNC)
		return ASSAY_WHY_HOST_SYNC;
	if (can_mean_data(kind) && name_cause(c, host->name[h]) == ASSAY_WHY_HOST_DATA)
		return ASSAY_WHY_HOST_DATA;
	return cause_of_kind[kind];
}

/* Rows that have begun by `now` go on the stack of their cause; on top is the innermost one. */
static void lane_begin(const assay_host_causes *c, assay_lane *lane, int64_t now)
{
	const assay_host_table *host = &c->run->part.t.host;
	for (; lane->next < lane->n && host->ts[lane->row[lane->next]] <= now; lane->next++) {
		uint32_t h = lane->row[lane->next];
		int k = c->cause[h] - ASSAY_HOST_CAUSE_FIRST;
		while (lane->open[k].n &&
		       assay_host_end(host, lane->open[k].p[lane->open[k].n - 1]) <= host->ts[h])
			lane->open[k].n--;
		*assay_push(&lane->open[k]) = h;
	}
}

/* The first cause with a row that is open now; *row stays NO_ROW when nothing was recorded. */
static assay_why lane_now(const assay_host_causes *c, assay_lane *lane, int64_t now, uint32_t *row)
{
	const assay_host_table *host = &c->run->part.t.host;
	*row = ASSAY_NO_ROW;
	for (int k = 0; k < ASSAY_HOST_CAUSE_COUNT; k++) {
		while (lane->open[k].n &&
		       assay_host_end(host, lane->open[k].p[lane->open[k].n - 1]) <= now)
			lane->open[k].n--;
		if (lane->open[k].n) {
			*row = lane->open[k].p[lane->open[k].n - 1];
			return (assay_why)(ASSAY_HOST_CAUSE_FIRST + k);
		}
	}
	return ASSAY_WHY_HOST_UNTRACED;
}

assay_why assay_lane_at(const assay_host_causes *c, assay_lane *lane, int64_t now, uint32_t *row,
			int64_t *until)
{
	const assay_host_table *host = &c->run->part.t.host;
	lane_begin(c, lane, now);
	assay_why cause = lane_now(c, lane, now, row);
	*until = lane->next < lane->n ? host->ts[lane->row[lane->next]] : INT64_MAX;
	if (*row != ASSAY_NO_ROW && assay_host_end(host, *row) < *until)
		*until = assay_host_end(host, *row);
	return cause;
}

void assay_lane_rewind(assay_lane *lane)
{
	lane->next = 0;
	for (int k = 0; k < ASSAY_HOST_CAUSE_COUNT; k++)
		lane->open[k].n = 0;
}

void assay_host_causes_init(assay_host_causes *c, const assay_run *run)
{
	*c = (assay_host_causes){.run = run};
	c->of_track = assay_alloc(&c->scratch, (run->part.t.track.n + 1) * sizeof *c->of_track);
}

void assay_host_causes_want(assay_host_causes *c, uint32_t track)
{
	if (!c->of_track[track])
		c->of_track[track] = assay_alloc(&c->scratch, sizeof **c->of_track);
}

/* Two passes over host: count, then place. */
void assay_host_causes_fill(assay_host_causes *c)
{
	const assay_tables *t = &c->run->part.t;
	c->of_name = assay_alloc(&c->scratch, c->run->part.strings.str.n + 1);
	c->cause = assay_alloc(&c->scratch, t->host.n + 1);
	for (uint32_t h = 0; h < t->host.n; h++) {
		assay_lane *lane = c->of_track[t->host.track[h]];
		c->cause[h] = lane ? row_cause(c, h) : NO_CAUSE;
		if (c->cause[h] != NO_CAUSE)
			lane->n++;
	}
	for (size_t i = 0; i < t->track.n; i++)
		if (c->of_track[i])
			c->of_track[i]->row = assay_alloc(&c->scratch, (c->of_track[i]->n + 1) *
									       sizeof(uint32_t));
	for (uint32_t h = 0; h < t->host.n; h++)
		if (c->cause[h] != NO_CAUSE) {
			assay_lane *lane = c->of_track[t->host.track[h]];
			lane->row[lane->next++] = h;
		}
	for (size_t i = 0; i < t->track.n; i++)
		if (c->of_track[i]) {
			assay_sort_rows(c->of_track[i]->row, c->of_track[i]->n, t->host.ts);
			assay_lane_rewind(c->of_track[i]);
		}
}

void assay_host_causes_free(assay_host_causes *c)
{
	for (size_t i = 0; i < c->run->part.t.track.n; i++)
		for (int k = 0; c->of_track[i] && k < ASSAY_HOST_CAUSE_COUNT; k++)
			assay_vec_free(&c->of_track[i]->open[k]);
	assay_arena_free(&c->scratch);
}
