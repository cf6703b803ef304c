#include "read/rocprof.h"

#include "base/test.h"

static const struct {
	const char *prefix; /* of the domain's name, any case */
	assay_host_kind kind;
} host_kinds[] = {
	{"hip", ASSAY_HOST_RUNTIME},       {"hsa", ASSAY_HOST_DRIVER},
	{"marker", ASSAY_HOST_MARKER},     {"rccl", ASSAY_HOST_RUNTIME},
	{"rocdecode", ASSAY_HOST_RUNTIME}, {"rocjpeg", ASSAY_HOST_RUNTIME},
	{"rocshmem", ASSAY_HOST_RUNTIME},  {"roctx", ASSAY_HOST_MARKER},
	{"nccl", ASSAY_HOST_RUNTIME},
};

assay_host_kind assay_rocprof_host_kind(assay_str domain)
{
	for (size_t i = 0; i < sizeof host_kinds / sizeof *host_kinds; i++)
		if (assay_str_find_nocase(domain, host_kinds[i].prefix) == 0)
			return host_kinds[i].kind;
	return ASSAY_HOST_OTHER;
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
	} else {
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
	p->source = r;
}

TEST(domains_tell_the_kind_of_a_call)
{
	CHECK(assay_rocprof_host_kind(ASSAY_S("HIP_COMPILER_API_EXT")) == ASSAY_HOST_RUNTIME);
	CHECK(assay_rocprof_host_kind(ASSAY_S("hsa_api")) == ASSAY_HOST_DRIVER);
	CHECK(assay_rocprof_host_kind(ASSAY_S("MARKER_CORE_RANGE_API")) == ASSAY_HOST_MARKER);
	CHECK(assay_rocprof_host_kind(ASSAY_S("KFD_PAGE_FAULT")) == ASSAY_HOST_OTHER);
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
