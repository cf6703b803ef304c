/* The math libraries of ROCm: version from the header, identity from the file, and the kernel
 * databases that decide which code really runs. */
#include <dirent.h>
#include <stdio.h>

#include "base/sort.h"
#include "base/test.h"
#include "probe/database.h"
#include "probe/header.h"
#include "probe/packages.h"

enum { HEADER_MAX = 4 << 20 };

typedef struct math_row {
	const char *block, *stem, *header, *macros;
	const char *db_dir; /* under a lib folder, or under the root when it starts with "share" */
	const char *suffix[12]; /* of the schema's name fingerprint */
} math_row;

static const math_row hipblaslt = {
	"hipblaslt",         "libhipblaslt.so",   "include/hipblaslt/hipblaslt-version.h",
	"HIPBLASLT_VERSION", "hipblaslt/library", {".yaml", ".dat", ".co"}};
static const math_row rocblas = {
	"rocblas",         "librocblas.so",   "include/rocblas/internal/rocblas-version.h",
	"ROCBLAS_VERSION", "rocblas/library", {".yaml", ".dat", ".co"}};
static const math_row miopen = {"miopen",         "libMIOpen.so",    "include/miopen/version.h",
				"MIOPEN_VERSION", "share/miopen/db", {".txt"}};

static const assay_rocm_root *chosen(const assay_ctx *c)
{
	for (size_t i = 0; i < c->env->roots.n; i++)
		if (c->env->roots.p[i].chosen)
			return &c->env->roots.p[i];
	return NULL;
}

/* Not there is normal unless ROCm is expected and torch does not bring its own. A distribution
 * packages each library apart: one that is not there was not wanted. */
static assay_level absent_level(const assay_ctx *c)
{
	const assay_rocm_root *r = chosen(c);
	bool distro = r && !strcmp(r->layout, "distro");
	return c->amd && !c->bundled && !distro ? ASSAY_LEVEL_MISSING : ASSAY_LEVEL_EXPECTED;
}

static assay_file *library(assay_ctx *c, const char *block, const char *stem)
{
	const assay_rocm_root *r = chosen(c);
	assay_file *f = NULL;
	for (size_t i = 0; r && !f && i < r->n_lib_dirs; i++)
		f = assay_ctx_pick(c, r->lib_dir[i], stem);
	if (!f && c->env->torch.dir)
		f = assay_ctx_pick(c, assay_printf(c->a, "%s/lib", c->env->torch.dir), stem);
	if (!f)
		assay_ctx_reason(c, absent_level(c), "%s.lib_hash: %s/%s missing or unreadable",
				 block, r && r->n_lib_dirs ? r->lib_dir[0] : "/opt/rocm/lib", stem);
	else if (!f->elf)
		assay_ctx_reason(c, ASSAY_LEVEL_ERROR, "%s.lib_hash: %s is not an ELF library",
				 block, f->path);
	return f;
}

/* The header's text, with a reason when it should have been readable. */
static bool read_header(assay_ctx *c, const char *block, const char *rel, assay_str *text)
{
	const assay_rocm_root *r = chosen(c);
	const char *path = assay_printf(c->a, "%s/%s", r ? r->path : "/opt/rocm", rel);
	assay_cause cause = assay_root_read(&c->root, c->a, path, HEADER_MAX, text);
	/* of wheels, the development one has the headers */
	for (size_t i = 0;
	     r && !strcmp(r->layout, "wheel") && cause == ASSAY_CAUSE_MISSING && i < r->n_lib_dirs;
	     i++)
		cause = assay_root_read(&c->root, c->a,
					assay_printf(c->a, "%s/../%s", r->lib_dir[i], rel),
					HEADER_MAX, text);
	if (cause == ASSAY_CAUSE_NONE)
		return true;
	/* runtime images carry no headers and the library itself is identified anyway; where there
	 * is no library either, that was the reason */
	assay_ctx_reason(c, cause == ASSAY_CAUSE_MISSING ? ASSAY_LEVEL_EXPECTED : ASSAY_LEVEL_ERROR,
			 "%s: %s not readable (%s)", block, path, assay_cause_text(cause));
	return false;
}

