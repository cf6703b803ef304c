#include "read/rocprof.h"

#include <stdlib.h>

#include "base/jsonw.h"
#include "base/test.h"

static const struct {
	const char *prefix; /* of the domain's name, any case */
	assay_host_kind kind;
} host_kinds[] = {
	{"hip", ASSAY_HOST_RUNTIME},
	{"hsa", ASSAY_HOST_DRIVER},
	{"marker", ASSAY_HOST_MARKER},
	{"rccl", ASSAY_HOST_RUNTIME},
	{"rocdecode", ASSAY_HOST_RUNTIME},
	{"rocjpeg", ASSAY_HOST_RUNTIME},
	{"rocshmem", ASSAY_HOST_RUNTIME},
	{"roctx", ASSAY_HOST_MARKER},
	{"nccl", ASSAY_HOST_RUNTIME},
	/* what our rocpd writer calls spans of other recorders */
	{"cuda_driver", ASSAY_HOST_DRIVER},
	{"cuda", ASSAY_HOST_RUNTIME},
	{"framework_operator", ASSAY_HOST_OP},
	{"framework_annotation", ASSAY_HOST_ANNOTATION},
	{"python_function", ASSAY_HOST_PYTHON},
	{"profiler_overhead", ASSAY_HOST_OVERHEAD},
};

assay_host_kind assay_rocprof_host_kind(assay_str domain)
{
	for (size_t i = 0; i < ASSAY_COUNT_OF(host_kinds); i++)
		if (assay_str_find_nocase(domain, host_kinds[i].prefix) == 0)
			return host_kinds[i].kind;
	return ASSAY_HOST_OTHER;
}

/* Which function made a marker: what is stopped by id nests in nothing. */
assay_host_kind assay_rocprof_marker_kind(assay_str function)
{
	return assay_str_is(function, "roctxProcessRangeA") ||
			       assay_str_is(function, "roctxRangeStartA")
		       ? ASSAY_HOST_PROCESS_RANGE
		       : ASSAY_HOST_MARKER;
}

bool assay_rocprof_length(assay_part *p, int64_t start, int64_t end, int64_t *dur)
{
	if (start <= 0 || end <= 0) { /* the clock is time since boot: 0 is a stamp never set */
		assay_count(p, ASSAY_ISSUE_no_duration, 1);
		return false;
	}
	if (end < start)
		assay_count(p, ASSAY_ISSUE_negative_duration, 1);
	*dur = end < start ? 0 : end - start;
	return true;
}

uint32_t assay_rocprof_u32(assay_part *p, uint64_t v, uint32_t absent)
{
	if (v <= UINT32_MAX)
		return (uint32_t)v;
	assay_count(p, ASSAY_ISSUE_wide_value, 1);
	return absent;
}

uint16_t assay_rocprof_u16(assay_part *p, uint64_t v, uint16_t absent)
{
	if (v <= UINT16_MAX)
		return (uint16_t)v;
	assay_count(p, ASSAY_ISSUE_wide_value, 1);
	return absent;
}

uint32_t assay_rocprof_host(assay_part *p, assay_host_kind kind, uint64_t corr, uint64_t external,
			    assay_str category)
{
	uint32_t h = assay_add(&p->t, ASSAY_T_host);
	uint32_t d = assay_add(&p->t, assay_host_detail[kind]);
	p->t.host.kind[h] = (uint8_t)kind;
	p->t.host.detail[h] = d;
	if (assay_host_detail[kind] == ASSAY_T_api) {
		p->t.api.corr[d] = corr;
		p->t.api.external[d] = assay_rocprof_u32(p, external, 0);
	} else if (assay_host_detail[kind] == ASSAY_T_op) {
		p->t.op.external[d] = assay_rocprof_u32(p, external, 0);
	} else if (assay_host_detail[kind] == ASSAY_T_other) {
		p->t.other.cat[d] = assay_intern(&p->strings, category);
	}
	return h;
}

uint32_t assay_rocprof_device(assay_part *p, int64_t id)
{
	assay_device_table *t = &p->t.device;
	for (uint32_t i = 0; i < t->n; i++)
		if (t->source[i] == p->source && t->id[i] == id)
			return i;
	uint32_t r = assay_add(&p->t, ASSAY_T_device);
	t->source[r] = p->source;
	t->id[r] = id >= 0 && id <= INT32_MAX ? (int32_t)id : -1;
	t->vendor[r] = assay_intern_z(&p->strings, "amd");
	return r;
}

void assay_rocprof_next_source(assay_part *p, uint32_t first)
{
	if (first == ASSAY_NO_ROW)
		return;
	uint32_t r = assay_add(&p->t, ASSAY_T_source);
	p->t.source.path[r] = p->t.source.path[first];
	p->t.source.format[r] = p->t.source.format[first];
	p->t.source.packing[r] = p->t.source.packing[first];
	p->t.source.file_bytes[r] = p->t.source.file_bytes[first];
	p->t.source.text_bytes[r] = p->t.source.text_bytes[first];
	p->t.source.traits[r] = p->t.source.traits[first];
	p->source = r;
}

