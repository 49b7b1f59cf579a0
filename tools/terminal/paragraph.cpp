// SPDX-License-Identifier: MIT
#include "tools/terminal/paragraph.h"

#include "core/error.h"
#include "text/unicode.h"

#include <algorithm>

namespace ordo::tools {

int columns_of(std::string_view text) {
    int columns = 0;
    while (!text.empty()) {
        const unicode::Char next = unicode::first_char(text);
        columns += unicode::columns_of(next.point);
        text.remove_prefix(next.length);
    }
    return columns;
}

void Paragraph::append(std::string_view text, bool marked) {
    while (!text.empty()) {
        const unicode::Char next = unicode::first_char(text);
        const std::string_view character = text.substr(0, next.length);
        text.remove_prefix(next.length);
        if (character == "\n")
            lines_.emplace_back();
        else if (character == "\t")
            put("    ", 4, marked);
        else if (const std::string shown = printable(character); shown == character)
            put(character, unicode::columns_of(next.point), marked);
        else if (character != "\r")
            put(shown, static_cast<int>(shown.size()), marked);
    }
}

void Paragraph::put(std::string_view character, int columns, bool marked) {
    if (lines_.back().columns + columns > width_) {
        if (character.front() == ' ') { // a space ends a line instead of beginning one
            lines_.emplace_back();
            return;
        }
        move_last_word();
    }
    Line& line = lines_.back();
    line.text += character;
    line.columns += columns;
    if (marked) line.marked = line.text.size();
}

// Moves the last word to a line of its own, unless it is the whole line.
void Paragraph::move_last_word() {
    Line& line = lines_.back();
    const std::size_t space = line.text.rfind(' ');
    Line next;
    if (space != std::string::npos && space + 1 < line.text.size()) {
        next.text = line.text.substr(space + 1);
        next.columns = columns_of(next.text);
        next.marked = line.marked > space + 1 ? line.marked - space - 1 : 0;
        line.text.resize(line.text.find_last_not_of(' ', space) + 1); // also removes the spaces of an indented line
        line.marked = std::min(line.marked, line.text.size());
        line.columns = columns_of(line.text);
    }
    lines_.push_back(std::move(next));
}

std::string wrapped(std::string_view text, int width) {
    Paragraph paragraph(width);
    paragraph.append(text);
    std::string out;
    for (const Paragraph::Line& line : paragraph.lines())
        out += line.text.substr(0, line.text.find_last_not_of(' ') + 1) + "\n";
    out.pop_back();
    return out;
}

} // namespace ordo::tools
