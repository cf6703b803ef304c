/* assay help: usage of a command, and the man pages and completions made from the option tables. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/say.h"

/* Date of this version's manual; CHANGELOG.md has the same. */
#define RELEASED "2026-11-15"

struct help_args {
	bool list, man, examples;
	const char *completion;
};

/* "env diff" as one word: the name of its manual page. */
static void put_name(const char *name)
{
	for (; *name; name++)
		putchar(*name == ' ' ? '-' : *name);
}

/* The same as pages and their sections are titled. */
static void put_title(const char *name)
{
	for (; *name; name++)
		putchar(*name == ' ' ? '-' : toupper((unsigned char)*name));
}

/* roff text: a leading dot or quote and every backslash would be read as commands. */
static void roff(const char *text)
{
	bool line_start = true;
	for (; *text; text++) {
		if (text[0] == '\n' && text[1] == '\n') {
			printf("\n.PP\n");
			text++;
			line_start = true;
			continue;
		}
		if (line_start && (*text == '.' || *text == '\''))
			printf("\\&");
		if (*text == '\\')
			printf("\\e");
		else if (*text == '-')
			printf("\\-");
		else
			putchar(*text);
		line_start = *text == '\n';
	}
	putchar('\n');
}

static void man_option(const assay_opt *o)
{
	printf(".TP\n.B ");
	if (o->letter)
		printf("\\-%c, ", o->letter);
	printf("\\-\\-%s", o->name);
	if (o->type != ASSAY_OPT_FLAG)
		printf(" \\fI%s\\fR", o->value);
	putchar('\n');
	roff(o->help);
}

static void man_command(const assay_cmd *c)
{
	printf(".TH ASSAY-");
	put_title(c->name);
	printf(" 1 %s \"assay %s\" \"User Commands\"\n.SH NAME\nassay\\-", RELEASED, ASSAY_VERSION);
	put_name(c->name);
	printf(" \\- ");
	roff(c->about);
	printf(".SH SYNOPSIS\n.B assay %s\n%s%s\n", c->name, c->n_opts ? "[options] " : "",
	       c->args);
	printf(".SH DESCRIPTION\n");
	roff(c->details ? c->details : c->about);
	if (c->n_terms) {
		printf(".SH ");
		put_title(c->terms_are);
		putchar('\n');
	}
	for (size_t i = 0; i < c->n_terms; i++) {
		printf(".TP\n.B ");
		roff(c->terms[i].name);
		roff(c->terms[i].about);
	}
	if (c->n_opts)
		printf(".SH OPTIONS\n");
	for (size_t i = 0; i < c->n_opts; i++)
		man_option(&c->opts[i]);
	if (c->n_examples)
		printf(".SH EXAMPLES\n");
	for (size_t i = 0; i < c->n_examples; i++) {
		printf(".TP\n.B ");
		roff(c->examples[i].line);
		roff(c->examples[i].about);
	}
	printf(".SH SEE ALSO\n.BR assay (1)\n");
}

static void man_main(void)
{
	printf(".TH ASSAY 1 %s \"assay %s\" \"User Commands\"\n", RELEASED, ASSAY_VERSION);
	printf(".SH NAME\nassay \\- where the time of a GPU run went, and why\n"
	       ".SH SYNOPSIS\n.B assay\n.I command\n[options] [input...]\n.SH COMMANDS\n");
	for (size_t i = 0; i < assay_cmd_count; i++) {
		printf(".TP\n.BR assay\\-");
		put_name(assay_cmds[i]->name);
		printf(" (1)\n");
		roff(assay_cmds[i]->about);
	}
	printf(".SH ENVIRONMENT\n"
	       ".TP\n"
	       ".B ASSAY_THREADS\n"
	       "Threads used for reading; default: all processors.\n"
	       ".TP\n"
	       ".B ASSAY_ISA\n"
	       "scalar, avx2, avx512 or neon: the best instruction set used.\n"
	       ".TP\n"
	       ".B ASSAY_PAGER, PAGER\n"
	       "Program that pages reports on a terminal, the first that is set; default: less, which gets FRX in\n"
	       ".B LESS\n"
	       "unless that is set. Empty or cat: none.\n"
	       ".TP\n"
	       ".B COLUMNS\n"
	       "Width of reports; default: the terminal\\(aqs, else 80.\n"
	       ".TP\n"
	       ".B NO_COLOR\n"
	       "No colours, when it is not empty.\n"
	       ".SH EXIT STATUS\n"
	       "0 when the work was done, 1 when it could not be done, 2 for wrong usage.\n");
}

/* One case a command with its options, two-word names first: "env "* would match them too. */
static void put_cases(const char *two_words, const char *one_word, const char *end)
{
	for (int words = 2; words > 0; words--)
		for (size_t i = 0; i < assay_cmd_count; i++) {
			bool two = strchr(assay_cmds[i]->name, ' ') != NULL;
			if (two != (words == 2))
				continue;
			printf(two ? two_words : one_word, assay_cmds[i]->name);
			for (size_t k = 0; k < assay_cmds[i]->n_opts; k++)
				printf(" --%s", assay_cmds[i]->opts[k].name);
			fputs(end, stdout);
		}
}

