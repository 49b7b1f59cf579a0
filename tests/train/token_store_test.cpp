// SPDX-License-Identifier: MIT
#include "tools/train/token_store.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <limits>

namespace ordo::train {
namespace {

// Two, three and four bytes each, and over the edges of blocks.
TEST(TokenStore, GivesBackWhatItTook) {
    for (const int vocab : {2, 1 << 16, (1 << 16) + 1, 1 << 24, (1 << 24) + 1, std::numeric_limits<int>::max()}) {
        TokenStore store(vocab);
        std::vector<Token> all(200'000);
        for (std::size_t i = 0; i < all.size(); ++i)
            all[i] = static_cast<Token>((i * 2'654'435'761u + i % 2 * static_cast<std::size_t>(vocab - 1)) %
                                        static_cast<std::size_t>(vocab));
        all.front() = vocab - 1;
        for (std::size_t at = 0, n = 1; at < all.size(); at += n, n = n * 3 % 70'001)
            store.add(std::span(all).subspan(at, std::min(n, all.size() - at)));
        ASSERT_EQ(store.size(), static_cast<std::int64_t>(all.size()));
        for (const std::size_t first : {std::size_t{0}, std::size_t{65'530}, all.size() - 100}) {
            std::vector<Token> some(100);
            store.read(static_cast<std::int64_t>(first), some);
            EXPECT_TRUE(std::equal(some.begin(), some.end(), all.begin() + static_cast<std::ptrdiff_t>(first)));
        }
    }
}

} // namespace
} // namespace ordo::train
