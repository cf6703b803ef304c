"""The fifteen layouts, and roots that are out to hurt."""
import json
import os
import shutil
import stat
import subprocess
import tempfile

from cases_blocks import index, source_tree
from fixture import ASSAY, PATIENCE, SITE, elf, findings, notes, reasons
from harness import HEAD, TOP, case, in_time, names_sha, sha


# The fifteen roots -------------------------------------------------------------------------------
@case("root01.rocm_5_7_classic")
def _(r):
    r.rocm("/opt/rocm-5.7.0", version="5.7.0-63", dev=False, release="50700", headers=False).link("/opt/rocm", "rocm-5.7.0").kfd()
    r.file("/opt/rocm-5.7.0/lib/rocblas/library/x.yaml", "")
    d = r.probe()
    lib = d["assay"]["libraries"]["rocblas"]["copies"][0]
    assert lib["rocm_release"] == "5.7.0" and lib["path"] == "/opt/rocm-5.7.0/lib/librocblas.so.4.4.50700"
    assert d["rocm"]["version"] == "5.7.0-63" and d["rocblas"]["lib_hash"]


@case("root02.rocm_6_4_with_headers_has_no_reasons_at_all")
def _(r):
    r.rocm("/opt/rocm-6.4.1").link("/opt/rocm", "/opt/rocm-6.4.1").kfd().venv().torch().dist("triton", "3.4.0")
    d = r.probe()
    assert not d["partial"], d["partial_reasons"]
    assert len([x for x in d["assay"]["rocm"]["roots"] if x["chosen"]]) == 1


@case("root03.rocm_7_2_two_library_versions_side_by_side")
def _(r):
    r.rocm(version="7.2.0", dev=False, release="70200").kfd()
    r.remove("/opt/rocm/lib/librocblas.so").remove("/opt/rocm/lib/librocblas.so.4").remove("/opt/rocm/lib/librocblas.so.4.4.70200")
    ten = elf(payload=b"10")
    r.file("/opt/rocm/lib/librocblas.so.5.9", elf(payload=b"9")).file("/opt/rocm/lib/librocblas.so.5.10", ten)
    d = r.probe()
    assert d["rocblas"]["lib_hash"] == sha(ten) and len(d["assay"]["libraries"]["rocblas"]["copies"]) == 2
    assert notes(d, "rocm.version_dev", "expected")


@case("root04.native_packages_with_rpath")
def _(r):
    top = "/opt/rocm/core-10.0"
    r.rocm(top, version="10.0.0", dev=False, release="100000", headers=False).kfd().dir("/opt/rocm/extras-10")
    r.link("/opt/rocm/bin", "/etc/alternatives/rocm-bin").venv().torch(lib=False).dist("triton", "3.4.0")
    t = f"/{SITE}/torch/lib"
    r.file(f"{t}/libtorch_hip.so", elf(soname="libtorch_hip.so", needed=["librocblas.so.4"], rpath=f"{top}/lib", symbols=["_ZN2ck1aEv"]))
    r.lib("/other", "librocblas", "4", "4.9.100000", payload=b"swap")
    d = r.probe(env={"LD_LIBRARY_PATH": "/other"})
    lib = d["assay"]["libraries"]["rocblas"]
    assert d["assay"]["rocm"]["layout"] == "native" and d["rocm"]["version"] == "10.0.0"
    assert lib["effective"]["path"].startswith(top) and "RPATH" in lib["effective"]["chosen_by"], lib["effective"]
    assert d["assay"]["library_linkage"]["rpath"] == 1


@case("root04.runpath_lets_ld_library_path_win")
def _(r):
    r.rocm().venv().torch(lib=False)
    r.file(f"/{SITE}/torch/lib/libtorch_hip.so", elf(needed=["librocblas.so.4"], runpath="/opt/rocm/lib"))
    r.lib("/other", "librocblas", "4", "4.9.1", payload=b"swap")
    lib = r.probe(env={"LD_LIBRARY_PATH": "/other"})["assay"]["libraries"]["rocblas"]["effective"]
    assert lib["path"] == "/other/librocblas.so.4.9.1" and lib["chosen_by"] == "LD_LIBRARY_PATH"
    assert "RUNPATH" in r.probe()["assay"]["libraries"]["rocblas"]["effective"]["chosen_by"]


