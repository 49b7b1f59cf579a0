// SPDX-License-Identifier: MIT
// Files with mixed blocks, as llama-quantize writes for "Q4_K_M" and others: v has another type than q and k of its
// layer. The stored blocks compute the same as their decoded weights, except that activations are rounded to blocks.
#include "core/random.h"
#include "formats/gguf/file.h"
#include "formats/source.h"
#include "io/blocks.h"
#include "io/half.h"
#include "model/stack.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <map>

namespace ordo {
namespace {

constexpr int width = 256, d_ff = 512, vocabulary = 64, heads = 4;

// Random bits, with scales that keep activations near 1.
std::vector<std::byte> random_blocks(WeightType type, int rows, int cols, std::uint64_t seed) {
    const Random random(seed, 1);
    std::vector<std::byte> bytes(static_cast<std::size_t>(rows) * row_bytes(type, cols));
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(random.below(i, 256));
    // A k-quant multiplies its scale with another scale of four to eight bits. The levels of iq4 reach 127.
    const std::map<WeightType, float> scales{{WeightType::q8_0, 0.0008f},  {WeightType::q4_0, 0.012f},
                                             {WeightType::q4_1, 0.012f},   {WeightType::q5_0, 0.006f},
                                             {WeightType::q5_1, 0.006f},   {WeightType::iq4_nl, 0.0009f},
                                             {WeightType::q2_K, 0.004f},   {WeightType::q3_K, 0.0014f},
                                             {WeightType::q6_K, 0.00004f}, {WeightType::iq4_xs, 0.00005f}};
    const float scale = scales.contains(type) ? scales.at(type) : 0.0001f;
    const WeightFormat& format = format_of(type);
    // m of q4_1 and q5_1, dmin of k-quants
    const float second = type == WeightType::q4_1 ? -7.5f : type == WeightType::q5_1 ? -15.5f : 1.0f;
    const std::uint16_t halves[] = {f16_from_float(scale), f16_from_float(scale * second)};
    for (std::size_t at = 0; at < bytes.size(); at += static_cast<std::size_t>(format.bytes))
        std::memcpy(bytes.data() + at + static_cast<std::size_t>(format.scales_at), halves,
                    2 * static_cast<std::size_t>(format.scales));
    return bytes;
}

// The types of a layer's matrices; k has the type of q.
struct Mix {
    const char* name;
    WeightType embedding, q, v, output, gate, up, down;
};
using enum WeightType;
constexpr Mix mixes[] = {{"Q4_K_M", q6_K, q4_K, q6_K, q5_K, q4_K, q5_0, q6_K},
                         {"Q5_K_M_OfASmallModel", q8_0, q5_1, q6_K, q5_1, q5_K, q5_1, q8_0},
                         {"Q4_0_WithAnImatrix", q6_K, q4_0, q4_1, q4_0, q4_0, q4_0, q4_1},
                         {"Q2_K", q6_K, q2_K, q4_K, q3_K, q2_K, q2_K, q3_K},
                         {"IQ4_XS", q6_K, iq4_xs, q5_K, iq4_xs, iq4_xs, iq4_nl, iq4_xs}};

class MixedFile {
public:
    explicit MixedFile(const Mix& mix) {
        add("token_embd.weight", mix.embedding, vocabulary, width);
        for (const std::string layer : {"blk.0.", "blk.1."}) {
            ones(layer + "attn_norm.weight");
            add(layer + "attn_q.weight", mix.q, width, width);
            add(layer + "attn_k.weight", mix.q, width, width);
            add(layer + "attn_v.weight", mix.v, width, width);
            add(layer + "attn_output.weight", mix.output, width, width);
            ones(layer + "ffn_norm.weight");
            add(layer + "ffn_gate.weight", mix.gate, d_ff, width);
            add(layer + "ffn_up.weight", mix.up, d_ff, width);
            add(layer + "ffn_down.weight", mix.down, width, d_ff);
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

class GgufBlocks : public testing::TestWithParam<Mix> {};
INSTANTIATE_TEST_SUITE_P(Mixes, GgufBlocks, testing::ValuesIn(mixes),
                         [](const auto& test) { return std::string(test.param.name); });

TEST_P(GgufBlocks, OfSeveralTypesComputeWhatTheirDecodedWeightsDo) {
    const MixedFile file(GetParam());
    const auto load = [&](const std::string& dtype) {
        LoadOptions options;
        options.dtype = dtype;
        return load_model(gguf_source(std::make_shared<const Gguf>(Gguf::parse(file.bytes, "mixed"))), options);
    };
    const Model stored = load(""), decoded = load("f32");

    // q and k share a band, and v has its own. No matrix became floats.
    const auto& layer = impl_of(stored).weights.layers.front();
    std::vector<WeightType> types;
    for (const Matrix::Band& band : layer.linears.front().weight.bands()) types.push_back(band.type);
    EXPECT_EQ(types, (std::vector{GetParam().q, GetParam().v}));

    const std::vector<float> blocks = logits_of(stored, 256), floats = logits_of(decoded, 256);
    double error = 0, energy = 0;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        error += std::pow(blocks[i] - floats[i], 2);
        energy += std::pow(floats[i], 2);
    }
    EXPECT_GT(energy, 1e-3);
    EXPECT_LT(error, 1e-3 * energy); // activations of eight bits, twice in each of four layers
    for (const int chunk : {1, 5}) EXPECT_EQ(blocks, logits_of(stored, chunk)) << "a chunk changes a bit: " << chunk;
}

} // namespace
} // namespace ordo
