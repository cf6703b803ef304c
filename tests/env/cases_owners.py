"""Packages of the distribution, and who installed a library or a kernel database."""
import json
import os
import shutil
import sqlite3
import struct
import subprocess

from fixture import ASSAY, PATIENCE, elf, findings
from harness import case

STATUS = "Package: {}\nStatus: {}\nVersion: {}\n\n"


def rpm_header(name, version, release, files=()):
    """Two counts, 16 bytes an entry (tag, type, offset, count), data; file names split as RPM does."""
    folders = sorted({os.path.dirname(f) + "/" for f in files})
    rows = [(1000, 6, 1, name.encode() + b"\0"), (1001, 6, 1, version.encode() + b"\0"), (1002, 6, 1, release.encode() + b"\0")]
    if files:
        rows += [(1116, 4, len(files), b"".join(struct.pack(">I", folders.index(os.path.dirname(f) + "/")) for f in files)),
                 (1117, 8, len(files), b"".join(os.path.basename(f).encode() + b"\0" for f in files)),
                 (1118, 8, len(folders), b"".join(f.encode() + b"\0" for f in folders))]
    data, entries = b"", b""
    for tag, kind, count, value in rows:
        entries += struct.pack(">IIII", tag, kind, len(data), count)
        data += value
    return struct.pack(">II", len(rows), len(data)) + entries + data


def rpm_database(r, *packages):
    r.dir("/var/lib/rpm")
    db = sqlite3.connect(r.path("/var/lib/rpm/rpmdb.sqlite"))
    db.execute("CREATE TABLE Packages (hnum INTEGER PRIMARY KEY AUTOINCREMENT, blob BLOB NOT NULL)")
    for table in ("Name", "Basenames"):
        db.execute(f"CREATE TABLE {table} (key TEXT NOT NULL, hnum INTEGER NOT NULL, idx INTEGER NOT NULL)")
    for name, header, files in packages:
        n = db.execute("INSERT INTO Packages (blob) VALUES (?)", (header,)).lastrowid
        db.execute("INSERT INTO Name VALUES (?, ?, 0)", (name, n))
        db.executemany("INSERT INTO Basenames VALUES (?, ?, ?)", [(os.path.basename(f), n, i) for i, f in enumerate(files)])
    db.commit()
    db.close()


def owner_of(d, library):
    return d["assay"]["libraries"][library]["copies"][0]["owner"]


@case("packages.rpm")
def _(r):
    files = ["/usr/lib64/librocblas.so.5.1", "/usr/share/doc/rocblas/x", "/usr/lib64/rocblas/library/T_gfx942.dat"]
    header = rpm_header("rocblas", "6.4.3", "1.fc42", files)
    rpm_database(r, ("rocblas", header, files), ("bash", rpm_header("bash", "5", "1"), []), ("rocm-runtime", rpm_header("rocm-runtime", "6.4.2", "1"), []),
                 ("rocbroken", b"\xff" * 40, ["/usr/lib64/librocblas.so.5.1"]), ("roccut", header[:-20], files))
    r.lib("/usr/lib64", "librocblas", "5", "5.1").file("/usr/lib64/rocblas/library/T_gfx942.dat", "k").kfd()
    d = r.probe()
    assert d["assay"]["system_packages"] == {"rocblas": "6.4.3-1.fc42", "rocm-runtime": "6.4.2-1"}, d["assay"]["system_packages"]
    want = {"manager": "rpm", "package": "rocblas", "version": "6.4.3-1.fc42"}
    assert owner_of(d, "rocblas") == want and d["assay"]["kernel_databases"]["rocblas"]["owner"] == want, d["assay"]["libraries"]["rocblas"]
    assert d["rocm"]["version"] == "6.4.2" and d["assay"]["rocm"]["version_source"] == "rpm" and d["rocblas"]["package_version"] == "6.4.3", d["rocm"]
    assert "assay.system_packages.*" in d["assay"]["absent"]


@case("packages.an_rpm_database_of_another_kind_is_said_not_to_be_read")
def _(r):
    d = r.file("/var/lib/rpm/Packages", "berkeley").rocm().probe()
    assert any("/var/lib/rpm/Packages" in x["text"] for x in d["assay"]["reasons"]) and "assay.system_packages.*" not in d["assay"]["absent"]


