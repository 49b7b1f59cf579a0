// SPDX-License-Identifier: MIT
// The walks of queries (kernels.h), included by each whole instruction set after body.h. COUNT vectors hold a row in
// registers; 0 stands for any number of them, of which the last may be a part.

namespace {

using ordo::Walk, ordo::WalkGradient, ordo::Walks;

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
    floats r[at.most], q[at.most];
    alignas(64) floats sums[8];
    clear(sums);
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
    const auto one = [&](int step) {
        const float* x = w.token + step * w.token_stride;
        if (w.factor) {
            floats rx{};
            for (int v = 0; v < at.count; ++v) rx += r[v] * at.get(x, v);
            move(x, w.factor[step * w.token_stride] * sum(rx));
        } else {
            for (int v = 0; v < at.count; ++v) r[v] -= r[v] * at.get(x, v);
        }
        score(step);
    };
    int step = 0;
    if (w.first_alone) one(step++);
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
    for (; step < w.n; ++step) one(step);
    if (w.n % 8 > 0 && w.scores) add_scores(w, w.n - w.n % 8, w.n % 8, sums);
}

// GROUPS vectors of queries from `first` on: a lane is a query, so that no vector is summed. All operations and their
// order are those of walk_of(): two steps at once; sums over columns that are a multiple of `lanes` apart, which are
// then added as the lanes of a vector are. A query takes part in the steps of its own and earlier tokens. Lanes beyond
// the last query repeat it.
template <int GROUPS, bool FACTORS>
struct Walkers {
    enum { score, second_score, along_next, along_second_next, all }; // the rows' products with the next two tokens
    static constexpr int kinds = FACTORS ? all : along_next;
    struct alignas(64) Column { // of the rows and of the queries
        floats r[GROUPS], q[GROUPS];
    };
    const Walks& w;
    int first, n = w.queries - first < GROUPS * lanes ? w.queries - first : GROUPS * lanes;
    int keys = w.own + first + n - 1;            // of the last query
    Column columns[ordo::most_columns_together]; // by lane, then by vector
    alignas(64) ints own[GROUPS];
    alignas(64) floats scores[8][GROUPS] = {}, sums[lanes][kinds][GROUPS] = {};

    Walkers(const Walks& walks, int from) : w(walks), first(from) {
        for (int i = 0; i < GROUPS * lanes; ++i) {
            const int query = first + (i < n ? i : n - 1);
            own[i / lanes][i % lanes] = w.own + query;
            Column* column = columns;
            for (int lane = 0; lane < lanes; ++lane)
                for (int c = lane; c < w.e; c += lanes, ++column)
                    column->r[i / lanes][i % lanes] = column->q[i / lanes][i % lanes] = w.q[query * w.q_stride + c];
        }
    }
    int within(int token) const { return token < 0 ? 0 : token > keys ? keys : token; }
    const float* token(int t) const { return w.token + within(t) * w.token_stride; }
    const float* key(int t) const { return w.k + within(t) * w.k_stride; }
    float product(const float* x, const float* y) const { // as in walk_of()
        const WalkVectors<0> at(w.e);
        floats xy{};
        for (int v = 0; v < at.count; ++v) xy += at.get(x, v) * at.get(y, v);
        return sum(xy);
    }
    // Keeps the scores of a key, and adds those of eight keys at once.
    void put(int key, int kind) {
        if (key < 0 || key >= keys) return;
        for (int g = 0; g < GROUPS; ++g) scores[key % 8][g] = sums[0][kind][g];
        if (key % 8 > 0) return;
        for (int i = 0; i < n; ++i)
            for (int j = 0; j < 8 && key + j < keys; ++j)
                w.scores[(first + i) * w.scores_stride + key + j] += w.scale * scores[j][i / lanes][i % lanes];
    }
    // The steps of tokens t and t - 1.
    void two(int t) {
        const float *x = token(t), *y = token(t - 1), *next = token(t - 2), *second_next = token(t - 3);
        const float *k = key(t - 1), *l = key(t - 2), tokens = FACTORS ? product(x, y) : 0;
        alignas(64) floats by[GROUPS], second_by[GROUPS];
        for (int g = 0; g < GROUPS; ++g) {
            const ints acts = own[g] >= t, second_acts = own[g] >= t - 1;
            by[g] = second_by[g] = splat(1);
            if constexpr (FACTORS) by[g] = w.factor[within(t) * w.token_stride] * sums[0][along_next][g];
            by[g] = acts ? by[g] : floats{};
            if constexpr (FACTORS)
                second_by[g] =
                    w.factor[within(t - 1) * w.token_stride] * (sums[0][along_second_next][g] - by[g] * tokens);
            second_by[g] = second_acts ? second_by[g] : floats{};
        }
        Column* column = columns;
        for (int lane = 0; lane < lanes; ++lane) {
            alignas(64) floats some[kinds][GROUPS];
            clear(some);
            for (int c = lane; c < w.e; c += lanes, ++column)
                for (int g = 0; g < GROUPS; ++g) {
                    const floats from = column->r[g], q = column->q[g];
                    const floats between = from - (FACTORS ? by[g] * x[c] : from * (by[g] * x[c]));
                    const floats to = between - (FACTORS ? second_by[g] * y[c] : between * (second_by[g] * y[c]));
                    column->r[g] = to;
                    some[score][g] += (between - q) * k[c];
                    some[second_score][g] += (to - q) * l[c];
                    if constexpr (FACTORS) {
                        some[along_next][g] += to * next[c];
                        some[along_second_next][g] += to * second_next[c];
                    }
                }
            for (int i = 0; i < kinds; ++i)
                for (int g = 0; g < GROUPS; ++g) sums[lane][i][g] = some[i][g];
        }
        for (int half = lanes / 2; half > 0; half /= 2)
            for (int lane = 0; lane < half; ++lane)
                for (int i = 0; i < kinds; ++i)
                    for (int g = 0; g < GROUPS; ++g) sums[lane][i][g] += sums[lane + half][i][g];
        put(t - 1, score);
        put(t - 2, second_score);
    }
    void run() { // The first round, before any query's own token, only multiplies.
        for (int t = keys + (keys + w.first_token) % 2 + 2; t > 0; t -= 2) two(t);
    }
};

