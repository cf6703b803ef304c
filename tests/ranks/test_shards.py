#!/usr/bin/env python3
"""A job read in shards and merged says, byte for byte, what one process says of it: whatever the number of shards, their order, and how
often they were written; shards that are lost, damaged or of another job are named."""
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import tap

LAUNCHERS = (("RANK", "WORLD_SIZE"), ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"), ("PMI_RANK", "PMI_SIZE"), ("FLUX_TASK_RANK", "FLUX_JOB_SIZE"),
             ("SLURM_PROCID", "SLURM_NTASKS"), ("SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT"), ("JOB_COMPLETION_INDEX", "JOB_COMPLETIONS"))


def make(where, ranks, steps):
    subprocess.run([sys.executable, tap.ROOT / "bench/gen_ranks.py", where, str(ranks), "--steps", str(steps)], check=True)
    return where


def clean_env(**more):
    """The environment without what a launcher of the tests left in it."""
    gone = {name for pair in LAUNCHERS for name in pair} | {"SLURM_STEP_NUM_TASKS", "PMIX_RANK", "PALS_RANKID"}
    return {**{k: v for k, v in os.environ.items() if k not in gone}, **more}


def assay(*args, env=None):
    p = subprocess.run([tap.ASSAY, *map(str, args)], capture_output=True, text=True, env=env or clean_env())
    return p.returncode, p.stdout, p.stderr


def write(job, shards, parts, which=None):
    return [assay("report", job, "--shard", f"{i}/{shards}", "-o", parts) for i in (range(shards) if which is None else which)]


def files(parts):
    return sorted(parts.iterdir())


def check_same(where, ranks, steps, shards):
    job = make(where / f"job{ranks}", ranks, steps)
    parts = where / f"parts{ranks}"
    codes = write(job, shards, parts)
    tap.ok(f"{shards} shards of {ranks} ranks are written", all(c == 0 for c, _, _ in codes) and len(files(parts)) == shards, codes[0][2])
    each = max(f.stat().st_size for f in files(parts)) / (ranks / shards)
    tap.ok(f"a rank of {ranks} is less than 50 kB", each < 50_000, each)
    for how in (["--json"], [], ["-v"], ["--markdown"]):
        one, merged = assay("report", job, *how), assay("merge", parts, *how)
        tap.ok(f"merged {ranks} ranks are those of one process ({how or 'text'})", one[0] == 0 and one == merged, (one[2], merged[2], len(one[1]), len(merged[1])))
    pages = [where / "one.html", where / "merged.html"]
    assay("report", job, "--html", pages[0])
    assay("merge", parts, "--html", pages[1])
    tap.ok(f"so is the page of {ranks}", pages[0].read_bytes() == pages[1].read_bytes())
    return job, parts


def check_order(job, parts):
    one = assay("report", job, "--json")
    shuffled = files(parts) * 2
    random.Random(7).shuffle(shuffled)
    code, out, err = assay("merge", "--json", *shuffled)
    tap.ok("shards in any order, each twice", (code, out) == one[:2] and "given twice" in err, err)


def check_rerun(where, job, parts):
    before = [(f.name, f.stat().st_mtime_ns, f.stat().st_ino) for f in files(parts)]
    said = write(job, len(before), parts)
    tap.ok("whole shards are not written again", all("whole already" in e for _, _, e in said) and
           before == [(f.name, f.stat().st_mtime_ns, f.stat().st_ino) for f in files(parts)], said[0])
    one, rank = assay("report", job, "--json"), next(job.glob("*rank3.json.gz"))
    lost = files(parts)[1]
    lost.write_bytes(lost.read_bytes()[:-9])
    os.utime(rank, ns=(1, 1))
    said = write(job, len(before), parts)
    again = [f.name for f, was in zip(files(parts), before) if (f.name, f.stat().st_mtime_ns, f.stat().st_ino) != was]
    tap.ok("only what is cut or whose input changed is", again == [f.name for f in files(parts)[:2]], (again, said))
    tap.ok("and the report is the same again", assay("merge", parts, "--json")[:2] == one[:2])


