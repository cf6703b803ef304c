"""assay env on trees of real wheels and Debian packages, each field against importlib.metadata, readelf, dpkg and
torch/version.py. By hand: it downloads about 5 GB. usage: real_trees.py [FOLDER [WORD...]]   trees stay there for the
next time; only those whose name holds one of the words."""
import importlib.metadata
import json
import os
import re
import runpy
import subprocess
import sys

ASSAY = os.environ.get("ASSAY", "build/release/assay")
GPU = re.compile(r"lib(cu|nv|nccl|amd|hip|roc|rccl|MIOpen|hsa)")
TREES = {
    "torch": ["torch", "triton", "nvidia-nccl-cu13", "nvidia-cudnn-cu13", "nvidia-nvshmem-cu13"],
    "jax-cuda": ["jax", "jaxlib", "jax-cuda12-plugin", "jax-cuda12-pjrt", "nvidia-cuda-runtime-cu12", "nvidia-cuda-nvrtc-cu12"],
    "jax-rocm": ["jax", "jaxlib", "jax-rocm7-plugin", "jax-rocm7-pjrt"],
    "tensorflow-rocm": ["tensorflow-rocm"],
    "tensorflow": ["tensorflow", "nvidia-cublas-cu12", "nvidia-cudnn-cu12", "nvidia-cuda-runtime-cu12", "nvidia-nccl-cu12", "nvidia-cufft-cu12"],
    "vllm": ["vllm"],
}
DEBIAN = {
    "bookworm": ["libamdhip64-5", "libhsa-runtime64-1", "rocminfo"],
    "trixie": ["librocblas0", "librocfft0", "librccl1", "libhipblas0", "libamdhip64-5", "libhsa-runtime64-1", "rocminfo"],
}
failed = 0


def check(what, ok, why=""):
    global failed
    failed += not ok
    print(f"{'ok' if ok else 'not ok'} - env: real tree {what}{'' if ok else f': {why}'}", flush=True)


def tree_of(top, name, wheels):
    root = f"{top}/{name}"
    site = f"{root}/usr/lib/python3/dist-packages"
    if not os.path.isdir(site):
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        p = subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-compile", "--target", site, *wheels],
                           capture_output=True, text=True)
        if p.returncode:
            print(f"skip - env: real tree {name}: {p.stderr.strip().splitlines()[-1][:160]}")
            return None, None
        os.makedirs(f"{root}/usr/bin")
        open(f"{root}/usr/bin/python{version}", "w").close()
        os.chmod(f"{root}/usr/bin/python{version}", 0o755)
        os.symlink(f"python{version}", f"{root}/usr/bin/python3")
    return root, site


def readelf(path):
    """What our copies of libraries have of it, and what it needs."""
    text = subprocess.run(["readelf", "-dnW", path], capture_output=True, text=True).stdout
    first = lambda pattern: (re.search(pattern, text) or [None, None])[1]
    return {"soname": first(r"\(SONAME\).*\[(.*)\]"), "rpath": first(r"\(RPATH\).*\[(.*)\]"),
            "runpath": first(r"\(RUNPATH\).*\[(.*)\]"), "build_id": first(r"Build ID: (\w+)")}, re.findall(r"\(NEEDED\).*\[(.*)\]", text)


def check_copies(name, root, copies):
    wrong = []
    for c in copies:
        want = readelf(root + c["path"])[0]
        got = {k: c[k] for k in want}
        if got != want:
            wrong.append((c["path"], got, want))
    check(f"{name}: soname, RPATH, RUNPATH and build id of {len(copies)} libraries", copies and not wrong, wrong[:3])


def check_tree(name, root, site):
    p = subprocess.run([ASSAY, "env", "--root", root, "--json"], capture_output=True, text=True)
    d = json.loads(p.stdout)
    a = d["assay"]
    canonical = lambda n: re.sub(r"[-_.]+", "-", n).lower()
    theirs = {canonical(m.metadata["Name"]): m.version for m in importlib.metadata.distributions(path=[site])}
    ours = {canonical(k): v for k, v in a["python"]["packages"].items()}
    check(f"{name}: {len(theirs)} packages", ours == theirs, set(ours.items()) ^ set(theirs.items()))
    if os.path.exists(f"{site}/torch/version.py"):
        t = runpy.run_path(f"{site}/torch/version.py")
        got = (d["pytorch_version"], d["pytorch_build"]["git_commit"], d["pytorch_build"]["cuda_version"], d["pytorch_build"]["hip_version"])
        check(f"{name}: torch/version.py", got == (t["__version__"], t["git_version"], t["cuda"], t["hip"]), got)
    files = [c for lib in a["libraries"].values() for c in lib["copies"]]
    if name not in ("jax-rocm", "tensorflow-rocm", "vllm"):  # theirs are the system's or torch's
        check_copies(name, root, files)
    # what triton brings for itself is on nobody's search path
    there = {f for folder, _, names in os.walk(site) for f in names if "/triton/" not in folder}
    for program, e in a["effective"].items():
        if program in ("files", "caches"):
            continue
        lost = [u for u in e["unresolved"] if u in there]
        check(f"{name}: {program} lacks {len(e['unresolved'])} libraries that are not in the tree", not lost, lost)
        needed = {n for l in e["libraries"].values() if l["present"] for n in readelf(root + l["path"])[1]}
        gone = {n for n in needed if n not in there and GPU.match(n)} - set(e["unresolved"])
        check(f"{name}: {program}'s {len(e['libraries'])} libraries need nothing else", not gone - {"libcuda.so.1"}, gone)


