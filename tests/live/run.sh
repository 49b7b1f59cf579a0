#!/bin/sh
# SPDX-License-Identifier: MIT
# The lab page's figures with sliders compute the same values as the engine. Needs node.
#   run.sh BUILD
set -eu
command -v node >/dev/null || { echo "skipped: no node here"; exit 0; }
scratch=${SCRATCH:-$(mktemp -d)}
sed -n '/^<script>$/,/^<\/script>$/p' tools/lab/report/live.cpp | sed '1d;$d' >"$scratch/live.js"
[ -s "$scratch/live.js" ] || { echo "live: tools/lab/report/live.cpp: expected a script, found none"; exit 1; }
exec node tests/live/compare.mjs "$1/ordo" "$scratch/live.js"
