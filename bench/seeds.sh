#!/bin/sh
# SPDX-License-Identifier: MIT
# What differs by the encoding and not by chance: trains two more seeds of the six encodings that are compared most, of the
# budget of the shipped files, which are the first seed of all, and takes bench/results/seeds* from what `ordo lab compare`
# finds: what it makes of the runs, and of each run its losses by document, from which `ordo lab compare` without --model
# does it again.
#   [WORK=DIR] seeds.sh BUILD CORPUS_DIR
# The weights stay in WORK (build/weights/seeds), they are too many to be shipped; files of this budget that are
# there already are not trained again.
set -eu
[ $# -eq 2 ] || { sed -n '3,9p' "$0"; exit 2; }
ordo=$(readlink -f "$1")/ordo
corpus=$(readlink -f "$2")
[ -z "${WORK:-}" ] || { mkdir -p "$WORK" && WORK=$(readlink -f "$WORK"); }
cd "$(dirname "$0")/.."
work=${WORK:-build/weights/seeds}
SEEDS="2 3" WORK=$work/texts tools/scripts/weights.sh "$ordo" "$corpus" "$work" none sinusoidal learned rope alibi t5
for file in weights/*.safetensors; do
    name=$(basename "$file" .safetensors)
    [ "$name" = storyteller ] || cp "$file" "$work/$name-1.safetensors"
done

held_out=$corpus/simple.val.txt
[ -e "$held_out" ] || held_out=$work/texts/simple.val.txt # unpacked there
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
set --
for file in "$work"/*.safetensors; do set -- "$@" --model "$file"; done
"$ordo" lab compare -q --corpus "$held_out" --out "$scratch" "$@" >"$scratch/found"
if grep -q 'NOT CONTROLLED' "$scratch/found"; then
    sed -n '/^found:/,/^notes:/p' "$scratch/found" >&2
    echo "seeds: $work: expected runs that differ by encoding and seed alone; nothing is published" >&2
    exit 1
fi
cp "$scratch/compare-loss.csv" bench/results/seeds.csv
"$ordo" info "$2" | awk '$1 == "recipe.optimizer:" { name = $2 == "muon" ? "Muon" : "AdamW" } $1 == "lr:" { lr = $2 } $1 == "corpus:" { corpus = $2 }
    END { print name " at " lr " on " corpus }' >bench/results/seeds-recipe.txt # $2: the first file
cp "$scratch/compare-pairs.csv" bench/results/seeds-pairs.csv
cp "$scratch/compare-runs.csv" bench/results/seeds-runs.csv
cp "$scratch/compare-documents.csv" bench/results/seeds-documents.csv