def check_lost(where, job, parts):
    """Without two shards: what is said of the others is what one process says of their files."""
    some = where / "some"
    shutil.copytree(parts, some)
    gone = [files(some)[i] for i in (1, 4)]
    for f in gone:
        f.unlink()
    code, out, err = assay("merge", some, "--json")
    r = json.loads(out)
    tap.ok("lost shards are named", code == 0 and any("2 of 6 shards are missing (1, 4)" in w for w in r["run_metrics"]["warnings"]), err)
    tap.ok("the first screen names them", "2 of 6 shards are missing (1, 4)" in assay("merge", some)[1])
    kept = [x["path"] for x in r["inputs"]]
    one = json.loads(assay("report", "--json", *sorted(kept, key=lambda p: int(p.split("rank")[1].split(".")[0])))[1])
    differs = [k for k in one if k not in ("run_metrics", "warnings") and one[k] != r[k]]
    tap.ok("what is left is said as of a job of these ranks", not differs, differs)
    write(job, 6, some, (1, 4))
    tap.ok("written again, nothing is lost", assay("merge", some, "--json")[:2] == assay("report", job, "--json")[:2])


def refuses(bad, whole, at):
    bad.write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1:])
    code, out, err = assay("merge", bad)
    return code == 1 and "bad.asf" in err and not out


