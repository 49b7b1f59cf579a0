// SPDX-License-Identifier: MIT
// Compiles a blueprint to programs, and to the list of their tensors.
#include "layers/program_builder.h"
#include "model/blueprint.h"

#include <algorithm>
#include <cmath>

namespace ordo {
namespace {

unsigned places_of(const ModelEncodings& encodings) {
    unsigned places = 0;
    for (const Place place : all_places)
        if (encodings.shifts(place)) places |= 1U << static_cast<unsigned>(place);
    return places;
}

Program compile_enter(const Blueprint& b, const LayerSizes& sizes, const ModelEncodings& encodings) {
    const bool narrow = b.embedding_width != 0, inside = b.projected_embedding;
    ProgramBuilder c(b, sizes, {narrow ? Slot::narrow : Slot::stream, b.embedding_cols()});
    const auto project = [&](int x) {
        return c.linear(x, c.matrix("embedding_projection", b.d_model, b.embedding_width, inside), Slot::stream);
    };
    const Slot embedded = inside ? Slot::narrow : Slot::stream;
    const int width = inside ? b.embedding_width : b.d_model;
    const auto norm = [&](int x) {
        return b.embedding_norm ? c.norm(x, c.norm_weights("embedding_norm", width), embedded) : x;
    };
    const int table = c.matrix("embedding", b.vocab_size, b.embedding_cols(), false);
    int x = c.step({.op = Op::lookup, .in = 0, .out = 0, .weight = table, .factor = b.embedding_scale});
    if (narrow && !inside) x = project(x);
    const auto items = encodings.items();
    for (std::size_t i = 0; i < items.size(); ++i)
        if (items[i]->moments() & moment_embed)
            x = c.step({Op::embed, x, c.value(embedded, width), -1, static_cast<int>(i)});
    if (inside) x = project(norm(x));
    c.places = places_of(encodings);
    for (std::size_t i = 0; i < items.size(); ++i)
        if (items[i]->shifts(Place::embedding)) x = c.shift(x, Place::embedding, Slot::stream, static_cast<int>(i));
    if (!inside) norm(x);
    return std::move(c.program);
}

Program compile_finish(const Blueprint& b, const LayerSizes& sizes) {
    ProgramBuilder c(b, sizes, {Slot::stream, b.d_model});
    if (b.final_norm) c.norm(0, c.norm_weights("final_norm"), Slot::normed);
    return std::move(c.program);
}

Program compile_head(const Blueprint& b, const LayerSizes& sizes) {
    LayerPlan plan = b;
    plan.gated = false;
    ProgramBuilder c(plan, sizes, {b.final_norm ? Slot::normed : Slot::stream, b.d_model});
    int x = 0, width = b.d_model;
    if (b.head_transform) {
        if (b.projected_embedding) width = b.embedding_width;
        x = c.linear(x, c.matrix("head_transform", width, b.d_model, b.ffn_bias), Slot::branch);
        x = c.step({Op::activate, x, c.value(Slot::branch, width)});
        x = c.norm(x, c.norm_weights("head_norm", width), Slot::normed);
    }
    if (b.head_scale != 1)
        x = c.step({.op = Op::scale, .in = x, .out = c.value(Slot::normed, width), .factor = b.head_scale});
    if (b.embedding_width != 0 && !(b.projected_embedding && b.head_transform))
        x = c.linear(x, c.matrix("head_projection", b.embedding_width, b.d_model, false), Slot::narrow);
    const int matrix = b.tied_head ? c.shared_matrix("head", "embedding", b.vocab_size, b.embedding_cols(), b.head_bias)
                                   : c.matrix("head", b.vocab_size, b.embedding_cols(), b.head_bias);
    c.program.logits = static_cast<int>(c.program.steps.size());
    x = c.linear(x, matrix, Slot::logits);
    if (b.final_softcap != 0)
        c.step({.op = Op::soft_cap, .in = x, .out = c.value(Slot::logits, b.vocab_size), .factor = b.final_softcap});
    return std::move(c.program);
}

} // namespace

StackProgram compile(const Blueprint& b, const ModelEncodings& encodings, bool head) {
    const LayerSizes sizes{b.n_layers, b.d_model, b.n_heads, b.n_kv_heads, b.d_head, b.d_ff};
    StackProgram stack;
    stack.enter = compile_enter(b, sizes, encodings);
    stack.distinct_layers = b.distinct_layers;
    for (int i = 0; i < std::max<int>(1, static_cast<int>(b.pattern.size())); ++i)
        stack.layers.push_back(compile(b.layer(i), sizes, places_of(encodings)));
    stack.finish = compile_finish(b, sizes);
    if (head && b.head) stack.head = compile_head(b, sizes);
    return stack;
}

namespace {

void append(std::vector<TensorSpec>& list, const Program& program, const std::string& prefix = "") {
    for (TensorSpec spec : program.tensors) {
        spec.name = prefix + spec.name;
        list.push_back(std::move(spec));
    }
}

// From the norm after the embedding to the final norm: the part that an encoder does not share.
void append_stack(std::vector<TensorSpec>& list, const StackProgram& stack, const std::string& prefix) {
    for (const TensorSpec& spec : stack.enter.tensors)
        if (spec.shape.size() == 1) list.emplace_back(spec).name = prefix + spec.name;
    for (int i = 0; i < stack.stored_layers(); ++i) append(list, stack.layer(i), prefix + stack.layer_prefix(i));
    append(list, stack.finish, prefix);
}

} // namespace

std::vector<TensorSpec> tensor_list(const Blueprint& b) {
    const StackProgram stack = compile(b);
    std::vector<TensorSpec> list;
    for (const TensorSpec& spec : stack.enter.tensors)
        if (spec.shape.size() == 2) list.push_back(spec);
    for (const Blueprint& encoder : b.encoder) append_stack(list, compile(encoder), "encoder.");
    append_stack(list, stack, "");
    append(list, stack.head);
    std::int64_t width = b.d_model;
    for (std::size_t i = 0; i < b.dense.size(); ++i) {
        const std::string name = "dense." + std::to_string(i);
        const auto deviation = static_cast<float>(1 / std::sqrt(static_cast<double>(width)));
        list.push_back({name + ".weight", {b.dense[i].width, width}, true, InitialValues::normal(deviation)});
        width = b.dense[i].width;
        if (b.dense[i].bias) list.push_back({name + ".bias", {width}, true, InitialValues::constant(0)});
    }
    return list;
}

} // namespace ordo
