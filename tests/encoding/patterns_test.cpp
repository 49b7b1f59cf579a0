// SPDX-License-Identifier: MIT
// Which encodings act in which layer, and which may act together.
#include "core/tensor.h"
#include "encoding/base/model_encodings.h"
#include "ordo.h"
#include "tests/expect_error.h"
#include <gtest/gtest.h>

namespace ordo {
namespace patterns_test {

const Dims dims{24, 3, 8, 4, 64};

// The encodings in each layer by their effect: "rb" rotates and adds a bias.
std::string acting(const ModelEncodings& stack, int n_layers) {
    std::string text;
    for (int layer = 0; layer < n_layers; ++layer) {
        const unsigned moments = stack.layer(layer).moments();
        text += layer > 0 ? " " : "";
        text += moments & moment_rotate ? "r" : "";
        text += moments & moment_bias ? "b" : "";
        text += moments == 0 ? "-" : "";
    }
    return text;
}

TEST(ModelEncodings, APatternRepeatsOverTheLayers) {
    EXPECT_EQ(acting(ModelEncodings("rope", dims), 4), "r r r r");
    EXPECT_EQ(acting(ModelEncodings("pattern(rope,none)", dims), 4), "r - r -");
    EXPECT_EQ(acting(ModelEncodings("pattern(rope,rope,none)", dims), 4), "r r - r");
    EXPECT_EQ(acting(ModelEncodings("alibi+pattern(none,rope)", dims), 4), "b rb b rb");
    EXPECT_EQ(acting(ModelEncodings("pattern(none,(rope+alibi),alibi)", dims), 4), "- rb b -");
    EXPECT_EQ(acting(ModelEncodings("pattern(rope,none)+pattern(none,(rope:theta=5))", dims), 4), "r r r r");
}

TEST(ModelEncodings, EqualItemsOfAPatternAreOneEncoding) {
    EXPECT_EQ(ModelEncodings("pattern(rope,rope,none)", dims).items().size(), 1u);
    EXPECT_EQ(ModelEncodings("pattern(rope,(rope:theta=5),rope)", dims).items().size(), 2u);
    EXPECT_EQ(ModelEncodings("pattern(rope,(rope:theta=10000,width=8))", dims).items().size(), 1u);
}

// A pattern may be longer than the model is deep. Its further elements stay in the spec and have no effect.
TEST(ModelEncodings, ElementsPastTheLastLayerAreIdle) {
    Dims shallow = dims;
    shallow.n_layers = 2;
    const ModelEncodings stack("pattern(rope,none,(rope:theta=5),alibi)", shallow);
    EXPECT_EQ(stack.items().size(), 1u);
    EXPECT_EQ(stack.moments(), unsigned{moment_rotate});
    EXPECT_EQ(acting(stack, 2), "r -");
    EXPECT_EQ(stack.spec(), ModelEncodings("pattern(rope,none,(rope:theta=5),alibi)", dims).spec());
}

TEST(ModelEncodings, WithoutLayersThereAreEncodingsAndNoLayers) {
    Dims none = dims;
    none.n_layers = 0;
    ModelEncodings stack("segment+pattern(rope,alibi)", none);
    EXPECT_EQ(stack.items().size(), 3u);
    EXPECT_EQ(stack.moments(), moment_embed | moment_rotate | moment_bias);
    EXPECT_EQ(stack.tensors().size(), 1u);
    Tensor segment(2, 24), x(1, 24);
    segment.data()[3] = 7;
    stack.bind(std::vector<View>{segment.view()});
    stack.embed(x.view(), {std::vector<int>{0}, {}});
    EXPECT_EQ(x.data()[3], 7);
    EXPECT_THROW(ModelEncodings("pattern(rope,(rope+alibi+rope:theta=5))", none), Error);
    none.n_layers = -1;
    EXPECT_THROW(ModelEncodings("rope", none), Error);
}

TEST(ModelEncodings, RefusesTwoRotationsOfOneLayerWhereverTheyStand) {
    for (const char* spec :
         {"rope+alibi+rope:theta=5", "rope+pattern(none,rope)", "pattern(rope,none)+pattern(none,none,rope)",
          "pattern((rope+rope),none)", "pattern((rope+rope:theta=5))", "pattern(none,none,none,rope)+rope"})
        expect_error(ErrorCode::usage, "'rope' and 'rope' both rotate", [&] { ModelEncodings(spec, dims); });
    EXPECT_NO_THROW(ModelEncodings("pattern(rope,none)+pattern(none,rope)", dims));
}

// A factor of the queries commutes with a rotation, and with another factor.
TEST(ModelEncodings, TakesFactorsOfTheQueriesBesideARotation) {
    for (const char* spec : {"rope+log-scale", "log-scale+rope", "log-scale:kind=llama4+log-scale:kind=log-n+rope",
                             "pattern((rope+log-scale),none)", "log-scale:kind=inkling+cope"})
        EXPECT_NO_THROW(ModelEncodings(spec, dims)) << spec;
}

TEST(ModelEncodings, RefusesOthersWhereAnEncodingActsAlone) {
    const auto refused = [](const std::string& spec, const std::string& text) {
        expect_error(ErrorCode::usage, text, [&] { ModelEncodings(spec, dims); });
    };
    refused("log-scale:kind=inkling+alibi", "expected 'log-scale' without another encoding at bias");
    refused("t5+log-scale:kind=inkling", "expected 'log-scale' without another encoding at bias");
    refused("transformer-xl+log-scale", "expected 'transformer-xl' without another encoding at rotate");
    refused("stick-breaking+cope", "expected 'stick-breaking' without another encoding at rescore");
    refused("stick-breaking+sink", "'stick-breaking' and 'sink' both are the sink of a softmax");
    EXPECT_NO_THROW(ModelEncodings("pattern((log-scale:kind=inkling),(alibi))", dims));
}

} // namespace patterns_test
} // namespace ordo
