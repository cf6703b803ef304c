#!/usr/bin/env python3
"""The manual cannot lie: every example of every command is run as from the project's root, every man page
is checked by mandoc, every completion script is parsed by its shell."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import tap

OUTPUTS = ("report.html", "parts", "env.json")  # what examples write


def lines(*args):
    return tap.run(*args)[1].splitlines()


def plain(words):
    return [w.replace("\\-", "-") for w in words]


with tempfile.TemporaryDirectory() as temp:
    bin_dir, top = pathlib.Path(temp, "bin"), pathlib.Path(temp, "top")
    bin_dir.mkdir()
    top.mkdir()
    (bin_dir / "assay").symlink_to(tap.ASSAY)
    for path in tap.ROOT.iterdir():
        if path.name not in OUTPUTS:
            (top / path.name).symlink_to(path)
    env = dict(os.environ, PATH=f"{bin_dir}:{os.environ['PATH']}", TMPDIR=temp)
    for line in lines("help", "--examples"):
        here = line.replace("/tmp/", f"{temp}/")
        p = subprocess.run(["sh", "-c", here], cwd=top, env=env, capture_output=True, stdin=subprocess.DEVNULL, timeout=tap.PATIENCE)
        tap.ok(f"example: {line}", p.returncode == 0, p.stderr.decode("utf-8", "replace"))

for command in ["", *lines("help", "--list")]:
    page = tap.run("help", "--man", *filter(None, [command]))[1]
    if shutil.which("mandoc"):
        p = subprocess.run(["mandoc", "-Tlint", "-Wwarning"], input=page.encode(), capture_output=True)
        tap.ok(f"man page {command or 'assay'}", p.returncode == 0, p.stdout.decode())
    else:
        tap.skip(f"man page {command or 'assay'}", "no mandoc")
    if command:
        code, out, _ = tap.run(command, "--help")
        words = command.replace("-", " ")  # env-diff is the page of the command `env diff`
        tap.ok(f"{command} --help", code == 0 and out.startswith(f"usage: assay {words}"))
        values = re.findall(r"^\.B .*\\-\\-(\S+) \\fI(.*)\\fR$", page, re.M)
        tap.ok(f"{command} --help has every option's value whole", all(f"--{name} {value}\n" in out or f"--{name} {value}  " in out for name, value in map(plain, values)), values)
        tap.ok(f"{command} --help keeps to its width", not [line for line in out.split("\nexamples:\n")[0].splitlines()[1:] if len(line) > 100])
        code, out, err = tap.run(command, "--no-such-option")
        tap.ok(f"{command} refuses unknown options", code == 2 and "--no-such-option" in err and not out)

orders = re.findall(r"^  (start|stop|mark|flush|status) ", tap.run("ctl", "--help")[1], re.M)
tap.ok("orders of ctl have a line each", orders == ["start", "stop", "mark", "flush", "status"], orders)

tap.ok("assay help is assay --help", tap.run("help") == tap.run("--help"))

for shell in ("bash", "zsh", "fish"):
    script = tap.run("help", "--completion", shell)[1]
    if shutil.which(shell):
        p = subprocess.run([shell, "-n"], input=script.encode(), capture_output=True)
        tap.ok(f"{shell} completion", p.returncode == 0 and script, p.stderr.decode())
    else:
        tap.skip(f"{shell} completion", f"no {shell}")
tap.done()
