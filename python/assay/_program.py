"""The assay program: documents (report, diff, path, page) come from it, so that they are what the command
line gives."""
import json
import os
import shutil
import subprocess
import sys
import sysconfig
from typing import Any, Dict, Sequence


class AssayError(Exception):
    """What assay says when it cannot do something: one sentence."""


def program() -> str:
    """Path of the assay program: $ASSAY, that of this installation, else the one on PATH."""
    beside = [os.path.join(d, "assay") for d in (sysconfig.get_path("scripts"), os.path.dirname(sys.executable))]
    for path in [os.environ.get("ASSAY"), *beside, shutil.which("assay")]:
        if path and os.access(path, os.X_OK):
            return path
    raise AssayError("the assay program is not installed beside this package and not on PATH")


def output(*arguments: str, good: Sequence[int] = (0,)) -> str:
    """Standard output of the program; AssayError with its message when it fails."""
    done = subprocess.run([program(), *arguments], capture_output=True, text=True, check=False)
    if done.returncode not in good:
        raise AssayError(done.stderr.strip().removeprefix("assay: ") or f"exit status {done.returncode}")
    return done.stdout


def document(*arguments: str, good: Sequence[int] = (0,)) -> Dict[str, Any]:
    said: Dict[str, Any] = json.loads(output(*arguments, good=good))
    return said
