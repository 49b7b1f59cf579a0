#!/bin/sh
# SPDX-License-Identifier: MIT
# Writes the README's table of encodings between its two markers, from what `ordo encodings` says and
# what bench/results holds (bench/README.md says how that was taken). --check: changes nothing, and
# fails if the README holds another table.
#   readme_table.sh [--check] [README]
set -eu
check=
[ "${1:-}" != --check ] || { check=1; shift; }
root=$(cd "$(dirname "$0")/../.." && pwd)
readme=${1:-$root/README.md}
ordo=${ORDO:-$root/build/release/ordo}
results=${RESULTS:-$root/bench/results}
[ -x "$ordo" ] || { echo "readme_table: $ordo: expected the program, found none; make program" >&2; exit 1; }
for marker in begin end; do
    [ "$(grep -c "^<!-- encodings:$marker -->\$" "$readme")" = 1 ] || {
        echo "readme_table: $readme: expected one line <!-- encodings:$marker -->" >&2
        exit 1
    }
done
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

"$ordo" encodings --format csv >"$scratch/registered.csv"
# Figures that were not taken yet leave their cells empty.
for name in heldout seeds seeds-runs encodings; do
    if [ -e "$results/$name.csv" ]; then cp "$results/$name.csv" "$scratch/"; else : >"$scratch/$name.csv"; fi
done

awk '
# Fields of a line of CSV into f[1..]; returns how many.
function fields(line, f,    n, c, i, quoted) {
    n = 1; f[1] = ""; quoted = 0
    for (i = 1; i <= length(line); ++i) {
        c = substr(line, i, 1)
        if (quoted && c == "\"" && substr(line, i + 1, 1) == "\"") { f[n] = f[n] c; ++i }
        else if (c == "\"") quoted = !quoted
        else if (c == "," && !quoted) f[++n] = ""
        else f[n] = f[n] c
    }
    return n
}
function column(name) {
    if (!(name in at)) { print FILENAME ": expected a column " name > "/dev/stderr"; broken = 1; exit 1 }
    return f[at[name]]
}
function base(spec) { sub(/:.*/, "", spec); return spec }
function linked(paper,    id, out) { # every "arXiv 1706.03762" as a link
    out = ""
    while (match(paper, /arXiv [0-9]+\.[0-9]+/)) {
        id = substr(paper, RSTART + 6, RLENGTH - 6)
        out = out substr(paper, 1, RSTART - 1) "[arXiv " id "](https://arxiv.org/abs/" id ")"
        paper = substr(paper, RSTART + RLENGTH)
    }
    return out paper
}
function cell(text) { gsub(/\|/, "\\|", text); return text == "" ? "–" : text }
function percent(own, whole) { return sprintf("%.2f %% (%+.1f %%)", own, whole) }

function listed(list, value, label) { return value == "" ? list : list (list == "" ? "" : ", ") value (label == "" ? "" : " (" label ")") }
function interval(mean, half) {
    if (column(mean) == "") return ""
    return column(half) == "" ? sprintf("%+.3f", column(mean)) : sprintf("%+.3f ± %.3f", column(mean), column(half))
}

FNR == 1 {
    split("", at)
    n = fields($0, f)
    for (i = 1; i <= n; ++i) at[f[i]] = i
    file = FILENAME
    sub(/.*\//, "", file)
    next
}
{ fields($0, f) }
file == "heldout.csv" {
    name = base(column("encoding"))
    # Several files of one encoding are told apart by the first of its parameters.
    label = column("encoding")
    sub(/^[^:]*:?/, "", label)
    sub(/,.*/, "", label)
    count[name]++
    loss[name, count[name]] = sprintf("%.3f", column("nll"))
    tag[name, count[name]] = label
    scored = column("tokens")
}
file == "seeds.csv" {
    name = base(column("encoding"))
    label = column("encoding")
    sub(/^[^:]*:?/, "", label)
    seeds = column("seeds")
    buys[name, label] = name == "none" ? "reference" : interval("minus_none", "half_minus")
    beyond[name, label] = interval("more_at_4x", "half_more")
    if (beyond[name, label] != "") reached = 1
}
file == "seeds-runs.csv" { budget = sprintf("%.1f", column("tokens") / 1e6) }
file == "encodings.csv" {
    name = base(column("encoding"))
    own = column("stage_percent"); whole = column("diff_median")
    if (name == "none") text = "reference"; else text = percent(own, whole)
    if (column("n_prompt") > 0) { prefill[name] = text; prompt = column("n_prompt") }
    else { decode[name] = text; gen = column("n_gen") }
    cpu = column("cpu_info"); threads = column("n_threads"); rounds = column("repetitions"); shape = column("model_type")
}
file == "registered.csv" {
    if (!header++) {
        print "| encoding | moment | paper | held-out loss | against `none` | at 4x the length | overhead in prefill | overhead in decode |"
        print "|---|---|---|--:|--:|--:|--:|--:|"
    }
    name = column("name")
    source = name
    gsub(/-/, "_", source)
    losses = bought = farther = ""
    for (i = 1; i <= (count[name] ? count[name] : 1); ++i) {
        label = count[name] > 1 ? tag[name, i] : ""
        losses = listed(losses, loss[name, i], label)
        bought = listed(bought, buys[name, label], label)
        text = beyond[name, label]
        if (text == "" && reached && buys[name, label] != "") text = "refused"
        farther = listed(farther, text, label)
    }
    print "| [`" name "`](engine/encoding/" source ".cpp) | " cell(column("moments")) " | " cell(linked(column("paper"))) " | " \
        cell(losses) " | " cell(bought) " | " cell(farther) " | " cell(prefill[name]) " | " cell(decode[name]) " |"
}
END {
    if (broken) exit 1
    if (scored) print "\nHeld-out loss: nats per token of the shipped file over " scored " tokens of [weights/heldout.txt](weights/heldout.txt)."
    if (seeds) {
        print "\nAgainst `none`: other, shorter runs, " seeds " seeds of " budget " million tokens each: the mean difference of held-out loss from the run of the"
        print "same seed without an encoding, and half of its 95 % interval. More training may change the order, and the sign beside the first"
        print "column. At 4x the length: how much the loss of the last tokens of a window rises when it is four times as long as in training."
        print "`make seeds` trains them and asks `ordo lab compare`; [bench/results/seeds-pairs.csv](bench/results/seeds-pairs.csv) has each pair of encodings."
    }
    if (cpu) {
        print "\nOverhead: the calls of the encoding alone, as a share of a pass without any; in brackets the measured difference of"
        print "whole passes; differences below 3 % are noise. –: not measured yet. " cpu ", " threads " threads, " rounds " rounds, trunk `" shape "`, prefill of"
        print prompt " tokens, decode of " gen "; [bench/README.md](bench/README.md) has the commands."
    }
}' "$scratch/heldout.csv" "$scratch/seeds.csv" "$scratch/seeds-runs.csv" "$scratch/encodings.csv" "$scratch/registered.csv" >"$scratch/table"

awk -v table="$scratch/table" '
/^<!-- encodings:end -->$/ { inside = 0 }
!inside
/^<!-- encodings:begin -->$/ { inside = 1; while ((getline line < table) > 0) print line }
' "$readme" >"$scratch/readme"

if cmp -s "$scratch/readme" "$readme"; then exit 0; fi
if [ -n "$check" ]; then
    diff -u "$readme" "$scratch/readme" >&2 || true
    echo "readme_table: $readme: the table of encodings is not what the results give; tools/scripts/readme_table.sh writes it" >&2
    exit 1
fi
cat "$scratch/readme" >"$readme"
