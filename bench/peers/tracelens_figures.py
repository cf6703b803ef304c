"""The gpu_timeline of TraceLens for one trace, as JSON under the names of `assay report --like tracelens`.
usage: tracelens_figures.py TRACE"""
import contextlib
import json
import logging
import sys
import time
import warnings

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)
from TraceLens import TreePerfAnalyzer


def main(path):
    started = time.monotonic()
    with contextlib.redirect_stdout(sys.stderr):
        table = TreePerfAnalyzer.from_file(path).get_df_gpu_timeline()
    figures = {f"{r.type}_ms": float(r[2]) for r in table.rename(columns={"time ms": "time_ms"}).itertuples()}
    print(json.dumps({"figures": {"gpu_timeline": figures}, "failed": {}, "seconds": time.monotonic() - started}))


main(sys.argv[1])
