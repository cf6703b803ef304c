/* What in environments is not as it was expected. */
#include "render/env.h"

static const char *whose(const assay_env_set *set, const assay_env_violation *v)
{
	return v->doc == SIZE_MAX ? "all" : assay_env_doc_label(set, v->doc);
}

void assay_env_check_text(FILE *out, const assay_env_set *set, const char *rules,
			  const assay_env_violations *v)
{
	for (size_t i = 0; i < v->n; i++)
		fprintf(out, "%s: %s (%s:%u)\n", whose(set, &v->p[i]), v->p[i].text, rules,
			v->p[i].line);
}

void assay_env_check_put(assay_jsonw *w, const assay_env_set *set, const assay_env_violations *v)
{
	assay_jsonw_open(w, NULL, '{');
	assay_jsonw_u64(w, "snapshots", set->docs.n);
	assay_jsonw_open(w, "violations", '[');
	for (size_t i = 0; i < v->n; i++) {
		assay_jsonw_open(w, NULL, '{');
		assay_jsonw_z(w, "snapshot", whose(set, &v->p[i]));
		assay_jsonw_u64(w, "line", v->p[i].line);
		assay_jsonw_z(w, "text", v->p[i].text);
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, ']');
	assay_jsonw_close(w, '}');
}
