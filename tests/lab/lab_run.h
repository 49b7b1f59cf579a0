// SPDX-License-Identifier: MIT
// Runs an experiment as `ordo lab NAME` does, and finds values in its tables.
#pragma once

#include "core/parallel.h"
#include "tests/lab/has.h"
#include "tools/cli/one_thread.h"
#include "tools/lab/drawing/render.h"
#include "tools/lab/study/cells.h"

#include <algorithm>
#include <cmath>

namespace ordo::lab::test {

// A command line of `ordo lab`: "heat-map", "--quick".
inline tools::Arguments arguments_of(const std::vector<const char*>& words) {
    return {tools::find_verb("lab"), words};
}

// An answer is a sentence about the question, also if --quick decides nothing.
inline void expect_answer(const Result& result) {
    EXPECT_GT(result.answer.size(), 25u) << result.answer;
    EXPECT_TRUE(result.answer.ends_with('.')) << result.answer;
    EXPECT_TRUE(result.answer[0] < 'a' || result.answer[0] > 'z') << result.answer;
    EXPECT_FALSE(result.answer.starts_with("Undecided")) << result.answer;
    EXPECT_EQ(result.answer.find("nan"), std::string::npos) << result.answer;
}

// Runs with --quick and seed 1.
inline Result run(const Experiment& experiment, std::vector<const char*> words = {}) {
    words.insert(words.begin(), experiment.name.data());
    const tools::Arguments arguments = arguments_of(words);
    const tools::OneThread alone; // other tests may run at the same time
    Result result = lab::run(experiment, {.arguments = arguments, .seed = 1, .quick = true});
    expect_answer(result);
    return result;
}
inline Result run(std::string_view name, const std::vector<const char*>& words = {}) {
    return run(find_experiment(name), words);
}

// Whether a sentence of the result's findings has this part.
inline bool says(const Result& result, std::string_view part) {
    return std::any_of(result.found.begin(), result.found.end(),
                       [&](const std::string& sentence) { return sentence.find(part) != sentence.npos; });
}

inline const tools::Figures& table(const Result& result, std::string_view name) {
    for (const NamedFigures& figures : result.tables)
        if (figures.name == name) return figures.figures;
    fail(ErrorCode::failure, "no table ", name);
}

inline std::size_t column(const tools::Figures& figures, std::string_view name) {
    return column_named(figures, name);
}

using lab::number, lab::numbers_of, lab::rows_of;

// The first row that has these texts in these columns.
using Where = std::vector<std::pair<std::string, std::string>>;
inline std::size_t row_of(const tools::Figures& figures, const Where& where) {
    std::string row;
    for (const auto& [name, value] : where) row += name + "=" + value + ";";
    const std::vector<std::size_t> rows = rows_of(figures, row);
    if (rows.empty()) fail(ErrorCode::failure, "no row ", row);
    return rows[0];
}

// The number in a column of that row.
inline double cell(const tools::Figures& figures, const Where& where, std::string_view wanted) {
    return number(figures.rows[row_of(figures, where)][column(figures, wanted)]);
}

// The same, by row number.
inline double cell(const Result& result, std::string_view name, std::size_t row, std::string_view wanted) {
    const tools::Figures& figures = table(result, name);
    return number(figures.rows.at(row).at(column(figures, wanted)));
}

// The loss of a token, worked out without the engine's softmax.
inline double nats(std::span<const float> logits, Token token) {
    double sum = 0;
    for (const float logit : logits) sum += std::exp(static_cast<double>(logit));
    return std::log(sum) - static_cast<double>(logits[token]);
}

template <class Content>
const Content& picture(const Result& result, std::string_view name) {
    for (const Picture& found : result.pictures)
        if (found.name == name) return std::get<Content>(found.content);
    fail(ErrorCode::failure, "no picture ", name);
}

} // namespace ordo::lab::test
