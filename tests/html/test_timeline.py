#!/usr/bin/env python3
"""The timeline in a real browser: mouse, keys, search, areas, lanes, the critical path, details and notes."""
import json
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import tap
from browser import HOSTILE, browser, console, load, missing, open_tab, reopen, settle, until, webdriver, write

if webdriver:
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

WHEEL = """arguments[0].dispatchEvent(new WheelEvent("wheel", {deltaY: -300, bubbles: true, cancelable: true, ctrlKey: arguments[1],
    clientX: arguments[0].getBoundingClientRect().left + 400}))"""


def check_timeline(driver):
    canvas = driver.find_element(By.CSS_SELECTOR, "canvas.lanes")
    state = lambda: driver.execute_script("const t = assay.timeline; return [t.t0, t.scale, t.selected]")
    t0, scale, _ = state()
    driver.execute_script(WHEEL, canvas, False)
    tap.ok("the wheel alone leaves the zoom and says how to", state()[1] == scale and driver.find_element(By.CSS_SELECTOR, ".hint").is_displayed())
    driver.execute_script(WHEEL, canvas, True)
    at = lambda s: s[0] + 400 * s[1]
    after = state()
    wide = driver.execute_script("const b = assay.timeline.bottom; return [b.scrollHeight > b.clientHeight, b.scrollWidth - b.clientWidth]")
    tap.ok("telemetry that is scrolled is no wider than its room", wide == [True, 0], wide)
    area = """const t = assay.timeline, lanes = t.shown.filter((g) => !g.pinned).slice(1, 3).flatMap((g) => g.rows.map((r) => t.data.lanes.indexOf(r.lane)));
        t.selectArea(t.t0, t.t0 + 1e6, [lanes[0], lanes.at(-1)]);
        return [lanes[0], lanes.at(-1)]"""
    lanes, held = driver.execute_script(area), "return assay.timeline.bandLanes()"
    driver.execute_script("assay.timeline.shown[0].hidden = true; assay.timeline.place()")
    tap.ok("a selected area keeps its lanes when others are hidden", driver.execute_script(held) == lanes, (lanes, driver.execute_script(held)))
    driver.execute_script("for (const g of assay.timeline.groups) g.hidden = false; assay.timeline.place(); assay.timeline.root.style.minHeight = `${2 * assay.timeline.total + 400}px`")
    tap.ok("lanes take the room there is, and a selected area keeps its own", until(driver, "assay.timeline.stretch === 2") and driver.execute_script(held) == lanes, lanes)
    driver.execute_script("assay.timeline.root.style.minHeight = `${assay.timeline.total + 400}px`; assay.timeline.measure = assay.timeline.band = null")
    room = "(() => { const b = assay.timeline.bottom; return b.scrollHeight <= b.clientHeight && b.clientHeight > 300 && [...b.querySelectorAll('.label')].every((l) => l.clientHeight > 40); })()"
    tap.ok("telemetry takes the room that lanes leave", until(driver, room), driver.execute_script("return assay.timeline.bottom.clientHeight"))
    driver.execute_script("assay.timeline.root.style.minHeight = ''")
    until(driver, "assay.timeline.bottom.clientHeight < 300 && assay.timeline.stretch === 1")
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
    driver.find_element(By.XPATH, "//div[contains(@class, 'details')]//dt[text()='launched by']/../dd//a").click()
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


