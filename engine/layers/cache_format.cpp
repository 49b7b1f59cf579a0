// SPDX-License-Identifier: MIT
#include "layers/cache_format.h"

#include "core/error.h"
#include "core/weight_type.h"
#include "io/half.h"
#include "kernels/kernels.h"

#include <algorithm>
#include <array>

namespace ordo {
namespace {

constexpr int slab = CacheFormat::slab;
constexpr std::pair<std::string_view, CacheType> names[] = {
    {"f32", CacheType::f32}, {"f16", CacheType::f16}, {"bf16", CacheType::bf16}, {"q8_0", CacheType::q8_0}};

// ---- Floats and half precision ------------------------------------------------------------------

struct Floats {
    using Element = float;
    static float write(float x) { return x; }
    static float read(float x) { return x; }
    static auto product() { return kernels().product; }
};
struct Halves {
    using Element = std::uint16_t;
    static std::uint16_t write(float x) { return f16_from_float(x); }
    static float read(std::uint16_t x) { return f16_to_float(x); }
    static auto product() { return kernels().product_halves; }
};

template <class Of>
class Plain final : public CacheFormat {
    using T = typename Of::Element;
    static T* at(std::byte* p) { return reinterpret_cast<T*>(p); }
    static const T* at(const std::byte* p) { return reinterpret_cast<const T*>(p); }

public:
    std::size_t token_bytes(int d) const override { return sizeof(T) * static_cast<std::size_t>(d); }
    // A key is a column of its slab, a value a row.
    void write_keys(View keys, std::byte* to, int i) const override {
        for (int r = 0; r < keys.rows; ++r)
            for (int j = 0; j < keys.cols; ++j) at(to)[j * slab + i + r] = Of::write(keys.row(r)[j]);
    }
    void write_values(View values, std::byte* to, int i) const override {
        for (int r = 0; r < values.rows; ++r)
            for (int j = 0; j < values.cols; ++j) at(to)[(i + r) * values.cols + j] = Of::write(values.row(r)[j]);
    }
    void read_key(const std::byte* from, int i, float* key, int d) const override {
        for (int j = 0; j < d; ++j) key[j] = Of::read(at(from)[j * slab + i]);
    }
    void read_value(const std::byte* from, int i, float* value, int d) const override {
        for (int j = 0; j < d; ++j) value[j] = Of::read(at(from)[i * d + j]);
    }
    void multiply_keys(const std::byte* slabs, float scale, View q, std::byte*, View scores) const override {
        const T* from = at(slabs);
        for (int first = 0; first < scores.cols; first += slab, from += std::ptrdiff_t{slab} * q.cols)
            Of::product()(q.rows, std::min(slab, scores.cols - first), q.cols, scale, q.data, q.stride, 1, from, slab,
                          0, scores.data + first, scores.stride);
    }
    void multiply_values(const std::byte* slabs, View weights, View out) const override {
        Of::product()(out.rows, out.cols, weights.cols, 1, weights.data, weights.stride, 1, at(slabs), out.cols, 0,
                      out.data, out.stride);
    }
};

// ---- Pairs ------------------------------------------------------------------------------------

int blocks_of(int d) {
    return (d + quant_block - 1) / quant_block;
}

class Pairs final : public CacheFormat {
    static std::size_t columns(int d) { return static_cast<std::size_t>(blocks_of(d)) * quant_block; }
    static std::ptrdiff_t panel(int d) { return static_cast<std::ptrdiff_t>(columns(d)) * 2 * panel_outputs; } // bytes
    template <class Bytes>
    static Bytes* key_at(Bytes* from, int d, int i, int j) {
        return from + i / panel_outputs * panel(d) + 4 * (j / 2 * panel_outputs + i % panel_outputs) + 2 * (j % 2);
    }
    template <class Bytes>
    static Bytes* value_at(Bytes* from, int i, int j) {
        return from + std::ptrdiff_t{j / quant_block} * 2 * slab * quant_block +
               4 * (i / 2 * quant_block + j % quant_block) + 2 * (i % 2);
    }
    static std::uint32_t pair(float low, float high) {
        return bf16_from_float(low) | std::uint32_t{bf16_from_float(high)} << 16;
    }
    static float read(const std::byte* from) {
        std::uint16_t half;
        std::memcpy(&half, from, sizeof half);
        return bf16_to_float(half);
    }

public:
    std::size_t token_bytes(int d) const override { return 2 * columns(d); }
    void write_keys(View keys, std::byte* to, int i) const override {
        const int d = keys.cols;
        for (int r = 0; r < keys.rows; ++r)
            for (int first = 0; first < d; first += quant_block) {
                const float* const key = keys.row(r) + first;
                const int n = std::min(quant_block, d - first);
                std::array<std::uint32_t, quant_block / 2> words;
                for (int j = 0; j < n / 2; ++j) words[j] = pair(key[2 * j], key[2 * j + 1]);
                if (n % 2 != 0) words[n / 2] = pair(key[n - 1], 0); // multiplied with the query's 0
                std::byte* const at = key_at(to, d, i + r, first);
                for (int j = 0; j < (n + 1) / 2; ++j) std::memcpy(at + 4 * panel_outputs * j, &words[j], 4);
            }
    }
    void write_values(View values, std::byte* to, int i) const override {
        for (int r = 0, n = 0; r < values.rows; r += n) {
            n = (i + r) % 2 == 0 && r + 1 < values.rows ? 2 : 1;
            for (int first = 0; first < values.cols; first += quant_block) {
                const int cols = std::min(quant_block, values.cols - first);
                const float *const value = values.row(r) + first, *const next = values.row(r + n - 1) + first;
                std::byte* const at = value_at(to, i + r, first);
                std::array<std::uint32_t, quant_block> words;
                if (n == 2) {
                    for (int j = 0; j < cols; ++j) words[j] = pair(value[j], next[j]);
                    std::memcpy(at, words.data(), 4 * static_cast<std::size_t>(cols));
                } else {
                    for (int j = 0; j < cols; ++j) {
                        const std::uint16_t half = bf16_from_float(value[j]);
                        std::memcpy(at + 4 * j, &half, sizeof half);
                    }
                }
            }
        }
    }
    void read_key(const std::byte* from, int i, float* key, int d) const override {
        for (int j = 0; j < d; ++j) key[j] = read(key_at(from, d, i, j));
    }
    void read_value(const std::byte* from, int i, float* value, int d) const override {
        for (int j = 0; j < d; ++j) value[j] = read(value_at(from, i, j));
    }
    // The queries are scaled before they are multiplied, and rounded to bf16 where the machine multiplies pairs.
    void multiply_keys(const std::byte* slabs, float scale, View q, std::byte* memory, View scores) const override {
        const Kernels& k = kernels();
        const int width = static_cast<int>(columns(q.cols));
        auto* const scaled = reinterpret_cast<float*>(memory);
        for (int r = 0; r < q.rows; ++r) {
            float* const row = scaled + std::ptrdiff_t{r} * width;
            std::copy_n(q.row(r), q.cols, row);
            std::fill(row + q.cols, row + width, 0.0f);
            k.scale(q.cols, scale, row);
        }
        if (!k.product_bf16_pairs)
            return k.product_bf16(q.rows, scores.cols, q.cols, slabs, panel(q.cols), scaled, width, scores.data,
                                  scores.stride);
        auto* const pairs = reinterpret_cast<std::uint16_t*>(memory); // in place: rows shrink towards the beginning
        k.round_to_bf16(q.rows * width, scaled, pairs);
        k.product_bf16_pairs(q.rows, scores.cols, q.cols, slabs, panel(q.cols), pairs, width, scores.data,
                             scores.stride, false);
    }
    void multiply_values(const std::byte* slabs, View weights, View out) const override {
        kernels().product_pair_slabs(out.rows, out.cols, weights.cols, weights.data, weights.stride, slabs, out.data,
                                     out.stride);
    }
};

// ---- Blocks -----------------------------------------------------------------------------------

constexpr int key_block = 64 + 1024;              // bytes of a block of a panel
constexpr int value_block = slab * (2 + 32);      // of a slab
constexpr std::uint32_t key_offset = 0x80808080u; // a panel's bytes are 128 too large

// At most 32 numbers of a row, as a block: x = scale * value.
struct Block {
    alignas(64) std::array<signed char, quant_block> values;
    float scale;
    int sum, first_sum;

