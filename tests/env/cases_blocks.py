"""One block of the snapshot after the other."""
import json
import os
import re
import struct
import subprocess

from fixture import ASSAY, SITE, elf, findings, notes, reasons
from harness import HEAD, NAMES, case, names_sha, sha


# rocm and hip ------------------------------------------------------------------------------------
@case("TestRocmVersionFiles.all_present_no_reasons")
def _(r):
    d = r.healthy().probe()
    assert d["rocm"] == {"version": "6.4.1-83", "version_dev": "6.4.1-83-dev", "kmd_version": "6.12.12"}
    assert not notes(d, "rocm")


@case("TestRocmVersionFiles.all_missing_appends_three_reasons")
def _(r):
    r.dir("/opt/rocm/lib")
    d = r.probe()
    assert len(notes(d, "rocm.")) == 3 and set(d["rocm"].values()) == {None}


@case("TestRocmVersionFiles.partial_missing_appends_only_for_missing")
def _(r):
    d = r.rocm(dev=False).kfd().probe()
    assert [n.split(":")[0] for n in notes(d, "rocm.")] == ["rocm.version_dev"]
    assert not reasons(d, "rocm."), "a missing version-dev is normal"


@case("TestRocmVersionFiles.empty_file_treated_as_none")
def _(r):
    d = r.healthy().file("/opt/rocm/.info/version-dev", " \n").probe()
    assert d["rocm"]["version_dev"] is None and "is empty" in reasons(d, "rocm.version_dev")[0]


@case("TestRocmVersionFiles.non_utf8_file_returns_none_no_raise")
def _(r):
    d = r.healthy().file("/opt/rocm/.info/version-dev", b"6.4\xff\xfe\n").probe()
    assert d["rocm"]["version_dev"] is None and "UTF-8" in reasons(d, "rocm.version_dev")[0]


@case("TestHipToolchain.hipconfig_missing_returns_all_none_and_one_reason")
def _(r):
    d = r.kfd().probe()
    assert set(d["hip"].values()) == {None} and len(notes(d, "hip")) - len(notes(d, "hipblaslt")) == 1


@case("TestHipToolchain.hipconfig_happy_path_no_reasons")
def _(r):
    d = r.healthy().probe()
    assert d["hip"] == {"version": "6.4.43483-a187df25c", "platform": "amd", "compiler": "clang", "runtime": "rocclr",
                        "cpp_config": None} and not reasons(d, "hip.")


@case("TestHipToolchain.hipconfig_one_field_fails_appends_one_reason")
def _(r):
    d = r.healthy().remove("/opt/rocm/share/hip/version").probe()
    assert d["hip"]["version"] is None and len(reasons(d, "hip.")) == 1
    r.file("/opt/rocm/include/hip/hip_version.h", "#define HIP_VERSION_MAJOR 6\n#define HIP_VERSION_MINOR 4\n"
           '#define HIP_VERSION_PATCH 1\n#define HIP_VERSION_GITHASH "abc"\n')
    assert r.probe()["hip"]["version"] == "6.4.1-abc"


# Math libraries ----------------------------------------------------------------------------------


def math_cases(block, cls):
    path, macros = HEAD[block]

    @case(f"{cls}HeaderParsing.parse_full_header")
    def _(r):
        d = r.healthy().probe()
        assert d[block]["rocm_release_tweak"] == "d97cc0b" and re.fullmatch(r"\d+\.\d+\.\d+", d[block]["package_version"])

    @case(f"{cls}HeaderParsing.parse_missing_tweak_returns_none_commit")
    def _(r):
        text = "".join(f"#define {macros}_{p} 1\n" for p in ("MAJOR", "MINOR", "PATCH"))
        d = r.healthy().file(path, text).probe()
        assert d[block]["rocm_release_tweak"] is None and d[block]["package_version"] == "1.1.1"

    @case(f"{cls}HeaderParsing.parse_empty_returns_none_pair")
    def _(r):
        d = r.healthy().file(path, "").probe()
        assert d[block]["rocm_release_tweak"] is None and d[block]["package_version"] is None
        assert all("did not contain" in t for t in reasons(d, block + "."))

    @case(f"{cls}BlockShape.partial_reasons_use_{block}_prefix")
    def _(r):
        r.kfd().dir("/opt/rocm/lib")
        d = r.probe()
        assert reasons(d, block)

    @case(f"{cls}BlockShape.reason_distinguishes_unreadable_from_missing_define")
    def _(r):
        r.healthy().remove(path).dir(path)
        d = r.probe()
        assert "not readable" in reasons(d, block)[0] and "did not contain" not in reasons(d, block)[0]

    @case(f"{cls}BlockShape.block_keys_stable")
    def _(r):
        keys = ["rocm_release_tweak", "package_version", "lib_hash", "kernel_db_revision"]
        assert list(r.probe()[block]) == keys + (["applied_prs"] if block != "miopen" else [])


for _b, _c in (("hipblaslt", "TestHipblaslt"), ("rocblas", "TestRocblas"), ("miopen", "TestMiopen")):
    math_cases(_b, _c)


@case("TestHipblasltBlockShape.applied_prs_is_empty_dict_initially")
def _(r):
    d = r.healthy().probe()
    assert d["hipblaslt"]["applied_prs"] == {} and d["rocblas"]["applied_prs"] == {}


