// SPDX-License-Identifier: MIT
#include "encoding/base/plan.h"

#include "core/error.h"
#include "encoding/base/moments.h"
#include "encoding/base/registry.h"

#include <algorithm>
#include <map>

namespace ordo {
namespace {

constexpr int most_layers = 1 << 16;
constexpr std::size_t most_encodings = 1 << 20; // of all layers together

// Builds a plan item by item. Encodings that act in some layers only are made twice: their layers are known only when
// all elements of the pattern are, and comparing elements needs the encodings made.
class Planner {
public:
    explicit Planner(const Dims& dims) : dims_(dims) {}

    void add(const SpecItem& item) {
        if (item.is_pattern()) return add_pattern(item);
        const int index = make(item);
        if (index >= 0) sums_.push_back({{{index}}});
    }

    EncodingPlan finish() {
        std::size_t total = 0;
        for (int layer = 0; layer < dims_.n_layers; ++layer)
            for (const EncodingSum& sum : sums_) total += sum.in_layer(layer).size();
        if (total > most_encodings)
            fail(ErrorCode::usage, "encoding spec: expected at most ", most_encodings,
                 " encodings in all layers together, found ", total);
        std::vector<Neighbour> neighbours;
        for (const Made& made : made_) neighbours.push_back(made.as);
        check_together(neighbours, sums_, dims_.n_layers);
        EncodingPlan plan{{}, sums_};
        for (std::size_t i = 0; i < made_.size(); ++i) {
            Dims dims = dims_;
            dims.layers = layers_of(sums_, static_cast<int>(i), dims.n_layers);
            const auto count = static_cast<int>(dims.layers.size());
            const bool everywhere = count == 0 || count == dims.n_layers;
            plan.encodings.push_back(everywhere ? std::move(made_[i].encoding) : make_encoding(*made_[i].item, dims));
        }
        return plan;
    }

private:
    struct Made {
        const SpecItem* item;
        std::unique_ptr<Encoding> encoding; // as if it acted in all layers
        std::string spec;
        Neighbour as;
    };

    // The index of the encoding; -1 for "none", which no moment would ever call.
    int make(const SpecItem& item) {
        std::unique_ptr<Encoding> encoding = make_encoding(item, dims_);
        if (encoding->moments() == 0) return -1;
        std::string spec = encoding->spec();
        Neighbour as = neighbour(*encoding);
        made_.push_back({&item, std::move(encoding), std::move(spec), std::move(as)});
        return static_cast<int>(made_.size()) - 1;
    }

    void add_pattern(const SpecItem& pattern) {
        std::map<std::string, int, std::less<>> known;
        EncodingSum sum;
        for (const std::vector<SpecItem>& element : pattern.elements) {
            std::vector<int>& indices = sum.elements.emplace_back();
            for (const SpecItem& item : element) {
                const int index = make(item);
                if (index < 0) continue;
                const Made& made = made_.back();
                if (made.as.embeds)
                    fail(ErrorCode::usage, "pattern: '", made.as.name,
                         "' acts on the embeddings, once in a model: expected it outside of the pattern");
                const auto [at, is_new] = known.emplace(made.spec, index);
                if (!is_new) made_.pop_back();
                indices.push_back(at->second);
            }
        }
        cut_to_period(sum.elements);
        if (sum.elements.size() > 1) return sums_.push_back(std::move(sum));
        for (const int index : sum.elements[0]) sums_.push_back({{{index}}});
    }

    static void cut_to_period(std::vector<std::vector<int>>& elements) {
        const std::size_t n = elements.size();
        for (std::size_t period = 1; period < n; ++period) {
            if (n % period != 0) continue;
            if (!std::equal(elements.begin() + static_cast<std::ptrdiff_t>(period), elements.end(), elements.begin()))
                continue;
            elements.resize(period);
            return;
        }
    }

