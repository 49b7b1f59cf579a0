#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs into a scratch prefix and uses the result from outside the tree: by pkg-config, by CMake and from Python,
# shared and static. The built programs are engine/examples.
#   SCRATCH=DIR run.sh BUILD
set -u
unset MAKEFLAGS MAKELEVEL MFLAGS
[ "$(basename "$1")" = release ] || { echo "0 passed, 0 failed"; exit 0; } # only the release is installed
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
pkg() { PKG_CONFIG_PATH=$prefix/lib/pkgconfig pkg-config "$@" ordo; }
build() { # NAME FLAG ...: with the shared library, and all warnings as errors
    name=$1
    shift
    # shellcheck disable=SC2046  # flags
    (cd "$outside" && ${CXX:-c++} -std=c++20 -Wall -Wextra -Wpedantic -Wsign-conversion -Werror "$@" "$name.cpp" -o "$name" \
        $(pkg --cflags --libs) -Wl,-rpath,"$prefix/lib")
}
build_static() { # NAME
    # shellcheck disable=SC2046
    (cd "$outside" && ${CXX:-c++} -std=c++20 "$1.cpp" -o "$1_static" \
        $(pkg --cflags --static --libs | sed 's/-lordo/-l:libordo.a/'))
}
build_c() { # NAME
    # shellcheck disable=SC2046
    (cd "$outside" && ${CC:-cc} -std=c99 -Wall -Wextra -pedantic -Werror "$1.c" -o "$1_c" \
        $(pkg --cflags --libs) -Wl,-rpath,"$prefix/lib")
}
build_static_c() { # NAME: by the C compiler, which links no C++ library
    # shellcheck disable=SC2046
    (cd "$outside" && ${CC:-cc} -std=c99 "$1.c" -o "$1_c_static" \
        $(pkg --cflags --static --libs | sed 's/-lordo/-l:libordo.a/'))
}
writes_the_same() { # COMMAND ...: the same as the installed program
    "$@" "$model" "$prompt" >"$SCRATCH/other" && same program other
}

