/* Snapshots are flattened to dotted paths; one table says which group a path belongs to, why it
 * matters, and what is never compared. */
#include "analyze/envdiff.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/input.h"
#include "base/json.h"
#include "base/test.h"
#include "base/version.h"

enum { PATH_MAX_BYTES = 1024, DEPTH_MAX = 24, FILE_MAX = 256 << 20 };

const char *assay_env_group_name(assay_env_group g)
{
	static const char *const names[] = {
		[ASSAY_ENV_DRIVER] = "driver and firmware",
		[ASSAY_ENV_RUNTIME] = "runtime libraries",
		[ASSAY_ENV_MATH] = "math libraries",
		[ASSAY_ENV_FRAMEWORK] = "framework build",
		[ASSAY_ENV_KERNELS] = "kernel databases",
		[ASSAY_ENV_VARIABLES] = "environment variables",
		[ASSAY_ENV_HOST] = "host",
		[ASSAY_ENV_OTHER] = "other",
	};
	return names[g];
}

/* Never compared: when and where it was taken, names of this very machine or container, paths (an
 * install elsewhere is the same software), live readings, and our own remarks. */
static const char *const ignored[] = {
	"*amdgpu_driver.module_version",
	"*amdgpu_driver.kmd_version", /* rocm.kmd_version is the same file */
	"assay.libraries.hipblaslt.builds",
	"assay.libraries.rocblas.builds", /* their blocks have lib_hash */
	"assay.libraries.miopen.builds",
	"assay.libraries.rccl.builds",
	"schema_version",
	"captured_at",
	"partial",
	"partial_reasons*",
	"system_health*",
	"docker.container_id",
	"probe_namespace*",
	"execution_context*",
	"assay.version",
	"assay.root",
	"assay.hashed",
	"assay.probe_ms*",
	"assay.findings*",
	"assay.reasons*",
	"assay.process*",
	"assay.host.hostname",
	"assay.host.boot_id",
	"assay.container_id_source",
	"assay.gpus.*.uuid",
	"assay.gpus.*.serial",
	"assay.gpus.*.unique_id",
	"assay.gpus.*.bus",
	"assay.gpus.*.kfd_node",
	"assay.gpus.*.render_minor",
	"assay.gpus.*.source",
	"assay.libraries.*.copies*",
	"assay.libraries.*.disagree",
	"assay.libraries.*.chosen_by",
	"*.path",
	"*.prefix",
	"*.base_prefix",
	"*.executable",
	"*.found_by",
	"*.sites",
	"*.venv_path",
	"*.source_path",
	"*.root",
	"*.lib_root",
	"*.root_source",
	"assay.rocm.roots*",
	"assay.pytorch_build.shadowed",
	"*.node_guid",
	"assay.env_vars.VIRTUAL_ENV",
	"assay.env_vars.CONDA_PREFIX",
};

