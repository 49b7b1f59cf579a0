#!/bin/sh
# SPDX-License-Identifier: MIT
# Prints the card of the storyteller: what card.sh says of any file, what stories.sh says of this one, of texts of the corpus and of
# another model's stories, and its stories. BEFORE is the file that this leg of its training went on from. DOCUMENTS: a path a line.
#   [DOCUMENTS=TEXT.txt] [PEER=MODEL] tools/scripts/storyteller_card.sh ORDO FILE LOG CORPUS.txt [BEFORE] >CARD.md
set -eu
[ $# -eq 4 ] || [ $# -eq 5 ] || { sed -n '3,6p' "$0"; exit 2; }
ordo=$1 file=$2 log=$3 corpus=$4 before=${5:-}
tools=$(cd "$(dirname "$0")" && pwd)
"$tools/card.sh" "$ordo" "$file" "$log"
if [ -n "$before" ]; then
    cat <<EOF

## The leg before

What is above is of one leg of the training. It went on from weights (SHA-256 \`$(sha256sum "$before" | cut -d ' ' -f 1)\`)
that had seen $("$ordo" info "$before" | sed -n 's/^  tokens: //p') tokens in a leg of their own, by the command in their metadata.
EOF
fi
stories=$(PRINT=1 "$tools/stories.sh" "$ordo" "$corpus" "$file") || true
cat <<EOF

## Twenty stories

Of at most 400 tokens, from seeds 1 to 20 at the default sampling (\`tools/scripts/stories.sh\`, which says what it counts). Of this
file it says:

\`\`\`text
$(printf '%s\n' "$stories" | sed -n '/^storyteller/,$p')
\`\`\`
EOF
if [ -n "${DOCUMENTS:-}" ]; then
    judged=$(
        IFS='
'
        set -f
        # shellcheck disable=SC2086  # split at line breaks alone
        "$tools/stories.sh" --documents "$corpus" $DOCUMENTS
    )
    # Each of the four openings stands before five of the twenty.
    without=$(printf '%s\n' "$judged" | awk -F "'" '
        /^  that begin / { there[$2] += !/: none$/ }
        END { for (opening in there) n += 5 * !there[opening]; print n + 0 }')
    cat <<EOF

Stories of the corpus, held out and trained on, judged by the same rules, all and those with one of the four openings
(\`tools/scripts/stories.sh --documents\`). Of the twenty, $without have openings for which the corpus has no document:
of what a model can reach there these figures say nothing.

\`\`\`text
$judged
\`\`\`
EOF
fi
if [ -n "${PEER:-}" ]; then
    cat <<EOF

And of twenty stories by another model, $(basename "$PEER"):

\`\`\`text
$("$tools/stories.sh" "$ordo" "$corpus" "$PEER" || true)
\`\`\`
EOF
fi
cat <<EOF

$(printf '%s\n' "$stories" | sed -e '/^storyteller/,$d' -e 's/^## /### /')
EOF
