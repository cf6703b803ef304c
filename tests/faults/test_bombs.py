#!/usr/bin/env python3
"""Small files that ask for much: none may cost more than SECONDS or BYTES in any command.

usage: test_bombs.py [--all] [WORD...]: a few commands each, or all of them; bombs with a word in their names."""
import gzip
import os
import resource
import subprocess
import sys
import tempfile
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import tap

SECONDS, BYTES, FILE_MAX = 5.0, 500 << 20, 1 << 20
COMMANDS = {
    "info": ["info", "IN"],
    "report": ["report", "IN"],
    "page": ["report", "IN", "--html", "OUT.html"],
    "json": ["report", "IN", "--json"],
    "waits": ["waits", "IN"],
    "scopes": ["scopes", "IN"],
    "path": ["path", "IN"],
    "diff": ["diff", "IN", "IN"],
    "hta": ["report", "IN", "--like", "hta"],
    "chrome": ["convert", "IN", "OUT.json.gz"],
    "xplane": ["convert", "IN", "OUT.xplane.pb"],
    "perfetto": ["convert", "IN", "OUT.pftrace"],
    "csv": ["convert", "IN", "OUT/"],
}


def event(i, tid=7, name="k", args='"device":0,"stream":7'):
    return ('{"ph":"X","cat":"kernel","name":"%s","pid":0,"tid":%d,"ts":%d,"dur":3,"args":{%s,"correlation":%d}}'
            % (name, tid, 10 * i, args, i)).encode()


def listed(events):
    return b'{"traceEvents":[' + b",\n".join(events) + b"]}"


def packed(head, piece, times, tail):
    """Members in a row are one text, so that a large one is made at once."""
    return gzip.compress(head) + gzip.compress(piece, 9) * times + gzip.compress(tail)


def varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def field(number, data):
    """A message or a text, or a number when data is one."""
    if isinstance(data, int):
        return varint(number << 3) + varint(data)
    return varint(number << 3 | 2) + varint(len(data)) + data


def perfetto(*fields, sequence=1, ts=0, flags=0):
    return field(1, field(10, sequence) + field(13, flags) + field(8, ts) + b"".join(fields))


def slice_of(ts, name, extra=b"", sequence=1, track=1):
    """A whole kernel in two packets."""
    begin = field(9, 1) + field(11, track) + field(22, b"kernel") + field(23, name) + extra
    return (perfetto(field(11, begin), ts=ts, sequence=sequence)
            + perfetto(field(11, field(9, 2) + field(11, track)), ts=ts + 1, sequence=sequence))


def asked_often():
    """One interned text, in the arguments of every event."""
    interned = field(12, field(3, field(1, 1) + field(2, b"key")) + field(29, field(1, 1) + field(2, b"t" * 300000)))
    note = field(4, field(1, 1) + field(17, 1))
    return perfetto(interned, flags=1) + b"".join(
        slice_of(i, b"k%d" % i, note + field(4, field(10, b"n") + field(3, i))) for i in range(8000))


def nested(depth):
    value = field(10, b"n") + field(3, 1)
    for _ in range(depth):
        value = field(10, b"n") + field(11, value)
    return field(4, value)