def therock(r, manifest='{"rocm_version": "7.10.0", "the_rock_commit": "abc"}'):
    r.venv().torch(version="2.10.0+rocm7.10").dist("triton", "3.5.0").kfd()
    core, libs = f"/{SITE}/_rocm_sdk_core", f"/{SITE}/_rocm_sdk_libraries_gfx94X_dcgpu"
    r.lib(core + "/lib", "libamdhip64", "7", "7.1.1").lib(libs + "/lib", "librocblas", "5", "5.1")
    r.lib(libs + "/lib", "libhipblaslt", "1", "1.1").lib(libs + "/lib", "libMIOpen", "1", "1.0").lib(libs + "/lib", "librccl", "1", "1.0")
    for lib in ("rocblas", "hipblaslt"):
        r.file(f"{libs}/lib/{lib}/library/gfx942/TensileLibrary.dat", lib)
    if manifest is not None:
        r.file(f"{core}/share/therock/therock_manifest.json", manifest)
    return r.dist("rocm-sdk-core", "7.10.0a1")


@case("root05.therock_wheels")
def _(r):
    d = therock(r).probe()
    assert d["assay"]["rocm"]["layout"] == "wheel" and d["rocm"]["version"] == "7.10.0"
    assert d["assay"]["rocm"]["version_source"] == "therock_manifest.json"
    assert d["rocblas"]["kernel_db_revision"] == names_sha(["gfx942/TensileLibrary.dat"]) and d["rocblas"]["lib_hash"]


@case("root05.corrupt_manifest_falls_back_to_the_package")
def _(r):
    d = therock(r, '{"rocm_version": ').probe()
    assert d["rocm"]["version"] == "7.10.0a1" and any("not valid JSON" in t for t in reasons(d, "rocm.version"))


@case("root05.bin_only_shim_does_not_win")
def _(r):
    d = therock(r).file("/opt/rocm/bin/hipcc", "").probe()
    assert d["assay"]["rocm"]["layout"] == "wheel"


def official_wheel(r):
    r.rocm(version="6.2.0", release="60200").kfd().venv().torch(lib=False).dist("triton", "3.4.0")
    t = f"/{SITE}/torch/lib"
    r.file(f"{t}/librocblas.so", elf(soname="librocblas.so.4", payload=b"bundled"))
    r.file(f"{t}/libamdhip64.so", elf(soname="libamdhip64.so.6", payload=b"bundled"))
    r.file(f"{t}/libaotriton_v2.so.0.10.0", elf()).dir(f"{t}/aotriton.images")
    r.file(f"{t}/rocblas/library/T_gfx942.dat", "b").file(f"/{SITE}/torch/share/miopen/db/gfx942.fdb.txt", "b")
    return r.file(f"{t}/libtorch_hip.so", elf(soname="libtorch_hip.so", needed=["librocblas.so", "libamdhip64.so"], rpath="$ORIGIN", symbols=["_ZN2ck1aEv"]))


@case("root06.bundled_copy_is_effective_and_the_mismatch_is_flagged")
def _(r):
    d = official_wheel(r).probe()
    lib = d["assay"]["libraries"]["rocblas"]
    assert lib["effective"]["where"] == "torch" and lib["effective"]["path"] == f"/{SITE}/torch/lib/librocblas.so"
    assert lib["disagree"] and any("librocblas" in t for t in findings(d, "library-mismatch"))
    assert findings(d, "torch-rocm-release") and {c["where"] for c in lib["copies"]} == {"torch", "rocm"}


@case("root06.wheel_without_opt_rocm_is_ok")
def _(r):
    official_wheel(r).remove("/opt/rocm")
    d = r.probe()
    assert not d["partial"], d["partial_reasons"]
    assert d["rocm"]["version"] == "6.4" and d["rocblas"]["lib_hash"] and d["rocblas"]["kernel_db_revision"]


