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


class Count:
    """Waits of some programs of a form, by class and whether they are right."""
    def __init__(self):
        self.seen, self.doubts = {}, {}

    def add(self, other):
        for to, of in (self.seen, other.seen), (self.doubts, other.doubts):
            for key, n in of.items():
                to[key] = to.get(key, 0) + n

    total = property(lambda self: sum(self.seen.values()) or 1)

    def share(self, fits):
        return 100 * sum(n for key, n in self.seen.items() if fits(*key)) / self.total

    exact = property(lambda self: self.share(lambda c, right: c == "exact" and right))

    def tell(self, whose):
        print(f"# {whose}, {self.total} waits, {self.exact:.1f} % exact, {self.share(lambda c, right: right):.1f} % right")
        print("# " + ", ".join(f"{c} {'right' if r else 'wrong'} {n}" for (c, r), n in sorted(self.seen.items())))
        print("# not exact: " + ", ".join(f"{why} {100 * n / self.total:.1f} %"
                                          for why, n in sorted(self.doubts.items(), key=lambda d: -d[1]) if why))


def play(name, programs, seed, make, kind):
    """The same programs of a seed, however many there are and whatever other forms are played."""
    form, count, wrong, rng = forms.FORMS[name], Count(), [], random.Random(f"{seed} {name} {kind}")
    for first in range(1, programs + 1, form.batch):
        wrong += check(form, make(form, first, min(form.batch, programs + 1 - first), rng), rng, count.seen, count.doubts)
    count.tell(f"{name}: {programs} {kind} programs")
    tap.ok(f"no wait of {programs} {kind} programs is exact, or for nothing, and that wrong as {name}", not wrong, str(wrong[:5]))
    return count


def keep_share(kind, name, count, least):
    tap.ok(f"at least {least} % of the waits of {kind} programs are exact as {name}", count.exact >= least, f"{count.exact:.1f} %")


def main():
    """How many waits are exact depends on the programs, so that only the usual ones are held to it."""
    programs = int(sys.argv[1]) if len(sys.argv) > 1 else 1200
    seed, usual = sys.argv[2] if len(sys.argv) > 2 else 18, not sys.argv[1:]
    for name in sys.argv[3:] or forms.FORMS:
        form = forms.FORMS[name]
        share = 1 if form.batch > 100 or sys.argv[3:] else 2 if form.batch > 1 else 10  # many small files are slow
        count = play(name, max(programs // share, 1), seed, simulate, "random")
        count.add(play(name, max(programs // share // 2, 1), seed, simulate_leaning, "leaning"))
        if usual:
            keep_share("random and leaning", name, count, form.least)
            keep_share("plain", name, play(name, 24 if form.batch == 1 else 96, seed, simulate_plain, "plain"), form.plain)
    tap.done()


if __name__ == "__main__":
    main()
