#!/usr/bin/env python3
"""A wheel from an installed tree: the program as a script, the recorders where it looks for them
(../lib/assay), the Python package with the library beside it. No extension module, so one wheel serves
every Python; the same inputs give the same bytes.

usage: wheel.py VERSION ARCH GLIBC TREE OUTDIR"""
import base64
import hashlib
import os
import sys
import time
import zipfile

NAME = "assay_gpu"


def files(tree, package):
    """(path in the wheel, path here, executable)"""
    data = f"{NAME}-{version}.data"
    yield f"{data}/scripts/assay", f"{tree}/bin/assay", True
    for name in sorted(os.listdir(f"{tree}/lib/assay")):
        yield f"{data}/data/lib/assay/{name}", f"{tree}/lib/assay/{name}", True
    yield "assay/libassay.so", f"{tree}/lib/libassay.so.0", True
    for name in sorted(os.listdir(package)):
        if name.endswith((".py", ".pyi", ".typed")):
            yield f"assay/{name}", f"{package}/{name}", False


def entry(zf, name, content, executable=False):
    info = zipfile.ZipInfo(name, time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))[:6])
    # the regular-file bit matters: pip leaves a script without it unexecutable
    info.external_attr = (0o100755 if executable else 0o100644) << 16
    info.compress_type = zipfile.ZIP_DEFLATED
    info.create_system = 3
    zf.writestr(info, content)
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(content)}\n"


version, arch, glibc, tree, out = sys.argv[1:]
tag = f"py3-none-manylinux_{glibc.replace('.', '_')}_{arch}"
top = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
info = f"{NAME}-{version}.dist-info"
with open(f"{top}/README.md") as f:
    readme = f.read()
metadata = f"""Metadata-Version: 2.1
Name: assay-gpu
Version: {version}
Summary: GPU-run forensics for AMD and NVIDIA
License: MIT
Requires-Python: >=3.9
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: Python :: 3
Description-Content-Type: text/markdown

{readme}"""
wheel = f"Wheel-Version: 1.0\nGenerator: assay\nRoot-Is-Purelib: false\nTag: {tag}\n"
with zipfile.ZipFile(f"{out}/{NAME}-{version}-{tag}.whl", "w", compresslevel=9) as zf:
    record = ""
    for name, path, executable in files(tree, f"{top}/python/assay"):
        with open(path, "rb") as f:
            record += entry(zf, name, f.read(), executable)
    with open(f"{top}/LICENSE", "rb") as f:
        record += entry(zf, f"{info}/LICENSE", f.read())
    record += entry(zf, f"{info}/METADATA", metadata.encode())
    record += entry(zf, f"{info}/WHEEL", wheel.encode())
    entry(zf, f"{info}/RECORD", f"{record}{info}/RECORD,,\n".encode())
