#!/usr/bin/env python3
"""The page of `assay report --html` in a real browser: Chromium, or Firefox with BROWSER=firefox."""
import csv
import io
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "bench/page"))
import tap
from browser import FIREFOX, browser, choose, console, load, missing, open_tab, reopen, settle, span, text_of, until, webdriver, write
from gen_events import write_events

if webdriver:
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

HOSTILE = '</script><img src=x onerror="window.hacked=1"><!--<script>window.hacked=1</script>'
MANY = 100_000


def hostile_trace(path):
    events = [
        {"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": HOSTILE}},
        span(HOSTILE, "cpu_op", 1, 1, 0, 50),
        span("cudaLaunchKernel", "cuda_runtime", 1, 1, 10, 5, correlation=1),
        span(HOSTILE, "kernel", 0, 7, 30, 20, correlation=1, stream=7, device=0),
        span("plain", "kernel", 0, 7, 40, 20, correlation=2, stream=7, device=0),
    ]
    path.write_text(json.dumps({"traceEvents": events, HOSTILE: HOSTILE}))


def check_demo(driver, folder):
    inputs = (tap.ROOT / "demo/train.json.gz", tap.ROOT / "demo/nvidia_smi.csv")
    page, good, err = write(folder, "demo.html", *inputs)
    tap.ok("the page is written and its size stated", good, err)
    load(driver, page)
    tap.ok("the demo loads without console errors", not console(driver), "")
    size = page.stat().st_size
    tap.ok("the page states its own size", f"{size / 1000:.0f} kB" in text_of(driver, "trust"), text_of(driver, "trust"))
    tap.ok("the page of a demo stays below 500 kB", size < 500_000, size)
    check_first_screen(driver)
    check_totals(driver, json.loads(tap.run("report", "--json", "--top", 1000, *inputs)[1]))
    check_names(driver, inputs)
    check_timeline(driver)
    check_area(driver)
    check_query(driver)
    check_lanes(driver)
    check_path(driver, inputs)
    check_roofline(driver, inputs)
    check_details(driver)
    check_tables(driver)
    check_flame(driver)
    check_stacks(driver)
    check_notes(driver)
    check_address(driver, page)
    check_lanes_in_address(driver, page)
    check_sections(driver)
    check_race(driver)
    check_links(driver)
    check_keys(driver)
    tap.ok("nothing failed on the console while it was used", not console(driver))


def check_equal(driver, report):
    """Findings of all inputs, whether or not their events are on the page."""
    data = driver.execute_script("return assay.data.report")
    same = all(data["devices"][i] == d for i, d in enumerate(report["devices"]))
    tap.ok("devices equal --json", same and len(data["devices"]) == len(report["devices"]))
    kernels = driver.execute_script("""
        const k = assay.data.kernel, out = {};
        for (let i = 0; i < k.n; i++) if (assay.data.enums["kernel.kind"][k.kind[i]] === "kernel")
            out[assay.data.texts[k.name[i]]] = [k.count[i], k.total[i], k.min[i], k.max[i]];
        return out;""")
    want = {k["name"]: [k["count"], k["total_ns"], k["min_ns"], k["max_ns"]] for k in report["top_kernels"]}
    tap.ok("kernels equal --json", kernels == want)
    causes = driver.execute_script("""
        const c = assay.data.idle_cause, out = {};
        for (let i = 0; i < c.n; i++) out[assay.data.enums.cause[c.cause[i]]] = (out[assay.data.enums.cause[c.cause[i]]] ?? 0) + c.dur[i];
        return out;""")
    want = {}
    for device in report["devices"]:
        for cause, ns in device["idle_causes_ns"].items():
            want[cause] = want.get(cause, 0) + ns
    same = {c: ns for c, ns in causes.items() if ns} == {c: ns for c, ns in want.items() if ns}
    tap.ok("causes of idle time equal --json", same, (causes, want))


def check_totals(driver, report):
    check_equal(driver, report)
    sums = driver.execute_script("""
        const out = {}, d = assay.data;
        for (let i = 0; i < d.gpu.n; i++) out[d.texts[d.name[i]]] = (out[d.texts[d.name[i]]] ?? 0) + d.dur[i];
        return out;""")
    tap.ok("the timeline's events sum to --json", all(sums[k["name"]] == k["total_ns"] for k in report["top_kernels"]))
    tile = driver.execute_script("return [...document.querySelectorAll('.tile')].find((t) => t.textContent.startsWith('median step') || t.textContent.startsWith('step time'))?.lastChild.textContent")
    step = report["run_metrics"]["step_time_seconds"] * 1e3
    tap.ok("the step time is that of --json", tile == f"{step:.{0 if step >= 100 else 1 if step >= 10 else 2}f} ms", (tile, step))
    shown = text_of(driver, "devices")
    compute = report["devices"][0]["compute_ns"] / 1e6
    want_ms = f"{compute:.{0 if compute >= 100 else 1}f} ms"
    tap.ok("the shown compute time is that of --json", want_ms in shown, shown)


def check_names(driver, inputs):
    wide = {**os.environ, "COLUMNS": "254"}  # the page's labels have 200 columns, as the table's then
    text = tap.run("report", "--section", "kernels", "--top", 0, *inputs, env=wide)[1]
    shown = driver.execute_script("return assay.data.kernel_labels")
    listed = text[text.index("name\n"):].splitlines()[1:]
    names = [line[54:] for line in listed]
    missing = [n for n in names if n and "..." not in n and n not in shown]
    tap.ok(f"{len(names)} short names of kernels are those of the text report", names and not missing, missing)


# Of each GPU event, how many bands lie around it on its stream, and whether the innermost is hatched.
BANDS = """
const d = assay.data, t = assay.timeline, how = d.enums["gpu_scope.how"].findIndex((text) => text.endsWith("inferred"));
const mark = d.enums["span.kind"].indexOf("device annotation"), hatched = d.enums["span.kind"].indexOf("inferred scope");
const count = { inferred: 0, time: 0, known: 0, wrong: 0, bands: d.kind.filter((k) => k === hatched).length };
for (let g = 0; g < d.gpu.n; g++) {
    const track = t.laneOf(g).track;
    let inner = null, depth = -1;
    for (const lane of d.lanes.filter((l) => l.track === track && l.kind === mark)) {
        const i = t.levels.endsAfter(d.start[g], lane.first, lane.last);
        if (i < lane.last && d.start[i] <= d.start[g] && lane.depth > depth)
            [inner, depth] = [i, lane.depth];
    }
    const inferred = d.gpu_scope.how[g] === how;
    count[inferred ? "inferred" : "known"]++;
    count.time += inferred ? d.dur[g] : 0;
    count.wrong += d.gpu_scope.scope[g] >= 0 && (inner === null || (d.kind[inner] === hatched) !== inferred);
}
return count;
"""


def check_inferred(driver, folder):
    """A recording of assay: work of autograd's thread is in its scope by inference."""
    run = tap.ROOT / "demo/run"
    page, good, err = write(folder, "run.html", run)
    load(driver, page)
    check_totals(driver, json.loads(tap.run("report", "--json", "--top", 1000, run)[1]))
    check_names(driver, [run])
    want = json.loads(tap.run("scopes", "--json", run)[1])
    shown = driver.execute_script("return assay.data.scopes")
    same = all(shown[key] == want[key] for key in want if key != "issues")  # a report looks for more of them
    tap.ok("time by scope equals scopes --json", good and same, err)
    section = text_of(driver, "scopes")
    tap.ok("the page says how much is inferred", f"{want['gpu_sum_inferred_ns'] / 1e6:.3g} ms of {want['gpu_sum_ns'] / 1e6:.3g} ms are inferred" in section, section)
    count = driver.execute_script(BANDS)
    tap.ok(f"{count['inferred']:,} inferred and {count['known']:,} other events stand below bands that tell them apart",
           count["wrong"] == 0 and count["inferred"] == want["gpu_events_inferred"] and count["time"] == want["gpu_sum_inferred_ns"], count)
    legend = text_of(driver, "timeline")
    tap.ok("the legend explains bands and waits", count["bands"] > 0 and "inferred: launched by another thread" in legend and "waited for the device" in legend, legend)
    colours = driver.execute_script("""
        const w = assay.data.wait, t = assay.timeline, wait = new Set(), all = new Set();
        for (let i = 0; i < w.n; i++) if (w.host[i] >= 0 && w.consumer[i] < 0 && w.blocked[i] > 0) wait.add(w.host[i]);
        for (let i = 0; i < assay.data.first_gap; i++) if (!wait.has(i)) all.add(t.colour[i]);
        return [wait.size, new Set([...wait].map((s) => t.colour[s])).size, all.has(t.colour[[...wait][0]])];""")
    tap.ok("calls that waited have a colour of their own", colours[0] > 0 and colours[1] == 1 and not colours[2], colours)
    check_links(driver)
    check_lines(driver)
    check_curves(driver, json.loads(tap.run("report", "--json", run)[1]))
    tap.ok("the recorded run has no console errors", not console(driver))


