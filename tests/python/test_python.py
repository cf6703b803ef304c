#!/usr/bin/env python3
"""The Python package on the bundled run: what consumers nobody here wrote make of the streams, compared
with what the program says. Those that are not installed are skipped by name."""
import asyncio
import contextlib
import ctypes
import importlib.util
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, "python"), os.path.join(TOP, "tests")]
os.environ.setdefault("ASSAY", os.path.join(TOP, "build/release/assay"))
os.environ.setdefault("ASSAY_LIBRARY", os.path.join(TOP, "build/release/libassay.so"))

import assay  # noqa: E402
from tap import done, ok as check, skip  # noqa: E402

RUN = os.path.join(TOP, "demo/run")
TRACE = os.path.join(TOP, "demo/train.json.gz")


def sql(statement):
    out = subprocess.run([os.environ["ASSAY"], "sql", RUN, "-f", "json", statement], capture_output=True, check=True)
    return json.loads(out.stdout)


def capsules():
    run = assay.open(RUN)
    capsule = run.kernels.__arrow_c_stream__()
    is_valid = ctypes.pythonapi.PyCapsule_IsValid
    is_valid.argtypes = [ctypes.py_object, ctypes.c_char_p]
    check("a stream comes in a capsule of Arrow's name", is_valid(capsule, b"arrow_array_stream") == 1)
    run.close()
    del run, capsule
    check("a capsule nobody took is freed after its run", True)


# The address space is all used up while the run is read, and then it is not.
NO_MEMORY = """
import resource, sys, assay
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
hard = resource.getrlimit(resource.RLIMIT_AS)[1]
resource.setrlimit(resource.RLIMIT_AS, (used + (8 << 20), hard))
try:
    assay.open(sys.argv[1]).kernels.__arrow_c_stream__()
    print("no failure")
except assay.AssayError as e:
    print(e)
resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
print(len(assay.open(sys.argv[1]).tables) > 10, assay.open(sys.argv[1]).kernels.__arrow_c_stream__() is not None)
"""


def memory():
    p = subprocess.run([sys.executable, "-c", NO_MEMORY, TRACE], capture_output=True, text=True,
                       env={**os.environ, "PYTHONPATH": os.path.join(TOP, "python"), "ASSAY_THREADS": "2"})
    lines = p.stdout.splitlines()
    check("a run without memory is an exception, and the next one is read",
          p.returncode == 0 and "memory" in lines[0] and lines[-1] == "True True", p.stdout + p.stderr)


def sentences():
    run = assay.open(RUN)
    try:
        run.sql("selct").__arrow_c_stream__()
        said = ""
    except assay.AssayError as e:
        said = str(e)
    check("a wrong statement raises the sentence", "syntax error" in said, said)
    try:
        run.sql("select nme from kernels").to_dicts()
        said = ""
    except assay.AssayError as e:
        said = str(e)
    check("a slip in a name raises what the program says", said == "no such column: nme; did you mean 'name'? (at character 8)", said)
    try:
        assay.open(os.path.join(TOP, "README.md")).kernels.__arrow_c_stream__()
        said = ""
    except assay.AssayError as e:
        said = str(e)
    check("a file that is no trace raises the sentence", "README.md" in said, said)
    check("an unknown table is a KeyError", raises(KeyError, lambda: run["nothing"]))
    ranks = [os.path.join(TOP, "demo/ddp", name) for name in sorted(os.listdir(os.path.join(TOP, "demo/ddp")))]
    for what, function, words in (("opening nothing", assay.open, "needs a run directory or a trace"),
                                  ("comparing lists of ranks", lambda: assay.open(*ranks).diff(run), "open the folder that holds the ranks"),
                                  ("two statements", lambda: run.sql("select 1; select 2").to_dicts(), "one statement at a time")):
        try:
            function()
            said = ""
        except assay.AssayError as e:
            said = str(e)
        check(f"{what} raises a sentence", words in said, said)
    check("a comment behind a statement is none", run.sql("select 1 a; -- the first").to_dicts() == [{"a": 1}])
    check("a missing file is an OSError", raises(OSError, lambda: assay.open("/nonexistent")))


def installed():
    """The program is found beside the package, however that was installed and whatever PATH says."""
    for how, site in (("for a user or in an environment", "lib/python3.9/site-packages"), ("with --target", "")):
        with tempfile.TemporaryDirectory() as prefix:
            os.makedirs(f"{prefix}/bin")
            os.makedirs(f"{prefix}/{site}", exist_ok=True)
            os.symlink(os.environ["ASSAY"], f"{prefix}/bin/assay")
            shutil.copytree(os.path.join(TOP, "python/assay"), f"{prefix}/{site}/assay")
            env = {k: v for k, v in os.environ.items() if k != "ASSAY"}
            p = subprocess.run([sys.executable, "-c", "import assay; print(assay.program())"], capture_output=True, text=True,
                               env={**env, "PATH": "/usr/bin:/bin", "PYTHONPATH": f"{prefix}/{site}"})
            check(f"installed {how} it finds its program", p.stdout == f"{prefix}/bin/assay\n", p.stdout + p.stderr)


