/* A rule holds when every path it names satisfies it in every snapshot; unknown satisfies
 * nothing. */
#include "envs/check.h"

#include <fnmatch.h>
#include <stdio.h>

#include "base/err.h"
#include "base/fmt.h"
#include "base/suggest.h"
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

static const char signs[] = "=!<>~";

/* What stands before any of the stops; the rest begins with one. */
static assay_str take_until(assay_str *rest, const char *stops)
{
	size_t n = 0;
	while (n < rest->n && !strchr(stops, rest->p[n]))
		n++;
	assay_str word = {rest->p, n};
	*rest = assay_str_trim((assay_str){rest->p + n, rest->n - n});
	return word;
}

/* An operator, with a blank behind it or without where it is made of signs. */
static assay_str take_operator(assay_str *rest)
{
	size_t n = 0;
	while (n < rest->n && strchr(signs, rest->p[n]))
		n++;
	if (!n)
		return take_until(rest, " \t");
	assay_str word = {rest->p, n};
	*rest = assay_str_trim((assay_str){rest->p + n, rest->n - n});
	return assay_str_is(word, "==") ? ASSAY_S("=") : word;
}

static int op_of(assay_str word)
{
	for (int i = 0; i < (int)ASSAY_COUNT_OF(ops); i++)
		if (assay_str_is(word, ops[i].word))
			return i;
	return -1;
}

static assay_str without_quotes(assay_str s)
{
	bool quoted = s.n > 1 && strchr("\"'", *s.p) && s.p[s.n - 1] == *s.p;
	return quoted ? (assay_str){s.p + 1, s.n - 2} : s;
}

/* "8", or a comparison with a number: ">= 8". */
static bool parse_count(assay_env_rule *r, assay_str text)
{
	r->compare = strchr(signs, *text.p) ? op_of(take_operator(&text)) : EQ;
	return r->compare >= EQ && r->compare <= LT && assay_str_i64(text, &r->count);
}