def chains_of(waits):
    """Chains of waits --json as the page has them: [length, work or what the thread did, launching call, rank, time for it]."""
    rows = [[[s["dur_ns"], s.get("kernel", s.get("doing")), s.get("launch"), s.get("last_rank", -1), s.get("waited_ns", 0)] for s in w["chain"]] for w in waits]
    return sorted((r for r in rows if r), key=str)


def check_chains(driver, folder):
    """Why waits lasted, against waits --chains --json; arrows of a chain over three streams."""
    cases = tap.ROOT / "tests/cases/waits"
    for name, where in (("run", tap.ROOT / "demo/run"), ("four ranks", cases / "four-ranks/job"), ("default stream", cases / "legacy-default-stream/in.json")):
        page, good, err = write(folder, "chains.html", where)
        load(driver, page)
        want = chains_of(json.loads(tap.run("waits", "--chains", "--json", "--top", 0, where)[1])["waits"])
        got = driver.execute_script("""
            const d = assay.data, name = (span) => span >= 0 ? d.texts[d.name[span]] : null;
            return Array.from({ length: d.wait.n }, (_, i) => chainOf(d, i)).filter((c) => c.length).map((c) =>
                c.map((s) => [s.dur, s.launch >= 0 ? name(s.host) : name(s.gpu), name(s.launch), s.lastRank, s.waited]));""")
        tap.ok(f"{len(want)} chains of waits equal --json ({name})", good and want and sorted(got, key=str) == want, err)
    shown = driver.execute_script("""
        const d = assay.data, t = assay.timeline, name = (span) => d.texts[d.name[span]];
        t.select(d.name.findIndex((n) => d.texts[n] === "hipStreamSynchronize"), true);
        return [t.arrows.map(([a, b, kind]) => `${name(a)} ${kind} ${name(b)}`), t.underlined.map(name), document.querySelector(".chain")?.textContent];""")
    want = {"C2 return hipStreamSynchronize", "N order C2", "K1 order N"}
    tap.ok("a wait has arrows along its chain", want <= set(shown[0]) and shown[1] == ["C2", "N", "K1"], shown)
    tap.ok("its details list the chain", shown[2] and all(word in shown[2] for word in ("Why the wait lasted", "981 µs K1")), shown)
    driver.execute_script("assay.timeline.select(-1, false)")
    tap.ok("pages of waits have no console errors", not console(driver))


def check_ranks(driver, folder):
    """More ranks than are read in full: the page has findings of all, and events of a few."""
    job = folder / "job"
    subprocess.run([sys.executable, tap.ROOT / "bench/gen_ranks.py", job, "20", "--steps", "3"], check=True, stdout=subprocess.DEVNULL)
    page, good, err = write(folder, "job.html", job)
    load(driver, page)
    report = json.loads(tap.run("report", "--json", "--top", 1000, job)[1])
    check_equal(driver, report)
    full = [i for i, source in enumerate(report["inputs"]) if source["in_full"]]
    events = sum(d["events"] for d in report["devices"] if d["source"] in full)
    tap.ok(f"the timeline holds all events of {len(full)} of {len(report['inputs'])} ranks", good and driver.execute_script("return assay.data.gpu.n") == events, err)
    head, body = driver.find_element(By.CSS_SELECTOR, ".findings").text, driver.execute_script("return document.body.textContent")
    names = [f"rank {report['inputs'][i]['rank']}" for i in full]
    listed = ", ".join(names[:-1]) + " and " + names[-1]
    tap.ok("it says whose they are", listed in head and body.count(f"Of {listed}, whose events") >= 4, head)
    tap.ok("its name is that of the directory", driver.find_element(By.TAG_NAME, "h1").text == "job")
    keys = {"waited": "waited_ns", "caused": "wait_caused_ns", "matched": "collectives", "last": "arrived_last", "transfer": "transfer_ns"}
    shown = driver.execute_script("const r = assay.data.rank; return Object.fromEntries(arguments[0].map((k) => [k, Array.from(r[k])]))", list(keys))
    tap.ok("ranks equal --json", all(shown[k] == [r[v] for r in report["ranks"]] for k, v in keys.items()), shown)
    shown = driver.execute_script("const c = assay.data.collective; return Array.from(c.count, (n, i) => [n, c.max_skew[i], c.bus_bw[i]])")
    want = [[c[k] for k in ("count", "max_skew_ns", "bus_gib_s")] for c in report["collectives"]]
    tap.ok("collectives equal --json", sorted(shown) == sorted(want), shown)
    check_matrix(driver, report)
    open_tab(driver, "devices")
    rows = driver.find_elements(By.CSS_SELECTOR, "#devices .device-name")
    tap.ok("one bar for all devices, and one for each with events", [r.text.split(",")[0] for r in rows[1:]] == names and "all 19" in rows[0].text, [r.text for r in rows])
    folded = driver.execute_script("""
        const t = assay.timeline, head = () => document.querySelector(".labels .rank"), of = () => t.shown.filter((g) => g.rank === t.groups[0].rank).length;
        const before = of();
        head().click();
        const closed = [of(), head().getAttribute("aria-expanded")];
        t.select(t.groups[0].lanes[0].first, true);
        return [before > 0, ...closed, of() === before];""")
    tap.ok("lanes of a rank fold away, and come back with an event of it", folded == [True, 0, "false", True], folded)
    tap.ok("the page of many ranks has no console errors", not console(driver))


def check_matrix(driver, report):
    """Every rank and step, the late rank first; step times against --json."""
    open_tab(driver, "ranks")
    settle(driver)
    shown = driver.execute_script("""
        const m = [...document.querySelectorAll("#ranks > div")].find((e) => e.matrix).matrix, d = assay.data;
        const of = (key) => { m.set(key); return [m.rows.length, m.steps.length, d.rank.rank[m.rows[0].rank]]; };
        const late = of("late"), rows = (m.set("dur"), m.rows.map((r) => [d.rank.rank[r.rank], r.cells]));
        return { late, rows: Object.fromEntries(rows), comm: of("exposed_comm") };""")
    ranks = [r["rank"] for r in report["ranks"]]
    worst = max(report["ranks"], key=lambda r: r["wait_caused_ns"])["rank"]
    tap.ok(f"the matrix has all {len(ranks)} ranks and steps", shown["late"][:2] == [len(ranks), len(report["rank_steps"])] == shown["comm"][:2], shown["late"])
    tap.ok("the rank that others wait for stands first", shown["late"][2] == worst, (shown["late"], worst))
    want = {str(rank): [s["dur_ns"][i] for s in report["rank_steps"]] for i, rank in enumerate(ranks)}
    tap.ok("its step times are those of --json", shown["rows"] == want)


def check_step_time(driver, folder):
    """A run whose first step warms up."""
    page, good, err = write(folder, "steps.html", tap.ROOT / "demo/run")
    tap.ok("the page of a recording is written", good, err)
    load(driver, page)
    seconds = json.loads(tap.run("report", "--json", tap.ROOT / "demo/run")[1])["run_metrics"]["step_time_seconds"]
    shown = driver.find_element(By.CSS_SELECTOR, "header .tiles").text
    tap.ok("the shown step time is that of --json", f"{seconds * 1e3:.3g} ms" in shown, shown)
    slow = driver.execute_script("return Math.max(...assay.data.step.dur)") / 1e6
    tap.ok("a step that warms up is not in the spread", f"{slow:.0f} ms" not in shown, shown)