/* First match decides. */
static const struct {
	const char *pattern;
	assay_env_group group;
	const char *why;
} rules[] = {
	{"*kernel_db*", ASSAY_ENV_KERNELS,
	 "another set of prebuilt kernels: other GEMM and convolution code runs"},
	{"assay.kernel_databases.*", ASSAY_ENV_KERNELS,
	 "prebuilt kernels differ in content, whatever their names"},
	{"*_catalog*", ASSAY_ENV_KERNELS,
	 "prebuilt kernels differ in content, whatever their names"},
	{"rocm.kmd_version", ASSAY_ENV_DRIVER, "the kernel driver schedules queues and memory"},
	{"*amdgpu_driver.parameters*", ASSAY_ENV_DRIVER,
	 "a driver parameter changes how the GPU is run"},
	{"*amdgpu_driver*", ASSAY_ENV_DRIVER, "another kernel driver"},
	{"assay.nvidia.toolkit_version", ASSAY_ENV_RUNTIME,
	 "compilers and headers of another CUDA release"},
	{"assay.nvidia.*", ASSAY_ENV_DRIVER,
	 "another driver: JIT, scheduling and error handling change with it"},
	{"assay.gpus.*fw_version", ASSAY_ENV_DRIVER,
	 "firmware schedules the work on the GPU itself"},
	{"assay.gpus.*.vbios_version", ASSAY_ENV_DRIVER,
	 "VBIOS sets clocks, power and memory timing"},
	{"assay.gpus.*.ecc", ASSAY_ENV_DRIVER,
	 "ECC costs memory bandwidth and hides or shows memory faults"},
	{"assay.gpus.*.mig", ASSAY_ENV_DRIVER, "a partitioned GPU is a smaller GPU"},
	{"assay.gpus.*partition", ASSAY_ENV_DRIVER, "a partitioned GPU is a smaller GPU"},
	{"assay.gpus.*.power_limit_mw", ASSAY_ENV_DRIVER, "a lower power limit is a lower clock"},
	{"assay.gpus.*", ASSAY_ENV_DRIVER, "the GPUs themselves differ"},
	{"assay.gpu_arch.*", ASSAY_ENV_DRIVER, "the runtime sees other GPUs than the machine has"},
	{"gpu_arch*", ASSAY_ENV_DRIVER, "other GPUs: other kernels are chosen"},
	{"nics*", ASSAY_ENV_DRIVER, "the network card or its firmware differs"},
	{"assay.nics*", ASSAY_ENV_DRIVER, "the network card or its firmware differs"},
	{"hipblaslt.*", ASSAY_ENV_MATH, "hipBLASLt picks and runs most matrix products"},
	{"rocblas.*", ASSAY_ENV_MATH, "rocBLAS runs matrix products hipBLASLt does not take"},
	{"miopen.*", ASSAY_ENV_MATH, "MIOpen picks and runs convolutions"},
	{"composable_kernel.system.*", ASSAY_ENV_MATH,
	 "kernels compiled from other Composable Kernel sources"},
	{"assay.libraries.hipblaslt.*", ASSAY_ENV_MATH,
	 "the hipBLASLt a process loads is another file"},
	{"assay.libraries.rocblas.*", ASSAY_ENV_MATH,
	 "the rocBLAS a process loads is another file"},
	{"assay.libraries.miopen.*", ASSAY_ENV_MATH, "the MIOpen a process loads is another file"},
	{"assay.libraries.cu[bd][ln]*", ASSAY_ENV_MATH,
	 "another cuBLAS or cuDNN chooses other kernels"},
	{"rccl.*", ASSAY_ENV_RUNTIME, "collectives use other algorithms and channels"},
	{"assay.libraries.*nccl.*", ASSAY_ENV_RUNTIME,
	 "collectives use other algorithms and channels"},
	{"assay.libraries.*", ASSAY_ENV_RUNTIME, "the file a process loads is another one"},
	{"assay.library_linkage.*", ASSAY_ENV_RUNTIME,
	 "RPATH or RUNPATH decides whether LD_LIBRARY_PATH counts"},
	{"library_*", ASSAY_ENV_RUNTIME, "libraries are linked or found in another way"},
	{"rocm.*", ASSAY_ENV_RUNTIME, "another ROCm release"},
	{"assay.rocm.*", ASSAY_ENV_RUNTIME, "ROCm is installed in another way"},
	{"therock*", ASSAY_ENV_RUNTIME, "ROCm was built from other sources"},
	{"hip.*", ASSAY_ENV_RUNTIME, "another HIP runtime or compiler"},
	{"pytorch_version", ASSAY_ENV_FRAMEWORK, "another PyTorch release"},
	{"pytorch_build.git_commit", ASSAY_ENV_FRAMEWORK, "PyTorch was built from another commit"},
	{"*pytorch_build.flags*", ASSAY_ENV_FRAMEWORK, "PyTorch was compiled with other settings"},
	{"pytorch_build*", ASSAY_ENV_FRAMEWORK, "PyTorch was built or installed in another way"},
	{"assay.pytorch_build*", ASSAY_ENV_FRAMEWORK,
	 "PyTorch was built or installed in another way"},
	{"triton.*", ASSAY_ENV_FRAMEWORK, "compiled kernels come from another compiler"},
	{"aotriton.*", ASSAY_ENV_FRAMEWORK, "ahead-of-time attention kernels differ"},
	{"composable_kernel.*", ASSAY_ENV_FRAMEWORK,
	 "PyTorch carries other Composable Kernel code"},
	{"fbgemm.*", ASSAY_ENV_FRAMEWORK, "embedding and quantised kernels differ"},
	{"aiter.*", ASSAY_ENV_FRAMEWORK, "AITER's hand-written kernels differ"},
	{"tensile.*", ASSAY_ENV_FRAMEWORK, "another Tensile package"},
	{"torchrec*", ASSAY_ENV_FRAMEWORK, "another TorchRec"},
	{"python_version", ASSAY_ENV_FRAMEWORK, "another Python"},
	{"assay.python.pack*", ASSAY_ENV_FRAMEWORK, "another package version"},
	{"assay.python.*", ASSAY_ENV_FRAMEWORK, "another Python install"},
	{"*env_vars.HSA_OVERRIDE_GFX_VERSION", ASSAY_ENV_VARIABLES,
	 "the runtime is told the GPU is another one"},
	{"*env_vars.*VISIBLE_DEVICES", ASSAY_ENV_VARIABLES, "the program sees other GPUs"},
	{"*env_vars.LD_*", ASSAY_ENV_VARIABLES, "the loader finds other libraries"},
	{"*env_vars.*NCCL_*", ASSAY_ENV_VARIABLES, "collectives take another path"},
	{"*env_vars.RCCL_*", ASSAY_ENV_VARIABLES, "collectives take another path"},
	{"*env_vars.*BLAS*", ASSAY_ENV_VARIABLES, "matrix products are routed elsewhere"},
	{"*env_vars.MIOPEN_*", ASSAY_ENV_VARIABLES, "convolutions are chosen in another way"},
	{"*env_vars.*TF32*", ASSAY_ENV_VARIABLES, "numeric precision changes"},
	{"*env_vars.*", ASSAY_ENV_VARIABLES, "a library or framework reads it"},
	{"host.kernel*", ASSAY_ENV_HOST,
	 "another kernel: scheduling, memory and driver interfaces"},
	{"host.glibc_version", ASSAY_ENV_HOST, "another C library: allocation and math functions"},
	{"docker.*", ASSAY_ENV_HOST, "another container image"},
	{"runtime_context.*", ASSAY_ENV_HOST, "run in another kind of place"},
	{"assay.system_packages.*", ASSAY_ENV_HOST, "another package of the distribution"},
	{"assay.host.*", ASSAY_ENV_HOST, "the machine is set up in another way"},
	{"host.*", ASSAY_ENV_HOST, "another machine"},
	{"assay.*", ASSAY_ENV_HOST, "seen in another way"},
	{"*", ASSAY_ENV_OTHER, "a field this version does not know"},
};

