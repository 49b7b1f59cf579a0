// SPDX-License-Identifier: MIT
// Text as windows of tokens, in an order that only the seed decides.
#pragma once

#include "text/tokenizer.h"

#include <filesystem>
#include <functional>

namespace ordo::train {

constexpr std::size_t most_bytes = std::size_t{1} << 32; // of a corpus

// Of one text that has no held-out companion: every 50th document is held out, or, of fewer documents, the last
// fiftieth of their text, from a line or a word on.
enum class Part { all, most, held_out };

// The documents of a corpus, or of a part of it, with the marks between them. Throws Error(io), and Error(usage) for
// what is no text.
std::string read_part(const std::filesystem::path& file, Part part);

// A corpus as windows of length + 1 tokens: a window's targets are its tokens moved by one. Every
// document starts with <|endoftext|> and is cut from its start; its last window runs on into the
// document that follows.
class Corpus {
public:
    // Throws Error(limit) if the text is shorter than one window, Error(model) for a tokenizer that gives
    // tokens outside its vocabulary, such as that of an end of text which it does not have.
    // on_warning: told of lines that end with CR LF, which is read as a newline; not for the held-out part of a file
    // whose other part is read too.
    Corpus(const std::filesystem::path& file, const Tokenizer& tokenizer, int length, Part part = Part::all,
           const std::function<void(std::string_view)>& on_warning = {});

    std::int64_t windows() const { return static_cast<std::int64_t>(starts_.size()); }
    std::int64_t tokens() const { return static_cast<std::int64_t>(tokens_.size()); }
    std::size_t bytes() const { return bytes_; }           // of the file
    std::size_t text_bytes() const { return text_bytes_; } // of the part's documents
    const std::string& sha256() const { return sha256_; }  // of the file, hexadecimal
    const std::string& name() const { return name_; }      // of the file, without folders

    // Copies window i: length tokens and the length tokens that follow each.
    void window(std::int64_t i, std::span<Token> tokens, std::span<Token> targets) const;
    // The index of the n-th window in training: each epoch is a permutation drawn from Philox with
    // the seed. Calls come in any order; the last epoch asked for is kept.
    std::int64_t shuffled(std::uint64_t seed, std::int64_t n);

private:
    int length_;
    std::vector<Token> tokens_;
    std::vector<std::int64_t> starts_, order_;
    std::int64_t epoch_ = -1;
    std::uint64_t order_seed_ = 0;
    std::size_t bytes_, text_bytes_ = 0;
    std::string sha256_, name_;
};

} // namespace ordo::train
