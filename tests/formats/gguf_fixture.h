// SPDX-License-Identifier: MIT
// The tensors of a checkpoint of tests/families, ready to be renamed and changed as llama.cpp's converter does.
#pragma once

#include "formats/gguf/file.h"
#include "io/safetensors.h"
#include "tests/formats/family_run.h"

#include <map>

namespace ordo::test {

struct Values {
    std::vector<std::int64_t> shape;
    std::vector<float> all;
};
using Tensors = std::map<std::string, Values>;

inline Tensors tensors_of(const std::string& name) {
    const Safetensors file = Safetensors::open(family(name) / "model.safetensors");
    Tensors tensors;
    for (const TensorInfo& info : file.tensors()) {
        if (info.dtype == "I64") continue; // position ids, which converters drop
        Values& values = tensors[info.name];
        values.shape = info.shape;
        values.all.resize(info.elements);
        file.read(info, values.all);
    }
    return tensors;
}

inline std::vector<std::byte> gguf_of(const GgufEntries& metadata, const Tensors& tensors) {
    std::vector<GgufStored> stored;
    for (const auto& [name, values] : tensors)
        stored.push_back({name, values.shape, WeightType::f32,
                          [&values = values](const auto& sink) { sink(std::as_bytes(std::span(values.all))); }});
    return gguf_bytes(metadata, stored, "mem");
}

inline Json config_of(const std::string& name) {
    return Json::parse(std::ifstream(family(name) / "config.json"));
}

} // namespace ordo::test