@case("TestHipblasltBlockShape.reason_when_header_unreadable")
def _(r):
    r.healthy().remove(HEAD["hipblaslt"][0])
    os.mkfifo(r.path(HEAD["hipblaslt"][0]))
    d = r.probe()
    assert "not a regular file" in reasons(d, "hipblaslt")[0]


@case("TestHipblasltBlockShape.reason_when_header_present_but_tweak_missing")
def _(r):
    d = r.healthy().file(HEAD["hipblaslt"][0], "// #define HIPBLASLT_VERSION_TWEAK abc").probe()
    assert any("did not contain HIPBLASLT_VERSION_TWEAK" in t for t in reasons(d))


@case("TestHipblasltLibHash.hash_resolved_through_symlink")
def _(r):
    d = r.healthy().probe()
    data = open(r.path("/opt/rocm/lib/libhipblaslt.so.0.4.60401"), "rb").read()
    assert d["hipblaslt"]["lib_hash"] == sha(data)


@case("TestHipblasltLibHash.no_library_returns_none")
def _(r):
    r.kfd().dir("/opt/rocm/lib")
    d = r.probe()
    assert d["hipblaslt"]["lib_hash"] is None and "missing or unreadable" in reasons(d, "hipblaslt.lib_hash")[0]


@case("TestRocblasLibHash.stripped_image_falls_back_to_versioned_filename")
def _(r):
    r.healthy().remove("/opt/rocm/lib/librocblas.so").remove("/opt/rocm/lib/librocblas.so.4")
    data = open(r.path("/opt/rocm/lib/librocblas.so.4.4.60401"), "rb").read()
    assert r.probe()["rocblas"]["lib_hash"] == sha(data)


@case("TestRocblasLibHash.picks_numerically_highest_across_digit_boundary")
def _(r):
    r.kfd().dir("/opt/rocm/lib")
    data = elf(payload=b"ten")
    r.file("/opt/rocm/lib/librocblas.so.5.9", elf(payload=b"nine")).file("/opt/rocm/lib/librocblas.so.5.10", data)
    r.file("/opt/rocm/lib/librocblas.so.5.9.bak", elf(payload=b"bak"))
    assert r.probe()["rocblas"]["lib_hash"] == sha(data)


@case("TestRocblasLibHash.picks_highest_versioned_when_multiple_present")
def _(r):
    r.kfd().dir("/opt/rocm/lib")
    data = elf(payload=b"5")
    r.file("/opt/rocm/lib/librocblas.so.4.1", elf(payload=b"4")).file("/opt/rocm/lib/librocblas.so.5.0", data)
    assert r.probe()["rocblas"]["lib_hash"] == sha(data)


@case("lib_hash.linker_script_is_not_a_library")
def _(r):
    r.healthy().remove("/opt/rocm/lib/librocblas.so").file("/opt/rocm/lib/librocblas.so", "/* GNU ld script */\nINPUT(x)")
    data = open(r.path("/opt/rocm/lib/librocblas.so.4.4.60401"), "rb").read()
    assert r.probe()["rocblas"]["lib_hash"] == sha(data)


@case("TestHashFilePath.directory_returns_none")
def _(r):
    r.kfd().dir("/opt/rocm/lib/librocblas.so")
    assert r.probe()["rocblas"]["lib_hash"] is None


@case("TestTensileFingerprint.fingerprint_changes_when_filenames_change")
def _(r):
    a = r.healthy().probe()["hipblaslt"]["kernel_db_revision"]
    assert a == names_sha(["TensileLibrary_gfx942.dat", "TensileLibrary_gfx942.co"]), a
    b = r.file("/opt/rocm/lib/hipblaslt/library/more.yaml").probe()["hipblaslt"]["kernel_db_revision"]
    assert a != b


@case("TestTensileFingerprint.no_dir_returns_none")
def _(r):
    d = r.rocm(db=False).kfd().probe()
    assert d["hipblaslt"]["kernel_db_revision"] is None and reasons(d, "hipblaslt.kernel_db_revision")


@case("TestTensileFingerprint.dir_with_no_kernel_files_returns_none")
def _(r):
    d = r.rocm(db=False).kfd().file("/opt/rocm/lib/hipblaslt/library/README").probe()
    assert d["hipblaslt"]["kernel_db_revision"] is None and "no kernel files" in reasons(d, "hipblaslt.kernel_db")[0]


@case("kernel_db.databases_without_a_block_of_their_own_are_identified_by_their_files")
def _(r):
    trees = {"rocfft": ("/opt/rocm/lib/rocfft", {"rocfft_kernel_cache.db": "fft"}),
             "hipsparselt": ("/opt/rocm/lib/hipsparselt/library", {"TensileLibrary_gfx942.co": "code", "TensileLibrary_gfx942.dat": "data"}),
             "aiter": (f"/{SITE}/aiter_meta/hsa", {"gfx942/fmha_v3_bwd/bwd_hd128.co": "attention", "gfx942/fmoe/silu/fmoe.csv": "shapes"})}
    r.healthy().dist("aiter", "0.1.4")
    for folder, files in trees.values():
        for name, text in {**files, "README": "no kernel data"}.items():
            r.file(f"{folder}/{name}", text)
    got = r.probe()["assay"]["kernel_databases"]
    for library, (folder, files) in trees.items():
        lines = "".join(f"{name} {sha(text.encode()).split(':')[1]}\n" for name, text in sorted(files.items()))
        want = {"path": folder, "files": len(files), "bytes": sum(map(len, files.values())), "content_hash": sha(lines.encode()),
                "archs": [] if library == "rocfft" else ["gfx942"]}
        assert {k: got[library][k] for k in want} == want, (library, got[library])


