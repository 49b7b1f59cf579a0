// SPDX-License-Identifier: MIT
#include "tools/train/network.h"

#include "core/error.h"
#include "core/parallel.h"
#include "core/random.h"
#include "kernels/kernels.h"
#include "ops/activation.h"
#include "ops/norm.h"

#include <algorithm>
#include <cmath>

namespace ordo::train {
namespace {

void copy(View from, View to) {
    parallel_for(from.rows, 64, [&](std::ptrdiff_t i) {
        std::copy_n(from.row(static_cast<int>(i)), from.cols, to.row(static_cast<int>(i)));
    });
}

void add(View x, View y) { // y += x
    parallel_for(x.rows, 64, [&](std::ptrdiff_t i) {
        kernels().add(x.cols, x.row(static_cast<int>(i)), y.row(static_cast<int>(i)));
    });
}

// The backward pass has no soft caps.
const Blueprint& trainable(const Blueprint& b) {
    const auto refuse = [](const char* field, float value) {
        if (value != 0)
            fail(ErrorCode::usage, "trunk: blueprint field '", field, "': training expects 0 (none), found ", value);
    };
    refuse("attention_softcap", b.attention_softcap);
    refuse("final_softcap", b.final_softcap);
    return b;
}

std::string layer_name(int index, const char* part) {
    return "layers." + std::to_string(index) + "." + part;
}

constexpr int head_rows = 512; // whose logits are held at once

int heads_width(const Blueprint& b) {
    return b.n_heads * b.d_head;
}
int qkv_width(const Blueprint& b) {
    return (b.n_heads + 2 * b.n_kv_heads) * b.d_head;
}
int inner_width(const Blueprint& b) {
    return b.gated ? 2 * b.d_ff : b.d_ff;
}
AttentionShape attention_shape(const Blueprint& b, int batch, int length) {
    return {batch, length, b.n_heads, b.n_kv_heads, b.d_head, b.scale(), b.mask, b.window, 0};
}

} // namespace

// What a layer's backward pass needs of its forward pass.
struct Network::Layer {
    Tensor in;           // [rows, d] the stream before the layer (post-norm: before the first norm's sum)
    Tensor attention_in; // [rows, d] what attention read
    Tensor qkv;          // [rows, (H + 2 Hkv) e], rotated
    Tensor heads;        // [rows, H e]
    Tensor middle;       // [rows, d] the input of the second norm
    Tensor feed_in;      // [rows, d] what the feed-forward layer read
    Tensor inner;        // [rows, d_ff or 2 d_ff] before the activation
    Tensor activated;    // [rows, d_ff]
    Tensor out;          // [rows, d] post-norm only: the input of the last norm
};

Network::Network(const Blueprint& b, EncodingStack& encodings, Parameters& parameters, int batch, int length,
                 Gemm product)
    : blueprint_(trainable(b)), encodings_(encodings), parameters_(parameters), product_(product),
      rows_(batch * length), length_(length), attention_(attention_shape(b, batch, length)), stream_(rows_, b.d_model),
      norm_in_(rows_, b.d_model), final_(rows_, b.d_model), d_stream_(rows_, b.d_model), branch_(rows_, b.d_model),
      branch2_(rows_, b.d_model), d_heads_(rows_, heads_width(b)), d_qkv_(rows_, qkv_width(b)), d_act_(rows_, b.d_ff),
      d_in_(rows_, inner_width(b)), logits_(std::min(rows_, head_rows), b.vocab_size) {
    for (int i = 0; i < b.n_layers; ++i) {
        Layer layer;
        for (Tensor* t : {&layer.in, &layer.attention_in, &layer.middle, &layer.feed_in, &layer.out})
            *t = Tensor(rows_, b.d_model);
        layer.qkv = Tensor(rows_, d_qkv_.cols());
        layer.heads = Tensor(rows_, d_heads_.cols());
        layer.inner = Tensor(rows_, d_in_.cols());
        layer.activated = Tensor(rows_, b.d_ff);
        layers_.push_back(std::move(layer));
    }
    for (std::size_t i = 0; i < encodings.items().size(); ++i) embedded_.emplace_back(rows_, b.d_model);
    std::vector<View> bound;
    for (int i = parameters.first_encoding_tensor(); i < parameters.count(); ++i) bound.push_back(parameters.value(i));
    encodings_.bind(bound);
    encodings_.prepare(length);
    for (int i = 0; i < rows_; ++i) positions_.push_back(i % length);
}

Network::~Network() = default;

double Network::floats(const Blueprint& b, const EncodingStack& encodings, int batch, int length) {
    const double rows = static_cast<double>(batch) * length, d = b.d_model;
    const double inside = heads_width(b) + qkv_width(b) + b.d_ff + inner_width(b); // of a layer, or its gradient
    const double row = (6 + static_cast<double>(encodings.items().size())) * d + inside + b.n_layers * (5 * d + inside);
    return rows * row + std::min(rows, double{head_rows}) * b.vocab_size +
           static_cast<double>(Attention::floats(attention_shape(b, batch, length)));
}

double Network::loss(std::span<const Token> tokens, std::span<const Token> targets, std::span<const int> segments) {
    return pass(tokens, targets, segments, {}, false);
}

double Network::loss_and_grad(std::span<const Token> tokens, std::span<const Token> targets,
                              std::span<const int> segments, const Dropout& dropout) {
    return pass(tokens, targets, segments, dropout, true);
}

double Network::pass(std::span<const Token> tokens, std::span<const Token> targets, std::span<const int> segments,
                     const Dropout& dropout, bool backward) {
    dropout_ = dropout;
    const Positions positions = std::span(positions_).first(static_cast<std::size_t>(length_));
    const TokenRows rows{positions_, segments};
    embed(tokens, rows);
    for (int i = 0; i < blueprint_.n_layers; ++i) layer_forward(layers_[static_cast<std::size_t>(i)], i, positions);
    if (blueprint_.final_norm)
        norm(stream_.view(), "final_norm", final_.view());
    else
        copy(stream_.view(), final_.view());

    const std::string head = blueprint_.tied_head ? "embedding" : "head";
    const View d_final = backward ? branch_.view() : View{};
    const double result = cross_entropy(product_, final_.view(), weight(head), targets, d_final,
                                        parameters_.grad(head + ".weight"), logits_.view());
    if (!backward) return result;

    if (blueprint_.final_norm)
        norm_back(stream_.view(), "final_norm", d_final, d_stream_.view(), false);
    else
        copy(d_final, d_stream_.view());
    for (int i = blueprint_.n_layers - 1; i >= 0; --i)
        layer_backward(layers_[static_cast<std::size_t>(i)], i, positions);
    embed_backward(tokens, rows);
    return result;
}

void Network::embed(std::span<const Token> tokens, const TokenRows& rows) {
    const View table = weight("embedding"), x = stream_.view();
    const float scale = blueprint_.embedding_scale;
    parallel_for(rows_, 64, [&](std::ptrdiff_t i) {
        const float* row = table.row(tokens[static_cast<std::size_t>(i)]);
        std::transform(row, row + x.cols, x.row(static_cast<int>(i)), [scale](float v) { return scale * v; });
    });
    for (std::size_t i = 0; i < embedded_.size(); ++i) {
        if (!(encodings_.items()[i]->moments() & moment_embed)) continue;
        copy(x, embedded_[i].view());
        encodings_.items()[i]->embed(x, rows);
    }
    if (blueprint_.embedding_norm) {
        copy(x, norm_in_.view());
        norm(norm_in_.view(), "embedding_norm", x);
    }
    drop(x, 0);
}

void Network::embed_backward(std::span<const Token> tokens, const TokenRows& rows) {
    View dx = d_stream_.view();
    drop(dx, 0);
    if (blueprint_.embedding_norm) {
        copy(dx, branch_.view());
        norm_back(norm_in_.view(), "embedding_norm", branch_.view(), dx, false);
    }
    int last = parameters_.count();
    for (std::size_t i = embedded_.size(); i-- > 0;) {
        const Encoding& encoding = *encodings_.items()[i];
        const int n = static_cast<int>(encoding.tensors().size());
        std::vector<View> grads;
        for (int t = last - n; t < last; ++t) grads.push_back(parameters_.grad(t));
        last -= n;
        if (encoding.moments() & moment_embed) encoding.embed_backward(dx, embedded_[i].view(), rows, grads);
    }
    const View d_table = parameters_.grad("embedding.weight");
    for (int i = 0; i < rows_; ++i)
        kernels().axpy(dx.cols, blueprint_.embedding_scale, dx.row(i),
                       d_table.row(tokens[static_cast<std::size_t>(i)]));
}

void Network::layer_forward(Layer& layer, int index, Positions positions) {
    const std::string first_norm = layer_name(index, "attention_norm"),
                      second_norm = layer_name(index, "feed_forward_norm");
    const View x = stream_.view(), branch = branch_.view();
    if (blueprint_.norm_place == NormPlace::pre) {
        copy(x, layer.in.view());
        norm(x, first_norm, layer.attention_in.view());
        attention_forward(layer, index, layer.attention_in.view(), positions, branch);
        drop(branch, 1 + 2 * index);
        add(branch, x);
        View feed_in = layer.attention_in.view();
        if (!blueprint_.parallel_residual) {
            copy(x, layer.middle.view());
            feed_in = layer.feed_in.view();
            norm(x, second_norm, feed_in);
        }
        feed_forward(layer, feed_in, branch);
        drop(branch, 2 + 2 * index);
        add(branch, x);
    } else { // middle = x + attention(x), y = norm(middle), out = y + ffn(y), x = norm(out)
        copy(x, layer.attention_in.view());
        attention_forward(layer, index, x, positions, branch);
        drop(branch, 1 + 2 * index);
        add(x, branch);
        copy(branch, layer.middle.view());
        norm(layer.middle.view(), first_norm, layer.feed_in.view());
        feed_forward(layer, layer.feed_in.view(), branch);
        drop(branch, 2 + 2 * index);
        add(layer.feed_in.view(), branch);
        copy(branch, layer.out.view());
        norm(layer.out.view(), second_norm, x);
    }
}

// On entry and exit d_stream_ is the gradient of the stream after and before the layer.
void Network::layer_backward(Layer& layer, int index, Positions positions) {
    const std::string first_norm = layer_name(index, "attention_norm"),
                      second_norm = layer_name(index, "feed_forward_norm");
    const View dx = d_stream_.view(), branch = branch_.view(), d_read = branch2_.view();
    if (blueprint_.norm_place == NormPlace::pre) {
        copy(dx, branch);
        drop(branch, 2 + 2 * index);
        if (blueprint_.parallel_residual) {
            feed_backward(layer, layer.attention_in.view(), branch, d_read, false);
            copy(dx, branch);
            drop(branch, 1 + 2 * index);
            attention_backward(layer, index, layer.attention_in.view(), positions, branch, d_read, true);
        } else {
            feed_backward(layer, layer.feed_in.view(), branch, d_read, false);
            norm_back(layer.middle.view(), second_norm, d_read, dx, true);
            copy(dx, branch);
            drop(branch, 1 + 2 * index);
            attention_backward(layer, index, layer.attention_in.view(), positions, branch, d_read, false);
        }
        norm_back(layer.in.view(), first_norm, d_read, dx, true);
    } else {
        norm_back(layer.out.view(), second_norm, dx, d_read, false); // d out
        copy(d_read, branch);
        drop(branch, 2 + 2 * index);
        feed_backward(layer, layer.feed_in.view(), branch, d_read, true); // d feed_in = d out + through the ffn
        norm_back(layer.middle.view(), first_norm, d_read, dx, false);    // d middle
        copy(dx, branch);
        drop(branch, 1 + 2 * index);
        attention_backward(layer, index, layer.attention_in.view(), positions, branch, dx, true);
    }
}

void Network::attention_forward(Layer& layer, int index, View in, Positions positions, View out) {
    const std::string qkv = layer_name(index, "attention.qkv"), o = layer_name(index, "attention.out");
    const View x = layer.qkv.view();
    const int e = blueprint_.d_head, heads = blueprint_.n_heads, kv = blueprint_.n_kv_heads;
    linear(product_, in, weight(qkv), bias(qkv), x);
    encodings_.rotate(cols_of(x, 0, heads * e), heads, positions_, Role::query, index);
    encodings_.rotate(cols_of(x, heads * e, kv * e), kv, positions_, Role::key, index);
    attention_.forward(x, encodings_, positions, layer.heads.view(), index);
    linear(product_, layer.heads.view(), weight(o), bias(o), out);
}

void Network::attention_backward(Layer& layer, int index, View in, Positions positions, View dout, View d_in,
                                 bool accumulate) {
    const std::string qkv = layer_name(index, "attention.qkv"), o = layer_name(index, "attention.out");
    const View dx = d_qkv_.view();
    const int e = blueprint_.d_head, heads = blueprint_.n_heads, kv = blueprint_.n_kv_heads;
    linear_backward(product_, dout, layer.heads.view(), weight(o), d_heads_.view(), false,
                    parameters_.grad(o + ".weight"), parameters_.grad(o + ".bias"));
    attention_.backward(layer.qkv.view(), layer.heads.view(), d_heads_.view(), encodings_, positions, dx, index);
    encodings_.rotate_backward(cols_of(dx, 0, heads * e), heads, positions_, Role::query, index);
    encodings_.rotate_backward(cols_of(dx, heads * e, kv * e), kv, positions_, Role::key, index);
    linear_backward(product_, dx, in, weight(qkv), d_in, accumulate, parameters_.grad(qkv + ".weight"),
                    parameters_.grad(qkv + ".bias"));
}

void Network::feed_forward(Layer& layer, View in, View out) {
    const int index = static_cast<int>(&layer - layers_.data());
    const std::string first = layer_name(index, "feed_forward.in"), second = layer_name(index, "feed_forward.out");
    linear(product_, in, weight(first), bias(first), layer.inner.view());
    if (blueprint_.gated)
        activate_gated(blueprint_.activation, layer.inner.view(), layer.activated.view());
    else
        activate(blueprint_.activation, layer.inner.view(), layer.activated.view());
    linear(product_, layer.activated.view(), weight(second), bias(second), out);
}

void Network::feed_backward(Layer& layer, View in, View dout, View d_in, bool accumulate) {
    const int index = static_cast<int>(&layer - layers_.data());
    const std::string first = layer_name(index, "feed_forward.in"), second = layer_name(index, "feed_forward.out");
    linear_backward(product_, dout, layer.activated.view(), weight(second), d_act_.view(), false,
                    parameters_.grad(second + ".weight"), parameters_.grad(second + ".bias"));
    activation_backward(blueprint_.activation, blueprint_.gated, layer.inner.view(), d_act_.view(), d_in_.view());
    linear_backward(product_, d_in_.view(), in, weight(first), d_in, accumulate, parameters_.grad(first + ".weight"),
                    parameters_.grad(first + ".bias"));
}

void Network::norm(View x, const std::string& name, View y) {
    ordo::norm(blueprint_.norm, x, weight(name), bias(name), blueprint_.norm_eps, y);
}

void Network::norm_back(View x, const std::string& name, View dy, View dx, bool accumulate) {
    norm_backward(blueprint_.norm, blueprint_.norm_eps, x, weight(name), dy, dx, accumulate,
                  parameters_.grad(name + ".weight"), parameters_.grad(name + ".bias"));
}

// Zeroes elements with probability rate and scales the rest by 1 / (1 - rate) (Srivastava et al. 2014).
// The same site and step drop the same elements, which makes it its own adjoint.
void Network::drop(View x, int site) {
    if (dropout_.rate <= 0) return;
    const Random random(dropout_.seed, 0xd509 + static_cast<std::uint64_t>(site));
    const auto threshold = static_cast<std::uint32_t>(dropout_.rate * 0x1p32);
    const float scale = static_cast<float>(1 / (1 - dropout_.rate));
    const auto blocks = static_cast<std::uint64_t>((x.cols + 3) / 4);
    parallel_for(x.rows, 8, [&](std::ptrdiff_t row) {
        const std::uint64_t first =
            (dropout_.step * static_cast<std::uint64_t>(x.rows) + static_cast<std::uint64_t>(row)) * blocks;
        float* v = x.row(static_cast<int>(row));
        for (int j = 0; j < x.cols; j += 4) {
            const auto bits = random.block(first + static_cast<std::uint64_t>(j / 4));
            for (int l = 0; l < 4 && j + l < x.cols; ++l)
                v[j + l] = bits[static_cast<std::size_t>(l)] < threshold ? 0 : v[j + l] * scale;
        }
    });
}

} // namespace ordo::train
