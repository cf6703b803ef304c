#!/usr/bin/env python3
"""Rules that lead from an address to its function's caller, as the recorder reads them, beside what readelf says of the
same tables. usage: test_native.py [BUILD]"""
import ctypes
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
WORK = tempfile.mkdtemp(prefix="assay-native-")
LOST, SP, BP, AT_BP, LAST = range(5)


def library():
    """What is undefined in it ends the process that it is in."""
    out = WORK + "/rules.so"
    subprocess.run([os.environ.get("CC", "gcc"), "-std=c11", "-D_DEFAULT_SOURCE", "-O1", "-fPIC", "-shared", "-fsanitize=undefined", "-fsanitize-undefined-trap-on-error",
                    "-Isrc", "tests/record/rules.c", "src/record/native_rules.c", "-o", out], cwd=ROOT, check=True)
    return ctypes.CDLL(out)


def survives_damage(lib):
    """Tables of the C library with ever more bytes changed: rules become fewer, and nothing else happens."""
    pid = os.fork()
    if pid == 0:
        lib.rules_open(b"/libc.so")
        damage = ctypes.c_uint64, ctypes.c_int, ctypes.c_int
        lib.rules_damaged.argtypes = damage
        whole = lib.rules_damaged(1, 0, 1000)
        hurt = [lib.rules_damaged(seed, 1 << seed % 16, 200) for seed in range(400)]
        os._exit(not (whole > 900 and min(hurt) < 200))
    return os.waitpid(pid, 0)[1] == 0


def readelf_rows(path):
    """[(function, address, {register: rule})] of every row of every table that readelf prints."""
    text = subprocess.run(["readelf", "--wide", "--debug-dump=frames-interp", path], capture_output=True, text=True,
                          env=dict(os.environ, LC_ALL="C")).stdout
    function = columns = None
    rows = []
    for line in text.splitlines():
        head = re.search(r"FDE .*pc=([0-9a-f]+)\.\.([0-9a-f]+)", line)
        if head:
            function, columns = (int(head.group(1), 16), int(head.group(2), 16)), None
        elif " CIE" in line or not line.strip():
            columns = None
        elif line.lstrip().startswith("LOC"):
            columns = line.split()[1:]
        elif columns and function and re.match(r"[0-9a-f]{16} ", line):
            parts = line.split()
            if len(parts) == len(columns) + 1:  # some rules are told in two words
                rows.append((function, int(parts[0], 16), dict(zip(columns, parts[1:]))))
    return rows


def wanted(rule):
    """The same in the recorder's words; None: nothing to compare (expressions are told by readelf as `exp`)."""
    frame = re.fullmatch(r"(rsp|rbp)\+(\d+)", rule["CFA"])
    ret, bp = rule.get("ra", "u"), rule.get("rbp", "u")
    if ret == "u":
        return LAST, None
    if not frame or not re.fullmatch(r"c[-+]\d+", ret) or not re.fullmatch(r"u|s|c[-+]\d+", bp):
        return None
    return (SP if frame.group(1) == "rsp" else BP), (int(frame.group(2)), int(ret[1:]), int(bp[1:]) if bp[0] == "c" else 0)


def compare(lib, path):
    """How many rows agree, how many were lost, and the first that differs."""
    rows = [r for r in readelf_rows(path) if r[0][0] <= r[1] < r[0][1]]
    at = (ctypes.c_uint64 * len(rows))(*(address for _, address, _ in rows))
    out = (ctypes.c_int64 * (6 * len(rows)))()
    lib.rules_at(at, len(rows), out)
    same, other, bad = 0, 0, []
    for i, (function, address, rule) in enumerate(rows):
        got, want = out[6 * i:6 * i + 6], wanted(rule)
        if want is None:
            other += 1
        elif got[0] == function[0] and got[1] == want[0] and (want[1] is None or tuple(got[2:5]) == want[1]):
            same += 1
        else:
            bad.append((hex(address), rule, got))
    return same, other, bad


def main():
    if not shutil.which("readelf"):
        print("skip - rules are those that readelf reads: there is no readelf")
        return 0
    lib, failed = library(), 0
    ctypes.CDLL("libstdc++.so.6")
    maps = open("/proc/self/maps").read()
    for name in ("libc.so", "libstdc++.so", "libpython3"):
        path = next((line.split()[-1] for line in maps.splitlines() if "/" + name in line), None)
        if not path or not lib.rules_open(b"/" + name.encode()):
            print(f"skip - rules of {name} are those that readelf reads: it is not loaded, or has no table")
            continue
        same, other, bad = compare(lib, path)
        ok = same > 1000 and not bad
        failed += not ok
        print(f"{'ok' if ok else 'not ok'} - rules of {name} are those that readelf reads ({same} rows; {other} by expressions)")
        for row in bad[:5]:
            print("#", len(bad), row)
    ok = survives_damage(lib)
    failed += not ok
    print(f"{'ok' if ok else 'not ok'} - damaged tables have fewer rules and do no harm")
    shutil.rmtree(WORK, ignore_errors=True)
    return 1 if failed else 0


sys.exit(main())
