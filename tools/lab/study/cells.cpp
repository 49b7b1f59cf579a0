// SPDX-License-Identifier: MIT
#include "tools/lab/study/cells.h"

#include "core/error.h"
#include "tools/lab/drawing/render.h"
#include "tools/lab/math/numbers.h"

namespace ordo::lab {
namespace {

std::string text_of(const Cell& cell, int digits) {
    if (const auto* words = std::get_if<std::string>(&cell)) return *words;
    if (const auto* yes = std::get_if<bool>(&cell)) return *yes ? "yes" : "no";
    return figure(number(cell), digits);
}

// Cuts off the part before `end`, and this character.
std::string take_until(std::string& rest, char end) {
    const std::size_t at = std::min(rest.find(end), rest.size());
    std::string part = rest.substr(0, at);
    rest.erase(0, at + 1);
    return part;
}

} // namespace

Figures numbers_of(const Result& result, std::string_view name) {
    for (const Picture& picture : result.pictures)
        if (picture.name == name) return figures_of(picture);
    for (const NamedFigures& table : result.tables)
        if (table.name == name) return table.figures;
    fail(ErrorCode::failure, "no table ", name);
}

std::size_t column_named(const Figures& figures, std::string_view name) {
    const auto at = std::ranges::find(figures.columns, name);
    if (at == figures.columns.end()) fail(ErrorCode::failure, "no column ", name);
    return static_cast<std::size_t>(at - figures.columns.begin());
}

double number(const Cell& cell) {
    if (const auto* integer = std::get_if<std::int64_t>(&cell)) return static_cast<double>(*integer);
    const auto* real = std::get_if<double>(&cell);
    return real ? *real : std::nan("");
}

std::vector<std::size_t> rows_of(const Figures& figures, const std::string& row) {
    std::vector<std::size_t> rows;
    const bool by_cells = row.find('=') != row.npos;
    for (std::size_t i = 0; i < figures.rows.size(); ++i) {
        bool found = by_cells || row == "*" || row == std::to_string(i);
        for (std::string rest = row; by_cells && !rest.empty();) {
            std::string value = take_until(rest, ';');
            const Cell& cell = figures.rows[i][column_named(figures, take_until(value, '='))];
            const auto* words = std::get_if<std::string>(&cell);
            found = found && (words ? *words : tools::number_text(number(cell))) == value;
        }
        if (!found) continue;
        rows.push_back(i);
        if (by_cells) break;
    }
    return rows;
}

std::string with_cells(const std::string& sentence, const std::function<const Result&(const std::string& name)>& run) {
    std::string out, rest = sentence;
    while (true) {
        out += take_until(rest, '{');
        if (rest.empty()) return out;
        std::string place = take_until(rest, '}');
        if (place.find(':') == place.npos) {
            out += "{" + place + "}";
            continue;
        }
        const std::string name = take_until(place, ':'), table = take_until(place, '/'), row = take_until(place, '/'),
                          column = take_until(place, '|');
        const Figures figures = numbers_of(run(name), table);
        std::string cells;
        for (const std::size_t i : rows_of(figures, row))
            append(cells,
                   text_of(figures.rows[i][column_named(figures, column)], place.empty() ? 3 : std::stoi(place)));
        out += cells.empty() ? "(not measured)" : cells;
    }
}

} // namespace ordo::lab
