// SPDX-License-Identifier: MIT
// Text on a terminal: its width, and lines of whole words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ordo::tools {

// The columns of a text. Control characters take none.
int columns_of(std::string_view text);

// A text that grows at its end, in lines of limited width. A word that does not fit begins the next line, unless it is
// longer than a line. Characters that would move the cursor are escaped as in printable().
class Paragraph {
public:
    struct Line {
        std::string text;
        int columns = 0;
        std::size_t marked = 0; // the first bytes of text that are marked
    };

    explicit Paragraph(int width) : width_(width > 0 ? width : 1) {}
    // Takes whole UTF-8 sequences. Marked text, a prompt, comes before all other text.
    void append(std::string_view text, bool marked = false);
    const std::vector<Line>& lines() const { return lines_; } // the last line may still grow

private:
    void put(std::string_view character, int columns, bool marked);
    void move_last_word();

    int width_;
    std::vector<Line> lines_{1};
};

// Wraps a whole text.
std::string wrapped(std::string_view text, int width);

} // namespace ordo::tools
