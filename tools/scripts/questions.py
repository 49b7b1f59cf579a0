#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the bold numbers of tools/lab/questions.md from the tables of `ordo lab NAME --quick`. The lines of a comment
<!-- numbers: ... --> below an answer say where they come from, in the order of the text:
  NAME:TABLE/ROW/COLUMN     a cell; NAME is `results` for bench/results/TABLE.csv; ROW counts from 0, or is "a=b;c=d"
  rows:COLUMN/TEXT          the rows of the answer's own table that have the text in this column
  lines:FILE/HEADING        the lines of the first struct under this heading
  ... * 100                 times a factor
A comment <!-- once SPEC ... --> is an answer that waits for a result: a text and its line of numbers, which the script
uncomments as soon as the result is there. Each answer begins with one sentence in lines of "> " that has a number. Each
question needs a command, a picture or a table, and an address to read on. A picture ![...](questions/NAME-PART.svg) is
copied from `ordo lab NAME`.
A number keeps its decimals. It stays if it is within 2 % of the new one, or one unit of its last decimal: other
processors round in other ways. --check changes nothing, and fails if a number has moved further. TABLES=DIR keeps the
tables there and takes those that it has, such as DIR/data of `ordo lab report DIR --quick`.
  [TABLES=DIR] questions.py [--check] [PAGE]"""
import csv, functools, os, re, shutil, subprocess, sys, tempfile

root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
check = "--check" in sys.argv[1:]
pages = [a for a in sys.argv[1:] if a != "--check"]
page = pages[0] if pages else os.path.join(root, "tools/lab/questions.md")
ordo = os.environ.get("ORDO", os.path.join(root, "build/release/ordo"))
scratch = tempfile.TemporaryDirectory()
tables = os.environ.get("TABLES", scratch.name)


@functools.cache
def run(name):
    subprocess.run([ordo, "lab", name, "--quick", "-q", "--seed", "1", "--out", tables], check=True,
                   stdout=subprocess.DEVNULL)
    open(os.path.join(tables, name + ".done"), "w").close()  # an experiment may lack a table


@functools.cache
def table(name, part):
    path = os.path.join(tables, f"{name}-{part}.csv")
    if name == "results":
        path = os.path.join(root, "bench/results", part + ".csv")
    elif not os.path.exists(path) and not os.path.exists(os.path.join(tables, name + ".done")):
        run(name)
    with open(path) as file:
        return list(csv.DictReader(file))


def value(spec, section):
    source, _, factor = spec.partition(" * ")
    kind, _, rest = source.partition(":")
    where, _, what = rest.partition("/")
    if kind == "rows":
        head, _, *rows = [[c.strip() for c in line.split("|")] for line in section.split("\n") if line.startswith("|")]
        return sum(what in row[head.index(where)] for row in rows)
    if kind == "lines":
        with open(os.path.join(root, where)) as file:
            return len(re.search(rf"\n## {what}\n.*?\n(struct .*?\n}};)\n", file.read(), re.S)[1].split("\n"))
    row, column = what.split("/")
    rows = table(kind, where)
    if row.isdigit():
        return float(rows[int(row)][column]) * float(factor or 1)
    wanted = dict(part.split("=", 1) for part in row.split(";"))
    found = next(r for r in rows if all(r[k] == v for k, v in wanted.items()))
    return float(found[column]) * float(factor or 1)


moved = []


def shown(waiting, section):
    """A waiting text, once there is its number."""
    try:
        value(waiting[1], section)
    except (OSError, LookupError, StopIteration):
        return waiting[0]
    moved.append(f"{waiting[1]}: is there now")
    text, numbers = waiting[2].split("numbers:\n")
    return f"{text}<!-- numbers:\n{numbers}-->"


def answer(section):
    title = section.split("\n")[0]
    section = re.sub(r"<!-- once (.*?)\n(.*?)-->", lambda match: shown(match, section), section, flags=re.S)
    if title.startswith("## "):
        quoted = re.match(r"[^\n]*\n((?:> [^\n]*\n)*)", section)[1]
        sentences = len(re.findall(r"[.?!](?=\s|$)", quoted))
        bold = "" if re.search(r"\*\*-?[\d,.]*\d\*\*", quoted) else " without one"
        if sentences != 1 or bold:
            sys.exit(f"questions: {title}: expected an answer of one sentence with a bold number, found {sentences}{bold}")
        if not (re.search(r"`(build/ordo|make)\b", section) and re.search(r"!\[|\n\|", section) and "](http" in section):
            sys.exit(f"questions: {title}: expected a command, a picture or a table, and an address to read on")
    specs = [line for part in re.findall(r"<!-- numbers:\n(.*?)-->", section, re.S) for line in part.split("\n")[:-1]]
    parts = re.split(r"(<!--.*?-->)", section, flags=re.S)
    numbers = sum(len(re.findall(r"\*\*-?[\d,.]*\d\*\*", part)) for part in parts[::2])
    if len(specs) != numbers:
        sys.exit(f"questions: {title}: expected {len(specs)} bold numbers, found {numbers}")
    left = iter(specs)

    def replace(match):
        old, spec = match.group(1), next(left)
        decimals = len(old.partition(".")[2])
        was, now = float(old.replace(",", "")), value(spec, section)
        if abs(now - was) <= max(0.02 * abs(was), 10.0 ** -decimals if not re.match("rows|lines", spec) else 0):
            return match.group(0)
        moved.append(f"{spec}: {old} is now {now:,.{decimals}f}")
        return f"**{now:,.{decimals}f}**"

    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r"\*\*(-?[\d,.]*\d)\*\*", replace, parts[i])
    return "".join(parts)


with open(page) as file:
    text = file.read()
written = "".join(answer(section) for section in re.split(r"(?m)^(?=## )", text))
pictures = [os.path.join(os.path.dirname(page), name) for name in re.findall(r"!\[.*?\]\((questions/.*?\.svg)\)", text)]
if check:
    moved += [f"expected the picture {picture}" for picture in pictures if not os.path.exists(picture)]
for line in moved:
    print("questions:", line, file=sys.stderr)
if check:
    sys.exit(f"questions: {page}: run tools/scripts/questions.py" if moved else 0)
with open(page, "w") as file:
    file.write(written)
for picture in pictures:
    drawn = os.path.join(tables, os.path.basename(picture))
    if not os.path.exists(drawn):
        run(os.path.basename(picture).split("-")[0])
    shutil.copy(drawn, picture)