def check_choices(driver):
    """An area and an event, one after the other, and the way back."""
    driver.execute_script("assay.timeline.measure = null; assay.timeline.select(-1, false); assay.timeline.showSteady()")
    until(driver, "history.state?.whole && !/area|span/.test(location.hash)")
    chosen = lambda: driver.execute_script("const t = assay.timeline; return [Boolean(t.measure), t.selected, t.framed]")
    title = lambda: driver.find_element(By.CSS_SELECTOR, ".details h3").text
    driver.execute_script("const t = assay.timeline; t.selectArea(t.time(100), t.time(300))")
    until(driver, "/area=/.test(location.hash)")
    area = title()
    driver.find_element(By.CSS_SELECTOR, ".details .area td.name a").click()
    until(driver, "assay.timeline.selected >= 0 && /span=/.test(location.hash)")
    event, shown = chosen(), title()
    driver.execute_script("history.back()")
    went = until(driver, "assay.timeline.selected < 0")
    tap.ok("back leads from an event to the area that it was chosen in", went and event[1] >= 0 and shown != area == title() and chosen()[0], (event, shown, area, chosen()))
    driver.execute_script("history.back()")
    went = until(driver, "!assay.timeline.measure")
    tap.ok("and from there to the steady steps", went and chosen() == [False, -1, "steady"], chosen())
    driver.execute_script("history.forward()")
    tap.ok("forward leads to the area again", until(driver, "assay.timeline.measure") and title() == area, chosen())
    canvas, box = driver.find_element(By.CSS_SELECTOR, "canvas.lanes"), driver.execute_script("""
        const t = assay.timeline, lane = t.shown.find((g) => g.kind === "gap").lanes[0], d = assay.data;
        let best = lane.first;
        t.view.scrollTop = 0;
        for (let i = lane.first; i < lane.last; i++) if (t.x(d.start[i]) > 0 && t.x(d.start[i] + d.dur[i]) < t.width && (t.x(d.start[best]) < 0 || d.dur[i] > d.dur[best])) best = i;
        const { row } = t.rowOf(best), c = t.lanes.canvas;
        return [best, t.x(d.start[best] + d.dur[best] / 2) - c.clientWidth / 2, row.y + row.height / 2 - t.view.scrollTop - c.clientHeight / 2];""")
    settle(driver)
    tip = lambda: driver.find_element(By.CSS_SELECTOR, ".tip").is_displayed()
    ActionChains(driver).move_to_element_with_offset(canvas, int(box[1]), int(box[2])).perform()
    pointed = tip()
    ActionChains(driver).click().send_keys("z").perform()
    settle(driver)
    got = driver.execute_script("const t = assay.timeline, s = t.selected; return [t.measure, s, t.x(assay.data.start[s]) / t.width, t.x(assay.data.start[s] + assay.data.dur[s]) / t.width]")
    tap.ok("a click drops the area, and Z zooms to the event", got[:2] == [None, box[0]] and 0 < got[2] < 0.1 and 0.9 < got[3] < 1, (got, box))
    tap.ok("what the pointer said goes with the view", pointed and not tip(), (pointed, tip()))
    driver.execute_script("assay.timeline.select(-1, false); assay.timeline.showSteady()")


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
    tap.ok("elements keep the methods that tools for accessibility call", driver.execute_script("return [...document.querySelectorAll('*')].every((e) => typeof e.matches === 'function')"))
    box.clear()
    box.send_keys("gemm")
    want, got = driver.execute_script("""
        const d = assay.data, k = d.kernel, family = new Map(Array.from(k.name, (name, i) => [name, d.enums.family[k.family[i]]])), m = assay.timeline.match;
        let n = 0, unnamed = 0;
        for (let i = 0; i < d.name.length; i++) {
            const named = d.texts[d.name[i]].toLowerCase().includes("gemm"), own = i < d.gpu.n && family.get(d.name[i]) === "gemm";
            n += named || own;
            unnamed += own && !named;
        }
        return [[n, unnamed > 0], [m.count, true]];""")
    tap.ok("a word finds names, and kernels of that family whatever their names", want == got, (want, got))
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


def check_race(driver):
    """The page brings its address up to date between a press on a link and the event of that."""
    got = driver.execute_async_script("""
        const done = arguments[0], t = assay.timeline;
        t.select(3, false);
        addEventListener("hashchange", () => done(t.selected), { once: true });
        location.hash = "span=5";
        history.replaceState(null, "", "#span=3");""")
    tap.ok("a link is followed though the address changes meanwhile", got == 5, got)


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


def main():
    if missing():
        return tap.skip("the timeline in a browser", missing())
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as name:
        folder, driver = pathlib.Path(name), browser()
        try:
            inputs = (tap.ROOT / "demo/train.json.gz", tap.ROOT / "demo/nvidia_smi.csv")
            load(driver, write(folder, "demo.html", *inputs)[0])
            check_timeline(driver)
            check_search(driver)
            check_area(driver)
            check_choices(driver)
            check_query(driver)
            check_lanes(driver)
            check_path(driver, inputs)
            check_details(driver)
            check_notes(driver)
            check_race(driver)
            check_keys(driver)
            tap.ok("nothing failed on the console", not console(driver))
        finally:
            driver.quit()


main()
tap.done()
