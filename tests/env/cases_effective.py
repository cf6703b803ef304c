"""What programs really use: overrides followed, bundled trees, TheRock wheels, JAX, TensorFlow."""
import json
import os

from fixture import SITE, Root, elf, findings, reasons
from harness import case, sha


def bundled(r, kernel="torch"):
    """A ROCm torch that brings its own hipBLASLt beside an installed /opt/rocm."""
    r.healthy()
    t = f"/{SITE}/torch/lib"
    r.file(f"{t}/libhipblaslt.so", elf(soname="libhipblaslt.so.0", payload=b"torch's own"))
    r.file(f"{t}/libtorch_hip.so", elf(soname="libtorch_hip.so", needed=("libhipblaslt.so",), rpath="$ORIGIN"))
    r.file(f"{t}/hipblaslt/library/TensileLibrary_gfx942.dat", kernel)
    return r


@case("effective.torchs_own_kernel_database_is_told_and_compared")
def _(r):
    from cases_diff import diff_json
    a = bundled(r).probe()
    used = a["assay"]["effective"]["torch"]["kernel_databases"]["hipblaslt"]
    assert used["path"] == f"/{SITE}/torch/lib/hipblaslt/library" and used["files"] == 1, used
    assert a["assay"]["kernel_databases"]["hipblaslt"]["path"] == "/opt/rocm/lib/hipblaslt/library"
    assert findings(a, "kernel-db-effective"), findings(a)
    q = bundled(Root(), "torcH")
    b = q.probe()
    q.drop()
    rc, out = diff_json(r, a, b)
    rows = [x["path"] for x in out["rows"] if x["kind"] != "unknown on one side"]
    assert rc == 1 and rows == ["assay.effective.torch.kernel_databases.hipblaslt.content_hash"], rows


@case("effective.an_override_of_the_kernel_path_is_followed")
def _(r):
    bundled(r).file("/srv/k/TensileLibrary_gfx942.dat", "tuned")
    d = r.probe(env={"HIPBLASLT_TENSILE_LIBPATH": "/srv/k"})
    used = d["assay"]["effective"]["torch"]["kernel_databases"]["hipblaslt"]
    assert used["path"] == "/srv/k" and used["by"] == "HIPBLASLT_TENSILE_LIBPATH" and used["content_hash"], used
    d = r.probe(env={"HIPBLASLT_TENSILE_LIBPATH": "/no/such"})
    assert any("/no/such" in f for f in findings(d, "override-missing")), findings(d)


@case("effective.tuning_files_and_plugins_are_hashed")
def _(r):
    r.healthy().file("/srv/tuning.csv", "a,b").file("/srv/lib/libnccl-net-anp.so", elf(soname="x"))
    d = r.probe(env={"HIPBLASLT_TUNING_OVERRIDE_FILE": "/srv/tuning.csv", "NCCL_NET_PLUGIN": "anp", "LD_LIBRARY_PATH": "/srv/lib"})
    f = d["assay"]["effective"]["files"]
    assert f["HIPBLASLT_TUNING_OVERRIDE_FILE"]["sha256"] == sha(b"a,b"), f
    assert f["NCCL_NET_PLUGIN"]["path"] == "/srv/lib/libnccl-net-anp.so" and f["NCCL_NET_PLUGIN"]["present"], f


@case("effective.a_plugin_is_found_as_nccl_finds_it")
def _(r):
    r.healthy().file("/usr/lib/libnccl-net.so", elf(soname="libnccl-net.so")).file("/usr/lib/libnccl-net-aws.so", elf(soname="x"))
    f = r.probe()["assay"]["effective"]["files"]
    assert f["libnccl-net.so"]["path"] == "/usr/lib/libnccl-net.so" and f["libnccl-net.so"]["by"] == "default folders" and f["libnccl-net.so"]["sha256"], f
    f = r.probe(env={"NCCL_NET_PLUGIN": "aws"})["assay"]["effective"]["files"]
    assert f["NCCL_NET_PLUGIN"]["path"] == "/usr/lib/libnccl-net-aws.so" and "libnccl-net.so" not in f, f
    assert r.probe(env={"NCCL_NET_PLUGIN": "none"})["assay"]["effective"]["files"] == {}
    d = r.probe(env={"NCCL_NET_PLUGIN": "gone"})
    assert any("gone" in x for x in findings(d, "override-missing")), findings(d)


