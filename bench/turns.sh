#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Checks whether a change made anything slower: prefill and decode with each encoding that two builds share, and
# training with three of them. The builds alternate, and the first one changes in every round. ENCODINGS names each
# once. Prints medians and quartiles of the ratios of one round: above 1 the first build is faster.
#   bench/turns.sh BINARY OTHER_BINARY [ROUNDS] [ENCODINGS]
set -euo pipefail

binary=${1:?expected the program ordo}
other=${2:?expected another build of it}
rounds=${3:-20}
encodings=${4:-none;sinusoidal;learned;segment;rope;alibi;rotate-stretch}
here=$(dirname "$0")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# An older build has no --alone, and measures more.
alone=--alone
for program in "$binary" "$other"; do "$program" bench --help | grep -q -- --alone || alone=; done

one_round() { # WHICH PROGRAM ROUND
    "$2" bench $alone --encodings "$encodings" -p 512 -n 128 -r 1 --format csv -q >"$scratch/bench-$1-$3.csv"
    for encoding in none rope alibi; do
        "$2" train -q --corpus "$here/../weights/heldout.txt" --val "$here/../weights/heldout.txt" --byte-tokenizer \
            --tokens 24576 --eval-every 1000 --eval-tokens 256 --encoding "$encoding" --out "$scratch/weights" \
            --log "$scratch/train-$1-$3-$encoding.csv" >"$scratch/said" 2>&1 || { cat "$scratch/said" >&2; exit 1; }
    done
}
for ((round = 0; round < rounds; round++)); do
    if ((round % 2)); then
        one_round this "$binary" "$round"
        one_round other "$other" "$round"
    else
        one_round other "$other" "$round"
        one_round this "$binary" "$round"
    fi
done

python3 - "$scratch" "$rounds" <<'END'
import collections, csv, statistics, sys
scratch, rounds = sys.argv[1], int(sys.argv[2])

def rates(which, number):
    found = {}
    for row in csv.DictReader(open(f"{scratch}/bench-{which}-{number}.csv")):
        test = "prefill" if int(row["n_prompt"]) else "decode"
        # Uses the name alone: another build may write other canonical keys after it.
        found[test, row["encoding"].split(":")[0]] = float(row["median_ts"])
    for encoding in ("none", "rope", "alibi"):
        steps = csv.DictReader(open(f"{scratch}/train-{which}-{number}-{encoding}.csv"))
        measured = [float(s["tokens_per_second"] or 0) for s in steps]
        found["training", encoding] = statistics.median(rate for rate in measured if rate > 0)
    return found

ratios, seen = collections.defaultdict(list), collections.defaultdict(list)
for number in range(rounds):
    this, other = rates("this", number), rates("other", number)
    for case in this:
        if case in other:
            ratios[case].append(this[case] / other[case])
            seen[case].append((this[case], other[case]))
print("| test | encoding | tokens/s | the other's | ratio | quartiles |")
print("|---|---|--:|--:|--:|--:|")
for (test, encoding), all_of in ratios.items():
    low, middle, high = statistics.quantiles(all_of, n=4, method="inclusive") if len(all_of) > 1 else all_of * 3
    mine, theirs = (statistics.median(pair[i] for pair in seen[test, encoding]) for i in (0, 1))
    print(f"| {test} | {encoding} | {mine:.0f} | {theirs:.0f} | {middle:.3f} | {low:.3f} to {high:.3f} |")
END
