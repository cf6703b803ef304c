#!/usr/bin/env python3
"""The recorder's writer alone, made to meet what is rare (writer.c): disks that are full, memory that the program wrote over,
no room for rings. What it leaves is looked at where nobody took it: no `assay record` is there.
usage: test_writer.py [BUILD [WORDS...]]   prints one line a test; exit status 1 when one fails."""
import collections
import json
import os
import re
import shutil
import socket
import subprocess
import sys

sys.path.insert(0, os.path.dirname(__file__))
from capture import TYPES  # noqa: E402
from harness import ASSAY, PATIENCE, PLAIN, RT, WORK, cc, eq, one, run, test  # noqa: E402

PROGRAM, HOST = WORK + "/writer", socket.gethostname()[:63]
RING_LOST, THREAD_LOST, DAMAGED = 1, 4, 6


def build():
    cc(PROGRAM, "tests/record/writer.c", *RT, "-ldl", flags=PLAIN)


WHERE, RINGS = WORK + "/run", WORK + "/rings"


def run_case(case, to="", how=""):
    for path in (WHERE, RINGS):
        shutil.rmtree(path, ignore_errors=True)
        os.mkdir(path)
    return subprocess.run([PROGRAM, case], capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL, umask=0o022,
                          env=dict(os.environ, ASSAY_RECORD=f"1;dir={WHERE}{to};rings={RINGS};flush=600000{how}"))


def write(case, torn=False, how=""):
    """What the case printed, its capture, and how many files of rings it left."""
    p = run_case(case, how=how)
    eq((p.returncode, p.stderr), (0, ""))
    words = p.stdout.split()
    said = dict(zip(words[::2], map(int, words[1::2])))
    eq(said["unseen"], 0)  # rings that were announced before they could be found
    name, = os.listdir(WHERE)
    eq(re.sub(r"\d+.asy", "PID", name), f"trace-{re.sub(r'[^A-Za-z0-9.-]', '_', HOST)}-PID")
    eq([oct(os.stat(os.path.join(d, f)).st_mode & 0o777) for d in (WHERE, RINGS) for f in os.listdir(d)], ["0o644", "0o600"][:1 + len(os.listdir(RINGS))])
    c = one(WHERE)
    eq(c.bad > 0, torn)
    eq(c.numbers, list(range(c.chunks)))
    process, = c.rows["PROCESS"]
    eq((c.text(process["host"]), c.text(process["command"])), (HOST, f"{PROGRAM} {case}"))
    info = json.loads(subprocess.run([ASSAY, "info", "--json", WHERE], capture_output=True, check=True).stdout)
    eq(bool({"damaged_chunk", "truncated"} & set(info["issues"])), torn)
    return said, c, len(os.listdir(RINGS))


def whole(said, c):
    """Every record once, with its text, the counts and the end."""
    eq(sorted(r["id"] for r in c.rows["RANGE"]), list(range(1, said["recorded"] + 1)))
    eq(({r["text"] for r in c.rows["RANGE"]}, len(c.rows["END"]), c.rows["LOST"]), ({"a range"}, 1, []))
    counts = {(TYPES[r["kind"]], r["cause"]): r["count"] for r in c.rows["TALLY"]}
    eq((len(counts), counts["RANGE", 0]), (len(c.rows["TALLY"]), said["recorded"]))


@test
def records_are_whole_when_the_system_writes_a_few_bytes_at_a_time():
    said, c, rings = write("pieces")
    whole(said, c)
    eq((said["recorded"], rings), (110, 0))


@test
def what_is_not_kept_begins_with_the_first_record():
    said, c, rings = write("work at once", how=";keep=16777216;keep_ns=1;hang=3600000")
    (off, on), process = c.rows["SWITCH"], c.rows["PROCESS"][0]
    eq((off["on"], off["why"], on["on"]), (0, 3, 1))
    dropped = collections.Counter({TYPES[r["kind"]]: r["count"] for r in c.rows["TALLY"] if r["cause"]})
    eq((len(c.rows["KERNEL"]), dropped["KERNEL"], dropped["RANGE"] + len(c.rows["RANGE"])), (0, 3, said["recorded"]))
    assert process["start"] <= off["time"] < on["time"], (process, off, on)
    eq((len(c.rows["END"]), c.rows["LOST"], rings), (1, [], 0))


@test
def what_a_full_disk_does_not_take_waits_in_rings_and_every_thread_has_one():
    said, c, rings = write("full")
    whole(said, c)
    eq((said["failed"], said["recorded"], said["refused"], rings), (1, 131, 0, 0))


@test
def rings_stay_when_the_disk_is_full_at_the_end():
    for case in ("full end", "names only", "no end"):
        said, c, rings = write(case)
        eq((case, len(c.rows["RANGE"]) < said["recorded"], c.rows["END"], rings), (case, case != "no end", [], 1))


@test
def half_a_chunk_that_stays_in_the_file_costs_no_other():
    said, c, rings = write("torn", torn=True)
    whole(said, c)
    eq((said["recorded"], rings), (30, 0))


@test
def rings_of_threads_that_ended_are_used_again_before_new_ones_are_made():
    said, c, rings = write("together")
    whole(said, c)
    eq((said["rings"], said["ready"], rings), (5, 4, 0))


