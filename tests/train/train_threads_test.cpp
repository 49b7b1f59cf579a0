// SPDX-License-Identifier: MIT
// Training at sizes with long sums that are not multiples of 8: rows of a batch, vocabulary, feed-forward width.
#include "tests/train/small_run.h"

#include <tuple>

namespace ordo::train {
namespace {

TEST_F(Training, SameBitsForAnyNumberOfThreadsWhereSumsAreAwkward) {
    const detail::Restless restless;
    for (const auto& [context, batch, d_ff] : {std::tuple{50, 9, 500}, {24, 17, 683}}) {
        std::string first;
        for (const int threads : {1, 2, 3, 4, 8}) {
            omp_set_num_threads(threads);
            Options o = options("awkward");
            o.blueprint.context = context;
            o.blueprint.d_ff = d_ff;
            o.batch = batch;
            o.tokens = 2 * context * batch; // two steps
            run(o);
            const std::string now = bytes(o.out) + losses(o.log);
            if (first.empty()) first = now;
            EXPECT_TRUE(now == first) << context << " x " << batch << ", d_ff " << d_ff << ": " << threads
                                      << " threads";
        }
    }
}

} // namespace
} // namespace ordo::train
