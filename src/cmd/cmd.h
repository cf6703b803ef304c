/* Commands: one file each, one const struct each, one table in main.c. Options are rows of a table,
 * from which parsing, --help, man pages and completion are made. */
#ifndef ASSAY_CMD_CMD_H
#define ASSAY_CMD_CMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/jsonw.h"
#include "model/diff.h"
#include "model/run.h"
#include "read/reader.h"
#include "write/writer.h"

enum { ASSAY_EXIT_OK = 0, ASSAY_EXIT_FAIL = 1, ASSAY_EXIT_USAGE = 2 };

typedef enum assay_opt_type {
	ASSAY_OPT_FLAG,  /* bool */
	ASSAY_OPT_TEXT,  /* const char *, NULL when not given */
	ASSAY_OPT_INT,   /* int64_t, not negative, 0 when not given */
	ASSAY_OPT_COUNT, /* int64_t, at least 1, 0 when not given */
	ASSAY_OPT_TOP,   /* int64_t, rows to list: 0 given means all and is UINT32_MAX, 0 when not
			    given */
	ASSAY_OPT_TIME,  /* int64_t nanoseconds: 100us, 5ms, 2s; a bare number is ms */
	ASSAY_OPT_SPAN,  /* the same, more than 0, which is when it is not given */
	ASSAY_OPT_LIST,  /* assay_opt_list: may be given several times */
} assay_opt_type;

enum { ASSAY_OPT_LIST_MAX = 64 };
typedef struct assay_opt_list {
	const char *item[ASSAY_OPT_LIST_MAX];
	size_t n;
} assay_opt_list;

typedef struct assay_opt {
	const char *name; /* without dashes */
	char letter;      /* 0: long form only */
	assay_opt_type type;
	const char *value; /* placeholder in help; "a|b|c" restricts the value to these words */
	const char *help;  /* one sentence, default named in it */
	size_t at;         /* offset in the command's argument struct */
} assay_opt;

typedef struct assay_example {
	const char *line; /* run by the tests from the project's root */
	const char *about;
} assay_example;

/* A word that a command takes or prints, explained. */
typedef struct assay_term {
	const char *name;
	const char *about; /* one sentence */
} assay_term;

typedef struct assay_cmd {
	const char *name;      /* one word, or two: "env diff" */
	const char *args;      /* operands in the usage line: "INPUT..." */
	const char *about;     /* one line, no full stop */
	const char *details;   /* paragraphs for --help and the manual, split by an empty line */
	const char *terms_are; /* heading of the terms: "orders" */
	const assay_term *terms;
	size_t n_terms;
	const assay_opt *opts;
	size_t n_opts;
	const assay_example *examples;
	size_t n_examples;
	size_t args_size; /* sizeof the argument struct that opts point into */
	int min_operands; /* fewer is wrong usage */
	int max_operands; /* -1: any number */
	int trouble;      /* exit status of failure where 1 is an answer (diffs); 0: the usual 1 */
	/* operands end with NULL. Returns an exit status. */
	int (*run)(const void *args, char **operands, int n);
} assay_cmd;

#define ASSAY_OPTS(table) .opts = table, .n_opts = ASSAY_COUNT_OF(table)
#define ASSAY_TERMS(title, table)                                                                  \
	.terms_are = title, .terms = table, .n_terms = ASSAY_COUNT_OF(table)
#define ASSAY_EXAMPLES(table) .examples = table, .n_examples = ASSAY_COUNT_OF(table)

extern const assay_cmd *const assay_cmds[];
extern const size_t assay_cmd_count;
extern const assay_cmd assay_cmd_record, assay_cmd_ctl, assay_cmd_top, assay_cmd_hang,
	assay_cmd_report, assay_cmd_merge, assay_cmd_mpi, assay_cmd_diff, assay_cmd_waits,
	assay_cmd_scopes, assay_cmd_path, assay_cmd_roofline, assay_cmd_convert, assay_cmd_info,
	assay_cmd_formats, assay_cmd_sql, assay_cmd_env, assay_cmd_env_diff, assay_cmd_env_check,
	assay_cmd_help;

/* formats.c: how to get the formats that no writer here has. */
extern const char assay_formats_of_python[];

/* The command the words name, the longest name first; *used is how many words that took. NULL:
 * none. "env-diff" is taken for "env diff". */
const assay_cmd *assay_cmd_find(char **words, int n, int *used);

/* Nanoseconds of a text such as 100us; false: it is none. */
bool assay_opt_time(const char *text, int64_t *ns);

/* Parse argv[1..] into args (zeroed, cmd->args_size) and operands. false: *status is the exit
 * status (0 after --help). */
