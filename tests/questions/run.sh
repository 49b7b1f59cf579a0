#!/bin/sh
# SPDX-License-Identifier: MIT
# Computes the numbers of tools/lab/questions.md again.
#   SCRATCH=DIR run.sh BUILD
set -u
[ "$(basename "$1")" = release ] || { echo "0 passed, 0 failed"; exit 0; }
export ORDO="$1/ordo" ORDO_WEIGHTS=weights
page=$SCRATCH/page.md passed=0 failed=0
check() { # WHAT COMMAND ...
    what=$1
    shift
    if "$@" >"$SCRATCH/out" 2>&1; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED: $what"; cat "$SCRATCH/out"; fi
}
moved() { # the answer to question 4 with another number
    sed -n '/^## 4/,/^## 5/p' tools/lab/questions.md | sed '$d; s/\*\*16.0\*\*/**17.0**/' >"$page" && grep -q '17.0' "$page" &&
        ! tools/scripts/questions.py --check "$page" 2>"$SCRATCH/err" && grep -q '17.0 is now 16.0' "$SCRATCH/err" &&
        tools/scripts/questions.py "$page" && grep -q '16.0' "$page"
}
check 'the numbers of the page are those of the experiments' tools/scripts/questions.py --check
check 'a number that moved is found and written' moved
check 'twenty questions' test "$(grep -c '^## ' tools/lab/questions.md)" = 20
echo "$passed passed, $failed failed"
