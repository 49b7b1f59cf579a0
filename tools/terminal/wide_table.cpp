// SPDX-License-Identifier: MIT
#include "tools/terminal/wide_table.h"

#include "tools/terminal/columns.h"

#include <algorithm>
#include <set>
#include <sstream>

namespace ordo::tools {

namespace {

std::string text_of(const Cell& cell) {
    if (const auto* words = std::get_if<std::string>(&cell)) return *words;
    if (const auto* number = std::get_if<double>(&cell)) return number_text(*number);
    if (const auto* integer = std::get_if<std::int64_t>(&cell)) return std::to_string(*integer);
    if (const auto* truth = std::get_if<bool>(&cell)) return *truth ? "true" : "false";
    return {};
}

int widest_line(std::string_view text) {
    int most = 0;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        most = std::max(most, columns_of(text.substr(at, end - at)));
        at = end + 1;
    }
    return most;
}

// The first `first` columns of a table, and the columns [from, to).
Figures part_of(const Figures& figures, std::size_t first, std::size_t from, std::size_t to) {
    Figures part{{}, {}, figures.decimals};
    const auto take = [&](auto& out, const auto& all) {
        for (std::size_t i = 0; i < all.size(); ++i)
            if (i < first || (i >= from && i < to)) out.push_back(all[i]);
    };
    take(part.columns, figures.columns);
    for (const auto& row : figures.rows) take(part.rows.emplace_back(), row);
    return part;
}

// The smallest number of first columns that make all rows look different; all columns if some rows look the same.
std::size_t keys_of(const Figures& figures) {
    const std::size_t n = figures.columns.size();
    for (std::size_t keys = 1; keys < n; ++keys) {
        std::istringstream lines(render(part_of(figures, keys, 0, 0), Format::text));
        std::set<std::string> seen;
        for (std::string line; std::getline(lines, line);) seen.insert(line);
        if (seen.size() == 1 + figures.rows.size()) return keys; // rows and the line of column names
    }
    return n;
}

} // namespace

std::string records(const Figures& figures, int width) {
    std::size_t widest = 0;
    for (const std::string& name : figures.columns) widest = std::max(widest, name.size());
    const std::string indent(widest + 2, ' ');
    std::string out;
    for (const auto& row : figures.rows) {
        out += out.empty() ? "" : "\n";
        for (std::size_t j = 0; j < row.size(); ++j) {
            std::istringstream lines(wrapped(text_of(row[j]), std::max(20, width - static_cast<int>(indent.size()))));
            std::string name = figures.columns[j] + indent.substr(figures.columns[j].size());
            bool any = false;
            for (std::string line; std::getline(lines, line); any = true) out += (any ? indent : name) + line + "\n";
            if (!any) out += name + "\n";
        }
    }
    return out;
}

std::string in_width(const Figures& figures, int width) {
    std::string whole = render(figures, Format::text);
    const std::size_t n = figures.columns.size(), keys = keys_of(figures);
    if (widest_line(whole) <= width || figures.rows.empty()) return whole;
    bool room = keys < n;
    for (std::size_t c = keys; c < n; ++c)
        room = room && widest_line(render(part_of(figures, keys, c, c + 1), Format::text)) <= width;
    if (!room) return records(figures, width);
    std::string out;
    for (std::size_t at = keys, end = 0; at < n; at = end) {
        std::string block;
        for (end = at; end < n; ++end) {
            std::string wider = render(part_of(figures, keys, at, end + 1), Format::text);
            if (end > at && widest_line(wider) > width) break;
            block = std::move(wider);
        }
        out += (out.empty() ? "" : "\n") + block;
    }
    return out;
}

std::string for_stdout(std::string_view lines) {
    const Display display = stdout_display();
    if (!display.terminal) return std::string(lines);
    std::string out;
    while (!lines.empty()) {
        const std::string_view line = lines.substr(0, lines.find('\n'));
        const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
        std::istringstream parts(wrapped(line.substr(indent), display.width - static_cast<int>(indent)));
        std::string part;
        do {
            part.clear();
            std::getline(parts, part);
            out += std::string(part.empty() ? 0 : indent, ' ') + part + "\n";
        } while (parts.peek() != std::istringstream::traits_type::eof());
        lines.remove_prefix(std::min(line.size() + 1, lines.size()));
    }
    return out;
}

std::string for_stdout(const Figures& figures) {
    const Display display = stdout_display();
    return display.terminal ? in_width(figures, display.width) : render(figures, Format::text);
}

} // namespace ordo::tools