WHEEL = """arguments[0].dispatchEvent(new WheelEvent("wheel", {deltaY: -300, bubbles: true, cancelable: true, ctrlKey: arguments[1],
    clientX: arguments[0].getBoundingClientRect().left + 400}))"""


def check_first_screen(driver):
    seen = driver.execute_script("""
        const box = (s) => document.querySelector(s).getBoundingClientRect(), high = (s) => box(s).bottom <= innerHeight && box(s).height > 60;
        return [box("header").height <= 84, high(".timeline"), high(".details"), high(".findings"), box(".tabs").bottom <= innerHeight];""")
    tap.ok("header, findings, timeline, details and tabs are in view at once", all(seen), seen)
    steps = driver.execute_script("""
        const t = assay.timeline, s = assay.data.step;
        return Array.from(s.ts, (ts, i) => ts >= t.time(0) && ts + s.dur[i] <= t.time(t.width)).filter(Boolean).length;""")
    tap.ok("it opens at two steps", steps == 2, steps)


def check_timeline(driver):
    canvas = driver.find_element(By.CSS_SELECTOR, "canvas.lanes")
    state = lambda: driver.execute_script("const t = assay.timeline; return [t.t0, t.scale, t.selected]")
    t0, scale, _ = state()
    driver.execute_script(WHEEL, canvas, False)
    tap.ok("the wheel alone leaves the zoom and says how to", state()[1] == scale and driver.find_element(By.CSS_SELECTOR, ".hint").is_displayed())
    driver.execute_script(WHEEL, canvas, True)
    at = lambda s: s[0] + 400 * s[1]
    after = state()
    tap.ok("the wheel with Ctrl zooms at the pointer", after[1] < scale and abs(at(after) - at((t0, scale))) < scale)
    driver.execute_script("assay.timeline.root.focus()")
    driver.execute_script(WHEEL, canvas, False)
    after, before = state(), after
    tap.ok("the wheel zooms when the timeline has the focus", after[1] < before[1])
    ActionChains(driver).key_down(Keys.SHIFT).move_to_element_with_offset(canvas, 0, 40).click_and_hold().move_by_offset(-120, 0).release().key_up(Keys.SHIFT).perform()
    panned = state()
    tap.ok("a drag with Shift pans", abs((panned[0] - after[0]) / after[1] - 120) < 3, (after, panned))
    kernel = driver.execute_script("""
        const t = assay.timeline, d = assay.data;
        let best = 0;
        for (let i = 0; i < d.gpu.n; i++) if (d.dur[i] > d.dur[best]) best = i;
        t.show(d.start[best] - d.dur[best], 3 * d.dur[best]);
        t.view.scrollTop = 0;
        const { row } = t.rowOf(best);
        return [best, t.x(d.start[best] + d.dur[best] / 2), row.y + row.height / 2, d.texts[d.name[best]]];""")
    settle(driver)
    box = canvas.size
    ActionChains(driver).move_to_element_with_offset(canvas, int(kernel[1] - box["width"] / 2), int(kernel[2] - box["height"] / 2)).click().perform()
    details = driver.find_element(By.CSS_SELECTOR, ".details").text
    tap.ok("a click selects and shows details", state()[2] == kernel[0] and kernel[3] in details and "launched by" in details, details)
    tap.ok("the selection has its launch arrow", driver.execute_script("return assay.timeline.arrows.some(([a, b]) => b === arguments[0])", kernel[0]))
    driver.find_element(By.XPATH, "//div[contains(@class, 'details')]//dt[text()='launched by']/../dd/a").click()
    tap.ok("the launch link selects the call", until(driver, f"assay.timeline.selected === assay.data.gpu.launch[{kernel[0]}]"), state())
    ruler = driver.find_element(By.CSS_SELECTOR, "canvas.ruler")
    driver.execute_script("assay.timeline.showAll()")
    ActionChains(driver).move_to_element_with_offset(ruler, -200, 0).click_and_hold().move_by_offset(300, 0).release().perform()
    length = driver.execute_script("const [a, b] = assay.timeline.measure; return (b - a) / assay.timeline.scale")
    text = driver.find_element(By.CSS_SELECTOR, ".details").text
    tap.ok("a drag on the ruler selects that time of all lanes", abs(length - 300) < 3 and "By name" in text, text)
    check_search(driver)


def check_search(driver):
    box = driver.find_element(By.CSS_SELECTOR, "input.search")
    box.send_keys("layer_norm")
    want = driver.execute_script("""
        const d = assay.data;
        let n = 0;
        for (const name of d.name) n += d.texts[name].toLowerCase().includes("layer_norm");
        return n;""")
    shown = driver.find_element(By.CSS_SELECTOR, ".toolbar .count").text
    tap.ok("search counts all events of that name", want > 0 and shown.startswith(f"{want:,} events"), shown)
    box.send_keys(Keys.ENTER)
    name = driver.execute_script("return assay.data.texts[assay.data.name[assay.timeline.selected]]")
    tap.ok("enter goes to a match", "layer_norm" in name.lower(), name)
    box.send_keys(Keys.ESCAPE)
    tap.ok("escape drops the search", driver.execute_script("return !assay.timeline.match && assay.timeline.selected === -1"))


def check_area(driver):
    """Tables of an area against sums made here, by another way."""
    driver.execute_script("assay.timeline.showSteady(); assay.timeline.view.scrollTop = 0")
    settle(driver)
    y = driver.execute_script("""
        const g = assay.timeline.shown.find((g) => g.kind === "gpu");
        return g.y + g.rows[0].height / 2 - assay.timeline.lanes.canvas.clientHeight / 2;""")
    canvas = driver.find_element(By.CSS_SELECTOR, "canvas.lanes")
    ActionChains(driver).move_to_element_with_offset(canvas, -250, int(y)).click_and_hold().move_by_offset(400, 2).release().perform()
    want = driver.execute_script("""
        const t = assay.timeline, d = assay.data, [a, b] = t.measure, lane = t.shown.find((g) => g.kind === "gpu").lanes[0], out = {};
        for (let i = lane.first; i < lane.last; i++) {
            const inside = Math.min(b, d.start[i] + d.dur[i]) - Math.max(a, d.start[i]);
            if (inside > 0) { const s = out[d.texts[d.name[i]]] ??= [0, 0]; s[0]++; s[1] += inside; }
        }
        return out;""")
    got = driver.execute_script("""
        const t = assay.timeline, rows = sumByName(t, lanesIn(t, t.band), ...t.measure);
        return Object.fromEntries(rows.map((r) => [spanName(assay.data, r.span), [r.count, r.total]]));""")
    tap.ok("a drag over a lane sums what is in it, by name", got == want and len(want) > 3, (len(got), len(want)))
    text = driver.find_element(By.CSS_SELECTOR, ".details").text
    tap.ok("the sums stand in tables by name and by class", "By name" in text and "By class" in text and "share" in text, text)
    drawn = driver.execute_script("""
        const fold = [...document.querySelectorAll(".area details")].at(-1);
        fold.open = true;
        fold.dispatchEvent(new Event("toggle"));
        return fold.querySelectorAll(".flame button").length;""")
    tap.ok("the calls of an area stand in a flame graph", drawn > 3, drawn)
    nested = driver.execute_script("""
        const t = assay.timeline, d = assay.data, { track } = t.groups.find((g) => g.kind === "host" && g.lanes.length > 2);
        const lanes = t.groups.filter((g) => g.track === track).flatMap((g) => g.lanes), rows = sumByName(t, lanes, -Infinity, Infinity);
        const spans = lanes.flatMap((l) => Array.from({ length: l.last - l.first }, (_, i) => l.first + i)).sort((a, b) => d.start[a] - d.start[b]);
        let busy = 0, end = -1;
        for (const i of spans) {
            busy += Math.max(0, d.start[i] + d.dur[i] - Math.max(end, d.start[i]));
            end = Math.max(end, d.start[i] + d.dur[i]);
        }
        return [rows.reduce((sum, r) => sum + r.self, 0), busy];""")
    tap.ok("self times of a thread sum to the time in which it did anything", abs(nested[0] - nested[1]) <= 1e-6 * nested[1], nested)