/* A distribution's package of the library: librocblas4 on Debian, rocblas on Fedora and Arch. */
static const char *distribution_version(assay_ctx *c, const char *block)
{
	const assay_rocm_root *r = chosen(c);
	size_t n = strlen(block);
	for (size_t i = 0; r && !strcmp(r->layout, "distro") && i < c->installed.n; i++) {
		const char *name = c->installed.p[i].name;
		name += strncmp(name, "lib", 3) ? 0 : 3;
		if (!strncmp(name, block, n) && !name[n + strspn(name + n, "0123456789")])
			return assay_upstream_version(c->a, c->installed.p[i].version);
	}
	return NULL;
}

/* Where the database of a library may be, beside the library that uses it. */
static bool db_path(assay_ctx *c, const math_row *m, const assay_rocm_root *r, char **out)
{
	if (!strncmp(m->db_dir, "share", 5)) {
		/* wheels put the library, and so its database, beside the root */
		for (size_t i = 0; i < r->n_lib_dirs; i++) {
			*out = assay_printf(c->a, "%s/../%s", r->lib_dir[i], m->db_dir);
			if (assay_root_is_dir(&c->root, *out) &&
			    (*out = assay_root_real(&c->root, c->a, *out)) &&
			    !strcmp(r->layout, "wheel"))
				return true;
		}
		*out = assay_printf(c->a, "%s/%s", r->path, m->db_dir);
		return assay_root_is_dir(&c->root, *out);
	}
	for (size_t i = 0; i < r->n_lib_dirs; i++) {
		*out = assay_printf(c->a, "%s/%s", r->lib_dir[i], m->db_dir);
		if (assay_root_is_dir(&c->root, *out))
			return true;
		/* Debian: rocblas/5.1.0/library */
		const char *dir = assay_printf(c->a, "%s/%s", r->lib_dir[i], m->block);
		const assay_entries *names = assay_ctx_list(c, dir, NULL);
		for (size_t k = names->n; k-- > 0;) {
			*out = assay_printf(c->a, "%s/%s/library", dir, names->p[k].name);
			if (assay_root_is_dir(&c->root, *out))
				return true;
		}
	}
	*out = assay_printf(c->a, "%s/%s", r->n_lib_dirs ? r->lib_dir[0] : "/opt/rocm/lib",
			    m->db_dir);
	return false;
}

/* Kernels for the GPUs the runtime believes in? Their absence is the classic "TensileLibrary not
 * found". */
static void check_coverage(assay_ctx *c, const assay_kdb *k)
{
	for (size_t i = 0; k->n_arch && i < c->env->effective_arch.n; i++) {
		const char *arch = c->env->effective_arch.p[i].value;
		if (assay_database_has_arch(k, arch))
			continue;
		assay_ctx_finding(c, "kernel-db-arch", "%s in %s has no kernels for %s", k->library,
				  k->path, arch);
		return;
	}
}

size_t assay_ctx_database(assay_ctx *c, const char *library, const char *dir)
{
	const char *real = assay_root_real(&c->root, c->a, dir);
	for (size_t i = 0; i < c->env->kdbs.n; i++) {
		const char *known = assay_root_real(&c->root, c->a, c->env->kdbs.p[i].path);
		if (real && known && !strcmp(real, known))
			return i;
	}
	const math_row *rows[] = {&hipblaslt, &rocblas, &miopen};
	assay_member_names names = {0};
	for (size_t i = 0; i < ASSAY_COUNT_OF(rows); i++)
		if (!strcmp(rows[i]->block, library))
			assay_database_members(c, dir, rows[i]->suffix, &names);
	size_t at = assay_database_add(c, library, dir, assay_database_names_hash(c, &names));
	assay_vec_free(&names);
	c->env->kdbs.p[at].extra = true;
	return at;
}

