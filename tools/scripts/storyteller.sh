#!/bin/sh
# SPDX-License-Identifier: MIT
# Trains the shipped storyteller on plain short stories. It continues from OUT_DIR/storyteller.safetensors, if that
# exists. Each part of the training ends with a low learning rate, so that its result can be shipped and continued.
#   [TOKENS=N] [PRODUCTS=f32|bf16] [WORK=DIR] [PEER=MODEL] tools/scripts/storyteller.sh ORDO CORPUS_DIR OUT_DIR
# CORPUS_DIR holds tiny.train.txt and tiny.val.txt, and for the first tokenizer simple.train.txt and simple.val.txt,
# each as it is or with .xz. It uses one thread, and continues from a checkpoint in WORK (build/storyteller). The file
# goes to OUT_DIR with its card. The card has three stories, and the counts of stories.sh for it and for PEER, another
# model. bf16 is faster on a machine that multiplies pairs of bf16, and gives other bits.
set -eu
[ $# -eq 3 ] || { sed -n '3,9p' "$0"; exit 2; }
ordo=$1 corpus=$2 out=$3
tools=$(cd "$(dirname "$0")" && pwd)
work=${WORK:-$tools/../../build/storyteller}
mkdir -p "$work" "$out"

text() { # NAME: its path, unpacked if needed
    if [ -e "$corpus/$1" ]; then
        echo "$corpus/$1"
    else
        [ -e "$work/$1" ] || { xz -dc "$corpus/$1.xz" >"$work/$1.part" && mv "$work/$1.part" "$work/$1"; }
        echo "$work/$1"
    fi
}
train=$(text tiny.train.txt)
val=$(text tiny.val.txt)

# The starting point of a leg stays next to its checkpoint until both are removed.
if [ ! -e "$work/storyteller.checkpoint" ]; then
    rm -f "$work/before.safetensors" "$work/storyteller.csv"
    [ ! -e "$out/storyteller.safetensors" ] || cp "$out/storyteller.safetensors" "$work/before.safetensors"
fi
if [ -e "$work/before.safetensors" ]; then
    # With the first leg's rate, a second one stood still: 2.24 and 2.23 nats after 2 and 4 million tokens.
    set -- --init "$work/before.safetensors" --lr 0.003 --decay 0.8 --dropout 0.05
else
    tokenizer=$work/tokenizer-4096.safetensors # learned from the wider text
    [ -e "$tokenizer" ] || "$ordo" train -q --threads 1 --corpus "$(text simple.train.txt)" --val "$(text simple.val.txt)" \
        --vocab 4096 --tokens 256 --batch 1 --eval-tokens 256 --out "$tokenizer" >/dev/null
    set -- --tokenizer "$tokenizer" --lr 0.006 --decay 0.3
fi
OMP_NUM_THREADS=1 "$ordo" train --threads 1 --corpus "$train" --val "$val" "$@" --encoding rope \
    --layers 6 --dim 256 --heads 8 --ffn 704 --qk-norm head --ctx 512 --batch 4 \
    --optimizer muon --schedule stable --min-lr 0.02 --products "${PRODUCTS:-f32}" \
    --tokens "${TOKENS:-24000000}" --eval-every 1000 --eval-tokens 32768 --keep last \
    --checkpoint "$work/storyteller.checkpoint" --checkpoint-every 200 --resume --log "$work/storyteller.csv" \
    --out "$work/trained.safetensors"
# Chosen on stories that begin like documents 101 to 350 of the held-out text; stories.sh has the first hundred.
cat >"$work/generation_config.json" <<EOF
{"do_sample": true, "temperature": 0.8, "top_k": 40, "top_p": 0.95, "min_p": 0.1, "repetition_penalty": 1.05}
EOF
"$ordo" convert -q "$work/trained.safetensors" "$work/storyteller.safetensors" \
    --generation-config "$work/generation_config.json"
set -- "$ordo" "$work/storyteller.safetensors" "$train" "$val"
[ ! -e "$work/before.safetensors" ] || set -- "$@" "$work/before.safetensors"
"$tools/storyteller_stories.sh" "$@" >"$work/storyteller-stories.md"
{ "$tools/card.sh" "$1" "$2" && printf '\n[Its earlier training, and three stories](storyteller-stories.md)\n'; } >"$work/storyteller.md"
for file in storyteller.md storyteller-stories.md storyteller.safetensors; do
    cp "$work/$file" "$out/$file.part" && mv "$out/$file.part" "$out/$file"
done
rm -f "$work/storyteller.checkpoint" "$work/storyteller.csv" "$work/before.safetensors" "$work/trained.safetensors"
