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

// Adds the scores of up to eight keys, whose products are in sums.
inline void add_scores(const Walk& w, int first, int n, const floats (&sums)[8]) {
    alignas(64) float out[8];
    sum_each<8>(sums, out);
    for (int i = 0; i < n; ++i) w.scores[(first + i) * w.direction] += w.scale * out[i];
}

// Two steps at once, as far as that is possible: a product of the row with the second token needs no first step.
//   r_1 = r - b_1 (r . x_1) x_1,  r_1 . x_2 = r . x_2 - b_1 (r . x_1) (x_1 . x_2)
template <int COUNT>
void walk_of(const Walk& w) {
    const WalkVectors<COUNT> at(w.e);
    floats r[at.most], q[at.most], sums[8] = {};
    for (int v = 0; v < at.count; ++v) q[v] = r[v] = at.get(w.q, v);
    const auto score = [&](int step) {
        const float* k = w.k + step * w.k_stride;
        floats sum{};
        for (int v = 0; v < at.count; ++v) {
            if (w.rows) at.put(w.rows + static_cast<std::ptrdiff_t>(step) * w.e, v, r[v]);
            sum += (r[v] - q[v]) * at.get(k, v);
        }
        sums[step % 8] = sum;
        if (step % 8 == 7 && w.scores) add_scores(w, step - 7, 8, sums);
    };
    const auto move = [&](const float* x, float by) {
        for (int v = 0; v < at.count; ++v) r[v] -= by * at.get(x, v);
    };
    int step = 0;
    for (; w.factor && step + 1 < w.n; step += 2) {
        const float *x = w.token + step * w.token_stride, *y = x + w.token_stride;
        const float *b = w.factor + step * w.token_stride, *c = b + w.token_stride;
        floats rx{}, ry{}, xy{};
        for (int v = 0; v < at.count; ++v) {
            const floats xv = at.get(x, v), yv = at.get(y, v);
            rx += r[v] * xv;
            ry += r[v] * yv;
            xy += xv * yv;
        }
        const float first = *b * sum(rx), second = *c * (sum(ry) - first * sum(xy));
        move(x, first);
        score(step);
        move(y, second);
        score(step + 1);
    }
    for (; step < w.n; ++step) {
        const float* x = w.token + step * w.token_stride;
        if (w.factor) {
            floats rx{};
            for (int v = 0; v < at.count; ++v) rx += r[v] * at.get(x, v);
            move(x, w.factor[step * w.token_stride] * sum(rx));
        } else {
            for (int v = 0; v < at.count; ++v) r[v] -= r[v] * at.get(x, v);
        }
        score(step);
    }
    if (w.n % 8 > 0 && w.scores) add_scores(w, w.n - w.n % 8, w.n % 8, sums);
}

// a: the gradient of the row after a step, then of the row before it.
template <int COUNT>
void walk_backward_of(const Walk& w, const WalkGradient& g) {
    const WalkVectors<COUNT> at(w.e);
    floats a[at.most] = {}, dq[at.most] = {}, q[at.most];
    for (int v = 0; v < at.count; ++v) q[v] = at.get(w.q, v);
    for (int step = w.n - 1; step >= 0; --step) {
        const float* after = w.rows + static_cast<std::ptrdiff_t>(step) * w.e;
        const float *before = step > 0 ? after - w.e : w.q, *k = w.k + step * w.k_stride;
        const float* x = w.token + step * w.token_stride;
        float *dk = g.k + step * g.k_stride, *dx = g.token + step * g.token_stride;
        const floats d = splat(w.scale * g.scores[step * w.direction]);
        for (int v = 0; v < at.count; ++v) {
            const floats dr = d * at.get(k, v);
            a[v] += dr;
            dq[v] -= dr;
            at.add(dk, v, d * (at.get(after, v) - q[v]));
        }
        if (!w.factor) {
            for (int v = 0; v < at.count; ++v) {
                at.add(dx, v, -(a[v] * at.get(before, v)));
                a[v] -= a[v] * at.get(x, v);
            }
            continue;
        }
        floats rx{}, ax{};
        for (int v = 0; v < at.count; ++v) {
            rx += at.get(before, v) * at.get(x, v);
            ax += a[v] * at.get(x, v);
        }
        const float b = w.factor[step * w.token_stride], row = sum(rx), gradient = sum(ax);
        g.factor[step * g.token_stride] -= row * gradient;
        for (int v = 0; v < at.count; ++v) {
            at.add(dx, v, -b * gradient * at.get(before, v) - b * row * a[v]);
            a[v] -= b * gradient * at.get(x, v);
        }
    }
    for (int v = 0; v < at.count; ++v) at.add(g.q, v, a[v] + dq[v]);
}

template <class Use>
void with_walk_vectors(int e, const Use& use) {
    const int count = e % lanes == 0 ? e / lanes : 0;
    if (count == 2) return use.template operator()<2>();
    if (count == 4) return use.template operator()<4>();
    if (count == 8) return use.template operator()<8>();
    use.template operator()<0>();
}
void walk(const Walk& w) {
    with_walk_vectors(w.e, [&]<int COUNT>() { walk_of<COUNT>(w); });
}
void walk_backward(const Walk& w, const WalkGradient& g) {
    with_walk_vectors(w.e, [&]<int COUNT>() { walk_backward_of<COUNT>(w, g); });
}

} // namespace
