// SPDX-License-Identifier: MIT
// bench_caches: the loss of accuracy if keys and values are stored in less than f32.
#include "bench/programs/frame.h"
#include "layers/cache_format.h"
#include "tools/bench/accuracy.h"
#include "tools/cli/inputs.h"
#include "tools/opening/weights.h"
#include "tools/terminal/output.h"
#include "tools/train/documents.h"

#include <cmath>

namespace {

using namespace ordo;
using namespace ordo::tools;

constexpr Option options[] = {
    {Kind::text, "m,model", "FILE", "weights; by default the shipped ones of rope"},
    {Kind::text, "f,file", "FILE", "the text; by default the held-out one"},
};
constexpr OptionGroup groups[] = {{"Caches", options}, common_group};

int run(const Arguments& arguments) {
    const auto named = [&](const char* option, const char* shipped) {
        return arguments.has(option) ? arguments.text(option) : weights_file(shipped).string();
    };
    const std::string file = named("model", "rope.safetensors"), text = named("file", "heldout.txt");
    LoadOptions as_floats;
    as_floats.dtype = "f32";
    const Model model = Model::load(file, as_floats);
    const std::vector<std::vector<Token>> documents =
        tokens_of(read_documents(read_input(text, most_text), model, text));
    Figures figures{{"cache", "tokens", "kl", "top1"}, {}, -1};
    for (const CacheType type : {CacheType::f16, CacheType::bf16, CacheType::q8_0}) {
        const bench::Accuracy found = bench::measure_accuracy(model, model, documents, model.context(), 0, {}, type);
        figures.rows.push_back({std::string(name_of(type)), found.tokens, std::round(found.kl * 1e9) / 1e9,
                                std::round(found.top1 * 1e4) / 1e4});
    }
    write_out(render(figures, Format::text));
    return 0;
}

constexpr Verb verb{
    .name = "bench_caches",
    .operand = {},
    .summary = "what it costs in accuracy to keep keys and values as less than f32",
    .details =
        "After every token of the text, what a session with such a cache predicts is compared with what one "
        "with a cache of f32 does, both with weights in f32: kl is the mean of KL(f32 || type) in nats, top1 the "
        "share of tokens after which both find the same one likeliest.",
    .groups = groups,
    .run = run};

} // namespace

int main(int argc, char** argv) {
    return ordo::bench::run_program(verb, argc, argv);
}
