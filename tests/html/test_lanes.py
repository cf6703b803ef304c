#!/usr/bin/env python3
"""Lanes of threads, what nests in what, findings without a gap, and pages without events, in a real browser."""
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import tap
from browser import browser, console, load, missing, span, text_of, write


def traced(folder, name, *events):
    path = folder / f"{name}.json"
    path.write_text(json.dumps({"traceEvents": list(events)}))
    return path


def launch(corr, at, begin, length, name="gemm"):
    """A call and its kernel; times in us."""
    return (span("cudaLaunchKernel", "cuda_runtime", 1, 1, at, 5, correlation=corr),
            span(name, "kernel", 0, 7, begin, length, correlation=corr, stream=7, device=0))


def check_kinds(driver, folder):
    """One thread: a frame around a range around an operator around a frame around a call; another one with what recording took."""
    page, good, err = write(folder, "kinds.html", traced(
        folder, "kinds",
        span("train.py(3): main", "python_function", 1, 1, 0, 100), span("forward", "user_annotation", 1, 1, 10, 60), span("aten::mm", "cpu_op", 1, 1, 20, 30),
        span("hook.py(7): hook", "python_function", 1, 1, 25, 20), *launch(1, 30, 40, 10), span("Buffer Flush", "overhead", 1, 9, 5, 50)))
    load(driver, page)
    lanes = driver.execute_script("""
        const t = assay.timeline, of = (list) => list.map((g) => [g.kind, g.title, g.lanes.length]);
        return [of(t.shown.filter((g) => g.track.kind === "thread")), of(t.groups.filter((g) => g.kind === "recorder"))];""")
    tap.ok("ranges, calls and Python frames of a thread have lanes of their own", good and lanes[0] == [["range", "thread 1 ranges", 1], ["host", "thread 1", 2], ["python", "thread 1 Python", 2]], lanes or err)
    said = driver.execute_script("return [...document.querySelectorAll('.labels .title')].map((b) => b.textContent).slice(-3)")
    tap.ok("lanes below those of the same thread say only what they hold", said == ["thread 1 ranges", "thread 1", "Python"], said)
    tap.ok("a thread with nothing but what recording took is not shown at first", lanes[1] == [["recorder", "thread 9", 1]], lanes)
    nest = driver.execute_script("""
        const d = assay.data, t = assay.timeline, name = (i) => i < 0 ? "" : d.texts[d.name[i]], lanes = [...threadLanes(d).values()][0], entered = [], left = [];
        walkNest(d, lanes, 0, 60000, (i, around) => entered.push([name(i), name(around)]), (i, inside) => left.push([name(i), inside / 1000]));
        const call = d.gpu.launch[0];
        return [entered, left, spansAround(d, t.laneOf(call), call).map(name), sumByName(t, lanes, 0, 60000).map((r) => [spanName(d, r.span), r.total / 1000, r.self / 1000]).sort()];""")
    order = ["train.py(3): main", "forward", "aten::mm", "hook.py(7): hook", "cudaLaunchKernel"]
    tap.ok("spans nest over lanes of all kinds", nest[0] == [[a, b] for a, b in zip(order, ["", *order])], nest[0])
    tap.ok("a span knows the time of those directly in it", nest[1] == [["cudaLaunchKernel", 0], ["hook.py(7): hook", 5], ["aten::mm", 20], ["forward", 30], ["train.py(3): main", 50]], nest[1])
    tap.ok("a call knows what lies around it", nest[2] == order[:-1], nest[2])
    tap.ok("self time leaves out what other lanes have", nest[3] == sorted([["train.py(3): main", 60, 10], ["forward", 50, 20], ["aten::mm", 30, 10], ["hook.py(7): hook", 20, 15], ["cudaLaunchKernel", 5, 5]]), nest[3])
    shares = driver.execute_script("""
        const t = assay.timeline;
        t.selectArea(0, 60000);
        return [...document.querySelectorAll(".details .table")].slice(0, 2).map((table) => {
            const at = [...table.querySelectorAll("th")].findIndex((h) => h.textContent === "share");
            return [...table.querySelectorAll("tbody tr")].reduce((sum, r) => sum + parseFloat(r.cells[at].textContent), 0);
        });""")
    tap.ok("shares of an area sum to the whole", all(abs(s - 100) < 0.5 for s in shares), shares)


def check_first_wait(driver, folder):
    """The first work of a step was submitted 20 ms before it began: the device was at work from before the recording, and the step begins there."""
    step = span("ProfilerStep#1", "user_annotation", 1, 1, 0, 300)
    work = [e for i in range(20) for e in launch(i + 2, 10 + 6 * i, 20210 + 50 * i, 40)]
    page, good, err = write(folder, "first.html", traced(folder, "first", step, *launch(1, 0, 20000, 40), *work))
    load(driver, page)
    cards, header = driver.execute_script("return ['#verdicts', '.tiles'].map((part) => document.querySelector(part).textContent)")
    tap.ok("a step begins behind work from before the recording, which is no wait of it", good and "does not start" not in cards and "one step on the GPU1.20 ms" in header, (cards, header, err))


def check_all_findings(driver, folder):
    """Every finding of real inputs leads to events, or says why it cannot."""
    data = tap.CORPUS / "tracelens"
    for name in ("inference/vllm_prefilldecode_piecewise.json.gz", "vllm_decode_graph.json.gz", "rocprofv3_908_results.json.gz", "torch_compile_triton.json.gz"):
        if not (data / name).exists():
            tap.skip(f"findings of {name} lead somewhere", "no corpus")
            continue
        load(driver, write(folder, "real.html", data / name)[0])
        cards = driver.execute_script("return [...document.querySelectorAll('#verdicts > li')].map((li) => [li.querySelector('.said').textContent, li.querySelector('.evidence')?.textContent ?? ''])")
        nothing = lambda text: text.startswith("no wait that can be avoided")
        tap.ok(f"{len(cards)} findings of {name} lead somewhere", cards and all(said == "show it" or "recorded" in said or nothing(text) for text, said in cards), cards)