def check_query(driver):
    box = driver.find_element(By.CSS_SELECTOR, "input.search")
    box.clear()
    box.send_keys("dur>20us name~nvjet step=5")
    want, got = driver.execute_script("""
        const d = assay.data, m = assay.timeline.match;
        let n = 0;
        for (let i = 0; i < d.gpu.n; i++)
            n += d.dur[i] > 20000 && d.texts[d.name[i]].includes("nvjet") && d.step.number[d.gpu_scope.step[i]] === 5;
        return [n, m.count];""")
    tap.ok("a query holds for events by length, name and step", want == got > 0, (want, got))
    tap.ok("its results stand in a table", "Matches by name" in driver.find_element(By.CSS_SELECTOR, ".details").text)
    box.clear()
    box.send_keys("dur>soon")
    shown = driver.find_element(By.CSS_SELECTOR, ".toolbar .count").text
    tap.ok("a query that makes no sense says so", "dur>soon" in shown and box.get_attribute("aria-invalid") == "true", shown)
    box.send_keys(Keys.ESCAPE)
    tap.ok("escape empties the box", box.get_attribute("value") == "")


def check_lanes(driver):
    order = lambda: driver.execute_script("return assay.timeline.shown.map((g) => g.title)")
    before = order()
    driver.execute_script("document.querySelectorAll('.labels .label')[2].querySelector('.tool').click()")
    tap.ok("a lane can be pinned to the top", driver.execute_script("return assay.timeline.groups.find((g) => g.pinned).y") < 10)
    driver.execute_script("assay.timeline.groups.forEach((g) => g.pinned = false); assay.timeline.place()")
    driver.execute_script("document.querySelectorAll('.labels .label')[1].querySelectorAll('.tool')[1].click()")
    tap.ok("a lane can be hidden", before[1] not in order() and len(order()) == len(before) - 1)
    driver.execute_script("assay.timeline.groups.forEach((g) => g.hidden = false); assay.timeline.place()")
    driver.find_element(By.CSS_SELECTOR, ".drop summary").click()
    switch = lambda kind: driver.find_element(By.XPATH, f"//div[contains(@class, 'menu')]/label[contains(., '{kind}')]/input").click()
    for title, kind in (("host ranges", "range"), ("Python stacks", "python"), ("operators and calls", "host")):
        if not driver.execute_script("return assay.timeline.groups.some((g) => g.kind === arguments[0])", kind):
            continue
        switch(title)
        left = driver.execute_script("return assay.timeline.shown.map((g) => g.kind)")
        tap.ok(f"{title} can be switched off alone", kind not in left and "gpu" in left, left)
    switch("telemetry")
    tap.ok("telemetry can be switched off", not driver.find_element(By.CSS_SELECTOR, ".row.bottom").is_displayed())
    switch("telemetry")
    driver.execute_script("assay.timeline.select(assay.data.gpu.launch.find((l) => l >= 0), true)")
    tap.ok("selecting an event brings its lane back", driver.execute_script("return assay.timeline.shown.some((g) => g.kind === 'host')"))
    driver.find_element(By.CSS_SELECTOR, ".drop summary").click()
    walked = driver.execute_script("""
        const t = assay.timeline, lanes = t.shown.flatMap((g) => g.rows.map((r) => r.lane)), seen = [];
        const press = (key) => { document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true })); seen.push(lanes.indexOf(t.laneOf(t.selected))); };
        t.select(-1, false);
        press("]"); press("j"); press("j"); press("k");
        const first = t.selected;
        press("]");
        return [seen, t.selected - first];""")
    tap.ok("events are reached by keys alone, along lanes and across", walked == [[0, 1, 2, 1, 1], 1], walked)
    work = driver.execute_script("return assay.timeline.shown.filter((g) => g.kind === 'gpu').map((g) => g.busy)")
    tap.ok("streams stand in the order of their work", work == sorted(work, reverse=True) and len(work) > 1, work)


def check_path(driver, inputs):
    """Stretches of the critical path against `assay path --json`; the line, its key and its address."""
    want = json.loads(tap.run("path", "--json", *inputs)[1])
    got = driver.execute_script("""
        const d = assay.data, p = stretchesOf(d);
        return [d.path, Array.from(p.dur, (ns, i) => [p.name(i), ns, p.inferred[i] > 0, p.span[i] >= 0 ? d.texts[d.name[p.span[i]]] : null])];""")
    figures = {k: v for k, v in want.items() if k != "segments"}
    tap.ok("figures of the critical path equal path --json", got[0] == figures)
    tap.ok(f"so do its {len(got[1]):,} stretches", got[1] == [[s["class"], s["dur_ns"], s["inferred"], s["name"]] for s in want["segments"]])
    driver.execute_script("assay.timeline.show(0, 1000); document.activeElement.blur()")
    driver.find_element(By.TAG_NAME, "body").send_keys("c")
    settle(driver)
    shown = driver.execute_script("""
        const t = assay.timeline, p = stretchesOf(assay.data), lit = t.path.hit.reduce((n, v) => n + v, 0);
        const drawn = strokes(t, p, 0), level = drawn.filter(([, y0, , y1]) => y0 === y1).reduce((sum, [a, , b]) => sum + (b - a) * t.scale, 0);
        return [lit, new Set(p.span.filter((s) => s >= 0)).size, t.x(p.start[0]) >= 0 && t.x(p.start[p.n]) <= t.width,
            level / (p.start[p.n] - p.start[0]), document.querySelector("[aria-pressed=true]")?.textContent];""")
    tap.ok("C brings its step into view and lights what is on it", 0 < shown[0] <= shown[1] and shown[2] and shown[4] == "Critical path", shown)
    tap.ok("the line covers the step but for delays", 0.98 < shown[3] <= 1.000001, shown)
    tap.ok("the address says that it is shown", "show=path" in driver.execute_script("return writeHash({timelines: assay.timelines, query: '', tab: ''})"))
    driver.find_element(By.TAG_NAME, "body").send_keys("c")
    tap.ok("C again hides it", driver.execute_script("return assay.timeline.path === null && !document.querySelector('[aria-pressed=true]')"))


def check_roofline(driver, inputs):
    """Points and roofs against `assay report --json`; where circles stand, by hand."""
    report = json.loads(tap.run("report", "--json", *inputs)[1])
    got = driver.execute_script("""
        const r = assay.data.report, pairs = (list) => list.map((p) => [p.name, p.ns, p.intensity, p.rate]);
        return [pairs(roofPoints(r, false)), pairs(roofPoints(r, true)), roofsOf(r)];""")
    known = [o for o in report["ops"] if o["flops"] and o["bytes"]]
    want = sorted([o["name"], o["modelled_ns"], o["flops"] / o["bytes"], o["flops"] / o["modelled_ns"] * 1e9] for o in known)
    near = lambda a, b: a[:2] == b[:2] and math.isclose(a[2], b[2], rel_tol=1e-9) and math.isclose(a[3], b[3], rel_tol=1e-9)
    tap.ok(f"{len(want)} operators stand below the roofs", want and len(want) == len(got[0]) and all(map(near, sorted(got[0]), want)))
    shapes = [o for o in report["ops_by_shape"] if o["flops"] and o["bytes"]]
    tap.ok(f"and {len(shapes)} sets of shapes", len(shapes) == len(got[1]) > len(want))
    used = {o["math"] for o in report["ops_by_shape"]}
    tap.ok("roofs are those of the types that ran", dict(got[2]) == {k: v for k, v in report["compute"]["peak"].items() if k in used and v}, got[2])
    open_tab(driver, "roofline")
    drawn = driver.execute_script("""
        const top = roofPoints(assay.data.report, false), circles = [...document.querySelectorAll(".roofline circle")];
        const at = (c, key) => Number(c.getAttribute(key)), log = (p) => [Math.log10(p.intensity), Math.log10(p.rate)];
        const [a, b] = [0, top.findIndex((p) => p.intensity !== top[0].intensity)];
        return [circles.length, at(circles[a], "cx") - at(circles[b], "cx"), at(circles[b], "cy") - at(circles[a], "cy"),
            log(top[a])[0] - log(top[b])[0], log(top[a])[1] - log(top[b])[1], circles[0].textContent, document.getElementById("roofline").textContent];""")
    up = drawn[1] / drawn[3] > 0 and drawn[2] / drawn[4] > 0
    tap.ok("circles stand by intensity and rate, and say what they are", drawn[0] == len(want) and up and report["ops"][0]["name"] in drawn[5], drawn[:6])
    tap.ok("the source of the peaks is named", report["compute"]["rates"] in drawn[6])
    driver.execute_script("const s = document.querySelector('#roofline select'); s.value = 'shapes'; s.dispatchEvent(new Event('change'))")
    tap.ok("shapes can be points", driver.execute_script("return document.querySelectorAll('.roofline circle').length") == len(shapes))


