// SPDX-License-Identifier: MIT
// Texts of letters to train on: of a file, by its bytes, or of chains that each text has of its own.
#pragma once

#include "ordo.h"

#include <string>

namespace ordo::lab {

// Made texts: each has a table of its own that says by which two letters a letter is mostly followed, so that whoever
// has read more of a text predicts it better; there is no end of them. File: windows at random places; its last tenth
// is kept back.
class LetterSource {
public:
    LetterSource() = default;
    // Throws Error(usage) for a text that is too short for windows of that length, naming it.
    LetterSource(std::string text, const std::string& name, int longest);

    int vocabulary() const { return text_.empty() ? letters : 256; }
    // Tokens of one window and the one that follows, [length + 1]; the same for the same seed and number. held_out:
    // windows that training never sees.
    std::vector<Token> window(std::uint64_t seed, std::uint64_t number, int length, bool held_out = false) const;

    static constexpr int letters = 16;
    static constexpr double regular = 0.9; // how often one of the two follows; else any letter does
    // Nats a letter for who knows the table.
    static double entropy();

private:
    std::string text_;
    std::size_t kept_back_ = 0; // where that part begins
};

} // namespace ordo::lab
