#!/bin/sh
# SPDX-License-Identifier: MIT
# Counts how the words of documents and comments read: the sentences of more than 30 words, and in 1,000 words the
# stilted phrases that count() below names. Prints a line for each document and public header, and a line for the
# comments of each other folder; with -v, a line for every file. Fails only if a line of prose or comments has more than
# 120 columns. Tables and code blocks of Markdown are not counted.
#   tools/scripts/words.sh [-v] [FILE ...]
set -eu
each=
[ "${1:-}" != -v ] || { each=1; shift; }
[ $# -gt 0 ] || set -- $(git ls-files '*.md' '*.h' '*.cpp' '*.c' '*.sh' '*.def')
awk -v each="$each" '
function end_of_sentence() {
    if (sentence > 30) ++long_sentences[row]
    sentence = 0
}
function count(line,    words, n, i, word, before) { # the words of a line of prose
    gsub(/`[^`]*`/, "code", line)           # a name counts as one word
    gsub(/\]\([^)]*\)/, "]", line)          # the address of a link
    n = split(line, words, /[ \t]+/)
    for (i = 1; i <= n; ++i) {
        if (words[i] !~ /[[:alnum:]]/) continue
        word = tolower(words[i])
        gsub(/[^[:alnum:]-]/, "", word)
        ++all[row]; ++sentence
        if (word == "what" || (word == "which" && last == "that") || (word == "that" && (last == "those" || last == "one"))) ++stilted[row]
        last = word
        if (words[i] ~ /[.?!:;]["\047)*_]*$/ && words[i] !~ /^(e\.g\.|i\.e\.|al\.|[A-Z]\.)$/) { end_of_sentence(); last = "" }
    }
}
function width(line) { # in columns; \200 to \277 are the further bytes of UTF-8 characters
    gsub(/[\200-\277]/, "", line)
    if (length(line) <= 120) return
    ++wide[row]
    places = places "\n" FILENAME ":" FNR ": expected at most 120 columns, found " length(line)
}
FNR == 1 {
    end_of_sentence()
    markdown = FILENAME ~ /\.md$/; fenced = raw = 0
    row = FILENAME
    if (!each && !markdown && FILENAME !~ /^engine\/[a-z_]*\.h$/) {
        sub(/\/[^\/]*$/, "/", row)
        if (split(row, part, "/") > 3) row = part[1] "/" part[2] "/"
    }
    if (!(row in order)) { order[row] = ++rows; name[rows] = row }
}
markdown {
    if ($0 ~ /^ *```/) { fenced = !fenced; end_of_sentence(); next }
    if (fenced || $0 ~ /^    / || $0 ~ /^\|/ || $0 ~ /^<!--/) { end_of_sentence(); next }
    width($0)
    if ($0 ~ /^ *$/ || $0 ~ /^ *([-*]|[0-9]+\.) / || $0 ~ /^#/) end_of_sentence()
    if ($0 !~ /^#/) count($0)
    next
}
{
    if (raw) { if ($0 ~ /\)[a-z]*"/) raw = 0; next } # a page or a script within a string
    if ($0 ~ /R"[a-z]*\(/ && $0 !~ /\)[a-z]*"/) raw = 1
    comment = ""
    if (FILENAME ~ /\.sh$/) { if ($0 ~ /^ *#[^!]/) { comment = $0; sub(/^ *#/, "", comment) } }
    else if (match($0, /(^|[ \t])\/\/ /)) comment = substr($0, RSTART + RLENGTH)
    else if ($0 ~ /^ *(\/\*|\*) /) { comment = $0; gsub(/\/\*|\*\/|^ *\*/, "", comment) }
    if (comment == "" || comment ~ /SPDX/ || $0 ~ /^[^\/#*]*[^ \/#*]/) end_of_sentence()
    if (comment == "" || comment ~ /SPDX/) next
    width($0)
    count(comment)
}
END {
    end_of_sentence()
    printf "%-44s %7s %9s %13s %6s\n", "words", "words", "sentences", "what, those", "lines"
    printf "%-44s %7s %9s %13s %6s\n", "", "", "over 30", "in 1,000", "> 120"
    name[++rows] = "all"
    for (i = 1; i <= rows; ++i) {
        row = name[i]
        if (!all[row]) continue
        printf "%-44s %7d %9d %13.1f %6d\n", row, all[row], long_sentences[row], 1000 * stilted[row] / all[row], wide[row]
        all["all"] += all[row]; long_sentences["all"] += long_sentences[row]; stilted["all"] += stilted[row]; wide["all"] += wide[row]
    }
    if (places != "") { print "words:" places > "/dev/stderr"; exit 1 }
}' "$@"
