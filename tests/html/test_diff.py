#!/usr/bin/env python3
"""The page of two runs in a real browser."""
import json
import math
import os
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import tap
from browser import browser, choose, console, load, missing, open_tab, text_of, until, webdriver

if webdriver:
    from selenium.webdriver.common.by import By


def check_room(folder):
    """On a wide screen the dock is narrow: what names it shows can be read."""
    driver = browser(1600, 1000)
    try:
        load(driver, folder / "diff.html")
        got = driver.execute_script("""
            const dock = document.querySelector(".details").getBoundingClientRect(), table = document.querySelector(".details .area table");
            return [...table.querySelectorAll("td.name")].map((cell) => cell.getBoundingClientRect()).map((box) => [Math.round(box.width), Math.round(dock.right - box.right)]);""")
        tap.ok("names in the narrow dock have room and are not cut off at its edge", got and all(width > 90 and left >= 0 for width, left in got), got[:4])
    finally:
        driver.quit()


def check_diff(driver, folder):
    runs = [tap.ROOT / f"demo/ddp/ddp_rank{i}.json.gz" for i in (0, 1)]
    page = folder / "diff.html"
    code, out, err = tap.run("diff", *runs, "--html", page)
    tap.ok("two runs make one page", code in (0, 1) and not out and page.exists(), err)
    load(driver, page)
    want = json.loads(tap.run("diff", "--json", *runs)[1])
    tap.ok("the page of two runs equals diff --json", driver.execute_script("return assay.diff") == want)
    tap.ok("it shows both timelines", driver.execute_script("return assay.timelines.length === 2 && document.querySelectorAll('.timeline').length === 2"))
    tap.ok("it says what changed", want["sentence"].replace(" us", " µs").replace("->", "→") in driver.find_element(By.CSS_SELECTOR, ".findings").text)
    together = driver.execute_script("""
        const [a, b] = assay.timelines;
        a.show(a.steady[0] + 1000, 2e6);
        return [a.t0 - a.steady[0], b.t0 - b.steady[0], a.scale, b.scale];""")
    tap.ok("both timelines show the same time of their steps", abs(together[0] - together[1]) < 1 and together[2] == together[3], together)
    check_dock(driver, want)
    check_pair(driver, want)
    check_flame_diff(driver, want)
    tap.ok("it compares operators", all(o["name"] in text_of(driver, "operators") for o in want["ops"]))
    driver.execute_script("assay.timelines[1].select(0, true)")
    driver.execute_script("[...document.querySelectorAll('.details .facts a')].find((a) => a.title.startsWith('cuda')).click()")
    tap.ok("links stay inside their run", until(driver, "assay.timelines[0].selected === -1 && assay.timelines[1].selected === assay.timelines[1].data.gpu.launch[0]"))
    pair = tap.ROOT / "tests/cases/diff/flash-to-math"
    tap.run("diff", pair / "before", pair / "after", "--html", page)
    load(driver, page)
    rows = lambda section: text_of(driver, section)
    tap.ok("it shows code that took the place of other code", "math (a fallback)" in rows("switches"))
    tap.ok("it compares budgets", "host gap" in rows("budget") and "unknown" in rows("budget"))
    tap.ok("it compares environments", "hipblaslt.package_version" in rows("environments") and "0.10.0" in rows("environments"))
    tap.ok("the page of two runs has no console errors", not console(driver))


def check_same(driver, folder):
    """A run and itself: nothing is said to have changed."""
    page = folder / "same.html"
    tap.run("diff", tap.ROOT / "demo/train.json.gz", tap.ROOT / "demo/train.json.gz", "--html", page)
    load(driver, page)
    tile, side = driver.execute_script("return [document.querySelectorAll('.tile dd')[2].textContent, document.querySelector('.findings').textContent]")
    tap.ok("a run and itself show no change of either sign", tile == "0 ns (0.0 %)", tile)
    tap.ok("nothing is listed as changed, under no heading", "no difference" in side and "Largest" not in side and not re.search(r"\d us", side), side)
    over = driver.execute_script("""
        const lines = (e) => { const r = document.createRange(); r.selectNodeContents(e); return [...r.getClientRects()]; };
        const meet = (a, b) => a.width && b.width && a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
        return [...document.querySelectorAll(".table:has(caption):has(.copy)")].flatMap((t) => lines(t.querySelector("caption"))
            .filter((line) => meet(line, t.querySelector(".copy").getBoundingClientRect())).map(() => t.querySelector("caption").textContent));""")
    tap.ok("no text runs under the buttons that copy a table", over == [], over)