@test
def threads_for_which_there_is_no_ring_are_told_so_at_once_and_counted():
    said, c, rings = write("no room")
    eq((said["known"], said["slept"], said["then"], said["refused"]), (1, 0, 0, 10))
    eq(len(c.rows["RANGE"]), said["recorded"])
    eq([(r["why"], r["count"]) for r in c.rows["LOST"]], [(THREAD_LOST, 10)])
    eq((len(c.rows["END"]), rings), (1, 0))


@test
def a_thread_that_waits_for_a_ring_has_it_at_once():
    said, c, rings = write("waits")
    whole(said, c)
    eq((said["slept"], said["refused"], rings), (0, 0, 0))


@test
def a_thread_that_others_overtake_waits_on_until_it_has_a_ring():
    said, c, rings = write("comes last")
    whole(said, c)
    eq((said["refused"], rings), (0, 0))


@test
def rings_without_room_are_made_elsewhere_and_nothing_is_recorded_where_there_is_none():
    said, c, rings = write("no room at first")
    whole(said, c)
    eq(rings, 0)
    p = run_case("no room at all")
    eq((p.returncode, p.stdout, p.stderr, os.listdir(RINGS)), (3, "", "", []))
    eq([os.path.getsize(os.path.join(WHERE, f)) for f in os.listdir(WHERE)], [0])  # whoever looks sees that it was tried


@test
def nothing_is_recorded_where_no_file_can_be_made():
    p = run_case("nothing", to="/gone")
    eq((p.returncode, p.stdout, p.stderr, os.listdir(RINGS), os.listdir(WHERE)), (3, "", "", [], []))


@test
def rings_go_with_the_process_unless_more_may_be_counted_in_them():
    for case, left in (("nothing", 0), ("leaves", 0), ("stays", 1), ("late", 1), ("samples", 0), ("child", 0)):
        said, c, rings = write(case)
        whole(said, c)
        eq((case, rings, said.get("child", 0)), (case, left, 0))


@test
def every_thread_is_named_however_many_come_at_once():
    said, c, rings = write("names")
    names = [c.text(r["name"]) for r in c.rows["THREAD"]]
    eq((names.count("sleeper"), names.count("writer")), (300, 1))


@test
def what_the_program_wrote_over_is_passed_over_and_told():
    said, c, rings = write("stray")
    got = sorted(r["id"] for r in c.rows["RANGE"])
    eq(got, [*range(1, 13), *range(23, said["recorded"] + 1)])
    eq(([(r["why"], r["count"]) for r in c.rows["LOST"]], len(c.rows["END"]), rings), ([(DAMAGED, 1)], 1, 0))


@test
def a_stray_write_into_the_recorders_own_ring_costs_what_it_hit():
    said, c, rings = write("stray bulk")
    eq(len(c.rows["RANGE"]), said["recorded"])
    eq([c.text(m["value"]) for m in c.rows["META"] if c.strings.get(m["key"]) == "after"], ["there"])
    eq(([(r["why"], r["count"]) for r in c.rows["LOST"]], len(c.rows["END"]), rings), ([(DAMAGED, 1)], 1, 0))


@test
def kernels_are_named_by_the_text_at_their_address():
    said, c, rings = write("symbols")
    names = {}
    for r in c.rows["SYMBOL"]:
        eq(names.setdefault(r["number"], c.text(r["name"])), c.text(r["name"]))
    odd = [r for r in c.rows["SYMBOL"] if not c.text(r["name"]).startswith("kernel")]
    eq(sorted(c.text(r["name"]) for r in odd), ["cut", "over the end", "x" * 1024])
    texts = sorted(names.values())
    eq([t for t in texts if t.startswith("kernel")], sorted(f"kernel {i}" for i in range(said["symbols"])))
    launched = [r["event"] for r in c.rows["API"] if "event" in r]
    eq(len(launched), 0)  # their records end where arguments would begin
    eq(sum(c.text(r["name"]) == "kernel 0" for r in c.rows["SYMBOL"]) <= 2, True)


@test
def the_writer_has_no_file_of_the_program_and_the_program_none_of_its():
    for case in ("table", "table unshared"):
        said, c, rings = write(case)
        whole(said, c)
        eq((case, said["here"], said["null"], said["there"] <= 8), (case, 23, 3, True))


@test
def memory_that_a_checker_forbids_is_read():
    program = WORK + "/poisoned"
    cc(program, "-fsanitize=address", "tests/record/poisoned.c", *RT, "-ldl", flags=PLAIN)
    p = subprocess.run([program], capture_output=True, text=True, timeout=PATIENCE)
    eq((p.stdout, p.stderr, p.returncode), ("read 1 gathered 1\n", "", 0))


@test
def memory_is_read_through_a_pipe_again_and_again():
    said, c, rings = write("reads")
    whole(said, c)
    eq(said["wrong"], 0)


@test
def files_are_found_again_where_the_program_closed_them():
    said, c, rings = write("table shared")
    whole(said, c)
    eq((said["recorded"], rings), (40, 0))


if __name__ == "__main__":
    sys.exit(run(build))
