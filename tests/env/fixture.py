"""Fake roots for `assay env --root`: files, links, and small real ELF files."""
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from tap import PATIENCE, until  # noqa: E402,F401

ASSAY = os.environ.get("ASSAY", "build/release/assay")
VARS = 31
PY = "usr/lib/python3.11"
SITE = "opt/venv/lib/python3.11/site-packages"


def elf(soname="", needed=(), rpath="", runpath="", symbols=(), build_id=b"", payload=b""):
    """A shared object with a dynamic section and no section headers."""
    strings = b"\0"

    def text(s):
        nonlocal strings
        at = len(strings)
        strings += s.encode() + b"\0"
        return at

    tags = [(1, text(n)) for n in needed]
    if soname:
        tags.append((14, text(soname)))
    if rpath:
        tags.append((15, text(rpath)))
    if runpath:
        tags.append((29, text(runpath)))
    syms = struct.pack("<IBBHQQ", 0, 0, 0, 0, 0, 0)
    for s in symbols:
        syms += struct.pack("<IBBHQQ", text(s), 0x12, 0, 1, 0x1000, 1)
    note = struct.pack("<III", 4, len(build_id), 3) + b"GNU\0" + build_id + b"\0" * (-len(build_id) % 4)
    dyn_n = len(tags) + 5
    dyn_at = 64 + 56 * 3
    sym_at = dyn_at + 16 * dyn_n
    hash_at = sym_at + len(syms)
    note_at = hash_at + 8
    str_at = note_at + len(note)
    base = 0x10000
    tags += [(5, base + str_at), (10, len(strings)), (6, base + sym_at), (4, base + hash_at), (0, 0)]
    end = str_at + len(strings) + len(payload)
    head = b"\x7fELF\2\1\1" + b"\0" * 9
    head += struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, 3, 64, 0, 0)
    ph = struct.pack("<IIQQQQQQ", 1, 4, 0, base, base, end, end, 4096)
    ph += struct.pack("<IIQQQQQQ", 2, 4, dyn_at, base + dyn_at, base + dyn_at, 16 * dyn_n, 16 * dyn_n, 8)
    ph += struct.pack("<IIQQQQQQ", 4, 4, note_at, base + note_at, base + note_at, len(note), len(note), 4)
    dyn = b"".join(struct.pack("<QQ", t, v) for t, v in tags)
    return head + ph + dyn + syms + struct.pack("<II", 0, len(syms) // 24) + note + strings + payload


class Root:
    def __init__(self):
        self.top = tempfile.mkdtemp(prefix="assay-env-")

    def path(self, rel):
        return os.path.join(self.top, rel.lstrip("/"))

    def file(self, rel, data=""):
        p = self.path(rel)
        os.makedirs(os.path.dirname(p), exist_ok=True)
        with open(p, "wb") as f:
            f.write(data if isinstance(data, bytes) else data.encode())
        return self

    def dir(self, rel):
        os.makedirs(self.path(rel), exist_ok=True)
        return self

    def link(self, rel, target):
        p = self.path(rel)
        os.makedirs(os.path.dirname(p), exist_ok=True)
        os.symlink(target, p)
        return self

    def remove(self, rel):
        p = self.path(rel)
        shutil.rmtree(p) if os.path.isdir(p) and not os.path.islink(p) else os.remove(p)
        return self

    def drop(self):
        subprocess.run(["chmod", "-R", "u+rwx", self.top], check=False)
        shutil.rmtree(self.top, ignore_errors=True)

    # ROCm -----------------------------------------------------------------
    def rocm(self, top="/opt/rocm", version="6.4.1-83", dev=True, release="60401", headers=True, db=True):
        if version:
            self.file(f"{top}/.info/version", version + "\n")
        if dev:
            self.file(f"{top}/.info/version-dev", version + "-dev\n")
        for name, soname in (("hipblaslt", "0"), ("rocblas", "4"), ("MIOpen", "1"), ("rccl", "1"),
                             ("amdhip64", "6"), ("hsa-runtime64", "1")):
            self.lib(top + "/lib", f"lib{name}", soname, f"{soname}.4.{release}", payload=(name + release).encode())
        if headers:
            self.math_headers(top)
        if db:
            for lib in ("hipblaslt", "rocblas"):
                self.file(f"{top}/lib/{lib}/library/TensileLibrary_gfx942.dat", lib)
                self.file(f"{top}/lib/{lib}/library/Kernels.so-000-gfx942.hsaco", lib)
                self.file(f"{top}/lib/{lib}/library/TensileLibrary_gfx942.co", lib)
            self.file(f"{top}/share/miopen/db/gfx942.fdb.txt", "x")
            self.file(f"{top}/share/miopen/db/gfx942.kdb", "x")
        self.file(f"{top}/share/hip/version", "HIP_VERSION_MAJOR=6\nHIP_VERSION_MINOR=4\n"
                  "HIP_VERSION_PATCH=43483\nHIP_VERSION_GITHASH=a187df25c\n")
        return self

    def lib(self, folder, stem, soname, full, **more):
        """libX.so -> libX.so.N -> libX.so.N.M.R"""
        self.file(f"{folder}/{stem}.so.{full}", elf(soname=f"{stem}.so.{soname}", **more))
        if soname != full:
            self.link(f"{folder}/{stem}.so.{soname}", f"{stem}.so.{full}")
        self.link(f"{folder}/{stem}.so", f"{stem}.so.{soname}")
        return self

    def math_headers(self, top="/opt/rocm"):
        def header(prefix, major, minor, patch, tweak):
            return (f"#ifndef G\n#define {prefix}_MAJOR {major}\n#define {prefix}_MINOR {minor}\n"
                    f"#define {prefix}_PATCH {patch}\n#define {prefix}_TWEAK {tweak}\n#endif\n")
        self.file(f"{top}/include/hipblaslt/hipblaslt-version.h", header("HIPBLASLT_VERSION", 0, 12, 1, "d97cc0b"))
        self.file(f"{top}/include/rocblas/internal/rocblas-version.h", header("ROCBLAS_VERSION", 4, 4, 1, "d97cc0b"))
        self.file(f"{top}/include/miopen/version.h", header("MIOPEN_VERSION", 3, 4, 0, "d97cc0b"))
        self.file(f"{top}/include/rccl/rccl.h", "#define NCCL_VERSION_CODE 22203\n")
        self.file(f"{top}/include/ck/version.h", "#define CK_VERSION_MAJOR 1\n#define CK_VERSION_MINOR 1\n"
                  "#define CK_VERSION_PATCH 0\n#define CK_COMMIT_ID d97cc0b2aa\n")
        self.file(f"{top}/include/ck_tile/core/config.hpp", "")
        return self

    def kfd(self, archs=(0, 90402), srcversion="ABC", version="6.12.12"):
        self.file("/sys/module/amdgpu/srcversion", srcversion + "\n")
        if version:
            self.file("/sys/module/amdgpu/version", version + "\n")
        for i, v in enumerate(archs):
            self.file(f"/sys/class/kfd/kfd/topology/nodes/{i}/properties",
                      f"cpu_cores_count 0\nsimd_count 1216\nsimd_per_cu 4\ngfx_target_version {v}\n"
                      f"device_id {29857 if v else 0}\nlocation_id {256 * (i + 1)}\ndomain 0\n"
                      f"drm_render_minor {127 + i}\nfw_version 177\nsdma_fw_version 24\nnum_xcc 8\n")
        return self

    # Python ---------------------------------------------------------------
    def venv(self, prefix="/opt/venv", system="false", uv=False):
        self.file(f"{prefix}/pyvenv.cfg", f"home = /usr/bin\ninclude-system-site-packages = {system}\n"
                  + ("uv = 0.5.1\n" if uv else "") + "version = 3.11.9\n")
        self.file(f"{prefix}/bin/python3", "")
        self.dir(f"{prefix}/lib/python3.11/site-packages")
        return self

    def torch(self, site=SITE, version="2.8.0+rocm6.4", hip="6.4.43483-a187df25c", cuda=None, git="a" * 40,
              flags=" -fvisibility-inlines-hidden -DUSE_FBGEMM -DUSE_ROCM_CK_SDPA -O2", macros=True, lib=True):
        t = f"/{site}/torch"
        py = lambda v: "None" if v is None else f"'{v}'"
        self.file(f"{t}/__init__.py", "")
        self.file(f"{t}/version.py", f"from typing import Optional\n\n__all__ = ['__version__', 'debug']\n"
                  f"__version__ = '{version}'\ndebug = False\ncuda: Optional[str] = {py(cuda)}\n"
                  f"git_version = '{git}'\nhip: Optional[str] = {py(hip)}\n")
        if macros:
            self.file(f"{t}/include/caffe2/core/macros.h", "#pragma once\n#define CAFFE2_BUILD_STRINGS { \\\n"
                      f'  {{"TORCH_VERSION", "{version}"}}, \\\n  {{"CXX_FLAGS", "{flags}"}}, \\\n'
                      '  {"USE_ROCM", "ON"}, \\\n  {"CUDA_VERSION", ""}, \\\n}\n')
        self.dist("torch", version.split("+")[0], site)
        if lib and hip:
            self.file(f"{t}/lib/libtorch_hip.so", elf(soname="libtorch_hip.so", symbols=(
                "_ZN2ck13tensor_layoutEv", "_ZN2ck4blahEv", "_ZN7ck_tile4fmhaEv", "_ZN8Callback3runEv")))
            self.file(f"{t}/lib/libaotriton_v2.so.0.10.0", elf(soname="libaotriton_v2.so.0.10.0"))
            self.dir(f"{t}/lib/aotriton.images")
        return self

    def dist(self, name, version, site=SITE, extra=None):
        info = f"/{site}/{name.replace('-', '_')}-{version}.dist-info"
        self.file(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        for k, v in (extra or {}).items():
            self.file(f"{info}/{k}", v)
        return self

    def healthy(self):
        return self.rocm().kfd().venv().torch().dist("triton", "3.4.0")

    # Running --------------------------------------------------------------
    def run(self, *args, env=None):
        e = {"PATH": "/usr/bin:/bin", "VIRTUAL_ENV": "/opt/venv"}
        e.update(env or {})
        e = {k: v for k, v in e.items() if v is not None}
        given = [w for k, v in e.items() for w in ("--env", f"{k}={v}")]
        return subprocess.run([ASSAY, "env", "--root", self.top, *given, *args], env=e, capture_output=True,
                              timeout=PATIENCE)

    def probe(self, *args, env=None):
        r = self.run("-o", "-", *args, env=env)
        assert r.returncode == 0, (r.returncode, r.stderr.decode(errors="replace")[-2000:])
        return json.loads(r.stdout.decode())


def reasons(d, prefix=""):
    return [r for r in d["partial_reasons"] if r.startswith(prefix)]


def notes(d, prefix="", level=None):
    return [r["text"] for r in d["assay"]["reasons"]
            if r["text"].startswith(prefix) and (level is None or r["level"] == level)]


def findings(d, code=None):
    return [f["text"] for f in d["assay"]["findings"] if code is None or f["code"] == code]
