// SPDX-License-Identifier: MIT
#include "encoding/base/model_encodings.h"

#include "core/error.h"
#include "encoding/base/moments.h"
#include "encoding/base/plan.h"
#include "encoding/base/registry.h"
#include "encoding/base/spec.h"
#include "encoding/base/trainable.h"

#include <algorithm>

namespace ordo {
namespace {

std::vector<View> pick(std::span<const int> indices, std::span<const View> all) {
    std::vector<View> views;
    for (const int i : indices) views.push_back(i < 0 ? View{} : all[i]);
    return views;
}

// pattern((rope:theta=500000,...),none): an item with keys stands in parentheses, a name alone does not.
std::string element_text(std::span<const std::string> specs) {
    if (specs.empty()) return "none";
    std::string text;
    for (const std::string& spec : specs) text += (text.empty() ? "" : "+") + spec;
    return specs.size() == 1 && name_of(text) == text ? text : "(" + text + ")";
}

} // namespace

ModelEncodings::ModelEncodings(std::vector<OwnEncoding> items, const Dims& dims) : dims_(dims) {
    std::vector<Neighbour> neighbours;
    for (OwnEncoding& item : items) {
        sums_.push_back({{{static_cast<int>(items_.size())}}});
        items_.push_back(checked(std::move(item)));
        neighbours.push_back(neighbour(*items_.back()));
    }
    check_together(neighbours, sums_, dims.n_layers);
    place();
}

ModelEncodings::ModelEncodings(std::string_view spec, const Dims& dims) : dims_(dims), made_from_(spec) {
    EncodingPlan plan = plan_encodings(spec, dims);
    const std::size_t n = plan.encodings.size();
    std::vector<int> moved(n); // new indices: encodings that act in a layer first
    for (const bool acting : {true, false})
        for (std::size_t i = 0; i < n; ++i) {
            const bool acts = dims.n_layers == 0 || !layers_of(plan.sums, static_cast<int>(i), dims.n_layers).empty();
            if (acts != acting) continue;
            moved[i] = static_cast<int>(items_.size() + idle_.size());
            (acts ? items_ : idle_).push_back(std::move(plan.encodings[i]));
        }
    for (EncodingSum& sum : plan.sums)
        for (std::vector<int>& element : sum.elements)
            for (int& index : element) index = moved[index];
    sums_ = std::move(plan.sums);
    place();
    check_spec_size(this->spec(), "encoding spec with every parameter written out"); // files store this form
}

// Sets the encodings of each layer, from items_ and sums_.
void ModelEncodings::place() {
    placed_.clear();
    axis_of_.clear();
    int tensors = 0;
    for (std::size_t i = 0; i < items_.size(); ++i) {
        const int axes = items_[i]->moments() & moment_positions ? items_[i]->position_axes() : 0;
        placed_.push_back({layers_of(sums_, static_cast<int>(i), dims_.n_layers), tensors, derived_axes(), axes});
        for (int axis = 0; axis < axes; ++axis) axis_of_.push_back(axis);
        for (const TensorSpec& spec : items_[i]->tensors()) {
            if (spec.shape.empty() || spec.shape.size() > 2)
                fail(ErrorCode::usage, "encoding ", printable(items_[i]->spec()), ": tensor '", printable(spec.name),
                     "': expected a shape of rank 1 or 2, found ", spec.shape.size());
            tensors += spec.per_layer ? static_cast<int>(placed_[i].layers.size()) : 1;
        }
    }
    layers_.assign(dims_.n_layers, {});
    std::vector<int> slots(items_.size()); // of the next layer in which each encoding acts
    for (int layer = 0; layer < dims_.n_layers; ++layer) {
        LayerEncodings& here = layers_[layer];
        here.layer_ = layer;
        here.timer_ = timer_;
        std::vector<std::size_t> acting;
        for (const EncodingSum& sum : sums_)
            for (const int index : sum.in_layer(layer)) acting.push_back(static_cast<std::size_t>(index));
        for (const std::size_t i : acting) {
            const Encoding& encoding = *items_[i];
            here.add({.encoding = &encoding,
                      .moments = encoding.moments(),
                      .backward = backward_moments(encoding),
                      .state_floats = encoding.state_floats(),
                      .ids_at = placed_[i].ids_at,
                      .id_axes = placed_[i].id_axes,
                      .tensors = tensor_indices(i, slots[i])});
        }
        if (here.places_ != 0 && dims_.d_model == 0)
            fail(ErrorCode::usage, "encodings that shift: expected the sizes of the model, found the number of layers");
        here.arrange(dims_);
        std::sort(acting.begin(), acting.end());
        acting.erase(std::unique(acting.begin(), acting.end()), acting.end());
        for (const std::size_t i : acting) ++slots[i];
    }
}

// The tensors of an encoding in the slot-th of its layers. If the slot is negative, a tensor per layer has index -1.
std::vector<int> ModelEncodings::tensor_indices(std::size_t item, int slot) const {
    std::vector<int> indices;
    int next = placed_[item].first_tensor;
    const int layers = static_cast<int>(placed_[item].layers.size());
    for (const TensorSpec& spec : items_[item]->tensors()) {
        indices.push_back(!spec.per_layer ? next : slot < 0 ? -1 : next + slot);
        next += spec.per_layer ? layers : 1;
    }
    return indices;
}

std::string ModelEncodings::spec() const {
    const std::size_t acting = items_.size();
    std::string text;
    for (const EncodingSum& sum : sums_) {
        std::vector<std::string> elements;
        for (const std::vector<int>& element : sum.elements) {
            std::vector<std::string> specs;
            for (const int index : element) {
                const auto i = static_cast<std::size_t>(index);
                specs.push_back((i < acting ? items_[i] : idle_[i - acting])->spec());
            }
            elements.push_back(sum.elements.size() == 1 ? specs.at(0) : element_text(specs));
        }
        if (!text.empty()) text += '+';
        if (elements.size() == 1) {
            text += elements[0];
            continue;
        }
        for (std::size_t i = 0; i < elements.size(); ++i) text += (i == 0 ? "pattern(" : ",") + elements[i];
        text += ')';
    }
    return text.empty() ? "none" : text;
}

bool ModelEncodings::shifts(Place place) const {
    return std::any_of(layers_.begin(), layers_.end(),
                       [&](const LayerEncodings& layer) { return layer.shifts(place); });
}

unsigned ModelEncodings::moments() const {
    unsigned all = 0;
    for (const auto& item : items_) all |= item->moments();
    return all;
}

unsigned ModelEncodings::reads() const {
    unsigned all = 0;
    for (const auto& item : items_) all |= item->reads();
    return all;
}

int ModelEncodings::shift_invariant_below() const {
    int least = std::numeric_limits<int>::max();
    for (const auto& item : items_) least = std::min(least, item->shift_invariant_below());
    return least;
}

Limits ModelEncodings::limits() const {
    Limits least;
    for (const auto& item : items_) {
        const Limits own = item->limits();
        least = {std::min(least.positions, own.positions), std::min(least.segments, own.segments),
                 std::min(least.derived, own.derived)};
    }
    return least;
}

std::vector<TensorSpec> ModelEncodings::tensors() const {
    std::vector<TensorSpec> all;
    for (std::size_t i = 0; i < items_.size(); ++i) {
        const std::string prefix = "encoding." + std::string(name_of(items_[i]->spec())) + ".";
        for (const TensorSpec& spec : items_[i]->tensors()) {
            if (!spec.per_layer) {
                all.push_back(spec);
                all.back().name = prefix + spec.name;
                continue;
            }
            for (const int layer : placed_[i].layers) {
                all.push_back(spec);
                all.back().name = prefix + "layers." + std::to_string(layer) + "." + spec.name;
            }
        }
    }
    return all;
}

void ModelEncodings::bind(std::span<const View> tensors) {
    const std::size_t expected = this->tensors().size();
    if (tensors.size() != expected)
        fail(ErrorCode::model, "encoding ", printable(spec()), ": expected ", expected, " tensors, found ",
             tensors.size());
    bound_.assign(tensors.begin(), tensors.end());
    for (std::size_t i = 0; i < items_.size(); ++i) bind_item(i);
}

void ModelEncodings::bind_item(std::size_t item) {
    const std::vector<int>& layers = placed_[item].layers;
    for (std::size_t slot = 0; slot < layers.size(); ++slot)
        items_[item]->bind(layers[slot], pick(tensor_indices(item, static_cast<int>(slot)), bound_));
    if (layers.empty()) items_[item]->bind(0, pick(tensor_indices(item, -1), bound_));
}

void ModelEncodings::prepare(int n_positions) {
    for (const auto& item : items_) item->prepare(n_positions);
}

std::optional<ModelEncodings> ModelEncodings::prepared_for(int n_positions) const {
    if (made_from_.empty()) return std::nullopt;
    ModelEncodings other(made_from_, dims_);
    other.bind(bound_);
    other.prepare(n_positions);
    other.time_with(timer_);
    return other;
}

std::vector<int> ModelEncodings::changes_beyond(int capacity) const {
    constexpr int never = std::numeric_limits<int>::max();
    std::vector<int> lengths;
    for (int text = 0;;) {
        int longest = never;
        for (const auto& item : items_) longest = std::min(longest, item->at_length(capacity, text).longest_text);
        if (longest == never) return lengths;
        if (longest < text)
            fail(ErrorCode::usage, printable(spec()), ": at_length(): expected a longest text of at least ", text,
                 " tokens, found ", longest);
        lengths.push_back(longest);
        text = longest + 1;
    }
}

std::optional<ModelEncodings> ModelEncodings::at_length(Lengths lengths, int n_positions) const {
    ModelEncodings other = *this;
    std::vector<std::size_t> changed;
    for (std::size_t i = 0; i < items_.size(); ++i) {
        const Encoding& old = *items_[i];
        OwnEncoding version = old.at_length(lengths.session, lengths.text).instead;
        if (!version.encoding) continue;
        std::unique_ptr<Encoding> instead = checked(std::move(version));
        const bool elsewhere = std::any_of(std::begin(all_places), std::end(all_places),
                                           [&](Place place) { return instead->shifts(place) != old.shifts(place); });
        if (elsewhere || instead->moments() != old.moments() || instead->tensors().size() != old.tensors().size() ||
            instead->state_floats() != old.state_floats() || instead->reads() != old.reads() ||
            instead->position_axes() != old.position_axes() || instead->limits().positions < old.limits().positions ||
            instead->limits().segments < old.limits().segments || instead->limits().derived < old.limits().derived)
            fail(ErrorCode::usage, printable(old.spec()),
                 ": expected the same moments, places, tensors, state and reach in a session of ", lengths.session,
                 " tokens, found others");
        other.items_[i] = std::move(instead);
        changed.push_back(i);
    }
    if (changed.empty()) return std::nullopt;
    other.made_from_.clear();
    other.place();
    for (const std::size_t i : changed) {
        other.bind_item(i);
        other.items_[i]->prepare(n_positions);
    }
    return other;
}

void ModelEncodings::time_with(MomentTimer* timer) {
    timer_ = timer;
    for (LayerEncodings& layer : layers_) layer.timer_ = timer;
}

Operations ModelEncodings::embed_operations(const Work& work) const {
    Operations sum;
    for (const auto& item : items_) sum += item->operations(moment_embed, work);
    return sum;
}

void ModelEncodings::check_trainable() const {
    for (const auto& item : items_) ordo::check_trainable(*item);
}

TensorGradients ModelEncodings::gradients_of_layer(int layer, std::span<const View> all) const {
    TensorGradients views;
    for (const LayerEncodings::Item& item : this->layer(layer).items_) views.push_back(pick(item.tensors, all));
    return views;
}

std::vector<View> ModelEncodings::gradients_of_item(int item, std::span<const View> all) const {
    return pick(tensor_indices(static_cast<std::size_t>(item), -1), all);
}

void ModelEncodings::derive(std::span<const Token> tokens, bool goes_on, std::uint64_t draw, IdView ids) const {
    for (std::size_t i = 0; i < items_.size(); ++i) {
        const Placed& at = placed_[i];
        if (at.id_axes == 0) continue;
        const IdView own{ids.data + at.ids_at, ids.rows, at.id_axes, ids.stride};
        const TextRows text{tokens, goes_on ? own.row(-1) : nullptr, draw};
        MomentTimer::call(timer_, moment_positions, [&] { items_[i]->positions(own, text); });
        const int end = items_[i]->limits().derived;
        for (int row = 0; row < own.rows; ++row)
            for (int axis = 0; axis < own.cols; ++axis)
                if (const int id = own.row(row)[axis]; id < 0 || id >= end)
                    fail(ErrorCode::limit, name_of(items_[i]->spec()), ": token ", row,
                         ": expected a derived position from 0 to ", end - 1, ", found ", id);
    }
}

void ModelEncodings::embed(View x, const TokenRows& rows) const {
    for (std::size_t i = 0; i < items_.size(); ++i)
        if (items_[i]->moments() & moment_embed) embed(i, x, rows);
}

void check_reach(const ModelEncodings& encodings, std::int64_t tokens, bool given) {
    for (const auto& item : encodings.items())
        if (const int positions = given ? item->limits().given() : item->limits().positions; tokens > positions)
            fail(ErrorCode::limit, "encoding ", item->spec(), ": expected positions for ", tokens, " tokens, found ",
                 positions);
}

} // namespace ordo
