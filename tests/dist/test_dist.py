#!/usr/bin/env python3
"""What `make dist` wrote: needs, symbol versions, sizes, and that it runs. Skipped by name before that."""
import os
import re
import shutil
import subprocess
import sys
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap import ROOT, done, ok, run, skip  # noqa: E402

DIST = ROOT / "build/dist"
LIBC = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}


def of_this_tree(arch):
    stamp = DIST / f"sum-{arch}"
    return stamp.is_file() and stamp.read_text().split() == lines(ROOT / "tools/dist", "--sum")


def lines(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def newest_glibc(path):
    found = re.findall(r"GLIBC_(\d+)\.(\d+)", "\n".join(lines("readelf", "-W", "--dyn-syms", str(path))))
    return max((int(a), int(b)) for a, b in found)


def binaries(arch):
    tree = DIST / f"tree-{arch}"
    for name in ("bin/assay", "lib/libassay.so.0", "lib/assay/libassay_cuda.so", "lib/assay/libassay_rocm.so"):
        path = tree / name
        needed = {re.search(r"\[(.*)\]", s).group(1) for s in lines("readelf", "-d", str(path)) if "NEEDED" in s}
        ok(f"{arch} {name} needs the C library alone", needed <= LIBC, needed)
        ok(f"{arch} {name} runs with glibc 2.28", newest_glibc(path) <= (2, 28), newest_glibc(path))


def report(arch):
    program = [str(DIST / f"tree-{arch}/bin/assay")]
    if arch != os.uname().machine:
        emulator = shutil.which(f"qemu-{arch}")
        if not emulator:
            skip(f"{arch} report", f"no qemu-{arch}")
            return
        program = [emulator, "-L", str(DIST / f"root-{arch}"), *program]
    for name in ("demo/run", "demo/train.json.gz"):
        want = run("report", "--json", ROOT / name)[1]
        for isa in ("", "scalar"):
            got = subprocess.run([*program, "report", "--json", str(ROOT / name)], capture_output=True, text=True,
                                 env={**os.environ, "ASSAY_ISA": isa}, check=False).stdout
            ok(f"{arch} {isa or 'best instruction set'}: report of {name} is the same bytes", got == want and want)


def wheel(arch):
    path = next(DIST.glob(f"assay_gpu-*_{arch}.whl"))
    with zipfile.ZipFile(path) as z:
        modes = {i.filename: i.external_attr >> 16 for i in z.infolist()}
        ok(f"{arch} wheel is whole", z.testzip() is None)
    script = next(n for n in modes if n.endswith("scripts/assay"))
    ok(f"{arch} wheel's program is an executable file", modes[script] == 0o100755, oct(modes[script]))
    ok(f"{arch} wheel is under 8 MB", path.stat().st_size < 8e6, path.stat().st_size)


def deb(arch):
    path = next(DIST.glob(f"assay_*_{'amd64' if arch == 'x86_64' else 'arm64'}.deb"))
    if not shutil.which("dpkg-deb"):
        skip(f"{arch} .deb", "no dpkg-deb")
        return
    rows = [line.split(None, 5) for line in lines("dpkg-deb", "-c", str(path))]
    names = {r[5].split(" -> ")[0]: r for r in rows}
    ok(f"{arch} .deb has its licence and sums", "./usr/share/doc/assay/copyright" in names and bool(lines("dpkg-deb", "-I", str(path), "md5sums")))
    odd = [n for n, r in names.items() if r[1] != "root/root" or (r[0][0] != "l" and "w" in r[0][4:])]
    ok(f"{arch} .deb is root's, and writable by nobody else", not odd, odd)
    ok(f"{arch} .deb is under 5 MB", path.stat().st_size < 5e6, path.stat().st_size)


for architecture in ("x86_64", "aarch64"):
    if not (DIST / f"tree-{architecture}").is_dir():
        skip(f"portable build for {architecture}", "run `make dist` first")
        continue
    if not of_this_tree(architecture):
        skip(f"portable build for {architecture}", "build/dist is of an older tree")
        continue
    binaries(architecture)
    report(architecture)
    wheel(architecture)
    deb(architecture)
done()
