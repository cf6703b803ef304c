/* Tables over dotted paths; fnmatch patterns throughout. */
#include "envs/rules.h"

#include <fnmatch.h>
#include <string.h>

#include "base/str.h"
#include "base/test.h"

const char *const assay_env_group_name[ASSAY_ENV_GROUPS] = {
#define X(id, word, name) name,
	ASSAY_ENV_GROUP_LIST(X)
#undef X
};

const char *const assay_env_group_word[ASSAY_ENV_GROUPS] = {
#define X(id, word, name) word,
	ASSAY_ENV_GROUP_LIST(X)
#undef X
};

/* When and where it was taken, names of this very machine or container, paths (an install elsewhere
 * is the same software), live readings, and our own remarks. */
static const char *const ignored[] = {
	"*amdgpu_driver.module_version",
	"*amdgpu_driver.kmd_version",       /* rocm.kmd_version is the same file */
	"assay.libraries.hipblaslt.builds", /* their blocks have lib_hash */
	"assay.libraries.rocblas.builds",
	"assay.libraries.miopen.builds",
	"assay.libraries.rccl.builds",
	"schema_version",
	"hip.cpp_config", /* only hipconfig composes it */
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
	"assay.files_left",
	"assay.variables",
	"assay.absent*",
	"assay.version_sources*",
	"assay.effective.*.by",
	"assay.effective.caches.*",         /* filled by whatever ran; the variables are compared */
	"assay.effective.torch.libraries*", /* assay.libraries.*.effective has them */
	"assay.effective.process*",
	"assay.probe",
	"assay.probe.*",
	"assay.probe_ms*",
	"assay.findings*",
	"assay.reasons*",
	"assay.process*",
	"assay.host.hostname",
	"assay.host.boot_id",
	"assay.container_id_source",
	"assay.gpus.*.bus",
	"assay.gpus.*.mig_uuids", /* made anew with every partition; mig_devices is compared */
	"assay.gpus.*.kfd_node",
	"assay.gpus.*.render_minor",
	"assay.gpus.*.source",
	"assay.libraries.*.copies*",
	"assay.libraries.*.disagree",
	"assay.libraries.*.chosen_by",
	"*.owner", /* who installed a file; the file itself is compared */
	"*.owner.*",
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

static const char *const card_names[] = {"assay.gpus.*.uuid", "assay.gpus.*.serial",
					 "assay.gpus.*.unique_id"};

/* First match decides. */
static const struct {
	const char *pattern;
	assay_env_group group;
	const char *why;
} rules[] = {
	{"*kernel_db*", ASSAY_ENV_KERNELS,
	 "another set of prebuilt kernels: other GEMM and convolution code runs"},
	{"assay.effective.*.kernel_databases.*", ASSAY_ENV_KERNELS,
	 "the program uses other prebuilt kernels"},
	{"assay.effective.files.*", ASSAY_ENV_KERNELS,
	 "a tuning file, topology or plugin that a variable names is another one"},
	{"assay.effective.*.unresolved", ASSAY_ENV_RUNTIME,
	 "a library the program needs is not found"},
	{"assay.effective.*", ASSAY_ENV_RUNTIME, "the program loads another file"},
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
	{"assay.nvidia*", ASSAY_ENV_DRIVER,
	 "another driver: JIT, scheduling and error handling change with it"},
	{"assay.gpus.*.uuid", ASSAY_ENV_DRIVER, "another card sits in this slot"},
	{"assay.gpus.*.serial", ASSAY_ENV_DRIVER, "another card sits in this slot"},
	{"assay.gpus.*.unique_id", ASSAY_ENV_DRIVER, "another card sits in this slot"},
	{"assay.gpus.*fw_version", ASSAY_ENV_DRIVER,
	 "firmware schedules the work on the GPU itself"},
	{"assay.gpus.*.vbios_version", ASSAY_ENV_DRIVER,
	 "VBIOS sets clocks, power and memory timing"},
	{"assay.gpus.*.ecc", ASSAY_ENV_DRIVER,
	 "ECC costs memory bandwidth and hides or shows memory faults"},
	{"assay.gpus.*.mig", ASSAY_ENV_DRIVER, "a partitioned GPU is a smaller GPU"},
	{"assay.gpus.*.mig_devices", ASSAY_ENV_DRIVER, "a partitioned GPU is a smaller GPU"},
	{"assay.gpus.*partition", ASSAY_ENV_DRIVER, "a partitioned GPU is a smaller GPU"},
	{"assay.gpus.*.power_limit_mw", ASSAY_ENV_DRIVER, "a lower power limit is a lower clock"},
	{"assay.gpus.*firmware.*", ASSAY_ENV_DRIVER,
	 "firmware schedules the work on the GPU itself"},
	{"assay.gpus.*remap*", ASSAY_ENV_DRIVER, "memory of this GPU has failed and was replaced"},
	{"assay.gpus.*.ecc_*", ASSAY_ENV_DRIVER, "memory of this GPU has failed"},
	{"assay.gpus.*.ras_*", ASSAY_ENV_DRIVER, "another protection against memory errors"},
	{"assay.gpus.*nvlink*", ASSAY_ENV_DRIVER, "other links between the GPUs"},
	{"assay.gpus.*xgmi*", ASSAY_ENV_DRIVER, "other links between the GPUs"},
	{"assay.gpus.*.fabric_state", ASSAY_ENV_DRIVER, "the GPU is not part of its NVLink fabric"},
	{"assay.gpus.*link_*", ASSAY_ENV_DRIVER, "a slower slot: copies take longer"},
	{"assay.gpus.*.pcie_*", ASSAY_ENV_DRIVER, "a slower slot: copies take longer"},
	{"assay.gpus.*_clock_mhz", ASSAY_ENV_DRIVER, "other clocks: the same kernel takes longer"},
	{"assay.gpus.*clk_mhz", ASSAY_ENV_DRIVER, "other clocks: the same kernel takes longer"},
	{"assay.gpus.*power_*", ASSAY_ENV_DRIVER, "a lower power limit is a lower clock"},
	{"assay.gpus.*.numa_node", ASSAY_ENV_DRIVER,
	 "another socket: host memory is nearer or farther"},
	{"assay.gpus.*", ASSAY_ENV_DRIVER, "the GPUs themselves differ"},
	{"assay.gpu_arch.*", ASSAY_ENV_DRIVER, "the runtime sees other GPUs than the machine has"},
	{"gpu_arch*", ASSAY_ENV_DRIVER, "other GPUs: other kernels are chosen"},
	{"nics*", ASSAY_ENV_DRIVER, "the network card or its firmware differs"},
	{"assay.nics*", ASSAY_ENV_DRIVER, "the network card or its firmware differs"},
	{"hipblaslt*", ASSAY_ENV_MATH, "hipBLASLt picks and runs most matrix products"},
	{"rocblas*", ASSAY_ENV_MATH, "rocBLAS runs matrix products hipBLASLt does not take"},
	{"miopen*", ASSAY_ENV_MATH, "MIOpen picks and runs convolutions"},
	{"composable_kernel.system*", ASSAY_ENV_MATH,
	 "what is compiled here uses other Composable Kernel headers"},
	{"assay.libraries.hipblaslt*", ASSAY_ENV_MATH,
	 "the hipBLASLt a process loads is another file"},
	{"assay.libraries.rocblas*", ASSAY_ENV_MATH, "the rocBLAS a process loads is another file"},
	{"assay.libraries.miopen*", ASSAY_ENV_MATH, "the MIOpen a process loads is another file"},
	{"assay.libraries.cu[bd][ln]*", ASSAY_ENV_MATH,
	 "another cuBLAS or cuDNN chooses other kernels"},
	{"rccl*", ASSAY_ENV_RUNTIME, "collectives use other algorithms and channels"},
	{"assay.libraries.*nccl*", ASSAY_ENV_RUNTIME,
	 "collectives use other algorithms and channels"},
	{"assay.libraries.*", ASSAY_ENV_RUNTIME, "the file a process loads is another one"},
	{"assay.library_linkage.*", ASSAY_ENV_RUNTIME,
	 "RPATH or RUNPATH decides whether LD_LIBRARY_PATH counts"},
	{"library_*", ASSAY_ENV_RUNTIME, "libraries are linked or found in another way"},
	{"rocm*", ASSAY_ENV_RUNTIME, "another ROCm release"},
	{"assay.rocm.*", ASSAY_ENV_RUNTIME, "ROCm is installed in another way"},
	{"assay.therock*", ASSAY_ENV_RUNTIME, "ROCm was built from other sources"},
	{"therock*", ASSAY_ENV_RUNTIME, "ROCm was built from other sources"},
	{"hip*", ASSAY_ENV_RUNTIME, "another HIP runtime or compiler"},
	{"pytorch_version", ASSAY_ENV_FRAMEWORK, "another PyTorch release"},
	{"pytorch_build.git_commit", ASSAY_ENV_FRAMEWORK, "PyTorch was built from another commit"},
	{"*pytorch_build.flags*", ASSAY_ENV_FRAMEWORK, "PyTorch was compiled with other settings"},
	{"pytorch_build*", ASSAY_ENV_FRAMEWORK, "PyTorch was built or installed in another way"},
	{"assay.pytorch_build*", ASSAY_ENV_FRAMEWORK,
	 "PyTorch was built or installed in another way"},
	{"triton.*", ASSAY_ENV_FRAMEWORK, "compiled kernels come from another compiler"},
	{"aotriton*", ASSAY_ENV_FRAMEWORK, "ahead-of-time attention kernels differ"},
	{"composable_kernel.*", ASSAY_ENV_FRAMEWORK,
	 "PyTorch carries other Composable Kernel code"},
	{"fbgemm.*", ASSAY_ENV_FRAMEWORK, "embedding and quantised kernels differ"},
	{"aiter.*", ASSAY_ENV_FRAMEWORK, "AITER's hand-written kernels differ"},
	{"tensile.*", ASSAY_ENV_FRAMEWORK, "another Tensile package"},
	{"torchrec*", ASSAY_ENV_FRAMEWORK, "another TorchRec"},
	{"python_version", ASSAY_ENV_FRAMEWORK, "another Python"},
	{"assay.python.package_sources.*", ASSAY_ENV_FRAMEWORK,
	 "the package was built from elsewhere"},
	{"assay.python.pack*", ASSAY_ENV_FRAMEWORK, "another package version"},
	{"assay.python.conda.*", ASSAY_ENV_FRAMEWORK, "another package of conda"},
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
	{"docker*", ASSAY_ENV_HOST, "another container image"},
	{"runtime_context.*", ASSAY_ENV_HOST, "run in another kind of place"},
	{"assay.system_packages.*", ASSAY_ENV_HOST, "another package of the distribution"},
	{"assay.host.*", ASSAY_ENV_HOST, "the machine is set up in another way"},
	{"host.*", ASSAY_ENV_HOST, "another machine"},
	{"assay.*", ASSAY_ENV_HOST, "seen in another way"},
	{"*", ASSAY_ENV_OTHER, "a field this version does not know"},
};

const char *assay_env_given_name(const char *path)
{
	static const char *const heads[] = {"assay.python.packages.",
					    "assay.python.package_commits.",
					    "assay.python.package_sources.",
					    "assay.python.conda.",
					    "assay.system_packages.",
					    "assay.env_vars.",
					    "env_vars.",
					    "assay.host.boot.",
					    "assay.amdgpu_driver.parameters."};
	for (size_t i = 0; i < ASSAY_COUNT_OF(heads); i++)
		if (!strncmp(path, heads[i], strlen(heads[i])))
			return path + strlen(heads[i]);
	return NULL;
}

static bool any_match(const char *const *patterns, size_t n, const char *path)
{
	bool given = assay_env_given_name(path) != NULL;
	for (size_t i = 0; i < n; i++)
		if (given ? !strcmp(patterns[i], path) : !fnmatch(patterns[i], path, 0))
			return true;
	return false;
}

bool assay_env_is_ignored(const char *path)
{
	return any_match(ignored, ASSAY_COUNT_OF(ignored), path);
}

bool assay_env_names_card(const char *path)
{
	return any_match(card_names, ASSAY_COUNT_OF(card_names), path);
}

bool assay_env_is_commit(const char *path)
{
	static const char *const words[] = {"commit", "tweak", "git", "source_head", "srcversion"};
	const char *given = assay_env_given_name(path);
	assay_str field = given ? (assay_str){path, (size_t)(given - path)} : assay_str_of(path);
	return assay_str_has_any(field, words, ASSAY_COUNT_OF(words));
}

void assay_env_classify(const char *path, assay_env_group *group, const char **why)
{
	for (size_t i = 0; i < ASSAY_COUNT_OF(rules); i++)
		if (!fnmatch(rules[i].pattern, path, 0)) {
			*group = rules[i].group;
			*why = rules[i].why;
			return;
		}
}

/* Things that can be absent as a whole. A prefix that ends in a dot is a family, told by the next
 * part of the path. */
static const struct {
	const char *prefix, *name;
} components[] = {
	{"hipblaslt", "hipBLASLt"},
	{"rocblas", "rocBLAS"},
	{"miopen", "MIOpen"},
	{"rccl", "RCCL"},
	{"rocm", "ROCm"},
	{"hip", "the HIP toolchain"},
	{"docker", "a container"},
	{"gpu_arch", "AMD GPUs"},
	{"assay.amdgpu_driver", "the amdgpu driver"},
	{"assay.nvidia", "the NVIDIA driver"},
	{"assay.gpus.", "the GPU at "},
	{"assay.nics.", ""},
	{"assay.libraries.", "lib"},
	{"assay.kernel_databases.", "the kernel database of "},
	{"assay.therock", "the TheRock manifest"},
};

/* Single facts that stand for a thing. */
static const struct {
	const char *path, *name;
} facts[] = {
	{"rocm.version", "ROCm"},
	{"rocm.kmd_version", "the amdgpu driver"},
	{"pytorch_version", "PyTorch"},
	{"triton.package_version", "Triton"},
	{"aiter.package_version", "AITER"},
	{"fbgemm.package_version", "FBGEMM"},
	{"tensile.package_version", "Tensile"},
	{"composable_kernel.system.version", "the Composable Kernel headers"},
	{"aotriton.bundled_version", "AOTriton"},
	{"gpu_arch.agent_count", "the number of AMD GPUs"},
	{"assay.nvidia.driver_version", "the NVIDIA driver"},
	{"host.kernel_release", "the kernel"},
	{"hipblaslt.lib_hash", "the hipBLASLt library"},
	{"rocblas.lib_hash", "the rocBLAS library"},
	{"miopen.lib_hash", "the MIOpen library"},
	{"rccl.lib_hash", "the RCCL library"},
};

/* Bytes of the first part; the dot before a PCI function belongs to it. */
static size_t key_length(const char *key)
{
	size_t n = strcspn(key, ".");
	bool bus = memchr(key, ':', n) != NULL;
	if (bus && key[n] == '.' && assay_is_digit(key[n + 1]))
		n += 1 + strcspn(key + n + 1, ".");
	return n;
}

/* Of a library: the file a program gets, which may be missing while other copies are there. */
static const struct {
	const char *part, *form;
} library_parts[] = {{".plain", "lib%.*s on the system's search path"},
		     {".effective", "the lib%.*s that torch loads"}};

static const char *after_library(const char *path)
{
	static const char prefix[] = "assay.libraries.";
	return strncmp(path, prefix, sizeof prefix - 1) ? NULL
							: strchr(path + sizeof prefix - 1, '.');
}

/* Bytes up to the end of such a part, 0 for any other path. */
static size_t library_part(const char *path, size_t *which)
{
	const char *at = after_library(path);
	for (size_t i = 0; at && i < ASSAY_COUNT_OF(library_parts); i++) {
		size_t n = strlen(library_parts[i].part);
		*which = i;
		if (!strncmp(at, library_parts[i].part, n) && (!at[n] || at[n] == '.'))
			return (size_t)(at - path) + n;
	}
	return 0;
}

static size_t component_at(const char *path, size_t i)
{
	const char *prefix = components[i].prefix;
	size_t n = strlen(prefix);
	if (strncmp(path, prefix, n))
		return 0;
	if (prefix[n - 1] == '.')
		return n + key_length(path + n);
	return path[n] == '.' || !path[n] ? n : 0;
}

size_t assay_env_component(const char *path)
{
	size_t which, part = library_part(path, &which);
	if (part)
		return part;
	for (size_t i = 0; i < ASSAY_COUNT_OF(components); i++) {
		size_t n = component_at(path, i);
		if (n)
			return n;
	}
	return 0;
}

size_t assay_env_outer(const char *path)
{
	size_t which;
	return library_part(path, &which) ? (size_t)(after_library(path) - path) : 0;
}

const char *assay_env_family(const char *path, const char **many)
{
	static const struct {
		const char *prefix, *many;
	} families[] = {{"assay.gpus.", "GPUs"}, {"assay.nics.", "network cards"}};
	for (size_t i = 0; i < ASSAY_COUNT_OF(families); i++)
		if (!strncmp(path, families[i].prefix, strlen(families[i].prefix)) &&
		    assay_env_component(path) == strlen(path)) {
			*many = families[i].many;
			return families[i].prefix;
		}
	return NULL;
}

const char *assay_env_name_of(assay_arena *a, const char *path)
{
	size_t which, part = library_part(path, &which), head = strlen("assay.libraries.");
	if (part &&
	    (!path[part] || !strcmp(path + part, ".version") || !strcmp(path + part, ".sha256")))
		return assay_printf(a, library_parts[which].form,
				    (int)(after_library(path) - path - (ptrdiff_t)head),
				    path + head);
	for (size_t i = 0; i < ASSAY_COUNT_OF(components); i++) {
		size_t n = component_at(path, i), prefix = strlen(components[i].prefix);
		if (!n || path[n])
			continue;
		return components[i].prefix[prefix - 1] == '.'
			       ? assay_printf(a, "%s%s", components[i].name, path + prefix)
			       : components[i].name;
	}
	for (size_t i = 0; i < ASSAY_COUNT_OF(facts); i++)
		if (!strcmp(path, facts[i].path))
			return facts[i].name;
	if (assay_env_given_name(path))
		return assay_env_given_name(path);
	static const char *const heads[] = {"assay.host.", "assay."};
	for (size_t i = 0; i < ASSAY_COUNT_OF(heads); i++)
		if (!strncmp(path, heads[i], strlen(heads[i])))
			return path + strlen(heads[i]);
	return path;
}

static const assay_env_follows follows[] = {
	{"tensile.kernel_db_combined_hash", "hipblaslt"},
	{"tensile.kernel_db_combined_hash", "rocblas"},
	{"tensile.kernel_db_combined_hash", "hipblaslt.kernel_db_revision"},
	{"tensile.kernel_db_combined_hash", "rocblas.kernel_db_revision"},
	{"hipblaslt.kernel_db_revision", "hipblaslt.lib_hash"},
	{"rocblas.kernel_db_revision", "rocblas.lib_hash"},
	{"miopen.kernel_db_revision", "miopen.lib_hash"},
	{"assay.kernel_databases.hipblaslt*", "hipblaslt"},
	{"assay.kernel_databases.rocblas*", "rocblas"},
	{"assay.kernel_databases.miopen*", "miopen"},
	{"assay.kernel_databases.hipblaslt*", "hipblaslt.lib_hash"},
	{"assay.kernel_databases.rocblas*", "rocblas.lib_hash"},
	{"assay.kernel_databases.miopen*", "miopen.lib_hash"},
	{"hipblaslt.kernel_db_revision", "assay.kernel_databases.hipblaslt.files"},
	{"rocblas.kernel_db_revision", "assay.kernel_databases.rocblas.files"},
	{"miopen.kernel_db_revision", "assay.kernel_databases.miopen.files"},
	{"assay.kernel_databases.hipblaslt.*", "assay.kernel_databases.hipblaslt.files"},
	{"assay.kernel_databases.rocblas.*", "assay.kernel_databases.rocblas.files"},
	{"assay.kernel_databases.miopen.*", "assay.kernel_databases.miopen.files"},
	{"assay.effective.*.hipblaslt.*", "hipblaslt"},
	{"assay.effective.*.rocblas.*", "rocblas"},
	{"assay.effective.*.miopen.*", "miopen"},
	{"assay.effective.*.unresolved", "hipblaslt"},
	{"assay.effective.*.unresolved", "rocblas"},
	{"assay.effective.*.unresolved", "miopen"},
	{"assay.effective.*.unresolved", "rccl"},
	{"assay.effective.*.unresolved", "assay.libraries.*"},
	{"assay.effective.*.hipblaslt.*", "assay.kernel_databases.hipblaslt.*"},
	{"assay.effective.*.rocblas.*", "assay.kernel_databases.rocblas.*"},
	{"assay.effective.*.miopen.*", "assay.kernel_databases.miopen.*"},
	{"assay.effective.*.hipblaslt.*", "hipblaslt.lib_hash"},
	{"assay.effective.*.rocblas.*", "rocblas.lib_hash"},
	{"assay.effective.*.miopen.*", "miopen.lib_hash"},
	{"assay.libraries.hipblaslt*", "hipblaslt"},
	{"assay.libraries.rocblas*", "rocblas"},
	{"assay.libraries.miopen*", "miopen"},
	{"assay.libraries.rccl*", "rccl"},
	{"assay.libraries.amdhip64*", "rocm"},
	{"assay.libraries.hsa-runtime64*", "rocm"},
	{"assay.library_linkage*", "hipblaslt"},
	{"assay.library_linkage*", "rocblas"},
	{"assay.library_linkage*", "miopen"},
	{"assay.library_linkage*", "rccl"},
	{"assay.library_linkage*", "assay.libraries.*"},
	{"hipblaslt.rocm_release_tweak", "rocm.version"},
	{"rocblas.rocm_release_tweak", "rocm.version"},
	{"miopen.rocm_release_tweak", "rocm.version"},
	{"hipblaslt.lib_hash", "rocm.version"},
	{"rocblas.lib_hash", "rocm.version"},
	{"miopen.lib_hash", "rocm.version"},
	{"assay.effective.*.libraries.*", "rocm.version"},
	{"assay.therock.*", "rocm.version"},
	{"rccl.*", "rocm.version"},
	{"hip.version", "rocm.version"},
	{"rocm.version_dev", "rocm.version"},
	{"assay.libraries.amdhip64.*", "rocm.version"},
	{"assay.libraries.hsa-runtime64.*", "rocm.version"},
	{"assay.system_packages.*roc*", "rocm.version"},
	{"assay.gpus.*.serial", "assay.gpus.*.uuid"},
	{"assay.gpus.*.unique_id", "assay.gpus.*.uuid"},
	{"gpu_arch", "assay.gpus.*"},
	{"gpu_arch.*", "assay.gpus.*"},
	{"assay.amdgpu_driver.kfd_*", "assay.gpus.*"},
	{"assay.gpu_arch.*", "assay.gpus.*"},
	{"gpu_arch.agent_arch_counts.*", "gpu_arch.agent_count"},
	{"gpu_arch.gfx_targets", "gpu_arch.agent_arch_counts.*"},
	{"assay.gpu_arch.*", "env_vars.HSA_OVERRIDE_GFX_VERSION"},
	{"assay.gpu_arch.visible", "*env_vars.*VISIBLE_DEVICES"},
	{"assay.nvidia.*", "assay.nvidia.driver_version"},
	{"assay.libraries.cuda.*", "assay.nvidia.driver_version"},
	{"assay.system_packages.*nvidia*", "assay.nvidia.driver_version"},
	{"rocm.kmd_version", "assay.amdgpu_driver"},
	{"*amdgpu_driver.*", "rocm.kmd_version"},
	{"pytorch_build.*", "pytorch_version"},
	{"assay.pytorch_build*", "pytorch_version"},
	{"assay.python.packages.torch", "pytorch_version"},
	{"assay.python.package_commits.torch", "pytorch_version"},
	{"assay.python.packages.nvidia-*", "pytorch_version"},
	{"aotriton*", "pytorch_version"},
	{"composable_kernel.pytorch_*", "pytorch_version"},
	{"fbgemm.pytorch_*", "pytorch_version"},
	{"assay.library_linkage*", "pytorch_version"},
	{"aotriton.*", "aotriton.bundled_version"},
	{"composable_kernel.system.*", "composable_kernel.system.version"},
	{"triton.package_version", "assay.python.packages.*triton*"},
	{"fbgemm.package_version", "assay.python.packages.fbgemm*"},
	{"aiter.package_version", "assay.python.packages.*aiter"},
	{"tensile.package_version", "assay.python.packages.tensile"},
	{"assay.container_*", "docker"},
	{"runtime_context.type", "docker"},
	{"assay.container_*", "runtime_context.type"},
	{"docker*", "runtime_context.type"},
};

const assay_env_follows *assay_env_follow_rules(size_t *n)
{
	*n = ASSAY_COUNT_OF(follows);
	return follows;
}

/* %n the last part of the path, %d the device (the part before it), %v the value, %b 1 for one that
 * is on and 0 else, %w and %k its thousandth and its 1024th part. `off` is for a value that should
 * go away. %i is where wheels of such a version are, if not on PyPI. */
static const struct {
	const char *pattern, *on, *off;
} remedies[] = {
	{"*env_vars.*", "export %n=%v", "unset %n"},
	{"assay.python.packages.*", "pip install %n==%v%i", "pip uninstall %n"},
	{"assay.system_packages.*", "apt-get install %n=%v (dnf install %n-%v)",
	 "apt-get remove %n (dnf remove %n)"},
	{"pytorch_version", "pip install torch==%v%i", "pip uninstall torch"},
	{"triton.package_version", "pip install triton==%v", "pip uninstall triton"},
	{"aiter.package_version", "pip install amd-aiter==%v", "pip uninstall amd-aiter"},
	{"fbgemm.package_version", "pip install fbgemm-gpu==%v", "pip uninstall fbgemm-gpu"},
	{"assay.host.boot.*", "add %n=%v to the kernel command line and boot",
	 "take %n off the kernel command line and boot"},
	{"*amdgpu_driver.parameters.*",
	 "options amdgpu %n=%v in /etc/modprobe.d, and reload amdgpu", NULL},
	{"assay.host.numa_balancing", "sysctl -w kernel.numa_balancing=%v", NULL},
	{"assay.host.transparent_hugepage", "echo %v > /sys/kernel/mm/transparent_hugepage/enabled",
	 NULL},
	{"assay.host.cpufreq_governor", "cpupower frequency-set -g %v", NULL},
	{"assay.host.smt", "echo %v > /sys/devices/system/cpu/smt/control", NULL},
	{"assay.host.memlock_limit", "ulimit -l %k (memlock %k in /etc/security/limits.conf)",
	 NULL},
	{"assay.gpus.*.uuid", "put card %v back into this slot", NULL},
	{"assay.gpus.*.serial", "put card %v back into this slot", NULL},
	{"assay.gpus.*.unique_id", "put card %v back into this slot", NULL},
	{"assay.gpus.*.power_limit_mw", "nvidia-smi -i %d -pl %w", NULL},
	{"assay.gpus.*.ecc", "nvidia-smi -i %d -e %b, then nvidia-smi -i %d -r", NULL},
	{"assay.gpus.*.mig", "nvidia-smi -i %d -mig %b, then nvidia-smi -i %d -r", NULL},
	{"assay.gpus.*.persistence", "nvidia-smi -i %d -pm %b", NULL},
	{"assay.gpus.*.compute_mode", "nvidia-smi -i %d -c %v", NULL},
	{"assay.gpus.*.compute_partition", "amd-smi set --gpu %d --compute-partition %v", NULL},
	{"assay.gpus.*.memory_partition", "amd-smi set --gpu %d --memory-partition %v", NULL},
	{"assay.gpus.*.performance_level", "amd-smi set --gpu %d --perf-level %v", NULL},
	{"assay.gpus.*.vbios_version", "flash VBIOS %v", NULL},
	{"assay.gpus.*.*fw_version", "install the firmware package that brings %v, and boot", NULL},
	{"assay.nvidia.driver_version", "install NVIDIA driver %v, and boot", NULL},
	{"assay.nvidia.toolkit_version", "install CUDA toolkit %v", NULL},
	{"rocm.kmd_version", "install amdgpu-dkms %v, and boot", NULL},
	{"rocm.version", "install ROCm %v", NULL},
	{"hipblaslt", "install hipBLASLt (package hipblaslt)", "remove package hipblaslt"},
	{"rocblas", "install rocBLAS (package rocblas)", "remove package rocblas"},
	{"miopen", "install MIOpen (package miopen-hip)", "remove package miopen-hip"},
	{"rccl", "install RCCL (package rccl)", "remove package rccl"},
	{"rocm", "install ROCm", "remove ROCm"},
	{"hipblaslt.lib_hash", "reinstall package hipblaslt from the same source", NULL},
	{"rocblas.lib_hash", "reinstall package rocblas from the same source", NULL},
	{"miopen.lib_hash", "reinstall package miopen-hip from the same source", NULL},
	{"rccl.lib_hash", "reinstall package rccl from the same source", NULL},
	{"*.package_version", "install version %v of the package", NULL},
	{"assay.kernel_databases.hipblaslt.*", "reinstall the kernel files of hipblaslt", NULL},
	{"assay.kernel_databases.rocblas.*", "reinstall the kernel files of rocblas", NULL},
	{"assay.kernel_databases.miopen.*", "reinstall the kernel files of miopen-hip", NULL},
	{"assay.nics.*fw_ver", "flash firmware %v on %d", NULL},
	{"assay.gpus.*", "check that the GPU is seated, powered and bound to its driver", NULL},
	{"assay.nics.*", "check that the card is seated and bound to its driver", NULL},
	{"host.kernel_release", "boot kernel %v", NULL},
	{"python_version", "use Python %v", NULL},
	{"docker.image", "run image %v", NULL},
	{"docker.digest", "run the image with digest %v", NULL},
};

/* The last part, and the one before it. */
static void last_parts(const char *path, assay_str *device, assay_str *name)
{
	const char *dot = strrchr(path, '.');
	*name = assay_str_of(dot ? dot + 1 : path);
	*device = (assay_str){"", 0};
	static const char *const families[] = {"assay.gpus.", "assay.nics."};
	for (size_t i = 0; i < ASSAY_COUNT_OF(families); i++)
		if (!strncmp(path, families[i], strlen(families[i]))) {
			const char *key = path + strlen(families[i]);
			*device = (assay_str){key, key_length(key)};
		}
	const char *given = assay_env_given_name(path);
	if (given)
		*name = assay_str_of(given);
}

/* As a shell takes it for one word: a snapshot may hold anything. */
static const char *shell_word(assay_arena *a, const char *value)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:+-=,@%";
	if (*value && !value[strspn(value, plain)])
		return value;
	char *out = assay_dup(a, ASSAY_S("'"));
	for (const char *p = value; *p;) {
		size_t n = strcspn(p, "'");
		out = assay_printf(a, "%s%.*s%s", out, (int)n, p, p[n] ? "'\\''" : "");
		p += n + (p[n] != 0);
	}
	return assay_printf(a, "%s'", out);
}

