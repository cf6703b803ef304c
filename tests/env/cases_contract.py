"""Shape of the snapshot, the command line, rdhc, running processes, NVML."""
import json
import os
import re
import resource
import subprocess
import tempfile

from fixture import ASSAY, PATIENCE, SITE, notes, reasons, until
from harness import TOP, case, in_time


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
        d["assay"].pop("probe")
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
def run_rdhc(script, *args, name="rdhc", **more):
    """On the host itself: rdhc is never run for another root. What it was to write is in the file told of HOME."""
    with tempfile.TemporaryDirectory() as t:
        if script is not None:
            with open(f"{t}/{name}", "w") as f:
                f.write('#!/bin/sh\necho "$3" > "$HOME/told"\n' + script)
            os.chmod(f"{t}/{name}", 0o755)
        p = subprocess.run([ASSAY, "env", "--no-hash", "-o", "-", "--health", *args], capture_output=True, timeout=PATIENCE,
                           env={"PATH": f"{t}:/usr/bin:/bin", "HOME": t, "TMPDIR": t}, **more)
        if os.path.exists(f"{t}/told"):
            with open(f"{t}/told") as f:
                assert not os.path.exists(os.path.dirname(f.read().strip())), "its folder is left"
        return p


def health(script, *args, name="rdhc"):
    d = json.loads(run_rdhc(script, *args, name=name).stdout)
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
    got, why, _ = health("sleep 500", "--health-limit", "300ms")
    assert got is None and "timed out after 0.3 s" in why[0]


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
    health("echo x > \"$3\"; exit 1")  # looks for what is left


@case("rdhc.leaves_nothing_when_there_is_no_memory_for_what_it_wrote", root=False)
def _():
    def limit(megabytes):
        return lambda: resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))
    for megabytes in (64, 96, 128, 192):
        p = run_rdhc("(printf '{\"a\": \"'; head -c 60000000 /dev/zero | tr '\\0' a; printf '\"}') > \"$3\"", preexec_fn=limit(megabytes))
        assert p.returncode in (0, 1, 127), p  # 127: not even the program's own libraries fit
        assert p.returncode != 1 or b"memory" in p.stderr, p


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


# A running process -------------------------------------------------------------------------------
@case("pid.reports_variables_and_program_of_a_running_process", root=False)
def _():
    p = subprocess.Popen(["sleep", "3600"], env={"PATH": "/usr/bin:/bin", "HSA_XNACK": "1", "SECRET": "zz9"})
    try:
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
        p = subprocess.run([ASSAY, "env", "--no-hash", "--json"], env=env, capture_output=True, timeout=PATIENCE)
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
    assert a["max_sm_clock_mhz"] == "1980" and a["max_memory_clock_mhz"] == "3201" and a["gsp_version"] == "580.159.04"
    assert a["nvlinks_active"] == "17" and a["ecc_uncorrected_total"] == "11" and "ecc_corrected" not in a
    assert a["remapped_rows_uncorrectable"] == "2" and "remapped_rows_uncorrectable" not in b
    assert b["mig_devices"] == "1g.23gb, 3g.90gb" and b["mig_uuids"] == "MIG-1, MIG-3" and "mig_devices" not in a
    assert "fabric_state" not in a and any(k.endswith("ecc_corrected_total") for k in d["probe"]["live"])


@case("nvml.start_that_fails_is_told", root=False)
def _():
    d = with_nvml("fail")
    assert any("nvmlInit failed with 9" in t for t in notes(d, "assay.nvidia"))


@case("nvml.start_that_never_returns_does_not_hold_us", root=False)
def _():
    d = in_time(lambda: with_nvml("hang"))
    assert any("no answer" in t for t in reasons(d, "assay.nvidia"))


@case("pid.libraries_are_those_the_process_has_mapped", root=False)
def _():
    with tempfile.TemporaryDirectory() as t:
        subprocess.run(["gcc", "-shared", "-fPIC", "-x", "c", "/dev/null", "-Wl,-soname,librocblas.so.4", "-o", f"{t}/librocblas.so.4.9.1"], check=True)
        env = {"PATH": "/usr/bin:/bin", "LD_PRELOAD": f"{t}/librocblas.so.4.9.1"}
        p = subprocess.Popen(["sleep", "3600"], env=env)
        try:
            until(lambda: "librocblas" in open(f"/proc/{p.pid}/maps").read(), "it is not loaded")
            d = json.loads(subprocess.run([ASSAY, "env", "--no-hash", "--json", "--pid", str(p.pid)], capture_output=True).stdout)
        finally:
            p.kill()
            p.wait()
        e = d["assay"]["libraries"]["rocblas"]["effective"]
        assert e["path"].endswith("librocblas.so.4.9.1") and e["chosen_by"] == "mapped by the process" and e["version"] == "4.9.1"


# What is left of the reference list -----------------------------------------------------------------
@case("TestEnvSnapshot.to_dict_keys_are_complete")
def _(r):
    assert list(r.probe())[:25] == TOP


@case("TestEnvSnapshot.round_trip_via_dict")
def _(r):
    d = r.healthy().probe()
    assert json.loads(json.dumps(d)) == d


@case("TestCollectEnvContract.collect_env_returns_snapshot_when_probe_unexpectedly_raises")
def _(r):
    r.healthy().remove("/opt/rocm/lib").file("/opt/rocm/lib", "a file where a folder should be").remove(f"/{SITE}").file(f"/{SITE}", "x")
    assert list(r.probe())[:25] == TOP