@case("kernel_db.same_names_one_byte_changed_changes_the_content_hash")
def _(r):
    a = r.healthy().probe()
    r.file("/opt/rocm/lib/rocblas/library/TensileLibrary_gfx942.dat", "rocblaS")
    b = r.probe()
    assert a["rocblas"]["kernel_db_revision"] == b["rocblas"]["kernel_db_revision"]
    assert a["assay"]["kernel_databases"]["rocblas"]["content_hash"] != b["assay"]["kernel_databases"]["rocblas"]["content_hash"]


@case("kernel_db.without_kernels_for_the_gpu_is_a_finding")
def _(r):
    d = r.rocm().kfd(archs=(0, 110000)).probe()
    assert any("gfx1100" in t for t in findings(d, "kernel-db-arch"))


@case("TestCombinedKernelDbFingerprint.both_dirs_present_combines_filenames")
def _(r):
    files = ["TensileLibrary_gfx942.dat", "TensileLibrary_gfx942.co"]
    want = names_sha([f"{lib}/{f}" for lib in ("hipblaslt", "rocblas") for f in files])
    assert r.healthy().probe()["tensile"]["kernel_db_combined_hash"] == want


@case("TestCombinedKernelDbFingerprint.one_dir_missing_still_fingerprints")
def _(r):
    d = r.healthy().remove("/opt/rocm/lib/hipblaslt").probe()
    assert d["tensile"]["kernel_db_combined_hash"] == names_sha(
        ["rocblas/TensileLibrary_gfx942.dat", "rocblas/TensileLibrary_gfx942.co"])


@case("TestCombinedKernelDbFingerprint.both_dirs_missing_returns_none")
def _(r):
    d = r.rocm(db=False).kfd().probe()
    assert d["tensile"]["kernel_db_combined_hash"] is None


@case("TestCombinedKernelDbFingerprint.dir_basename_namespaces_collisions")
def _(r):
    r.healthy()
    a = r.probe()["tensile"]["kernel_db_combined_hash"]
    r.remove("/opt/rocm/lib/rocblas/library/TensileLibrary_gfx942.dat")
    assert a != r.probe()["tensile"]["kernel_db_combined_hash"]


@case("TestTensileBlock.tensile_pip_absence_does_not_record_reason")
def _(r):
    d = r.healthy().probe()
    assert d["tensile"]["package_version"] is None and not notes(d, "tensile.package")
    assert r.dist("Tensile", "4.43.0").probe()["tensile"]["package_version"] == "4.43.0"


@case("TestTensileBlock.kernel_db_absent_records_reason")
def _(r):
    assert reasons(r.rocm(db=False).kfd().probe(), "tensile.kernel_db_combined_hash")


@case("TestMiopen.full_capture_against_real_files")
def _(r):
    d = r.healthy().probe()["miopen"]
    assert d["package_version"] == "3.4.0" and d["kernel_db_revision"] == names_sha(["gfx942.fdb.txt"]) and d["lib_hash"]


@case("TestRccl.full_capture")
def _(r):
    d = r.healthy().probe()["rccl"]
    assert d["version_code"] == 22203 and d["version"] == "2.22.3" and d["lib_hash"].startswith("sha256:")


@case("TestRccl.empty_header_returns_none_pair")
def _(r):
    d = r.healthy().file("/opt/rocm/include/rccl/rccl.h", "").probe()
    assert d["rccl"]["version"] is None and d["rccl"]["version_code"] is None and reasons(d, "rccl.version_code")


@case("TestRccl.decode_legacy_version_code")
def _(r):
    assert r.healthy().file("/opt/rocm/include/rccl/rccl.h", "#define NCCL_VERSION_CODE 2804").probe()["rccl"]["version"] == "2.8.4"


# Composable Kernel, AOTriton, fbgemm --------------------------------------------------------------
@case("TestCKHeaderParsing.parse_full_header")
def _(r):
    s = r.healthy().probe()["composable_kernel"]["system"]
    assert s == {"version": "1.1.0", "commit": "d97cc0b2aa", "ck_tile_present": True}


@case("TestCKHeaderParsing.parse_empty_returns_none_pair")
def _(r):
    d = r.healthy().file("/opt/rocm/include/ck/version.h", "").probe()
    assert d["composable_kernel"]["system"]["version"] is None and len(reasons(d, "composable_kernel.system")) == 2


@case("TestCKBlockShape.block_has_two_subsections_plus_build_flags")
def _(r):
    assert list(r.probe()["composable_kernel"]) == ["system", "pytorch_bundled", "pytorch_use_ck_sdpa", "pytorch_use_ck_gemm"]


@case("TestCKPytorchBuildFlags.torch_absent_returns_null_pair_no_reason")
def _(r):
    d = r.rocm().kfd().venv().probe()
    assert d["composable_kernel"]["pytorch_use_ck_sdpa"] is None and not notes(d, "composable_kernel.pytorch")


