#!/bin/sh
# SPDX-License-Identifier: MIT
# Prints a page beside the storyteller's card: the counts of stories.sh for this file, for texts of the corpus and for
# another model's stories, and its first three stories. BEFORE is the file from which this part of its training started.
#   [PEER=MODEL] tools/scripts/storyteller_stories.sh ORDO FILE CORPUS.txt HELD_OUT.txt [BEFORE] >STORIES.md
set -eu
[ $# -eq 4 ] || [ $# -eq 5 ] || { sed -n '3,5p' "$0"; exit 2; }
ordo=$1 file=$2 corpus=$3 held_out=$4 before=${5:-}
tools=$(cd "$(dirname "$0")" && pwd)
echo "# The stories of [$(basename "$file")]($(basename "$file" .safetensors).md)"
if [ -n "$before" ]; then
    seen=$("$ordo" info "$before" | awk '/^  (init\.)?tokens: / { n += $2 } END { printf "%d", n }' | sed -E ':a; s/([0-9])([0-9]{3})($|,)/\1,\2\3/; ta')
    cat <<EOF

## The earlier part of the training

The card describes the last part of the training. It started from weights
(SHA-256 \`$(sha256sum "$before" | cut -d ' ' -f 1)\`)
that had seen $seen tokens before, with the command in their metadata.
EOF
fi
stories=$(PRINT=3 "$tools/stories.sh" "$ordo" "$corpus" "$held_out" "$file") || true
cat <<EOF

## Stories

\`tools/scripts/stories.sh\` writes 100 stories, and explains its counts and bounds. Nobody selected their openings or
seeds. For this file it prints:

\`\`\`text
$(printf '%s\n' "$stories" | sed -n '/^storyteller/,$p')
\`\`\`
EOF
cat <<EOF

The same counts for stories of the corpus, held out and trained on (\`tools/scripts/stories.sh --documents\`):

\`\`\`text
$("$tools/stories.sh" --documents "$corpus" "$held_out" "$corpus")
\`\`\`
EOF
if [ -n "${PEER:-}" ]; then
    cat <<EOF

For comparison, the stories of another model, $(basename "$PEER"):

\`\`\`text
$("$tools/stories.sh" "$ordo" "$corpus" "$held_out" "$PEER" || true)
\`\`\`
EOF
fi
cat <<EOF

The first three:

$(printf '%s\n' "$stories" | sed '/^storyteller/,$d' | awk '
    /^## / { if (story++) print "```\n"; print "#" $0 "\n\n```text"; waiting = ""; begun = 0; next }
    /^$/ { if (begun) waiting = waiting "\n"; next }
    { printf "%s%s\n", waiting, $0; waiting = ""; begun = 1 }
    END { if (story) print "```" }')
EOF
