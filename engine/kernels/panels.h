// SPDX-License-Identifier: MIT
// Products with packed weights, included by each instruction set after vectors.h. kernels.h describes the layout. Here
// are floats and half precision; quant_panels.h has blocks of 32 and super_panels.h blocks of 256. Every output is one
// chain of additions over ascending k, independent of the other rows, panels and threads. A row of a batch therefore
// has the same bits as that row alone.

namespace {

constexpr int panel_outputs = ordo::panel_outputs, panel_vectors = panel_outputs / lanes;

// Prefetches the memory AFTER bytes after p. The hardware prefetcher stops at the end of every page, and a panel has
// few pages. An unmapped address does no harm.
template <std::ptrdiff_t AFTER, std::ptrdiff_t BYTES>
inline void prefetch(const std::byte* p) {
    constexpr std::ptrdiff_t line = 64;
    for (std::ptrdiff_t i = 0; i < BYTES; i += line) __builtin_prefetch(p + AFTER + i);
}

// ---- Floats and half precision -----------------------------------------------------------------

constexpr std::ptrdiff_t halves_ahead = 2048; // bytes

struct F32Panel { // [k][32]
    // k taken at once, their bytes, and the prefetch distance.
    static constexpr int depth = 1, bytes = 128, ahead = 8192;
    // Vector v of the 32 outputs' weights for this k.
    static void load(const std::byte* step, int v, floats (&w)[1]) {
        w[0] = ::load(reinterpret_cast<const float*>(step) + lanes * v);
    }
};

struct F16Panel { // [k][32]
    static constexpr int depth = 1, bytes = 64, ahead = halves_ahead;
    static void load(const std::byte* step, int v, floats (&w)[1]) {
        w[0] = ::load(reinterpret_cast<const half_t*>(step) + lanes * v);
    }
};

struct Bf16Panel { // [k / 2][32][2]
    static constexpr int depth = 2, bytes = 128, ahead = halves_ahead;
    static void load(const std::byte* step, int v, floats (&w)[2]) {
        const words pair = *reinterpret_cast<const words*>(step + 4 * lanes * v);
        const words low = pair << 16, high = pair & 0xffff0000u;
        w[0] = reinterpret_cast<const floats&>(low);
        w[1] = reinterpret_cast<const floats&>(high);
    }
};

template <int VECTORS>
inline void store_outputs(float* y, int outputs, const floats (&acc)[VECTORS]) {
    for (int v = 0; v < VECTORS; ++v) {
        const int n = outputs - lanes * v;
        if (n >= lanes)
            store(y + lanes * v, acc[v]);
        else if (n > 0)
            store_part(y + lanes * v, n, acc[v]);
    }
}

// Fetches the lines of a tile's outputs while it is computed. Otherwise its stores would wait for each line in turn.
template <int ROWS, int OUTPUTS = panel_outputs>
inline void prefetch_outputs(const float* y, std::ptrdiff_t ldy) {
    constexpr int line = 16; // floats
    for (int r = 0; r < ROWS; ++r)
        for (int i = 0; i < OUTPUTS; i += line) __builtin_prefetch(y + r * ldy + i, 1);
}

template <int VECTORS>
inline void load_outputs(const float* y, int outputs, floats (&acc)[VECTORS]) {
    for (int v = 0; v < VECTORS; ++v) {
        const int n = outputs - lanes * v;
        acc[v] = n >= lanes ? load(y + lanes * v) : n > 0 ? load_part(y + lanes * v, n) : floats{};
    }
}

// ROWS rows of x by VECTORS vectors of weights, from vector `first` of a panel on, or by whole panels in turn. Stores
// `outputs` outputs.
template <class Panel, int ROWS, int VECTORS>
inline void panel_tile(int k, const std::byte* w, std::ptrdiff_t panel_bytes, int first, const float* x,
                       std::ptrdiff_t ldx, float* y, std::ptrdiff_t ldy, int outputs) {
    constexpr int panels = VECTORS > panel_vectors ? VECTORS / panel_vectors : 1;
    constexpr int steps_ahead = Panel::ahead / Panel::bytes * Panel::depth;
    prefetch_outputs<ROWS, panels * panel_outputs>(y, ldy);
    alignas(64) floats acc[ROWS][VECTORS]; // a reference to it drops the reduced alignment of its type
    clear(acc);
    const auto step = [&]<int DEPTH>(int l, const std::byte* at) {
        alignas(64) floats weights[VECTORS][Panel::depth];
        for (int v = 0; v < VECTORS; ++v)
            Panel::load(at + v / panel_vectors * panel_bytes, first + v % panel_vectors, weights[v]);
        for (int d = 0; d < DEPTH; ++d)
            for (int r = 0; r < ROWS; ++r) {
                const floats value = splat(x[r * ldx + l + d]);
                for (int v = 0; v < VECTORS; ++v) acc[r][v] += value * weights[v][d];
            }
    };
    int l = 0;
    const auto steps = [&]<int N>() { // N at once: with one or two rows, the loop overhead would cost as much as a step
        for (; l + N * Panel::depth <= k; l += N * Panel::depth, w += N * Panel::bytes) {
            const bool beyond = panels > 1 && l + steps_ahead >= k; // the next panels begin after the last of these
            for (int p = 0; p < panels; ++p)
                prefetch<Panel::ahead, N * Panel::bytes>(w + (p + (beyond ? panels - 1 : 0)) * panel_bytes);
            for (int i = 0; i < N; ++i)
                step.template operator()<Panel::depth>(l + i * Panel::depth, w + i * Panel::bytes);
        }
    };
    if constexpr (ROWS <= 2) steps.template operator()<4>();
    steps.template operator()<1>();
    if (l < k) step.template operator()<1>(l, w);
    for (int r = 0; r < ROWS; ++r) store_outputs(y + r * ldy, outputs, acc[r]);
}

// All rows of x by one panel, in groups of ROWS.
template <class Panel, int ROWS, int VECTORS>
inline int panel_rows(int row, int rows, int k, const std::byte* w, const float* x, std::ptrdiff_t ldx, float* y,
                      std::ptrdiff_t ldy, int outputs) {
    constexpr int vectors = VECTORS < panel_vectors ? VECTORS : panel_vectors;
    for (; row + ROWS <= rows; row += ROWS)
        for (int first = 0; first < panel_vectors && lanes * first < outputs; first += vectors)
            panel_tile<Panel, ROWS, vectors>(k, w, 0, first, x + row * ldx, ldx, y + row * ldy + lanes * first, ldy,
                                             outputs - lanes * first);
    return row;
}

// With fewer rows than a tile, each row takes more vectors: the additions of one chain wait for each other.
template <class Panel>
void panel_product(int rows, int outputs, int k, const std::byte* w, std::ptrdiff_t panel_bytes, const float* x,
                   std::ptrdiff_t ldx, float* y, std::ptrdiff_t ldy) {
    int at = 0;
    // A row alone takes two panels at once: the additions of one would wait for each other. f32 waits for memory, and
    // more than four vectors do not fit the registers.
    if constexpr (Panel::bytes == 64 * Panel::depth && panel_vectors <= 4)
        for (; rows == 1 && outputs - at > panel_outputs; at += 2 * panel_outputs, w += 2 * panel_bytes)
            panel_tile<Panel, 1, 2 * panel_vectors>(k, w, panel_bytes, 0, x, ldx, y + at, ldy, outputs - at);
    for (; at < outputs; at += panel_outputs, w += panel_bytes) {
        const int left = outputs - at < panel_outputs ? outputs - at : panel_outputs;
        const auto take = [&]<int ROWS, int VECTORS>(int row) {
            return panel_rows<Panel, ROWS, VECTORS>(row, rows, k, w, x, ldx, y + at, ldy, left);
        };
        int row = take.template operator()<tiles.panel_rows, tiles.panel_vectors>(0);
        if (tiles.panel_rows > 8) row = take.template operator()<8, tiles.panel_vectors>(row);
        if (tiles.panel_rows > 4) row = take.template operator()<4, tiles.panel_vectors>(row);
        row = take.template operator()<2, 2 * tiles.panel_vectors>(row);
        take.template operator()<1, 4 * tiles.panel_vectors>(row);
    }
}

// ---- bf16 by bf16 ------------------------------------------------------------------------------

#if defined(__AVX512BF16__)
// As panel_tile of Bf16Panel, with rows of bf16: a broadcast pair of x is multiplied with pairs of 16 outputs.
template <int ROWS, int PANELS>
inline void pair_tile(int pairs, const std::byte* w, std::ptrdiff_t panel_bytes, const std::uint16_t* x,
                      std::ptrdiff_t ldx, float* y, std::ptrdiff_t ldy, int outputs, bool add) {
    constexpr int vectors = PANELS * panel_vectors;
    prefetch_outputs<ROWS, PANELS * panel_outputs>(y, ldy);
    alignas(64) floats acc[ROWS][vectors];
    if (add)
        for (int r = 0; r < ROWS; ++r) load_outputs(y + r * ldy, outputs, acc[r]);
    else
        clear(acc);
    for (int l = 0; l < pairs; ++l, w += 128) {
        __m512bh weights[vectors];
        for (int v = 0; v < vectors; ++v) {
            const std::byte* const from = w + v / panel_vectors * panel_bytes + v % panel_vectors * 64;
            prefetch<halves_ahead, 64>(from + (PANELS > 1 && l + halves_ahead / 128 >= pairs ? panel_bytes : 0));
            weights[v] = reinterpret_cast<__m512bh>(_mm512_loadu_si512(from));
        }
        for (int r = 0; r < ROWS; ++r) { // uses a row's pair before loading the next one: more do not fit the registers
            int pair;
            __builtin_memcpy(&pair, x + r * ldx + 2 * l, sizeof pair);
            const auto both = reinterpret_cast<__m512bh>(_mm512_set1_epi32(pair));
            for (int v = 0; v < vectors; ++v)
                acc[r][v] =
                    reinterpret_cast<floats>(_mm512_dpbf16_ps(reinterpret_cast<__m512>(acc[r][v]), weights[v], both));
        }
    }
    for (int r = 0; r < ROWS; ++r) store_outputs(y + r * ldy, outputs, acc[r]);
}

template <int ROWS>
inline int pair_rows(int row, int rows, int pairs, const std::byte* w, const std::uint16_t* x, std::ptrdiff_t ldx,
                     float* y, std::ptrdiff_t ldy, int outputs, bool add) {
    for (; row + ROWS <= rows; row += ROWS)
        pair_tile<ROWS, 1>(pairs, w, 0, x + row * ldx, ldx, y + row * ldy, ldy, outputs, add);
    return row;
}

[[maybe_unused]] void pair_product(int rows, int outputs, int k, const std::byte* w, std::ptrdiff_t panel_bytes,
                                   const std::uint16_t* x, std::ptrdiff_t ldx, float* y, std::ptrdiff_t ldy, bool add) {
    const int pairs = (k + 1) / 2;
    int at = 0;
    if (rows == 1) // as in panel_product
        for (; outputs - at >= 2 * panel_outputs; at += 2 * panel_outputs, w += 2 * panel_bytes)
            pair_tile<1, 2>(pairs, w, panel_bytes, x, ldx, y + at, ldy, 2 * panel_outputs, add);
    for (; at < outputs; at += panel_outputs, w += panel_bytes) {
        const int left = outputs - at < panel_outputs ? outputs - at : panel_outputs;
        int row = pair_rows<tiles.panel_rows>(0, rows, pairs, w, x, ldx, y + at, ldy, left, add);
        row = pair_rows<4>(row, rows, pairs, w, x, ldx, y + at, ldy, left, add);
        pair_rows<1>(row, rows, pairs, w, x, ldx, y + at, ldy, left, add);
    }
}

void round_to_bf16(int n, const float* x, std::uint16_t* y) {
    const auto rounded = [](floats v) { return _mm512_cvtneps_pbh(reinterpret_cast<__m512>(v)); };
    int i = 0;
    for (; i + lanes <= n; i += lanes) {
        const auto all = rounded(load(x + i));
        __builtin_memcpy(y + i, &all, sizeof all);
    }
    if (i == n) return;
    const auto last = rounded(load_part(x + i, n - i));
    __builtin_memcpy(y + i, &last, 2 * static_cast<std::size_t>(n - i));
}

// 16 columns of two rows of floats as pairs of bf16; no row is zeros.
inline words round_pairs(const float* row, const float* next, __mmask16 some) {
    const auto part = [&](const float* p) { return p ? _mm512_maskz_loadu_ps(some, p) : _mm512_setzero_ps(); };
    const __m512i in_turn = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                                             21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    const __m512bh rounded = _mm512_cvtne2ps_pbh(part(next), part(row));
    return reinterpret_cast<words>(_mm512_permutexvar_epi16(in_turn, reinterpret_cast<__m512i>(rounded)));
}

// Four times, rows i and i + 8 become the rows 2 i and 2 i + 1, their words in turn.
inline void transpose(words (&w)[16]) {
    for (int times = 0; times < 4; ++times) {
        words next[16];
        for (int i = 0; i < 8; ++i) {
            next[2 * i] =
                __builtin_shufflevector(w[i], w[i + 8], 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
            next[2 * i + 1] =
                __builtin_shufflevector(w[i], w[i + 8], 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
        }
        for (int i = 0; i < 16; ++i) w[i] = next[i];
    }
}

// Calls body(pair, column, words) for 16 pairs of rows by 16 columns of x [k, n] at a time: words[i] has the columns of
// pair + i. The lines of the next pairs are prefetched.
template <class Body>
inline void for_pairs_down(int k, int n, const float* x, std::ptrdiff_t ldx, const Body& body) {
    for (int first = 0; first < k; first += 2 * lanes)
        for (int col = 0; col < n; col += lanes) {
            const auto some = static_cast<__mmask16>(n - col < lanes ? (1u << (n - col)) - 1u : 0xffffu);
            words w[lanes];
            for (int i = 0; i < lanes; ++i) {
                const int row = first + 2 * i;
                const float* const at = x + row * ldx + col;
                __builtin_prefetch(at + 2 * lanes * ldx);
                __builtin_prefetch(at + (2 * lanes + 1) * ldx);
                w[i] = round_pairs(row < k ? at : nullptr, row + 1 < k ? at + ldx : nullptr, some);
            }
            body(first / 2, col, w);
        }
}

// The same for x [n, k]: words[i] has the pairs from `pair` on of row `column` + i.
template <class Body>
inline void for_pairs_along(int k, int n, const float* x, std::ptrdiff_t ldx, const Body& body) {
    const auto half = [](int left) { // a mask
        return static_cast<__mmask16>(left <= 0 ? 0u : left < lanes ? (1u << left) - 1u : 0xffffu);
    };
    for (int col = 0; col < n; col += lanes)
        for (int first = 0; first < k; first += 2 * lanes) {
            words w[lanes];
            for (int i = 0; i < lanes; ++i) {
                const float* const at = x + (col + i) * ldx + first;
                __builtin_prefetch(at + lanes * ldx);
                __builtin_prefetch(at + lanes * (ldx + 1));
                const bool none = col + i >= n;
                w[i] = reinterpret_cast<words>(
                    _mm512_cvtne2ps_pbh(_mm512_maskz_loadu_ps(none ? 0 : half(k - first - lanes), at + lanes),
                                        _mm512_maskz_loadu_ps(none ? 0 : half(k - first), at)));
            }
            body(first / 2, col, w);
        }
}

[[maybe_unused]] void pack_pair_rows(int rows, int k, const float* x, std::ptrdiff_t ldx, bool transposed,
                                     std::uint32_t* out, std::ptrdiff_t ldo) {
    const auto put = [&](int pair, int row, const words(&w)[lanes]) {
        for (int i = 0; i < lanes && row + i < rows; ++i)
            *reinterpret_cast<words*>(out + (row + i) * ldo + pair) = w[i];
    };
    if (!transposed) return for_pairs_along(k, rows, x, ldx, put);
    for_pairs_down(k, rows, x, ldx, [&](int pair, int row, words(&w)[lanes]) {
        transpose(w);
        put(pair, row, w);
    });
}

[[maybe_unused]] void pack_pair_panels(int outputs, int k, const float* x, std::ptrdiff_t ldx, bool transposed,
                                       std::uint32_t* out, std::ptrdiff_t panel) {
    const auto put = [&](int pair, int output, const words(&w)[lanes]) {
        std::uint32_t* const to = out + output / panel_outputs * panel + output % panel_outputs;
        for (int i = 0; i < lanes; ++i) *reinterpret_cast<words*>(to + (pair + i) * panel_outputs) = w[i];
    };
    if (transposed) return for_pairs_down(k, outputs, x, ldx, put);
    for_pairs_along(k, outputs, x, ldx, [&](int pair, int output, words(&w)[lanes]) {
        transpose(w);
        put(pair, output, w);
    });
}
#else
constexpr ordo::PairProduct pair_product = nullptr;
constexpr void (*round_to_bf16)(int, const float*, std::uint16_t*) = nullptr;
constexpr ordo::PackPairs pack_pair_rows = nullptr, pack_pair_panels = nullptr;
#endif

} // namespace
