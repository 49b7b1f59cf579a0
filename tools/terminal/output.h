// SPDX-License-Identifier: MIT
// The program's output: checked results on stdout, everything else on stderr.
#pragma once

#include "core/number.h"
#include "io/json_writer.h"
#include "tools/terminal/live_line.h"

#include <functional>
#include <variant>

namespace ordo::tools {

// Writes the whole text to stdout. Throws Error(io) on failure. If the reader of a pipe is gone, the program ends
// quietly, as with SIGPIPE.
void write_out(std::string_view text);

// Writes one line to stderr, "ordo: TEXT". Ignores a failure.
void write_message(std::string_view text);

bool stdout_is_terminal();
bool stderr_is_terminal();

// Progress on stderr, if that is a terminal and --quiet was not given.
class Progress {
public:
    explicit Progress(bool quiet) : line_(!quiet) {}
    void show(const std::string& text) { line_.show(text); }

private:
    LiveLine line_;
};

using ordo::fixed_text;
using ordo::number_text;
// 1234567 as "1,234,567"
std::string grouped(std::uint64_t value);

// A table of results, for any --format.
using Cell = std::variant<std::monostate, std::string, double, std::int64_t, bool>;
struct Figures {
    std::vector<std::string> columns;
    std::vector<std::vector<Cell>> rows; // as many cells as columns
    int decimals = -1;                   // of doubles in text and md; -1: the shortest that round-trips

    // Adds a row cell by cell. If an allocation fails inside a braced list of cells, g++ 12 destroys cells that it
    // never constructed.
    template <class... Parts>
    void add(Parts&&... parts) {
        std::vector<Cell> row;
        row.reserve(sizeof...(parts));
        (row.emplace_back(std::forward<Parts>(parts)), ...);
        rows.push_back(std::move(row));
    }
};
enum class Format { text, md, csv, json };
Format parse_format(std::string_view name);
// JSON is an array of objects. A missing cell or NaN is empty, null in JSON. An infinite cell is a string in JSON,
// "-inf", because JSON has no such number. CSV follows RFC 4180, with \n.
std::string render(const Figures& figures, Format format);
void write_json(JsonWriter& out, const Figures& figures);
void write_json(JsonWriter& out, const Cell& cell);

// A table whose rows are computed during printing. text and md compute each row twice: the first time for the column
// widths.
struct FigureRows {
    std::vector<std::string> columns;
    std::int64_t count = 0;
    std::function<void(std::int64_t row, std::vector<Cell>& out)> fill; // out has a cell for each column
    int decimals = -1;
};
// Writes the result to stdout, a few rows at a time.
void write_rows(const FigureRows& figures, Format format);

// Bytes as the text of a JSON string. A byte outside UTF-8 becomes \xNN and one backslash becomes two, so different
// bytes always give different texts.
std::string escaped_bytes(std::string_view bytes);

} // namespace ordo::tools
