// SPDX-License-Identifier: MIT
#include "formats/sentence_piece/model.h"

#include "core/error.h"
#include "core/utf8.h"
#include "formats/sentence_piece/protobuf.h"
#include "text/tokenizer_file.h"

#include <cmath>

namespace ordo {
namespace {

using Field = ProtobufField;

// The numbers of the fields that are read from sentencepiece_model.proto: of the whole, of a piece, of its training,
// and of the normalisation.
enum Whole : std::uint32_t { pieces = 1, trainer = 2, normalizer = 3 };
enum OfPiece : std::uint32_t { piece_text = 1, piece_score = 2, piece_type = 3 };
enum OfTrainer : std::uint32_t {
    model_kind = 3,
    suffix = 24,
    byte_fallback = 35,
    unknown_id = 40,
    start_id = 41,
    end_id = 42,
    padding_id = 43
};
enum OfNormalizer : std::uint32_t { charsmap = 2, dummy_prefix = 3, extra_whitespaces = 4, escapes = 5 };

class Reader {
public:
    Reader(std::string_view where) : where_(where) {}

    SentencePieceModel read(std::string_view bytes) {
        for_fields(bytes, [&](const Field& field) {
            if (field.id == pieces) read_piece(text_of(field));
            if (field.id == trainer) read_trainer(text_of(field));
            if (field.id == normalizer) read_normalizer(text_of(field));
        });
        if (model_.pieces.empty())
            fail(ErrorCode::model, where_, ": expected a SentencePiece model, found none of its pieces");
        return std::move(model_);
    }

private:
    template <class Visit>
    void for_fields(std::string_view message, const Visit& visit) const {
        ProtobufReader reader(message, where_);
        while (const std::optional<Field> field = reader.next()) visit(*field);
    }
    [[noreturn]] void unexpected(const Field& field, const char* expected) const {
        fail(ErrorCode::model, where_, ": field ", field.id, ": expected ", expected, ", found the wire type ",
             static_cast<unsigned>(field.type));
    }
    std::string_view text_of(const Field& field) const {
        if (field.type != Field::bytes) unexpected(field, "bytes");
        return field.text;
    }
    std::uint64_t number_of(const Field& field) const {
        if (field.type != Field::number) unexpected(field, "a number");
        return field.value;
    }

    std::int32_t id_of(const Field& field) const { // 32 bits in the format
        return static_cast<std::int32_t>(static_cast<std::uint32_t>(number_of(field)));
    }

    void read_piece(std::string_view message) {
        SentencePieceModel::Piece piece;
        const auto at = [&] { return std::string(where_) + ": piece " + std::to_string(model_.pieces.size()); };
        if (model_.pieces.size() == TokenizerFile::max_entries)
            fail(ErrorCode::model, where_, ": expected at most ", TokenizerFile::max_entries, " pieces, found more");
        for_fields(message, [&](const Field& field) {
            if (field.id == piece_text) piece.text = text_of(field);
            if (field.id == piece_score && field.type != Field::four_bytes) unexpected(field, "a float");
            if (field.id == piece_score) piece.score = field.as_float();
            if (field.id != piece_type) return;
            const std::uint64_t type = number_of(field);
            if (type < GgufVocabulary::normal || type > GgufVocabulary::byte)
                fail(ErrorCode::model, at(), ": expected a type from 1 to 6, found ", type);
            piece.type = static_cast<GgufVocabulary::Type>(type);
        });
        if (piece.text.empty() || !utf8_valid(piece.text))
            fail(ErrorCode::model, at(), ": expected UTF-8 of at least a byte, found \"", printable(piece.text), '"');
        if (!std::isfinite(piece.score)) fail(ErrorCode::model, at(), ": expected a finite score, found ", piece.score);
        model_.pieces.push_back(std::move(piece));
    }
    void read_trainer(std::string_view message) {
        for_fields(message, [&](const Field& field) {
            if (field.id == model_kind) model_.kind = number_of(field);
            if (field.id == suffix) model_.whitespace_as_suffix = number_of(field) != 0;
            if (field.id == byte_fallback) model_.byte_fallback = number_of(field) != 0;
            if (field.id == unknown_id) model_.unknown = id_of(field);
            if (field.id == start_id) model_.start = id_of(field);
            if (field.id == end_id) model_.end = id_of(field);
            if (field.id == padding_id) model_.padding = id_of(field);
        });
    }
    void read_normalizer(std::string_view message) {
        for_fields(message, [&](const Field& field) {
            if (field.id == charsmap) model_.charsmap = text_of(field);
            if (field.id == dummy_prefix) model_.add_dummy_prefix = number_of(field) != 0;
            if (field.id == extra_whitespaces) model_.remove_extra_whitespaces = number_of(field) != 0;
            if (field.id == escapes) model_.escape_whitespaces = number_of(field) != 0;
        });
    }

    std::string_view where_;
    SentencePieceModel model_;
};

} // namespace

SentencePieceModel read_sentence_piece(std::string_view bytes, std::string_view where) {
    return Reader(where).read(bytes);
}

} // namespace ordo
