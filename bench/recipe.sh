#!/bin/sh
# SPDX-License-Identifier: MIT
# The sweep behind the recipe of the shipped weights (README.md, "The training recipe"): one change of a base at a time,
# with equal tokens of one text in one order, judged by bits per byte of the held-out text.
#   [ENCODINGS="rope none"] [TOKENS=N] [WORK=DIR] bench/recipe.sh ORDO CORPUS_DIR [NAME ...]
# CORPUS_DIR holds simple.train.txt and simple.val.txt. Runs one after the other on one thread, in the order of the
# table below or of the given names. Continues from checkpoints in WORK (build/recipe), and skips finished runs. Prints
# finished runs as rows of CSV. A run with --isa is the same run with other kernels; it shows the effect of rounding
# alone.
set -eu
[ $# -ge 2 ] || { sed -n '3,9p' "$0"; exit 2; }
ordo=$1
corpus=$2
shift 2
tokens=${TOKENS:-2000000}
work=${WORK:-$(dirname "$0")/../build/recipe}
mkdir -p "$work"

changes() { # name, and the differences from the base
    cat <<'TABLE'
base
base@avx2 --isa avx2
base@avx512 --isa avx512
base@bf16 --products bf16
muon --optimizer muon
deviation-width --deviation 0
embedding-scale --deviation 0 --embedding-scale 11.3137
full-branches --full-branches
batch-4 --batch 4
batch-16 --batch 16
lr-half --lr 0.0015
lr-double --lr 0.006
warmup-10% --warmup 0.1
stable --schedule stable
to-zero --min-lr 0
no-decay --weight-decay 0
clip-quarter --clip 0.25
qk-norm --qk-norm head
vocabulary-2048 --vocab 2048
muon@avx2 --optimizer muon --isa avx2
muon@bf16 --optimizer muon --products bf16
muon-to-zero --optimizer muon --min-lr 0
muon-embedding-scale --optimizer muon --deviation 0 --embedding-scale 11.3137
muon-warmup-10% --optimizer muon --warmup 0.1
muon-lr-half --optimizer muon --lr 0.0015
muon-lr-double --optimizer muon --lr 0.006
muon-lr-double@avx2 --optimizer muon --lr 0.006 --isa avx2
muon-lr-double@bf16 --optimizer muon --lr 0.006 --products bf16
muon-lr-quadruple --optimizer muon --lr 0.012
muon-lr-quadruple@bf16 --optimizer muon --lr 0.012 --products bf16
muon-lr-octuple@bf16 --optimizer muon --lr 0.024 --products bf16
fast-batch-4@bf16 --optimizer muon --lr 0.006 --products bf16 --batch 4
fast-stable@bf16 --optimizer muon --lr 0.006 --products bf16 --schedule stable --decay 0.25 --min-lr 0.02
fast-qk-norm@bf16 --optimizer muon --lr 0.006 --products bf16 --qk-norm head
fast-qk-norm-stable@bf16 --optimizer muon --lr 0.006 --products bf16 --qk-norm head --schedule stable --decay 0.25 --min-lr 0.02
fast-embedding-scale@bf16 --optimizer muon --lr 0.006 --products bf16 --deviation 0 --embedding-scale 11.3137
fast-deviation-width@bf16 --optimizer muon --lr 0.006 --products bf16 --deviation 0
fast-full-branches@bf16 --optimizer muon --lr 0.006 --products bf16 --full-branches
fast-warmup-10%@bf16 --optimizer muon --lr 0.006 --products bf16 --warmup 0.1
fast-no-decay@bf16 --optimizer muon --lr 0.006 --products bf16 --weight-decay 0
fast-vocabulary-2048@bf16 --optimizer muon --lr 0.006 --products bf16 --vocab 2048
muon-scale-4 --optimizer muon --muon-scale 4
muon-batch-4 --optimizer muon --batch 4
muon-qk-norm --optimizer muon --qk-norm head
together --optimizer muon --deviation 0 --embedding-scale 11.3137 --warmup 0.1 --min-lr 0
TABLE
}

option() { # NAME DEFAULT WORD ...: the default, unless the words include the option
    name=$1 default=$2
    shift 2
    case " $* " in *" $name "*) ;; *) echo "$name $default" ;; esac
}

tokenizer() { # SIZE: a file with a tokenizer of SIZE entries, learned from the text
    file=$work/tokenizer-$1.safetensors
    [ -e "$file" ] || "$ordo" train -q --threads 1 --corpus "$corpus/simple.train.txt" --val "$corpus/simple.val.txt" \
        --vocab "$1" --tokens 256 --batch 1 --eval-tokens 256 --out "$file" >/dev/null
    echo "$file"
}

run() { # NAME ENCODING OPTION ...
    id=$1-$2-$tokens
    encoding=$2
    shift 2
    [ ! -e "$work/$id.out" ] || return 0
    vocabulary=4096
    case " $* " in *" --vocab 2048 "*) vocabulary=2048 ;; esac
    # shellcheck disable=SC2046 # several words
    OMP_NUM_THREADS=1 "$ordo" train -q --threads 1 --encoding "$encoding" --corpus "$corpus/simple.train.txt" \
        --val "$corpus/simple.val.txt" --tokenizer "$(tokenizer $vocabulary)" --tokens "$tokens" --keep last \
        --eval-every 1000000 --eval-tokens 256 $(option --batch 8 "$@") $(option --lr 0.003 "$@") "$@" \
        --checkpoint "$work/$id.checkpoint" --checkpoint-every 50 --resume --log "$work/$id.csv" \
        --out "$work/$id.safetensors" >"$work/$id.part" &&
        mv "$work/$id.part" "$work/$id.out" && rm -f "$work/$id.checkpoint"
}

names=${*:-$(changes | cut -d ' ' -f 1)}
for name in $names; do
    words=$(changes | sed -n "s/^$name\( \|\$\)//p")
    changes | grep -q "^$name\( \|\$\)" || { echo "recipe: $name: no change of this name" >&2; exit 2; }
    # shellcheck disable=SC2086 # several words
    for encoding in ${ENCODINGS:-rope none}; do run "$name" "$encoding" $words; done
done
echo "change,encoding,tokens,training_loss,validation_loss,bits_per_byte,options"
changes | while read -r name words; do
    for encoding in ${ENCODINGS:-rope none}; do
        for out in "$work/$name-$encoding"-*.out; do
            [ -e "$out" ] || continue
            awk -v name="$name" -v encoding="$encoding" -v words="$words" '
            { value[$1] = $2 }
            END { printf "%s,%s,%d,%s,%s,%s,%s\n", name, encoding, value["tokens:"], value["train_loss:"],
                         value["validation_loss:"], value["bits_per_byte:"], words }' "$out"
        done
    done
done
