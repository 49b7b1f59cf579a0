#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests tools/scripts/weights.sh and bench/seeds.sh with stand-ins for the program and xz: their inputs, their output
# files and folders.
#   SCRATCH=DIR run.sh BUILD
set -u
passed=0 failed=0
corpus=$SCRATCH/corpus out=$SCRATCH/out bin=$SCRATCH/bin
export WORK="$SCRATCH/work" PATH="$bin:$PATH"
mkdir "$corpus" "$bin"

# A stand-in that checks its texts instead of training. It fails halfway for the encoding none.
cat >"$bin/ordo" <<'EOF'
#!/bin/sh
verb=$1
shift
case $verb in
info)
    printf '%s\n' "encoding: some" "batch: 8" "context: 256" "tokens: 11999232"
    sed 's/^/command: /' "$1"
    ;;
generate) [ -z "${SILENT:-}" ] && echo "Once upon a time" ;;
train)
    while [ $# -gt 0 ]; do
        case $1 in
        -q) shift ;;
        --resume) resume=yes && shift ;;
        --*) name=$(echo "${1#--}" | tr - _) && eval "$name=\$2" && shift 2 ;;
        esac
    done
    [ "$(cat "$corpus" "$val")" = "$(printf 'train\nheld-out')" ] || exit 9
    [ -z "${vocab:-}" ] || { echo "$vocab entries" >"$out" && exit; }
    [ "$keep $(cat "$tokenizer")" = "last 4096 entries" ] || exit 8
    [ -e "$checkpoint" ] || [ ! -s "$log" ] || exit 7
    [ ! -e "$checkpoint" ] || echo "went on" >&2
    echo state >"$checkpoint" && printf '%s\n' step,tokens,lr,loss,grad_norm,tokens_per_second,validation_loss 1,2048,0,8,1,0, 1,2048,,,,,7 \
        2,4096,0,6,1,0, >"$log"
    [ "$encoding" != none ] || { echo "ordo: no more" >&2 && exit 1; }
    echo "$encoding $resume --tokens $tokens --batch $batch --optimizer $optimizer --lr $lr --products $products --seed $seed ...${ffn:+ ffn $ffn}" >"$out"
    echo "tokens: $tokens"
    ;;
esac
EOF
# A stand-in that returns the file. For a truncated file it returns the part that exists, and fails.
cat >"$bin/xz" <<'EOF'
#!/bin/sh
cat "$2" && ! grep -q 'cut short' "$2"
EOF
chmod +x "$bin/ordo" "$bin/xz"

check() { # WHAT COMMAND ...
    what=$1
    shift
    if "$@" >"$SCRATCH/log" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $what"
        cat "$SCRATCH/log"
    fi
}
weights() { tools/scripts/weights.sh "$bin/ordo" "$corpus" "$out" "$@"; }
lists() { # DIR NAME ...: these are exactly its files
    dir=$1
    shift
    ls "$dir" && [ "$(cd "$dir" && echo *)" = "$*" ]
}

# One text as it is and one packed. A truncated text is refused every time.
echo train >"$corpus/simple.train.txt"
printf 'held\ncut short\n' >"$corpus/simple.val.txt.xz"
refused() { ! weights alibi && ! weights alibi && [ ! -e "$WORK/simple.val.txt" ] && [ -z "$(ls "$out")" ]; }
check 'a text cut short is refused each time' refused
echo held-out >"$corpus/simple.val.txt.xz"

check 'an odd number of files' weights rope rotate-stretch-36 alibi
check 'files and cards are all that is delivered' lists "$out" alibi.md alibi.safetensors rope.md rope.safetensors \
    rotate-stretch-36.md rotate-stretch-36.safetensors
check 'the rest stays in the work folder' lists "$WORK" alibi.csv alibi.log alibi.md alibi.safetensors rope.csv rope.log \
    rope.md rope.safetensors rotate-stretch-36.csv rotate-stretch-36.log rotate-stretch-36.md \
    rotate-stretch-36.safetensors simple.val.txt "tokenizer-$(sha256sum <"$corpus/simple.train.txt" | cut -c 1-8).safetensors"
