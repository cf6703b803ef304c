#!/usr/bin/env python3
"""The page of a job of many ranks in a real browser."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import tap
from browser import browser, console, load, missing, open_tab, settle, webdriver, write
from equal import check_equal

if webdriver:
    from selenium.webdriver.common.by import By


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


def check_many_ranks(driver):
    """2,000 ranks of 250 machines by hand, rank 1234 far behind: it stands first, and every rank is in one line of few."""
    got = driver.execute_script("""
        const n = 2000, steps = 3, each = (f) => Float64Array.from({ length: n }, (_, i) => f(i)), by = (f) => Float64Array.from({ length: n * steps }, (_, i) => f(i % n, Math.floor(i / n)));
        const data = { tag: "", texts: ["", ...Array.from({ length: n / 8 }, (_, i) => `node${i}`)], sources: Array.from({ length: n }, (_, rank) => ({ rank, path: `rank${rank}.json` })),
            rank: { n, rank: each((i) => i), source: each((i) => i), host: each((i) => 1 + Math.floor(i / 8)) },
            rank_step: { n: n * steps, rank: by((r) => r), step: by((r, s) => 10 + s), late: by((r, s) => r === 1234 ? 9e6 : (r * 7 + s) % 1000), exposed_comm: by(() => -1), dur: by(() => -1) } };
        const made = rankMatrix(data), m = made.matrix;
        document.body.append(made);
        m.draw();
        const seen = m.lines.flatMap(([rows]) => rows.map((r) => r.rank)), red = resolve("--wait"), pixel = Array.from(m.canvas.getContext("2d").getImageData((92 + 5) * devicePixelRatio, (18 + 5) * devicePixelRatio, 1, 1).data.slice(0, 3));
        const out = { first: m.rows[0].name, lines: m.lines.length, height: m.canvas.clientHeight, ranks: new Set(seen).size, seen: seen.length, high: m.high, most: m.most, red: String(red.map(Math.round)) === String(pixel) };
        m.point({ offsetX: 97, offsetY: 18 + 24 * 15 + 1 });
        out.pointed = m.said.textContent;
        m.press({ offsetX: 97, offsetY: 20 });
        out.pressed = m.said.textContent;
        made.querySelector("[data-choice=unit]").value = "host";
        made.querySelector("[data-choice=unit]").dispatchEvent(new Event("change"));
        out.hosts = [m.rows.length, m.rows[0].name, m.rows[0].who[0], m.rows[0].cells[0]];
        made.remove();
        return out;""")
    tap.ok("the rank that is far off stands first and has a colour of its own", got["first"] == "rank 1234" and got["red"] and got["high"] < 3000 and got["most"] == 9e6, got)
    tap.ok("2,000 ranks fit on a screen, each once", got["ranks"] == got["seen"] == 2000 and got["lines"] <= 24 + 150 and got["height"] < 900, got)
    tap.ok("a line of many ranks says which has most", "most of 14 ranks" in got["pointed"] and got["pointed"].startswith("rank "), got["pointed"])
    tap.ok("a rank whose events are elsewhere names its file", "rank1234.json" in got["pressed"], got["pressed"])
    tap.ok("rows can be machines", got["hosts"] == [250, "node154", 1234, 9e6], got["hosts"])


def main():
    if missing():
        return tap.skip("the page of many ranks in a browser", missing())
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as name:
        folder, driver = pathlib.Path(name), browser()
        try:
            check_ranks(driver, folder)
            check_step_time(driver, folder)
            check_many_ranks(driver)
            tap.ok("nothing failed on the console", not console(driver))
        finally:
            driver.quit()


main()
tap.done()