def check_details(driver):
    """Operator, shapes and step of a kernel as the tables have them."""
    got = driver.execute_script("""
        const d = assay.data, t = assay.timeline, span = d.gpu_op.call.findIndex((c) => c >= 0 && d.texts[d.op_shape.dims[d.op_call.shape[c]]] !== "");
        t.select(span, true);
        const s = d.op_call.shape[d.gpu_op.call[span]];
        return [span, d.texts[d.op_shape.name[s]], String(d.step.number[d.gpu_scope.step[span]]), document.querySelector(".details").textContent];""")
    tap.ok("details name operator, shapes and step", all(word in got[3] for word in (got[1], "shapes", f"step{got[2]}")), got)
    bars = driver.execute_script("return [document.querySelectorAll('.bins i').length, document.querySelectorAll('.bins i.own').length]")
    tap.ok("a histogram marks the length among those of the name", bars == [40, 1], bars)
    driver.find_elements(By.CSS_SELECTOR, ".selection .head button")[1].click()
    same = driver.execute_script("const d = assay.data, s = assay.timeline.selected; return [s !== arguments[0], d.name[s] === d.name[arguments[0]]]", got[0])
    tap.ok("next goes to another of the same name", all(same), same)


def check_tables(driver):
    open_tab(driver, "kernels")
    copied = lambda n: driver.execute_script("document.querySelectorAll('#kernels .table:has(input) .copy button')[arguments[0]].click(); return assay.copied", n)
    rows = driver.execute_script("return assay.data.kernel.n")
    csv_text, markdown = copied(0), copied(1)
    parsed = list(csv.reader(io.StringIO(csv_text)))
    tap.ok("a table is copied as CSV with all rows", len(parsed) == rows + 1 and len({len(r) for r in parsed}) == 1, len(parsed))
    tap.ok("and as Markdown", markdown.count("\n") == rows + 2 and markdown.splitlines()[1].startswith("| --- |"))
    open_tab(driver, "rows")
    text = text_of(driver, "rows")
    n = driver.execute_script("const t = assay.timeline, d = assay.data; return t.shown.flatMap((g) => g.lanes).reduce((n, l) => { for (let i = l.first; i < l.last; i++) n += d.start[i] < t.time(t.width) && d.start[i] + d.dur[i] > t.time(0); return n; }, 0)")
    tap.ok("what the canvas shows stands as rows of text", f"{n:,} events" in text, (n, text[:200]))
    kept = driver.execute_script("""
        const t = assay.timeline, d = assay.data;
        t.showAll();
        const { count, shown } = spansInView(t), all = [];
        eachInView(t, (g, i) => all.push(d.dur[i]));
        all.sort((a, b) => b - a);
        const got = shown.map(([, i]) => d.dur[i]).sort((a, b) => b - a);
        return [count > 2000, got.length, got.every((ns, k) => ns === all[k])];""")
    tap.ok("of many events the longest 2,000 stand there", kept == [True, 2000, True], kept)


def check_flame(driver):
    """Sums of the call tree against all events; a press zooms."""
    open_tab(driver, "flame")
    steps = driver.execute_script("""
        const d = assay.data, f = document.getElementById("flame").flame, [from, to, n] = countedTime(d);
        let launched = 0;
        for (let i = 0; i < d.gpu.n; i++) launched += d.start[i] >= from && d.start[i] < to ? d.dur[i] : 0;
        const step = [...f.root.inside.values()].find((c) => d.stepNames.has(c.name));
        return [f.root.gpu, launched, step.count, n, f.title(step), document.querySelectorAll("[data-choice=time]").length];""")
    tap.ok("the flame graph is of the steps that count, as one", steps[0] == steps[1] > 0 and steps[2] == steps[3] > 1 and not any(c.isdigit() for c in steps[4]), steps)
    choose(driver, "time", "all")
    sums = driver.execute_script("""
        const d = assay.data, f = document.getElementById("flame").flame, total = (list) => list.reduce((a, b) => a + b, 0);
        let launched = 0, inside = true;
        for (let i = 0; i < d.gpu.n; i++) launched += d.dur[i];
        const visit = (n) => { const sum = total([...n.inside.values()].map((c) => c.gpu)); inside &&= sum <= n.gpu; n.inside.forEach(visit); };
        visit(f.root);
        return [f.root.gpu, launched, inside, f.root.idle, total([...d.gap.dur])];""")
    tap.ok("the flame graph holds all GPU work and all idle time", sums[0] == sums[1] and sums[2] and sums[3] == sums[4], sums)
    boxes = driver.find_elements(By.CSS_SELECTOR, ".flame button")
    name = boxes[1].text
    boxes[1].click()
    wide = driver.execute_script("const b = document.querySelector('.flame button'), top = document.querySelector('.flame'); return [b.textContent, b.clientWidth / top.clientWidth]")
    tap.ok("a press on a box fills the width with it", wide[0] == name and wide[1] > 0.97, (name, wide))
    driver.find_element(By.CSS_SELECTOR, "#flame .toolbar button").click()
    driver.find_element(By.CSS_SELECTOR, "#flame input").send_keys("forward")
    found = driver.execute_script("return [...document.querySelectorAll('.flame .found')].map((b) => b.title)")
    tap.ok("boxes are found by name", found and all("forward" in f.lower() for f in found), found)


def check_stacks(driver):
    """Samples by hand: main calls a and b, a calls b, b a library; the third look is elsewhere in time, the last one of
    a thread without Python."""
    got = driver.execute_script("""
        const d = { texts: ["", "main", "a", "b", "x.py", "/lib/c.so", "f"], code: { function: [1, 2, 3, 6, 0], file: [4, 4, 4, 5, 5], line: [1, 2, 3, -1, -1] },
            stack: { caller: [-1, 0, 1, 0, -1, 4], code: [0, 1, 2, 2, 4, 3], line: [10, 20, 30, 11, -1, -1] },
            look: { n: 5, ts: [0, 10, 500, 20, 30], dur: [5, 0, 0, 0, 0], stack: [2, 3, 1, -1, -1], calls: [-1, 5, -1, -1, 5], count: [4, 2, 7, 9, 3] } };
        const show = (n) => [frameText(d, n.name), n.looks, [...n.inside.values()].map(show)];
        return [...stackTree(d, 0, 100).inside.values()].map(show);""")
    outside = lambda looks: ["c.so", looks, [["f · c.so", looks, []]]]  # noqa: E731
    want = [["main · x.py:10", 6, [["a · x.py:20", 4, [["b · x.py:30", 4, []]]], ["b · x.py:11", 2, [outside(2)]]]], outside(3)]
    tap.ok("stacks that samples saw in a time become a tree by calls", got == want, got)


