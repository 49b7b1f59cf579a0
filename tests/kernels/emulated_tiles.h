// SPDX-License-Identifier: MIT
// AMX's tiles as arrays, with the effects and faults of each instruction by Intel's Software Developer's Manual, volume
// 2. Each thread has its own tiles.
#pragma once

#include "kernels/tile_config.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>

namespace ordo::test {

// #UD or #GP, which would end a process.
struct TileFault : std::logic_error {
    using std::logic_error::logic_error;
};

class EmulatedTiles {
public:
    static void configure(const TileConfig& config) { // LDTILECFG
        clear();
        if (config.palette == 0) return;
        require(config.palette == 1, "#GP: palettes 0 and 1");
        for (const std::uint8_t byte : config.reserved) require(byte == 0, "#GP: reserved bytes");
        for (int t = 0; t < 16; ++t) {
            require(t < palette_tiles || (config.rows[t] == 0 && config.row_bytes[t] == 0), "#GP: tiles 0 to 7");
            require(config.rows[t] <= palette_rows, "#GP: 16 rows");
            require(config.row_bytes[t] <= palette_row_bytes, "#GP: rows of 64 bytes");
            require((config.rows[t] == 0) == (config.row_bytes[t] == 0), "#GP: rows and bytes or neither");
        }
        state.config = config;
    }
    static void release() { clear(); } // TILERELEASE
    static bool released() { return state.config.palette == 0; }

    template <int T>
    static void zero() { // TILEZERO
        used<T>();
        std::memset(state.tiles[T], 0, sizeof state.tiles[T]);
    }
    template <int T>
    static void load(const void* p, std::ptrdiff_t stride) { // TILELOADD
        const Shape shape = used<T>();
        zero<T>(); // zeros beyond the rows and beyond the bytes of each row
        for (int r = 0; r < shape.rows; ++r)
            std::memcpy(state.tiles[T] + r * palette_row_bytes, static_cast<const std::byte*>(p) + r * stride,
                        static_cast<std::size_t>(shape.bytes));
    }
    template <int T>
    static void store(void* p, std::ptrdiff_t stride) { // TILESTORED
        const Shape shape = used<T>();
        for (int r = 0; r < shape.rows; ++r)
            std::memcpy(static_cast<std::byte*>(p) + r * stride, state.tiles[T] + r * palette_row_bytes,
                        static_cast<std::size_t>(shape.bytes));
    }

    // TDPBF16PS: fused products and sums in f32, rounded to nearest even. Subnormals are zero as operands and as
    // results.
    template <int C, int A, int B>
    static void dot_pairs() {
        const Product p = product<C, A, B>();
        float b[2][palette_rows][columns] = {}; // of even and odd k
        for (int k = 0; k < p.depth; ++k)
            for (int n = 0; n < p.columns; ++n)
                for (int i = 0; i < 2; ++i) b[i][k][n] = from_bf16(element<std::uint16_t>(B, k, 2 * n + i));
        for (int m = 0; m < p.rows; ++m) {
            float sums[2][columns] = {};
            for (int k = 0; k < p.depth; ++k)
                for (int i = 0; i < 2; ++i)
                    add_products(from_bf16(element<std::uint16_t>(A, m, 2 * k + i)), b[i][k], sums[i]);
            float row[columns] = {}; // zeros beyond the columns
            for (int n = 0; n < p.columns; ++n)
                row[n] = flushed(flushed(element<float>(C, m, n)) + flushed(sums[0][n] + sums[1][n]));
            std::memcpy(state.tiles[C] + m * palette_row_bytes, row, sizeof row);
        }
        zero_rows_from(C, p.rows);
    }
    // TDPBSSD: signed bytes on both sides, and sums in 32 bits that wrap.
    template <int C, int A, int B>
    static void dot_bytes() {
        const Product p = product<C, A, B>();
        for (int m = 0; m < p.rows; ++m) {
            std::uint32_t row[columns] = {};
            for (int n = 0; n < p.columns; ++n) row[n] = element<std::uint32_t>(C, m, n);
            for (int k = 0; k < p.depth; ++k)
                for (int n = 0; n < p.columns; ++n)
                    for (int i = 0; i < 4; ++i)
                        row[n] += static_cast<std::uint32_t>(element<std::int8_t>(A, m, 4 * k + i) *
                                                             element<std::int8_t>(B, k, 4 * n + i));
            std::memcpy(state.tiles[C] + m * palette_row_bytes, row, sizeof row);
        }
        zero_rows_from(C, p.rows);
    }

private:
    static constexpr int columns = palette_row_bytes / 4;
    struct Shape {
        int rows, bytes;
    };
    struct Product {
        int rows, columns, depth; // columns of f32 or i32, depth in words of four bytes
    };
    struct State {
        TileConfig config;
        alignas(64) std::byte tiles[palette_tiles][palette_rows * palette_row_bytes];
    };
    static inline thread_local State state{};

    static void require(bool met, const char* what) {
        if (!met) throw TileFault(what);
    }
    static void clear() { std::memset(&state, 0, sizeof state); }

    template <int T>
    static Shape used() {
        static_assert(T >= 0 && T < palette_tiles);
        require(state.config.palette == 1, "#UD: no tiles are configured");
        require(state.config.rows[T] != 0, "#UD: a tile without rows");
        return {state.config.rows[T], state.config.row_bytes[T]};
    }
    template <int C, int A, int B>
    static Product product() {
        static_assert(C != A && C != B && A != B, "#UD: three tiles");
        const Shape c = used<C>(), a = used<A>(), b = used<B>();
        require(c.bytes % 4 == 0 && a.bytes % 4 == 0 && b.bytes % 4 == 0, "#UD: words of four bytes");
        require(c.rows == a.rows && c.bytes == b.bytes && a.bytes / 4 == b.rows, "#UD: shapes that do not fit");
        return {c.rows, c.bytes / 4, b.rows};
    }
    static void zero_rows_from(int tile, int row) {
        std::memset(state.tiles[tile] + row * palette_row_bytes, 0,
                    static_cast<std::size_t>((palette_rows - row) * palette_row_bytes));
    }
    template <class T>
    static T element(int tile, int row, int i) {
        T value;
        std::memcpy(&value, state.tiles[tile] + row * palette_row_bytes + i * static_cast<int>(sizeof value),
                    sizeof value);
        return value;
    }

    static float flushed(float x) {
        const auto bits = std::bit_cast<std::uint32_t>(x);
        return std::bit_cast<float>((bits & 0x7f800000u) == 0 ? bits & 0x80000000u : bits);
    }
    static float from_bf16(std::uint16_t half) {
        return flushed(std::bit_cast<float>(static_cast<std::uint32_t>(half) << 16));
    }
    // sums[n] = fma(a, b[n], sums[n]), without a fused instruction. The product of two bf16 is exact in double. With 53
    // bits, rounding the sum to 24 bits afterwards gives the same as rounding once (Figueroa 1995).
    static void add_products(float a, const float (&b)[columns], float (&sums)[columns]) {
        for (int n = 0; n < columns; ++n)
            sums[n] = flushed(
                static_cast<float>(static_cast<double>(a) * static_cast<double>(b[n]) + static_cast<double>(sums[n])));
    }
};

} // namespace ordo::test
