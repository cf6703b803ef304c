#!/usr/bin/env python3
"""Tables, flame graphs and matrices of the page in a real browser, and that its address keeps them."""
import json
import math
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import tap
from browser import browser, choose, console, load, missing, open_tab, reopen, until, write

TABLE = """
const table = document.querySelector("#kernels .table:has(input)"), head = [...table.querySelectorAll("th")].find((h) => h.getAttribute("aria-sort") !== "none");
return [head.textContent, head.getAttribute("aria-sort"), table.querySelector("input").value, [...table.querySelectorAll("tbody tr")].map((r) => r.textContent)];
"""


def check_table_in_address(driver):
    open_tab(driver, "kernels")
    driver.execute_script("""
        const table = document.querySelector("#kernels .table:has(input)"), box = table.querySelector("input");
        [...table.querySelectorAll("th button")].find((b) => b.textContent === "count").click();
        [...table.querySelectorAll("th button")].find((b) => b.textContent === "count").click();
        box.value = "Elementwise, 50%";
        box.dispatchEvent(new Event("input"));
        box.value = "elementwise";
        box.dispatchEvent(new Event("input"));""")
    want = driver.execute_script(TABLE)
    kept = until(driver, "location.hash.includes('table.kernels.1=count,up,elementwise')")
    address = reopen(driver)
    got = driver.execute_script(TABLE)
    tap.ok("the address keeps how a table is sorted and filtered", kept and got == want and got[:3] == ["count", "ascending", "elementwise"] and len(got[3]) > 3, (address, got, want))
    odd = driver.execute_script("""
        for (const text of ["nothing,up", "", "count", "%ZZ,up,%E0%A4%A"]) tablesOf(document.getElementById("kernels"))[1].take(text);
        const rows = document.querySelectorAll("#kernels .table:has(input) tbody tr").length;
        tablesOf(document.getElementById("kernels"))[1].take("total,down,");
        return [rows, tablesOf(document.getElementById("kernels"))[1].asText()];""")
    tap.ok("a wrong one does no harm, and the usual one is not in the address", odd[1] == "", odd)


def check_flame_in_address(driver):
    driver.execute_script("location.hash = 'flame'")
    until(driver, "document.querySelectorAll('#flame .flame button').length > 4")
    seen = driver.execute_script("return document.querySelector('#flame h2').getBoundingClientRect().top - document.querySelector('.tabs').getBoundingClientRect().bottom")
    tap.ok("a link to a table leaves its head in view", seen >= 0, seen)
    for measure in ("stack_gpu", "gpu"):
        choose(driver, "flame", measure)
        want = driver.execute_script("""
            const f = document.getElementById("flame").flame;
            const deep = (n) => { const c = [...n.inside.values()].sort((a, b) => b[f.key] - a[f.key])[0]; return c && n.depth < 2 ? deep(c) : n; };
            f.zoom(deep(f.root));
            return f.path.textContent;""")
        kept = until(driver, f"location.hash.includes('zoom=') && location.hash.includes('set.flame={measure}') === {str(measure != 'stack_gpu').lower()}")
        address = reopen(driver)
        until(driver, "document.querySelectorAll('#flame .flame button').length > 0")
        got = driver.execute_script("const f = document.getElementById('flame').flame; return [f.path.textContent, f.key]")
        tap.ok(f"the address keeps the box that fills the flame graph ({measure})", kept and got == [want, measure] and want.count("›") == 2, (address, got, want))
    driver.execute_script("document.getElementById('flame').flame.zoomTo('x/y/%ZZ')")
    tap.ok("one that is not there shows all", driver.execute_script("const f = document.getElementById('flame').flame; return f.top === f.root"))


def check_stack_flame(driver):
    """GPU work and idle time by Python stack, against sums made another way."""
    choose(driver, "flame", "stack_gpu")
    got = driver.execute_script("""
        const d = assay.data, f = document.getElementById("flame").flame, [from, to] = countedTime(d), own = (row) => row < 0 ? "" : d.texts[d.code.function[d.stack.code[row]]];
        const holds = (row, name) => row >= 0 && (own(row) === name || holds(d.stack.caller[row], name));
        let all = 0, log = 0, idle = 0;
        for (let i = 0; i < d.gpu.n; i++)
            if (d.start[i] >= from && d.start[i] < to) {
                all += d.dur[i];
                log += holds(d.gpu.stack[i], "log_norms") ? d.dur[i] : 0;
            }
        for (let i = 0; i < d.gap.n; i++) idle += Math.max(0, Math.min(to, d.gap.ts[i] + d.gap.dur[i]) - Math.max(from, d.gap.ts[i]));
        const find = (n) => n.up && f.title(n).startsWith("log_norms") ? n.stack_gpu : [...n.inside.values()].reduce((sum, c) => sum + find(c), 0);
        return [f.root.stack_gpu, all, find(f.root), log, f.root.stack_idle, idle, [...document.querySelectorAll("#flame .flame button")].map((b) => b.textContent)];""")
    tap.ok("GPU work by Python stack is all of it, and that of a function its own", got[0] == got[1] > 0 and got[2] == got[3] > 0, got[:4])
    leaves = driver.execute_script("""
        const d = assay.data, f = document.getElementById("flame").flame, sums = {}, want = {}, [from, to] = countedTime(d);
        const visit = (n) => { if (!n.inside.size && n.stack_gpu) sums[f.title(n)] = (sums[f.title(n)] ?? 0) + n.stack_gpu; n.inside.forEach(visit); };
        visit(f.root);
        for (let i = 0; i < d.gpu.n; i++)
            if (d.start[i] >= from && d.start[i] < to) { const name = shortName(d.texts[d.name[i]]); want[name] = (want[name] ?? 0) + d.dur[i]; }
        return [sums, want];""")
    tap.ok("innermost stand kernels, whose time sums to all of theirs", leaves[0] == leaves[1] and len(leaves[0]) > 10, leaves)
    tap.ok("idle time by Python stack is all of it", math.isclose(got[4], got[5], rel_tol=1e-9) and got[4] > 0, got[4:6])
    tap.ok("a function called at several lines names them", any(text.startswith("train_step · program.py:36, 38") for text in got[6]), got[6])


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
        return tap.skip("views of the page in a browser", missing())
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as name:
        folder, driver = pathlib.Path(name), browser()
        try:
            load(driver, write(folder, "run.html", tap.ROOT / "demo/run")[0])
            check_table_in_address(driver)
            check_flame_in_address(driver)
            check_stack_flame(driver)
            check_many_ranks(driver)
            check_code_diff(driver, folder)
            tap.ok("nothing failed on the console", not console(driver))
        finally:
            driver.quit()


main()
tap.done()
