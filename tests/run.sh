#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs everything that was built, from the repository's root, and ends with one line of totals.
#   run.sh BUILD
# Each tests/*/run.sh but the fuzzer's is a suite of its own: it takes the build folder, works in
# $SCRATCH and may end with "N passed, N failed", or with "skipped: WHY"; otherwise its exit status counts
# as one.
set -u
build=$1
mode=$(basename "$build")
passed=0 failed=0 skipped=0
log=$build/test.log
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

suite() { # NAME PASSED FAILED [SKIPPED]
    passed=$((passed + $2)) failed=$((failed + $3)) skipped=$((skipped + ${4:-0}))
    echo "$1: $2 passed, $3 failed${4:+, $4 skipped} ($(($(date +%s) - started)) s)"
}
number() { # PATTERN: what it captures in the log, or nothing
    sed -nE "s/$1/\\1/p" "$log" | tail -n 1
}

filter='*'
if [ "$mode" = tsan ]; then
    filter='*Thread*'
    # Archer tells the sanitizer what OpenMP synchronises; libomp itself is not instrumented.
    OMP_TOOL_LIBRARIES=$(${CXX:-clang++} -print-file-name=libarcher.so)
    TSAN_OPTIONS="ignore_noninstrumented_modules=1 ${TSAN_OPTIONS:-}"
    export OMP_TOOL_LIBRARIES TSAN_OPTIONS
fi

echo "ordo_tests in $build:"
started=$(date +%s)
"$build/ordo_tests" --gtest_brief=1 --gtest_filter="$filter" >"$log" 2>&1
status=$?
cat "$log"
ran=$(number '^\[==========\] ([0-9]+) tests? from .* ran\..*')
good=$(number '^\[  PASSED  \] ([0-9]+) tests?\.')
left=$(number '^\[  SKIPPED \] ([0-9]+) tests?\.')
bad=$((${ran:-0} - ${good:-0} - ${left:-0}))
if [ -z "$ran" ] || { [ "$status" -ne 0 ] && [ "$bad" -eq 0 ]; }; then
    echo "ordo_tests: ended with status $status"
    bad=$((bad + 1))
fi
suite ordo_tests "${good:-0}" "$bad" "${left:-0}"

[ "$mode" = tsan ] || for target in "$build"/fuzz_*; do
    [ -x "$target" ] || continue
    name=$(basename "$target")
    started=$(date +%s)
    if "$target" "tests/fuzz/corpus/${name#fuzz_}" >"$log" 2>&1; then
        suite "$name, $(tail -n 1 "$log") replayed" 1 0
    else
        tail -n 40 "$log"
        suite "$name" 0 1
    fi
done

[ "$mode" = tsan ] || for script in tests/*/run.sh; do
    name=$(basename "$(dirname "$script")")
    [ "$name" != fuzz ] && [ -e "$script" ] || continue
    started=$(date +%s)
    mkdir "$scratch/$name"
    SCRATCH=$scratch/$name "$script" "$build" >"$log" 2>&1 </dev/null
    status=$?
    total=$(number '^([0-9]+ passed, [0-9]+) failed$')
    case $status:$total in
    0: | 0:*' 0') ;;
    *) cat "$log" ;;
    esac
    left=$(number '^skipped: (.*)$')
    case $status:$total:$left in
    0::?*) suite "$name, left out: $left" 0 0 1 ;;
    *::*) suite "$name" $((status == 0)) $((status != 0)) ;;
    *) suite "$name" "${total%% *}" "${total##* }" ;;
    esac
    [ -z "$total" ] || [ "$status" -eq 0 ] || [ "${total##* }" -ne 0 ] || failed=$((failed + 1))
done

[ "$skipped" -eq 0 ] || echo "$skipped skipped"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
