#!/bin/sh
# SPDX-License-Identifier: MIT
# What differs by the encoding and not by chance: trains three seeds of every shipped encoding, of a smaller
# budget than the shipped files had, and takes bench/results/seeds*.csv from what `ordo lab compare` finds.
#   [WORK=DIR] seeds.sh BUILD CORPUS_DIR
# The weights stay in WORK (build/weights/seeds), they are too many to be shipped; files of this budget that are
# there already are not trained again.
set -eu
[ $# -eq 2 ] || { sed -n '3,7p' "$0"; exit 2; }
ordo=$(readlink -f "$1")/ordo
corpus=$(readlink -f "$2")
[ -z "${WORK:-}" ] || { mkdir -p "$WORK" && WORK=$(readlink -f "$WORK"); }
cd "$(dirname "$0")/.."
work=${WORK:-build/weights/seeds}
SEEDS="1 2 3" TOKENS="${TOKENS:-2000000}" WORK=$work/work tools/scripts/weights.sh "$ordo" "$corpus" "$work"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
set --
for file in "$work"/*.safetensors; do set -- "$@" --model "$file"; done
"$ordo" lab compare -q --out "$scratch" "$@" >"$scratch/found"
if grep -q 'NOT CONTROLLED' "$scratch/found"; then
    sed -n '/^found:/,/^notes:/p' "$scratch/found" >&2
    echo "seeds: $work: expected runs that differ by encoding and seed alone; nothing is published" >&2
    exit 1
fi
cp "$scratch/compare-loss.csv" bench/results/seeds.csv
cp "$scratch/compare-pairs.csv" bench/results/seeds-pairs.csv
cp "$scratch/compare-runs.csv" bench/results/seeds-runs.csv