/* Keys of schema 1.0 that 1.1 renamed. */
static const struct {
	const char *old, *now;
} renamed[] = {
	{".commit", ".rocm_release_tweak"},
	{".tensile_yaml_revision", ".kernel_db_revision"},
};

/* A difference that follows from another one. */
static const struct {
	const char *path, *cause;
} explains[] = {
	{"tensile.kernel_db_combined_hash", "hipblaslt.kernel_db_revision"},
	{"tensile.kernel_db_combined_hash", "rocblas.kernel_db_revision"},
	{"hipblaslt.kernel_db_revision", "hipblaslt.lib_hash"},
	{"rocblas.kernel_db_revision", "rocblas.lib_hash"},
	{"miopen.kernel_db_revision", "miopen.lib_hash"},
	{"assay.kernel_databases.hipblaslt.content_hash", "hipblaslt.lib_hash"},
	{"assay.kernel_databases.rocblas.content_hash", "rocblas.lib_hash"},
	{"assay.kernel_databases.miopen.content_hash", "miopen.lib_hash"},
	{"hipblaslt.rocm_release_tweak", "rocm.version"},
	{"rocblas.rocm_release_tweak", "rocm.version"},
	{"miopen.rocm_release_tweak", "rocm.version"},
	{"hip.version", "rocm.version"},
	{"rocm.version_dev", "rocm.version"},
	{"pytorch_build.git_commit", "pytorch_version"},
};

struct flat {
	assay_env_set *set;
	assay_env_doc *doc;
	bool schema_10;
	char path[PATH_MAX_BYTES];
	size_t n;
};

/* A variable that is null is known to be unset; a package that is not listed is known to be absent.
 */
enum { KIND_PLAIN, KIND_VARIABLE, KIND_PACKAGE };

static uint8_t kind_of_path(const char *path)
{
	return !fnmatch("*env_vars.*", path, 0) ? KIND_VARIABLE
	       : !fnmatch("assay.python.packages.*", path, 0) ||
			       !fnmatch("assay.system_packages.*", path, 0)
		       ? KIND_PACKAGE
		       : KIND_PLAIN;
}

static uint32_t path_number(assay_env_set *set, assay_sid path)
{
	uint32_t *at = assay_map_at(&set->path_at, path);
	if (*at == ASSAY_MAP_ABSENT) {
		*at = (uint32_t)set->paths.n;
		*assay_push(&set->paths) = path;
		*assay_push(&set->path_kind) = kind_of_path(assay_pool_get(&set->pool, path).p);
	}
	return *at;
}

static void put_value(struct flat *f, assay_sid value)
{
	assay_str path = {f->path, f->n};
	char buf[PATH_MAX_BYTES];
	/* only these blocks: aiter.commit of later versions is a real commit */
	bool math = assay_str_starts(path, "hipblaslt.") || assay_str_starts(path, "rocblas.") ||
		    assay_str_starts(path, "miopen.");
	for (size_t i = 0; f->schema_10 && math && i < ASSAY_COUNT_OF(renamed); i++)
		if (assay_str_ends(path, renamed[i].old)) {
			int n = snprintf(buf, sizeof buf, "%.*s%s",
					 (int)(path.n - strlen(renamed[i].old)), path.p,
					 renamed[i].now);
			path = (assay_str){buf, (size_t)n};
			break;
		}
	uint32_t at = path_number(f->set, assay_intern(&f->set->pool, path));
	while (f->doc->value.n <= at)
		*assay_push(&f->doc->value) = 0;
	f->doc->value.p[at] = value;
}

