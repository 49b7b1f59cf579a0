#!/bin/sh
# SPDX-License-Identifier: MIT
# Compares the instructions per token, counted by callgrind, with instructions.csv. The tolerance is 3 % in both
# directions, so that a slowdown is noticed and an improvement gets recorded.
#   SCRATCH=DIR run.sh BUILD [--write]
# Counts the instructions of Session::feed for 32 tokens, with everything that it calls and without the start-up. There
# is a row for each weight type, and for the first seven encodings, one with single tokens and one with chunks of a
# prompt. The test is skipped with a message without valgrind, in a sanitizer's build, or with another compiler than
# instructions.csv names.
set -u
build=$1
program=$build/bench_decode
expected=tests/callgrind/instructions.csv
passed=0 failed=0

leave_out() {
    echo "skipped: $*"
    exit 0
}
[ "$(basename "$build")" = release ] || leave_out "instructions are counted in the release build"
command -v valgrind >/dev/null || leave_out "no valgrind here"
command -v readelf >/dev/null || leave_out "no readelf here"
[ -x "$program" ] && [ "$program" -nt "$build/libordo.a" ] || leave_out "bench_decode is missing or old: make test builds it"
compiler=$(readelf -p .comment "$build/engine/kernels/avx2.o" | sed -n 's/^ *\[ *[0-9a-f]*\] *//p' | head -n 1)
known=$(sed -n 's/^# //p' "$expected")
[ "$compiler" = "$known" ] || [ "${2:-}" = --write ] || leave_out "counted with $known, found $compiler"
"$program" --isa avx2 -n 1 2>/dev/null || leave_out "this machine has no AVX2"

# valgrind does not support AVX-512, neither in Ordo's kernels nor in OpenBLAS.
per_token() { # TYPE ENCODING CHUNK
    OPENBLAS_CORETYPE=Haswell valgrind --tool=callgrind --callgrind-out-file=/dev/null \
        --toggle-collect='ordo::Session::feed(*' "$program" -q -t 1 --isa avx2 --dtype "$1" --encoding "$2" --chunk "$3" \
        -n 32 2>&1 | sed -n 's/.*Collected : \([0-9]*\)$/\1/p' | awk '{ print int($1 / 32) }'
}

if [ "${2:-}" = --write ]; then
    {
        echo "# $compiler"
        echo type,encoding,chunk,instructions
        sed '1,2d' "$expected" | while IFS=, read -r type encoding chunk _; do
            echo "$type,$encoding,$chunk,$(per_token "$type" "$encoding" "$chunk")"
        done
    } >"$SCRATCH/instructions.csv" && mv "$SCRATCH/instructions.csv" "$expected"
    exit
fi

sed '1,2d' "$expected" >"$SCRATCH/rows"
while IFS=, read -r type encoding chunk wanted; do
    found=$(per_token "$type" "$encoding" "$chunk")
    if [ -n "$found" ] && [ $((found * 100)) -le $((wanted * 103)) ] && [ $((found * 100)) -ge $((wanted * 97)) ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $type, $encoding, $chunk at once: expected $wanted instructions per token within 3 %, found ${found:-none}"
    fi
done <"$SCRATCH/rows"
[ "$failed" -eq 0 ] || echo "If that is meant: SCRATCH=\$(mktemp -d) tests/callgrind/run.sh $build --write"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
