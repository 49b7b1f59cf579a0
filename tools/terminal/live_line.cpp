// SPDX-License-Identifier: MIT
#include "tools/terminal/live_line.h"

#include "core/error.h"

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/ioctl.h>
#include <system_error>
#include <unistd.h>

namespace ordo::tools {

namespace {

volatile std::sig_atomic_t line_shown = 0; // the line has text

// Ignores errors: the work continues if the line cannot be shown.
void put(std::string_view text) {
    while (!text.empty()) {
        const ssize_t n = ::write(STDERR_FILENO, text.data(), text.size());
        if (n <= 0 && errno != EINTR) return;
        if (n > 0) text.remove_prefix(n);
    }
}

// The beginning of text that fills `columns` columns, one for each code point.
std::string_view cut(std::string_view text, int columns) {
    std::size_t at = 0;
    for (; at < text.size(); ++at)
        if ((static_cast<unsigned char>(text[at]) & 0xc0) != 0x80 && columns-- <= 0) break;
    return text.substr(0, at);
}

} // namespace

int terminal_columns() {
    winsize size{};
    if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
    int columns = 0;
    if (const char* text = std::getenv("COLUMNS")) {
        const char* end = text + std::strlen(text);
        const auto [stop, error] = std::from_chars(text, end, columns);
        if (error == std::errc() && stop == end && columns > 0) return columns;
    }
    return 80;
}

double seconds_left(double seconds, std::int64_t done, std::int64_t total) {
    if (done <= 0) return 0;
    return seconds * static_cast<double>(total - done) / static_cast<double>(done);
}

std::string left_text(double seconds) {
    const auto whole = static_cast<std::int64_t>(seconds);
    const std::string rest = std::to_string(whole % 60);
    return std::to_string(whole / 60) + (rest.size() < 2 ? ":0" : ":") + rest + " left";
}

LiveLine::LiveLine(bool active) : active_(active && ::isatty(STDERR_FILENO) == 1) {}

LiveLine::~LiveLine() {
    if (active_) wipe();
}

void LiveLine::show(std::string_view text) {
    if (!active_) return;
    const int columns = width();
    const std::string line = printable(text, 4 * static_cast<std::size_t>(columns)); // a code point has at most 4 bytes
    line_shown = 1;
    put("\r" + std::string(cut(line, columns)) + "\033[K");
}

void LiveLine::wipe() {
    if (line_shown) put("\r\033[K");
    line_shown = 0;
}

} // namespace ordo::tools
