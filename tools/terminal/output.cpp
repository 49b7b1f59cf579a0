// SPDX-License-Identifier: MIT
#include "tools/terminal/output.h"

#include "core/error.h"
#include "core/utf8.h"
#include "tools/terminal/terminal.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstring>
#include <optional>
#include <poll.h>
#include <system_error>
#include <unistd.h>

namespace ordo::tools {

namespace {

// False with errno set if a write fails.
bool write_all(int fd, std::string_view text) {
    while (!text.empty()) {
        const ssize_t n = ::write(fd, text.data(), text.size());
        if (n >= 0) {
            text.remove_prefix(n);
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            pollfd wait{fd, POLLOUT, 0};
            ::poll(&wait, 1, -1);
        } else if (errno != EINTR) {
            return false;
        }
    }
    return true;
}

// The same, with everything escaped that a terminal would interpret. It allocates no memory, because the message may be
// about a lack of memory.
bool write_escaped(int fd, std::string_view text) {
    while (!text.empty()) {
        std::size_t plain = 0, escaped = 0;
        while (plain < text.size()) {
            const std::string_view rest = text.substr(plain);
            escaped = rest[0] == '\n' || rest[0] == '\t' ? 0 : utf8_unprintable(rest);
            if (escaped > 0) break;
            plain += std::max<std::size_t>(1, utf8_length(rest));
        }
        if (!write_all(fd, text.substr(0, plain))) return false;
        for (std::size_t i = 0; i < escaped; ++i) {
            static constexpr char digits[] = "0123456789abcdef";
            const auto byte = static_cast<unsigned char>(text[plain + i]);
            const char code[] = {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
            if (!write_all(fd, {code, sizeof code})) return false;
        }
        text.remove_prefix(plain + escaped);
    }
    return true;
}

void check_written(bool written) {
    if (written) return;
    if (errno == EPIPE) ::_exit(128 + SIGPIPE); // our parent set SIGPIPE to be ignored
    fail(ErrorReason::standard_stream, ErrorCode::io, "standard output: ", std::strerror(errno));
}

std::string cell_text(const Cell& cell, int decimals) {
    if (const auto* text = std::get_if<std::string>(&cell)) return *text;
    if (const auto* whole = std::get_if<std::int64_t>(&cell)) return std::to_string(*whole);
    if (const auto* truth = std::get_if<bool>(&cell)) return *truth ? "yes" : "no";
    if (const auto* value = std::get_if<double>(&cell))
        return decimals < 0 ? number_text(*value) : fixed_text(*value, decimals);
    return "-";
}

// A text that a spreadsheet would read as a formula.
bool like_a_formula(const Cell& cell) {
    const auto* text = std::get_if<std::string>(&cell);
    if (!text || text->empty() || std::string_view("=+-@\t\r").find(text->front()) == std::string_view::npos)
        return false;
    const char* const begin = text->data() + (text->front() == '+' ? 1 : 0);
    const char* const end = text->data() + text->size();
    double number = 0;
    const auto [stop, error] = std::from_chars(begin, end, number);
    return error != std::errc{} || stop != end;
}

std::string csv_field(const Cell& cell, bool formula = false) {
    if (std::holds_alternative<std::monostate>(cell)) return "";
    if (const auto* truth = std::get_if<bool>(&cell)) return *truth ? "true" : "false";
    const std::string text = (formula ? "'" : "") + cell_text(cell, -1);
    if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
    std::string quoted = "\"";
    for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
    return quoted + "\"";
}

using Sink = std::function<void(std::string_view)>; // takes a row's text

void write_row(JsonWriter& out, const std::vector<std::string>& columns, const std::vector<Cell>& row) {
    out.begin_object();
    for (std::size_t i = 0; i < row.size(); ++i) {
        out.key(columns[i]);
        write_json(out, row[i]);
    }
    out.end_object();
}

// Whether a column has no numbers.
bool is_text_column(const FigureRows& figures, std::size_t column) {
    std::vector<Cell> row(figures.columns.size());
    for (std::int64_t i = 0; i < figures.count; ++i) {
        figures.fill(i, row);
        if (std::holds_alternative<double>(row[column]) || std::holds_alternative<std::int64_t>(row[column]))
            return false;
    }
    return true;
}

// In a text column a leading apostrophe keeps a spreadsheet from computing a cell. Columns of numbers stay unchanged.
void csv(const FigureRows& figures, const Sink& sink) {
    std::string line;
    for (std::size_t i = 0; i < figures.columns.size(); ++i)
        line += (i > 0 ? "," : "") + csv_field(figures.columns[i], like_a_formula(figures.columns[i]));
    sink(line + "\n");
    std::vector<Cell> row(figures.columns.size());
    std::vector<std::optional<bool>> of_text(figures.columns.size()); // for columns where it matters
    for (std::int64_t r = 0; r < figures.count; ++r) {
        figures.fill(r, row);
        line.clear();
        for (std::size_t i = 0; i < row.size(); ++i) {
            const bool formula = like_a_formula(row[i]);
            if (formula && !of_text[i]) of_text[i] = is_text_column(figures, i);
            line += (i > 0 ? "," : "") + csv_field(row[i], formula && *of_text[i]);
        }
        sink(line + "\n");
    }
}

void json(const FigureRows& figures, const Sink& sink) {
    JsonWriter out(1);
    std::vector<Cell> row(figures.columns.size());
    out.begin_array();
    for (std::int64_t i = 0; i < figures.count; ++i) {
        figures.fill(i, row);
        write_row(out, figures.columns, row);
        sink(out.take());
    }
    out.end_array();
    sink(out.take() + "\n");
}

// Code points. Most characters take one column of a terminal.
std::size_t width_of(std::string_view text) {
    return static_cast<std::size_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string shown(const Cell& cell, const FigureRows& figures, bool md) {
    const std::string text = printable(cell_text(cell, figures.decimals), std::string::npos);
    return md ? escaped_markdown(text, true) : text;
}

// Aligns columns: numbers to the right, all else to the left.
void aligned(const FigureRows& figures, bool md, const Sink& sink) {
    const std::size_t n = figures.columns.size();
    const std::vector<Cell> header(figures.columns.begin(), figures.columns.end());
    std::vector<Cell> row(n);
    std::vector<std::size_t> widths;
    std::vector<bool> right(n, figures.count > 0);
    for (const Cell& name : header)
        widths.push_back(std::max(width_of(shown(name, figures, md)), std::size_t{md ? 3u : 1u}));
    for (std::int64_t r = 0; r < figures.count; ++r) {
        figures.fill(r, row);
        for (std::size_t i = 0; i < n; ++i) {
            widths[i] = std::max(widths[i], width_of(shown(row[i], figures, md)));
            if (std::holds_alternative<std::string>(row[i]) || std::holds_alternative<bool>(row[i])) right[i] = false;
        }
    }
    const auto write = [&](const std::vector<Cell>& cells) {
        std::string line = md ? "| " : "";
        for (std::size_t i = 0; i < n; ++i) {
            const std::string text = shown(cells[i], figures, md), pad(widths[i] - width_of(text), ' ');
            line += right[i] ? pad + text : text + pad;
            line += md ? " | " : "  ";
        }
        sink(line.substr(0, line.find_last_not_of(' ') + 1) + "\n");
    };
    write(header);
    if (md) {
        std::string line = "|";
        for (std::size_t i = 0; i < n; ++i) line += std::string(widths[i] + 1, '-') + (right[i] ? ":|" : "-|");
        sink(line + "\n");
    }
    for (std::int64_t r = 0; r < figures.count; ++r) {
        figures.fill(r, row);
        write(row);
    }
}

void print(const FigureRows& figures, Format format, const Sink& sink) {
    if (format == Format::csv) return csv(figures, sink);
    if (format == Format::json) return json(figures, sink);
    aligned(figures, format == Format::md, sink);
}

} // namespace

void write_out(std::string_view text) {
    LiveLine::wipe();
    check_written(stdout_is_terminal() ? write_escaped(STDOUT_FILENO, text) : write_all(STDOUT_FILENO, text));
}

void write_styled(std::string_view text) {
    LiveLine::wipe();
    check_written(write_all(STDOUT_FILENO, text));
}

void write_message(std::string_view text) {
    LiveLine::wipe();
    // In pieces, because the message may be about a lack of memory.
    write_all(STDERR_FILENO, "ordo: ");
    stderr_is_terminal() ? write_escaped(STDERR_FILENO, text) : write_all(STDERR_FILENO, text);
    write_all(STDERR_FILENO, "\n");
}

bool stdout_is_terminal() {
    return ::isatty(STDOUT_FILENO) == 1;
}

bool stderr_is_terminal() {
    return ::isatty(STDERR_FILENO) == 1;
}

std::string grouped(std::uint64_t value) {
    std::string text = std::to_string(value);
    for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
    return text;
}

Format parse_format(std::string_view name) {
    if (name == "md") return Format::md;
    if (name == "csv") return Format::csv;
    if (name == "json") return Format::json;
    return Format::text;
}

void write_json(JsonWriter& out, const Cell& cell) {
    const auto* number = std::get_if<double>(&cell);
    if (number && std::isinf(*number)) return out.value(number_text(*number));
    std::visit(
        [&out](const auto& value) {
            if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::monostate>)
                out.null();
            else
                out.value(value);
        },
        cell);
}

void write_json(JsonWriter& out, const Figures& figures) {
    out.begin_array();
    for (const auto& row : figures.rows) write_row(out, figures.columns, row);
    out.end_array();
}

std::string render(const Figures& figures, Format format) {
    std::string out;
    print({figures.columns, static_cast<std::int64_t>(figures.rows.size()),
           [&](std::int64_t row, std::vector<Cell>& cells) { cells = figures.rows[row]; }, figures.decimals},
          format, [&out](std::string_view text) { out += text; });
    return out;
}

void write_rows(const FigureRows& figures, Format format) {
    constexpr std::size_t block = 1 << 16;
    std::string out;
    print(figures, format, [&out](std::string_view text) {
        out += text;
        if (out.size() < block) return;
        write_out(out);
        out.clear();
    });
    write_out(out);
}

std::string escaped_markdown(std::string_view text, bool in_table) {
    std::string out;
    for (const char c : text) {
        if (c == '<') {
            out += "&lt;";
            continue;
        }
        if (c == '[' || c == ']' || (in_table && c == '|')) out += '\\';
        out += c;
    }
    return out;
}

std::string escaped_bytes(std::string_view bytes) {
    static constexpr char digits[] = "0123456789abcdef";
    std::string out;
    while (!bytes.empty()) {
        const std::size_t length = utf8_length(bytes);
        if (length == 0) {
            const auto byte = static_cast<unsigned char>(bytes.front());
            out += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
        } else {
            out += bytes.substr(0, length);
            if (bytes.front() == '\\') out += '\\';
        }
        bytes.remove_prefix(std::max<std::size_t>(length, 1));
    }
    return out;
}

} // namespace ordo::tools