def check_dock(driver, diff):
    """What stands beside the timelines at first is a step of each, as the tables have it."""
    got = driver.execute_script("""
        const timelines = assay.timelines, counted = timelines.map((t) => countedTime(t.data)), title = document.querySelector(".details h3").textContent;
        const rows = pairs(timelines, timelines.map((t, i) => sumByName(t, mainLanes(t), ...counted[i].slice(0, 2))), rowClass, counted.map(([, , n]) => n));
        const shown = [...document.querySelectorAll(".details .area table")].at(-1).tBodies[0].rows[0].cells, first = rows.sort((a, b) => Math.abs(b.by[1] - b.by[0]) - Math.abs(a.by[1] - a.by[0]))[0];
        return { title, classes: Object.fromEntries(rows.map((r) => [r.key, r.by])), first: [shown[1].textContent, shown[2].textContent, shown[3].textContent], want: [...first.by.map(formatTime), first.key],
            causes: timelines.map(({ data }) => Object.fromEntries(causeSums(data).map(([cause, sum]) => [causeName(data, cause), sum.step]))) };""")
    gemm = next(f for f in diff["families"] if f["name"] == "gemm")
    tap.ok("the dock divides a step's time as diff --json does", f"mean of {diff['steps'][0]} and {diff['steps'][1]}" in got["title"] and all(map(math.isclose, got["classes"]["gemm"], (gemm["a_ns"], gemm["b_ns"]))), got)
    idle = {name: by for name, by in got["classes"].items() if name.startswith("idle: ")}
    same = [(name, by, side, got["causes"][side].get(name, 0)) for name, by in idle.items() for side in (0, 1) if not math.isclose(by[side], got["causes"][side].get(name, 0), rel_tol=1e-6, abs_tol=1)]
    tap.ok("and its idle time as the tables of causes do, a gap of several causes divided among them", len(idle) > 4 and not same, same)
    tap.ok("the largest change stands first", got["first"] == got["want"], (got["first"], got["want"]))


def check_one_step(driver, folder):
    """Of a run with one step nothing says what changes by chance: no column of it, and a word on why."""
    page, short = folder / "one.html", folder / "one.json"
    events = [{"ph": "X", "name": "aten::mm", "cat": "cpu_op", "pid": 1, "tid": 1, "ts": 10, "dur": 20},
              {"ph": "X", "name": "cudaLaunchKernel", "cat": "cuda_runtime", "pid": 1, "tid": 1, "ts": 12, "dur": 5, "args": {"correlation": 1}},
              {"ph": "X", "name": "gemm", "cat": "kernel", "pid": 0, "tid": 7, "ts": 20, "dur": 9000, "args": {"correlation": 1, "device": 0, "stream": 7}},
              {"ph": "X", "name": "ProfilerStep#1", "cat": "user_annotation", "pid": 1, "tid": 1, "ts": 5, "dur": 9100}]
    short.write_text(json.dumps({"traceEvents": events}))
    tap.run("diff", tap.ROOT / "demo/train.json.gz", short, "--html", page)
    load(driver, page)
    heads = driver.execute_script("return [...document.querySelectorAll('.panel th')].map((h) => h.textContent)")
    side = driver.execute_script("return document.querySelector('.findings').textContent")
    tap.ok("what changes by chance is not said to be large beside an unknown", "verdict" in heads and "by chance up to" not in heads and "after has fewer than two steps" in side, (side, heads))


def check_pair(driver, diff):
    """Header and list of changes against --json; an area of one run beside the same time of the other, summed another way."""
    tiles = driver.execute_script("return Object.fromEntries([...document.querySelectorAll('.tile')].map((t) => [t.firstChild.textContent, t.lastChild.textContent]))")
    millis = lambda ns: f"{ns / 1e6:.{0 if ns >= 1e8 else 1 if ns >= 1e7 else 2}f} ms"
    tap.ok("step times of the header are those of diff --json", [tiles["step before"], tiles["step after"]] == [millis(diff["step"][k]) for k in ("a_ns", "b_ns")], tiles)
    listed = driver.execute_script("return [...document.querySelectorAll('.changes a')].map((a) => [a.textContent, document.getElementById(a.hash.slice(1)) !== null])")
    real = [f"idle: {c['name'].replace('_', ' ')}" for c in sorted(diff["idle_causes"], key=lambda c: -abs(c["change_ns"])) if c["real"]][:4]
    tap.ok("the largest changes are listed and lead to tables", all([text, True] in listed for text in real) and all(there for _, there in listed), (listed, real))
    got = driver.execute_script("""
        const [a, b] = assay.timelines, from = a.steady[0] + 2e5, to = a.steady[0] + 3e6;
        a.selectArea(from, to);
        const rows = pairs([a, b], [a, b].map((t, i) => sumByName(t, t.groups.filter((g) => g.kind === "gpu").flatMap((g) => g.lanes), from + i * (b.steady[0] - a.steady[0]), to + i * (b.steady[0] - a.steady[0]))), rowClass);
        const own = assay.timelines.map(({ data, steady }) => {
            let sum = 0;
            for (let i = 0; i < data.gpu.n; i++)
                sum += Math.max(0, Math.min(data.start[i] + data.dur[i], steady[0] + 3e6) - Math.max(data.start[i], steady[0] + 2e5));
            return sum;
        });
        const heads = [...document.querySelectorAll(".details .area th")].map((h) => h.textContent);
        return [own, [0, 1].map((side) => rows.reduce((sum, r) => sum + r.by[side], 0)), heads.includes("before") && heads.includes("class") && heads.includes("name")];""")
    tap.ok("an area is summed in both runs", got[0] == got[1] and min(got[0]) > 0 and got[2], got)
    driver.execute_script("assay.timelines[0].measure = null; assay.timelines[0].select(-1, false)")