    Block(const float* x, int n) {
        alignas(64) std::array<float, quant_block> all{};
        std::copy_n(x, n, all.begin());
        kernels().quantise_row(quant_block, all.data(), values.data(), &scale, &sum, &first_sum);
    }
};

void write_scale(std::byte* p, float scale) {
    const std::uint16_t half = f16_from_float(scale);
    std::memcpy(p, &half, sizeof half);
}
float read_scale(const std::byte* p) {
    std::uint16_t half;
    std::memcpy(&half, p, sizeof half);
    return f16_to_float(half);
}

class Blocks final : public CacheFormat {
public:
    std::size_t token_bytes(int d) const override { return static_cast<std::size_t>(blocks_of(d)) * (2 + quant_block); }

    void write_keys(View keys, std::byte* to, int i) const override {
        for (int r = 0; r < keys.rows; ++r) write_key(keys.row(r), keys.cols, to, i + r);
    }
    void write_values(View values, std::byte* to, int i) const override {
        for (int r = 0; r < values.rows; ++r) write_value(values.row(r), values.cols, to, i + r);
    }
    void write_key(const float* key, int d, std::byte* to, int i) const {
        for_blocks(d, [&](int b, int n) {
            const Block block(key + b * quant_block, n);
            std::byte* const panel = block_of_key(to, i, b, d);
            const int lane = i % panel_outputs;
            write_scale(panel + 2 * lane, block.scale);
            for (int g = 0; g < quant_block / 4; ++g) {
                std::uint32_t word;
                std::memcpy(&word, block.values.data() + 4 * g, sizeof word);
                word ^= key_offset;
                std::memcpy(word_of(panel, g, lane), &word, sizeof word);
            }
        });
    }
    void read_key(const std::byte* from, int i, float* key, int d) const override {
        for_blocks(d, [&](int b, int n) {
            const std::byte* const panel = block_of_key(from, i, b, d);
            const int lane = i % panel_outputs;
            const float scale = read_scale(panel + 2 * lane);
            for (int j = 0; j < n; ++j)
                key[b * quant_block + j] =
                    scale * static_cast<float>(std::to_integer<int>(word_of(panel, j / 4, lane)[j % 4]) - 128);
        });
    }

