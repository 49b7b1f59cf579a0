// SPDX-License-Identifier: MIT
// Growing texts on the terminal of stdout: one, or several side by side.
#pragma once

#include "tools/terminal/paragraph.h"

namespace ordo::tools {

// What stdout's terminal can show.
struct Display {
    bool terminal = false; // or it is a file or a pipe, and takes bytes as they are
    int width = 80;        // columns
    bool color = false;
};
Display stdout_display(); // NO_COLOR and TERM=dumb take the colour

// A row is closed when every text has it whole, so that all stay side by side and nothing above the last row is ever
// written again.
class Columns {
public:
    // Each as wide as the display allows, and the last column of the terminal empty.
    Columns(std::size_t count, const Display& display);
    // How many columns of at least so many characters there is room for; one at least.
    static std::size_t fitting(const Display& display, int least);

    // Whole UTF-8 sequences; marked text, a prompt, comes before all other and has a colour.
    void append(std::size_t column, std::string_view text, bool marked = false);
    void finish(std::size_t column) { texts_[column].finished = true; }
    void finish_all();
    // Writes what is new.
    void show();
    // Finishes all, and leaves the cursor at the beginning of an empty row.
    void close();

private:
    struct Text {
        Paragraph paragraph;
        bool finished = false;
    };
    bool is_whole(std::size_t row) const;
    std::string row_text(std::size_t row) const;

    Display display_;
    int width_; // of each
    std::vector<Text> texts_;
    std::size_t row_ = 0; // the one that may still change
    std::string shown_;   // what stands there
};

} // namespace ordo::tools
