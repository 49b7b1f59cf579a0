#!/bin/sh
# SPDX-License-Identifier: MIT
# Checks whether a model tells stories: 20 of at most 400 tokens from seeds 1 to 20 with the default sampling and four
# openings in turn.
#   [PRINT=1] tools/scripts/stories.sh ORDO CORPUS.txt FILE ...
#   tools/scripts/stories.sh --documents CORPUS.txt TEXT.txt ...
# For each FILE, it counts the stories that pass each test (the number in brackets is required):
#   spell   no word occurs in CORPUS.txt fewer than three times (18 of 20);
#   prose   it is not verse: more than six lines have a median of 45 bytes or more (20);
#   end     it ends by itself (18);
#   hero    its second half has the most frequent capitalised word of the first half, apart from I and from words that
#           begin a sentence there (16).
# With PRINT, it prints the stories. The exit code is 1 if a FILE has too few of any. A llama2.c file, NAME.bin, needs
# its tokenizer, tok512.bin, next to it.
# With --documents, it judges existing texts by the same rules: all documents of each TEXT.txt, and those with each of
# the four openings. That is the level that a model could reach.
set -eu
[ $# -ge 3 ] || { sed -n '3,16p' "$0"; exit 2; }
documents='' ordo=$1
[ "$1" != --documents ] || documents=1
corpus=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

opening() { # SEED
    case $(($1 % 4)) in
    1) echo "Once upon a time" ;;
    2) echo "The old dog" ;;
    3) echo "One day, a little girl" ;;
    0) echo "In the forest" ;;
    esac
}

openings=$(for number in 1 2 3 4; do opening "$number"; done)

# The words that the corpus has often enough, computed once for all files.
tr '[:upper:]' '[:lower:]' <"$corpus" | tr -cs "[:lower:]'" '\n' | sed "s/^'*//; s/'*\$//" |
    awk '{ ++count[$0] } END { for (word in count) if (count[word] >= 3) print word }' >"$work/known"

# Reads stories on stdin, each followed by a line <|endoftext|>, or <|cut|> if it did not end by itself. Prints a line
# for each: the four figures above, the number of its opening (0: another) and its rare words.
judge() {
    OPENINGS=$openings awk '
    NR == FNR { known[$0] = 1; next }
    FNR == 1 { split(ENVIRON["OPENINGS"], opening, "\n") }
    $0 == "<|endoftext|>" || $0 == "<|cut|>" { if (text != "") story($0 != "<|cut|>"); text = ""; lines = 0; next }
    text == "" && $0 == "" { next }
    $0 != "" { length_of[++lines] = length($0) }
    { text = text $0 "\n" }
    END { if (text != "") story(1) }
    function is_known(word) { # also true if all of its parts are
        word = tolower(word)
        gsub(/^\047+|\047+$/, "", word)
        return word == "" || word in known
    }
    function strangers(text,    word, out) {
        while (match(text, /[A-Za-z\047]+/)) {
            word = substr(text, RSTART, RLENGTH)
            text = substr(text, RSTART + RLENGTH)
            if (!is_known(word)) out = out " " word
        }
        return out
    }
    # Counts the capitalised words of a text that begin neither a sentence nor quoted speech.
    function names(text, count,    start, word) {
        start = 1
        while (match(text, /[A-Za-z\047]+|[.!?"\n]/)) {
            word = substr(text, RSTART, RLENGTH)
            text = substr(text, RSTART + RLENGTH)
            if (word ~ /[.!?"\n]/) { start = 1; continue }
            sub(/\047.*/, "", word)
            if (!start && word ~ /^[A-Z]/ && word != "I") ++count[word]
            start = 0
        }
    }
    function is_verse(    i, j, swap) {
        for (i = 2; i <= lines; ++i) # insertion sort
            for (j = i; j > 1 && length_of[j] < length_of[j - 1]; --j) {
                swap = length_of[j]; length_of[j] = length_of[j - 1]; length_of[j - 1] = swap
            }
        return lines > 6 && (length_of[int((lines + 1) / 2)] + length_of[int((lines + 2) / 2)]) / 2 < 45
    }
    function comes_again(    half, first, word, hero) {
        half = int(length(text) / 2)
        split("", first)
        names(substr(text, 1, half), first)
        for (word in first) if (first[word] > first[hero] || (first[word] == first[hero] && word < hero)) hero = word
        return hero != "" && substr(text, half + 1) ~ ("(^|[^A-Za-z])" hero "([^A-Za-z]|$)")
    }
    function story(ended,    i, begins, strange) {
        for (i = 4; i > 0; --i) if (index(text, opening[i]) == 1) begins = i
        strange = strangers(text)
        printf "%d %d %d %d %d%s\n", strange == "", !is_verse(), ended, comes_again(), begins, strange
    }' "$work/known" -
}

# From the lines of judge: the counts over all stories or one opening, with Wilson's 95 % interval for heroes.
counted() { # WHAT [OPENING]
    awk -v what="$1" -v opening="${2:-}" '
    opening == "" || $5 == opening { ++n; spell += $1; prose += $2; end += $3; hero += $4 }
    END {
        if (!n) { printf "%s: none\n", what; exit }
        z = 1.96; share = hero / n; middle = (share + z * z / (2 * n)) / (1 + z * z / n)
        half = z / (1 + z * z / n) * sqrt(share * (1 - share) / n + z * z / (4 * n * n))
        printf "%s: of %d stories spell %d, prose %d, end %d, hero %d (%.1f %%; 95 %% interval %.1f to %.1f)\n", what, n,
               spell, prose, end, hero, 100 * share, 100 * (middle - half), 100 * (middle + half)
    }' "$work/judged"
}

if [ -n "$documents" ]; then
    for file; do
        judge <"$file" >"$work/judged"
        counted "$(basename "$file")"
        for number in 1 2 3 4; do counted "  that begin '$(opening "$number")'" "$number"; done
    done
    exit 0
fi

code=0
for file; do
    name=$(basename "$file")
    : >"$work/stories"
    for seed in $(seq 20); do
        "$ordo" generate -m "$file" -p "$(opening "$seed")" -n 400 -s "$seed" >"$work/story" 2>"$work/said"
        cat "$work/story" >>"$work/stories"
        if grep -q 'stopped by: end of text' "$work/said"; then echo '<|endoftext|>'; else echo '<|cut|>'; fi >>"$work/stories"
        [ -z "${PRINT:-}" ] || { echo "## seed $seed"; echo; cat "$work/story"; echo; }
    done
    judge <"$work/stories" >"$work/judged"
    awk -v file="$name" '
    { spell += $1; prose += $2; end += $3; hero += $4; for (i = 6; i <= NF; ++i) strange = strange " " $i }
    END {
        passed = spell >= 18 && prose == 20 && end >= 18 && hero >= 16
        printf "%s: of 20 stories spell %d, prose %d, end %d, hero %d: %s\n", file, spell, prose, end, hero,
               passed ? "passed" : "not passed"
        if (strange != "") print "words that are rare:" strange
        exit !passed
    }' "$work/judged" || code=1
done
exit $code
