#!/bin/sh
# SPDX-License-Identifier: MIT
# make.py reproduces the families' fixtures, and each trap changes the logits.
set -u
python=
for candidate in python3 /usr/bin/python3; do
    if "$candidate" -c 'import numpy, sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then python=$candidate && break; fi
done
[ -n "$python" ] || { echo "skipped: no python3 with numpy here"; exit 0; }
# With one thread the sums, and so the last digits, are the same everywhere.
export OPENBLAS_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1
count() { sed -n 's/^\([0-9]* passed, [0-9]*\) failed$/\1/p' "$1" | tr -d ' a-z' | tr ',' ' '; }
passed=0 failed=0
for mode in --check --mutate; do
    "$python" tests/families/make.py "$mode" >"$SCRATCH/log" 2>&1 || cat "$SCRATCH/log"
    # shellcheck disable=SC2046  # two numbers
    set -- $(count "$SCRATCH/log")
    passed=$((passed + ${1:-0})) failed=$((failed + ${2:-1}))
done
echo "$passed passed, $failed failed"
