"""Figures of Holistic Trace Analysis for one trace, as JSON under the names of `assay report --like hta`.
usage: hta_figures.py TRACE

Its sorts are not stable: rows with equal times come in any order, and sums over neighbours depend on it. They are made stable
here, so that the figures are those of its rules and not of the sort."""
import json
import logging
import math
import os
import sys
import time
import warnings

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)
import pandas

sort = pandas.DataFrame.sort_values
pandas.DataFrame.sort_values = lambda self, *a, **k: sort(self, *a, **dict(k, kind="stable"))
from hta.trace_analysis import TraceAnalysis


def number(v):
    return None if math.isnan(v) else float(v)


def idle(t, out):
    for r in t.get_idle_time_breakdown(ranks=[0], visualize=False)[0].itertuples():
        out.setdefault(f"idle_stream_{r.stream}", {})[f"{r.idle_category}_us"] = number(r.idle_time)


def queue(t, out):
    series = t.get_queue_length_time_series(ranks=[0])
    if series.get(0) is None:
        return
    for (_, stream), row in t.get_queue_length_summary(ranks=[0]).iterrows():
        of = {k: number(row[("queue_length", v)]) for k, v in (("changes", "count"), ("min", "min"), ("max", "max"), ("mean", "mean"))}
        out[f"queue_stream_{stream}"] = dict(of, time_blocked_us=0.0)
    full = t.get_time_spent_blocked_on_full_queue(series)
    for r in [] if full is None else full.itertuples():
        out[f"queue_stream_{r.stream}"]["time_blocked_us"] = number(r.duration_at_max_queue_length)


def launches(t, out):
    d = t.get_cuda_kernel_launch_stats(ranks=[0], visualize=False)[0]
    out["launch_stats"] = {
        "launches": len(d), "cpu_duration_sum_us": number(d.cpu_duration.sum()), "gpu_duration_sum_us": number(d.gpu_duration.sum()),
        "launch_delay_sum_us": number(d.launch_delay.sum()), "launch_delay_median_us": number(d.launch_delay.median()),
        "short_gpu_kernels": int(((d.gpu_duration < d.cpu_duration) & (d.cpu_duration <= 50)).sum()),
        "runtime_outliers": int((d.cpu_duration > 50).sum()), "launch_delay_outliers": int((d.launch_delay > 100).sum())}


def main(path):
    started, out, failed = time.monotonic(), {}, {}
    t = TraceAnalysis(trace_files={0: path}, trace_dir=os.path.dirname(path) or ".")

    def breakdown(t, out):
        row = t.get_temporal_breakdown(visualize=False).iloc[0]
        out["temporal_breakdown"] = {k.replace("(us)", "_us"): number(row[k]) for k in row.index if k != "rank"}

    def overlap(t, out):
        row = t.get_comm_comp_overlap(visualize=False).iloc[0]
        out["comm_comp_overlap"] = {"overlap_pctg": number(row["comp_comm_overlap_pctg"])}

    for part in (breakdown, overlap, idle, queue, launches):
        try:
            part(t, out)
        except Exception as e:  # some of its analyses stop at some traces
            failed[part.__name__] = f"{type(e).__name__} {e}".strip()
    print(json.dumps({"figures": out, "failed": failed, "seconds": time.monotonic() - started}))


main(sys.argv[1])
