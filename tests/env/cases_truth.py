"""Facts that used to be made up, taken from the wrong place, or lost while a file changed."""
import json
import os
import shutil
import subprocess
import threading
import time

from fixture import ASSAY, PATIENCE, SITE, elf, findings, until
from harness import case


# names that are in no block of the snapshot
READ_BY_PROBES = {"AORTA_DOCKER_IMAGE", "AORTA_DOCKER_DIGEST", "AORTA_PYTORCH_SRC", "AOTRITON_INSTALLED_PREFIX", "CONDA_DEFAULT_ENV", "CONDA_PREFIX",
                  "HIP_PLATFORM", "HOME", "NCCL_TUNER_PLUGIN", "PYENV_VERSION", "PYTHONPATH", "PYTHONUSERBASE", "ROCBLAS_TENSILE_GEMM_OVERRIDE_PATH",
                  "ROCM_TARGET_LST", "SINGULARITY_NAME", "container"}


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
    folder = r.path("/place")
    os.makedirs(folder)
    lib = "librocblas.so.4"
    for name, value in (("inside", 1), ("outside", 2)):
        with open(r.path(f"/{name}.c"), "w") as f:
            f.write(f"int assay_x = {value};\n")
        os.makedirs(r.path("/" + name), exist_ok=True)
        subprocess.run(["cc", "-shared", "-fPIC", f"-Wl,-soname,{lib}", "-o", r.path(f"/{name}/{lib}"),
                        r.path(f"/{name}.c")], check=True)
    shutil.copy(r.path("/outside/" + lib), folder)
    code = f"import ctypes, sys, time; ctypes.CDLL('{folder}/{lib}'); print('up', flush=True); time.sleep(3600)"
    p = subprocess.Popen(["unshare", "-m", "sh", "-c", f"mount --bind {r.path('/inside')} {folder} && exec python3 -c \"{code}\""],
                         stdout=subprocess.PIPE)
    try:
        assert p.stdout.readline() == b"up\n"
        out = subprocess.run([ASSAY, "env", "--pid", str(p.pid), "-o", "-"], capture_output=True)
        d = json.loads(out.stdout)
    finally:
        p.kill()
        p.wait()
    from harness import sha
    want = sha(open(r.path("/inside/" + lib), "rb").read())
    got = d["assay"]["libraries"]["rocblas"]["effective"]
    assert got["sha256"] == want and got["path"] == f"{folder}/{lib}", got


@case("truth.submodules_are_what_is_checked_out")
def _(r):
    from cases_blocks import source_tree
    src = "/src/pytorch"
    source_tree(r.healthy())
    sub = f"{src}/third_party/fbgemm"
    r.file(f"{sub}/.git", "gitdir: ../../.git/modules/fbgemm\n")
    r.file(f"{src}/.git/modules/fbgemm/HEAD", "c" * 40 + "\n")
    d = r.probe(env={"AORTA_PYTORCH_SRC": src, "HOME": "/root"})
    assert d["pytorch_build"]["submodule_commits"]["fbgemm"] == "c" * 40
    assert findings(d, "submodule-moved"), findings(d)


@case("truth.a_home_folder_in_the_source_override_is_expanded")
def _(r):
    r.healthy().dir("/home/me/pytorch/third_party")
    d = r.probe(env={"AORTA_PYTORCH_SRC": "~/pytorch", "HOME": "/home/me"})
    assert d["pytorch_build"]["source_path"] == "/home/me/pytorch" and d["pytorch_build"]["install_kind"] == "source"


@case("truth.eggs_are_installed_and_empty_leftovers_are_not")
def _(r):
    info = "Metadata-Version: 1.2\nName: {}\nVersion: {}\n\nBody: x\n"
    r.healthy().remove(f"/{SITE}/triton-3.4.0.dist-info")
    r.dir(f"/{SITE}/triton-9.9.9.dist-info")
    r.file(f"/{SITE}/triton.egg-link", "/src/triton/python\n../\n")
    r.file("/src/triton/python/triton.egg-info/PKG-INFO", info.format("triton", "3.5.0+git8b3c4f1"))
    r.file(f"/{SITE}/amd_aiter-0.1.5-py3.11.egg/EGG-INFO/PKG-INFO", info.format("amd-aiter", "0.1.5"))
    r.file(f"/{SITE}/fbgemm_gpu-1.2.0-py3.11.egg-info", info.format("fbgemm_gpu", "1.2.0"))
    d = r.probe()
    assert d["triton"]["package_version"] == "3.5.0+git8b3c4f1", d["triton"]
    assert d["aiter"]["package_version"] == "0.1.5" and d["fbgemm"]["package_version"] == "1.2.0"


@case("truth.every_package_and_where_it_came_from")
def _(r):
    url = {"url": "https://me:tok3n@git.example/x.git?k=1", "vcs_info": {"vcs": "git", "commit_id": "d" * 40}}
    r.healthy().dist("transformers", "4.57.0").dist("sglang", "0.5.1", extra={"direct_url.json": json.dumps(url)})
    d = r.probe()
    p = d["assay"]["python"]
    assert p["packages"]["transformers"] == "4.57.0" and p["packages"]["sglang"] == "0.5.1"
    assert p["package_sources"] == {"sglang": "https://git.example/x.git@" + "d" * 40}, p["package_sources"]
    r.file("/opt/conda/conda-meta/python-3.11.9-hb806964_0_cpython.json", "{}").file(
        "/opt/conda/conda-meta/intel-openmp-2024.1-ha_1.json", "{}").dir("/opt/conda/lib/python3.11/site-packages")
    c = r.probe(env={"VIRTUAL_ENV": None, "CONDA_PREFIX": "/opt/conda"})["assay"]["python"]["conda"]
    assert c == {"python": "3.11.9 hb806964_0_cpython", "intel-openmp": "2024.1 ha_1"}, c


