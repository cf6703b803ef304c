"""A run: its tables as Arrow streams, its documents as dicts."""
import os
import tempfile
from typing import Any, Iterator, List, Optional, Sequence, Union

from ._lib import LIB, call, relation_names, stream_capsule
from ._program import document, output

Path = Union[str, "os.PathLike[str]"]


class Table:
    """Rows that pandas, polars, pyarrow and DuckDB take by themselves (the Arrow PyCapsule protocol)."""

    def __init__(self, run: "Run", function, text: str):
        self._run, self._function, self._text = run, function, text

    def __arrow_c_stream__(self, requested_schema=None):
        return stream_capsule(self._function, self._run._pointer(), self._text)

    def to_arrow(self):
        """A pyarrow.Table."""
        import pyarrow

        return pyarrow.table(self)

    def to_pandas(self):
        return self.to_arrow().to_pandas()

    def to_polars(self):
        import polars

        return polars.DataFrame(self)

    def __repr__(self) -> str:
        return f"<assay table: {self._text}>"


class _Handle:
    """The C run; what Arrow consumers still hold of it outlives this."""

    def __init__(self, paths: Sequence[str]):
        self.run = LIB.assay_run_new()
        if not self.run:
            raise MemoryError
        for path in paths:
            call(LIB.assay_run_read, self.run, os.fsencode(path))
        call(LIB.assay_run_analyze, self.run, None)

    def __del__(self):
        if getattr(self, "run", None):
            LIB.assay_run_free(self.run)


class Run:
    """One or more inputs: run directories, traces of any format assay reads, ranks of a job."""

    def __init__(self, *paths: Path):
        self.paths: List[str] = [os.fspath(p) for p in paths]
        self._handle: Optional[_Handle] = None

    def _pointer(self):
        if self._handle is None:  # documents do not need it
            self._handle = _Handle(self.paths)
        return self._handle.run

    # tables

    @property
    def tables(self) -> List[str]:
        """Names for run["..."]: views that join what belongs together, and the plain tables."""
        return relation_names()

    def __getitem__(self, name: str) -> Table:
        if name not in self.tables:
            raise KeyError(name)
        return Table(self, LIB.assay_run_arrow, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.tables)

    def sql(self, statement: str) -> Table:
        """The rows of one SELECT over the tables and views (`assay sql RUN --schema`)."""
        return Table(self, LIB.assay_run_sql, statement)

    @property
    def kernels(self) -> Table:
        """Every kernel with stream, call, operator, range, step and rank."""
        return self["kernels"]

    @property
    def copies(self) -> Table:
        return self["memory_copies"]

    @property
    def ops(self) -> Table:
        """Framework operators with the time of their kernels."""
        return self["operator"]

    @property
    def waits(self) -> Table:
        return self["waits"]

    @property
    def gaps(self) -> Table:
        return self["gaps"]

    @property
    def steps(self) -> Table:
        return self["steps"]

    @property
    def scopes(self) -> Table:
        return self["scopes"]

    @property
    def stacks(self) -> Table:
        """Samples of host threads with the line they were in."""
        return self["samples"]

    @property
    def telemetry(self) -> Table:
        return self["counters"]

    @property
    def ranks(self) -> Table:
        return self.sql("select * from ranks")

    # documents

    def report(self, *options: str) -> dict:
        """What `assay report --json` says; options as on the command line."""
        return document("report", "--json", *options, *self.paths)

    @property
    def findings(self) -> List[dict]:
        return self.report().get("findings", [])

    def diff(self, other: "Run", *options: str) -> dict:
        """From this run to the other."""
        return document("diff", "--json", *options, *self.paths, *other.paths, good=(0, 1))

    def path(self, what_if: Union[str, Sequence[str], None] = None, *options: str) -> dict:
        """The critical path of a step; what_if as in "gemm*=0.5x"."""
        rules = [what_if] if isinstance(what_if, str) else list(what_if or [])
        return document("path", "--json", *[f"--what-if={r}" for r in rules], *options, *self.paths)

    def html(self, to: Optional[Path] = None) -> str:
        """The page; written to a file when one is given, else returned."""
        if to is not None:
            output("report", "--html", os.fspath(to), *self.paths)
            return os.fspath(to)
        with tempfile.TemporaryDirectory() as folder:
            page = os.path.join(folder, "page.html")
            output("report", "--html", page, *self.paths)
            with _open_file(page, encoding="utf-8") as f:
                return f.read()

    def close(self) -> None:
        """Give back the memory that nobody uses any more."""
        self._handle = None

    def __repr__(self) -> str:
        return f"assay.open({', '.join(map(repr, self.paths))})"


_open_file = open


def open(*paths: Path) -> Run:  # noqa: A001, the name people type
    """Open a run directory or any trace; several paths are ranks of one job. Missing files are said at once."""
    for path in paths:
        os.stat(path)
    return Run(*paths)