static const char *part_of(assay_arena *a, const char *value, int64_t of)
{
	int64_t n;
	if (!assay_str_i64(assay_str_of(value), &n))
		return shell_word(a, value);
	return assay_printf(a, "%lld", (long long)(n / of));
}

/* PyTorch's own builds are told by what follows the +; PyPI takes no such versions. */
static const char *index_of(assay_arena *a, const char *version)
{
	static const char *const builds[] = {"cu", "rocm", "cpu", "xpu"};
	const char *local = strchr(version, '+');
	for (size_t i = 0; local && i < ASSAY_COUNT_OF(builds); i++) {
		size_t n = strlen(builds[i]);
		if (!strncmp(local + 1, builds[i], n) &&
		    !local[1 + n + strspn(local + 1 + n, "0123456789.")])
			return assay_printf(a, " --index-url https://download.pytorch.org/whl/%s",
					    local + 1);
	}
	return "";
}

/* What a letter behind % stands for. */
static const char *word_of(assay_arena *a, const char *path, char letter, const char *value)
{
	assay_str device, name;
	last_parts(path, &device, &name);
	switch (letter) {
	case 'n':
		return shell_word(a, assay_dup(a, name));
	case 'd':
		return shell_word(a, assay_dup(a, device));
	case 'b':
		return !strcmp(value, "enabled") || !strcmp(value, "on") ? "1" : "0";
	case 'i':
		return index_of(a, value);
	case 'w':
		return part_of(a, value, 1000);
	case 'k':
		return part_of(a, value, 1024);
	default:
		return shell_word(a, value);
	}
}

