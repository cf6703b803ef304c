/* Field names and order as in the original's RunMetrics object. */
#include "render/goblin.h"

#include "base/test.h"

static void write_top(assay_jsonw *w, const assay_goblin *g)
{
	assay_jsonw_open(w, "top_kernels", '[');
	for (size_t i = 0; i < g->tops; i++) {
		assay_jsonw_open_flat(w, NULL, '{');
		assay_jsonw_str(w, "name", g->top[i].name);
		assay_jsonw_f64(w, "pct_time", g->top[i].pct_time);
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, ']');
}

static void write_budget(assay_jsonw *w, const assay_goblin_budget *b)
{
	assay_jsonw_open(w, "waste_budget", '{');
#define X(name) assay_jsonw_f64(w, #name, b->name);
	ASSAY_GOBLIN_BUCKETS(X)
#undef X
	assay_jsonw_f64(w, "total", b->total);
	assay_jsonw_f64(w, "recoverable", b->recoverable);
	assay_jsonw_close(w, '}');
}

static const char *or_unknown(const char *z)
{
	return z ? z : "unknown";
}

void assay_goblin_json(assay_jsonw *w, const assay_goblin *g)
{
	assay_jsonw_open(w, NULL, '{');
	assay_jsonw_i64(w, "steps", g->input->steps);
	assay_jsonw_f64(w, "tokens_per_sec", g->tokens_per_sec);
	assay_jsonw_f64(w, "mfu_pct", g->mfu_pct);
	assay_jsonw_f64(w, "hbm_peak_gb", g->hbm_peak_gb);
	assay_jsonw_f64(w, "hbm_avg_gb", g->hbm_avg_gb);
	assay_jsonw_f64(w, "gpu_util_pct", g->gpu_util_pct);
	write_top(w, g);
	assay_jsonw_z(w, "attention_kernel_loaded", g->attention);
	write_budget(w, &g->budget);
	assay_jsonw_open(w, "warnings", '[');
	for (size_t i = 0; i < g->input->warnings.n; i++)
		assay_jsonw_z(w, NULL, g->input->warnings.p[i]);
	assay_jsonw_close(w, ']');
	assay_jsonw_z(w, "rocm_version", or_unknown(g->input->rocm_version));
	assay_jsonw_z(w, "pytorch_version", or_unknown(g->input->pytorch_version));
	assay_jsonw_z(w, "runner_kind", "live");
	assay_jsonw_close(w, '}');
}

TEST(goblin_json_has_every_field)
{
	static const char *const keys[] = {
		"steps",       "tokens_per_sec", "mfu_pct",
		"hbm_peak_gb", "hbm_avg_gb",     "gpu_util_pct",
		"top_kernels", "waste_budget",   "attention_kernel_loaded",
		"warnings",    "rocm_version",   "pytorch_version",
		"runner_kind", "recoverable"};
	assay_goblin_input in = {.steps = 10};
	assay_goblin g = {.input = &in, .attention = "unknown"};
	assay_jsonw w = {.compact = true};
	assay_goblin_json(&w, &g);
	for (size_t i = 0; i < ASSAY_COUNT_OF(keys); i++)
		CHECK(strstr(assay_jsonw_text(&w).p, keys[i]));
	assay_jsonw_free(&w);
	return 0;
}
