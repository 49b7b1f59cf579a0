// SPDX-License-Identifier: MIT
// Runs the checkpoints of tests/families whose cases have padding or an encoder's input: BERT, RoBERTa, DistilBERT, T5
// and Marian.
#pragma once

#include "model/embed_text.h"
#include "model/model_access.h"
#include "tests/formats/family_run.h"

#include <gtest/gtest.h>

#include <map>

namespace ordo::test {

using Rows = std::map<int, std::vector<float>>; // by token

inline std::vector<int> ints(const Json& given, const char* key) {
    return given.contains(key) ? given.at(key).get<std::vector<int>>() : std::vector<int>();
}

// RoBERTa and MPNet count only the positions of tokens that are not padding. BERT counts all, which is the default.
inline std::vector<int> positions_of(const std::string& family, const Json& given) {
    std::vector<int> positions;
    if (family != "roberta" && family != "mpnet") return positions;
    int next = 0;
    for (const int padded : ints(given, "padding")) positions.push_back(padded != 0 ? 0 : next++);
    return positions;
}

inline Rows rows_of_pass(Session& session, const Json& given, bool states, const std::vector<int>& positions) {
    const std::vector<int> tokens = ints(given, "tokens"), segments = ints(given, "segments"),
                           padding = ints(given, "padding");
    Rows rows;
    const auto keep = [&](int first, ConstView x) {
        for (int i = 0; i < x.rows; ++i) rows[first + i].assign(x.row(i), x.row(i) + x.cols);
    };
    const TokenRows known{positions, segments, padding};
    if (states)
        session.feed_states(tokens, known, keep);
    else
        session.feed_all(tokens, known, keep);
    return rows;
}

// Compares the rows of the last tokens. A null stands for padding, which has no row.
inline void expect_rows(const Rows& found, const Json& expected, int tokens) {
    Gate gate;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const int token = tokens - static_cast<int>(expected.size()) + static_cast<int>(i);
        ASSERT_EQ(expected[i].is_null(), !found.contains(token)) << token;
        if (expected[i].is_null()) continue;
        gate.add(found.at(token), expected[i]);
    }
    gate.expect_met();
}

// Checks the vectors of a model with dense layers. Row i of all `logits` is that of the first i + 1 tokens.
inline void expect_vectors(const Model& model, const std::string& family) {
    for (const Json& given : read_cases(test::family(family))) {
        const auto tokens = given.at("tokens").get<std::vector<Token>>();
        const Json& rows = given.at("logits");
        SCOPED_TRACE(tokens.size());
        Gate gate;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const auto end = tokens.end() - static_cast<std::ptrdiff_t>(rows.size() - 1 - i);
            gate.add(embed(model, EmbedText{{tokens.begin(), end}, {}}, embed_options(model)), rows[i]);
        }
        gate.expect_met();
    }
}

// Checks the logits and the greedy text of every case of a family with an encoder.
inline void expect_encoder_cases(const Model& model, const std::string& family) {
    int padded = 0, greedy = 0;
    for (const Json& given : read_cases(test::family(family))) {
        const auto tokens = static_cast<int>(given.at("tokens").size());
        SCOPED_TRACE(tokens);
        const std::vector<int> padding = ints(given, "encoder_padding");
        Session session(model, {.capacity = tokens + 12});
        session.encode(ints(given, "encoder"), {{}, {}, padding});
        expect_rows(rows_of_pass(session, given, false, {}), given.at("logits"), tokens);
        padded += padding.empty() ? 0 : 1;
        if (!given.contains("greedy")) continue;
        ++greedy;
        session.rewind(tokens - 1);
        std::span<const float> logits = session.feed(std::vector<Token>{given.at("tokens").back().get<Token>()});
        for (const Json& expected : given.at("greedy")) {
            const auto best = static_cast<Token>(std::max_element(logits.begin(), logits.end()) - logits.begin());
            ASSERT_EQ(best, expected.get<Token>());
            logits = session.feed({&best, 1});
        }
    }
    EXPECT_GE(padded, 1);
    EXPECT_GE(greedy, 1);
}

} // namespace ordo::test