@case("effective.caches_and_what_leads_there")
def _(r):
    r.healthy().file("/home/me/.config/miopen/gfx942.ufdb.txt", "x").dir("/fast/triton")
    c = r.probe(env={"HOME": "/home/me", "TRITON_CACHE_DIR": "/fast/triton", "AITER_JIT_DIR": "/no/such"})["assay"]["effective"]["caches"]
    assert c == {"miopen_tuning": {"path": "/home/me/.config/miopen", "by": "default", "present": True},
                 "aiter": {"path": "/no/such", "by": "AITER_JIT_DIR", "present": False},
                 "triton": {"path": "/fast/triton", "by": "TRITON_CACHE_DIR", "present": True}}, c


@case("effective.a_library_torch_needs_and_cannot_find")
def _(r):
    from cases_diff import diff_json
    r.healthy().file(f"/{SITE}/torch/lib/libtorch_hip.so",
                     elf(soname="libtorch_hip.so", needed=("libhipblaslt.so.0",), runpath="/opt/rocm/lib"))
    a = r.probe()
    assert a["assay"]["effective"]["torch"]["unresolved"] == []
    for n in ("libhipblaslt.so", "libhipblaslt.so.0", "libhipblaslt.so.0.4.60401", "hipblaslt"):
        r.remove("/opt/rocm/lib/" + n)
    b = r.remove("/opt/rocm/include/hipblaslt").probe()
    assert b["assay"]["effective"]["torch"]["unresolved"] == ["libhipblaslt.so.0"]
    assert not findings(a, "library-missing") and findings(b, "library-missing") == ["torch needs libhipblaslt.so.0, which the loader does not find"]
    assert "lacks hipBLASLt; torch cannot load it" in diff_json(r, a, b)[1]["sentence"]


@case("effective.every_gpu_library_that_is_missing_is_named")
def _(r):
    gpu = ["libhipfft.so.0", "librocm_sysdeps_numa.so.1", "libamd_smi.so.26", "libcufile.so.0", "libcurand.so.10", "libnvJitLink.so.13"]
    r.healthy().file(f"/{SITE}/torch/lib/libtorch_hip.so", elf(needed=gpu + ["libcurl.so.4", "libcustom.so", "libm.so.6"]))
    assert r.probe()["assay"]["effective"]["torch"]["unresolved"] == gpu


@case("effective.therock_wheels")
def _(r):
    r.venv().kfd()
    manifest = {"rocm_version": "7.9.0", "the_rock_commit": "e" * 40,
                "submodules": [{"submodule_name": "rocBLAS", "pin_sha": "f" * 40, "patches": ["0001-x.patch", "0002-y.patch"]}]}
    r.file(f"/{SITE}/_rocm_sdk_core/share/therock/therock_manifest.json", json.dumps(manifest)).dir(f"/{SITE}/_rocm_sdk_core/lib")
    r.lib(f"/{SITE}/_rocm_sdk_libraries_gfx94X_dcgpu/lib", "libMIOpen", "1", "1.0")
    r.file(f"/{SITE}/_rocm_sdk_libraries_gfx94X_dcgpu/share/miopen/db/gfx942.fdb.txt", "x")
    r.dir(f"/{SITE}/_rocm_sdk_devel/lib").math_headers(f"/{SITE}/_rocm_sdk_devel")
    d = r.probe()
    assert d["rocm"]["version"] == "7.9.0" and d["miopen"]["package_version"] == "3.4.0", d["miopen"]
    assert d["miopen"]["kernel_db_revision"] and d["assay"]["kernel_databases"]["miopen"]["files"] == 1
    assert d["assay"]["therock"] == {"the_rock_commit": "e" * 40, "pins.rocBLAS": "f" * 40 + " + 2 patches"}, d["assay"]["therock"]


@case("effective.jax_opens_nvidias_libraries_by_name")
def _(r):
    """Its plugin needs none of them (jax-cuda12-pjrt 0.10): RPATH has the wheels' folders."""
    r.venv().dist("jax", "0.10.2").dist("nvidia-cuda-runtime-cu12", "12.9.79").dist("nvidia-cuda-nvrtc-cu12", "12.9.86")
    r.file(f"/{SITE}/jax_plugins/xla_cuda12/xla_cuda_plugin.so",
           elf(soname="xla_cuda_plugin.so", needed=("libc.so.6",), rpath="$ORIGIN/../../nvidia/cublas/lib:$ORIGIN/../../nvidia/cuda_runtime/lib"))
    r.file(f"/{SITE}/nvidia/cuda_runtime/lib/libcudart.so.12", elf(soname="libcudart.so.12"))
    r.file(f"/{SITE}/nvidia/cuda_nvrtc/lib/libnvrtc.so.12", elf(soname="libnvrtc.so.12"))
    r.file("/usr/lib/x86_64-linux-gnu/libcudart.so.12", elf(soname="libcudart.so.12", payload=b"another"))
    used = r.probe()["assay"]["effective"]["jax"]["libraries"]
    assert list(used) == ["cudart"], used
    assert b"cudart 12.9.79 (wheel)" in r.run().stdout and b"nvrtc 12" not in r.run().stdout, r.run().stdout
    assert used["cudart"]["path"].endswith("/nvidia/cuda_runtime/lib/libcudart.so.12") and used["cudart"]["by"] == "RPATH of xla_cuda_plugin.so", used