def archive():
    """Where this machine gets its own packages from."""
    p = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI)"], capture_output=True, text=True)
    return next((uri for uri in p.stdout.split() if "security" not in uri), None)


def packages_of(top, suite, names):
    """The .deb files, by an apt that knows this suite alone."""
    if not archive():
        print(f"skip - env: real tree {suite}: this machine's apt knows no archive")
        return None
    apt = f"{top}/apt-{suite}"
    os.makedirs(f"{apt}/lists/partial", exist_ok=True)
    os.makedirs(f"{apt}/cache/archives/partial", exist_ok=True)
    with open(f"{apt}/sources.list", "w") as f:
        f.write(f"deb {archive()} {suite} main\n")
    opts = ["-qq", "-o", "APT::Architecture=amd64", "-o", "Dir::State::status=/dev/null", "-o", f"Dir::Etc::sourcelist={apt}/sources.list",
            "-o", "Dir::Etc::sourceparts=/dev/null", "-o", f"Dir::State::lists={apt}/lists", "-o", f"Dir::Cache={apt}/cache", "-o", "APT::Sandbox::User="]
    for command in (["update"], ["download", *names]):
        p = subprocess.run(["apt-get", *opts, *command], capture_output=True, text=True, cwd=apt)
        if p.returncode:
            print(f"skip - env: real tree {suite}: {(p.stderr.strip().splitlines() or ['apt-get failed'])[-1][:160]}")
            return None
    return [f"{apt}/{f}" for f in sorted(os.listdir(apt)) if f.endswith(".deb")]


def debian_tree(top, suite, names):
    root = f"{top}/{suite}"
    if os.path.isdir(f"{root}/var/lib/dpkg/info"):
        return root
    debs = packages_of(top, suite, names)
    if not debs:
        return None
    os.makedirs(f"{root}/var/lib/dpkg/info")
    os.makedirs(f"{root}/var/lib/dpkg/updates")
    open(f"{root}/var/lib/dpkg/status", "w").close()
    for link, to in (("lib", "usr/lib"), ("lib64", "usr/lib64")):
        os.symlink(to, f"{root}/{link}")
    subprocess.run(["dpkg", f"--root={root}", "--force-all", "--unpack", *debs], check=True, capture_output=True)
    with open(f"{root}/var/lib/dpkg/status", "r+") as f:
        text = f.read().replace("install ok unpacked", "install ok installed")
        f.seek(0)
        f.write(text)
        f.truncate()
    return root


def dpkg_says(root, *query):
    return subprocess.run(["dpkg-query", f"--admindir={root}/var/lib/dpkg", *query], capture_output=True, text=True).stdout.strip()


def upstream(version):
    return re.split(r"[+~-]", version.split(":")[-1])[0]


def check_debian(suite, root):
    d = json.loads(subprocess.run([ASSAY, "env", "--root", root, "--json"], capture_output=True, text=True).stdout)
    a = d["assay"]
    theirs = dict(line.split(" ", 1) for line in dpkg_says(root, "-W", "-f", "${Package} ${Version}\\n").splitlines())
    check(f"{suite}: {len(theirs)} packages", a["system_packages"] == theirs, set(a["system_packages"].items()) ^ set(theirs.items()))
    check(f"{suite}: ROCm {d['rocm']['version']}", d["rocm"]["version"] == upstream(theirs["rocminfo"]), theirs["rocminfo"])
    if "librocblas0" in theirs:
        check(f"{suite}: rocBLAS {d['rocblas']['package_version']}", d["rocblas"]["package_version"] == upstream(theirs["librocblas0"]))
    for library, package in (("rocblas", "librocblas0"), ("rocfft", "librocfft0")):
        if package in theirs:
            want, got = kernel_files(root, library, package), a["kernel_databases"].get(library, {"files": 0})["files"]
            check(f"{suite}: {got} kernel files of {library}", got == want, want)
    files = [c for lib in a["libraries"].values() for c in lib["copies"]]
    check_copies(suite, root, files)
    owners = {c["path"]: c["owner"] and c["owner"]["package"] for c in files}
    wrong = {p: o for p, o in owners.items() if dpkg_says(root, "-S", p).split(":")[0] != o}
    check(f"{suite}: owners of {len(files)} libraries", not wrong, wrong)


def kernel_files(root, library, package):
    """Programs lie there, too: rocFFT's compiler is one."""
    return sum(f"/{library}/" in f and "." in os.path.basename(f) and os.path.isfile(root + f) for f in dpkg_says(root, "-L", package).splitlines())


def main():
    top = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build/real-trees")
    wanted = lambda name: len(sys.argv) < 3 or any(w in name for w in sys.argv[2:])
    for name, wheels in TREES.items():
        root, site = tree_of(top, name, wheels) if wanted(name) else (None, None)
        if root:
            check_tree(name, root, site)
    for suite, names in DEBIAN.items():
        root = debian_tree(top, suite, names) if wanted(suite) else None
        if root:
            check_debian(suite, root)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