static const char *database(assay_ctx *c, const math_row *m, bool have_lib)
{
	const assay_rocm_root *r = chosen(c);
	char *dir = NULL;
	assay_member_names names = {0};
	bool there = r && db_path(c, m, r, &dir);
	assay_rocm_root bundle = {.path = c->env->torch.dir, .layout = "bundled"};
	if (!there && c->env->torch.dir && c->bundled) {
		bundle.lib_dir[bundle.n_lib_dirs++] =
			assay_printf(c->a, "%s/lib", c->env->torch.dir);
		there = db_path(c, m, &bundle, &dir);
	}
	assay_cause cause = ASSAY_CAUSE_MISSING;
	if (there)
		cause = assay_database_members(c, dir, m->suffix, &names);
	const char *hash = assay_database_names_hash(c, &names);
	if (!hash)
		assay_ctx_reason(c,
				 cause != ASSAY_CAUSE_NONE && cause != ASSAY_CAUSE_MISSING
					 ? ASSAY_LEVEL_ERROR
				 : have_lib ? absent_level(c)
					    : ASSAY_LEVEL_EXPECTED,
				 "%s.kernel_db_revision: %s %s", m->block, dir ? dir : m->db_dir,
				 cause == ASSAY_CAUSE_NONE ? "holds no kernel files"
							   : assay_cause_text(cause));
	if (there) {
		size_t at = assay_database_add(c, m->block, dir, hash);
		check_coverage(c, &c->env->kdbs.p[at]);
	}
	assay_vec_free(&names);
	return hash;
}

static void math_block(assay_ctx *c, const math_row *m, assay_env_math *out)
{
	assay_str text;
	out->lib = library(c, m->block, m->stem);
	if (read_header(c, m->block, m->header, &text)) {
		out->package_version = assay_header_version(c->a, text, m->macros);
		out->tweak = assay_header_tweak(c->a, text, m->macros);
		if (!out->package_version)
			assay_ctx_reason(
				c, ASSAY_LEVEL_MISSING,
				"%s.package_version: %s did not contain %s_MAJOR, _MINOR and _PATCH",
				m->block, m->header, m->macros);
		if (!out->tweak)
			assay_ctx_reason(c, ASSAY_LEVEL_MISSING,
					 "%s.rocm_release_tweak: %s %s %s_TWEAK", m->block,
					 m->header,
					 assay_header_names(text, m->macros) ? "gives no value to"
									     : "did not contain",
					 m->macros);
	} else {
		out->package_version = distribution_version(c, m->block);
		out->from_package = out->package_version != NULL;
	}
	out->kernel_db = database(c, m, out->lib != NULL);
}

/* 22707 is 2.27.7, 2804 is 2.8.4: the scheme changed with 2.9. */
static const char *decode_nccl(assay_arena *a, int64_t code)
{
	int64_t top = code >= 10000 ? 10000 : 1000;
	return assay_printf(a, "%d.%d.%d", (int)(code / top), (int)(code % top / 100),
			    (int)(code % 100));
}

static void rccl_block(assay_ctx *c)
{
	assay_env *e = c->env;
	assay_str text, v;
	int64_t code;
	e->rccl.lib = library(c, "rccl", "librccl.so");
	if (!read_header(c, "rccl", "include/rccl/rccl.h", &text))
		return;
	if (!assay_header_define(text, "NCCL_VERSION_CODE", true, &v) || !assay_str_i64(v, &code) ||
	    code < 0) {
		assay_ctx_reason(
			c, ASSAY_LEVEL_MISSING,
			"rccl.version_code: include/rccl/rccl.h did not contain NCCL_VERSION_CODE");
		return;
	}
	e->rccl.code = (assay_num){true, code};
	e->rccl.version = decode_nccl(c->a, code);
}

