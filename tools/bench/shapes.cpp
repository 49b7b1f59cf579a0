// SPDX-License-Identifier: MIT
#include "tools/bench/shapes.h"
#include "formats/architecture.h"

#include "core/error.h"
#include "encoding/base/model_encodings.h"
#include "encoding/base/registry.h"

#include <algorithm>

namespace ordo::bench {
namespace {

struct Size {
    std::string_view name, architecture;
    int n_layers, d_model, n_heads, n_kv_heads, d_ff, vocab_size, context;
    bool tied_head;
};
constexpr Size sizes[] = {
    {"llama15m", "llama", 6, 288, 6, 6, 768, 32000, 256, true},
    {"llama110m", "llama", 12, 768, 12, 12, 2048, 32000, 1024, true},
    {"gpt2-124m", "gpt2", 12, 768, 12, 12, 3072, 50257, 1024, true},
    {"bloom560m", "bloom", 24, 1024, 16, 16, 4096, 32000, 2048, true},
    {"llama1.1b", "llama", 22, 2048, 32, 4, 5632, 32000, 2048, false},
};

// The benchmarks run a prompt and the steps after it.
bool decodes(const Blueprint& b) {
    return b.encoder.empty() && !b.bidirectional();
}

bool architecture(std::string_view name, Blueprint& out) {
    for (const Architecture& a : architectures())
        if (a.name == name && decodes(a.make())) {
            out = a.make();
            return true;
        }
    return false;
}

// "pairing=halves" continues the spec before it; "alibi" and "rope:theta=1" begin another.
bool is_parameter(std::string_view piece) {
    const std::size_t equals = piece.find('=');
    return equals != std::string_view::npos && piece.find_first_of(":+(") > equals;
}

// Does not split inside parentheses, as in pattern(rope,none).
std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> pieces;
    std::size_t begin = 0;
    int depth = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '(') ++depth;
        if (text[i] == ')') --depth;
        if (text[i] != separator || depth > 0) continue;
        pieces.push_back(text.substr(begin, i - begin));
        begin = i + 1;
    }
    pieces.push_back(text.substr(begin));
    return pieces;
}

} // namespace

std::vector<std::string> shape_names() {
    std::vector<std::string> names;
    for (const Architecture& a : architectures())
        if (decodes(a.make())) names.emplace_back(a.name);
    for (const Size& size : sizes) names.emplace_back(size.name);
    return names;
}

Blueprint shape(std::string_view name) {
    Blueprint b;
    if (architecture(name, b)) return b;
    for (const Size& size : sizes) {
        if (size.name != name || !architecture(size.architecture, b)) continue;
        b.n_layers = size.n_layers;
        b.d_model = size.d_model;
        b.n_heads = size.n_heads;
        b.n_kv_heads = size.n_kv_heads;
        b.d_head = size.d_model / size.n_heads;
        b.d_ff = size.d_ff;
        b.vocab_size = size.vocab_size;
        b.context = size.context;
        b.tied_head = size.tied_head;
        return b;
    }
    std::string known;
    for (const std::string& n : shape_names()) known += (known.empty() ? "" : ", ") + n;
    fail(ErrorCode::usage, "shape '", printable(name), "': expected one of ", known);
}

std::size_t parameter_count(std::span<const TensorSpec> specs) {
    std::size_t count = 0;
    for (const TensorSpec& spec : specs) {
        std::size_t n = 1;
        for (const std::int64_t size : spec.shape) n *= static_cast<std::size_t>(size);
        count += n;
    }
    return count;
}

Blueprint training_trunk(bool gated) {
    Blueprint b;
    b.vocab_size = 4096;
    b.context = 256;
    b.n_layers = 6;
    b.d_model = 192;
    b.n_heads = b.n_kv_heads = 6;
    b.d_head = 32;
    b.d_ff = gated ? 512 : 768;
    b.gated = gated;
    b.norm = gated ? Norm::rms : Norm::layer;
    b.activation = gated ? Activation::silu : Activation::gelu_tanh;
    return b;
}

std::vector<std::string> split_names(std::string_view list) {
    std::vector<std::string> names;
    for (const std::string_view piece : split(list, ',')) {
        if (piece.empty()) fail(ErrorCode::usage, "list '", printable(list), "': expected a name, found nothing");
        names.emplace_back(piece);
    }
    return names;
}

std::vector<std::string> spec_list(std::span<const std::string> lists) {
    std::vector<std::string> specs;
    const auto add = [&specs](std::string spec) {
        if (std::find(specs.begin(), specs.end(), spec) == specs.end()) specs.push_back(std::move(spec));
    };
    for (const std::string& list : lists)
        for (const std::string_view part : split(list, ';')) {
            std::vector<std::string> found;
            for (const std::string_view piece : split(part, ',')) {
                if (is_parameter(piece) && !found.empty())
                    found.back().append(",").append(piece);
                else
                    found.emplace_back(piece);
            }
            for (std::string& spec : found) {
                if (spec.empty())
                    fail(ErrorCode::usage, "encodings '", printable(list), "': expected a spec, found nothing");
                if (spec != "all")
                    add(std::move(spec));
                else
                    for (const EncodingInfo* info : registered_encodings()) add(std::string(info->name));
            }
        }
    return specs;
}

std::vector<std::string> encoding_list(std::span<const std::string> lists) {
    std::vector<std::string> specs = spec_list(lists);
    std::erase(specs, "none");
    specs.insert(specs.begin(), "none");
    return specs;
}

} // namespace ordo::bench
