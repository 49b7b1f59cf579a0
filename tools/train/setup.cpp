// SPDX-License-Identifier: MIT
#include "tools/train/setup.h"

#include "core/error.h"
#include "encoding/base/model_encodings.h"
#include "io/json.h"
#include "io/safetensors.h"
#include "model/model_file.h"
#include "text/bpe_trainer.h"
#include "tools/train/data.h"
#include "tools/train/files.h"
#include "tools/train/ranks.h"

#include <algorithm>
#include <charconv>

namespace ordo::train {
namespace {

std::unique_ptr<Tokenizer> read_tokenizer(const std::filesystem::path& file) {
    const std::string where = printable(file.string());
    std::unique_ptr<Tokenizer> tokenizer;
    if (file.extension() == ".json") {
        tokenizer = tokenizer_from_json(read_file(file, most_bytes), where);
    } else {
        const Safetensors weights = Safetensors::open(file);
        const auto json = weights.metadata().find("tokenizer");
        if (json == weights.metadata().end())
            fail(ErrorCode::model, where, ": metadata: expected 'tokenizer', found none");
        tokenizer = tokenizer_from_json(json->second, where);
    }
    if (tokenizer->end_of_text() < 0)
        fail(ErrorCode::model, where, ": tokenizer: expected the token ", end_of_text_name,
             ", by which training separates documents, found none");
    return tokenizer;
}

// Settings that the shapes do not show, such as the number of heads, must agree too.
void check_trunk(const Options& o, const Safetensors& file) {
    const std::string where = file.where() + ": blueprint";
    const Blueprint trained = read_blueprint(file);
    const JsonValue has = parse_json(to_json(trained, true), where);
    const JsonValue wants = parse_json(to_json(o.blueprint, true), where);
    for (const auto& [key, value] : *wants.object()) {
        if (key == "architecture" || key == "context" || key == "layers") continue;
        const std::string wanted = describe(value), found = describe(get_member(has, key, where));
        if (found != wanted)
            fail(ErrorCode::model, where, ": ", key, ": expected the model's ", wanted, ", found ", found);
    }
    if (trained.pattern != o.blueprint.pattern)
        fail(ErrorCode::model, where, ": layers: expected the model's plans of layers, found others");
}

} // namespace

WeightType stored_type(const std::string& dtype) {
    if (dtype == "f32") return WeightType::f32;
    if (dtype == "f16") return WeightType::f16;
    if (dtype == "bf16") return WeightType::bf16;
    fail(ErrorCode::usage, "dtype: expected f32, f16 or bf16, found '", printable(dtype), "'");
}

std::unique_ptr<Tokenizer> make_tokenizer(const Options& o) {
    if (const std::filesystem::path& file = !o.tokenizer.empty() ? o.tokenizer : o.init; !file.empty())
        return read_tokenizer(file);
    if (o.byte_tokenizer) return make_byte_tokenizer();
    const Part part = o.validation.empty() ? Part::most : Part::all;
    return train_bpe(read_part(o.corpus, part, o.blueprint.context), o.blueprint.vocab_size);
}

void load_initial(const Options& o, Parameters& parameters) {
    const Safetensors file = Safetensors::open(o.init);
    check_trunk(o, file);
    for (int i = 0; i < parameters.count(); ++i) {
        const TensorSpec& spec = parameters.specs()[i];
        const View v = parameters.value(i);
        const TensorInfo* found = file.find(spec.name);
        if (!found && i >= parameters.first_encoding_tensor()) continue; // a trained trunk may get a new encoding
        if (!found || found->shape != spec.shape)
            fail(ErrorCode::model, printable(o.init.string()), ": tensor ", spec.name,
                 ": expected the model's shape, found ", found ? "another" : "none");
        file.read(*found, {v.data, static_cast<std::size_t>(v.rows) * static_cast<std::size_t>(v.cols)});
    }
}

std::int64_t tokens_seen(const std::filesystem::path& file) {
    const Safetensors weights = Safetensors::open(file);
    std::int64_t sum = 0;
    for (const char* key : {"tokens", "init.tokens"}) {
        const auto found = weights.metadata().find(key);
        if (found == weights.metadata().end()) continue;
        std::int64_t tokens = 0;
        std::from_chars(found->second.data(), found->second.data() + found->second.size(), tokens);
        sum += std::clamp<std::int64_t>(tokens, 0, std::int64_t{1} << 60);
    }
    return sum;
}

Options resolved(Options o) {
    stored_type(o.dtype);
    const auto step_tokens = static_cast<std::int64_t>(o.batch) * o.blueprint.context;
    if (o.batch < 1 || step_tokens < 1 || o.tokens < step_tokens)
        fail(ErrorCode::usage, "tokens: expected at least one step of ", step_tokens, ", found ", o.tokens);
    if (o.batch % ranks::count() != 0)
        fail(ErrorCode::usage, "batch: expected a multiple of the ", ranks::count(), " ranks, found ", o.batch);
    if (o.finish_tokens != 0 && o.finish.empty())
        fail(ErrorCode::usage, "finish-tokens: expected a finish corpus beside it, found none");
    if (!o.finish.empty() && o.finish_tokens == 0) o.finish_tokens = std::max(step_tokens, o.tokens / 5);
    if (!o.finish.empty() && (o.finish_tokens < step_tokens || o.finish_tokens > o.tokens))
        fail(ErrorCode::usage, "finish-tokens: expected at least one step of ", step_tokens,
             " and at most the budget of ", o.tokens, ", found ", o.finish_tokens);
    Blueprint b = o.blueprint;
    b.vocab_size = std::max(b.vocab_size, 1); // the tokenizer's size is not known yet
    check(b, "model");
    if (o.randomised_positions != 0 && o.randomised_positions < b.context)
        fail(ErrorCode::usage, "randomised-positions: expected 0, or at least the context of ", b.context, ", found ",
             o.randomised_positions);
    check_reach(ModelEncodings(o.encoding, b.dims()), std::max(b.context, o.randomised_positions));
    if (ranks::rank() == 0) check_files(o); // also tests that the files can be written
    return o;
}

Blueprint fitting_trunk(const Options& o, const Tokenizer& tokenizer) {
    Blueprint b = o.blueprint;
    b.vocab_size = tokenizer.vocab_size();
    if (!o.init.empty() && o.tokenizer.empty()) // its ids may be fewer than its rows
        b.vocab_size = std::max(b.vocab_size, read_blueprint(Safetensors::open(o.init)).vocab_size);
    check(b, "model");
    // Values, gradients, the optimiser's two averages, and the best values. Muon's temporary memory is that of at most
    // two more, or of one thread.
    const int copies = 4 + (o.keep == Keep::best ? 1 : 0) + (o.method == Method::muon ? 2 : 0);
    const int here = ranks::on_this_machine(); // each rank has its own copies
    check_training_memory(b, ModelEncodings(o.encoding, b.dims()), o.batch / ranks::count() * here, b.context,
                          copies * here);
    return b;
}

} // namespace ordo::train
