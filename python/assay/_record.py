"""Switching the recording of this process on and off, under `assay record --control` or --paused.
Outside a recording everything here does nothing, so that programs can keep it."""
import contextlib
import os
from typing import Optional

from ._program import AssayError, output


def _run_directory() -> Optional[str]:
    return os.environ.get("ASSAY_RUN")


def _control(*words: str) -> bool:
    run = _run_directory()
    if not run:
        return False
    try:
        output("ctl", run, *words)
    except AssayError:
        return False
    return True


def start() -> bool:
    """Begin to record; False when this process is not under `assay record`."""
    return _control("start")


def stop() -> bool:
    return _control("stop")


def mark(name: str) -> bool:
    """Put a named moment into the recording."""
    return _control("mark", name)


@contextlib.contextmanager
def record(name: Optional[str] = None):
    """Record what is inside: a context manager, and a decorator of functions."""
    began = start()
    if began and name:
        mark(name)
    try:
        yield began
    finally:
        if began:
            stop()
