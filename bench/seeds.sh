#!/bin/sh
# SPDX-License-Identifier: MIT
# Separates the effect of an encoding from chance. Trains two more seeds of the six most compared encodings, with the
# budget of the shipped files, which are the first seed. From the findings of `ordo lab compare`, it writes
# bench/results/seeds*: the losses of each run by document, and their comparison. bench/results/heldout-2 has the same
# of weights/heldout-2.txt. Files of another size or with other windows go into seeds-beside.csv and are not ranked.
#   [WORK=DIR] [SEEDS="2 3"] [KEEP=yes] seeds.sh BUILD CORPUS_DIR [NAME ...]
#   TOKENS=N [WORK=DIR] [SEEDS="1 2 3"] seeds.sh BUILD CORPUS_DIR NAME ...
# With TOKENS, the runs have another budget than the shipped files. Their results go to bench/results/tokens-N, where
# progress.csv has the held-out loss that the training measured after each quarter, on a part of the text. The README's
# table stays the same.
# The weights stay in WORK (build/weights/seeds, with TOKENS build/weights/tokens-N); they are too large to ship.
# Existing files of this budget are not trained again. Results of runs with the same recipe stay even if WORK lacks
# their weights. With KEEP=yes, only files that the results lack are measured, and the first, to compare recipes.
set -eu
[ $# -ge 2 ] || { sed -n '3,15p' "$0"; exit 2; }
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
results=bench/results$part
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
kept=$scratch/bench/results # next to a folder of weights, where the program looks
mkdir -p "$scratch/weights"
set --
for file in "$work"/*.safetensors; do set -- "$@" --model "$file"; done
controlled() {
    grep -q 'NOT CONTROLLED' "$scratch/found" || return 0
    sed -n '/^found:/,/^notes:/p' "$scratch/found" >&2
    echo "seeds: $1: expected runs that differ by encoding, size and seed alone; nothing is published" >&2
    exit 1
}
join() { # OLD NEW: the rows of NEW, and those of OLD whose file (the first column) is not in NEW
    # The last column of runs is the processor. Weights from before it was recorded keep what the results say. The one
    # before is the trunk; older results lack it.
    awk -F, 'function with_trunk(line) { if (no_trunk) sub(/,[^,]*$/, ",&", line); return line }
        pass == 1 { if (FNR == 1) has = $NF == "processor"; else if (has) processor[$1] = $NF
                    if (FNR == 1) old_trunk = /,trunk,/; next }
        pass == 2 { if (FNR == 1) { lacks = $NF == "processor" && !has; no_trunk = /,trunk,/ && !old_trunk }
                    measured[$1] = 1; print $0 ($NF == "" ? processor[$1] : ""); next }
        !($1 in measured) { print with_trunk($0 (lacks ? "," : "")) }' pass=1 "$1" pass=2 "$2" pass=3 "$1"
}
measure() { # TEXT FOLDER FILES ...: the losses on a text, joined with those of the folder in the results
    text=$1 folder=$2
    shift 2
    mkdir -p "$kept$folder"
    if [ -n "${KEEP:-}" ] && [ -e "$results$folder/seeds-runs.csv" ]; then
        first=$2
        for file; do
            shift
            [ "$file" = "$first" ] || { [ "$file" != --model ] &&
                ! grep -q "^$(basename "$file" .safetensors)," "$results$folder/seeds-runs.csv"; } || continue
            set -- "$@" --model "$file"
        done
    fi
    "$ordo" lab compare -q --all --corpus "$text" --out "$scratch" "$@" >"$scratch/found"
    controlled "$work"
    "$ordo" info "$2" | awk '$1 == "recipe.optimizer:" { name = $2 == "muon" ? "Muon" : "AdamW" } # $2: the first file
        $1 == "lr:" { lr = $2 }
        $1 == "corpus:" { corpus = $2 }
        END { print name " at " lr " on " corpus }' >"$scratch/recipe"
    for table in runs documents; do
        new=$scratch/compare-$table.csv
        old=$results$folder/seeds-$table.csv
        if [ -e "$old" ] && [ "$(head -n 1 "$results$folder/seeds-recipe.txt")" = "$(cat "$scratch/recipe")" ]; then
            join "$old" "$new" >"$kept$folder/seeds-$table.csv"
        else
            cp "$new" "$kept$folder/seeds-$table.csv"
        fi
    done
    { cat "$scratch/recipe" && basename "$text"; } >"$kept$folder/seeds-recipe.txt"
    # In an order that another measurement keeps.
    documents=$kept$folder/seeds-documents.csv
    { head -n 1 "$documents" && tail -n +2 "$documents" | LC_ALL=C sort -t, -k 1,1 -k 2,2n; } >"$scratch/sorted"
    mv "$scratch/sorted" "$documents"
}
measure "$held_out" '' "$@"
[ -n "$part" ] || [ ! -e weights/heldout-2.txt ] || measure weights/heldout-2.txt /heldout-2 "$@"
rm -f "$scratch"/compare-*
ORDO_WEIGHTS=$scratch/weights "$ordo" lab compare -q --all --out "$scratch" >"$scratch/found" # from the kept losses
controlled "$results and $work"
mkdir -p "$results"
cp -r "$kept"/* "$results"
publish() { # TABLE FILE
    rm -f "$results/$2.csv"
    [ ! -e "$scratch/compare-$1.csv" ] || cp "$scratch/compare-$1.csv" "$results/$2.csv"
}
publish loss seeds
publish pairs seeds-pairs
publish coverage seeds-coverage
publish beside seeds-beside
[ -n "$part" ] || [ ! -e "$scratch/compare-ranking.svg" ] || cp "$scratch/compare-ranking.svg" "$results/losses.svg"
[ ! -e "$kept/heldout-2" ] || { publish second-loss heldout-2/seeds && publish second-pairs heldout-2/seeds-pairs; }
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
