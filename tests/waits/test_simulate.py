#!/usr/bin/env python3
"""Random programs on a simulated machine (machine.py), written as profilers write them (forms.py): `assay waits` must not call
a wait exact whose producer is another. Shares nothing with the resolver.
usage: test_simulate.py [PROGRAMS [SEED [FORM]]]; KEEP=FOLDER keeps what was wrong"""
import json
import os
import pathlib
import random
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import forms
import machine
import tap


def check(form, first, n, rng, seen):
    write, cuda, _ = forms.FORMS[form]
    programs, base, tells_device = [], 10 ** 9, rng.random() < 0.5
    for pid in range(first, first + n):
        programs.append(machine.Program(rng, pid, base, cuda, tells_device))
        base = programs[-1].play() + 10 ** 6
    launched = {w.name: w.corr for p in programs for w in p.works}
    truth = {corr: launched.get(k, k) for p in programs for corr, k in p.truth.items()}  # lost ones stay names
    vague = {corr for p in programs for corr in p.vague}
    folder = pathlib.Path(tempfile.mkdtemp(dir=os.environ.get("KEEP")))
    path = write(programs, rng, folder)
    code, out, err = tap.run("waits", "--json", path)
    wrong = [] if not code else [err]
    for w in json.loads(out)["waits"] if not code else []:
        if w["correlation"] in vague:
            continue
        right = w["producer_correlation"] == truth.get(w["correlation"], "no wait")
        seen[w["class"], right] = seen.get((w["class"], right), 0) + 1
        if w["class"] == "exact" and not right:
            wrong.append((w["kind"], w["correlation"], w["producer_correlation"], truth.get(w["correlation"], "no wait"), str(path)))
    if not wrong or not os.environ.get("KEEP"):
        shutil.rmtree(folder)
    return wrong


def play(form, programs, rng):
    batch, seen, wrong = forms.FORMS[form][2], {}, []
    for first in range(1, programs + 1, batch):
        wrong += check(form, first, min(batch, programs + 1 - first), rng, seen)
    total = sum(seen.values()) or 1
    exact, right = seen.get(("exact", True), 0), sum(n for (_, r), n in seen.items() if r)
    print(f"# {form}: {programs} programs, {total} waits, {100 * exact / total:.1f} % exact, {100 * right / total:.1f} % right")
    print("# " + ", ".join(f"{c} {'right' if r else 'wrong'} {n}" for (c, r), n in sorted(seen.items())))
    tap.ok(f"no wait of {programs} simulated programs is exact and wrong as {form}", not wrong and exact > total / 10,
           str(wrong[:5]))


def main():
    programs = int(sys.argv[1]) if len(sys.argv) > 1 else 1200
    rng = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 18)
    wanted = sys.argv[3:] or list(forms.FORMS)
    for form in wanted:
        share = 20 if forms.FORMS[form][2] < 100 and not sys.argv[3:] else 1  # many small files are slow
        play(form, max(programs // share, 1), rng)
    tap.done()


if __name__ == "__main__":
    main()
