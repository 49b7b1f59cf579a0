// SPDX-License-Identifier: MIT
// Text as a terminal has room for it: how wide it is, and in lines whose words are whole.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ordo::tools {

// Columns that a text takes; control characters take none.
int columns_of(std::string_view text);

// A text that grows at its end, in lines of at most so many columns. A word that a line has no room for begins the next
// one, unless it is longer than a line. What would move the cursor is shown as printable() does.
class Paragraph {
public:
    struct Line {
        std::string text;
        int columns = 0;
        std::size_t marked = 0; // bytes that it begins with, of marked text
    };

    explicit Paragraph(int width) : width_(width > 0 ? width : 1) {}
    // Whole UTF-8 sequences. Marked text, a prompt, comes before all other.
    void append(std::string_view text, bool marked = false);
    const std::vector<Line>& lines() const { return lines_; } // the last one may still grow

private:
    void put(std::string_view character, int columns, bool marked);
    void move_last_word();

    int width_;
    std::vector<Line> lines_{1};
};

// The same all at once.
std::string wrapped(std::string_view text, int width);

} // namespace ordo::tools
