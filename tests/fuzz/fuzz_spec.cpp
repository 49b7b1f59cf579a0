// SPDX-License-Identifier: MIT
// Any text as the spec of an encoding. The result is an Error(usage) of one line, or encodings that run and print an
// equivalent canonical spec.
#include "core/tensor.h"
#include "encoding/base/model_encodings.h"

#include <algorithm>
#include <cstdlib>

namespace {

using namespace ordo;

void require(bool holds) {
    if (!holds) std::abort();
}

// Binds zeros to the encoding's tensors. Returns false if there are too many, which a spec may request.
bool bind_zeros(ModelEncodings& stack, std::vector<Tensor>& storage) {
    const std::vector<TensorSpec> specs = stack.tensors();
    std::vector<View> views;
    for (const TensorSpec& spec : specs) {
        require(!spec.shape.empty() && spec.shape.size() <= 2 && spec.shape.front() > 0 && spec.shape.back() > 0);
        if (spec.shape.front() > 100'000 || spec.shape.back() > 100'000) return false;
        const auto rows = static_cast<int>(spec.shape.size() == 1 ? 1 : spec.shape[0]);
        const auto cols = static_cast<int>(spec.shape.back());
        if (std::int64_t{rows} * cols > 1'000'000) return false;
        storage.emplace_back(rows, cols);
        views.push_back(storage.back().view());
    }
    stack.bind(views);
    return true;
}

void run(const ModelEncodings& stack, const Dims& dims) {
    std::vector<int> positions, segments;
    for (int i = 0; i < 3; ++i) {
        positions.push_back(std::min(i * 1000, stack.limits().given() - 1));
        segments.push_back(std::min(i, stack.limits().segments - 1));
    }
    Tensor x(3, dims.d_model), scores(3, 3), out(3, dims.d_head);
    stack.embed(x.view(), {positions, segments});
    for (int i = 0; i < dims.n_layers; ++i) {
        const LayerEncodings& layer = stack.layer(i);
        Tensor state(3, layer.state_floats());
        layer.observe(x.view(), positions, nullptr, state.view());
        for (const Role role : all_roles)
            layer.rotate(
                x.view(),
                {.layer = i, .n_heads = dims.n_heads, .role = role, .positions = positions, .state = state.view()});
        Tile tile{.layer = i, .head = dims.n_heads - 1, .queries = positions, .keys = positions};
        tile.q = tile.k = cols_of(x.view(), 0, dims.d_head);
        tile.query_state = tile.key_state = state.view();
        layer.bias(scores.view(), tile);
        layer.mix(out.view(), scores.view(), tile);
        tile.first_query = 2;
        tile.queries = tile.queries.subspan(2, 1);
        tile.q = rows_of(tile.q, 2, 1);
        tile.query_state = rows_of(state.view(), 2, 1);
        float number = 0;
        tile.rescored = &number;
        layer.rescore(rows_of(scores.view(), 2, 1), tile);
        layer.sink(tile);
    }
}

void try_spec(std::string_view text, const Dims& dims) {
    try {
        ModelEncodings stack(text, dims);
        const std::string canonical = stack.spec();
        try {
            require(ModelEncodings(canonical, dims).spec() == canonical);
        } catch (const Error&) {
            require(false); // it must understand its own output
        }
        std::vector<Tensor> storage;
        if (!bind_zeros(stack, storage)) return;
        stack.prepare(16);
        run(stack, dims);
    } catch (const Error& error) {
        const std::string_view what = error.what();
        require(error.code == ErrorCode::usage && what.size() < 1000 && what.find('\n') == what.npos);
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    try_spec(text, {32, 4, 8, 2, 64});
    try_spec(text, {21, 3, 7, 1, 16}); // odd widths, and a number of heads that is not a power of two
    return 0;
}