def check_unseen(driver, folder):
    """A finding about what was not recorded has nothing to show, and says so."""
    page, _, _ = write(folder, "host.html", traced(folder, "host", span("aten::mm", "cpu_op", 1, 1, 0, 50)))
    load(driver, page)
    said = driver.execute_script("return [...document.querySelectorAll('#verdicts .evidence')].map((e) => e.textContent)")
    tap.ok("a finding about what was not recorded says so", said == ["nothing to show: it was not recorded"], said)


def check_no_gpu(driver, folder):
    """Threads alone: the strip over the lanes shows them, and the dock takes no more room than it needs."""
    page, _, _ = write(folder, "threads.html", traced(folder, "threads", span("aten::mm", "cpu_op", 1, 1, 0, 50), span("aten::mm", "cpu_op", 1, 1, 900, 100)))
    load(driver, page)
    busy, dock = driver.execute_script("const t = assay.timeline, row = t.busyPixels(), at = (part) => row[Math.round(part * (row.length - 1))] > 0; return [[0.03, 0.5, 0.95].map(at), document.querySelector('.bench > .details').clientHeight]")
    tap.ok("the strip of a run without GPU work shows its threads", busy == [True, False, True], busy)
    tap.ok("a dock with nothing to say is one line", dock < 60, dock)


def check_empty(driver, folder):
    page, _, _ = write(folder, "empty.html", traced(folder, "empty"))
    load(driver, page)
    seen = driver.execute_script("return [document.querySelectorAll('#verdicts > li').length, [...document.querySelectorAll('.timeline, .details')].filter((e) => e.getClientRects().length).length, document.querySelectorAll('.tile').length]")
    tap.ok("a page without events has a finding and no timeline", seen == [1, 0, 0], seen)


def check_idle_lines(driver, folder):
    """Idle time of a step by line sums to that by cause, and to the budget."""
    load(driver, write(folder, "run.html", tap.ROOT / "demo/run")[0])
    got = driver.execute_script("""
        const d = assay.data, sum = (list) => list.reduce((a, b) => a + b, 0), rows = lineSums(d);
        return [sum(rows.map((r) => r.step)), sum(causeSums(d).map(([, c]) => c.step)), [...document.querySelectorAll("#idle .table")][1].querySelector("tbody tr").textContent,
            assay.timeline.shown.filter((g) => g.track.kind === "thread").map((g) => g.title)];""")
    tap.ok("idle time of a step by line sums to that by cause", math.isclose(got[0], got[1], rel_tol=1e-9) and got[0] > 0, got)
    tap.ok("the line that costs most of a step stands first", "host data" in got[2] and "data loader" in got[2], got[2])
    tap.ok("threads of the recorder have no lanes", got[3] and not any("assay" in title for title in got[3]), got[3])
    room = driver.execute_script("""
        document.querySelector(".bench").style.height = "670px";
        const d = assay.data, kernels = Array.from({ length: d.gpu.n }, (_, i) => i).filter((i) => d.texts[d.name[i]].includes("flash_bprop"));
        assay.timeline.select(kernels.at(-1), true);
        const dock = document.querySelector(".details"), bottom = (what) => dock.querySelector(what).getBoundingClientRect().bottom - dock.getBoundingClientRect().bottom;
        return [innerWidth, bottom(".histogram"), bottom(".facts code")];""")
    tap.ok("details of a kernel with its stack and histogram need no scrolling in a window of 1280 x 800", max(room[1:]) < 0, room)
    driver.execute_script("document.querySelector('.bench').style.height = ''")
    driver.execute_script("[...document.querySelectorAll('#idle .plain')].find((b) => b.textContent.includes('program.py:31')).click()")
    tap.ok("a line of idle time leads to its events", driver.execute_script("return document.querySelector('.search').value === 'line=program.py:31' && assay.timeline.match.count > 0"))


def check_ranks_with_environments(driver, folder):
    """Snapshots of machines are no ranks: they are not listed where the ranks are whose events the page has."""
    job = folder / "job"
    subprocess.run([sys.executable, tap.ROOT / "bench/gen_ranks.py", job, "20", "--steps", "3", "--env"], check=True, stdout=subprocess.DEVNULL)
    load(driver, write(folder, "job.html", job)[0])
    said = driver.execute_script("return document.querySelector('.findings > p').textContent")
    tap.ok("only processes are counted and named", said.startswith("19 processes.") and "input" not in said and "rank 5" in said, said)
    straggler = driver.execute_script("""
        const card = [...document.querySelectorAll("#verdicts > li")].find((li) => li.textContent.includes("wait") && li.textContent.includes("rank 5"));
        const span = Number(card.querySelector("a.evidence").getAttribute("href").match(/span=(\\d+)/)[1]), d = assay.data;
        return d.sources[d.tracks[assay.timeline.laneOf(span).track].source].rank;""")
    tap.ok("the finding about a late rank leads to its work", straggler == 5, straggler)
    tap.ok("its ranks are in a table", "rank 5" in text_of(driver, "ranks"))


def main():
    if missing():
        return tap.skip("lanes of the page in a browser", missing())
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as name:
        driver = browser()
        try:
            for check in (check_kinds, check_first_wait, check_all_findings, check_unseen, check_no_gpu, check_empty, check_idle_lines, check_ranks_with_environments):
                check(driver, pathlib.Path(name))
            tap.ok("nothing failed on the console", not console(driver))
        finally:
            driver.quit()


main()
tap.done()
