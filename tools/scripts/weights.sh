#!/bin/sh
# SPDX-License-Identifier: MIT
# Trains the shipped weights: one architecture, one corpus, one seed, one order and one budget; only the encoding
# differs. The last weights of a run are kept. `make weights CORPUS=DIR` and `make seeds CORPUS=DIR` call this script.
# Further seeds separate the effect of an encoding from chance.
#   [SEEDS="1 2 3"] [TOKENS=N] [RATE=0.006] [PRODUCTS=bf16|f32] [WORK=DIR] weights.sh ORDO CORPUS_DIR OUT_DIR [NAME ...]
# CORPUS_DIR holds simple.train.txt and simple.val.txt, each as it is or with .xz. bench/README.md explains the recipe.
# Its products are in bf16, which needs a machine that multiplies pairs of bf16. PRODUCTS=f32 works on any machine (over
# 2 million tokens of rope, the two ended 0.005 nats apart). Two runs at a time use one thread each. A run continues
# from a checkpoint in WORK (build/weights), which also holds unpacked files and logs. A finished file goes to OUT_DIR
# with its card: NAME.safetensors and NAME.md, or NAME-SEED.* with SEEDS. An existing file of the same budget is kept.
# Only the same version on the same type of CPU gives the same bits.
set -eu
[ $# -ge 3 ] || { sed -n '3,12p' "$0"; exit 2; }
export SEEDS="${SEEDS:-}" TOKENS="${TOKENS:-12000000}" RATE="${RATE:-0.006}" PRODUCTS="${PRODUCTS:-bf16}"

encoding_of() { # the spec of a file's name
    case $1 in
    rotate-stretch-*) echo "rotate-stretch:period=${1##*-}" ;;
    rope-none) echo 'pattern(rope,none)' ;;
    rope-none-window) echo 'pattern(rope,none)' ;;
    sink-rope) echo 'sink+rope' ;;
    none-large) echo none ;;
    rope-half) echo 'rope:keep=0.5' ;;
    rope-half-long) echo 'rope:keep=0.5,theta=7600000' ;;
    rope-alibi) echo 'rope+alibi' ;;
    rope-canon) echo 'rope+canon' ;;
    rope-log-scale) echo 'rope+log-scale' ;;
    rope-log-n) echo 'rope+log-scale:kind=log-n,length=256' ;;
    forget-5) echo 'forget:start=5' ;;
    sinusoidal-columns-32) echo 'sinusoidal:columns=32' ;;
    sinusoidal-theta-*) echo "sinusoidal:base=${1##*-}" ;;
    rope-theta-*) echo "rope:theta=${1##*-}" ;;
    *) echo "$1" ;;
    esac
}

size_of() { # the options of a file of another size; the study shows such files beside its ranking
    case $1 in
    none-large) echo "--ffn 524" ;; # as many parameters as deberta
    rope-none-window) echo "--window 64,0" ;; # the layers of rope see 64 tokens
    esac
}

text() { # NAME: its path, unpacked if needed; an incomplete text never has this path
    if [ -e "$corpus/$1" ]; then
        echo "$corpus/$1"
    elif [ -e "$corpus/$1.xz" ]; then
        xz -dc "$corpus/$1.xz" >"$WORK/$1.part" && mv "$WORK/$1.part" "$WORK/$1" && echo "$WORK/$1"
    else
        echo "weights: $corpus/$1: not found, nor with .xz" >&2
        return 5
    fi
}

deliver() { # NAME: copies to OUT_DIR, then renames, so that no incomplete file has the name
    for file in "$1.md" "$1.safetensors"; do
        cp "$WORK/$file" "$OUT/$file.part" && mv "$OUT/$file.part" "$OUT/$file" || return
    done
}

train() { # NAME SEED
    name=$1${SEEDS:+-$2}
    recipe="--tokens $TOKENS --batch 8 --optimizer muon --lr $RATE --products $PRODUCTS --seed $2"
    if [ -n "$SEEDS" ] && [ -e "$OUT/$name.safetensors" ]; then
        case $("$ORDO" info "$OUT/$name.safetensors") in *"$recipe "*) return ;; esac
    fi
    echo "weights: $name"
    [ -e "$WORK/$name.checkpoint" ] || rm -f "$WORK/$name.csv" # of a training that has ended
    # shellcheck disable=SC2086 # several words
    OMP_NUM_THREADS=1 "$ORDO" train --threads 1 --encoding "$(encoding_of "$1")" $(size_of "$1") \
        --out "$WORK/$name.safetensors" --corpus "$TEXT" --val "$VALIDATION" --tokenizer "$TOKENIZER" $recipe --keep last \
        --checkpoint "$WORK/$name.checkpoint" --resume --log "$WORK/$name.csv" >"$WORK/$name.log" 2>&1 &&
        "$TOOLS/card.sh" "$ORDO" "$WORK/$name.safetensors" >"$WORK/$name.md" 2>>"$WORK/$name.log" &&
        deliver "$name" &&
        rm -f "$WORK/$name.checkpoint" && return
    echo "weights: $name failed: $(tail -n 1 "$WORK/$name.log")" >&2
    return 255 # xargs starts no more runs
}

if [ "$1" = --one ]; then
    train "$2" "$3"
    exit
fi

ORDO=$(readlink -f "$1")
corpus=$2
OUT=$3
shift 3
TOOLS=$(cd "$(dirname "$0")" && pwd)
WORK=${WORK:-$TOOLS/../build/weights}
mkdir -p "$WORK" "$OUT"
TEXT=$(text simple.train.txt)
VALIDATION=$(text simple.val.txt)
TOKENIZER=$WORK/tokenizer-$(sha256sum <"$TEXT" | cut -c 1-8).safetensors # learned from this text, once for all files
[ -e "$TOKENIZER" ] || "$ORDO" train -q --threads 1 --corpus "$TEXT" --val "$VALIDATION" --vocab 4096 --tokens 256 --batch 1 \
    --eval-tokens 256 --out "$TOKENIZER" >/dev/null
export ORDO OUT TOOLS WORK TEXT VALIDATION TOKENIZER
[ $# -gt 0 ] || set -- none sinusoidal learned rope alibi t5 rotate-stretch-36 rotate-stretch-6 kerple fire xpos shaw cope \
    forget rope-none sandwich sink-rope transformer-xl deberta pope canon stick-breaking wall relative-logits selective-rope rope-log-scale dpb abacus path
for seed in ${SEEDS:-1}; do
    for name; do echo "$name $seed"; done
done | xargs -L 1 -P 2 "$0" --one || exit 1
