#!/usr/bin/env python3
"""assay env and env diff on fake roots. Case names are those of the schema's reference tests where one
exists. Prints `ok - name`, `not ok - name: why`, `skip - name: why`."""
import hashlib
import json
import os
import re
import stat
import struct
import subprocess
import sys
import tempfile
import time
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from fixture import ASSAY, PY, SITE, Root, elf, findings, notes, reasons  # noqa: E402

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


def case(name, root=True):
    def add(f):
        CASES.append((name, f, root))
        return f
    return add


def sha(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def names_sha(names):
    return "filenames-sha256:" + hashlib.sha256("\n".join(sorted(names)).encode()).hexdigest()


# Shape and contract ------------------------------------------------------------------------------
@case("TestSchemaCompleteness.all_top_level_keys_present_when_everything_unavailable")
def _(r):
    d = r.probe(env={"VIRTUAL_ENV": None})
    assert list(d) == TOP + ["assay"], list(d)
    shapes = {"rocm": 3, "hip": 5, "hipblaslt": 5, "rocblas": 5, "miopen": 4, "rccl": 3, "gpu_arch": 3, "host": 4,
              "runtime_context": 4, "aotriton": 5, "tensile": 2, "triton": 1, "fbgemm": 3, "aiter": 1,
              "pytorch_build": 7, "composable_kernel": 4, "env_vars": 31}
    for k, n in shapes.items():
        assert len(d[k]) == n, (k, d[k])


@case("TestSchemaCompleteness.schema_version_constant_is_emitted")
def _(r):
    assert r.probe()["schema_version"] == "1.1"


@case("TestSchemaCompleteness.captured_at_is_iso8601_utc")
def _(r):
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", r.probe()["captured_at"])


@case("TestSchemaCompleteness.persisted_json_includes_partial_keys")
def _(r):
    d = r.probe()
    assert isinstance(d["partial"], bool) and isinstance(d["partial_reasons"], list)


@case("TestEnvSnapshot.round_trip_via_json")
def _(r):
    text = r.healthy().run("-o", "-").stdout.decode()
    assert json.loads(text) == json.loads(json.dumps(json.loads(text))) and text.startswith('{\n  "schema_version"')


@case("TestEnvSnapshot.summary_does_not_duplicate_partial_marker")
def _(r):
    out = r.run("-o", r.path("/out.json")).stdout.decode()
    assert out.count("[PARTIAL, ") == 1 and out.strip().splitlines()[-1].startswith("[PARTIAL, ")
    runtime = [l for l in out.splitlines() if "runtime:" in l][0]
    assert "PARTIAL" not in runtime


@case("TestEnvSnapshot.summary_is_multiline_human_readable")
def _(r):
    out = r.healthy().run("-o", r.path("/out.json")).stdout.decode()
    labels = [l.split(":")[0].strip() for l in out.splitlines() if l.startswith("  ") and ":" in l]
    for want in ("runtime", "rocm", "hip", "hipblaslt", "rocblas", "miopen", "rccl", "gpus", "host", "ck", "tensile",
                 "triton", "fbgemm", "aiter", "aotriton", "rdhc", "python", "torch build"):
        assert want in labels, (want, labels)


@case("TestCollectEnvContract.collect_env_never_raises_when_all_probes_fail")
def _(r):
    r.kfd(archs=())
    d = r.probe(env={"VIRTUAL_ENV": None})
    blocks = {t.split(":")[0].split(".")[0] for t in d["partial_reasons"]}
    assert d["partial"] and {"rocm", "hip", "hipblaslt", "rocblas", "miopen", "rccl", "python_version"} <= blocks, blocks


@case("TestCollectEnvContract.partial_reasons_have_field_prefixes")
def _(r):
    r.kfd(archs=())
    for t in [x["text"] for x in r.probe()["assay"]["reasons"]]:
        assert re.match(r"[a-z_A-Z.0-9]+: \S", t), t


@case("TestCollectEnvContract.partial_false_on_clean_full_probe")
def _(r):
    out = r.healthy().run("-o", r.path("/out.json")).stdout.decode()
    d = json.load(open(r.path("/out.json")))
    assert d["partial_reasons"] == [] and not d["partial"], d["partial_reasons"]
    assert out.strip().splitlines()[-1] == "[OK]"


@case("TestCollectEnvContract.idempotent_two_calls_produce_equivalent_snapshots")
def _(r):
    r.healthy()
    a, b = r.probe(), r.probe()
    for d in (a, b):
        d.pop("captured_at")
        d["assay"].pop("probe_ms")
    assert a == b


@case("TestCollectEnvContract.baremetal_does_not_trigger_partial_for_docker_block")
def _(r):
    d = r.healthy().probe()
    assert d["docker"] is None and not reasons(d, "docker") and d["runtime_context"]["type"] == "baremetal"


@case("TestCollectEnvContract.unset_env_vars_do_not_trigger_partial")
def _(r):
    d = r.healthy().probe()
    assert set(d["env_vars"].values()) == {None} and not d["partial"]


@case("TestCollectEnvContract.runtime_context_never_partial")
def _(r):
    assert not notes(r.probe(), "runtime_context")


@case("TestB1B2Integration.b2_host_env_file_round_trips")
def _(r):
    r.healthy().run("-o", r.path("/a/b/host_env.json"))
    d = json.load(open(r.path("/a/b/host_env.json")))
    assert d["schema_version"] == "1.1"


# Command line ------------------------------------------------------------------------------------
@case("TestCliIsThinWrapper.cli_creates_missing_parent_directory")
def _(r):
    p = r.run("-o", r.path("/new/deep/env.json"))
    assert p.returncode == 0 and os.path.isfile(r.path("/new/deep/env.json"))


@case("TestCliIsThinWrapper.cli_surfaces_filesystem_errors_as_click_exception")
def _(r):
    r.file("/plain", "x").dir("/folder")
    for out in ("/plain/env.json", "/folder"):
        p = r.run("-o", r.path(out))
        assert p.returncode == 1 and p.stderr.decode().count("\n") == 1, (p.returncode, p.stderr)


@case("TestCliIsThinWrapper.cli_echoes_partial_reasons_inline")
def _(r):
    out = r.run("-o", r.path("/o.json")).stdout.decode()
    d = json.load(open(r.path("/o.json")))
    assert "\n\nPartial reasons:\n" in out
    for t in d["partial_reasons"]:
        assert f"  - {t}\n" in out


@case("TestCliIsThinWrapper.cli_closing_marker_partial")
def _(r):
    out = r.run("-o", r.path("/o.json")).stdout.decode()
    n = len(json.load(open(r.path("/o.json")))["partial_reasons"])
    assert out.endswith(f"\n[PARTIAL, {n} reason(s)]\n")


@case("TestCliIsThinWrapper.cli_verbose_flag_dumps_full_json")
def _(r):
    out = r.run("-v", "-o", r.path("/o.json")).stdout.decode()
    body = out.split("--- Full snapshot ---\n")[1].rsplit("\n\n", 1)[0]
    assert json.loads(body) == json.load(open(r.path("/o.json")))


@case("cli.field_prints_one_value_and_lists_siblings_when_wrong")
def _(r):
    r.healthy()
    assert r.run("--field", "rocm.version").stdout == b"6.4.1-83\n"
    assert r.run("--field", "gpu_arch.gfx_targets.0").stdout == b"gfx942\n"
    p = r.run("--field", "rocm.nothing")
    assert p.returncode == 1 and b"version version_dev kmd_version" in p.stderr and not p.stdout


@case("cli.json_writes_no_file")
def _(r):
    before = sorted(os.listdir(os.getcwd()))
    p = r.run("--json")
    assert p.returncode == 0 and json.loads(p.stdout) and sorted(os.listdir(os.getcwd())) == before


@case("cli.write_is_atomic_when_the_disk_fills")
def _(r):
    p = r.run("-o", "/dev/full")
    assert p.returncode == 1 and b"No space left" in p.stderr, p.stderr
    r.file("/old.json", "old")
    q = subprocess.run(["bash", "-c", f"ulimit -f 1; exec {ASSAY} env --root {r.top} -o {r.path('/old.json')}"],
                       capture_output=True, preexec_fn=lambda: __import__("signal").signal(25, __import__("signal").SIG_IGN))
    assert q.returncode == 1 and open(r.path("/old.json")).read() == "old", (q.returncode, q.stderr)
    assert not [n for n in os.listdir(r.top) if n.endswith(".tmp")]


# rdhc --------------------------------------------------------------------------------------------
def health(script, *args, name="rdhc"):
    """On the host itself: rdhc is never run for another root."""
    with tempfile.TemporaryDirectory() as t:
        if script is not None:
            with open(f"{t}/{name}", "w") as f:
                f.write("#!/bin/sh\n" + script)
            os.chmod(f"{t}/{name}", 0o755)
        p = subprocess.run([ASSAY, "env", "--no-hash", "-o", "-", "--health", *args], capture_output=True, timeout=60,
                           env={"PATH": f"{t}:/usr/bin:/bin", "HOME": t, "TMPDIR": t})
        d = json.loads(p.stdout)
        return d["system_health"], reasons(d, "system_health"), d


@case("TestRdhcWrapper.rdhc_unavailable_returns_none_and_records_reason", root=False)
def _():
    got, why, _ = health(None)
    assert got is None and len(why) == 1 and "not on PATH" in why[0]


@case("TestRdhcWrapper.rdhc_unavailable_reason_includes_install_hint", root=False)
def _():
    assert "rocm.docs.amd.com" in health(None)[1][0]


@case("TestRdhcWrapper.rdhc_nonzero_exit_includes_stderr_in_reason", root=False)
def _():
    got, why, _ = health("echo first >&2; echo boom: no GPU >&2; exit 3")
    assert got is None and "3: boom: no GPU" in why[0]


@case("TestRdhcWrapper.rdhc_nonzero_exit_no_stderr_keeps_sudo_hint", root=False)
def _():
    got, why, _ = health("exit 4")
    assert got is None and "exited with 4" in why[0] and (os.geteuid() == 0 or "need root" in why[0])


@case("TestRdhcWrapper.rdhc_timeout_returns_none", root=False)
def _():
    start = time.time()
    got, why, _ = health("sleep 50", "--health-limit", "300ms")
    assert got is None and "timed out after 0.3 s" in why[0] and time.time() - start < 5


@case("TestRdhcWrapper.rdhc_happy_path_returns_parsed_json", root=False)
def _():
    for name in ("rdhc", "rdhc.py"):
        got, why, _ = health('[ "$1" = --quick ] && [ "$2" = --json ] && echo \'{"gpu": {"ok": true}}\' > "$3"', name=name)
        assert got == {"gpu": {"ok": True}} and not why


@case("TestRdhcWrapper.rdhc_malformed_json_returns_none", root=False)
def _():
    for text in ("{", "[1]", "", "{\"a\": NaN}"):
        got, why, _ = health(f"printf '%s' '{text}' > \"$3\"")
        assert got is None and "malformed" in why[0], (text, why)


@case("TestRdhcWrapper.rdhc_temp_file_cleaned_up_on_failure", root=False)
def _():
    before = {n for n in os.listdir("/tmp") if n.startswith("assay-rdhc-")}
    health("echo x > \"$3\"; exit 1")
    assert {n for n in os.listdir("/tmp") if n.startswith("assay-rdhc-")} == before


@case("TestEnvSnapshot.summary_treats_empty_system_health_as_present", root=False)
def _():
    got, why, _ = health("echo '{}' > \"$3\"")
    assert got == {} and not why


@case("rdhc.is_not_run_unless_asked", root=False)
def _():
    with tempfile.TemporaryDirectory() as t:
        with open(f"{t}/rdhc", "w") as f:
            f.write(f"#!/bin/sh\ntouch {t}/ran\n")
        os.chmod(f"{t}/rdhc", 0o755)
        subprocess.run([ASSAY, "env", "--no-hash", "-o", "-"], capture_output=True, env={"PATH": f"{t}:/usr/bin", "HOME": t})
        assert not os.path.exists(f"{t}/ran")


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
HEAD = {"hipblaslt": ("/opt/rocm/include/hipblaslt/hipblaslt-version.h", "HIPBLASLT_VERSION"),
        "rocblas": ("/opt/rocm/include/rocblas/internal/rocblas-version.h", "ROCBLAS_VERSION"),
        "miopen": ("/opt/rocm/include/miopen/version.h", "MIOPEN_VERSION")}


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
    secret = {"AMP_DTYPE": "zq1", "MODEL_DTYPE": "zq2", "SHAMPOO_PRECONDITIONER_DTYPE": "zq3", "AWS_SECRET_ACCESS_KEY": "zq4",
              "HF_TOKEN": "zq5", "NCCL_SECRET_TOKEN": "zq6", "WANDB_API_KEY": "zq7"}
    text = r.healthy().run("-o", "-", env=secret).stdout.decode()
    assert "zq" not in text


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
def in_time(f, limit=5):
    start = time.time()
    got = f()
    assert time.time() - start < limit, time.time() - start
    return got


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


@case("root14.many_files_in_a_kernel_database")
def _(r):
    r.healthy()
    folder = r.path("/opt/rocm/lib/rocblas/library")
    for i in range(20000):
        open(f"{folder}/k{i:05}_gfx942.dat", "w").close()
    d = in_time(lambda: r.probe(), 20)
    assert d["assay"]["kernel_databases"]["rocblas"]["files"] == 20003


@case("root14.empty_root_is_complete_and_quick")
def _(r):
    d = in_time(lambda: r.probe(env={"VIRTUAL_ENV": None}), 1)
    assert list(d) == TOP + ["assay"] and d["python_version"] == ""


# A running process -------------------------------------------------------------------------------
@case("pid.reports_variables_and_program_of_a_running_process", root=False)
def _():
    p = subprocess.Popen(["sleep", "30"], env={"PATH": "/usr/bin:/bin", "HSA_XNACK": "1", "SECRET": "zz9"})
    try:
        time.sleep(0.2)
        out = subprocess.run([ASSAY, "env", "--no-hash", "--json", "--pid", str(p.pid)], capture_output=True)
        d = json.loads(out.stdout)
        assert d["env_vars"]["HSA_XNACK"] == "1" and b"zz9" not in out.stdout
        assert "sleep" in d["assay"]["process"]["exe"] or "coreutils" in d["assay"]["process"]["exe"]
    finally:
        p.kill()
        p.wait()
    gone = subprocess.run([ASSAY, "env", "--pid", str(p.pid)], capture_output=True)
    assert gone.returncode == 1 and b"cannot look at process" in gone.stderr


# NVML, with a library of our own -----------------------------------------------------------------
def with_nvml(mode=""):
    with tempfile.TemporaryDirectory() as t:
        subprocess.run(["gcc", "-shared", "-fPIC", "-Isrc", "-o", f"{t}/libnvidia-ml.so.1", "tests/fake/nvml.c"], check=True)
        env = {"PATH": "/usr/bin:/bin", "HOME": t, "LD_LIBRARY_PATH": t, "FAKE_NVML": mode}
        p = subprocess.run([ASSAY, "env", "--no-hash", "--json"], env=env, capture_output=True, timeout=30)
        assert p.returncode == 0, p.stderr
        return json.loads(p.stdout)


@case("nvml.gpus_driver_and_modes", root=False)
def _():
    d = with_nvml()["assay"]
    assert d["nvidia"]["driver_version"] == "580.159.04" and d["nvidia"]["cuda_driver_version"] == "13.0"
    a, b = [g for g in d["gpus"] if g["source"] == "nvml"]
    assert a["name"] == "NVIDIA H200" and a["uuid"] == "GPU-0" and a["compute_capability"] == "9.0" and a["arch"] == "sm_90"
    assert a["mig"] == "disabled" and b["mig"] == "enabled" and a["ecc"] == "enabled" and a["persistence"] == "disabled"
    assert b["arch"] == "sm_100" and a["memory_mb"] == 143771 and a["power_limit_mw"] == 700000


@case("nvml.start_that_fails_is_told", root=False)
def _():
    d = with_nvml("fail")
    assert any("nvmlInit failed with 9" in t for t in notes(d, "assay.nvidia"))


@case("nvml.start_that_never_returns_does_not_hold_us", root=False)
def _():
    d = in_time(lambda: with_nvml("hang"), 12)
    assert any("no answer" in t for t in reasons(d, "assay.nvidia"))


@case("pid.libraries_are_those_the_process_has_mapped", root=False)
def _():
    with tempfile.TemporaryDirectory() as t:
        subprocess.run(["gcc", "-shared", "-fPIC", "-x", "c", "/dev/null", "-Wl,-soname,librocblas.so.4", "-o", f"{t}/librocblas.so.4.9.1"], check=True)
        env = {"PATH": "/usr/bin:/bin", "LD_PRELOAD": f"{t}/librocblas.so.4.9.1"}
        p = subprocess.Popen(["sleep", "30"], env=env)
        try:
            time.sleep(0.3)
            d = json.loads(subprocess.run([ASSAY, "env", "--no-hash", "--json", "--pid", str(p.pid)], capture_output=True).stdout)
        finally:
            p.kill()
            p.wait()
        e = d["assay"]["libraries"]["rocblas"]["effective"]
        assert e["path"].endswith("librocblas.so.4.9.1") and e["chosen_by"] == "mapped by the process" and e["version"] == "4.9.1"


# env diff (15) -----------------------------------------------------------------------------------
def diff(r, *docs, args=(), files=None):
    names = []
    for i, d in enumerate(docs):
        r.file(f"/{i}.json", d if isinstance(d, str) else json.dumps(d, indent=2))
        names.append(r.path(f"/{i}.json"))
    p = subprocess.run([ASSAY, "env", "diff", *args, *(files or names)], capture_output=True, timeout=60)
    return p.returncode, p.stdout.decode(), p.stderr.decode()


def diff_json(r, *docs, args=()):
    rc, out, err = diff(r, *docs, args=("--json", *args))
    return rc, json.loads(out) if out else err


def ranks(r):
    docs = []
    for i in range(8):
        q = Root().healthy()
        if i == 3:
            q.file("/opt/rocm/lib/rocblas/library/TensileLibrary_gfx942.dat", "rocblaS")
        if i == 6:
            q.file("/.dockerenv")
        d = q.probe(env={} if i == 5 else {"NCCL_IB_HCA": "mlx5"})
        d["assay"]["host"]["hostname"] = f"node{i}"
        d["captured_at"] = f"2026-01-0{i + 1}T00:00:00Z"
        docs.append(d)
        q.drop()
    return docs


@case("root15.odd_one_out_of_eight_ranks")
def _(r):
    rc, out = diff_json(r, *ranks(r))
    rows = {x["path"]: x for x in out["rows"] if x["kind"] != "unknown on one side"}
    assert rc == 1 and out["different"] == len(rows)
    assert rows["assay.kernel_databases.rocblas.content_hash"]["deviating"][0]["snapshot"].endswith("/3.json")
    assert rows["env_vars.NCCL_IB_HCA"]["deviating"] == [{"snapshot": r.path("/5.json"), "value": None}]
    assert rows["runtime_context.type"]["agree"] == 7 and "captured_at" not in rows
    text = diff(r, *ranks(r))[1]
    assert "in 7 of 8" in text and "deviates most" in text


@case("diff.same_snapshot_is_exit_0_and_volatile_fields_never_count")
def _(r):
    a = r.healthy().probe()
    b = json.loads(json.dumps(a))
    b["captured_at"] = "2030-01-01T00:00:00Z"
    b["docker"] = a["docker"] = {"image": "i", "digest": "d", "container_id": "1"}
    b["docker"] = dict(a["docker"], container_id="2")
    b["assay"]["probe_ms"]["total"] = 99.0
    rc, out, _ = diff(r, a, b)
    assert rc == 0 and "0 different" in out, out


@case("diff.groups_are_ordered_by_consequence")
def _(r):
    a = r.healthy().file("/proc/sys/kernel/osrelease", "8").probe()
    b = json.loads(json.dumps(a))
    for block, key, v in (("host", "kernel_release", "9"), ("env_vars", "HSA_XNACK", "1"), ("tensile", "kernel_db_combined_hash", "x"),
                          ("triton", "package_version", "3.10.0"), ("rocblas", "lib_hash", "sha256:00"), ("hip", "version", "9.9.9"),
                          ("rocm", "kmd_version", "6.2")):
        b[block][key] = v
    rc, out, _ = diff(r, a, b)
    at = [out.index(n) for n in ("driver and firmware", "runtime libraries", "math libraries", "framework build", "kernel databases",
                                 "environment variables", "\nhost\n")]
    assert rc == 1 and at == sorted(at), out
    assert "3.4.0 -> 3.10.0 (newer)" in out and "6.12.12 -> 6.2 (older)" in out
    assert "(same version, different build)" in out


@case("diff.unknown_on_one_side_is_told_apart")
def _(r):
    a = r.healthy().probe()
    b = json.loads(json.dumps(a))
    b["rocm"]["version"] = None
    rc, out = diff_json(r, a, b)
    assert rc == 0 and out["unknown"] == 1 and out["rows"][0]["kind"] == "unknown on one side"
    assert "1 unknown on one side" in diff(r, a, b)[1]


@case("diff.reads_schema_1_0_1_17_and_a_future_one")
def _(r):
    a = {"schema_version": "1.0", "hipblaslt": {"commit": "d97cc0b2", "package_version": "0.12.1"}, "env_vars": {"HSA_XNACK": None}, "partial": False}
    b = {"schema_version": "1.17", "hipblaslt": {"rocm_release_tweak": "d97cc0b2aaaa", "package_version": "0.12.1"},
         "env_vars": {"HSA_XNACK": None, "NCCL_ALGO": "Ring"}, "probe_namespace": "x", "nics": {"cx7": [{"fw": "1"}]}}
    c = {"schema_version": "1.99", "hipblaslt": {"rocm_release_tweak": "d97cc0b2", "package_version": "0.13.0", "new": [1, [2, {"x": None}]]}, "future": True}
    rc, out = diff_json(r, a, b)
    assert rc == 0 and out["different"] == 0, out
    rc, out = diff_json(r, a, b, c)
    assert rc == 1 and [x["path"] for x in out["rows"] if x["kind"] != "unknown on one side"] == ["hipblaslt.package_version"]


@case("TestEnvSnapshot.from_dict_tolerates_extra_keys_forward_compat")
def _(r):
    a = r.healthy().probe()
    b = dict(a, some_new_block={"x": 1})
    assert diff(r, a, b)[0] == 0


@case("TestEnvSnapshot.from_dict_defaults_partial_reasons_when_missing")
def _(r):
    a = r.healthy().probe()
    b = {k: v for k, v in a.items() if k not in ("partial", "partial_reasons")}
    assert diff(r, a, b)[0] == 0


@case("diff.order_of_a_set_does_not_matter")
def _(r):
    a = {"schema_version": "1.1", "gpu_arch": {"gfx_targets": ["a", "b"]}}
    b = {"schema_version": "1.1", "gpu_arch": {"gfx_targets": ["b", "a"]}}
    assert diff(r, a, b)[0] == 0


@case("diff.other_install_prefixes_compare")
def _(r):
    a = Root().healthy()
    b = Root().rocm().kfd().venv(prefix="/srv/v").torch(site="srv/v/lib/python3.11/site-packages").dist("triton", "3.4.0", "srv/v/lib/python3.11/site-packages")
    da, db = a.probe(), b.probe(env={"VIRTUAL_ENV": "/srv/v"})
    a.drop()
    b.drop()
    rc, out, _ = diff(r, da, db)
    assert rc == 0, out


@case("diff.explains_what_follows_from_what")
def _(r):
    a = r.healthy().probe()
    b = json.loads(json.dumps(a))
    b["rocblas"]["lib_hash"], b["rocblas"]["kernel_db_revision"], b["tensile"]["kernel_db_combined_hash"] = "sha256:0", "x", "y"
    rows = {x["path"]: x for x in diff_json(r, a, b)[1]["rows"]}
    assert rows["rocblas.kernel_db_revision"]["follows_from"] == "rocblas.lib_hash"
    assert rows["tensile.kernel_db_combined_hash"]["follows_from"] == "rocblas.kernel_db_revision"


@case("diff.baseline")
def _(r):
    docs = [{"schema_version": "1.1", "rocm": {"version": v}} for v in ("6.3", "6.4", "6.4")]
    for i, d in enumerate(docs):
        r.file(f"/{i}.json", json.dumps(d))
    p = subprocess.run([ASSAY, "env", "diff", "--baseline", r.path("/0.json"), r.path("/1.json"), r.path("/2.json")], capture_output=True)
    assert p.returncode == 1 and b"6.3 in 1 of 3" in p.stdout and p.stdout.count(b"(newer)") == 2, p.stdout


@case("diff.trouble_is_exit_2")
def _(r):
    ok = {"schema_version": "1.1"}
    for bad in ("", "{", "[1]", '{"a": 1}', '{"schema_version": "1.1",', "null"):
        rc, out, err = diff(r, ok, bad)
        assert rc == 2 and not out and err, (bad, rc, out, err)
    assert diff(r, files=[r.path("/none"), r.path("/none")])[0] == 2
    assert diff(r, ok)[0] == 2


@case("diff.a_thousand_snapshots_in_a_second")
def _(r):
    d = r.healthy().probe()
    names = []
    for i in range(1000):
        d["rocm"]["version"] = "6.4.0" if i == 500 else "6.4.1"
        r.file(f"/many/{i}.json", json.dumps(d))
        names.append(r.path(f"/many/{i}.json"))
    start = time.time()
    rc, out, _ = diff(r, files=names)
    took = time.time() - start
    assert rc == 1 and "500.json" in out and took < (10 if os.environ.get("ASSAY_SLOW") else 1), (rc, took, out)


SKIPPED = {
    "TestPathConstants": "no table of path constants: every path is under --root",
    "TestEnvSnapshot.dataclass_is_frozen": "a Python object's property",
    "TestCliIsThinWrapper.cli_does_no_probing_imports": "a Python module's property",
    "TestSafeImportTorch": "torch is never imported",
    "TestNoGpuCompute.torch_cuda_never_called": "torch is never imported",
    "TestRdhcWrapper.rdhc_present_but_sudo_n_fails_returns_none": "sudo is never used",
    "TestCKPytorchBundledProbe.nm_missing_records_reason": "symbols are counted without nm",
    "TestGitRevParseHead.git_missing_returns_none": "git is never run",
}


def main():
    only = sys.argv[1] if len(sys.argv) > 1 else ""
    failed = 0
    for name, f, wants_root in CASES:
        if only and only not in name:
            continue
        r = Root() if wants_root else None
        try:
            why = f(r) if wants_root else f()
            print(f"skip - env: {name}: {why}" if isinstance(why, str) else f"ok - env: {name}")
        except Exception as e:  # noqa: BLE001 a failing case must not stop the others
            failed += 1
            print(f"not ok - env: {name}: {type(e).__name__}: {str(e)[:600]}")
            if only:
                traceback.print_exc()
        finally:
            if r:
                r.drop()
        sys.stdout.flush()
    for name, why in SKIPPED.items():
        if not only:
            print(f"skip - env: {name}: {why}")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
