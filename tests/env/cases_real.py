"""Facts of this very machine against what Python and dpkg say of them."""
import json
import os
import re
import shutil
import subprocess

from fixture import ASSAY, PATIENCE
from harness import case

LIST = ("import importlib.metadata as m, json; print(json.dumps([[x.metadata['Name'], x.version]"
        " for x in m.distributions() if x.metadata['Name']]))")


def here(*args):
    out = subprocess.run([ASSAY, "env", "--json", "--no-hash", *args], capture_output=True, timeout=PATIENCE)
    return json.loads(out.stdout)


@case("real.packages_are_those_importlib_metadata_finds", root=False)
def _():
    python = os.environ.get("ASSAY_TORCH_PYTHON") or shutil.which("python3")
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    listed = subprocess.run([python, "-c", LIST], capture_output=True, text=True, cwd="/", env=env)
    want = {}
    for name, version in json.loads(listed.stdout):
        want.setdefault(re.sub(r"[-_.]+", "-", name).lower(), version)
    got = here("--python", python)["assay"]["python"]["packages"]
    assert got == want, {k: (want.get(k), got.get(k)) for k in set(got) | set(want) if got.get(k) != want.get(k)}


@case("real.system_packages_are_those_dpkg_finds", root=False)
def _():
    if not shutil.which("dpkg-query"):
        return "no dpkg-query"
    out = subprocess.run(["dpkg-query", "-W", "-f", "${Package} ${Version} ${db:Status-Status}\n"], capture_output=True, text=True)
    want = {p: v for p, v, s in (line.split() for line in out.stdout.splitlines()) if s == "installed"}
    got = here()["assay"]["system_packages"]
    assert all(want.get(k) == v for k, v in got.items()), got