static assay_sid intern_value(assay_env_set *set, assay_str text)
{
	return assay_intern(&set->pool,
			    text.n ? text : ASSAY_S("\"\"")); /* "" is a value, not an absence */
}

static assay_str unquoted(struct flat *f, assay_str raw)
{
	return raw.n >= 2 && *raw.p == '"'
		       ? assay_json_unescape(&f->set->arena, (assay_str){raw.p + 1, raw.n - 2})
		       : raw;
}

static int by_text(const void *a, const void *b)
{
	const assay_str *x = a, *y = b;
	size_t n = x->n < y->n ? x->n : y->n;
	int c = n ? memcmp(x->p, y->p, n) : 0;
	return c ? c : (x->n > y->n) - (x->n < y->n);
}

typedef assay_vec(assay_str) texts;

static assay_sid join_sorted(struct flat *f, texts *items)
{
	if (!items->n)
		return intern_value(f->set, ASSAY_S("(none)"));
	qsort(items->p, items->n, sizeof *items->p, by_text);
	assay_vec(char) text = {0};
	for (size_t i = 0; i < items->n; i++) {
		assay_str item = items->p[i];
		assay_vec_reserve(&text, text.n + item.n + 2);
		if (i) {
			memcpy(text.p + text.n, ", ", 2);
			text.n += 2;
		}
		if (item.n)
			memcpy(text.p + text.n, item.p, item.n);
		text.n += item.n;
	}
	assay_sid id = intern_value(f->set, (assay_str){text.p, text.n});
	assay_vec_free(&text);
	return id;
}

static bool flatten(struct flat *f, assay_json *j, int depth);

/* A list of plain values is a set, told as one text; a list of objects is told by position. */
static bool flatten_array(struct flat *f, assay_json *j, int depth)
{
	texts items = {0};
	size_t base = f->n, index = 0;
	bool ok = assay_json_enter(j, '['), objects = false;
	while (ok && assay_json_element(j)) {
		char c = assay_json_peek(j);
		if (c == '{' || c == '[') {
			objects = true;
			int n = snprintf(f->path + base, sizeof f->path - base, ".%zu", index);
			f->n = base + (size_t)n < sizeof f->path ? base + (size_t)n : base;
			ok = flatten(f, j, depth + 1);
			f->n = base;
		} else {
			assay_str raw;
			ok = assay_json_skip(j, &raw);
			if (ok)
				*assay_push(&items) = unquoted(f, raw);
		}
		index++;
	}
	ok = ok && assay_json_ok(j);
	if (ok && !objects)
		put_value(f, join_sorted(f, &items));
	assay_vec_free(&items);
	return ok;
}

static bool is_ignored(const char *path)
{
	for (size_t i = 0; i < ASSAY_COUNT_OF(ignored); i++)
		if (!fnmatch(ignored[i], path, 0))
			return true;
	return false;
}

static bool flatten_object(struct flat *f, assay_json *j, int depth)
{
	size_t base = f->n;
	assay_str key;
	if (!assay_json_enter(j, '{'))
		return false;
	while (assay_json_member(j, &key)) {
		key = assay_json_unescape(&f->set->arena, key);
		if (base + key.n + 2 >= sizeof f->path) {
			assay_json_skip(j, NULL);
			continue;
		}
		f->n = base;
		if (base)
			f->path[f->n++] = '.';
		memcpy(f->path + f->n, key.p, key.n);
		f->n += key.n;
		f->path[f->n] = 0;
		/* whole blocks nobody compares need not be walked */
		bool skip = depth < 2 && assay_json_peek(j) != '"' && is_ignored(f->path);
		if (!(skip ? assay_json_skip(j, NULL) : flatten(f, j, depth + 1)))
			return false;
	}
	f->n = base;
	return assay_json_ok(j);
}

static bool flatten(struct flat *f, assay_json *j, int depth)
{
	assay_str raw;
	char c = assay_json_peek(j);
	if (depth > DEPTH_MAX)
		return assay_json_skip(j, NULL);
	if (c == '{')
		return flatten_object(f, j, depth);
	if (c == '[')
		return flatten_array(f, j, depth);
	if (!assay_json_skip(j, &raw))
		return false;
	put_value(f, assay_str_is(raw, "null") ? f->set->null_id
					       : intern_value(f->set, unquoted(f, raw)));
	return true;
}

