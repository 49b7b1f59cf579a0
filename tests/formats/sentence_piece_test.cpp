// SPDX-License-Identifier: MIT
// SentencePiece's files: one written by its own program (tests/text/marian/make.py), and malformed messages.
#include "core/error.h"
#include "formats/sentence_piece/model.h"
#include "formats/sentence_piece/protobuf.h"
#include "tests/temp_dir.h"

#include <gtest/gtest.h>

namespace ordo {
namespace {

std::string field(unsigned id, unsigned type, std::string value) {
    if (type == ProtobufField::bytes) value.insert(value.begin(), static_cast<char>(value.size())); // below 128
    const unsigned key = id << 3 | type;
    if (key < 128) return static_cast<char>(key) + value;
    return std::string{static_cast<char>(key | 128), static_cast<char>(key >> 7)} + value;
}
std::string piece(const std::string& text, const std::string& score = std::string("\0\0\x80\xbf", 4)) { // -1
    return field(1, ProtobufField::bytes,
                 field(1, ProtobufField::bytes, text) + field(2, ProtobufField::four_bytes, score));
}

void expect_refused(std::string_view bytes, const std::string& phrase) {
    try {
        read_sentence_piece(bytes, "a.spm");
        ADD_FAILURE() << "read; expected '" << phrase << "'";
    } catch (const Error& error) {
        const std::string what = error.what();
        EXPECT_EQ(error.code, ErrorCode::model) << what;
        EXPECT_TRUE(what.starts_with("a.spm: ")) << what;
        EXPECT_NE(what.find(phrase), what.npos) << what;
        EXPECT_EQ(what.find('\n'), what.npos) << what;
    }
}

TEST(SentencePiece, ReadsWhatItsOwnProgramWrote) {
    const SentencePieceModel model =
        read_sentence_piece(test::file_content("tests/text/marian/source.spm"), "source.spm");
    ASSERT_EQ(model.pieces.size(), 160u); // the number in make.py
    EXPECT_EQ(model.kind, SentencePieceModel::unigram);
    EXPECT_EQ(model.pieces[0].text, "<unk>");
    EXPECT_EQ(model.pieces[0].type, GgufVocabulary::unknown_type);
    EXPECT_EQ(model.pieces[2].text, "</s>");
    EXPECT_EQ(model.pieces[2].type, GgufVocabulary::control);
    for (std::size_t i = 4; i < model.pieces.size(); ++i) { // sorted by score, the logarithm of a probability
        EXPECT_LT(model.pieces[i].score, 0);
        EXPECT_LE(model.pieces[i].score, model.pieces[i - 1].score);
        EXPECT_EQ(model.pieces[i].type, GgufVocabulary::normal);
    }
    EXPECT_FALSE(model.charsmap.empty());
    EXPECT_TRUE(model.add_dummy_prefix && model.remove_extra_whitespaces && model.escape_whitespaces);
    EXPECT_FALSE(model.byte_fallback || model.whitespace_as_suffix);
}

TEST(SentencePiece, TakesWhatIsThereAndSkipsWhatItDoesNotKnow) {
    const std::string trainer = field(3, 0, "\x02") + field(24, 0, "\x01") + field(35, 0, "\x01");
    const std::string normal = field(3, 0, std::string(1, '\0')) + field(2, ProtobufField::bytes, "map");
    const std::string bytes = field(9, ProtobufField::eight_bytes, "12345678") + piece("a") + field(2, 2, trainer) +
                              field(3, 2, normal) + field(7, 0, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
    const SentencePieceModel model = read_sentence_piece(bytes, "a.spm");
    ASSERT_EQ(model.pieces.size(), 1u);
    EXPECT_EQ(model.pieces[0].text, "a");
    EXPECT_EQ(model.pieces[0].score, -1);
    EXPECT_EQ(model.kind, SentencePieceModel::bpe);
    EXPECT_EQ(model.charsmap, "map");
    EXPECT_FALSE(model.add_dummy_prefix);
    EXPECT_TRUE(model.whitespace_as_suffix && model.byte_fallback);
}

TEST(SentencePiece, RefusesWhatIsNone) {
    expect_refused("", "found none of its pieces");
    expect_refused(field(9, 0, "\x01"), "found none of its pieces");
    expect_refused("\x0a", "expected a number of at most ten bytes, found the end");
    expect_refused(std::string("\x0a\x05") + "abc", "field 1: expected 5 bytes, found the end of the message after 3");
    expect_refused("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "field 1: expected 18446744073709551615 bytes");
    expect_refused("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "at most ten bytes, found a longer one");
    expect_refused(std::string("\0\0", 2), "expected a field from 1 to 536870911, found 0");
    expect_refused("\x0b", "field 1: expected the wire type 0, 1, 2 or 5, found 3"); // a group
    expect_refused("\x49"
                   "1234",
                   "expected 8 bytes, found the end of the message after 4");
    expect_refused(field(1, 0, "\x01"), "field 1: expected bytes, found the wire type 0");
    expect_refused(piece(""), "piece 0: expected UTF-8 of at least a byte");
    expect_refused(piece("a") + piece("\xff"), "piece 1: expected UTF-8");
    expect_refused(piece("a", std::string("\0\0\x80\x7f", 4)), "piece 0: expected a finite score, found inf");
    expect_refused(field(1, 2, field(1, 2, "a") + field(3, 0, "\x07")), "expected a type from 1 to 6, found 7");
    expect_refused(piece("a") + field(2, 2, field(3, 2, "x")), "field 3: expected a number, found the wire type 2");
}

// A file truncated anywhere, or with any byte changed, is a model or gives an Error of one line. The sanitizers check
// these reads.
TEST(SentencePiece, AnyBytesAreAModelOrRefused) {
    const std::string whole = test::file_content("tests/text/marian/source.spm");
    const auto read = [](std::string_view bytes) {
        try {
            read_sentence_piece(bytes, "a.spm");
        } catch (const Error& error) {
            EXPECT_EQ(error.code, ErrorCode::model);
            EXPECT_EQ(std::string_view(error.what()).find('\n'), std::string_view::npos);
        }
    };
    for (std::size_t n = 0; n < whole.size(); n += 3) read(std::string_view(whole).substr(0, n));
    for (std::size_t i = 0; i < whole.size(); ++i)
        for (const char byte : {'\0', '\x0b', '\x7f', '\xff'}) {
            std::string other = whole;
            other[i] = byte;
            read(other);
        }
}

} // namespace
} // namespace ordo
