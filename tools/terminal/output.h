// SPDX-License-Identifier: MIT
// What the program writes: the result on stdout, checked; everything else on stderr.
#pragma once

#include "core/number.h"
#include "io/json_writer.h"
#include "tools/terminal/live_line.h"

#include <functional>
#include <optional>
#include <variant>

namespace ordo::tools {

// Writes all of the text to stdout at once. Throws Error(io) if it cannot be written. A reader that
// went away ends the program quietly, as SIGPIPE would.
void write_out(std::string_view text);

// One line on stderr, "ordo: TEXT"; a failure to write it is ignored.
void write_message(std::string_view text);

bool stdout_is_terminal();
bool stderr_is_terminal();

// Progress on stderr, if that is a terminal and nobody asked for quiet.
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

// A table of results, printed in any --format.
using Cell = std::variant<std::monostate, std::string, double, std::int64_t, bool>;
struct Figures {
    std::vector<std::string> columns;
    std::vector<std::vector<Cell>> rows; // as many cells as there are columns
    int decimals = -1;                   // of doubles in text and md; -1: the shortest that round-trips

    // A row, cell by cell: g++ 12 destroys what it never made when an allocation fails inside a braced list of
    // cells.
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
// json: an array of objects. A missing cell is empty, null in JSON, as is "not a number"; an infinite
// one, which JSON lacks, is a string there, "-inf". CSV is RFC 4180's with \n.
std::string render(const Figures& figures, Format format);
void write_json(JsonWriter& out, const Figures& figures);
void write_json(JsonWriter& out, const Cell& cell);

// The same with rows that are computed as they are printed; text and md ask for each twice, first to
// learn how wide the columns are.
struct FigureRows {
    std::vector<std::string> columns;
    std::int64_t count = 0;
    std::function<void(std::int64_t row, std::vector<Cell>& out)> fill; // out has a cell for each column
    int decimals = -1;
};
// The result, on stdout, a few rows at a time.
void write_rows(const FigureRows& figures, Format format);

// Bytes as the text of a JSON string: what is not UTF-8 becomes \xNN, one backslash becomes two, so
// that every sequence of bytes has a text of its own.
std::string escaped_bytes(std::string_view bytes);

} // namespace ordo::tools