def check_notes(driver):
    """A note by keyboard; it comes back by the address, by this browser's store and by a file."""
    driver.execute_script("assay.timeline.select(7, true); document.activeElement.blur()")
    driver.find_element(By.TAG_NAME, "body").send_keys("t")
    driver.switch_to.active_element.send_keys(HOSTILE + " & 50 %", Keys.ENTER)
    noted = "assay.notes.list.map((n) => [n.span, n.text])"
    want = [[7, HOSTILE + " & 50 %"]]
    tap.ok("T writes a note on the selection", driver.execute_script(f"return {noted}") == want and HOSTILE in driver.find_element(By.CSS_SELECTOR, ".noted").text)
    flag = driver.execute_script("const t = assay.timeline; return t.notes.at(t, t.x(assay.data.start[7]) + 2)?.span")
    tap.ok("its flag stands on the ruler", flag == 7, flag)
    tap.ok("the address takes it up", until(driver, "location.hash.includes('note=s7:')"))
    driver.execute_script("localStorage.clear()")
    reopen(driver)
    tap.ok("the address brings it back", driver.execute_script(f"return {noted}") == want)
    driver.get(driver.execute_script("return location.href.split('#')[0]"))
    driver.refresh()
    until(driver, "!!globalThis.assay")
    tap.ok("so does the browser's store", driver.execute_script(f"return {noted}") == want)
    saved = driver.execute_script("""
        const file = assay.notes.file();
        assay.tabs.show("notes");
        const shown = document.getElementById("notes").textContent;
        assay.notes.remove(assay.notes.list[0]);
        const gone = assay.notes.list.length;
        assay.notes.load(file.replace(assay.notes.key.slice(-9), "elsewhere"));
        const refused = assay.notes.said.textContent;
        assay.notes.load(file);
        return [shown, gone, refused];""")
    tap.ok("a file keeps it, and no file of another run is taken", HOSTILE in saved[0] and saved[1] == 0 and "another run" in saved[2] and driver.execute_script(f"return {noted}") == want, saved)
    bad = driver.execute_script("""assay.notes.take(["s99999999:x", "s1:%zz", "t1:y", "s2:", "nonsense"]); return assay.notes.list.length""")
    tap.ok("what is no note is left out", bad == 2, bad)
    driver.execute_script("assay.notes.list.slice().forEach((n) => assay.notes.remove(n)); localStorage.clear()")


def check_address(driver, page):
    """The address leads back to the view."""
    want = driver.execute_script("const t = assay.timeline; t.show(1e6, 5e6); t.select(10, false); assay.tabs.show('idle'); return [t.t0, t.width * t.scale]")
    until(driver, "/view=.*span=10&.*idle/.test(location.hash)")
    address = reopen(driver)
    got = driver.execute_script("const t = assay.timeline; return [t.t0, t.width * t.scale, t.selected, assay.tabs.current]")
    tap.ok("the address keeps view, selection and tab", abs(got[0] - want[0]) < 2 and abs(got[1] - want[1]) < 2 and got[2:] == [10, "idle"], (address, got, want))


LANES = """
const t = assay.timeline;
return { shown: t.shown.map((g) => [g.id, g.y, g.flat]), off: [...t.off].sort(), top: t.view.scrollTop, area: t.measure?.map(Math.round), lanes: t.bandLanes(),
    points: document.querySelector("[data-choice=points]").value, tab: assay.tabs.current, seen: assay.tabs.state()?.seen ?? false };
"""


def check_lanes_in_address(driver, page):
    """Lanes as they were arranged, an area of some of them, choices and the page's scrolling come back with the address."""
    driver.get("about:blank")
    load(driver, page)
    titles = driver.find_elements(By.CSS_SELECTOR, ".labels .label .title")
    ActionChains(driver).move_to_element(titles[3]).click_and_hold().move_to_element(titles[1]).move_by_offset(0, -2).release().perform()
    moved = driver.execute_script("return assay.timeline.moves.length && assay.timeline.shown.map((g) => g.id)")
    titles = driver.find_elements(By.CSS_SELECTOR, ".labels .label .title")
    titles[2].send_keys(Keys.ALT, Keys.ARROW_DOWN)
    by_key = driver.execute_script("return assay.timeline.shown.map((g) => g.id)")
    tap.ok("a lane is moved by its name", moved and by_key[2:4] == moved[3:1:-1] and by_key[4:] == moved[4:], (moved, by_key))
    driver.execute_script("""
        const t = assay.timeline, [a, b, c] = t.shown.filter((g) => g.kind !== "gap");
        [a.pinned, b.flat, c.hidden] = [true, true, true];
        t.off.add("sync");
        for (const g of t.groups) if (g.fold) g.fold.open = true;
        t.place();
        t.show(2e6, 9e6);
        const rows = t.shown.flatMap((g) => g.rows);
        t.selectArea(3e6, 5e6, [1, 2].map((i) => assay.data.lanes.indexOf(rows[i].lane)));
        assay.tabs.show("idle");
        t.view.scrollTop = 40;""")
    choose(driver, "points", "shapes")
    settle(driver)
    want = driver.execute_script(LANES)
    link = driver.find_element(By.XPATH, "//button[text()='Link']")
    link.click()
    until(driver, "assay.copied === location.href")
    address = reopen(driver)
    settle(driver)
    got = driver.execute_script(LANES)
    tap.ok("the address keeps lanes, area and choices", got == want and "lanes=" in address and want["area"] == [3000000, 5000000] and want["lanes"], (address, got, want))
    tap.ok("an area of the address is summed", driver.execute_script("return document.querySelector('.details .area h3')?.textContent.includes('2.00 ms from 3.00 ms')"))
    driver.execute_script("assay.tabs.nav.scrollIntoView(); assay.tabs.show('steps')")
    until(driver, "/&steps$/.test(location.hash)")
    reopen(driver)
    tap.ok("an address made at a table leads to the table", driver.execute_script("return assay.tabs.state().seen && assay.tabs.current === 'steps'"))
    odd = driver.execute_async_script("""
        const t = assay.timeline, before = t.shown.length, done = arguments[0];
        addEventListener("hashchange", () => done([before, t.shown.length]), { once: true });
        location.hash = "lanes=%ZZ,pin.99.gpu,move.1<2,open.x,hide.&area=1,2,999,-4&set.points=none&top=nan&tab=nothing&span=99999999";""")
    tap.ok("a wrong address does no harm", odd[0] == odd[1] and not console(driver), odd)
    driver.get("about:blank")
    load(driver, page)


def check_race(driver):
    """The page brings its address up to date between a press on a link and the event of that."""
    got = driver.execute_async_script("""
        const done = arguments[0], t = assay.timeline;
        t.select(3, false);
        addEventListener("hashchange", () => done(t.selected), { once: true });
        location.hash = "span=5";
        history.replaceState(null, "", "#span=3");""")
    tap.ok("a link is followed though the address changes meanwhile", got == 5, got)


def check_links(driver):
    """Findings lead to their longest gap, or to an event of the name they are about."""
    links = driver.execute_script("return [...document.querySelectorAll('#verdicts > li')].map((li) => li.querySelector('a.evidence')?.getAttribute('href') ?? null)")
    want = driver.execute_script("""
        const d = assay.data, f = d.finding;
        return Array.from({ length: f.n }, (_, i) => [f.gap[i] >= 0 ? d.spanOfGap[f.gap[i]] : -1, [f.kernel[i], f.op[i], f.range[i]].map((t) => d.texts[t]).filter(Boolean)]);""")
    if not any(links):
        tap.skip("findings lead to the timeline", "the run has no findings")
        return
    for i, link in enumerate(links):
        if not link:
            continue
        driver.execute_script("assay.timeline.select(-1, false); assay.timeline.showAll()")
        driver.execute_script("document.querySelectorAll('#verdicts > li')[arguments[0]].querySelector('a.evidence').click()", i)
        until(driver, "assay.timeline.selected >= 0")
        span, name, seen = driver.execute_script("""
            const t = assay.timeline, d = assay.data, s = t.selected;
            return [s, spanName(d, s), t.x(d.start[s]) >= 0 && t.x(d.start[s] + d.dur[s]) <= t.width && document.getElementById("timeline").getBoundingClientRect().top < innerHeight / 2];""")
        tap.ok(f"finding {i + 1} leads to what it is about", seen and link == f"#span={span}" and (span == want[i][0] if want[i][0] >= 0 else any(part in name for part in want[i][1])), (link, span, name, want[i]))
    tap.ok("every finding with a gap or a name leads somewhere", all(link or gap < 0 and not names for link, (gap, names) in zip(links, want)), (links, want))


