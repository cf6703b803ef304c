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

INPUTS = [tap.ROOT / "demo/train.json.gz", HERE / "jax.xplane.pb.gz"]
CORPUS = ["tracelens/mi300/jax_conv.xplane.pb", "tracelens/mi300/resnet_act_checkpoint.json.gz",
          "hta/critical_path/cuda_event_sync_multi_stream.json.gz", "hta/nccl_data.json.gz",
          "tracelens/vllm_decode_graph.json.gz"]


def build(folder):
    """The converter of this folder, linked with the library as built."""
    lib = pathlib.Path(tap.ASSAY).resolve().parent / "libassay.a"
    out = folder / "write"
    cc = ["gcc", "-std=c11", "-D_DEFAULT_SOURCE", "-Iinclude", "-Isrc", str(HERE / "write.c"), str(lib),
          "-lisal", "-lzstd", "-lsqlite3", "-lcrypto", "-lm", "-pthread", "-o", str(out)]
    p = subprocess.run(cc, cwd=tap.ROOT, capture_output=True, text=True)
    return out if p.returncode == 0 else None


def varint(b, i):
    r = s = 0
    while True:
        c = b[i]
        i += 1
        r |= (c & 127) << s
        s += 7
        if c < 128:
            return r, i


def fields(b):
    i = 0
    while i < len(b):
        tag, i = varint(b, i)
        if tag & 7 == 0:
            v, i = varint(b, i)
        elif tag & 7 == 1:
            v, i = b[i:i + 8], i + 8
        else:
            n, i = varint(b, i)
            v, i = b[i:i + n], i + n
        yield tag >> 3, v


def signed(v):
    return v - (1 << 64) if v >> 63 else v


def first(b, number, default):
    return next((v for f, v in fields(b) if f == number), default)


def rules(data):
    """Breaches of the format's rules, as text."""
    bad = []
    tree, used = {}, set()
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
        if not (name.startswith("/device:GPU:") or name == "/host:CPU"):
            continue
        for what, table in (("event", events), ("stat", stats)):
            if len(set(table.values())) != len(table):
                bad.append(f"{name}: two {what} metadata with one name")
            if 0 in table:
                bad.append(f"{name}: {what} metadata 0")
        if "group_id" in stats.values():
            bad.append(f"{name}: group ids in raw mode")
        ids = [signed(first(line, 1, 0)) for line in lines]
        if len({i & 0xffffffff for i in ids}) != len(ids):
            bad.append(f"{name}: line ids are not unique")
        for line, line_id in zip(lines, ids):
            low = (line_id & 0xffffffff) - (1 << 32)
            if -559038737 <= low <= -559038730 or -559038447 <= low <= -559038348:
                bad.append(f"{name}: reserved line id {line_id}")
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
                    if stat == "scope_range_id":
                        used.add(signed(slot[0][1]))
                        if slot[0][0] != 4 or not slot[0][1]:
                            bad.append(f"{name}: scope_range_id is not signed, or 0")
                    if slot and slot[0][0] == 7 and signed(slot[0][1]) not in stats:
                        bad.append(f"{name}: {stat} refers to nothing")
    for child in tree:
        seen, at = set(), child
        while at in tree and at not in seen:
            seen.add(at)
            at = tree[at]
        if at in seen:
            bad.append(f"scope {child} is in a circle")
    return bad


def check(write, source, folder):
    name = source.name
    out = folder / (name + ".xplane.pb")
    p = subprocess.run([write, source, out], cwd=tap.ROOT, capture_output=True, text=True)
    tap.ok(f"{name} is written as XPlane", p.returncode == 0, p.stderr)
    if p.returncode:
        return
    if shutil.which("protoc"):
        with out.open("rb") as f:
            d = subprocess.run(["protoc", f"-I{HERE}", "--decode=tensorflow.profiler.XSpace", "xplane.proto"],
                               stdin=f, capture_output=True, text=True)
        unknown = [line for line in d.stdout.splitlines() if line.strip()[:1].isdigit()]
        tap.ok(f"{name} decodes with protoc", d.returncode == 0 and not unknown, d.stderr or unknown[:3])
    else:
        tap.skip(f"{name} decodes with protoc", "no protoc")
    bad = rules(out.read_bytes())
    tap.ok(f"{name} keeps the rules of the format", not bad, "\n".join(bad[:8]))
    keys = ("counts", "devices")
    texts = [tap.run("report", "--json", f) for f in (source, out)]
    a, b = (json.loads(t[1]) if t[0] == 0 else {} for t in texts)
    same = all(strip(a.get(k)) == strip(b.get(k)) for k in keys) and bool(a)
    tap.ok(f"{name} has the same partition read back", same, f"{a.get('devices')}\n{b.get('devices')}")
    scopes = [tap.run("scopes", "--json", f)[1] for f in (source, out)]
    a, b = (nodes(s) for s in scopes)
    tap.ok(f"{name} has the same scopes read back", a == b, f"{a[:2]}\n{b[:2]}")


def strip(value):
    """Without what depends on the file's own clock and framing."""
    if isinstance(value, dict):
        return {k: strip(v) for k, v in value.items() if k not in ("start_ns", "rank", "events", "source", "path")}
    return [strip(v) for v in value] if isinstance(value, list) else value


def nodes(text):
    return [{k: v for k, v in n.items() if k != "id"} for n in json.loads(text)["scopes"]] if text else None


def main():
    with tempfile.TemporaryDirectory() as tmp:
        folder = pathlib.Path(tmp)
        write = build(folder)
        tap.ok("the converter builds", write is not None)
        if not write:
            return
        for source in INPUTS:
            check(write, source, folder)
        for name in CORPUS:
            if (tap.CORPUS / name).exists():
                check(write, tap.CORPUS / name, folder)
            else:
                tap.skip(f"{name} as XPlane", f"no corpus at {tap.CORPUS}")
        logdir = folder / "log/plugins/profile/2026_01_01"
        logdir.mkdir(parents=True)
        shutil.copy(HERE / "jax.xplane.pb.gz", logdir / "host.xplane.pb")
        code, out, err = tap.run("report", "--json", folder / "log")
        tap.ok("a log directory is read", code == 0 and json.loads(out)["counts"]["kernels"] == 240, err)


main()
tap.done()
