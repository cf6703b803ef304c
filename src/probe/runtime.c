/* Container, variables, and what the scheduler of the machine says about itself. */
#include <stdio.h>

#include "base/test.h"
#include "probe/probe.h"
#include "probe/variables.h"

/* The canonical variables, in schema order. */
static const char *const canonical[] = {
	"HIP_VISIBLE_DEVICES",
	"ROCR_VISIBLE_DEVICES",
	"HSA_XNACK",
	"HSA_KERNARG_POOL_SIZE",
	"HSA_NO_SCRATCH_RECLAIM",
	"HSA_OVERRIDE_GFX_VERSION",
	"GPU_MAX_HW_QUEUES",
	"AMDGCN_USE_BUFFER_OPS",
	"DISABLE_TF32",
	"PYTORCH_ROCM_ARCH",
	"HIP_LAUNCH_BLOCKING",
	"NCCL_MAX_NCHANNELS",
	"NCCL_P2P_LEVEL",
	"NCCL_IB_HCA",
	"NCCL_SOCKET_IFNAME",
	"RCCL_MSCCL_ENABLE",
	"FBGEMM_NO_JK",
	"FBGEMM_TBE_V2",
	"FBGEMM_TBE_ROCM_HIP_BACKWARD_KERNEL",
	"FBGEMM_BOUNDS_CHECK_INDICES_V2",
	"MIOPEN_SYSTEM_DB_PATH",
	"MIOPEN_USER_DB_PATH",
	"MIOPEN_DEBUG_DISABLE_FIND_DB",
	"MIOPEN_FIND_MODE",
	"TORCH_ROCM_FA_PREFER_CK",
	"TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL",
	"TORCH_BLAS_PREFER_HIPBLASLT",
	"TORCH_HIPBLASLT_TUNING_FILE",
	"TORCH_HIPBLASLT_TUNING_OVERRIDE_FILE",
	"TORCHINDUCTOR_MAX_AUTOTUNE_POINTWISE",
	"PYTORCH_CUDA_ALLOC_CONF",
};

/* Further names that change what a GPU process does, told whether they are set or not. */
static const char *const more_names[] = {
	"LD_LIBRARY_PATH",
	"LD_PRELOAD",
	"ROCM_PATH",
	"ROCM_HOME",
	"HIP_PATH",
	"HIP_PLATFORM",
	"CUDA_HOME",
	"CUDA_PATH",
	"CUDA_VISIBLE_DEVICES",
	"CUDA_DEVICE_ORDER",
	"CUDA_LAUNCH_BLOCKING",
	"CUDA_MODULE_LOADING",
	"CUDA_DEVICE_MAX_CONNECTIONS",
	"CUBLAS_WORKSPACE_CONFIG",
	"CUDNN_LOGLEVEL_DBG",
	"NVIDIA_TF32_OVERRIDE",
	"NVIDIA_VISIBLE_DEVICES",
	"NVIDIA_DRIVER_CAPABILITIES",
	"GPU_DEVICE_ORDINAL",
	"AMD_LOG_LEVEL",
	"AMD_SERIALIZE_KERNEL",
	"AMD_SERIALIZE_COPY",
	"HSA_ENABLE_SDMA",
	"HSA_TOOLS_LIB",
	"HSA_TOOLS_DISABLE_REGISTER",
	"HSA_FORCE_FINE_GRAIN_PCIE",
	"HSA_ENABLE_IPC_MODE_LEGACY",
	"HIP_FORCE_DEV_KERNARG",
	"HIPBLASLT_LOG_LEVEL",
	"HIPBLASLT_TENSILE_LIBPATH",
	"HIPBLASLT_TUNING_OVERRIDE_FILE",
	"ROCBLAS_LAYER",
	"ROCBLAS_TENSILE_LIBPATH",
	"ROCBLAS_USE_HIPBLASLT",
	"ROCBLAS_INTERNAL_FP16_ALT_IMPL",
	"ROCBLAS_DEFAULT_ATOMICS_MODE",
	"ROCBLAS_USE_HIPBLASLT_BATCHED",
	"HIPBLASLT_OVERRIDE_COMPUTE_TYPE_XF32",
	"HIPBLASLT_USE_ROCROLLER",
	"TENSILE_DB2",
	"TENSILE_SOLUTION_INDEX",
	"TENSILE_STREAMK_DYNAMIC_GRID",
	"TENSILE_DB",
	"MIOPEN_FIND_ENFORCE",
	"MIOPEN_DEBUG_CONV_GEMM",
	"MIOPEN_LOG_LEVEL",
	"NCCL_DEBUG",
	"NCCL_ALGO",
	"NCCL_PROTO",
	"NCCL_MIN_NCHANNELS",
	"NCCL_NET",
	"NCCL_NET_PLUGIN",
	"NCCL_NET_GDR_LEVEL",
	"NCCL_IB_DISABLE",
	"NCCL_IB_GID_INDEX",
	"NCCL_IB_TC",
	"NCCL_IB_SL",
	"NCCL_IB_TIMEOUT",
	"NCCL_IB_QPS_PER_CONNECTION",
	"NCCL_P2P_DISABLE",
	"NCCL_SHM_DISABLE",
	"NCCL_CROSS_NIC",
	"NCCL_NVLS_ENABLE",
	"NCCL_BUFFSIZE",
	"NCCL_CUMEM_ENABLE",
	"NCCL_GRAPH_FILE",
	"NCCL_TOPO_FILE",
	"NCCL_TUNER_PLUGIN",
	"TORCH_NCCL_ASYNC_ERROR_HANDLING",
	"TORCH_NCCL_BLOCKING_WAIT",
	"TORCH_NCCL_HIGH_PRIORITY",
	"RCCL_MSCCLPP_ENABLE",
	"RCCL_GFX9_CHEAP_FENCE_OFF",
	"NCCL_DMABUF_ENABLE",
	"RCCL_ENABLE_CONTEXT_TRACKING",
	"HSA_ENABLE_DEBUG",
	"PYTORCH_ALLOC_CONF",
	"PYTORCH_HIP_ALLOC_CONF",
	"PYTORCH_NO_CUDA_MEMORY_CACHING",
	"PYTORCH_TUNABLEOP_ENABLED",
	"PYTORCH_TUNABLEOP_TUNING",
	"PYTORCH_TUNABLEOP_FILENAME",
	"PYTORCH_MIOPEN_SUGGEST_NHWC",
	"TORCH_ALLOW_TF32_CUBLAS_OVERRIDE",
	"TORCHINDUCTOR_MAX_AUTOTUNE",
	"TORCHINDUCTOR_CACHE_DIR",
	"TRITON_CACHE_DIR",
	"TRITON_HIP_USE_BLOCK_PINGPONG",
	"TORCH_COMPILE_DISABLE",
	"OMP_NUM_THREADS",
	"OMP_PROC_BIND",
	"OMP_PLACES",
	"KMP_AFFINITY",
	"MKL_NUM_THREADS",
	"XLA_FLAGS",
	"XLA_PYTHON_CLIENT_MEM_FRACTION",
	"XLA_PYTHON_CLIENT_PREALLOCATE",
	"JAX_PLATFORMS",
	"LOADEDMODULES", /* what `module load` gave */
	"VIRTUAL_ENV",
	"CONDA_PREFIX",
	"CONDA_DEFAULT_ENV",
};

