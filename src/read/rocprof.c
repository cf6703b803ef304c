#include "read/rocprof.h"

#include <inttypes.h>
#include <stdio.h>

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
		if (assay_str_starts_nocase(domain, host_kinds[i].prefix))
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

assay_gpu_kind assay_rocprof_first_work(assay_str name)
{
	if (assay_str_starts(name, "Copy"))
		return ASSAY_GPU_MEMCPY;
	return assay_str_is(name, "FillBuffer") ? ASSAY_GPU_MEMSET : ASSAY_GPU_KERNEL;
}

assay_host_kind assay_rocprof_first_call(assay_str name)
{
	if (assay_str_starts(name, "hip") || assay_str_starts(name, "__hip"))
		return ASSAY_HOST_RUNTIME;
	return assay_str_starts(name, "hsa") ? ASSAY_HOST_DRIVER : ASSAY_HOST_MARKER;
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
	t->vendor[r] = assay_intern_z(&p->strings, assay_vendor_name[ASSAY_VENDOR_AMD]);
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

static assay_sid barrier_args(assay_part *p, const assay_rocprof_barrier *b)
{
	assay_jsonw w = {.compact = true};
	char event[32];
	snprintf(event, sizeof event, "0x%" PRIx64, b->event);
	assay_jsonw_z(&w, "event", event);
	assay_jsonw_u64(&w, "correlation", b->corr);
	if (b->queue >= 0)
		assay_jsonw_i64(&w, "queue", b->queue);
	if (b->source_queue >= 0)
		assay_jsonw_i64(&w, "source_queue", b->source_queue);
	assay_sid args = assay_intern(&p->strings, (assay_str){w.out.p, w.out.n});
	assay_jsonw_free(&w);
	return args;
}

uint64_t assay_rocprof_banks(assay_json *j)
{
	uint64_t sum = 0, n;
	assay_str key;
	for (assay_json_enter(j, '['); assay_json_element(j);) {
		if (assay_json_peek(j) != '{') {
			assay_json_skip(j, NULL);
			continue;
		}
		for (assay_json_enter(j, '{'); assay_json_member(j, &key);) {
			if (assay_str_is(key, "size_in_bytes"))
				sum += assay_json_u64(j, &n) ? n : 0;
			else
				assay_json_skip(j, NULL);
		}
	}
	return sum;
}

bool assay_rocprof_is_wait(assay_str operation)
{
	return assay_str_find_nocase(operation, "wait") >= 0;
}

void assay_rocprof_add_barrier(assay_part *p, const assay_rocprof_barrier *b)
{
	uint32_t m = assay_add(&p->t, ASSAY_T_mark), r = assay_add(&p->t, ASSAY_T_barrier);
	assay_mark_table *mark = &p->t.mark;
	assay_barrier_table *t = &p->t.barrier;
	mark->ts[m] = b->ts;
	mark->dur[m] = b->dur;
	mark->name[m] = b->name;
	mark->track[m] = b->track;
	mark->args[m] = barrier_args(p, b);
	t->mark[r] = m;
	t->corr[r] = b->corr;
	t->event[r] = b->event;
	t->queue[r] = b->queue;
	t->source_queue[r] = b->source_queue;
	t->waits[r] = b->waits;
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

TEST(a_barrier_is_a_mark_and_a_witness)
{
	assay_part p = {0};
	assay_rocprof_add_barrier(&p, &(assay_rocprof_barrier){.ts = 5,
							       .dur = 2,
							       .queue = 2,
							       .source_queue = 1,
							       .event = 0x90,
							       .corr = 30,
							       .waits = true});
	CHECK(p.t.mark.n == 1 && p.t.barrier.n == 1 && p.t.barrier.mark[0] == 0);
	CHECK(p.t.barrier.event[0] == 0x90 && p.t.barrier.waits[0] == 1);
	CHECK(assay_str_is(
		assay_pool_get(&p.strings, p.t.mark.args[0]),
		"\"event\": \"0x90\",\"correlation\": 30,\"queue\": 2,\"source_queue\": 1"));
	CHECK(assay_rocprof_is_wait(ASSAY_S("HIP_EVENT_WAIT")));
	CHECK(!assay_rocprof_is_wait(ASSAY_S("HIP_EVENT_RECORD")));
	assay_part_free(&p);
	return 0;
}
