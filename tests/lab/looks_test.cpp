// SPDX-License-Identifier: MIT
#include "encoding/base/registry.h"
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

std::size_t looks_among(const std::vector<std::string>& labels) {
    Curves curves;
    for (const std::string& label : labels) curves.series.push_back(series(label));
    std::set<std::tuple<int, int, int, int, int>> looks;
    for (const Look& look : looks_of(curves))
        looks.insert({look.mark, look.dash, look.color.red, look.color.green, look.color.blue});
    return looks.size();
}

// The other series of a picture do not matter.
TEST(LabLooks, AnEncodingLooksTheSameInEveryPicture) {
    const std::vector<std::string> others{"none", "alibi:max=4", "published"};
    EXPECT_TRUE(same(look_of("rope", {"alibi"}), look_of("rope-1", others)));
    EXPECT_TRUE(same(look_of("alibi", {"rope"}), look_of("alibi:max=4", {"none"})));
    EXPECT_TRUE(same(look_of("rope", {}), look_of("rope", {"rope-none"}))); // a pattern of rope comes first
}

TEST(LabLooks, SeriesAreToldApart) {
    EXPECT_EQ(looks_among({"rope", "rope-none", "rope:width=4", "rope:theta=500", "rope-1", "rotate-stretch-36",
                           "rotate-stretch-6"}),
              7u);
    EXPECT_EQ(looks_among({"none", "alibi:max=4", "published", "rope-1", "ropes", "rope:theta=500"}), 6u);
    std::vector<std::string> all;
    for (const EncodingInfo* info : registered_encodings()) all.emplace_back(info->name);
    EXPECT_EQ(looks_among(all), all.size());
}

} // namespace
} // namespace ordo::lab