static bool is_commit(assay_str s)
{
	return assay_str_is_hex(s, 7, 40);
}

static void ck_block(assay_ctx *c)
{
	assay_env *e = c->env;
	const assay_rocm_root *r = chosen(c);
	const char *top = r ? r->path : "/opt/rocm";
	assay_str text, v;
	const char *path = assay_printf(c->a, "%s/include/ck/version.h", top);
	e->ck.tile_present = assay_root_is_file(
		&c->root, assay_printf(c->a, "%s/include/ck_tile/core/config.hpp", top));
	assay_cause cause = assay_root_read(&c->root, c->a, path, HEADER_MAX, &text);
	if (cause != ASSAY_CAUSE_NONE) {
		/* a header-only library: without its -dev package nothing of it is there */
		assay_ctx_reason(
			c, cause == ASSAY_CAUSE_MISSING ? ASSAY_LEVEL_EXPECTED : ASSAY_LEVEL_ERROR,
			"composable_kernel.system: %s not readable (%s)", path,
			assay_cause_text(cause));
		return;
	}
	e->ck.version = assay_header_version(c->a, text, "CK_VERSION");
	if (assay_header_define(text, "CK_COMMIT_ID", false, &v) && is_commit(v))
		e->ck.commit = assay_dup(c->a, v);
	if (!e->ck.version)
		assay_ctx_reason(
			c, ASSAY_LEVEL_MISSING,
			"composable_kernel.system.version: %s did not contain CK_VERSION_*", path);
	if (!e->ck.commit)
		assay_ctx_reason(c, ASSAY_LEVEL_MISSING,
				 "composable_kernel.system.commit: %s did not contain CK_COMMIT_ID",
				 path);
}

/* Both GEMM databases in one fingerprint, each name tagged with its library's folder. */
static void tensile_block(assay_ctx *c)
{
	assay_member_names all = {0};
	for (size_t i = 0; i < c->env->kdbs.n; i++) {
		const assay_kdb *k = &c->env->kdbs.p[i];
		assay_member_names some = {0};
		bool tensile = k->library == hipblaslt.block || k->library == rocblas.block;
		if (tensile && !k->extra)
			assay_database_members(c, k->path, hipblaslt.suffix, &some);
		for (size_t n = 0; n < some.n; n++)
			*assay_push(&all) = assay_printf(c->a, "%s/%s", k->library, some.p[n]);
		assay_vec_free(&some);
	}
	assay_sort_texts(all.p, all.n);
	c->env->tensile_db = assay_database_names_hash(c, &all);
	if (!c->env->tensile_db)
		assay_ctx_reason(
			c,
			c->env->hipblaslt.lib || c->env->rocblas.lib ? absent_level(c)
								     : ASSAY_LEVEL_EXPECTED,
			"tensile.kernel_db_combined_hash: neither hipblaslt nor rocblas has a kernel database");
	assay_vec_free(&all);
}

static void run(assay_ctx *c)
{
	math_block(c, &hipblaslt, &c->env->hipblaslt);
	math_block(c, &rocblas, &c->env->rocblas);
	math_block(c, &miopen, &c->env->miopen);
	rccl_block(c);
	ck_block(c);
	tensile_block(c);
}

const assay_probe assay_probe_math = {.name = "math_libraries", .run = run};

TEST(decode_modern_version_code)
{
	assay_arena a = {0};
	CHECK(!strcmp(decode_nccl(&a, 22707), "2.27.7"));
	assay_arena_free(&a);
	return 0;
}

TEST(decode_legacy_version_code)
{
	assay_arena a = {0};
	CHECK(!strcmp(decode_nccl(&a, 2804), "2.8.4"));
	assay_arena_free(&a);
	return 0;
}

TEST(parse_short_commit_still_accepted)
{
	CHECK(is_commit(ASSAY_S("abcdef1")) && !is_commit(ASSAY_S("abc")) &&
	      !is_commit(ASSAY_S("ghijklm")));
	return 0;
}
