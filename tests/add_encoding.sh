#!/bin/sh
# SPDX-License-Identifier: MIT
# Proves that an encoding is one file and one line: adds one to a copy of the tree, touches nothing
# else, and sees the contract tests and `ordo encodings` pick it up. The copy takes the objects that
# are built along, so that make compiles only what the new line reaches.
set -eu
unset MAKEFLAGS MAKELEVEL MFLAGS
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT

git ls-files -z | xargs -0 cp --parents -pt "$copy"
[ ! -d build/release ] || { mkdir "$copy/build" && cp -a build/release "$copy/build/"; }
cd "$copy"

cat >engine/encoding/throwaway.cpp <<'END'
// SPDX-License-Identifier: MIT
// A throw-away: bias -log(1 + |i - j|) on every head.
#include "encoding/registry.h"

#include <cmath>

namespace ordo {
namespace {

class Throwaway final : public Encoding {
public:
    std::string spec() const override { return "throwaway"; }
    unsigned moments() const override { return moment_bias; }
    void bias(View scores, int, int, Positions queries, Positions keys) const override {
        for (int i = 0; i < scores.rows; ++i)
            for (int j = 0; j < scores.cols; ++j)
                scores.row(i)[j] -= std::log1p(std::abs(static_cast<float>(
                    queries[static_cast<std::size_t>(i)] - keys[static_cast<std::size_t>(j)])));
    }
};

std::unique_ptr<Encoding> make(const SpecItem& item, const Dims&) {
    item.finish();
    return std::make_unique<Throwaway>();
}

} // namespace

extern const EncodingInfo throwaway_encoding;
const EncodingInfo throwaway_encoding = {.name = "throwaway",
                                         .summary = "a penalty that grows with the logarithm of the distance",
                                         .paper = "none",
                                         .formula = "score(i, j) -= log(1 + |i - j|)",
                                         .moments = moment_bias,
                                         .shift_invariant = true,
                                         .trainable = false,
                                         .parameters = {},
                                         .make = make};

} // namespace ordo
END
echo 'ENCODING(throwaway)' >>engine/encoding/list.def

make program test-binary >make.log 2>&1 || { cat make.log; exit 1; }
echo "$(grep -c CXX make.log) files compiled"

build/release/ordo encodings | grep -q '\bthrowaway\b' || { echo "ordo encodings does not list it"; exit 1; }
build/release/ordo encodings throwaway | grep -qF 'log(1 + |i - j|)' || { echo "ordo encodings does not explain it"; exit 1; }

# The tests that go through the list name the encoding that they run on, or report it as one of many.
names=$(build/release/ordo_tests --gtest_list_tests | awk '/^[^ ]/ { suite = $1 } /throwaway/ { print suite $1 }')
contract=$(echo "$names" | grep -c Contract) || { echo "no contract test runs on it"; exit 1; }

# It has no oracle, which the tests that compare with one must not let pass, unless they are told.
if build/release/ordo_tests --gtest_brief=1 --gtest_filter='*Oracle*throwaway*' >tests.log 2>&1 ||
    ! grep -q 'throwaway has no oracle: add one' tests.log; then
    echo "an encoding without an oracle is not reported"
    exit 1
fi
ORDO_WITHOUT_ORACLE=throwaway build/release/ordo_tests --gtest_brief=1 \
    --gtest_filter='*throwaway*:*EncodingContractWithout*:CliEncodings.*:Registry.*:EncodingTable.*' >tests.log 2>&1 ||
    { cat tests.log; exit 1; }
skipped=$(sed -nE 's/^\[  SKIPPED \] ([0-9]+) tests?\..*/\1/p' tests.log)
passed=$(sed -nE 's/^\[  PASSED  \] ([0-9]+) tests?\..*/\1/p' tests.log)
echo "ordo encodings lists it; $(echo "$names" | wc -l) tests run on it, $contract of them of the contract;" \
    "$passed pass, with those of the lists, and ${skipped:-0} that need an oracle are skipped"