static void copy_vars(assay_ctx *c, assay_pairs *to, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		assay_ctx_pair(c, to, names[i], assay_ctx_var(c, names[i]));
}

/* The last group of a UUID (a pod's, in Kubernetes) is twelve digits long too. */
static bool in_uuid(assay_str s, size_t from)
{
	return from >= 2 && (s.p[from - 1] == '-' || s.p[from - 1] == '_') &&
	       assay_hex_digit(s.p[from - 2]) >= 0;
}

/* First run of lower-hex digits between the two lengths; runs inside longer words do not count. */
static bool hex_run(assay_str s, size_t least, size_t most, assay_str *out)
{
	for (size_t i = 0; i < s.n;) {
		size_t from = i;
		while (i < s.n && assay_hex_digit(s.p[i]) >= 0)
			i++;
		if (i - from >= least && i - from <= most && (least == 64 || !in_uuid(s, from))) {
			*out = (assay_str){s.p + from, i - from};
			return true;
		}
		i += i == from;
	}
	return false;
}

/* Cgroup v2 shows "0::/" inside a container; the files Docker, podman and containerd mount over
 * /etc/hostname and its like still carry the id in their source path. */
static bool id_from_mounts(assay_ctx *c, assay_str *id)
{
	assay_str text, line;
	if (assay_root_read(&c->root, c->a, "/proc/self/mountinfo", 4 << 20, &text) !=
	    ASSAY_CAUSE_NONE)
		return false;
	while (text.n) {
		line = assay_str_cut(&text, '\n');
		if ((assay_str_find(line, " /etc/hostname ") < 0 &&
		     assay_str_find(line, " /etc/hosts ") < 0 &&
		     assay_str_find(line, " /etc/resolv.conf ") < 0))
			continue;
		for (int field = 0; field < 3; field++)
			assay_str_cut(&line, ' ');
		if (hex_run(assay_str_cut(&line, ' '), 64, 64, id))
			return true;
	}
	return false;
}

static void container_id(assay_ctx *c)
{
	assay_str text, id;
	c->env->docker.id_source = "cgroup";
	if (assay_root_read(&c->root, c->a, "/proc/self/cgroup", 1 << 20, &text) ==
		    ASSAY_CAUSE_NONE &&
	    (hex_run(text, 64, 64, &id) || hex_run(text, 12, 64, &id))) {
		c->env->docker.id = assay_dup(c->a, id);
		return;
	}
	c->env->docker.id_source = NULL;
	if (id_from_mounts(c, &id)) {
		c->env->docker.id = assay_dup(c->a, id);
		c->env->docker.id_source = "mountinfo";
	}
}