def plain():
    """Without any package: every table read by ctypes, against the program's JSON."""
    run = assay.open(RUN)
    check("columns have their names", run.steps.columns[:3] == ["id", "step", "name"], run.steps.columns)
    check("len() counts rows", len(run.kernels) == sql("select count(*) n from kernels")[0]["n"])
    wrong = [t for t in ("kernels", "steps", "waits", "gaps", "counters", "scopes", "device", "meta", "top_kernels", "ranks", "cuda_api_sum") if run[t].to_dicts() != sql(f"select * from {t}")]
    check("rows in plain Python are those of SQL", not wrong, wrong)
    check("run.tables has all that SQL has", set(run.tables) >= {"kernels", "gpu", "top_kernels", "process", "nvtx_sum"}, run.tables)
    check("kernels alone are the top kernels", {r["class"] for r in run["top_kernels"]} <= {"compute", "communication"})
    check("a limit is kept, and rows are dicts", [r["step"] for r in run.steps.to_dicts(2)] == [0, 1])
    text = str(run.sql("select 1 a, null b, 'x' c"))
    check("print() shows rows", text.split() == ["a", "b", "c", "1", "x"], text)
    check("a notebook shows rows, and names as text", "<th>name</th>" in run.kernels._repr_html_() and "&lt;" in run.kernels._repr_html_())
    empty = run.sql("select * from steps where 0")
    check("no rows are no rows", len(empty) == 0 and empty.to_dicts() == [] and "step" in str(empty))


def raises(kind, function):
    try:
        function()
    except kind:
        return True
    return False


def documents():
    run = assay.open(RUN)
    report = run.report()
    check("report() is the program's JSON", "run_metrics" in report)
    check("findings are those of the report", run.findings == report.get("findings", []))
    check("path() takes a what-if", "path" in json.dumps(run.path("gemm*=0.5x")))
    check("diff() of a run with itself, and with a path", isinstance(run.diff(run), dict) and run.diff(run) == run.diff(RUN))
    check("html() is the page", run.html().lstrip().lower().startswith("<!doctype html"))
    check("outside a recording record() does nothing", not assay.start())
    with assay.record("part") as began:
        check("... and the block runs", not began)

    @assay.record
    def double(n):
        return 2 * n
    check("record decorates without being called", double(3) == 6 and double.__name__ == "double")


def decorated():
    """Functions whose work is done after the call: recorded when it is done, not when they are made."""
    from assay import _record

    on, seen = [False], []

    def ask(request):
        if request in ("start", "stop"):
            on[0] = request == "start"
        return {"ok": True, "recording": on[0]}

    @assay.record("part")
    async def coroutine():
        seen.append(on[0])
        return 1

    @assay.record
    def generator():
        seen.append(on[0])
        said = yield 2
        return said

    @assay.record
    async def stream():
        seen.append(on[0])
        yield 3

    @assay.record
    def plain_function():
        seen.append(on[0])

    def outer():
        result.append((yield from generator()))

    async def work():
        result.append(await coroutine())
        result.extend([item async for item in stream()])

    result, before = [], _record._ask
    _record._ask = ask
    try:
        asyncio.run(work())
        steps = outer()
        result.append(next(steps))
        with contextlib.suppress(StopIteration):
            steps.send("sent")
        plain_function()
    finally:
        _record._ask = before
    check("coroutines and generators are recorded while they work", seen == [True] * 4 and not on[0], str(seen))
    check("... and give what they gave", result == [1, 3, 2, "sent"] and coroutine.__name__ == "coroutine", str(result))


def said_in_the_manual():
    """The example of docs/python.md line by line, and the names its text has."""
    with open(os.path.join(TOP, "docs/python.md")) as f:
        text = f.read()
    names, wrong, here = {}, [], os.getcwd()
    lines = [line for line in re.search(r"```python\n(.*?)```", text, re.S)[1].splitlines() if line.strip()]
    with tempfile.TemporaryDirectory() as folder:
        for name in ("run", "other"):
            os.symlink(RUN, os.path.join(folder, name))
        os.chdir(folder)
        for line in lines:
            if "pandas" in line and not (importlib.util.find_spec("pandas") and importlib.util.find_spec("pyarrow")):
                skip("the manual's example: " + line.split("#")[0].strip(), "no pandas")
                continue
            try:
                with contextlib.redirect_stdout(io.StringIO()):
                    exec(line, names)
            except Exception as e:
                wrong.append(f"{line}: {e!r}")
        check("the manual's example runs", len(lines) > 5 and not wrong, "\n".join(wrong))
        check("... and writes its page", os.path.exists("page.html"))
        os.chdir(here)
    tables = re.findall(r"`(\w+)`", re.search(r"^- Tables:(.*?)\.", text, re.S | re.M)[1])
    gone = [n for n in tables if not hasattr(names["run"], n)] + [n for n in re.findall(r"\bassay\.([a-zA-Z]\w*)", text) if not hasattr(assay, n)]
    check("what the manual names is there", len(tables) == 10 and not gone, str(gone))
    names["run"].close()


