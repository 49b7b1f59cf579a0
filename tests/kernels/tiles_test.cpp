// SPDX-License-Identifier: MIT
// Compares the emulated tiles with the rules of Intel's Software Developer's Manual (volume 1, chapter 18; volume 2).
// Also tests the permission to use real tiles.
#include "core/error.h"
#include "core/random.h"
#include "kernels/kernels.h"
#include "kernels/tile_permission.h"
#include "tests/kernels/emulated_tiles.h"
#include "tests/kernels/tile_rules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <fstream>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace ordo::test {
namespace {

using Unit = EmulatedTiles;

TileConfig with_shapes(std::initializer_list<std::pair<int, int>> tiles) { // rows, bytes
    TileConfig config{};
    config.palette = 1;
    int t = 0;
    for (const auto& [rows, bytes] : tiles) {
        config.rows[t] = static_cast<std::uint8_t>(rows);
        config.row_bytes[t++] = static_cast<std::uint16_t>(bytes);
    }
    return config;
}

template <class T>
struct Bytes1K { // the content of a tile
    T at[palette_rows][palette_row_bytes / sizeof(T)];
};

// The whole tile T, which must have 16 rows of 64 bytes: configuring that shape just to read it would zero the tile.
template <int T, class E>
Bytes1K<E> held() {
    Bytes1K<E> all;
    Unit::store<T>(&all, palette_row_bytes);
    return all;
}

class EmulatedTile : public testing::Test {
protected:
    ~EmulatedTile() override { Unit::release(); }
};

TEST_F(EmulatedTile, RefusesWhatThePaletteHasNot) {
    for (const auto& [tile, rows, bytes] :
         {std::tuple{0, 17, 64}, {1, 16, 65}, {2, 16, 0}, {7, 0, 64}, {8, 1, 4}, {15, 16, 64}}) {
        TileConfig config = with_shapes({{16, 64}});
        config.rows[tile] = static_cast<std::uint8_t>(rows);
        config.row_bytes[tile] = static_cast<std::uint16_t>(bytes);
        EXPECT_THROW(Unit::configure(config), TileFault) << tile << ": " << rows << " x " << bytes;
        EXPECT_TRUE(Unit::released());
    }
    TileConfig other = with_shapes({{16, 64}});
    other.palette = 2;
    EXPECT_THROW(Unit::configure(other), TileFault);
    other.palette = 1;
    other.reserved[13] = 1;
    EXPECT_THROW(Unit::configure(other), TileFault);
}

TEST_F(EmulatedTile, FaultsWhereNothingIsConfigured) {
    std::byte memory[1024] = {};
    EXPECT_THROW(Unit::zero<0>(), TileFault);
    Unit::configure(with_shapes({{16, 64}}));
    EXPECT_NO_THROW(Unit::zero<0>());
    EXPECT_THROW(Unit::load<1>(memory, 64), TileFault);
    Unit::release();
    EXPECT_THROW(Unit::load<0>(memory, 64), TileFault);
    EXPECT_THROW(Unit::store<0>(memory, 64), TileFault);
}

TEST_F(EmulatedTile, FaultsOnProductsOfShapesThatDoNotFit) {
    const auto faults = [](std::initializer_list<std::pair<int, int>> tiles) {
        Unit::configure(with_shapes(tiles));
        EXPECT_THROW((Unit::dot_pairs<0, 1, 2>()), TileFault);
        EXPECT_THROW((Unit::dot_bytes<0, 1, 2>()), TileFault);
    };
    faults({{5, 64}, {6, 32}, {8, 64}}); // rows of C and of A
    faults({{5, 60}, {5, 32}, {8, 64}}); // columns of C and of B
    faults({{5, 64}, {5, 32}, {9, 64}}); // depth of A and rows of B
    faults({{5, 62}, {5, 32}, {8, 62}}); // half an element
    faults({{5, 64}, {5, 32}});          // no B
    Unit::configure(with_shapes({{5, 64}, {5, 32}, {8, 64}}));
    EXPECT_NO_THROW((Unit::dot_pairs<0, 1, 2>()));
}

// The stride separates the rows. Elements beyond a tile's rows or bytes are zero when loaded and are not stored.
TEST_F(EmulatedTile, LoadsAndStoresItsRowsAndNoMore) {
    std::uint8_t from[3][100];
    for (int i = 0; i < 300; ++i) from[i / 100][i % 100] = static_cast<std::uint8_t>(i % 251 + 1);
    Unit::configure(with_shapes({{3, 20}}));
    Unit::load<0>(from, 100);
    std::array<std::uint8_t, 300> to{};
    Unit::store<0>(to.data(), 70);
    for (std::size_t i = 0; i < to.size(); ++i)
        EXPECT_EQ(to[i], i / 70 < 3 && i % 70 < 20 ? from[i / 70][i % 70] : 0) << i;
    Unit::zero<0>();
    Unit::store<0>(to.data(), 70);
    for (const std::uint8_t byte : to) EXPECT_EQ(byte, 0);
}

TEST_F(EmulatedTile, EveryConfigurationBeginsWithZeros) {
    const Bytes1K<int> ones{{{1, 2, 3}}};
    Unit::configure(with_shapes({{16, 64}}));
    Unit::load<0>(&ones, 64);
    EXPECT_EQ((held<0, int>().at[0][2]), 3);
    Unit::configure(with_shapes({{16, 64}}));
    EXPECT_EQ((held<0, int>().at[0][2]), 0);
}

struct Shape {
    int rows, columns, depth;
};
constexpr Shape shapes[] = {{16, 16, 16}, {1, 16, 16}, {16, 16, 8}, {7, 5, 3}, {16, 1, 1}, {3, 16, 9}};

// Numbers of every kind: any exponent, subnormal, infinite, NaN, and numbers whose sums cancel.
std::uint16_t any_bf16(const Random& random, std::uint64_t i) {
    const auto bits = static_cast<std::uint16_t>(random.four(i)[0] >> 7);
    if (i % 3 == 0) return bits;
    return static_cast<std::uint16_t>((bits & 0x80ffu) | 0x3f00u); // around 1
}

TEST_F(EmulatedTile, MultipliesPairsByTheManual) {
    for (const Shape& s : shapes)
        for (const int exotic : {0, 1}) {
            const Random random(11, static_cast<std::uint64_t>(exotic));
            Bytes1K<std::uint16_t> a, b;
            Bytes1K<float> c;
            for (std::uint64_t i = 0; i < 512; ++i) {
                const std::uint64_t at = exotic ? i : 3 * i + 1;
                a.at[i / 32][i % 32] = any_bf16(random, at);
                b.at[i / 32][i % 32] = any_bf16(random, at + 5000 + 1000 * static_cast<std::uint64_t>(exotic));
            }
            for (std::uint64_t i = 0; i < 256; ++i)
                c.at[i / 16][i % 16] = exotic && i % 5 == 0 ? 1e-39f : static_cast<float>(random.normal(i));
            Unit::configure(with_shapes({{s.rows, 4 * s.columns}, {s.rows, 4 * s.depth}, {s.depth, 4 * s.columns}}));
            Unit::load<0>(&c, 64);
            Unit::load<1>(&a, 64);
            Unit::load<2>(&b, 64);
            Unit::dot_pairs<0, 1, 2>();
            Bytes1K<float> found{};
            Unit::store<0>(&found, 64);
            int finite = 0;
            for (int m = 0; m < 16; ++m)
                for (int n = 0; n < 16; ++n) {
                    const float expected =
                        m >= s.rows || n >= s.columns
                            ? 0.0f
                            : pair_dot(
                                  c.at[m][n], s.depth, [&](int k, int i) { return a.at[m][2 * k + i]; },
                                  [&](int k, int i) { return b.at[k][2 * n + i]; });
                    finite += std::isfinite(expected);
                    if (std::isnan(expected))
                        EXPECT_TRUE(std::isnan(found.at[m][n])) << m << ", " << n;
                    else
                        EXPECT_EQ(std::bit_cast<std::uint32_t>(found.at[m][n]), std::bit_cast<std::uint32_t>(expected))
                            << m << ", " << n << ": " << found.at[m][n] << ", " << expected;
                }
            EXPECT_GT(finite, 15);
        }
}

// 1 + 2^-24 lies halfway between 1 and its neighbour 1 + 2^-23, and rounds to 1, which is even. A slightly larger value
// rounds up, but only if nothing rounds the sum in between.
TEST_F(EmulatedTile, RoundsOnce) {
    const auto bf16 = [](float x) { return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(x) >> 16); };
    for (const int below : {25, 30, 40, 47, 0}) {
        Bytes1K<std::uint16_t> a{}, b{};
        const float terms[] = {0x1p-24f, below == 0 ? 0.0f : std::ldexp(1.0f, -below), 1};
        for (int k = 0; k < 3; ++k) {
            a.at[0][2 * k] = bf16(terms[k]);
            b.at[k][0] = bf16(1);
        }
        Unit::configure(with_shapes({{1, 4}, {1, 12}, {3, 4}}));
        Unit::load<1>(&a, 64);
        Unit::load<2>(&b, 64);
        Unit::dot_pairs<0, 1, 2>();
        float found = 0;
        Unit::store<0>(&found, 64);
        EXPECT_EQ(found, below == 0 ? 1.0f : 1.0f + 0x1p-23f) << below;
    }
}

