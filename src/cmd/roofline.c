/* assay roofline: operators against what the device can do. */
#include <unistd.h>

#include "base/output.h"
#include "cmd/cmd.h"
#include "render/roofline.h"

struct roofline_args {
	const char *svg, *html, *rates;
	int64_t top;
};

static bool write_picture(const assay_run *run, const char *path,
			  void (*put)(FILE *out, const assay_run *run))
{
	assay_err err = {0};
	if (assay_cmd_is_input(run, "roofline", path))
		return false;
	assay_output *o = assay_output_open(path, &err);
	if (o)
		put(assay_output_file(o), run);
	if (o && assay_output_close(o, &err))
		return true;
	assay_cmd_error(&err);
	return false;
}

static int roofline_run(const void *args, char **operands, int n)
{
	const struct roofline_args *a = args;
	const assay_report_opts opts = {.size = sizeof opts, .rates = a->rates};
	int status;
	assay_run *run = assay_cmd_job(operands, n, &opts, false, &status);
	if (!run)
		return status;
	bool ok = (!a->svg || write_picture(run, a->svg, assay_roofline_svg)) &&
		  (!a->html || write_picture(run, a->html, assay_roofline_html));
	if (!a->svg && !a->html)
		assay_roofline_text(stdout, run, (uint32_t)a->top, assay_cmd_text_width());
	assay_run_free(run);
	return ok ? ASSAY_EXIT_OK : ASSAY_EXIT_FAIL;
}

static const assay_opt roofline_opts[] = {
	{"svg", 0, ASSAY_OPT_TEXT, "FILE", "Write the picture; - is standard output.",
	 offsetof(struct roofline_args, svg)},
	{"html", 0, ASSAY_OPT_TEXT, "FILE", "Write the picture as a page; - is standard output.",
	 offsetof(struct roofline_args, html)},
	{"rates", 0, ASSAY_OPT_TEXT, "FILE",
	 "Peak rates of the device (JSON); they override the built-in table.",
	 offsetof(struct roofline_args, rates)},
	{"top", 'n', ASSAY_OPT_TOP, "N", "Operators to list (default 20; 0: all).",
	 offsetof(struct roofline_args, top)},
};

static const assay_example roofline_examples[] = {
	{"assay roofline demo/train.json.gz", "operators with their shapes, most time first"},
	{"assay roofline demo/train.json.gz --svg /tmp/assay-roofline.svg", "as a picture"},
};

const assay_cmd assay_cmd_roofline = {
	.name = "roofline",
	.args = "INPUT...",
	.about = "Compare operators with what the device can do",
	.details =
		"Lists every operator whose work is known, with its shapes: operations a byte, operations a\n"
		"second, and the share of its bound that it reaches. The picture plots both on logarithmic axes\n"
		"below the roofs of the device; the area of a point is its share of time. The axes cover 99.9% of\n"
		"the time, and the picture says how many points lie outside. Needs shapes (record_shapes=True).",
	ASSAY_OPTS(roofline_opts),
	ASSAY_EXAMPLES(roofline_examples),
	.args_size = sizeof(struct roofline_args),
	.min_operands = 1,
	.max_operands = -1,
	.run = roofline_run,
};
