/* assay sql: questions to the tables, in SQL. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/derived.h"
#include "cmd/cmd.h"
#include "cmd/prompt.h"
#include "cmd/say.h"
#include "render/sql.h"
#include "resolve/resolve.h"

struct sql_args {
	const char *format, *ranks;
	bool schema;
};

typedef assay_vec(char) statement_text;

static const char *const form_words[] = {"table", "csv", "json"};

static assay_sql_form form_of(const char *word)
{
	for (size_t i = 0; word && i < ASSAY_COUNT_OF(form_words); i++)
		if (!strcmp(word, form_words[i]))
			return (assay_sql_form)i;
	return ASSAY_SQL_TABLE;
}

/* Every statement of the text; stops at the first that fails. */
static bool answer(assay_sql *sql, const char *text, assay_sql_form form)
{
	int room = isatty(STDOUT_FILENO) ? (int)assay_cmd_terminal().width : 0;
	bool ok = true;
	while (ok && *text) {
		assay_err err = {0};
		assay_result r;
		ok = assay_sql_start(sql, &text, &r, &err) &&
		     (!r.stmt || assay_sql_print(stdout, &r, form, room, &err));
		assay_result_free(&r);
		if (!ok && err.pos)
			assay_say("assay sql: %s (at character %llu)", err.text,
				  (unsigned long long)err.pos + 1);
		else if (!ok)
			assay_say("assay sql: %s", err.text);
	}
	return ok;
}

/* ---- the prompt ---- */

static const char *const prompt_help =
	"Statements end with ';'. Ctrl-C gives up a line, or a question that takes too long.\n"
	".schema          every table and view; .schema NAME its columns; .tables is the same\n"
	".mode WORD       table, csv or json\n"
	".help            this\n"
	".quit            or the end of the input\n";

static bool is_form(const char *word)
{
	for (size_t i = 0; i < ASSAY_COUNT_OF(form_words); i++)
		if (!strcmp(word, form_words[i]))
			return true;
	return false;
}

static bool show_schema(const assay_sql *sql, const char *table)
{
	assay_cmd_text text;
	bool ok = assay_sql_schema(assay_cmd_text_open(&text), &sql->views, table);
	assay_cmd_text_close(&text);
	if (!ok)
		assay_say("assay sql: there is no table '%s'", table);
	return ok;
}

/* A line that begins with a dot. False: leave. */
static bool dot_command(assay_sql *sql, char *line, assay_sql_form *form, bool *ok)
{
	const char *word = strtok(line, " \t\r\n;"), *operand = strtok(NULL, " \t\r\n;");
	if (!strcmp(word, ".quit") || !strcmp(word, ".exit"))
		return false;
	if (!strcmp(word, ".schema") || !strcmp(word, ".tables")) {
		*ok = show_schema(sql, operand) && *ok;
	} else if (!strcmp(word, ".mode") && operand && is_form(operand)) {
		*form = form_of(operand);
	} else {
		bool help = !strcmp(word, ".help");
		if (!help)
			assay_say("assay sql: %s%s%s is not a command of the prompt", word,
				  operand ? " " : "", operand ? operand : "");
		fputs(prompt_help, help ? stdout : stderr);
		*ok = help && *ok;
	}
	return true;
}

/* A statement ends at a ';' that ends a line; sqlite3_complete() would pull SQLite in here. */
static bool ends_statement(const char *text)
{
	size_t n = strlen(text);
	while (n && strchr(" \t\r\n", text[n - 1]))
		n--;
	return n && text[n - 1] == ';';
}

/* For the signal handler: the one conversation of this process. */
static const assay_sql *asked;

/* Ctrl-C ends the question, not the conversation; where none runs it does nothing. */
static void interrupt(int signal)
{
	(void)signal;
	assay_sql_interrupt(asked);
}

static void outlive_interrupts(const assay_sql *sql)
{
	struct sigaction stop = {.sa_handler = interrupt, .sa_flags = SA_RESTART};
	asked = sql;
	sigaction(SIGINT, &stop, NULL);
}

/* Where lines come from: a person, or a file or pipe. */
struct talk {
	bool terminal;
	assay_prompt prompt;
	char *line;
	size_t room;
};

static char *next_line(struct talk *t, bool inside, bool *given_up)
{
	*given_up = false;
	if (!t->terminal) {
		fflush(stdout);
		return getline(&t->line, &t->room, stdin) < 0 ? NULL : t->line;
	}
	return (char *)(uintptr_t)assay_prompt_read(&t->prompt, inside ? "   ...> " : "assay> ",
						    given_up);
}

/* One line of the conversation. False: leave. */
static bool take_line(assay_sql *sql, char *line, assay_sql_form *form, statement_text *text,
		      bool *ok)
{
	if (!text->n && line[0] == '.')
		return dot_command(sql, line, form, ok);
	size_t n = strlen(line);
	assay_vec_reserve(text, text->n + n + 2);
	memcpy(text->p + text->n, line, n);
	text->n += n;
	text->p[text->n++] = '\n';
	text->p[text->n] = 0;
	if (!ends_statement(text->p))
		return true;
	*ok = answer(sql, text->p, *form) && *ok;
	text->n = 0;
	return true;
}

