#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the fixtures of this folder: tiny random checkpoints in the layout of each family's own files, and the logits
that they give in double precision. Needs Python 3.10 and numpy.

  make.py [NAME ...]            write NAME/model.safetensors and expected.json from NAME/config.json (all without NAME)
  make.py --check [NAME ...]    the committed files are what this would write, and give the logits that they hold
  make.py --mutate [NAME ...]   break the transcription in one place after the other: what that does to the logits
  make.py --mutate --readme     and put that into README.md

A run of --check or --mutate ends with "N passed, N failed".
"""
import argparse
import json
import sys

sys.dont_write_bytecode = True  # no __pycache__ in the tree

import numpy as np  # noqa: E402

import absolute  # noqa: E402
import alibi  # noqa: E402
import disentangled  # noqa: E402
import embedders  # noqa: E402
import encoders  # noqa: E402
import experts  # noqa: E402
import gemma  # noqa: E402
import parallel  # noqa: E402
import rotary  # noqa: E402
import seq2seq  # noqa: E402
import windowed  # noqa: E402
from blocks import Seen, Traps, falling  # noqa: E402
from fixture import HERE, read_weights, write_weights  # noqa: E402
from weights import Weights, pattern  # noqa: E402

MODULES = [absolute, rotary, alibi, encoders, embedders, disentangled, seq2seq, parallel, gemma, windowed, experts]
FIXTURES = {fixture.name: fixture for module in MODULES for fixture in module.FIXTURES}

LEAST = 1e-2  # by how much a trap must change some logit
MARGIN = 1e-2  # between the likeliest and the next token of a greedy text

# --- what a fixture answers -----------------------------------------------------------------------------


def given(case):
    """What of a case is input."""
    return {key: value for key, value in case.items() if key not in ("logits", "hidden", "greedy", "last")}


def logits_of(fixture, arrays, case):
    """[tokens, vocabulary]; what a padding token answers is nobody's business: NaN"""
    weights = Weights(arrays)
    logits = fixture.forward(fixture.config, weights, given(case))
    logits[np.array(case.get("padding", [0] * len(logits)), bool)] = np.nan
    return logits, weights.read


def greedy(fixture, arrays, case):
    """The likeliest tokens after the case's, as long as they are so by a margin."""
    chosen, case = [], dict(case)
    while len(chosen) < fixture.greedy:
        last = logits_of(fixture, arrays, case)[0][-1]
        second, first = np.sort(last)[-2:]
        if first - second < MARGIN:
            break
        chosen.append(int(last.argmax()))
        case["tokens"] = case["tokens"] + chosen[-1:]
    return chosen


def rows_of(case, values):
    """The last of a case's rows, to 9 digits; None for padding"""
    rows = values[-case.get("last", len(values)) :]
    return [None if np.isnan(row).any() else [float(f"{x:.9g}") for x in row] for row in rows]


def expected(fixture, arrays):
    cases, read = [], set()
    for case in fixture.cases:
        logits, names = logits_of(fixture, arrays, case)
        read |= names
        cases.append(given(case) | {"logits": rows_of(case, logits)})
        if fixture.hidden:
            hidden = np.where(
                np.isnan(logits[:, :1]), np.nan, fixture.hidden(fixture.config, Weights(arrays), given(case))
            )
            cases[-1]["hidden"] = rows_of(case, hidden)
    unread = {pattern(name) for name in set(arrays) - read}
    assert unread == set(fixture.unread), f"{fixture.name}: tensors {unread} not read, expected {set(fixture.unread)}"
    if fixture.greedy:
        cases[0]["greedy"] = greedy(fixture, arrays, fixture.cases[0])
    return {"cases": cases}


def as_text(value):
    """JSON, with a list of numbers on one line."""
    if isinstance(value, dict):
        inner = ",\n".join(f"{json.dumps(key)}: {as_text(item)}" for key, item in value.items())
        return "{\n" + inner + "\n}"
    if isinstance(value, list) and any(isinstance(item, (dict, list)) for item in value):
        return "[\n" + ",\n".join(as_text(item) for item in value) + "\n]"
    return json.dumps(value)


