#!/usr/bin/env python3
"""Allocations that fail, one at a time and all from one on, in every kind of call of the library: each call comes back
with a sentence, nothing stays allocated or open, outputs are old or new; and the program says so and ends with 1.

usage: test_memory.py [--all]: some allocations of each call, or every one, and again under the address sanitizer."""
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import tap

SEEDS = tap.ROOT / "tests/fuzz/seeds"
TRACE = SEEDS / "chrome/train-head.json"
# scenario, inputs, threads, every so many allocations in the short form
CALLS = [
    ("report", [TRACE], 1, 7),
    ("report", [SEEDS / "capture/rocm-streams.asy"], 1, 11),
    ("report", [SEEDS / "rocpd/v305.db"], 1, 41),
    ("report", [SEEDS / "rocpd/v305.db"], 4, 41),
    ("report", [SEEDS / "nsys/made.sqlite"], 1, 41),
    ("report", [SEEDS / "xplane/jax.pb"], 1, 17),
    ("report", [SEEDS / "rocprof_csv/kernel_trace.csv"], 1, 17),
    ("report", [tap.ROOT / "demo/ddp"], 4, 61),
    ("report", [tap.ROOT / "demo/run"], 4, 61),
    ("report", [tap.ROOT / "demo/train.json.gz"], 4, 201),
    ("job", [tap.ROOT / "demo/ddp"], 4, 61),
    ("queries", [TRACE], 1, 11),
    ("diff", [TRACE], 1, 13),
    ("arrow", [TRACE], 1, 11),
    ("sql", [TRACE], 1, 19),
    ("env", ["ROOT"], 1, 1),
    ("convert.json.gz", [TRACE], 1, 13),
    ("convert.json.zst", [TRACE], 1, 29),
    ("convert.pftrace", [TRACE], 1, 13),
    ("convert.xplane.pb", [TRACE], 1, 17),
    ("convert", [TRACE], 1, 17),
    ("convert.db", [TRACE], 1, 1999),
    ("convert.rocpd.db", [TRACE], 1, 1999),
]
MANY = {"convert.db": 97, "convert.rocpd.db": 97}  # SQLite asks 30,000 times


def tool(sanitize=""):
    folder = "gcc-" + sanitize.replace(",", "-") if sanitize else "release"
    name = f"build/{folder}/tests/faults/memory_tool"
    subprocess.run(["make", "-s", "-j2", f"SAN={sanitize}", name], cwd=tap.ROOT, check=True)
    return tap.ROOT / name


def small_root(folder):
    """A machine image with a little of everything that is read."""
    files = {
        "etc/os-release": "ID=debian\nVERSION_ID=12\n",
        "var/lib/dpkg/status": "Package: rocm-core\nStatus: install ok installed\nVersion: 6.2\n\n",
        "opt/rocm/.info/version": "6.2.0-66\n",
        "usr/lib/python3/dist-packages/torch/version.py": "__version__ = '2.4.0+rocm6.1'\nhip = '6.1.40091'\n",
        "usr/lib/python3/dist-packages/torch-2.4.0.dist-info/METADATA": "Name: torch\nVersion: 2.4.0\n",
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for name in ("opt/rocm/lib/libamdhip64.so.6", "usr/lib/python3/dist-packages/torch/lib/libtorch.so"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(tap.ROOT / "build/release/libassay_rocm.so", path)
    return folder


def check(binary, label, every_one):
    for name, inputs, threads, every in CALLS:
        every = MANY.get(name, 1) if every_one else every
        with tempfile.TemporaryDirectory() as temp:
            out = pathlib.Path(temp) / "out"
            out.mkdir()
            root = small_root(pathlib.Path(temp) / "root")
            words = [str(root if i == "ROOT" else i) for i in inputs]
            p = subprocess.run([binary, name, str(every), out, *words], capture_output=True, text=True,
                               env={**os.environ, "ASSAY_THREADS": str(threads)})
        what = pathlib.Path(words[0]).name if inputs[0] != "ROOT" else "an image"
        told = p.stdout.strip().splitlines()[-1:] if every_one else []
        tap.ok(f"{label}{name} of {what}, {threads} thread{'s'[:threads > 1]}: {' '.join(told) or 'failures come back'}",
               p.returncode == 0, p.stdout[-2000:] + p.stderr[-2000:])


def limited(megabytes):
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    return limit


def program():
    """As `ulimit -v` does it."""
    bad, failed = [], 0
    with tempfile.TemporaryDirectory() as temp:
        out = pathlib.Path(temp) / "out.pftrace"
        for megabytes in range(20, 64, 4):
            out.write_text("before")
            p = subprocess.run([tap.ASSAY, "convert", tap.ROOT / "demo/train.json.gz", out], capture_output=True, text=True,
                               preexec_fn=limited(megabytes), env={**os.environ, "ASSAY_THREADS": "2"})
            loader = p.returncode == 127  # not even the program's own libraries fit
            told = p.returncode == 1 and "memory" in p.stderr and out.read_bytes() == b"before"
            failed += told
            if not (loader or told or p.returncode == 0) or len(list(out.parent.iterdir())) != 1:
                bad.append((megabytes, p.returncode, p.stderr[-200:]))
    tap.ok("the program without memory says so, ends with 1 and leaves the output as it was", failed and not bad, bad)


def main():
    if sys.platform != "linux" or os.uname().machine not in ("x86_64", "aarch64"):
        tap.skip("memory", "needs glibc")
        return
    every_one = "--all" in sys.argv
    check(tool(), "", every_one)
    if every_one:
        check(tool("address,undefined"), "sanitizers: ", False)
    program()
    tap.done()


if __name__ == "__main__":
    main()