BOMBS = {
    "a name of 800 MB.json.gz": lambda: packed(b'{"traceEvents":[{"ph":"X","name":"', b"a" * (1 << 20), 800, b'","ts":1,"dur":1}]}'),
    "a header of 800 MB.json.gz": lambda: packed(b'{"x":"', b"a" * (1 << 20), 800, b'","traceEvents":[]}'),
    "blanks of 800 MB.json.gz": lambda: packed(b'{"traceEvents":[', b" " * (1 << 20), 800, b"]}"),
    "many equal events.json.gz": lambda: packed(b'{"traceEvents":[' + event(1), (b"," + event(2)) * 10000, 240, b"]}"),
    "names of 1 MB.json": lambda: listed([event(1, name="n" * 900000)]),
    "brackets.json": lambda: b'{"traceEvents":' + b"[" * 1000000,
    "braces in arguments.json": lambda: listed([event(1, args='"a":' + '{"a":' * 150000 + "1" + "}" * 150000)]),
    "many documents.json": lambda: listed([event(1)]) + b"[]" * 450000,
    "many threads.json": lambda: listed([event(i, tid=i, args='"device":0,"stream":%d' % i) for i in range(8000)]),
    "many devices.json": lambda: listed([event(i, args='"device":%d,"stream":7' % i) for i in range(8000)]),
    "many processes.json": lambda: listed([('{"ph":"X","cat":"cpu_op","name":"f","pid":%d,"tid":1,"ts":%d,"dur":3}' % (i, i)).encode() for i in range(13000)]),
    "begins without ends.json": lambda: listed([('{"ph":"B","name":"f","pid":1,"tid":1,"ts":%d}' % i).encode() for i in range(20000)]),
    "deep ranges.json": lambda: listed([('{"ph":"X","cat":"user_annotation","name":"r%d","pid":1,"tid":1,"ts":%d,"dur":%d}' % (i, i, 99999 - 2 * i)).encode() for i in range(10000)]),
    "a span of 292 years.json": lambda: listed([event(0), event(900000000000000)]),
    "lengths that lie.xplane.pb": lambda: b"\x0a" + varint(1 << 40) + b"\x12\x02ab" * 100000,
    "many planes.xplane.pb": lambda: b"".join(field(1, field(2, b"/device:GPU:%d" % i) + field(3, b"\x08\x01")) for i in range(20000)),
    "packets packed to a thousandth.pftrace": lambda: perfetto() + field(1, field(50, zlib.compress(bytes(600 << 20), 9))) + slice_of(1, b"k"),
    "packed events.pftrace": lambda: b"".join(field(1, field(50, zlib.compress(slice_of(5, b"k") * 60000, 9))) for _ in range(60)),
    "a text asked for often.pftrace": asked_often,
    "many processes.pftrace": lambda: b"".join(perfetto(field(60, field(1, i) + field(4, field(1, i) + field(2, i)))) + slice_of(i, b"k", track=i) for i in range(1, 8000)),
    "many sequences with clocks.pftrace": lambda: b"".join(perfetto(field(6, field(1, field(1, 64) + field(2, i)) + field(1, field(1, 70) + field(2, i))), sequence=i) + perfetto(field(58, 64), sequence=i) for i in range(1, 14000)),
    "begins without ends.pftrace": lambda: b"".join(perfetto(field(11, field(9, 1) + field(11, 1) + field(23, b"f")), ts=i) for i in range(30000)),
    "nested arguments.pftrace": lambda: perfetto(flags=1) + slice_of(1, b"k", nested(10000)),
    "a table of commas.csv": lambda: b'"Kind","Agent_Id","Queue_Id","Kernel_Name","Start_Timestamp","End_Timestamp"\n' + b"," * 900000,
}


def limited():
    resource.setrlimit(resource.RLIMIT_CPU, (10, 10))


def cost(args, cwd):
    child = subprocess.Popen(args, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, preexec_fn=limited,
                             env=dict(os.environ, ASSAY_THREADS="2"))
    err = child.stderr.read()
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = status
    return used.ru_utime + used.ru_stime, used.ru_maxrss << 10, os.waitstatus_to_exitcode(status), err


def main():
    program = os.path.abspath(tap.ASSAY)
    only = [a for a in sys.argv[1:] if a != "--all"]
    commands = COMMANDS if "--all" in sys.argv else {c: COMMANDS[c] for c in ("page", "xplane")}
    for name, make in BOMBS.items():
        if only and not any(word in name for word in only):
            continue
        data = make()
        assert len(data) <= FILE_MAX, (name, len(data))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "in." + name.split(".", 1)[1])
            with open(path, "wb") as f:
                f.write(data)
            worst = []
            for command, words in commands.items():
                args = [program] + [path if w == "IN" else w for w in words]
                seconds, memory, status, err = cost(args, folder)
                if seconds > SECONDS or memory > BYTES or status not in (0, 1, 2):
                    worst.append("%s: %.1f s, %d MB, status %d %s" % (command, seconds, memory >> 20, status, err[-200:]))
            tap.ok(name, not worst, "\n".join(worst))
    tap.done()


if __name__ == "__main__":
    main()
