// SPDX-License-Identifier: MIT
// ordo table: the expected values follow from each encoding's paper.
#include "encoding/base/registry.h"
#include "tests/tools/child.h"
#include "tests/tools/models.h"

#include <cmath>
#include <gtest/gtest.h>
#include <set>
#include <sstream>

namespace {

using namespace ordo;
using namespace ordo::test;

// CSV without quotes, as numbers, with the header apart.
struct Csv {
    std::string header;
    std::vector<std::vector<double>> rows;
};

Csv csv_of(const std::vector<std::string>& words) {
    std::istringstream in(out_of(words));
    Csv csv;
    std::getline(in, csv.header);
    for (std::string line; std::getline(in, line);) {
        csv.rows.emplace_back();
        std::istringstream fields(line);
        for (std::string field; std::getline(fields, field, ',');) csv.rows.back().push_back(std::stod(field));
    }
    return csv;
}

TEST(CliTableVerb, SinusoidalIsTheMatrixOfThePaper) {
    const Csv csv = csv_of({"table", "sinusoidal", "--len", "5", "--dim", "6", "--start", "3"});
    ASSERT_EQ(csv.rows.size(), 5u);
    for (int p = 0; p < 5; ++p)
        for (int i = 0; i < 6; ++i) {
            const int pair = i / 2;
            const double angle = (p + 3) / std::pow(10000.0, 2.0 * pair / 6);
            EXPECT_NEAR(csv.rows[p][i], i % 2 ? std::cos(angle) : std::sin(angle), 1e-12);
        }
    const Csv turned = csv_of({"table", "sinusoidal", "--len", "5", "--dim", "6", "--start", "3", "--transpose"});
    ASSERT_EQ(turned.rows.size(), 6u);
    EXPECT_TRUE(turned.header.starts_with("position3,position4"));
    for (std::size_t p = 0; p < 5; ++p)
        for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(turned.rows[i][p], csv.rows[p][i]);
}

TEST(CliTableVerb, RopeAndRotateStretchShowTheirAngles) {
    const Csv rope = csv_of({"table", "rope", "--len", "2", "--dim", "8", "--heads", "2", "--start", "7"});
    EXPECT_EQ(rope.header, "position,pair,angle,cos,sin");
    ASSERT_EQ(rope.rows.size(), 4u); // heads of 4: two pairs
    EXPECT_NEAR(rope.rows[3][2], 8 * 0.01, 1e-15);
    EXPECT_NEAR(rope.rows[3][3], std::cos(0.08), 1e-15);
    const Csv stretch = csv_of({"table", "rotate-stretch:period=6", "--len", "8"});
    EXPECT_NEAR(stretch.rows[7][1], 2 * M_PI / 6, 1e-15);
    EXPECT_NEAR(stretch.rows[7][2], 0.2, 1e-15);
    EXPECT_NEAR(stretch.rows[5][2], 0.1, 1e-15);
}

TEST(CliTableVerb, AlibiIsItsSlopeTimesTheDistance) {
    const Csv bias = csv_of({"table", "alibi", "--len", "3", "--heads", "8", "--head", "1"});
    ASSERT_EQ(bias.rows.size(), 3u);
    EXPECT_EQ(bias.rows[2], (std::vector<double>{-0.5, -0.25, 0}));
    EXPECT_EQ(bias.rows[0][1], -HUGE_VAL); // hidden by the mask
    const Csv slopes = csv_of({"table", "alibi", "--slopes", "--heads", "12"});
    const double published[] = {0.5,       0.25,       0.125,      0.0625,     0.03125,    0.015625,
                                0.0078125, 0.00390625, 0.70710678, 0.35355339, 0.17677670, 0.08838835};
    ASSERT_EQ(slopes.rows.size(), 12u);
    for (std::size_t h = 0; h < 12; ++h) EXPECT_NEAR(slopes.rows[h][1], published[h], 1e-8);
}

TEST(CliTableVerb, LearnedRowsComeFromTheWeights) {
    const Csv csv = csv_of({"table", "learned", "-m", model_file("learned"), "--len", "2"});
    ASSERT_EQ(csv.rows.size(), 2u);
    EXPECT_EQ(csv.rows[0], std::vector<double>(260, 0.0)); // the alphabet model has zeros
    EXPECT_EQ(csv_of({"table", "learned", "--len", "64"}).rows.size(), 64u);
    const Csv random = csv_of({"table", "learned", "-m", model_file("segments"), "--len", "2"});
    EXPECT_EQ(random.rows[0].size(), 32u);
    EXPECT_NE(random.rows[0], random.rows[1]);
    expect_error(run_program({"table", "learned", "--len", "65"}), 4, "64");
    expect_error(run_program({"table", "learned", "-m", model_file("rope")}), 2, "found weights trained with rope");
}

// Without trained weights, table shows the values that training starts from, and says so.
TEST(CliTableVerb, WithoutWeightsInitialValuesAreShown) {
    const std::string said =
        "no shipped weights were trained with it; shown are the numbers that its training begins with";
    for (const EncodingInfo* info : registered_encodings()) {
        const std::unique_ptr<Encoding> encoding = example_of(*info);
        if (encoding->moments() == 0) continue;
        const Outcome shown = run_program({"table", std::string(info->name), "--len", "3"});
        expect_success(shown);
        const bool shipped = std::filesystem::exists("weights/" + std::string(info->name) + ".safetensors");
        // Their tables show what is not trained: sinusoids of the distance, frequencies of angles.
        const std::set<std::string_view> computed = {"transformer-xl", "pope", "selective-rope"};
        const bool trained = !encoding->tensors().empty() && !computed.contains(info->name);
        EXPECT_EQ(shown.err.find(said) != std::string::npos, trained && !shipped) << info->name << shown.err;
    }
    const Outcome slopes = run_program({"table", "alibi:trained=yes", "--slopes", "--heads", "8"});
    // The values that training starts from.
    EXPECT_EQ(slopes.out, out_of({"table", "alibi", "--slopes", "--heads", "8"}));
    EXPECT_NE(slopes.err.find("warning: alibi:trained=yes: " + said), std::string::npos);
    EXPECT_EQ(run_program({"table", "fire", "-q"}).err, "");
    EXPECT_NE(run_program({"table", "transformer-xl:width=64", "--part", "vectors"}).err.find(said), std::string::npos);
    expect_error(run_program({"table", "fire", "--part", "vectors"}), 2,
                 "table or function"); // no note on initial values
    // Distances that have no weights need none: s(0) of four columns is two sines and two cosines of zero.
    EXPECT_EQ(out_of({"table", "transformer-xl", "--len", "1", "--dim", "4", "--heads", "1"}),
              "dim0,dim1,dim2,dim3\n0,0,1,1\n");
    // A bucket for each distance and each head.
    const Csv t5 = csv_of({"table", "t5:buckets=8", "-q", "--len", "4"}),
              other = csv_of({"table", "t5:buckets=8", "-q", "--len", "4", "--head", "1"});
    EXPECT_EQ(t5.rows[3][1], t5.rows[2][0]);
    EXPECT_NE(t5.rows[3][1], t5.rows[3][0]);
    EXPECT_NE(t5.rows[3][1], other.rows[3][1]);
    expect_error(run_program({"table", "fire", "-m", model_file("rope")}), 2, "found weights trained with rope");
}

TEST(CliTableVerb, LayersOfAPatternAreItsElements) {
    const std::string spec = "pattern((rope:theta=100),none,alibi)";
    const auto in_layer = [&](const char* layer) {
        return out_of({"table", spec, "--dim", "8", "--heads", "1", "--layer", layer});
    };
    EXPECT_EQ(in_layer("0"), out_of({"table", "rope:theta=100", "--dim", "8", "--heads", "1"}));
    EXPECT_EQ(in_layer("3"), in_layer("0"));
    EXPECT_EQ(in_layer("2"), out_of({"table", "alibi", "--heads", "1"}));
    EXPECT_EQ(out_of({"table", "pattern(none,(t5:buckets=8))", "-q", "--layer", "5"}),
              out_of({"table", "t5:buckets=8", "-q"}));
    expect_error(run_program({"table", spec, "--layer", "4"}), 2, "adds nothing that could be shown in layer 4");
    expect_error(run_program({"table", "pattern(rope,(alibi+rope))", "--layer", "1"}), 2, "found the sum");
    expect_error(run_program({"table", "pattern(rope,alibi)+learned"}), 2, "found the sum");
}

TEST(CliTableVerb, WeightsHaveTheWidthThatTheyHave) {
    EXPECT_EQ(csv_of({"table", "learned", "--len", "2", "--dim", "260", "--heads", "2"}).rows[0].size(), 260u);
    expect_error(run_program({"table", "learned", "--len", "2", "--dim", "8"}), 2,
                 "--dim: 'learned' is stored in the weights learned.safetensors: expected 260 or none, found 8");
    expect_error(run_program({"table", "learned", "--heads", "4"}), 2, "--heads");
    expect_error(run_program({"table", "learned", "-m", model_file("learned"), "--dim", "260"}), 2, "found both");
}

// A slope of one. JSON has no number for masked values.
TEST(CliTableVerb, EveryFormatSaysTheSame) {
    const auto shown = [](const std::string& format) {
        return out_of({"table", "alibi:max=0", "--len", "2", "--start", "8", "--heads", "1", "--format", format});
    };
    EXPECT_EQ(shown("csv"), "key8,key9\n0,-inf\n-1,0\n");
    EXPECT_EQ(shown("text"), "key8  key9\n   0  -inf\n  -1     0\n");
    EXPECT_EQ(shown("md"), "| key8 | key9 |\n|-----:|-----:|\n|    0 | -inf |\n|   -1 |    0 |\n");
    EXPECT_EQ(shown("json"), "[\n {\n  \"key8\": 0.0,\n  \"key9\": \"-inf\"\n },\n"
                             " {\n  \"key8\": -1.0,\n  \"key9\": 0.0\n }\n]\n");
    const Json turned = json_of({"table", "rope", "--dim", "4", "--len", "2", "--transpose", "--format", "json"});
    EXPECT_EQ(turned[1], (Json{{"position", "angle"}, {"0/0", 0.0}, {"0/1", 0.0}, {"1/0", 1.0}, {"1/1", 0.01}}));
}

// 3,000 by 3,000 numbers are 72 MB, and more as text. A single row is small.
TEST(CliTableVerb, LargeOnesAreWrittenRowByRow) {
    if (is_instrumented()) GTEST_SKIP() << "memory cannot be measured here";
    for (const char* format : {"csv", "text", "json"})
        for (const std::vector<std::string>& words :
             {std::vector<std::string>{"alibi", "--len", "3000"}, {"sinusoidal", "--len", "30000", "--dim", "300"}}) {
            std::vector<std::string> all{"table", "--format", format};
            all.insert(all.end(), words.begin(), words.end());
            const Outcome outcome = run_program(all, {.close_after = 1 << 20}); // the rest is not read
            EXPECT_EQ(outcome.code, 128 + SIGPIPE) << outcome.err;
            EXPECT_LT(outcome.peak_kilobytes, 48 << 10) << format << " " << words[0];
        }
}

TEST(CliTableVerb, RefusesWhatItCannotShow) {
    expect_error(run_program({"table", "none"}), 2, "none");
    expect_error(run_program({"table", "segment+learned"}), 2, "sum");
    expect_error(run_program({"table", "rope", "--slopes"}), 2, "slopes");
    expect_error(run_program({"table", "alibi", "--part", "nothing"}), 2, "table or slopes");
    expect_error(run_program({"table", "alibi", "--slopes", "--part", "table"}), 2, "found both");
    expect_error(run_program({"table", "alibi", "--head", "8"}), 2, "below 8");
    expect_error(run_program({"table", "alibi", "--len", "1000000"}), 4, "at most");
    // The transposed table is held as a whole.
    expect_error(run_program({"table", "alibi", "--len", "6000", "--transpose"}), 4, "at most");
    expect_error(run_program({"table", "rope", "--dim", "7"}), 2, "even");
    expect_error(run_program({"table", "rope", "--len", "0"}), 2, "--len");
    EXPECT_EQ(json_of({"table", "rotate-stretch", "--len", "1", "--format", "json"})[0]["scale"], 0.1);
}

} // namespace