static assay_sid queue_args(assay_part *p, const assay_rocprof_hip_event *e)
{
	assay_jsonw w = {.compact = true};
	if (e->queue >= 0)
		assay_jsonw_i64(&w, "queue", e->queue);
	if (e->source_queue >= 0)
		assay_jsonw_i64(&w, "source_queue", e->source_queue);
	assay_sid args = assay_intern(&p->strings, (assay_str){w.out.p, w.out.n});
	assay_jsonw_free(&w);
	return args;
}

static void add_wait(assay_part *p, const assay_rocprof_hip_event *e, int64_t record_corr)
{
	assay_sync_table *t = &p->t.sync;
	uint32_t r = assay_add(&p->t, ASSAY_T_sync);
	t->ts[r] = e->ts;
	t->dur[r] = e->dur;
	t->name[r] = assay_intern_z(&p->strings, "Stream Wait Event");
	t->track[r] = e->track;
	t->corr[r] = e->corr;
	t->event[r] = e->event;
	t->record_corr[r] = record_corr;
	t->args[r] = queue_args(p, e);
}

static void add_record(assay_part *p, const assay_rocprof_hip_event *e)
{
	assay_mark_table *t = &p->t.mark;
	uint32_t r = assay_add(&p->t, ASSAY_T_mark);
	t->ts[r] = e->ts;
	t->dur[r] = e->dur;
	t->name[r] = e->name;
	t->track[r] = e->track;
	t->args[r] = queue_args(p, e);
}

static int by_call(const void *a, const void *b)
{
	uint64_t x = ((const assay_rocprof_hip_event *)a)->corr;
	uint64_t y = ((const assay_rocprof_hip_event *)b)->corr;
	return (x > y) - (x < y);
}

void assay_rocprof_hip_events(assay_part *p, assay_rocprof_hip_event *list, size_t n)
{
	assay_map recorded = {0}; /* event handle -> place in the list */
	if (n)
		qsort(list, n, sizeof *list, by_call);
	for (size_t i = 0; i < n && i < UINT32_MAX; i++) {
		const assay_rocprof_hip_event *e = &list[i];
		bool waits =
			assay_str_find_nocase(assay_pool_get(&p->strings, e->name), "wait") >= 0;
		uint32_t r = assay_map_get(&recorded, (uint64_t)e->event);
		if (waits) {
			bool known =
				e->event >= 0 && r != ASSAY_MAP_ABSENT && list[r].corr <= INT64_MAX;
			add_wait(p, e, known ? (int64_t)list[r].corr : -1);
		} else {
			add_record(p, e);
			*assay_map_at(&recorded, (uint64_t)e->event) = (uint32_t)i;
		}
	}
	assay_map_free(&recorded);
}

TEST(domains_tell_the_kind_of_a_call)
{
	CHECK(assay_rocprof_host_kind(ASSAY_S("HIP_COMPILER_API_EXT")) == ASSAY_HOST_RUNTIME);
	CHECK(assay_rocprof_host_kind(ASSAY_S("hsa_api")) == ASSAY_HOST_DRIVER);
	CHECK(assay_rocprof_host_kind(ASSAY_S("MARKER_CORE_RANGE_API")) == ASSAY_HOST_MARKER);
	CHECK(assay_rocprof_host_kind(ASSAY_S("KFD_PAGE_FAULT")) == ASSAY_HOST_OTHER);
	CHECK(assay_rocprof_marker_kind(ASSAY_S("roctxThreadRangeA")) == ASSAY_HOST_MARKER);
	CHECK(assay_rocprof_marker_kind(ASSAY_S("roctxProcessRangeA")) == ASSAY_HOST_PROCESS_RANGE);
	return 0;
}

TEST(spans_without_stamps_or_backwards_are_counted)
{
	assay_part p = {0};
	int64_t dur = 7;
	CHECK(!assay_rocprof_length(&p, 0, 5, &dur) && p.issues[ASSAY_ISSUE_no_duration] == 1);
	CHECK(assay_rocprof_length(&p, 9, 5, &dur) && dur == 0);
	CHECK(p.issues[ASSAY_ISSUE_negative_duration] == 1);
	return 0;
}

TEST(a_wait_finds_the_record_called_last_before_it)
{
	assay_part p = {0};
	assay_sid record = assay_intern_z(&p.strings, "HIP_EVENT_RECORD");
	assay_sid wait = assay_intern_z(&p.strings, "HIP_EVENT_WAIT");
	assay_rocprof_hip_event list[] = {
		{.ts = 5, .event = 9, .corr = 30, .name = record, .queue = 1, .source_queue = -1},
		{.ts = 1, .event = 9, .corr = 20, .name = wait, .queue = 2, .source_queue = 1},
		{.ts = 3, .event = 9, .corr = 10, .name = record, .queue = 1, .source_queue = -1},
		{.ts = 4, .event = 8, .corr = 25, .name = wait, .queue = -1, .source_queue = -1},
	};
	assay_rocprof_hip_events(&p, list, 4);
	CHECK(p.t.sync.n == 2 && p.t.mark.n == 2);
	CHECK(p.t.sync.record_corr[0] == 10 && p.t.sync.record_corr[1] == -1);
	CHECK(assay_str_is(assay_pool_get(&p.strings, p.t.sync.args[0]),
			   "\"queue\": 2,\"source_queue\": 1"));
	assay_part_free(&p);
	return 0;
}