@case("packages.what_dpkg_removed_is_not_installed")
def _(r):
    lib = "/usr/lib/x86_64-linux-gnu"
    r.lib(lib, "librocblas", "5", "5.1").kfd()
    r.file("/var/lib/dpkg/status", STATUS.format("librocblas4", "deinstall ok config-files", "4.0-1")
           + STATUS.format("librocblas5", "install ok installed", "1:5.1.0+dfsg-2") + STATUS.format("rocminfo", "deinstall ok config-files", "5.0-1"))
    d = r.probe()
    assert d["rocblas"]["package_version"] == "5.1.0" and d["rocm"]["version"] is None, d["rocm"]
    assert d["assay"]["system_packages"] == {"librocblas5": "1:5.1.0+dfsg-2"}


@case("packages.a_distribution_that_mixes_rocm_releases_is_told")
def _(r):
    r.lib("/usr/lib/x86_64-linux-gnu", "libamdhip64", "5", "5.7")
    r.file("/var/lib/dpkg/status", STATUS.format("libamdhip64-5", "install ok installed", "5.7.1-6+deb13u1")
           + STATUS.format("libamdhip64-dev", "install ok installed", "9") + STATUS.format("rocminfo", "install ok installed", "6.1.2-1"))
    assert findings(r.probe(), "rocm-mixed") == ["the distribution's packages are of several ROCm releases: libamdhip64-5 5.7.1, rocminfo 6.1.2"]


@case("owners.dpkg")
def _(r):
    lib = "/usr/lib/x86_64-linux-gnu"
    r.lib(lib, "librocblas", "5", "5.1").lib(lib, "libamdhip64", "5", "5.2").lib("/usr/lib", "libhsa-runtime64", "1", "1.0").kfd()
    names = ("librocblas5", "oddly-named", "bash")
    r.file("/var/lib/dpkg/status", "".join(STATUS.format(n, "install ok installed", "5.1-2") for n in names))
    # before /usr was merged, packages listed /lib
    r.file("/var/lib/dpkg/info/librocblas5:amd64.list", f"/.\n{lib[4:]}\n{lib[4:]}/librocblas.so.5.1\n")
    r.file("/var/lib/dpkg/info/oddly-named.list", f"/.\n{lib}/libamdhip64.so.5.2\n").file("/var/lib/dpkg/info/bash.list", "/bin/bash\n")
    d = r.probe()
    assert owner_of(d, "rocblas") == {"manager": "dpkg", "package": "librocblas5", "version": "5.1-2"}, owner_of(d, "rocblas")
    assert owner_of(d, "amdhip64")["package"] == "oddly-named" and owner_of(d, "hsa-runtime64") is None


@case("owners.explain_names_the_package_that_brings_the_file_back")
def _(r):
    from cases_diff import diff
    lib = "/usr/lib/x86_64-linux-gnu"
    r.lib(lib, "librocblas", "5", "5.1").kfd().file("/var/lib/dpkg/status", STATUS.format("librocblas5", "install ok installed", "5.1-2"))
    a = r.file("/var/lib/dpkg/info/librocblas5:amd64.list", f"{lib}/librocblas.so.5.1\n").probe()
    r.file(f"{lib}/librocblas.so.5.1", elf(soname="librocblas.so.5", payload=b"another"))
    out = diff(r, a, r.probe(), args=("--explain",))[1]
    assert "to make them equal: apt-get install --reinstall librocblas5=5.1-2\n" in out, out


