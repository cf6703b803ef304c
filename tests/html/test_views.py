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


def check_names(driver):
    """Kernels whose names differ at their ends only are told apart where there is no room for the whole."""
    open_tab(driver, "kernels")
    got = driver.execute_script("""
        const cells = [...document.querySelectorAll(".bench > .details td.name")], names = cells.map((c) => c.textContent), right = (e) => e.getBoundingClientRect().right;
        const cut = cells.filter((c) => { const head = c.querySelector(".elided > span"); return head && head.scrollWidth > head.clientWidth; });
        const end = (e) => { const range = document.createRange(); range.selectNodeContents(e.querySelector(".elided").lastChild); return range.getBoundingClientRect().right; };
        return [new Set(names).size === names.length, cut.length, cut.filter((c) => end(c) > right(c)).map((c) => c.textContent), names.includes(shortName(assay.data.texts[assay.data.kernel.name[1]]))];""")
    tap.ok("long names give way in their middle, and keep their ends in view", got[0] and got[1] > 3 and got[2] == [], got)
    copied = driver.execute_script("""
        const cell = [...document.querySelectorAll(".bench > .details td.name")].find((c) => c.querySelector(".elided")), said = [];
        document.addEventListener("copy", () => said.push(String(getSelection())), { once: true });
        getSelection().selectAllChildren(cell.querySelector(".elided"));
        document.dispatchEvent(new ClipboardEvent("copy", { bubbles: true }));
        getSelection().removeAllRanges();
        return [said[0], cell.textContent];""")
    tap.ok("a name that is marked and copied is one line", copied[0] == copied[1].strip() and len(copied[0]) > 30, copied)
    tap.ok("and gives way as before afterwards", until(driver, "!document.documentElement.classList.contains('copying')"))
    parts = driver.execute_script("""
        const b = assay.data.budget, value = (name) => b.value[[...b.name].findIndex((id) => assay.data.texts[id] === name)], tables = tablesOf(document.getElementById("budget"));
        const rows = [...tables[1].querySelectorAll("tbody tr")].map((r) => r.cells[0].textContent.replaceAll(" ", "_"));
        return [tables.length, rows.length, rows.reduce((sum, name) => sum + value(name), 0), value("useful_gpu")];""")
    tap.ok("parts of a bucket stand in a table of their own and sum to it", parts[0] == 2 and parts[1] > 3 and math.isclose(parts[2], parts[3], rel_tol=1e-6), parts)


SEEN = """
    const seen = (node, right) => {
        const range = document.createRange();
        return [...node.data].filter((_, i) => { range.setStart(node, i); range.setEnd(node, i + 1); return range.getBoundingClientRect().right <= right + 0.5; }).join("");
    };
    const texts = (cell) => { const walk = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT), out = []; while (walk.nextNode()) out.push(walk.currentNode); return out; };
    const shown = (cell) => texts(cell).map((t) => seen(t, t.parentNode.getBoundingClientRect().right)).join("…");
    return [...document.querySelectorAll(arguments[0])].map((c) => [c.textContent, shown(c)]);"""


def check_alike_names(driver):
    """GEMMs of one library begin and end alike: what is seen of them is where they differ. Where a table leaves room, nothing is cut."""
    driver.set_window_size(1280, 800)
    names = driver.execute_script(SEEN, ".bench > .details .table:first-child td.name")
    tap.ok("names that begin and end alike are told apart by what is seen of them", len({s for _, s in names}) == len(names) > 4 and any(len(s) < len(whole) for whole, s in names), names)
    room = driver.execute_script("const [a, b] = [...document.querySelectorAll('.bench > .details .columns > .table')].map((t) => t.getBoundingClientRect().right); return [a, b, innerWidth]")
    tap.ok("and the table beside them stays in view", room[0] < room[1] <= room[2], room)
    open_tab(driver, "operators")
    names = driver.execute_script(SEEN, "#operators .table:first-of-type td.name")
    tap.ok("no name is cut in a table that leaves room", len(names) > 10 and all(s.replace("…", "") == whole for whole, s in names), [n for n in names if n[0] != n[1].replace("…", "")])


def check_environment(driver):
    """What the snapshot complains of stands first, then its facts by what they are about, devices by their members."""
    env = json.loads((tap.ROOT / "demo/run/env.json").read_text())
    open_tab(driver, "environment")
    said, rows = driver.execute_script("""
        const tab = document.getElementById("environment");
        tab.querySelectorAll("button.more, p > button").forEach((b) => b.textContent.startsWith("Show all") && b.click());
        return [[...tab.querySelectorAll("li")].map((l) => l.textContent), [...tab.querySelectorAll("tbody tr")].map((r) => [...r.cells].slice(0, 3).map((c) => c.textContent))];""")
    tap.ok("findings of the snapshot are sentences above its facts", said == [f["text"] for f in env["assay"]["findings"]] and said, said)
    facts, about = {key: value for _, key, value in rows}, [group for group, _, _ in rows]
    tap.ok("facts of a device are rows", facts.get("assay.gpus.0.name") == env["assay"]["gpus"][0]["name"] and not [k for k in facts if k.startswith("assay.findings")], len(rows))
    tap.ok("facts stand in groups, the GPU's first", about[0] == "GPU and driver" and len(set(about)) == sum(a != b for a, b in zip(about, about[1:])) + 1 and len(set(about)) > 8, list(dict.fromkeys(about)))
    count = lambda v: sum(map(count, v.values())) if isinstance(v, dict) else 0 if v is None else sum(map(count, v)) if isinstance(v, list) and any(isinstance(i, dict) for i in v) else 1
    want = count(env) - count(env["assay"]["findings"])
    from_env = [key for group, key, _ in rows if group != "header of the input"]
    tap.ok("no fact of the snapshot is missing", len(from_env) == want, (len(from_env), want))


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


def main():
    if missing():
        return tap.skip("views of the page in a browser", missing())
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as name:
        folder, driver = pathlib.Path(name), browser()
        try:
            load(driver, write(folder, "run.html", tap.ROOT / "demo/run")[0])
            check_table_in_address(driver)
            check_names(driver)
            check_environment(driver)
            check_flame_in_address(driver)
            check_stack_flame(driver)
            load(driver, write(folder, "jax.html", tap.ROOT / "tests/xplane/jax.xplane.pb.gz")[0])
            check_alike_names(driver)
            tap.ok("nothing failed on the console", not console(driver))
        finally:
            driver.quit()


main()
tap.done()