@case("TestCKPytorchBuildFlags.both_flags_on")
def _(r):
    d = r.rocm().kfd().venv().torch(flags=" -DUSE_ROCM_CK_SDPA -DUSE_ROCM_CK_GEMM").probe()["composable_kernel"]
    assert d["pytorch_use_ck_sdpa"] is True and d["pytorch_use_ck_gemm"] is True


@case("TestCKPytorchBuildFlags.one_flag_off_distinguishes_from_null")
def _(r):
    d = r.healthy().probe()["composable_kernel"]
    assert d["pytorch_use_ck_sdpa"] is True and d["pytorch_use_ck_gemm"] is False


@case("TestCKPytorchBuildFlags.use_rocm_ck_sdpa_not_in_canonical_env_vars")
def _(r):
    text = r.run("-o", "-", env={"USE_ROCM_CK_SDPA": "1", "USE_ROCM_CK_GEMM": "1"}).stdout.decode()
    assert not [k for k in json.loads(text)["env_vars"] if k.startswith("USE_")]


@case("TestCKPytorchBuildFlags.ck_tile_present_when_header_exists")
def _(r):
    assert r.healthy().probe()["composable_kernel"]["system"]["ck_tile_present"] is True
    assert r.remove("/opt/rocm/include/ck_tile").probe()["composable_kernel"]["system"]["ck_tile_present"] is False


@case("flags.are_found_in_the_library_when_headers_were_stripped")
def _(r):
    flags = " -fvisibility-inlines-hidden" + " -DUSE_FBGEMM -Wall -Wextra" + " -Wno-x" * 200
    r.healthy().remove(f"/{SITE}/torch/include")
    r.file(f"/{SITE}/torch/lib/libtorch_cpu.so", elf(payload=b"\0" + flags.encode() + b"\0rest"))
    d = r.probe()
    assert d["fbgemm"]["pytorch_use_fbgemm"] is True and d["fbgemm"]["pytorch_use_fbgemm_genai"] is None
    assert d["assay"]["pytorch_build"]["flags"]["source"] == "libtorch_cpu.so"


@case("TestCKPytorchBundledProbe.torch_absent_returns_default_no_reason")
def _(r):
    d = r.rocm().kfd().venv().probe()
    assert d["composable_kernel"]["pytorch_bundled"] == {"present": False, "symbol_count": None}
    assert not notes(d, "composable_kernel.pytorch")


@case("TestCKPytorchBundledProbe.cpu_only_torch_does_not_flip_partial")
def _(r):
    d = r.venv().torch(version="2.8.0+cpu", hip=None).probe()
    assert not d["partial"], d["partial_reasons"]


@case("TestCKPytorchBundledProbe.hip_torch_with_missing_lib_does_flip_partial")
def _(r):
    d = r.healthy().remove(f"/{SITE}/torch/lib/libtorch_hip.so").probe()
    assert reasons(d, "composable_kernel.pytorch_bundled")


@case("TestCKPytorchBundledProbe.happy_path_counts_ck_symbols")
def _(r):
    d = r.healthy().probe()
    assert d["composable_kernel"]["pytorch_bundled"] == {"present": True, "symbol_count": 2}
    assert d["assay"]["pytorch_build"]["binary_introspection"]["ck_tile"] == 1


@case("TestAotritonProbe.happy_path_parses_version_and_hashes")
def _(r):
    d = r.healthy().probe()["aotriton"]
    assert d["bundled_present"] and d["bundled_version"] == "0.10.0" and d["bundled_images_dir_present"]
    assert d["bundled_lib_hash"] == sha(elf(soname="libaotriton_v2.so.0.10.0"))


@case("TestAotritonProbe.picks_highest_version_when_multiple_present")
def _(r):
    r.healthy().file(f"/{SITE}/torch/lib/libaotriton_v2.so.0.9.2", elf(payload=b"old"))
    assert r.probe()["aotriton"]["bundled_version"] == "0.10.0"


@case("TestAotritonProbe.version_and_hash_describe_the_same_file_under_minor_crossover")
def _(r):
    data = elf(payload=b"new")
    r.healthy().file(f"/{SITE}/torch/lib/libaotriton_v2.so.0.11.0", data)
    d = r.probe()["aotriton"]
    assert d["bundled_version"] == "0.11.0" and d["bundled_lib_hash"] == sha(data)


@case("TestAotritonProbe.no_aotriton_in_lib_dir_records_reason")
def _(r):
    d = r.healthy().remove(f"/{SITE}/torch/lib/libaotriton_v2.so.0.10.0").probe()
    assert not d["aotriton"]["bundled_present"] and reasons(d, "aotriton.bundled_present")


@case("TestAotritonProbe.torch_absent_returns_default_no_reason")
def _(r):
    d = r.rocm().kfd().venv().probe()
    assert not notes(d, "aotriton") and d["aotriton"]["bundled_present"] is False


@case("TestAotritonProbe.cpu_only_torch_skips_silently")
def _(r):
    assert not notes(r.venv().torch(version="2.8.0+cpu", hip=None).probe(), "aotriton")


@case("TestAotritonProbe.installed_prefix_env_var_recorded")
def _(r):
    assert r.probe(env={"AOTRITON_INSTALLED_PREFIX": "/x"})["aotriton"]["installed_prefix"] == "/x"


