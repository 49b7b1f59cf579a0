// SPDX-License-Identifier: MIT
// The inner loops, included by each whole instruction set (kernels.h) after vectors.h.

namespace {

// ROWS x (lanes * VECTORS) elements of c stay in registers while k runs.
template <int ROWS, int VECTORS, class B>
inline void tile(int k, float alpha, const float* a, std::ptrdiff_t a_row, std::ptrdiff_t a_col, const B* b,
                 std::ptrdiff_t ldb, float beta, float* c, std::ptrdiff_t ldc) {
    alignas(64) floats acc[ROWS][VECTORS];
    clear(acc);
    for (int l = 0; l < k; ++l) {
        floats bv[VECTORS];
        for (int v = 0; v < VECTORS; ++v) bv[v] = load(b + l * ldb + lanes * v);
        for (int r = 0; r < ROWS; ++r) {
            const floats s = splat(a[r * a_row + l * a_col]);
            for (int v = 0; v < VECTORS; ++v) acc[r][v] += s * bv[v];
        }
    }
    for (int r = 0; r < ROWS; ++r)
        for (int v = 0; v < VECTORS; ++v) {
            float* out = c + r * ldc + lanes * v;
            floats value = alpha * acc[r][v];
            if (beta != 0) value += beta * load(out);
            store(out, value);
        }
}

// The remaining columns, fewer than a vector has.
template <class B>
inline void tile_tail(int rows, int n, int k, float alpha, const float* a, std::ptrdiff_t a_row, std::ptrdiff_t a_col,
                      const B* b, std::ptrdiff_t ldb, float beta, float* c, std::ptrdiff_t ldc) {
    for (int r = 0; r < rows; ++r) {
        floats acc{};
        for (int l = 0; l < k; ++l) acc += splat(a[r * a_row + l * a_col]) * load_part(b + l * ldb, n);
        for (int j = 0; j < n; ++j) {
            float* out = c + r * ldc + j;
            *out = alpha * acc[j] + (beta != 0 ? beta * *out : 0.0f);
        }
    }
}

template <int ROWS, int VECTORS, class B>
inline void panel(int n, int k, float alpha, const float* a, std::ptrdiff_t a_row, std::ptrdiff_t a_col, const B* b,
                  std::ptrdiff_t ldb, float beta, float* c, std::ptrdiff_t ldc) {
    int j = 0;
    const auto columns = [&]<int N>() {
        for (; j + lanes * N <= n; j += lanes * N)
            tile<ROWS, N>(k, alpha, a, a_row, a_col, b + j, ldb, beta, c + j, ldc);
    };
    columns.template operator()<VECTORS>();
    if (VECTORS > 2) columns.template operator()<VECTORS * 3 / 4>();
    if (VECTORS > 2) columns.template operator()<VECTORS / 2>();
    columns.template operator()<1>();
    if (j < n) tile_tail(ROWS, n - j, k, alpha, a, a_row, a_col, b + j, ldb, beta, c + j, ldc);
}

template <class B>
inline void any_product(int m, int n, int k, float alpha, const float* a, std::ptrdiff_t a_row, std::ptrdiff_t a_col,
                        const B* b, std::ptrdiff_t ldb, float beta, float* c, std::ptrdiff_t ldc) {
    int i = 0;
    const auto take = [&]<int ROWS, int VECTORS>() {
        for (; i + ROWS <= m; i += ROWS)
            panel<ROWS, VECTORS>(n, k, alpha, a + i * a_row, a_row, a_col, b, ldb, beta, c + i * ldc, ldc);
    };
    // With 32 registers, twice the rows need half the loads of b. Halves are converted once for all rows of a tile.
    if constexpr (lanes == 16 || sizeof(B) < sizeof(float))
        take.template operator()<tiles.panel_rows, tiles.panel_vectors>();
    take.template operator()<tiles.rows, tiles.vectors>();
    if constexpr (tiles.rows > 4) take.template operator()<4, tiles.vectors>();
    if constexpr (tiles.rows > 2) take.template operator()<2, 2 * tiles.vectors>();
    take.template operator()<1, tiles.row_vectors>();
}
void product(int m, int n, int k, float alpha, const float* a, std::ptrdiff_t a_row, std::ptrdiff_t a_col,
             const float* b, std::ptrdiff_t ldb, float beta, float* c, std::ptrdiff_t ldc) {
    any_product(m, n, k, alpha, a, a_row, a_col, b, ldb, beta, c, ldc);
}
void product_halves(int m, int n, int k, float alpha, const float* a, std::ptrdiff_t a_row, std::ptrdiff_t a_col,
                    const std::uint16_t* b, std::ptrdiff_t ldb, float beta, float* c, std::ptrdiff_t ldc) {
    any_product(m, n, k, alpha, a, a_row, a_col, static_cast<const half_t*>(b), ldb, beta, c, ldc);
}

float dot(int n, const float* x, const float* y) {
    floats a{}, b{}, c{}, d{};
    int i = 0;
    for (; i + 4 * lanes <= n; i += 4 * lanes) {
        a += load(x + i) * load(y + i);
        b += load(x + i + lanes) * load(y + i + lanes);
        c += load(x + i + 2 * lanes) * load(y + i + 2 * lanes);
        d += load(x + i + 3 * lanes) * load(y + i + 3 * lanes);
    }
    for (; i + lanes <= n; i += lanes) a += load(x + i) * load(y + i);
    if (i < n) b += load_part(x + i, n - i) * load_part(y + i, n - i);
    return sum((a + b) + (c + d));
}

// The sums of eight vectors of 16 lanes, or four of eight, by the same tree as sum(). One shuffle serves all of them.
inline f32x4 sums(f32x8 a, f32x8 b, f32x8 c, f32x8 d) {
    const f32x8 ab = __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11) +
                     __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15);
    const f32x8 cd = __builtin_shufflevector(c, d, 0, 1, 2, 3, 8, 9, 10, 11) +
                     __builtin_shufflevector(c, d, 4, 5, 6, 7, 12, 13, 14, 15);
    const f32x8 pairs = __builtin_shufflevector(ab, cd, 0, 1, 4, 5, 8, 9, 12, 13) +
                        __builtin_shufflevector(ab, cd, 2, 3, 6, 7, 10, 11, 14, 15);
    return __builtin_shufflevector(pairs, pairs, 0, 2, 4, 6) + __builtin_shufflevector(pairs, pairs, 1, 3, 5, 7);
}
inline f32x16 fold_halves(f32x16 a, f32x16 b) { // 8 lanes of each
    return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23) +
           __builtin_shufflevector(a, b, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
}
inline f32x16 fold_quarters(f32x16 a, f32x16 b) { // 4 lanes of each of four
    return __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27) +
           __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
}
inline f32x8 sums(f32x16 a, f32x16 b, f32x16 c, f32x16 d, f32x16 e, f32x16 f, f32x16 g, f32x16 h) {
    const f32x16 first = fold_quarters(fold_halves(a, b), fold_halves(c, d)),
                 second = fold_quarters(fold_halves(e, f), fold_halves(g, h));
    const f32x16 pairs = // 2 lanes of each
        __builtin_shufflevector(first, second, 0, 1, 4, 5, 8, 9, 12, 13, 16, 17, 20, 21, 24, 25, 28, 29) +
        __builtin_shufflevector(first, second, 2, 3, 6, 7, 10, 11, 14, 15, 18, 19, 22, 23, 26, 27, 30, 31);
    return __builtin_shufflevector(pairs, pairs, 0, 2, 4, 6, 8, 10, 12, 14) +
           __builtin_shufflevector(pairs, pairs, 1, 3, 5, 7, 9, 11, 13, 15);
}
template <int N> // v: aligned to 64 bytes, which clang takes for granted in a template's array of vectors
inline void sum_each(const floats (&v)[N], float (&out)[N]) {
    int i = 0;
    if constexpr (lanes == 16)
        for (; i + 8 <= N; i += 8) {
            const f32x8 s = sums(v[i], v[i + 1], v[i + 2], v[i + 3], v[i + 4], v[i + 5], v[i + 6], v[i + 7]);
            __builtin_memcpy(out + i, &s, sizeof s);
        }
    if constexpr (lanes == 8)
        for (; i + 4 <= N; i += 4) {
            const f32x4 s = sums(v[i], v[i + 1], v[i + 2], v[i + 3]);
            __builtin_memcpy(out + i, &s, sizeof s);
        }
    for (; i < N; ++i) out[i] = sum(v[i]);
}

