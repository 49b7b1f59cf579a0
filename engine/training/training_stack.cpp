// SPDX-License-Identifier: MIT
#include "training/training_stack.h"

#include <algorithm>
#include <array>

namespace ordo {
namespace {

// The tensors of encodings, without data.
std::vector<View> shapes_of(const ModelEncodings& encodings) {
    std::vector<View> all;
    for (const TensorSpec& spec : encodings.tensors())
        all.push_back({nullptr, spec.shape.size() == 2 ? static_cast<int>(spec.shape[0]) : 1,
                       static_cast<int>(spec.shape.back()), spec.shape.back()});
    return all;
}

// The largest size of one layer's encoding tensors, and of a token's state.
struct EncodingSizes {
    std::size_t tensors = 0;
    int state = 0;
};
EncodingSizes encoding_sizes(const ModelEncodings& encodings, int n_layers) {
    const std::vector<View> all = shapes_of(encodings);
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

KvCacheShape cache_shape(const Blueprint& b, const ModelEncodings& encodings, int length, int axes = 1) {
    KvCacheShape shape{b.n_layers, b.n_kv_heads, b.d_head, length};
    shape.axes = axes;
    shape.derived_axes = encodings.derived_axes();
    for (int i = 0; i < b.n_layers; ++i) shape.state_floats.push_back(encodings.layer(i).state_floats());
    return shape;
}

KvCacheShape memory_shape(const Blueprint& b, int tokens) {
    return {b.n_layers, b.n_kv_heads, b.d_head, tokens};
}

// The temporary memory of experts_backward().
double experts_backward_floats(const Blueprint& b, double rows) {
    double most = 0;
    for (const Program& p : compile(b).layers) {
        if (p.plan.experts == 0) continue;
        const double d = p.sizes.d_model, d_ff = p.sizes.d_ff, inner = p.plan.gated ? 2 * d_ff : d_ff;
        most = std::max(most,
                        p.plan.experts_used + 2 * d_ff + inner + 2 * d); // a shared expert is in the values
    }
    return rows * most;
}

// The gradient width of each slot. The loss has the gradients of the logits.
std::array<int, slot_count> gradient_widths(const StackProgram& program) {
    std::array<int, slot_count> widths = program.widths();
    widths[static_cast<std::size_t>(Slot::logits)] = 0;
    return widths;
}

} // namespace

// ---- Construction ---------------------------------------------------------------------------

TrainingStack::TrainingStack(const Blueprint& b, ModelEncodings encodings, Parameters& parameters,
                             const std::string& prefix, std::span<const View> encoding_gradients,
                             const TrainingShape& shape)
    : encodings_(std::move(encodings)), shape_(shape), program_(compile(b, encodings_, prefix.empty())),
      positions_(static_cast<std::size_t>(shape.rows()) * static_cast<std::size_t>(ids_of_row())),
      experts_(program_.layers, shape.rows()) {
    const auto value = [&](const std::string& name) { return parameters.value(name); };
    const auto grad = [&](const std::string& name) { return parameters.grad(name); };
    weights_ = {stack_tensors<LayerWeights>(program_, prefix, value, value)};
    d_ = stack_tensors<LayerGradients>(program_, prefix, grad, grad);
    for (std::size_t i = 0; i < encodings_.items().size(); ++i)
        d_.enter.encodings.push_back(encodings_.gradients_of_item(static_cast<int>(i), encoding_gradients));
    for (std::size_t i = 0; i < d_.layers.size(); ++i)
        d_.layers[i].encodings = encodings_.gradients_of_layer(static_cast<int>(i), encoding_gradients);
    take_memory(b);
    const std::vector<AttentionShape> shapes = attention_shapes(program_.layers);
    const EncodingSizes sizes = encoding_sizes(encodings_, b.n_layers);
    const int longest = std::max(shape.length, shape.memory);
    attention_ = AttentionScratch(shapes, encodings_.reads(), longest);
    attention_gradient_ = AttentionGradient(shapes, shape.batch, longest, sizes.tensors, sizes.state);
}

void TrainingStack::take_memory(const Blueprint& b) {
    const auto keep = [&](const Program& program, View in) {
        std::vector<View> values;
        for (const Value& v : program.values)
            values.push_back(values.empty() && in.data ? in
                             : v.slot == Slot::logits  ? View{}
                                                       : memory_.emplace_back(shape_.rows(), v.width).view());
        return values;
    };
    enter_ = keep(program_.enter, {});
    for (int i = 0; i < program_.n_layers(); ++i)
        layers_.push_back(keep(program_.layer(i), i == 0 ? enter_.back() : layers_.back().back()));
    finish_ = keep(program_.finish, layers_.back().back());
    head_ = keep(program_.head, finish_.back());
    const std::array<int, slot_count> widths = gradient_widths(program_);
    for (std::size_t i = 0; i < widths.size(); ++i)
        gradients_.slots[i] = memory_.emplace_back(shape_.rows(), widths[i]).view();

    for (int i = 0; i < shape_.batch; ++i) caches_.emplace_back(cache_shape(b, encodings_, shape_.length, shape_.axes));
    for (KvCache& cache : caches_) parts_.push_back({&cache, 0, shape_.length});
    if (shape_.memory == 0) return;
    const int rows = shape_.batch * shape_.memory, width = 2 * program_.enter.sizes.kv_width();
    for (int i = 0; i < shape_.batch; ++i) memories_.emplace_back(memory_shape(b, shape_.memory));
    for (std::size_t i = 0; i < parts_.size(); ++i) parts_[i].memory = &memories_[i];
    for (int i = 0; i < b.n_layers; ++i) remembered_.emplace_back(rows, width);
    d_remembered_ = Tensor(rows, width);
}

void TrainingStack::multiply_pairs() {
    rows_scratch_.use_pairs();
    for (std::vector<KvCache>* const caches : {&caches_, &memories_})
        for (KvCache& cache : *caches) {
            KvCacheShape shape = cache.shape();
            shape.type = CacheType::bf16;
            cache = KvCache(shape);
        }
}

double TrainingStack::floats(const Blueprint& b, const ModelEncodings& encodings, TrainingShape shape,
                             const std::string& prefix) {
    const double batch = shape.batch;
    const auto of = [&](int sequences) {
        shape.batch = sequences;
        const MemoryCount others; // the parameters are not counted here
        Parameters parameters(b, encodings);
        const std::uint64_t bytes =
            count_bytes([&] { return TrainingStack(b, encodings, parameters, prefix, shapes_of(encodings), shape); });
        return static_cast<double>(bytes) / sizeof(float) + experts_backward_floats(b, shape.rows());
    };
    const double one = of(1);
    return one + (batch - 1) * (of(2) - one); // also valid for more sequences than fit
}

// ---- Forward --------------------------------------------------------------------------------

void TrainingStack::place(Positions positions, std::span<const Token> tokens, std::uint64_t draw) {
    const int stride = ids_of_row(), n = shape_.length;
    const IdView all{positions_.data(), shape_.rows(), stride, stride};
    for (int first = 0; positions.empty() && first < all.rows; first += n)
        encodings_.derive(tokens.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(n)), false, draw,
                          {all.row(first) + shape_.axes, n, encodings_.derived_axes(), stride});
    for (int i = 0; i < all.rows; ++i) {
        for (int axis = 0; axis < shape_.axes; ++axis)
            all.row(i)[axis] = positions.empty() ? i % n : positions.at(i, axis);
        if (!positions.empty()) encodings_.take(positions, static_cast<std::size_t>(i), all.row(i) + shape_.axes);
        caches_[i / n].set_position(i % n, {all.row(i), static_cast<std::size_t>(stride)});
    }
}

void TrainingStack::pad(std::span<const int> lengths) {
    for (std::size_t i = 0; i < parts_.size(); ++i) parts_[i].visible = lengths[i];
}

Layer TrainingStack::layer(int i) const {
    return {program_.layer(i), weights_.layers[i], encodings_.layer(i), i};
}
Layer TrainingStack::enter() const {
    return Layer::outside(program_.enter, weights_.enter, encodings_);
}
Layer TrainingStack::finish() const {
    return Layer::outside(program_.finish, weights_.finish, encodings_);
}
Layer TrainingStack::head() const {
    return Layer::outside(program_.head, weights_.head, encodings_);
}
// The steps up to the input of the head's matrix, or back from there.
Steps TrainingStack::before_logits() const {
    return {0, std::max(0, program_.head.logits)};
}
View TrainingStack::read() const {
    return head_[program_.head.steps[program_.head.logits].in];
}

void TrainingStack::remember(const Encoded& encoded) {
    for (std::size_t p = 0; p < parts_.size(); ++p) {
        parts_[p].memory_tokens = encoded.lengths[p];
        const int first = static_cast<int>(p) * shape_.memory;
        for (int i = 0; i < program_.n_layers(); ++i)
            ordo::remember(layer(i), rows_of(encoded.rows, first, shape_.memory),
                           rows_of(remembered_[i].view(), first, shape_.memory), rows_scratch_, *parts_[p].memory);
    }
}

void TrainingStack::forward(std::span<const Token> tokens, std::span<const int> segments, const Dropout& dropout,
                            const Encoded& encoded) {
    if (shape_.memory != 0) remember(encoded);
    const PassRows in = rows_of_pass(tokens, segments);
    const LayerScratch scratch{&attention_, &rows_scratch_, &experts_};
    ordo::forward({enter(), enter_}, in, scratch);
    if (dropout.rate > 0) dropout(enter_.back(), 0);
    for (int i = 0; i < program_.n_layers(); ++i) ordo::forward({layer(i), layers_[i]}, in, scratch, dropout);
    ordo::forward({finish(), finish_}, in, scratch);
    ordo::forward({head(), head_, before_logits()}, in, {&attention_, &head_scratch_, &experts_});
}

// ---- Backward -------------------------------------------------------------------------------

View TrainingStack::gradient(const Program& program, int value) const {
    const Value& v = program.values[value];
    return cols_of(gradients_.slots[static_cast<std::size_t>(v.slot)], 0, v.width);
}

void TrainingStack::backward(std::span<const Token> tokens, std::span<const int> segments, const Dropout& dropout,
                             const Encoded& encoded, View d_encoded) {
    const PassRows in = rows_of_pass(tokens, segments);
    const LayerScratch scratch{&attention_, &rows_scratch_, &experts_};
    ordo::backward(head(), in, head_, gradients_, attention_gradient_, {&attention_, &head_scratch_, &experts_},
                   d_.head, {}, before_logits());
    ordo::backward(finish(), in, finish_, gradients_, attention_gradient_, scratch, d_.finish);
    bool first = true;
    for (int i = program_.n_layers() - 1; i >= 0; --i) {
        const auto at = static_cast<std::size_t>(i);
        const Layer of = layer(i);
        const int memory = of.program.memory;
        if (memory >= 0) {
            gradients_.memory = remembered_[at].view();
            gradients_.d_memory = d_remembered_.view();
        }
        ordo::backward(of, in, layers_[at], gradients_, attention_gradient_, scratch, d_.layers[at], dropout);
        if (memory < 0) continue;
        linear_backward(d_remembered_.view(), encoded.rows, of.weights.linears[memory], rows_scratch_, d_encoded,
                        !first, d_.layers[at].linears[memory]);
        first = false;
    }
    if (dropout.rate > 0) dropout(gradient(program_.finish, 0), 0);
    ordo::backward(enter(), in, enter_, gradients_, attention_gradient_, scratch, d_.enter);
}

} // namespace ordo
