#!/bin/sh
# SPDX-License-Identifier: MIT
# Writes the table of encodings into tools/lab/encodings.md, and its best known rows into README.md, each between two
# markers, from `ordo encodings` and bench/results (bench/README.md explains those figures). --check changes nothing,
# and fails if one of the files has another table.
#   readme_table.sh [--check] [FOLDER]
set -eu
export LC_ALL=C # lines fold by bytes, whatever the awk
check=
[ "${1:-}" != --check ] || { check=1; shift; }
root=$(cd "$(dirname "$0")/../.." && pwd)
folder=${1:-$root}
ordo=${ORDO:-$root/build/release/ordo}
results=${RESULTS:-$root/bench/results}
few="none sinusoidal learned rope alibi t5 forget transformer-xl" # in README.md
[ -x "$ordo" ] || { echo "readme_table: $ordo: expected the program, found none; make program" >&2; exit 1; }
for file in README.md tools/lab/encodings.md; do
    for marker in begin end; do
        [ "$(grep -c "^<!-- encodings:$marker -->\$" "$folder/$file")" = 1 ] || {
            echo "readme_table: $folder/$file: expected one line <!-- encodings:$marker -->" >&2
            exit 1
        }
    done
done
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

"$ordo" encodings --format csv >"$scratch/registered.csv"
# Cells without a measured figure stay empty.
for name in seeds seeds-runs heldout-2/seeds encodings; do
    copy=$scratch/$(echo "$name" | sed 's|/seeds|-losses|').csv
    if [ -e "$results/$name.csv" ]; then cp "$results/$name.csv" "$copy"; else : >"$copy"; fi
done

rate=$(sed -n 's/.* at \([0-9.]*\) on .*/\1/p' "$results/seeds-recipe.txt" 2>/dev/null || true)
awk -v rate="$rate" -v few=" $few " -v short="$scratch/short" '
# Splits a line of CSV into f[1..]; returns the number of fields.
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
# A sum stands in the row of its first encoding beside rope.
function base(spec) { sub(/^rope[^+]*\+/, "", spec); sub(/[:+].*/, "", spec); return spec }
function linked(paper,    n, i, part, out) { # "Press et al. 2022, arXiv 2108.12409; ...": each name a link
    n = split(paper, part, "; ")
    for (i = 1; i <= n; ++i) {
        if (match(part[i], /, arXiv [0-9]+\.[0-9]+$/))
            part[i] = "[" substr(part[i], 1, RSTART - 1) "](https://arxiv.org/abs/" substr(part[i], RSTART + 8) ")"
        else if (match(part[i], /, [^,]*, github\.com\/[^ ]+$/)) # without the title
            part[i] = "[" substr(part[i], 1, RSTART - 1) "](https://" substr(part[i], index(part[i], "github.com")) ")"
        out = out (i > 1 ? "; " : "") part[i]
    }
    return out
}
function cell(text) { gsub(/\|/, "\\|", text); return text == "" ? "–" : text }
function listed(list, value, label) { return value == "" ? list : list (list == "" ? "" : ", ") value (label == "" ? "" : " (" label ")") }
# Breaks text into lines of at most 100 characters.
function fold(words,    n, i, part, line, folded) {
    n = split(words, part, " ")
    for (i = 1; i <= n; ++i) {
        if (line != "" && length(line) + length(part[i]) + 1 > 100) { folded = folded line "\n"; line = " " }
        line = line (line == "" ? "" : " ") part[i]
    }
    return folded line
}
function interval(mean, half) {
    if (column(mean) == "") return ""
    return column(half) == "" ? sprintf("%+.3f", column(mean)) : sprintf("%+.3f ± %.3f", column(mean), column(half))
}
# A mark for runs of a type of processor that no run of none has, and those types in `there`. types: ",A,B,A"
function elsewhere(types,    n, i, part, mark) {
    n = split(types, part, ",")
    if ("" in of_none) return "" # unknown
    for (i = 2; i <= n; ++i) {
        if (part[i] == "" || part[i] in of_none) continue
        mark = " †"
        if (!(part[i] in other)) there = listed(there, part[i])
        other[part[i]]
    }
    return mark
}
# Whether an interval excludes zero: 1 above, -1 below, 0 neither.
function side(mean, half) { return column(half) == "" ? 0 : column(mean) - column(half) > 0 ? 1 : column(mean) + column(half) < 0 ? -1 : 0 }

