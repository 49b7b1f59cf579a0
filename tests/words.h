// SPDX-License-Identifier: MIT
// A list of words in one string.
#pragma once

#include <sstream>
#include <string>
#include <vector>

namespace ordo::test {

// The parts of a text between separators: "a b" has two.
inline std::vector<std::string> words_in(const std::string& text, char separator = ' ') {
    std::vector<std::string> words;
    std::istringstream in(text);
    for (std::string word; std::getline(in, word, separator);) words.push_back(word);
    return words;
}

} // namespace ordo::test