def check_flame_diff(driver, diff):
    """Boxes of both runs sum to what diff --json says of kernels, and of idle time but for what the first step that counts
    waited before anything was recorded; call trees by hand."""
    open_tab(driver, "flame")
    got = driver.execute_script("""
        const f = document.getElementById("flame").flame;
        let nested = true;
        const visit = (n) => { const sum = [...n.inside.values()].reduce((s, c) => s + c.gpu, 0); nested &&= sum <= n.gpu * 1.000001; n.inside.forEach(visit); };
        visit(f.root);
        return [f.root.by.gpu, f.root.by.idle, nested, document.querySelectorAll(".flame button").length];""")
    want = [[sum(d[side] for d in diff[key]) for side in ("a_ns", "b_ns")] for key in ("kernels", "idle_causes")]
    same = all(math.isclose(a, b, rel_tol=1e-6) for a, b in zip(got[0], want[0]))
    idle = all(0.95 * b <= a <= b * 1.000001 for a, b in zip(got[1], want[1]))
    tap.ok("the difference flame sums to diff --json", same and idle and got[2] and got[3] > 3, (got, want))
    merged = driver.execute_script("""
        const run = (texts) => ({ texts }), leaf = (name, gpu, ...inside) => ({ name, count: 2, gpu, host: 0, idle: 0, inside: new Map(inside.map((c) => [c.name, c])) });
        const root = mergeTrees([run(["", "/a/x.py(3): f", "old 0x7f", "step#1"]), run(["", "/b/x.py(9): f", "new", "step#8"])],
            [leaf(0, 60, leaf(3, 60, leaf(1, 40, leaf(2, 10)))), leaf(0, 30, leaf(3, 30, leaf(1, 20, leaf(2, 5))))], [2, 1], ["gpu", "host", "idle"], sameCall);
        const show = (n) => [n.name, n.by.gpu, n.counts, [...n.inside.values()].map(show)];
        return show(root);""")
    tap.ok("calls are the same where only lines, addresses and counts differ", merged == ["", [30, 30], [1, 2], [
        ["step", [30, 30], [1, 2], [["x.py: f", [20, 20], [1, 2], [["old 0x…", [5, 0], [1, 0], []], ["new", [0, 5], [0, 2], []]]]]]]], merged)


def check_stack_diff(driver, diff):
    """GPU work and idle time of both runs by Python stack, as the flame graph of one run has them; stacks by hand."""
    open_tab(driver, "flame")
    got = driver.execute_script("""
        const f = document.getElementById("flame").flame, own = assay.runs.map((run) => { const [from, to, steps] = countedTime(run), root = launchTree(run, from, to); return [root.stack_gpu / steps, root.stack_idle / steps]; });
        const find = (n, word) => [f.title(n).startsWith(word) ? n.by.stack_gpu : null, ...[...n.inside.values()].map((c) => find(c, word))].flat(Infinity).filter((v) => v !== null);
        return { key: f.key, both: f.root.by, own, train: find(f.root, "train_step · program.py"), boxes: [...document.querySelectorAll("#flame .flame button")].map((b) => b.textContent) };""")
    tap.ok("the difference flame is by Python stack where both runs have them", got["key"] == "stack_gpu" and any(b == "train_step · program.py" for b in got["boxes"]), got)
    tap.ok("it sums to both runs", [got["both"]["stack_gpu"], got["both"]["stack_idle"]] == [list(side) for side in zip(*got["own"])] and math.isclose(got["both"]["stack_gpu"][0], sum(k["a_ns"] for k in diff["kernels"]), rel_tol=1e-6), got)
    tap.ok("a function has its time in both", len(got["train"]) == 2 and got["train"][0] == got["train"][1] > 0, got["train"])
    merged = driver.execute_script("""
        const run = (file, line, kernel) => ({ texts: ["", "f", file, kernel], stack: { code: [0], line: [line] }, code: { function: [1], file: [2], line: [1] }, enums: { cause: ["", "host_data"] } });
        const node = (name, leaf, stack_gpu, ...inside) => ({ name, leaf, count: 0, stack_gpu, stack_idle: 1, inside: new Map(inside.map((c, i) => [i, c])) });
        const tree = (ns) => node(-1, null, ns, node(0, null, ns, node(-1, { what: "kernel", id: 3 }, ns), node(-1, { what: "cause", id: 1 }, 0)));
        const root = mergeTrees([run("/a/x.py", 3, "old"), run("/b/x.py", 9, "new")], [tree(8), tree(6)], [2, 1], ["stack_gpu", "stack_idle"], sameLaunch);
        const show = (n) => [n.name, n.by.stack_gpu, [...n.inside.values()].map(show)];
        return show(root);""")
    tap.ok("functions are the same where their lines moved, kernels and causes by their names", merged == ["", [4, 6], [["f · x.py", [4, 6], [["old", [4, 0], []], ["idle: host data", [0, 0], []], ["new", [0, 6], []]]]]], merged)


