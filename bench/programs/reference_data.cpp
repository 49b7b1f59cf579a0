// SPDX-License-Identifier: MIT
// bench_reference_data: writes the inputs of a run of `ordo train` for another trainer, so that the two can be compared
// (bench/torch_reference.py). One safetensors file holds the initial weights, the windows of every step in order, the
// windows of the held-out text, and the schedule as metadata.
#include "bench/programs/frame.h"
#include "core/error.h"
#include "io/safetensors.h"
#include "model/model_file.h"
#include "tools/terminal/output.h"
#include "tools/train/data.h"
#include "tools/train/record.h"
#include "tools/train/train.h"
#include "training/network.h"

namespace {

using namespace ordo;
using namespace ordo::tools;

constexpr Option options[] = {
    {Kind::path, "m,model", "FILE",
     "a weight file that ordo train wrote: its shape, tokenizer, encoding and record are taken over"},
    {Kind::path, "corpus", "FILE", "the text that it was trained on"},
    {Kind::path, "val", "FILE", "the held-out text"},
    {Kind::path, "finish", "FILE", "the second text, if there was one"},
    {Kind::integer, "tokens", "N", 1, 1 << 30, "another budget than the recorded one"},
    {Kind::path, "out", "FILE", "the file to write"},
};
constexpr OptionGroup groups[] = {{"Reference", options}, common_group};

std::string required(const Arguments& arguments, std::string_view name) {
    if (!arguments.has(name)) fail(ErrorCode::usage, "expected --", name, "; see --help");
    return arguments.text(name);
}

std::string record(const Safetensors& file, std::string_view key, std::string_view fallback = {}) {
    const auto found = file.metadata().find(key);
    if (found != file.metadata().end()) return found->second;
    if (fallback.empty()) fail(ErrorCode::model, file.where(), ": metadata: expected '", key, "', found none");
    return std::string(fallback);
}

// The options of the recorded run. Unrecorded options have their defaults from train.h.
train::Options options_of(const Arguments& arguments, const Safetensors& file) {
    const auto whole = [&](std::string_view key, std::string_view fallback = {}) {
        return parse_integer(record(file, key, fallback), key, 0, std::int64_t{1} << 40);
    };
    train::Options o;
    o.blueprint = blueprint_from_json(record(file, "blueprint"), file.where());
    o.encoding = record(file, "encoding");
    o.corpus = required(arguments, "corpus");
    o.validation = required(arguments, "val");
    o.tokens = arguments.has("tokens") ? arguments.integer64("tokens") : whole("tokens");
    o.finish_tokens = whole("finish.tokens", "0");
    if (o.finish_tokens > 0) o.finish = required(arguments, "finish");
    o.batch = static_cast<int>(whole("batch"));
    o.seed = static_cast<std::uint64_t>(whole("seed"));
    o.lr = parse_number(record(file, "lr"), "lr", 0, 10);
    return o;
}

// The reference uses AdamW in f32, with train.h's defaults for the rest. Refuses runs of another method, which could
// not be compared.
void require_method_of_reference(const Safetensors& file, const train::Options& o) {
    Metadata expected = train::method(o);
    expected.insert({{"recipe.products", "f32"},
                     {"recipe.initial", "random"},
                     {"recipe.dropout", number_text(o.dropout)},
                     {"recipe.randomised_positions", std::to_string(o.randomised_positions)},
                     {"recipe.min_lr", number_text(o.min_lr)},
                     {"recipe.weight_decay", number_text(o.weight_decay)},
                     {"recipe.clip", number_text(o.clip)}});
    for (const auto& [key, value] : file.metadata())
        if (const auto found = expected.find(key); found != expected.end() && found->second != value)
            fail(ErrorCode::model, file.where(), ": metadata: expected ", key, ' ', found->second,
                 ", which the reference follows, found ", value);
}

// Windows of context + 1 tokens, as floats. Floats represent every token id exactly.
class Windows {
public:
    explicit Windows(int context) : context_(context) {}

    void add(const train::Corpus& corpus, std::int64_t index) {
        std::vector<Token> tokens(static_cast<std::size_t>(context_)), targets(tokens.size());
        corpus.window(index, tokens, targets);
        for (const Token token : tokens) values_.push_back(static_cast<float>(token));
        values_.push_back(static_cast<float>(targets.back()));
    }
    StoredTensor stored(std::string name) const {
        const auto width = static_cast<std::int64_t>(context_) + 1;
        return {std::move(name), {static_cast<std::int64_t>(values_.size()) / width, width}, WeightType::f32, values_};
    }

private:
    int context_;
    std::vector<float> values_;
};

// In the order of tools/train/train.cpp: batch after batch, a second corpus from its own beginning.
Windows windows_of_run(const train::Options& o, const Tokenizer& tokenizer, std::int64_t steps) {
    train::Corpus corpus(o.corpus, tokenizer, o.blueprint.context);
    const std::int64_t finish_step = steps - o.finish_tokens / (std::int64_t{o.batch} * o.blueprint.context);
    Windows windows(o.blueprint.context);
    for (std::int64_t i = 0; i < finish_step * o.batch; ++i) windows.add(corpus, corpus.shuffled(o.seed, i));
    if (finish_step == steps) return windows;
    train::Corpus finish(o.finish, tokenizer, o.blueprint.context);
    for (std::int64_t i = 0; i < (steps - finish_step) * o.batch; ++i) windows.add(finish, finish.shuffled(o.seed, i));
    return windows;
}

int run(const Arguments& arguments) {
    const Safetensors file = Safetensors::open(required(arguments, "model"));
    const train::Options o = options_of(arguments, file);
    require_method_of_reference(file, o);
    const std::unique_ptr<Tokenizer> tokenizer = tokenizer_from_json(record(file, "tokenizer"), file.where());
    const std::int64_t steps = o.tokens / (std::int64_t{o.batch} * o.blueprint.context);

    const Windows training = windows_of_run(o, *tokenizer, steps);
    const train::Corpus validation(o.validation, *tokenizer, o.blueprint.context);
    Windows held_out(o.blueprint.context);
    for (std::int64_t i = 0; i < validation.windows(); ++i) held_out.add(validation, i);

    const ModelEncodings encodings(o.encoding, o.blueprint.dims());
    Parameters parameters(o.blueprint, encodings);
    parameters.initialise(o.seed);
    std::vector<StoredTensor> tensors{training.stored("windows.train"), held_out.stored("windows.heldout")};
    for (int i = 0; i < parameters.count(); ++i) {
        const TensorSpec& spec = parameters.specs()[i];
        const View v = parameters.value(i);
        const auto size = static_cast<std::size_t>(v.rows) * static_cast<std::size_t>(v.cols);
        tensors.push_back({spec.name, spec.shape, WeightType::f32, {v.data, size}});
    }
    write_safetensors(required(arguments, "out"), std::move(tensors),
                      {{"blueprint", to_json(o.blueprint)},
                       {"encoding", encodings.spec()},
                       {"batch", std::to_string(o.batch)},
                       {"lr", number_text(o.lr)},
                       {"min_lr", number_text(o.min_lr)},
                       {"warmup", number_text(o.warmup)},
                       {"weight_decay", number_text(o.weight_decay)},
                       {"clip", number_text(o.clip)}});
    return 0;
}

constexpr Verb verb{.name = "bench_reference_data",
                    .operand = {},
                    .summary = "what a run of ordo train starts from and reads, for bench/torch_reference.py",
                    .details = {},
                    .groups = groups,
                    .run = run};

} // namespace

int main(int argc, char** argv) {
    return ordo::bench::run_program(verb, argc, argv);
}
