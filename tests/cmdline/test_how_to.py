#!/usr/bin/env python3
"""Commands of docs/how-to, run as they stand there, with launchers that start four processes one after the other and tell them who they are
as the real ones do. Lines that need an MPI library, Ray, or a job that is still running are named and left out."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import tap

FOUR = 4
LAUNCHER = f"""#!/bin/sh
# {{name}}: options and a subcommand away, then the command, once a rank
case {{name}} in flux) shift;; esac
while [ "${{{{1#-}}}}" != "$1" ]; do case $1 in -n) shift 2;; *) shift;; esac; done
for i in $(seq 0 {FOUR - 1}); do env {{tells}} "$@" || exit; done
"""
LAUNCHERS = {
    "srun": f"SLURM_PROCID=$i SLURM_NTASKS={FOUR} SLURM_STEP_NUM_TASKS={FOUR} SLURM_STEP_ID=0 SLURM_LOCALID=$i SLURM_NODEID=$i SLURM_NNODES={FOUR}",
    "mpirun": f"OMPI_COMM_WORLD_RANK=$i OMPI_COMM_WORLD_SIZE={FOUR} OMPI_COMM_WORLD_LOCAL_RANK=$i",
    "flux": f"FLUX_TASK_RANK=$i FLUX_JOB_SIZE={FOUR} FLUX_TASK_LOCAL_ID=$i FLUX_JOB_ID=f1",
}
OTHERS = {
    # an array: its tasks in turn; a dependency: the command at once
    "sbatch": f"""#!/bin/sh
for last; do :; done
case $1 in
--array=*) for i in $(seq 0 {FOUR - 1}); do SLURM_ARRAY_TASK_ID=$i SLURM_ARRAY_TASK_MIN=0 SLURM_ARRAY_TASK_MAX={FOUR - 1} SLURM_ARRAY_TASK_COUNT={FOUR} SLURM_ARRAY_TASK_STEP=1 sh -c "$last" || exit; done;;
*) sh -c "$last";;
esac
""",
    "parallel": """#!/bin/sh
words=; while [ "$1" != ::: ]; do words="$words $1"; shift; done; shift
for i; do $(echo "$words" | sed "s/{}/$i/") || exit; done
""",
    "torchrun": "#!/bin/sh\nwhile [ \"${1#-}\" != \"$1\" ]; do case $1 in *=*) shift;; *) shift 2;; esac; done\nexec python3 \"$@\"\n",
    "python": "#!/bin/sh\nexec python3 \"$@\"\n",
}
LEFT_OUT = {"assay-mpi": "needs an MPI library", "ray.get": "is Python, with Ray", "assay ctl": "asks a job that is still running"}


def shell_lines(page):
    """Lines of fenced blocks that are commands of a shell."""
    for language, block in re.findall(r"^```(\w*)\n(.*?)^```", (tap.ROOT / "docs/how-to" / page).read_text(), flags=re.S | re.M):
        if not language and not re.search(r"^(FROM|spec:)", block):
            yield from (line for line in block.splitlines() if "assay" in line)


def workplace(folder):
    """Launchers on the path, a job of ranks, a program to record."""
    tools = folder / "bin"
    tools.mkdir()
    scripts = {**OTHERS, **{name: LAUNCHER.format(name=name, tells=tells) for name, tells in LAUNCHERS.items()}}
    for name, text in scripts.items():
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    (tools / "assay").symlink_to(tap.ASSAY)
    subprocess.run([sys.executable, tap.ROOT / "bench/gen_ranks.py", folder / "runs/JOB", str(FOUR), "--steps", "3"], check=True, stdout=subprocess.DEVNULL)
    (folder / "train.py").write_text("print('trained')\n")
    (folder / "solver").write_text("#!/bin/sh\necho solved\n")
    (folder / "solver").chmod(0o755)
    return {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "JOB": "JOB", "SLURM_JOB_ID": "7", "HEAD": "localhost", "GITHUB_STEP_SUMMARY": str(folder / "summary.md"), "COLUMNS": "80"}


def run(line, folder, env):
    p = subprocess.run(["bash", "-c", line], cwd=folder, env=env, capture_output=True, stdin=subprocess.DEVNULL, timeout=tap.PATIENCE)
    return p.returncode, p.stdout.decode("utf-8", "replace"), p.stderr.decode("utf-8", "replace")


def left_out(line):
    why = next((why for what, why in LEFT_OUT.items() if what in line), None)
    if why:
        tap.skip(f"how-to: {line}", why)
    return why


def check_many_ranks(folder, env):
    """Every way to read a job in shards prints what one command prints."""
    want = run("assay report runs/JOB", folder, env)[1]
    for line in shell_lines("many-ranks.md"):
        if left_out(line):
            continue
        code, out, err = 0, "", ""
        parts = [line.replace("DIR", "runs/JOB").replace("I/N", f"{i}/{FOUR}") for i in range(FOUR)] if "I/N" in line else [line]
        for part in parts:
            code, more, err = run(part, folder, env) if code == 0 else (code, "", err)
            out += more
        report = (folder / "report.txt").read_text() if "report.txt" in line else out
        whole = "merge" not in line or report == want
        tap.ok(f"how-to: {line}", code == 0 and want and whole, err or out[:400])


def check_recording(folder, env):
    """Programs without a GPU: each is recorded, as many times as it was started."""
    for line in shell_lines("record-a-job.md"):
        if left_out(line) or "record" not in line:
            continue
        subprocess.run(["rm", "-rf", folder / "run"], check=True)
        before = {p for p in folder.rglob("run.json")}
        code, out, err = run(line, folder, env)
        made = len({p for p in folder.rglob("run.json")} - before)
        want = 1 if line.startswith("assay") else FOUR
        tap.ok(f"how-to: {line}", code == 0 and made == want, (code, made, err))


def check_gate(folder, env):
    """The same run twice: within the limit, and the machine is as the rules say."""
    for name in ("baseline", "run"):
        subprocess.run(["rm", "-rf", folder / name], check=True)
        (folder / name).symlink_to(tap.ROOT / "demo/run")
    (folder / "rules.txt").write_text("triton.package_version = 3.6.0\n")
    for line in shell_lines("record-a-job.md"):
        if "diff" in line or "env check" in line:
            code, out, err = run(line, folder, env)
            tap.ok(f"how-to: {line}", code == 0, (code, out, err))
    tap.ok("the gate leaves its table in the summary", "|" in (folder / "summary.md").read_text())


with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR"), ignore_cleanup_errors=True) as temp:
    top = pathlib.Path(temp)
    here = workplace(top)
    check_many_ranks(top, here)
    check_recording(top, here)
    check_gate(top, here)
tap.done()
