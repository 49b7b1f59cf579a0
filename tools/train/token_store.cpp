// SPDX-License-Identifier: MIT
#include "tools/train/token_store.h"

namespace ordo::train {

void TokenStore::add(std::span<const Token> tokens) {
    for (const Token token : tokens) {
        const std::int64_t at = size_++ % block;
        if (at == 0) blocks_.push_back(std::make_unique_for_overwrite<unsigned char[]>(block * width_));
        unsigned char* const bytes = blocks_.back().get() + static_cast<std::size_t>(at) * width_;
        for (std::size_t i = 0; i < width_; ++i)
            bytes[i] = static_cast<unsigned char>(static_cast<std::uint32_t>(token) >> (8 * i));
    }
}

void TokenStore::read(std::int64_t first, std::span<Token> out) const {
    for (Token& token : out) {
        const unsigned char* const bytes =
            blocks_[first / block].get() + static_cast<std::size_t>(first % block) * width_;
        std::uint32_t value = 0;
        for (std::size_t i = 0; i < width_; ++i) value |= std::uint32_t{bytes[i]} << (8 * i);
        token = static_cast<Token>(value);
        ++first;
    }
}

} // namespace ordo::train
