"""Every way to read an input, by name. IN is the input, WHOLE another one, and OUT what the names of outputs begin with."""

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
