"""Facts that used to be made up, taken from the wrong place, or lost while a file changed."""
import json
import os
import shutil
import subprocess
import threading

from fixture import ASSAY, elf
from harness import case


@case("truth.a_hip_build_number_is_no_rocm_release")
def _(r):
    for n in ("libhiprtc-builtins.so.5.7.31921", "libamdhip64.so.6.4.43484"):
        r.file("/usr/lib/x86_64-linux-gnu/" + n, elf(soname=n))
    d = r.probe()
    assert d["rocm"]["version"] is None, d["rocm"]
    r.file("/usr/lib/x86_64-linux-gnu/librocblas.so.4.4.60401", elf(soname="librocblas.so.4"))
    assert r.probe()["rocm"]["version"] == "6.4.1"


@case("truth.the_hsa_runtime_alone_is_no_hip")
def _(r):
    r.file("/usr/lib/x86_64-linux-gnu/libhsa-runtime64.so.1", elf(soname="libhsa-runtime64.so.1"))
    d = r.probe()
    assert set(d["hip"].values()) == {None} and "hip" in d["assay"]["absent"], d["hip"]
    r.file("/usr/lib/x86_64-linux-gnu/libamdhip64.so.6", elf(soname="libamdhip64.so.6"))
    assert r.probe()["hip"]["platform"] == "amd"


@case("truth.a_pods_uid_is_no_container_id")
def _(r):
    pod, cid = "pod0aa1b2c3_1234_5678_9abc_0123456789ab", "ab" * 32
    for line in (f"0::/kubepods.slice/kubepods-{pod}.slice/cri-containerd-{cid}.scope",
                 f"0::/kubepods/burstable/{pod.replace('_', '-')}/{cid}"):
        d = r.file("/proc/self/cgroup", line + "\n").file("/proc/1/cgroup", line + "\n").probe()
        assert d["docker"]["container_id"] == cid, d["docker"]
    d = r.file("/proc/self/cgroup", f"0::/kubepods/{pod.replace('_', '-')}\n").probe()
    assert d["docker"]["container_id"] is None


@case("truth.an_image_has_not_the_probers_variables")
def _(r):
    r.healthy()
    e = {"PATH": "/usr/bin:/bin", "HSA_OVERRIDE_GFX_VERSION": "10.3.0", "KUBERNETES_SERVICE_HOST": "10.0.0.1",
         "HSA_XNACK": "1"}
    p = subprocess.run([ASSAY, "env", "--root", r.top, "-o", "-"], env=e, capture_output=True)
    d = json.loads(p.stdout)
    assert d["runtime_context"]["type"] == "baremetal" and not d["assay"]["kubernetes"]
    assert d["assay"]["gpu_arch"]["override"] is None and set(d["env_vars"].values()) == {None}
    assert d["assay"]["variables"] == "none"
    d = r.probe(env={"HSA_XNACK": "1"})
    assert d["env_vars"]["HSA_XNACK"] == "1" and d["assay"]["variables"] == "given"


@case("truth.variables_of_an_image_are_unknown_not_unset")
def _(r):
    from cases_diff import diff_json
    p = subprocess.run([ASSAY, "env", "--root", r.healthy().top, "-o", "-"], env={"PATH": "/bin"}, capture_output=True)
    out = diff_json(r, r.probe(env={"HSA_XNACK": "1"}), json.loads(p.stdout))[1]
    rows = {x["path"]: x["kind"] for x in out["rows"]}
    assert rows["env_vars.HSA_XNACK"] == "unknown on one side", rows


@case("truth.a_library_that_shrinks_meanwhile_ends_no_probe")
def _(r):
    r.healthy()
    path = r.path("/opt/rocm/lib/librocblas.so.4.4.60401")
    whole = elf(soname="librocblas.so.4", payload=b"x" * (6 << 20))
    stop = threading.Event()

    def churn():
        while not stop.is_set():
            with open(path, "wb") as f:
                f.write(whole)
            os.truncate(path, 100)
    t = threading.Thread(target=churn)
    t.start()
    try:
        codes = [r.run("-o", "-").returncode for _ in range(12)]
    finally:
        stop.set()
        t.join()
    assert codes == [0] * 12, codes


@case("truth.a_process_in_another_mount_namespace_is_seen_from_inside")
def _(r):
    """The container maps its own librocblas under a name that leads to another file outside."""
    if os.geteuid() or subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode:
        return "unshare -m is not permitted"
    if not shutil.which("cc"):
        return "no C compiler"
    folder = "/tmp/assay-ns-test"
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    lib = "librocblas.so.4"
    for name, value in (("inside", 1), ("outside", 2)):
        with open(r.path(f"/{name}.c"), "w") as f:
            f.write(f"int assay_x = {value};\n")
        os.makedirs(r.path("/" + name), exist_ok=True)
        subprocess.run(["cc", "-shared", "-fPIC", f"-Wl,-soname,{lib}", "-o", r.path(f"/{name}/{lib}"),
                        r.path(f"/{name}.c")], check=True)
    shutil.copy(r.path("/outside/" + lib), folder)
    code = f"import ctypes, sys, time; ctypes.CDLL('{folder}/{lib}'); print('up', flush=True); time.sleep(60)"
    p = subprocess.Popen(["unshare", "-m", "sh", "-c", f"mount --bind {r.path('/inside')} {folder} && exec python3 -c \"{code}\""],
                         stdout=subprocess.PIPE)
    try:
        assert p.stdout.readline() == b"up\n"
        out = subprocess.run([ASSAY, "env", "--pid", str(p.pid), "-o", "-"], capture_output=True)
        d = json.loads(out.stdout)
    finally:
        p.kill()
        p.wait()
        shutil.rmtree(folder, ignore_errors=True)
    from harness import sha
    want = sha(open(r.path("/inside/" + lib), "rb").read())
    got = d["assay"]["libraries"]["rocblas"]["effective"]
    assert got["sha256"] == want and got["path"] == f"{folder}/{lib}", got
