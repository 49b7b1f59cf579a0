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
        : begins_(vocabulary, where), inside_(vocabulary, where, get_string(model, "continuing_subword_prefix", where)),
          most_(static_cast<std::size_t>(
              get_int(model, "max_input_chars_per_word", where, 0, std::numeric_limits<std::int32_t>::max()))) {
        const std::string& unknown = get_string(model, "unk_token", where);
        unknown_ = vocabulary.find(unknown);
        if (unknown_ == Vocabulary::absent)
            fail(ErrorCode::model, where, ": unk_token: \"", printable(unknown), "\" is not in the vocabulary");
    }

    void encode(std::string_view piece, std::vector<Token>& out, Scratch&) const override {
        const std::size_t first = out.size();
        bool known = unicode::count_chars(piece) <= most_;
        for (std::size_t at = 0; known && at < piece.size();) {
            const auto* found = (at == 0 ? begins_ : inside_).longest(piece.substr(at));
            known = found != nullptr;
            out.push_back(known ? found->token : unknown_);
            at += known ? found->size : 0;
        }
        if (known) return;
        out.resize(first);
        out.push_back(unknown_);
    }

private:
    PrefixIndex begins_, inside_; // spellings that begin a word, and spellings with the prefix
    Token unknown_ = Vocabulary::absent;
    std::size_t most_; // characters of a word
};

// A piece is a token as a whole.
class WordLevel final : public TokenModel {
public:
    WordLevel(const JsonValue& model, const Vocabulary& vocabulary, const std::string& where)
        : vocabulary_(vocabulary), where_(where), unknown_(vocabulary.find(get_string(model, "unk_token", where))) {}

    void encode(std::string_view piece, std::vector<Token>& out, Scratch&) const override {
        const Token known = vocabulary_.find(piece), token = known == Vocabulary::absent ? unknown_ : known;
        if (token == Vocabulary::absent)
            fail(ErrorCode::model, where_, ": '", printable(piece, 40),
                 "': expected a word of the vocabulary, or its unk_token there, found neither");
        out.push_back(token);
    }

private:
    const Vocabulary& vocabulary_;
    std::string where_;
    Token unknown_; // absent: only words of the vocabulary can be encoded
};

} // namespace

std::unique_ptr<TokenModel> make_word_level(const ModelParts& parts) {
    const JsonValue& model = get_object(parts.file.rest, "model", parts.where);
    return std::make_unique<WordLevel>(model, parts.vocabulary, parts.where);
}

std::unique_ptr<TokenModel> make_word_piece(const ModelParts& parts) {
    const JsonValue& model = get_object(parts.file.rest, "model", parts.where);
    return std::make_unique<WordPiece>(model, parts.vocabulary, parts.where);
}

} // namespace ordo
