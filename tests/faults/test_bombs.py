#!/usr/bin/env python3
"""Small files that ask for much: none may cost more than SECONDS or BYTES in any command; on a machine that is slow, or was made
so by its other users, as many more as a trace that everybody has takes there.

usage: test_bombs.py [--all] [WORD...]: two commands each, or all of them; bombs with a word in their names."""
import os
import resource
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import tap  # noqa: E402
from bombs import BOMBS  # noqa: E402
from commands import COMMANDS, words  # noqa: E402

SECONDS, BYTES, FILE_MAX = 2.0, 500 << 20, 1 << 20
USUAL = 0.08  # s, of the page of that trace where these limits were chosen


def limited():
    resource.setrlimit(resource.RLIMIT_CPU, (60, 60))


def cost(args, cwd):
    child = subprocess.Popen(args, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, preexec_fn=limited,
                             env=dict(os.environ, ASSAY_THREADS="2"))
    err = child.stderr.read()
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = status
    return used.ru_utime + used.ru_stime, used.ru_maxrss << 10, os.waitstatus_to_exitcode(status), err


def seconds_here(program):
    """The limit on this machine, as it is now."""
    with tempfile.TemporaryDirectory() as folder:
        page = [program, "report", str(tap.ROOT / "demo/train.json.gz"), "--html", "page.html"]
        return SECONDS * max(1, cost(page, folder)[0] / USUAL)


def main():
    program = os.path.abspath(tap.ASSAY)
    only = [a for a in sys.argv[1:] if a != "--all"]
    names = list(COMMANDS)
    for i, (name, make) in enumerate(BOMBS.items()):
        chosen = names if "--all" in sys.argv else ["page", names[i % len(names)]]
        if only and not any(word in name for word in only):
            continue
        data = make()
        assert len(data) <= FILE_MAX, (name, len(data))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "in." + name.split(".", 1)[1])
            with open(path, "wb") as f:
                f.write(data)
            worst = []
            for command in chosen:
                args = [program, *words(COMMANDS[command], path, path)]
                seconds, memory, status, err = cost(args, folder)
                limit = seconds_here(program) if seconds > SECONDS else SECONDS
                if seconds > limit or memory > BYTES or status not in (0, 1, 2):
                    worst.append("%s: %.1f s, %d MB, status %d %s" % (command, seconds, memory >> 20, status, err[-200:]))
            tap.ok(name, not worst, "\n".join(worst))
    tap.done()


if __name__ == "__main__":
    main()
