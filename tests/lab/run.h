// SPDX-License-Identifier: MIT
// Runs an experiment inside the test program, and finds what it shows.
#pragma once

#include "tools/lab/lab.h"

#include <stdexcept>

namespace ordo::test {

// A command line of `ordo lab`: "heat-map", "--quick".
inline tools::Arguments lab_arguments(const std::vector<std::string>& words) {
    std::vector<const char*> args;
    for (const std::string& word : words) args.push_back(word.c_str());
    return {tools::find_verb("lab"), args};
}

inline lab::Result run_lab(const std::vector<std::string>& words) {
    const tools::Arguments arguments = lab_arguments(words);
    const lab::Request request{.arguments = arguments,
                               .seed = tools::parse_seed(arguments.text("seed"), "seed"),
                               .quick = arguments.has("quick")};
    return lab::run(lab::find_experiment(words.at(0)), request);
}

// The cell of a column of a table, as a number.
inline double cell(const lab::Result& result, const std::string& table, std::size_t row, const std::string& column) {
    for (const lab::NamedFigures& named : result.tables) {
        if (named.name != table) continue;
        for (std::size_t c = 0; c < named.figures.columns.size(); ++c) {
            if (named.figures.columns[c] != column) continue;
            const tools::Cell& found = named.figures.rows.at(row).at(c);
            if (const auto* whole = std::get_if<std::int64_t>(&found)) return static_cast<double>(*whole);
            return std::get<double>(found);
        }
    }
    throw std::runtime_error("no column " + column + " in a table " + table);
}

inline const lab::Picture& picture(const lab::Result& result, const std::string& name) {
    for (const lab::Picture& found : result.pictures)
        if (found.name == name) return found;
    throw std::runtime_error("no picture " + name);
}

inline const lab::HeatMap& heat_map(const lab::Result& result, const std::string& name) {
    return std::get<lab::HeatMap>(picture(result, name).content);
}

inline const lab::Curves& curves(const lab::Result& result, const std::string& name) {
    return std::get<lab::Curves>(picture(result, name).content);
}

} // namespace ordo::test
