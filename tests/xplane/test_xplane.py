#!/usr/bin/env python3
"""Files that assay writes, seen by protoc and by the rules of docs/formats/xplane.md."""
import json
import pathlib
import subprocess
import shutil
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import tap
from protobuf import fields, first, signed

INPUTS = [tap.ROOT / "demo/train.json.gz", tap.ROOT / "demo/run", HERE / "jax.xplane.pb.gz"]
MODES = ["xplane", "xplane-grouped"]
INPUTS_OF_WAITS = [tap.ROOT / "demo/run", tap.ROOT / "demo/ddp", tap.ROOT / "tests/cases/info/capture-amd/in.asy"]
NUMBERED = ("correlation", "producer_correlation", "record_correlation", "other_correlation")  # those of further inputs are raised
CORPUS = ["tracelens/mi300/jax_conv.xplane.pb", "tracelens/mi300/resnet_act_checkpoint.json.gz",
          "hta/critical_path/cuda_event_sync_multi_stream.json.gz", "hta/nccl_data.json.gz",
          "tracelens/vllm_decode_graph.json.gz", "tracelens/h100/qwen1.5-0.5b.json.gz"]


def partly_overlap(spans):
    """Spans of a line, in order, of which one begins inside another and ends outside."""
    open_ends = []
    for start, end in spans:
        while open_ends and open_ends[-1] <= start:
            open_ends.pop()
        if open_ends and end > open_ends[-1]:
            return True
        open_ends.append(end)
    return False


def rules(data, grouped):
    """Breaches of the format's rules, as text."""
    bad = []
    tree, used, shown = {}, set(), set()
    for number, plane in fields(data):
        if number != 1:
            continue
        name = first(plane, 2, b"").decode()
        events, stats, lines = {}, {}, []
        for f, v in fields(plane):
            if f in (4, 5):
                key, value = signed(first(v, 1, 0)), first(v, 2, b"")
                target = events if f == 4 else stats
                if key in target:
                    bad.append(f"{name}: metadata id {key} twice")
                if signed(first(value, 1, 0)) != key:
                    bad.append(f"{name}: metadata {key} says it is another")
                target[key] = first(value, 2, b"").decode("utf-8", "replace")
            elif f == 3:
                lines.append(v)
            elif f == 6 and name == "/host:__ScopeRangeCallStack__":
                tree[signed(first(v, 1, 0))] = signed(first(v, 4, 0))
        if name.startswith(("/device:", "/host:")) and ("group_id" in stats.values()) != grouped:
            bad.append(f"{name}: " + ("no group ids" if grouped else "group ids in raw mode"))
        beside = name.startswith("/device:CUSTOM:assay ")
        if not (name.startswith("/device:GPU:") or name == "/host:CPU" or beside):
            continue
        place = (name.split(":")[1], signed(first(plane, 1, 0)))
        if place in shown:
            bad.append(f"{name}: xprof shows it with another plane of number {place[1]}")
        shown.add(place)
        for what, table in (("event", events), ("stat", stats)):
            if len(set(table.values())) != len(table):
                bad.append(f"{name}: two {what} metadata with one name")
            if 0 in table:
                bad.append(f"{name}: {what} metadata 0")
        ids = [signed(first(line, 1, 0)) for line in lines]
        if len({i & 0xffffffff for i in ids}) != len(ids):
            bad.append(f"{name}: line ids are not unique")
        for line, line_id in zip(lines, ids):
            low = (line_id & 0xffffffff) - (1 << 32)
            reserved = -559038737 <= low <= -559038730 or -559038447 <= low <= -559038348
            title = first(line, 2, b"").decode()
            derived = title in ("Steps", "Launch Stats") or " - from #" in title
            if reserved != derived or (derived and not grouped):
                bad.append(f"{name}: line id {line_id} of {title}")
            spans = []
            start = signed(first(line, 3, 0))
            if not 0 <= start < 2**63 // 1000:
                bad.append(f"{name}: line time {start} is not relative")
            last = None
            for f, ev in fields(line):
                if f != 4:
                    continue
                if signed(first(ev, 1, 0)) not in events:
                    bad.append(f"{name}: event without metadata")
                key = (signed(first(ev, 2, 0)), -signed(first(ev, 3, 0)))
                if last is not None and key < last:
                    bad.append(f"{name}: events out of order on line {line_id}")
                last = key
                spans.append((key[0], key[0] - key[1]))
                seen = set()
                for g, st in fields(ev):
                    if g != 4:
                        continue
                    slot = [(k, v) for k, v in fields(st) if k != 1]
                    stat = stats.get(signed(first(st, 1, 0)))
                    if stat is None or stat in seen:
                        bad.append(f"{name}: stat {stat} unknown or repeated")
                    seen.add(stat)
                    if stat in ("correlation_id", "cuda_graph_id", "cuda_graph_exec_id") and slot[0][0] != 3:
                        bad.append(f"{name}: {stat} is not unsigned")
                    if stat in ("group_id", "forward_scope_range_id") and slot[0][0] != 4:
                        bad.append(f"{name}: {stat} is not signed")
                    if stat == "scope_range_id":
                        used.add(signed(slot[0][1]))
                        if slot[0][0] != 4 or not slot[0][1]:
                            bad.append(f"{name}: scope_range_id is not signed, or 0")
                    if slot and slot[0][0] == 7 and signed(slot[0][1]) not in stats:
                        bad.append(f"{name}: {stat} refers to nothing")
            if beside and partly_overlap(spans):
                bad.append(f"{name}: events of line {title} overlap")
    for child in tree:
        seen, at = set(), child
        while at in tree and at not in seen:
            seen.add(at)
            at = tree[at]
        if at in seen:
            bad.append(f"scope {child} is in a circle")
    return bad