// a: the gradient of the row after a step, then of the row before it. Of two steps at once, the later one has x and b,
// the earlier one y, d and k, and a' follows a:
//   a' = a - b (a . x) x + d k,  a' . y = a . y - b (a . x) (x . y) + d (k . y)
template <int COUNT>
struct WalkBackward {
    struct Step {
        const float *after, *before, *k, *x;
        float *dk, *dx;
        float b;
        floats d; // of the key's product with the row
    };
    const Walk& w;
    const WalkGradient& g;
    const WalkVectors<COUNT> at{w.e};
    floats a[WalkVectors<COUNT>::most] = {}, dq[WalkVectors<COUNT>::most] = {}, q[WalkVectors<COUNT>::most] = {};

    Step step(int i) const {
        const float* after = w.rows + static_cast<std::ptrdiff_t>(i) * w.e;
        return {after,
                i > 0 ? after - w.e : w.q,
                w.k + i * w.k_stride,
                w.token + i * w.token_stride,
                g.k + i * g.k_stride,
                g.token + i * g.token_stride,
                w.factor ? w.factor[i * w.token_stride] : 0,
                splat(w.scale * g.scores[i * w.direction])};
    }
    void score(const Step& s, int v) {
        const floats dr = s.d * at.get(s.k, v);
        a[v] += dr;
        dq[v] -= dr;
        at.add(s.dk, v, s.d * (at.get(s.after, v) - q[v]));
    }
    // by: b times the products of the row and of its gradient with x.
    void move(const Step& s, int v, float by_row, float by_gradient) {
        at.add(s.dx, v, -(by_gradient * at.get(s.before, v)) - by_row * a[v]);
        a[v] -= by_gradient * at.get(s.x, v);
    }
    void two(int i) {
        const Step s = step(i), t = step(i - 1);
        floats rx{}, ry{}, ax{}, ay{}, xy{}, ky{};
        for (int v = 0; v < at.count; ++v) {
            score(s, v);
            const floats x = at.get(s.x, v), y = at.get(t.x, v);
            rx += at.get(s.before, v) * x;
            ry += at.get(t.before, v) * y;
            ax += a[v] * x;
            ay += a[v] * y;
            xy += x * y;
            ky += at.get(t.k, v) * y;
        }
        alignas(64) const floats products[8] = {rx, ry, ax, ay, xy, ky};
        alignas(64) float sums[8];
        sum_each<8>(products, sums);
        const float of_x = sums[2], of_y = sums[3] - s.b * of_x * sums[4] + t.d[0] * sums[5];
        g.factor[i * g.token_stride] -= sums[0] * of_x;
        g.factor[(i - 1) * g.token_stride] -= sums[1] * of_y;
        for (int v = 0; v < at.count; ++v) {
            move(s, v, s.b * sums[0], s.b * of_x);
            score(t, v);
            move(t, v, t.b * sums[1], t.b * of_y);
        }
    }
    void one(int i) {
        const Step s = step(i);
        floats rx{}, ax{};
        for (int v = 0; v < at.count; ++v) {
            score(s, v);
            const floats x = at.get(s.x, v), before = at.get(s.before, v);
            rx += before * x;
            ax += a[v] * x;
            if (w.factor) continue;
            at.add(s.dx, v, -(a[v] * before));
            a[v] -= a[v] * x;
        }
        if (!w.factor) return;
        const float row = sum(rx), gradient = sum(ax);
        g.factor[i * g.token_stride] -= row * gradient;
        for (int v = 0; v < at.count; ++v) move(s, v, s.b * row, s.b * gradient);
    }
    void run() {
        for (int v = 0; v < at.count; ++v) q[v] = at.get(w.q, v);
        int i = w.n - 1;
        for (; w.factor && i > 0; i -= 2) two(i);
        for (; i >= 0; --i) one(i);
        for (int v = 0; v < at.count; ++v) at.add(g.q, v, a[v] + dq[v]);
    }
};

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
void walks(const Walks& w) {
    for (int first = 0, groups = 0; first < w.queries; first += groups * lanes) {
        const int left = (w.queries - first + lanes - 1) / lanes, most = lanes < 16 && !w.factor ? 3 : 2;
        groups = left < most ? left : most;
        if (groups == 3) { // fit the registers without products
            if constexpr (lanes < 16) Walkers<3, false>(w, first).run();
        } else if (groups == 2)
            w.factor ? Walkers<2, true>(w, first).run() : Walkers<2, false>(w, first).run();
        else
            w.factor ? Walkers<1, true>(w, first).run() : Walkers<1, false>(w, first).run();
    }
}
void walk_backward(const Walk& w, const WalkGradient& g) {
    with_walk_vectors(w.e, [&]<int COUNT>() { WalkBackward<COUNT>{w, g}.run(); });
}

} // namespace
