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
    CacheType cache = CacheType::f32;
    double tolerance = 2e-5;
};

void PrintTo(const Case& c, std::ostream* out) {
    *out << c.name;
}

constexpr int d_head = 16;

// The last token of a sequence with enough keys for several chunks (1,024 keys each).
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

    // A cache that holds the first n tokens.
    KvCache filled(int n) {
        KvCache cache({1, c_.n_kv_heads, d_head, n, c_.cache});
        for (int i = 0; i < n; ++i) {
            cache.set_position(i, {&i, 1});
            cache.store(0, 0, i, kv_of(i, 0), kv_of(i, 1));
        }
        return cache;
    }
    Tensor attend(std::span<const Part> parts, Tensor qkv) {
        AttentionScratch scratch({&shape_, 1}, encodings_.reads(), c_.tokens);
        Tensor out(qkv.rows(), c_.n_heads * d_head);
        team(scratch.slots(), [&] {
            attention({shape_, encodings_.layer(0), 0}, parts, qkv.view(), {}, scratch, out.view());
        });
        return out;
    }
    // The result of attention() for the last `rows` tokens, fed together, with all earlier tokens in the cache.
    Tensor last_rows(int rows) {
        KvCache cache = filled(c_.tokens);
        Tensor qkv(rows, qkv_.cols());
        std::memcpy(qkv.data(), qkv_.view().row(c_.tokens - rows), qkv.size() * sizeof(float));
        const Part part{&cache, c_.tokens - rows, rows};
        return attend({&part, 1}, std::move(qkv));
    }
    Tensor last_row() { return last_rows(1); }

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
    ModelEncodings encodings_;
    Tensor qkv_;
    int threads_ = thread_count();
};

TEST_P(LongSequence, AgreesWithDoubles) {
    for (const Kernels* set : available_kernels()) {
        select_kernels(set->name);
        Tensor found = last_row();
        for (int head = 0; head < c_.n_heads; ++head)
            for (int column = 0; column < d_head; ++column)
                EXPECT_NEAR(found.view().row(0)[head * d_head + column], expected(head, column), c_.tolerance)
                    << set->name << ": head " << head << ", column " << column;
    }
}

// Of 70 rows, some see no key of the last chunk, and with a window some see no key of the first.
TEST_P(LongSequence, RowsThatComeTogetherHaveTheBitsOfRowsAlone) {
    const int tokens = c_.tokens;
    for (const Kernels* set : available_kernels()) {
        select_kernels(set->name);
        Tensor together = last_rows(70);
        for (int row = 69; row >= 0; row -= 3) {
            c_.tokens = tokens - (69 - row);
            Tensor alone = last_row();
            EXPECT_EQ(std::memcmp(alone.data(), together.view().row(row), alone.size() * sizeof(float)), 0)
                << set->name << ", token " << c_.tokens - 1;
        }
        c_.tokens = tokens;
    }
}

// A few threads take one head each. Many threads share the chunks of a head.
TEST_P(LongSequence, ThreadsHaveTheSameBitsWhetherTheyShareHeadsOrKeys) {
    set_threads(1);
    Tensor alone = last_row();
    for (const int threads : {2, 3, 4, 8}) {
        set_threads(threads);
        Tensor together = last_row();
        EXPECT_EQ(std::memcmp(alone.data(), together.data(), alone.size() * sizeof(float)), 0) << threads;
    }
}

// Threads share the keys of a long sequence while another sequence has at most one chunk.
TEST_P(LongSequence, SequencesOfOtherLengthsChangeNoBit) {
    set_threads(8);
    const int lengths[] = {c_.tokens, 100, 700};
    std::vector<KvCache> caches;
    std::vector<Part> parts;
    Tensor qkv(3, qkv_.cols());
    for (int i = 0; i < 3; ++i) {
        caches.push_back(filled(lengths[i]));
        std::memcpy(qkv.view().row(i), qkv_.view().row(lengths[i] - 1),
                    static_cast<std::size_t>(qkv_.cols()) * sizeof(float));
    }
    for (int i = 0; i < 3; ++i) parts.push_back({&caches[i], lengths[i] - 1, 1});
    Tensor together = attend(parts, std::move(qkv));
    for (int i = 0; i < 3; ++i) {
        c_.tokens = lengths[i];
        Tensor alone = last_row();
        EXPECT_EQ(std::memcmp(alone.data(), together.view().row(i), alone.size() * sizeof(float)), 0) << lengths[i];
    }
}

INSTANTIATE_TEST_SUITE_P(
    Attention, LongSequence,
    testing::Values(Case{"one_span", 1000, 2, 2, 0, 0, "none"}, Case{"whole_spans", 2048, 2, 2, 0, 0, "none"},
                    Case{"a_key_more", 2049, 2, 1, 0, 0, "none"}, Case{"rows_on_both_sides", 1074, 2, 1, 0, 0, "alibi"},
                    Case{"grouped_and_biased", 2600, 4, 2, 0, 0, "alibi"},
                    Case{"window_of_two_spans", 2600, 2, 1, 1555, 0, "none"},
                    Case{"window_less_than_a_span", 2100, 2, 1, 125, 0, "alibi"},
                    Case{"capped", 2300, 2, 1, 0, 2, "alibi"},
                    Case{"halves", 2049, 4, 2, 0, 0, "alibi", CacheType::f16, 2e-3},
                    Case{"pairs", 2049, 4, 2, 0, 0, "alibi", CacheType::bf16, 2e-2},
                    Case{"a_window_of_pairs", 2600, 2, 1, 1555, 0, "none", CacheType::bf16, 2e-2},
                    Case{"more_heads_than_a_tile_in_pairs", 1101, 64, 1, 0, 0, "alibi", CacheType::bf16, 2e-2},
                    Case{"more_heads_than_a_tile", 2049, 64, 1, 0, 0, "alibi"},
                    Case{"more_heads_than_a_tile_in_blocks", 1100, 64, 1, 0, 0, "alibi", CacheType::q8_0, 3e-2},
                    Case{"blocks", 2049, 4, 2, 0, 0, "alibi", CacheType::q8_0, 3e-2},
                    Case{"a_window_of_blocks", 2600, 2, 1, 1555, 0, "none", CacheType::q8_0, 3e-2}),
    [](const auto& test) { return std::string(test.param.name); });

} // namespace
} // namespace ordo
