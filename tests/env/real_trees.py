"""assay env on trees of real wheels, each field against importlib.metadata, readelf and torch/version.py. By hand: it
downloads about 2 GB. usage: real_trees.py [FOLDER]   trees stay there for the next time."""
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
    "jax-cuda": ["jax", "jaxlib", "jax-cuda12-plugin", "jax-cuda12-pjrt"],
    "jax-rocm": ["jax", "jaxlib", "jax-rocm7-plugin", "jax-rocm7-pjrt"],
    "tensorflow-rocm": ["tensorflow-rocm"],
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


def dynamic(path):
    """(soname, needed) as readelf says."""
    text = subprocess.run(["readelf", "-dW", path], capture_output=True, text=True).stdout
    soname = re.search(r"\(SONAME\).*\[(.*)\]", text)
    return soname and soname[1], re.findall(r"\(NEEDED\).*\[(.*)\]", text)


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
    wrong = [c["path"] for c in files if c["soname"] != dynamic(root + c["path"])[0]]
    check(f"{name}: sonames of {len(files)} libraries", not wrong, wrong[:3])
    # what triton brings for itself is on nobody's search path
    there = {f for folder, _, names in os.walk(site) for f in names if "/triton/" not in folder}
    for program, e in a["effective"].items():
        if program in ("files", "caches"):
            continue
        lost = [u for u in e["unresolved"] if u in there]
        check(f"{name}: {program} lacks {len(e['unresolved'])} libraries that are not in the tree", not lost, lost)
        needed = {n for l in e["libraries"].values() if l["present"] for n in dynamic(root + l["path"])[1]}
        gone = {n for n in needed if n not in there and GPU.match(n)} - set(e["unresolved"])
        check(f"{name}: {program}'s {len(e['libraries'])} libraries need nothing else", not gone - {"libcuda.so.1"}, gone)


def main():
    top = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build/real-trees")
    for name, wheels in TREES.items():
        root, site = tree_of(top, name, wheels)
        if root:
            check_tree(name, root, site)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
