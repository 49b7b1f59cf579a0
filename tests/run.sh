#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs everything that was built, from the repository's root, and ends with one line of totals.
#   run.sh BUILD
# $ORDO_TESTS is a filter of gtest's in the place of the mode's own; with $SWEEPS nothing is left out for its length.
# Each tests/*/run.sh but the fuzzer's is a suite of its own: it takes the build folder, works in
# $SCRATCH and may end with "N passed, N failed", or with "skipped: WHY"; otherwise its exit status counts
# as one.
set -u
build=$1
mode=$(basename "$build")
passed=0 failed=0 skipped=0
logs=$(mktemp -d)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch" "$logs"' EXIT
# What runs beside each other shares the processors: threads of OpenMP sleep at a barrier, where they would spin.
export OMP_WAIT_POLICY=passive

run() { # NAME COMMAND ...: to its end
    name=$1
    shift
    begin=$(date +%s)
    "$@" >"$logs/$name" 2>&1 </dev/null
    echo "$? $(($(date +%s) - begin))" >"$logs/$name.status"
}
start() { # NAME COMMAND ...: beside what was started before
    run "$@" &
}
status() { cut -d ' ' -f 1 "$logs/$1.status"; }
seconds() { cut -d ' ' -f 2 "$logs/$1.status"; }
suite() { # NAME PASSED FAILED SKIPPED SECONDS
    passed=$((passed + $2)) failed=$((failed + $3)) skipped=$((skipped + $4))
    left=
    [ "$4" -eq 0 ] || left=", $4 skipped"
    echo "$1: $2 passed, $3 failed$left ($5 s)"
}
number() { # NAME PATTERN: what it captures in the log, or nothing
    sed -nE "s/$2/\\1/p" "$logs/$1" | tail -n 1
}

# ---- ordo_tests, in shards -----------------------------------------------------------

filter='*'
# Long under the address sanitizer, and by code that other tests go through too: every malformed file in a process of
# its own (MalformedFiles has them all in one), large products, the accuracy of whole models.
if [ "$mode" = asan ] && [ -z "${SWEEPS:-}" ]; then
    filter='-CliMalformed*:Products.HaveTheSameBits*:Weights/WeightTypeGates*'
fi
if [ "$mode" = tsan ]; then
    filter='*Thread*'
    # Archer tells the sanitizer what OpenMP synchronises; libomp itself is not instrumented.
    OMP_TOOL_LIBRARIES=$(${CXX:-clang++} -print-file-name=libarcher.so)
    TSAN_OPTIONS="ignore_noninstrumented_modules=1 ${TSAN_OPTIONS:-}"
    export OMP_TOOL_LIBRARIES TSAN_OPTIONS
fi

emulator=
if [ "$mode" = arm64 ]; then
    # Programs of another machine, each run by qemu-user, those too that a test starts. What does not compute is left
    # out but with $SWEEPS: an emulator hardly says more of it than x86-64 does.
    emulator='qemu-aarch64 -L /usr/aarch64-linux-gnu'
    export ORDO_EMULATED=1 ORDO_BINARY="$scratch/ordo"
    printf '#!/bin/sh\nexec %s "%s/%s/ordo" "$@"\n' "$emulator" "$PWD" "$build" >"$ORDO_BINARY"
    chmod +x "$ORDO_BINARY"
    # The first copies the program, which is a script here; the second leaves an emulator too few files.
    filter='-CliGenerate.WeightsAreFoundBesideAnInstalledProgram:CliLab.AMissingProgramIsNamed:CliStreams.FewFilesAndASmallStackAreEnough'
    if [ -z "${SWEEPS:-}" ]; then
        filter='InstructionSets/*:Types/*:LinearLayer.*:BandedMatrix.*:QuantisedRows.*:Attention/*:TeamThreads.*'
        filter="$filter:All/EncodingOracle*:Models/EncodingContract.AgreesWithTheOracle/grouped*:Encodings/BatchOf*:Variants/*"
        filter="$filter:Units/*:Sizes/*:Halves.*:Plans/*.ChunksChangeNoBit/*"
        filter="$filter:Sessions.*:Generate.*:CliGenerate.Every*:Weights/ShippedWeights.Say*:Storyteller.*"
    fi
fi

