#!/bin/sh
# SPDX-License-Identifier: MIT
# Prints the card of the storyteller: the card of any file (card.sh), the counts of stories.sh for this file, for texts
# of the corpus and for another model's stories, and its stories. BEFORE is the file from which this part of its
# training started. DOCUMENTS: one path per line.
#   [DOCUMENTS=TEXT.txt] [PEER=MODEL] tools/scripts/storyteller_card.sh ORDO FILE LOG CORPUS.txt [BEFORE] >CARD.md
set -eu
[ $# -eq 4 ] || [ $# -eq 5 ] || { sed -n '3,6p' "$0"; exit 2; }
ordo=$1 file=$2 log=$3 corpus=$4 before=${5:-}
tools=$(cd "$(dirname "$0")" && pwd)
"$tools/card.sh" "$ordo" "$file" "$log"
if [ -n "$before" ]; then
    cat <<EOF

## The earlier part of the training

The figures above describe the last part of the training. It started from weights
(SHA-256 \`$(sha256sum "$before" | cut -d ' ' -f 1)\`)
that had seen $("$ordo" info "$before" | sed -n 's/^  tokens: //p') tokens before, with the command in their metadata.
EOF
fi
stories=$(PRINT=1 "$tools/stories.sh" "$ordo" "$corpus" "$file") || true
cat <<EOF

## Twenty stories

Each has at most 400 tokens, from seeds 1 to 20 with the default sampling. \`tools/scripts/stories.sh\`
explains its counts. For this file it prints:

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
    # Each of the four openings begins five of the twenty.
    without=$(printf '%s\n' "$judged" | awk -F "'" '
        /^  that begin / { there[$2] += !/: none$/ }
        END { for (opening in there) n += 5 * !there[opening]; print n + 0 }')
    cat <<EOF

The same counts for stories of the corpus, held out and trained on: for all stories, and for those with
one of the four openings (\`tools/scripts/stories.sh --documents\`). Of the twenty, $without have openings that no
document of the corpus has; for these, the figures set no standard.

\`\`\`text
$judged
\`\`\`
EOF
fi
if [ -n "${PEER:-}" ]; then
    cat <<EOF

For comparison, twenty stories by another model, $(basename "$PEER"):

\`\`\`text
$("$tools/stories.sh" "$ordo" "$corpus" "$PEER" || true)
\`\`\`
EOF
fi
cat <<EOF

$(printf '%s\n' "$stories" | sed '/^storyteller/,$d' | awk '
    /^## / { if (story++) print "```\n"; print "#" $0 "\n\n```text"; waiting = ""; begun = 0; next }
    /^$/ { if (begun) waiting = waiting "\n"; next }
    { printf "%s%s\n", waiting, $0; waiting = ""; begun = 1 }
    END { if (story) print "```" }')
EOF