@case("root07.distribution_packages")
def _(r):
    lib = "/usr/lib/x86_64-linux-gnu"
    r.lib(lib, "librocblas", "5", "5.1").lib(lib, "libamdhip64", "5", "5.2.21153").kfd()
    r.file(f"{lib}/rocblas/5.1.0/library/TensileLibrary_gfx90a.dat", "")
    r.file("/var/lib/dpkg/status", "Package: librocblas5\nStatus: install ok installed\nVersion: 5.1.0+dfsg-2\n\n"
           "Package: librocblas-dev\nStatus: install ok installed\nVersion: 9.9\n\n")
    d = r.probe()
    assert d["assay"]["rocm"]["layout"] == "distro" and d["rocblas"]["package_version"] == "5.1.0"
    assert not [t for t in d["partial_reasons"] if not t.startswith("p")], d["partial_reasons"]
    assert d["rocblas"]["kernel_db_revision"] == names_sha(["TensileLibrary_gfx90a.dat"])
    assert d["assay"]["system_packages"]["librocblas5"] == "5.1.0+dfsg-2"


@case("root07.fedora_lib64")
def _(r):
    r.lib("/usr/lib64", "librocblas", "5", "5.1").kfd()
    d = r.probe()
    assert d["assay"]["rocm"]["lib_root"] == "/usr/lib64" and d["rocblas"]["lib_hash"]


@case("root08.stripped_container_is_still_identified")
def _(r):
    r.file("/.dockerenv").file("/proc/self/cgroup", "0::/\n").kfd().venv().torch(macros=False).dist("triton", "3.4.0")
    r.file("/proc/self/mountinfo", f"1 2 0:1 /docker/containers/{'cd' * 32}/hosts /etc/hosts rw - ext4 x rw\n")
    for stem in ("librocblas.so.4.4.60401", "libhipblaslt.so.0.12.60401", "libMIOpen.so.1.0.60401", "librccl.so.1.0.60401"):
        r.file(f"/opt/rocm/lib/{stem}", elf(payload=stem.encode()))
    for lib in ("rocblas", "hipblaslt"):
        r.file(f"/opt/rocm/lib/{lib}/library/x_gfx942.dat", "")
    r.file("/opt/rocm/share/miopen/db/gfx942.fdb.txt", "")
    d = r.probe()
    assert d["rocm"]["version"] == "6.4.1" and d["assay"]["rocm"]["version_source"] == "soname"
    assert all(d[b]["lib_hash"] for b in ("rocblas", "hipblaslt", "miopen", "rccl")) and d["docker"]["container_id"] == "cd" * 32
    assert len(d["partial_reasons"]) <= 3, d["partial_reasons"]


@case("root09.nvidia_host")
def _(r):
    r.venv().torch(version="2.11.0+cu130", hip=None, cuda="13.0", lib=False, flags=" -DUSE_FBGEMM").dist("triton", "3.6.0")
    r.file("/proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build  (root)\n")
    r.file("/proc/driver/nvidia/gpus/0000:c3:00.0/information", "Model: \t\t NVIDIA H200\nGPU UUID: \t GPU-12\nVideo BIOS: \t 96.00\n")
    r.file(f"/{SITE}/nvidia/cu13/lib/libcublas.so.13", elf(soname="libcublas.so.13", payload=b"wheel"))
    r.file(f"/{SITE}/torch/lib/libtorch_cuda.so", elf(soname="libtorch_cuda.so", needed=["libcublas.so.13"], rpath="$ORIGIN/../../nvidia/cu13/lib"))
    r.lib("/usr/local/cuda/lib64", "libcublas", "13", "13.2.0.9", payload=b"toolkit").dist("nvidia-cublas", "13.1.0.3")
    d = r.probe()
    assert not d["partial"], d["partial_reasons"]
    assert d["assay"]["nvidia"]["driver_version"] == "580.159.04" and d["assay"]["gpus"][0]["name"] == "NVIDIA H200"
    lib = d["assay"]["libraries"]["cublas"]
    assert lib["effective"]["version"] == "13.1.0.3" and lib["effective"]["where"] == "wheel" and lib["disagree"]
    assert not notes(d, "rocm", "error") and not notes(d, "rocblas", "missing")


