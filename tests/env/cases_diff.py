"""assay env diff."""
import hashlib
import json
import os
import subprocess

from fixture import ASSAY, PATIENCE, Root, elf
from harness import case, in_time


# env diff (15) -----------------------------------------------------------------------------------
def diff(r, *docs, args=(), files=None):
    names = []
    for i, d in enumerate(docs):
        r.file(f"/{i}.json", d if isinstance(d, str) else json.dumps(d, indent=2))
        names.append(r.path(f"/{i}.json"))
    p = subprocess.run([ASSAY, "env", "diff", *args, *(files or names)], capture_output=True, timeout=PATIENCE)
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
    assert rows["env_vars.NCCL_IB_HCA"]["deviating"] == [{"snapshot": r.path("/5.json"), "value": None, "state": "absent"}]
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
    b["assay"]["probe"]["probe_ms"]["total"] = 99.0
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
    assert p.returncode == 1 and b"6.3 in 1 of 3" in p.stdout and p.stdout.count(b"6.4 (newer)\n") == 2, p.stdout


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
    rc, out, _ = in_time(lambda: diff(r, files=names), 10)
    assert rc == 1 and "500.json" in out, (rc, out)


# Absence ----------------------------------------------------------------------------------------
def rows_of(r, a, b):
    rc, out = diff_json(r, a, b)
    return rc, out["rows"], out["sentence"]


@case("diff.a_missing_gpu_is_a_difference_matched_by_bus")
def _(r):
    a = r.kfd(archs=(0,) + (90402,) * 8).probe()
    q = Root().kfd(archs=(0,) + (90402,) * 8)
    q.remove("/sys/class/kfd/kfd/topology/nodes/3")
    b = q.probe()
    q.drop()
    rc, rows, sentence = rows_of(r, a, b)
    gone = [x for x in rows if x["kind"] == "absent" and not x["follows_from"]]
    assert rc == 1 and [x["path"] for x in gone] == ["assay.gpus.0000:04:00.0"], gone
    assert "lacks the GPU at 0000:04:00.0" in sentence, sentence
    assert not [x for x in rows if "0000:05" in x["path"]]


@case("diff.an_absent_hipblaslt_is_the_cause_not_runpath")
def _(r):
    a = r.healthy().probe()
    q = Root().healthy()
    for n in ("libhipblaslt.so", "libhipblaslt.so.0", "libhipblaslt.so.0.4.60401", "hipblaslt"):
        q.remove("/opt/rocm/lib/" + n)
    q.remove("/opt/rocm/include/hipblaslt")
    b = q.probe()
    q.drop()
    rc, rows, sentence = rows_of(r, a, b)
    roots = [x for x in rows if not x["follows_from"] and x["kind"] != "unknown on one side"]
    assert rc == 1 and [(x["path"], x["kind"]) for x in roots] == [("hipblaslt", "absent")], roots
    assert "lacks hipBLASLt" in sentence and "follow" in sentence, sentence
    text = diff(r, a, b)[1]
    assert text.index("lacks hipBLASLt") < text.index("math libraries") and text.count("\n  ") < 12, text


@case("diff.a_missing_card_and_a_missing_boot_option_are_differences")
def _(r):
    for i in range(2):
        r.file(f"/sys/class/infiniband/mlx5_{i}/fw_ver", "28.1\n")
    a = r.file("/proc/cmdline", "quiet iommu=pt amd_iommu=on").probe()
    r.remove("/sys/class/infiniband/mlx5_1").file("/proc/cmdline", "quiet iommu=pt")
    rc, rows, sentence = rows_of(r, a, r.probe())
    got = {(x["path"], x["kind"]) for x in rows if not x["follows_from"]}
    assert rc == 1 and got == {("assay.nics.mlx5_1", "absent"), ("assay.host.boot.amd_iommu", "absent")}, got
    r.remove("/proc/cmdline")
    rows = {x["path"]: x["kind"] for x in rows_of(r, a, r.probe())[1]}
    assert rows["assay.host.boot.iommu"] == "unknown on one side", rows


@case("diff.an_empty_snapshot_is_never_identical")
def _(r):
    a = r.healthy().probe()
    rc, out, _ = diff(r, a, {"schema_version": "1.1"})
    assert "0 of" in out and "identical\n" not in out.replace("groups identical", "") and "unknown on one side" in out, out
    assert diff(r, a, {"schema_version": "1.1"}, args=("--fail-on", "unknown"))[0] == 1
    rc, out = diff_json(r, a, {"schema_version": "1.1"})
    assert not any(out["identical"].values()) and out["sentence"] != "identical"


