// SPDX-License-Identifier: MIT
// The walks of queries (kernels.h), included by each whole instruction set after body.h. COUNT vectors hold a row in
// registers; 0 stands for any number of them, of which the last may be a part.

namespace {

using ordo::Walk, ordo::WalkGradient;

constexpr int most_walk_vectors = ordo::most_walk_columns / lanes;

template <int COUNT>
struct WalkVectors {
    explicit WalkVectors(int e) : whole(e / lanes), rest(e % lanes), count(COUNT > 0 ? COUNT : whole + (rest > 0)) {}
    floats get(const float* p, int v) const {
        return COUNT > 0 || v < whole ? load(p + v * lanes) : load_part(p + v * lanes, rest);
    }
    void put(float* p, int v, floats x) const {
        if (COUNT > 0 || v < whole)
            store(p + v * lanes, x);
        else
            store_part(p + v * lanes, rest, x);
    }
    void add(float* p, int v, floats x) const { put(p, v, get(p, v) + x); }

    static constexpr int most = COUNT > 0 ? COUNT : most_walk_vectors;
    int whole, rest, count;
};

// sum += a * b. GCC fuses the two or not, as the chain of sums around them suits it; the reading makes one query and
// several get the same.
inline void add_product(floats& sum, floats a, floats b) {
    sum += a * b;
    read_again(sum);
}

// Adds the scores of up to eight keys, whose products are in sums.
inline void add_scores(const Walk& w, const Walk::Query& query, int first, int n, const floats (&sums)[8]) {
    alignas(64) float out[8];
    sum_each<8>(sums, out);
    for (int i = 0; i < n; ++i) query.scores[(first + i) * w.direction] += w.scale * out[i];
}

// Two steps at once, as far as that is possible: a product of the row with the second token needs no first step.
//   r_1 = r - b_1 (r . x_1) x_1,  r_1 . x_2 = r . x_2 - b_1 (r . x_1) (x_1 . x_2)
// The rows of N queries do not wait for each other.
template <int COUNT, int N>
void walk_of(const Walk& w) {
    const WalkVectors<COUNT> at(w.e);
    alignas(64) floats r[N][at.most], sums[N][8] = {}; // references to them would drop the reduced alignment
    const auto keep = [&](int i, int v, int step) {
        if (w.query[i].rows) at.put(w.query[i].rows + static_cast<std::ptrdiff_t>(step) * w.e, v, r[i][v]);
    };
    for (int i = 0; i < N; ++i)
        for (int v = 0; v < at.count; ++v) {
            r[i][v] = at.get(w.query[i].r, v);
            keep(i, v, 0);
        }
    const auto score = [&](int step) {
        const float* k = w.k + step * w.k_stride;
        for (int i = 0; i < N; ++i) {
            alignas(64) floats sum{};
            for (int v = 0; v < at.count; ++v) {
                keep(i, v, step + 1);
                add_product(sum, r[i][v] - at.get(w.query[i].q, v), at.get(k, v));
            }
            sums[i][step % 8] = sum;
            if (step % 8 == 7 && w.query[i].scores) add_scores(w, w.query[i], step - 7, 8, sums[i]);
        }
    };
    const auto move = [&](const float* x, const float* by) {
        for (int v = 0; v < at.count; ++v) {
            const floats xv = at.get(x, v);
            for (int i = 0; i < N; ++i) add_product(r[i][v], splat(-by[i]), xv);
        }
    };
    const auto one = [&](int step) {
        const float* x = w.token + step * w.token_stride;
        if (w.factor) {
            alignas(64) floats rx[N] = {};
            float by[N];
            for (int v = 0; v < at.count; ++v)
                for (int i = 0; i < N; ++i) add_product(rx[i], r[i][v], at.get(x, v));
            sum_each<N>(rx, by);
            for (int i = 0; i < N; ++i) by[i] *= w.factor[step * w.token_stride];
            move(x, by);
        } else {
            for (int v = 0; v < at.count; ++v)
                for (int i = 0; i < N; ++i) r[i][v] -= r[i][v] * at.get(x, v);
        }
        score(step);
    };
    int step = 0;
    if (w.single && w.n > 0) one(step++);
    for (; w.factor && step + 1 < w.n; step += 2) {
        const float *x = w.token + step * w.token_stride, *y = x + w.token_stride;
        const float *b = w.factor + step * w.token_stride, *c = b + w.token_stride;
        alignas(64) floats products[2 * N] = {}, xy{}; // r . x of each query, then r . y
        for (int v = 0; v < at.count; ++v) {
            const floats xv = at.get(x, v), yv = at.get(y, v);
            for (int i = 0; i < N; ++i) {
                add_product(products[i], r[i][v], xv);
                add_product(products[N + i], r[i][v], yv);
            }
            add_product(xy, xv, yv);
        }
        float by[2 * N];
        sum_each<2 * N>(products, by);
        const float cross = sum(xy);
        for (int i = 0; i < N; ++i) {
            by[i] *= *b;
            by[N + i] = *c * (by[N + i] - by[i] * cross);
        }
        move(x, by);
        score(step);
        move(y, by + N);
        score(step + 1);
    }
    for (; step < w.n; ++step) one(step);
    for (int i = 0; i < N; ++i) {
        if (w.n % 8 > 0 && w.query[i].scores) add_scores(w, w.query[i], w.n - w.n % 8, w.n % 8, sums[i]);
        for (int v = 0; v < at.count; ++v) at.put(w.query[i].r, v, r[i][v]);
    }
}

// a: the gradient of each row after a step, then of the row before it.
template <int COUNT, int N>
void walk_backward_of(const Walk& w, const WalkGradient& g) {
    const WalkVectors<COUNT> at(w.e);
    floats a[N][at.most], dq[N][at.most] = {};
    for (int i = 0; i < N; ++i)
        for (int v = 0; v < at.count; ++v) a[i][v] = at.get(g.query[i].r, v);
    for (int step = w.n - 1; step >= 0; --step) {
        const float *k = w.k + step * w.k_stride, *x = w.token + step * w.token_stride;
        float *dk = g.k + step * g.k_stride, *dx = g.token + step * g.token_stride;
        const float* before[N];
        floats d[N];
        for (int i = 0; i < N; ++i) {
            before[i] = w.query[i].rows + static_cast<std::ptrdiff_t>(step) * w.e;
            d[i] = splat(w.scale * g.query[i].scores[step * w.direction]);
        }
        for (int v = 0; v < at.count; ++v) {
            const floats kv = at.get(k, v);
            floats sum{};
            for (int i = 0; i < N; ++i) {
                const floats dr = d[i] * kv;
                a[i][v] += dr;
                dq[i][v] -= dr;
                sum += d[i] * (at.get(before[i] + w.e, v) - at.get(w.query[i].q, v));
            }
            at.add(dk, v, sum);
        }
        if (!w.factor) {
            for (int v = 0; v < at.count; ++v) {
                floats sum{};
                for (int i = 0; i < N; ++i) {
                    sum -= a[i][v] * at.get(before[i], v);
                    a[i][v] -= a[i][v] * at.get(x, v);
                }
                at.add(dx, v, sum);
            }
            continue;
        }
        floats products[2 * N] = {}; // r . x of each query, then a . x
        for (int v = 0; v < at.count; ++v) {
            const floats xv = at.get(x, v);
            for (int i = 0; i < N; ++i) {
                products[i] += at.get(before[i], v) * xv;
                products[N + i] += a[i][v] * xv;
            }
        }
        float along[2 * N];
        sum_each<2 * N>(products, along);
        const float b = w.factor[step * w.token_stride];
        for (int i = 0; i < N; ++i) {
            g.factor[step * g.token_stride] -= along[i] * along[N + i];
            along[i] *= b;
            along[N + i] *= b;
        }
        for (int v = 0; v < at.count; ++v) {
            const floats xv = at.get(x, v);
            floats sum{};
            for (int i = 0; i < N; ++i) {
                sum -= along[N + i] * at.get(before[i], v) + along[i] * a[i][v];
                a[i][v] -= along[N + i] * xv;
            }
            at.add(dx, v, sum);
        }
    }
    for (int i = 0; i < N; ++i)
        for (int v = 0; v < at.count; ++v) {
            at.put(g.query[i].r, v, a[i][v]);
            at.add(g.query[i].q, v, dq[i][v]);
        }
}

// Calls use<COUNT, N>(first query) for all queries: as many as fit the stack at once, or one by one.
template <class Use>
void for_walks(const Walk& w, const Use& use) {
    const auto take = [&]<int COUNT>() {
        if constexpr (COUNT > 0)
            if (w.queries == ordo::most_walk_queries) return use.template operator()<COUNT, ordo::most_walk_queries>(0);
        for (int i = 0; i < w.queries; ++i) use.template operator()<COUNT, 1>(i);
    };
    const int count = w.e % lanes == 0 ? w.e / lanes : 0;
    if (count == 2) return take.template operator()<2>();
    if (count == 4) return take.template operator()<4>();
    if (count == 8) return take.template operator()<8>();
    take.template operator()<0>();
}
void walk(const Walk& w) {
    for_walks(w, [&]<int COUNT, int N>(int first) {
        Walk some = w;
        some.query[0] = w.query[first];
        walk_of<COUNT, N>(some);
    });
}
void walk_backward(const Walk& w, const WalkGradient& g) {
    for_walks(w, [&]<int COUNT, int N>(int first) {
        Walk some = w;
        WalkGradient gradient = g;
        some.query[0] = w.query[first];
        gradient.query[0] = g.query[first];
        walk_backward_of<COUNT, N>(some, gradient);
    });
}

} // namespace
