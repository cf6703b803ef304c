/* The terminal: how wide it is, whether it has colours, and a pager for what is longer than it. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "render/printout.h"

enum { WIDTH = 80, NARROWEST = 40, WIDEST = 1000 };

/* The process that shows our output; 0 when none does. One terminal, so one of it. */
static pid_t pager;

static uint32_t terminal_width(void)
{
	struct winsize size;
	const char *columns = getenv("COLUMNS");
	int64_t n = 0;
	if (!columns || !assay_str_i64(assay_str_of(columns), &n) || n < 1)
		n = isatty(STDOUT_FILENO) && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col
			    ? size.ws_col
			    : WIDTH;
	return (uint32_t)(n < NARROWEST ? NARROWEST : n > WIDEST ? WIDEST : n);
}

assay_terminal assay_cmd_terminal(void)
{
	const char *term = getenv("TERM"), *no = getenv("NO_COLOR");
	bool dumb = term && !strcmp(term, "dumb");
	return (assay_terminal){.width = terminal_width(),
				.colour = isatty(STDOUT_FILENO) && !(no && *no) && !dumb};
}

size_t assay_cmd_text_width(void)
{
	enum { WHOLE = 4096 };
	return isatty(STDOUT_FILENO) ? terminal_width() : WHOLE;
}

FILE *assay_cmd_text_open(assay_cmd_text *t)
{
	*t = (assay_cmd_text){.out = stdout};
	FILE *held = isatty(STDOUT_FILENO) ? open_memstream(&t->held, &t->n) : NULL;
	t->out = held ? held : stdout;
	return t->out;
}

void assay_cmd_text_close(assay_cmd_text *t)
{
	if (t->out == stdout)
		return;
	uint32_t width = terminal_width();
	assay_cmd_page_output(t->paged);
	if (!fclose(t->out))
		assay_lines_fit(stdout, t->held, t->n, width);
	free(t->held);
}

/* As git chooses: ASSAY_PAGER, PAGER, less; an empty one or cat is none. */
static const char *chosen_pager(void)
{
	const char *name = getenv("ASSAY_PAGER");
	if (!name)
		name = getenv("PAGER");
	if (!name)
		name = !access("/usr/bin/less", X_OK) || !access("/bin/less", X_OK) ? "less" : "";
	return *name && strcmp(name, "cat") ? name : NULL;
}

/* A shell runs it, as git's does, and shows the text itself where there is no such program. */
static void become_pager(const char *name, const int in[2])
{
	static const char script[] = "eval \"$1\"; [ $? -ne 127 ] || exec cat";
	dup2(in[0], STDIN_FILENO);
	close(in[0]);
	close(in[1]);
	setenv("LESS", "FRX", 0); /* leave when it fits, keep colours and the screen */
	setenv("LV", "-c", 0);
	signal(SIGINT, SIG_IGN); /* not the shell's; a pager sets its own */
	execl("/bin/sh", "sh", "-c", script, "sh", name, (char *)NULL);
	_exit(127);
}

void assay_cmd_page_output(bool wanted)
{
	const char *name = wanted && isatty(STDOUT_FILENO) ? chosen_pager() : NULL;
	int in[2];
	if (!name || pager || fflush(stdout) || pipe(in))
		return;
	pager = fork();
	if (!pager)
		become_pager(name, in);
	if (pager > 0) {
		dup2(in[1], STDOUT_FILENO);
		signal(SIGINT, SIG_IGN); /* is for the pager, as in less */
		signal(SIGPIPE, SIG_IGN);
	}
	pager = pager > 0 ? pager : 0;
	close(in[0]);
	close(in[1]);
}

void assay_cmd_page_end(void)
{
	if (!pager)
		return;
	close(STDOUT_FILENO);
	waitpid(pager, NULL, 0);
	pager = 0;
}