/* ASSAY_MAP_ABSENT when no snapshot has the path. */
static uint32_t find_path(const assay_env_set *set, assay_str path)
{
	assay_sid id = assay_pool_find(&set->pool, path);
	return id ? assay_map_get(&set->path_at, id) : ASSAY_MAP_ABSENT;
}

static const char *value_of(assay_env_set *set, const assay_env_doc *d, const char *path)
{
	uint32_t at = find_path(set, assay_str_of(path));
	return at < d->value.n ? assay_env_value(set, d->value.p[at]) : NULL;
}

/* "schema_version": "1.0" stands first, but any order is JSON. */
static bool is_schema_10(assay_str json)
{
	assay_json j = assay_json_on(json.p, json.n);
	assay_str key, v;
	if (!assay_json_enter(&j, '{'))
		return false;
	while (assay_json_member(&j, &key) && assay_json_skip(&j, &v))
		if (assay_str_is(key, "schema_version"))
			return assay_str_is(v, "\"1.0\"");
	return false;
}

bool assay_env_set_add_text(assay_env_set *set, const char *name, assay_str json, assay_err *err)
{
	if (!set->null_id)
		set->null_id = assay_intern(&set->pool, ASSAY_S("\x01null"));
	assay_env_doc doc = {.name = assay_dup(&set->arena, assay_str_of(name))};
	struct flat f = {.set = set, .doc = &doc, .schema_10 = is_schema_10(json)};
	assay_json j = assay_json_on(json.p, json.n);
	bool ok = assay_json_peek(&j) == '{' && flatten(&f, &j, 0) && !assay_json_peek(&j);
	doc.schema = value_of(set, &doc, "schema_version");
	doc.host = value_of(set, &doc, "assay.host.hostname");
	doc.ours = value_of(set, &doc, "assay.version") != NULL;
	if (ok && doc.schema) {
		*assay_push(&set->docs) = doc;
		return true;
	}
	assay_vec_free(&doc.value);
	return ok ? assay_fail(err, ASSAY_FORMAT, 0,
			       "%s is no environment snapshot: it has no schema_version", name)
		  : assay_fail(err, ASSAY_FORMAT, (uint64_t)(j.p - json.p), "%s is not valid JSON",
			       name);
}

bool assay_env_set_add(assay_env_set *set, const char *file, assay_err *err)
{
	assay_input *in = assay_input_open(file, err);
	if (!in)
		return false;
	assay_view v = assay_input_view(in, 0, FILE_MAX);
	bool ok;
	if (assay_input_damage(in))
		ok = assay_fail(err, ASSAY_IO, 0, "%s: %s", file, assay_input_damage(in));
	else if (v.n > FILE_MAX)
		ok = assay_fail(err, ASSAY_LIMIT, 0, "%s is too large for a snapshot", file);
	else
		ok = assay_env_set_add_text(set, file, (assay_str){v.p, v.n}, err);
	assay_input_close(in);
	return ok;
}

void assay_env_set_free(assay_env_set *set)
{
	for (size_t i = 0; i < set->docs.n; i++)
		assay_vec_free(&set->docs.p[i].value);
	assay_vec_free(&set->docs);
	assay_vec_free(&set->paths);
	assay_vec_free(&set->path_kind);
	assay_map_free(&set->path_at);
	assay_pool_free(&set->pool);
	assay_arena_free(&set->arena);
}

const char *assay_env_value(const assay_env_set *set, assay_sid id)
{
	return id && id != set->null_id ? assay_pool_get(&set->pool, id).p : NULL;
}

const char *assay_env_kind_name(assay_env_kind kind)
{
	static const char *const names[] = {
		[ASSAY_ENV_DIFFERENT] = "different",
		[ASSAY_ENV_NEWER] = "newer",
		[ASSAY_ENV_OLDER] = "older",
		[ASSAY_ENV_REBUILT] = "rebuilt",
		[ASSAY_ENV_UNKNOWN] = "unknown on one side",
	};
	return names[kind];
}

/* Digests are cut: the first digits are enough to see that they differ. */
const char *assay_env_shown(assay_env_set *set, const assay_env_row *row, assay_sid id)
{
	const char *v = assay_env_value(set, id);
	if (!v && row->kind == ASSAY_ENV_UNKNOWN)
		return "unknown";
	if (!v)
		return strstr(row->path, "packages.") ? "(not installed)" : "(unset)";
	const char *colon = strstr(v, "sha256:");
	if (colon)
		return assay_printf(&set->arena, "%.*s%.8s…", (int)(colon - v + 7), v, colon + 7);
	return strlen(v) > 60 ? assay_printf(&set->arena, "%.57s…", v) : v;
}

