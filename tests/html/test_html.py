#!/usr/bin/env python3
"""The page of `assay report --html` in a real browser: Chromium, or Firefox with BROWSER=firefox."""
import json
import math
import os
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "bench/page"))
import tap
from browser import FIREFOX, HOSTILE, browser, console, load, missing, open_tab, span, text_of, until, webdriver, write
from equal import check_names, check_totals
from gen_events import write_events

if webdriver:
    from selenium.webdriver.common.by import By

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
    check_roofline(driver, inputs)
    check_sections(driver)
    tap.ok("nothing failed on the console while it was used", not console(driver))


def check_host_ahead(driver, folder):
    """Markers of a host that runs ahead are not the device's steps: the header says whose each time is."""
    trace, events = folder / "ahead.json", []
    for i in range(6):
        events += [span(f"ProfilerStep#{i}", "user_annotation", 1, 1, 100 * i, 90), span("cudaLaunchKernel", "cuda_runtime", 1, 1, 100 * i + 10, 5, correlation=i),
                   span("k", "kernel", 0, 7, 300 * i + 20, 299, correlation=i, stream=7, device=0)]
    trace.write_text(json.dumps({"traceEvents": events}))
    load(driver, write(folder, "ahead.html", trace)[0])
    tiles = driver.execute_script("return Object.fromEntries([...document.querySelectorAll('.tile')].map((t) => [t.firstChild.textContent, t.lastChild.textContent]))")
    tap.ok("a host that runs ahead has its own time in the header", tiles.get("median step on the host") == "90.0 µs" and any(t.startswith("mean of") and t.endswith(" on the GPU") for t in tiles), tiles)


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


def check_empty(driver, folder):
    trace = folder / "empty.json"
    trace.write_text('{"traceEvents": []}')
    tap.run("report", trace, "--html", folder / "empty.html")
    load(driver, folder / "empty.html")
    tabs = driver.execute_script("return [...document.querySelectorAll('[role=tab]')].map((t) => t.textContent)")
    tap.ok("a trace without events has no tabs for what is drawn", tabs == ["Time", "Trust"] and not console(driver), tabs)


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
    check_lines(driver)
    check_curves(driver, json.loads(tap.run("report", "--json", run)[1]))
    tap.ok("the recorded run has no console errors", not console(driver))


def chains_of(waits):
    """Chains of waits --json as the page has them: [length, work or what the thread did, launching call, rank, time for it]."""
    rows = [[[s["dur_ns"], s.get("kernel", s.get("doing")), s.get("launch"), s.get("last_rank", -1), s.get("waited_ns", 0)] for s in w["chain"]] for w in waits]
    return sorted((r for r in rows if r), key=str)


def check_long_chain(driver, length):
    """Only the first stretches are in the details, until somebody asks for more."""
    listed = 'document.querySelectorAll(".chain li").length'
    few = driver.execute_script(f"""
        const d = assay.data, wait = Array.from({{ length: d.wait.n }}, (_, i) => i).find((i) => chainOf(d, i).length === arguments[0]);
        assay.timeline.select(d.wait.host[wait], true);
        return {listed};""", length)
    driver.execute_script('document.querySelector(".chain details").open = true')
    tap.ok(f"a chain of {length} stretches is listed when it is opened", few < length and until(driver, f"{listed} === {length}"), few)


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
        if name == "run":
            check_long_chain(driver, max(map(len, want)))
    shown = driver.execute_script("""
        const d = assay.data, t = assay.timeline, name = (span) => d.texts[d.name[span]];
        t.select(d.name.findIndex((n) => d.texts[n] === "hipStreamSynchronize"), true);
        return [t.arrows.map(([a, b, kind]) => `${name(a)} ${kind} ${name(b)}`), t.underlined.map(name), document.querySelector(".chain")?.textContent];""")
    want = {"C2 return hipStreamSynchronize", "N order C2", "K1 order N"}
    tap.ok("a wait has arrows along its chain", want <= set(shown[0]) and shown[1] == ["C2", "N", "K1"], shown)
    tap.ok("its details list the chain", shown[2] and all(word in shown[2] for word in ("Why the wait lasted", "981 µs K1")), shown)
    driver.execute_script("assay.timeline.select(-1, false)")
    tap.ok("pages of waits have no console errors", not console(driver))


def check_first_screen(driver):
    seen = driver.execute_script("""
        const box = (s) => document.querySelector(s).getBoundingClientRect(), high = (s) => box(s).bottom <= innerHeight && box(s).height > 60;
        return [box("header").height <= 84, high(".timeline"), high(".details"), high(".findings"), box(".tabs").bottom <= innerHeight];""")
    tap.ok("header, findings, timeline, details and tabs are in view at once", all(seen), seen)
    steps = driver.execute_script("""
        const t = assay.timeline, s = assay.data.step;
        return Array.from(s.ts, (ts, i) => ts >= t.time(0) && ts + s.dur[i] <= t.time(t.width)).filter(Boolean).length;""")
    tap.ok("it opens at two steps", steps == 2, steps)


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


