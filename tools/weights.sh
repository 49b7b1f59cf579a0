#!/bin/sh
# SPDX-License-Identifier: MIT
# Trains the shipped weights: one trunk, one corpus, one seed, one order, one budget; only the
# encoding differs. `make weights CORPUS=DIR` calls it.
#   tools/weights.sh ORDO CORPUS_DIR OUT_DIR [NAME ...]
# CORPUS_DIR holds stories.train.txt, stories.val.txt and simple.train.txt (or the same with .xz).
# Runs two at a time on one thread each, goes on from OUT_DIR/NAME.checkpoint where one exists, and
# writes a card beside each file. The same bits come out only on the same type of CPU.
set -eu
[ $# -ge 3 ] || { sed -n '3,9p' "$0"; exit 2; }
ordo=$(readlink -f "$1") corpus=$2 out=$3
shift 3
here=$(cd "$(dirname "$0")" && pwd)

encoding_of() { # the spec of a file's name
    case $1 in
    rotate-stretch-*) echo "rotate-stretch:period=${1##*-}" ;;
    *) echo "$1" ;;
    esac
}

mkdir -p "$out"
for text in stories.train.txt stories.val.txt simple.train.txt; do
    [ -e "$corpus/$text" ] || [ -e "$out/$text" ] || xz -dc "$corpus/$text.xz" >"$out/$text"
done
[ -e "$corpus/stories.train.txt" ] || corpus=$out

train() {
    OMP_NUM_THREADS=1 "$ordo" train --threads 1 --encoding "$(encoding_of "$1")" --out "$out/$1.safetensors" \
        --corpus "$corpus/stories.train.txt" --val "$corpus/stories.val.txt" \
        --finish "$corpus/simple.train.txt" --finish-tokens 1600000 \
        --tokens 8400000 --batch 8 --lr 0.003 --seed 1 \
        --checkpoint "$out/$1.checkpoint" --resume --log "$out/$1.csv" 2>"$out/$1.log" &&
        "$here/card.sh" "$ordo" "$out/$1.safetensors" >"$out/$1.md" && rm -f "$out/$1.checkpoint"
}

if [ $# -eq 0 ]; then
    set -- rope none learned sinusoidal alibi rotate-stretch-36 rotate-stretch-6
fi
while [ $# -gt 0 ]; do
    echo "weights: $1${2:+ and $2}"
    train "$1" &
    first=$!
    second=
    if [ $# -gt 1 ]; then
        train "$2" &
        second=$!
    fi
    wait "$first"
    [ -z "$second" ] || wait "$second"
    shift
    [ $# -eq 0 ] || shift
done
