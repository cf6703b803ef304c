/* The command table and dispatch; nothing else. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/owner.h"
#include "base/suggest.h"
#include "cmd/cmd.h"
#include "cmd/say.h"

static int wrong_usage(void)
{
	assay_help_commands(stderr);
	return ASSAY_EXIT_USAGE;
}

/* A full disk or a closed pipe must not look like an answer. */
static int finish(int status, int trouble)
{
	bool written = !fflush(stdout) && !ferror(stdout);
	int error = errno;
	assay_cmd_page_end();
	if (written || status >= trouble || error == EPIPE)
		return status;
	assay_say("assay: cannot write the output: %s", strerror(error));
	return trouble;
}

static int run_with_memory(const assay_cmd *cmd, int argc, char **argv)
{
	assay_arena a = {0};
	void *args = assay_alloc(&a, cmd->args_size ? cmd->args_size : 1);
	char **operands = assay_alloc(&a, sizeof *operands * ((size_t)argc + 1));
	int n, status = ASSAY_EXIT_OK;
	if (assay_opts_parse(cmd, argc, argv, args, operands, &n, &status))
		status = cmd->run(args, operands, n);
	assay_arena_free(&a);
	return finish(status, cmd->trouble ? cmd->trouble : ASSAY_EXIT_FAIL);
}

static int run_command(const assay_cmd *cmd, int argc, char **argv)
{
	assay_frame f;
	static assay_err err;
	assay_enter_program(&f, &err);
	if (setjmp(f.out)) {
		assay_say("assay %s: %s", cmd->name, err.text);
		assay_cmd_page_end();
		return cmd->trouble ? cmd->trouble : ASSAY_EXIT_FAIL;
	}
	int status = run_with_memory(cmd, argc, argv);
	assay_leave(&f);
	return status;
}

/* A path is meant for report; a word that is none may be a command with a slip in it. */
static int no_command(int argc, char **argv)
{
	assay_suggestion near = {.meant = argv[1]};
	bool option = argv[1][0] == '-' && argc > 2;
	if (option || !access(argv[1], F_OK) || strchr(argv[1], '/') || strchr(argv[1], '.'))
		return run_command(&assay_cmd_report, argc, argv);
	for (size_t i = 0; i < assay_cmd_count; i++)
		assay_suggest(&near, assay_cmds[i]->name);
	if (near.best) {
		assay_say("assay: unknown command '%s'; did you mean '%s'?", argv[1], near.best);
		return ASSAY_EXIT_USAGE;
	}
	assay_say("assay: unknown command '%s'", argv[1]);
	fputc('\n', stderr);
	return wrong_usage();
}

static void go_on(int signal)
{
	(void)signal;
}

/* A limit on the size of files is then an error of the write, and has a sentence. A program that is
 * started finds the signal as it was, for handlers end with exec. */
static void survive_limit(void)
{
	struct sigaction old, sa = {.sa_handler = go_on, .sa_flags = SA_RESTART};
	if (!sigaction(SIGXFSZ, NULL, &old) && old.sa_handler == SIG_DFL)
		sigaction(SIGXFSZ, &sa, NULL);
}

int main(int argc, char **argv)
{
	survive_limit();
	if (argc < 2)
		return wrong_usage();
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V"))
		return finish(printf("assay %s\n", ASSAY_VERSION) < 0, ASSAY_EXIT_FAIL);
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		assay_help_commands(stdout);
		return finish(ASSAY_EXIT_OK, ASSAY_EXIT_FAIL);
	}
	assay_keep_memory();
	if (!strcmp(assay_file_name(argv[0]), "assay-mpi") && !strcmp(argv[1], "report"))
		return run_command(&assay_cmd_mpi, argc - 1, argv + 1);
	int used;
	const assay_cmd *cmd = assay_cmd_find(argv + 1, argc - 1, &used);
	if (cmd)
		return run_command(cmd, argc - used, argv + used);
	return no_command(argc, argv);
}