def check_curves(driver, report):
    """Memory and telemetry as curves; idle time of a step against the budget."""
    drawn = driver.execute_script("""
        const d = assay.data, held = d.series.find((s) => s.name === "held_bytes"), line = document.querySelectorAll("#memory .chart .line")[1].getAttribute("d");
        const most = Math.max(...d.sample.value.slice(held.first, held.first + held.n)), used = Math.max(...d.report.memory.map((m) => m.peak_bytes));
        const top = Math.min(...[...line.matchAll(/[V ]([\\d.]+)/g)].map((m) => Number(m[1])));
        return [(150 - top) / 134, most / used, document.querySelectorAll("#telemetry .spark .line").length, d.series.length, [...document.querySelectorAll("#telemetry td")].filter((c) => c.textContent === "constant").length];""")
    tap.ok("memory over time is drawn to scale", abs(drawn[0] - drawn[1]) < 0.01, drawn)
    tap.ok("every counter that changes has a curve", drawn[2] + drawn[4] == drawn[3] and drawn[2] > 5, drawn)
    step = driver.execute_script("return Object.fromEntries(causeSums(assay.data).map(([c, v]) => [assay.data.enums.cause[c], v.step]))")
    want = {b["bucket"]: b["per_step"] for b in report["budget"]}
    waits = step["host_data"], step["queued"], sum(ns for cause, ns in step.items() if cause.startswith(("host_", "launch_")) and cause != "host_data")
    same = all(math.isclose(ns, want[name], rel_tol=1e-6) for name, ns in zip(("data_wait", "device_wait", "host_gap"), waits))
    tap.ok("idle time of a step by cause sums to the budget", same, (step, want))


def check_lines(driver):
    """Lines of findings: their events by a search, or the stacks that the sampler saw there."""
    driver.execute_script("assay.timeline.select(-1, false); [...document.querySelectorAll('.where .plain')].find((b) => b.textContent.endsWith('program.py:31')).click()")
    got = driver.execute_script("""
        const d = assay.data, t = assay.timeline, own = (row) => row < 0 ? "" : d.texts[d.code.file[d.stack.code[d.stack.own[row]]]].split("/").pop() + ":" + d.stack.line[d.stack.own[row]];
        let work = 0;
        for (let i = 0; i < d.gpu.n; i++) work += own(d.gpu.stack[i]) === "program.py:31";
        return [document.querySelector(".search").value, work, Array.from(t.match.hit.slice(0, d.gpu.n)).reduce((a, b) => a + b, 0), t.match.count];""")
    tap.ok("a line of a finding marks the work launched there", got[0] == "line=program.py:31" and got[1] == got[2] > 0 and got[3] > got[2], got)
    driver.execute_script("[...document.querySelectorAll('.where .plain')].find((b) => b.textContent.endsWith('program.py:24')).click()")
    until(driver, "assay.tabs.current === 'flame'")
    got = driver.execute_script("return [assay.tabs.current, document.querySelector('[data-choice=flame]').value, [...document.querySelectorAll('#flame .found')].map((b) => b.textContent)]")
    tap.ok("a line that only the sampler saw is shown in its stacks", got[:2] == ["flame", "looks"] and len(got[2]) == 1 and got[2][0].startswith("Samples.clean · program.py:"), got)
    driver.execute_script("const b = document.querySelector('.search'); b.value = ''; b.dispatchEvent(new Event('input'))")


def check_sections(driver):
    """A section stands on the page exactly when its table has rows."""
    for table, section in (("wait", "waits"), ("gpu_scope", "scopes"), ("gap", "idle"), ("kernel", "kernels"), ("step", "steps"), ("budget", "budget")):
        rows, shown = driver.execute_script("return [assay.data[arguments[0]]?.n ?? 0, !!document.getElementById(arguments[1])]", table, section)
        tap.ok(f"section {section} stands for {rows:,} rows of {table}", bool(rows) == shown)
    bad = driver.execute_script(r"return document.getElementById('page').textContent.match(/\b(undefined|NaN|null)\b|\[object/g) ?? []")
    tap.ok("no number is undefined", not bad, bad)
    tables = driver.execute_script("""
        return [...document.querySelectorAll(".panel .bar, .steps, .icicle, .heat")].filter((p) =>
            !p.closest("section").querySelector("table") && !document.querySelector("#kernels table")).length;""")
    tap.ok("every picture has its numbers in a table", tables == 0)


def check_keys(driver):
    body = driver.find_element(By.TAG_NAME, "body")
    scale = lambda: driver.execute_script("return assay.timeline.scale")
    body.send_keys("f")
    before = scale()
    body.send_keys("w")
    zoomed = scale()
    body.send_keys("s")
    tap.ok("w and s zoom", zoomed < before and abs(scale() - before) < before / 100)
    start = driver.execute_script("return assay.timeline.t0")
    body.send_keys("d")
    tap.ok("d pans", driver.execute_script("return assay.timeline.t0") > start)
    body.send_keys("/")
    tap.ok("slash goes to the search box", driver.switch_to.active_element.get_attribute("class") == "search")
    driver.switch_to.active_element.send_keys(Keys.ESCAPE)
    driver.execute_script("document.activeElement.blur()")
    body.send_keys("?")
    tap.ok("question mark shows the keys", driver.execute_script("return document.querySelector('dialog').open"))
    driver.find_element(By.CSS_SELECTOR, "dialog button").click()
    tap.ok("the list of keys closes", not driver.execute_script("return document.querySelector('dialog').open"))
    open_tab(driver, "kernels")
    head = driver.find_element(By.CSS_SELECTOR, "#kernels .table:has(input) thead th:nth-child(3) button")
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", head)
    head.click()
    counts = [int(c.text.replace(",", "")) for c in driver.find_elements(By.CSS_SELECTOR, "#kernels .table:has(input) tbody td:nth-child(3)")]
    tap.ok("a click on a head sorts", counts == sorted(counts, reverse=True) and len(counts) > 5, counts)


def check_hostile(driver, folder):
    hostile_trace(folder / "hostile.json")
    page, good, err = write(folder, "hostile.html", folder / "hostile.json")
    tap.ok("a hostile trace is written", good, err)
    text = page.read_text()
    tap.ok("hostile names do not end the data block", "</script><img" not in text and text.count("<img") == 0)
    load(driver, page)
    clean = driver.execute_script("return !window.hacked && document.querySelectorAll('img').length === 0")
    tap.ok("hostile names stay text", clean and not console(driver), "")
    driver.execute_script("assay.timeline.select(0, true)")
    tap.ok("and are shown as text", HOSTILE in driver.find_element(By.CSS_SELECTOR, ".details").text)
    lanes = driver.execute_script("return assay.timeline.groups.filter((g) => g.kind === 'gpu')[0].lanes.length")
    tap.ok("overlapping kernels stand on sub-lanes", lanes == 2)
    ran = driver.execute_script("""
        const script = document.createElement("script");
        script.textContent = "window.injected = 1";
        document.body.append(script);
        return window.injected ?? 0;""")
    tap.ok("the policy lets no other script run", ran == 0 and (FIREFOX or any("Content Security Policy" in line for line in console(driver))))


