#!/usr/bin/env python3
"""Random programs on a simulated machine (machine.py), written as profilers write them (forms.py): `assay waits` must not call
a wait exact whose producer is another, nor say of one that waited that it was for nothing. Shares nothing with the resolver.
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


def simulate_plain(form, first, n, rng):
    programs, base = [], 10 ** 9
    for k in range(n):
        programs.append(machine.Plain(rng, first + k, base, form.cuda, form.capture))
        base = machine.play(programs[-1:]) + 10 ** 6
    return programs


def simulate(form, first, n, rng, kind=machine.Program):
    """Programs that ran one after another, some of them in pairs that share events."""
    programs, base, tells_device = [], 10 ** 9, rng.random() < 0.5
    while len(programs) < n:
        pair = [kind(rng, first + len(programs) + k, base, form.cuda, tells_device, form.capture, form.late)
                for k in range(2 if len(programs) + 1 < n and rng.random() < 0.2 else 1)]
        for p in pair if len(pair) > 1 else []:
            p.partner = pair[1 - pair.index(p)]
        base = machine.play(pair) + 10 ** 6
        programs += pair
    return programs


def simulate_leaning(form, first, n, rng):
    return simulate(form, first, n, rng, machine.Leaning)


CERTAIN = ("exact", "never_recorded", "captured", "failed_call")  # nobody looks further


class Truth:
    """What each wait waited for, as the call that launched it; work that was not seen stays a name."""
    def __init__(self, programs):
        launched = {w.name: w.corr for p in programs for w in p.works}
        self.of = {}
        self.nothing = set()  # waits for what was over, of which not all was recorded
        self.gone = {}  # waits for what was over -> what was, in streams that are gone, which not all calls may tell
        for p in programs:
            ends = {}  # several may end at the same nanosecond
            gone = [w for w in p.works if w.stream in p.gone and (p.lossy or not p.shows_ends)]
            for w in p.works:
                ends.setdefault(w.over, set()).add(w.corr)
            for corr, done in list(p.truth.items()) + [(corr, d) for corr, ds in p.inside.items() for d in ds]:
                answers = self.of.setdefault(corr, set())
                answers.add(launched.get(done.kernel, done.kernel))
                answers |= ends.get(done.end, set())
                if corr in p.redundant:
                    answers.add(None)
                if done.end <= p.made[corr] and (done.kernel not in launched or p.off):
                    self.nothing.add(corr)
                if done.end <= p.made[corr]:
                    self.gone[corr] = {w.corr for w in gone if w.over <= p.made[corr]}
        self.vague = {corr for p in programs for corr in p.vague}

    def allows(self, wait):
        if wait["class"] in ("captured", "failed_call"):
            return wait["correlation"] not in self.of
        if wait["correlation"] in self.nothing and wait["satisfied"] in (True, None):
            return True
        if wait["producer_correlation"] in self.gone.get(wait["correlation"], ()):
            return True
        return wait["producer_correlation"] in self.of.get(wait["correlation"], {"no wait"})


def story(p):
    """All that was seen of a program, in the order of time, and the truth."""
    for c in p.calls:
        hidden = f" truth {p.truth[c.corr].kernel}" if c.corr in p.truth else ""
        yield c.start, f"{c.corr} thread {c.thread} {c.name} until {c.start + c.dur} {c.args} status {c.status} device {c.device}{hidden}"
    for w in p.works:
        yield w.start, f"    {w.name} until {w.start + w.dur} of {w.corr} on device {w.stream.device} stream {w.stream.number}"
    for s in p.streams + p.gone:
        yield s.made, f"stream {s.number} of device {s.device} is {hex(s.handle)}{' blocking' if s.blocking else ''}"
    for off in p.off:
        yield off[0], f"nothing is recorded until {off[1]}"


def keep_stories(programs, wrong, folder):
    for p in programs:
        if any(w[2] // 1000 == p.pid for w in wrong if isinstance(w, tuple)):
            lines = [f"{time} {text}" for time, text in sorted(story(p))]
            (folder / f"{p.pid}.story").write_text("\n".join([f"lossy {p.lossy}, late {p.late}"] + lines))


def check(form, programs, rng, seen, doubts):
    folder = pathlib.Path(tempfile.mkdtemp(dir=os.environ.get("KEEP")))
    path = form.write(programs, rng, folder)
    truth = Truth(programs)
    code, out, err = tap.run("waits", "--json", path)
    wrong = [] if not code else [err]
    for w in json.loads(out)["waits"] if not code else []:
        if w["correlation"] in truth.vague:
            continue
        right = truth.allows(w)
        seen[w["class"], right] = seen.get((w["class"], right), 0) + 1
        doubts[w["doubt"]] = doubts.get(w["doubt"], 0) + 1
        if w["class"] in CERTAIN and not right:
            wrong.append((w["class"], w["kind"], w["correlation"], w["producer_correlation"], truth.of.get(w["correlation"]), str(path)))
    if wrong and os.environ.get("KEEP"):
        keep_stories(programs, wrong, folder)
    else:
        shutil.rmtree(folder)
    return wrong


def play(name, programs, rng, make, kind, least):
    form, seen, doubts, wrong = forms.FORMS[name], {}, {}, []
    for first in range(1, programs + 1, form.batch):
        wrong += check(form, make(form, first, min(form.batch, programs + 1 - first), rng), rng, seen, doubts)
    total = sum(seen.values()) or 1
    exact, right = seen.get(("exact", True), 0), sum(n for (_, r), n in seen.items() if r)
    print(f"# {name}: {programs} {kind} programs, {total} waits, {100 * exact / total:.1f} % exact, {100 * right / total:.1f} % right")
    print("# " + ", ".join(f"{c} {'right' if r else 'wrong'} {n}" for (c, r), n in sorted(seen.items())))
    print("# not exact: " + ", ".join(f"{why} {100 * n / total:.1f} %" for why, n in sorted(doubts.items(), key=lambda d: -d[1]) if why))
    tap.ok(f"no wait of {programs} {kind} programs is exact, or for nothing, and that wrong as {name}", not wrong, str(wrong[:5]))
    tap.ok(f"at least {least} % of the waits of {kind} programs are exact as {name}", exact >= total * least / 100, f"{exact} of {total}")


def main():
    programs = int(sys.argv[1]) if len(sys.argv) > 1 else 1200
    rng = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 18)
    wanted = sys.argv[3:] or list(forms.FORMS)
    for form in wanted:
        batch = forms.FORMS[form].batch
        share = 1 if batch > 100 or sys.argv[3:] else 4 if batch > 1 else 20  # many small files are slow
        play(form, max(programs // share, 1), rng, simulate, "random", forms.FORMS[form].least)
        play(form, max(programs // share // 2, 1), rng, simulate_leaning, "leaning", 0)
        if not sys.argv[2:]:
            play(form, 24 if batch == 1 else 96, random.Random(form), simulate_plain, "plain", forms.FORMS[form].plain)
    tap.done()


if __name__ == "__main__":
    main()
