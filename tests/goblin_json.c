/* Prints what `--like goblin` says of a path, or {"error": ...}: the C side of
 * tests/goblin_compare.py. usage: goblin_json PATH [PRECISION|- [STEPS]] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/goblin.h"
#include "read/goblin.h"
#include "render/goblin.h"

int main(int argc, char **argv)
{
	assay_goblin_input in = {0};
	assay_err err = {0};
	if (argc < 2)
		return 2;
	const char *precision = argc > 2 && strcmp(argv[2], "-") ? argv[2] : NULL;
	bool ok = assay_goblin_read(argv[1], precision, argc > 3 ? atoi(argv[3]) : 0, &in, &err);
	assay_jsonw w = {0};
	if (ok) {
		assay_goblin g = assay_goblin_compute(&in);
		assay_goblin_json(&w, &g);
	} else {
		assay_jsonw_open(&w, NULL, '{');
		assay_jsonw_z(&w, "error", err.text);
		assay_jsonw_close(&w, '}');
	}
	puts(assay_jsonw_text(&w).p);
	assay_jsonw_free(&w);
	assay_goblin_input_free(&in);
	return ok ? 0 : 1;
}
