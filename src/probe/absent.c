/* What was looked for and is not there, told apart from what could not be told: null alone says
 * neither. Runs last; an error reason about a field means nobody knows. */
#include <string.h>

#include "probe/packages.h"

static void absent(assay_ctx *c, const char *path)
{
	*assay_push(&c->env->absent) = path;
}

static void absent_of(assay_ctx *c, const char *form, const char *name)
{
	absent(c, assay_printf(c->a, form, name));
}

/* Something about the block, or the field, is there and could not be read. */
static bool unreadable(const assay_ctx *c, const char *path)
{
	size_t n = strlen(path);
	for (size_t i = 0; i < c->env->reasons.n; i++) {
		const assay_reason *r = &c->env->reasons.p[i];
		if (r->level == ASSAY_LEVEL_ERROR && !strncmp(r->text, path, n) &&
		    (r->text[n] == '.' || r->text[n] == ':'))
			return true;
	}
	return false;
}

static void unless_unreadable(assay_ctx *c, bool there, const char *path)
{
	if (!there && !unreadable(c, path))
		absent(c, path);
}

static void math_block(assay_ctx *c, const char *block, const assay_env_math *m)
{
	if (unreadable(c, block))
		return;
	if (!m->lib && !m->package_version && !m->kernel_db)
		absent(c, block);
	else if (!m->kernel_db)
		absent_of(c, "%s.kernel_db_revision", block);
	if (m->lib && !m->kernel_db)
		absent_of(c, "assay.kernel_databases.%s", block);
}

/* A name without a version or release has none; what the file is its digest says. */
static void library_choice(assay_ctx *c, const assay_lib *lib, const char *which,
			   const assay_file *f)
{
	const char *path = assay_printf(c->a, "assay.libraries.%s.%s", lib->name, which);
	if (!f)
		absent(c, path);
	for (size_t i = 0; f && !c->opts->no_hash && i < lib->copies.n; i++) {
		if (lib->copies.p[i].file != f)
			continue;
		if (!lib->copies.p[i].version)
			absent_of(c, "%s.version", path);
		if (!lib->copies.p[i].release)
			absent_of(c, "%s.rocm_release", path);
	}
	if (f && !f->soname)
		absent_of(c, "%s.soname", path);
	if (f && !f->build_id)
		absent_of(c, "%s.build_id", path);
}

/* A folder where ROCm's files may be could not be looked into: what is not seen may lie there. */
static bool rocm_is_shut(assay_ctx *c)
{
	static const char *const usual[] = {"/opt/rocm", "/usr/lib", "/usr/local/lib", "/lib"};
	assay_env *e = c->env;
	const char *top = NULL;
	for (size_t i = 0; i < c->shut.folders.n; i++) {
		assay_str folder = assay_str_of(c->shut.folders.p[i]);
		bool may = assay_str_starts_any(folder, usual, ASSAY_COUNT_OF(usual));
		for (size_t k = 0; k < e->roots.n && !may; k++)
			may = assay_str_starts(folder, e->roots.p[k].path);
		if (may && (!top || folder.n < strlen(top)))
			top = folder.p;
	}
	if (top)
		assay_ctx_reason(
			c, ASSAY_LEVEL_ERROR,
			"rocm: %s could not be looked into: what is not found may be there", top);
	return top;
}

static void rocm_blocks(assay_ctx *c)
{
	assay_env *e = c->env;
	bool any = e->roots.n || c->bundled, shut = rocm_is_shut(c);
	if (!any && !unreadable(c, "rocm")) {
		absent(c, "rocm.version");
		absent(c, "assay.rocm");
	}
	if (!shut) {
		unless_unreadable(c, e->hip.platform, "hip");
		unless_unreadable(c, e->rocm.version_dev, "rocm.version_dev");
	}
	if (c->running) {
		unless_unreadable(c, e->rocm.kmd_version, "rocm.kmd_version");
		unless_unreadable(c, e->amdgpu.n, "assay.amdgpu_driver");
		unless_unreadable(c, e->gpu_arch.known, "gpu_arch");
		unless_unreadable(c, e->gpu_arch.known, "assay.gpu_arch");
		absent(c, "assay.amdgpu_driver.parameters.*");
	}
	if (shut)
		return;
	math_block(c, "hipblaslt", &e->hipblaslt);
	math_block(c, "rocblas", &e->rocblas);
	math_block(c, "miopen", &e->miopen);
	unless_unreadable(c, e->rccl.lib || e->rccl.version, "rccl");
	unless_unreadable(c, e->ck.version || e->ck.commit, "composable_kernel.system");
	unless_unreadable(c, e->tensile_db, "tensile.kernel_db_combined_hash");
	absent(c, "assay.libraries.*");
	absent(c, "assay.kernel_databases.*");
	absent(c, "assay.effective.*");
	if (!e->therock.n)
		absent(c, "assay.therock");
	for (size_t i = 0; i < e->libs.n; i++) {
		library_choice(c, &e->libs.p[i], "effective", e->libs.p[i].effective);
		library_choice(c, &e->libs.p[i], "plain", e->libs.p[i].plain);
	}
}