@case("truth.variables_by_prefix_and_never_a_secret")
def _(r):
    d = r.probe(env={"VLLM_ROCM_USE_AITER": "1", "VLLM_API_KEY": "abc", "NVTE_FUSED_ATTN": "0", "NCCL_PROXY": "http://u:p@h/",
                     "TORCH_HIPBLASLT_TUNING_FILE": "https://u:secret@h/f", "HF_TOKEN": "hf_abc"})
    v = d["assay"]["env_vars"]
    assert v["VLLM_ROCM_USE_AITER"] == "1" and v["NVTE_FUSED_ATTN"] == "0" and "HF_TOKEN" not in v
    text = json.dumps(d)
    assert "secret@" not in text and "u:p@" not in text and v["VLLM_API_KEY"] == "(hidden)", v


@case("truth.no_variable_a_probe_looks_at_lets_a_secret_out")
def _(r):
    r.healthy()
    names = set(r.probe()["env_vars"]) | set(r.probe()["assay"]["env_vars"]) | READ_BY_PROBES
    for secret in ("https://me:hunter2@host/x", "/p --password hunter2"):
        # one at a time: some change what is looked at next
        for name in sorted(names - {"VIRTUAL_ENV", "PATH"}):
            out = r.run("-v", "--env", f"{name}={secret}")
            assert b"hunter2" not in out.stdout + out.stderr, (name, secret)


@case("truth.where_a_package_came_from_lets_no_secret_out")
def _(r):
    for url in ("https://me:hunter2@h/x.whl", "git+https://hunter2@h/x", "https://h/x.whl?sig=hunter2", "https://me:a/hunter2@h/x", "ssh://git:hunter2@h/x"):
        r.venv().dist("pkg", "1.0", extra={"direct_url.json": json.dumps({"url": url, "archive_info": {}})})
        d = r.probe()
        assert "hunter2" not in json.dumps(d) and "pkg" in d["assay"]["python"]["package_sources"], d["assay"]["python"]["package_sources"]


@case("truth.torch_without_code_for_the_gpu_is_found_on_amd_too")
def _(r):
    if not shutil.which("cc"):
        return "no C compiler"
    r.healthy()
    with open(r.path("/x.c"), "w") as f:
        f.write('const char *archs(void) { return "gfx1100 gfx1101"; }\n')
    subprocess.run(["cc", "-shared", "-fPIC", "-o", r.path(f"/{SITE}/torch/lib/libtorch_python.so"), r.path("/x.c")], check=True)
    assert findings(r.probe(), "torch-arch") == ["torch was built for gfx1100 gfx1101, the GPU is gfx942"]
    d = r.probe(env={"HSA_OVERRIDE_GFX_VERSION": "11.0.0"})
    assert not findings(d, "torch-arch"), findings(d)
    assert any("gfx1100" in f for f in findings(d, "kernel-db-arch")), findings(d)


@case("truth.fields_with_dots_in_their_names_are_reached")
def _(r):
    r.healthy().file("/proc/cmdline", "iommu=pt")
    p = r.run("--field", "assay.host.boot.iommu")
    assert p.stdout == b"pt\n", (p.stdout, p.stderr)


def sorted_but_for_probe(file):
    return subprocess.run(["jq", "-S", "del(.assay.probe)", file], check=True, capture_output=True).stdout


@case("truth.two_probes_differ_in_one_block_only")
def _(r):
    """Of an image and of this very machine, a second apart."""
    r.healthy()
    if not shutil.which("jq"):
        return "no jq here"
    for where, root in (("image", ["--root", r.top]), ("host", [])):
        moments = []
        for name in ("a", "b"):
            file = r.path(f"/{where}-{name}.json")
            subprocess.run([ASSAY, "env", *root, "-o", file], check=True, capture_output=True, timeout=PATIENCE)
            moments.append(json.load(open(file))["assay"]["probe"]["captured_at"])
            until(lambda: time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()) > moments[-1], "the next second")
        a, b = (sorted_but_for_probe(r.path(f"/{where}-{name}.json")) for name in ("a", "b"))
        assert a == b and moments[0] < moments[1], (where, moments)


@case("truth.the_moment_on_top_is_the_one_that_was_given")
def _(r):
    r.healthy()
    def made(epoch):
        env = {**os.environ, "SOURCE_DATE_EPOCH": epoch}
        p = subprocess.run([ASSAY, "env", "--root", r.top, "--json"], env=env, capture_output=True, timeout=PATIENCE)
        return json.loads(p.stdout)["captured_at"]
    assert made("1700000000") == "2023-11-14T22:13:20Z" and made("253402300799") == "9999-12-31T23:59:59Z"
    for odd in ("", "-1", "soon", "253402300800", "99999999999999999999"):
        assert made(odd) == "1970-01-01T00:00:00Z", odd
