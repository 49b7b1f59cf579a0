// SPDX-License-Identifier: MIT
// Products of many rows with weights of types in blocks of 256, and of any rows with types that files rarely have;
// included after quant_panels.h. Each block is unpacked to levels in bytes, for up to 48 rows at once. All
// these types share one loop over the unpacked bytes. A rare type then needs only a few lines, which are compiled once
// instead of for every number of rows.

namespace {

// The scales of up to 256 weights of each output of a panel, and the amounts subtracted from them: of each group of 32
// weights, or of each half of it.
template <int PARTS>
struct Factors {
    alignas(64) floats scale[PARTS][panel_vectors];
    alignas(64) floats least[PARTS][panel_vectors];
};

struct Unpacked : Factors<16> {
    static constexpr int most_groups = 8;
    alignas(64) std::byte levels[most_groups][1024]; // [8][32][4] of a group
};

inline void store_word(std::byte* levels, int i, int v, words w) {
    *reinterpret_cast<words*>(levels + 128 * i + 4 * lanes * v) = w;
}
inline floats load_halves(const std::byte* block, int i, int v) {
    return load(reinterpret_cast<const half_t*>(block) + panel_outputs * i + lanes * v);
}
inline words load_word(const std::byte* from, int i, int v) {
    return load_words(from + 128 * i + 4 * lanes * v);
}

// unpack(block, g, to): writes a panel's block to group g; a block of 256 weights to g and the next seven. A group has
// as many scales, and as many minima, as the type says. `most` is the largest level, or 0 for signed levels, each
// stored 128 too large. `offset` times the sum of the activations is subtracted.

// q4_1 and q5_1: x = d l + m.
template <bool FIVE>
struct Q1Block {
    static constexpr int halves = 128, fifths = FIVE ? 128 : 0, bytes = halves + fifths + 512, groups = 1, scales = 1,
                         minima = 1, most = FIVE ? 31 : 15, offset = 0;
    static void unpack(const std::byte* block, int group, Unpacked& to) {
        for (int v = 0; v < panel_vectors; ++v) {
            to.scale[group][v] = load_halves(block, 0, v);
            to.least[group][v] = -load_halves(block, 1, v);
            const words fifth = FIVE ? load_word(block + halves, 0, v) : words{};
            for (int g = 0; g < 4; ++g) {
                const words w = load_word(block + halves + fifths, g, v);
                store_word(to.levels[group], g, v, five_bits_below(w, fifth, g));
                store_word(to.levels[group], g + 4, v, five_bits_above(w, fifth, g));
            }
        }
    }
};

// The 16 levels of iq4_nl and iq4_xs, each 128 too large (kvalues_iq4nl in ggml-common.h).
constexpr std::uint8_t uneven_levels[] = {1, 24, 45, 63, 79, 93, 106, 118, 129, 141, 153, 166, 181, 197, 217, 241};

inline void unpack_uneven(const std::byte* from, std::byte* levels) {
    for (int g = 0; g < 4; ++g)
        for (int v = 0; v < panel_vectors; ++v) {
            const words w = load_word(from, g, v);
            const auto level = [&](words i) {
                return reinterpret_cast<words>(look_up(uneven_levels, reinterpret_cast<Bytes>(i & low_nibbles)));
            };
            store_word(levels, g, v, level(w));
            store_word(levels, g + 4, v, level(w >> 4));
        }
}

struct Iq4NlBlock {
    static constexpr int bytes = 64 + 512, groups = 1, scales = 1, minima = 0, most = 0, offset = q8_offset;
    static void unpack(const std::byte* block, int group, Unpacked& to) {
        for (int v = 0; v < panel_vectors; ++v) to.scale[group][v] = load_halves(block, 0, v);
        unpack_uneven(block + 64, to.levels[group]);
    }
};

typedef std::uint16_t half_words __attribute__((vector_size(2 * lanes), aligned(2), may_alias));

struct Iq4XsBlock { // x = d (s - 32) c[l], s of each 32
    static constexpr int halves = 128, levels = halves + 128, bytes = levels + 8 * 512, groups = 8, scales = 1,
                         minima = 0, most = 0, offset = q8_offset;
    static void unpack(const std::byte* block, int first, Unpacked& to) {
        for (int v = 0; v < panel_vectors; ++v) {
            const floats d = load_halves(block, 0, v);
            const words low = load_word(block + halves, 0, v);
            const words high =
                __builtin_convertvector(*reinterpret_cast<const half_words*>(block + 64 + 2 * lanes * v), words);
            for (int g = 0; g < groups; ++g) {
                const words s = ((low >> 4 * g) & 15u) | ((high >> 2 * g & 3u) << 4);
                to.scale[first + g][v] = d * as_floats(s - 32u);
            }
        }
        for (int g = 0; g < groups; ++g) unpack_uneven(block + levels + 512 * g, to.levels[first + g]);
    }
};

// Four 2-bit levels of q2_K or q3_K: the i-th of the group's eight words.
inline words two_bits(const std::byte* from, int group, int i, int v) {
    return (load_word(from, group / 4 * 8 + i, v) >> 2 * (group % 4)) & 0x03030303u;
}

// x = d s l - dmin m, s and m of each 16. s l is an integer of up to 45, so that d scales all 256.
struct K2Block {
    static constexpr int halves = 128, levels = halves + 4 * 128, bytes = halves + 20 * 128, groups = 8, scales = 1,
                         minima = 2, most = 45, offset = 0;
    static void unpack(const std::byte* block, int first, Unpacked& to) {
        for (int v = 0; v < panel_vectors; ++v) {
            const floats d = load_halves(block, 0, v), dmin = load_halves(block, 1, v);
            for (int i = 0; i < 2 * groups; ++i) {
                const words both = load_word(block + halves, i / 4, v) >> 8 * (i % 4), s = both & 15u;
                to.least[2 * first + i][v] = dmin * as_floats(both >> 4 & 15u);
                for (int g = i % 2 * 4; g < i % 2 * 4 + 4; ++g)
                    store_word(to.levels[first + i / 2], g, v, two_bits(block + levels, i / 2, g, v) * s);
            }
            for (int g = 0; g < groups; ++g) to.scale[first + g][v] = d;
        }
    }
};

// x = d (s - 32) (l - 4), s of each 16. (32 - s) (l - 4) is an integer from -128 to 124, so that -d scales all 256.
struct K3Block {
    static constexpr int halves = 64, levels = halves + 8 * 128, factors = levels + 16 * 128, bytes = halves + 27 * 128;
    static constexpr int groups = 8, scales = 1, minima = 0, most = 0, offset = q8_offset;
    static void unpack(const std::byte* block, int first, Unpacked& to) {
        for (int v = 0; v < panel_vectors; ++v) {
            const floats d = load_halves(block, 0, v);
            for (int i = 0; i < 2 * groups; ++i) {
                const words four = load_word(block + factors, i / 4 % 2, v) >> 4 * (i / 8) >> 8 * (i % 4);
                const words two = load_word(block + factors, 2, v) >> 2 * (i / 4) >> 8 * (i % 4);
                const words s = (four & 15u) | ((two & 3u) << 4), factor = ((32u - s) & 255u) * 0x01010101u;
                for (int g = i % 2 * 4; g < i % 2 * 4 + 4; ++g) {
                    const words third = (load_word(block + halves, g, v) >> (i / 2) << 2) & 0x04040404u;
                    const words level = two_bits(block + levels, i / 2, g, v) | third;
                    const level_bytes product = (reinterpret_cast<const level_bytes&>(level) - 4) *
                                                reinterpret_cast<const level_bytes&>(factor);
                    store_word(to.levels[first + i / 2], g, v, reinterpret_cast<const words&>(product) ^ 0x80808080u);
                }
            }
            for (int g = 0; g < groups; ++g) to.scale[first + g][v] = -d;
        }
    }
};

constexpr int rows_at_once = 48; // for which a block is unpacked: their totals fit the nearest cache

// The sum of the activations' values in a part of a group, where there are `parts`.
inline int sum_of(const QuantRows& x, std::ptrdiff_t at, int part, int parts) {
    const int half = parts == 1 ? x.sums[at] : x.first_sums[at];
    return part == 0 ? half : x.sums[at] - half;
}

// total [ROWS][32] += rows of x by the groups of `block`, for VECTORS vectors from vector `first_vector` on. `first` is
// the place of the first row's first block of activations.
template <int ROWS, int VECTORS, int SCALES, int MINIMA, int MOST, int OFFSET>
[[gnu::always_inline]] inline void unpacked_tile(int first_vector, const Unpacked& block, int groups,
                                                 const QuantRows& x, std::ptrdiff_t first,
                                                 floats (*total)[panel_vectors]) {
    const std::ptrdiff_t apart = x.cols / 32;
    const signed char* q[ROWS];
    alignas(64) floats sums[ROWS][VECTORS]; // in registers, if they suffice
    for (int r = 0; r < ROWS; ++r) {
        q[r] = x.values + 32 * (first + r * apart);
        for (int v = 0; v < VECTORS; ++v) sums[r][v] = total[r][first_vector + v];
    }
    for (int g = 0; g < groups; ++g) {
        for (int part = 0; part < SCALES; ++part) {
            Bytes acc[ROWS][VECTORS];
            for (int r = 0; r < ROWS; ++r)
                for (int v = 0; v < VECTORS; ++v)
                    acc[r][v] = splat_word(-OFFSET * sum_of(x, first + r * apart + g, part, SCALES));
            const std::byte* const levels = block.levels[g] + 1024 / SCALES * part + 4 * lanes * first_vector;
            if constexpr (MOST == 0)
                dot_levels(levels, q, acc);
            else
                dot_words<MOST, 8 / SCALES>([&](int i, int v) { return load_bytes(levels + 128 * i + 4 * lanes * v); },
                                            in_order, q, acc);
            for (int r = 0; r < ROWS; ++r) {
                q[r] += 32 / SCALES;
                const float scale = x.scales[first + r * apart + g];
                for (int v = 0; v < VECTORS; ++v)
                    sums[r][v] += to_floats(acc[r][v]) * (block.scale[SCALES * g + part][first_vector + v] * scale);
            }
        }
        for (int part = 0; part < MINIMA; ++part)
            for (int r = 0; r < ROWS; ++r) {
                const std::ptrdiff_t at = first + r * apart + g;
                const float sum = x.scales[at] * static_cast<float>(sum_of(x, at, part, MINIMA));
                for (int v = 0; v < VECTORS; ++v) sums[r][v] -= block.least[MINIMA * g + part][first_vector + v] * sum;
            }
    }
    for (int r = 0; r < ROWS; ++r)
        for (int v = 0; v < VECTORS; ++v) total[r][first_vector + v] = sums[r][v];
}

// total [rows][32] += rows of x by the groups of `block`, the first of which belongs to the activations' block b.
template <int SCALES, int MINIMA, int MOST, int OFFSET>
[[gnu::noinline]] void add_unpacked(int rows, const Unpacked& block, int groups, const QuantRows& x, int from, int b,
                                    floats (&total)[rows_at_once][panel_vectors]) {
    int row = 0;
    const auto take = [&]<int ROWS, int VECTORS>() {
        for (; row + ROWS <= rows; row += ROWS)
            for (int v = 0; v < panel_vectors; v += VECTORS)
                unpacked_tile<ROWS, VECTORS, SCALES, MINIMA, MOST, OFFSET>(
                    v, block, groups, x, static_cast<std::ptrdiff_t>(from + row) * (x.cols / 32) + b, total + row);
    };
    if constexpr (lanes == 8 && MOST > 0 && ShortSums::fit) // sums of both widths fill the registers: fewer totals
        take.template operator()<2, panel_vectors>();
    else
        take.template operator()<tiles.quant_rows, tiles.quant_vectors>();
    take.template operator()<1, panel_vectors>();
}

template <class Block>
void unpacked_product(int rows, int outputs, int k, const std::byte* w, std::ptrdiff_t panel_bytes, const QuantRows& x,
                      float* y, std::ptrdiff_t ldy) {
    alignas(64) floats total[rows_at_once][panel_vectors];
    Unpacked unpacked;
    for (int at = 0; at < outputs; at += panel_outputs, w += panel_bytes)
        for (int from = 0; from < rows; from += rows_at_once) {
            const int some = rows - from < rows_at_once ? rows - from : rows_at_once;
            for (int r = 0; r < some; ++r)
                for (int v = 0; v < panel_vectors; ++v) total[r][v] = floats{};
            const std::byte* block = w;
            int fetched = 0; // rows of y, a part with each step: all at once would wait for each other
            for (int b = 0; b < k / 32;) {
                int groups = 0;
                for (; groups < Unpacked::most_groups && b + groups < k / 32; groups += Block::groups) {
                    prefetch<blocks_ahead, Block::bytes>(block);
                    Block::unpack(block, groups, unpacked);
                    block += Block::bytes;
                }
                for (; fetched * (k / 32) < some * (b + groups); ++fetched)
                    prefetch_outputs<1>(y + (from + fetched) * ldy + at, ldy);
                add_unpacked<Block::scales, Block::minima, Block::most, Block::offset>(some, unpacked, groups, x, from,
                                                                                       b, total);
                b += groups;
            }
            for (int r = 0; r < some; ++r)
                store_outputs(y + (from + r) * ldy + at, outputs - at < panel_outputs ? outputs - at : panel_outputs,
                              total[r]);
        }
}

} // namespace