static void torch_blocks(assay_ctx *c)
{
	assay_env *e = c->env;
	const assay_torch *t = &e->torch;
	bool none = !t->dir, rocm = t->dir && t->hip;
	if (none) {
		absent(c, "pytorch_version");
		absent(c, "pytorch_build");
		absent(c, "assay.pytorch_build");
		absent(c, "assay.library_linkage");
		absent(c, "fbgemm.pytorch_use_fbgemm");
		absent(c, "fbgemm.pytorch_use_fbgemm_genai");
		absent(c, "composable_kernel.pytorch_use_ck_sdpa");
		absent(c, "composable_kernel.pytorch_use_ck_gemm");
	}
	if (t->version && !t->hip)
		absent(c, "pytorch_build.hip_version");
	if (t->version && !t->cuda)
		absent(c, "pytorch_build.cuda_version");
	if (!rocm && (none || t->version)) {
		absent(c, "composable_kernel.pytorch_bundled");
		absent(c, "assay.pytorch_build.binary_introspection");
	}
	if ((none || t->version) && !e->aotriton.present && !unreadable(c, "aotriton"))
		absent(c, "aotriton");
	if (t->kind && !t->source_path) {
		absent(c, "pytorch_build.source_path");
		absent(c, "pytorch_build.submodule_commits");
		absent(c, "assay.pytorch_build.source_head");
	}
}

/* Only where an interpreter was found is a package known not to be installed. */
static void python_blocks(assay_ctx *c)
{
	assay_env *e = c->env;
	if ((!e->python.prefix && !e->python.sites.n) || unreadable(c, "python_version"))
		return;
	absent(c, "assay.python.packages.*");
	absent(c, "assay.python.package_commits.*");
	absent(c, "assay.python.package_sources.*");
	absent(c, "assay.python.conda.*");
	absent(c, "tensile.package_version");
	absent(c, "triton.package_version");
	absent(c, "fbgemm.package_version");
	absent(c, "aiter.package_version");
	absent(c, "runtime_context.conda_env_name");
	torch_blocks(c);
}

static void place_blocks(assay_ctx *c)
{
	assay_env *e = c->env;
	if (!e->container)
		absent(c, "docker");
	if (!e->container_kind)
		absent(c, "assay.container_kind");
	if (c->vars_known) {
		absent(c, "docker.image");
		absent(c, "docker.digest");
		absent(c, "aotriton.installed_prefix");
		absent(c, "assay.gpu_arch.override");
		absent(c, "assay.gpu_arch.target_lst");
	}
	if ((c->installed.n || assay_rpm_is_read(c)) && !unreadable(c, "assay.system_packages"))
		absent(c, "assay.system_packages.*");
	if (assay_root_is_dir(&c->root, "/sys/class"))
		absent(c, "assay.nics.*");
	if (assay_root_is_file(&c->root, "/proc/cmdline"))
		absent(c, "assay.host.boot.*");
	if (c->running)
		unless_unreadable(c, e->nvidia.n, "assay.nvidia");
	if (!assay_root_exists(&c->root, "/usr/local/cuda/version.json"))
		absent(c, "assay.nvidia.toolkit_version");
}

/* A driver that did not answer may hide GPUs. */
static bool saw_every_gpu(const assay_ctx *c)
{
	return c->running && !unreadable(c, "gpu_arch") && !unreadable(c, "assay.nvidia");
}

static void run(assay_ctx *c)
{
	c->env->gpus_known = saw_every_gpu(c);
	rocm_blocks(c);
	python_blocks(c);
	place_blocks(c);
}

const assay_probe assay_probe_absent = {.name = "absent", .run = run};
