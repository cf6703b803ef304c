/* The comparison of environments as JSON. */
#include "render/env.h"

static void put_row(assay_jsonw *w, assay_env_set *set, const assay_env_row *row)
{
	const char *value = assay_env_value(set, row->a);
	assay_jsonw_open(w, NULL, '{');
	assay_jsonw_z(w, "path", row->path);
	assay_jsonw_z(w, "group", assay_env_group_name[row->group]);
	assay_jsonw_z(w, "kind", assay_env_kind_name[row->kind]);
	assay_jsonw_z(w, "why", row->why);
	assay_jsonw_z(w, "files", row->files);
	assay_jsonw_z(w, "follows_from", row->cause);
	assay_jsonw_z(w, "value", value);
	assay_jsonw_u64(w, "agree", row->agree);
	assay_jsonw_bool(w, "majority", !row->tie);
	assay_jsonw_z(w, "remedy", assay_env_row_remedy(set, row));
	assay_jsonw_open(w, "deviating", '[');
	for (size_t i = 0; i < set->docs.n; i++) {
		assay_sid v = assay_env_cell(set, i, row->path_no);
		if (!assay_env_deviates(set, row, i))
			continue;
		assay_jsonw_open_flat(w, NULL, '{');
		assay_jsonw_z(w, "snapshot", set->docs.p[i].name);
		assay_jsonw_z(w, "value", assay_env_value(set, v));
		assay_jsonw_z(w, "state",
			      !v                    ? "unknown"
			      : v == set->absent_id ? "absent"
						    : "present");
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, ']');
	assay_jsonw_close(w, '}');
}

static void put_clusters(assay_jsonw *w, const assay_env_set *set, const assay_env_result *r)
{
	assay_jsonw_open(w, "clusters", '[');
	for (size_t i = 0; i < r->clusters.n; i++) {
		assay_jsonw_open(w, NULL, '[');
		for (uint32_t k = 0; k < r->clusters.p[i].n; k++)
			assay_jsonw_z(
				w, NULL,
				assay_env_doc_label(set, r->members.p[r->clusters.p[i].first + k]));
		assay_jsonw_close(w, ']');
	}
	assay_jsonw_close(w, ']');
}

void assay_env_diff_put(assay_jsonw *w, assay_env_set *set, const assay_env_result *r)
{
	assay_jsonw_open(w, NULL, '{');
	assay_jsonw_open(w, "snapshots", '[');
	for (size_t i = 0; i < set->docs.n; i++) {
		assay_jsonw_open_flat(w, NULL, '{');
		assay_jsonw_z(w, "name", set->docs.p[i].name);
		assay_jsonw_z(w, "host", set->docs.p[i].host);
		assay_jsonw_z(w, "schema_version", set->docs.p[i].schema);
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, ']');
	assay_jsonw_z(w, "sentence", r->sentence);
	assay_jsonw_u64(w, "different", r->different);
	assay_jsonw_u64(w, "unknown", r->unknown);
	assay_jsonw_u64(w, "unknown_to_all", r->dark.n);
	assay_jsonw_open(w, "same", '{');
	for (int g = 0; g < ASSAY_ENV_GROUPS; g++)
		assay_jsonw_u64(w, assay_env_group_name[g], r->same[g]);
	assay_jsonw_close(w, '}');
	assay_jsonw_open(w, "identical", '{');
	for (int g = 0; g < ASSAY_ENV_GROUPS; g++)
		assay_jsonw_bool(w, assay_env_group_name[g],
				 assay_env_identical(r, (assay_env_group)g));
	assay_jsonw_close(w, '}');
	put_clusters(w, set, r);
	assay_jsonw_open(w, "rows", '[');
	for (size_t i = 0; i < r->rows.n; i++)
		put_row(w, set, &r->rows.p[i]);
	assay_jsonw_close(w, ']');
	assay_jsonw_close(w, '}');
}
