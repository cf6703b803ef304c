#!/usr/bin/env python3
"""What the documents name is there: files, functions, options, versions, causes of idle time."""
import json
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import tap

ROOT = tap.ROOT
DOCS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
TOPS = {p.name for p in ROOT.iterdir() if p.is_dir()} - {"build", ".git", "shared"}
FOLDERS = {p.name for p in (ROOT / "src").iterdir() if p.is_dir()}
SOURCE = "\n".join(p.read_text() for top in ("src", "include", "tests", "bench") for p in (ROOT / top).rglob("*.[chd]*")
                   if p.suffix in (".c", ".h", ".def"))
NAMES = set(re.findall(r"[A-Za-z_]\w*", SOURCE))
FILES = {p.name for top in TOPS for p in (ROOT / top).rglob("*")}
MAKEFILE = (ROOT / "Makefile").read_text()


def spans(text):
    """Code in the running text, without fenced blocks."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)
    return re.findall(r"`([^`\n]+)`", text)


def missing_links(doc, text):
    for target in re.findall(r"\]\(([^)#\s]+)", text):
        if "://" not in target and not (doc.parent / target).exists():
            yield target


def missing_files(doc, text):
    for span in spans(text):
        path = span.split()[0].rstrip(".,:;")
        if "/" not in path or re.search(r"[<>*$%{}~|=(\[\\]|\.\.\.", path) or path.startswith(("/", "-")):
            continue
        first = path.split("/")[0]
        if first in TOPS and not (first == "include" and not path.startswith("include/assay")):
            places = [ROOT / path]
        elif first in FOLDERS and re.search(r"\.(c|h|def|js)$", path):
            places = [ROOT / "src" / path]
        else:
            continue
        if not any(p.exists() or p.with_suffix(".c").exists() for p in places):
            yield span


def missing_plain_files(doc, text):
    """Files that are named without their folder."""
    for span in spans(text):
        if re.fullmatch(r"[\w-]+\.(c|def|js|py|css)", span) and span not in FILES:
            yield span


def missing_columns(doc, text, tables={}):
    """`table.column` of the model."""
    if not tables:
        schema = json.loads(subprocess.run([tap.ASSAY, "info", "--schema", "--json"], capture_output=True, text=True).stdout)
        tables.update({t["name"]: {c["name"] for c in t["columns"]} for t in schema["tables"]})
    for span in spans(text):
        m = re.fullmatch(r"([a-z_]+)\.([a-z_]+)", span)
        if m and m[1] in tables and m[2] not in tables[m[1]] and span not in FILES and m[2] not in ("json", "csv"):
            yield span


def code_lines(text):
    """Code in the running text, and the lines of fenced blocks."""
    return spans(text) + [line for block in re.findall(r"^```.*?\n(.*?)^```", text, flags=re.S | re.M) for line in block.splitlines()]


def missing_targets(doc, text):
    for line in code_lines(text):
        for target in re.findall(r"(?:^|\$ |&& )make ([a-z][a-z-]*)", line):
            if not re.search(rf"^(\.PHONY:.*\b)?{target}\b", MAKEFILE, flags=re.M):
                yield target


def missing_functions(doc, text):
    for span in spans(text):
        for name in re.findall(r"\bassay_[a-z0-9_]+(?=\()", span):
            if name not in NAMES:
                yield name
        if re.fullmatch(r"(assay|ASSAY)_[A-Za-z0-9_]*[A-Za-z0-9]", span) and span not in NAMES:
            yield span


def help_of(command, seen={}):
    if command not in seen:
        p = subprocess.run([tap.ASSAY, *command.split(), "--help"], capture_output=True, text=True)
        seen[command] = p.stdout if p.returncode == 0 else ""
    return seen[command]


def missing_options(doc, text):
    commands = subprocess.run([tap.ASSAY, "help", "--list"], capture_output=True, text=True).stdout.split()
    for line in code_lines(text):
        words = line.lstrip("$ ").split()
        if len(words) < 2 or words[0] != "assay" or words[1] not in commands:
            continue
        command = " ".join(words[1:3]) if words[1:3] == ["env", "diff"] else words[1]
        for word in words[2:]:
            if word in ("--", "|", "#"):
                break
            option = re.match(r"--[a-z][a-z-]*", word)
            if option and option[0] not in help_of(command) and option[0] != "--help":
                yield f"{command} {option[0]}"


def missing_in_comments():
    """Functions of ours and files of C that comments of the source name."""
    written = re.sub(r"/\*.*?\*/", "", SOURCE, flags=re.S)
    for path in sorted(p for top in ("src", "tests", "include") for p in (ROOT / top).rglob("*") if p.suffix in (".c", ".h", ".def")):
        for comment in re.findall(r"/\*.*?\*/", path.read_text(), flags=re.S):
            named = re.findall(r"\b(assay_\w+)\(\)", comment)
            yield from (f"{path.relative_to(ROOT)}: {n}()" for n in named if not re.search(rf"\b{n}\b", written))
            yield from (f"{path.relative_to(ROOT)}: {n}" for n in re.findall(r"\b\w+\.(?:c|def)\b", comment) if n not in FILES)


def table_rows(text):
    """Cells of the rows of a document's tables, without heads."""
    for line in text.splitlines():
        cells = [c.strip() for c in re.split(r"(?<!\\)\|", line)[1:-1]]
        if cells and set(cells[0]) != {"-"}:
            yield cells