static bool all_hex(assay_str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!((s.p[i] >= '0' && s.p[i] <= '9') || (s.p[i] >= 'a' && s.p[i] <= 'f')))
			return false;
	return s.n >= 7 && s.n <= 64;
}

/* A commit cut to 8 digits is the same commit as its 40. */
bool assay_env_agrees(const assay_env_set *set, assay_sid a, assay_sid b)
{
	if (a == b)
		return true;
	assay_str x = assay_pool_get(&set->pool, a), y = assay_pool_get(&set->pool, b);
	size_t n = x.n < y.n ? x.n : y.n;
	return x.n != y.n && all_hex(x) && all_hex(y) && !memcmp(x.p, y.p, n);
}

assay_sid assay_env_cell(const assay_env_set *set, size_t doc, uint32_t path)
{
	const assay_env_doc *d = &set->docs.p[doc];
	assay_sid v = path < d->value.n ? d->value.p[path] : 0;
	if (!v && set->path_kind.p[path] == KIND_PACKAGE && d->ours)
		return set->null_id;
	return v == set->null_id && set->path_kind.p[path] != KIND_VARIABLE ? 0 : v;
}

/* The most frequent known value; the earliest snapshot's among equals. */
static assay_sid majority(const assay_env_set *set, uint32_t path)
{
	assay_map count = {0};
	uint32_t best = 0;
	assay_sid value = 0;
	for (size_t i = 0; i < set->docs.n; i++) {
		assay_sid v = assay_env_cell(set, i, path);
		if (!v)
			continue;
		uint32_t *n = assay_map_at(&count, v);
		*n = *n == ASSAY_MAP_ABSENT ? 1 : *n + 1;
	}
	for (size_t i = 0; i < set->docs.n; i++) {
		assay_sid v = assay_env_cell(set, i, path);
		uint32_t n = v ? assay_map_get(&count, v) : 0;
		if (n > best) {
			best = n;
			value = v;
		}
	}
	assay_map_free(&count);
	return value;
}

static assay_env_kind kind_of(const assay_env_set *set, assay_sid a, assay_sid b)
{
	if (!a || !b)
		return ASSAY_ENV_UNKNOWN;
	assay_str x = assay_pool_get(&set->pool, a), y = assay_pool_get(&set->pool, b);
	if (!assay_version_like(x) || !assay_version_like(y))
		return ASSAY_ENV_DIFFERENT;
	int c = assay_version_cmp(x, y);
	return c < 0 ? ASSAY_ENV_NEWER : c > 0 ? ASSAY_ENV_OLDER : ASSAY_ENV_DIFFERENT;
}

static uint32_t sibling(const assay_env_set *set, const char *path, const char *last,
			const char *instead)
{
	char buf[PATH_MAX_BYTES];
	size_t n = strlen(path), m = strlen(last);
	if (n < m || strcmp(path + n - m, last))
		return ASSAY_MAP_ABSENT;
	int len = snprintf(buf, sizeof buf, "%.*s%s", (int)(n - m), path, instead);
	return find_path(set, (assay_str){buf, (size_t)len});
}

/* A digest that differs beside a version that does not. */
static bool rebuilt(const assay_env_set *set, const char *path, size_t a, size_t b)
{
	static const char *const pairs[][2] = {{".lib_hash", ".package_version"},
					       {".lib_hash", ".version"},
					       {".sha256", ".version"},
					       {".bundled_lib_hash", ".bundled_version"}};
	for (size_t i = 0; i < ASSAY_COUNT_OF(pairs); i++) {
		uint32_t at = sibling(set, path, pairs[i][0], pairs[i][1]);
		if (at == ASSAY_MAP_ABSENT)
			continue;
		assay_sid x = assay_env_cell(set, a, at), y = assay_env_cell(set, b, at);
		if (x && x == y)
			return true;
	}
	return false;
}

/* Size and build id say nothing more where both digests are known; what a plain program would load,
 * and which copies lie around, matter only where it is not known what torch loads. */
static bool is_detail(const assay_env_set *set, const char *path, size_t a, size_t b)
{
	static const char *const details[] = {".size", ".build_id", ".soname"};
	for (size_t i = 0; i < ASSAY_COUNT_OF(details); i++) {
		uint32_t at = sibling(set, path, details[i], ".sha256");
		if (at != ASSAY_MAP_ABSENT && assay_env_cell(set, a, at) &&
		    assay_env_cell(set, b, at))
			return true;
	}
	const char *plain = strstr(path, ".plain.");
	if (!plain && assay_str_ends(assay_str_of(path), ".builds"))
		plain = path + strlen(path) - strlen(".builds");
	if (!plain || strncmp(path, "assay.libraries.", 16))
		return false;
	char buf[PATH_MAX_BYTES];
	int n = snprintf(buf, sizeof buf, "%.*s.effective.size", (int)(plain - path), path);
	uint32_t at = find_path(set, (assay_str){buf, (size_t)n});
	return at != ASSAY_MAP_ABSENT && (assay_env_cell(set, a, at) || assay_env_cell(set, b, at));
}