def consumer(name, rows_and_sum):
    if importlib.util.find_spec(name) is None or importlib.util.find_spec("pyarrow") is None:
        skip(f"{name} takes the tables", f"no {name}")
        return
    want = sql("select count(*) n, sum(dur) s, count(op) o, count(distinct name) d from kernels")[0]
    run = assay.open(RUN)
    got = rows_and_sum(run)
    run.close()
    check(f"{name}: rows, sums, absent values and names equal SQL's", got == tuple(want.values()), f"{got} {want}")


def with_pyarrow(run):
    import pyarrow.compute as pc

    t = run.kernels.to_arrow()
    return (t.num_rows, pc.sum(t["dur"]).as_py(), t.num_rows - t["op"].null_count, len(t["name"].unique()))


def with_pandas(run):
    t = run.kernels.to_pandas()
    return (len(t), int(t["dur"].sum()), int(t["op"].notna().sum()), t["name"].nunique())


def whole_numbers():
    if importlib.util.find_spec("pandas") is None or importlib.util.find_spec("pyarrow") is None:
        skip("pandas keeps whole numbers with absent values whole", "no pandas")
        return
    t = assay.open(RUN).sql("select 9007199254740993 a union all select null").to_pandas()
    check("pandas keeps whole numbers with absent values whole", str(t["a"].dtype) == "Int64" and t["a"][0] == 9007199254740993, str(t.dtypes))


def with_polars(run):
    t = run.kernels.to_polars()
    return (t.height, t["dur"].sum(), t.height - t["op"].null_count(), t["name"].n_unique())


def with_duckdb(run):
    import duckdb

    kernels = run.kernels  # noqa: F841, the query names it
    return duckdb.sql("select count(*), cast(sum(dur) as bigint), count(op), count(distinct name) from kernels").fetchall()[0]


def exported(package):
    """Every table with rows as a file; without the other package, which would be taken first."""
    if importlib.util.find_spec(package) is None:
        return skip(f"{package} writes every table", f"no {package}")
    hidden = {"polars": ["pyarrow", "pyarrow.feather", "pyarrow.parquet"], "pyarrow": []}[package]
    before = {name: sys.modules.get(name) for name in hidden}
    run = assay.open(RUN)
    with tempfile.TemporaryDirectory() as folder:
        sys.modules.update(dict.fromkeys(hidden))
        try:
            paths = run.export(os.path.join(folder, "tables"))
            [arrow] = run.export(folder, "arrow", ["steps"])
        finally:
            for name, module in before.items():
                sys.modules.pop(name) if module is None else sys.modules.update({name: module})
        names = [os.path.basename(p).removesuffix(".parquet") for p in paths]
        check(f"{package} writes every table that has rows", names == [t for t in run.tables if len(run[t])] and "kernels" in names, str(names))
        if importlib.util.find_spec("duckdb"):
            import duckdb

            wrong = [n for n, p in zip(names, paths) if duckdb.sql(f"select count(*) from '{p}'").fetchall() != [(len(run[n]),)]]
            check("... and DuckDB reads as many rows back", not wrong, str(wrong))
        check("... and Arrow's own files of those asked for", os.path.basename(arrow) == "steps.arrow" and os.path.getsize(arrow) > 100)
        check("... and no other kind", raises(assay.AssayError, lambda: run.export(folder, "xlsx")))


def without_writers():
    hidden = ["pyarrow", "pyarrow.feather", "pyarrow.parquet", "polars"]
    code = "import sys, assay; sys.modules.update(dict.fromkeys(sys.argv[2:])); assay.open(sys.argv[1]).export('/nonexistent')"
    p = subprocess.run([sys.executable, "-c", code, RUN, *hidden], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": os.path.join(TOP, "python")})
    check("who can write tables is said where nobody can", "written by pyarrow or polars, and neither is installed" in p.stderr, p.stderr)


def notebook():
    if importlib.util.find_spec("IPython") is None:
        return skip("%assay shows the page of a run", "no IPython")
    from assay._notebook import Magics

    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as home:
        os.symlink(RUN, os.path.join(home, "my run"))
        before, os.environ["HOME"] = os.environ.get("HOME", "/"), home
        try:
            shown = Magics().assay("'~/my run' 321").data
        finally:
            os.environ["HOME"] = before
    check("%assay shows the page of a run, whose name may be quoted", "height:321px" in shown and "&lt;!doctype html" in shown.lower(), shown[:200])


capsules()
memory()
sentences()
installed()
plain()
documents()
decorated()
said_in_the_manual()
consumer("pyarrow", with_pyarrow)
consumer("pandas", with_pandas)
whole_numbers()
consumer("polars", with_polars)
consumer("duckdb", with_duckdb)
exported("pyarrow")
exported("polars")
without_writers()
notebook()
done()
