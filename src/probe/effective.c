/* The kernel databases, tuning files, plugins and caches the programs of this machine use, with the
 * variables that lead elsewhere followed. */
#include <stdio.h>
#include <string.h>

#include "base/folders.h"
#include "probe/probe.h"

/* Where a library looks for its kernels: a variable first, then a folder beside itself. */
static const struct {
	const char *library, *variable, *beside;
} databases[] = {
	{"hipblaslt", "HIPBLASLT_TENSILE_LIBPATH", "hipblaslt/library"},
	{"rocblas", "ROCBLAS_TENSILE_LIBPATH", "rocblas/library"},
	{"miopen", "MIOPEN_SYSTEM_DB_PATH", "../share/miopen/db"},
};

static const char *database_dir(assay_ctx *c, size_t i, const assay_used_file *lib, const char **by)
{
	const char *given = assay_ctx_var(c, databases[i].variable);
	*by = given && *given ? databases[i].variable : "beside the library";
	if (given && *given)
		return given;
	const char *dir = assay_printf(c->a, "%s/%s", assay_folder_of(c->a, lib->file->path),
				       databases[i].beside);
	const char *real = assay_root_real(&c->root, c->a, dir);
	if (real && assay_root_is_dir(&c->root, real))
		return real;
	/* Debian numbers the folder: rocblas/5.1.0/library */
	for (size_t k = 0; k < c->env->kdbs.n; k++)
		if (!strcmp(c->env->kdbs.p[k].library, databases[i].library) &&
		    !strncmp(c->env->kdbs.p[k].path, assay_folder_of(c->a, lib->file->path),
			     strlen(assay_folder_of(c->a, lib->file->path))))
			return c->env->kdbs.p[k].path;
	return dir;
}

/* The recorded block describes the installed tree; a program may use another one. */
static void compare_with_block(assay_ctx *c, const assay_program *p, const assay_used_kdb *used)
{
	for (size_t i = 0; i < c->env->kdbs.n; i++) {
		const assay_kdb *k = &c->env->kdbs.p[i];
		if (k->extra || strcmp(k->library, used->library) || i == used->kdb)
			continue;
		assay_ctx_finding(c, "kernel-db-effective",
				  "%s uses the %s kernels in %s (%s), not %s", p->name,
				  used->library, used->path, used->by, k->path);
	}
}

static void use_databases(assay_ctx *c, assay_program *p)
{
	for (size_t i = 0; i < ASSAY_COUNT_OF(databases); i++)
		for (size_t k = 0; k < p->libs.n; k++) {
			const assay_used_file *lib = &p->libs.p[k];
			if (strcmp(lib->name, databases[i].library) || !lib->file)
				continue;
			assay_used_kdb used = {.library = databases[i].library, .kdb = SIZE_MAX};
			used.path = database_dir(c, i, lib, &used.by);
			if (assay_root_is_dir(&c->root, used.path))
				used.kdb = assay_ctx_database(c, used.library, used.path);
			else if (strcmp(used.by, "beside the library"))
				assay_ctx_finding(c, "override-missing",
						  "%s names %s, which is not a folder", used.by,
						  used.path);
			*assay_push(&p->kdbs) = used;
			compare_with_block(c, p, &used);
		}
}

/* Files that change results and that only a variable names. */
static const char *const file_variables[] = {
	"HIPBLASLT_TUNING_OVERRIDE_FILE",
	"HIPBLASLT_TUNING_FILE",
	"TORCH_HIPBLASLT_TUNING_FILE",
	"TORCH_HIPBLASLT_TUNING_OVERRIDE_FILE",
	"ROCBLAS_TENSILE_GEMM_OVERRIDE_PATH",
	"PYTORCH_TUNABLEOP_FILENAME",
	"NCCL_TOPO_FILE",
	"NCCL_GRAPH_FILE",
	"NCCL_CONF_FILE",
	"HSA_TOOLS_LIB",
};

static void use_files(assay_ctx *c)
{
	for (size_t i = 0; i < ASSAY_COUNT_OF(file_variables); i++) {
		const char *path = assay_ctx_var(c, file_variables[i]);
		if (!path || *path != '/')
			continue;
		assay_used_file f = {file_variables[i], path, file_variables[i],
				     assay_ctx_file(c, path, true)};
		*assay_push(&c->env->used_files) = f;
		if (!f.file && !strchr(path, '%')) /* a pattern names a file for each rank */
			assay_ctx_finding(c, "override-missing", "%s names %s, which is not there",
					  f.name, path);
	}
}

