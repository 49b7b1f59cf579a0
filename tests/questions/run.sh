#!/bin/sh
# SPDX-License-Identifier: MIT
# Computes the numbers of tools/lab/questions.md again.
#   SCRATCH=DIR run.sh BUILD
set -u
[ "$(basename "$1")" = release ] || { echo "0 passed, 0 failed"; exit 0; }
export ORDO="$1/ordo" ORDO_WEIGHTS=weights TABLES="$SCRATCH/tables"
mkdir -p "$TABLES"
cp -r tools/lab/questions "$SCRATCH"
page=$SCRATCH/page.md passed=0 failed=0
check() { # WHAT COMMAND ...
    what=$1
    shift
    if "$@" >"$SCRATCH/out" 2>&1; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED: $what"; cat "$SCRATCH/out"; fi
}
moved() { # QUESTION: with another first number, the check fails, and the script restores the page
    awk -v question="## $1." '/^## / { wanted = index($0, question) == 1 }
        wanted && !done && /^[^|]*\*\*-?[0-9]/ { done = sub(/\*\*-?[0-9]/, "&7") } { print }' tools/lab/questions.md >"$page"
    ! cmp -s "$page" tools/lab/questions.md && ! tools/scripts/questions.py --check "$page" &&
        tools/scripts/questions.py "$page" && tools/scripts/questions.py --check "$page"
}
lacks() { # EDIT TEXT: after this edit of sed, the check fails and says TEXT
    sed "$1" tools/lab/questions.md >"$page" &&
        tools/scripts/questions.py --check "$page" 2>&1 | grep -q "$2"
}
lacks_picture() {
    cp tools/lab/questions.md "$page" && tools/scripts/questions.py --check "$page" 2>&1 | grep -q 'expected the picture .*rotary-bases' &&
        tools/scripts/questions.py "$page" && cmp "$SCRATCH/questions/rotary-bases.svg" tools/lab/questions/rotary-bases.svg
}
waiting() { # a text that waits for a result that is there
    awk '/^Both are compared/ { print "<!-- once results:seeds/encoding=alibi/nll"; gsub(/0[.][0-9]+/, "0.000"); print
            getline; sub(/^<!-- /, "") } { print }' tools/lab/questions.md >"$page" &&
        ! tools/scripts/questions.py --check "$page" && tools/scripts/questions.py "$page" && grep -q 'ALiBi alone lowers the loss by \*\*0.076' "$page"
}
check 'the numbers of the page are those of the experiments' tools/scripts/questions.py --check
check 'twenty questions' test "$(grep -c '^## ' tools/lab/questions.md)" = 20
for question in $(seq 20); do check "another number in the answer to question $question" moved "$question"; done
check 'a question without a command' lacks 's/^`build.ordo lab values` · //' '## 8.*expected a command'
check 'a question without a picture' lacks '/^!.*values-shares/d' '## 8.*expected a command, a picture'
check 'an answer without a number' lacks '/^> right in .*14/s/[*]//g' '## 8.*of one sentence with a bold number, found 1 without one'
check 'an answer of two sentences' lacks '/^> right in .*14/s/$/ So./' '## 8.*of one sentence with a bold number, found 2'
rm "$SCRATCH/questions/rotary-bases.svg"
check 'a picture that is not there' lacks_picture
check 'a text that waits for a result' waiting
echo "$passed passed, $failed failed"
