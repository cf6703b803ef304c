/* Option tables at work: parsing and --help. */
#include "cmd/cmd.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/suggest.h"
#include "base/test.h"
#include "cmd/say.h"

static const assay_opt *find_opt(const assay_cmd *cmd, const char *name, size_t n)
{
	for (size_t i = 0; i < cmd->n_opts; i++)
		if (strlen(cmd->opts[i].name) == n && !memcmp(cmd->opts[i].name, name, n))
			return &cmd->opts[i];
	return NULL;
}

static const assay_opt *find_letter(const assay_cmd *cmd, char letter)
{
	for (size_t i = 0; i < cmd->n_opts; i++)
		if (cmd->opts[i].letter == letter)
			return &cmd->opts[i];
	return NULL;
}

bool assay_opt_time(const char *text, int64_t *ns)
{
	static const struct {
		const char *unit;
		int scale;
	} units[] = {{"ns", 0}, {"us", 3}, {"ms", 6}, {"s", 9}, {"", 6}};
	assay_str s = assay_str_of(text);
	for (size_t i = 0; i < ASSAY_COUNT_OF(units); i++) {
		size_t n = strlen(units[i].unit);
		if (assay_str_ends(s, units[i].unit))
			return assay_str_scaled((assay_str){s.p, s.n - n}, units[i].scale, ns) &&
			       *ns >= 0;
	}
	return false;
}

/* "a|b|c" lists the only words allowed; any other placeholder allows everything. */
static bool allowed(const assay_opt *o, const char *value)
{
	assay_str rest = assay_str_of(o->value);
	if (!rest.n || !strchr(o->value, '|'))
		return true;
	while (rest.n)
		if (assay_str_is(assay_str_cut(&rest, '|'), value))
			return true;
	return false;
}

static bool set_value(const assay_opt *o, const char *value, void *args)
{
	char *at = (char *)args + o->at;
	assay_opt_list *list = (assay_opt_list *)(void *)at;
	int64_t *num = (int64_t *)(void *)at;
	if (o->type != ASSAY_OPT_FLAG && !allowed(o, value))
		return false;
	switch (o->type) {
	case ASSAY_OPT_FLAG:
		*(bool *)(void *)at = true;
		return true;
	case ASSAY_OPT_TEXT:
		*(const char **)(void *)at = value;
		return true;
	case ASSAY_OPT_INT:
		return assay_str_i64(assay_str_of(value), num) && *num >= 0;
	case ASSAY_OPT_COUNT:
		return assay_str_i64(assay_str_of(value), num) && *num >= 1;
	case ASSAY_OPT_TOP:
		if (!assay_str_i64(assay_str_of(value), num) || *num < 0)
			return false;
		*num = *num && *num < UINT32_MAX ? *num : UINT32_MAX;
		return true;
	case ASSAY_OPT_TIME:
		return assay_opt_time(value, num);
	case ASSAY_OPT_SPAN:
		return assay_opt_time(value, num) && *num > 0;
	case ASSAY_OPT_LIST:
		if (list->n == ASSAY_OPT_LIST_MAX)
			return false;
		list->item[list->n++] = value;
		return true;
	}
	return false;
}

static bool usage_error(const assay_cmd *cmd, int *status, const char *fmt, const char *what)
{
	assay_say_on("assay %s: ", cmd->name);
	assay_say(fmt, what);
	assay_say("Try 'assay %s --help'.", cmd->name);
	*status = ASSAY_EXIT_USAGE;
	return false;
}

static bool unknown_option(const assay_cmd *cmd, int *status, const char *word, const char *name,
			   const char *eq)
{
	char typed[64];
	assay_suggestion near = {.meant = typed};
	snprintf(typed, sizeof typed, "%.*s", eq ? (int)(eq - name) : (int)strlen(name), name);
	for (size_t i = 0; i < cmd->n_opts; i++)
		assay_suggest(&near, cmd->opts[i].name);
	usage_error(cmd, status, "unknown option %s", word);
	if (near.best)
		assay_say("Did you mean --%s?", near.best);
	return false;
}

/* The second word of a command may have a slip in it: env chek. */
static bool too_many(const assay_cmd *cmd, int *status, const char *operand)
{
	assay_suggestion near = {.meant = operand};
	size_t n = strlen(cmd->name);
	for (size_t i = 0; i < assay_cmd_count; i++)
		if (!strncmp(assay_cmds[i]->name, cmd->name, n) && assay_cmds[i]->name[n] == ' ')
			assay_suggest(&near, assay_cmds[i]->name + n + 1);
	usage_error(cmd, status, "too many operands: %s", operand);
	if (near.best)
		assay_say("Did you mean 'assay %s %s'?", cmd->name, near.best);
	return false;
}

