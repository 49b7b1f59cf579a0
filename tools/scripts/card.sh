#!/bin/sh
# SPDX-License-Identifier: MIT
# Prints the card of a weight file that tools/scripts/weights.sh has trained. Every figure comes from
# the file.
#   tools/scripts/card.sh ORDO FILE >CARD.md
# The sample is also a golden test (tests/golden/weights_test.cpp). weights/README.md says what all cards share.
set -eu
[ $# -eq 2 ] || { sed -n '3,6p' "$0"; exit 2; }
ordo=$1 file=$2
info=$("$ordo" info "$file")
of() { # the value of a line "KEY: VALUE" of the info
    printf '%s\n' "$info" | sed -n "s/^ *$1: //p" | head -n 1
}
prompt="Once upon a time"
step=$(($(of batch) * $(of context)))
finish=$(of finish.tokens)
finish_seen=$((${finish:-0} / step * step)) # requested in tokens, rounded to whole steps
grouped() { printf '%s\n' "$1" | sed -E ':a; s/([0-9])([0-9]{3})($|,)/\1,\2\3/; ta'; }
seen() { # the tokens of this run, and of the runs before it
    seen=$(grouped "$(of tokens)") before=$(of init.tokens)
    [ -z "$finish" ] || seen="$seen, the last $(grouped $finish_seen) of them from \`$(of finish)\`"
    [ -z "$before" ] || seen="$seen, after $(grouped "$before") of earlier legs"
    echo "$seen"
}

# The recipe that the run recorded. Older files record only their command.
recipe() {
    [ -n "$(of recipe.format)" ] || return 0
    echo "| recipe | $(optimizer), batch $(of batch), lr $(of lr) down to $(of recipe.min_lr) of it ($(of recipe.schedule)), warm-up $(of recipe.warmup), weight decay $(of recipe.weight_decay), clip $(of recipe.clip), dropout $(of recipe.dropout), positions $(randomised), products in $(products), seed $(of seed) |"
}
optimizer() {
    [ "$(of recipe.optimizer)" = muon ] && echo "Muon (rate times $(of recipe.optimizer.scale)) and AdamW" || echo AdamW
}
products() { [ -n "$(of recipe.products)" ] && of recipe.products || echo f32; }
sampling() { # of {"temperature":0.8,...}
    of sampling | tr -d '{}"' | awk -F '[:,]' '{ for (i = 1; i < NF; i += 2) printf "%s%s %g", (i > 1 ? ", " : ""), $i, $(i + 1) }'
}
randomised() { [ "$(of recipe.randomised_positions)" = 0 ] && echo consecutive || echo "drawn from $(of recipe.randomised_positions)"; }

extra() { # rows that not every file has
    [ -z "$(of processor)" ] || echo "| processor | $(of processor) |"
    [ -z "$(of sampling)" ] || echo "| recommended sampling | $(sampling) |"
}

# Computed here, because a failure in the text below would go unnoticed.
rows=$(printf '%s\n' "| command | \`$(of command)\` |" && recipe && extra)
greedy=$("$ordo" generate -m "$file" --temp 0 -n 96 -p "$prompt" -q)

cat <<EOF
# $(basename "$file")

[README.md](README.md) explains the rows, and has the licence and the sources of the text.

| | |
|---|---|
| encoding | \`$(of encoding)\` |
| size | $(of tensors | sed 's/.*, //; s/ parameters//') parameters in half precision, $(of file | sed 's/.*, //') |
| SHA-256 | \`$(of sha256)\` |
| tokens seen | $(seen) |
| loss, across documents | $(of validation_loss) nats per token on \`$(of validation)\` |
| corpus | \`$(of corpus)\`, SHA-256 \`$(of corpus.sha256)\` |
$rows

Greedy sample, \`ordo generate -m $(basename "$file") --temp 0 -n 96 -p "$prompt"\`:

\`\`\`text
$greedy
\`\`\`
EOF
