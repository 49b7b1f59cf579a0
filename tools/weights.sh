#!/bin/sh
# SPDX-License-Identifier: MIT
# Trains the shipped weights: one trunk, one corpus, one seed, one order, one budget; only the
# encoding differs. `make weights CORPUS=DIR` calls it.
#   [WORK=DIR] tools/weights.sh ORDO CORPUS_DIR OUT_DIR [NAME ...]
# CORPUS_DIR holds stories.train.txt, stories.val.txt and simple.train.txt, each as it is or with .xz.
# Runs two at a time on one thread each and goes on from WORK/NAME.checkpoint where one exists. What is
# unpacked, logged and saved on the way lies in WORK (build/weights); a file that is finished comes to
# OUT_DIR with its card, NAME.safetensors and NAME.md. The same bits come out only on the same type of CPU.
set -eu
[ $# -ge 3 ] || { sed -n '3,9p' "$0"; exit 2; }
ordo=$(readlink -f "$1") corpus=$2 out=$3
shift 3
here=$(cd "$(dirname "$0")" && pwd)
work=${WORK:-$here/../build/weights}

encoding_of() { # the spec of a file's name
    case $1 in
    rotate-stretch-*) echo "rotate-stretch:period=${1##*-}" ;;
    *) echo "$1" ;;
    esac
}

text() { # NAME: its path, unpacked if need be; half of a text is never taken for one
    if [ -e "$corpus/$1" ]; then
        echo "$corpus/$1"
    elif [ -e "$corpus/$1.xz" ]; then
        xz -dc "$corpus/$1.xz" >"$work/$1.part" && mv "$work/$1.part" "$work/$1" && echo "$work/$1"
    else
        echo "weights: $corpus/$1: not found, nor with .xz" >&2
        return 5
    fi
}

deliver() { # NAME: first to OUT_DIR, then to its place there, so that no half of a file ever has the name
    for file in "$1.safetensors" "$1.md"; do
        cp "$work/$file" "$out/$file.part" && mv "$out/$file.part" "$out/$file" || return
    done
}

train() {
    OMP_NUM_THREADS=1 "$ordo" train --threads 1 --encoding "$(encoding_of "$1")" --out "$work/$1.safetensors" \
        --corpus "$stories" --val "$validation" --finish "$simple" --finish-tokens 1600000 \
        --tokens 8400000 --batch 8 --lr 0.003 --seed 1 \
        --checkpoint "$work/$1.checkpoint" --resume --log "$work/$1.csv" 2>"$work/$1.log" &&
        "$here/card.sh" "$ordo" "$work/$1.safetensors" >"$work/$1.md" && deliver "$1" && rm -f "$work/$1.checkpoint" &&
        return
    echo "weights: $1 failed: $(tail -n 1 "$work/$1.log")" >&2
    return 1
}

mkdir -p "$work" "$out"
stories=$(text stories.train.txt)
validation=$(text stories.val.txt)
simple=$(text simple.train.txt)
if [ $# -eq 0 ]; then
    set -- rope none learned sinusoidal alibi rotate-stretch-36 rotate-stretch-6
fi
status=0
while [ $# -gt 0 ]; do
    echo "weights: $1${2:+ and $2}"
    train "$1" &
    first=$!
    second=
    if [ $# -gt 1 ]; then
        train "$2" &
        second=$!
    fi
    wait "$first" || status=1
    [ -z "$second" ] || wait "$second" || status=1
    [ "$status" -eq 0 ] || exit 1
    shift
    [ $# -eq 0 ] || shift
done