TEST_F(EmulatedTile, MultipliesBytesByTheManual) {
    for (const Shape& s : shapes) {
        Bytes1K<std::int8_t> a;
        Bytes1K<std::int8_t> b;
        Bytes1K<std::int32_t> c;
        const Random random(12, 1);
        for (std::uint64_t i = 0; i < 1024; ++i) {
            const auto bits = random.four(i);
            a.at[i / 64][i % 64] = i % 7 == 0 ? std::int8_t{-128} : static_cast<std::int8_t>(bits[0] >> 11);
            b.at[i / 64][i % 64] = i % 5 == 0 ? std::int8_t{-128} : static_cast<std::int8_t>(bits[1] >> 11);
        }
        for (int i = 0; i < 256; ++i) c.at[i / 16][i % 16] = i % 2 == 0 ? 2147483000 : -i;
        Unit::configure(with_shapes({{s.rows, 4 * s.columns}, {s.rows, 4 * s.depth}, {s.depth, 4 * s.columns}}));
        Unit::load<0>(&c, 64);
        Unit::load<1>(&a, 64);
        Unit::load<2>(&b, 64);
        Unit::dot_bytes<0, 1, 2>();
        Bytes1K<std::int32_t> found{};
        Unit::store<0>(&found, 64);
        for (int m = 0; m < s.rows; ++m)
            for (int n = 0; n < s.columns; ++n) {
                std::int64_t sum = c.at[m][n];
                for (int k = 0; k < s.depth; ++k)
                    for (int i = 0; i < 4; ++i) sum += a.at[m][4 * k + i] * b.at[k][4 * n + i];
                EXPECT_EQ(found.at[m][n], static_cast<std::int32_t>(sum)) << m << ", " << n; // modulo 2^32
            }
    }
}

