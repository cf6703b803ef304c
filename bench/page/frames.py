#!/usr/bin/env python3
"""How long the page takes to load and to draw, in headless Chromium: frames while panning and zooming, at several zooms, alone, with a search and with
the critical path. Needs chromium, chromedriver and python3-selenium (tools/install-deps browser).
usage: bench/page/frames.py BUILD [INPUT...]     (default: 1,000,000 and 2,000,000 events made by gen_events.py in ${BENCH_DIR:-/tmp/assay-bench})
Columns: milliseconds from one frame to the next, median and 95 %, and of drawing; the display gives a frame every 16.7 ms at best. Beside other work
they say how busy the machine is; the last column does not: processor time that the page's thread takes for a frame, mean of both."""
import os
import pathlib
import subprocess
import sys
import time

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

from gen_events import write_events

BUILD = pathlib.Path(sys.argv[1]).resolve()
DIR = pathlib.Path(os.environ.get("BENCH_DIR", "/tmp/assay-bench"))
LOADS, FRAMES, SIZE = 5, 120, (1600, 1000)

MOVE = """
const [share, what, frames] = arguments, done = arguments[arguments.length - 1], t = assay.timeline, d = t.data;
const frame = () => new Promise(requestAnimationFrame), at = (list, q) => list.sort((a, b) => a - b)[Math.floor((list.length - 1) * q)];
(async () => {
    t.mark(what === "search" ? runQuery(t, "gemm dur>20us") : null);
    if ((what === "path") !== Boolean(t.path)) togglePath(t);
    const p = stretchesOf(d), middle = what === "path" && p ? (p.start[0] + p.start[p.n]) / 2 : d.length_ns / 2;
    const length = d.length_ns * share;
    t.show(middle - length / 2, length);
    await frame(); await frame();
    const out = {};
    for (const [name, move] of [["pan", (i) => t.pan(i % 40 < 20 ? 24 : -24)], ["zoom", (i) => t.zoom(i % 40 < 20 ? 0.95 : 1 / 0.95)]]) {
        const between = [], draw = [];
        for (let i = 0, last = performance.now(); i < frames; i++) {
            move(i);
            await frame();
            const now = performance.now();
            between.push(now - last);
            draw.push(t.drawMs);
            last = now;
        }
        out[name] = [at(between, 0.5), at(between, 0.95), at(draw, 0.5), at(draw, 0.95)];
    }
    done(out);
})();
"""


def browser():
    options = webdriver.ChromeOptions()
    for arg in ("--headless=new", "--no-sandbox", "--enable-precise-memory-info", f"--window-size={SIZE[0]},{SIZE[1]}"):
        options.add_argument(arg)
    driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
    driver.set_script_timeout(120)
    return driver


def page_seconds(driver):
    """Processor time of the page's thread up to now."""
    return next(m["value"] for m in driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"] if m["name"] == "TaskDuration")


def load(driver, page):
    """Milliseconds until the page can be used, best of several loads."""
    ready = []
    for _ in range(LOADS):
        driver.get(page.as_uri())
        while not driver.execute_script("return !!globalThis.assay"):
            time.sleep(0.05)
        ready.append(driver.execute_script("return assay.ready"))
    return min(ready)


def measure(source):
    page = DIR / "page.html"
    started = time.monotonic()
    subprocess.run([BUILD / "assay", "report", source, "--html", page], check=True, stderr=subprocess.DEVNULL)
    wrote = time.monotonic() - started
    driver = browser()
    try:
        ready = load(driver, page)
        spans, path = driver.execute_script("return [assay.data.spans, stretchesOf(assay.data)?.n ?? 0]")
        driver.execute_cdp_cmd("HeapProfiler.collectGarbage", {})
        heap = driver.execute_cdp_cmd("Runtime.getHeapUsage", {})
        print(f"\n{pathlib.Path(source).name}: {spans:,} events, {page.stat().st_size / 1e6:.1f} MB, written in {wrote:.1f} s; ready after {ready:.0f} ms, "
              f"{(heap['usedSize'] + heap.get('backingStorageSize', 0)) / 1e6:.0f} MB of script memory")
        driver.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
        print("  shown  with      pan: frame p50   p95  draw p50   p95   zoom: frame p50   p95  draw p50   p95  processor")
        for what in ("", "search", *(("path",) if path else ())):
            for share in (1, 0.1, 0.001):
                before = page_seconds(driver)
                got = driver.execute_async_script(MOVE, share, what, FRAMES)
                each = (page_seconds(driver) - before) * 1000 / (2 * FRAMES)
                cells = [f"{got[k][0]:16.1f} {got[k][1]:5.1f} {got[k][2]:9.1f} {got[k][3]:5.1f}" for k in ("pan", "zoom")]
                print(f"{share:7.1%}  {what or 'nothing':7}  {cells[0]}  {cells[1]} {each:10.1f}")
    finally:
        driver.quit()


def main():
    DIR.mkdir(parents=True, exist_ok=True)
    inputs = sys.argv[2:]
    for events in () if inputs else (1_000_000, 2_000_000):
        path = DIR / f"events-{events}.json"
        if not path.exists():
            write_events(path, events)
        inputs.append(str(path))
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors, window {SIZE[0]} x {SIZE[1]}")
    for source in inputs:
        measure(source)


main()
