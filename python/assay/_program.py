"""The assay program: documents (report, diff, path, page) come from it, so that they are what the command
line gives."""
import itertools
import json
import os
import pathlib
import shutil
import subprocess
from typing import Any, Dict, Sequence


class AssayError(Exception):
    """What assay says when it cannot do something: one sentence."""


def program() -> str:
    """Path of the assay program: $ASSAY, that of this installation, else the one on PATH."""
    # of a prefix (an environment, ~/.local) bin/ is four folders up, of `pip install --target` one
    above = itertools.islice(pathlib.Path(os.path.abspath(__file__)).parents, 1, 5)
    for path in [os.environ.get("ASSAY"), *(str(p / "bin/assay") for p in above), shutil.which("assay")]:
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