@case("TestFbgemmBlock.pytorch_use_fbgemm_parsed_from_config")
def _(r):
    assert r.healthy().probe()["fbgemm"]["pytorch_use_fbgemm"] is True


@case("TestFbgemmBlock.pytorch_use_fbgemm_off_when_not_in_flags")
def _(r):
    assert r.venv().torch(flags=" -O2").probe()["fbgemm"]["pytorch_use_fbgemm"] is False


@case("TestFbgemmBlock.use_fbgemm_regex_does_not_match_genai_substring")
def _(r):
    d = r.venv().torch(flags=" -DUSE_FBGEMM_GENAI").probe()["fbgemm"]
    assert d["pytorch_use_fbgemm"] is False and d["pytorch_use_fbgemm_genai"] is True


@case("TestFbgemmBlock.fbgemm_gpu_absence_does_not_record_reason")
def _(r):
    d = r.healthy().probe()
    assert d["fbgemm"]["package_version"] is None and not notes(d, "fbgemm")
    assert r.dist("fbgemm_gpu", "1.2.0").probe()["fbgemm"]["package_version"] == "1.2.0"


@case("TestFbgemmBlock.torch_absent_returns_null_flags_no_extra_reason")
def _(r):
    d = r.venv().probe()
    assert d["fbgemm"]["pytorch_use_fbgemm"] is None and not notes(d, "fbgemm")


@case("TestTritonBlock.triton_unavailable_returns_none_with_reason")
def _(r):
    d = r.rocm().kfd().venv().torch().probe()
    assert d["triton"]["package_version"] is None and reasons(d, "triton.package_version")


@case("TestTritonBlock.triton_with_version_returns_string")
def _(r):
    assert r.healthy().probe()["triton"]["package_version"] == "3.4.0"


@case("TestAiterBlock.aiter_absence_does_not_record_reason")
def _(r):
    assert not notes(r.healthy().probe(), "aiter")


@case("TestAiterBlock.aiter_with_version_returns_string")
def _(r):
    d = r.healthy().dist("amd_aiter", "0.1.5+g0123abcd").probe()
    assert d["aiter"]["package_version"] == "0.1.5+g0123abcd"
    assert d["assay"]["python"]["package_commits"]["amd-aiter"] == "0123abcd"


# Where we run ------------------------------------------------------------------------------------
@case("TestRuntimeContext.baremetal_no_markers")
def _(r):
    assert r.probe()["runtime_context"]["type"] == "baremetal"


@case("TestRuntimeContext.docker_via_dockerenv_marker")
def _(r):
    assert r.file("/.dockerenv").probe()["runtime_context"]["type"] == "docker"


@case("TestRuntimeContext.podman_via_containerenv_marker")
def _(r):
    assert r.file("/run/.containerenv").probe()["runtime_context"]["type"] == "podman"


@case("TestRuntimeContext.singularity_via_env_var")
def _(r):
    assert r.probe(env={"SINGULARITY_NAME": "x.sif"})["runtime_context"]["type"] == "singularity"
    assert r.probe(env={"APPTAINER_NAME": "x.sif"})["assay"]["container_kind"] == "apptainer"


@case("TestRuntimeContext.docker_via_cgroup_fallback")
def _(r):
    assert r.file("/proc/1/cgroup", "12:cpu:/docker/abc\n").probe()["runtime_context"]["type"] == "docker"


@case("TestRuntimeContext.podman_via_cgroup_fallback")
def _(r):
    assert r.file("/proc/1/cgroup", "0::/machine.slice/libpod-1.scope podman\n").probe()["runtime_context"]["type"] == "podman"


@case("TestRuntimeContext.dockerenv_takes_precedence_over_cgroup")
def _(r):
    r.file("/.dockerenv").file("/proc/1/cgroup", "0::/podman")
    assert r.probe()["runtime_context"]["type"] == "docker"


@case("TestRuntimeContext.singularity_wins_over_docker_in_cgroup_fallback")
def _(r):
    assert r.file("/proc/1/cgroup", "0::/docker/singularity").probe()["runtime_context"]["type"] == "singularity"


@case("TestRuntimeContext.singularity_wins_over_podman_in_cgroup_fallback")
def _(r):
    assert r.file("/proc/1/cgroup", "0::/podman/singularity").probe()["runtime_context"]["type"] == "singularity"


@case("runtime_context.kubernetes_pod_is_not_baremetal")
def _(r):
    d = r.file("/proc/1/cgroup", "0::/\n").probe(env={"KUBERNETES_SERVICE_HOST": "10.0.0.1"})
    assert d["runtime_context"]["type"] != "baremetal" and d["assay"]["kubernetes"] and d["assay"]["container_kind"] == "kubernetes"


@case("TestRuntimeContext.python_env_venv")
def _(r):
    d = r.venv().probe()["runtime_context"]
    assert d["python_env"] == "venv" and d["venv_path"] == "/opt/venv" and d["conda_env_name"] is None


