#!/usr/bin/env python3
"""The manual cannot lie: every example of every command is run from the project's root, every man page
is checked by mandoc, every completion script is parsed by its shell."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import tap


def lines(*args):
    return tap.run(*args)[1].splitlines()


with tempfile.TemporaryDirectory() as bin_dir:
    os.symlink(tap.ASSAY, f"{bin_dir}/assay")
    env = dict(os.environ, PATH=f"{bin_dir}:{os.environ['PATH']}")
    for line in lines("help", "--examples"):
        p = subprocess.run(["sh", "-c", line], cwd=tap.ROOT, env=env, capture_output=True, timeout=120)
        tap.ok(f"example: {line}", p.returncode == 0, p.stderr.decode())

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
        code, out, err = tap.run(command, "--no-such-option")
        tap.ok(f"{command} refuses unknown options", code == 2 and "--no-such-option" in err and not out)

for shell in ("bash", "zsh", "fish"):
    script = tap.run("help", "--completion", shell)[1]
    if shutil.which(shell):
        p = subprocess.run([shell, "-n"], input=script.encode(), capture_output=True)
        tap.ok(f"{shell} completion", p.returncode == 0 and script, p.stderr.decode())
    else:
        tap.skip(f"{shell} completion", f"no {shell}")
tap.done()
