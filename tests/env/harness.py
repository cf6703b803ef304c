"""Cases register themselves here; small helpers they share."""
import hashlib
import resource

CASES = []
TOP = ["schema_version", "captured_at", "system_health", "rocm", "hip", "hipblaslt", "rocblas", "composable_kernel",
       "tensile", "triton", "fbgemm", "aiter", "aotriton", "miopen", "rccl", "gpu_arch", "runtime_context", "host",
       "docker", "env_vars", "python_version", "pytorch_version", "pytorch_build", "partial", "partial_reasons"]
NAMES = """HIP_VISIBLE_DEVICES ROCR_VISIBLE_DEVICES HSA_XNACK HSA_KERNARG_POOL_SIZE HSA_NO_SCRATCH_RECLAIM
HSA_OVERRIDE_GFX_VERSION GPU_MAX_HW_QUEUES AMDGCN_USE_BUFFER_OPS DISABLE_TF32 PYTORCH_ROCM_ARCH HIP_LAUNCH_BLOCKING
NCCL_MAX_NCHANNELS NCCL_P2P_LEVEL NCCL_IB_HCA NCCL_SOCKET_IFNAME RCCL_MSCCL_ENABLE FBGEMM_NO_JK FBGEMM_TBE_V2
FBGEMM_TBE_ROCM_HIP_BACKWARD_KERNEL FBGEMM_BOUNDS_CHECK_INDICES_V2 MIOPEN_SYSTEM_DB_PATH MIOPEN_USER_DB_PATH
MIOPEN_DEBUG_DISABLE_FIND_DB MIOPEN_FIND_MODE TORCH_ROCM_FA_PREFER_CK TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL
TORCH_BLAS_PREFER_HIPBLASLT TORCH_HIPBLASLT_TUNING_FILE TORCH_HIPBLASLT_TUNING_OVERRIDE_FILE
TORCHINDUCTOR_MAX_AUTOTUNE_POINTWISE PYTORCH_CUDA_ALLOC_CONF""".split()


HEAD = {"hipblaslt": ("/opt/rocm/include/hipblaslt/hipblaslt-version.h", "HIPBLASLT_VERSION"),
        "rocblas": ("/opt/rocm/include/rocblas/internal/rocblas-version.h", "ROCBLAS_VERSION"),
        "miopen": ("/opt/rocm/include/miopen/version.h", "MIOPEN_VERSION")}


def case(name, root=True):
    def add(f):
        CASES.append((name, f, root))
        return f
    return add


def sha(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def names_sha(names):
    return "filenames-sha256:" + hashlib.sha256("\n".join(sorted(names)).encode()).hexdigest()


def in_time(f, limit=20):
    """What f gives; its programs may use so many seconds of a processor, however long they wait for one."""
    start = spent()
    got = f()
    assert spent() - start < limit, spent() - start
    return got


def spent():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
