#!/bin/sh
# SPDX-License-Identifier: MIT
# Measures the figures of bench/results again, or some of them. bench/README.md explains them. Run it on an idle machine
# for the figures that are times.
#   results.sh BUILD [losses|frontier|heldout|accuracy|encodings|training ...]
set -eu
[ $# -ge 1 ] || { sed -n '3,5p' "$0"; exit 2; }
cd "$(dirname "$0")/.."
build=$1
ordo=$build/ordo
shift
[ $# -gt 0 ] || set -- losses frontier heldout accuracy encodings training
results=bench/results
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$results"

machine() {
    {
        sed -n 's/^model name[^:]*: /CPU: /p' /proc/cpuinfo | sort | uniq -c |
            sed 's/^ *\([0-9]*\) \(.*\)/\2 (\1 logical)/'
        uname -sm
        "$ordo" --version
    } >"$results/machine.txt"
}

# The README's losses, of the kept runs (seeds.sh), on both texts.
losses() {
    "$ordo" lab compare -q --out "$scratch/kept" >"$scratch/found"
    for table in loss:seeds pairs:seeds-pairs coverage:seeds-coverage beside:seeds-beside \
        second-loss:heldout-2/seeds second-pairs:heldout-2/seeds-pairs; do
        [ ! -e "$scratch/kept/compare-${table%:*}.csv" ] ||
            cp "$scratch/kept/compare-${table%:*}.csv" "$results/${table#*:}.csv"
    done
    [ ! -e "$scratch/kept/compare-ranking.svg" ] || cp "$scratch/kept/compare-ranking.svg" "$results/losses.svg"
}

# The README's losses by length: the ends of the field, and newer encodings.
frontier() {
    set --
    for name in none learned rope alibi wall stick-breaking relative-logits dpb; do
        set -- "$@" -m "weights/$name.safetensors"
    done
    "$ordo" lab extrapolate -q --all --length 256,512,1024,2048 --out "$scratch/lengths" "$@" >"$scratch/found"
    cp "$scratch/lengths/extrapolate-frontier.svg" "$results/frontier.svg"
    cp "$scratch/lengths/extrapolate-frontier-lengths.csv" "$results/frontier.csv"
}

# perplexity's columns, after the file and its encoding.
heldout() {
    for file in weights/*.safetensors; do
        [ -e "$file" ] || { echo "results: weights/: expected weight files, found none" >&2; exit 1; }
        spec=$("$ordo" info "$file" | sed -n 's/^encoding: //p')
        "$ordo" perplexity -q -m "$file" --format csv >"$scratch/figures"
        awk -v file="$(basename "$file")" -v spec="$spec" -v first="$([ -s "$scratch/heldout" ] || echo 1)" '
            NR == 1 { if (first) print "file,encoding," $0; next }
            { print file ",\"" spec "\"," $0 }' "$scratch/figures" >>"$scratch/heldout"
    done
    cp "$scratch/heldout" "$results/heldout.csv"
}

# The loss of accuracy of each weight type, as convert records it.
accuracy() {
    recorded() { sed -n "s/^  accuracy\.$1: //p" "$scratch/info"; }
    echo "file,dtype,bytes,tokens,kl,top1" >"$scratch/accuracy"
    for file in weights/*.safetensors; do
        for dtype in f16 bf16 q8_0 q4_0; do
            "$ordo" convert -q "$file" "$scratch/converted" --dtype "$dtype"
            "$ordo" info "$scratch/converted" >"$scratch/info"
            figures=$(wc -c <"$scratch/converted"),$(recorded tokens),$(recorded kl),$(recorded top1)
            echo "$(basename "$file"),$dtype,$figures" >>"$scratch/accuracy"
        done
    done
    cp "$scratch/accuracy" "$results/accuracy.csv"
}

encodings() {
    "$ordo" bench -q --encodings all -r 40 --format csv >"$scratch/encodings"
    cp "$scratch/encodings" "$results/encodings.csv"
}

training() {
    for trunk in '' --gated; do
        "$build/bench_training" -q $trunk --format csv >"$scratch/training"
        cp "$scratch/training" "$results/training${trunk#-}.csv"
    done
}

for part; do
    case $part in
    losses | frontier | heldout | accuracy) "$part" ;;
    encodings | training)
        machine
        "$part"
        ;;
    *) echo "results: $part: expected losses, frontier, heldout, accuracy, encodings or training" >&2; exit 2 ;;
    esac
done
