// SPDX-License-Identifier: MIT
// Training texts of letters: the bytes of a file, or random chains, each with its own table.
#pragma once

#include "tools/lab/study/prelude.h"

namespace ordo::lab {

// Without a file: each text has its own table, a permutation of the letters, of the letter that usually follows each.
// A model that has read more of a text predicts it better. The supply is endless. With a file: windows at random
// places; the last tenth is held out.
class LetterSource {
public:
    LetterSource() = default;
    // Throws Error(usage) with the name of a text that is too short for such windows.
    LetterSource(std::string text, const std::string& name, int longest);

    int vocabulary() const { return text_.empty() ? letters : 256; }
    // The tokens of one window and the next token, [length + 1]. The same seed and number give the same window.
    // held_out: windows that training never sees.
    std::vector<Token> window(std::uint64_t seed, std::uint64_t number, int length, bool held_out = false) const;

    static constexpr int letters = 6;
    static constexpr double regular = 0.9; // how often this letter follows; otherwise any letter
    // Nats per letter for a predictor that knows the table.
    static double entropy();

private:
    std::string text_;
    std::size_t kept_back_ = 0; // where the held-out part begins
};

} // namespace ordo::lab