const char *assay_env_remedy(assay_arena *a, const char *path, const char *value)
{
	const char *form = NULL;
	for (size_t i = 0; i < ASSAY_COUNT_OF(remedies) && !form; i++)
		if (!fnmatch(remedies[i].pattern, path, 0)) {
			form = value ? remedies[i].on : remedies[i].off;
			if (!form)
				return NULL;
		}
	if (!form)
		return NULL;
	if (value && !strcmp(value, "(hidden)"))
		form = "set %n as it is there: its value is a secret, which no snapshot keeps";
	char *out = assay_dup(a, (assay_str){"", 0});
	for (const char *p = form; *p;) {
		size_t n = strcspn(p, "%");
		out = assay_printf(a, "%s%.*s", out, (int)n, p);
		p += n;
		if (!*p)
			break;
		out = assay_printf(a, "%s%s", out, word_of(a, path, p[1], value));
		p += 2;
	}
	return out;
}

const char *assay_env_reinstall(assay_arena *a, const char *manager, const char *package,
				const char *version)
{
	static const char *const forms[][2] = {
		{"dpkg", "apt-get install --reinstall %s=%s"},
		{"rpm", "dnf reinstall %s-%s"},
		{"pacman", "pacman -S %s (%s)"},
		{"pip", "pip install --force-reinstall %s==%s%s"},
		{"conda", "conda install --force-reinstall %s=%s"},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(forms); i++)
		if (!strcmp(forms[i][0], manager))
			return assay_printf(a, forms[i][1], shell_word(a, package),
					    shell_word(a, version), index_of(a, version));
	return NULL;
}

