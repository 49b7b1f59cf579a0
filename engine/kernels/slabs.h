// SPDX-License-Identifier: MIT
// Products with the values of a cache, which lie in slabs of 64 tokens (kernels.h). Included after quant_panels.h.
// Every output is one chain of additions over ascending rows of b.

namespace {

constexpr int slab_depth = 64, slab_scales = 2 * slab_depth; // rows of b, and bytes before a block's bytes
#if defined(__AVX512BF16__)
constexpr int slab_tile_rows = 12;
#else
constexpr int slab_tile_rows = whole_rows;
#endif

// Multiplies up to 64 weights of ROWS rows of a with the scales of their rows of b, which is cheap compared with the
// values. The rest of the last vector is 0: scales there are not read, as they may belong to a later token.
template <int ROWS, class Store>
inline void scale_weights(const float* a, std::ptrdiff_t lda, int some, const std::byte* block, const Store& store_to) {
    for (int i = 0; i < some; i += lanes) {
        const half_t* const stored = reinterpret_cast<const half_t*>(block) + i;
        const floats scales = some - i < lanes ? load_part(stored, some - i) : load(stored);
        for (int r = 0; r < ROWS; ++r) {
            const float* const from = a + r * lda + i;
            store_to(r, i, (some - i < lanes ? load_part(from, some - i) : load(from)) * scales);
        }
    }
}

// The values of a row of a slab's block.
inline const signed char* slab_values(const std::byte* block, int i) {
    const std::byte* const row = block + slab_scales + 32 * i;
    if (i % 2 == 0) prefetch<blocks_ahead, 64>(row);
    return reinterpret_cast<const signed char*>(row);
}

#if defined(__AVX512BF16__)
// 16 values of two neighbouring rows as pairs of bf16, which holds a byte exactly.
inline __m512bh byte_pairs(const signed char* row) {
    const auto floats_of = [](const signed char* p) { return _mm512_castps_si512(reinterpret_cast<__m512>(load(p))); };
    return reinterpret_cast<__m512bh>(_mm512_or_si512(_mm512_srli_epi32(floats_of(row), 16), floats_of(row + 32)));
}

// The first ROWS rows of a by BLOCKS blocks of 32 columns of b; stores `cols` columns. Scaled weights are rounded to
// bf16, so that two rows of b are multiplied at once.
template <int ROWS, int BLOCKS>
inline void slab_tile(int k, const float* a, std::ptrdiff_t lda, const std::byte* b, std::ptrdiff_t slab_bytes,
                      float* c, std::ptrdiff_t ldc, int cols) {
    constexpr int vectors = 32 / lanes, bytes = slab_scales + 32 * slab_depth;
    alignas(64) floats acc[ROWS][BLOCKS * vectors];
    clear(acc);
    for (int first = 0; first < k; first += slab_depth, b += slab_bytes) {
        const int some = k - first < slab_depth ? k - first : slab_depth;
        alignas(64) std::uint16_t scaled[BLOCKS][ROWS][slab_depth];
        for (int block = 0; block < BLOCKS; ++block)
            scale_weights<ROWS>(a + first, lda, some, b + block * bytes, [&](int r, int i, floats weights) {
                const auto rounded = _mm512_cvtneps_pbh(reinterpret_cast<__m512>(weights));
                __builtin_memcpy(scaled[block][r] + i, &rounded, sizeof rounded);
            });
        for (int i = 0; i < some; i += 2)
            for (int block = 0; block < BLOCKS; ++block) {
                const signed char* const row = slab_values(b + block * bytes, i);
                __m512bh values[vectors];
                for (int v = 0; v < vectors; ++v) values[v] = byte_pairs(row + lanes * v);
                for (int r = 0; r < ROWS; ++r) {
                    int pair;
                    __builtin_memcpy(&pair, scaled[block][r] + i, sizeof pair);
                    const auto both = reinterpret_cast<__m512bh>(_mm512_set1_epi32(pair));
                    for (int v = 0; v < vectors; ++v) {
                        floats& sum = acc[r][block * vectors + v];
                        sum =
                            reinterpret_cast<floats>(_mm512_dpbf16_ps(reinterpret_cast<__m512>(sum), values[v], both));
                    }
                }
            }
    }
    for (int r = 0; r < ROWS; ++r) store_outputs(c + r * ldc, cols, acc[r]);
}
#else
// The first ROWS rows of a by BLOCKS blocks of 32 columns of b; stores `cols` columns.
template <int ROWS, int BLOCKS>
inline void slab_tile(int k, const float* a, std::ptrdiff_t lda, const std::byte* b, std::ptrdiff_t slab_bytes,
                      float* c, std::ptrdiff_t ldc, int cols) {
    constexpr int vectors = 32 / lanes, bytes = slab_scales + 32 * slab_depth;
    alignas(64) floats acc[ROWS][BLOCKS * vectors];
    clear(acc);
    for (int first = 0; first < k; first += slab_depth, b += slab_bytes) {
        const int some = k - first < slab_depth ? k - first : slab_depth;
        alignas(64) float scaled[BLOCKS][ROWS][slab_depth];
        for (int block = 0; block < BLOCKS; ++block)
            scale_weights<ROWS>(a + first, lda, some, b + block * bytes,
                                [&](int r, int i, floats weights) { store(scaled[block][r] + i, weights); });
        for (int i = 0; i < some; ++i)
            for (int block = 0; block < BLOCKS; ++block) {
                const signed char* const row = slab_values(b + block * bytes, i);
                for (int v = 0; v < vectors; ++v) {
                    const floats values = load(row + lanes * v);
                    for (int r = 0; r < ROWS; ++r) acc[r][block * vectors + v] += splat(scaled[block][r][i]) * values;
                }
            }
    }
    for (int r = 0; r < ROWS; ++r) store_outputs(c + r * ldc, cols, acc[r]);
}
#endif

struct ByteSlab {
    static constexpr std::ptrdiff_t bytes = slab_scales + 32 * slab_depth; // of a block
    template <int ROWS, int BLOCKS>
    static void tile(int k, const float* a, std::ptrdiff_t lda, const std::byte* b, std::ptrdiff_t slab_bytes, float* c,
                     std::ptrdiff_t ldc, int cols) {
        slab_tile<ROWS, BLOCKS>(k, a, lda, b, slab_bytes, c, ldc, cols);
    }
};

// Blocks of pairs of bf16: [32][32][2], two neighbouring rows of b of each column. Where the machine multiplies pairs,
// weights are rounded to bf16.
struct PairSlab {
    static constexpr std::ptrdiff_t bytes = 2 * 32 * slab_depth;
    template <int ROWS, int BLOCKS>
    static void tile(int k, const float* a, std::ptrdiff_t lda, const std::byte* b, std::ptrdiff_t slab_bytes, float* c,
                     std::ptrdiff_t ldc, int cols) {
        alignas(64) floats acc[BLOCKS][ROWS][panel_vectors];
        for (auto& block : acc) clear(block);
        for (int first = 0; first < k; first += slab_depth, b += slab_bytes) {
            const int some = k - first < slab_depth ? k - first : slab_depth;
            const Weights<ROWS> weights(a + first, lda, some);
            const auto add = [&](int i, std::uint32_t counted) {
                for (int block = 0; block < BLOCKS; ++block) {
                    const std::byte* const pairs = b + block * bytes + 64 * i;
                    prefetch<halves_ahead, 128>(pairs);
                    words both[panel_vectors];
                    for (int v = 0; v < panel_vectors; ++v) both[v] = load_words(pairs + 4 * lanes * v) & counted;
                    weights.add(i, both, acc[block]);
                }
            };
            int i = 0;
            for (; i + 2 <= some; i += 2) add(i, 0xffffffffu);
            if (i < some) add(i, 0xffffu); // the other row may belong to a later token
        }
        for (int block = 0; block < BLOCKS; ++block)
            for (int r = 0; r < ROWS; ++r) store_outputs(c + r * ldc + 32 * block, cols - 32 * block, acc[block][r]);
    }

private:
    // Up to 64 weights of each row of a, and one after an odd number that is 0.
    template <int ROWS>
    struct Weights {
#if defined(__AVX512BF16__)
        using Weight = std::uint16_t;
        void add(int i, const words (&pairs)[panel_vectors], floats (&acc)[ROWS][panel_vectors]) const {
            for (int r = 0; r < ROWS; ++r) {
                int two;
                __builtin_memcpy(&two, values[r] + i, sizeof two);
                const auto both = reinterpret_cast<__m512bh>(_mm512_set1_epi32(two));
                for (int v = 0; v < panel_vectors; ++v)
                    acc[r][v] = reinterpret_cast<floats>(_mm512_dpbf16_ps(reinterpret_cast<__m512>(acc[r][v]),
                                                                          reinterpret_cast<__m512bh>(pairs[v]), both));
            }
        }
#else
        using Weight = float;
        void add(int i, const words (&pairs)[panel_vectors], floats (&acc)[ROWS][panel_vectors]) const {
            for (int v = 0; v < panel_vectors; ++v) {
                const words low = pairs[v] << 16, high = pairs[v] & 0xffff0000u;
                for (int r = 0; r < ROWS; ++r) {
                    acc[r][v] += splat(values[r][i]) * reinterpret_cast<const floats&>(low);
                    acc[r][v] += splat(values[r][i + 1]) * reinterpret_cast<const floats&>(high);
                }
            }
        }
#endif
        alignas(64) Weight values[ROWS][slab_depth];
        Weights(const float* a, std::ptrdiff_t lda, int some) {
            for (int r = 0; r < ROWS; ++r, a += lda) {
#if defined(__AVX512BF16__)
                round_to_bf16(some, a, values[r]);
#else
                __builtin_memcpy(values[r], a, sizeof(float) * static_cast<std::size_t>(some));
#endif
                if (some % 2 != 0) values[r][some] = 0;
            }
        }
    };
};

// Slab::tile<ROWS, BLOCKS> multiplies the first ROWS rows of a by BLOCKS blocks of 32 columns of b.
template <class Slab, int ROWS, int BLOCKS>
inline int slab_rows(int row, int m, int n, int k, const float* a, std::ptrdiff_t lda, const std::byte* b, float* c,
                     std::ptrdiff_t ldc) {
    const int blocks = (n + 31) / 32;
    for (; row + ROWS <= m; row += ROWS) {
        const auto multiply = [&]<int N>(int block) {
            Slab::template tile<ROWS, N>(k, a + row * lda, lda, b + block * Slab::bytes, blocks * Slab::bytes,
                                         c + row * ldc + 32 * block, ldc, n - 32 * block);
        };
        int block = 0;
        for (; block + BLOCKS <= blocks; block += BLOCKS) multiply.template operator()<BLOCKS>(block);
        for (; block < blocks; ++block) multiply.template operator()<1>(block);
    }
    return row;
}

// A single row takes two blocks at once: the additions of one chain wait for each other.
template <class Slab>
void slab_product(int m, int n, int k, const float* a, std::ptrdiff_t lda, const std::byte* b, float* c,
                  std::ptrdiff_t ldc) {
    int row = slab_rows<Slab, slab_tile_rows, 1>(0, m, n, k, a, lda, b, c, ldc);
    if (slab_tile_rows > 4) row = slab_rows<Slab, 4, 1>(row, m, n, k, a, lda, b, c, ldc);
    if (slab_tile_rows > 2) row = slab_rows<Slab, 2, 1>(row, m, n, k, a, lda, b, c, ldc);
    slab_rows<Slab, 1, 2>(row, m, n, k, a, lda, b, c, ldc);
}

constexpr ordo::PairLoops pair_loops{slab_product<ByteSlab>, slab_product<PairSlab>, pair_product, round_to_bf16,
                                     pack_pair_rows,         pack_pair_panels,       peak_pairs};

} // namespace
