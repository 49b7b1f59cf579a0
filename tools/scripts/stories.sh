#!/bin/sh
# SPDX-License-Identifier: MIT
# Checks whether a model tells stories: 100 of at most 400 tokens, sampled as the file recommends. No choice was made on
# their openings and seeds: story i has the first five words of document i of HELD_OUT.txt, and seed 1000 + i.
#   [PRINT=N] tools/scripts/stories.sh ORDO CORPUS.txt HELD_OUT.txt FILE ...
#   tools/scripts/stories.sh --documents CORPUS.txt TEXT.txt ...
# For each FILE, it counts the stories that pass each test (the number in brackets is required):
#   spell     no word occurs in CORPUS.txt fewer than three times (97 of 100);
#   prose     it is not verse: more than six lines have a median of 45 bytes or more (100);
#   end       it ends by itself (90);
#   thing     a thing of its opening comes back: its last third has a word of its first third that at most 2 % of the
#             documents of CORPUS.txt have (40);
#   self      nothing meets itself: outside of quoted speech, no name does something to itself, and no word stands on
#             both sides of an "and" ("Tim looked at Tim", "the bird and the small bird") (80).
# Two figures are of all stories and of the model:
#   repeated  the share of four words in a row that the same story had before (at most 2.5 %);
#   bits per byte of HELD_OUT.txt, by `ordo perplexity` (at most 0.65).
# With PRINT, it prints the first N stories. The exit code is 1 if a FILE misses a bound. A llama2.c file, NAME.bin,
# needs its tokenizer, tok512.bin, next to it.
# With --documents, it judges existing texts by the same rules. That is the level that a model could reach.
set -eu
[ $# -ge 3 ] || { sed -n '3,20p' "$0"; exit 2; }
documents='' ordo=$1
[ "$1" != --documents ] || documents=1
corpus=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The words that the corpus has often enough, each with a 1 if few documents have it; computed once for all files.
tr '[:upper:]' '[:lower:]' <"$corpus" | tr -cs "[:lower:]'" '\n' | sed "s/^'*//; s/'*\$//" |
    awk '$0 == "endoftext" { ++ends; next }
    { ++count[$0]; if (!($0 in last) || last[$0] != ends) ++documents[$0]; last[$0] = ends }
    END { for (word in count) if (count[word] >= 3) print word, (documents[word] <= 0.02 * (ends + 1)) + 0 }' \
        >"$work/known"

# Reads stories on stdin, each followed by a line <|endoftext|>, or <|cut|> if it did not end by itself. Prints a line
# for each: the five figures above, its fours of words, those that it had before, and its rare words.
judge() {
    awk '
    NR == FNR { known[$1] = 1; if ($2) few[$1] = 1; next }
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
    function is_verse(    i, j, swap) {
        for (i = 2; i <= lines; ++i) # insertion sort
            for (j = i; j > 1 && length_of[j] < length_of[j - 1]; --j) {
                swap = length_of[j]; length_of[j] = length_of[j - 1]; length_of[j - 1] = swap
            }
        return lines > 6 && (length_of[int((lines + 1) / 2)] + length_of[int((lines + 2) / 2)]) / 2 < 45
    }
    function comes_again(text,    words, n, i, first) {
        gsub(/[^A-Za-z\047]+/, " ", text)
        n = split(tolower(text), words, " ")
        for (i = 1; i <= n / 3; ++i) if (words[i] in few && length(words[i]) > 2) first[words[i]] = 1
        for (i = n; i > n * 2 / 3; --i) if (words[i] in first) return 1
        return 0
    }
    function is_itself(text,    word, n, i, said, quoted) {
        while (match(text, /[A-Za-z\047]+|[.!?"\n]/)) {
            word = substr(text, RSTART, RLENGTH)
            text = substr(text, RSTART + RLENGTH)
            if (word == "\"") quoted = !quoted
            if (word ~ /[.!?\n]/) n = 0
            if (word ~ /[.!?"\n]/ || quoted) continue
            said[++n] = word
            i = said[n - 1] ~ /^(the|an?|his|her|their|its)$/ ? n - 2 : n - 3 # of "and", before an article and its noun
            if (length(word) > 2 && said[i] == "and" && said[i - 1] == word &&
                said[i + 1] ~ /^(the|an?|his|her|their|its)$/) return 1
            if (word !~ /^[A-Z][a-z]+$/) continue
            if (said[n - 1] !~ /^(at|to|with|for|and|hugged|thanked|asked|told|helped)$/) continue
            for (i = n - 2; i > 0 && i >= n - 5; --i) if (said[i] == word) return 1
        }
        return 0
    }
    function repeated(text,    words, n, i, four, seen, again) {
        gsub(/[^A-Za-z\047]+/, " ", text)
        n = split(tolower(text), words, " ")
        for (i = 4; i <= n; ++i) {
            four = words[i - 3] " " words[i - 2] " " words[i - 1] " " words[i]
            again += four in seen
            seen[four] = 1
        }
        return (n < 4 ? 0 : n - 3) " " again + 0
    }
    function story(ended,    strange) {
        strange = strangers(text)
        print (strange == "") + 0, !is_verse(), ended, comes_again(text), !is_itself(text), repeated(text) strange
    }' "$work/known" -
}

# From the lines of judge: the counts, with Wilson's 95 % interval for things. The exit code is 1 if bounds are missed.
counted() { # WHAT [BITS]
    awk -v what="$1" -v bits="${2:-}" '
    { spell += $1; prose += $2; end += $3; thing += $4; self += $5; fours += $6; again += $7 }
    { for (i = 8; i <= NF; ++i) strange = strange " " $i }
    END {
        if (!NR) { print what ": no stories"; exit }
        z = 1.96; share = thing / NR; middle = (share + z * z / (2 * NR)) / (1 + z * z / NR)
        half = z / (1 + z * z / NR) * sqrt(share * (1 - share) / NR + z * z / (4 * NR * NR))
        repeated = fours ? 100 * again / fours : 0
        printf "%s: of %d stories spell %d, prose %d, end %d, thing %d (%.1f to %.1f %%), ", what, NR, spell, prose, end,
               thing, 100 * (middle - half), 100 * (middle + half)
        printf "self %d, repeated %.1f %%\n", self, repeated
        if (bits == "") exit
        passed = spell >= 97 && prose == 100 && end >= 90 && thing >= 40 && self >= 80 && repeated <= 2.5 &&
                 bits <= 0.65
        printf "%s: %.4f bits per byte; %s\n", what, bits, passed ? "passed" : "not passed"
        if (strange != "") print "words that are rare:" strange
        exit !passed
    }' "$work/judged"
}

if [ -n "$documents" ]; then
    for file; do
        judge <"$file" >"$work/judged"
        counted "$(basename "$file")"
    done
    exit 0
fi

held_out=$1
shift
awk '$0 == "<|endoftext|>" { begun = 0; next }
    !begun && NF { begun = 1; n = NF < 5 ? NF : 5; for (i = 1; i <= n; ++i) printf "%s%s", $i, i < n ? " " : "\n" }' \
    "$held_out" | head -n 100 >"$work/openings"
[ "$(wc -l <"$work/openings")" -eq 100 ] || { echo "stories: $held_out: expected 100 documents or more" >&2; exit 2; }
code=0
for file; do
    name=$(basename "$file")
    : >"$work/stories"
    seed=1000
    while IFS= read -r opening; do
        seed=$((seed + 1))
        "$ordo" generate -m "$file" -p "$opening" -n 400 -s "$seed" >"$work/story" 2>"$work/said" </dev/null
        cat "$work/story" >>"$work/stories"
        if grep -q 'stopped by: end of text' "$work/said"; then echo '<|endoftext|>'; else echo '<|cut|>'; fi >>"$work/stories"
        [ $((seed - 1000)) -gt "${PRINT:-0}" ] || { echo "## seed $seed"; echo; cat "$work/story"; echo; }
    done <"$work/openings"
    judge <"$work/stories" >"$work/judged"
    bits=$("$ordo" perplexity -m "$file" -f "$held_out" --format json | sed -n 's/^ *"bits_per_byte": \([0-9.]*\).*/\1/p')
    counted "$name" "$bits" || code=1
done
exit $code