@case("root09.toolkit_libraries_without_a_number_have_the_version_of_their_headers")
def _(r):
    top = "/usr/local/cuda"
    headers = {"cudnn": ("cudnn_version.h", "#define CUDNN_MAJOR 9\n#define CUDNN_MINOR 19\n#define CUDNN_PATCHLEVEL 0\n"),
               "nccl": ("nccl.h", "#define NCCL_MAJOR 2\n#define NCCL_MINOR 28\n#define NCCL_PATCH 9\n"),
               "cublas": ("cublas_api.h", "#define CUBLAS_VER_MAJOR 13\n#define CUBLAS_VER_MINOR 1\n#define CUBLAS_VER_PATCH 0\n"),
               "cudart": ("cuda_runtime_api.h", "#define CUDART_VERSION  13020\n"), "nvrtc": ("nvrtc.h", "")}
    for lib, (header, text) in headers.items():
        r.file(f"{top}/lib64/lib{lib}.so.2", elf(soname=f"lib{lib}.so.2")).file(f"{top}/include/{header}", text)
    libraries = r.probe()["assay"]["libraries"]
    got = {k: libraries[k]["copies"][0]["version"] for k in headers}
    assert got == {"cudnn": "9.19.0", "nccl": "2.28.9", "cublas": "13.1.0", "cudart": "13.2", "nvrtc": None}, got


@case("root09.a_distribution_s_hsa_runtime_makes_no_amd_host")
def _(r):
    r.venv().torch(version="2.11.0+cu130", hip=None, cuda="13.0", lib=False).dist("triton", "3.6.0")
    r.lib("/usr/lib/x86_64-linux-gnu", "libhsa-runtime64", "1", "1.11.0").dir("/sys/module/nvidia")
    r.file("/var/lib/dpkg/status", "Package: libhsa-runtime64-1\nStatus: install ok installed\nVersion: 5.7.1-2build1\n\n")
    d = r.probe()
    assert not d["partial"], d["partial_reasons"]
    assert d["rocm"]["version"] == "5.7.1" and d["assay"]["rocm"]["layout"] == "distro"


@case("root10.mixed_architectures_hidden_nodes_and_overrides")
def _(r):
    r.rocm().kfd(archs=(0, 0, 110000) + (90402,) * 6 + (90402, 90402))
    hidden = r.path("/sys/class/kfd/kfd/topology/nodes/10/properties")
    if os.geteuid() == 0:
        os.remove(hidden)  # root reads everything: a missing file stands in below
        r.dir("/sys/class/kfd/kfd/topology/nodes/10")
    else:
        os.chmod(hidden, 0)
    d = r.probe(env={"HSA_OVERRIDE_GFX_VERSION": "9.0.10", "ROCR_VISIBLE_DEVICES": "0,1,2", "HIP_VISIBLE_DEVICES": "1"})
    assert d["gpu_arch"]["agent_arch_counts"] == {"gfx1100": 1, "gfx942": 7}, d["gpu_arch"]
    assert d["assay"]["gpu_arch"]["override"] == "gfx90a" and set(d["assay"]["gpu_arch"]["effective"]) == {"gfx90a"}
    assert d["assay"]["gpu_arch"]["visible"] == 1 and findings(d, "arch-override")
    assert [g["kfd_node"] for g in d["assay"]["gpus"]] == list(range(2, 10)), "numeric order"
    if os.geteuid():
        assert d["assay"]["gpu_arch"]["hidden"] == 1 and not reasons(d, "gpu_arch")


@case("root11.venv_inside_conda_wins_and_the_other_torch_is_told")
def _(r):
    r.venv(prefix="/opt/venv", system="true").torch()
    r.file("/opt/conda/conda-meta/python-3.12.4-h_0.json", "{}").torch(site="opt/conda/lib/python3.12/site-packages", version="2.5.0")
    env = {"CONDA_DEFAULT_ENV": "base", "CONDA_PREFIX": "/opt/conda", "PYTHONPATH": "/opt/conda/lib/python3.12/site-packages"}
    d = r.probe(env=env)
    assert d["runtime_context"]["python_env"] == "venv" and d["runtime_context"]["venv_path"] == "/opt/venv"
    assert d["pytorch_version"] == "2.5.0" and findings(d, "torch-shadowed") and d["assay"]["pytorch_build"]["shadowed"]


