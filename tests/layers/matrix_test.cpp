// SPDX-License-Identifier: MIT
#include "core/parallel.h"
#include "core/random.h"
#include "core/tensor.h"
#include "io/blocks.h"
#include "io/half.h"
#include "layers/linear.h"
#include "tests/kernels/sets.h"

#include <cmath>
#include <gtest/gtest.h>

namespace ordo {
namespace {

Tensor random_tensor(int rows, int cols, std::uint64_t stream) {
    Tensor t(rows, cols);
    for (std::size_t i = 0; i < t.size(); ++i) t.data()[i] = static_cast<float>(Random(29, stream).normal(i));
    return t;
}

std::size_t stride_of(WeightType type, int cols) {
    return static_cast<std::size_t>(row_bytes(type, cols));
}

// Blocks, f16 or float values of random bits, even bits that no quantiser would produce. Limited exponents keep the
// values or their scales small.
std::vector<std::byte> random_blocks(WeightType type, int rows, int cols, std::uint64_t stream) {
    const std::size_t stride = stride_of(type, block_size(type));
    std::vector<std::byte> blocks(stride_of(type, cols) * static_cast<std::size_t>(rows));
    for (std::size_t i = 0; i < blocks.size(); ++i)
        blocks[i] = static_cast<std::byte>(Random(31, stream).four(i / 4)[i % 4] >> 9);
    const WeightFormat& format = format_of(type);
    const int halves = type == WeightType::f32 ? 2 : std::max(format.scales, 1);
    for (std::size_t at = 0; at < blocks.size(); at += stride)
        for (int i = 0; i < halves; ++i) {
            std::byte& top = blocks[at + static_cast<std::size_t>(format.scales_at + 2 * i + 1)];
            top = (top & std::byte{0x83}) | std::byte{0x28};
        }
    return blocks;
}

struct Packed {
    Packed(WeightType type, Tensor&& from)
        : f32(std::move(from)), memory(static_cast<std::size_t>(Matrix::bytes(type, f32.rows(), f32.cols()))),
          matrix(type, f32.rows(), f32.cols(), memory.data()) {
        EXPECT_TRUE(matrix.pack(f32.view()));
    }
    // Weights of any type, even types that floats cannot be converted to.
    Packed(WeightType type, int rows, int cols, std::uint64_t stream) : f32(rows, cols) {
        if (writable(type)) {
            *this = Packed(type, random_tensor(rows, cols, stream));
            return;
        }
        memory = Buffer<std::byte>(static_cast<std::size_t>(Matrix::bytes(type, rows, cols)));
        matrix = Matrix(type, rows, cols, memory.data());
        matrix.pack_blocks(random_blocks(type, rows, cols, stream));
    }
    std::vector<float> row(int i) const {
        std::vector<float> values(static_cast<std::size_t>(matrix.cols()));
        matrix.row(i, values.data());
        return values;
    }
    Tensor f32;
    Buffer<std::byte> memory;
    Matrix matrix;
};

class PackedMatrix : public testing::TestWithParam<WeightType> {
protected:
    void TearDown() override {
        select_kernels("auto");
        set_threads(threads_);
    }
    const int threads_ = thread_count();
};

// The formulas of the block formats again, in doubles.
double expected_weight(WeightType type, std::span<const float> row, std::size_t k) {
    if (type == WeightType::f32) return row[k];
    if (type == WeightType::f16) return f16_to_float(f16_from_float(row[k]));
    if (type == WeightType::bf16) return bf16_to_float(bf16_from_float(row[k]));
    const auto block = row.subspan(k / 32 * 32, 32);
    double most = 0;
    for (const float v : block)
        if (std::abs(v) > std::abs(most)) most = v;
    const bool q8 = type == WeightType::q8_0;
    const double exact = q8 ? std::abs(most) / 127 : most / -8;
    const double scale = f16_to_float(f16_from_float(static_cast<float>(exact)));
    return scale * (q8 ? std::round(row[k] / exact) : std::min(7.0, std::floor(row[k] / exact + 0.5)));
}

TEST_P(PackedMatrix, HoldsTheNearestThatItsTypeCan) {
    if (!writable(GetParam())) return;
    for (const auto& [rows, cols] : {std::pair{1, 32}, {33, 64}, {100, 96}, {64, 288}}) {
        const Packed packed(GetParam(), random_tensor(rows, cols, 1));
        int ties = 0; // ties that float and double round differently
        for (int i = 0; i < rows; ++i) {
            const std::vector<float> found = packed.row(i);
            const std::span<const float> from(const_cast<Tensor&>(packed.f32).view().row(i),
                                              static_cast<std::size_t>(cols));
            for (std::size_t k = 0; k < found.size(); ++k) {
                const double expected = expected_weight(GetParam(), from, k);
                ties += std::abs(found[k] - expected) > 1e-6 * (1 + std::abs(expected));
            }
        }
        EXPECT_LE(ties, rows * cols / 2000) << rows << " x " << cols;
    }
}

TEST_P(PackedMatrix, PackedAgainItIsTheSame) {
    if (!writable(GetParam())) return;
    Packed once(GetParam(), random_tensor(40, 96, 2));
    Tensor copy(40, 96);
    for (int i = 0; i < 40; ++i) once.matrix.row(i, copy.view().row(i));
    const Packed twice(GetParam(), std::move(copy));
    for (std::size_t i = 0; i < once.memory.size(); ++i) ASSERT_EQ(once.memory[i], twice.memory[i]) << "byte " << i;
}

// The values of a row of a file.
std::vector<float> values_of(WeightType type, std::span<const std::byte> row, int cols) {
    std::vector<float> values(static_cast<std::size_t>(cols));
    if (type == WeightType::f32) {
        std::memcpy(values.data(), row.data(), row.size());
    } else if (quantised(type)) {
        read_blocks(type, row, values);
    } else {
        for (std::size_t k = 0; k < values.size(); ++k) {
            std::uint16_t half;
            std::memcpy(&half, row.data() + 2 * k, 2);
            values[k] = type == WeightType::f16 ? f16_to_float(half) : bf16_to_float(half);
        }
    }
    return values;
}

// Blocks from another quantiser need not use all levels. They keep their own.
TEST_P(PackedMatrix, KeepsRowsOfAFileAsTheyAre) {
    for (const int cols : {512, 511, 13}) { // 511 and 13 only for types without blocks
        if (cols % block_size(GetParam()) != 0) continue;
        const int rows = 35;
        const std::size_t stride = stride_of(GetParam(), cols);
        const std::vector<std::byte> blocks = random_blocks(GetParam(), rows, cols, 1);
        Buffer<std::byte> memory(static_cast<std::size_t>(Matrix::bytes(GetParam(), rows, cols)));
        const Matrix matrix(GetParam(), rows, cols, memory.data());
        matrix.pack_blocks(blocks);
        std::vector<float> found(static_cast<std::size_t>(cols));
        for (int i = 0; i < rows; ++i) {
            const auto row = std::span(blocks).subspan(static_cast<std::size_t>(i) * stride, stride);
            matrix.row(i, found.data());
            EXPECT_EQ(found, values_of(GetParam(), row, cols)) << cols << " columns, row " << i;
        }
    }
}

// The bytes, including the padding, equal those packed from the same values as floats.
TEST_P(PackedMatrix, RowsOfAFileAreWhatTheirFloatsArePackedTo) {
    if (quantised(GetParam())) return;
    const int rows = 70, cols = 45;
    const std::size_t stride = stride_of(GetParam(), cols);
    const std::vector<std::byte> stored = random_blocks(GetParam(), rows, cols, 3);
    Tensor f32(rows, cols);
    for (int i = 0; i < rows; ++i)
        std::ranges::copy(
            values_of(GetParam(), std::span(stored).subspan(static_cast<std::size_t>(i) * stride, stride), cols),
            f32.view().row(i));
    const Packed expected(GetParam(), std::move(f32));
    Buffer<std::byte> memory(static_cast<std::size_t>(Matrix::bytes(GetParam(), rows, cols)));
    Matrix(GetParam(), rows, cols, memory.data()).pack_blocks(stored);
    EXPECT_EQ(std::memcmp(memory.data(), expected.memory.data(), memory.size()), 0);
}

TEST_P(PackedMatrix, TakesRowsOfAFileInAnyPieces) {
    const int rows = 70, cols = quantised(GetParam()) ? 256 : 255;
    const std::size_t stride = stride_of(GetParam(), cols);
    const std::vector<std::byte> blocks = random_blocks(GetParam(), rows, cols, 2);
    Buffer<std::byte> whole(static_cast<std::size_t>(Matrix::bytes(GetParam(), rows, cols))), pieces(whole.size());
    Matrix(GetParam(), rows, cols, whole.data()).pack_blocks(blocks);
    for (const auto& [first, count] : {std::pair{33, 30}, {0, 33}, {63, 1}, {64, 6}})
        Matrix(GetParam(), rows, cols, pieces.data())
            .pack_blocks(first, std::span(blocks).subspan(static_cast<std::size_t>(first) * stride,
                                                          static_cast<std::size_t>(count) * stride));
    EXPECT_EQ(std::memcmp(whole.data(), pieces.data(), whole.size()), 0);
}

TEST_P(PackedMatrix, SubnormalsAreZerosInBlocks) {
    if (!quantised(GetParam()) || !writable(GetParam())) return;
    Tensor tiny(1, 32);
    for (int k = 0; k < 32; ++k) tiny.data()[k] = k % 2 == 0 ? 1e-40f : -1e-41f;
    const Packed packed(GetParam(), std::move(tiny));
    for (const float value : packed.row(0)) EXPECT_EQ(value, 0);
}

TEST_P(PackedMatrix, RefusesWhatItCannotHold) {
    if (GetParam() == WeightType::f32 || GetParam() == WeightType::bf16 || !writable(GetParam()))
        return; // these types have the range of a float
    Tensor large(1, 32);
    large.data()[5] = 1e9f;
    Buffer<std::byte> memory(static_cast<std::size_t>(Matrix::bytes(GetParam(), 1, 32)));
    EXPECT_FALSE(Matrix(GetParam(), 1, 32, memory.data()).pack(large.view()));
}

struct Shape {
    int rows, k, outputs;
};
const Shape odd_shapes[] = {{1, 33, 40}, {13, 7, 33}, {2, 41, 40}, {1, 9, 33}}; // types without blocks only
const Shape shapes[] = {{1, 32, 1},    {1, 288, 97},  {2, 64, 31}, {3, 96, 65},  {5, 32, 33},
                        {6, 160, 64},  {7, 64, 128},  {8, 96, 40}, {11, 32, 96}, {13, 288, 70},
                        {25, 128, 64}, {40, 64, 200}, {83, 96, 65}};

std::vector<Shape> shapes_of(WeightType type) {
    std::vector<Shape> all(std::begin(shapes), std::end(shapes));
    for (Shape& shape : all) shape.k *= block_size(type) / std::min(block_size(type), quant_block);
    if (!quantised(type)) all.insert(all.end(), std::begin(odd_shapes), std::end(odd_shapes));
    return all;
}

// The product of the stored weights and the rows in the form that the product uses: quantised, or rounded if the
// instruction set multiplies bf16 pairs.
double expected_output(const Packed& packed, View x, const QuantRows& quantised_x, int row, int output) {
    const bool pairs = packed.matrix.type() == WeightType::bf16 && kernels().product_bf16_pairs != nullptr;
    const std::vector<float> w = packed.row(output);
    const bool q = quantised(packed.matrix.type());
    double sum = 0;
    for (std::size_t k = 0; k < w.size(); ++k) {
        const std::size_t at = static_cast<std::size_t>(row) * w.size() + k;
        const double value = q       ? quantised_x.scales[at / 32] * static_cast<double>(quantised_x.values[at])
                             : pairs ? double{bf16_to_float(bf16_from_float(x.row(row)[k]))}
                                     : double{x.row(row)[k]};
        sum += value * w[k];
    }
    return sum;
}

TEST_P(PackedMatrix, ProductsAgreeWithDoublesOnEveryInstructionSet) {
    for (const Kernels* set : test::tested_kernels()) {
        select_kernels(*set);
        for (const Shape& s : shapes_of(GetParam())) {
            const Packed packed(GetParam(), s.outputs, s.k, 3);
            Tensor x = random_tensor(s.rows, s.k, 4), bias = random_tensor(1, s.outputs, 5), y(s.rows, s.outputs);
            RowScratch scratch(s.rows, s.k), copy(s.rows, s.k);
            linear(x.view(), {packed.matrix, bias.view()}, scratch, y.view());
            const QuantRows quantised_x = quantised(GetParam()) ? copy.quantise(x.view()) : QuantRows{};
            double error = 0, magnitude = 0;
            for (int i = 0; i < s.rows; ++i)
                for (int j = 0; j < s.outputs; ++j) {
                    const double expected =
                        expected_output(packed, x.view(), quantised_x, i, j) + double{bias.data()[j]};
                    error += std::pow(y.view().row(i)[j] - expected, 2);
                    magnitude += expected * expected;
                }
            EXPECT_LE(error / magnitude, 1e-12) << set->name << ": " << s.rows << " x " << s.k << " x " << s.outputs;
        }
    }
}

TEST_P(PackedMatrix, ARowHasTheSameBitsInAnyCompanyAndOnAnyNumberOfThreads) {
    const std::vector<int> depths = block_size(GetParam()) > quant_block ? std::vector{512} : std::vector{224, 352};
    for (const Kernels* set : test::tested_kernels()) {
        select_kernels(*set);
        for (const int k : depths) {
            const int rows = 85, outputs = 500;
            const Packed packed(GetParam(), outputs, k, 6);
            Tensor x = random_tensor(rows, k, 7), together(rows, outputs), alone(rows, outputs);
            RowScratch scratch(rows, k);
            for (const int threads : {1, 2, 3, 8}) {
                set_threads(threads);
                linear(x.view(), {packed.matrix, {}}, scratch, together.view());
                for (int i = 0; i < rows; ++i)
                    linear(rows_of(x.view(), i, 1), {packed.matrix, {}}, scratch, rows_of(alone.view(), i, 1));
                EXPECT_EQ(std::memcmp(together.data(), alone.data(), alone.size() * sizeof(float)), 0)
                    << set->name << " on " << threads << " threads, " << k;
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Types, PackedMatrix, testing::ValuesIn(weight_types),
                         [](const auto& test) { return std::string(name_of(test.param)); });

// As in a file whose query and key rows have one type and whose value rows have another.
TEST(BandedMatrix, IsWhatItsBandsAreApart) {
    const int cols = 512;
    const std::vector<TypedRows> bands{{WeightType::q4_K, 70}, {WeightType::q6_K, 33}, {WeightType::q5_0, 64}};
    Buffer<std::byte> memory(static_cast<std::size_t>(Matrix::bytes(bands, cols)));
    const Matrix whole(bands, cols, memory.data());
    ASSERT_EQ(whole.rows(), 167);
    Tensor x = random_tensor(7, cols, 9), bias = random_tensor(1, 167, 10), y(7, 167), expected(7, 167);
    RowScratch scratch(7, cols);
    int first = 0;
    for (const auto& [type, rows] : bands) {
        const std::vector<std::byte> blocks = random_blocks(type, rows, cols, 11);
        whole.pack_blocks(first, blocks);
        const Packed alone(type, rows, cols, 11);
        std::vector<float> found(cols);
        for (const int i : {0, 31, 32, rows - 1}) {
            whole.row(first + i, found.data());
            EXPECT_EQ(found, alone.row(i)) << name_of(type) << " row " << i;
        }
        linear(x.view(), {alone.matrix, cols_of(bias.view(), first, rows)}, scratch,
               cols_of(expected.view(), first, rows));
        EXPECT_TRUE(whole.has(type));
        first += rows;
    }
    EXPECT_FALSE(whole.has(WeightType::q8_0));
    linear(x.view(), {whole, bias.view()}, scratch, y.view());
    EXPECT_EQ(std::memcmp(y.data(), expected.data(), y.size() * sizeof(float)), 0);
}

// All 65,536 f16 values, through the product that reads a cache of them.
TEST(Halves, AreReadExactlyOnEveryInstructionSet) {
    for (const Kernels* set : test::tested_kernels()) {
        const float one = 1;
        int wrong = 0;
        for (unsigned first = 0; first < 65536; first += 16) {
            std::uint16_t halves[16];
            float out[16];
            for (unsigned i = 0; i < 16; ++i) halves[i] = static_cast<std::uint16_t>(first + i);
            set->product_halves(1, 16, 1, 1, &one, 1, 1, halves, 16, 0, out, 16);
            for (unsigned i = 0; i < 16; ++i) {
                const float expected = f16_to_float(halves[i]);
                wrong += std::isnan(expected) ? !std::isnan(out[i]) : out[i] != expected;
            }
        }
        EXPECT_EQ(wrong, 0) << set->name;
    }
}

// Rows are quantised to 127 levels of their largest value. A value that is not finite must remain visible.
TEST(QuantisedRows, AreTheNearestLevels) {
    for (const Kernels* set : test::tested_kernels()) {
        select_kernels(*set);
        Tensor x = random_tensor(3, 96, 8);
        x.view().row(2)[40] = std::numeric_limits<float>::infinity();
        x.view().row(1)[95] = std::numeric_limits<float>::quiet_NaN();
        for (int k = 0; k < 32; ++k) x.view().row(1)[k] = 0;
        RowScratch scratch(3, 96);
        const QuantRows q = scratch.quantise(x.view());
        for (int i = 0; i < 3; ++i)
            for (int b = 0; b < 3; ++b) {
                const float* values = x.view().row(i) + 32 * b;
                const int block = 3 * i + b;
                if (block == 5 || block == 7) {
                    EXPECT_FALSE(std::isfinite(q.scales[block]));
                    continue;
                }
                double most = 0;
                int sum = 0, first = 0;
                for (int k = 0; k < 32; ++k) most = std::max(most, std::abs(double{values[k]}));
                EXPECT_FLOAT_EQ(q.scales[block], static_cast<float>(most / 127));
                for (int k = 0; k < 32; ++k) {
                    const int level = q.values[32 * block + k];
                    sum += level;
                    first += k < 16 ? level : 0;
                    EXPECT_LE(std::abs(level * most / 127 - values[k]), most / 127 * 0.50001);
                }
                EXPECT_EQ(q.sums[block], sum);
                EXPECT_EQ(q.first_sums[block], first);
            }
    }
    select_kernels("auto");
}

} // namespace
} // namespace ordo
