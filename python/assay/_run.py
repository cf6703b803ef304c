"""A run: its tables as Arrow streams, its documents as dicts."""
import html
import itertools
import os
import tempfile
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Optional, Sequence, Union

from ._arrow import Reader
from ._lib import LIB, call, relation_names, stream_capsule
from ._program import AssayError, document, output

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped, unused-ignore]
    import polars
    import pyarrow  # type: ignore[import-untyped, unused-ignore]

Path = Union[str, "os.PathLike[str]"]
Document = Dict[str, Any]
_SHOWN = 20  # rows that print() and notebooks show


class Table:
    """Rows that pandas, polars, pyarrow and DuckDB take by themselves (the Arrow PyCapsule protocol), and that plain
    Python can iterate: `for row in run.steps: print(row["dur"])`."""

    def __init__(self, run: "Run", function: Callable[..., Any], text: str):
        self._run, self._function, self._text = run, function, text

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return stream_capsule(self._function, self._run._pointer(), self._text)

    def _reader(self) -> Reader:
        return Reader(self.__arrow_c_stream__())

    @property
    def columns(self) -> List[str]:
        return self._reader().columns()

    def __len__(self) -> int:
        if self._text in self._run.tables:  # counting needs no columns
            return int(self._run.sql(f'select count(*) from "{self._text}"').to_dicts()[0]["count(*)"])
        return self._reader().count()

    def __bool__(self) -> bool:
        """True whether there are rows or not: counting them may take a while."""
        return True

    def __iter__(self) -> Iterator[Dict[str, Any]]:
        names = self.columns
        return (dict(zip(names, row)) for row in self._reader().rows())

    def to_dicts(self, limit: Optional[int] = None) -> List[Dict[str, Any]]:
        """Rows as dicts, without any other package; None is what the input did not say."""
        return list(itertools.islice(self, limit))

    def to_arrow(self) -> "pyarrow.Table":
        """A pyarrow.Table; numbers of plain tables are not copied."""
        import pyarrow

        return pyarrow.table(self)

    def to_pandas(self) -> "pandas.DataFrame":
        """A DataFrame. Whole numbers stay whole: a column with absent values is pandas' Int64, never float."""
        import pandas
        import pyarrow

        table = self.to_arrow()
        frame: "pandas.DataFrame" = table.to_pandas()
        whole: Dict[Any, Any] = {getattr(pyarrow, n.lower())(): getattr(pandas, f"{n}Dtype")()
                                 for n in ("Int8", "UInt8", "Int16", "UInt16", "Int32", "UInt32", "Int64", "UInt64")}
        for column in table.column_names:
            values = table[column]
            if values.null_count and values.type in whole:
                frame[column] = values.to_pandas(types_mapper=whole.get)
        return frame

    def to_polars(self) -> "polars.DataFrame":
        """A polars.DataFrame; names are Categorical."""
        import polars

        return polars.DataFrame(self)

    def _head(self) -> List[List[str]]:
        """Names of the columns, then the first rows, as text."""
        rows = itertools.islice(self._reader().rows(), _SHOWN + 1)
        return [self.columns, *[["" if v is None else str(v) for v in row] for row in rows]]

    def __repr__(self) -> str:
        return f"<assay table: {self._text}>"

    def __str__(self) -> str:
        head = [[cell if len(cell) <= 40 else cell[:39] + "\u2026" for cell in row] for row in self._head()]
        widths = [max(map(len, column)) for column in zip(*head)]
        lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths)).rstrip() for row in head[: _SHOWN + 1]]
        return "\n".join(lines + (["\u2026"] if len(head) > _SHOWN + 1 else []))

    def _repr_html_(self) -> str:
        head = self._head()
        cells = ["".join(f"<td>{html.escape(cell[:200])}</td>" for cell in row) for row in head[1 : _SHOWN + 1]]
        more = "<p>\u2026</p>" if len(head) > _SHOWN + 1 else ""
        names = "".join(f"<th>{html.escape(name)}</th>" for name in head[0])
        return f"<table><tr>{names}</tr>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>{more}"


