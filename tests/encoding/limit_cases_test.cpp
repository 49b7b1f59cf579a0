// SPDX-License-Identifier: MIT
// If an encoding's formula reduces to nothing or to a scale, a model with it equals the model without it.
#include "encoding/base/model_encodings.h"
#include "encoding/base/registry.h"
#include "tests/model/small_models.h"

#include <gtest/gtest.h>

namespace ordo {
namespace limit_cases_test {

constexpr int length = 40;

Rows logits(const Model& model, int chunk = length) {
    return logits_of(model, random_tokens(length, small_blueprint().vocab_size, 52), chunk);
}

// A model with the weights of one seed, and an encoding whose tensors have value(name, row, column).
using Value = std::function<double(const std::string& name, int row, int column)>;
Model with_encoding_of(const Blueprint& b, const std::string& spec, const Value& value) {
    const Model trunk = random_model(b, "none", 51);
    const reference::Tensors weights = tensors_of(trunk);
    ModelEncodings encodings(spec, b.dims());
    TensorMemory tensors(model_tensors(b, encodings));
    for (std::size_t i = 0; i < tensors.specs().size(); ++i) {
        const View to = tensors.view(i);
        const auto from = weights.find(tensors.specs()[i].name);
        for (int r = 0; r < to.rows; ++r)
            for (int c = 0; c < to.cols; ++c)
                to.row(r)[c] = static_cast<float>(from == weights.end() ? value(tensors.specs()[i].name, r, c)
                                                                        : from->second.at(r, c));
    }
    return make_model("limit", b, std::move(encodings), std::move(tensors), {}, {}, b.context);
}

Model with_encoding_of(const Blueprint& b, const std::string& spec, double value) {
    return with_encoding_of(b, spec, [=](const std::string&, int, int) { return value; });
}

// KERPLE is ALiBi with r2 = 1, T5 with a table of slopes up to its buckets, FIRE with a small c and one unit, and the
// forgetting gate with the same gate for all tokens, -ln f = m.
TEST(LimitCases, AlibiIsALimitOfFour) {
    const Blueprint b = small_blueprint(); // the slopes of 4 heads are 4^-1 .. 4^-4
    const Rows alibi = logits(with_encoding_of(b, "alibi:max=4", 0));
    const auto slope = [](int head) { return std::exp2(-head - 1); };
    const auto is = [](const std::string& name, const char* end) { return name.ends_with(end); };
    const auto kerple = [&](const auto& name, int, int head) { return is(name, "r1") ? slope(head) : 1; };
    const auto t5 = [&](const auto&, int bucket, int head) { return -slope(head) * bucket; };
    const auto fire = [&](const auto& name, int head, int) {
        const double c = 1e-6, scale = (std::log1p(80 * c) + 1e-6) / c;
        return is(name, ".c") ? c : is(name, "out.weight") ? -slope(head) * scale : is(name, "bias") ? 0 : 1;
    };
    const auto forget = [&](const auto& name, int, int head) {
        return is(name, "bias") ? -std::log(std::expm1(slope(head))) : 0;
    };
    for (const auto& [spec, value] : {std::pair<const char*, Value>{"kerple:kernel=power", kerple},
                                      {"t5:buckets=96,distance=128", t5},
                                      {"fire:threshold=80,width=1", fire},
                                      {"forget", forget}})
        EXPECT_LE(difference(logits(with_encoding_of(b, spec, value)), alibi), 1e-4) << spec;
}

TEST(LimitCases, ASinkAtMinusInfinityIsNone) {
    const Blueprint b = small_blueprint();
    const Rows none = logits(with_encoding_of(b, "none", 0));
    for (const int chunk : {1, 7, length}) {
        EXPECT_LE(difference(logits(with_encoding_of(b, "sink", -INFINITY), chunk), none), 1e-4) << chunk;
        EXPECT_GT(difference(logits(with_encoding_of(b, "sink", 0), chunk), none), 1e-2) << chunk;
    }
}

// The bits are those of the whole row, however it is fed. A window shorter by one key changes only the last query.
TEST(LimitCases, AWindowOfAllTokensHidesNone) {
    for (const EncodingInfo* info : registered_encodings()) {
        SCOPED_TRACE(info->name);
        Blueprint b = small_blueprint();
        b.n_layers = 1;
        const auto windowed = [&](int window, int chunk) {
            b.window = window;
            return logits(random_model(b, info->name, 53), chunk);
        };
        for (const int chunk : {1, 7, length}) {
            const Rows whole = windowed(0, chunk);
            for (const int window : {length, length + 1, 1000})
                EXPECT_EQ(difference(windowed(window, chunk), whole), 0) << window << " " << chunk;
            const Rows cut = windowed(length - 1, chunk);
            for (std::size_t i = 0; i + 1 < length; ++i) EXPECT_EQ(difference(cut[i], whole[i]), 0) << i;
            // By then gates have forgotten the first token, and nearer keys have broken the whole stick.
            const unsigned moments = example_of(*info)->moments();
            if (!(moments & moment_observe) && ~moments & (moment_rescore | moment_sink)) {
                EXPECT_GT(difference(cut.back(), whole.back()), 1e-5) << chunk;
            }
            EXPECT_GT(difference(windowed(2, chunk).back(), whole.back()), 1e-3) << chunk;
        }
    }
}

} // namespace limit_cases_test
} // namespace ordo
