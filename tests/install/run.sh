#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs into a scratch prefix and uses what lies there as a stranger would: outside the tree, with
# pkg-config alone.
#   SCRATCH=DIR run.sh BUILD
set -u
unset MAKEFLAGS MAKELEVEL MFLAGS
[ "$(basename "$1")" = release ] || { echo "0 passed, 0 failed"; exit 0; } # what is installed is the release
prefix=$SCRATCH/prefix outside=$SCRATCH/outside passed=0 failed=0
prompt='Once upon a time there was a little'
model=$prefix/share/ordo/weights/rope.safetensors
mkdir "$outside"

check() { # WHAT COMMAND ...
    what=$1
    shift
    if "$@" >"$SCRATCH/out" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $what"
        cat "$SCRATCH/out"
    fi
}
same() { diff "$SCRATCH/$1" "$SCRATCH/$2"; }
build() { # NAME: warnings and all, as strict strangers do
    # shellcheck disable=SC2046  # flags
    (cd "$outside" && ${CXX:-c++} -std=c++20 -Wall -Wextra -Wpedantic -Werror "$1.cpp" -o "$1" \
        $(PKG_CONFIG_PATH=$prefix/lib/pkgconfig pkg-config --cflags --libs ordo))
}

# What lies where; DESTDIR is in no file.
staged() {
    make install PREFIX=/usr DESTDIR="$SCRATCH/staged" &&
        (cd "$SCRATCH/staged/usr" && test -x bin/ordo && test -f lib/libordo.a) &&
        (cd "$SCRATCH/staged/usr" && find . -type f ! -path './share/ordo/weights/*' | sort) >"$SCRATCH/laid" &&
        printf './%s\n' bin/ordo include/ordo/ordo.h include/ordo/training.h lib/libordo.a lib/pkgconfig/ordo.pc >"$SCRATCH/expected" &&
        same laid expected &&
        grep -qx 'prefix=/usr' "$SCRATCH/staged/usr/lib/pkgconfig/ordo.pc" &&
        ! grep -rqF "$SCRATCH" "$SCRATCH/staged/usr/lib/pkgconfig"
}
check 'make install DESTDIR=' staged
# Of weights/ only what ships, whatever else lies there: tried on a tree that is ours but for that folder.
only_weights() {
    mkdir -p "$SCRATCH/tree/weights" && ln -s "$PWD"/* "$SCRATCH/tree" 2>"$SCRATCH/ln"
    for file in rope.safetensors rope.md heldout.txt; do cp "weights/$file" "$SCRATCH/tree/weights" || return; done
    for file in stories.train.txt rope.checkpoint rope.csv rope.log rope.safetensors.part; do
        echo stray >"$SCRATCH/tree/weights/$file"
    done
    make -C "$SCRATCH/tree" install DESTDIR="$SCRATCH/few" PREFIX=/usr &&
        (cd "$SCRATCH/few/usr/share/ordo/weights" && ls | LC_ALL=C sort) >"$SCRATCH/laid" &&
        printf '%s\n' heldout.txt rope.md rope.safetensors >"$SCRATCH/expected" &&
        same laid expected
}
check 'make install lays down what ships of weights/ and no more' only_weights

check 'make install PREFIX=' make install PREFIX="$prefix"

versions() { "$prefix/bin/ordo" --version | grep -wF "$(PKG_CONFIG_PATH=$prefix/lib/pkgconfig pkg-config --modversion ordo)"; }
check 'one version' versions

# The library leaves the process alone: it prints nothing, never exits, sets no handler, locale or thread count; but core/blas
# sets the count of a thread that calls OpenBLAS for the time of that call, as OpenBLAS asks it how many it may use.
discreet() {
    ! nm -C -u "$prefix/lib/libordo.a" | awk '/^[a-z_0-9]+[.]o:$/ { blas = $0 == "blas.o:" } !(blas && /omp_set_num_threads/)' | grep -wE \
        'std::(cout|cerr|clog)|printf|puts|putchar|exit|_exit|abort|signal|sigaction|setlocale|omp_set_num_threads|openblas_set_num_threads'
}
check 'the library leaves the process alone' discreet

cp tests/install/*.cpp "$outside"
check 'consumer.cpp builds' build consumer
check 'own_encoding.cpp builds' build own_encoding
check 'fine_tune.cpp builds' build fine_tune

# The same words from the installed program, the consumer, and the encoding written again.
"$prefix/bin/ordo" generate -m "$model" -p "$prompt" -n 48 --temp 0 --no-display-prompt >"$SCRATCH/program" 2>"$SCRATCH/err"
check 'the installed program writes' test "$(wc -w <"$SCRATCH/program")" -gt 10
"$outside/consumer" "$model" "$prompt" >"$SCRATCH/consumer"
check 'consumer writes the same' same program consumer
(cat "$SCRATCH/program" && echo my-rotation) >"$SCRATCH/own_expected"
"$outside/own_encoding" "$model" "$prompt" >"$SCRATCH/own"
check 'own_encoding writes the same' same own_expected own

# Thirteen losses of a sentence that is learned, the last less than half of the first, and the file has a record.
"$outside/fine_tune" "$model" 'My neighbour keeps seven green parrots in an old bathtub.' "$outside/tuned" >"$SCRATCH/tuned"
learned() { awk 'NR == 1 { first = $1 } NR == 13 { last = $1 } END { exit !(last > 0 && last < first / 2 && $0 == "12 steps") }' "$SCRATCH/tuned"; }
check 'fine_tune learns' learned

# An error is an exception with a code, and the program finds its weights from anywhere.
"$outside/consumer" "$outside/absent" "$prompt" >"$SCRATCH/absent" 2>&1
check 'a missing file is Error(io)' test $? -eq 5
(cd / && env -i "$prefix/bin/ordo" generate -p "$prompt" -n 48 --temp 0 --no-display-prompt) >"$SCRATCH/elsewhere" 2>/dev/null
check 'the program finds its weights' same program elsewhere

gone() { make uninstall PREFIX="$prefix" && [ -z "$(find "$prefix" -type f)" ]; }
check 'make uninstall' gone

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
