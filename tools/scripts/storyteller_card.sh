#!/bin/sh
# SPDX-License-Identifier: MIT
# Prints the card of the storyteller: what card.sh says of any file, what stories.sh says of this one, and its stories.
#   tools/scripts/storyteller_card.sh ORDO FILE LOG CORPUS.txt >CARD.md
set -eu
[ $# -eq 4 ] || { sed -n '3,4p' "$0"; exit 2; }
ordo=$1 file=$2 log=$3 corpus=$4
tools=$(cd "$(dirname "$0")" && pwd)
"$tools/card.sh" "$ordo" "$file" "$log"
stories=$(PRINT=1 "$tools/stories.sh" "$ordo" "$corpus" "$file") || true
cat <<EOF

## Twenty stories

Of at most 400 tokens, from seeds 1 to 20 at the default sampling (\`tools/scripts/stories.sh\`, which says what it counts). Of this
file it says:

\`\`\`text
$(printf '%s\n' "$stories" | sed -n '/^storyteller/,$p')
\`\`\`

$(printf '%s\n' "$stories" | sed -e '/^storyteller/,$d' -e 's/^## /### /')
EOF
