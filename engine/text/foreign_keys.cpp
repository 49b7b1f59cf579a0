// SPDX-License-Identifier: MIT
#include "text/foreign_keys.h"

#include "core/error.h"

#include <algorithm>
#include <span>

namespace ordo {
namespace {

using Names = std::vector<std::string_view>;

struct Known {
    std::string_view section, type;
    Names keys; // next to "type"
};

// A type that is not in its section's list has no other keys: NFC, Fuse.
const std::vector<Known>& known() {
    static const Names byte_level = {"add_prefix_space", "trim_offsets", "use_regex"};
    static const Names metaspace = {"replacement", "add_prefix_space", "prepend_scheme", "split", "str_rep"};
    static const std::vector<Known> all = {
        {"normalizer", "BertNormalizer", {"clean_text", "handle_chinese_chars", "strip_accents", "lowercase"}},
        {"normalizer", "Precompiled", {"precompiled_charsmap", "match"}},
        {"normalizer", "Prepend", {"prepend"}},
        {"normalizer", "Replace", {"pattern", "content"}},
        {"normalizer", "Sequence", {"normalizers"}},
        {"normalizer", "Strip", {"strip_left", "strip_right"}},
        {"pre_tokenizer", "ByteLevel", byte_level},
        {"pre_tokenizer", "Digits", {"individual_digits"}},
        {"pre_tokenizer", "Metaspace", metaspace},
        {"pre_tokenizer", "Punctuation", {"behavior"}},
        {"pre_tokenizer", "Sequence", {"pretokenizers"}},
        {"pre_tokenizer", "Split", {"pattern", "behavior", "invert"}},
        {"post_processor", "BertProcessing", {"sep", "cls"}},
        {"post_processor", "ByteLevel", byte_level},
        {"post_processor", "RobertaProcessing", {"sep", "cls", "trim_offsets", "add_prefix_space"}},
        {"post_processor", "Sequence", {"processors"}},
        {"post_processor", "TemplateProcessing", {"single", "pair", "special_tokens"}},
        {"decoder", "ByteLevel", byte_level},
        {"decoder", "Metaspace", metaspace},
        {"decoder", "Replace", {"pattern", "content"}},
        {"decoder", "Sequence", {"decoders"}},
        {"decoder", "Strip", {"content", "start", "stop"}},
        {"decoder", "WordPiece", {"prefix", "cleanup"}},
        {"model",
         "BPE",
         {"vocab", "merges", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk",
          "byte_fallback", "ignore_merges"}},
        {"model", "ScoredBPE", {"vocab", "unk_id"}},
        {"model", "Unigram", {"vocab", "unk_id", "byte_fallback"}},
        {"model", "WordLevel", {"vocab", "unk_token"}},
        {"model", "WordPiece", {"vocab", "unk_token", "continuing_subword_prefix", "max_input_chars_per_word"}},
    };
    return all;
}

class Finder {
public:
    std::vector<std::string> find(const JsonValue& rest) {
        static const Names top = {"version",       "truncation",     "padding", "added_tokens", "normalizer",
                                  "pre_tokenizer", "post_processor", "decoder", "model"};
        static const Names added = {"content", "single_word", "lstrip", "rstrip", "normalized", "special", "id"};
        report(rest, "", "tokenizer.json", top);
        for (const std::string_view section : {"normalizer", "pre_tokenizer", "post_processor", "decoder", "model"})
            if (const JsonValue* component = find_member(rest, section)) visit(section, *component);
        const JsonValue* tokens = find_member(rest, "added_tokens");
        if (tokens == nullptr || !tokens->array()) return std::move(lines_);
        for (const JsonValue& token : *tokens->array()) report(token, "added_tokens: ", "a token", added);
        return std::move(lines_);
    }

private:
    void visit(std::string_view section, const JsonValue& component) {
        const JsonValue* type = find_member(component, "type");
        if (type == nullptr || !type->string()) return; // refused by its reader
        const auto found = std::find_if(known().begin(), known().end(), [&](const Known& each) {
            return each.section == section && each.type == *type->string();
        });
        const Names none;
        const Names& keys = found == known().end() ? none : found->keys;
        report(component, std::string(section) + ": ", *type->string(), keys);
        if (*type->string() != "Sequence" || keys.empty()) return;
        if (const JsonValue* parts = find_member(component, keys.front()); parts != nullptr && parts->array())
            for (const JsonValue& part : *parts->array()) visit(section, part);
    }

    void report(const JsonValue& object, const std::string& where, std::string_view what, const Names& keys) {
        if (!object.object() || lines_.size() == max_foreign_lines) return;
        std::string foreign;
        std::size_t count = 0;
        for (const JsonValue::Member& member : *object.object()) {
            if (member.key == "type" || std::find(keys.begin(), keys.end(), member.key) != keys.end()) continue;
            if (++count <= 4) foreign += (count == 1 ? "'" : ", '") + printable(member.key) + "'";
        }
        if (count == 0) return;
        if (count > 4) foreign += " and " + std::to_string(count - 4) + " more";
        lines_.push_back(where + printable(what) + " has no " + foreign + ", which " + (count == 1 ? "is" : "are") +
                         " ignored");
    }

    std::vector<std::string> lines_;
};

} // namespace

std::vector<std::string> foreign_keys(const JsonValue& rest) {
    return Finder().find(rest);
}

} // namespace ordo