check 'the encoding of a name' grep -qx 'rotate-stretch:period=36 yes --tokens 12000000 --batch 8 --optimizer muon --lr 0.006 --products bf16 --seed 1 ...' "$out/rotate-stretch-36.safetensors"
check 'the card holds what the program says' grep -q '| tokens seen | 11,999,232 |' "$out/alibi.md"
check 'nothing is written into the corpus' lists "$corpus" simple.train.txt simple.val.txt.xz

# A failed run keeps its checkpoint and ends the script after the other run has finished.
fails() { ! weights none learned sinusoidal && [ -e "$WORK/none.checkpoint" ] && [ ! -e "$out/none.safetensors" ]; }
check 'a failure is one' fails
check 'and keeps no other from its end' [ -e "$out/learned.md" ]
check 'but what would follow' [ ! -e "$out/sinusoidal.safetensors" ]
goes_on() { ! weights none && grep -qx 'went on' "$WORK/none.log"; }
check 'the next run goes on' goes_on

# A none as large as deberta. The stand-in fails for the encoding none, so the options are in the log of a failure.
larger() { sed 's/\[ "$encoding" != none \]/true/' "$bin/ordo" >"$bin/larger" && chmod +x "$bin/larger" &&
    tools/scripts/weights.sh "$bin/larger" "$corpus" "$out" none-large && grep -q '^none .* ffn 524$' "$out/none-large.safetensors"; }
check 'a file of another size has the same encoding and a wider layer' larger

# Several seeds with another budget.
rm -r "$out" "$WORK"
seeds() { SEEDS="1 2" TOKENS=500 PRODUCTS=f32 weights rope alibi; }
check 'two seeds of two encodings' seeds
check 'are four files' lists "$out" alibi-1.md alibi-1.safetensors alibi-2.md alibi-2.safetensors rope-1.md \
    rope-1.safetensors rope-2.md rope-2.safetensors
check 'each of its seed and budget' grep -qx 'rope:* yes --tokens 500 .* --products f32 --seed 2 ...' "$out/rope-2.safetensors"
rm "$out/rope-1.safetensors"
missing_only() { [ "$(seeds | grep '^weights: ')" = 'weights: rope-1' ]; }
check 'one that is missing is trained alone' missing_only
other_budget() { [ "$(SEEDS=2 TOKENS=600 weights rope)" = 'weights: rope-2' ]; }
check 'one of another budget is trained again' other_budget
no_sample() { ! SILENT=yes SEEDS=3 TOKENS=600 weights rope && [ ! -e "$out/rope-3.safetensors" ]; }
check 'a card without its sample is none' no_sample

rm "$corpus/simple.val.txt.xz"
missing() { weights rope 2>&1 | grep -x "weights: $corpus/simple.val.txt: not found, nor with .xz"; }
check 'a text that is not there is named' missing

# seeds.sh, in a tree of its own. The stand-in measures what is in `new`.
tree=$SCRATCH/tree new=$SCRATCH/new
mkdir -p "$tree/bench/results" "$tree/tools/scripts" "$tree/weights" "$new" "$SCRATCH/seeds"
cp bench/seeds.sh "$tree/bench"
echo weights >"$tree/weights/rope.safetensors"
cat >"$SCRATCH/ordo" <<'EOF'
#!/bin/sh
[ "$1" != info ] || { printf '%s\n' "recipe.optimizer: muon" "lr: $(cat "$NEW/rate")" "corpus: some.txt" && exit; }
case $* in
*--corpus*) kept=no ;;
*) kept=yes ;;
esac
all=$*
while [ "$1" != --out ]; do shift; done
if [ $kept = no ]; then
    echo "$all" >"$NEW/asked"
    cp "$NEW"/compare-*.csv "$2"
