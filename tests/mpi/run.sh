#!/bin/bash
# SPDX-License-Identifier: MIT
# Compares training split over processes of one machine by mpirun with training in one process. Needs `make mpi`, which
# `make test` does not run: `make test-mpi` runs both.
#   SCRATCH=DIR run.sh BUILD
set -u
ordo=$1/mpi/ordo passed=0 failed=0
[ -n "${ORDO_TEST_MPI:-}" ] || { echo "skipped: make test-mpi builds what this needs, and runs it"; exit 0; }
cd "$SCRATCH" || exit 1
ordo=$(readlink -f "$OLDPWD/$ordo")
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS=1
head -c 60000 "$OLDPWD/weights/heldout.txt" >corpus.txt
tail -c 10000 "$OLDPWD/weights/heldout.txt" >val.txt

ranks() { # N OPTION ...: trains with N ranks; N = 0: one process without mpirun
    n=$1
    shift
    set -- "$ordo" train corpus.txt --val val.txt --byte-tokenizer --layers 2 --dim 32 --heads 4 --ffn 64 --ctx 32 \
        --batch 8 --lr 0.001 -t 1 -q "$@" # a rate that does not amplify rounding
    if [ "$n" -gt 0 ]; then set -- mpirun -n "$n" --oversubscribe --bind-to none "$@"; fi
    "$@"
}
check() { # WHAT COMMAND ...
    what=$1
    shift
    if "$@" >"log" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $what"
        cat log
    fi
}
losses() { awk -F, 'NR > 1 && $4 != "" { print $1, $4 }' "$1"; }                # steps and losses of a log
held_out() { awk '$1 == "validation_loss:" { print $2 }' "$1"; }
near() { awk -v a="$1" -v b="$2" -v most="$3" 'BEGIN { d = a - b; exit !(a != "" && b != "" && (d < 0 ? -d : d) <= most) }'; }
near_for_ten_steps() { # LOG LOG
    paste -d ' ' <(losses "$1" | head -n 10) <(losses "$2" | head -n 10) |
        awk '$1 != $3 || ($2 - $4) ^ 2 > 1e-10 { far = 1 } END { exit far || NR != 10 }'
}

few="--tokens 102400 --log" # 400 steps
ranks 0 $few one.csv --out one.st >one.out 2>&1
for n in 2 4 8; do
    check "$n ranks train" ranks $n $few $n.csv --out $n.st
    cp log $n.out
    check "$n ranks have the losses of one process for ten steps" near_for_ten_steps one.csv $n.csv
    check "$n ranks end where one process does" near "$(held_out $n.out)" "$(held_out one.out)" 0.02
done
check 'what is printed comes once' test "$(grep -c '^tokens:' 2.out)" = 1
cp 2.st first.st && rm 2.csv
ranks 2 $few 2.csv --out 2.st >again.out 2>&1
check 'the same bits at each repetition' cmp first.st 2.st

# If a rank dies, the other ranks end too, and any number of ranks can resume from the checkpoint.
long="--tokens 512000 --checkpoint-every 1" # 2,000 steps; it is stopped before the last
mark=killed-$$                              # unique to the processes of this run
ranks 0 $long --out long.st >long.out 2>&1
ranks 2 $long --log killed.csv --out $mark.st --checkpoint killed.ck >killed.out 2>&1 &
job=$!
for _ in $(seq 6000); do
    [ ! -s killed.ck ] || break
    sleep 0.01
done
victim=$(pgrep -f "^$ordo train .*$mark" | tail -n 1) # a rank, not mpirun
kill -9 "$victim"
wait $job
died=$?
check 'all end, with an error, when one dies' test $died -ne 0 -a ! -e $mark.st
check 'nobody is left' test -z "$(pgrep -f "^$ordo train .*$mark")"
for n in 1 4; do
    cp killed.ck resumed.ck && cp killed.csv resumed.csv
    check "$n ranks go on from the checkpoint of 2" ranks $n $long --log resumed.csv --out resumed.st --checkpoint resumed.ck --resume
    cp log resumed.out
    check "and $n end where one process does" near "$(held_out resumed.out)" "$(held_out long.out)" 0.05
    rm -f resumed.*
done

ranks 3 $few bad.csv --out bad.st >bad.out 2>&1
check 'a batch that has no such shares is an error' test $? -ne 0
check 'which is said once' test "$(grep -c 'batch: expected a multiple of the 3 ranks, found 8' bad.out)" = 1

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
