// SPDX-License-Identifier: MIT
#include "tools/web/models.h"

#include "core/error.h"
#include "encoding/base/rope_keys.h"

#include <algorithm>

namespace ordo::web {
namespace {

std::map<std::string, OpenModel> models;

std::uint64_t count_parameters(const Model& model) {
    std::uint64_t count = 0;
    for (const TensorSpec& spec : tensor_specs(model)) {
        std::uint64_t values = 1;
        for (const std::int64_t size : spec.shape) values *= static_cast<std::uint64_t>(size);
        count += values;
    }
    return count;
}

OpenModel& find(const std::string& file) {
    const auto found = models.find(file);
    if (found == models.end()) fail(ErrorCode::usage, printable(file), ": expected a model that is open");
    return found->second;
}

} // namespace

const OpenModel& open_model(const std::string& file, const std::string& path) {
    if (const auto found = models.find(file); found != models.end()) return found->second;
    Model model = Model::load(path);
    const std::uint64_t parameters = count_parameters(model);
    return models.emplace(file, OpenModel{std::move(model), parameters}).first->second;
}

const OpenModel& open_model(const std::string& file) {
    return find(file);
}

const Model& scaled_model(const std::string& file, const std::string& keys) {
    OpenModel& opened = find(file);
    if (const auto found = opened.scaled.find(keys); found != opened.scaled.end()) return found->second;
    if (opened.scaled.size() >= 64) opened.scaled.clear();
    return opened.scaled.emplace(keys, opened.model.with_encoding(with_rope_keys(opened.model.encoding(), keys)))
        .first->second;
}

std::vector<Token> tokens_of(const Model& model, std::string_view text) {
    std::vector<Token> tokens = model.encode(text, {.special = false, .start = true});
    if (tokens.empty()) fail(ErrorCode::usage, "text: expected one, found nothing");
    return tokens;
}

std::string token_text(const Model& model, Token token) {
    std::string text;
    const Tokenizer& tokenizer = *tokenizer_of(model);
    if (token < tokenizer.vocab_size()) tokenizer.append(token, text);
    return text;
}

const Encoding& encoding_in(const ModelEncodings& stack, int layer) {
    const Encoding* found = nullptr;
    int count = 0;
    for (std::size_t i = 0; i < stack.items().size(); ++i) {
        const std::span<const int> layers = stack.layers_of_item(static_cast<int>(i));
        if (std::find(layers.begin(), layers.end(), layer) == layers.end()) continue;
        found = stack.items()[i].get();
        ++count;
    }
    if (count != 1)
        fail(ErrorCode::usage, "table: '", printable(stack.spec()), "': expected one encoding in layer ", layer,
             ", found ", count);
    return *found;
}

} // namespace ordo::web
