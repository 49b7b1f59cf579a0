// SPDX-License-Identifier: MIT
// Runs the checkpoints of tests/families.
#pragma once

#include "formats/source.h"
#include "tests/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

namespace ordo::test {

using Logits = std::vector<std::vector<float>>;

inline std::filesystem::path family(const std::string& name) {
    return std::filesystem::path("tests/families") / name;
}

inline Json read_cases(const std::filesystem::path& folder) {
    std::ifstream file(folder / "expected.json");
    return Json::parse(file).at("cases");
}

// The bounds for logits and states: a maximum absolute error of 2e-4, and a separate mean square error of 1e-9.
class Gate {
public:
    void add(const std::vector<float>& found, const Json& expected) {
        const auto row = expected.get<std::vector<double>>();
        ASSERT_EQ(found.size(), row.size());
        for (std::size_t j = 0; j < row.size(); ++j) {
            const double d = found[j] - row[j];
            worst_ = std::max(worst_, std::abs(d));
            error_ += d * d;
            power_ += row[j] * row[j];
        }
    }
    void expect_met() const {
        EXPECT_LE(worst_, 2e-4);
        EXPECT_LE(error_, 1e-9 * power_);
    }

private:
    double worst_ = 0, error_ = 0, power_ = 0;
};

// The logits of every token, fed `at_once` tokens at a time.
inline Logits logits_of(const Model& model, const std::vector<Token>& tokens, SessionOptions options = {},
                        std::size_t at_once = std::size_t(-1), const std::vector<int>& segments = {}) {
    options.capacity = static_cast<int>(tokens.size());
    Session session(model, options);
    Logits all;
    for (std::size_t first = 0; first < tokens.size(); first += std::min(at_once, tokens.size() - first)) {
        const std::size_t n = std::min(at_once, tokens.size() - first);
        TokenRows rows;
        if (!segments.empty()) rows.segments = std::span(segments).subspan(first, n);
        session.feed_all(std::span(tokens).subspan(first, n), rows, [&](int, View logits) {
            for (int i = 0; i < logits.rows; ++i) all.emplace_back(logits.row(i), logits.row(i) + logits.cols);
        });
    }
    return all;
}

// The largest difference.
inline double difference(const Logits& a, const Logits& b) {
    double worst = a.size() == b.size() ? 0 : INFINITY;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
        for (std::size_t j = 0; j < a[i].size(); ++j)
            worst = std::max(worst, std::abs(static_cast<double>(a[i][j]) - b[i][j]));
    return worst;
}

} // namespace ordo::test