@case("effective.a_jax_tree_is_whole_without_torch")
def _(r):
    r.rocm().kfd().venv().dist("jax", "0.8.0").dist("jaxlib", "0.8.0").dist("jax-rocm7-plugin", "0.8.0").dist("jax-rocm7-pjrt", "0.8.0")
    r.file(f"/{SITE}/jax_plugins/xla_rocm7/xla_rocm_plugin.so",
           elf(soname="xla_rocm_plugin.so", needed=("librocblas.so.4", "librccl.so.1"), runpath="/opt/rocm/lib"))
    d = r.probe()
    jax = d["assay"]["effective"]["jax"]
    assert jax["libraries"]["rocblas"]["path"] == "/opt/rocm/lib/librocblas.so.4" and jax["libraries"]["rocblas"]["by"].startswith("RUNPATH")
    assert jax["kernel_databases"]["rocblas"]["path"] == "/opt/rocm/lib/rocblas/library"
    assert not reasons(d), reasons(d)
    assert b"[OK]" in r.run("-o", r.path("/e.json")).stdout


@case("effective.tensorflow_opens_rocms_libraries_by_name")
def _(r):
    """Linked with HIP alone; the names and the search path are those of tensorflow-rocm 2.14."""
    r.rocm().kfd().venv().dist("tensorflow-rocm", "2.14.0.600")
    tf = f"/{SITE}/tensorflow"
    r.file(f"{tf}/libtensorflow_framework.so.2", elf(soname="libtensorflow_framework.so.2", needed=("libamdhip64.so.6",), runpath="$ORIGIN/:/opt/rocm/lib"))
    r.file(f"{tf}/python/_pywrap_tensorflow_internal.so", elf(soname="_pywrap_tensorflow_internal.so", needed=("libtensorflow_framework.so.2",), runpath="$ORIGIN/.."))
    d = r.probe()
    used = d["assay"]["effective"]["tensorflow"]
    for name, file in (("rocblas", "librocblas.so"), ("hipblaslt", "libhipblaslt.so"), ("miopen", "libMIOpen.so")):
        got = used["libraries"][name]
        assert got["path"] == f"/opt/rocm/lib/{file}" and got["by"] == "RUNPATH of libtensorflow_framework.so.2", got
    assert used["kernel_databases"]["rocblas"]["path"] == "/opt/rocm/lib/rocblas/library", used["kernel_databases"]
    assert "libhipfft.so" in used["unresolved"] and "librocblas.so" not in used["unresolved"], used["unresolved"]
    os.unlink(r.path("/opt/rocm/lib/libamdhip64.so.6"))
    assert r.probe()["assay"]["effective"]["tensorflow"]["unresolved"] == ["libamdhip64.so.6"]


@case("effective.tensorflow_opens_nvidias_libraries_by_name")
def _(r):
    """As tensorflow 2.21: the object that has the folders of the wheels is needed by another one."""
    r.venv().dist("tensorflow", "2.21.0").dist("nvidia-cuda-runtime-cu12", "12.9.79")
    wheels = "$ORIGIN/../../nvidia/cuda_runtime/lib:$ORIGIN/../nvidia/cuda_runtime/lib"
    r.file(f"/{SITE}/tensorflow/libtensorflow_cc.so.2",
           elf(soname="libtensorflow_cc.so.2", needed=("libtensorflow_framework.so.2",), runpath="$ORIGIN/:$ORIGIN/../nvidia/cusolver/lib"))
    r.file(f"/{SITE}/tensorflow/libtensorflow_framework.so.2", elf(soname="libtensorflow_framework.so.2", runpath=wheels))
    r.file(f"/{SITE}/nvidia/cuda_runtime/lib/libcudart.so.12", elf(soname="libcudart.so.12"))
    used = r.probe()["assay"]["effective"]["tensorflow"]["libraries"]
    assert list(used) == ["cudart"] and used["cudart"]["by"] == "RUNPATH of libtensorflow_framework.so.2", used