def write(fixture):
    folder = fixture.folder
    write_weights(fixture, fixture.stored())
    (folder / "expected.json").write_text(as_text(expected(fixture, read_weights(fixture))) + "\n")
    size = sum(file.stat().st_size for file in folder.iterdir())
    assert size < 192 * 1024, f"{fixture.name}: more than 192 KB"
    print(f"{fixture.name}: {size / 1024:.0f} KB")


# --- are the committed files these? ---------------------------------------------------------------------


def check(fixture):
    """What is wrong with the committed files, or nothing."""
    folder = fixture.folder
    arrays, made = read_weights(fixture), fixture.stored()
    if fixture.bins == 1:  # the head is there, and is the embedding
        made["lm_head.weight"] = made["transformer.wte.weight"]
    if set(arrays) != set(made) or any(not np.array_equal(arrays[name], made[name]) for name in made):
        return "its files hold something else"
    now, then = expected(fixture, arrays), json.loads((folder / "expected.json").read_text())
    for new, old in zip(now["cases"], then["cases"], strict=True):
        if given(new) != given(old) or new.get("greedy") != old.get("greedy"):
            return "expected.json has other tokens"
        rows = ("logits", "hidden") if fixture.hidden else ("logits",)
        for row, before in ((a, b) for kind in rows for a, b in zip(new[kind], old[kind], strict=True)):
            if (row is None) != (before is None) or (row and np.abs(np.subtract(row, before)).max() > 1e-7):
                return "expected.json has other logits"
    return None


# --- does each trap show? -------------------------------------------------------------------------------


def difference(fixture, arrays, clean):
    worst = 0.0
    for case, right in zip(fixture.cases, clean):
        wrong = logits_of(fixture, arrays, case)[0]
        known = ~np.isnan(right)
        worst = max(worst, float(np.abs(wrong[known] - right[known]).max()))
    return worst


def mutate(fixture):
    """trap -> the largest change of a logit; and the deviation of the scores of a row of attention"""
    arrays = read_weights(fixture)
    Traps.met, Seen.scores = {}, []
    clean = [logits_of(fixture, arrays, case)[0] for case in fixture.cases]
    sharpness, changes = float(np.median(Seen.scores)), {}
    for trap in list(Traps.met):
        with falling(trap):
            changes[trap] = difference(fixture, arrays, clean)
    return changes, sharpness


def needed(fixture, trap):
    return fixture.fine if trap.startswith("GELU by") else LEAST


def mutate_all(fixtures, readme):
    lines, failed = ["| fixture | scores | a trap, and by how much it changes a logit |", "|---|---|---|"], 0
    for fixture in fixtures:
        changes, sharpness = mutate(fixture)
        weak = {trap: change for trap, change in changes.items() if change < needed(fixture, trap)}
        failed += bool(weak)
        for trap, change in weak.items():
            print(f"{fixture.name}: {trap}: changes the logits by {change:.2g} only", file=sys.stderr)
        lines.append(f"| {fixture.name} | {sharpness:.1f} | {row_of(changes)} |")
    if readme:
        into_readme(lines)
    else:
        print("\n".join(lines))
    return failed


def row_of(changes):
    """The traps in words; vectors that are left out in one figure, the smallest."""
    vectors = [change for trap, change in changes.items() if trap.startswith("without ")]
    rest = [f"{trap} {change:.2g}" for trap, change in changes.items() if not trap.startswith("without ")]
    return "; ".join(rest + ([f"any of {len(vectors)} vectors left out {min(vectors):.2g}"] if vectors else []))


def into_readme(lines):
    path = HERE / "README.md"
    before, rest = path.read_text().split("<!-- traps -->\n")[0::2]
    path.write_text(before + "<!-- traps -->\n" + "\n".join(lines) + "\n<!-- traps -->\n" + rest)


# --------------------------------------------------------------------------------------------------------


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--mutate", action="store_true")
    parser.add_argument("--readme", action="store_true")
    options = parser.parse_args()
    fixtures = [FIXTURES[name] for name in options.names] if options.names else list(FIXTURES.values())
    if options.mutate:
        failed = mutate_all(fixtures, options.readme)
    elif options.check:
        wrong = {fixture.name: check(fixture) for fixture in fixtures}
        for name, what in wrong.items():
            print(f"{name}: {what or 'as committed'}")
        failed = sum(what is not None for what in wrong.values())
    else:
        for fixture in fixtures:
            write(fixture)
        return 0
    print(f"{len(fixtures) - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
