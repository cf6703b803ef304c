/* A rule holds when every path it names satisfies it in every snapshot; unknown satisfies nothing.
 */
#include "envs/check.h"

#include <fnmatch.h>
#include <stdio.h>

#include "base/err.h"
#include "base/fmt.h"
#include "base/test.h"
#include "base/version.h"
#include "envs/diff.h"

enum op { EQ, NE, GE, LE, GT, LT, LIKE, COUNT, PRESENT, ABSENT, EQUAL };

static const struct {
	const char *word;
	bool takes_value;
} ops[] = {
	[EQ] = {"=", true},           [NE] = {"!=", true},        [GE] = {">=", true},
	[LE] = {"<=", true},          [GT] = {">", true},         [LT] = {"<", true},
	[LIKE] = {"~", true},         [COUNT] = {"count", true},  [PRESENT] = {"present", false},
	[ABSENT] = {"absent", false}, [EQUAL] = {"equal", false},
};

static bool parse_line(assay_env_rules *rules, const char *name, assay_str line, uint32_t no,
		       assay_err *err)
{
	line = assay_str_trim(line);
	if (!line.n || *line.p == '#')
		return true;
	assay_str path = assay_str_cut(&line, ' ');
	line = assay_str_trim(line);
	assay_str word = assay_str_cut(&line, ' '), value = assay_str_trim(line);
	for (int i = 0; i < (int)ASSAY_COUNT_OF(ops); i++) {
		if (!assay_str_is(word, ops[i].word))
			continue;
		if (ops[i].takes_value != (value.n != 0))
			return assay_fail(err, ASSAY_FORMAT, no, "%s: line %u: '%s' takes %s", name,
					  no, ops[i].word,
					  ops[i].takes_value ? "a value" : "no value");
		assay_env_rule r = {.path = assay_dup(&rules->arena, path),
				    .op = i,
				    .value = value.n ? assay_dup(&rules->arena, value) : NULL,
				    .line = no};
		*assay_push(&rules->list) = r;
		return true;
	}
	return assay_fail(
		err, ASSAY_FORMAT, no,
		"%s: line %u: expected PATH and one of = != >= <= > < ~ count present absent equal",
		name, no);
}

bool assay_env_rules_parse(assay_env_rules *rules, const char *name, assay_str text, assay_err *err)
{
	*rules = (assay_env_rules){0};
	uint32_t no = 0;
	while (text.n)
		if (!parse_line(rules, name, assay_str_cut(&text, '\n'), ++no, err))
			return false;
	if (!rules->list.n)
		return assay_fail(err, ASSAY_FORMAT, 0, "%s holds no rule", name);
	return true;
}

void assay_env_rules_free(assay_env_rules *rules)
{
	assay_vec_free(&rules->list);
	assay_arena_free(&rules->arena);
}

static bool holds(int op, const char *have, const char *want)
{
	int c = assay_version_cmp(assay_str_of(have), assay_str_of(want));
	switch (op) {
	case EQ:
		return !strcmp(have, want);
	case NE:
		return strcmp(have, want) != 0;
	case GE:
		return c >= 0;
	case LE:
		return c <= 0;
	case GT:
		return c > 0;
	case LT:
		return c < 0;
	default:
		return !fnmatch(want, have, 0);
	}
}

static void violate(assay_env_violations *out, size_t doc, const assay_env_rule *r,
		    const char *text)
{
	*assay_push(out) = (assay_env_violation){doc, r->line, text};
}

static const char *state_word(assay_env_set *set, assay_sid v)
{
	const char *text = assay_env_value(set, v);
	return text                  ? assay_fmt_safe(&set->arena, assay_str_of(text))
	       : v == set->absent_id ? "absent"
				     : "unknown";
}