@case("TestRuntimeContext.python_env_conda")
def _(r):
    r.dir("/opt/conda/envs/t/lib/python3.12/site-packages").file("/opt/conda/envs/t/conda-meta/python-3.12.4-h1_0_cpython.json", "{}")
    d = r.probe(env={"VIRTUAL_ENV": None, "CONDA_PREFIX": "/opt/conda/envs/t", "CONDA_DEFAULT_ENV": "t"})
    assert d["runtime_context"]["python_env"] == "conda" and d["runtime_context"]["conda_env_name"] == "t"
    assert d["python_version"] == "3.12.4" and d["runtime_context"]["venv_path"] is None


@case("TestRuntimeContext.python_env_system")
def _(r):
    r.file("/usr/bin/python3.11").link("/usr/bin/python3", "python3.11").dir("/usr/lib/python3/dist-packages")
    d = r.probe(env={"VIRTUAL_ENV": None})
    assert d["runtime_context"]["python_env"] == "system" and d["python_version"] == "3.11"


@case("TestDockerMetadata.docker_picks_up_aorta_env_vars")
def _(r):
    d = r.file("/.dockerenv").probe(env={"AORTA_DOCKER_IMAGE": "i", "AORTA_DOCKER_DIGEST": "sha256:1"})
    assert d["docker"]["image"] == "i" and d["docker"]["digest"] == "sha256:1" and not notes(d, "docker")


@case("TestDockerMetadata.docker_in_container_without_env_vars_appends_reasons")
def _(r):
    d = r.file("/.dockerenv").probe()
    assert len(notes(d, "docker.", "expected")) == 2 and not reasons(d, "docker")


@case("TestDockerMetadata.container_id_extracted_from_cgroup")
def _(r):
    r.file("/.dockerenv").file("/proc/self/cgroup", "12:cpu:/docker/0123456789abcdef0123\n")
    assert r.probe()["docker"]["container_id"] == "0123456789abcdef0123"


@case("TestDockerMetadata.container_id_returns_none_when_self_cgroup_missing")
def _(r):
    d = r.file("/.dockerenv").probe()
    assert d["docker"]["container_id"] is None and not notes(d, "docker.container")


@case("docker.cgroup_v2_still_yields_an_id_from_mountinfo")
def _(r):
    r.file("/.dockerenv").file("/proc/self/cgroup", "0::/\n")
    r.file("/proc/self/mountinfo", f"36 35 98:0 /var/lib/docker/containers/{'ab' * 32}/hostname /etc/hostname rw - ext4 x rw\n")
    d = r.probe()
    assert d["docker"]["container_id"] == "ab" * 32 and d["assay"]["container_id_source"] == "mountinfo"


@case("TestEnvVars.canonical_vars_captured_when_set")
def _(r):
    d = r.probe(env={n: f"v{i}" for i, n in enumerate(NAMES)})
    assert list(d["env_vars"]) == NAMES and list(d["env_vars"].values()) == [f"v{i}" for i in range(31)]


@case("TestEnvVars.canonical_vars_null_when_unset")
def _(r):
    d = r.probe(env={"HSA_XNACK": ""})
    assert d["env_vars"]["HSA_XNACK"] == "" and d["env_vars"]["NCCL_IB_HCA"] is None


@case("TestEnvVars.workload_config_vars_are_not_captured")
def _(r):
    secret = {"AMP_DTYPE": "not-to-be-kept-1", "MODEL_DTYPE": "not-to-be-kept-2", "SHAMPOO_PRECONDITIONER_DTYPE": "not-to-be-kept-3", "AWS_SECRET_ACCESS_KEY": "not-to-be-kept-4",
              "HF_TOKEN": "not-to-be-kept-5", "NCCL_SECRET_TOKEN": "not-to-be-kept-6", "WANDB_API_KEY": "not-to-be-kept-7"}
    text = r.healthy().run("-o", "-", env=secret).stdout.decode()
    assert "not-to-be-kept-" not in text


@case("TestHostBlock.real_host_populates_fields", root=False)
def _():
    p = subprocess.run([ASSAY, "env", "--no-hash", "-o", "-"], capture_output=True)
    d = json.loads(p.stdout)
    u = os.uname()
    assert d["host"]["kernel_release"] == u.release and d["host"]["machine"] == u.machine
    assert d["host"]["glibc_version"] == os.confstr("CS_GNU_LIBC_VERSION").replace("glibc ", "")


# Python and torch --------------------------------------------------------------------------------
@case("TestPytorchVersion.torch_unavailable_returns_none_and_records_reason")
def _(r):
    d = r.venv().probe()
    assert d["pytorch_version"] is None and len(reasons(d, "pytorch_version")) == 1


@case("TestPytorchVersion.torch_present_without_version_returns_none_not_string")
def _(r):
    d = r.venv().torch().file(f"/{SITE}/torch/version.py", "debug = False\n").probe()
    assert d["pytorch_version"] is None and "__version__" in reasons(d, "pytorch_version")[0]


@case("TestPytorchVersion.torch_with_version_returns_string_no_reason")
def _(r):
    d = r.healthy().probe()
    assert d["pytorch_version"] == "2.8.0+rocm6.4" and not notes(d, "pytorch_version")


@case("TestPytorchBuildBlockShape.submodule_commits_keys_stable")
def _(r):
    assert list(r.probe()["pytorch_build"]["submodule_commits"]) == ["composable_kernel", "aiter", "fbgemm", "_source"]


