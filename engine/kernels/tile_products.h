// SPDX-License-Identifier: MIT
// Products on tiles, included after slabs.h by amx.cpp and by its twin in the tests, which computes each instruction as
// in Intel's manual. Unit is one of the two:
//   configure(config), release()        for the calling thread
//   zero<T>()                           tile T to zeros
//   load<T>(p, stride), store<T>(...)   its rows, stride bytes apart
//   dot_pairs<C, A, B>()                C [m][n] f32 += A [m][k][2] * B [k][n][2], bf16
//   dot_bytes<C, A, B>()                C [m][n] i32 += A [m][k][4] * B [k][n][4], signed bytes
//   round(n, x, y)                      n floats to bf16 (VCVTNEPS2BF16)
// The words of a panel have B's layout, [k][32] of four bytes, so that both halves of its outputs are loaded in place.

namespace {

// Tiles 0 and 1 hold the sums of the first 16 rows with both halves of a panel, 2 and 3 those of the next 16. Tiles 4
// and 5 hold the rows, 6 and 7 the halves of the panel.
constexpr int tile_rows = ordo::palette_rows, tile_bytes = ordo::palette_row_bytes, half_panel = panel_outputs / 2;
constexpr std::ptrdiff_t panel_row_bytes = 4 * panel_outputs;

// The calling thread's tiles, for `rows` rows (`second`: beyond 16 of them) by `depth` words of four bytes. Tiles are
// released after each product: their state would be saved at each thread switch, and keeps the processor from deep
// sleep.
template <class Unit>
class Tiled {
public:
    Tiled(int rows, int second, int depth) {
        ordo::TileConfig config{};
        config.palette = 1;
        const auto set = [&](int tile, int height, int bytes) {
            if (height == 0) return; // unused: neither rows nor columns
            config.rows[tile] = static_cast<std::uint8_t>(height);
            config.row_bytes[tile] = static_cast<std::uint16_t>(bytes);
        };
        for (int half = 0; half < 2; ++half) {
            set(half, rows, tile_bytes);
            set(2 + half, second, tile_bytes);
            set(6 + half, depth, tile_bytes);
        }
        set(4, rows, 4 * depth);
        set(5, second, 4 * depth);
        Unit::configure(config);
    }
    ~Tiled() { Unit::release(); }
    Tiled(const Tiled&) = delete;
    Tiled& operator=(const Tiled&) = delete;
};

// ---- bf16 by bf16 -----------------------------------------------------------------------------

// Sums of up to 16 rows, or with TWO up to 32, by 32 outputs. TDPBF16PS sums even and odd k separately within 32 k, and
// then adds both to the output. A row therefore has the same bits in any tile. k is padded with zeros to a multiple of
// 32.
template <class Unit, bool TWO>
struct PairSums {
    static constexpr int depth = tile_bytes / 4; // pairs at once

