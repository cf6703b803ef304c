#!/usr/bin/env python3
"""The prompt of `assay sql` on a terminal: keys, earlier lines, Ctrl-C. Every step waits for what it looks for. Its commands on the command line."""
import os
import pathlib
import pty
import select
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import tap


class Person:
    def __init__(self, home):
        self.said = ""
        self.pid, self.fd = pty.fork()
        if not self.pid:
            env = {**os.environ, "HOME": home, "TERM": "xterm", "COLUMNS": "200"}
            env.pop("XDG_STATE_HOME", None)
            os.execve(tap.ASSAY, [tap.ASSAY, "sql", str(tap.ROOT / "demo/run")], env)

    def sees(self, text):
        """Whether it comes; what came before it is kept as .before, and forgotten at the next."""
        while text not in self.said:
            if not select.select([self.fd], [], [], tap.PATIENCE)[0]:
                return False
            try:
                more = os.read(self.fd, 65536)
            except OSError:
                more = b""
            if not more:
                return False
            self.said += more.decode("utf-8", "replace")
        self.before, self.said = self.said.split(text, 1)
        return True

    def stops(self, text):
        """Ctrl-C until it says so: one may come before the question runs, one more is a line given up."""
        end = time.monotonic() + tap.PATIENCE
        while time.monotonic() < end:
            self.types("\x03")
            time.sleep(0.2)
            while select.select([self.fd], [], [], 0)[0]:
                self.said += os.read(self.fd, 65536).decode("utf-8", "replace")
            if text in self.said:
                return self.sees(text)
        return False

    def types(self, keys):
        os.write(self.fd, keys.encode())

    def leaves(self):
        return os.waitpid(self.pid, 0)[1]


with tempfile.TemporaryDirectory() as home:
    p = Person(home)
    tap.ok("a prompt is shown", p.sees("assay> "))
    p.types("select 40 + 2 answer;\r")
    tap.ok("a statement is answered", p.sees("answer\r\n") and p.sees("42\r\n") and p.sees("assay> "))
    p.types("select name, 7 seven, name twice from kernels order by length(name) desc limit 3;\r")
    shown = p.sees("\r\n") and p.sees("assay> ") and p.before.split("\r\n")[:-1]
    tap.ok("a table is as wide as the terminal, and texts lose their middle", shown and [len(line) for line in shown[1:]] == [200] * 3 and shown[1].count("...") == 2 and shown[0].startswith("name"), shown)
    p.types("\x1b[A" * 2 + "\x7f\x7f + 1 other;\r")
    tap.ok("an earlier line comes back and is edited", p.sees("answe + 1 other;") and p.sees("syntax error") and p.sees("assay> "))
    p.types("select 6 * 7\r")
    tap.ok("a statement goes on until its end", p.sees("...> "))
    p.types("\x03")
    tap.ok("Ctrl-C gives up what was typed", p.sees("^C") and p.sees("assay> "))
    p.types("with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n;\r")
    tap.ok("a question that never ends is asked", p.sees("\r\n"))
    tap.ok("Ctrl-C ends a question that runs, and the prompt is there again", p.stops("interrupted") and p.sees("assay> "), repr(p.said[-300:]))
    p.types(".mode json\r")
    p.sees("assay> ")
    p.types("select 1 a;\r")
    tap.ok(".mode changes how rows are printed", p.sees('"a": 1') or '"a":1' in p.said)
    p.types(".quit\r")
    tap.ok("it ends in peace", p.leaves() == 0)
    kept = pathlib.Path(home, ".local/state/assay/sql_history")
    tap.ok("lines are kept for the next time, for the user alone",
           kept.read_text().startswith("select 40 + 2 answer;\n") and kept.stat().st_mode & 0o777 == 0o600, kept)
RUN = tap.ROOT / "demo/train.json.gz"
listed = tap.run("sql", RUN, "--schema", "steps")
tap.ok("commands of the prompt can be given as a statement", listed[0] == 0 and listed[1].startswith("steps: ") and tap.run("sql", RUN, ".schema steps") == listed, listed)
tap.ok("all tables too", tap.run("sql", RUN, ".tables") == tap.run("sql", RUN, "--schema"))
rc, out, err = tap.run("sql", RUN, "-f", "csv", "create table slow as select dur from kernels order by dur desc limit 3; delete from slow where rowid = 1; select count(*) n from slow")
tap.ok("a table of one's own is made, changed and asked", (rc, out.split()) == (0, ["n", "2"]), (rc, out, err))
rc, out, err = tap.run("sql", RUN, "create table t(a unique); insert into t values(1), (1)")
tap.ok("a statement without rows that fails says so", rc == 1 and "UNIQUE" in err, (rc, out, err))
for name, words, said in (("a table", ["--schema", "stps"], "no table 'stps'"), ("a table of a command", [".schema stps"], "no table 'stps'"), ("a command", [".tbles"], ".tbles is not a command")):
    rc, out, err = tap.run("sql", RUN, *words)
    tap.ok(f"{name} that is not there is said and fails", rc == 1 and not out and said in err, (rc, out[:80], err))


def kilobytes(form, rows):
    """The most memory that printing so many rows takes."""
    p = subprocess.Popen([tap.ASSAY, "sql", RUN, "-f", form, f"select a.name, b.name from kernels a, kernels b limit {rows}"], stdout=subprocess.DEVNULL)
    return os.wait4(p.pid, 0)[2].ru_maxrss


for form in ("table", "csv", "json"):
    few, many = kilobytes(form, 1000), kilobytes(form, 200000)
    tap.ok(f"memory does not grow with the rows that are printed as {form}", many < few + 16000, (few, many))
tap.done()
