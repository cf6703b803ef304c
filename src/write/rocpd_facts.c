/* Facts of an input's header that a rocpd database has a place for. */
#include <inttypes.h>

#include "base/test.h"
#include "write/rocpd.h"

/* Facts of JSON are kept as they stand there. */
static assay_str without_quotes(assay_str s)
{
	bool quoted = s.n >= 2 && s.p[0] == '"' && s.p[s.n - 1] == '"';
	return quoted ? (assay_str){s.p + 1, s.n - 2} : s;
}

assay_str rocpd_fact(const assay_run *run, uint32_t group, const char *key)
{
	const assay_meta_table *m = &run->part.t.meta;
	assay_sid sid = assay_pool_find(&run->part.strings, assay_str_of(key));
	for (size_t i = 0; sid && i < m->n; i++)
		if (m->key[i] == sid && assay_group_of(&run->part.t, m->source[i]) == group)
			return without_quotes(assay_text(run, m->value[i]));
	return (assay_str){"", 0};
}

static bool is_guid(assay_str s)
{
	bool sound = s.n == 36;
	for (size_t i = 0; i < s.n; i++)
		sound &= assay_hex_digit(s.p[i]) >= 0 || s.p[i] == '-';
	return sound;
}

/* What an input gave itself, else made of the start, as version 7 of UUIDs is, and of the name: the
 * same input gives the same bytes. */
const char *rocpd_guid(const assay_run *run, uint32_t group, int64_t start, assay_arena *arena)
{
	assay_str own = rocpd_fact(run, group, "rocpd.guid");
	assay_str path = assay_text(run, run->part.t.source.path[group]);
	uint64_t ms = (uint64_t)start / 1000000, a = assay_hash(path.p, path.n, group + 1),
		 b = assay_hash(path.p, path.n, a);
	if (is_guid(own))
		return assay_dup(arena, own);
	return assay_printf(arena, "%08x-%04x-7%03x-%04x-%012" PRIx64,
			    (unsigned)(ms >> 16 & UINT32_MAX), (unsigned)(ms & 0xffff),
			    (unsigned)(a & 0xfff), (unsigned)(0x8000 | (a >> 12 & 0x3fff)),
			    b & 0xffffffffffff);
}

/* The rank stands where rocprofv3's readers look for it; "" when it is not known. */
assay_str rocpd_environment(const assay_run *run, uint32_t group, assay_arena *arena)
{
	const assay_source_table *s = &run->part.t.source;
	const char *text = "";
	if (s->rank[group] >= 0)
		text = assay_printf(arena, "{\"RANK\": \"%" PRId32 "\"", s->rank[group]);
	if (*text && s->world[group] > 0)
		text = assay_printf(arena, "%s, \"WORLD_SIZE\": \"%" PRId32 "\"", text,
				    s->world[group]);
	if (*text)
		text = assay_printf(arena, "%s}", text);
	return assay_str_of(text);
}

/* Those of the database itself are true of the one that is written, too. */
static bool has_place(assay_str key)
{
	static const char *const keys[] = {
		"node.system_name", "node.hostname", "node.release", "node.version",
		"node.machine_id",  "process.init",  "process.fini", "process.start",
		"process.end",      "process.ppid",  "process.pid",  "node.hardware_name",
		"process.command",  "rocpd.guid",    "rocpd.uuid",   "rocpd.schema_version",
		"rocpd.assay.epoch"};
	return assay_str_is_any(key, keys, ASSAY_COUNT_OF(keys)) ||
	       assay_str_starts(key, "rocpd.assay.agent.");
}

uint64_t rocpd_facts_without_place(const assay_run *run)
{
	const assay_meta_table *m = &run->part.t.meta;
	uint64_t n = 0;
	for (size_t i = 0; i < m->n; i++)
		n += !has_place(assay_text(run, m->key[i]));
	return n;
}

TEST(facts_of_machines_and_processes_have_a_place_in_a_database)
{
	CHECK(has_place(ASSAY_S("node.hostname")) && has_place(ASSAY_S("rocpd.assay.agent.3")));
	CHECK(!has_place(ASSAY_S("node.id")) && !has_place(ASSAY_S("env.SLURM_PROCID")));
	return 0;
}
