// SPDX-License-Identifier: MIT
#include "training/network.h"

#include "core/error.h"
#include "core/parallel.h"
#include "encoding/reach.h"
#include "training/loss.h"

#include <algorithm>
#include <array>
#include <limits>

namespace ordo {
namespace {

constexpr int head_rows = 512;         // whose logits are held at once
constexpr int most_prepared = 1 << 16; // positions beyond the length that tables are made for; others are slower

std::vector<AttentionShape> attention_shapes(std::span<const LayerProgram> programs) {
    std::vector<AttentionShape> shapes;
    for (const LayerProgram& program : programs) shapes.push_back(attention_shape(program));
    return shapes;
}

// The most that the tensors of one layer's encodings take, and a token's state.
struct EncodingSizes {
    std::size_t tensors = 0;
    int state = 0;
};
EncodingSizes encoding_sizes(const EncodingStack& encodings, int n_layers) {
    std::vector<View> all;
    for (const TensorSpec& spec : encodings.tensors())
        all.push_back({nullptr, spec.shape.size() == 2 ? static_cast<int>(spec.shape[0]) : 1,
                       static_cast<int>(spec.shape.back()), spec.shape.back()});
    EncodingSizes most;
    for (int i = 0; i < n_layers; ++i) {
        std::size_t floats = 0;
        for (const std::vector<View>& views : encodings.gradients_of_layer(i, all))
            for (const View& v : views) floats += static_cast<std::size_t>(v.rows) * static_cast<std::size_t>(v.cols);
        most.tensors = std::max(most.tensors, floats);
        most.state = std::max(most.state, encodings.layer(i).state_floats());
    }
    return most;
}

// The widest value of each slot, in any layer.
std::array<int, slot_count> slot_widths(std::span<const LayerProgram> programs) {
    std::array<int, slot_count> widths{};
    widths[static_cast<std::size_t>(Slot::normed)] = programs.front().sizes.d_model; // of what the head reads, too
    for (const LayerProgram& program : programs)
        for (const Value& v : program.values) {
            int& width = widths[static_cast<std::size_t>(v.slot)];
            width = std::max(width, v.width);
        }
    return widths;
}

KvCacheShape cache_shape(const Blueprint& b, const EncodingStack& encodings, int length, int axes = 1) {
    KvCacheShape shape{b.n_layers, b.n_kv_heads, b.d_head, length};
    shape.axes = axes;
    for (int i = 0; i < b.n_layers; ++i) shape.state_floats.push_back(encodings.layer(i).state_floats());
    return shape;
}

// What a mixture of experts takes of the rows: its scratch, and what experts_backward() has for a while.
double experts_floats(std::span<const LayerProgram> programs, double rows) {
    double most = 0;
    for (const LayerProgram& p : programs) {
        if (p.plan.experts == 0) continue;
        const double d = p.sizes.d_model, d_ff = p.sizes.d_ff, inner = p.plan.gated ? 2 * d_ff : d_ff;
        most = std::max(most, p.plan.experts_used + 2 * d_ff + inner + 2 * d);
    }
    const std::uint64_t one = ExpertScratch::bytes(programs, 1), two = ExpertScratch::bytes(programs, 2);
    return rows * (most + static_cast<double>(two - one) / sizeof(float)) + static_cast<double>(one) / sizeof(float);
}

void copy(View from, View to) {
    parallel_for(from.rows, 64, [&](std::ptrdiff_t i) {
        std::copy_n(from.row(static_cast<int>(i)), from.cols, to.row(static_cast<int>(i)));
    });
}

} // namespace

Network::Network(const Blueprint& b, EncodingStack& encodings, Parameters& parameters, int batch, int length,
                 const PositionRange& range)
    : blueprint_(b), parameters_(parameters), rows_(batch * length),
      length_(length), range_{range.axes, std::max(range.below, length)}, programs_(compile_layers(b)),
      final_(rows_, b.d_model), logits_(std::min(rows_, head_rows), b.vocab_size),
      positions_(static_cast<std::size_t>(rows_) * static_cast<std::size_t>(range.axes)), experts_(programs_, rows_) {
    if (!b.encoder.empty())
        fail(ErrorCode::usage,
             "training: expected a model of one stack of layers, found one with an encoder, which runs but "
             "cannot be trained yet");
    check_reach(encodings, range_.below);
    const auto value = [&](const std::string& name) { return parameters.value(name); };
    weights_ = find_weights(b, programs_, "", value, value);
    std::vector<View> bound;
    for (int i = parameters.first_encoding_tensor(); i < parameters.count(); ++i) {
        bound.push_back(parameters.value(i));
        encoding_gradients_.push_back(parameters.grad(i));
    }
    encodings.bind(bound);
    encodings_ = encodings.at_length(length, length).value_or(encodings);
    encodings_.check_trainable();
    before_head_ = std::make_unique<BeforeHead>(blueprint_, weights_, parameters, rows_);
    const auto norm = [&](const std::string& name) {
        return NormWeights{gradient(name + ".weight"), gradient(name + ".bias")};
    };
    d_embedding_norm_ = norm("embedding_norm");
    d_final_norm_ = norm("final_norm");
    d_head_ = {gradient(b.tied_head ? "embedding.weight" : "head.weight"), gradient("head.bias")};

    const auto tensor = [&](int width) { return memory_.emplace_back(rows_, width).view(); };
    for (int i = embedding_stages(b, encodings); i > 0; --i) stages_.push_back(tensor(b.d_model));
    View stream = stages_.back();
    for (int i = 0; i < b.n_layers; ++i) {
        const LayerProgram& program = programs_[static_cast<std::size_t>(i) % programs_.size()];
        std::vector<View>& values = values_.emplace_back();
        for (const Value& v : program.values) values.push_back(values.empty() ? stream : tensor(v.width));
        stream = values.back();
        const std::string prefix = "layers." + std::to_string(i) + ".";
        LayerGradients& d = layer_gradients_.emplace_back();
        for (const LinearSpec& s : program.linears)
            d.linears.push_back({gradient(prefix + s.name + ".weight"), gradient(prefix + s.name + ".bias")});
        for (const NormSpec& s : program.norms)
            d.norms.push_back({gradient(prefix + s.name + ".weight"), gradient(prefix + s.name + ".bias")});
        for (const VectorSpec& s : program.vectors) d.vectors.push_back(gradient(prefix + s.name));
        d.encodings = encodings_.gradients_of_layer(i, encoding_gradients_);
    }
    for (const int width : slot_widths(programs_)) gradient_memory_.emplace_back(rows_, width);
    const auto memory = [&](Slot slot) { return gradient_memory_[static_cast<std::size_t>(slot)].view(); };
    gradients_ = {memory(Slot::stream),   memory(Slot::normed), memory(Slot::branch), memory(Slot::qkv),
                  memory(Slot::attended), memory(Slot::hidden), memory(Slot::active)};

    for (int i = 0; i < batch; ++i) caches_.emplace_back(cache_shape(b, encodings, length, range.axes));
    for (KvCache& cache : caches_) parts_.push_back({&cache, 0, length});
    const std::vector<AttentionShape> shapes = attention_shapes(programs_);
    const EncodingSizes sizes = encoding_sizes(encodings, b.n_layers);
    attention_ = AttentionScratch(shapes, encodings.reads(), length, 1);
    attention_gradient_ = AttentionGradient(shapes, batch, length, sizes.tensors, sizes.state);
}

Network::~Network() = default;

double Network::floats(const Blueprint& b, const EncodingStack& encodings, int batch, int length) {
    const std::vector<LayerProgram> programs = compile_layers(b);
    const std::vector<AttentionShape> shapes = attention_shapes(programs);
    const EncodingSizes sizes = encoding_sizes(encodings, b.n_layers);
    const double rows = static_cast<double>(batch) * length, d = b.d_model;
    double row = (1 + embedding_stages(b, encodings)) * d;
    for (int i = 0; i < b.n_layers; ++i) {
        const std::vector<Value>& values = programs[static_cast<std::size_t>(i) % programs.size()].values;
        for (std::size_t v = 1; v < values.size(); ++v) row += values[v].width;
    }
    for (const int width : slot_widths(programs)) row += width;
    const double cache = static_cast<double>(KvCache::bytes(cache_shape(b, encodings, length))) / sizeof(float);
    return rows * row + std::min(rows, double{head_rows}) * b.vocab_size + batch * cache +
           static_cast<double>(AttentionScratch::floats(shapes, encodings.reads(), length, 1)) +
           AttentionGradient::floats(shapes, batch, length, sizes.tensors, sizes.state) +
           experts_floats(programs, rows) + BeforeHead::floats(b, batch * length);
}

void Network::check(const Sequences& in) const {
    const auto rows = static_cast<std::size_t>(rows_);
    const auto expect = [&](const char* what, std::size_t found, bool optional) {
        if (found != rows && !(optional && found == 0))
            fail(ErrorCode::usage, "training: expected ", rows, ' ', what, ", found ", found);
    };
    const auto in_range = [](const char* what, std::span<const int> ids, int least, int end) {
        for (const int id : ids)
            if (id < least || id >= end)
                fail(ErrorCode::limit, "training: ", what, ": expected ", least, " to ", end - 1, ", found ", id);
    };
    expect("tokens", in.tokens.size(), false);
    expect("targets", in.targets.size(), false);
    expect("segments", in.segments.size(), true);
    if (in.positions.axes() > range_.axes)
        fail(ErrorCode::usage, "training: expected positions of at most ", range_.axes, " axes, found ",
             in.positions.axes());
    expect("positions", in.positions.size(), true);
    constexpr int least = std::numeric_limits<int>::min();
    in_range("token", in.tokens, 0, blueprint_.vocab_size);
    in_range("target", in.targets, least, blueprint_.vocab_size);
    in_range("segment", in.segments, 0, encodings_.max_segment());
    in_range("position", in.positions.ids(), 0, encodings_.max_position());
}

void check_training_memory(const Blueprint& b, const EncodingStack& encodings, int batch, int length, int copies) {
    const auto parameters = static_cast<double>(Parameters::floats(b, encodings));
    const double bytes = sizeof(float) * (copies * parameters + Network::floats(b, encodings, batch, length));
    const std::int64_t tokens = static_cast<std::int64_t>(batch) * length;
    if (bytes > static_cast<double>(default_memory_limit()) || tokens > std::numeric_limits<int>::max())
        fail(ErrorCode::limit, "training: steps of ", tokens, " tokens take ",
             static_cast<std::uint64_t>(std::min(bytes, 0x1p63)), " bytes, more than the ", default_memory_limit(),
             " that they may; a smaller batch, context or trunk takes less");
}

double Network::loss(const Sequences& in) {
    return pass(in, {}, false);
}

double Network::loss_and_grad(const Sequences& in, const Dropout& dropout) {
    return pass(in, dropout, true);
}

double Network::pass(const Sequences& in, const Dropout& dropout, bool backward) {
    check(in);
    place(in.positions);
    encodings_.prepare(
        std::max(length_, std::min(range_.below, most_prepared))); // from tensors that the last step has changed
    forward(in, dropout);
    const View d_final = backward ? gradients_.normed : View{};
    const double result = cross_entropy(before_head_->forward(final_.view()), weights_.head, blueprint_.final_softcap,
                                        in.targets, d_final, d_head_, logits_.view());
    if (backward) {
        before_head_->backward(final_.view(), d_final);
        this->backward(in, dropout);
    }
    return result;
}

void Network::place(Positions positions) {
    if (positions.axes() > range_.axes)
        fail(ErrorCode::usage, "training: expected positions of at most ", range_.axes, " axes, found ",
             positions.axes());
    for (int i = 0; i < rows_; ++i) {
        const auto row = static_cast<std::size_t>(i);
        const std::span<int> ids =
            std::span(positions_)
                .subspan(row * static_cast<std::size_t>(range_.axes), static_cast<std::size_t>(range_.axes));
        for (int axis = 0; axis < range_.axes; ++axis)
            ids[static_cast<std::size_t>(axis)] = positions.empty() ? i % length_ : positions.at(row, axis);
        std::copy(ids.begin(), ids.end(), caches_[static_cast<std::size_t>(i / length_)].position(i % length_).begin());
    }
}

TokenRows Network::token_rows(const Sequences& in) const {
    return {Positions(positions_, range_.axes), in.segments};
}

Layer Network::layer(int i) const {
    const auto at = static_cast<std::size_t>(i);
    return {programs_[at % programs_.size()], weights_.layers[at], encodings_.layer(i), i};
}

void Network::forward(const Sequences& in, const Dropout& dropout) {
    embed(blueprint_, weights_, encodings_, in.tokens, token_rows(in), stages_);
    if (dropout.rate > 0) dropout(stages_.back(), 0);
    for (int i = 0; i < blueprint_.n_layers; ++i)
        ordo::forward(layer(i), parts_, values_[static_cast<std::size_t>(i)], {&attention_, &rows_scratch_, &experts_},
                      dropout);
    const View stream = values_.back().back();
    if (blueprint_.final_norm)
        norm(blueprint_.norm, stream, weights_.final_norm.weight, weights_.final_norm.bias, blueprint_.norm_eps,
             final_.view());
    else
        copy(stream, final_.view());
}

void Network::backward(const Sequences& in, const Dropout& dropout) {
    const View d_final = gradients_.normed, d_stream = gradients_.stream;
    if (blueprint_.final_norm)
        norm_backward(blueprint_.norm, values_.back().back(), weights_.final_norm.weight, blueprint_.norm_eps, d_final,
                      d_stream, false, d_final_norm_.weight, d_final_norm_.bias);
    else
        copy(d_final, d_stream);
    for (int i = blueprint_.n_layers - 1; i >= 0; --i)
        ordo::backward(layer(i), parts_, values_[static_cast<std::size_t>(i)], gradients_, attention_gradient_,
                       {&attention_, &rows_scratch_, &experts_}, layer_gradients_[static_cast<std::size_t>(i)],
                       dropout);
    embed_backward(in, dropout);
}

void Network::embed_backward(const Sequences& in, const Dropout& dropout) {
    const View dx = gradients_.stream;
    if (dropout.rate > 0) dropout(dx, 0);
    std::size_t stage = stages_.size() - 1; // the output of what comes next
    if (blueprint_.embedding_norm)
        norm_backward(blueprint_.norm, stages_[--stage], weights_.embedding_norm.weight, blueprint_.norm_eps, dx, dx,
                      false, d_embedding_norm_.weight, d_embedding_norm_.bias);
    for (std::size_t i = encodings_.items().size(); i-- > 0;) {
        const Encoding& encoding = *encodings_.items()[i];
        if (!(encoding.moments() & moment_embed)) continue;
        encoding.embed_backward(dx, stages_[--stage], token_rows(in),
                                encodings_.gradients_of_item(static_cast<int>(i), encoding_gradients_));
    }
    const View d_table = parameters_.grad("embedding.weight");
    for (int i = 0; i < rows_; ++i)
        kernels().axpy(dx.cols, blueprint_.embedding_scale, dx.row(i),
                       d_table.row(in.tokens[static_cast<std::size_t>(i)]));
}

} // namespace ordo
