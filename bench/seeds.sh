#!/bin/sh
# SPDX-License-Identifier: MIT
# Separates the effect of an encoding from chance. Trains two more seeds of the six most compared encodings, with the
# budget of the shipped files, which are the first seed. From the findings of `ordo lab compare`, it writes
# bench/results/seeds*: the losses of each run by document, and their comparison.
#   [WORK=DIR] [SEEDS="2 3"] seeds.sh BUILD CORPUS_DIR [NAME ...]
#   TOKENS=N [WORK=DIR] [SEEDS="1 2 3"] seeds.sh BUILD CORPUS_DIR NAME ...
# With TOKENS, the runs have another budget than the shipped files. Their results go to bench/results/tokens-N, where
# progress.csv has the held-out loss that the training measured after each quarter, on a part of the text. The README's
# table stays the same.
# The weights stay in WORK (build/weights/seeds, with TOKENS build/weights/tokens-N); they are too large to ship.
# Existing files of this budget are not trained again. Results of runs with the same recipe stay even if WORK lacks
# their weights.
set -eu
[ $# -ge 2 ] || { sed -n '3,13p' "$0"; exit 2; }
ordo=$(readlink -f "$1")/ordo
corpus=$(readlink -f "$2")
shift 2
[ $# -gt 0 ] || set -- none sinusoidal learned rope alibi t5
[ -z "${WORK:-}" ] || { mkdir -p "$WORK" && WORK=$(readlink -f "$WORK"); }
cd "$(dirname "$0")/.."
if [ -n "${TOKENS:-}" ]; then
    seeds="1 2 3" part=/tokens-$TOKENS # of results
else
    seeds="2 3" part=
fi
work=${WORK:-build/weights${part:-/seeds}}
SEEDS=${SEEDS:-$seeds} WORK=$work/texts tools/scripts/weights.sh "$ordo" "$corpus" "$work" "$@"
for file in weights/*.safetensors; do # the first seed of the shipped budget
    name=$(basename "$file" .safetensors)
    [ -n "$part" ] || [ "$name" = storyteller ] || cp "$file" "$work/$name-1.safetensors"
done

held_out=$corpus/simple.val.txt
[ -e "$held_out" ] || held_out=$work/texts/simple.val.txt # unpacked there
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
set --
for file in "$work"/*.safetensors; do set -- "$@" --model "$file"; done
"$ordo" lab compare -q --corpus "$held_out" --out "$scratch" "$@" >"$scratch/found"
controlled() {
    grep -q 'NOT CONTROLLED' "$scratch/found" || return 0
    sed -n '/^found:/,/^notes:/p' "$scratch/found" >&2
    echo "seeds: $1: expected runs that differ by encoding and seed alone; nothing is published" >&2
    exit 1
}
controlled "$work"

results=bench/results$part
mkdir -p "$results"
kept=$scratch/bench/results # next to a folder of weights, where the program looks
mkdir -p "$kept" "$scratch/weights"
"$ordo" info "$2" | awk '$1 == "recipe.optimizer:" { name = $2 == "muon" ? "Muon" : "AdamW" } $1 == "lr:" { lr = $2 } $1 == "corpus:" { corpus = $2 }
    END { print name " at " lr " on " corpus }' >"$kept/seeds-recipe.txt" # $2: the first file
for table in runs documents; do # the file is the first column
    new=$scratch/compare-$table.csv
    old=$results/seeds-$table.csv
    if cmp -s "$kept/seeds-recipe.txt" "$results/seeds-recipe.txt" && [ -e "$old" ]; then
        # The last column of runs is the processor. Weights from before it was recorded keep what the results say.
        awk -F, 'pass == 1 { if (FNR == 1) has = $NF == "processor"; else if (has) processor[$1] = $NF; next }
            pass == 2 { if (FNR == 1) lacks = $NF == "processor" && !has
                        measured[$1] = 1; print $0 ($NF == "" ? processor[$1] : ""); next }
            !($1 in measured) { print $0 (lacks ? "," : "") }' \
            pass=1 "$old" pass=2 "$new" pass=3 "$old" >"$kept/seeds-$table.csv"
    else
        cp "$new" "$kept/seeds-$table.csv"
    fi
done
# In an order that another measurement keeps.
documents=$kept/seeds-documents.csv
{ head -n 1 "$documents" && tail -n +2 "$documents" | LC_ALL=C sort -t, -k 1,1 -k 2,2n; } >"$scratch/sorted"
mv "$scratch/sorted" "$documents"
ORDO_WEIGHTS=$scratch/weights "$ordo" lab compare -q --out "$scratch" >"$scratch/found" # from the kept losses
controlled "$results and $work"
cp "$kept"/seeds-* "$results"
cp "$scratch/compare-loss.csv" "$results/seeds.csv"
cp "$scratch/compare-pairs.csv" "$results/seeds-pairs.csv"
if [ -z "$part" ]; then
    ORDO=$ordo tools/scripts/readme_table.sh
    exit
fi
# Of each measured run whose log is there; the others keep what the results say.
progress=$results/progress.csv
[ -e "$progress" ] || echo file,tokens,nll >"$progress"
set -- "$work"/texts/*-[0-9].csv
[ -e "$1" ] || exit 0
awk -F, -v all="$TOKENS" '
    BEGIN { all = int(all / 2048) * 2048 } # in whole steps
    FNR == 1 { quarter = 1; file = FILENAME; gsub(/.*\/|\.csv$/, "", file) }
    FILENAME == ARGV[1] { measured[$1] = 1; next }
    FILENAME == ARGV[ARGC - 1] { if (!($1 in logged)) print; next }
    file in measured && $7 ~ /^[0-9]/ && $2 >= quarter * all / 4 { print file "," $2 "," $7; quarter++; logged[file] = 1 }
' "$results/seeds-runs.csv" "$@" "$progress" | LC_ALL=C sort -t, -k 1,1 -k 2,2n >"$scratch/progress"
{ echo file,tokens,nll && grep -v '^file,' "$scratch/progress"; } >"$progress"
