/* Variables by list, and by prefix where a family grows with every release. Values that are secrets
 * are never kept. */
#include "probe/variables.h"

#include <string.h>

#include "base/test.h"

/* Families of libraries whose every variable changes what runs. */
static const char *const prefixes[] = {
	"AITER_",   "FLASH_ATTENTION_",   "HIPBLASLT_", "MIOPEN_",  "NCCL_",
	"NVTE_",    "PYTORCH_TUNABLEOP_", "RCCL_",      "ROCBLAS_", "SGLANG_",
	"TENSILE_", "TORCHINDUCTOR_",     "TRITON_",    "VLLM_",    "XLA_"};

static bool has_word(const char *name, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (assay_str_find_nocase(assay_str_of(name), words[i]) >= 0)
			return true;
	return false;
}

/* scheme://user:password@host */
static bool has_credentials(const char *value)
{
	for (const char *p = value; (p = strstr(p, "://")); p += 3) {
		size_t n = strcspn(p + 3, "/ \t,;\"'");
		if (memchr(p + 3, '@', n))
			return true;
	}
	return false;
}

bool assay_is_secret(const char *name, const char *value)
{
	static const char *const names[] = {"KEY",  "TOKEN", "SECRET", "PASSW",
					    "CRED", "AUTH",  "COOKIE", "WEBHOOK"};
	static const char *const starts[] = {"sk-",    "hf_", "ghp_", "gho_", "github_pat_",
					     "glpat-", "xox", "AKIA", "eyJ",  "Bearer "};
	for (size_t i = 0; i < ASSAY_COUNT_OF(starts); i++)
		if (assay_str_starts(assay_str_of(value), starts[i]))
			return true;
	return has_word(name, names, ASSAY_COUNT_OF(names)) || has_credentials(value);
}

const char *assay_ctx_public_var(const assay_ctx *c, const char *name)
{
	const char *v = assay_ctx_var(c, name);
	return v && *v && assay_is_secret(name, v) ? "(hidden)" : v;
}

static bool is_listed(const assay_pairs *p, assay_str name)
{
	for (size_t i = 0; i < p->n; i++)
		if (assay_str_is(name, p->p[i].key))
			return true;
	return false;
}

static bool by_prefix(assay_str name)
{
	for (size_t i = 0; i < ASSAY_COUNT_OF(prefixes); i++)
		if (assay_str_starts(name, prefixes[i]))
			return true;
	return false;
}

static void sort_from(assay_pairs *p, size_t from)
{
	for (size_t i = from + 1; i < p->n; i++)
		for (size_t k = i; k > from && strcmp(p->p[k - 1].key, p->p[k].key) > 0; k--) {
			assay_pair t = p->p[k];
			p->p[k] = p->p[k - 1];
			p->p[k - 1] = t;
		}
}

void assay_ctx_prefixed_vars(assay_ctx *c)
{
	assay_env *e = c->env;
	size_t from = e->more_vars.n;
	for (char **v = c->vars; v && *v; v++) {
		assay_str value = assay_str_of(*v), name = assay_str_cut(&value, '=');
		if (!by_prefix(name) || is_listed(&e->vars, name) || is_listed(&e->more_vars, name))
			continue;
		const char *z = assay_dup(c->a, name);
		assay_ctx_pair(c, &e->more_vars, z, assay_ctx_public_var(c, z));
	}
	sort_from(&e->more_vars, from);
	for (size_t i = 0; c->vars_known && i < ASSAY_COUNT_OF(prefixes); i++)
		*assay_push(&e->absent) = assay_printf(c->a, "assay.env_vars.%s*", prefixes[i]);
}

TEST(secrets_are_known_by_name_and_by_look)
{
	CHECK(assay_is_secret("VLLM_API_KEY", "x") && assay_is_secret("NCCL_X", "hf_abcdef"));
	CHECK(assay_is_secret("VLLM_URL", "https://me:pw@host/x"));
	CHECK(!assay_is_secret("VLLM_URL", "https://host/a@b") &&
	      !assay_is_secret("NCCL_IB_HCA", "mlx5_0"));
	return 0;
}
