"""Switching the recording of this process on and off under `assay record`, as `assay ctl` does it: one line to
the socket in the run directory. Outside a recording everything here does nothing, so that programs can keep it."""
import functools
import inspect
import json
import os
import socket
from typing import Any, Callable, Dict, Optional, TypeVar, Union, cast, overload

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


class Recorded:
    """What `record` gives: a context manager, and a decorator of functions of every kind."""

    def __init__(self, name: Optional[str] = None):
        self._name = name
        self._began = self._was_on = False

    def __enter__(self) -> bool:
        before = status()
        self._was_on = bool(before and before.get("recording"))
        self._began = start() if before and not self._was_on else self._was_on
        if self._began and self._name:
            mark(self._name)
        return self._began

    def __exit__(self, *error: object) -> None:
        if self._began and not self._was_on:
            stop()

    def __call__(self, function: _Function) -> _Function:
        name = self._name
        inner: Any
        # calling these only makes them: their work is done later, and that is what is recorded
        if inspect.iscoroutinefunction(function):

            async def inner(*args: Any, **kwargs: Any) -> Any:
                with Recorded(name):
                    return await function(*args, **kwargs)

        elif inspect.isasyncgenfunction(function):

            async def inner(*args: Any, **kwargs: Any) -> Any:
                with Recorded(name):
                    async for item in function(*args, **kwargs):
                        yield item

        elif inspect.isgeneratorfunction(function):

            def inner(*args: Any, **kwargs: Any) -> Any:
                with Recorded(name):
                    return (yield from function(*args, **kwargs))

        else:

            def inner(*args: Any, **kwargs: Any) -> Any:
                with Recorded(name):
                    return function(*args, **kwargs)

        wrapped: Any = functools.wraps(function)(inner)
        return cast(_Function, wrapped)


@overload
def record(name: _Function) -> _Function: ...


@overload
def record(name: Optional[str] = None) -> Recorded: ...


def record(name: Union[str, None, Callable[..., Any]] = None) -> Any:
    """Record what is inside: a context manager, and a decorator of functions (`@assay.record` or `@assay.record("name")`).
    What was being recorded before goes on being recorded behind it."""
    return Recorded()(name) if callable(name) else Recorded(name)
