// SPDX-License-Identifier: MIT
// If an encoding's formula reduces to nothing or to a scale, a model with it equals the model without it.
#include "encoding/base/registry.h"
#include "encoding/base/stack.h"
#include "tests/model/small_models.h"

#include <gtest/gtest.h>

namespace ordo {
namespace limit_cases_test {

constexpr int length = 40;

Rows logits(const Model& model, int chunk = length) {
    return logits_of(model, random_tokens(length, small_blueprint().vocab_size, 52), chunk);
}

// A model with the weights of one seed, and an encoding whose tensors all hold one value.
Model with_encoding_of(const Blueprint& b, const std::string& spec, float value) {
    const Model trunk = random_model(b, "none", 51);
    const reference::Tensors weights = tensors_of(trunk);
    EncodingStack encodings(spec, b.dims());
    TensorMemory tensors(model_tensors(b, encodings));
    for (std::size_t i = 0; i < tensors.specs().size(); ++i) {
        const View to = tensors.view(i);
        const auto from = weights.find(tensors.specs()[i].name);
        for (int r = 0; r < to.rows; ++r)
            for (int c = 0; c < to.cols; ++c)
                to.row(r)[c] = from == weights.end() ? value : static_cast<float>(from->second.at(r, c));
    }
    return make_model("limit", b, std::move(encodings), std::move(tensors), {}, {}, b.context);
}

TEST(LimitCases, ASinkAtMinusInfinityIsNone) {
    const Blueprint b = small_blueprint();
    const Rows none = logits(with_encoding_of(b, "none", 0));
    for (const int chunk : {1, 7, length}) {
        EXPECT_LE(difference(logits(with_encoding_of(b, "sink", -INFINITY), chunk), none), 1e-4) << chunk;
        EXPECT_GT(difference(logits(with_encoding_of(b, "sink", 0), chunk), none), 1e-2) << chunk;
    }
}

// Of the two or three terms only the first remains, divided by the root of their number.
TEST(LimitCases, DebertaOfZerosIsNoneByItsScale) {
    for (const auto& [terms, count] : {std::pair("both", 3), {"c2p", 2}, {"p2c", 2}}) {
        const std::string spec = std::string("deberta:terms=") + terms;
        Blueprint b = small_blueprint();
        const Model zeros = with_encoding_of(b, spec, 0), ones = with_encoding_of(b, spec, 1);
        const Rows unscaled = logits(with_encoding_of(b, "none", 0));
        b.score_scale = 1 / std::sqrt(static_cast<float>(count * b.d_head));
        const Rows expected = logits(with_encoding_of(b, "none", 0));
        EXPECT_LE(difference(logits(zeros), expected), 1e-4) << terms;
        EXPECT_GT(difference(logits(zeros), unscaled), 1e-2) << terms;
        // All distances have the same vector. It shifts all scores of a query alike, unless it is multiplied with the
        // keys.
        const double moved = difference(logits(ones), expected);
        if (terms == std::string("c2p"))
            EXPECT_LE(moved, 1e-4);
        else
            EXPECT_GT(moved, 1e-2) << terms;
    }
}

TEST(LimitCases, TablesOfZerosAreNone) {
    const Blueprint b = small_blueprint();
    const Rows none = logits(with_encoding_of(b, "none", 0));
    for (const char* spec : {"learned", "segment", "t5", "shaw", "transformer-xl", "cope", "fire"})
        EXPECT_LE(difference(logits(with_encoding_of(b, spec, 0)), none), 1e-4) << spec;
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
            if (!(example_of(*info)->moments() & moment_observe)) { // gates have forgotten the first token by then
                EXPECT_GT(difference(cut.back(), whole.back()), 1e-5) << chunk;
            }
            EXPECT_GT(difference(windowed(2, chunk).back(), whole.back()), 1e-3) << chunk;
        }
    }
}

} // namespace limit_cases_test
} // namespace ordo