def check_code_diff(driver, folder):
    """Lines of two runs as diff --json has them, by function by hand; a press marks their events in both."""
    page, run = folder / "diff.html", tap.ROOT / "demo/run"
    tap.run("diff", run, run, "--html", page)
    load(driver, page)
    want = json.loads(tap.run("diff", "--json", "--top", 0, run, run)[1])
    got = driver.execute_script("return tablesOf(document.getElementById('lines')).map((t) => [...t.querySelectorAll('tbody .plain')].map((b) => b.textContent))")
    names = [[d["name"] for d in want[key]] for key in ("lines", "waiting_lines")]
    tap.ok("lines of two runs are those of diff --json", all(shown and shown == name[:len(shown)] for shown, name in zip(got, names)), (got, names))
    driver.execute_script("document.querySelector('#lines tbody .plain').click()")
    found = driver.execute_script("return [document.querySelector('.search').value, assay.timelines.map((t) => t.match?.count ?? 0)]")
    tap.ok("a line leads to its events in both runs", found[0] == "line=" + names[0][0].split(" ")[0] and found[1][0] == found[1][1] > 0, found)
    merged = driver.execute_script("""
        const row = (name, a_ns, b_ns, real) => ({ name, a_ns, b_ns, change_ns: b_ns - a_ns, noise_ns: 1, a_count: a_ns ? 1 : 0, b_count: b_ns ? 2 : 0, real, change: "changed" });
        return byFunction([row("x.py:20 g", 20, 0, true), row("x.py:25 g", 0, 12, true), row("x.py:3 f", 4, 4, false), row("y.py:9", 0, 2, true)]).map((d) => [d.name, d.a_ns, d.b_ns, d.change_ns, d.a_count, d.b_count, d.change, d.real]);""")
    tap.ok("lines that moved are the same by function", merged == [["x.py g", 20, 12, -8, 1, 2, "changed", True], ["y.py", 0, 2, 2, 0, 2, "added", True], ["x.py f", 4, 4, 0, 1, 2, "changed", False]], merged)
    check_stack_diff(driver, want)
    choose(driver, "code", "function")
    rows = driver.execute_script("return tablesOf(document.getElementById('lines'))[0].querySelector('tbody').textContent")
    tap.ok("rows can be functions", "program.py train_step" in rows and ":" not in rows, rows)
    order = driver.execute_script("""
        const side = compareFindings({ ...assay.diff, switches: [], families: [{ name: "gemm", change_ns: 5, real: true }], idle_causes: [{ name: "host_data", change_ns: -9, real: true }],
            ops: [{ name: "aten::mm", change_ns: 7, real: true }], lines: [{ name: "x.py:3 f", change_ns: 1, real: false }], waiting_lines: [] }, () => {});
        return [...side.querySelectorAll(".changes a")].map((a) => a.textContent);""")
    tap.ok("changes stand by their size, whatever kind they are of", order == ["idle: host data", "operator aten::mm", "gemm kernels"], order)
    find = driver.execute_script("""
        const out = [];
        for (const button of document.querySelectorAll("#operators .find, #kernels .find")) {
            button.click();
            out.push([document.querySelector(".search").value, assay.timelines.map((t) => t.match?.count ?? 0)]);
        }
        return out.filter(([, [a, b]]) => !a || a !== b);""")
    tap.ok("operators and kernels lead to their events in both runs", find == [], find)


def main():
    if missing():
        return tap.skip("the page of two runs in a browser", missing())
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as name:
        folder, driver = pathlib.Path(name), browser()
        try:
            check_diff(driver, folder)
            check_room(folder)
            check_code_diff(driver, folder)
            check_same(driver, folder)
            check_one_step(driver, folder)
            tap.ok("nothing failed on the console", not console(driver))
        finally:
            driver.quit()


main()
tap.done()
