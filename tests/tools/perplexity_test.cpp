// SPDX-License-Identifier: MIT
// perplexity. The alphabet model's expected output follows from its definition (models.h).
#include "tests/json.h"
#include "tests/temp_dir.h"
#include "tests/tools/child.h"
#include "tests/tools/models.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

namespace {

using namespace ordo;
using namespace ordo::test;

// The alphabet model's negative log-likelihoods: of the successor, and of any other token.
double nll_follows() {
    return std::log(1 + 256 * std::exp(-alphabet_logit()));
}
double nll_other() {
    return nll_follows() + alphabet_logit();
}

Json results_of(std::vector<std::string> more) {
    more.insert(more.begin(), {"perplexity", "-q", "--format", "json"});
    return json_of(more)["results"];
}

void expect_scores(const Json& row, int follow, int other) {
    const int n = follow + other;
    EXPECT_EQ(row["tokens"], n);
    const double mean = (follow * nll_follows() + other * nll_other()) / n;
    EXPECT_NEAR(row["nll"].get<double>(), mean, 1e-5);
    EXPECT_NEAR(row["ppl"].get<double>(), std::exp(mean), 1e-4 * std::exp(mean));
    EXPECT_NEAR(row["bits_per_byte"].get<double>(), mean / std::log(2.0), 1e-5); // a token is a byte here
    const double share = static_cast<double>(other) / n, spread = alphabet_logit() * std::sqrt(share * (1 - share));
    EXPECT_NEAR(row["standard_error"].get<double>(), spread / std::sqrt(n - 1.0), 1e-4);
}

TEST(CliPerplexity, IsThatOfTheAlphabetModel) {
    // abcd, abca and xyzz, each after an end-of-text token, whose successor is a. Four tokens are not successors: the
    // last a of abca, the x, the y (é follows x), and the last z.
    const Json rows = results_of({});
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0]["length"], model_context);
    EXPECT_EQ(rows[0]["protocol"], "disjoint");
    EXPECT_EQ(rows[0]["longest"], 5);
    expect_scores(rows[0], 8, 4);
}

TEST(CliPerplexity, WindowsLoseTheirFirstToken) {
    // [.ab][cd] [.ab][ca] [.xy][zz]
    expect_scores(results_of({"--length", "3"})[0], 5, 4);
    // [.ab][abc][bcd]: each token is scored once. The model depends only on the token before it.
    const Json sliding = results_of({"--length", "3,4", "--stride", "1"});
    ASSERT_EQ(sliding.size(), 2u);
    EXPECT_EQ(sliding[0]["protocol"], "sliding");
    expect_scores(sliding[0], 8, 4);
    expect_scores(sliding[1], 8, 4);
    expect_scores(results_of({"--max-tokens", "8"})[0], 7, 1);
    expect_error(run_program({"perplexity", "--length", "3", "--stride", "4"}), 2, "--stride");
}

TEST(CliPerplexity, ByPosition) {
    const TempDir dir;
    put_file(dir / "text.txt", "\n\n" + std::string(40, 'Z') + "\n<|endoftext|>\n\n<|endoftext|>\n");
    const Json rows = results_of({"-f", (dir / "text.txt").string(), "--by-position"});
    ASSERT_EQ(rows.size(), 4u);
    EXPECT_EQ(rows[0]["position"], "all");
    expect_scores(rows[0], 39, 1);
    EXPECT_EQ(rows[1]["position"], "1-15");
    expect_scores(rows[1], 14, 1);
    EXPECT_EQ(rows[2]["position"], "16-31");
    EXPECT_EQ(rows[2]["tokens"], 16);
    EXPECT_NEAR(rows[2]["nll"].get<double>(), nll_follows(), 1e-5);
    EXPECT_EQ(rows[3]["position"], "32-40");
    EXPECT_EQ(rows[3]["tokens"], 9);
}

TEST(CliPerplexity, TheSameFiguresForAnyNumberOfThreads) {
    const std::vector<std::string> words{"perplexity", "-q",   "-m", model_file("random"), "--format", "csv",
                                         "--length",   "4,64", "-t"};
    auto one = words, three = words;
    one.push_back("1");
    three.push_back("3");
    EXPECT_EQ(out_of(one), out_of(three));
    EXPECT_TRUE(out_of(one).starts_with(
        "length,stride,protocol,position,tokens,longest,nll,standard_error,ppl,bits_per_byte\n4,4,disjoint,all,"));
}

TEST(CliPerplexity, LengthsThatTheEncodingCannotReachAreRefused) {
    expect_error(run_program({"perplexity", "-q", "--encoding", "learned", "--length", "64,65,1000"}), 4,
                 "length 65, 1000: expected at most 64"); // before anything is measured
    expect_error(run_program({"perplexity", "-q", "--encoding", "learned", "--length", "65"}), 4, "65");
    expect_success(run_program({"perplexity", "-q", "--encoding", "alibi", "--length", "4194304"}));
}

// For a longer length a session extends the encoding's table, from which a window takes the same numbers.
TEST(CliPerplexity, AWindowHasTheSameLossWithLongerOnes) {
    const auto first = [](const char* lengths) {
        const Outcome outcome =
            run_program({"perplexity", "-m", "weights/sandwich.safetensors", "-f", "weights/heldout.txt", "--length",
                         lengths, "--max-tokens", "600", "--format", "csv", "-t", "1", "-q"});
        expect_success(outcome);
        const std::size_t row = outcome.out.find("\n300,") + 1;
        return outcome.out.substr(row, outcome.out.find('\n', row) - row);
    };
    EXPECT_GT(first("300").size(), 20u);
    EXPECT_EQ(first("300"), first("300,1200"));
}

TEST(CliPerplexity, ATextWithoutTokensIsRefused) {
    expect_error(run_program({"perplexity", "-f", "-"}, {.input = "\n\n"}), 2, "at least two tokens");
    expect_error(run_program({"perplexity", "-f", "/no/such/file"}), 5, "/no/such/file");
    EXPECT_NE(out_of({"perplexity", "-q"}).find("protocol: "), std::string::npos);
}

} // namespace