def said_test(name, text):
    """A test of this name, as a function, a TEST() or words that are printed; f-strings have a part for each case."""
    words = re.escape(name)
    return re.search(rf"\b{re.escape(name.replace(' ', '_'))}\b", text) or re.search(rf"[\"']{words}", text) or any(
        re.fullmatch(re.sub(r"\\{[^}]*\\}", ".+", re.escape(s)), name) for s in re.findall(r'f"([^"]*)"', text))


def missing_proofs(text):
    """Claims of the threat model whose tests are not there."""
    for cells in [c for c in table_rows(text) if len(c) == 4][1:]:
        proofs = re.findall(r"`([\w/]+\.(?:py|c))`(?: \(([^)]*)\))?", cells[3])
        if not proofs:
            yield f"{cells[2]}: nothing shows it"
        for path, names in proofs:
            file = next((f for f in (ROOT / "tests" / path, ROOT / "src" / path) if f.exists()), None)
            if not file:
                yield path
                continue
            body = file.read_text()
            if "fuzz/" not in path and file.suffix == ".c" and "TEST(" not in body:
                yield f"{path} has no tests"
            yield from (f"{path}: {n}" for n in names.split("; ") if n and not said_test(n, body))


def cause_rows():
    """The rows of cause.def, as analysis.md shows them."""
    text = (ROOT / "src/model/cause.def").read_text()
    for name, bucket, certainty, words in re.findall(r'^CAUSE\(\w+, "(\w+)", (\w+), \w+, ([\d.]+), "([^"]*)"', text, flags=re.M):
        yield f"| {name} | {words} | {bucket.lower()} | {certainty} |\n"


def check_causes(path):
    """The table of causes; UPDATE=1 writes it."""
    head, page, rows = "| cause | what it is | budget | certainty |\n|---|---|---|---|\n", path.read_text(), "".join(cause_rows())
    before, _, behind = page.partition(head)
    right = before + head + rows + re.sub(r"\A(\|.*\n)*", "", behind)
    if os.environ.get("UPDATE") and page != right:
        page = right
        path.write_text(page)
    tap.ok("the table of causes is cause.def", page == right and rows.count("\n") == SOURCE.count("\nCAUSE("), rows)


def finding_ids():
    """The ids that code gives to findings; causes of idle time are on their own page."""
    code = "\n".join(re.split(r"^TEST\(", p.read_text(), flags=re.M)[0] for p in (ROOT / "src/find").glob("*.c"))
    code = re.sub(r"assay_finder \w+ = \{\s*\.id", "", code)  # names of finders
    given = re.findall(r'(?:\.id|\bchar id\[\]) = "(\w+)"', code)
    advice = (ROOT / "src/model/kinds.h").read_text().split("define ASSAY_ADVICES(X)")[1].split("\n\n")[0]
    causes = {row.split(" | ")[0][2:] for row in cause_rows()}
    return {*given, *re.findall(r'X\(\w+, "(\w+)"\)', advice)} - causes


