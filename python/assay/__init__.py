"""GPU-run forensics: open a recording or any trace, get its tables as Arrow, its report as a dict.

    import assay
    run = assay.open("run/")
    run.kernels.to_pandas().groupby("name")["dur"].sum()
    run.sql("select step, sum(idle) from steps group by step").to_polars()
    run.findings[0]["text"]

`%load_ext assay` in a notebook shows a run's page with `%assay run/`.
"""
from typing import Any

from ._program import AssayError, program
from ._run import Run, Table, open
from ._record import flush, mark, record, start, status, stop

__all__ = ["AssayError", "Run", "Table", "flush", "mark", "open", "program", "record", "start", "status", "stop"]


def load_ipython_extension(ipython: Any) -> None:
    from ._notebook import Magics

    ipython.register_magics(Magics)