static bool parse_line(assay_env_rules *rules, const char *name, assay_str line, uint32_t no,
		       assay_err *err)
{
	line = assay_str_trim(line);
	if (!line.n || *line.p == '#')
		return true;
	assay_str path = take_until(&line, " \t=!<>~");
	int op = op_of(take_operator(&line));
	if (op < 0 || !path.n)
		return assay_fail(
			err, ASSAY_FORMAT, 0,
			"%s: line %u: expected PATH and one of = != >= <= > < ~ count present absent equal",
			name, no);
	if (ops[op].takes_value != (line.n != 0))
		return assay_fail(err, ASSAY_FORMAT, 0, "%s: line %u: '%s' takes %s", name, no,
				  ops[op].word, ops[op].takes_value ? "a value" : "no value");
	assay_env_rule r = {.path = assay_dup(&rules->arena, path),
			    .op = op,
			    .value = line.n ? assay_dup(&rules->arena, without_quotes(line)) : NULL,
			    .line = no};
	if (op == COUNT && !parse_count(&r, line))
		return assay_fail(err, ASSAY_FORMAT, 0,
				  "%s: line %u: '%s' is not a count such as 8 or >= 8", name, no,
				  r.value);
	*assay_push(&rules->list) = r;
	return true;
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

/* c: below, at or above zero as what there is is less than, equal to or more than expected. */
static bool compares(int op, int c)
{
	switch (op) {
	case EQ:
		return c == 0;
	case NE:
		return c != 0;
	case GE:
		return c >= 0;
	case LE:
		return c <= 0;
	case GT:
		return c > 0;
	default:
		return c < 0;
	}
}

static bool holds(int op, const char *have, const char *want)
{
	if (op == LIKE)
		return !fnmatch(want, have, 0);
	return compares(op, op == EQ || op == NE
				    ? strcmp(have, want)
				    : assay_version_cmp(assay_str_of(have), assay_str_of(want)));
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
static size_t count_named(const assay_env_set *set, const char *name, size_t doc)
{
	size_t things = 0, facts = 0;
	for (uint32_t p = 0; p < set->paths.n; p++) {
		bool there = assay_env_value(set, assay_env_cell(set, doc, p)) &&
			     !fnmatch(name, assay_env_path_text(set, p), 0);
		things += there && set->paths.p[p].is_component;
		facts += there && !set->paths.p[p].is_component;
	}
	return things ? things : facts;
}

/* A list without * means what is in it. */
static void check_count(assay_env_set *set, const assay_env_rule *r, size_t doc,
			assay_env_violations *out)
{
	size_t have = count_named(set, r->path, doc);
	if (!have)
		have = count_named(set, assay_printf(&set->arena, "%s.*", r->path), doc);
	if (!compares(r->compare, ((int64_t)have > r->count) - ((int64_t)have < r->count)))
		violate(out, doc, r,
			assay_printf(&set->arena, "there are %zu of %s, expected %s", have, r->path,
				     r->value));
}

static const char *nobody_has(assay_env_set *set, const char *path)
{
	/* by the name alone: the long way to it would make any two packages alike */
	const char *name = assay_env_given_name(path);
	size_t head = name ? (size_t)(name - path) : 0;
	assay_suggestion s = {.meant = path + head};
	for (uint32_t p = 0; p < set->paths.n; p++) {
		const char *text = assay_env_path_text(set, p);
		if (!strncmp(text, path, head))
			assay_suggest(&s, text + head);
	}
	path = assay_fmt_safe(&set->arena, assay_str_of(path));
	return assay_printf(&set->arena,
			    s.best ? "no snapshot has %s; did you mean '%.*s%s'?"
				   : "no snapshot has %s",
			    path, (int)head, path, s.best);
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
		violate(out, SIZE_MAX, r, nobody_has(set, r->path));
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
	char a[600] =
		"{\"schema_version\":\"1.1\",\"rocm\":{\"version\":\"6.10.1\"},\"hipblaslt\":{"
		"\"lib_hash\":null},\"assay\":{\"version\":\"0\",\"absent\":[\"hipblaslt\"],"
		"\"gpus\":[{\"bus\":\"0000:01:00.0\",\"ecc\":\"on\"},{\"bus\":\"0000:02:00.0\","
		"\"ecc\":\"off\"}],\"python\":{\"packages\":{\"torch\":\"2.9\"}}}}";
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
	CHECK_EQ(broken("assay.gpus count 2\n", "there are 0"), 1);
	CHECK_EQ(broken("hipblaslt absent\n", "unknown"), 1); /* b does not say */
	CHECK_EQ(broken("no.such present\n", "no snapshot has"), 1);
	CHECK_EQ(broken("rocm.versoin present\n", "did you mean 'rocm.version'?"), 1);
	CHECK_EQ(broken("assay.python.packages.toch present\n",
			"did you mean 'assay.python.packages.torch'?"),
		 1);
	CHECK_EQ(broken("assay.python.packages.trio present\n", "has assay.python.packages.trio"),
		 1);
	CHECK_EQ(broken("assay.python.packages.trio present\n", "did you mean"), SIZE_MAX - 1);
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

TEST(rules_are_read_as_people_write_them)
{
	CHECK_EQ(broken("rocm.version>=6.9\r\n", NULL), 0);
	CHECK_EQ(broken("rocm.version\t~\t'6.*'\n", NULL), 0);
	CHECK_EQ(broken("rocm.version == \"6.9\"\n", "is 6.10.1, expected = 6.9"), 1);
	CHECK_EQ(broken("assay.gpus.* count <= 2\n", NULL), 0);
	CHECK_EQ(broken("assay.gpus.* count >0\n", "there are 0 of assay.gpus.*, expected >0"), 1);
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
	CHECK(!assay_env_rules_parse(&r, "r", ASSAY_S("a count four\n"), &err) &&
	      strstr(err.text, "'four' is not a count"));
	assay_env_rules_free(&r);
	CHECK(!assay_env_rules_parse(&r, "r", ASSAY_S("a count ~ 4\n"), &err));
	assay_env_rules_free(&r);
	CHECK(!assay_env_rules_parse(&r, "r", ASSAY_S("# none\n"), &err));
	assay_env_rules_free(&r);
	return 0;
}