/* What a snapshot says at one path against the rule. */
static void check_cell(assay_env_set *set, const assay_env_rule *r, size_t doc, uint32_t path,
		       assay_env_violations *out)
{
	assay_sid v = assay_env_cell(set, doc, path);
	const char *have = assay_env_value(set, v), *name = assay_env_path_text(set, path);
	bool ok = r->op == PRESENT  ? have != NULL
		  : r->op == ABSENT ? v == set->absent_id
				    : have && holds(r->op, have, r->value);
	if (!ok)
		violate(out, doc, r,
			assay_printf(&set->arena, "%s is %s, expected %s%s%s",
				     assay_fmt_safe(&set->arena, assay_str_of(name)),
				     state_word(set, v), ops[r->op].word, r->value ? " " : "",
				     r->value ? r->value : ""));
}

/* Who else says what, for hosts that do not: the other one of two, else how many. */
static const char *common(assay_env_set *set, uint32_t path, assay_sid value)
{
	size_t n = 0, first = 0;
	for (size_t d = set->docs.n; d-- > 0;)
		if (assay_env_cell(set, d, path) == value) {
			n++;
			first = d;
		}
	if (!value)
		return "known on no host";
	if (n == 1)
		return assay_printf(&set->arena, "on %s it is %s", assay_env_doc_label(set, first),
				    state_word(set, value));
	return assay_printf(&set->arena, "on %zu of %zu hosts it is %s", n, set->docs.n,
			    state_word(set, value));
}

static void check_equal(assay_env_set *set, const assay_env_rule *r, uint32_t path,
			assay_env_violations *out)
{
	bool tie = false;
	assay_sid most = assay_env_majority(set, path, &tie);
	const char *others = common(set, path, most);
	const char *name =
		assay_fmt_safe(&set->arena, assay_str_of(assay_env_path_text(set, path)));
	for (size_t d = 0; d < set->docs.n; d++) {
		assay_sid v = assay_env_cell(set, d, path);
		if (v != most || !v)
			violate(out, d, r,
				assay_printf(&set->arena, "%s is %s, %s", name, state_word(set, v),
					     others));
	}
}

/* Things of that name, or facts where no thing is named. */
static void check_count(assay_env_set *set, const assay_env_rule *r, size_t doc,
			assay_env_violations *out)
{
	size_t things = 0, facts = 0, have;
	for (uint32_t p = 0; p < set->paths.n; p++) {
		bool there = assay_env_value(set, assay_env_cell(set, doc, p)) &&
			     !fnmatch(r->path, assay_env_path_text(set, p), 0);
		things += there && set->paths.p[p].is_component;
		facts += there && !set->paths.p[p].is_component;
	}
	have = things ? things : facts;
	int64_t want;
	if (!assay_str_i64(assay_str_of(r->value), &want) || (int64_t)have != want)
		violate(out, doc, r,
			assay_printf(&set->arena, "there are %zu of %s, expected %s", have, r->path,
				     r->value));
}

static void check_rule(assay_env_set *set, const assay_env_rule *r, assay_env_violations *out)
{
	bool any = false;
	for (size_t d = 0; r->op == COUNT && d < set->docs.n; d++)
		check_count(set, r, d, out);
	if (r->op == COUNT)
		return;
	for (uint32_t p = 0; p < set->paths.n; p++) {
		if (set->paths.p[p].list || set->paths.p[p].moved ||
		    fnmatch(r->path, assay_env_path_text(set, p), 0))
			continue;
		any = true;
		if (r->op == EQUAL)
			check_equal(set, r, p, out);
		for (size_t d = 0; r->op != EQUAL && d < set->docs.n; d++)
			check_cell(set, r, d, p, out);
	}
	/* nobody has heard of it: that is what absent wants, if anybody said so */
	if (!any && r->op != ABSENT)
		violate(out, SIZE_MAX, r, assay_printf(&set->arena, "no snapshot has %s", r->path));
}

void assay_env_check(assay_env_set *set, const assay_env_rules *rules, assay_env_violations *out)
{
	assay_env_set_settle(set);
	for (size_t i = 0; i < rules->list.n; i++)
		check_rule(set, &rules->list.p[i], out);
}

