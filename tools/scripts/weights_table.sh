#!/bin/sh
# SPDX-License-Identifier: MIT
# Writes the table of weights/README.md between its two markers, from the files and bench/results. --check changes
# nothing, and fails if the README has another table.
#   weights_table.sh [--check]
set -eu
cd "$(dirname "$0")/../.."
ordo=${ORDO:-build/release/ordo} readme=weights/README.md
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
runs() { # FOLDER FILE: what its row says, as "nll processor"
    grep "^$2-1," "bench/results$1/seeds-runs.csv" | sed -E 's/"[^"]*"/x/' | awk -F, '{ print $5 " " $8 }'
}
{
    echo '| file | encoding | parameters | across documents | by document | heldout-2.txt | seed | processor |'
    echo '|---|---|--:|--:|--:|--:|--:|---|'
    for file in weights/*.safetensors; do
        name=$(basename "$file" .safetensors)
        "$ordo" info "$file" >"$scratch/info"
        of() { sed -n "s/^ *$1: //p" "$scratch/info" | head -n 1; }
        corpus=$(runs '' "$name") second=$(runs /heldout-2 "$name") own=$(of processor)
        printf '| [%s](%s.md) | `%s` | %s | %.3f | %s | %s | %s | %s |\n' "$name" "$name" \
            "$(of encoding | sed -E 's/:(period=[0-9.]+)[^+)]*/;\1/; s/:[^+)]*//g; s/;/:/')" "$(of size | sed 's/ parameters.*//')" \
            "$(of validation_loss)" "$(echo "$corpus" | awk '{ printf $1 == "" ? "–" : "%.3f", $1 }')" \
            "$(echo "$second" | awk '{ printf $1 == "" ? "–" : "%.3f", $1 }')" "$(of seed)" \
            "$(echo "$corpus" | sed 's/^[^ ]* *//' | grep . || echo "${own:-–}")"
    done
} >"$scratch/table"
awk -v table="$scratch/table" '
/^<!-- files:end -->$/ { inside = 0 }
!inside
/^<!-- files:begin -->$/ { inside = 1; while ((getline line < table) > 0) print line }' "$readme" >"$scratch/readme"
cmp -s "$scratch/readme" "$readme" && exit
if [ "${1:-}" = --check ]; then
    diff -u "$readme" "$scratch/readme" >&2 || true
    echo "weights_table: $readme: the table is not what the files give; tools/scripts/weights_table.sh writes it" >&2
    exit 1
fi
cat "$scratch/readme" >"$readme"