# The structures of ordo.py are those of ordo_c.h.
layouts() {
    awk '/^typedef struct .* [{]$/ { name = $3 } /^    size_t size;/ { print name }' engine/ordo_c.h | sort >"$SCRATCH/structures"
    {
        echo '#include <ordo/ordo_c.h>' && echo '#include <stdio.h>' && echo 'int main(void) {'
        sed 's/.*/printf("& %zu\\n", sizeof(&));/' "$SCRATCH/structures" && echo 'return 0; }'
    } >"$outside/sizes.c" && build_c sizes && "$outside/sizes_c" >"$SCRATCH/sizes" && PYTHONPATH="$python" python3 - "$SCRATCH/sizes" <<'END'
import ctypes, sys, ordo
own = {"ordo" + "".join("_" + c.lower() if c.isupper() else c for c in name.strip("_")): kind
       for name, kind in vars(ordo).items() if isinstance(kind, type) and issubclass(kind, ordo._Structure)}
for line in open(sys.argv[1]):
    name, size = line.split()
    assert ctypes.sizeof(own[name]) == int(size), line
END
}
# LIBDIR is a folder of PREFIX; the files that name it find the rest from there.
elsewhere() {
    deep=$SCRATCH/deep
    make install PREFIX="$deep" LIBDIR=lib/there >"$SCRATCH/laid" && [ ! -e "$deep/lib/libordo.so" ] &&
        grep -qF "LD_LIBRARY_PATH=$deep/lib/there" "$SCRATCH/laid" &&
        [ "$(PKG_CONFIG_PATH=$deep/lib/there/pkgconfig pkg-config --variable=weightsdir ordo)/rope.safetensors" -ef "$deep/share/ordo/weights/rope.safetensors" ] &&
        (prefix=$deep && PKG_CONFIG_PATH=$deep/lib/there/pkgconfig && export PKG_CONFIG_PATH && cd "$outside" &&
            ${CXX:-c++} -std=c++20 generate.cpp -o there $(pkg-config --cflags --libs ordo) -Wl,-rpath,"$deep/lib/there") &&
        writes_the_same "$outside/there" &&
        make uninstall PREFIX="$deep" LIBDIR="$deep/lib/there" && [ -z "$(find "$deep" ! -type d)" ] &&
        ! make install PREFIX="$deep" LIBDIR=/somewhere/lib
}
# As root with no DESTDIR, ldconfig is run; where it finds the library nothing is said.
registered() {
    mkdir "$SCRATCH/bin" && printf '#!/bin/sh\necho "$@" >>%s/ldconfig\n[ $# -eq 0 ] || echo "x => %s/lib/libordo.so.1"\n' "$SCRATCH" "$SCRATCH" >"$SCRATCH/bin/ldconfig" &&
        chmod +x "$SCRATCH/bin/ldconfig" && said=$(PATH="$SCRATCH/bin:$PATH" tools/scripts/register_library.sh "$SCRATCH/lib" libordo.so.1) && [ -z "$said" ] &&
        { [ "$(id -u)" -ne 0 ] || grep -qx '' "$SCRATCH/ldconfig"; }
}
# What lies where; DESTDIR is in no file.
staged() {
    make install PREFIX=/usr DESTDIR="$SCRATCH/staged" PYTHONDIR=lib/python3/dist-packages &&
        (cd "$SCRATCH/staged/usr" && test -x bin/ordo && test -f lib/libordo.a) &&
        (cd "$SCRATCH/staged/usr" && find . ! -type d ! -path './share/ordo/*' | LC_ALL=C sort |
            sed -E 's/so\.[0-9]+\.[0-9]+\.[0-9]+$/so.VERSION/; s/so\.[0-9]+\.[0-9]+$/so.ABI/') >"$SCRATCH/laid" &&
        printf './%s\n' bin/ordo bin/ordo-bench bin/ordo-lab bin/ordo-train include/ordo/encoding.h include/ordo/encoding_tables.h include/ordo/ordo.h include/ordo/ordo_c.h include/ordo/rows.h include/ordo/training.h \
            lib/cmake/ordo/ordo-config-version.cmake lib/cmake/ordo/ordo-config.cmake lib/libordo.a lib/libordo.so \
            lib/libordo.so.ABI lib/libordo.so.VERSION lib/pkgconfig/ordo.pc lib/python3/dist-packages/ordo.py share/bash-completion/completions/ordo \
            share/fish/vendor_completions.d/ordo.fish share/man/man1/ordo.1 share/zsh/site-functions/_ordo >"$SCRATCH/expected" &&
        same laid expected &&
        ! grep -rqF "$SCRATCH" "$SCRATCH/staged/usr/lib/pkgconfig" "$SCRATCH/staged/usr/lib/cmake"
}
readable() { # whatever the umask, also of a file that an earlier one hid
    chmod 600 "$SCRATCH/staged/usr/share/man/man1/ordo.1"
    for mask in 077 027; do
        (umask $mask && make install PREFIX=/usr DESTDIR="$SCRATCH/staged" PYTHONDIR=lib/python3/dist-packages) || return 1
        find "$SCRATCH/staged" \( -type d ! -perm 755 -o -type f ! -perm 644 ! -perm 755 \) | grep . && return 1
    done
    (umask 027 && make install PREFIX="$SCRATCH/masked/usr") && ! find "$SCRATCH/masked" \( -type d ! -perm 755 -o -type f ! -perm 644 ! -perm 755 \) | grep .
}
check 'make install DESTDIR=' staged
check 'make install under umask 077 and 027' readable
# The man page is valid: man and mandoc, if installed, give no warnings for it in 80 columns. bash completes the
# program's options once it has read the completion file.
page=$SCRATCH/staged/usr/share/man/man1/ordo.1
unwarned() {
    if command -v man >/dev/null; then
        LC_ALL=C.UTF-8 MANWIDTH=80 man -l --warnings=w "$page" 2>&1 >/dev/null </dev/null | grep . && return 1
    fi
    if command -v mandoc >/dev/null; then
        mandoc -T lint -W warning "$page" || return 1
    fi
}
helpful() {
    grep -q '^[.]TH ORDO 1' "$page" && unwarned &&
        bash -c '. "$1/bash-completion/completions/ordo" && complete -p ordo' - "$SCRATCH/staged/usr/share"
}
check 'the man page and the completions' helpful
# Of weights/ only the shipped files are installed, whatever else the folder holds. The test uses a tree that shares
# everything but that folder.
only_weights() {
    mkdir -p "$SCRATCH/tree/weights" && ln -s "$PWD"/* "$SCRATCH/tree" 2>"$SCRATCH/ln"
    for file in rope.safetensors rope.md heldout.txt heldout-2.txt; do cp "weights/$file" "$SCRATCH/tree/weights" || return; done
    for file in stories.train.txt rope.checkpoint rope.csv rope.log rope.safetensors.part; do
        echo stray >"$SCRATCH/tree/weights/$file"
    done
    make -C "$SCRATCH/tree" install DESTDIR="$SCRATCH/few" PREFIX=/usr &&
        (cd "$SCRATCH/few/usr/share/ordo/weights" && ls | LC_ALL=C sort) >"$SCRATCH/laid" &&
        printf '%s\n' heldout-2.txt heldout.txt rope.md rope.safetensors >"$SCRATCH/expected" &&
        same laid expected
}
check 'make install lays down what ships of weights/ and no more' only_weights

check 'make install PREFIX=' make install PREFIX="$prefix"

versions() { "$prefix/bin/ordo" --version | grep -wF "$(pkg --modversion)"; }
check 'one version' versions

# The library leaves the process alone: it prints nothing, never exits, and sets no handler, locale or thread count. The
# exception is core/blas, which sets the OpenMP thread count of a thread during its call of OpenBLAS, because OpenBLAS
# asks for this count.
discreet() {
    ! nm -C -u "$prefix/lib/libordo.a" | awk '/^[a-z_0-9]+[.]o:$/ { blas = $0 == "blas.o:" } !(blas && /omp_set_num_threads/)' | grep -wE \
        'std::(cout|cerr|clog)|printf|puts|putchar|exit|_exit|abort|signal|sigaction|setlocale|omp_set_num_threads|openblas_set_num_threads'
}
check 'the library leaves the process alone' discreet

# The shared library exports exactly the names of the headers: first words after ordo::, or names that begin with ordo_.
# It exports nothing else, not even the standard library's templates.
hidden() {
    nm -DC --defined-only "$prefix/lib/libordo.so" | sed -E 's/^[0-9a-f]* +[A-Za-z] ((typeinfo|typeinfo name|vtable|VTT) for )?//' >"$SCRATCH/symbols"
    ! grep -vE '^ordo(::|_)' "$SCRATCH/symbols" &&
        sed -E 's/^ordo::([A-Za-z_]+).*/\1/; s/^(ordo_[a-z_]+).*/\1/' "$SCRATCH/symbols" | sort -u >"$SCRATCH/shown" &&
        grep -q '^Model$' "$SCRATCH/shown" && grep -q '^ordo_generate$' "$SCRATCH/shown" &&
        while read -r name; do
            grep -qw "$name" "$prefix"/include/ordo/*.h || { echo "libordo.so shows $name"; return 1; }
        done <"$SCRATCH/shown"
}
check 'libordo.so shows the public interface alone' hidden

cp engine/examples/* "$outside"
check 'generate.cpp builds' build generate
check 'own_encoding.cpp builds' build own_encoding
check 'fine_tune.cpp builds' build fine_tune
check 'batch.cpp builds' build batch
check 'threads.cpp builds' build threads -fopenmp
check 'generate.cpp builds with the static library' build_static generate
check 'generate.c builds' build_c generate
cp tests/install/api.c tests/install/unload.c tests/install/strict.cpp "$outside"
check 'each structure may be filled by names under strict warnings' build strict
older() { # the first error of a compiler that is set to C++17
    # shellcheck disable=SC2046
    echo '#include <ordo/ordo.h>' | ${CXX:-c++} -std=c++17 -fsyntax-only -x c++ $(pkg --cflags) - 2>&1 |
        grep -m 1 'error:' | grep 'need C++20: compile with -std=c++20'
}
check 'C++17 is told that it needs C++20' older
check 'api.c builds' build_c api
unloads() { # a program can open the library, use it on several threads, and close it
    # shellcheck disable=SC2046
    (cd "$outside" && ${CC:-cc} -std=c99 -Wall -Wextra -pedantic -Werror unload.c -o unload $(pkg --cflags) -ldl) &&
        for _ in 1 2 3 4 5; do OMP_NUM_THREADS=2 "$outside/unload" "$prefix/lib/libordo.so" "$model" || return 1; done
}
check 'libordo.so can be closed' unloads
dry() { make -n BUILD="$SCRATCH/dry" program lab fuzzers >/dev/null && [ ! -e "$SCRATCH/dry" ]; }
check 'make -n writes nothing' dry
at_once() { # each make writes the flags anew
    for i in 1 2 3 4 5; do
        set -- make BUILD="$SCRATCH/dry" CXXFLAGS="-DX=$i" "$SCRATCH/dry/flags"
        "$@" >"$SCRATCH/one" 2>&1 &
        "$@" >"$SCRATCH/two" 2>&1 && wait $! && ! grep -v 'Nothing to be done' "$SCRATCH/one" "$SCRATCH/two" &&
            grep -q "DX=$i" "$SCRATCH/dry/flags" || return 1
    done
    [ "$(cd "$SCRATCH/dry" && echo flags*)" = flags ]
}
check 'two makes at once leave one file of flags' at_once
cxx23() { ! command -v clang++ >/dev/null || clang++ -std=c++2b -fsyntax-only -Iengine engine/io/json.cpp; }
check 'C++23 of clang reads json.h' cxx23
check 'generate.c builds with the static library' build_static_c generate

# The installed program, the examples, and the rewritten encoding give the same words.
"$prefix/bin/ordo" generate -m "$model" -p "$prompt" -n 48 --temp 0 --no-display-prompt >"$SCRATCH/program" 2>"$SCRATCH/err"
check 'the installed program writes' test "$(wc -w <"$SCRATCH/program")" -gt 10
check 'generate writes the same' writes_the_same "$outside/generate"
check 'generate with the static library writes the same' writes_the_same "$outside/generate_static"
check 'generate.c writes the same' writes_the_same "$outside/generate_c"
check 'generate.c with the static library writes the same' writes_the_same "$outside/generate_c_static"
check 'api.c has what the header says, and writes the same' writes_the_same "$outside/api_c"
python=$(find "$prefix" -name ordo.py -printf '%h')
export PYTHONDONTWRITEBYTECODE=1
check 'generate.py writes the same' writes_the_same env PYTHONPATH="$python" python3 "$outside/generate.py"
check 'ordo.py offers the library, and writes the same' writes_the_same env PYTHONPATH="$python" python3 tests/install/use.py
for each in python3 python3.9 python3.10 python3.11 python3.12 python3.13; do
    $each -c '' 2>/dev/null || continue
    check "ordo.py loses no signal, text or number ($each)" env PYTHONPATH="$python" $each tests/install/faults.py "$model"
done
check 'ordo.py has the structures of ordo_c.h' layouts
check 'batch writes the same' writes_the_same "$outside/batch"
check 'threads writes the same' writes_the_same "$outside/threads"
(cat "$SCRATCH/program" && echo my-rotation) >"$SCRATCH/own_expected"
"$outside/own_encoding" "$model" "$prompt" >"$SCRATCH/own"
check 'own_encoding writes the same' same own_expected own
# The same weights with a token that begins a text and another that ends it, as Llama has them.
begun() {
    python3 - "$model" "$SCRATCH/begun.safetensors" <<'END' &&
import json, struct, sys
data = open(sys.argv[1], "rb").read()
size = struct.unpack("<Q", data[:8])[0]
header = json.loads(data[8:8 + size])
header["__metadata__"]["special_tokens"] = '{"start": 70, "end": [0]}'
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
open(sys.argv[2], "wb").write(struct.pack("<Q", len(text)) + text + data[8 + size:])
END
        "$prefix/bin/ordo" generate -m "$SCRATCH/begun.safetensors" -p "$prompt" -n 48 --temp 0 --no-display-prompt -q >"$SCRATCH/begun" &&
        ! same program begun
}
check 'a start token changes the text' begun
begins() { "$@" "$SCRATCH/begun.safetensors" "$prompt" >"$SCRATCH/other" && same begun other; }
for each in "$outside/batch" "$outside/api_c" "env PYTHONPATH=$python python3 $outside/generate.py"; do
    # shellcheck disable=SC2086
    check "$each begins with it too" begins $each
done
twice() { # two texts at once are each as alone
    cat "$SCRATCH/program" "$SCRATCH/program" >"$SCRATCH/two" &&
        "$outside/$1" "$model" "$prompt" "$prompt" >"$SCRATCH/other" && same two other
}
check 'batch writes two' twice batch
check 'threads writes two' twice threads

# The programs printed in README.md, unchanged: built with the installed library, and run where their paths to the
# weights are valid. They do not sample greedily, but the library's default seed is 0.
readme_block() { awk -v n="$1" '/^```cpp$/ { ++block; inside = 1; next } /^```$/ { inside = 0 } inside && block == n' README.md; }
as_the_program() { # NUMBER NAME OPTION ...: and as in README.md
    shown=$(sed -n 's/^Its output begins `\([^`]*\)`.*/\1/p' README.md | sed -n "$1p") name=$2
    shift 2
    build "$name" && "$outside/$name" >"$SCRATCH/other" && test "$(wc -w <"$SCRATCH/other")" -gt 10 &&
        [ -n "$shown" ] && case $(cat "$SCRATCH/other") in "$shown"*) ;; *) echo "expected: $shown" && cat "$SCRATCH/other" && false ;; esac &&
        "$prefix/bin/ordo" generate -s 0 --no-display-prompt -q "$@" >"$SCRATCH/same" && same same other
}
readme_program() {
    readme_block 1 >"$outside/readme.cpp" && as_the_program 1 readme -m weights/rope.safetensors -p 'Once upon a time'
}
check "README.md's program" readme_program
# An encoding in the place of the first program's: ALiBi's bias with one slope for all heads.
readme_encoding() {
    readme_block 1 >"$SCRATCH/program1" && readme_block 2 >"$SCRATCH/encoding" && grep -q 'ordo::Encoding' "$SCRATCH/encoding" &&
        {
            sed '/^int main/,$d' "$SCRATCH/program1"
            cat "$SCRATCH/encoding"
            sed -n '/^int main/,$p' "$SCRATCH/program1" | grep -v 'Model::load'
        } >"$outside/readme2.cpp" &&
        as_the_program 2 readme2 -m weights/none.safetensors --encoding alibi:max=0,scale=0.0625 --force-encoding -p 'Once upon a time'
}
check "README.md's encoding" readme_encoding
# make run writes README.md's story, and the commands that it ends with work.
first_run() {
    make run >"$SCRATCH/run" 2>&1 || { cat "$SCRATCH/run" && return 1; }
    story=$(sed -n 's/^\(Once upon a time, there was .*\) [.][.][.]$/\1/p' README.md)
    [ -n "$story" ] && tr '\n' ' ' <"$SCRATCH/run" | grep -F "$story" >"$SCRATCH/told" &&
        tail -n 3 "$SCRATCH/run" >"$SCRATCH/next" && grep -qx '  build/ordo generate -i' "$SCRATCH/next" &&
        grep -qx '  make && build/ordo lab' "$SCRATCH/next" && sh -ec "$(head -n 1 "$SCRATCH/next")" | grep -q '^encoding: alibi$'
}
check 'make run' first_run
# The README trains on a text of its own, of which the text for measuring has no eight words in a row.
own_text() {
    grep -q 'train weights/train.txt' README.md && ! grep -q 'train weights/heldout' README.md &&
        for file in train heldout; do
            tr -cs '[:alnum:]' '\n' <"weights/$file.txt" | tr '[:upper:]' '[:lower:]' |
                awk '{ for (i = 7; i > 0; --i) w[i] = w[i - 1]; w[0] = $0; line = w[7]; for (i = 6; i >= 0; --i) line = line " " w[i]; if (NR > 7) print line }' |
                sort -u >"$SCRATCH/$file" || return 1
        done && [ "$(wc -l <"$SCRATCH/train")" -gt 10000 ] && ! comm -12 "$SCRATCH/train" "$SCRATCH/heldout" | grep .
}
check "README.md's text for training" own_text
check 'README.md has at most 130 lines' test "$(wc -l <README.md)" -le 130

