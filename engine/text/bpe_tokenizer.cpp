// SPDX-License-Identifier: MIT
#include "text/bpe_tokenizer.h"

#include "io/json_writer.h"
#include "text/byte_alphabet.h"
#include "text/pipeline.h"

#include <algorithm>

namespace ordo {
namespace {

// The tokenizer.json of every such tokenizer, without the learned parts.
constexpr std::string_view frame_of_file =
    R"({"version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,)"
    R"("pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},)"
    R"("post_processor": null,)"
    R"("decoder": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},)"
    R"("model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,)"
    R"("end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "ignore_merges": false,)"
    R"("vocab": {}, "merges": []}})";

std::string written(const AddedToken& token) {
    JsonWriter out;
    out.begin_object();
    out.member("id", token.id);
    out.member("content", token.content);
    out.member("single_word", token.single_word);
    out.member("lstrip", token.lstrip);
    out.member("rstrip", token.rstrip);
    out.member("normalized", token.normalized);
    out.member("special", token.special);
    out.end_object();
    return out.take();
}

} // namespace

std::unique_ptr<Tokenizer> make_bpe_tokenizer(const BpeParts& parts) {
    TokenizerFile file;
    file.rest = parse_json(frame_of_file, "tokenizer");
    const auto spelling = [&](Token id) {
        const std::string& bytes = parts.tokens[id];
        const bool added = std::any_of(parts.added.begin(), parts.added.end(), [&](const AddedToken& token) {
            return token.id == id && token.content == bytes;
        });
        return added ? bytes : spell_bytes(bytes);
    };
    for (std::size_t id = 0; id < parts.tokens.size(); ++id) {
        file.vocab.add(spelling(static_cast<Token>(id)));
        file.ids.push_back(static_cast<int>(id));
    }
    for (const Merge& merge : parts.merges) {
        file.merges.add(spelling(merge.left));
        file.merges.add(spelling(merge.right));
    }
    for (JsonValue::Member& member : *file.rest.object()) {
        if (member.key != "added_tokens") continue;
        for (const AddedToken& token : parts.added)
            member.value.array()->push_back(parse_json(written(token), "tokenizer"));
    }
    return make_tokenizer(std::move(file), "tokenizer");
}

std::unique_ptr<Tokenizer> make_byte_tokenizer() {
    BpeParts parts;
    for (int byte = 0; byte < 256; ++byte) parts.tokens.emplace_back(1, static_cast<char>(byte));
    parts.tokens.emplace_back(end_of_text_name);
    parts.added.push_back({256, std::string(end_of_text_name)});
    return make_bpe_tokenizer(parts);
}

} // namespace ordo
