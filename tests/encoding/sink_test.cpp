// SPDX-License-Identifier: MIT
// Sinks: a logit for each head and layer.
#include "tests/encoding/bias_formula.h"

namespace ordo {
namespace sink_test {

Dims dims() {
    return {.d_model = 24, .n_heads = 3, .d_head = 8, .n_layers = 2, .context = 64};
}

TEST(Sink, IsALogitOfEachLayerAndHead) {
    BoundEncoding encoding("sink", dims());
    for (int layer = 0; layer < 2; ++layer) // the initial value is Miller's softmax: exp(0) more in the denominator
        for (int head = 0; head < 3; ++head) EXPECT_EQ(encoding->sink(layer, head), 0);
    encoding.set(0, 0, {1, 2, 3});
    encoding.set(1, 0, {4, -INFINITY, 6});
    EXPECT_EQ(encoding->sink(0, 2), 3);
    EXPECT_EQ(encoding->sink(1, 0), 4);
    EXPECT_EQ(encoding->sink(1, 1), -INFINITY); // no sink
}

TEST(Sink, GradientIsAddedToItsHead) {
    BoundEncoding encoding("sink", dims());
    std::vector<Tensor> grads = encoding.zeros();
    const std::vector<View> views = {grads[0].view()};
    encoding->sink_backward(1, 2, 0.5f, views);
    encoding->sink_backward(1, 2, 0.25f, views);
    encoding->sink_backward(1, 0, -1, views);
    EXPECT_EQ(grads[0].data()[0], -1);
    EXPECT_EQ(grads[0].data()[1], 0);
    EXPECT_EQ(grads[0].data()[2], 0.75f);
}

TEST(Sink, ShowsItsLogits) {
    BoundEncoding encoding("sink", dims());
    encoding.set(1, 0, {4, 5, 6});
    EXPECT_EQ(encoding->spec(), "sink");
    EXPECT_EQ(encoding->table({.layer = 1}).rows, (std::vector<std::vector<double>>{{0, 4}, {1, 5}, {2, 6}}));
    EXPECT_THROW(encoding->table({.layer = 2}), Error);
    EXPECT_THROW(make_encodings("sink:heads=3", dims()), Error);
    EXPECT_THROW(std::move(make_encodings("sink", dims()).at(0))->table({}), Error); // without weights
}

} // namespace sink_test
} // namespace ordo
