// SPDX-License-Identifier: MIT
// The documents of a text that are trained on, and those held out, if there is no second text.
#include "tests/temp_dir.h"
#include "text/bpe_trainer.h"
#include "tools/train/data.h"

#include <gtest/gtest.h>
#include <set>

namespace ordo::train {
namespace {

class Parts : public testing::Test {
protected:
    // n documents; document i is the letter i mod 26, 40 times.
    void write(int n) {
        std::string text;
        for (int i = 0; i < n; ++i) text += std::string(40, static_cast<char>('a' + i % 26)) + "\n<|endoftext|>\n";
        test::put_file(file_, text);
    }
    std::int64_t tokens(Part part) const { return Corpus(file_, *tokenizer_, 8, part).tokens(); }
    // The set of letters in the windows.
    std::set<Token> letters(Part part) const {
        const Corpus corpus(file_, *tokenizer_, 8, part);
        std::vector<Token> in(8), out(8);
        std::set<Token> all;
        for (std::int64_t i = 0; i < corpus.windows(); ++i) {
            corpus.window(i, in, out);
            all.insert(in.begin(), in.end());
        }
        all.erase(tokenizer_->end_of_text());
        return all;
    }

    test::TempDir dir_;
    const std::filesystem::path file_ = dir_ / "text.txt";
    const std::unique_ptr<Tokenizer> tokenizer_ = make_byte_tokenizer();
};

TEST_F(Parts, EveryFiftiethDocumentIsHeldOut) {
    write(150);
    EXPECT_EQ(tokens(Part::all), 150 * 41);
    EXPECT_EQ(tokens(Part::held_out), 3 * 41);
    EXPECT_EQ(tokens(Part::most), 147 * 41);
    EXPECT_EQ(letters(Part::held_out), (std::set<Token>{'a' + 49 % 26, 'a' + 99 % 26, 'a' + 149 % 26}));
}

// Four windows of 257 bytes are more than a quarter of these texts.
TEST_F(Parts, OfAShortTextUpToAQuarterIs) {
    write(100);
    EXPECT_EQ(Corpus(file_, *tokenizer_, 256, Part::held_out).tokens(), 25 * 41);
    test::put_file(file_, std::string(5000, 'a'));
    EXPECT_EQ(Corpus(file_, *tokenizer_, 256, Part::held_out).tokens(), 1 + 1250);
    EXPECT_EQ(Corpus(file_, *tokenizer_, 256, Part::most).tokens(), 1 + 3750);
    // 16,448 bytes are 16 times four windows.
    test::put_file(file_, std::string(16'448, 'a'));
    EXPECT_EQ(Corpus(file_, *tokenizer_, 256, Part::held_out).tokens(), 1 + 4 * 257);
    try {
        Corpus(file_, *tokenizer_, 5000, Part::held_out);
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.code, ErrorCode::limit);
        EXPECT_NE(
            std::string_view(error.what())
                .find("expected more than 5000 tokens to hold out, found 4113; give a smaller --ctx, or a text to hold "
                      "out with --val"),
            std::string_view::npos)
            << error.what();
    }
}

TEST_F(Parts, OfFewDocumentsTheEndIs) {
    write(20);
    EXPECT_EQ(tokens(Part::held_out), 1 + 36); // four windows of 9 bytes, without a blank to cut at
    EXPECT_EQ(tokens(Part::most), 20 * 41 - 36);
    EXPECT_EQ(letters(Part::held_out), std::set<Token>{'a' + 19});
    // The last 40 of 2,010 bytes are held out.
    test::put_file(file_, std::string(2000, 'a') + "\n<|endoftext|>\n" + std::string(10, 'b'));
    EXPECT_EQ(tokens(Part::held_out), 2 + 40);
    EXPECT_EQ(tokens(Part::most), 1 + 1970);
}

// In portions of 64 KiB, cut before a blank: the tokens stay the same.
TEST_F(Parts, LongDocumentsAreEncodedInPortions) {
    std::string text = "once";
    for (int i = 0; text.size() < 2'500'000; ++i)
        text += (i % 9 == 0 ? "\n\n" : "  ") + std::to_string(i * 7919 % 1009);
    test::put_file(file_, text);
    const auto learned = train_bpe(text.substr(0, 20'000), 500);
    std::vector<Token> expected{learned->end_of_text()}, found, in(8), out(8);
    learned->encode(text, false, expected);
    const Corpus corpus(file_, *learned, 8);
    for (std::int64_t i = 0; i < corpus.windows(); ++i) {
        corpus.window(i, in, out);
        found.insert(found.end(), in.begin(), in.end());
    }
    EXPECT_EQ(corpus.tokens(), static_cast<std::int64_t>(expected.size()));
    expected.resize(found.size());
    EXPECT_EQ(found, expected);
}

TEST_F(Parts, NulBytesAreNoText) {
    test::put_file(file_, std::string("once upon\0a time", 16));
    try {
        read_part(file_, Part::all, 8);
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.code, ErrorCode::usage);
        EXPECT_NE(std::string_view(error.what()).find("text.txt: expected a text, found a NUL byte at byte 9"),
                  std::string_view::npos)
            << error.what();
    }
}

// A cut never falls inside a character.
TEST_F(Parts, OfATextWithoutBlanksToo) {
    std::string text;
    for (int i = 0; i < 500; ++i) text += "\xe6\x96\x87";
    test::put_file(file_, text);
    EXPECT_EQ(tokens(Part::held_out), 1 + 36);
    EXPECT_EQ(tokens(Part::most), 1 + 1464);
    EXPECT_EQ(read_part(file_, Part::most, 8), text.substr(0, 1464) + "\n<|endoftext|>\n");
}

TEST_F(Parts, OfASingleTextItsEndIs) {
    std::string text;
    for (int i = 0; i < 1000; ++i) text += "word" + std::to_string(i) + " ";
    test::put_file(file_, text);
    const std::int64_t all = tokens(Part::all), held = tokens(Part::held_out), most = tokens(Part::most);
    EXPECT_EQ(held + most, all + 1); // each part begins with an end-of-text token
    EXPECT_NEAR(static_cast<double>(held), static_cast<double>(all) / 50, 10);
}

TEST_F(Parts, CrLfIsReadAsANewlineWithAWarning) {
    const auto windows = [&](const std::string& text, Part part) {
        test::put_file(file_, text);
        int warnings = 0;
        const Corpus corpus(file_, *tokenizer_, 8, part, [&](std::string_view said) {
            EXPECT_NE(said.find("text.txt: lines end with CR LF"), std::string::npos);
            ++warnings;
        });
        std::vector<Token> in(8), out(8), all{warnings};
        for (std::int64_t i = 0; i < corpus.windows(); ++i) {
            corpus.window(i, in, out);
            all.insert(all.end(), out.begin(), out.end());
        }
        return all;
    };
    std::string lf, crlf;
    for (int i = 0; i < 60; ++i) lf += "one line\nand another\n", crlf += "one line\r\nand another\r\n";
    for (const Part part : {Part::all, Part::most, Part::held_out}) {
        std::vector<Token> expected = windows(lf, part);
        EXPECT_EQ(expected[0], 0);
        expected[0] = part == Part::held_out ? 0 : 1; // once for a file
        EXPECT_EQ(windows(crlf, part), expected);
        EXPECT_EQ(read_part(file_, part, 8).find('\r'), std::string::npos);
    }
}

} // namespace
} // namespace ordo::train
