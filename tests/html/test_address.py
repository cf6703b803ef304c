#!/usr/bin/env python3
"""Addresses of the page in a real browser: what they keep, where links lead; tables and flame graphs that they lead to."""
import csv
import html
import io
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import tap
from browser import browser, choose, console, load, missing, open_tab, reopen, settle, text_of, until, webdriver, write

if webdriver:
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys


def check_tables(driver):
    open_tab(driver, "kernels")
    copied = lambda n: driver.execute_script("document.querySelectorAll('#kernels .table:has(input) .copy button')[arguments[0]].click(); return assay.copied", n)
    rows = driver.execute_script("return assay.data.kernel.n")
    csv_text, markdown = copied(0), copied(1)
    parsed = list(csv.reader(io.StringIO(csv_text)))
    tap.ok("a table is copied as CSV with all rows", len(parsed) == rows + 1 and len({len(r) for r in parsed}) == 1, len(parsed))
    heads, kernels = parsed[0], [dict(zip(parsed[0], r)) for r in parsed[1:]]
    want = driver.execute_script("const k = assay.data.kernel; return [...Array(k.n).keys()].map((i) => [k.total[i], k.count[i], k.max[i]])")
    got = [[int(r["total (ns)"]), int(r["count"]), int(r["longest (ns)"])] for r in kernels] if "total (ns)" in heads else heads
    tap.ok("its numbers are plain, with their units in the heads", sorted(got) == sorted(want), got[:3])
    whole = sum(float(r["share (%)"] or 0) for r in kernels) if "share (%)" in heads else 0
    tap.ok("and shares are percent of the whole", abs(whole - 100) < 1e-3, whole)
    plain = lambda text: text == "" or set(text) <= set("0123456789.e+-")
    odd = []
    for table in driver.execute_script("""
            return [...document.querySelectorAll(".table")].filter((t) => t.querySelector(".copy button")).map((t) => {
                t.querySelector(".copy button").click();
                return assay.copied;
            });"""):
        read = list(csv.DictReader(io.StringIO(table)))
        odd += [(h, r[h]) for r in read for h in r if h.endswith((" (ns)", " (B)", " (%)")) or h in ("count", "calls", "GPU events", "samples") if not plain(r[h])]
        odd += [(h, r[h]) for r in read for h in r if h not in ("how", "unit") and r[h] and r[h].split()[-1] in ("ms", "µs", "ns", "kB", "MB", "GB", "%")]
    tap.ok("in every table of the page", not odd, odd[:5])
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
    tap.ok("an area of the address is summed", driver.execute_script("return document.querySelector('.details .area h3')?.textContent.includes('2.00 ms from 3.000 ms')"))
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


def check_frame(driver, page):
    """In the frame that a notebook shows it in, the page has no address, and its links lead to itself all the same."""
    around = page.with_name("notebook.html")
    around.write_text(f'<!DOCTYPE html><iframe sandbox="allow-scripts" width="1200" height="800" srcdoc="{html.escape(page.read_text())}"></iframe>')
    driver.get(around.as_uri())
    driver.switch_to.frame(driver.find_element(By.CSS_SELECTOR, "iframe"))
    there = until(driver, "!!globalThis.assay")
    before = driver.execute_script("return [assay.timeline.t0, assay.timeline.width * assay.timeline.scale]")
    driver.execute_script("[...document.querySelectorAll('.findings a')].find((a) => a.textContent === 'show it').click()")
    settle(driver)
    shown = driver.execute_script("return [assay.timeline.t0, assay.timeline.width * assay.timeline.scale]")
    tap.ok("in a frame a finding is shown", there and shown != before, (there, before, shown))
    tap.ok("the page is still there, and offers no link to itself", driver.execute_script(
        "return location.href.startsWith('about:srcdoc') && !!assay.data.spans && ![...document.querySelectorAll('button')].some((b) => b.textContent === 'Link')"))
    driver.switch_to.default_content()


def main():
    if missing():
        return tap.skip("addresses of the page in a browser", missing())
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as name:
        folder, driver = pathlib.Path(name), browser()
        try:
            page = write(folder, "demo.html", tap.ROOT / "demo/train.json.gz", tap.ROOT / "demo/nvidia_smi.csv")[0]
            load(driver, page)
            check_tables(driver)
            check_flame(driver)
            check_stacks(driver)
            check_address(driver, page)
            check_lanes_in_address(driver, page)
            check_links(driver)
            load(driver, write(folder, "run.html", tap.ROOT / "demo/run")[0])
            check_links(driver)
            check_frame(driver, folder / "run.html")
            tap.ok("nothing failed on the console", not console(driver))
        finally:
            driver.quit()


main()
tap.done()