static bool converse(assay_sql *sql, assay_sql_form form)
{
	bool ok = true, given_up, more = true;
	struct talk t = {.terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)};
	statement_text text = {0};
	if (t.terminal) {
		assay_prompt_open(&t.prompt, "sql_history");
		outlive_interrupts(sql);
	}
	while (more) {
		char *line = next_line(&t, text.n > 0, &given_up);
		if (given_up)
			text.n = 0;
		else
			more = line && take_line(sql, line, &form, &text, &ok);
	}
	if (text.n && text.p[strspn(text.p, " \t\r\n")]) /* the last one needs no ';' */
		ok = answer(sql, text.p, form) && ok;
	if (t.terminal)
		assay_prompt_close(&t.prompt);
	free(t.line);
	assay_vec_free(&text);
	return ok || t.terminal;
}

/* The last operand is a statement when it is no file. */
static char *take_statement(char **operands, int *n)
{
	if (*n < 2 || access(operands[*n - 1], F_OK) == 0)
		return NULL;
	return operands[--*n];
}

/* A statement of the command line, or a command of the prompt, as people give them to sqlite3. */
static bool answer_operand(assay_sql *sql, char *text, assay_sql_form form)
{
	bool ok = true;
	if (*text != '.')
		return answer(sql, text, form);
	dot_command(sql, text, &form, &ok);
	return ok;
}

static int sql_run(const void *args, char **operands, int n)
{
	const struct sql_args *a = args;
	char *text = take_statement(operands, &n), *kept = operands[n];
	operands[n] = NULL;
	int status;
	assay_run *run =
		assay_cmd_events(operands, n, a->ranks, ASSAY_NEEDS_FINDINGS, false, &status);
	operands[n] = kept;
	if (!run)
		return status;
	assay_scopes(run, NULL);
	assay_derive(run);
	assay_sql sql;
	assay_err err = {0};
	bool ok = assay_sql_open(&sql, run, &err);
	if (!ok)
		assay_cmd_error(&err);
	else if (a->schema)
		ok = show_schema(&sql, text);
	else
		ok = text ? answer_operand(&sql, text, form_of(a->format))
			  : converse(&sql, form_of(a->format));
	assay_sql_close(&sql);
	assay_run_free(run);
	return ok ? ASSAY_EXIT_OK : ASSAY_EXIT_FAIL;
}

static const assay_opt sql_opts[] = {
	{"format", 'f', ASSAY_OPT_TEXT, "table|csv|json", "How rows are printed (default table).",
	 offsetof(struct sql_args, format)},
	{"schema", 0, ASSAY_OPT_FLAG, NULL,
	 "List tables and views with their row counts; with a name after the input, its columns.",
	 offsetof(struct sql_args, schema)},
	ASSAY_OPT_RANKS(offsetof(struct sql_args, ranks)),
};

static const assay_example sql_examples[] = {
	{"assay sql demo/run \"select stream, name, count(*) n, sum(dur) total from kernels where step = 5 group by stream, name_id order by total desc limit 5\"",
	 "top kernels by stream in a step"},
	{"assay sql demo/run \"select rank, step, sum(exposed_comm) from steps group by rank, step\"",
	 "exposed communication by step and rank"},
	{"assay sql demo/train.json.gz \"select name, max(dur), op, shapes, call from kernels\"",
	 "what is behind the slowest kernel"},
	{"assay sql demo/run \"select t, device, sum(bytes) over (partition by device order by ts) held from memory where device is not null limit 5\"",
	 "memory over time"},
	{"assay sql demo/run \"select k.name, k.stream, k.end from gaps g join kernels k on k.end between g.ts - 100000 and g.ts where g.id = (select id from gaps order by dur desc limit 1) order by k.end desc limit 3\"",
	 "kernels right before the longest gap"},
	{"assay sql demo/run --schema kernels", "the columns of a view"},
};

const assay_cmd assay_cmd_sql = {
	.name = "sql",
	.args = "INPUT... [STATEMENT]",
	.about = "Query the tables of a run in SQL",
	.details =
		"Has every table of `assay info --schema`, and views that join what belongs together: kernels,\n"
		"memory_copies, memsets, regions, memory, counters, waits, gaps, steps, scopes, devices,\n"
		"collectives, top_kernels, ranks; gpu_slice, slice, thread and process with Perfetto's column\n"
		"names; cuda_gpu_kern_sum, cuda_gpu_mem_time_sum, cuda_api_sum and nvtx_sum with those of `nsys\n"
		"stats`. Nothing is copied into a database: rows are read where they are. Times are nanoseconds;\n"
		"words (kind, class, cause) are text; what the input did not say is NULL.\n\n"
		"A column that names a row of another table holds its id. Every text column X has a twin X_id\n"
		"that is quicker to group and join by; it does not show in SELECT *. Without a STATEMENT,\n"
		"statements are read from standard input; .help there says more.",
	ASSAY_OPTS(sql_opts),
	ASSAY_EXAMPLES(sql_examples),
	.args_size = sizeof(struct sql_args),
	.min_operands = 1,
	.max_operands = -1,
	.run = sql_run,
};
