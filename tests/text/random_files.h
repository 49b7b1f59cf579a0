// SPDX-License-Identifier: MIT
// Tokenizers, patterns, decoders, added tokens and chat templates put together at random, most of them to do harm, and
// texts to go over there and back.
#pragma once

#include "core/random.h"

#include <algorithm>
#include <string>
#include <vector>

namespace ordo::test {

using Choices = std::vector<std::string>;

class Dice {
public:
    explicit Dice(std::uint64_t seed) : random_(seed, 0x5eed) {}
    int below(int n) { return static_cast<int>(random_.below(next_++, static_cast<std::uint64_t>(n))); }
    bool once_in(int n) { return below(n) == 0; }
    std::string of(const Choices& list) { return list[below(static_cast<int>(list.size()))]; }
    // Mostly small, sometimes as large as that.
    int size(int most) { return once_in(6) ? 1 + below(most) : 1 + below(std::min(most, 6)); }

private:
    Random random_;
    std::uint64_t next_ = 0;
};

std::string random_tokenizer(Dice& d); // a tokenizer.json
std::string random_text(Dice& d);
std::string random_chat_template(Dice& d);

} // namespace ordo::test