// ROWS rows of x by OUTPUTS rows of w. A lane adds every lanes-th product over ascending k, whatever the tile.
template <int ROWS, int OUTPUTS>
inline void dots_tile(int k, const float* w, std::ptrdiff_t ldw, const float* x, std::ptrdiff_t ldx, float* y,
                      std::ptrdiff_t ldy) {
    alignas(64) floats acc[ROWS * OUTPUTS];
    clear(acc);
    int l = 0;
    for (; l + lanes <= k; l += lanes) {
        alignas(64) floats weights[OUTPUTS];
        for (int j = 0; j < OUTPUTS; ++j) weights[j] = load(w + j * ldw + l);
        for (int r = 0; r < ROWS; ++r) {
            const floats value = load(x + r * ldx + l);
            for (int j = 0; j < OUTPUTS; ++j) acc[r * OUTPUTS + j] += value * weights[j];
        }
    }
    if (l < k)
        for (int r = 0; r < ROWS; ++r)
            for (int j = 0; j < OUTPUTS; ++j)
                acc[r * OUTPUTS + j] += load_part(x + r * ldx + l, k - l) * load_part(w + j * ldw + l, k - l);
    float out[ROWS * OUTPUTS];
    sum_each(acc, out);
    for (int r = 0; r < ROWS; ++r)
        for (int j = 0; j < OUTPUTS; ++j) y[r * ldy + j] = out[r * OUTPUTS + j];
}

