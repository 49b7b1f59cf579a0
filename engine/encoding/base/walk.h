// SPDX-License-Identifier: MIT
// A query that walks from its own token to each of its keys, and is changed by every token on its way:
//   r_i = q_i,  r_(j-1) = r_j M_j,  score(i, j) += scale (r_j - q_i) . k_j
// so that a plain score becomes scale r_j . k_j, and the biases of other encodings stay. The matrix M_t of a token
// comes from its state. Of two tokens, the later one and the tokens between them act. A query that sees later keys
// walks to them as well: r_(j+1) = r_j M_(j+1).
//
// An encoding defines M by a class Token:
//   void pass(const float* state, float* r) const;                          r <- r M
//   void pass_backward(const float* state, const float* r, float* a, float* d_state) const;
// r is the row before it passed, and a is the gradient of the row after it, to be replaced by that of the row before.
#pragma once

#include "core/error.h"
#include "core/tensor.h"

#include <algorithm>
#include <cstring>

namespace ordo {

// ---- Loops over columns, four at a time -------------------------------------------------------

typedef float FourColumns __attribute__((vector_size(16)));

template <class T>
inline T columns_at(const float* p) {
    T value;
    std::memcpy(&value, p, sizeof value);
    return value;
}
template <class T>
inline void put_columns(float* p, T value) {
    std::memcpy(p, &value, sizeof value);
}
// Calls body.template operator()<T>(c) for columns c and on, as many as a T holds.
template <class Body>
inline void for_columns(int e, const Body& body) {
    int c = 0;
    for (; c + 4 <= e; c += 4) body.template operator()<FourColumns>(c);
    for (; c < e; ++c) body.template operator()<float>(c);
}
// The sum of term.template operator()<T>(c).
template <class Term>
inline float sum_columns(int e, const Term& term) {
    FourColumns a{}, b{};
    int c = 0;
    for (; c + 8 <= e; c += 8) {
        a += term.template operator()<FourColumns>(c);
        b += term.template operator()<FourColumns>(c + 4);
    }
    if (c + 4 <= e) a += term.template operator()<FourColumns>(c), c += 4;
    a += b;
    float sum = (a[0] + a[2]) + (a[1] + a[3]);
    for (; c < e; ++c) sum += term.template operator()<float>(c);
    return sum;
}
inline float dot_columns(int e, const float* a, const float* b) {
    return sum_columns(e, [=]<class T>(int c) { return columns_at<T>(a + c) * columns_at<T>(b + c); });
}
inline void add_columns(int e, float factor, const float* x, float* y) { // y += factor x
    for_columns(e,
                [=]<class T>(int c) { put_columns<T>(y + c, columns_at<T>(y + c) + factor * columns_at<T>(x + c)); });
}

// ---- The walk ---------------------------------------------------------------------------------

inline constexpr int most_walked_columns = 1024; // of a head; a row is on the stack
inline void check_walked(std::string_view name, int d_head) {
    if (d_head > most_walked_columns)
        fail(ErrorCode::usage, name, ": expected heads of at most ", most_walked_columns, " columns, found ", d_head);
}

template <class Token>
class Walk {
public:
    // A tile of one query and the keys that it sees.
    Walk(const Token& token, const Tile& tile)
        : token_(token), tile_(tile), e_(tile.q.cols), own_(tile.first_query - tile.first_key) {}

    void rescore(float* scores) const {
        for (const int side : {-1, 1}) {
            float r[most_walked_columns];
            std::copy_n(tile_.q.row(0), e_, r);
            for (int step = 1; step <= steps(side); ++step) {
                const int key = own_ + side * step;
                token_.pass(passed(side, step), r);
                scores[key] += tile_.scale * difference(r, key);
            }
        }
    }

    // The scores' gradient stays as it is.
    void rescore_backward(const float* d_scores, const Gradients& gradient) const {
        float* const dq = gradient.q.row(0);
        for (const int side : {-1, 1}) {
            const int n = steps(side);
            const Buffer<float> rows = walked(side);
            float a[most_walked_columns] = {}; // the gradient of a row, from the far end
            for (int step = n; step > 0; --step) {
                const int key = own_ + side * step, at = passed_key(side, step);
                const float *k = tile_.k.row(key), *r = rows.data() + static_cast<std::ptrdiff_t>(step) * e_;
                const float d = tile_.scale * d_scores[key];
                add_columns(e_, d, k, a);
                add_columns(e_, -d, k, dq);
                const float* q = tile_.q.row(0);
                float* dk = gradient.k.row(key);
                for_columns(e_, [=]<class T>(int c) {
                    put_columns<T>(dk + c, columns_at<T>(dk + c) + d * (columns_at<T>(r + c) - columns_at<T>(q + c)));
                });
                token_.pass_backward(tile_.key_state.row(at), r - e_, a, gradient.key_state.row(at));
            }
            add_columns(e_, 1, a, dq);
        }
    }

private:
    int steps(int side) const { return side < 0 ? own_ : std::max(0, tile_.k.rows - 1 - own_); }
    // The token that a row passes with a step.
    int passed_key(int side, int step) const { return side < 0 ? own_ - step + 1 : own_ + step; }
    const float* passed(int side, int step) const { return tile_.key_state.row(passed_key(side, step)); }
    float difference(const float* r, int key) const { // (r - q) . k
        const float *q = tile_.q.row(0), *k = tile_.k.row(key);
        return sum_columns(
            e_, [=]<class T>(int c) { return (columns_at<T>(r + c) - columns_at<T>(q + c)) * columns_at<T>(k + c); });
    }
    // The row after each number of steps.
    Buffer<float> walked(int side) const {
        const auto e = static_cast<std::size_t>(e_);
        Buffer<float> rows((static_cast<std::size_t>(steps(side)) + 1) * e, Contents::any);
        std::copy_n(tile_.q.row(0), e_, rows.data());
        for (int step = 1; step <= steps(side); ++step) {
            float* r = rows.data() + static_cast<std::size_t>(step) * e;
            std::copy_n(r - e_, e_, r);
            token_.pass(passed(side, step), r);
        }
        return rows;
    }

    Token token_;
    const Tile& tile_;
    int e_, own_;
};

} // namespace ordo