else
    for table in loss pairs; do cat "$ORDO_WEIGHTS/../bench/results/seeds-runs.csv" >"$2/compare-$table.csv"; done
fi
EOF
printf '#!/bin/sh\nmkdir -p "$WORK"\n' >"$tree/tools/scripts/weights.sh"
printf '#!/bin/sh\ntouch "%s"\n' "$SCRATCH/table" >"$tree/tools/scripts/readme_table.sh"
chmod +x "$SCRATCH/ordo" "$tree/tools/scripts/"*
measure() { # NAME,ENCODING,SEED,...,PROCESSOR ...: the runs that are measured
    printf '%s\n' "${HEADER:-file,encoding,seed,processor}" "$@" >"$new/compare-runs.csv"
    { echo file,document,tokens,nll && for run; do echo "${run%%,*},0,9,2.5"; done; } >"$new/compare-documents.csv"
    NEW=$new WORK=$SCRATCH/seeds "$tree/bench/seeds.sh" "$SCRATCH" "$corpus" rope
}
are() { # TABLE LINE ...: it has these lines
    table=$1
    shift
    cat "$tree/bench/results/$table.csv" && [ "$(cat "$tree/bench/results/$table.csv")" = "$(printf '%s\n' "$@")" ]
}
unset WORK
echo 0.006 >"$new/rate"
echo 'Muon at 0.006 on some.txt' >"$tree/bench/results/seeds-recipe.txt"
printf '%s\n' file,encoding,seed gone,alibi,1 rope-1,rope,0 >"$tree/bench/results/seeds-runs.csv"
printf '%s\n' file,document,tokens,nll gone,0,9,2.6 rope-1,0,9,2.7 >"$tree/bench/results/seeds-documents.csv"
check 'seeds: results without processors' measure 'rope-1,rope,1,some EPYC'
check 'seeds: the row of a file that is gone stays' are seeds-runs file,encoding,seed,processor 'rope-1,rope,1,some EPYC' gone,alibi,1,
check 'seeds: and its documents, in order' are seeds-documents file,document,tokens,nll gone,0,9,2.6 rope-1,0,9,2.5
check 'seeds: a file that does not record its processor' measure rope-1,rope,1, rope-2,rope,2,
check 'seeds: keeps what the results say' are seeds-runs file,encoding,seed,processor 'rope-1,rope,1,some EPYC' rope-2,rope,2, \
    gone,alibi,1,
echo 0.012 >"$new/rate"
check 'seeds: another rate' measure rope-1,rope,1,
check 'seeds: joins nothing of before' are seeds-runs file,encoding,seed,processor rope-1,rope,1,
# Results from before the trunk was a column, and a second text.
echo story >"$tree/weights/heldout-2.txt"
HEADER=file,encoding,seed,trunk,processor
check 'seeds: files of another size' measure 'wide-1,none,1,d_ff 524,some EPYC' none-1,none,1,,
check 'seeds: rows without a trunk have an empty one' are seeds-runs $HEADER 'wide-1,none,1,d_ff 524,some EPYC' \
    none-1,none,1,, rope-1,rope,1,,
check 'seeds: the second text has the measured files' are heldout-2/seeds-runs $HEADER 'wide-1,none,1,d_ff 524,some EPYC' \
    none-1,none,1,,
names_texts() {
    [ "$(cat "$tree/bench/results/seeds-recipe.txt")" = "$(printf 'Muon at 0.012 on some.txt\nsimple.val.txt')" ] &&
        [ "$(sed -n 2p "$tree/bench/results/heldout-2/seeds-recipe.txt")" = heldout-2.txt ]
}
check 'seeds: each text is named' names_texts
check 'seeds: again' measure none-1,none,1,,
check 'seeds: and a trunk stays' are seeds-runs $HEADER none-1,none,1,, 'wide-1,none,1,d_ff 524,some EPYC' rope-1,rope,1,,
for name in none-1 wide-1 other-1; do cp "$SCRATCH/seeds/rope-1.safetensors" "$SCRATCH/seeds/$name.safetensors"; done
only_new() { # on the second text, whose results lack rope-1
    KEEP=yes measure none-1,none,1,, other-1,other,1,, &&
        [ "$(grep -o '[a-z]*-1[.]' "$new/asked" | tr -d '\n')" = none-1.other-1.rope-1. ]
}
check 'seeds: only files that the results lack are measured, and the first' only_new
check 'seeds: and the others stay' are seeds-runs $HEADER none-1,none,1,, other-1,other,1,, \
    'wide-1,none,1,d_ff 524,some EPYC' rope-1,rope,1,,