def check_curves(driver, report):
    """Memory and telemetry as curves; idle time of a step against the budget."""
    drawn = driver.execute_script("""
        const d = assay.data, held = d.series.find((s) => s.name === "held_bytes"), line = document.querySelectorAll("#memory .chart .line")[1].getAttribute("d");
        const most = Math.max(...d.sample.value.slice(held.first, held.first + held.n)), used = Math.max(...d.report.memory.map((m) => m.peak_bytes));
        const top = Math.min(...[...line.matchAll(/[V ]([\\d.]+)/g)].map((m) => Number(m[1])));
        return [(150 - top) / 134, most / used, document.querySelectorAll("#telemetry .spark .line").length, d.series.length, [...document.querySelectorAll("#telemetry td")].filter((c) => c.textContent === "constant").length];""")
    open_tab(driver, "memory")
    over = driver.execute_script("return [...document.querySelectorAll('#memory .chart text')].map((t) => t.getBBox()).filter((b) => b.x < 0 || b.x + b.width > 1000).length")
    tap.ok("marks of the chart lie inside it", over == 0, over)
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
        near = [(a, b) for a in seen for b in seen if a < b and math.dist(seen[a][0], seen[b][0]) < 9]
        tap.ok(f"no two meanings share a colour ({theme})", not near, near)
        causes = [name for name in seen if name.startswith("--cause-")]
        named = {"--cause-" + name.replace("_", "-") for name in driver.execute_script("return assay.data.enums.cause")}
        tap.ok(f"every cause has a colour ({theme})", named == set(causes), named ^ set(causes))
        near = [(a, b) for a in causes for b in causes if a < b and math.dist(seen[a][1], seen[b][1]) < 7.5]
        tap.ok(f"{len(causes)} causes stay apart without green receptors ({theme})", not near and len(causes) > 10, near)
    driver.execute_script("delete document.documentElement.dataset.theme")


def check_room(driver, width):
    """From 1280 pixels on all columns of all tables are in view."""
    if width < 1280:
        return
    wide = driver.execute_async_script("""
        const done = arguments[arguments.length - 1], frame = () => new Promise(requestAnimationFrame), out = [];
        (async () => {
            for (const s of assay.tabs.sections) {
                assay.tabs.show(s.id);
                await frame(); await frame();
                out.push(...[...s.querySelectorAll(".scroll, .steps")].filter((e) => e.scrollWidth > e.clientWidth + 1).map((e) => `${s.id}: ${e.scrollWidth} of ${e.clientWidth}`));
            }
            done(out);
        })();""")
    tap.ok(f"no table has to be moved sideways at {width} pixels", not wide, wide)


def check_looks(folder):
    """Wide screens, small ones, dark and print: nothing wider than the window, nothing invisible."""
    page = folder / "demo.html"
    for width in (390, 800, 1100, 1280, 1600, 1920, 3840):
        driver = browser(width, 1000)
        try:
            load(driver, page)
            extra = driver.execute_script("return document.documentElement.scrollWidth - innerWidth")
            tap.ok(f"nothing is wider than {width} pixels", extra <= 0, extra)
            cut = driver.execute_script("""
                const room = document.querySelector(".tiles").getBoundingClientRect();
                return [...document.querySelectorAll(".tile")].filter((t) => {
                    const box = t.getBoundingClientRect();
                    return box.top < room.bottom - 1 && (box.right > room.right + 1 || box.bottom > room.bottom + 1);
                }).map((t) => t.textContent);""")
            tap.ok(f"no figure of the header is cut at {width} pixels", not cut, cut)
            leads, seen = driver.execute_script("""
                assay.tabs.show("trust");
                const tab = assay.tabs.tabs.at(-1).getBoundingClientRect(), heads = [...document.querySelectorAll("#kernels .table:has(input) th")].map((h) => h.textContent);
                return [heads.indexOf("name") === 0, tab.left >= 0 && tab.right <= innerWidth];""")
            tap.ok(f"the name of a kernel stands first where the rest is out of view, and the open tab is in view, at {width} pixels", leads == (width <= 640) and seen, (leads, seen))
            check_room(driver, width)
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


def check_coloured():
    """Names of the model that scripts give a colour, without a browser."""
    report = json.loads(tap.run("report", "--json", tap.ROOT / "demo/train.json.gz")[1])
    kernels, palette = (tap.ROOT / "src/names/kernels.h").read_text(), (tap.ROOT / "assets/palette.js").read_text()
    families = re.findall(r'X\(\w+, "(\w+)"', kernels.split("ASSAY_FAMILIES(X)")[1].split("\n\n")[0])
    own = dict(re.findall(r'(\w+): "(--[\w-]+)"', re.search(r"BY_FAMILY = \{(.*?)\}", palette)[1]))
    bad = [f for f in families if f'"{own.get(f, "--" + f)}"' not in palette.split("COLOURS = [")[1].split("];")[0]]
    tap.ok("every kernel family has a colour", len(families) > 9 and not bad, bad)
    buckets = [b["bucket"] for b in report["budget"] if b["unit"] == "ns" and not b["part_of"] and b["bucket"] != "total"]
    bad = [b for b in buckets if f'{b}: "--' not in (tap.ROOT / "assets/budget.js").read_text()]
    tap.ok("every bucket of the budget has a colour", len(buckets) > 5 and not bad, bad)


def main():
    check_data()
    check_coloured()
    if missing():
        return tap.skip("the page in a browser", missing())
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as name:
        folder = pathlib.Path(name)
        driver = browser()
        try:
            check_demo(driver, folder)
            check_host_ahead(driver, folder)
            check_empty(driver, folder)
            check_inferred(driver, folder)
            check_chains(driver, folder)
            check_colours(driver)
            check_hostile(driver, folder)
        finally:
            driver.quit()
        check_looks(folder)
        check_print(folder)
        check_many(folder)


main()
tap.done()