/* What NCCL and RCCL open at start: what the variable names (a path, a file, or the last part of a
 * file's name), else the library of the default name, if there is one. */
static const struct {
	const char *variable, *form, *usual[2];
} plugins[] = {
	{"NCCL_NET_PLUGIN", "libnccl-net-%s.so", {"libnccl-net.so", "librccl-net.so"}},
	{"NCCL_TUNER_PLUGIN", "libnccl-tuner-%s.so", {"libnccl-tuner.so", NULL}},
	{"NCCL_PROFILER_PLUGIN", "libnccl-profiler-%s.so", {"libnccl-profiler.so", NULL}},
};

static void use_named_plugin(assay_ctx *c, size_t i, const char *name)
{
	assay_used_file f = {plugins[i].variable, name, plugins[i].variable, NULL};
	const char *by;
	f.file = assay_ctx_dlopen(c, name, &f.path, &by);
	if (!f.file && !strchr(name, '/'))
		f.file = assay_ctx_dlopen(c, assay_printf(c->a, plugins[i].form, name), &f.path,
					  &by);
	if (!f.file)
		assay_ctx_finding(c, "override-missing",
				  "%s names %s, which the loader does not find", f.name, name);
	*assay_push(&c->env->used_files) = f;
}

static void use_plugins(assay_ctx *c)
{
	for (size_t i = 0; i < ASSAY_COUNT_OF(plugins); i++) {
		const char *name = assay_ctx_var(c, plugins[i].variable);
		if (name && *name) {
			if (strcmp(name, "none"))
				use_named_plugin(c, i, name);
			continue;
		}
		for (size_t k = 0; k < ASSAY_COUNT_OF(plugins[i].usual); k++) {
			assay_used_file f = {.name = plugins[i].usual[k]};
			if (f.name && (f.file = assay_ctx_dlopen(c, f.name, &f.path, &f.by)))
				*assay_push(&c->env->used_files) = f;
		}
	}
}

/* Where programs keep what they compiled or tuned: a variable, else below the home folder. */
static const struct {
	const char *name, *variable, *below_home;
} caches[] = {
	{"miopen_tuning", "MIOPEN_USER_DB_PATH", ".config/miopen"},
	{"miopen", "MIOPEN_CUSTOM_CACHE_DIR", ".cache/miopen"},
	{"rocfft", "ROCFFT_RTC_CACHE_PATH", ".cache/rocFFT"},
	{"comgr", "AMD_COMGR_CACHE_DIR", ".cache/comgr"},
	{"aiter", "AITER_JIT_DIR", ".aiter/jit"},
	{"cuda", "CUDA_CACHE_PATH", ".nv/ComputeCache"},
	{"triton", "TRITON_CACHE_DIR", ".triton/cache"},
	{"inductor", "TORCHINDUCTOR_CACHE_DIR", NULL},
	{"jax", "JAX_COMPILATION_CACHE_DIR", NULL},
	{"vllm", "VLLM_CACHE_ROOT", ".cache/vllm"},
	{"flashinfer", "FLASHINFER_WORKSPACE_BASE", ".cache/flashinfer"},
};

static void use_caches(assay_ctx *c)
{
	const char *home = assay_ctx_var(c, "HOME");
	for (size_t i = 0; i < ASSAY_COUNT_OF(caches); i++) {
		assay_used_cache u = {caches[i].name, assay_ctx_var(c, caches[i].variable),
				      caches[i].variable, false};
		bool given = u.path && *u.path == '/';
		if (!given && home && *home == '/' && caches[i].below_home) {
			u.path = assay_printf(c->a, "%s/%s", home, caches[i].below_home);
			u.by = "default";
		} else if (!given) {
			continue;
		}
		u.present = assay_root_exists(&c->root, u.path);
		if (given || u.present)
			*assay_push(&c->env->caches) = u;
	}
}

static void tell_unresolved(assay_ctx *c, const assay_program *p)
{
	const char *names = "";
	for (size_t i = 0; i < p->unresolved.n; i++)
		names = assay_printf(c->a, "%s%s%s", names, i ? ", " : "", p->unresolved.p[i]);
	if (*names)
		assay_ctx_finding(c, "library-missing",
				  "%s needs %s, which the loader does not find", p->name, names);
}

static void run(assay_ctx *c)
{
	for (size_t i = 0; i < c->env->programs.n; i++) {
		tell_unresolved(c, &c->env->programs.p[i]);
		use_databases(c, &c->env->programs.p[i]);
	}
	use_files(c);
	use_plugins(c);
	use_caches(c);
}

const assay_probe assay_probe_effective = {.name = "effective", .run = run};
