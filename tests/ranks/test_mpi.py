#!/usr/bin/env python3
"""assay-mpi behind real launchers, where they are installed: four processes print what one does; of a job that lost one the shards of the
others stay, and the next run reads what is missing."""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import tap

# name, command, variable with a process's place
LAUNCHERS = (("Open MPI", ["mpirun.openmpi", "--oversubscribe"], "OMPI_COMM_WORLD_RANK"), ("MPICH", ["mpirun.mpich"], "PMI_RANK"))
ENV = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")


def start(where, launcher, *command):
    return subprocess.Popen([*launcher, "-n", "4", *map(str, command)], cwd=where, env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def run(where, launcher, *command):
    p = start(where, launcher, *command)
    out, err = p.communicate(timeout=tap.PATIENCE)
    return p.returncode, out, err


def ended(p):
    """A launcher that lost a process ends the others; Open MPI's now and then does not notice, and is told to."""
    try:
        return p.communicate(timeout=10)
    except subprocess.TimeoutExpired:
        p.terminate()
        return p.communicate(timeout=tap.PATIENCE)


def works(where, launcher):
    """A launcher may be there and unable to start anything: no network, no shared memory, a strict container."""
    try:
        return subprocess.run([*launcher, "-n", "2", "true"], cwd=where, env=ENV, stdin=subprocess.DEVNULL, capture_output=True, timeout=tap.PATIENCE).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def check_killed(where, name, launcher, variable):
    """The last process waits for a trace that does not come, and is killed when the others have written their shards."""
    program, last, parts = f"{tap.ASSAY}-mpi", where / "last.json.gz", where / "parts"
    os.mkfifo(last)
    silent = os.open(last, os.O_RDWR)
    p = start(where, launcher, "sh", "-c", f'echo $$ >pid.${variable}; exec "{program}" report job last.json.gz --json -o parts')
    whole = lambda: sorted(f.name for f in parts.glob("*.asf")) if parts.is_dir() else []
    pid = where / "pid.3"
    tap.until(lambda: len(whole()) == 3 and pid.exists() and pid.read_text().strip(), f"{name}: three shards are not written while the fourth waits")
    os.kill(int(pid.read_text()), signal.SIGKILL)
    out, err = ended(p)
    tap.ok(f"{name}: a job that lost a process fails and prints nothing", p.returncode != 0 and "inputs" not in out, (p.returncode, out[:200]))
    kept = [(f, f.stat().st_ino) for f in sorted(parts.glob("*.asf"))]
    os.close(silent)
    last.unlink()
    shutil.copy(next((where / "job").glob("*rank1.json.gz")), last)
    code, out, err = run(where, launcher, program, "report", "job", "last.json.gz", "--json", "-o", "parts")
    one = subprocess.run([tap.ASSAY, "report", "job", "last.json.gz", "--json"], cwd=where, capture_output=True, text=True)
    tap.ok(f"{name}: the next run prints the report", (code, out) == (one.returncode, one.stdout), err)
    tap.ok(f"{name}: and reads no more than the lost shard", len(kept) == 3 and all(f.stat().st_ino == inode for f, inode in kept) and len(whole()) == 4, whole())


def check(where, name, launcher, variable):
    make = [sys.executable, tap.ROOT / "bench/gen_ranks.py", where / "job", "40", "--steps", "1"]
    subprocess.run(make, check=True)
    one = tap.run("report", "job", cwd=where)
    code, out, err = run(where, launcher, f"{tap.ASSAY}-mpi", "report", "job")
    tap.ok(f"{name}: four processes print what one does", (code, out) == one[:2], err)
    tap.ok(f"{name}: and leave nothing behind", not (where / "assay-parts").exists())
    check_killed(where, name, launcher, variable)


def check_replaced_mremap(where):
    """What MPI's libraries put before libc's functions must not change what is read."""
    if "sanitize" in tap.ASSAY or "address" in tap.ASSAY:
        return tap.skip("mremap() of an MPI library", "sanitizers come first in a program")
    library, code = where / "mremap.so", pathlib.Path(__file__).with_name("mremap_of_four.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, code], check=True)
    subprocess.run([sys.executable, tap.ROOT / "bench/gen_ranks.py", where / "job", "12", "--steps", "60"], check=True)
    one = tap.run("report", where / "job")
    p = subprocess.run([tap.ASSAY, "report", where / "job"], env=dict(ENV, LD_PRELOAD=str(library)), capture_output=True, text=True)
    tap.ok("packed ranks are read where mremap() is not libc's", one[0] == 0 and (p.returncode, p.stdout) == one[:2], p.stderr)


def main():
    with tempfile.TemporaryDirectory() as tmp:
        check_replaced_mremap(pathlib.Path(tmp))
    for name, launcher, variable in LAUNCHERS:
        with tempfile.TemporaryDirectory() as tmp:
            where = pathlib.Path(tmp)
            if "address" in tap.ASSAY:
                tap.skip(f"assay-mpi with {name}", "MPI libraries leak, which sanitizers tell")
            elif not shutil.which(launcher[0]):
                tap.skip(f"assay-mpi with {name}", "not installed")
            elif not works(where, launcher):
                tap.skip(f"assay-mpi with {name}", "its launcher starts nothing here")
            else:
                check(where, name, launcher, variable)
    with tempfile.TemporaryDirectory() as tmp:
        code, out, err = tap.run("mpi", tmp, "--library", "/nowhere/libmpi.so")
        tap.ok("a library that is not there is named", code == 1 and "/nowhere/libmpi.so" in err and not out, err)


main()
tap.done()
