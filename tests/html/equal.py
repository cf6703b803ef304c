"""What the page shows against what `assay report --json` prints."""
import os

import tap
from browser import text_of


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