@case("TestCapturePytorchBuildIntegration.real_torch_version_fields_captured")
def _(r):
    d = r.healthy().probe()["pytorch_build"]
    assert d["git_commit"] == "a" * 40 and d["hip_version"] == "6.4.43483-a187df25c" and d["cuda_version"] is None and d["debug"] is False


@case("TestCapturePytorchBuildIntegration.torch_absent_returns_default_block")
def _(r):
    d = r.venv().probe()["pytorch_build"]
    assert d["install_kind"] == "unknown" and d["git_commit"] is None


def index(entries):
    """A version 2 git index with gitlinks."""
    out = b"DIRC" + struct.pack(">II", 2, len(entries))
    for name, commit in sorted(entries.items()):
        e = struct.pack(">10I", 0, 0, 0, 0, 0, 0, 0o160000, 0, 0, 0) + bytes.fromhex(commit) + struct.pack(">H", len(name)) + name.encode()
        out += e + b"\0" * (8 - len(e) % 8)
    return out


def source_tree(r, top="/src/pytorch", head="b" * 40):
    r.file(f"{top}/.git/HEAD", "ref: refs/heads/main\n").file(f"{top}/.git/packed-refs", f"# pack-refs\n{head} refs/heads/main\n")
    r.file(f"{top}/.git/index", index({"third_party/composable_kernel": "1" * 40, "third_party/aiter": "2" * 40, "third_party/fbgemm": "3" * 40}))
    return r.dir(f"{top}/third_party/fbgemm")


@case("TestDetectPytorchInstallKind.explicit_env_var_wins")
def _(r):
    d = source_tree(r.healthy()).probe(env={"AORTA_PYTORCH_SRC": "/src/pytorch"})
    assert d["pytorch_build"]["install_kind"] == "source" and d["pytorch_build"]["source_path"] == "/src/pytorch"
    assert findings(d, "source-mismatch"), "the checkout is not what is installed"


@case("TestDetectPytorchInstallKind.env_var_pointing_at_invalid_path_falls_through")
def _(r):
    d = r.healthy().probe(env={"AORTA_PYTORCH_SRC": "/nowhere"})
    assert d["pytorch_build"]["install_kind"] == "wheel" and findings(d, "source-override-invalid")


@case("TestDetectPytorchInstallKind.walk_up_finds_source_tree")
def _(r):
    source_tree(r.venv()).torch(site="src/pytorch")
    d = r.probe(env={"PYTHONPATH": "/src/pytorch"})
    assert d["pytorch_build"]["install_kind"] == "source" and d["pytorch_build"]["source_path"] == "/src/pytorch"


@case("TestDetectPytorchInstallKind.wheel_install_default")
def _(r):
    assert r.healthy().probe()["pytorch_build"]["install_kind"] == "wheel"


@case("TestCapturePytorchSubmodules.source_tree_populates_via_git")
def _(r):
    source_tree(r.venv()).torch(site="src/pytorch", git="b" * 40)
    s = r.probe(env={"PYTHONPATH": "/src/pytorch"})["pytorch_build"]["submodule_commits"]
    assert s == {"composable_kernel": "1" * 40, "aiter": "2" * 40, "fbgemm": "3" * 40, "_source": "git"}


@case("TestCapturePytorchSubmodules.wheel_install_emits_url_template")
def _(r):
    n = notes(r.healthy().probe(), "pytorch_build.submodule_commits", "expected")
    assert f"github.com/pytorch/pytorch/tree/{'a' * 40}/third_party/<name>" in n[0] and "AORTA_PYTORCH_SRC" in n[0]


@case("TestCapturePytorchSubmodules.wheel_install_unknown_commit_uses_placeholder")
def _(r):
    r.venv().torch(git="Unknown")
    assert "tree/<git_commit>/third_party/<name>" in notes(r.probe(), "pytorch_build.submodule")[0]


@case("TestCapturePytorchSubmodules.unknown_install_kind_records_reason")
def _(r):
    assert "install kind is unknown" in notes(r.venv().probe(), "pytorch_build.submodule")[0]


@case("TestCapturePytorchSubmodules.partial_submodule_set_records_missing")
def _(r):
    source_tree(r.venv()).torch(site="src/pytorch").file("/src/pytorch/.git/index", index({"third_party/fbgemm": "3" * 40}))
    d = r.probe(env={"PYTHONPATH": "/src/pytorch"})
    assert "composable_kernel, aiter" in reasons(d, "pytorch_build.submodule_commits")[0]
    assert d["pytorch_build"]["submodule_commits"]["aiter"] is None


@case("TestGitRevParseHead.happy_path_returns_full_sha")
def _(r):
    source_tree(r.venv()).torch(site="src/pytorch", git="b" * 40)
    assert r.probe(env={"PYTHONPATH": "/src/pytorch"})["assay"]["pytorch_build"]["source_head"] == "b" * 40


@case("TestGitRevParseHead.non_hex_output_rejected")
def _(r):
    source_tree(r.venv()).torch(site="src/pytorch").file("/src/pytorch/.git/HEAD", "not a commit at all\n")
    assert r.probe(env={"PYTHONPATH": "/src/pytorch"})["assay"]["pytorch_build"]["source_head"] is None


@case("TestPythonPackageVersionHelper.names_are_normalised")
def _(r):
    assert r.healthy().dist("FBGEMM_GPU", "9.9").probe()["fbgemm"]["package_version"] == "9.9"


