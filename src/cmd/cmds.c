/* The command table, apart from main() so that the tests can walk it. */
#include "cmd/cmd.h"

#include <string.h>

#include "base/test.h"

const assay_cmd *const assay_cmds[] = {
	&assay_cmd_record,  &assay_cmd_ctl,      &assay_cmd_top,       &assay_cmd_hang,
	&assay_cmd_report,  &assay_cmd_merge,    &assay_cmd_mpi,       &assay_cmd_diff,
	&assay_cmd_waits,   &assay_cmd_scopes,   &assay_cmd_path,      &assay_cmd_roofline,
	&assay_cmd_convert, &assay_cmd_info,     &assay_cmd_formats,   &assay_cmd_sql,
	&assay_cmd_env,     &assay_cmd_env_diff, &assay_cmd_env_check, &assay_cmd_help,
};
const size_t assay_cmd_count = ASSAY_COUNT_OF(assay_cmds);

/* Words of the name that match, all of them or 0. */
static int words_match(const char *name, char **words, int n)
{
	const char *space = strchr(name, ' ');
	size_t first = space ? (size_t)(space - name) : strlen(name);
	if (n < 1)
		return 0;
	if (!space)
		return !strcmp(words[0], name);
	if (!strncmp(words[0], name, first) && words[0][first] == '-' &&
	    !strcmp(words[0] + first + 1, space + 1))
		return 1;
	bool both = n > 1 && strlen(words[0]) == first && !strncmp(words[0], name, first) &&
		    !strcmp(words[1], space + 1);
	return both ? 2 : 0;
}

const assay_cmd *assay_cmd_find(char **words, int n, int *used)
{
	const assay_cmd *best = NULL;
	*used = 0;
	for (size_t i = 0; i < assay_cmd_count; i++) {
		int took = words_match(assay_cmds[i]->name, words, n);
		if (took > *used || (took && !best)) {
			best = assay_cmds[i];
			*used = took;
		}
	}
	return best;
}

TEST(two_word_commands_win_over_their_first_word)
{
	char env[] = "env", diff[] = "diff", both[] = "env-diff", none[] = "nonsense";
	CHECK_EQ(words_match("env diff", (char *[]){env, diff}, 2), 2);
	CHECK_EQ(words_match("env diff", (char *[]){both}, 1), 1);
	CHECK_EQ(words_match("env diff", (char *[]){env}, 1), 0);
	CHECK_EQ(words_match("env", (char *[]){env, diff}, 2), 1);
	int used;
	CHECK(!assay_cmd_find((char *[]){none}, 1, &used) && !used);
	return 0;
}
