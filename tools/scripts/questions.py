#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the bold numbers of tools/lab/questions.md from the tables of `ordo lab NAME --quick`. The lines of a comment
<!-- numbers: ... --> below an answer say where they come from, in the order of the text:
  NAME:TABLE/ROW/COLUMN     a cell; NAME is `results` for bench/results/TABLE.csv; ROW counts from 0, or is "a=b;c=d"
  ... * 100                 times a factor
A number keeps its decimals. It stays if it is within 2 % of the new one, or one unit of its last decimal: other
processors round in other ways. --check changes nothing, and fails if a number has moved further. TABLES=DIR takes the
tables from there, such as DIR/data of `ordo lab report DIR --quick`.
  [TABLES=DIR] questions.py [--check] [PAGE]"""
import csv, functools, os, re, subprocess, sys, tempfile

root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
check = "--check" in sys.argv[1:]
pages = [a for a in sys.argv[1:] if a != "--check"]
page = pages[0] if pages else os.path.join(root, "tools/lab/questions.md")
ordo = os.environ.get("ORDO", os.path.join(root, "build/release/ordo"))
scratch = tempfile.TemporaryDirectory()
tables = os.environ.get("TABLES", scratch.name)


@functools.cache
def run(name):
    if "TABLES" in os.environ:
        return
    subprocess.run([ordo, "lab", name, "--quick", "-q", "--seed", "1", "--out", scratch.name], check=True,
                   stdout=subprocess.DEVNULL)


@functools.cache
def table(name, part):
    if name == "results":
        path = os.path.join(root, "bench/results", part + ".csv")
    else:
        run(name)
        path = os.path.join(tables, f"{name}-{part}.csv")
    with open(path) as file:
        return list(csv.DictReader(file))


def value(spec):
    cell, _, factor = spec.partition(" * ")
    where, row, column = cell.split("/")
    rows = table(*where.split(":"))
    if row.isdigit():
        found = rows[int(row)]
    else:
        wanted = dict(part.split("=", 1) for part in row.split(";"))
        found = next(r for r in rows if all(r[k] == v for k, v in wanted.items()))
    return float(found[column]) * float(factor or 1)


moved = []


def answer(section):
    specs = re.search(r"<!-- numbers:\n(.*?)-->", section, re.S)
    numbers = re.findall(r"\*\*(-?[\d,.]*\d)\*\*", section)
    lines = specs.group(1).strip().split("\n") if specs else []
    if len(lines) != len(numbers):
        sys.exit(f"questions: {section.splitlines()[0]}: expected {len(lines)} bold numbers, found {len(numbers)}")
    left = iter(lines)

    def replace(match):
        old, spec = match.group(1), next(left)
        decimals = len(old.partition(".")[2])
        was, now = float(old.replace(",", "")), value(spec)
        if abs(now - was) <= max(0.02 * abs(was), 10.0 ** -decimals):
            return match.group(0)
        moved.append(f"{spec}: {old} is now {now:,.{decimals}f}")
        return f"**{now:,.{decimals}f}**"

    return re.sub(r"\*\*(-?[\d,.]*\d)\*\*", replace, section)


with open(page) as file:
    text = file.read()
written = "".join(answer(section) for section in re.split(r"(?m)^(?=## )", text))
for line in moved:
    print("questions:", line, file=sys.stderr)
if check:
    sys.exit(f"questions: {page}: run tools/scripts/questions.py" if moved else 0)
with open(page, "w") as file:
    file.write(written)