def _writer(format: str) -> Callable[[Table, str], Any]:
    """Writes a table as a file, by pyarrow or else polars."""
    if format not in ("parquet", "arrow"):
        raise AssayError(f"tables are written as parquet or arrow, not as {format}")
    try:
        from pyarrow import feather, parquet

        if format == "parquet":
            return lambda table, path: parquet.write_table(table.to_arrow(), path)
        return lambda table, path: feather.write_feather(table.to_arrow(), path)
    except ImportError:
        pass
    try:
        import polars  # noqa: F401
    except ImportError:
        raise AssayError("files of tables are written by pyarrow or polars, and neither is installed") from None
    if format == "parquet":
        return lambda table, path: table.to_polars().write_parquet(path)
    return lambda table, path: table.to_polars().write_ipc(path)


class _Handle:
    """The C run; what Arrow consumers still hold of it outlives this."""

    def __init__(self, paths: Sequence[str]):
        self.run = LIB.assay_run_new()
        if not self.run:
            raise MemoryError
        for path in paths:
            call(LIB.assay_run_read, self.run, os.fsencode(path))
        call(LIB.assay_run_analyze, self.run, None)

    def __del__(self) -> None:
        if getattr(self, "run", None):
            LIB.assay_run_free(self.run)


class Run:
    """One or more inputs: run directories, traces of any format assay reads, ranks of a job."""

    def __init__(self, *paths: Path):
        self.paths: List[str] = [os.fspath(p) for p in paths]
        self._handle: Optional[_Handle] = None

    def _pointer(self) -> Any:
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
        """Every copy with bytes, kinds of memory, and the same columns as kernels."""
        return self["memory_copies"]

    @property
    def ops(self) -> Table:
        """Framework operators with the time of their kernels."""
        return self["operator"]

    @property
    def waits(self) -> Table:
        """Every wait of the host or a stream, with the kernel it waited for."""
        return self["waits"]

    @property
    def gaps(self) -> Table:
        """Every time a device stood still, with the cause."""
        return self["gaps"]

    @property
    def steps(self) -> Table:
        """Every step on every device: compute, exposed communication and copies, idle."""
        return self["steps"]

    @property
    def scopes(self) -> Table:
        """Annotated ranges (NVTX, roctx, record_function, JAX scopes)."""
        return self["scopes"]

    @property
    def stacks(self) -> Table:
        """Samples of host threads with the line they were in."""
        return self["samples"]

    @property
    def telemetry(self) -> Table:
        """Readings over time: power, clocks, temperature, memory, counters of traces."""
        return self["counters"]

    @property
    def ranks(self) -> Table:
        """Ranks of a job with collectives: who came last, who waited."""
        return self["ranks"]

    def export(self, folder: Path, format: str = "parquet", tables: Optional[Sequence[str]] = None) -> List[str]:
        """Tables and views as files, one each, that pyarrow or polars writes: "parquet" or "arrow" (IPC); their paths.
        Which: names as in run.tables, else those that have rows."""
        write = _writer(format)
        os.makedirs(folder, exist_ok=True)
        written = []
        for name in self.tables if tables is None else tables:
            table = self[name]
            if tables is not None or len(table):
                written.append(os.path.join(os.fspath(folder), f"{name}.{format}"))
                write(table, written[-1])
        return written

    # documents

    def report(self, *options: str) -> Document:
        """What `assay report --json` says; options as on the command line."""
        return document("report", "--json", *options, *self.paths)

    @property
    def findings(self) -> List[Document]:
        """What to change, the most worth first: "text", "fix", "worth", "evidence", ..."""
        return list(self.report().get("findings", []))

    def diff(self, other: Union["Run", Path], *options: str) -> Document:
        """From this run to the other (or a path); of a job, open the folder that holds its ranks."""
        other = other if isinstance(other, Run) else open(other)
        if len(self.paths) != 1 or len(other.paths) != 1:
            raise AssayError("diff compares two runs of one path each: open the folder that holds the ranks")
        return document("diff", "--json", *options, *self.paths, *other.paths, good=(0, 1))

    def path(self, what_if: Union[str, Sequence[str], None] = None, *options: str) -> Document:
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
    if not paths:
        raise AssayError("open() needs a run directory or a trace")
    for path in paths:
        os.stat(path)
    return Run(*paths)