template <int ROWS>
inline int dots_rows(int row, int rows, int m, int k, const float* w, std::ptrdiff_t ldw, const float* x,
                     std::ptrdiff_t ldx, float* y, std::ptrdiff_t ldy) {
    constexpr int outputs = tiles.dots_outputs;
    for (; row + ROWS <= rows; row += ROWS) {
        const float* const from = x + row * ldx;
        float* const to = y + row * ldy;
        int i = 0;
        for (; i + outputs <= m; i += outputs) dots_tile<ROWS, outputs>(k, w + i * ldw, ldw, from, ldx, to + i, ldy);
        for (; i < m; ++i) dots_tile<ROWS, 1>(k, w + i * ldw, ldw, from, ldx, to + i, ldy);
    }
    return row;
}

void dots(int rows, int m, int k, const float* w, std::ptrdiff_t ldw, const float* x, std::ptrdiff_t ldx, float* y,
          std::ptrdiff_t ldy) {
    if (rows == 1) { // reads memory as one stream, which prefetchers follow best
        constexpr int some = 8, short_row = 512;
        int i = 0;
        if (k <= short_row)
            for (; i + some <= m; i += some) dots_tile<1, some>(k, w + i * ldw, ldw, x, ldx, y + i, ldy);
        for (; i < m; ++i) dots_tile<1, 1>(k, w + i * ldw, ldw, x, ldx, y + i, ldy);
        return;
    }
    constexpr int at_once = 32; // rows of w that stay in the first cache while the rows of x are read
    for (int first = 0; first < m; first += at_once) {
        const int some = m - first < at_once ? m - first : at_once;
        const auto take = [&]<int ROWS>(int row) {
            return dots_rows<ROWS>(row, rows, some, k, w + first * ldw, ldw, x, ldx, y + first, ldy);
        };
        int row = take.template operator()<tiles.dots_rows>(0);
        if (tiles.dots_rows > 4) row = take.template operator()<4>(row);
        if (tiles.dots_rows > 2) row = take.template operator()<2>(row);
        take.template operator()<1>(row);
    }
}

float max_row(int n, const float* x) {
    if (n >= lanes) {
        const auto more = [](floats a, floats b) { return b > a ? b : a; };
        floats m = load(x), m2 = m, m3 = m, m4 = m; // four chains: a comparison has a latency of four cycles
        int i = lanes;
        for (; i + 4 * lanes <= n; i += 4 * lanes) {
            m = more(m, load(x + i)), m2 = more(m2, load(x + i + lanes));
            m3 = more(m3, load(x + i + 2 * lanes)), m4 = more(m4, load(x + i + 3 * lanes));
        }
        for (; i + lanes <= n; i += lanes) m = more(m, load(x + i));
        return largest(more(more(m, more(m2, load(x + n - lanes))), more(m3, m4))); // some of the last again
    }
    float best = x[0];
    for (int i = 1; i < n; ++i) best = x[i] > best ? x[i] : best;
    return best;
}

ordo::ExpRow exp_row(int n, float* x) {
    const float top = max_row(n, x);
    floats total{};
    int i = 0;
    for (; i + lanes <= n; i += lanes) {
        const floats e = exp_lanes(load(x + i) - top);
        store(x + i, e);
        total += e;
    }
    if (i < n) {
        const floats e = exp_lanes(load_part(x + i, n - i) - top);
        store_part(x + i, n - i, e);
        total += first_lanes(n - i) ? e : floats{};
    }
    return {top, sum(total)};
}

