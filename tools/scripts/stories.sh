#!/bin/sh
# SPDX-License-Identifier: MIT
# Whether a model tells stories: 20 of at most 400 tokens from seeds 1 to 20 at the default sampling, with four openings in turn.
#   [PRINT=1] tools/scripts/stories.sh ORDO CORPUS.txt FILE ...
# Counts, for each FILE, the stories that
#   spell   have no word that CORPUS.txt has fewer than three times (at least 18 of 20)
#   prose   are no verse: lines, if there are more than six, have a median of 45 bytes or more (20)
#   end     end by themselves (18)
#   hero    have in their second half, too, the most frequent capitalised word of the first that begins no sentence there,
#           other than I (16)
# and with PRINT prints the stories. Exit code 1 if a FILE has fewer of any. A FILE of llama2.c's, NAME.bin, needs its tokenizer,
# tok512.bin, beside it.
set -eu
[ $# -ge 3 ] || { sed -n '3,13p' "$0"; exit 2; }
ordo=$1
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

# The words of the corpus that it has often enough, once for all files.
tr '[:upper:]' '[:lower:]' <"$corpus" | tr -cs "[:lower:]'" '\n' | sed "s/^'*//; s/'*\$//" |
    awk '{ ++count[$0] } END { for (word in count) if (count[word] >= 3) print word }' >"$work/known"

# Of one story, on stdin, one line of the figures above, and the words that are none.
judge() { # ENDED
    awk -v ended="$1" '
    NR == FNR { known[$0] = 1; next }
    $0 != "" { length_of[++lines] = length($0) }
    { text = text $0 "\n" }
    function is_known(word) { # or all of its parts are
        word = tolower(word)
        gsub(/^\047+|\047+$/, "", word)
        return word == "" || word in known
    }
    # Capitalised words of a text that begin no sentence in it, nor what somebody says, counted.
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
    END {
        rest = text
        while (match(rest, /[A-Za-z\047]+/)) {
            word = substr(rest, RSTART, RLENGTH)
            rest = substr(rest, RSTART + RLENGTH)
            if (!is_known(word)) strange = strange " " word
        }
        for (i = 2; i <= lines; ++i) # insertion sort
            for (j = i; j > 1 && length_of[j] < length_of[j - 1]; --j) {
                swap = length_of[j]; length_of[j] = length_of[j - 1]; length_of[j - 1] = swap
            }
        verse = lines > 6 && (length_of[int((lines + 1) / 2)] + length_of[int((lines + 2) / 2)]) / 2 < 45
        half = int(length(text) / 2)
        names(substr(text, 1, half), first)
        for (word in first) if (first[word] > first[hero] || (first[word] == first[hero] && word < hero)) hero = word
        again = hero != "" && substr(text, half + 1) ~ ("(^|[^A-Za-z])" hero "([^A-Za-z]|$)")
        printf "%d %d %d %d%s\n", strange == "", !verse, ended, again, strange
    }' "$work/known" -
}

code=0
for file; do
    name=$(basename "$file")
    case $file in
    *.bin)
        "$ordo" convert "$file" "$work/converted.safetensors" --tokenizer "$(dirname "$file")/tok512.bin" -q
        file=$work/converted.safetensors
        ;;
    esac
    : >"$work/judged"
    for seed in $(seq 20); do
        "$ordo" generate -m "$file" -p "$(opening "$seed")" -n 400 -s "$seed" >"$work/story" 2>"$work/said"
        ended=0
        grep -q 'stopped by: end of text' "$work/said" && ended=1
        judge "$ended" <"$work/story" >"$work/one"
        cat "$work/one" >>"$work/judged"
        [ -z "${PRINT:-}" ] || { echo "## seed $seed"; echo; cat "$work/story"; echo; }
    done
    awk -v file="$name" '
    { spell += $1; prose += $2; end += $3; hero += $4; for (i = 5; i <= NF; ++i) strange = strange " " $i }
    END {
        passed = spell >= 18 && prose == 20 && end >= 18 && hero >= 16
        printf "%s: of 20 stories spell %d, prose %d, end %d, hero %d: %s\n", file, spell, prose, end, hero,
               passed ? "passed" : "not passed"
        if (strange != "") print "words that are rare:" strange
        exit !passed
    }' "$work/judged" || code=1
done
exit $code