@case("diff.fail_on_unknown_takes_what_nobody_knows_and_what_some_of_many_do_not")
def _(r):
    dark, a, b = ({"schema_version": "1.1", "rocm": {"version": v}} for v in (None, "6.4", "6.3"))
    assert [diff(r, *pair, args=("--fail-on", "unknown"))[0] for pair in ((dark, dark), (a, b), (a, a))] == [1, 0, 0]
    assert diff(r, a, b, dark, args=("--fail-on", "unknown"))[0] == 1


@case("diff.fail_on_looks_at_the_named_groups_only")
def _(r):
    a = r.healthy().probe()
    b = json.loads(json.dumps(a))
    b["env_vars"]["HSA_XNACK"] = "1"
    assert diff(r, a, b, args=("--fail-on", "variables"))[0] == 1
    assert diff(r, a, b, args=("--fail-on", "driver,kernels"))[0] == 0
    rc, _, err = diff(r, a, b, args=("--fail-on", "drivers"))
    assert rc == 2 and "drivers" in err and "driver," in err, err


@case("diff.explain_names_the_command")
def _(r):
    a = r.healthy().probe(env={"HSA_XNACK": "1"})
    b = json.loads(json.dumps(a))
    b["env_vars"]["HSA_XNACK"] = None
    b["assay"]["python"]["packages"]["triton"] = b["triton"]["package_version"] = "3.5.0"
    out = diff(r, a, b, args=("--explain",))[1]
    assert "export HSA_XNACK=1" in out and "pip install triton==3.4.0" in out, out
    assert "unset HSA_XNACK" in diff(r, b, a, args=("--explain",))[1]
    md = diff(r, a, b, args=("--markdown", "--explain"))[1]
    first = md.splitlines()[0]
    assert first.startswith("**") and first.endswith("**") and "| `env_vars.HSA_XNACK` | 1 | (unset) |" in md, md


@case("diff.hashed_against_not_hashed_is_unknown")
def _(r):
    a, b = r.healthy().probe(), r.probe("--no-hash")
    rc, out = diff_json(r, a, b)
    assert rc == 0 and out["different"] == 0 and out["unknown"], [x for x in out["rows"] if x["kind"] != "unknown on one side"]


@case("diff.an_even_split_is_no_majority")
def _(r):
    docs = [{"schema_version": "1.1", "rocm": {"version": v}} for v in ("6.3", "6.4", "6.4", "6.3")]
    out = diff(r, *docs)[1]
    assert "no majority" in out and "2 alike" in out and "deviates most" not in out, out


@case("diff.hosts_that_are_alike_are_told_together")
def _(r):
    d = r.healthy().probe()
    docs = []
    for i in range(50):
        e = json.loads(json.dumps(d))
        e["assay"]["host"]["hostname"] = f"n{i:02}"
        e["assay"]["nics"] = {f"mlx5_{k}.fw_ver": "28" for k in range(4)}
        e["assay"]["absent"].append("assay.nics.*")
        if i % 3 == 1:
            e["rocm"]["kmd_version"] = "6.10"
            del e["assay"]["nics"]["mlx5_3.fw_ver"]
        docs.append(e)
    rc, out = diff_json(r, *docs)
    odd = [f"n{i:02}" for i in range(50) if i % 3 == 1]
    assert [len(c) for c in out["clusters"]] == [33, 17] and out["clusters"][1] == odd, out["clusters"]
    text = diff(r, *docs)[1]
    assert "17 alike: n01 n04" in text and "on the same as assay.nics.mlx5_3" in text and "14 more lack mlx5_3" in text, text


@case("diff.many_hosts_are_told_by_what_they_say")
def _(r):
    kernels = ["6.8"] * 40 + ["6.9"] * 20 + ["6.11"] * 10 + [f"7.{i}" for i in range(30)]
    docs = [{"schema_version": "1.1", "host": {"kernel_release": k}, "assay": {"host": {"hostname": f"n{i:02}"}}} for i, k in enumerate(kernels)]
    text = diff(r, *docs)[1]
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert "host.kernel_release 6.8 in 40 of 100" in lines and "n40 n41 n42 n43 n44 n45 n46 and 13 more 6.9 (newer)" in lines, text
    assert "n60 n61 n62 n63 n64 n65 n66 and 3 more 6.11" in lines and "n70 7.0" in lines and "and 24 more with 24 other values" in lines, text
    cell = "| 6.8 | 6.9 (newer): 20, 6.11: 10, 7.0: 1, 7.1: 1, 7.2: 1, 7.3: 1, 7.4: 1, 7.5: 1 and 24 more values | 40 of 100 |"
    assert cell in diff(r, *docs, args=("--markdown",))[1]