static void classify(const char *path, assay_env_row *row)
{
	for (size_t i = 0; i < ASSAY_COUNT_OF(rules); i++)
		if (!fnmatch(rules[i].pattern, path, 0)) {
			row->group = rules[i].group;
			row->why = rules[i].why;
			return;
		}
}

static int row_order(const void *a, const void *b)
{
	const assay_env_row *x = a, *y = b;
	bool ux = x->kind == ASSAY_ENV_UNKNOWN, uy = y->kind == ASSAY_ENV_UNKNOWN;
	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	return ux != uy ? (ux ? 1 : -1) : strcmp(x->path, y->path);
}

/* One path over all snapshots. */
static void compare_path(assay_env_set *set, uint32_t path, int baseline, assay_env_result *out)
{
	bool pair = set->docs.n == 2 && baseline < 0;
	size_t base = baseline < 0 ? 0 : (size_t)baseline, odd = base;
	assay_env_row row = {.path = assay_pool_get(&set->pool, set->paths.p[path]).p,
			     .path_no = path};
	if (is_ignored(row.path))
		return;
	row.a = pair || baseline >= 0 ? assay_env_cell(set, base, path) : majority(set, path);
	bool differs = false, unknown = false;
	for (size_t i = 0; i < set->docs.n; i++) {
		assay_sid v = assay_env_cell(set, i, path);
		row.known += v != 0;
		if (v && row.a && assay_env_agrees(set, row.a, v)) {
			row.agree++;
			base = row.agree == 1 && baseline < 0 ? i : base;
		} else if (v && row.a) {
			odd = differs ? odd : i;
			differs = true;
		} else if (v != row.a) {
			odd = differs || unknown ? odd : i;
			unknown = true;
		}
	}
	classify(row.path, &row);
	if (!differs && !unknown) {
		out->same[row.group] += row.known != 0;
		return;
	}
	if (is_detail(set, row.path, base, odd))
		return;
	row.b = assay_env_cell(set, odd, path);
	row.kind = kind_of(set, row.a, row.b);
	if (row.kind == ASSAY_ENV_DIFFERENT && rebuilt(set, row.path, base, odd))
		row.kind = ASSAY_ENV_REBUILT;
	if (differs)
		out->different++;
	else
		out->unknown++;
	*assay_push(&out->rows) = row;
}

static void find_causes(assay_env_result *out)
{
	for (size_t e = 0; e < ASSAY_COUNT_OF(explains); e++)
		for (size_t i = 0; i < out->rows.n; i++) {
			assay_env_row *row = &out->rows.p[i];
			if (row->cause || row->kind == ASSAY_ENV_UNKNOWN ||
			    strcmp(row->path, explains[e].path))
				continue;
			for (size_t k = 0; k < out->rows.n; k++)
				if (out->rows.p[k].kind != ASSAY_ENV_UNKNOWN &&
				    !strcmp(out->rows.p[k].path, explains[e].cause))
					row->cause = explains[e].cause;
		}
}

void assay_env_compare(assay_env_set *set, int baseline, assay_env_result *out)
{
	*out = (assay_env_result){0};
	for (uint32_t p = 0; p < set->paths.n; p++)
		compare_path(set, p, baseline, out);
	if (out->rows.n)
		qsort(out->rows.p, out->rows.n, sizeof *out->rows.p, row_order);
	find_causes(out);
}

void assay_env_result_free(assay_env_result *r)
{
	assay_vec_free(&r->rows);
}

static bool add(assay_env_set *set, const char *name, const char *json)
{
	char buf[1024] = {0};
	strcpy(buf, json);
	return assay_env_set_add_text(set, name, assay_str_of(buf), NULL);
}