echo "ordo_tests in $build:"
if [ -n "$emulator" ]; then # or what goes through all sets would go through one
    found=$($emulator "$build/ordo" --version | grep -c dotprod)
    without=$(QEMU_CPU=cortex-a57 $emulator "$build/ordo" --version | grep -c dotprod)
    suite "dot products are found where they are" $((found > 0 && without == 0)) $((found == 0 || without > 0)) 0 0
fi
# More shards than processors, and each processor takes the next one: some take twice as long as others.
shards=$((4 * $(nproc)))
all=$(seq -f shard%g 0 $((shards - 1)))
for _ in $(seq "$(nproc)"); do
    for shard in $all; do
        mkdir "$logs/$shard.taken" 2>/dev/null || continue
        # shellcheck disable=SC2086  # a command and its arguments
        run "$shard" env GTEST_TOTAL_SHARDS="$shards" GTEST_SHARD_INDEX="${shard#shard}" \
            $emulator "$build/ordo_tests" --gtest_brief=1 --gtest_filter="${ORDO_TESTS:-$filter}"
    done &
done
if [ -n "$emulator" ]; then # a machine without dot products, which must find out
    # shellcheck disable=SC2086  # as above
    start cortex-a57 env QEMU_CPU=cortex-a57 $emulator "$build/ordo_tests" --gtest_brief=1 --gtest_filter='InstructionSets/*:Storyteller.*'
    all="$all cortex-a57"
fi
wait
for shard in $all; do
    cat "$logs/$shard"
    ran=$(number "$shard" '^\[==========\] ([0-9]+) tests? from .* ran\..*')
    good=$(number "$shard" '^\[  PASSED  \] ([0-9]+) tests?\.')
    left_out=$(number "$shard" '^\[  SKIPPED \] ([0-9]+) tests?\.')
    bad=$((${ran:-0} - ${good:-0} - ${left_out:-0}))
    if [ -z "$ran" ] || { [ "$(status "$shard")" -ne 0 ] && [ "$bad" -eq 0 ]; }; then
        echo "ordo_tests: ended with status $(status "$shard")"
        bad=$((bad + 1))
    fi
    suite "ordo_tests, $shard" "${good:-0}" "$bad" "${left_out:-0}" "$(seconds "$shard")"
done
[ $((passed + failed)) -gt 0 ] || suite "ordo_tests: no test ran" 0 1 0 0

# ---- What was kept for the fuzzers, and the suites that are scripts ----------------------------------------

targets='' scripts=''
if [ "$mode" != tsan ] && [ "$mode" != arm64 ]; then
    for target in "$build"/fuzz_*; do
        [ -f "$target" ] && [ -x "$target" ] || continue
        name=$(basename "$target")
        targets="$targets $name"
        start "$name" "$target" "tests/fuzz/corpus/${name#fuzz_}"
    done
    for script in tests/*/run.sh; do
        name=$(basename "$(dirname "$script")")
        [ "$name" != fuzz ] && [ -e "$script" ] || continue
        [ "$mode" = release ] || [ "$name" = bench ] || continue # no other says more of an instrumented program
        scripts="$scripts $name"
        mkdir "$scratch/$name"
        start "$name" env SCRATCH="$scratch/$name" "$script" "$build"
    done
    wait
fi
for name in $targets; do
    if [ "$(status "$name")" -eq 0 ]; then
        suite "$name, $(tail -n 1 "$logs/$name") replayed" 1 0 0 "$(seconds "$name")"
    else
        tail -n 40 "$logs/$name"
        suite "$name" 0 1 0 "$(seconds "$name")"
    fi
done
for name in $scripts; do
    total=$(number "$name" '^([0-9]+ passed, [0-9]+) failed$')
    good=${total%% *} bad=${total##* } ended=$(status "$name")
    left_out=$(number "$name" '^skipped: (.*)$')
    if [ -z "$total" ]; then
        good=$((ended == 0)) bad=$((ended != 0))
    elif [ "$ended" -ne 0 ] && [ "$bad" -eq 0 ]; then
        bad=1
    fi
    [ "$ended" -eq 0 ] && [ "$bad" -eq 0 ] || cat "$logs/$name"
    if [ "$ended" -eq 0 ] && [ -z "$total" ] && [ -n "$left_out" ]; then
        suite "$name, left out: $left_out" 0 0 1 "$(seconds "$name")"
    else
        suite "$name" "$good" "$bad" 0 "$(seconds "$name")"
    fi
done

[ "$skipped" -eq 0 ] || echo "$skipped skipped"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