    // The sums start from 0 if y is null, else from y, which has all 32 outputs.
    PairSums(const float* y, std::ptrdiff_t ldy) {
        if (y == nullptr) {
            Unit::template zero<0>();
            Unit::template zero<1>();
            if constexpr (TWO) {
                Unit::template zero<2>();
                Unit::template zero<3>();
            }
            return;
        }
        const std::ptrdiff_t stride = static_cast<std::ptrdiff_t>(sizeof(float)) * ldy;
        Unit::template load<0>(y, stride);
        Unit::template load<1>(y + half_panel, stride);
        if constexpr (TWO) {
            Unit::template load<2>(y + tile_rows * ldy, stride);
            Unit::template load<3>(y + tile_rows * ldy + half_panel, stride);
        }
    }
    // Adds rows of a, lda apart, by b [depth][32][2].
    void add(const std::uint16_t* a, std::ptrdiff_t lda, const std::byte* b) const {
        Unit::template load<6>(b, panel_row_bytes);
        Unit::template load<7>(b + tile_bytes, panel_row_bytes);
        Unit::template load<4>(a, 2 * lda);
        Unit::template dot_pairs<0, 4, 6>();
        Unit::template dot_pairs<1, 4, 7>();
        if constexpr (TWO) {
            Unit::template load<5>(a + tile_rows * lda, 2 * lda);
            Unit::template dot_pairs<2, 5, 6>();
            Unit::template dot_pairs<3, 5, 7>();
        }
    }
    void store(float* y, std::ptrdiff_t ldy) const {
        const std::ptrdiff_t stride = static_cast<std::ptrdiff_t>(sizeof(float)) * ldy;
        Unit::template store<0>(y, stride);
        Unit::template store<1>(y + half_panel, stride);
        if constexpr (TWO) {
            Unit::template store<2>(y + tile_rows * ldy, stride);
            Unit::template store<3>(y + tile_rows * ldy + half_panel, stride);
        }
    }
};

// Calls body(y, ldy) for a place of 32 outputs: y itself, or a copy if there are fewer. add: body reads them.
template <class Body>
inline void with_whole_outputs(int rows, float* y, std::ptrdiff_t ldy, int outputs, bool add, const Body& body) {
    if (outputs >= panel_outputs) return body(y, ldy);
    alignas(64) float part[2 * tile_rows][panel_outputs] = {};
    for (int r = 0; add && r < rows; ++r)
        for (int i = 0; i < outputs; ++i) part[r][i] = y[r * ldy + i];
    body(part[0], panel_outputs);
    for (int r = 0; r < rows; ++r)
        for (int i = 0; i < outputs; ++i) y[r * ldy + i] = part[r][i];
}

// Rows of x by a panel.
template <class Unit, bool TWO>
void tiled_pairs(int rows, int pairs, const std::byte* w, const std::uint16_t* x, std::ptrdiff_t ldx, float* y,
                 std::ptrdiff_t ldy, bool add) {
    using Sums = PairSums<Unit, TWO>;
    const Sums sums(add ? y : nullptr, ldy);
    int l = 0;
    for (; l + Sums::depth <= pairs; l += Sums::depth) sums.add(x + 2 * l, ldx, w + l * panel_row_bytes);
    if (l < pairs) {
        alignas(64) std::uint16_t a[2 * tile_rows][2 * Sums::depth] = {};
        alignas(64) std::byte b[Sums::depth * panel_row_bytes] = {};
        for (int r = 0; r < rows; ++r)
            __builtin_memcpy(a[r], x + r * ldx + 2 * l, 4 * static_cast<std::size_t>(pairs - l));
        __builtin_memcpy(b, w + l * panel_row_bytes, static_cast<std::size_t>((pairs - l) * panel_row_bytes));
        sums.add(a[0], 2 * Sums::depth, b);
    }
    sums.store(y, ldy);
}

template <class Unit>
void tiled_pair_product(int rows, int outputs, int k, const std::byte* w, std::ptrdiff_t panel_bytes,
                        const std::uint16_t* x, std::ptrdiff_t ldx, float* y, std::ptrdiff_t ldy, bool add) {
    constexpr int two = 2 * tile_rows;
    for (int row = 0, some = 0; row < rows; row += some) { // rows that fill two tiles come first
        const int left = rows - row, at_once = left < two ? left : two;
        const int second = at_once > tile_rows ? at_once - tile_rows : 0;
        some = left < two ? left : left / two * two;
        const Tiled<Unit> tiled(at_once - second, second, tile_bytes / 4);
        const auto multiply = second > 0 ? tiled_pairs<Unit, true> : tiled_pairs<Unit, false>;
        for (int at = 0; at < outputs; at += panel_outputs)
            for (int r = row; r < row + some; r += two)
                with_whole_outputs(at_once, y + r * ldy + at, ldy, outputs - at, add,
                                   [&](float* to, std::ptrdiff_t ldto) {
                                       multiply(at_once, (k + 1) / 2, w + at / panel_outputs * panel_bytes, x + r * ldx,
                                                ldx, to, ldto, add);
                                   });
    }
}

// ---- Slabs of pairs ---------------------------------------------------------------------------

// Rows of weights by a block of 32 columns of each slab (PairSlab), with the weights rounded to bf16.
template <class Unit, bool TWO>
void tiled_slabs(int rows, int k, const float* a, std::ptrdiff_t lda, const std::byte* b, std::ptrdiff_t slab_bytes,
                 float* c, std::ptrdiff_t ldc) {
    using Sums = PairSums<Unit, TWO>;
    constexpr int at_once = 2 * Sums::depth; // tokens
    const Sums sums(nullptr, 0);
    alignas(64) std::uint16_t weights[2 * tile_rows][slab_depth];
    alignas(64) std::byte left[Sums::depth * panel_row_bytes];
    for (int first = 0; first < k; first += slab_depth, b += slab_bytes) {
        const int some = k - first < slab_depth ? k - first : slab_depth;
        for (int r = 0; r < rows; ++r) {
            Unit::round(some, a + r * lda + first, weights[r]);
            for (int i = some; i < slab_depth; ++i) weights[r][i] = 0;
        }
        for (int i = 0; i < some; i += at_once) {
            const std::byte* pairs = b + i / 2 * panel_row_bytes;
            if (const int n = some - i; n < at_once) { // what follows may belong to later tokens
                __builtin_memset(left, 0, sizeof left);
                __builtin_memcpy(left, pairs, static_cast<std::size_t>((n + 1) / 2 * panel_row_bytes));
                for (int o = 0; n % 2 != 0 && o < panel_outputs; ++o)
                    left[n / 2 * panel_row_bytes + 4 * o + 2] = left[n / 2 * panel_row_bytes + 4 * o + 3] = {};
                pairs = left;
            }
            sums.add(weights[0] + i, slab_depth, pairs);
        }
    }
    sums.store(c, ldc);
}

template <class Unit>
void tiled_slab_product(int m, int n, int k, const float* a, std::ptrdiff_t lda, const std::byte* b, float* c,
                        std::ptrdiff_t ldc) {
    const int blocks = (n + panel_outputs - 1) / panel_outputs;
    for (int row = 0; row < m; row += 2 * tile_rows) {
        const int rows = m - row < 2 * tile_rows ? m - row : 2 * tile_rows,
                  second = rows > tile_rows ? rows - tile_rows : 0;
        const Tiled<Unit> tiled(rows - second, second, tile_bytes / 4);
        const auto multiply = second > 0 ? tiled_slabs<Unit, true> : tiled_slabs<Unit, false>;
        for (int block = 0; block < blocks; ++block)
            with_whole_outputs(rows, c + row * ldc + panel_outputs * block, ldc, n - panel_outputs * block, false,
                               [&](float* to, std::ptrdiff_t ldto) {
                                   multiply(rows, k, a + row * lda, lda, b + block * PairSlab::bytes,
                                            blocks * PairSlab::bytes, to, ldto);
                               });
    }
}

// ---- Bytes by quantised weights ---------------------------------------------------------------

constexpr int block_words = 8; // of four bytes: the 32 weights of a block, for each output

inline void store_levels(std::byte* room, int word, int v, words levels, unsigned char offset) {
    *reinterpret_cast<level_bytes*>(room + panel_row_bytes * word + 4 * lanes * v) =
        reinterpret_cast<const level_bytes&>(levels) - offset;
}

// Writes the weights of a block to `room` without their scale, as signed bytes [8][32][4].
struct Q8Levels {
    using Block = Q8Block;
    static void write(const std::byte* block, std::byte* room) {
        for (int g = 0; g < block_words; ++g)
            for (int v = 0; v < panel_vectors; ++v)
                store_levels(room, g, v, load_words(block + 64 + panel_row_bytes * g + 4 * lanes * v), 128);
    }
};

struct Q4Levels {
    using Block = Q4Block;
    static void write(const std::byte* block, std::byte* room) {
        for (int g = 0; g < 4; ++g)
            for (int v = 0; v < panel_vectors; ++v) {
                const words w = load_words(block + 64 + panel_row_bytes * g + 4 * lanes * v);
                store_levels(room, g, v, w & low_nibbles, 8);
                store_levels(room, g + 4, v, w >> 4 & low_nibbles, 8);
            }
    }
};

struct Q5Levels {
    using Block = Q5Block;
    static void write(const std::byte* block, std::byte* room) {
        for (int v = 0; v < panel_vectors; ++v) {
            const words fifth = load_words(block + 64 + 4 * lanes * v);
            for (int g = 0; g < 4; ++g) {
                const words w = load_words(block + 64 + panel_row_bytes * (g + 1) + 4 * lanes * v);
                store_levels(room, g, v, five_bits_below(w, fifth, g), 16);
                store_levels(room, g + 4, v, five_bits_above(w, fifth, g), 16);
            }
        }
    }
};

constexpr int most_tiled_rows = 4 * tile_rows; // their sums and totals fit the nearest cache

// sums [rows][32] = rows' 32 values at x by the levels of a block; rows a multiple of 16.
template <class Unit>
inline void tiled_block(int rows, const signed char* x, std::ptrdiff_t ldx, const std::byte* levels, int* sums) {
    constexpr std::ptrdiff_t stride = sizeof(int) * panel_outputs;
    Unit::template load<6>(levels, panel_row_bytes);
    Unit::template load<7>(levels + tile_bytes, panel_row_bytes);
    const auto sixteen = [&]<int C, int A>(int r) {
        Unit::template load<A>(x + r * ldx, ldx);
        Unit::template zero<C>();
        Unit::template dot_bytes<C, A, 6>();
        Unit::template store<C>(sums + r * panel_outputs, stride);
        Unit::template zero<C + 1>();
        Unit::template dot_bytes<C + 1, A, 7>();
        Unit::template store<C + 1>(sums + r * panel_outputs + half_panel, stride);
    };
    for (int r = 0; r < rows;
         r += 2 * tile_rows) { // two of each kind of tile, so that one multiplies while the other is stored
        sixteen.template operator()<0, 4>(r);
        if (r + tile_rows < rows) sixteen.template operator()<2, 5>(r + tile_rows);
    }
}

// As quant_tile, with the same bits: the sums are integers too, and the scales are applied in the same order. Two
// blocks at a time; otherwise totals would be loaded and stored as often as sums.
template <class Unit, class Levels>
void tiled_blocks(int rows, int k, const std::byte* w, const QuantRows& x, int row, float* y, std::ptrdiff_t ldy,
                  int outputs) {
    alignas(64) floats total[most_tiled_rows][panel_vectors];
    alignas(64) int sums[2][most_tiled_rows * panel_outputs];
    alignas(64) std::byte room[block_words * panel_row_bytes];
    for (int r = 0; r < rows; ++r)
        for (int v = 0; v < panel_vectors; ++v) total[r][v] = floats{};
    const std::ptrdiff_t blocks = x.cols / 32;
    const auto add = [&]<int COUNT>(int b) {
        floats weight_scales[COUNT][panel_vectors];
        for (int i = 0; i < COUNT; ++i, w += Levels::Block::bytes) {
            Levels::write(w, room);
            tiled_block<Unit>(rows, x.values + static_cast<std::ptrdiff_t>(row) * x.cols + 32 * (b + i), x.cols, room,
                              sums[i]);
            for (int v = 0; v < panel_vectors; ++v)
                weight_scales[i][v] = load(reinterpret_cast<const half_t*>(w) + lanes * v);
        }
        for (int r = 0; r < rows; ++r) {
            const float* const scales = x.scales + (row + r) * blocks + b;
            for (int v = 0; v < panel_vectors; ++v)
                for (int i = 0; i < COUNT; ++i) {
                    const ints sum = *reinterpret_cast<const ints*>(sums[i] + r * panel_outputs + lanes * v);
                    total[r][v] += __builtin_convertvector(sum, floats) * (weight_scales[i][v] * scales[i]);
                }
        }
    };
    int b = 0;
    for (; b + 2 <= k / 32; b += 2) add.template operator()<2>(b);
    if (b < k / 32) add.template operator()<1>(b);
    for (int r = 0; r < rows; ++r) store_outputs(y + r * ldy, outputs, total[r]);
}

// Rows that do not fill a tile are multiplied by vectors.
template <class Unit, class Levels>
void tiled_quant_product(int rows, int outputs, int k, const std::byte* w, std::ptrdiff_t panel_bytes,
                         const QuantRows& x, float* y, std::ptrdiff_t ldy) {
    const int whole = rows / tile_rows * tile_rows;
    if (whole > 0) {
        const Tiled<Unit> tiled(tile_rows, tile_rows, block_words);
        for (int at = 0; at < outputs; at += panel_outputs)
            for (int r = 0; r < whole; r += most_tiled_rows)
                tiled_blocks<Unit, Levels>(whole - r < most_tiled_rows ? whole - r : most_tiled_rows, k,
                                           w + at / panel_outputs * panel_bytes, x, r, y + r * ldy + at, ldy,
                                           outputs - at < panel_outputs ? outputs - at : panel_outputs);
    }
    if (whole == rows) return;
    const std::ptrdiff_t blocks = std::ptrdiff_t{whole} * (x.cols / 32);
    quant_product<typename Levels::Block>(
        rows - whole, outputs, k, w, panel_bytes,
        {x.values + 32 * blocks, x.scales + blocks, x.sums + blocks, x.first_sums + blocks, x.cols}, y + whole * ldy,
        ldy);
}

// ---- The limit ---------------------------------------------------------------------------------

// BYTES: of signed bytes, else of pairs of bf16.
template <class Unit, bool BYTES>
double tiled_peak(int steps, int x, int y) {
    constexpr int count = tile_rows * tile_bytes / 4;
    const auto word = [](int value) { // four bytes or two bf16
        const auto number = static_cast<float>(value);
        unsigned bits = 0;
        __builtin_memcpy(&bits, &number, sizeof bits);
        return BYTES ? 0x01010101u * static_cast<unsigned char>(value) : (bits & 0xffff0000u) | bits >> 16;
    };
    alignas(64) unsigned a[count], b[count];
    for (int i = 0; i < count; ++i) a[i] = word(x), b[i] = word(y);
    const Tiled<Unit> tiled(tile_rows, tile_rows, tile_bytes / 4);
    const auto each_sum = [](const auto& use) {
        use.template operator()<0>();
        use.template operator()<1>();
        use.template operator()<2>();
        use.template operator()<3>();
    };
    each_sum([]<int T>() { Unit::template zero<T>(); });
    Unit::template load<4>(a, tile_bytes);
    Unit::template load<6>(b, tile_bytes);
    for (int step = 0; step < steps; ++step)
        each_sum([]<int T>() {
            if constexpr (BYTES)
                Unit::template dot_bytes<T, 4, 6>();
            else
                Unit::template dot_pairs<T, 4, 6>();
        });
    double total = 0;
    each_sum([&]<int T>() {
        alignas(64) std::conditional_t<BYTES, int, float> sums[count];
        Unit::template store<T>(sums, tile_bytes);
        for (const auto sum : sums) total += static_cast<double>(sum);
    });
    return total;
}
template <class Unit, bool BYTES>
constexpr ordo::Peak tiled_peak_of{4 * tile_rows * tile_rows * tile_bytes / (BYTES ? 1 : 2), tiled_peak<Unit, BYTES>};

// A set whose products run on tiles where possible. f16 stays on vectors, because tiles would round it to bf16.
template <class Unit>
constexpr ordo::Kernels with_tiles(ordo::Kernels set) {
    set.product_bf16_pairs = tiled_pair_product<Unit>;
    set.product_pair_slabs = tiled_slab_product<Unit>;
    set.round_to_bf16 = Unit::round;
    set.product_q8_0 = tiled_quant_product<Unit, Q8Levels>;
    set.product_q4_0 = tiled_quant_product<Unit, Q4Levels>;
    set.product_q5_0 = tiled_quant_product<Unit, Q5Levels>;
    set.peak_pairs = tiled_peak_of<Unit, false>;
    set.peak_bytes = tiled_peak_of<Unit, true>;
    return set;
}

} // namespace
