// SPDX-License-Identifier: MIT
// Text as windows of tokens, in an order that depends only on the seed.
#pragma once

#include "text/tokenizer.h"
#include "tools/train/token_store.h"

#include <filesystem>
#include <functional>

namespace ordo::train {

constexpr std::size_t most_bytes = std::size_t{1} << 32; // of a corpus

// The parts of a text that has no separate held-out text: every 50th document is held out. With fewer documents, the
// last fiftieth of their text is held out, from a line or a word on. Of a short text the share is larger: four windows
// of length + 1 bytes, but at most a quarter.
enum class Part { all, most, held_out };

// The documents of a corpus, or of a part of it, with the marks between them. Throws Error(io), and Error(usage) for a
// file that is not text.
std::string read_part(const std::filesystem::path& file, Part part, int length);

// A corpus as windows of length + 1 tokens: a window's targets are its tokens shifted by one. Every document starts
// with <|endoftext|> and is cut from its start. Its last window continues into the next document.
class Corpus {
public:
    // Throws Error(limit) if the text is shorter than one window. Throws Error(model) if the tokenizer gives tokens
    // outside its vocabulary, for example because it has no end-of-text token. on_warning: receives a warning about
    // lines that end with CR LF, which are read as newlines. The held-out part of a file gives no warning if the other
    // part is read too.
    Corpus(const std::filesystem::path& file, const Tokenizer& tokenizer, int length, Part part = Part::all,
           const std::function<void(std::string_view)>& on_warning = {});

    std::int64_t windows() const { return static_cast<std::int64_t>(starts_.size()); }
    std::int64_t tokens() const { return tokens_.size(); }
    std::size_t bytes() const { return bytes_; }           // of the file
    std::size_t text_bytes() const { return text_bytes_; } // of the part's documents
    const std::string& sha256() const { return sha256_; }  // of the file, hexadecimal
    const std::string& name() const { return name_; }      // of the file, without folders

    // Copies window i: length tokens, and for each of them the token that follows.
    void window(std::int64_t i, std::span<Token> tokens, std::span<Token> targets) const;
    // The index of the n-th window in training. Each epoch is a permutation drawn from Philox with the seed. Calls may
    // come in any order. The permutation of the last epoch used is kept.
    std::int64_t shuffled(std::uint64_t seed, std::int64_t n);

private:
    int length_;
    TokenStore tokens_;
    std::vector<std::int64_t> starts_, order_;
    std::int64_t epoch_ = -1;
    std::uint64_t order_seed_ = 0;
    std::size_t bytes_, text_bytes_ = 0;
    std::string sha256_, name_;
};

} // namespace ordo::train
