// SPDX-License-Identifier: MIT
// bench_decode: runs a small random model for a number of tokens and prints nothing. tests/callgrind counts its
// instructions.
#include "bench/programs/frame.h"
#include "model/model_access.h"

#include <algorithm>

namespace {

using namespace ordo;
using namespace ordo::tools;

constexpr Option options[] = {
    {Kind::text, "encoding", "SPEC=rope", "positional encoding"},
    {Kind::choice, "dtype", "TYPE=f32",
     "f32|f16|bf16|q8_0|q4_0|q4_1|q5_0|q5_1|q2_K|q3_K|q4_K|q5_K|q6_K|iq4_nl|iq4_xs: of the weights"},
    {Kind::integer, "n,n-tokens", "N=32", 1, 4096, "tokens to feed"},
    {Kind::integer, "chunk", "N=1", 1, 4096, "tokens to feed at once, of which the last one's logits are computed"},
};
constexpr OptionGroup groups[] = {{"Decode", options}, common_group};

// The shape of large models: wider than a panel, two query heads for a key head, gated. 393,216 weights in layers,
// 65,536 in the head.
Blueprint trunk() {
    Blueprint b;
    b.vocab_size = 512;
    b.context = 4096;
    b.n_layers = 2;
    b.d_model = 128;
    b.n_heads = 4;
    b.n_kv_heads = 2;
    b.d_head = 32;
    b.d_ff = 384;
    return b;
}

int run(const Arguments& arguments) {
    const int n = arguments.integer("n-tokens"), chunk = arguments.integer("chunk");
    const Model model = random_model(trunk(), arguments.text("encoding"), 1, weight_type(arguments.text("dtype")));
    Session session(model, {.capacity = 4096, .chunk = chunk, .first_position = 0}); // the same for any n
    std::vector<Token> tokens(static_cast<std::size_t>(chunk));
    for (int first = 0; first < n; first += chunk) {
        const int count = std::min(chunk, n - first);
        for (int i = 0; i < count; ++i) tokens[i] = (first + i) * 37 % model.vocab_size();
        session.feed(std::span(tokens).first(count));
    }
    return 0;
}

constexpr Verb verb{.name = "bench_decode",
                    .operand = {},
                    .summary = "feeds a small random model, for counting instructions",
                    .details = "tests/callgrind/run.sh runs it under valgrind.",
                    .groups = groups,
                    .run = run};

} // namespace

int main(int argc, char** argv) {
    return ordo::bench::run_program(verb, argc, argv);
}