def check(source, folder, mode):
    name = f"{source.name} ({mode})"
    out = folder / f"{source.name}.{mode}.pb"
    code, _, err = tap.run("convert", "--to", mode, source, out)
    tap.ok(f"{name} is written", code == 0, err)
    if code:
        return
    if shutil.which("protoc"):
        with out.open("rb") as f:
            d = subprocess.run(["protoc", f"-I{HERE}", "--decode=tensorflow.profiler.XSpace", "xplane.proto"],
                               stdin=f, capture_output=True, text=True)
        unknown = [line for line in d.stdout.splitlines() if line.strip()[:1].isdigit()]
        tap.ok(f"{name} decodes with protoc", d.returncode == 0 and not unknown, d.stderr or unknown[:3])
    else:
        tap.skip(f"{name} decodes with protoc", "no protoc")
    bad = rules(out.read_bytes(), mode == MODES[1])
    tap.ok(f"{name} keeps the rules of the format", not bad, "\n".join(bad[:8]))
    again = folder / f"{source.name}.{mode}.again.pb"
    code, _, err = tap.run("convert", "--to", mode, out, again)
    tap.ok(f"{name} read and written again has the same bytes", code == 0 and again.read_bytes() == out.read_bytes(),
           err or first_difference(out.read_bytes(), again.read_bytes()))
    keys = ("counts", "devices")
    texts = [tap.run("report", "--json", f) for f in (source, out)]
    a, b = (json.loads(t[1]) if t[0] == 0 else {} for t in texts)
    sampled = source == tap.ROOT / "demo/run"
    same = all(strip(a.get(k), sampled) == strip(b.get(k), sampled) for k in keys) and bool(a)
    tap.ok(f"{name} has the same partition read back", same, f"{a.get('devices')}\n{b.get('devices')}")
    steps = [[(s["number"], s["dur_ns"], s["origin"]) for s in r.get("steps") or []] for r in (a, b)]
    tap.ok(f"{name} has the same steps read back, guesses as guesses", steps[0] == steps[1], f"{steps[0][:3]}\n{steps[1][:3]}")
    scopes = [tap.run("scopes", "--json", f)[1] for f in (source, out)]
    a, b = (nodes(s) for s in scopes)
    tap.ok(f"{name} has the same scopes read back", a == b, f"{a[:2]}\n{b[:2]}")


def hostile():
    """A Kineto trace whose every text has bytes that are no UTF-8, and two names that differ only in these."""
    span = '{"ph":"X","cat":"%s","name":"%s","pid":%s,"tid":%s,"ts":%d,"dur":%d,"args":{%s}}'
    events = ['{"ph":"M","name":"process_name","pid":1,"args":{"name":"pBAD"}}',
              '{"ph":"M","name":"thread_name","pid":1,"tid":1,"args":{"name":"tBAD"}}',
              span % ("user_annotation", "rBAD", 1, 1, 0, 90, '"kBAD":"vBAD","list":["BAD"],"lone":"\\ud800"')]
    for i, name in enumerate(("gBAD", "gWORSE", "BADvoid f<WORSE>(int)")):
        link = f'"correlation":{i + 1},"External id":{i + 1},"sBAD":"BAD"'
        events.append(span % ("cuda_runtime", "cudaLaunchKernel", 1, 1, 10 + 20 * i, 5, link))
        events.append(span % ("kernel", name, 0, 7, 15 + 20 * i, 9, link + ',"device":0,"stream":7'))
    text = '{"deviceProperties":[{"id":0,"name":"GBAD"}],"traceEvents":[' + ",".join(events) + "]}"
    return text.encode().replace(b"BAD", b"\xff").replace(b"WORSE", b"\xed\xa0\x80")


def check_hostile(folder):
    trace = folder / "hostile.json"
    trace.write_bytes(hostile())
    for mode in MODES:
        check(trace, folder, mode)
    out = folder / "hostile.pftrace"
    code, _, err = tap.run("convert", trace, out)
    data = out.read_bytes() if code == 0 else b""
    tap.ok("text of a Perfetto file is UTF-8", b"r\xef\xbf\xbd" in data and b"r\xff" not in data and
           b"\xed\xa0\x80" not in data and b"v\xff" not in data, err)