struct cursor {
	int i, argc;
	char **argv;
};

/* One option at argv[i], its value in the same word, after '=', or in the next word. */
static bool take_option(const assay_cmd *cmd, struct cursor *c, void *args, int *status)
{
	char *word = c->argv[c->i];
	bool is_long = word[1] == '-';
	const char *name = is_long ? word + 2 : word + 1, *eq = is_long ? strchr(name, '=') : NULL;
	const assay_opt *o = is_long ? find_opt(cmd, name, eq ? (size_t)(eq - name) : strlen(name))
				     : find_letter(cmd, *name);
	if (!o)
		return unknown_option(cmd, status, word, name, eq);
	const char *value = eq ? eq + 1 : !is_long && name[1] ? name + 1 : NULL;
	if (o->type == ASSAY_OPT_FLAG) {
		if (value)
			return usage_error(cmd, status, "%s takes no value", word);
	} else if (!value) {
		if (c->i + 1 >= c->argc)
			return usage_error(cmd, status, "%s needs a value", word);
		value = c->argv[++c->i];
	}
	assert(o->at < cmd->args_size);
	if (!set_value(o, value, args)) {
		assay_say("assay %s: '%s' is not a value for --%s (%s)", cmd->name, value, o->name,
			  o->value);
		*status = ASSAY_EXIT_USAGE;
		return false;
	}
	return true;
}

bool assay_opts_parse(const assay_cmd *cmd, int argc, char **argv, void *args, char **operands,
		      int *n_operands, int *status)
{
	struct cursor c = {1, argc, argv};
	bool only_operands = false;
	*n_operands = 0;
	for (; c.i < argc; c.i++) {
		char *word = argv[c.i];
		if (only_operands || word[0] != '-' || !word[1]) {
			operands[(*n_operands)++] = word;
		} else if (!strcmp(word, "--")) {
			only_operands = true;
		} else if (!strcmp(word, "--help") || !strcmp(word, "-h")) {
			assay_help_print(cmd, stdout);
			*status = ASSAY_EXIT_OK;
			return false;
		} else if (!take_option(cmd, &c, args, status)) {
			return false;
		}
	}
	operands[*n_operands] = NULL;
	if (*n_operands < cmd->min_operands)
		return usage_error(cmd, status, "expected %s", cmd->args);
	if (cmd->max_operands >= 0 && *n_operands > cmd->max_operands)
		return too_many(cmd, status, operands[cmd->max_operands]);
	return true;
}

enum { HELP_WIDTH = 100, HELP_NARROW = 60, HELP_INDENT = 32 };

static size_t help_width(FILE *out)
{
	size_t width = assay_cmd_terminal().width;
	if (!isatty(fileno(out)))
		return HELP_WIDTH;
	return width > HELP_WIDTH ? HELP_WIDTH : width < HELP_NARROW ? HELP_NARROW : width;
}

/* Words flow into lines; an empty line stays. column: where the first line begins. */
static void print_flowed(FILE *out, const char *text, size_t indent, size_t column)
{
	size_t width = help_width(out);
	bool first = true;
	while (*text) {
		size_t gap = strspn(text, " \n");
		bool paragraph = gap > 1 && text[0] == '\n' && text[1] == '\n';
		text += gap;
		size_t n = strcspn(text, " \n");
		if (!n)
			break;
		if (paragraph || (!first && column + 1 + n > width)) {
			fprintf(out, "%s\n%*s", paragraph ? "\n" : "", (int)indent, "");
			column = indent;
		} else if (!first) {
			fputc(' ', out);
			column++;
		}
		fwrite(text, 1, n, out);
		column += n;
		text += n;
		first = false;
	}
	fputc('\n', out);
}

/* What was written of the left column, and the text right of it. */
static void print_right(FILE *out, int left, const char *text)
{
	if (left > HELP_INDENT - 2) {
		fputc('\n', out);
		left = 0;
	}
	fprintf(out, "%*s", HELP_INDENT - left, "");
	print_flowed(out, text, HELP_INDENT, HELP_INDENT);
}

