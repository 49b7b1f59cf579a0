// SPDX-License-Identifier: MIT
#include "core/error.h"
#include "io/json.h"
#include "text/prefix_index.h"
#include "text/token_model.h"
#include "text/unicode.h"

#include <limits>

namespace ordo {
namespace {

class WordPiece final : public TokenModel {
public:
    WordPiece(const JsonValue& model, const Vocabulary& vocabulary, const std::string& where)
        : index_(vocabulary, where),
          most_(static_cast<std::size_t>(
              get_int(model, "max_input_chars_per_word", where, 0, std::numeric_limits<std::int32_t>::max()))) {
        const std::string& unknown = get_string(model, "unk_token", where);
        unknown_ = vocabulary.find(unknown);
        if (unknown_ == Vocabulary::absent)
            fail(ErrorCode::model, where, ": unk_token: \"", printable(unknown), "\" is not in the vocabulary");
        inside_ = index_.all();
        for (const char c : get_string(model, "continuing_subword_prefix", where))
            has_inside_ = has_inside_ && index_.extend(inside_, static_cast<unsigned char>(c));
    }

    void encode(std::string_view piece, std::vector<Token>& out, Scratch&) const override {
        const std::size_t first = out.size();
        bool known = unicode::count_chars(piece) <= most_;
        for (std::size_t at = 0; known && at < piece.size();) {
            const auto [token, length] = longest(piece.substr(at), at == 0);
            known = token != Vocabulary::absent;
            out.push_back(token);
            at += length;
        }
        if (known) return;
        out.resize(first);
        out.push_back(unknown_);
    }

private:
    struct Found {
        Token token = Vocabulary::absent;
        std::size_t length = 0;
    };
    // The longest token with which the rest of a word begins; what is not its beginning carries the prefix.
    Found longest(std::string_view text, bool begins) const {
        Found found;
        if (!begins && !has_inside_) return found;
        PrefixIndex::Range range = begins ? index_.all() : inside_;
        for (std::size_t i = 0; i < text.size() && index_.extend(range, static_cast<unsigned char>(text[i])); ++i)
            if (const Token token = index_.whole(range); token != Vocabulary::absent) found = {token, i + 1};
        return found;
    }

    PrefixIndex index_;
    PrefixIndex::Range inside_{}; // the tokens that begin with the prefix
    bool has_inside_ = true;
    Token unknown_ = Vocabulary::absent;
    std::size_t most_; // characters of a word
};

} // namespace

std::unique_ptr<TokenModel> make_word_piece(const ModelParts& parts) {
    const JsonValue& model = get_object(parts.file.rest, "model", parts.where);
    return std::make_unique<WordPiece>(model, parts.vocabulary, parts.where);
}

} // namespace ordo
