// SPDX-License-Identifier: MIT
// The tokens of a corpus, in as few bytes each as its vocabulary allows, and in blocks: a vector that grows would move
// all of them, and take up to three times as much meanwhile.
#pragma once

#include "rows.h"

#include <memory>

namespace ordo::train {

class TokenStore {
public:
    explicit TokenStore(int vocab_size) : width_(vocab_size <= 1 << 16 ? 2 : vocab_size <= 1 << 24 ? 3 : 4) {}

    std::int64_t size() const { return size_; }
    // Tokens of the vocabulary, behind all others.
    void add(std::span<const Token> tokens);
    // The tokens from first on.
    void read(std::int64_t first, std::span<Token> out) const;

private:
    static constexpr std::int64_t block = 1 << 16; // tokens

    std::size_t width_; // bytes of a token
    std::int64_t size_ = 0;
    std::vector<std::unique_ptr<unsigned char[]>> blocks_;
};

} // namespace ordo::train
