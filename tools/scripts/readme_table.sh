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

recipe=$(cat "$results/seeds-recipe.txt" 2>/dev/null || true)
"$ordo" encodings --format csv >"$scratch/registered.csv"
# Figures that were not taken yet leave their cells empty.
for name in seeds seeds-runs encodings; do
    if [ -e "$results/$name.csv" ]; then cp "$results/$name.csv" "$scratch/"; else : >"$scratch/$name.csv"; fi
done

awk -v recipe="$recipe" '
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
file == "seeds.csv" {
    name = base(column("encoding"))
    label = column("encoding") # what tells several of one encoding apart is the first of its parameters
    sub(/^[^:]*:?/, "", label)
    sub(/,.*/, "", label)
    if (name == "none") none = column("nll")
    seeds = column("seeds") > seeds + 0 ? column("seeds") : seeds
    if (column("seeds") == 1) once = 1
    else if (fewest == "" || column("seeds") < fewest + 0) fewest = column("seeds")
    tag[name, ++count[name]] = label
    loss[name, count[name]] = name == "none" ? "reference" : interval("minus_none", "half_minus")
}
file == "seeds-runs.csv" { budget = sprintf("%.1f", column("tokens") / 1e6) }
file == "encodings.csv" && column("n_prompt") > 0 {
    name = base(column("encoding"))
    cost[name] = name == "none" ? "reference" : sprintf("%.2f %%", column("moments_percent"))
    prompt = column("n_prompt")
    cpu = column("cpu_info"); threads = column("n_threads"); rounds = column("repetitions")
}
file == "registered.csv" {
    if (!header++) {
        print "| encoding | acts at | paper | loss minus that of `none` | cost |"
        print "|---|---|---|--:|--:|"
    }
    name = column("name")
    source = name
    gsub(/-/, "_", source)
    losses = ""
    for (i = 1; i <= count[name]; ++i) losses = listed(losses, loss[name, i], count[name] > 1 ? tag[name, i] : "")
    print "| [`" name "`](engine/encoding/" source ".cpp) | " cell(column("moments")) " | " cell(linked(column("paper"))) " | " \
        cell(losses) " | " cell(cost[name]) " |"
}
END {
    if (broken) exit 1
    budget = budget " million tokens" (recipe == "" ? "" : " (" recipe ")")
    if (seeds)
        notes = "\nLoss: nats per token on simple.val.txt, stories kept out of the corpus, as the difference from a run of the same seed without an encoding (" sprintf("%.3f", none) "); negative is better. " \
            (seeds > 1 ? "Mean of " (fewest < seeds ? fewest " to " : "") seeds " runs (seeds) of " budget " each ± the half-width of its 95 % confidence interval" (once ? "; a figure without ± is of a single run, and says nothing of another seed" : "") \
                              ". Where ± is larger than the difference, the difference may be chance" \
                       : "One run each of " budget "; the spread between seeds is not known yet") ". On another text small differences change order, or their sign ([heldout.csv](bench/results/heldout.csv))."
    if (cpu)
        notes = notes "\nCost: the time of the encoding itself in reading a prompt of " prompt " tokens, relative to reading it without one; median of " rounds " rounds; " cpu ", " \
            threads " threads (`moments %` of `ordo bench --encodings all -v -r " rounds "`). [encodings.csv](bench/results/encodings.csv) has decoding too."
    print (seeds ? "" : "\n") notes " Acts at: the moments of a pass, explained below. –: no weights were trained with it, or not measured yet."
}' "$scratch/seeds.csv" "$scratch/seeds-runs.csv" "$scratch/encodings.csv" "$scratch/registered.csv" >"$scratch/table"

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