def check_diff(driver, folder):
    runs = [tap.ROOT / f"demo/ddp/ddp_rank{i}.json.gz" for i in (0, 1)]
    page = folder / "diff.html"
    code, out, err = tap.run("diff", *runs, "--html", page)
    tap.ok("two runs make one page", code in (0, 1) and not out and page.exists(), err)
    load(driver, page)
    want = json.loads(tap.run("diff", "--json", *runs)[1])
    tap.ok("the page of two runs equals diff --json", driver.execute_script("return assay.diff") == want)
    tap.ok("it shows both timelines", driver.execute_script("return assay.timelines.length === 2 && document.querySelectorAll('.timeline').length === 2"))
    tap.ok("it says what changed", want["sentence"] in driver.find_element(By.CSS_SELECTOR, ".findings").text)
    together = driver.execute_script("""
        const [a, b] = assay.timelines;
        a.show(a.steady[0] + 1000, 2e6);
        return [a.t0 - a.steady[0], b.t0 - b.steady[0], a.scale, b.scale];""")
    tap.ok("both timelines show the same time of their steps", abs(together[0] - together[1]) < 1 and together[2] == together[3], together)
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
        const rows = pairs([a, b], [a, b].map((t, i) => sumByName(t, t.groups.filter((g) => g.kind === "gpu").flatMap((g) => g.lanes), from + i * (b.steady[0] - a.steady[0]), to + i * (b.steady[0] - a.steady[0]))), classOf);
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
            [leaf(0, 60, leaf(3, 60, leaf(1, 40, leaf(2, 10)))), leaf(0, 30, leaf(3, 30, leaf(1, 20, leaf(2, 5))))], [2, 1]);
        const show = (n) => [n.name, n.by.gpu, n.counts, [...n.inside.values()].map(show)];
        return show(root);""")
    tap.ok("calls are the same where only lines, addresses and counts differ", merged == ["", [30, 30], [1, 2], [
        ["step", [30, 30], [1, 2], [["x.py: f", [20, 20], [1, 2], [["old 0x…", [5, 0], [1, 0], []], ["new", [0, 5], [0, 2], []]]]]]]], merged)


def check_many(folder):
    """Many events at every zoom; how long that takes is measured by bench/page/frames.py."""
    write_events(folder / "many.json", MANY)
    page, good, err = write(folder, "many.html", folder / "many.json")
    driver = browser(1600, 1000)
    try:
        load(driver, page)
        spans = driver.execute_script("return assay.data.spans")
        tap.ok(f"a page of {spans:,} events is shown", good and spans >= MANY - 3, err)
        drawn = driver.execute_async_script(ZOOMS)
        tap.ok("each zoom is drawn", len(drawn) == 4 and all(colours > 1 for colours in drawn), drawn)
        tap.ok("the large page has no console errors", not console(driver))
    finally:
        driver.quit()


# How many colours the lanes have at each zoom.
ZOOMS = """
const done = arguments[0], t = assay.timeline, out = [], frame = () => new Promise(requestAnimationFrame);
(async () => {
    for (const share of [1, 0.1, 0.001, 0.00001]) {
        t.show(t.data.length_ns * (0.5 - share / 2), t.data.length_ns * share);
        await frame(); await frame();
        out.push(new Set(new Uint32Array(t.lanes.image.data.buffer)).size);
    }
    done(out);
})();
"""


def lab(rgb):
    """CIELAB of linear RGB in 0 to 1."""
    x = sum(a * b for a, b in zip((0.4124, 0.3576, 0.1805), rgb)) / 0.95047
    y = sum(a * b for a, b in zip((0.2126, 0.7152, 0.0722), rgb))
    z = sum(a * b for a, b in zip((0.0193, 0.1192, 0.9505), rgb)) / 1.08883
    f = lambda v: v ** (1 / 3) if v > 0.008856 else 7.787 * v + 16 / 116
    return (116 * f(y) - 16, 500 * (f(x) - f(y)), 200 * (f(y) - f(z)))


# Deuteranopia on linear RGB, after Machado, Oliveira and Fernandes (2009).
NO_GREEN = ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881))


def check_colours(driver):
    """No two meanings share a colour; those of one kind of lane stay apart without green receptors too."""
    for theme in ("light", "dark"):
        colours = driver.execute_script("""
            document.documentElement.dataset.theme = arguments[0];
            return assay.colours.map((name) => [name, resolve(name)]);""", theme)
        seen = {}
        for name, rgb in colours:
            linear = [c / 255 / 12.92 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in rgb]
            seen[name] = (lab(linear), lab([min(1, max(0, sum(m * c for m, c in zip(row, linear)))) for row in NO_GREEN]))
        near = [(a, b) for a in seen for b in seen if a < b and math.dist(seen[a][0], seen[b][0]) < 7]
        tap.ok(f"no two meanings share a colour ({theme})", not near, near)
        causes = [name for name in seen if name.startswith("--cause-")]
        named = {"--cause-" + name.replace("_", "-") for name in driver.execute_script("return assay.data.enums.cause")}
        tap.ok(f"every cause has a colour ({theme})", named == set(causes), named ^ set(causes))
        near = [(a, b) for a in causes for b in causes if a < b and math.dist(seen[a][1], seen[b][1]) < 6]
        tap.ok(f"{len(causes)} causes stay apart without green receptors ({theme})", not near and len(causes) > 10, near)
    driver.execute_script("delete document.documentElement.dataset.theme")


def check_looks(folder):
    """Wide screens, small ones, dark and print: nothing wider than the window, nothing invisible."""
    page = folder / "demo.html"
    for width in (390, 800, 1280, 3840):
        driver = browser(width, 1000)
        try:
            load(driver, page)
            extra = driver.execute_script("return document.documentElement.scrollWidth - innerWidth")
            tap.ok(f"nothing is wider than {width} pixels", extra <= 0, extra)
            before = driver.execute_script("return getComputedStyle(document.body).backgroundColor")
            driver.execute_script("document.querySelector('header button').click()")
            after = driver.execute_script("return getComputedStyle(document.body).backgroundColor")
            tap.ok(f"light and dark differ at {width} pixels", before != after)
        finally:
            driver.quit()


def check_print(folder):
    """On paper every table is shown, nothing lies over anything else, and the timeline is light."""
    if FIREFOX:
        return tap.skip("the page on paper", "Firefox cannot be told to show it")
    driver = browser(794, 1123)
    try:
        load(driver, folder / "run.html")
        driver.execute_script("document.documentElement.dataset.theme = 'dark'; assay.timelines.forEach((t) => t.theme())")
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
        light = until(driver, "assay.timeline.ground[0] === 255")
        over = driver.execute_script("""
            const boxes = [document.querySelector(".findings"), document.getElementById("timeline"), document.querySelector(".bench > .details"), ...document.querySelectorAll(".panel")];
            return boxes.map((b, i) => [b.className || b.id, Math.round((boxes[i + 1]?.getBoundingClientRect().top ?? 1e9) - b.getBoundingClientRect().top - b.scrollHeight)]).filter(([, room]) => room < 0);""")
        hidden = driver.execute_script("return [...document.querySelectorAll('.panel')].filter((p) => !p.getClientRects().length).map((p) => p.id)")
        tap.ok("on paper nothing lies over anything else", not over, over)
        tap.ok("on paper all tables are shown and the timeline is light", light and not hidden, hidden)
        wide = driver.execute_script("return document.documentElement.scrollWidth - innerWidth")
        tap.ok("on paper nothing is cut at the right", wide <= 0, wide)
    finally:
        driver.quit()


def check_data():
    """What the page carries, without a browser."""
    inputs = [tap.ROOT / "demo/train.json.gz"]
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as name:
        page, good, err = write(pathlib.Path(name), "data.html", *inputs)
        run = tap.page_data(page)["runs"][0]
        columns = {c["name"]: c["n"] for c in run["columns"]}
    want = json.loads(tap.run("path", "--json", *inputs)[1])
    stretches = len(want.pop("segments"))
    tap.ok("the page carries the critical path", good and run["path"] == want and columns["path_stretch.dur"] == stretches == run["path_stretches"], err)
    report = json.loads(tap.run("report", "--json", *inputs)[1])
    tap.ok("and the report", all(run["report"][key] == report[key] for key in ("devices", "inputs", "run_metrics", "ops")))


def main():
    check_data()
    if missing():
        return tap.skip("the page in a browser", missing())
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as name:
        folder = pathlib.Path(name)
        driver = browser()
        try:
            check_demo(driver, folder)
            check_inferred(driver, folder)
            check_chains(driver, folder)
            check_ranks(driver, folder)
            check_colours(driver)
            check_step_time(driver, folder)
            check_hostile(driver, folder)
            check_diff(driver, folder)
        finally:
            driver.quit()
        check_looks(folder)
        check_print(folder)
        check_many(folder)


main()
tap.done()
