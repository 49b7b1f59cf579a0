#!/bin/sh
# SPDX-License-Identifier: MIT
# Compares engine/examples/forward.cpp, which has no part of the engine, with the program: the text that each writes
# with every encoding of its table, and the logits after prompts that a tokenizer may get wrong.
#   SCRATCH=DIR run.sh BUILD
set -u
[ "$(basename "$1")" = release ] || { echo "0 passed, 0 failed"; exit 0; }
ordo=$1/ordo passed=0 failed=0
export ORDO_WEIGHTS=weights

check() { # WHAT COMMAND ...
    what=$1
    shift
    if "$@" >"$SCRATCH/out" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $what"
        cat "$SCRATCH/out"
    fi
}
small() { [ "$(wc -l <engine/examples/forward.cpp)" -le 250 ]; }
same_text() { # MODEL TOKENS
    "$ordo" generate -q -m "$1" -p 'Once upon a time' --temp 0 -n "$2" >"$SCRATCH/theirs" &&
        "$SCRATCH/forward" "$1" 'Once upon a time' "$2" >"$SCRATCH/ours" && diff "$SCRATCH/theirs" "$SCRATCH/ours"
}
same_logits() { # MODEL PROMPT: up to 1e-4
    "$ordo" logits -m "$1" -p "$2" >"$SCRATCH/theirs" && "$SCRATCH/forward" "$1" "$2" 0 >"$SCRATCH/ours" &&
        python3 - "$SCRATCH/theirs" "$SCRATCH/ours" <<'END'
import json, sys
theirs, ours = json.load(open(sys.argv[1]))["logits"][0], [float(x) for x in open(sys.argv[2]).read().split()]
assert len(theirs) == len(ours) == 4096
assert max(abs(a - b) for a, b in zip(theirs, ours)) < 1e-4, max(abs(a - b) for a, b in zip(theirs, ours))
END
}
refuses() { # WHAT COMMAND ...: with one line that has WHAT
    phrase=$1
    shift
    ! "$@" 2>"$SCRATCH/err" && [ "$(wc -l <"$SCRATCH/err")" = 1 ] && grep -F "$phrase" "$SCRATCH/err"
}

check 'forward.cpp has at most 250 lines' small
check 'forward.cpp builds without options and warnings' \
    ${CXX:-c++} -O2 -Wall -Wextra -Werror engine/examples/forward.cpp -o "$SCRATCH/forward"
for spec in segment rope+segment; do # no file with segments is shipped
    check "a model of $spec" "$ordo" train -q weights/heldout.txt --init weights/rope.safetensors --encoding $spec \
        --tokens 4096 --out "$SCRATCH/$spec.safetensors"
done
for model in weights/none weights/sinusoidal weights/learned weights/rope weights/alibi weights/t5 \
    weights/rotate-stretch-36 weights/rotate-stretch-6 "$SCRATCH/segment" "$SCRATCH/rope+segment"; do
    check "the text of $model" same_text "$model.safetensors" 60
    check "the logits of $model" same_logits "$model.safetensors" 'Tom and his dog went to the park.'
done
check 'a text that fills the context' same_text weights/alibi.safetensors 300
long=$(head -c 900 weights/heldout.txt)
for prompt in '' ' ' 'a' "$long" "It's  Lily's:   \"don't\" 'so' 12 34x" "$(printf ' \n\n The\tend \n')." 'café – “naïve” 3½' "''s 'LL I'll"; do
    check "the tokens of '$prompt'" same_logits weights/rope.safetensors "$prompt"
done
check 'another encoding is refused' refuses cope "$SCRATCH/forward" weights/cope.safetensors Once 1
check 'another architecture is refused' refuses norm "$SCRATCH/forward" weights/storyteller.safetensors Once 1
check 'no file is refused' refuses forward: "$SCRATCH/forward" missing Once 1
echo "$passed passed, $failed failed"