/* Words in pid 1's cgroup path, in the order that decides; the schema has only the first three. */
static const struct {
	const char *word, *type, *kind;
} cgroup_words[] = {
	{"singularity", "singularity", "singularity"},
	{"apptainer", "singularity", "apptainer"},
	{"kubepods", "docker", "kubernetes"},
	{"docker", "docker", "docker"},
	{"libpod", "podman", "podman"},
	{"podman", "podman", "podman"},
	{"containerd", "docker", "containerd"},
	{"cri-o", "docker", "cri-o"},
	{"lxc", "docker", "lxc"},
};

static const char *context_from_cgroup(assay_ctx *c)
{
	assay_str text;
	if (assay_root_read(&c->root, c->a, "/proc/1/cgroup", 1 << 20, &text) != ASSAY_CAUSE_NONE)
		return NULL;
	for (size_t i = 0; i < ASSAY_COUNT_OF(cgroup_words); i++)
		if (assay_str_find(text, cgroup_words[i].word) >= 0) {
			c->env->container_kind = cgroup_words[i].kind;
			return cgroup_words[i].type;
		}
	return NULL;
}

static const char *context_type(assay_ctx *c)
{
	assay_env *e = c->env;
	e->kubernetes = assay_ctx_var(c, "KUBERNETES_SERVICE_HOST") != NULL;
	if (assay_root_exists(&c->root, "/.dockerenv"))
		return e->container_kind = "docker";
	if (assay_root_exists(&c->root, "/run/.containerenv"))
		return e->container_kind = "podman";
	if (assay_ctx_var(c, "SINGULARITY_NAME"))
		return e->container_kind = "singularity";
	if (assay_ctx_var(c, "APPTAINER_NAME") || assay_root_is_dir(&c->root, "/.singularity.d")) {
		e->container_kind = "apptainer";
		return "singularity";
	}
	const char *type = context_from_cgroup(c);
	if (type)
		return type;
	/* containerd under cgroup v2 leaves only these; the schema's nearest word is docker */
	const char *word = assay_ctx_var(c, "container");
	if (e->kubernetes || (word && *word)) {
		e->container_kind =
			e->kubernetes ? "kubernetes" : assay_dup(c->a, assay_str_of(word));
		return word && !strcmp(word, "podman") ? "podman" : "docker";
	}
	e->container_kind = NULL;
	return "baremetal";
}

static void docker_block(assay_ctx *c)
{
	assay_env *e = c->env;
	e->docker.image = assay_ctx_var(c, "AORTA_DOCKER_IMAGE");
	e->docker.digest = assay_ctx_var(c, "AORTA_DOCKER_DIGEST");
	container_id(c);
	/* a container cannot know its image unless somebody tells it: useful, but nothing is
	 * broken */
	if (!e->docker.image)
		assay_ctx_reason(c, ASSAY_LEVEL_EXPECTED,
				 "docker.image: AORTA_DOCKER_IMAGE is not set in this container");
	if (!e->docker.digest)
		assay_ctx_reason(c, ASSAY_LEVEL_EXPECTED,
				 "docker.digest: AORTA_DOCKER_DIGEST is not set in this container");
}

static void run(assay_ctx *c)
{
	assay_env *e = c->env;
	e->context = context_type(c);
	e->container = strcmp(e->context, "baremetal") != 0;
	if (e->container)
		docker_block(c);
	copy_vars(c, &e->vars, canonical, ASSAY_COUNT_OF(canonical));
	copy_vars(c, &e->more_vars, more_names, ASSAY_COUNT_OF(more_names));
	assay_ctx_prefixed_vars(c);
}

const assay_probe assay_probe_runtime = {.name = "runtime_context", .run = run};

TEST(canonical_var_names_stable)
{
	CHECK_EQ(ASSAY_COUNT_OF(canonical), 31);
	for (size_t i = 0; i < ASSAY_COUNT_OF(canonical); i++)
		for (size_t k = 0; k < i; k++)
			CHECK(strcmp(canonical[i], canonical[k]));
	CHECK(!strcmp(canonical[0], "HIP_VISIBLE_DEVICES"));
	CHECK(!strcmp(canonical[30], "PYTORCH_CUDA_ALLOC_CONF"));
	return 0;
}

TEST(hex_runs_have_limits)
{
	assay_str out;
	CHECK(hex_run(ASSAY_S("0::/docker/0123456789ab"), 12, 64, &out) && out.n == 12);
	CHECK(!hex_run(ASSAY_S("0::/user.slice/abc"), 12, 64, &out));
	CHECK(!hex_run(ASSAY_S("0::/"), 12, 64, &out));
	CHECK(!hex_run(ASSAY_S("/kubepods/besteffort/pod0aa1b2c3-1234-5678-9abc-0123456789ab"), 12,
		       64, &out));
	return 0;
}