TEST(components_keep_the_function_of_a_bus)
{
	CHECK_EQ(assay_env_component("assay.gpus.0000:4b:00.0.ecc"),
		 strlen("assay.gpus.0000:4b:00.0"));
	CHECK_EQ(assay_env_component("assay.nics.mlx5_3.rate"), strlen("assay.nics.mlx5_3"));
	CHECK_EQ(assay_env_component("hipblaslt.lib_hash"), strlen("hipblaslt"));
	CHECK_EQ(assay_env_component("hipblaslt_more.x"), 0);
	CHECK_EQ(assay_env_component("pytorch_version"), 0);
	return 0;
}

TEST(remedies_name_the_thing_and_the_value)
{
	assay_arena a = {0};
	CHECK(!strcmp(assay_env_remedy(&a, "env_vars.HSA_XNACK", "1"), "export HSA_XNACK=1"));
	CHECK(!strcmp(assay_env_remedy(&a, "env_vars.HSA_XNACK", NULL), "unset HSA_XNACK"));
	CHECK(!strcmp(assay_env_remedy(&a, "env_vars.XLA_FLAGS", "a 'b'; c"),
		      "export XLA_FLAGS='a '\\''b'\\''; c'"));
	CHECK(!strcmp(assay_env_remedy(&a, "assay.python.packages.ruamel.yaml", "1.2"),
		      "pip install ruamel.yaml==1.2"));
	CHECK(!strcmp(
		assay_env_remedy(&a, "pytorch_version", "2.11.0+cu130"),
		"pip install torch==2.11.0+cu130 --index-url https://download.pytorch.org/whl/cu130"));
	CHECK(!strcmp(assay_env_remedy(&a, "assay.python.packages.vllm", "0.9+cuda.git1"),
		      "pip install vllm==0.9+cuda.git1"));
	CHECK(strstr(assay_env_remedy(&a, "assay.gpus.0000:4b:00.0.compute_mode", "default"),
		     "-i 0000:4b:00.0 -c default"));
	CHECK(!strcmp(assay_env_remedy(&a, "assay.gpus.0000:4b:00.0.mig", "disabled"),
		      "nvidia-smi -i 0000:4b:00.0 -mig 0, then nvidia-smi -i 0000:4b:00.0 -r"));
	CHECK(!strcmp(assay_env_remedy(&a, "assay.gpus.0000:4b:00.0.power_limit_mw", "650000"),
		      "nvidia-smi -i 0000:4b:00.0 -pl 650"));
	CHECK(!strcmp(assay_env_remedy(&a, "assay.host.memlock_limit", "unlimited"),
		      "ulimit -l unlimited (memlock unlimited in /etc/security/limits.conf)"));
	CHECK(strstr(assay_env_remedy(&a, "assay.env_vars.VLLM_API_KEY", "(hidden)"),
		     "set VLLM_API_KEY as it is there"));
	CHECK(!strcmp(assay_env_remedy(&a, "assay.python.packages.a;reboot", NULL),
		      "pip uninstall 'a;reboot'"));
	CHECK(!assay_env_remedy(&a, "no.such.path", "1"));
	CHECK(!strcmp(assay_env_reinstall(&a, "dpkg", "librocblas0", "5.5.1+dfsg-7"),
		      "apt-get install --reinstall librocblas0=5.5.1+dfsg-7"));
	CHECK(!strcmp(
		assay_env_reinstall(&a, "pip", "torch", "2.9+rocm6.4"),
		"pip install --force-reinstall torch==2.9+rocm6.4 --index-url https://download.pytorch.org/whl/rocm6.4"));
	CHECK(!strcmp(assay_env_reinstall(&a, "conda", "a;b", "1"),
		      "conda install --force-reinstall 'a;b'=1"));
	CHECK(!assay_env_reinstall(&a, "nix", "rocblas", "1"));
	assay_arena_free(&a);
	return 0;
}
