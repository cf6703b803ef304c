"""Every way to read an input, by name, and what is wrong with how one ended. IN is the input, WHOLE another one, and OUT what the
names of outputs begin with."""
import json
import os
import resource
import subprocess

import tap

SECONDS = 60  # of processor time: what takes so long never ends

COMMANDS = {
    "info": ["info", "IN"],
    "report": ["report", "-v", "IN"],
    "page": ["report", "IN", "--html", "OUT.html"],
    "json": ["report", "--json", "IN"],
    "hta": ["report", "IN", "--like", "hta"],
    "tracelens": ["report", "IN", "--like", "tracelens"],
    "waits": ["waits", "--chains", "IN"],
    "scopes": ["scopes", "IN"],
    "lines": ["scopes", "--by", "line", "IN"],
    "folded": ["scopes", "IN", "--folded", "--python", "--ops"],
    "path": ["path", "IN"],
    "roofline": ["roofline", "IN"],
    "sql": ["sql", "IN", "select count(*), sum(dur), min(start) from kernels"],
    "diff": ["diff", "IN", "WHOLE"],
    "diff-whole": ["diff", "WHOLE", "IN"],
    "chrome": ["convert", "IN", "OUT.json.gz"],
    "xplane": ["convert", "IN", "OUT.xplane.pb"],
    "perfetto": ["convert", "IN", "OUT.pftrace"],
    "csv": ["convert", "IN", "OUT/"],
    "tables": ["convert", "IN", "OUT.db"],
    "rocpd": ["convert", "IN", "OUT.rocpd.db"],
    "markdown": ["report", "--markdown", "IN"],
    "stream": ["report", "--stream", "7", "IN"],
    "device": ["report", "--json", "--device", "0", "IN"],
    "step": ["report", "-v", "--step", "1", "IN"],
    "goblin": ["report", "IN", "--like", "goblin"],
    "waits-json": ["waits", "--json", "IN"],
    "scopes-json": ["scopes", "--json", "IN"],
    "steps-path": ["path", "--step", "all", "IN"],
    "what-if": ["path", "IN", "--what-if", "compute=0.5x", "--what-if", "*/*=0", "--what-if", "sync=0", "--json"],
    "hta-path": ["path", "IN", "--like", "hta"],
    "diff-json": ["diff", "--json", "IN", "WHOLE"],
    "diff-page": ["diff", "IN", "WHOLE", "--html", "OUT.html"],
    "env-diff": ["env", "diff", "IN", "WHOLE"],
    "shard": ["report", "--shard", "0/1", "-o", "OUT", "IN"],
}
OF_RUNS = {
    "hang": ["hang", "IN"],
    "hang-json": ["hang", "--json", "IN"],
    "top": ["top", "--once", "IN"],
    "ctl": ["ctl", "IN", "status"],
    "recover": ["record", "--recover", "IN"],
}
OF_SHARDS = {"merge": ["merge", "IN"]}


def words(command, path, whole):
    return [{"IN": path, "WHOLE": whole}.get(word, word) for word in command]


def limited():
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))


def trouble(args, cwd):
    """What is wrong with how the command ended, '' nothing."""
    env = dict(os.environ, ASSAY_THREADS="2", TMPDIR=cwd, ASAN_OPTIONS="detect_leaks=0:allocator_may_return_null=1")
    try:
        p = subprocess.run([tap.ASSAY, *args], cwd=cwd, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=tap.PATIENCE, preexec_fn=limited)
    except subprocess.TimeoutExpired:
        return "it does not end"
    said = p.stderr.decode("utf-8", "replace")
    if "Sanitizer" in said or "runtime error" in said or "Assertion" in said:
        return said[:3000]
    if p.returncode not in (0, 1, 2):
        return f"status {p.returncode}: {said[:2000]}"
    if p.returncode and not said and not p.stdout:
        return f"status {p.returncode} without a word"
    if args[:2] == ["report", "--json"] and p.returncode == 0:
        json.loads(p.stdout)
    return ""
