// SPDX-License-Identifier: MIT
// The parts of a model file, to be changed before they are assembled.
#pragma once

#include "model/blueprint.h"
#include "tests/json.h"

#include <algorithm>
#include <map>

namespace ordo::test {

struct StoredPart {
    std::string name, dtype;
    std::vector<std::int64_t> shape;
    std::string data;
};

std::size_t elements_of(const std::vector<std::int64_t>& shape);

// Floats as the bytes of F32, F16 or BF16.
std::string encoded(const std::string& dtype, std::span<const float> values);

struct Parts {
    std::map<std::string, std::string> metadata;
    std::vector<StoredPart> tensors;
    std::size_t header_remainder = 0; // the header's length modulo 8

    StoredPart& tensor(const std::string& name) {
        return *std::find_if(tensors.begin(), tensors.end(), [&](const StoredPart& t) { return t.name == name; });
    }
    void remove(const std::string& name) { tensors.erase(tensors.begin() + (&tensor(name) - tensors.data())); }
    void set_values(const std::string& name, const std::string& dtype, float value) {
        StoredPart& t = tensor(name);
        t.dtype = dtype;
        t.data = encoded(dtype, std::vector<float>(elements_of(t.shape), value));
    }
    void set_element(const std::string& name, std::size_t at, float value) {
        tensor(name).data.replace(4 * at, 4, encoded("F32", {&value, 1}));
    }
    void set_all(const std::string& dtype, float value) {
        for (const StoredPart& t : std::vector(tensors)) set_values(t.name, dtype, value);
    }
    void set_blueprint(const std::string& field, const Json& value) {
        Json json = Json::parse(metadata["blueprint"]);
        json[field] = value;
        metadata["blueprint"] = json.dump();
    }
    std::string file() const;
};

// A small valid model with random weights.
Parts valid_model(bool with_tokenizer = true, int width = 8);

} // namespace ordo::test
