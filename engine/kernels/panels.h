// SPDX-License-Identifier: MIT
// Products with packed weights, included by one file per instruction set after vectors.h; the layout is
// described in kernels.h. Here halves; quant_panels.h has blocks of 32 and super_panels.h those of 256. Every output is one chain of additions over ascending k, whatever the rows,
// panels and threads around it: a row of a batch has the bits that it has alone.

namespace {

constexpr int panel_outputs = ordo::panel_outputs, panel_vectors = panel_outputs / lanes;

// ---- Halves ---------------------------------------------------------------------------------

struct F16Panel {                   // [k][32]
    static constexpr int depth = 1; // k taken at once
    // Of k, vector v of the 32 outputs' weights.
    static void load(const std::byte* panel, int k, int v, floats (&w)[1]) {
        w[0] = ::load(reinterpret_cast<const half_t*>(panel + static_cast<std::ptrdiff_t>(k) * 64) + lanes * v);
    }
};

struct Bf16Panel { // [k / 2][32][2]
    static constexpr int depth = 2;
    static void load(const std::byte* panel, int k, int v, floats (&w)[2]) {
        const words pair = *reinterpret_cast<const words*>(panel + static_cast<std::ptrdiff_t>(k) * 64 + 4 * lanes * v);
        const words low = pair << 16, high = pair & 0xffff0000u;
        w[0] = reinterpret_cast<const floats&>(low);
        w[1] = reinterpret_cast<const floats&>(high);
    }
};

inline void store_outputs(float* y, int outputs, const floats (&acc)[panel_vectors]) {
    for (int v = 0; v < panel_vectors; ++v) {
        const int n = outputs - lanes * v;
        if (n >= lanes)
            store(y + lanes * v, acc[v]);
        else
            for (int i = 0; i < n; ++i) y[lanes * v + i] = acc[v][i];
    }
}

// ROWS rows of x by one panel, of which `outputs` outputs are wanted.
template <class Panel, int ROWS>
inline void half_tile(int k, const std::byte* w, const float* x, std::ptrdiff_t ldx, float* y, std::ptrdiff_t ldy,
                      int outputs) {
    alignas(64) floats acc[ROWS][panel_vectors] = {}; // references to it lose that its type may lie anywhere
    const auto step = [&]<int DEPTH>(int l) {
        if constexpr (ROWS > panel_vectors) { // registers hold what is fewer: the weights, or what x spreads
            alignas(64) floats weights[panel_vectors][Panel::depth];
            for (int v = 0; v < panel_vectors; ++v) Panel::load(w, l, v, weights[v]);
            for (int d = 0; d < DEPTH; ++d)
                for (int r = 0; r < ROWS; ++r)
                    for (int v = 0; v < panel_vectors; ++v) acc[r][v] += splat(x[r * ldx + l + d]) * weights[v][d];
            return;
        }
        for (int v = 0; v < panel_vectors; ++v) {
            alignas(64) floats weights[Panel::depth];
            Panel::load(w, l, v, weights);
            for (int d = 0; d < DEPTH; ++d)
                for (int r = 0; r < ROWS; ++r) acc[r][v] += splat(x[r * ldx + l + d]) * weights[d];
        }
    };
    int l = 0;
    for (; l + Panel::depth <= k; l += Panel::depth) step.template operator()<Panel::depth>(l);
    if (l < k) step.template operator()<1>(l);
    for (int r = 0; r < ROWS; ++r) store_outputs(y + r * ldy, outputs, acc[r]);
}

// All rows of x by one panel, as many at once as accumulators fit the registers.
template <class Panel, int ROWS>
inline int half_rows(int row, int rows, int k, const std::byte* w, const float* x, std::ptrdiff_t ldx, float* y,
                     std::ptrdiff_t ldy, int outputs) {
    for (; row + ROWS <= rows; row += ROWS)
        half_tile<Panel, ROWS>(k, w, x + row * ldx, ldx, y + row * ldy, ldy, outputs);
    return row;
}

template <class Panel>
void half_product(int rows, int outputs, int k, const std::byte* w, std::ptrdiff_t panel_bytes, const float* x,
                  std::ptrdiff_t ldx, float* y, std::ptrdiff_t ldy) {
    for (int at = 0; at < outputs; at += panel_outputs, w += panel_bytes) {
        const int left = outputs - at < panel_outputs ? outputs - at : panel_outputs;
        int row = half_rows<Panel, tiles.half_rows>(0, rows, k, w, x, ldx, y + at, ldy, left);
        if (tiles.half_rows > 8) row = half_rows<Panel, 8>(row, rows, k, w, x, ldx, y + at, ldy, left);
        if (tiles.half_rows > 4) row = half_rows<Panel, 4>(row, rows, k, w, x, ldx, y + at, ldy, left);
        if (tiles.half_rows > 2) row = half_rows<Panel, 2>(row, rows, k, w, x, ldx, y + at, ldy, left);
        half_rows<Panel, 1>(row, rows, k, w, x, ldx, y + at, ldy, left);
    }
}

// ---- Halves by halves -------------------------------------------------------------------------

#if defined(__AVX512BF16__)
// As half_tile of Bf16Panel, with rows of bf16: a broadcast pair of x meets pairs of 16 outputs.
template <int ROWS>
inline void pair_tile(int pairs, const std::byte* w, const std::uint16_t* x, std::ptrdiff_t ldx, float* y,
                      std::ptrdiff_t ldy, int outputs) {
    alignas(64) floats acc[ROWS][panel_vectors] = {};
    for (int l = 0; l < pairs; ++l)
        for (int v = 0; v < panel_vectors; ++v) {
            const __m512i weights = _mm512_loadu_si512(w + static_cast<std::ptrdiff_t>(l) * 128 + 64 * v);
            for (int r = 0; r < ROWS; ++r) {
                int pair;
                __builtin_memcpy(&pair, x + r * ldx + 2 * l, sizeof pair);
                acc[r][v] = reinterpret_cast<floats>(
                    _mm512_dpbf16_ps(reinterpret_cast<__m512>(acc[r][v]), reinterpret_cast<__m512bh>(weights),
                                     reinterpret_cast<__m512bh>(_mm512_set1_epi32(pair))));
            }
        }
    for (int r = 0; r < ROWS; ++r) store_outputs(y + r * ldy, outputs, acc[r]);
}

template <int ROWS>
inline int pair_rows(int row, int rows, int pairs, const std::byte* w, const std::uint16_t* x, std::ptrdiff_t ldx,
                     float* y, std::ptrdiff_t ldy, int outputs) {
    for (; row + ROWS <= rows; row += ROWS) pair_tile<ROWS>(pairs, w, x + row * ldx, ldx, y + row * ldy, ldy, outputs);
    return row;
}

void pair_product(int rows, int outputs, int k, const std::byte* w, std::ptrdiff_t panel_bytes, const std::uint16_t* x,
                  std::ptrdiff_t ldx, float* y, std::ptrdiff_t ldy) {
    for (int at = 0; at < outputs; at += panel_outputs, w += panel_bytes) {
        const int left = outputs - at < panel_outputs ? outputs - at : panel_outputs, pairs = (k + 1) / 2;
        int row = pair_rows<tiles.half_rows>(0, rows, pairs, w, x, ldx, y + at, ldy, left);
        row = pair_rows<4>(row, rows, pairs, w, x, ldx, y + at, ldy, left);
        pair_rows<1>(row, rows, pairs, w, x, ldx, y + at, ldy, left);
    }
}

void round_to_bf16(int n, const float* x, std::uint16_t* y) {
    for (int i = 0; i < n; i += lanes) {
        const floats v = n - i < lanes ? load_part(x + i, n - i) : load(x + i);
        const auto rounded = _mm512_cvtneps_pbh(reinterpret_cast<__m512>(v));
        __builtin_memcpy(y + i, &rounded, 2 * static_cast<std::size_t>(n - i < lanes ? n - i : lanes));
    }
}
#else
constexpr ordo::PairProduct pair_product = nullptr;
constexpr void (*round_to_bf16)(int, const float*, std::uint16_t*) = nullptr;
#endif

} // namespace