@case("check.a_rule_without_a_path_is_trouble")
def _(r):
    r.file("/rules", ">= 6.4\n")
    r.file("/a.json", '{"schema_version": "1.1"}')
    p = subprocess.run([ASSAY, "env", "check", r.path("/rules"), r.path("/a.json")], capture_output=True, text=True)
    assert p.returncode == 2 and "line 1: expected PATH" in p.stderr, p


@case("check.rules_and_exit_status")
def _(r):
    r.file("/rules", "rocm.version >= 6.4\nassay.gpus.* count 1\nhipblaslt present\nrocblas.lib_hash equal\n")
    a = r.healthy().probe()
    b = json.loads(json.dumps(a))
    b["rocm"]["version"], b["rocblas"]["lib_hash"] = "6.3.9", "sha256:0"
    for i, d in enumerate((a, b)):
        r.file(f"/{i}.json", json.dumps(d))

    def check(*names):
        p = subprocess.run([ASSAY, "env", "check", *(r.path(n) for n in names)], capture_output=True)
        return p.returncode, p.stdout.decode(), p.stderr.decode()
    assert check("/rules", "/0.json") == (0, "", "")
    rc, out, _ = check("/rules", "/0.json", "/1.json")
    assert rc == 1 and len(out.splitlines()) == 2 and "6.3.9, expected >= 6.4" in out and "lib_hash" in out, out
    rc, out, err = check("/0.json", "/0.json")
    assert rc == 2 and not out and "line 1" in err, err
    assert check("/none", "/0.json")[0] == 2


@case("diff.files_of_kernel_databases_are_named")
def _(r):
    library = "/opt/rocm/lib/hipblaslt/library"
    q = r.healthy()
    for i in range(40):
        q.file(f"{library}/TensileLibrary_Type_{'BB' if i < 20 else 'HH'}_HPA_{i:02}_gfx942.co", f"kernel {i}")
    for name in "ab":
        p = subprocess.run([ASSAY, "env", "--root", r.top, "-o", r.path(f"/{name}.json")], capture_output=True)
        assert p.returncode == 0
        q.file(f"{library}/TensileLibrary_Type_BB_HPA_07_gfx942.co", "kernel B")
    catalog = json.load(open(r.path("/a.catalog.json")))
    db = next(d for d in catalog["databases"] if d["library"] == "hipblaslt")
    want = hashlib.sha256(b"kernel 30").hexdigest()
    assert db["files"]["TensileLibrary_Type_HH_HPA_30_gfx942.co"] == [9, "sha256:" + want], db
    command = [ASSAY, "env", "diff", r.path("/a.json"), r.path("/b.json")]
    out = subprocess.run(command, capture_output=True, text=True).stdout
    first = out.splitlines()[1]
    assert "1 of " in first and "files differ, all gfx942, all BF16: TensileLibrary_Type_BB_HPA_07_gfx942.co" in first, out
    os.rename(r.path("/a.catalog.json"), r.path("/b.catalog.json"))  # of another snapshot: not believed
    assert "files differ" not in subprocess.run(command, capture_output=True, text=True).stdout


@case("diff.missing_gpus_are_counted_in_one_sentence")
def _(r):
    a = r.healthy().kfd((0, 90402, 90402, 90402)).probe()
    b = r.remove("/sys/class/kfd").probe()
    rc, out = diff_json(r, a, b)
    assert rc == 1 and "lacks 3 GPUs (0000:02:00.0, 0000:03:00.0, 0000:04:00.0)" in out["sentence"], out["sentence"]
    assert "other" not in out["sentence"], out["sentence"]


@case("diff.one_more_library_on_the_search_path_is_one_difference")
def _(r):
    a = r.healthy().probe()
    b = r.lib("/usr/lib", "librocblas", "9", "9.1").probe()
    rc, out = diff_json(r, a, b)
    assert rc == 1 and "lacks librocblas on the system's search path" in out["sentence"] and "other" not in out["sentence"], out["sentence"]


@case("diff.what_a_name_does_not_say_is_not_unknown")
def _(r):
    r.healthy().file("/usr/lib/libcudart.so.12", elf(soname="libcudart.so.12")).file("/sys/class/net/lo/mtu", "1")
    a = r.probe()
    rc, out, _ = diff(r, a, a, args=("--unknown",))
    assert rc == 0 and "libraries" not in out and "facts are unknown" in out and "unknown to all: host." in out, out


@case("check.takes_run_directories_too")
def _(r):
    r.file("/run/env.json", json.dumps(r.healthy().probe())).file("/rules", "rocm.version >= 6.4\n")
    p = subprocess.run([ASSAY, "env", "check", r.path("/rules"), r.path("/run/")], capture_output=True, text=True)
    assert (p.returncode, p.stdout, p.stderr) == (0, "", ""), p


def library(version, digest, path="/x/libnccl.so.2", package="nvidia-nccl-cu12"):
    return {"path": path, "version": version, "sha256": "sha256:" + digest, "size": 1, "where": "wheel",
            "owner": {"manager": "pip", "package": package, "version": version}}


