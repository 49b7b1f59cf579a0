#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs all built tests from the repository's root and ends with one line of totals.
#   run.sh BUILD
# $ORDO_TESTS replaces the mode's gtest filter. With $SWEEPS even the longest tests run. Each tests/*/run.sh except the
# fuzzer's is a separate suite. It takes the build folder, works in $SCRATCH and may end with "N passed, N failed" or
# "skipped: WHY". Otherwise its exit status counts as one test.
set -u
build=$1
mode=$(basename "$build")
passed=0 failed=0 skipped=0
logs=$(mktemp -d)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch" "$logs"' EXIT
# Concurrent tests share the processors: threads of OpenMP sleep at a barrier instead of spinning.
export OMP_WAIT_POLICY=passive

run() { # NAME COMMAND ...: waits for its end
    name=$1
    shift
    begin=$(date +%s)
    "$@" >"$logs/$name" 2>&1 </dev/null
    echo "$? $(($(date +%s) - begin))" >"$logs/$name.status"
}
start() { # NAME COMMAND ...: in parallel with earlier ones
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
number() { # NAME PATTERN: its capture in the log, or nothing
    sed -nE "s/$2/\\1/p" "$logs/$1" | tail -n 1
}

# ---- ordo_tests, in shards -----------------------------------------------------------

filter='*'
# These take long under the address sanitizer and run code that other tests cover: every malformed file in its own
# process (MalformedFiles runs them all in one), large products and texts, the accuracy of whole models, the values of
# every model (the other contracts run the same models), and a start of the program for each name in a list.
if [ "$mode" = asan ] && [ -z "${SWEEPS:-}" ]; then
    filter='-CliMalformed*:Products.HaveTheSameBits*:LongContext.*:Weights/WeightTypeGates*'
    filter="$filter:Models/EncodingContract.AgreesWithTheOracle*:CliEncodings.List*:CliNumbers.EachIs*:CliTokenize.Twenty*"
fi
if [ "$mode" = asan ]; then # libedit never frees the name of a function that is added (EL_ADDFN)
    echo leak:wcsdup >"$scratch/leaks"
    export LSAN_OPTIONS="suppressions=$scratch/leaks:print_suppressions=0:${LSAN_OPTIONS:-}"
fi
if [ "$mode" = tsan ]; then
    # Without the longest: training's tests share products too, and types differ in kernels, which use no threads.
    filter='*Thread*-Products.HaveTheSameBits*:*PackedMatrix*/*_K:*PackedMatrix*/iq*:*PackedMatrix*/q5*'
    # Archer tells the sanitizer about OpenMP's synchronisation; libomp itself is not instrumented.
    OMP_TOOL_LIBRARIES=$(${CXX:-clang++} -print-file-name=libarcher.so)
    TSAN_OPTIONS="ignore_noninstrumented_modules=1 ${TSAN_OPTIONS:-}"
    export OMP_TOOL_LIBRARIES TSAN_OPTIONS
fi

emulator=
if [ "$mode" = arm64 ]; then
    # Programs for another machine, each run by qemu-user, including programs that a test starts. Tests without
    # computation run only with $SWEEPS: an emulator adds little to their result on x86-64.
    emulator='qemu-aarch64 -L /usr/aarch64-linux-gnu'
    export ORDO_EMULATED=1 ORDO_BINARY="$scratch/ordo"
    printf '#!/bin/sh\nexec %s "%s/%s/ordo" "$@"\n' "$emulator" "$PWD" "$build" >"$ORDO_BINARY"
    chmod +x "$ORDO_BINARY"
    # The first test copies the program, which is a script here. The second leaves an emulator too few files.
    filter='-CliGenerate.WeightsAreFoundBesideAnInstalledProgram:CliLab.AMissingProgramIsNamed:CliLab.AProgramOfAnotherBuild*:CliStreams.FewFilesAndASmallStackAreEnough'
    if [ -z "${SWEEPS:-}" ]; then
        filter='InstructionSets/*:Types/*:LinearLayer.*:BandedMatrix.*:QuantisedRows.*:Attention/*:TeamThreads.*'
        filter="$filter:All/EncodingOracle*:Models/EncodingContract.AgreesWithTheOracle/grouped*:Encodings/BatchOf*:Variants/*"
        filter="$filter:Units/*:Sizes/*:Halves.*:Plans/*.ChunksChangeNoBit/*"
        filter="$filter:Sessions.*:Generate.*:CliGenerate.Every*:Weights/ShippedWeights.Say*:Storyteller.*"
    fi
fi

echo "ordo_tests in $build:"
if [ -n "$emulator" ]; then # else tests of all sets would run only one
    found=$($emulator "$build/ordo" --version | grep -c dotprod)
    without=$(QEMU_CPU=cortex-a57 $emulator "$build/ordo" --version | grep -c dotprod)
    suite "dot products are found where they are" $((found > 0 && without == 0)) $((found == 0 || without > 0)) 0 0
fi
# More shards than processors, because some shards take twice as long as others. Each processor takes the next shard.
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
if [ -n "$emulator" ]; then # the program must detect a machine without dot products
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

# ---- The fuzzers' saved inputs, and the suites that are scripts ---------------------------------------------

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
        [ "$mode" = release ] || [ "$name" = bench ] || continue # the others prove nothing more when instrumented
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