@case("root11.the_interpreter_of_an_image_is_found_without_its_variables")
def _(r):
    bare = {"PATH": None, "VIRTUAL_ENV": None}
    assert r.probe(env=bare)["assay"]["python"]["executable"] is None, "nothing is there"
    r.file("/usr/bin/python3.12", "").link("/usr/bin/python3", "python3.12")
    r.file("/opt/conda/conda-meta/python-3.11.4-h_0.json", "{}").file("/opt/conda/bin/python3.11", "").link("/opt/conda/bin/python3", "python3.11")
    r.torch(site="opt/conda/lib/python3.11/site-packages", version="2.5.1")
    d = r.probe(env=bare)
    assert d["pytorch_version"] == "2.5.1" and d["runtime_context"]["python_env"] == "conda", d["assay"]["python"]
    assert r.probe(env={"VIRTUAL_ENV": None, "PATH": "/usr/bin"})["pytorch_version"] is None, "a PATH that is given counts"
    r.file("/opt/conda/envs/py_3.10/bin/python3.10", "").link("/opt/conda/envs/py_3.10/bin/python3", "python3.10")
    r.torch(site="opt/conda/envs/py_3.10/lib/python3.10/site-packages", version="2.6.0")
    assert r.probe(env=bare)["pytorch_version"] == "2.6.0", "conda's only environment"
    r.dir("/opt/conda/envs/other")
    assert r.probe(env=bare)["pytorch_version"] == "2.5.1", "which of two is not known"
    r.venv().torch(version="2.7.0")
    assert r.probe(env=bare)["pytorch_version"] == "2.7.0"


@case("root12.search_order_of_a_venv")
def _(r):
    r.venv(uv=True).torch(site=SITE, version="2.1")
    r.torch(site="home/u/.local/lib/python3.11/site-packages", version="2.2").torch(site="over", version="2.3")
    env = {"HOME": "/home/u"}
    assert r.probe(env=env)["pytorch_version"] == "2.1"
    assert r.probe(env=dict(env, PYTHONPATH="/over"))["pytorch_version"] == "2.3"
    r.remove(f"/{SITE}/torch")
    assert r.probe(env=env)["pytorch_version"] is None, "a closed venv does not see the user's site"
    r.file("/opt/venv/pyvenv.cfg", "home = /usr/bin\ninclude-system-site-packages = true\nversion_info = 3.11.9.final.0\n")
    assert r.probe(env=env)["pytorch_version"] == "2.2"
    assert r.probe(env=dict(env, PYTHONNOUSERSITE="1"))["pytorch_version"] is None


@case("root12.pth_files_and_pyenv_shims")
def _(r):
    top = "/home/u/.pyenv"
    r.file(f"{top}/shims/python3", "#!/bin/sh\nexec pyenv exec python3\n").file(f"{top}/version", "3.12.4\n")
    r.file(f"{top}/versions/3.12.4/bin/python3.12").link(f"{top}/versions/3.12.4/bin/python3", "python3.12")
    site = f"{top}/versions/3.12.4/lib/python3.12/site-packages"
    r.file(f"{site}/a.pth", "# no\nimport os; os.system('x')\n/elsewhere\n").torch(site="elsewhere", version="2.4")
    d = r.probe(env={"VIRTUAL_ENV": None, "PATH": f"{top}/shims:/usr/bin"})
    assert d["pytorch_version"] == "2.4" and d["assay"]["python"]["prefix"] == f"{top}/versions/3.12.4"


@case("root13.editable_install_by_direct_url")
def _(r):
    source_tree(r.venv(), top="/src/py torch", head="c" * 40).torch(site="src/py torch", git="c" * 40, lib=False)
    r.dist("torch", "2.8.0", extra={"direct_url.json": '{"url": "file:///src/py%20torch", "dir_info": {"editable": true}}'})
    r.file(f"/{SITE}/__editable__.torch-2.8.0.pth", "import __editable___torch_2_8_0_finder; install()")
    r.file(f"/{SITE}/__editable___torch_2_8_0_finder.py", "MAPPING: dict[str, str] = {'torch': '/src/py torch/torch'}\n")
    d = r.probe()["pytorch_build"]
    assert d["install_kind"] == "editable" and d["source_path"] == "/src/py torch"
    assert d["submodule_commits"]["fbgemm"] == "3" * 40, "an uninitialised submodule still has its gitlink"
    assert "c" * 40 not in d["submodule_commits"].values(), "and never the parent's HEAD"


@case("root13.worktree_with_git_file")
def _(r):
    source_tree(r.venv(), top="/main")
    r.file("/wt/.git", "gitdir: /main/.git/worktrees/wt\n").file("/main/.git/worktrees/wt/HEAD", "ref: refs/heads/main\n")
    r.file("/main/.git/worktrees/wt/commondir", "../..\n").dir("/wt/third_party").torch(site="wt", git="b" * 40)
    r.file("/main/.git/worktrees/wt/index", index({"third_party/aiter": "4" * 40}))
    d = r.probe(env={"PYTHONPATH": "/wt"})
    assert d["assay"]["pytorch_build"]["source_head"] == "b" * 40 and d["pytorch_build"]["submodule_commits"]["aiter"] == "4" * 40


