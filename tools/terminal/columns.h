// SPDX-License-Identifier: MIT
// Growing texts on the terminal of stdout: one, or several in columns.
#pragma once

#include "tools/terminal/paragraph.h"

namespace ordo::tools {

// The abilities of stdout's terminal.
struct Display {
    bool terminal = false; // false: a file or a pipe, which gets the exact bytes
    int width = 80;        // columns
    bool color = false;
};
Display stdout_display(); // NO_COLOR and TERM=dumb disable colour

// A row is closed when every text has its full line for it. So all texts stay side by side, and only the last row is
// ever written again.
class Columns {
public:
    // Each column is as wide as the display allows; the last column of the terminal stays empty.
    Columns(std::size_t count, const Display& display);
    // The number of columns of at least `least` characters that fit; at least one.
    static std::size_t fitting(const Display& display, int least);

    // Takes whole UTF-8 sequences. Marked text, a prompt, comes before all other text and has a colour.
    void append(std::size_t column, std::string_view text, bool marked = false);
    void finish(std::size_t column) { texts_[column].finished = true; }
    void finish_all();
    // Writes the new text.
    void show();
    // Finishes all texts, and leaves the cursor at the beginning of an empty row.
    void close();

private:
    struct Text {
        Paragraph paragraph;
        bool finished = false;
    };
    bool is_whole(std::size_t row) const;
    std::string row_text(std::size_t row) const;

    Display display_;
    int width_; // of each column
    std::vector<Text> texts_;
    std::size_t row_ = 0; // the row that may still change
    std::string shown_;   // its current text
};

} // namespace ordo::tools