# A project of C alone, which has no compiler of C++.
c_only() {
    mkdir "$SCRATCH/c_only" && cp engine/examples/generate.c "$SCRATCH/c_only" && cat >"$SCRATCH/c_only/CMakeLists.txt" <<'END' &&
cmake_minimum_required(VERSION 3.20)
project(c_only C)
find_package(ordo 0.1 REQUIRED)
foreach(kind ordo static)
  add_executable(by_${kind} generate.c)
  target_link_libraries(by_${kind} ordo::${kind})
endforeach()
if(NOT EXISTS "${ordo_WEIGHTS_DIR}/rope.safetensors")
  message(FATAL_ERROR "no weights in ${ordo_WEIGHTS_DIR}")
endif()
END
        cmake -S "$SCRATCH/c_only" -B "$SCRATCH/c_only/build" -DCMAKE_PREFIX_PATH="$prefix" && cmake --build "$SCRATCH/c_only/build" &&
        writes_the_same "$SCRATCH/c_only/build/by_ordo" && writes_the_same "$SCRATCH/c_only/build/by_static"
}
check 'CMake links both libraries into a project of C alone' c_only
by_cmake() { # from a prefix that was moved
    mv "$prefix" "$SCRATCH/moved" &&
        cmake -S "$outside" -B "$SCRATCH/cmake" -DCMAKE_PREFIX_PATH="$SCRATCH/moved" && cmake --build "$SCRATCH/cmake"
    built=$?
    model=$SCRATCH/moved/share/ordo/weights/rope.safetensors
    [ $built -eq 0 ] && writes_the_same "$SCRATCH/cmake/generate" && writes_the_same "$SCRATCH/cmake/generate_c" &&
        writes_the_same "$SCRATCH/cmake/generate_static" && writes_the_same "$SCRATCH/cmake/generate_c_static"
    worked=$?
    PKG_CONFIG_PATH=$SCRATCH/moved/lib/pkgconfig pkg-config --cflags ordo | grep -qF "$SCRATCH/moved" || worked=1
    mv "$SCRATCH/moved" "$prefix"
    model=$prefix/share/ordo/weights/rope.safetensors
    return $worked
}
check 'find_package(ordo) and pkg-config find a prefix that was moved' by_cmake