def with_libraries(packages=(), **nccl):
    return {"schema_version": "1.1", "rccl": {"lib_hash": None}, "assay": {"version": "0", "absent": ["rccl", "assay.libraries.*", "assay.python.packages.*"],
            "python": {"packages": dict(packages)}, "libraries": {"nccl": nccl}}}


@case("diff.a_library_of_another_version_is_told_once_by_its_package")
def _(r):
    a, b = (with_libraries([("nvidia-nccl-cu12", v)], effective=library(v, digest)) for v, digest in (("2.27.3", "a1"), ("2.28.9", "b2")))
    rc, out = diff_json(r, a, b)
    assert rc == 1 and "nvidia-nccl-cu12 is 2.28.9 (newer) on " in out["sentence"] and "2 more differences follow from it" in out["sentence"], out["sentence"]
    assert "other" not in out["sentence"] and diff(r, a, b, args=("--fail-on", "runtime"))[0] == 1, out["sentence"]
    for d in (a, b):
        d["assay"]["python"]["packages"] = {}
    assert "the libnccl that torch loads is 2.28.9 (newer) on " in diff_json(r, a, b)[1]["sentence"]
    b["assay"]["libraries"]["nccl"]["effective"]["version"] = "2.27.3"
    assert "same version, different build" in diff(r, a, b)[1]


@case("diff.a_rebuilt_library_beside_a_newer_one_is_no_consequence_of_it")
def _(r):
    docs = [with_libraries(effective=library(v, digest)) for v, digest in (("1", "aa"), ("1", "aa"), ("1", "aa"), ("2", "bb"), ("1", "cc"))]
    rows = {row["path"]: row for row in diff_json(r, *docs)[1]["rows"]}
    assert not rows["assay.libraries.nccl.effective.sha256"].get("follows_from"), rows


@case("diff.what_torch_does_not_load_is_told_behind_what_it_does")
def _(r):
    torch = library("2.28.9", "aa")
    a, b = (with_libraries(effective=torch, plain=library(v, digest, "/usr/lib/libnccl.so.2", "libnccl2")) for v, digest in (("2.28.3", "cc"), ("2.27.1", "dd")))
    rc, out = diff_json(r, a, b)
    assert rc == 1 and "libnccl on the system's search path is 2.27.1 (older) on " in out["sentence"], out["sentence"]
    assert {row["group"] for row in out["rows"]} == {"host"}, out["rows"]
    assert diff(r, a, b, args=("--fail-on", "runtime,math"))[0] == 0
    # one and the same file is told of once
    for d, v, digest in ((a, "2.28.3", "cc"), (b, "2.27.1", "dd")):
        d["assay"]["libraries"]["nccl"] = {"effective": library(v, digest), "plain": library(v, digest)}
    out = diff_json(r, a, b)[1]
    assert not [row for row in out["rows"] if ".plain." in row["path"]] and "other" not in out["sentence"], out


@case("diff.one_file_named_in_two_places_is_one_difference")
def _(r):
    a, b = (with_libraries(effective=library("2.28", digest)) for digest in ("aa", "bb"))
    for d, digest in ((a, "aa"), (b, "bb")):
        d["assay"]["effective"] = {"jax": {"libraries": {"nccl": {"sha256": "sha256:" + digest}}}}
    out = diff_json(r, a, b)[1]
    assert "1 more difference follows" in out["sentence"] and "other" not in out["sentence"], out["sentence"]


@case("diff.packages_named_like_a_field_are_compared")
def _(r):
    names = ("path", "root", "prefix", "owner", "sites", "torch.path")
    a, b = (with_libraries([(n, v) for n in names]) for v in ("1.0", "2.0"))
    rc, out = diff_json(r, a, b)
    assert rc == 1 and len(out["rows"]) == len(names), out
    a, b = (with_libraries([("gitlike", v)]) for v in ("20240101", "202401012"))
    assert diff_json(r, a, b)[0] == 1


@case("diff.cards_of_many_machines_are_no_swaps_whatever_their_serial_says")
def _(r):
    docs = [{"schema_version": "1.1", "assay": {"version": "0", "host": {"hostname": f"n{i}", "boot_id": f"b{i}"},
             "gpus": [{"bus": "0000:01:00.0", "uuid": f"GPU-{i}", "serial": "0"}]}} for i in range(3)]
    assert diff_json(r, *docs)[1]["sentence"] == "identical"
    docs[1]["assay"]["host"]["boot_id"] = docs[0]["assay"]["host"]["boot_id"]  # one machine, two containers
    assert "is another card" in diff_json(r, *docs[:2])[1]["sentence"]
