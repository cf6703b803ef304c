/* Snapshots of machines compared: exit status 0 nothing differs, 1 something does, 2 trouble.
 * usage: env_diff A.json B.json... */
#include <stdio.h>

#include <assay/assay.h>

int main(int argc, char **argv)
{
	assay_err err = {0};
	bool same = false;
	assay_run *owner = assay_run_new();
	const char *text =
		assay_env_diff_json(owner, (const char *const *)argv + 1,
				    (size_t)(argc > 0 ? argc - 1 : 0), NULL, &same, NULL, &err);
	if (text)
		puts(text);
	else
		fprintf(stderr, "%s\n", err.text);
	assay_run_free(owner);
	return !text ? 2 : !same;
}