bool assay_opts_parse(const assay_cmd *cmd, int argc, char **argv, void *args, char **operands,
		      int *n_operands, int *status);
void assay_help_print(const assay_cmd *cmd, FILE *out);
/* What `assay --help` prints. */
void assay_help_commands(FILE *out);

/* A line on a terminal for anything over a second; callers look for the terminal. */
typedef struct assay_cmd_progress {
	int64_t started_ms, shown_ms;
} assay_cmd_progress;
assay_cmd_progress assay_cmd_progress_now(void);
/* ctx: the assay_cmd_progress. total 0: not known. */
void assay_cmd_show_progress(void *ctx, const char *path, uint64_t done, uint64_t total);
void assay_cmd_end_progress(const assay_cmd_progress *p);

/* Read every operand into a new run, with a progress line on a terminal; NULL after an error
 * message (one sentence, file and position). */
assay_run *assay_cmd_read(char **operands, int n);
/* Say on standard error what was lost or wrong while reading, for commands whose output does
 * not. */
void assay_cmd_losses(const assay_run *run);
/* Read and analyzed with the usual options; losses are said. */
assay_run *assay_cmd_analyze(char **operands, int n);
/* The same, but that of jobs of many ranks only some have events: those of a list (--ranks), else
 * those worth a look; which, is said. needs: what is found. printed and status: as below. */
assay_run *assay_cmd_events(char **operands, int n, const char *ranks, assay_needs needs,
			    bool printed, int *status);
/* The same, read and not analyzed. */
assay_run *assay_cmd_read_ranks(char **operands, int n, const char *ranks, int *status);
/* Row of an option table; at: where the list goes in the argument struct. */
#define ASSAY_OPT_RANKS(at)                                                                                                                                                      \
	{                                                                                                                                                                        \
		"ranks", 0, ASSAY_OPT_TEXT, "LIST",                                                                                                                              \
			"Ranks to show, such as 3,8-15, or all (default all; of more than 16 those worth a look: the first, the busiest, the latest, the one that waits most).", \
			at                                                                                                                                                       \
	}
/* Read and analyzed; of jobs of many ranks only findings are kept (api/job.h). printed: as text
 * or JSON and no more, so that spare columns are not needed. status: to exit with when it
 * returns NULL. */
assay_run *assay_cmd_job(char **operands, int n, const assay_report_opts *opts, bool printed,
			 int *status);
/* Read as a function does it, with progress and messages; NULL after one, which err has too. */
typedef bool assay_cmd_reader(void *ctx, assay_run *run, char **operands, size_t n, assay_err *err);
assay_run *assay_cmd_read_by(assay_cmd_reader *read, void *ctx, char **operands, int n,
			     assay_err *err);
/* Exit status of an error. */
int assay_cmd_status(const assay_err *err);
/* Read, but that of many files each is handed over and forgotten. */
assay_run *assay_cmd_read_each(char **operands, int n, const assay_each *each);
/* Whether the output is one of the files that were read, with a message when it is: they are
 * mapped, and nobody means to lose them. */
bool assay_cmd_is_input(const assay_run *run, const char *cmd, const char *out);
/* Write the page of an analyzed run and say how large it is; operands end with NULL. */
bool assay_cmd_page(assay_run *run, char **operands, const char *path);
bool assay_cmd_diff_page(const assay_diff *diff, assay_run *a, assay_run *b, char **operands,
			 const char *path);
/* Print the like table. */
void assay_cmd_show_like(const assay_run *run, const char *tool, bool json);
/* Standard output: columns (COLUMNS, the terminal, else 80), and whether to colour. */
typedef struct assay_terminal {
	uint32_t width;
	bool colour;
} assay_terminal;
assay_terminal assay_cmd_terminal(void);
/* Text for people: on a terminal its lines fit into the columns there are; in a pipe they are
 * printed as they are. */
typedef struct assay_cmd_text {
	FILE *out;
	char *held; /* what a terminal is to show; NULL: out is standard output */
	size_t n;
	bool paged; /* set between opening and closing: the terminal's pager shows it */
} assay_cmd_text;
FILE *assay_cmd_text_open(assay_cmd_text *t);
void assay_cmd_text_close(assay_cmd_text *t);
/* Columns of such text; as many as there may be in a pipe. */
size_t assay_cmd_text_width(void);
/* What is printed from here on goes through a pager, when it is for a terminal. Ask for the
 * terminal first. */
void assay_cmd_page_output(bool wanted);
/* Waits for the pager to be left; the output was flushed. */
void assay_cmd_page_end(void);
/* Print a finished document and free it. */
void assay_cmd_put_json(assay_jsonw *w);
/* "assay: text (at byte N)". */
void assay_cmd_error(const assay_err *err);

#endif
