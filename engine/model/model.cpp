// SPDX-License-Identifier: MIT
#include "model/stack.h"

#include "core/error.h"
#include "core/parallel.h"
#include "encoding/base/initial.h"
#include "io/control_group.h"
#include "model/model_file.h"

#include <algorithm>
#include <bit>

namespace ordo {

std::vector<TensorSpec> model_tensors(const Blueprint& blueprint, const ModelEncodings& encodings) {
    std::vector<TensorSpec> specs = tensor_list(blueprint);
    for (TensorSpec& spec : encodings.tensors()) specs.push_back(std::move(spec));
    for (const Blueprint& encoder : blueprint.encoder)
        for (TensorSpec& spec : ModelEncodings(encodings.spec(), encoder.dims()).tensors()) {
            spec.name = encoder_prefix + spec.name;
            specs.push_back(std::move(spec));
        }
    return specs;
}

bool of_encoding(std::string_view name) {
    if (name.starts_with(encoder_prefix)) name.remove_prefix(std::string_view(encoder_prefix).size());
    return name.starts_with("encoding.");
}

bool Weights::any(WeightType type) const {
    const auto in = [&](const LayerWeights& all) {
        return std::any_of(all.linears.begin(), all.linears.end(), [&](const Linear& w) { return w.weight.has(type); });
    };
    return in(enter) || in(head) || std::any_of(layers.begin(), layers.end(), in);
}

bool Weights::convert_rows() const {
    return std::any_of(std::begin(weight_types), std::end(weight_types),
                       [&](WeightType type) { return (quantised(type) || type == WeightType::bf16) && any(type); });
}

// ---- Construction ----------------------------------------------------------------------------

namespace {

// A stack upon tensors that are there.
void build(Stack& stack, const std::string& prefix, TensorMemory& tensors, TensorMemory& lacking, int positions) {
    stack.program = compile(stack.blueprint, stack.encodings, prefix.empty());
    stack.weights = {stack_tensors<LayerWeights>(
        stack.program, prefix, [&](const std::string& name) { return tensors.matrix(name); },
        [&](const std::string& name) { return tensors.view(name); })};
    std::vector<View> bound;
    for (const TensorSpec& spec : stack.encodings.tensors()) {
        const std::string name = prefix + spec.name;
        bound.push_back(lacking.find(name) ? lacking.view(name) : tensors.view(name));
    }
    stack.encodings.bind(bound);
    stack.encodings.prepare(positions);
    stack.prepared = positions;
}

std::unique_ptr<Model::Impl> upon(std::shared_ptr<TensorMemory> tensors, std::string where, const Blueprint& blueprint,
                                  ModelEncodings encodings, int positions, TensorMemory lacking = {}) {
    auto impl = std::make_unique<Model::Impl>();
    impl->where = std::move(where);
    impl->blueprint = blueprint;
    impl->encodings = std::move(encodings);
    impl->tensors = std::move(tensors);
    impl->lacking = std::move(lacking);
    build(*impl, "", *impl->tensors, impl->lacking, positions);
    for (const Blueprint& of_encoder : blueprint.encoder) {
        impl->encoder = std::make_unique<Stack>();
        impl->encoder->where = impl->where;
        impl->encoder->blueprint = of_encoder;
        impl->encoder->encodings = ModelEncodings(impl->encodings.spec(), of_encoder.dims());
        build(*impl->encoder, encoder_prefix, *impl->tensors, impl->lacking, std::min(positions, of_encoder.context));
    }
    for (std::size_t i = 0; i < blueprint.dense.size(); ++i) {
        const std::string name = "dense." + std::to_string(i);
        impl->dense.push_back({impl->tensors->matrix(name + ".weight"), impl->tensors->view(name + ".bias")});
    }
    return impl;
}

} // namespace

void check_vocabulary(const TextSide& text, const Blueprint& blueprint, const std::string& where) {
    if (!text.tokenizer) return;
    const int found = text.tokenizer->vocab_size();
    if (found == blueprint.vocab_size || (text.padded_vocabulary && found < blueprint.vocab_size)) return;
    fail(ErrorCode::model, where, ": expected ", text.padded_vocabulary ? "at most " : "",
         "as many tokens in the tokenizer as vocab_size = ", blueprint.vocab_size, ", found ", found);
}

Model make_model(std::string where, const Blueprint& blueprint, ModelEncodings encodings, TensorMemory tensors,
                 TextSide text, Metadata metadata, int positions) {
    check(blueprint, where);
    check_vocabulary(text, blueprint, where);
    for (std::size_t i = 0; i < tensors.specs().size(); ++i) tensors.pack(i, where);
    auto impl = upon(std::make_shared<TensorMemory>(std::move(tensors)), std::move(where), blueprint,
                     std::move(encodings), positions);
    impl->tokenizer = std::move(text.tokenizer);
    impl->special = std::move(text.special);
    impl->sampling = text.sampling;
    impl->metadata = std::move(metadata);
    return Model(std::move(impl));
}

Model with_encodings(const Model::Impl& model, ModelEncodings encodings) {
    std::vector<TensorSpec> specs;
    for (TensorSpec& wanted : model_tensors(model.blueprint, encodings)) {
        const TensorSpec* const found = model.tensors->find(wanted.name);
        if (!found || found->shape != wanted.shape) specs.push_back(std::move(wanted));
    }
    TensorMemory lacking(std::move(specs));
    for (std::size_t i = 0; i < lacking.specs().size(); ++i)
        fill_initial(lacking.specs()[i], lacking.values(i), 1, 0xe4c1 + i);
    auto impl =
        upon(model.tensors, model.where, model.blueprint, std::move(encodings), model.prepared, std::move(lacking));
    impl->tokenizer = model.tokenizer;
    impl->special = model.special;
    impl->sampling = model.sampling;
    impl->metadata = model.metadata;
    return Model(std::move(impl));
}

EncodingsAtLength Stack::encodings_for(Lengths lengths, std::int64_t positions) const {
    int wanted = prepared;
    if (positions = std::min(positions, most_prepared); positions > prepared) // doubled, as a text grows by small steps
        wanted = static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(positions)));
    const std::lock_guard lock(stand_ins_guard);
    if (wanted > std::max(prepared, longer_prepared))
        if (std::optional<ModelEncodings> made = encodings.prepared_for(wanted)) {
            longer = std::make_shared<const ModelEncodings>(std::move(*made));
            longer_prepared = wanted;
        }
    std::shared_ptr<const ModelEncodings> own = longer;
    if (!own) own = {std::shared_ptr<void>(), &encodings};
    std::optional<ModelEncodings> other = own->at_length(lengths, 0);
    if (!other) return {own, longer ? longer_prepared : prepared, own->spec()};
    std::erase_if(stand_ins, [](const auto& entry) { return entry.second.encodings.expired(); });
    const std::string spec = other->spec();
    StandIn& known = stand_ins[spec];
    std::shared_ptr<const ModelEncodings> same = known.encodings.lock();
    if (!same || known.prepared < wanted) {
        same = std::make_shared<const ModelEncodings>(*own->at_length(lengths, wanted));
        known = {same, wanted};
    }
    return {same, known.prepared, "at a length: " + spec}; // a caller's encoding may keep its spec
}

} // namespace ordo
