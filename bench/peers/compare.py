"""Other analysers beside ours on one trace: their figures, ours, and what differs. They are looked for in the Pythons named by
HTA_PYTHON and TRACELENS_PYTHON (python3 when unset); nothing is installed."""
import json
import os
import pathlib
import shutil
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
TOOLS = {"hta": ("hta", "HTA_PYTHON", "hta"), "tracelens": ("TraceLens", "TRACELENS_PYTHON", "ac2g")}  # module, python, variant
TOLERANCE = {"hta": 1e-9, "tracelens": 1e-4}  # TraceLens adds doubles of microseconds since 1970: up to 0.1 us off, here in ms


def python(tool):
    return os.environ.get(TOOLS[tool][1], "python3")


def missing(tool):
    """Why a tool cannot be compared with; None when it can. HTA's rules are those of 0.6: 0.5 has another list of launch calls."""
    code = f"import {TOOLS[tool][0]}"
    if tool == "hta":
        code += ", inspect, hta.common.trace_symbol_table as t; assert 'cuLaunchKernelEx' in inspect.getsource(t)"
    if not shutil.which(python(tool)) or subprocess.run([python(tool), "-c", code.split(",")[0]], capture_output=True).returncode:
        return f"{tool} is not installed"
    return None if subprocess.run([python(tool), "-c", code], capture_output=True).returncode == 0 else f"{tool} is too old"


def theirs(tool, trace):
    """figures, failed, seconds (loading and analyzing, imports not counted); or {"error": ...}."""
    p = subprocess.run([python(tool), HERE / f"{tool}_figures.py", trace], capture_output=True, text=True)
    if p.returncode:
        return {"error": (p.stderr.strip().splitlines() or ["it failed"])[-1]}
    return json.loads(p.stdout.strip().splitlines()[-1])


def ours(assay, tool, trace):
    p = subprocess.run([assay, "report", "--json", "--like", tool, trace], capture_output=True, text=True)
    ranks = json.loads(p.stdout)["ranks"] if p.returncode == 0 else []
    return ranks[0].get(TOOLS[tool][2], {}) if ranks else {}


def differences(tool, figures, own):
    """Pairs of (group.name, theirs, ours) that are not equal, and how many were compared."""
    bad, n = [], 0
    for group, values in figures.items():
        for name, v in values.items():
            w = own.get(group, {}).get(name)
            n += 1
            same = v == w or (v is not None and w is not None and abs(v - w) <= TOLERANCE[tool] * (1 if tool == "tracelens" else max(1, abs(v))))
            if not same:
                bad.append((f"{group}.{name}", v, w))
    return bad, n
