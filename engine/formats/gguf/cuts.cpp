// SPDX-License-Identifier: MIT
// The patterns by name. The names are llama.cpp's (tokenizer.ggml.pre), the patterns those of the models' own
// tokenizer.json, where llama.cpp may spell them another way.
#include "formats/gguf/vocabulary.h"

#include <algorithm>

namespace ordo {
namespace {

constexpr std::string_view gpt2 = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr std::string_view llama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view qwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view gpt4o =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view tekken = R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
                                    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
                                    R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view bloom = R"( ?[^(\s|.,!?…。，、।۔،)]+)";
constexpr std::string_view digit = R"(\p{N})";
constexpr std::string_view three_digits = "[0-9][0-9][0-9]";

// The first name of a pattern is what it is written as.
const std::vector<GgufCut>& cuts() {
    static const std::vector<GgufCut> all = {
        {"gpt-2", {gpt2}},
        {"phi-2", {gpt2}},
        {"mpt", {gpt2}},
        {"olmo", {gpt2}},
        {"jais", {gpt2}},
        {"roberta-bpe", {gpt2}},
        {"modern-bert", {gpt2}},
        {"exaone4", {gpt2}},
        {"llama-bpe", {llama3}, true, true},
        {"llama3", {llama3}, true, true},
        {"llama-v3", {llama3}, true, true},
        {"falcon3", {llama3}, true, true},
        {"pixtral", {llama3}, true, true},
        {"dbrx", {llama3}},
        {"smaug-bpe", {llama3}},
        {"chatglm-bpe", {llama3}},
        {"qwen2", {qwen2}},
        {"deepseek-r1-qwen", {qwen2}},
        {"stablelm2", {qwen2}},
        {"megrez", {qwen2}},
        {"starcoder", {digit, gpt2}},
        {"refact", {digit, gpt2}},
        {"command-r", {digit, gpt2}},
        {"smollm", {digit, gpt2}},
        {"codeshell", {digit, gpt2}},
        {"exaone", {digit, gpt2}},
        {"minerva-7b", {digit, gpt2}},
        {"bloom", {bloom}},
        {"poro-chat", {bloom}},
        {"gpt3-finnish", {bloom}},
        {"viking", {bloom, digit}},
        {"falcon", {R"([\p{P}\$\+<=>\^~\|`]+)", gpt2, three_digits}},
        {"deepseek-coder", {R"([\r\n])", R"(\s?\p{L}+)", R"(\s?\p{P}+)", "[一-龥ࠀ-一가-퟿]+", digit}},
        {"gpt-4o", {gpt4o}},
        {"llama4", {gpt4o}},
        {"tekken", {tekken}, true, true},
        {"default", {R"([\p{P}\$\+<=>\^~\|]+)", gpt2, R"(\p{N}+)", three_digits}},
    };
    return all;
}

} // namespace

const GgufCut* find_gguf_cut(std::string_view name) {
    const auto at = std::find_if(cuts().begin(), cuts().end(), [&](const GgufCut& cut) { return cut.name == name; });
    return at == cuts().end() ? nullptr : &*at;
}

std::string gguf_cut_names() {
    std::string all;
    for (std::size_t i = 0; i < cuts().size(); ++i)
        all.append(i == 0 ? "" : i + 1 == cuts().size() ? " and " : ", ").append(cuts()[i].name);
    return all;
}

const GgufCut* find_gguf_cut(const std::vector<std::string>& patterns, bool ignore_merges) {
    const auto at = std::find_if(cuts().begin(), cuts().end(), [&](const GgufCut& cut) {
        return cut.ignore_merges == ignore_merges &&
               std::equal(cut.patterns.begin(), cut.patterns.end(), patterns.begin(), patterns.end());
    });
    return at == cuts().end() ? nullptr : &*at;
}

} // namespace ordo