rm "$SCRATCH"/seeds/none-1.safetensors "$SCRATCH"/seeds/wide-1.safetensors "$SCRATCH"/seeds/other-1.safetensors
rm "$tree/weights/heldout-2.txt"
unset HEADER
mkdir -p "$SCRATCH/seeds/texts"
log() { # LAST ...: a training's log, with a held-out loss after each 2,048 tokens
    echo step,tokens,lr,loss,grad_norm,tokens_per_second,validation_loss
    for step; do printf '%s\n' "$step,$((2048 * step)),0,8,1,9," "$step,$((2048 * step)),,,,,$((9 - step))"; done
}
log 1 2 3 4 5 6 7 >"$SCRATCH/seeds/texts/rope-1.csv"
log 2 4 6 >"$SCRATCH/seeds/texts/none-2.csv"
log 7 >"$SCRATCH/seeds/texts/failed-2.csv"
rm -f "$SCRATCH/table"
cp "$SCRATCH/seeds/texts/rope-1.csv" "$SCRATCH/seeds/rope-1.safetensors"
budget() { TOKENS=16000 measure rope-1,rope,1, none-2,none,2, && [ ! -e "$SCRATCH/table" ]; }
check 'seeds: another budget, and no table' budget
after_quarters() {
    are tokens-16000/progress file,tokens,nll none-2,4096,7 none-2,8192,5 none-2,12288,3 rope-1,4096,7 rope-1,8192,5 \
        rope-1,12288,3 rope-1,14336,2
}
check 'seeds: the losses after each quarter' after_quarters
rm "$SCRATCH/seeds/texts/none-2.csv"
check 'seeds: another budget again' budget
check 'seeds: a log that is gone keeps its losses' after_quarters

# stories.sh: a rare thing comes back or does not, a common one does not count, and nothing meets itself.
{
    for i in 1 2 3 4 5 6 7 8 9 10; do
        printf '%s\n<|endoftext|>\n' 'Tim saw a dog and ran home.' 'Tim looked at the dog.' 'He ran to Tim.' 'Then he saw it.' 'An old dog.'
    done
    echo 'an anchor, the anchor, his anchor'
} >"$SCRATCH/stories"
printf '%s\n<|endoftext|>\n' 'Tim saw an anchor. Then he ran and ran and ran home. He looked at the anchor.' \
    'Tim saw an anchor. Then he ran and ran and ran home. He looked at the dog.' \
    'Tim saw a dog. Then he ran and ran and ran home. "Tim looked at Tim." He looked at the dog.' \
    'Tim saw an anchor. Tim looked at Tim. Then he ran and ran home to the anchor.' \
    'Tim saw an anchor. Then the dog and the old dog ran home. He looked at the anchor.' >"$SCRATCH/told"
judged() {
    tools/scripts/stories.sh --documents "$SCRATCH/stories" "$SCRATCH/told" |
        grep 'of 5 stories spell 5, prose 5, end 5, thing 3 (.*), self 3, repeated'
}
brief_cards() { # the common part stands in weights/README.md
    for file in weights/*.safetensors; do [ "$(wc -l <"${file%.safetensors}.md")" -le 25 ] || { echo "${file%.safetensors}.md: expected 25 lines at most"; return 1; }; done
}
check 'each card has 25 lines at most' brief_cards
check 'stories: a thing that comes back, and nothing that meets itself' judged

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