    const Dims& dims_;
    std::vector<Made> made_;
    std::vector<EncodingSum> sums_;
};

} // namespace

std::vector<int> layers_of(std::span<const EncodingSum> sums, int index, int n_layers) {
    const auto has = [index](const std::vector<int>& element) {
        return std::find(element.begin(), element.end(), index) != element.end();
    };
    std::vector<int> layers;
    for (const EncodingSum& sum : sums) {
        if (std::none_of(sum.elements.begin(), sum.elements.end(), has)) continue;
        for (int layer = 0; layer < n_layers; ++layer)
            if (has(sum.in_layer(layer))) layers.push_back(layer);
        break; // an encoding of one pattern is in no other pattern
    }
    return layers;
}

Neighbour neighbour(const Encoding& encoding) {
    return {std::string(name_of(encoding.spec())),
            encoding.moments(),
            !encoding.tensors().empty(),
            encoding.scales_queries(),
            encoding.alone_at(),
            (encoding.moments() & moment_embed) != 0 || encoding.shifts(Place::embedding)};
}

namespace {

// The encodings of one layer.
void check_alone(std::span<const Neighbour* const> encodings) {
    for (const Neighbour* alone : encodings)
        for (const Neighbour* other : encodings)
            for (const MomentInfo& info : moments_of_a_pass)
                if (other != alone && alone->alone_at & other->moments & info.moment)
                    fail(ErrorCode::usage, "encoding spec: '", alone->name, "' and '", other->name,
                         "' in one layer: expected '", alone->name, "' without another encoding at ", info.name);
}

} // namespace

void check_together(std::span<const Neighbour> encodings, std::span<const EncodingSum> sums, int n_layers) {
    std::map<std::string_view, int> stored; // the index by name
    for (std::size_t i = 0; i < encodings.size(); ++i)
        if (encodings[i].stores && !stored.emplace(encodings[i].name, static_cast<int>(i)).second)
            fail(ErrorCode::usage, "encoding spec: '", encodings[i].name,
                 "' stores tensors: expected once, found twice");
    std::size_t layers = static_cast<std::size_t>(n_layers);
    if (layers == 0)
        for (const EncodingSum& sum : sums) layers = std::max(layers, sum.elements.size());
    for (std::size_t layer = 0; layer < layers; ++layer) {
        std::map<std::string_view, int> here;
        const Neighbour *rotates = nullptr, *sinks = nullptr;
        std::vector<const Neighbour*> all;
        unsigned alone_at = 0;
        // Two rotations in a row are a rotation only if they commute, as a factor of the queries does.
        const auto one = [](const Neighbour*& first, const Neighbour& second, std::string_view what) {
            if (first)
                fail(ErrorCode::usage, "encoding spec: '", first->name, "' and '", second.name, "' both ", what,
                     ": expected one of them");
            first = &second;
        };
        for (const EncodingSum& sum : sums)
            for (const int index : sum.in_layer(static_cast<int>(layer))) {
                const Neighbour& encoding = encodings[index];
                all.push_back(&encoding);
                alone_at |= encoding.alone_at;
                if (encoding.moments & moment_rotate && !encoding.scales_queries)
                    one(rotates, encoding, "rotate queries and keys");
                if (encoding.moments & moment_sink) one(sinks, encoding, "are the sink of a softmax");
                if (encoding.stores && !here.emplace(encoding.name, index).second)
                    fail(ErrorCode::usage, "encoding spec: '", encoding.name,
                         "' stores tensors: expected once in a layer, found twice");
            }
        if (alone_at != 0) check_alone(all);
    }
}

EncodingPlan plan_encodings(std::string_view spec, const Dims& dims) {
    if (dims.n_layers < 0 || dims.n_layers > most_layers)
        fail(ErrorCode::usage, "encoding: n_layers: expected 0 to ", most_layers, ", found ", dims.n_layers);
    if (spec.empty()) return {};
    const std::vector<SpecItem> items = parse_spec(spec);
    Planner planner(dims);
    for (const SpecItem& item : items) planner.add(item);
    return planner.finish();
}

} // namespace ordo