@case("root13.egg_link_through_easy_install_pth")
def _(r):
    source_tree(r.venv()).torch(site="src/pytorch").file(f"/{SITE}/easy-install.pth", "/src/pytorch\n").file(f"/{SITE}/torch.egg-link", "/src/pytorch\n.")
    assert r.probe()["pytorch_build"]["install_kind"] == "source"


# Hostile roots (14) ------------------------------------------------------------------------------


TARGETS = ["/opt/rocm/.info/version", "/opt/rocm/include/rocblas/internal/rocblas-version.h", "/sys/module/amdgpu/version",
           "/opt/rocm/share/hip/version", f"/{SITE}/torch/version.py", f"/{SITE}/torch/include/caffe2/core/macros.h",
           "/opt/venv/pyvenv.cfg", f"/{SITE}/torch/lib/libtorch_hip.so", "/opt/rocm/lib/librocblas.so.4.4.60401",
           "/sys/class/kfd/kfd/topology/nodes/1/properties", "/etc/ld.so.cache", "/var/lib/dpkg/status", "/proc/1/cgroup",
           "/etc/os-release", "/proc/cpuinfo"]


def hostile(kind, make):
    @case(f"root14.{kind}_in_place_of_every_file")
    def _(r):
        r.healthy()
        for t in TARGETS:
            p = r.path(t)
            os.makedirs(os.path.dirname(p), exist_ok=True)
            if os.path.lexists(p):
                os.remove(p)
            make(p)
        d = in_time(lambda: r.probe())
        assert list(d)[:25] == TOP and d["partial"]
        assert d["rocm"]["version"] == "6.4.1", "the libraries' names still tell the release"
        assert notes(d, "rocm.version", "error") or kind == "absolute_link_out_of_the_root"


hostile("fifo", os.mkfifo)
hostile("folder", os.mkdir)
hostile("symlink_loop", lambda p: os.symlink(os.path.basename(p), p))
hostile("absolute_link_out_of_the_root", lambda p: os.symlink("/etc/passwd", p))
hostile("non_utf8", lambda p: open(p, "wb").write(b"\xff\xfe\x00 6.4 \xc0"))
hostile("empty_file", lambda p: open(p, "wb").close())


def sparse(p):
    with open(p, "wb") as f:
        f.truncate(2 << 30)


@case("root14.two_gigabyte_sparse_file_in_place_of_a_text")
def _(r):
    r.healthy()
    for t in TARGETS:
        if ".so" in t:
            continue
        os.makedirs(os.path.dirname(r.path(t)), exist_ok=True)
        sparse(r.path(t))
    d = in_time(lambda: r.probe())
    assert any("larger than" in t for t in reasons(d, "rocm.version")), d["partial_reasons"]


@case("root14.two_gigabyte_sparse_library")
def _(r):
    r.healthy()
    sparse(r.path("/opt/rocm/lib/librocblas.so.4.4.60401"))
    d = in_time(lambda: r.probe("--no-hash"))
    assert any("not an ELF" in t for t in reasons(d, "rocblas.lib_hash")) and d["rocblas"]["lib_hash"] is None


@case("root14.device_in_place_of_a_header")
def _(r):
    r.healthy().remove("/opt/rocm/.info/version")
    try:
        os.mknod(r.path("/opt/rocm/.info/version"), stat.S_IFCHR | 0o666, os.makedev(1, 5))
    except PermissionError:
        return "cannot make a device node here"
    assert "not a regular file" in reasons(in_time(lambda: r.probe()), "rocm.version")[0]


@case("root14.unreadable_files")
def _(r):
    if os.geteuid() == 0:
        return "root may read everything"
    r.healthy()
    for t in ("/opt/rocm/.info/version", "/opt/rocm/lib/librocblas.so.4.4.60401", f"/{SITE}/torch/version.py"):
        os.chmod(r.path(t), 0)
    d = r.probe()
    assert "permission denied" in reasons(d, "rocm.version")[0] and d["rocblas"]["lib_hash"] is None