def check_refused(where, job, parts):
    other = where / "other"
    write(job, 3, other, (0,))
    code, out, err = assay("merge", files(parts)[0], files(other)[0])
    tap.ok("shards of two divisions are refused", code == 2 and "merge those of one division" in err and not out, err)
    job2, parts2 = where / "job2", where / "parts2"
    shutil.copytree(job, job2)
    next(job2.glob("*rank2.json.gz")).unlink()
    write(job2, 6, parts2, (3,))
    code, out, err = assay("merge", files(parts)[0], files(parts2)[0])
    tap.ok("shards of two jobs are refused", code == 2 and "different jobs" in err, err)
    bad = where / "bad.asf"
    for name, data in ("cut at its start", files(parts)[2].read_bytes()[:30]), ("cut", files(parts)[2].read_bytes()[:-9]):
        bad.write_bytes(data)
        code, out, err = assay("merge", bad)
        tap.ok(f"a shard {name} is refused with its name", code == 1 and "bad.asf" in err and "cut short" in err and not out, err)
    whole = files(parts)[2].read_bytes()
    wrong = [at for at in range(len(whole) // 8, len(whole) - 20, len(whole) // 8) if not refuses(bad, whole, at)]
    tap.ok("a shard with one wrong bit anywhere is refused with its name", not wrong, wrong)
    for text in (b"", b"hello", b"\x0a\x02\x08\x63"):
        bad.write_bytes(text)
        code, out, err = assay("merge", bad)
        tap.ok(f"{text!r} is no shard", code == 1 and "bad.asf" in err and err.count("\n") == 1, err)
    code, _, err = assay("merge", job)
    tap.ok("a folder of traces is no folder of shards", code == 1 and "holds no shard" in err, err)
    code, _, err = assay("report", job, "--shard", "0/2", "-o", where / "x", "--json")
    tap.ok("a shard is not printed", code == 2 and "assay merge" in err, err)
    code, _, err = assay("report", job, "--shard", "0/2")
    tap.ok("a shard needs a place", code == 2 and "-o DIR" in err, err)


def check_moved(where, job, parts):
    """Traces that changed or went away between the shards and the merge."""
    late = next(job.glob("*rank5.json.gz"))
    whole = late.read_bytes()
    late.write_bytes(whole + b"\0" * 7)
    code, out, err = assay("merge", parts, "--json")
    issues = json.loads(out)["issues"] if code == 0 else err
    tap.ok("a trace that changed since is said to have", code == 0 and any(i["id"] == "changed_file" for i in issues), issues)
    late.unlink()
    code, out, err = assay("merge", parts)
    tap.ok("a trace that is gone is named", code == 1 and late.name in err and not out, err)
    late.write_bytes(whole)


def check_auto(where, job):
    for rank, size in LAUNCHERS:
        parts = where / f"auto-{rank}"
        codes = [assay("report", job, "--shard", "auto", "-o", parts, env=clean_env(**{rank: str(i), size: "3"})) for i in (2, 0, 1)]
        names = [f.name for f in files(parts)]
        tap.ok(f"{rank} says which shard", all(c == 0 for c, _, _ in codes) and names == [f"shard-0000{i}-of-00003.asf" for i in range(3)], codes)
    code, _, err = assay("report", job, "--shard", "auto", "-o", where / "x")
    tap.ok("without a launcher auto is refused", code == 2 and "SLURM_PROCID" in err, err)
    code, _, err = assay("report", job, "--shard", "auto", "-o", where / "x", env=clean_env(JOB_COMPLETION_INDEX="1"))
    tap.ok("a launcher that does not say of how many asks for it", code == 2 and "auto/N" in err, err)
    code, _, err = assay("report", job, "--shard", "auto/4", "-o", where / "y", env=clean_env(JOB_COMPLETION_INDEX="1"))
    tap.ok("auto/N takes only the place from the launcher", code == 0 and (where / "y/shard-00001-of-00004.asf").exists(), err)


def check_small(where):
    """Jobs that one process reads in full, shards without a rank, and shards written into the job's own folder."""
    job = make(where / "small", 9, 1)
    one = assay("report", job, "--json")
    write(job, 12, job / "parts")
    tap.ok("twelve shards of nine ranks, inside their folder", assay("merge", job / "parts", "--json")[:2] == one[:2])
    code, _, err = assay("report", job, "--shard", "0/1", "-o", where / "parts/of/the/job")
    tap.ok("folders above the parts are made", code == 0 and len(files(where / "parts/of/the/job")) == 1, err)
    (where / "file").touch()
    code, _, err = assay("report", job, "--shard", "0/1", "-o", where / "file/such")
    tap.ok("a folder that cannot be made is named", code == 1 and "file/such" in err, err)


def peak(*args):
    """Peak memory in kB of the program."""
    p = subprocess.Popen([tap.ASSAY, *map(str, args)], stdout=subprocess.DEVNULL, env=clean_env())
    _, status, usage = os.wait4(p.pid, 0)
    return usage.ru_maxrss if status == 0 else None


def check_memory(where):
    """Four times as many ranks, of eight steps each: what is printed of each waits on disk."""
    if "sanitize" in tap.ASSAY or "address" in tap.ASSAY:
        return tap.skip("memory of a merge", "sanitizers need memory of their own")
    few, many = where / "few", where / "many"
    for ranks, parts in (512, few), (2048, many):
        write(make(where / f"of{ranks}", ranks, 8), 1, parts)
    for how in ([], ["--json"]):
        a, b = peak("merge", few, *how), peak("merge", many, *how)
        tap.ok(f"1,536 ranks more cost a merge less than 10 MB ({how or 'text'})", a and b and b - a < 10_000, (a, b))


def long_job(where, steps, ranks=256):
    """Short steps of one kernel and one collective each, the same on all ranks."""
    event = ('{{"ph":"X","cat":"{}","name":"{}","pid":{},"tid":{},"ts":{},"dur":{},"args":{{"stream":{}{}}}}}').format
    group = f',"Collective name":"allreduce","Group size":{ranks},"Process Group Name":"0"'
    body = ",\n".join(event("user_annotation", f"ProfilerStep#{i}", 9, 9, 100 * i, 99, 0, "") + ",\n" + event("kernel", "gemm", 0, 7, 100 * i + 5, 60, 7, "") +
                      ",\n" + event("kernel", "ncclDevKernel_AllReduce", 0, 8, 100 * i + 70, 20, 8, group) for i in range(steps))
    where.mkdir()
    for rank in range(ranks):
        head = {"schemaVersion": 1, "distributedInfo": {"rank": rank, "world_size": ranks}}
        (where / f"rank{rank}.json").write_text(json.dumps(head)[:-1] + ',"traceEvents":[\n' + body + "]}")
    return where


def check_memory_of_steps(where):
    """Rows of each step of each rank are looked at a few at a time. Both jobs have more collectives than are sorted in memory."""
    if "sanitize" in tap.ASSAY or "address" in tap.ASSAY:
        return
    peaks = []
    for steps in 300, 1200:
        job, parts = long_job(where / f"steps{steps}", steps), where / f"parts-of-steps{steps}"
        write(job, 1, parts)
        peaks.append(peak("merge", parts))
    each = (peaks[1] - peaks[0]) * 1024 / (900 * 256)
    tap.ok("a step of a rank costs a merge less than 30 bytes", each < 30, (peaks, each))


def main():
    with tempfile.TemporaryDirectory() as tmp:
        where = pathlib.Path(tmp)
        job, parts = check_same(where, 40, 2, 6)
        check_order(job, parts)
        check_lost(where, job, parts)
        check_refused(where, job, parts)
        check_rerun(where, job, parts)
        check_moved(where, job, parts)
        check_auto(where, job)
        check_small(where)
        check_same(where, 300, 1, 7)
        check_memory(where)
        check_memory_of_steps(where)


main()
tap.done()
