#!/bin/sh
# SPDX-License-Identifier: MIT
# Takes the figures of bench/results again. bench/README.md says what they mean; the machine should be
# doing nothing else.
#   results.sh BUILD
set -eu
cd "$(dirname "$0")/.."
ordo=$1/ordo
results=bench/results
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$results"

{
    sed -n 's/^model name[^:]*: /CPU: /p' /proc/cpuinfo | sort | uniq -c | sed 's/^ *\([0-9]*\) \(.*\)/\2 (\1 logical)/'
    uname -sm
    "$ordo" --version
} >"$results/machine.txt"

# perplexity's columns, with the file and its encoding before them.
for file in weights/*.safetensors; do
    [ -e "$file" ] || { echo "results: weights/: expected weight files, found none" >&2; exit 1; }
    spec=$("$ordo" info "$file" | sed -n 's/^encoding: //p')
    "$ordo" perplexity -q -m "$file" --format csv >"$scratch/figures"
    awk -v file="$(basename "$file")" -v spec="$spec" -v first="$([ -s "$scratch/heldout" ] || echo 1)" '
        NR == 1 { if (first) print "file,encoding," $0; next }
        { print file ",\"" spec "\"," $0 }' "$scratch/figures" >>"$scratch/heldout"
done
cp "$scratch/heldout" "$results/heldout.csv"

# What each weight type costs, as convert records it.
echo "file,dtype,bytes,tokens,kl,top1" >"$scratch/accuracy"
for file in weights/*.safetensors; do
    for dtype in f16 bf16 q8_0 q4_0; do
        "$ordo" convert -q "$file" "$scratch/converted" --dtype "$dtype"
        "$ordo" info "$scratch/converted" >"$scratch/info"
        recorded() { sed -n "s/^  accuracy\.$1: //p" "$scratch/info"; }
        echo "$(basename "$file"),$dtype,$(wc -c <"$scratch/converted"),$(recorded tokens),$(recorded kl),$(recorded top1)" \
            >>"$scratch/accuracy"
    done
done
cp "$scratch/accuracy" "$results/accuracy.csv"

"$ordo" bench -q --encodings all -r 40 --format csv >"$scratch/encodings"
cp "$scratch/encodings" "$results/encodings.csv"

for trunk in '' --gated; do
    "$1/bench_training" -q $trunk --format csv >"$scratch/training"
    cp "$scratch/training" "$results/training${trunk#-}.csv"
done