function away(rows) { # what the marks in the rows mean
    return (index(rows, "†") ? " †: some runs were trained on other processors (" there ")." : "") (index(rows, "‡") ? " ‡: 1 run." : "")
}

FNR == 1 {
    split("", at)
    n = fields($0, f)
    for (i = 1; i <= n; ++i) at[f[i]] = i
    file = FILENAME
    sub(/.*\//, "", file)
    next
}
# The first parameter of a spec, which tells several specs of one encoding apart. Of a sum, all of it.
function parameters(spec) { if (spec !~ /\+/) sub(/^[^:]*:?/, "", spec); return spec }
function shown_as(name, label) { return label ~ /\+/ ? label : name (count[name] > 1 && label != "" ? " (" label ")" : "") }
function labelled(name, label) { return count[name] > 1 || label ~ /\+/ ? label : "" }

{ fields($0, f) }
file == "seeds.csv" {
    name = base(column("encoding"))
    label = parameters(column("encoding"))
    if (name == "none") none = column("nll")
    seeds = column("seeds") > seeds + 0 ? column("seeds") : seeds
    if (column("seeds") == 1) once = 1
    else if (fewest == "" || column("seeds") < fewest + 0) fewest = column("seeds")
    tag[name, ++count[name]] = label
    loss[name, count[name]] = name == "none" ? "reference" : interval("minus_none", "half_minus") \
        (seeds > 1 && column("seeds") == 1 ? " ‡" : "")
    corpus_side[name, label] = side("minus_none", "half_minus")
    if (column("can_be_best") == "true") { bests[++best_rows] = name SUBSEP label }
    if (column("minus_none") != "") ++compared
}
file == "seeds-runs.csv" {
    budget = sprintf("%.1f", column("tokens") / 1e6)
    type = column("processor")
    if (("trunk" in at) && column("trunk") != "") next # shown beside the table
    if (column("encoding") == "none") of_none[type] = type
    name = base(column("encoding"))
    label = parameters(column("encoding"))
    trained[name, label] = trained[name, label] "," type
}
file == "heldout-2-losses.csv" {
    name = base(column("encoding"))
    label = parameters(column("encoding"))
    if (name == "none") on_none = column("nll")
    more = column("seeds") > more + 0 ? column("seeds") : more
    if (column("half_minus") != "") seeds_known = 1
    shipped[name, label] = name == "none" ? "reference" : interval("minus_none", "half_minus")
    if (corpus_side[name, label] && corpus_side[name, label] == side("minus_none", "half_minus")) {
        shown = shown_as(name, label)
        if (corpus_side[name, label] < 0) ahead = listed(ahead, shown)
        else behind = listed(behind, shown)
    }
}
file == "encodings.csv" && column("n_prompt") > 0 {
    name = base(column("encoding"))
    cost[name] = name == "none" ? "reference" : sprintf("%.2f %%", column("moments_percent"))
    prompt = column("n_prompt")
    cpu = column("cpu_info")
}
file == "registered.csv" {
    if (!header++) {
        print "| encoding | idea | paper | loss, corpus | loss, shipped text | cost |"
        print "|---|---|---|--:|--:|--:|"
        print "| encoding | idea | loss | cost |\n|---|---|--:|--:|" >short
    }
    name = column("name")
    source = name
    gsub(/-/, "_", source)
    losses = others = plain = ""
    for (sums = 0; sums < 2; ++sums) # after the encoding alone
        for (i = 1; i <= count[name]; ++i) {
            if ((tag[name, i] ~ /\+/) != sums) continue
            shown = loss[name, i] elsewhere(trained[name, tag[name, i]])
            if (tag[name, i] == "") plain = shown
            losses = listed(losses, shown, labelled(name, tag[name, i]))
            others = listed(others, shipped[name, tag[name, i]], labelled(name, tag[name, i]))
        }
    every = every losses
    if (index(few, " " name " ")) { # narrow enough for a phone
        plain = name == "none" ? 0 : plain == "" ? losses : plain
        price = name == "none" ? 0 : cost[name] == "" ? "" : sprintf("%.1f %%", cost[name])
        some = some plain
        print "| [" name "](engine/encoding/" source ".cpp) | " cell(column("summary")) " | " cell(plain) " | " cell(price) " |" >short
    }
    print "| [`" name "`](../../engine/encoding/" source ".cpp) | " cell(column("summary")) " | " cell(linked(column("paper"))) " | " \
        cell(losses) " | " cell(others) " | " cell(cost[name]) " |"
}
END {
    if (broken) exit 1
    budget = budget " million tokens"
    if (seeds) {
        notes = "\n" fold("- **Loss, corpus**: nats per token on held-out stories, minus the " sprintf("%.3f", none) " of `none`; " \
            (seeds > 1 ? "mean of " ((once ? 1 : fewest) < seeds ? (once ? 1 : fewest) " to " : "") seeds " runs" : "one run each") " of " budget ". " \
            (seeds > 1 ? "± is a 95 % interval over seeds and documents, for all " compared " at once." : \
            "The spread between runs is not known.") away(every))
        about = fold("- **Loss**: nats per token minus the " sprintf("%.3f", none) " of `none`, after the same " budget \
            "; ± is a 95 % interval." away(some) " **Cost**: its time in a prompt, in % of one without.")
        for (i = 1; i <= best_rows; ++i) { split(bests[i], part, SUBSEP); last_best = shown_as(part[1], part[2]); if (i == 1) first_best = last_best; best = listed(best, last_best) }
        if (best != "") notes = notes "\n" fold("- **The best** there is " (best_rows > 1 ? "one of " : "") best " (95 %).")
        if (best != "") about = about "\n" fold("- **The best** is " (best_rows > 3 ? "one of " best_rows " encodings (95 %). By loss, they run from `" first_best "` to `" last_best "`." : (best_rows > 1 ? "one of " : "") best " (95 %)."))
    }
    if (on_none != "")
        notes = notes "\n" fold("- **Loss, shipped text**: on [heldout-2.txt](../../weights/heldout-2.txt), minus " sprintf("%.3f", on_none) \
            "; " (more > 1 ? "up to " more " runs" : "one run each") "." \
            (seeds_known ? "" : " The spread between runs is not known."))
    if (ahead behind != "")
        notes = notes "\n" fold("- **Both texts** put" (ahead == "" ? "" : " " ahead " ahead of `none`") \
            (behind == "" ? "" : (ahead == "" ? " " : ", and ") behind " behind" (ahead == "" ? " `none`" : " it")) \
            ", beyond chance on each" (rate == "" ? "" : ", at rate " rate) ".")
    if (cpu)
        notes = notes "\n" fold("- **Cost**: the time of the encoding, in % of that of a pass without one, over " prompt " tokens (" cpu "). That of a sink is part of the softmax, and not counted.")
    print notes
    if (about != "") print "\n" about >short
}' "$scratch/seeds.csv" "$scratch/seeds-runs.csv" "$scratch/heldout-2-losses.csv" "$scratch/encodings.csv" "$scratch/registered.csv" >"$scratch/table"

put() { # FILE TABLE
    awk -v table="$2" '
    /^<!-- encodings:end -->$/ { inside = 0 }
    !inside
    /^<!-- encodings:begin -->$/ { inside = 1; while ((getline line < table) > 0) print line }
    ' "$folder/$1" >"$scratch/new"
    if cmp -s "$scratch/new" "$folder/$1"; then return; fi
    if [ -n "$check" ]; then
        diff -u "$folder/$1" "$scratch/new" >&2 || true
        echo "readme_table: $folder/$1: the table of encodings is not what the results give; tools/scripts/readme_table.sh writes it" >&2
        exit 1
    fi
    cat "$scratch/new" >"$folder/$1"
}
put tools/lab/encodings.md "$scratch/table"
put README.md "$scratch/short"
