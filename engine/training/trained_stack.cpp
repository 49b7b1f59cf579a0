// SPDX-License-Identifier: MIT
#include "training/trained_stack.h"

#include "core/parallel.h"
#include "kernels/kernels.h"

#include <algorithm>
#include <array>

namespace ordo {
namespace {

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

KvCacheShape memory_shape(const Blueprint& b, int tokens) {
    return {b.n_layers, b.n_kv_heads, b.d_head, tokens};
}

// What a mixture of experts takes of the rows: its scratch, and what experts_backward() has for a while.
double experts_floats(std::span<const LayerProgram> programs, double rows) {
    double most = 0;
    for (const LayerProgram& p : programs) {
        if (p.plan.experts == 0) continue;
        const double d = p.sizes.d_model, d_ff = p.sizes.d_ff, inner = p.plan.gated ? 2 * d_ff : d_ff;
        most = std::max(most,
                        p.plan.experts_used + 2 * d_ff + inner + 2 * d); // what a shared one takes is among the values
    }
    const std::uint64_t one = ExpertScratch::bytes(programs, 1), two = ExpertScratch::bytes(programs, 2);
    return rows * (most + static_cast<double>(two - one) / sizeof(float)) + static_cast<double>(one) / sizeof(float);
}

double remembered_floats(const Blueprint& b, const StackShape& shape) {
    if (shape.memory == 0) return 0;
    const double rows = static_cast<double>(shape.batch) * shape.memory, width = 2.0 * b.n_kv_heads * b.d_head;
    const auto cache = static_cast<double>(KvCache::bytes(memory_shape(b, shape.memory))) / sizeof(float);
    return rows * width * (b.n_layers + 1) + shape.batch * cache;
}

void copy(View from, View to) {
    parallel_for(from.rows, 64, [&](std::ptrdiff_t i) {
        std::copy_n(from.row(static_cast<int>(i)), from.cols, to.row(static_cast<int>(i)));
    });
}

} // namespace

// ---- Making ---------------------------------------------------------------------------------

TrainedStack::TrainedStack(const Blueprint& b, EncodingStack encodings, Parameters& parameters,
                           const std::string& prefix, std::vector<View> encoding_gradients, const StackShape& shape)
    : blueprint_(b), encodings_(std::move(encodings)), shape_(shape), programs_(compile_layers(b)),
      encoding_gradients_(std::move(encoding_gradients)), final_(shape.rows(), b.d_model),
      positions_(static_cast<std::size_t>(shape.rows()) * static_cast<std::size_t>(shape.axes)),
      experts_(programs_, shape.rows()) {
    encodings_.check_trainable();
    const auto value = [&](const std::string& name) { return parameters.value(name); };
    weights_ = find_weights(b, programs_, prefix, value, value);
    find_gradients(parameters, prefix);
    take_memory();
    const std::vector<AttentionShape> shapes = attention_shapes(programs_);
    const EncodingSizes sizes = encoding_sizes(encodings_, b.n_layers);
    const int longest = std::max(shape.length, shape.memory);
    attention_ = AttentionScratch(shapes, encodings_.reads(), longest);
    attention_gradient_ = AttentionGradient(shapes, shape.batch, longest, sizes.tensors, sizes.state);
}

void TrainedStack::find_gradients(Parameters& parameters, const std::string& prefix) {
    const auto of = [&](const std::string& name) { return parameters.grad(prefix + name); };
    const auto norm = [&](const std::string& name) { return NormWeights{of(name + ".weight"), of(name + ".bias")}; };
    d_embedding_ = parameters.grad("embedding.weight");
    d_embedding_projection_.weight = parameters.grad("embedding_projection.weight");
    d_embedding_norm_ = norm("embedding_norm");
    d_final_norm_ = norm("final_norm");
    for (int i = 0; i < blueprint_.n_layers; ++i) {
        const LayerProgram& program = programs_[static_cast<std::size_t>(i) % programs_.size()];
        const std::string layer = "layers." + std::to_string(i) + ".";
        LayerGradients& d = layer_gradients_.emplace_back();
        for (const LinearSpec& s : program.linears)
            d.linears.push_back({of(layer + s.name + ".weight"), of(layer + s.name + ".bias")});
        for (const NormSpec& s : program.norms) d.norms.push_back(norm(layer + s.name));
        for (const VectorSpec& s : program.vectors) d.vectors.push_back(of(layer + s.name));
        d.encodings = encodings_.gradients_of_layer(i, encoding_gradients_);
    }
}

void TrainedStack::take_memory() {
    const Blueprint& b = blueprint_;
    const auto tensor = [&](int width) { return memory_.emplace_back(shape_.rows(), width).view(); };
    for (int i = embedding_stages(b, encodings_); i > 0; --i)
        stages_.push_back(tensor(stages_.empty() ? b.embedding_cols() : b.d_model));
    d_narrow_ = Tensor(shape_.rows(), b.embedding_width);
    View stream = stages_.back();
    for (int i = 0; i < b.n_layers; ++i) {
        std::vector<View>& values = values_.emplace_back();
        for (const Value& v : programs_[static_cast<std::size_t>(i) % programs_.size()].values)
            values.push_back(values.empty() ? stream : tensor(v.width));
        stream = values.back();
    }
    for (const int width : slot_widths(programs_)) gradient_memory_.emplace_back(shape_.rows(), width);
    const auto memory = [&](Slot slot) { return gradient_memory_[static_cast<std::size_t>(slot)].view(); };
    gradients_ = {memory(Slot::stream),   memory(Slot::normed), memory(Slot::branch), memory(Slot::qkv),
                  memory(Slot::attended), memory(Slot::hidden), memory(Slot::active)};

    for (int i = 0; i < shape_.batch; ++i) caches_.emplace_back(cache_shape(b, encodings_, shape_.length, shape_.axes));
    for (KvCache& cache : caches_) parts_.push_back({&cache, 0, shape_.length});
    if (shape_.memory == 0) return;
    const int rows = shape_.batch * shape_.memory, width = 2 * programs_.front().sizes.kv_width();
    for (int i = 0; i < shape_.batch; ++i) memories_.emplace_back(memory_shape(b, shape_.memory));
    for (std::size_t i = 0; i < parts_.size(); ++i) parts_[i].memory = &memories_[i];
    for (int i = 0; i < b.n_layers; ++i) remembered_.emplace_back(rows, width);
    d_remembered_ = Tensor(rows, width);
}

double TrainedStack::floats(const Blueprint& b, const EncodingStack& encodings, const StackShape& shape) {
    const std::vector<LayerProgram> programs = compile_layers(b);
    const std::vector<AttentionShape> shapes = attention_shapes(programs);
    const EncodingSizes sizes = encoding_sizes(encodings, b.n_layers);
    const double rows = static_cast<double>(shape.batch) * shape.length, d = b.d_model;
    double row = embedding_stages(b, encodings) * d + b.embedding_cols() + b.embedding_width;
    for (int i = 0; i < b.n_layers; ++i) {
        const std::vector<Value>& values = programs[static_cast<std::size_t>(i) % programs.size()].values;
        for (std::size_t v = 1; v < values.size(); ++v) row += values[v].width;
    }
    for (const int width : slot_widths(programs)) row += width;
    const int longest = std::max(shape.length, shape.memory);
    const double cache = static_cast<double>(KvCache::bytes(cache_shape(b, encodings, shape.length))) / sizeof(float);
    return rows * row + shape.batch * cache +
           static_cast<double>(AttentionScratch::floats(shapes, encodings.reads(), longest)) +
           AttentionGradient::floats(shapes, shape.batch, longest, sizes.tensors, sizes.state) +
           experts_floats(programs, rows) + remembered_floats(b, shape);
}

// ---- Forward --------------------------------------------------------------------------------

void TrainedStack::place(Positions positions) {
    const auto axes = static_cast<std::size_t>(shape_.axes);
    for (int i = 0; i < shape_.rows(); ++i) {
        const auto row = static_cast<std::size_t>(i);
        const std::span<int> ids = std::span(positions_).subspan(row * axes, axes);
        for (int axis = 0; axis < shape_.axes; ++axis)
            ids[static_cast<std::size_t>(axis)] = positions.empty() ? i % shape_.length : positions.at(row, axis);
        caches_[static_cast<std::size_t>(i / shape_.length)].set_position(i % shape_.length, ids);
    }
}

void TrainedStack::pad(std::span<const int> lengths) {
    for (std::size_t i = 0; i < parts_.size(); ++i) parts_[i].visible = lengths[i];
}

Layer TrainedStack::layer(int i) const {
    const auto at = static_cast<std::size_t>(i);
    return {programs_[at % programs_.size()], weights_.layers[at], encodings_.layer(i), i};
}

void TrainedStack::remember(const Encoded& encoded) {
    for (std::size_t p = 0; p < parts_.size(); ++p) {
        parts_[p].memory_tokens = encoded.lengths[p];
        const int first = static_cast<int>(p) * shape_.memory;
        for (int i = 0; i < blueprint_.n_layers; ++i)
            ordo::remember(layer(i), rows_of(encoded.rows, first, shape_.memory),
                           rows_of(remembered_[static_cast<std::size_t>(i)].view(), first, shape_.memory),
                           rows_scratch_, *parts_[p].memory);
    }
}

View TrainedStack::forward(std::span<const Token> tokens, std::span<const int> segments, const Dropout& dropout,
                           const Encoded& encoded) {
    if (shape_.memory != 0) remember(encoded);
    embed(blueprint_, weights_, encodings_, tokens, token_rows(segments), rows_scratch_, stages_);
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
    return final_.view();
}

// ---- Backward -------------------------------------------------------------------------------

void TrainedStack::backward(std::span<const Token> tokens, std::span<const int> segments, const Dropout& dropout,
                            const Encoded& encoded, View d_encoded) {
    const View d_stream = gradients_.stream;
    if (blueprint_.final_norm)
        norm_backward(blueprint_.norm, values_.back().back(), weights_.final_norm.weight, blueprint_.norm_eps,
                      d_final(), d_stream, false, d_final_norm_.weight, d_final_norm_.bias);
    else
        copy(d_final(), d_stream);
    bool first = true;
    for (int i = blueprint_.n_layers - 1; i >= 0; --i) {
        const auto at = static_cast<std::size_t>(i);
        const Layer of = layer(i);
        const int memory = of.program.memory;
        if (memory >= 0) {
            gradients_.memory = remembered_[at].view();
            gradients_.d_memory = d_remembered_.view();
        }
        ordo::backward(of, parts_, values_[at], gradients_, attention_gradient_,
                       {&attention_, &rows_scratch_, &experts_}, layer_gradients_[at], dropout);
        if (memory < 0) continue;
        linear_backward(d_remembered_.view(), encoded.rows, of.weights.linears[static_cast<std::size_t>(memory)],
                        rows_scratch_, d_encoded, !first,
                        layer_gradients_[at].linears[static_cast<std::size_t>(memory)]);
        first = false;
    }
    embed_backward(tokens, segments, dropout);
}

void TrainedStack::embed_backward(std::span<const Token> tokens, std::span<const int> segments,
                                  const Dropout& dropout) {
    const View dx = gradients_.stream;
    if (dropout.rate > 0) dropout(dx, 0);
    std::size_t stage = stages_.size() - 1; // the output of what comes next
    if (blueprint_.embedding_norm)
        norm_backward(blueprint_.norm, stages_[--stage], weights_.embedding_norm.weight, blueprint_.norm_eps, dx, dx,
                      false, d_embedding_norm_.weight, d_embedding_norm_.bias);
    for (std::size_t i = encodings_.items().size(); i-- > 0;) {
        const Encoding& encoding = *encodings_.items()[i];
        if (!(encoding.moments() & moment_embed)) continue;
        encoding.embed_backward(dx, stages_[--stage], token_rows(segments),
                                encodings_.gradients_of_item(static_cast<int>(i), encoding_gradients_));
    }
    View d_rows = dx; // of the embedding
    if (blueprint_.embedding_width != 0) {
        d_rows = d_narrow_.view();
        linear_backward(dx, stages_.front(), weights_.embedding_projection, rows_scratch_, d_rows, false,
                        d_embedding_projection_);
    }
    for (int i = 0; i < shape_.rows(); ++i)
        kernels().axpy(d_rows.cols, blueprint_.embedding_scale, d_rows.row(i),
                       d_embedding_.row(tokens[static_cast<std::size_t>(i)]));
}

} // namespace ordo
