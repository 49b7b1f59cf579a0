#!/bin/sh
# SPDX-License-Identifier: MIT
# What differs by the encoding and not by chance: trains three seeds of every shipped encoding, of a smaller
# budget than the shipped files had, and takes bench/results/seeds*.csv from what `ordo lab compare` finds.
#   [WORK=DIR] seeds.sh BUILD CORPUS_DIR
# The weights stay in WORK (build/weights/seeds), they are too many to be shipped; files that are there
# already are not trained again.
set -eu
[ $# -eq 2 ] || { sed -n '3,7p' "$0"; exit 2; }
ordo=$(readlink -f "$1")/ordo
corpus=$(readlink -f "$2")
cd "$(dirname "$0")/.."
work=${WORK:-build/weights/seeds}
SEEDS="1 2 3" TOKENS=2000000 FINISH_TOKENS=380000 WORK=$work/work tools/weights.sh "$ordo" "$corpus" "$work"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
set --
for file in "$work"/*.safetensors; do set -- "$@" --model "$file"; done
"$ordo" lab compare -q --format csv "$@" >"$scratch/all"
# Each table comes after a line "# NAME: TITLE".
awk -v dir="$scratch" '/^# / { name = $2; sub(/:$/, "", name); next } NF { print >(dir "/" name) }' "$scratch/all"
cp "$scratch/loss" bench/results/seeds.csv
cp "$scratch/pairs" bench/results/seeds-pairs.csv
cp "$scratch/runs" bench/results/seeds-runs.csv