static void print_option(const assay_opt *o, FILE *out)
{
	int left = o->letter ? fprintf(out, "  -%c, ", o->letter) : fprintf(out, "      ");
	left += fprintf(out, "--%s", o->name);
	if (o->type != ASSAY_OPT_FLAG)
		left += fprintf(out, " %s", o->value);
	print_right(out, left, o->help);
}

void assay_help_print(const assay_cmd *cmd, FILE *out)
{
	fprintf(out, "usage: assay %s%s%s%s\n\n%s.\n", cmd->name, cmd->n_opts ? " [options]" : "",
		*cmd->args ? " " : "", cmd->args, cmd->about);
	if (cmd->details) {
		fputc('\n', out);
		print_flowed(out, cmd->details, 0, 0);
	}
	if (cmd->n_terms)
		fprintf(out, "\n%s:\n", cmd->terms_are);
	for (size_t i = 0; i < cmd->n_terms; i++)
		print_right(out, fprintf(out, "  %s", cmd->terms[i].name), cmd->terms[i].about);
	if (cmd->n_opts)
		fprintf(out, "\noptions:\n");
	for (size_t i = 0; i < cmd->n_opts; i++)
		print_option(&cmd->opts[i], out);
	if (cmd->n_examples)
		fprintf(out, "\nexamples:\n");
	for (size_t i = 0; i < cmd->n_examples; i++)
		fprintf(out, "  %s\n      %s\n", cmd->examples[i].line, cmd->examples[i].about);
}

struct test_args {
	bool json;
	const char *like;
	int64_t top, min;
	assay_opt_list each;
};

static const assay_opt test_opts[] = {
	{"json", 'j', ASSAY_OPT_FLAG, NULL, "", offsetof(struct test_args, json)},
	{"like", 0, ASSAY_OPT_TEXT, "hta|goblin", "", offsetof(struct test_args, like)},
	{"top", 'n', ASSAY_OPT_TOP, "N", "", offsetof(struct test_args, top)},
	{"min", 0, ASSAY_OPT_TIME, "TIME", "", offsetof(struct test_args, min)},
	{"each", 0, ASSAY_OPT_LIST, "WORD", "", offsetof(struct test_args, each)},
};
static const assay_cmd test_cmd = {.name = "test",
				   .args = "A",
				   .about = "",
				   ASSAY_OPTS(test_opts),
				   .args_size = sizeof(struct test_args),
				   .min_operands = 1,
				   .max_operands = 2};

static bool parse_words(struct test_args *a, int *n, int argc, const char **argv)
{
	char *operands[16];
	int status = -1;
	return assay_opts_parse(&test_cmd, argc, (char **)(void *)argv, a, operands, n, &status);
}

TEST(options_take_values_in_every_spelling)
{
	struct test_args a = {0};
	int n;
	const char *argv[] = {"test",  "-j",     "--like=hta", "x",        "-n5", "--min",
			      "1.5us", "--each", "p",          "--each=q", "--",  "-y"};
	CHECK(parse_words(&a, &n, ASSAY_COUNT_OF(argv), argv));
	CHECK(a.json && !strcmp(a.like, "hta") && a.top == 5 && a.min == 1500 && n == 2);
	CHECK(a.each.n == 2 && !strcmp(a.each.item[1], "q"));
	return 0;
}

TEST(a_top_of_nothing_is_all)
{
	struct test_args a = {0};
	int n;
	const char *argv[] = {"test", "--top", "0", "x"};
	CHECK(parse_words(&a, &n, ASSAY_COUNT_OF(argv), argv));
	CHECK_EQ(a.top, UINT32_MAX);
	return 0;
}

TEST(wrong_usage_is_refused)
{
	struct test_args a = {0};
	int n;
	const char *bad[][4] = {{"test", "--nope", "x"},   {"test", "--like", "tea", "x"},
				{"test", "-n", "-1", "x"}, {"test", "--json=1", "x"},
				{"test", "x", "--top"},    {"test", "--min", "3h", "x"}};
	int argc[] = {3, 4, 4, 3, 3, 4};
	if (!freopen("/dev/null", "w", stderr)) /* the messages are not the point here */
		return 1;
	for (size_t i = 0; i < ASSAY_COUNT_OF(bad); i++)
		CHECK(!parse_words(&a, &n, argc[i], bad[i]));
	const char *none[] = {"test"}, *many[] = {"test", "1", "2", "3"};
	CHECK(!parse_words(&a, &n, 1, none) && !parse_words(&a, &n, 4, many));
	return 0;
}