    void write_value(const float* value, int d, std::byte* to, int i) const {
        for_blocks(d, [&](int b, int n) {
            const Block block(value + b * quant_block, n);
            write_scale(to + b * value_block + 2 * i, block.scale);
            std::memcpy(bytes_of_value(to, i, b), block.values.data(), quant_block);
        });
    }
    void read_value(const std::byte* from, int i, float* value, int d) const override {
        for_blocks(d, [&](int b, int n) {
            const float scale = read_scale(from + b * value_block + 2 * i);
            const std::byte* const bytes = bytes_of_value(from, i, b);
            for (int j = 0; j < n; ++j)
                value[b * quant_block + j] = scale * static_cast<float>(std::to_integer<signed char>(bytes[j]));
        });
    }

    // The panels of all slabs are contiguous, as in a matrix.
    void multiply_keys(const std::byte* slabs, float scale, View q, std::byte* memory, View scores) const override {
        const int blocks = blocks_of(q.cols);
        kernels().product_q8_0(q.rows, scores.cols, blocks * quant_block, slabs, std::ptrdiff_t{blocks} * key_block,
                               quantise(q, scale, memory), scores.data, scores.stride);
    }
    void multiply_values(const std::byte* slabs, View weights, View out) const override {
        kernels().product_slabs(out.rows, out.cols, weights.cols, weights.data, weights.stride, slabs, out.data,
                                out.stride);
    }

private:
    // Calls body(b, n) for each block of a row, with the number of values in it.
    template <class Body>
    static void for_blocks(int d, const Body& body) {
        for (int b = 0; b < blocks_of(d); ++b) body(b, std::min(quant_block, d - b * quant_block));
    }
    template <class Bytes>
    static Bytes* block_of_key(Bytes* slab_start, int i, int b, int d) {
        return slab_start + (i / panel_outputs * blocks_of(d) + b) * key_block;
    }
    template <class Bytes>
    static Bytes* word_of(Bytes* panel, int g, int lane) {
        return panel + 2 * panel_outputs + 4 * (g * panel_outputs + lane);
    }
    template <class Bytes>
    static Bytes* bytes_of_value(Bytes* slab_start, int i, int b) {
        return slab_start + b * value_block + 2 * slab + i * quant_block;
    }

    static QuantRows quantise(View q, float scale, std::byte* memory) {
        const int blocks = blocks_of(q.cols), whole = q.cols / quant_block * quant_block, all = q.rows * blocks;
        auto* const values = reinterpret_cast<signed char*>(memory);
        auto* const scales = reinterpret_cast<float*>(values + all * quant_block);
        int *const sums = reinterpret_cast<int*>(scales + all), *const first_sums = sums + all;
        const Kernels& k = kernels();
        for (int r = 0, at = 0; r < q.rows; ++r, at += blocks) {
            k.quantise_row(whole, q.row(r), values + at * quant_block, scales + at, sums + at, first_sums + at);
            if (whole == q.cols) continue;
            const Block rest(q.row(r) + whole, q.cols - whole);
            const int last = at + blocks - 1;
            std::copy(rest.values.begin(), rest.values.end(), values + last * quant_block);
            scales[last] = rest.scale;
            sums[last] = rest.sum;
            first_sums[last] = rest.first_sum;
        }
        k.scale(all, scale, scales);
        return {values, scales, sums, first_sums, blocks * quant_block};
    }
};

} // namespace

std::size_t CacheFormat::query_bytes(int n, int d) {
    return static_cast<std::size_t>(n) * static_cast<std::size_t>(blocks_of(d)) * quant_block * sizeof(float);
}

const CacheFormat& cache_format(CacheType type) {
    static const Plain<Floats> floats;
    static const Plain<Halves> halves;
    static const Pairs pairs;
    static const Blocks blocks;
    switch (type) {
    case CacheType::f32:
        return floats;
    case CacheType::f16:
        return halves;
    case CacheType::bf16:
        return pairs;
    case CacheType::q8_0:
        return blocks;
    }
    fail(ErrorCode::usage, "cache type: expected one of CacheType, found ", static_cast<int>(type));
}

CacheType cache_type(std::string_view name) {
    for (const auto& [known, type] : names)
        if (name == known) return type;
    fail(ErrorCode::usage, "cache type: expected f32, f16, bf16 or q8_0, found '", printable(name), "'");
}

const char* name_of(CacheType type) {
    for (const auto& [name, known] : names)
        if (type == known) return name.data();
    return "";
}

} // namespace ordo
