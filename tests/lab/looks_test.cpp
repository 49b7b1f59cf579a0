// SPDX-License-Identifier: MIT
#include "tools/lab/drawing/draw.h"

#include <gtest/gtest.h>
#include <set>
#include <tuple>

namespace ordo::lab {
namespace {

Look look_of(const std::string& label, std::vector<std::string> others) {
    Curves curves;
    for (const std::string& other : others) curves.series.push_back(series(other));
    curves.series.push_back(series(label));
    return looks_of(curves).back();
}

bool same(const Look& a, const Look& b) {
    return a.mark == b.mark && a.dash == b.dash && a.color.red == b.color.red && a.color.green == b.color.green &&
           a.color.blue == b.color.blue;
}

TEST(LabLooks, AVariantHasOneLookInEveryPicture) {
    const Look alone = look_of("rope-none", {});
    EXPECT_TRUE(same(alone, look_of("rope-none", {"rope"})));
    EXPECT_TRUE(same(alone, look_of("rope-none", {"none", "rope:width=4", "rope"})));
    EXPECT_TRUE(same(alone, look_of("pattern(rope,none)", {"alibi"}))); // the same model under another name
    EXPECT_TRUE(same(look_of("rotate-stretch-6", {}), look_of("rotate-stretch:period=6", {"rotate-stretch-36"})));
}

TEST(LabLooks, VariantsOfAnEncodingAreToldApart) {
    const std::vector<std::string> labels{"rope",   "rope-none",         "rope:width=4",    "rope:theta=500",
                                          "rope-1", "rotate-stretch-36", "rotate-stretch-6"};
    Curves curves;
    for (const std::string& label : labels) curves.series.push_back(series(label));
    std::set<std::tuple<int, int, int, int, int>> looks;
    for (const Look& look : looks_of(curves))
        looks.insert({look.mark, look.dash, look.color.red, look.color.green, look.color.blue});
    EXPECT_EQ(looks.size(), labels.size());
}

} // namespace
} // namespace ordo::lab
