// SPDX-License-Identifier: MIT
// LoadOptions::rope.
#include "encoding/base/rope_keys.h"
#include "encoding/base/stack.h"

#include <gtest/gtest.h>

namespace ordo {
namespace rope_keys_test {

const Dims dims{24, 3, 8, 2, 64};

std::string changed(const std::string& spec, const std::string& keys) {
    return EncodingStack(with_rope_keys(EncodingStack(spec, dims).spec(), keys), dims).spec();
}
std::string canonical(const std::string& spec) {
    return EncodingStack(spec, dims).spec();
}

TEST(RopeKeys, AreSetInEachRopeAndReplaceAScaling) {
    EXPECT_EQ(changed("rope:theta=500", "scaling=linear,factor=4"),
              canonical("rope:theta=500,scaling=linear,factor=4"));
    EXPECT_EQ(changed("rope:scaling=yarn,factor=4,original=20,beta-fast=16", "scaling=linear,factor=2"),
              canonical("rope:scaling=linear,factor=2"));
    EXPECT_EQ(changed("rope:scaling=linear,factor=2", "factor=8"), canonical("rope:scaling=linear,factor=8"));
    EXPECT_EQ(changed("alibi+pattern(rope,none,(rope:theta=9))", "theta=7"),
              canonical("alibi+pattern((rope:theta=7),none,(rope:theta=7))"));
}

TEST(RopeKeys, RefuseWhatChangesNothing) {
    for (const auto& [spec, keys] : {std::pair{"alibi", "theta=7"},
                                     {"rope", "thta=7"},
                                     {"rope", "theta"},
                                     {"rope", "theta=7+alibi"},
                                     {"rope", ""}})
        EXPECT_THROW(changed(spec, keys), Error) << spec << ' ' << keys;
}

} // namespace rope_keys_test
} // namespace ordo
