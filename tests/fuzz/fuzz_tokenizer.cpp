// SPDX-License-Identifier: MIT
// Any bytes in four roles. As a text, they must come back from their tokens. As a corpus, they must train a tokenizer.
// As a tokenizer.json or a SentencePiece model file, they give an Error(model) of one line or a working tokenizer.
#include "formats/sentence_piece/model.h"
#include "text/bpe_trainer.h"
#include "text/tokenizer.h"

#include <cstdlib>

namespace {

using namespace ordo;

void require(bool holds) {
    if (!holds) std::abort();
}

void try_text(const Tokenizer& tokenizer, std::string_view text) {
    for (const bool special : {false, true}) {
        std::vector<Token> ids;
        tokenizer.encode(text, special, ids);
        std::string decoded;
        for (const Token id : ids) tokenizer.append(id, decoded);
        require(decoded == text);
    }
}

// The written tokenizer must be equal when read again.
void try_copy(const Tokenizer& tokenizer) {
    const std::string json = tokenizer.to_json();
    try {
        const auto copy = tokenizer_from_json(json, "fuzz");
        require(copy->to_json() == json && copy->end_of_text() == tokenizer.end_of_text());
        for (Token id = 0; id < tokenizer.vocab_size(); ++id) {
            std::string one, other;
            tokenizer.append(id, one);
            copy->append(id, other);
            require(one == other);
        }
    } catch (const Error&) {
        require(false);
    }
}

bool is_one_line(const Error& error) {
    const std::string_view text = error.what();
    return text.size() < 1000 && text.find('\n') == text.npos;
}

// A tokenizer other than byte-level BPE may lose bytes, and a pattern may be too slow for a text. The ids are in range.
void try_any(const Tokenizer& tokenizer, std::string_view text) {
    for (const bool special : {false, true}) try {
            std::string decoded;
            for (const Token id : encode_framed(tokenizer, text, special))
                tokenizer.append(id, decoded, decoded.empty());
        } catch (const Error& error) {
            require(error.code == ErrorCode::limit && is_one_line(error));
        }
}

void try_json(std::string_view json) {
    std::unique_ptr<Tokenizer> tokenizer;
    try {
        tokenizer = tokenizer_from_json(json, "fuzz");
    } catch (const Error& error) {
        // A limit on the normalizer's output for added tokens.
        require((error.code == ErrorCode::model || error.code == ErrorCode::limit) && is_one_line(error));
        return;
    }
    try_copy(*tokenizer);
    try_any(*tokenizer, json);
}

void try_sentence_piece(std::string_view bytes) {
    try {
        require(!read_sentence_piece(bytes, "fuzz").pieces.empty());
    } catch (const Error& error) {
        require(error.code == ErrorCode::model && is_one_line(error));
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const auto bytes = make_byte_tokenizer();
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    try_text(*bytes, text);
    const auto learned = train_bpe(text, 300);
    try_text(*learned, text);
    if (size % 4 == 0) try_copy(*learned); // not always, because it takes ten times as long as the rest
    try_json(text);
    try_sentence_piece(text);
    return 0;
}