WORDS_OF_DATA = ("idle_causes_ns", "parts_ns", "queued_ns", "classes_ns", "families_ns", "by_class", "by_doubt", "unexplained_by_class", "tables", "meta", "issues", "peak", "unit_ns")
JSON = ("report", "scopes", "scopes --by line", "scopes --by library", "scopes --timeline", "scopes --by instance", "waits --chains", "path", "path --what-if gemm=0.5x", "info", "diff")
JSON_OF = ("demo/run", "demo/train.json.gz", "demo/ddp", "tests/cases/report/capture")


def members(value, way=()):
    """Ways to the members of a JSON document; keys that are data are no members."""
    for item in value if isinstance(value, list) else []:
        yield from members(item, way)
    for key, inside in value.items() if isinstance(value, dict) and not (way and way[-1] in WORDS_OF_DATA) else []:
        yield (*way, key)
        yield from members(inside, (*way, key))


def missing_members(section, ways):
    """What is printed and not on the page: members of a member in its own row, deeper ones anywhere in the section."""
    rows = list(table_rows(section))
    for way in ways:
        own = [cells[-1] for cells in rows if f"`{way[0]}`" in cells[0].replace("[]", "")]
        text = section if len(way) != 2 or not own else " ".join(cell for cells in rows if re.search(rf"`{way[0]}(\[\])?[`.]", cells[0]) for cell in cells)
        if not re.search(rf"`(\w+\.)*{re.escape(way[-1])}(\[\])?`", text):
            yield ".".join(way)


def check_json(page):
    sections = {part.split("\n")[0]: part for part in page.split("\n## ")}
    sections["report"] += sections["Units"]
    for command in JSON:
        name, *options = command.split()
        ways = set()
        for path in JSON_OF:
            code, out, _ = tap.run(name, "--json", *options, ROOT / path, *([ROOT / path] if name == "diff" else []))
            ways |= set(members(json.loads(out))) if out else set()
        bad = sorted(missing_members(sections[name], ways))
        tap.ok(f"every member that {command} --json prints is on its page", ways and not bad, "\n".join(bad))


def constant(name):
    return re.search(rf"\b{name}\s*=?\s*\"?([0-9.]+)", SOURCE)[1]


def main():
    checks = (("links", missing_links), ("files", missing_files), ("files without a folder", missing_plain_files),
              ("functions", missing_functions), ("columns", missing_columns), ("make targets", missing_targets),
              ("options", missing_options))
    for what, find in checks:
        bad = [f"{d.relative_to(ROOT)}: {name}" for d in DOCS for name in find(d, d.read_text())]
        tap.ok(f"{what} that documents name are there", not bad, "\n".join(bad))
    bad = list(missing_in_comments())
    tap.ok("functions and files that comments name are there", not bad, "\n".join(bad))
    check_causes(ROOT / "docs/analysis.md")
    page = (ROOT / "docs/findings.md").read_text()
    ids = finding_ids()
    bad = sorted(i for i in ids if not re.search(rf"\b{i}\b", page))
    tap.ok("every finding is on the page of findings", len(ids) > 30 and not bad, "\n".join(bad))
    check_json((ROOT / "docs/formats/report-json.md").read_text())
    bad = list(missing_proofs((ROOT / "docs/security.md").read_text()))
    tap.ok("every claim of the threat model names a test that is there", not bad, "\n".join(bad))
    page = (ROOT / "docs/design.md").read_text()
    for name in sorted(FOLDERS):
        tap.ok(f"the map has src/{name}", f"| src/{name} |" in page)
    for path in sorted([*(ROOT / "src/names").glob("*.def"), *(ROOT / "src/model").glob("*.def")]):
        tap.ok(f"the map has {path.name}", f"`{path.name}`" in page)
    version = constant("define ASSAY_VERSION")
    out = subprocess.run([tap.ASSAY, "--version"], capture_output=True, text=True).stdout
    tap.ok("the program has the header's version", version in out, out)
    wire = f'major, minor | {constant("ASSAY_WIRE_MAJOR")}, {constant("ASSAY_WIRE_MINOR")} |'
    page = (ROOT / "docs/formats/capture.md").read_text()
    tap.ok("the capture format's version is the one its page describes", wire in page, wire)


main()
tap.done()