check 'make install LIBDIR= moves the library' elsewhere
check 'make install runs ldconfig' registered

# Thirteen losses of a sentence that is learned, the last less than half of the first, and the file has a record.
"$outside/fine_tune" "$model" 'My neighbour keeps seven green parrots in an old bathtub.' "$outside/tuned" >"$SCRATCH/tuned"
learned() { awk 'NR == 1 { first = $1 } NR == 13 { last = $1 } END { exit !(last > 0 && last < first / 2 && $0 == "12 steps") }' "$SCRATCH/tuned"; }
check 'fine_tune learns' learned

# An error is an exception with a code. The program finds its weights from any folder.
"$outside/generate" "$outside/absent" "$prompt" >"$SCRATCH/absent" 2>&1
check 'a missing file is Error(io)' test $? -eq 5
"$outside/generate_c" "$outside/absent" "$prompt" >"$SCRATCH/absent_c" 2>&1
check 'a missing file is ORDO_IO' test $? -eq 5
check 'and the same text' same absent absent_c
from_anywhere() { (cd / && env -i "$prefix/bin/ordo" generate -p "$prompt" -n 48 --temp 0 --no-display-prompt "$@" 2>/dev/null); }
from_anywhere --encoding rope >"$SCRATCH/elsewhere"
check 'the program finds its weights' same program elsewhere
from_anywhere >"$SCRATCH/told"
from_anywhere -m "$prefix/share/ordo/weights/storyteller.safetensors" >"$SCRATCH/storyteller"
check 'and the storyteller' same told storyteller

