#!/bin/sh
# SPDX-License-Identifier: MIT
# Prints the card of a weight file that tools/weights.sh has trained: nothing in it is typed.
#   tools/card.sh ORDO FILE >CARD.md
# The greedy sample is also a golden test (tests/golden/weights_test.cpp).
set -eu
[ $# -eq 2 ] || { sed -n '3,6p' "$0"; exit 2; }
ordo=$1 file=$2
info=$("$ordo" info "$file")
of() { # the value of a line "KEY: VALUE" of the info
    printf '%s\n' "$info" | sed -n "s/^ *$1: //p" | head -n 1
}
prompt="Once upon a time"
step=$(($(of batch) * $(of context)))
finish_seen=$(($(of finish.tokens) / step * step)) # asked for in tokens, given in whole steps

cat <<EOF
# $(basename "$file")

| | |
|---|---|
| encoding | \`$(of encoding)\` |
| trunk | $(of n_layers) layers, $(of d_model) wide, $(of n_heads) heads of $(of d_head), feed-forward $(of d_ff) (gated SiLU), RMSNorm, tied head, vocabulary $(of vocab_size), context $(of context) |
| parameters | $(of tensors | sed 's/.*, //; s/ parameters//') in half precision, $(of file | sed 's/.*, //') |
| SHA-256 | \`$(of sha256)\` |
| tokens seen | $(of tokens), the last $finish_seen of them from \`$(of finish)\` |
| training loss | $(of train_loss) nats a token (mean of the last 50 steps) |
| held-out loss | $(of validation_loss) nats a token on \`$(of validation)\` |
| corpus | \`$(of corpus)\`, SHA-256 \`$(of corpus.sha256)\` |
| command | \`$(of command)\` |

The weight files of this folder are one experiment: the same trunk, corpus, seed, order of the data and
budget; only the encoding differs. \`make weights CORPUS=DIR\` makes them again.

## Licence and sources

The weights are under the licence of this repository. The text that they were trained on is not part of
it: children's classics in the public domain in the USA (Project Gutenberg texts, its header and licence
removed); FairytaleQA, Apache-2.0; TinyStories, CDLA-Sharing-1.0; Pratham Books / StoryWeaver and African
Storybook, CC-BY 4.0, with thanks to both.

## Sample

What a user sees: \`ordo generate -m $(basename "$file") -n 96 -s 1 -p "$prompt"\`

\`\`\`text
$("$ordo" generate -m "$file" -n 96 -s 1 -p "$prompt" -q 2>/dev/null)
\`\`\`

## Greedy sample

\`ordo generate -m $(basename "$file") --temp 0 -n 96 -p "$prompt"\`

\`\`\`text
$("$ordo" generate -m "$file" --temp 0 -n 96 -p "$prompt" -q 2>/dev/null)
\`\`\`
EOF