static size_t broken(const char *rules, const char *first)
{
	assay_env_set set = {0};
	assay_env_rules r;
	assay_env_violations v = {0};
	char a[512] =
		"{\"schema_version\":\"1.1\",\"rocm\":{\"version\":\"6.10.1\"},\"hipblaslt\":{"
		"\"lib_hash\":null},\"assay\":{\"version\":\"0\",\"absent\":[\"hipblaslt\"],"
		"\"gpus\":[{\"bus\":\"0000:01:00.0\",\"ecc\":\"on\"},{\"bus\":\"0000:02:00.0\","
		"\"ecc\":\"off\"}]}}";
	char b[512] = "{\"schema_version\":\"1.1\",\"rocm\":{\"version\":\"6.9\"}}";
	size_t n = SIZE_MAX;
	if (assay_env_set_add_text(&set, "a", assay_str_of(a), NULL) &&
	    assay_env_set_add_text(&set, "b", assay_str_of(b), NULL) &&
	    assay_env_rules_parse(&r, "rules", assay_str_of(rules), NULL)) {
		assay_env_check(&set, &r, &v);
		n = !first || (v.n && strstr(v.p[0].text, first)) ? v.n : SIZE_MAX - 1;
	}
	assay_vec_free(&v);
	assay_env_rules_free(&r);
	assay_env_set_free(&set);
	return n;
}

TEST(rules_compare_versions_as_numbers_and_count_things)
{
	CHECK_EQ(broken("rocm.version >= 6.9\n", NULL), 0);
	CHECK_EQ(broken("# c\n\nrocm.version >= 6.10\n", "6.9, expected >= 6.10"), 1);
	CHECK_EQ(broken("rocm.version equal\n", "on a it is 6.10.1"), 1);
	CHECK_EQ(broken("rocm.version ~ 6.*\n", NULL), 0);
	CHECK_EQ(broken("assay.gpus.*.ecc = on\n", "ecc is unknown"), 3); /* b knows none */
	CHECK_EQ(broken("assay.gpus.* count 2\n", "there are 0"), 1);
	CHECK_EQ(broken("hipblaslt absent\n", "unknown"), 1); /* b does not say */
	CHECK_EQ(broken("no.such present\n", "no snapshot has"), 1);
	return 0;
}

/* One host that differs is one line, wherever it stands. */
TEST(equal_means_equal_to_most_hosts)
{
	assay_env_set set = {0};
	assay_env_rules r;
	assay_env_violations v = {0};
	static const char *const version[] = {"6.1", "6.2", "6.2", "6.2"};
	for (size_t i = 0; i < ASSAY_COUNT_OF(version); i++) {
		const char *text = assay_printf(
			&set.arena,
			"{\"schema_version\":\"1.1\",\"rocm\":{\"version\":\"%s\"}}          ",
			version[i]);
		const char *name = assay_printf(&set.arena, "n%zu", i);
		CHECK(assay_env_set_add_text(&set, name, assay_str_of(text), NULL));
	}
	CHECK(assay_env_rules_parse(&r, "rules", ASSAY_S("rocm.version equal\n"), NULL));
	assay_env_check(&set, &r, &v);
	CHECK(v.n == 1 && v.p[0].doc == 0 &&
	      !strcmp(v.p[0].text, "rocm.version is 6.1, on 3 of 4 hosts it is 6.2"));
	assay_vec_free(&v);
	assay_env_rules_free(&r);
	assay_env_set_free(&set);
	return 0;
}

TEST(broken_rules_name_their_line)
{
	assay_env_rules r;
	assay_err err = {0};
	CHECK(!assay_env_rules_parse(&r, "r", ASSAY_S("a = 1\nb is 2\n"), &err) &&
	      strstr(err.text, "line 2"));
	assay_env_rules_free(&r);
	CHECK(!assay_env_rules_parse(&r, "r", ASSAY_S("a =\n"), &err) && strstr(err.text, "value"));
	assay_env_rules_free(&r);
	CHECK(!assay_env_rules_parse(&r, "r", ASSAY_S("# none\n"), &err));
	assay_env_rules_free(&r);
	return 0;
}