@case("owners.wheels_and_conda")
def _(r):
    conda = "/opt/conda"
    site = f"{conda[1:]}/lib/python3.11/site-packages"
    r.file(f"{conda}/conda-meta/python-3.11.9-h1_0.json", "{}").dir("/" + site)
    r.file(f"{conda}/conda-meta/cuda-cudart-12.4.127-h2_0.json", json.dumps({"files": ["lib/x", "lib/libcudart.so.12.4.127"], "name": "cuda-cudart"}))
    r.file(f"{conda}/lib/libcudart.so.12.4.127", elf(soname="libcudart.so.12"))
    r.file(f"/{site}/nvidia/cudnn/lib/libcudnn.so.9", elf(soname="libcudnn.so.9"))
    r.dist("nvidia-cudnn-cu12", "9.1.0.70", site, {"RECORD": "nvidia/cudnn/lib/libcudnn.so.9,sha256=x,12\n"}).dist("numpy", "2.0", site, {"RECORD": "numpy/a.py,,\n"})
    d = r.probe(env={"VIRTUAL_ENV": None, "CONDA_PREFIX": conda, "LD_LIBRARY_PATH": f"{conda}/lib"})
    assert owner_of(d, "cudart") == {"manager": "conda", "package": "cuda-cudart", "version": "12.4.127"}, owner_of(d, "cudart")
    assert owner_of(d, "cudnn") == {"manager": "pip", "package": "nvidia-cudnn-cu12", "version": "9.1.0.70"}, owner_of(d, "cudnn")
    assert d["assay"]["python"]["conda"]["cuda-cudart"] == "12.4.127 h2_0"


@case("owners.a_folder_behind_a_link_has_the_same_wheels")
def _(r):
    r.venv("/real/venv").torch("real/venv/lib/python3.11/site-packages", cuda="13.0", hip=None)
    site = "real/venv/lib/python3.11/site-packages"
    r.file(f"/{site}/torch/lib/libtorch_cuda.so", elf(needed=["libcublas.so.13", "libcufft.so.12"], rpath="$ORIGIN/../../nvidia/cu13/lib"))
    r.file(f"/{site}/torch/lib/libtorch_cuda_linalg.so", elf(needed=["libcusolver.so.12"], rpath="$ORIGIN/../../nvidia/cu13/lib"))
    versions = {"cublas": "13.1.0.3", "cufft": "12.0.0.61", "cusolver": "12.0.3.29"}
    for name, version in versions.items():
        so = f"lib{name}.so.{13 if name == 'cublas' else 12}"
        r.file(f"/{site}/nvidia/cu13/lib/{so}", elf(soname=so))
        r.dist(f"nvidia-{name}", version, site, {"RECORD": f"nvidia/cu13/lib/{so},sha256=x,12\n"})
    r.link("/home/venv", "/real/venv")
    for given in ("/real/venv", "/home/venv", "/real/../home/venv"):
        libraries = r.probe("--python", given)["assay"]["libraries"]
        got = {k: libraries[k]["effective"]["version"] for k in versions}
        assert got == versions, (given, got)
        assert libraries["cufft"]["copies"][0]["owner"]["package"] == "nvidia-cufft", given


@case("owners.pacman")
def _(r):
    r.lib("/opt/rocm/lib", "librocblas", "5", "5.1.70002")
    r.file("/var/lib/pacman/local/rocblas-7.0.2-1/files", "%FILES%\nopt/\nopt/rocm/lib/librocblas.so.5.1.70002\n")
    r.file("/var/lib/pacman/local/hip-runtime-amd-7.0.2-2/desc", "").file("/var/lib/pacman/local/ALPM_DB_VERSION", "9\n")
    d = r.probe()
    assert d["assay"]["system_packages"] == {"rocblas": "7.0.2-1", "hip-runtime-amd": "7.0.2-2"}, d["assay"]["system_packages"]
    assert owner_of(d, "rocblas") == {"manager": "pacman", "package": "rocblas", "version": "7.0.2-1"}


@case("owners.of_this_machine_are_those_dpkg_names", root=False)
def _():
    if not shutil.which("dpkg-query"):
        return "no dpkg-query"
    d = json.loads(subprocess.run([ASSAY, "env", "--json", "--no-hash"], capture_output=True, timeout=PATIENCE).stdout)
    for lib in d["assay"]["libraries"].values():
        for c in lib["copies"]:
            found = subprocess.run(["dpkg-query", "-S", c["path"]], capture_output=True, text=True).stdout
            want = found.split(":")[0] if found else None
            got = c["owner"] and c["owner"]["manager"] == "dpkg" and c["owner"]["package"] or None
            assert got == want, (c, found)