void scale(int n, float s, float* x) {
    for (int i = 0; i < n; ++i) x[i] *= s;
}
void add(int n, const float* x, float* y) {
    for (int i = 0; i < n; ++i) y[i] += x[i];
}
void add_value(int n, float value, float* y) {
    for (int i = 0; i < n; ++i) y[i] += value;
}
float sum_row(int n, const float* x) {
    constexpr int all = ordo::partial_sums, vectors = all / lanes;
    alignas(64) floats sums[vectors];
    clear(sums);
    int i = 0;
    for (; i + all <= n; i += all)
        for (int v = 0; v < vectors; ++v) sums[v] += load(x + i + v * lanes);
    for (int v = 0; v < vectors && i < n; ++v, i += lanes)
        sums[v] += n - i < lanes ? load_part(x + i, n - i) : load(x + i);
    for (int half = vectors / 2; half > 0; half /= 2)
        for (int v = 0; v < half; ++v) sums[v] += sums[v + half];
    return sum(sums[0]);
}
void axpy(int n, float s, const float* x, float* y) {
    for (int i = 0; i < n; ++i) y[i] += s * x[i];
}

void convolve(int rows, int n, int taps, const float* w, std::ptrdiff_t ldw, const float* x, std::ptrdiff_t ldx,
              float* y, std::ptrdiff_t ldy) {
    for (int t = 0; t < rows; ++t, x += ldx, y += ldy) {
        int i = 0;
        for (; i + lanes <= n; i += lanes) {
            floats sum = load(y + i);
            for (int m = 0; m < taps; ++m) sum += load(w + m * ldw + i) * load(x + m * ldx + i);
            store(y + i, sum);
        }
        if (i == n) continue;
        floats sum = load_part(y + i, n - i);
        for (int m = 0; m < taps; ++m) sum += load_part(w + m * ldw + i, n - i) * load_part(x + m * ldx + i, n - i);
        store_part(y + i, n - i, sum);
    }
}

void rotate_adjacent(int n, const float* cos, const float* sin, float direction, float* x) {
    floats signs; // a cos - b s, b cos + a s
    for (int i = 0; i < lanes; ++i) signs[i] = i % 2 == 0 ? -direction : direction;
    int k = 0;
    for (; k + lanes / 2 <= n; k += lanes / 2) {
        const floats c = each_twice(*reinterpret_cast<const half_floats*>(cos + k));
        const floats s = each_twice(*reinterpret_cast<const half_floats*>(sin + k)) * signs;
        const floats v = load(x + 2 * k);
        store(x + 2 * k, v * c + neighbours_swapped(v) * s);
    }
    for (; k < n; ++k) {
        const float a = x[2 * k], b = x[2 * k + 1], s = direction * sin[k];
        x[2 * k] = a * cos[k] - b * s;
        x[2 * k + 1] = a * s + b * cos[k];
    }
}
void rotate_halves(int n, const float* cos, const float* sin, float direction, float* a, float* b) {
    for (int k = 0; k < n; ++k) {
        const float u = a[k], v = b[k], s = direction * sin[k];
        a[k] = u * cos[k] - v * s;
        b[k] = u * s + v * cos[k];
    }
}
void subtract_distance(int n, float slope, int at, const int* positions, float* y) {
    for (int i = 0; i < n; ++i) {
        const int distance = at - positions[i];
        y[i] -= slope * static_cast<float>(distance < 0 ? -distance : distance);
    }
}
bool consecutive(int n, const int* positions) {
    const auto first = static_cast<unsigned>(positions[0]); // unsigned: the sum may overflow
    unsigned wrong = 0;
    for (int i = 0; i < n; ++i) wrong |= static_cast<unsigned>(positions[i]) ^ (first + static_cast<unsigned>(i));
    return wrong == 0;
}

inline floats sigmoid_lanes(floats x) {
    return 1.0f / (1.0f + exp_lanes(-x));
}

// tanh(u) = 1 - 2 / (exp(2u) + 1), with u = sqrt(2/pi) (x + 0.044715 x^3): Hendrycks and Gimpel,
// arXiv 1606.08415.
inline floats gelu_inner(floats x) {
    return 0.7978845608028654f * (x + 0.044715f * x * x * x);
}
inline floats tanh_lanes(floats u) {
    return 1.0f - 2.0f / (exp_lanes(2.0f * u) + 1.0f);
}