// ---- Permission for real tiles ------------------------------------------------------------------

int asked;
bool granted() {
    ++asked;
    return true;
}
bool refused() {
    return false;
}

TileMachine sapphire_rapids() {
    TileMachine m;
    m.features = 1u << 27 | 1u << 20;
    m.extensions = 1u << 22 | 1u << 24 | 1u << 25 | 1u << 23;
    m.state = 0x602e7; // x87, SSE, AVX, AVX-512, PKRU, and the tiles' shapes and data
    m.tiles = 8, m.rows = 16, m.row_bytes = 64;
    m.permit = granted;
    return m;
}

TEST(TilePermission, NeedsEveryPartAndIsAskedForLast) {
    asked = 0;
    EXPECT_TRUE(runs_tiles(sapphire_rapids()));
    EXPECT_EQ(asked, 1);
    std::vector<TileMachine> lacking;
    const auto without = [&](const auto& take) { take(lacking.emplace_back(sapphire_rapids())); };
    without([](TileMachine& m) { m.features &= ~(1u << 27); });
    for (const int bit : {22, 24, 25}) without([&](TileMachine& m) { m.extensions &= ~(1u << bit); });
    for (const int bit : {17, 18}) without([&](TileMachine& m) { m.state &= ~(std::uint64_t{1} << bit); });
    without([](TileMachine& m) { m.tiles = 4; });
    without([](TileMachine& m) { m.rows = 8; });
    without([](TileMachine& m) { m.row_bytes = 32; });
    asked = 0;
    for (std::size_t i = 0; i < lacking.size(); ++i) EXPECT_FALSE(runs_tiles(lacking[i])) << i;
    EXPECT_EQ(asked, 0);
    TileMachine without_leave = sapphire_rapids();
    without_leave.permit = refused;
    EXPECT_FALSE(runs_tiles(without_leave));
}

// Linux shows the CPUID flags that it supports itself.
TEST(TilePermission, IsGivenOnlyWhereLinuxSpeaksOfTiles) {
    std::ifstream file("/proc/cpuinfo");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    ASSERT_FALSE(text.empty());
    bool all = true;
    for (const char* flag : {" amx_tile", " amx_int8", " amx_bf16"}) all = all && text.find(flag) != std::string::npos;
    const bool runs = runs_tiles(this_tile_machine());
    EXPECT_TRUE(all || !runs);
    const auto available = [](std::string_view name) {
        return std::ranges::any_of(available_kernels(), [&](const Kernels* set) { return set->name == name; });
    };
    EXPECT_EQ(available("amx"), runs && available("avx512bf16"));
    if (available("amx")) return;
    try {
        select_kernels("amx");
        FAIL() << "amx was selected";
    } catch (const Error& e) {
        EXPECT_EQ(e.code, ErrorCode::usage);
        EXPECT_NE(std::string_view(e.what()).find("found 'amx'"), std::string_view::npos) << e.what();
        EXPECT_NE(std::string_view(e.what()).find(kernels().name), std::string_view::npos) << e.what();
    }
}

// Runs in a process whose arch_prctl a filter answers, as in some sandboxes.
TEST(TilePermission, ARefusalOfTheSystemIsNoTiles) {
    for (const int error : {EPERM, ENOSYS, EINVAL}) {
        const pid_t child = ::fork();
        if (child == 0) {
            sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                                  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_arch_prctl, 0, 1),
                                  BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(error)),
                                  BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
            const sock_fprog program{4, code};
            if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
                ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
                ::_exit(2);
            TileMachine machine = sapphire_rapids();
            machine.permit = this_tile_machine().permit;
            ::_exit(runs_tiles(machine) ? 1 : 0);
        }
        int status = -1;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        ASSERT_TRUE(WIFEXITED(status));
        if (WEXITSTATUS(status) == 2) GTEST_SKIP() << "this system has no filters of system calls";
        EXPECT_EQ(WEXITSTATUS(status), 0) << error;
    }
}

} // namespace
} // namespace ordo::test
