#!/bin/sh
# SPDX-License-Identifier: MIT
# Proves that an encoding is one file, one line of a list, and one oracle. Adds encodings to a copy of the tree and
# changes nothing else. The contract, gradient and oracle tests and `ordo encodings` must then include them. Each is of
# another kind: trained rows of embeddings, a trained bias, a whole row of scores, a state of its own, a rotation of
# queries, keys, values and outputs by that state, a factor of the queries, a sink of each query, a state of queries
# alone, rows mixed with the row before, and positions derived from the tokens. One more has no oracle. The copy
# includes the built objects, so make compiles only the files that depend on the new lines, in one build.
set -eu
unset MAKEFLAGS MAKELEVEL MFLAGS
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
kinds='rows bias row state turn scale rest query shift line'

{ git ls-files -z 2>/dev/null || find . -path ./build -prune -o -type f -print0; } | xargs -0 cp --parents -pt "$copy"
[ ! -d build/release ] || { mkdir "$copy/build" && cp -a build/release "$copy/build/"; }
cd "$copy"

build() { make "$@" >make.log 2>&1 || { cat make.log; exit 1; }; }
tests() { build/release/ordo_tests --gtest_brief=1 --gtest_filter="$1" >tests.log 2>&1; }

for kind in $kinds; do
    cp "tests/add_encoding/encodings/throwaway_$kind.cpp" engine/encoding/
    cp "tests/add_encoding/oracles/throwaway_$kind.cpp" tests/oracles/
    echo "ENCODING(throwaway_$kind)" >>engine/encoding/list.def
done
sed 's/throwaway\([-_]\)bias/throwaway\1bare/g' engine/encoding/throwaway_bias.cpp >engine/encoding/throwaway_bare.cpp
echo 'ENCODING(throwaway_bare)' >>engine/encoding/list.def
build program test-binary
echo "$(grep -c CXX make.log) files compiled"

# The last has not been compared with anything, so this run must fail.
if tests '*Oracle*throwaway_bare*'; then
    echo "an encoding without an oracle is not reported"
    exit 1
fi
grep -q "throwaway-bare has no oracle: add one" tests.log || { echo "throwaway-bare: no oracle is asked for"; exit 1; }

build/release/ordo encodings >encodings.log
build/release/ordo_tests --gtest_list_tests | awk '/^[^ ]/ { suite = $1 } /throwaway/ { print suite $1 }' >names.log
for kind in $kinds; do
    name=throwaway-$kind
    grep -q "\b$name\b" encodings.log || { echo "ordo encodings does not list $name"; exit 1; }
    formula=$(sed -n 's/.*\.formula = "\(.*\)".*/\1/p' "engine/encoding/throwaway_$kind.cpp")
    build/release/ordo encodings "$name" | grep -qF "$formula" || { echo "ordo encodings does not explain $name"; exit 1; }
    for suite in Contract Gradient Oracle; do
        grep -q "$suite.*throwaway_$kind\b" names.log || grep -q "$suite.*throwaway_${kind}_" names.log ||
            { echo "no $suite test runs on $name"; exit 1; }
    done
done

# The tests that use the list name the encoding they run on, or report it as one of several.
tests '*throwaway*:*EncodingContractWithout*:Evicting.*:CliEncodings.*:Registry.*:EncodingTable.*-*throwaway_bare*' || { cat tests.log; exit 1; }
echo "ordo encodings lists all of them; $(wc -l <names.log) tests run on them, $(grep -c Contract names.log) of them of the" \
    "contract; $(sed -nE 's/^\[  PASSED  \] ([0-9]+) tests?\..*/\1/p' tests.log) pass, with those of the lists"