@case("TestCollectEnvContract.disaster_snapshot_populates_every_envsnapshot_field")
def _(r):
    r.file("/opt", "x").file("/sys", "x").file("/proc", "x").file("/usr", "x").file("/etc", "x")
    d = r.probe()
    assert all(k in d for k in TOP) and d["pytorch_build"]["submodule_commits"]["_source"] is None


@case("TestB1B2Integration.snapshot_embeds_in_trial_result_and_round_trips")
def _(r):
    trial = {"result": 1, "environment": r.healthy().probe()}
    assert json.loads(json.dumps(trial))["environment"]["rocm"]["version"] == "6.4.1-83"


@case("TestCliIsThinWrapper.cli_emits_json_native_output_no_default_str")
def _(r):
    def plain(v):
        return v is None or isinstance(v, (bool, int, float, str)) or (
            all(plain(x) for x in (v.values() if isinstance(v, dict) else v)) if isinstance(v, (dict, list)) else False)
    assert plain(r.healthy().probe())


@case("TestPytorchVersionRealTorch.full_collect_env_against_real_torch", root=False)
def _():
    python = os.environ.get("ASSAY_TORCH_PYTHON", "python3")
    here = os.path.dirname(os.path.abspath(__file__))
    out = subprocess.run([python, f"{here}/against_torch.py"], capture_output=True, text=True).stdout
    if "skip - " in out or not out:
        return f"torch is not installed for {python} (ASSAY_TORCH_PYTHON names another)"
    assert "\nok - " in out, out[-3000:]


KEYS = {
    "TestRocblasBlockShape": ("rocblas", "rocm_release_tweak package_version lib_hash kernel_db_revision applied_prs"),
    "TestTensileBlock": ("tensile", "package_version kernel_db_combined_hash"),
    "TestFbgemmBlock": ("fbgemm", "package_version pytorch_use_fbgemm pytorch_use_fbgemm_genai"),
    "TestHostBlock": ("host", "kernel_release kernel_version machine glibc_version"),
    "TestRccl": ("rccl", "version_code version lib_hash"),
    "TestGpuArch": ("gpu_arch", "agent_count gfx_targets agent_arch_counts"),
    "TestAotritonBlockShape": ("aotriton", "bundled_present bundled_version bundled_lib_hash bundled_images_dir_present installed_prefix"),
    "TestPytorchBuildBlockShape": ("pytorch_build", "git_commit hip_version cuda_version debug install_kind source_path submodule_commits"),
}
for _class, (_block, _keys) in KEYS.items():
    @case(f"{_class}.block_keys_stable")
    def _(r, block=_block, keys=_keys):
        assert list(r.probe()[block]) == keys.split()
        assert list(r.healthy().probe()[block]) == keys.split()


# hardware ----------------------------------------------------------------------------------------
@case("hardware.links_firmware_and_power_of_an_amd_gpu")
def _(r):
    slot = "/sys/bus/pci/devices/0000:02:00.0"
    for name, v in (("numa_node", "1"), ("max_link_speed", "32.0 GT/s PCIe"), ("current_link_width", "16"), ("mem_info_vram_total", "206141652992"),
                    ("fw_version/smc_fw_version", "0x00556f00"), ("hwmon/hwmon3/power1_cap", "750000000"), ("ras/umc_err_count", "ue: 0\nce: 2"),
                    ("pp_dpm_sclk", "0: 132Mhz *\n1: 2100Mhz"), ("current_link_speed", "-1")):
        r.file(f"{slot}/{name}", v + "\n")
    for i, kind in enumerate((2, 11, 11)):
        r.file(f"/sys/class/kfd/kfd/topology/nodes/1/io_links/{i}/properties", f"type {kind}\nversion_major 0\n")
    d = r.healthy().probe()["assay"]
    (g,) = d["gpus"]
    got = {k: g.get(k) for k in ("numa_node", "max_link_speed", "link_width", "vram_bytes", "firmware.smc", "power_cap_uw", "max_sclk_mhz", "xgmi_links")}
    assert got == {"numa_node": "1", "max_link_speed": "32.0 GT/s PCIe", "link_width": "16", "vram_bytes": "206141652992",
                   "firmware.smc": "0x00556f00", "power_cap_uw": "750000000", "max_sclk_mhz": "2100", "xgmi_links": "2"}, g
    assert d["probe"]["live"] == {g["bus"] + ".ras_umc": "ue: 0\nce: 2"}, d["probe"]


@case("hardware.network_cards_with_ports_and_drivers")
def _(r):
    r.file("/sys/class/infiniband/mlx5_0/fw_ver", "28.43\n").file("/sys/class/infiniband/mlx5_0/ports/1/rate", "400 Gb/sec (4X NDR)\n")
    r.file("/sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n").dir("/sys/bus/pci/drivers/mlx5_core")
    r.dir("/sys/class/infiniband/mlx5_0/device").link("/sys/class/infiniband/mlx5_0/device/driver", "/sys/bus/pci/drivers/mlx5_core")
    r.file("/sys/class/net/lo/mtu", "65536\n").file("/sys/class/net/ens1/mtu", "9000\n").file("/sys/class/net/ens1/speed", "200000\n")
    r.link("/sys/class/net/ens1/device/driver", "/sys/bus/pci/drivers/mlx5_core") if r.dir("/sys/class/net/ens1/device") else None
    n = r.healthy().probe()["assay"]["nics"]
    assert n == {"mlx5_0.fw_ver": "28.43", "mlx5_0.driver": "mlx5_core", "mlx5_0.port1.state": "4: ACTIVE",
                 "mlx5_0.port1.rate": "400 Gb/sec (4X NDR)", "ens1.mtu": "9000", "ens1.speed_mbit": "200000", "ens1.driver": "mlx5_core"}, n
