// SPDX-License-Identifier: MIT
#include "layers/attention.h"

#include "core/parallel.h"
#include "core/random.h"
#include "core/tensor.h"
#include "kernels/kernels.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

namespace ordo {
namespace {

struct Case {
    const char* name;
    int tokens, n_heads, n_kv_heads, window;
    float softcap;
    const char* encoding;
};

void PrintTo(const Case& c, std::ostream* out) {
    *out << c.name;
}

constexpr int d_head = 16;

// The last token of a sequence, whose keys are long enough to be cut into parts (512 keys each).
class LongSequence : public testing::TestWithParam<Case> {
protected:
    LongSequence()
        : shape_{c_.n_heads, c_.n_kv_heads, d_head, 0.25f, Mask::causal, c_.window, c_.softcap},
          encodings_(c_.encoding, Dims{c_.n_heads * d_head, c_.n_heads, d_head, 1, 256}),
          qkv_(c_.tokens, (c_.n_heads + 2 * c_.n_kv_heads) * d_head) {
        Random random(7, 1);
        for (std::size_t i = 0; i < qkv_.size(); ++i) qkv_.data()[i] = static_cast<float>(random.normal(i));
    }
    ~LongSequence() override {
        set_threads(threads_);
        select_kernels("auto");
    }

    View q_of(int token) { return cols_of(rows_of(qkv_.view(), token, 1), 0, c_.n_heads * d_head); }
    View kv_of(int token, int which) {
        return cols_of(rows_of(qkv_.view(), token, 1), (c_.n_heads + which * c_.n_kv_heads) * d_head,
                       c_.n_kv_heads * d_head);
    }

    // What attention() gives for the last token, all before it being in the cache.
    Tensor last_row() {
        KvCache cache({1, c_.n_kv_heads, d_head, c_.tokens});
        for (int i = 0; i < c_.tokens; ++i) {
            cache.set_position(i, {&i, 1});
            cache.store(0, 0, i, kv_of(i, 0), kv_of(i, 1));
        }
        AttentionScratch scratch({&shape_, 1}, encodings_.reads(), c_.tokens, 1);
        Tensor row(1, qkv_.cols()), out(1, c_.n_heads * d_head);
        std::memcpy(row.data(), qkv_.view().row(c_.tokens - 1), row.size() * sizeof(float));
        const Part part{&cache, c_.tokens - 1, 1};
        team(scratch.slots(), [&] {
            attention({shape_, encodings_.layer(0), 0}, {&part, 1}, row.view(), {}, scratch, out.view());
        });
        return out;
    }

    // Vaswani et al. 2017, equation 1, in double, with ALiBi's bias -2^(-8 (h + 1) / n) (i - j) if there is one.
    double expected(int head, int column) {
        const int at = c_.tokens - 1, kv_head = head / (c_.n_heads / c_.n_kv_heads);
        const int first = c_.window == 0 ? 0 : std::max(0, at + 1 - c_.window);
        double total = 0, sum = 0;
        for (int j = first; j <= at; ++j) {
            double score = 0;
            for (int k = 0; k < d_head; ++k)
                score += double{q_of(at).row(0)[head * d_head + k]} * kv_of(j, 0).row(0)[kv_head * d_head + k];
            score *= 0.25;
            if (c_.softcap != 0) score = c_.softcap * std::tanh(score / c_.softcap);
            if (std::strcmp(c_.encoding, "alibi") == 0) score -= std::exp2(-8.0 * (head + 1) / c_.n_heads) * (at - j);
            const double weight = std::exp(score);
            total += weight;
            sum += weight * kv_of(j, 1).row(0)[kv_head * d_head + column];
        }
        return sum / total;
    }

    Case c_ = GetParam();
    AttentionShape shape_;
    EncodingStack encodings_;
    Tensor qkv_;
    int threads_ = thread_count();
};

TEST_P(LongSequence, AgreesWithDoubles) {
    for (const Kernels* set : available_kernels()) {
        select_kernels(set->name);
        Tensor found = last_row();
        for (int head = 0; head < c_.n_heads; ++head)
            for (int column = 0; column < d_head; ++column)
                EXPECT_NEAR(found.view().row(0)[head * d_head + column], expected(head, column), 2e-5)
                    << set->name << ": head " << head << ", column " << column;
    }
}

// Few threads take a head each, many share its parts.
TEST_P(LongSequence, ThreadsHaveTheSameBitsWhetherTheyShareHeadsOrKeys) {
    set_threads(1);
    Tensor alone = last_row();
    for (const int threads : {2, 3, 4, 8}) {
        set_threads(threads);
        Tensor together = last_row();
        EXPECT_EQ(std::memcmp(alone.data(), together.data(), alone.size() * sizeof(float)), 0) << threads;
    }
}

INSTANTIATE_TEST_SUITE_P(Attention, LongSequence,
                         testing::Values(Case{"one_part", 500, 2, 2, 0, 0, "none"},
                                         Case{"whole_parts", 1024, 2, 2, 0, 0, "none"},
                                         Case{"a_key_more", 1025, 2, 1, 0, 0, "none"},
                                         Case{"grouped_and_biased", 1700, 4, 2, 0, 0, "alibi"},
                                         Case{"window_within_a_block", 1700, 2, 1, 1111, 0, "none"},
                                         Case{"capped", 1300, 2, 1, 0, 2, "alibi"}),
                         [](const auto& test) { return std::string(test.param.name); });

} // namespace
} // namespace ordo