@case("root14.what_lies_in_a_folder_that_is_shut_is_not_known_to_be_absent")
def _(r):
    """Probed by a user who may not look into it."""
    r.rocm().kfd()
    probe = shutil.copy(ASSAY, r.path("/assay"))
    os.chmod(r.top, 0o755)
    who = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
    def absent():
        p = subprocess.run([probe, "env", "--no-cache", "--root", r.top, "--json"], capture_output=True, timeout=PATIENCE, cwd="/", **who)
        d = json.loads(p.stdout)
        return d, {"rocblas", "hip", "assay.libraries.*", "assay.kernel_databases.*"} & set(d["assay"]["absent"])
    d, none = absent()
    assert d["rocblas"]["lib_hash"] and none == {"assay.libraries.*", "assay.kernel_databases.*"}, none
    os.chmod(r.path("/opt/rocm/lib"), 0)
    d, none = absent()
    os.chmod(r.path("/opt/rocm/lib"), 0o755)
    assert not none and d["rocblas"]["lib_hash"] is None, none
    assert any("rocm: /opt/rocm/lib" in x for x in reasons(d, "rocm")), reasons(d)


@case("root14.link_out_of_the_root_reads_nothing_outside")
def _(r):
    r.healthy().remove("/opt/rocm/.info/version")
    secret = tempfile.NamedTemporaryFile("w", suffix=".secret", delete=False)
    secret.write("outside-9.9.9")
    secret.close()
    for target in (secret.name, "../" * 30 + secret.name[1:]):
        if os.path.lexists(r.path("/opt/rocm/.info/version")):
            os.remove(r.path("/opt/rocm/.info/version"))
        r.link("/opt/rocm/.info/version", target)
        p = r.run("-o", "-")
        assert b"outside-9.9.9" not in p.stdout
    os.remove(secret.name)


@case("root14.header_without_newline_and_elf_cut_at_every_offset")
def _(r):
    r.healthy()
    whole = open(r.path(f"/{SITE}/torch/lib/libtorch_hip.so"), "rb").read()
    r.file(HEAD["rocblas"][0], "#define ROCBLAS_VERSION_TWEAK abc")
    assert r.probe("--no-hash")["rocblas"]["rocm_release_tweak"] == "abc"
    for n in range(0, len(whole), 7):
        r.file(f"/{SITE}/torch/lib/libtorch_hip.so", whole[:n]).file("/opt/rocm/lib/librocblas.so.4.4.60401", whole[:n])
        d = r.probe("--no-hash")
        assert list(d)[:25] == TOP


@case("root14.needed_cycle_and_hostile_rpath")
def _(r):
    r.venv().torch(lib=False)
    t = f"/{SITE}/torch/lib"
    r.file(f"{t}/libtorch_hip.so", elf(soname="libtorch_hip.so", needed=["liba.so"], rpath="$ORIGIN:" + ":".join(["$ORIGIN/../lib"] * 200)))
    r.file(f"{t}/liba.so", elf(soname="liba.so", needed=["libb.so", "liba.so"])).file(f"{t}/libb.so", elf(soname="libb.so", needed=["liba.so", "librocblas.so.4", "/dev/zero", "../../x"]))
    in_time(lambda: r.probe())


@case("root14.libraries_that_are_not_followed_are_told")
def _(r):
    r.venv().torch(lib=False)
    r.file(f"/{SITE}/torch/lib/libtorch_hip.so", elf(soname="libtorch_hip.so", needed=[f"lib{i}.so" for i in range(130)]))
    told = reasons(r.probe(), "assay.loader")
    assert len(told) == 1 and "libtorch_hip.so needs 130 libraries, 2 of them are not followed" in told[0], told


@case("root14.many_files_in_a_kernel_database")
def _(r):
    r.healthy()
    folder = r.path("/opt/rocm/lib/rocblas/library")
    for i in range(20000):
        open(f"{folder}/k{i:05}_gfx942.dat", "w").close()
    d = in_time(lambda: r.probe())
    assert d["assay"]["kernel_databases"]["rocblas"]["files"] == 20003


@case("root14.empty_root_is_complete_and_quick")
def _(r):
    d = in_time(lambda: r.probe(env={"VIRTUAL_ENV": None}), 5)
    assert list(d) == TOP + ["assay"] and d["python_version"] == ""
