// SPDX-License-Identifier: MIT
// A file of mixed blocks, as llama-quantize makes of "Q4_K_M": the values of a layer's v in another type than those of q
// and k. Held as stored, it computes what its decoded weights do, but for the rounding of activations to blocks.
#include "core/random.h"
#include "formats/gguf/file.h"
#include "formats/source.h"
#include "io/blocks.h"
#include "io/half.h"
#include "model/model.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

namespace ordo {
namespace {

constexpr int width = 256, d_ff = 512, vocabulary = 64, heads = 4;

// Where the scales in f16 lie in a block, by ggml's layouts.
std::vector<std::size_t> scales_of(WeightType type) {
    if (type == WeightType::q4_K || type == WeightType::q5_K) return {0, 2};
    if (type == WeightType::q6_K) return {208};
    return {0};
}

// Random bits, and scales of a size that keeps activations near 1.
std::vector<std::byte> random_blocks(WeightType type, int rows, int cols, std::uint64_t seed) {
    const Random random(seed, 1);
    std::vector<std::byte> bytes(static_cast<std::size_t>(rows) * row_bytes(type, cols));
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(random.below(i, 256));
    const std::size_t block = row_bytes(type, block_size(type));
    // A k-quant's scale stands before six or eight more bits of scale.
    const float scale = type == WeightType::q5_0 ? 0.006f : type == WeightType::q6_K ? 0.00004f : 0.0001f;
    for (std::size_t at = 0; at < bytes.size(); at += block)
        for (const std::size_t place : scales_of(type)) {
            const std::uint16_t half = f16_from_float(scale);
            std::memcpy(bytes.data() + at + place, &half, sizeof half);
        }
    return bytes;
}

class MixedFile {
public:
    MixedFile() {
        add("token_embd.weight", WeightType::q6_K, vocabulary, width);
        for (const std::string layer : {"blk.0.", "blk.1."}) {
            ones(layer + "attn_norm.weight");
            add(layer + "attn_q.weight", WeightType::q4_K, width, width);
            add(layer + "attn_k.weight", WeightType::q4_K, width, width);
            add(layer + "attn_v.weight", WeightType::q6_K, width, width);
            add(layer + "attn_output.weight", WeightType::q5_K, width, width);
            ones(layer + "ffn_norm.weight");
            add(layer + "ffn_gate.weight", WeightType::q4_K, d_ff, width);
            add(layer + "ffn_up.weight", WeightType::q5_0, d_ff, width);
            add(layer + "ffn_down.weight", WeightType::q6_K, width, d_ff);
        }
        ones("output_norm.weight");
        const auto count = [](int n) { return GgufValue::of(static_cast<std::uint32_t>(n)); };
        bytes = gguf_bytes({{"general.architecture", GgufValue::of("llama")},
                            {"llama.block_count", count(2)},
                            {"llama.context_length", count(64)},
                            {"llama.embedding_length", count(width)},
                            {"llama.feed_forward_length", count(d_ff)},
                            {"llama.attention.head_count", count(heads)},
                            {"llama.attention.layer_norm_rms_epsilon", GgufValue::of(1e-5f)}},
                           tensors_, "mixed");
    }

    std::vector<std::byte> bytes;

private:
    void store(const std::string& name, WeightType type, std::vector<std::int64_t> shape,
               std::vector<std::byte> content) {
        tensors_.push_back(
            {name, std::move(shape), type, [content = std::move(content)](const auto& sink) { sink(content); }});
    }
    void add(const std::string& name, WeightType type, int rows, int cols) {
        store(name, type, {rows, cols}, random_blocks(type, rows, cols, tensors_.size()));
    }
    void ones(const std::string& name) {
        const std::vector<float> values(width, 1.0f);
        const auto all = std::as_bytes(std::span(values));
        store(name, WeightType::f32, {width}, {all.begin(), all.end()});
    }

    std::vector<GgufStored> tensors_;
};

std::vector<float> logits_of(const Model& model, int chunk) {
    SessionOptions options;
    options.chunk = chunk;
    Session session(model, options);
    std::vector<Token> tokens;
    for (int i = 0; i < 24; ++i) tokens.push_back(i * 7 % vocabulary);
    const std::span<const float> last = session.feed(tokens);
    return {last.begin(), last.end()};
}

TEST(GgufBlocks, OfSeveralTypesComputeWhatTheirDecodedWeightsDo) {
    const MixedFile file;
    const auto load = [&](const std::string& dtype) {
        LoadOptions options;
        options.dtype = dtype;
        return load_model(gguf_source(std::make_shared<const Gguf>(Gguf::parse(file.bytes, "mixed"))), options);
    };
    const Model stored = load(""), decoded = load("f32");

    // q and k share a band, v has one of its own; nothing became floats.
    const auto& layer = impl_of(stored).weights.layers.front();
    std::vector<WeightType> types;
    for (const Matrix::Band& band : layer.linears.front().weight.bands()) types.push_back(band.type);
    EXPECT_EQ(types, (std::vector{WeightType::q4_K, WeightType::q6_K}));

    const std::vector<float> blocks = logits_of(stored, 256), floats = logits_of(decoded, 256);
    double error = 0, energy = 0;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        error += std::pow(blocks[i] - floats[i], 2);
        energy += std::pow(floats[i], 2);
    }
    EXPECT_GT(energy, 1e-3);
    EXPECT_LT(error, 1e-3 * energy); // eight bits of activations, twice four layers deep
    for (const int chunk : {1, 5}) EXPECT_EQ(blocks, logits_of(stored, chunk)) << "a chunk changes a bit: " << chunk;
}

} // namespace
} // namespace ordo
