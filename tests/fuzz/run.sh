#!/bin/sh
# SPDX-License-Identifier: MIT
# Fuzzes each target for some time. Inputs that reach new code join its corpus, and crashes stay in the build folder.
#   run.sh BUILD SECONDS
set -eu
build=$1 seconds=$2 passed=0 failed=0

for source in tests/fuzz/fuzz_*.cpp; do
    target=$(basename "$source" .cpp)
    corpus=tests/fuzz/corpus/${target#fuzz_}
    found=$build/found/$target
    mkdir -p "$corpus" "$found"
    before=$(ls "$corpus" | wc -l)
    echo "$target: $seconds s from $before files"
    if "$build/$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=65536 -print_final_stats=1 \
        -artifact_prefix="$build/$target." "$found" "$corpus" >"$build/$target.log" 2>&1 &&
        "$build/$target" -merge=1 "$corpus" "$found" >>"$build/$target.log" 2>&1; then
        passed=$((passed + 1))
        echo "$target: $(sed -n 's/^stat::number_of_executed_units: *//p' "$build/$target.log") runs," \
            "$(($(ls "$corpus" | wc -l) - before)) new files"
    else
        failed=$((failed + 1))
        tail -n 40 "$build/$target.log"
        echo "$target: FAILED; the input is $build/$target.*"
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
