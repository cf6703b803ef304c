#include "analyze/asked.h"

#include "base/json.h"
#include "base/test.h"

assay_str assay_fact_of_group(const assay_run *run, uint32_t group, const char *key)
{
	const assay_tables *t = &run->part.t;
	assay_sid name = assay_pool_find(&run->part.strings, assay_str_of(key));
	for (size_t i = 0; name && i < t->meta.n; i++)
		if (t->meta.key[i] == name && t->meta.source[i] < t->source.n &&
		    assay_group_of(t, t->meta.source[i]) == group)
			return assay_text(run, t->meta.value[i]);
	return (assay_str){0};
}

/* The words of run.json's command, as a process has them in its command line. */
static assay_str asked_command(const assay_run *run, assay_arena *a)
{
	assay_str list = assay_meta_get(run, "run.command"), word;
	const char *text = "";
	if (!list.n)
		return list;
	assay_json j = assay_json_copy(a, list);
	if (assay_json_enter(&j, '['))
		while (assay_json_element(&j) && assay_json_text(&j, &word))
			text = assay_printf(a, "%s%s%s", text, *text ? " " : "",
					    assay_dup(a, assay_json_unescape(a, word)));
	return assay_str_of(text);
}

uint32_t assay_asked_group(const assay_run *run)
{
	const assay_tables *t = &run->part.t;
	assay_arena scratch = {0};
	assay_str asked = asked_command(run, &scratch);
	assay_sid key = assay_pool_find(&run->part.strings, ASSAY_S("command"));
	uint32_t found = ASSAY_NO_ROW;
	bool several = false;
	for (size_t i = 0; key && asked.n && i < t->meta.n; i++) {
		if (t->meta.key[i] != key || t->meta.source[i] >= t->source.n ||
		    !assay_str_same(assay_text(run, t->meta.value[i]), asked))
			continue;
		uint32_t group = assay_group_of(t, t->meta.source[i]);
		several |= found != ASSAY_NO_ROW && found != group;
		found = group;
	}
	assay_arena_free(&scratch);
	return several ? ASSAY_NO_ROW : found;
}

TEST(the_process_that_was_asked_for_has_the_command_of_the_recording)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	static const struct {
		const char *key, *value;
	} facts[] = {{"run.command", "[\"python3\", \"train.py\"]"},
		     {"command", "python3 -c hog"},
		     {"command", "python3 train.py"}};
	for (uint32_t i = 0; i < ASSAY_COUNT_OF(facts); i++) {
		uint32_t source = assay_add(t, ASSAY_T_source);
		t->source.group[source] = source;
		run->part.source = source;
		assay_meta_add(&run->part, facts[i].key, assay_str_of(facts[i].value));
	}
	CHECK_EQ(assay_asked_group(run), 2);
	CHECK(assay_str_is(assay_fact_of_group(run, 1, "command"), "python3 -c hog"));
	CHECK(!assay_fact_of_group(run, 1, "pid").n);
	run->part.source = 1; /* a copy of itself */
	assay_meta_add(&run->part, "command", ASSAY_S("python3 train.py"));
	CHECK_EQ(assay_asked_group(run), ASSAY_NO_ROW);
	assay_run_free(run);
	return 0;
}
