"""Switching the recording of this process on and off under `assay record`, as `assay ctl` does it: one line to
the socket in the run directory. Outside a recording everything here does nothing, so that programs can keep it."""
import contextlib
import json
import os
import socket
from typing import Any, Callable, Dict, Iterator, Optional, TypeVar, Union, overload

_Function = TypeVar("_Function", bound=Callable[..., Any])
_PATIENCE = 30  # seconds; an order is answered once all processes have obeyed


def _ask(request: str) -> Optional[Dict[str, Any]]:
    """The answer to one line; None when this process is not recorded, or the recording has ended."""
    run = os.environ.get("ASSAY_RUN")
    if not run:
        return None
    folder = -1
    try:
        folder = os.open(run, os.O_PATH | os.O_DIRECTORY)
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(_PATIENCE)
            s.connect(f"/proc/self/fd/{folder}/control")  # an address holds 107 bytes, a path more
            s.sendall(request.encode() + b"\n")
            answer = b""
            while not answer.endswith(b"\n"):
                more = s.recv(65536)
                if not more:
                    return None
                answer += more
    except OSError:
        return None
    finally:
        if folder >= 0:
            os.close(folder)
    said: Dict[str, Any] = json.loads(answer)
    return said


def _order(request: str) -> bool:
    answer = _ask(request)
    return bool(answer and answer["ok"])


def status() -> Optional[Dict[str, Any]]:
    """What `assay ctl RUN status --json` says; None outside a recording."""
    return _ask("status")


def start(seconds: Optional[float] = None) -> bool:
    """Begin to record, or for so many seconds only; False when this process is not under `assay record`."""
    return _order("start" if seconds is None else f"start {max(1, round(seconds * 1e9))}")


def stop() -> bool:
    """Record no more until the next start."""
    return _order("stop")


def flush() -> bool:
    """Everything recorded so far is in the run directory when this returns."""
    return _order("flush")


def mark(name: str) -> bool:
    """Put a named moment into the recording."""
    return _order("mark " + " ".join(name.split())) if name.strip() else False


@contextlib.contextmanager
def _recorded(name: Optional[str]) -> Iterator[bool]:
    before = status()
    was_on = bool(before and before.get("recording"))
    began = start() if before and not was_on else was_on
    if began and name:
        mark(name)
    try:
        yield began
    finally:
        if began and not was_on:
            stop()


@overload
def record(name: _Function) -> _Function: ...


@overload
def record(name: Optional[str] = None) -> "contextlib._GeneratorContextManager[bool]": ...


def record(name: Union[str, None, Callable[..., Any]] = None) -> Any:
    """Record what is inside: a context manager, and a decorator of functions (`@assay.record` or `@assay.record("name")`).
    What was being recorded before goes on being recorded behind it."""
    if callable(name):
        return _recorded(None)(name)
    return _recorded(name)
