#include "model/machine.h"

#include "base/test.h"

/* In the recorders' own words. */
static bool names_machine(assay_str key)
{
	static const char *const keys[] = {"host_name", "hostname", "host", "node.hostname"};
	for (size_t i = 0; i < ASSAY_COUNT_OF(keys); i++)
		if (assay_str_is(key, keys[i]))
			return true;
	return false;
}

assay_str assay_machine_in_fact(const assay_run *run, size_t meta)
{
	const assay_meta_table *m = &run->part.t.meta;
	if (!names_machine(assay_text(run, m->key[meta])))
		return (assay_str){"", 0};
	assay_str host = assay_text(run, m->value[meta]);
	return host.n > 1 && *host.p == '"' ? (assay_str){host.p + 1, host.n - 2} : host;
}

assay_str assay_machine_in_path(assay_str path)
{
	assay_str name = assay_str_file(path);
	ptrdiff_t end = assay_str_find(name, ".pt.trace.json");
	size_t at = 0;
	for (size_t i = 0; end > 0 && i < (size_t)end; i++)
		if (name.p[i] == '_' && i + 1 < (size_t)end && assay_is_digit(name.p[i + 1]))
			at = i;
	return (assay_str){name.p, at};
}

assay_str assay_machine_of(const assay_run *run, uint32_t group)
{
	const assay_tables *t = &run->part.t;
	for (size_t i = 0; i < t->meta.n; i++) {
		assay_str host = assay_machine_in_fact(run, i);
		if (host.n && assay_group_of(t, t->meta.source[i]) == group)
			return host;
	}
	return assay_machine_in_path(assay_text(run, t->source.path[group]));
}

TEST(a_machine_is_found_in_facts_and_in_file_names)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	uint32_t a = assay_add(t, ASSAY_T_source), b = assay_add(t, ASSAY_T_source);
	t->source.path[a] = assay_sid_of(run, "runs/node_7_123.456.pt.trace.json.gz");
	t->source.path[b] = assay_sid_of(run, "trace.json");
	CHECK(assay_str_is(assay_machine_of(run, a), "node_7"));
	CHECK(!assay_machine_of(run, b).n);
	CHECK(!assay_machine_in_path(ASSAY_S("rank_0.json")).n);
	CHECK(!assay_machine_in_path(ASSAY_S("a_b.pt.trace.json")).n);
	run->part.source = b;
	assay_meta_add(&run->part, "hostname", ASSAY_S("\"gpu1\""));
	CHECK(assay_str_is(assay_machine_of(run, b), "gpu1"));
	assay_run_free(run);
	return 0;
}
