// SPDX-License-Identifier: MIT
#include "tools/terminal/columns.h"

#include "tools/terminal/output.h"
#include "tools/terminal/terminal.h"

#include <algorithm>
#include <cstdlib>
#include <sys/ioctl.h>
#include <unistd.h>

namespace ordo::tools {

namespace {

constexpr int gutter = 3;
constexpr std::string_view mark = "\033[33m", unmark = "\033[0m";

} // namespace

Display stdout_display() {
    Display display;
    display.terminal = stdout_is_terminal();
    if (!display.terminal) return display;
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) display.width = size.ws_col;
    const char* none = std::getenv("NO_COLOR");
    const char* term = std::getenv("TERM");
    display.color = !(none && *none) && term && std::string_view(term) != "dumb";
    return display;
}

Columns::Columns(std::size_t count, const Display& display)
    : display_(display),
      width_((display.width - 1 - gutter * (static_cast<int>(count) - 1)) / static_cast<int>(count)) {
    texts_.assign(count, {Paragraph(width_), false});
}

std::size_t Columns::fitting(const Display& display, int least) {
    return static_cast<std::size_t>(std::max(1, (display.width - 1 + gutter) / (least + gutter)));
}

void Columns::append(std::size_t column, std::string_view text, bool marked) {
    texts_[column].paragraph.append(text, marked);
}

void Columns::finish_all() {
    for (Text& text : texts_) text.finished = true;
}

bool Columns::is_whole(std::size_t row) const {
    const auto has = [row](const Text& text) { return text.paragraph.lines().size() > row + 1; };
    return std::any_of(texts_.begin(), texts_.end(), has) &&
           std::all_of(texts_.begin(), texts_.end(), [&](const Text& text) { return text.finished || has(text); });
}

std::string Columns::row_text(std::size_t row) const {
    std::string out;
    std::size_t missing = 0; // spaces before the next text
    for (const Text& text : texts_) {
        const auto& lines = text.paragraph.lines();
        const Paragraph::Line line = row < lines.size() ? lines[row] : Paragraph::Line{};
        if (!line.text.empty()) {
            out.append(missing, ' ');
            missing = 0;
            const bool colored = display_.color && line.marked > 0;
            if (colored) out.append(mark).append(line.text, 0, line.marked).append(unmark);
            out.append(line.text, colored ? line.marked : 0);
        }
        missing += static_cast<std::size_t>(width_ - line.columns + gutter);
    }
    return out;
}

void Columns::show() {
    std::string out;
    while (true) {
        const bool whole = is_whole(row_);
        std::string now = row_text(row_);
        if (now.starts_with(shown_))
            out += now.substr(shown_.size());
        else
            out += "\r" + now + "\033[K";
        shown_ = std::move(now);
        if (!whole) break;
        out += "\n";
        shown_.clear();
        ++row_;
    }
    if (!out.empty()) write_styled(out);
}

void Columns::close() {
    finish_all();
    show();
    write_out("\n");
}

} // namespace ordo::tools