static void bash_completion(void)
{
	printf("_assay() {\n\tlocal cur=${COMP_WORDS[COMP_CWORD]}\n"
	       "\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n\t\tCOMPREPLY=($(compgen -W \"");
	for (size_t i = 0; i < assay_cmd_count; i++)
		if (!strchr(assay_cmds[i]->name, ' '))
			printf("%s ", assay_cmds[i]->name);
	printf("--help --version\" -- \"$cur\"))\n\t\treturn\n\tfi\n\tlocal words=\n"
	       "\tcase \"${COMP_WORDS[1]} ${COMP_WORDS[2]}\" in\n");
	put_cases("\t\"%s\") words=\"--help", "\t\"%s \"*) words=\"--help", "\" ;;\n");
	printf("\tesac\n\tcase $cur in\n\t-*) COMPREPLY=($(compgen -W \"$words\" -- \"$cur\")) ;;\n"
	       "\t*) COMPREPLY=($(compgen -f -- \"$cur\")) ;;\n\tesac\n}\n"
	       "complete -o filenames -F _assay assay\n");
}

/* Single quotes inside single quotes, for zsh and fish. */
static void quoted(const char *text)
{
	for (; *text; text++)
		printf(*text == '\'' ? "'\\''" : "%c", *text);
}

static void zsh_completion(void)
{
	printf("#compdef assay\nif (( CURRENT == 2 )); then\n\tlocal -a cmds=(\n");
	for (size_t i = 0; i < assay_cmd_count; i++) {
		if (strchr(assay_cmds[i]->name, ' '))
			continue;
		printf("\t\t'%s:", assay_cmds[i]->name);
		quoted(assay_cmds[i]->about);
		printf("'\n");
	}
	printf("\t)\n\t_describe command cmds\n\treturn\nfi\ncase \"$words[2] $words[3]\" in\n");
	put_cases("\"%s\") compadd -- --help", "\"%s \"*) compadd -- --help", " ;;\n");
	printf("esac\n_files\n");
}

static void fish_completion(void)
{
	for (size_t i = 0; i < assay_cmd_count; i++) {
		const assay_cmd *c = assay_cmds[i];
		const char *space = strchr(c->name, ' ');
		if (space)
			printf("complete -c assay -n '__fish_seen_subcommand_from %.*s' -a %s -d '",
			       (int)(space - c->name), c->name, space + 1);
		else
			printf("complete -c assay -n __fish_use_subcommand -a %s -d '", c->name);
		quoted(c->about);
		printf("'\n");
		for (size_t k = 0; k < c->n_opts; k++) {
			printf("complete -c assay -n '__fish_seen_subcommand_from %s' -l %s -d '",
			       space ? space + 1 : c->name, c->opts[k].name);
			quoted(c->opts[k].help);
			printf("'\n");
		}
	}
}

static const struct {
	const char *shell;
	void (*print)(void);
} completions[] = {{"bash", bash_completion}, {"zsh", zsh_completion}, {"fish", fish_completion}};

static void print_completion(const char *shell)
{
	for (size_t i = 0; i < ASSAY_COUNT_OF(completions); i++)
		if (!strcmp(completions[i].shell, shell))
			completions[i].print();
}

void assay_help_commands(FILE *out)
{
	fprintf(out, "usage: assay COMMAND [options] [INPUT...]\n"
		     "       assay INPUT...  (the same as assay report INPUT...)\n\n"
		     "assay says where the time of a GPU run went, and what to change.\n\n");
	for (size_t i = 0; i < assay_cmd_count; i++)
		fprintf(out, "  %-10s %s\n", assay_cmds[i]->name, assay_cmds[i]->about);
	fprintf(out, "\n'assay COMMAND --help' says more; 'assay --version' prints the version.\n");
}

static int help_run(const void *args, char **operands, int n)
{
	const struct help_args *a = args;
	int used = 0;
	const assay_cmd *cmd = n ? assay_cmd_find(operands, n, &used) : NULL;
	if (used < n) {
		assay_say("assay help: there is no command '%s'", operands[used]);
		return ASSAY_EXIT_USAGE;
	}
	if (a->list)
		for (size_t i = 0; i < assay_cmd_count; i++) {
			put_name(assay_cmds[i]->name);
			putchar('\n');
		}
	else if (a->examples)
		for (size_t i = 0; i < assay_cmd_count; i++)
			for (size_t k = 0; k < assay_cmds[i]->n_examples; k++)
				printf("%s\n", assay_cmds[i]->examples[k].line);
	else if (a->completion)
		print_completion(a->completion);
	else if (a->man && cmd)
		man_command(cmd);
	else if (a->man)
		man_main();
	else if (cmd)
		assay_help_print(cmd, stdout);
	else
		assay_help_commands(stdout);
	return ASSAY_EXIT_OK;
}

static const assay_opt help_opts[] = {
	{"list", 0, ASSAY_OPT_FLAG, NULL, "Print the names of all commands.",
	 offsetof(struct help_args, list)},
	{"man", 0, ASSAY_OPT_FLAG, NULL, "Print the manual page of the command (roff).",
	 offsetof(struct help_args, man)},
	{"examples", 0, ASSAY_OPT_FLAG, NULL, "Print every example line of every command.",
	 offsetof(struct help_args, examples)},
	{"completion", 0, ASSAY_OPT_TEXT, "bash|zsh|fish",
	 "Print the completion script of a shell.", offsetof(struct help_args, completion)},
};

static const assay_example help_examples[] = {
	{"assay help report", "the same as assay report --help"},
	{"assay help --completion bash", "a completion script, for ~/.bashrc or a package"},
};

const assay_cmd assay_cmd_help = {
	.name = "help",
	.args = "[COMMAND]",
	.about = "Show the usage of a command, its manual page, or shell completion",
	ASSAY_OPTS(help_opts),
	ASSAY_EXAMPLES(help_examples),
	.args_size = sizeof(struct help_args),
	.max_operands = 2,
	.run = help_run,
};