TEST(groups_come_in_order_of_consequence)
{
	assay_env_set set = {0};
	assay_env_result r;
	CHECK(add(&set, "a",
		  "{\"schema_version\":\"1.1\",\"captured_at\":\"x\",\"host\":{\"machine\":\"p\"},"
		  "\"rocm\":{\"version\":\"5.9\",\"kmd_version\":\"6.1\"},\"env_vars\":{\"HSA_"
		  "XNACK\":null}}"));
	CHECK(add(&set, "b",
		  "{\"schema_version\":\"1.1\",\"captured_at\":\"y\",\"host\":{\"machine\":\"q\"},"
		  "\"rocm\":{\"version\":\"5.10\",\"kmd_version\":\"6.2\"},\"env_vars\":{\"HSA_"
		  "XNACK\":\"1\"}}"));
	assay_env_compare(&set, -1, &r);
	CHECK_EQ(r.rows.n, 4);
	CHECK(!strcmp(r.rows.p[0].path, "rocm.kmd_version") &&
	      !strcmp(r.rows.p[1].path, "rocm.version"));
	CHECK(r.rows.p[1].kind == ASSAY_ENV_NEWER &&
	      !strcmp(r.rows.p[2].path, "env_vars.HSA_XNACK"));
	CHECK(r.rows.p[2].kind == ASSAY_ENV_DIFFERENT && r.different == 4 && !r.unknown);
	assay_env_result_free(&r);
	assay_env_set_free(&set);
	return 0;
}

TEST(unknown_on_one_side_is_not_different)
{
	assay_env_set set = {0};
	assay_env_result r;
	CHECK(add(&set, "a", "{\"schema_version\":\"1.1\",\"rocm\":{\"version\":null}}"));
	CHECK(add(&set, "b", "{\"schema_version\":\"1.1\",\"rocm\":{\"version\":\"6.4\"}}"));
	assay_env_compare(&set, -1, &r);
	CHECK(r.rows.n == 1 && r.rows.p[0].kind == ASSAY_ENV_UNKNOWN && !r.different &&
	      r.unknown == 1);
	assay_env_result_free(&r);
	assay_env_set_free(&set);
	return 0;
}

TEST(same_version_other_hash_is_a_rebuild)
{
	assay_env_set set = {0};
	assay_env_result r;
	CHECK(add(&set, "a",
		  "{\"schema_version\":\"1.1\",\"rocblas\":{\"package_version\":\"5.0.2\",\"lib_"
		  "hash\":\"sha256:aa\"}}"));
	CHECK(add(&set, "b",
		  "{\"schema_version\":\"1.1\",\"rocblas\":{\"package_version\":\"5.0.2\",\"lib_"
		  "hash\":\"sha256:bb\"}}"));
	assay_env_compare(&set, -1, &r);
	CHECK(r.rows.n == 1 && r.rows.p[0].kind == ASSAY_ENV_REBUILT);
	assay_env_result_free(&r);
	assay_env_set_free(&set);
	return 0;
}

TEST(schema_1_0_names_are_bridged_and_short_commits_match)
{
	assay_env_set set = {0};
	assay_env_result r;
	CHECK(add(&set, "a",
		  "{\"schema_version\":\"1.0\",\"hipblaslt\":{\"commit\":\"d97cc0b2\"}}"));
	CHECK(add(&set, "b",
		  "{\"schema_version\":\"1.17\",\"hipblaslt\":{\"rocm_release_tweak\":"
		  "\"d97cc0b2aa\"}}"));
	assay_env_compare(&set, -1, &r);
	CHECK_EQ(r.rows.n, 0);
	CHECK_EQ(r.same[ASSAY_ENV_MATH], 1);
	assay_env_result_free(&r);
	assay_env_set_free(&set);
	return 0;
}

TEST(the_odd_one_out_of_three_is_named)
{
	assay_env_set set = {0};
	assay_env_result r;
	for (int i = 0; i < 3; i++) {
		char buf[200];
		snprintf(buf, sizeof buf,
			 "{\"schema_version\":\"1.1\",\"rocm\":{\"version\":\"%s\"},"
			 "\"gpu_arch\":{\"gfx_targets\":[%s]}}",
			 i == 1 ? "6.3" : "6.4", i == 2 ? "\"b\",\"a\"" : "\"a\",\"b\"");
		CHECK(add(&set, "x", buf));
	}
	assay_env_compare(&set, -1, &r);
	CHECK(r.rows.n == 1 && r.rows.p[0].agree == 2 && r.rows.p[0].kind == ASSAY_ENV_OLDER);
	CHECK(!strcmp(assay_env_value(&set, r.rows.p[0].a), "6.4") &&
	      assay_env_cell(&set, 1, r.rows.p[0].path_no) == r.rows.p[0].b);
	assay_env_result_free(&r);
	assay_env_set_free(&set);
	return 0;
}

TEST(broken_snapshots_are_refused)
{
	assay_env_set set = {0};
	assay_err err = {0};
	CHECK(!add(&set, "a", "{\"schema_version\":\"1.1\",") && !add(&set, "a", "[]") &&
	      !add(&set, "a", ""));
	char none[256] = "{\"rocm\":{}}";
	CHECK(!assay_env_set_add_text(&set, "n", assay_str_of(none), &err) &&
	      strstr(err.text, "schema_version"));
	assay_env_set_free(&set);
	return 0;
}
