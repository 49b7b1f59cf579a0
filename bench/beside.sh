#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The cost of a busy neighbour: two threads next to a busy thread, compared with one thread next to it; and, with
# another build, both builds alone. All runs in turns, medians of the ratios.
#   bench/beside.sh BINARY [OTHER_BINARY] [ROUNDS]
set -euo pipefail

binary=${1:?expected the program ordo}
other=${2:-}
rounds=${3:-20}
here=$(dirname "$0")
rows=$(mktemp)
trap 'rm -f "$rows"' EXIT

# run WHICH PROGRAM ARGUMENTS ...: lines of WHICH, trunk, type, test, tokens/s
run() {
    local which=$1 program=$2
    shift 2
    "$program" bench "$@" --encodings none -p 512 -n 64 --format csv -q | awk -F, -v which="$which" '
        { gsub(/"/, "") }
        NR == 1 { for (i = 1; i <= NF; i++) { at[$i] = i - NF }; next }
        # Counts fields from the end, because the name of the processor may contain commas.
        { print which, $(NF + at["model_type"]), $(NF + at["type"]),
                ($(NF + at["n_prompt"]) > 0 ? "prefill" : "decode"), $(NF + at["median_ts"]) }' >> "$rows"
}

for trunk in file llama15m llama110m; do
    for type in f32 q8_0; do
        if [[ $trunk == file ]]; then
            what=(-m "$here/../weights/rope.safetensors" --dtype "$type" -r 9) # 64 tokens take two milliseconds
        else
            what=(--shape "$trunk" --dtype "$type" -r 1)
        fi
        for ((round = 0; round < rounds; round++)); do
            run two "$binary" "${what[@]}" -t 2 --beside 1
            run one "$binary" "${what[@]}" -t 1 --beside 1
            if [[ -n $other ]]; then
                run alone "$binary" "${what[@]}" -t 2
                run before "$other" "${what[@]}" -t 2
            fi
        done
    done
done

# The n-th line of one kind belongs to the n-th line of the other.
python3 - "$rows" << 'END'
import collections, statistics, sys
found = collections.defaultdict(list)
for line in open(sys.argv[1]):
    which, *case, rate = line.split()
    found[which, tuple(case)].append(float(rate))
cases = sorted({case for _, case in found})
print("| trunk | type | test | one beside 1 | two beside 1 | two / one | alone | before | alone / before |")
print("|---|---|---|--:|--:|--:|--:|--:|--:|")
for case in cases:
    cells = list(case)
    for over, under in (("one", "two"), ("before", "alone")):
        a, b = found.get((under, case), []), found.get((over, case), [])
        if not a or not b:
            cells += ["", "", ""]
            continue
        ratio = statistics.median(x / y for x, y in zip(a, b))
        first, second = (b, a) if over == "one" else (a, b)
        cells += [f"{statistics.median(first):.0f}", f"{statistics.median(second):.0f}", f"{ratio:.2f}"]
    print("| " + " | ".join(cells) + " |")
END
