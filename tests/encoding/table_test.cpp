// SPDX-License-Identifier: MIT
// encoding_table() against the formulas of the papers.
#include "ordo.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ordo {
namespace table_test {

// Vaswani et al. 2017, section 3.5.
TEST(EncodingTable, HasSinusoidsOfThePaper) {
    const Table table = encoding_table("sinusoidal:scale=1", {.d_model = 8}, {.length = 5, .start = 3});
    ASSERT_EQ(table.rows.size(), 5u);
    ASSERT_EQ(table.header.size(), 8u);
    for (int i = 0; i < 5; ++i)
        for (int j = 0; j < 8; ++j) {
            const double angle = (3 + i) / std::pow(10000.0, 2 * (j / 2) / 8.0);
            EXPECT_NEAR(table.rows[i][j], j % 2 == 0 ? std::sin(angle) : std::cos(angle), 1e-12);
        }
}

// Press et al. 2022: the slopes of 8 heads are 1/2, 1/4, ... 1/256.
TEST(EncodingTable, HasTheBiasOfAHead) {
    const Table table = encoding_table("alibi", {.d_model = 64, .n_heads = 8}, {.length = 4, .head = 2});
    for (std::size_t i = 0; i < 4; ++i)
        for (std::size_t j = 0; j <= i; ++j)
            EXPECT_DOUBLE_EQ(table.rows[i][j], -static_cast<double>(i - j) / 8) << i << ' ' << j;
}

TEST(EncodingTable, ShowsTheElementOfALayerAndInitialValues) {
    const Dims dims{.d_model = 16, .n_heads = 4};
    const Table direct = encoding_table("alibi", dims),
                pattern = encoding_table("pattern(rope,alibi)", dims, {.layer = 1});
    EXPECT_EQ(pattern.rows, direct.rows);
    const Table learned = encoding_table("learned", dims, {.length = 3});
    EXPECT_EQ(learned.rows.size(), 3u);
    EXPECT_NE(learned.rows[0], learned.rows[1]); // drawn at random
    EXPECT_EQ(learned.rows, encoding_table("learned", dims, {.length = 3}).rows);
}

TEST(EncodingTable, RefusesSumsNothingAndUnknownParts) {
    const auto message = [](std::string_view spec, const TableRequest& request) -> std::string {
        try {
            encoding_table(spec, {.d_model = 16, .n_heads = 2}, request);
        } catch (const Error& error) {
            EXPECT_EQ(error.code, ErrorCode::usage);
            return error.what();
        }
        return "";
    };
    EXPECT_NE(message("learned+alibi", {}).find("expected one encoding in layer 0, found 2"), std::string::npos);
    EXPECT_NE(message("none", {}).find("found 0"), std::string::npos);
    EXPECT_NE(message("rope", {.part = "slopes"}).find("slopes"), std::string::npos);
    EXPECT_NE(message("ropes", {}), "");
}

} // namespace table_test
} // namespace ordo
