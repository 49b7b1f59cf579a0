// SPDX-License-Identifier: MIT
// The split patterns by name. The names are llama.cpp's (tokenizer.ggml.pre). The patterns are those of the models' own
// tokenizer.json, which llama.cpp may spell differently.
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
constexpr std::string_view qwen35 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view minicpm5 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view seed_coder =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view gpt4o =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view tekken = R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
                                    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
                                    R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view bloom = R"( ?[^(\s|.,!?…。，、।۔،)]+)";
// The cased letters of the Unicode version of DeepSeek's tokenizer. Letters that an editor would normalise are escaped.
// The width that clang-format gives these letters changes from run to run.
// clang-format off
constexpr std::string_view cased =
    "\\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-"
    "ᶚḀ-"
    "ἕἘ-"
    "Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-\u1f7dᾀ-ᾴᾶ-ᾼ\u1fbeῂ-ῄῆ-ῌῐ-\u1fd3ῖ-\u1fdbῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤ\u2126ℨ\u212a-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄ"
    "Ⰰ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-"
    "𞥃]"
    "+";
// clang-format on
constexpr std::string_view line_end = "[\r\n]", han_kana_hangul = "[一-龥ࠀ-一가-퟿]+";
constexpr std::string_view up_to_3_digits = R"(\p{N}{1,3})";
constexpr std::string_view han_kana = "[一-龥぀-ゟ゠-ヿ]+";
constexpr std::string_view deepseek_v3 =
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
    "| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+";
constexpr std::string_view digit = R"(\p{N})";
constexpr std::string_view three_digits = "[0-9][0-9][0-9]";

// The first name of a pattern is written to files.
// NOLINTNEXTLINE(readability-function-size): a table
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
        {"jina-es", {gpt2}},
        {"jina-de", {gpt2}},
        {"jina-v1-en", {gpt2}},
        {"jina-v2-es", {gpt2}},
        {"jina-v2-de", {gpt2}},
        {"jina-v2-code", {gpt2}},
        {"gigachat", {gpt2}},
        {"a.x-4.0", {gpt2}},
        {"mellum", {gpt2}},
        {"trillion", {gpt2}},
        {"granite-docling", {gpt2}},
        {"llama-bpe", {llama3}, true, true},
        {"llama3", {llama3}, true, true},
        {"llama-v3", {llama3}, true, true},
        {"falcon3", {llama3}, true, true},
        {"falcon-h1", {llama3}, true, true},
        {"pixtral", {llama3}, true, true},
        {"midm-2.0", {llama3}, true, true},
        {"lfm2", {llama3}, true, true},
        {"jina-v5-nano", {llama3}, true, true},
        {"dbrx", {llama3}},
        {"smaug-bpe", {llama3}},
        {"chatglm-bpe", {llama3}},
        {"glm4", {llama3}},
        {"qwen2", {qwen2}},
        {"deepseek-r1-qwen", {qwen2}},
        {"stablelm2", {qwen2}},
        {"megrez", {qwen2}},
        {"kormo", {qwen2}},
        {"f2llmv2", {qwen2}},
        {"hunyuan", {qwen2}},
        {"solar-open", {qwen2}},
        {"grok-2", {qwen2}},
        {"qwen35", {qwen35}},
        {"seed-coder", {seed_coder}},
        {"minicpm5", {up_to_3_digits, minicpm5}, true},
        {"starcoder", {digit, gpt2}},
        {"refact", {digit, gpt2}},
        {"command-r", {digit, gpt2}},
        {"smollm", {digit, gpt2}},
        {"codeshell", {digit, gpt2}},
        {"exaone", {digit, gpt2}},
        {"minerva-7b", {digit, gpt2}},
        {"mellum2", {digit, gpt2}},
        {"bloom", {bloom}},
        {"poro-chat", {bloom}},
        {"gpt3-finnish", {bloom}},
        {"viking", {bloom, digit}},
        {"falcon", {R"([\p{P}\$\+<=>\^~\|`]+)", gpt2, three_digits}},
        {"deepseek-coder", {line_end, R"(\s?\p{L}+)", R"(\s?\p{P}+)", han_kana_hangul, digit}},
        {"deepseek-llm", {line_end, cased, "\\s?[!-/:-~！-／：-～‘-‟\u3000-。]+", R"(\s+$)", han_kana_hangul, digit}},
        {"deepseek-v3", {up_to_3_digits, han_kana, deepseek_v3}},
        {"hunyuan-dense", {up_to_3_digits, han_kana, deepseek_v3}},
        {"joyai-llm", {up_to_3_digits, han_kana, deepseek_v3}},
        {"hy_v4", {up_to_3_digits, han_kana, deepseek_v3}},
        {"gpt-4o", {gpt4o}},
        {"llama4", {gpt4o}},
        {"kanana2", {gpt4o}},
        {"talkie", {gpt4o}},
        {"minimax-m2", {gpt4o}},
        {"tiny_aya", {R"(\d{1,3}(?=(?:\d{3})*\b))", gpt4o}},
        {"cohere2moe", {R"(\d{1,3}(?=(?:\d{3})*\b))", gpt4o}},
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