kept() {
    (cd / && env -i "$prefix/bin/ordo" lab compare -q --all) >"$SCRATCH/kept"
    grep -q '^  - Losses of [0-9]* runs of ' "$SCRATCH/kept" && grep -q '^  - On heldout-2.txt: Losses of ' "$SCRATCH/kept"
}
check 'and the losses kept of seed runs' kept

# A path with white space would split in two, and the first part could be another folder.
spaced() {
    mkdir "$SCRATCH/pre" && touch "$SCRATCH/pre/mine" || return 1
    for words in "PREFIX=$SCRATCH/pre fix" "DESTDIR=$SCRATCH/pre fix" "PREFIX=$SCRATCH/pre'fix" "PREFIX=$SCRATCH/pre "; do
        for target in install uninstall; do
            make "$target" "$words" && return 1
        done
    done
    [ "$(cd "$SCRATCH" && find pre* ! -type d ! -path 'prefix/*')" = pre/mine ]
}
check 'make install and uninstall refuse white space' spaced
# Other files in Ordo's folders stay.
gone() {
    own=$prefix/share/ordo/weights/own.safetensors
    touch "$own" && make uninstall PREFIX="$prefix" && [ "$(find "$prefix" ! -type d)" = "$own" ] &&
        rm "$own" && make uninstall PREFIX="$prefix" && [ ! -e "$prefix/share/ordo" ] && [ ! -e "$prefix/include/ordo" ]
}
check 'make uninstall' gone

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