// max(x, 0) + 2 artanh(u) with u = e / (2 + e), e = exp(-|x|): u is at most 1/3, so the terms after u^15 are below the
// rounding of a float.
inline floats softplus_lanes(floats x) {
    const ints positive = x > floats{};
    const floats e = exp_lanes(positive ? -x : x), u = e / (2.0f + e), v = u * u;
    floats p = splat(1 / 15.0f);
    for (const float term : {1 / 13.0f, 1 / 11.0f, 1 / 9.0f, 1 / 7.0f, 1 / 5.0f, 1 / 3.0f}) p = p * v + term;
    return (positive ? x : floats{}) + 2.0f * (u + u * v * p);
}
// x = q pi/2 + r with |r| <= pi/4; sin r and cos r as in Cephes' sinf and cosf, about 1 ulp.
inline void cos_sin_lanes(floats x, floats& cos, floats& sin) {
    const floats q = (x * 0.636619772367581343f + 12582912.0f) - 12582912.0f; // to nearest: 1.5 * 2^23
    const floats r = x - q * 1.5703125f - q * 4.837512969970703125e-4f - q * 7.549789948768648e-8f, z = r * r;
    const floats s = r + r * z * ((-1.9515295891e-4f * z + 8.3321608736e-3f) * z - 1.6666654611e-1f);
    const floats c =
        1.0f - 0.5f * z + z * z * ((2.443315711809948e-5f * z - 1.388731625493765e-3f) * z + 4.166664568298827e-2f);
    const ints quarter = __builtin_convertvector(q, ints), odd = (quarter & 1) != 0;
    const floats a = odd ? s : c, b = odd ? c : s;
    cos = ((quarter + 1) & 2) != 0 ? -a : a;
    sin = (quarter & 2) != 0 ? -b : b;
}

void softplus(int n, const float* x, float* y) {
    map(n, x, y, [](floats v, float*, int) { return softplus_lanes(v); });
}
void cos_sin(int n, const float* angle, float* cos, float* sin) {
    floats c, s;
    int i = 0;
    for (; i + lanes <= n; i += lanes) {
        cos_sin_lanes(load(angle + i), c, s);
        store(cos + i, c);
        store(sin + i, s);
    }
    if (i == n) return;
    cos_sin_lanes(load_part(angle + i, n - i), c, s);
    store_part(cos + i, n - i, c);
    store_part(sin + i, n - i, s);
}
void sigmoid(int n, const float* x, float* y) {
    map(n, x, y, [](floats v, float*, int) { return sigmoid_lanes(v); });
}
void silu(int n, const float* x, float* y) {
    map(n, x, y, [](floats v, float*, int) { return v * sigmoid_lanes(v); });
}
void gelu_tanh(int n, const float* x, float* y) {
    // (1 + tanh(u)) / 2 = 1 / (1 + exp(-2u)), which does not cancel for u < 0.
    map(n, x, y, [](floats v, float*, int) { return v * sigmoid_lanes(2.0f * gelu_inner(v)); });
}
void silu_grad(int n, const float* x, float* dx) {
    map(n, x, dx, [](floats v, float* d, int count) {
        const floats s = sigmoid_lanes(v);
        return load_part(d, count) * (s * (1.0f + v * (1.0f - s)));
    });
}
void gelu_tanh_grad(int n, const float* x, float* dx) {
    map(n, x, dx, [](floats v, float* d, int count) {
        const floats t = tanh_lanes(gelu_inner(v));
        const floats inner = 0.7978845608028654f * (1.0f + 3 * 0.044715f * v * v);
        return load_part(d, count) * (0.5f * (1.0f + t) + 0.5f * v * (1.0f - t * t) * inner);
    });
}

void adamw(int n, float* w, const float* g, float* m, float* v, float g_scale, float lr, float beta1, float beta2,
           float eps, float decay, float correction1, float correction2) {
    for (int i = 0; i < n; ++i) {
        const float gradient = g[i] * g_scale;
        m[i] = beta1 * m[i] + (1 - beta1) * gradient;
        v[i] = beta2 * v[i] + (1 - beta2) * gradient * gradient;
        w[i] -= lr * (m[i] * correction1 / (__builtin_sqrtf(v[i] * correction2) + eps) + decay * w[i]);
    }
}

} // namespace
