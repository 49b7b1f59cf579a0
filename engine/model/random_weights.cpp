// SPDX-License-Identifier: MIT
#include "model/random_weights.h"

#include "core/parallel.h"
#include "encoding/base/initial.h"
#include "io/half.h"
#include "model/stack.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace ordo {

// Four numbers at once, as Philox produces them.
void fill_uniform(std::span<float> out, const Random& random, double mean, double deviation) {
    const double width = deviation * std::sqrt(12.0);
    const auto fours = static_cast<std::ptrdiff_t>((out.size() + 3) / 4);
    parallel_for(fours, 4096, [&](std::ptrdiff_t b) {
        const auto bits = random.four(static_cast<std::uint64_t>(b));
        for (std::size_t i = 0; i < 4; ++i) {
            const std::size_t at = static_cast<std::size_t>(b) * 4 + i;
            if (at < out.size()) out[at] = static_cast<float>(mean + width * (bits[i] * 0x1p-32 - 0.5));
        }
    });
}

namespace {

// For a block of random bits: the deviation of a weight divided by d. If the type has a second f16 number, also that
// number divided by d, such that the mean of the weights is 0.
struct Spread {
    double deviation, second = 0;
};

Spread spread_of(WeightType type) {
    switch (type) {
    case WeightType::q4_1:
        return {4.610, -7.5};
    case WeightType::q5_0:
        return {9.233};
    case WeightType::q5_1:
        return {9.233, -15.5};
    case WeightType::iq4_nl:
        return {67.44};
    case WeightType::q2_K:
        return {13.87, 1.5};
    case WeightType::q3_K:
        return {43.34};
    case WeightType::q4_K:
        return {258.3, 7.5};
    case WeightType::q5_K:
        return {526.9, 15.5};
    case WeightType::q6_K:
        return {1365.7};
    case WeightType::iq4_xs:
        return {1246.3};
    default: // writable()
        return {1};
    }
}

} // namespace

void fill_blocks(std::span<std::byte> out, WeightType type, const Random& random, double deviation) {
    const WeightFormat& format = format_of(type);
    const Spread spread = spread_of(type);
    const double d = deviation / spread.deviation;
    const std::uint16_t halves[] = {f16_from_float(static_cast<float>(d)),
                                    f16_from_float(static_cast<float>(d * spread.second))};
    const auto stride = static_cast<std::size_t>(format.bytes);
    parallel_for(static_cast<std::ptrdiff_t>(out.size() / stride), 64, [&](std::ptrdiff_t b) {
        std::byte* const block = out.data() + static_cast<std::size_t>(b) * stride;
        for (std::size_t i = 0; i < stride; i += 16) {
            const auto bits = random.four((static_cast<std::uint64_t>(b) << 8) + i);
            std::memcpy(block + i, bits.data(), std::min<std::size_t>(16, stride - i));
        }
        std::memcpy(block + format.scales_at, halves, 2 * static_cast<std::size_t>(format.scales));
    });
}

Model random_model(const Blueprint& blueprint, ModelEncodings encodings, std::uint64_t seed, WeightType type) {
    check(blueprint, "random model");
    std::vector<TensorSpec> specs = model_tensors(blueprint, encodings);
    std::vector<WeightType> types;
    for (const TensorSpec& spec : specs) types.push_back(type_within(type, spec));
    TensorMemory tensors(std::move(specs), types);
    for (std::size_t i = 0; i < tensors.specs().size(); ++i) {
        const TensorSpec& spec = tensors.specs()[i];
        // Matrices of the trunk keep activations near 1. The others vary around their initial values.
        using Kind = InitialValues::Kind;
        if (!writable(types[i])) {
            const auto rows = static_cast<std::uint64_t>(spec.shape[0]);
            std::vector<std::byte> blocks(rows * row_bytes(types[i], spec.shape[1]));
            fill_blocks(blocks, types[i], Random(seed, i), 1 / std::sqrt(static_cast<double>(spec.shape[1])));
            tensors.pack_blocks(i, blocks);
            continue;
        }
        const std::span<float> values = tensors.values(i);
        const bool around = spec.initial.kind == Kind::constant || spec.initial.kind == Kind::own;
        const double deviation =
            spec.shape.size() == 1 || around ? 0.1 : 1 / std::sqrt(static_cast<double>(spec.shape.back()));
        fill_uniform(values, Random(seed, i), spec.initial.kind == Kind::constant ? spec.initial.a : 0, deviation);
        if (spec.initial.kind == Kind::own || spec.initial.kind == Kind::uniform) {
            std::vector<float> initial(values.size());
            fill_initial(spec, initial, seed, i);
            for (std::size_t j = 0; j < values.size(); ++j)
                values[j] = spec.initial.kind == Kind::own ? initial[j] + values[j] : initial[j];
        }
        tensors.pack(i, "random model"); // now, so that a model never takes twice its memory
    }
    std::unique_ptr<const Tokenizer> tokenizer = make_byte_tokenizer();
    if (tokenizer->vocab_size() != blueprint.vocab_size) tokenizer.reset();
    return make_model("random model", blueprint, std::move(encodings), std::move(tensors), std::move(tokenizer), {},
                      blueprint.context);
}

Model random_model(const Blueprint& blueprint, std::string_view encoding, std::uint64_t seed, WeightType type) {
    check(blueprint, "random model");
    return random_model(blueprint, ModelEncodings(encoding, blueprint.dims()), seed, type);
}

} // namespace ordo