# GPUs --------------------------------------------------------------------------------------------
@case("TestGpuArch.binary_missing_records_reason")
def _(r):
    d = r.rocm().probe()
    assert d["gpu_arch"] == {"agent_count": None, "gfx_targets": None, "agent_arch_counts": None} and notes(d, "gpu_arch")


@case("TestGpuArch.happy_path_parses_one_per_line")
def _(r):
    d = r.kfd(archs=(0, 90402, 90402)).probe()["gpu_arch"]
    assert d == {"agent_count": 2, "gfx_targets": ["gfx942"], "agent_arch_counts": {"gfx942": 2}}


@case("TestGpuArch.filters_gfx000_placeholder")
def _(r):
    assert r.kfd(archs=(0, 0)).probe()["gpu_arch"]["agent_count"] == 0


@case("TestGpuArch.mixed_arch_host_captures_distribution")
def _(r):
    d = r.kfd(archs=(0, 110000, 90402, 90402)).probe()["gpu_arch"]
    assert d["gfx_targets"] == ["gfx1100", "gfx942"] and d["agent_arch_counts"] == {"gfx1100": 1, "gfx942": 2}


@case("TestGpuArch.garbage_is_not_counted_as_a_gpu")
def _(r):
    r.kfd().file("/sys/class/kfd/kfd/topology/nodes/7/properties", b"\xff\xfegarbage\nno numbers here\n").dir("/sys/class/kfd/kfd/topology/nodes/junk")
    assert r.probe()["gpu_arch"]["agent_count"] == 1


@case("TestHipblasltBlockShape.partial_reasons_contain_hipblaslt_prefix")
def _(r):
    r.kfd().dir("/opt/rocm/lib")
    assert all(re.match(r"hipblaslt(\.[a-z_]+)?: ", t) for t in notes(r.probe(), "hipblaslt"))


@case("TestRuntimeContext.runtime_context_venv_path_populated")
def _(r):
    assert r.venv(prefix="/v").probe(env={"VIRTUAL_ENV": "/v"})["runtime_context"]["venv_path"] == "/v"


@case("TestRuntimeContext.runtime_context_conda_name_populated")
def _(r):
    r.dir("/c/lib/python3.12/site-packages")
    d = r.probe(env={"VIRTUAL_ENV": None, "CONDA_PREFIX": "/c", "CONDA_DEFAULT_ENV": "train"})
    assert d["runtime_context"]["conda_env_name"] == "train"


@case("TestDockerMetadata.baremetal_returns_none_no_reasons")
def _(r):
    d = r.probe(env={"AORTA_DOCKER_IMAGE": "i"})
    assert d["docker"] is None and not notes(d, "docker")


@case("TestCKPytorchBuildFlags.partial_reasons_use_composable_kernel_prefix")
def _(r):
    d = r.healthy().remove(f"/{SITE}/torch/include").probe()
    assert reasons(d, "composable_kernel.pytorch_use_ck_sdpa")


@case("TestCombinedKernelDbFingerprint.real_world_library_basename_does_not_collapse")
def _(r):
    r.healthy()
    both = r.probe()["tensile"]["kernel_db_combined_hash"]
    assert both != names_sha(["library/TensileLibrary_gfx942.dat", "library/TensileLibrary_gfx942.co"])


@case("TestGpuArch.no_kfd_access_records_stderr_tail")
def _(r):
    if os.geteuid() == 0:
        return "root may read everything"
    r.rocm().kfd()
    for n in ("0", "1"):
        os.chmod(r.path(f"/sys/class/kfd/kfd/topology/nodes/{n}/properties"), 0)
    assert "permission is denied" in reasons(r.probe(), "gpu_arch")[0]


@case("TestDetectPytorchInstallKind.torch_absent_returns_unknown")
def _(r):
    assert r.venv().probe()["pytorch_build"]["install_kind"] == "unknown"


@case("TestGitRevParseHead.nonzero_exit_returns_none")
def _(r):
    source_tree(r.venv()).torch(site="src/pytorch").remove("/src/pytorch/.git/packed-refs")
    assert r.probe(env={"PYTHONPATH": "/src/pytorch"})["assay"]["pytorch_build"]["source_head"] is None


@case("TestHashFilePath.hash_specific_file")
def _(r):
    r.healthy()
    data = open(r.path("/opt/rocm/lib/libamdhip64.so.6.4.60401"), "rb").read()
    assert r.probe()["assay"]["libraries"]["amdhip64"]["copies"][0]["sha256"] == sha(data)


@case("TestHashFilePath.resolves_symlink")
def _(r):
    copies = r.healthy().probe()["assay"]["libraries"]["amdhip64"]["copies"]
    assert len(copies) == 1 and copies[0]["path"] == "/opt/rocm/lib/libamdhip64.so.6.4.60401", "three names, one file"


@case("TestPythonPackageVersionHelper.suppress_missing_skips_import_reason")
def _(r):
    assert not notes(r.healthy().probe(), "aiter") and not notes(r.probe(), "fbgemm")


@case("TestPythonPackageVersionHelper.custom_reason_prefix_used_in_output")
def _(r):
    assert reasons(r.rocm().kfd().venv().torch().probe(), "triton.package_version: ")