def check_facts(folder):
    """What headers say: versions and the rank come back, and as Chrome JSON, too."""
    shown = ("cuda_version", "pytorch_version")
    for source, rank in ((tap.ROOT / "demo/run", None), (tap.ROOT / "demo/ddp/ddp_rank1.json.gz", 1)):
        at = folder / f"facts-{source.name}.xplane.pb"
        tap.run("convert", source, at)
        tap.run("convert", at, at.with_suffix(".json"))
        told = []
        for file in (source, at, at.with_suffix(".json")):
            code, out, err = tap.run("report", "--json", file)
            report = json.loads(out) if code == 0 else {}
            told.append([report.get("run_metrics", {}).get(k) for k in shown] + [d.get("rank") for d in report.get("devices", [])])
        tap.ok(f"facts of {source.name} come back", told[0] == told[1] == told[2] and told[0][-1] == rank and "unknown" not in told[0][:1], told)


def check_roctx(folder):
    """Ranges of rocprofv3's tables are roctx's, also where no table says whose the devices are."""
    table, out = folder / "7_marker_api_trace.csv", folder / "roctx.xplane.pb"
    table.write_text('"Domain","Function","Process_Id","Thread_Id","Correlation_Id","Start_Timestamp","End_Timestamp"\n'
                     '"MARKER_CORE_API","forward",7,8,1,1000,1100\n')
    for source in (table, out):
        tap.run("convert", source, folder / "again.xplane.pb")
        shutil.move(folder / "again.xplane.pb", out)
        data = out.read_bytes()
        tap.ok(f"ranges of roctx are on its lines ({source.suffix})", b"Host Threads/8/ROCTX" in data and b"NVTX" not in data, data[:200])


def check_waits(folder):
    """Handles of streams, default streams that order others, and streams that are one of several: nothing is better or less known afterwards."""
    for source in INPUTS_OF_WAITS:
        target = folder / "waits.xplane.pb"
        tap.run("convert", source, target)
        before, after = (json.loads(tap.run("waits", "--json", path)[1]) for path in (source, target))
        for told in (before, after):
            start = min((w["ts_ns"] for w in told["waits"]), default=0)
            told["waits"] = sorted(({k: v for k, v in w.items() if k not in NUMBERED} | {"ts_ns": w["ts_ns"] - start} for w in told["waits"]), key=str)
        differ = [pair for pair in zip(before["waits"], after["waits"]) if pair[0] != pair[1]]
        tap.ok(f"waits and orders of {source.name} are the same when read back", (before["waits"], before["summary"]) == (after["waits"], after["summary"]), (before["summary"], after["summary"], differ[:1]))


def first_difference(a, b):
    at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
    return f"{len(a)} and {len(b)} bytes, differ at {at}"


KNOWN_WITHOUT_SAMPLES = ("unlinked", "graph_internal", "queued", "launch_call", "launch_latency", "host_sync", "host_runtime", "host_op")


def strip(value, sampled=False):
    """Without what depends on the file's own clock and framing, or on calls' arguments that XPlane has no place for; of a
    recording with samples, which it has none for either, without the causes that only they tell."""
    if sampled and isinstance(value, dict) and "host_untraced" in value:
        told = {k: value[k] for k in KNOWN_WITHOUT_SAMPLES}
        return {**told, "rest": sum(value.values()) - sum(told.values())}
    if isinstance(value, dict):
        return {k: strip(v, sampled) for k, v in value.items() if k not in ("start_ns", "rank", "events", "source", "path", "queued_ns")}
    return [strip(v, sampled) for v in value] if isinstance(value, list) else value


def nodes(text):
    return [{k: v for k, v in n.items() if k != "id"} for n in json.loads(text)["scopes"]] if text else None


def main():
    with tempfile.TemporaryDirectory() as tmp:
        folder = pathlib.Path(tmp)
        for source in INPUTS:
            for mode in MODES:
                check(source, folder, mode)
        for name in CORPUS:
            if (tap.CORPUS / name).exists():
                for mode in MODES:
                    check(tap.CORPUS / name, folder, mode)
            else:
                tap.skip(f"{name} as XPlane", f"no corpus at {tap.CORPUS}")
        check_hostile(folder)
        check_facts(folder)
        check_roctx(folder)
        check_waits(folder)
        logdir = folder / "log/plugins/profile/2026_01_01"
        logdir.mkdir(parents=True)
        shutil.copy(HERE / "jax.xplane.pb.gz", logdir / "host.xplane.pb")
        code, out, err = tap.run("report", "--json", folder / "log")
        tap.ok("a log directory is read", code == 0 and json.loads(out)["counts"]["kernels"] == 240, err)


main()
tap.done()
