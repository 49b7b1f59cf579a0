#!/bin/sh
# SPDX-License-Identifier: MIT
# Prints the card of a weight file that tools/scripts/weights.sh has trained. Every figure comes from the file or from
# LOG.
#   tools/scripts/card.sh ORDO FILE LOG >CARD.md
# LOG is the output of `ordo train --log`.
# The greedy sample is also a golden test (tests/golden/weights_test.cpp).
set -eu
[ $# -eq 3 ] || { sed -n '3,7p' "$0"; exit 2; }
ordo=$1 file=$2 log=$3
info=$("$ordo" info "$file")
of() { # the value of a line "KEY: VALUE" of the info
    printf '%s\n' "$info" | sed -n "s/^ *$1: //p" | head -n 1
}
prompt="Once upon a time"
step=$(($(of batch) * $(of context)))
finish=$(of finish.tokens)
finish_seen=$((${finish:-0} / step * step)) # requested in tokens, rounded to whole steps
seen() { # the tokens of this run, and of the runs before it
    seen=$(of tokens) before=$(of init.tokens)
    [ -z "$finish" ] || seen="$seen, the last $finish_seen of them from \`$(of finish)\`"
    [ -z "$before" ] || seen="$seen, after $before of earlier legs"
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

case $(basename "$file") in
storyteller.*)
    sources="TinyStories (Eldan and Li 2023), CDLA-Sharing-1.0. The tokenizer was trained on more text:
FairytaleQA, Apache-2.0, and Pratham Books / StoryWeaver and African Storybook, CC-BY 4.0, with
thanks to both."
    purpose="\`ordo generate\` uses this file by default. \`tools/scripts/storyteller.sh\` continues its training." ;;
*)
    sources="TinyStories (Eldan and Li 2023), CDLA-Sharing-1.0; FairytaleQA, Apache-2.0; Pratham Books /
StoryWeaver and African Storybook, CC-BY 4.0, with thanks to both."
    purpose="The weight files in this folder, except the storyteller, are one experiment: the same architecture,
corpus, seed, order of the data and budget. Only the encoding differs. \`make weights CORPUS=DIR\` trains
them again." ;;
esac

# A chart of the log's losses: a dot is the mean of the steps in a sixtieth of the run, an o the held-out loss.
curve() {
    awk -F, -v rows=16 -v columns=60 '
    NR > 1 { last = $2 }
    NR > 1 && $4 != "" { step[++n] = $2; loss[n] = $4 }
    NR > 1 && $7 != "" { at[++m] = $2; held[m] = $7 }
    function mark(x, y, sign,    row) {
        row = int((top - y) / (top - bottom) * (rows - 1) + 0.5)
        if (row >= 0 && row < rows) chart[row, x] = sign
    }
    function column(tokens) { return int((tokens - 1) / last * columns) }
    END {
        for (i = 1; i <= n; ++i) { sum[column(step[i])] += loss[i]; ++count[column(step[i])] }
        top = -1e9; bottom = 1e9
        for (x = 0; x < columns; ++x) {
            if (!count[x]) continue
            mean[x] = sum[x] / count[x]
            if (mean[x] > top) top = mean[x]
            if (mean[x] < bottom) bottom = mean[x]
        }
        for (i = 1; i <= m; ++i) if (held[i] < bottom) bottom = held[i]
        for (x = 0; x < columns; ++x) if (count[x]) mark(x, mean[x], ".")
        for (i = 1; i <= m; ++i) mark(column(at[i]), held[i], "o")
        for (row = 0; row < rows; ++row) {
            line = sprintf("%5.2f |", top - (top - bottom) * row / (rows - 1))
            for (x = 0; x < columns; ++x) line = line ((row, x) in chart ? chart[row, x] : " ")
            sub(/ +$/, "", line)
            print line
        }
        line = "      +"
        for (x = 0; x < columns; ++x) line = line "-"
        print line
        printf "       0%*s\n", columns - 1, sprintf("%.1f million tokens", last / 1e6)
    }' "$log"
}

# Computed here, because a failure in the text below would go unnoticed.
chart=$(curve)
command=$(printf '%s\n' "| command | \`$(of command)\` |" && recipe && extra)
sample=$("$ordo" generate -m "$file" -n 96 -s 1 -p "$prompt" -q)
greedy=$("$ordo" generate -m "$file" --temp 0 -n 96 -p "$prompt" -q)

cat <<EOF
# $(basename "$file")

| | |
|---|---|
| encoding | \`$(of encoding)\` |
| architecture | $(of n_layers) layers, $(of d_model) wide, $(of n_heads) heads of $(of d_head), feed-forward $(of d_ff) (gated SiLU), RMSNorm, tied head, vocabulary $(of vocab_size), context $(of context) |
| parameters | $(of tensors | sed 's/.*, //; s/ parameters//') in half precision, $(of file | sed 's/.*, //') |
| SHA-256 | \`$(of sha256)\` |
| tokens seen | $(seen) |
| training loss | $(of train_loss) nats per token (mean of the last 50 steps) |
| held-out loss | $(of validation_loss) nats per token on \`$(of validation)\` (windows that cross documents; \`ordo perplexity\` and the README's table start a window with each document, which gives a higher loss) |
| corpus | \`$(of corpus)\`, SHA-256 \`$(of corpus.sha256)\` |
$command

## Loss

Nats per token: \`.\` is the mean of a sixtieth of the training run, \`o\` is the held-out text.${finish:+ The last part of the run is on
simpler text.}

\`\`\`text
$chart
\`\`\`

$purpose

## Licence and sources

The weights are under the licence of this repository. Their training text is not part of it:
$sources

## Sample

\`ordo generate -m $(basename "$file") -n 96 -s 1 -p "$prompt"\`

\`\`\`text
$sample
\`\`\`

## Greedy sample

\`ordo generate -m $(basename "$file") --temp 0 -n 96 -p "$prompt"\`

\`\`\`text
$greedy
\`\`\`
EOF
