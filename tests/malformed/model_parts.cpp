// SPDX-License-Identifier: MIT
#include "tests/malformed/model_parts.h"

#include "core/random.h"
#include "io/half.h"
#include "text/tokenizer.h"

namespace ordo::test {

std::size_t elements_of(const std::vector<std::int64_t>& shape) {
    std::size_t n = 1;
    for (const std::int64_t dim : shape) n *= static_cast<std::size_t>(dim);
    return n;
}

std::string encoded(const std::string& dtype, std::span<const float> values) {
    std::string data;
    for (const float value : values) {
        const auto bits = dtype == "F32"   ? std::bit_cast<std::uint32_t>(value)
                          : dtype == "F16" ? f16_from_float(value)
                                           : bf16_from_float(value);
        for (int byte = 0; byte < (dtype == "F32" ? 4 : 2); ++byte)
            data += static_cast<char>(bits >> (8 * byte) & 0xff);
    }
    return data;
}

std::string Parts::file() const {
    std::string header = "{\"__metadata__\":" + Json(metadata).dump(), data;
    for (const StoredPart& t : tensors) {
        const std::size_t begin = data.size();
        data += t.data;
        header += "," + Json(t.name).dump() + ":{\"dtype\":\"" + t.dtype + "\",\"shape\":" + Json(t.shape).dump() +
                  ",\"data_offsets\":[" + std::to_string(begin) + "," + std::to_string(data.size()) + "]}";
    }
    header += '}';
    while (header.size() % 8 != header_remainder) header += ' ';
    std::string length;
    for (int i = 0; i < 8; ++i) length += static_cast<char>(header.size() >> (8 * i) & 0xff);
    return length + header + data;
}

Parts valid_model(bool with_tokenizer, int width) {
    Blueprint b;
    b.vocab_size = 257;
    b.context = 16;
    b.n_layers = 2;
    b.d_model = width;
    b.n_heads = 2;
    b.n_kv_heads = 1;
    b.d_head = width / 2;
    b.d_ff = 12;
    Parts parts;
    parts.metadata = {{"ordo.format", "1"}, {"encoding", "rope"}};
    if (with_tokenizer)
        parts.metadata["tokenizer"] = make_byte_tokenizer()->to_json();
    else
        b.vocab_size = 5;
    parts.metadata["blueprint"] = to_json(b);
    std::uint64_t stream = 0;
    for (const TensorSpec& spec : tensor_list(b)) {
        const Random random(3, stream++);
        std::vector<float> values(elements_of(spec.shape), 1.0f);
        if (spec.initial.a != 1)
            for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(0.3 * random.normal(i));
        parts.tensors.push_back({spec.name, "F32", spec.shape, encoded("F32", values)});
    }
    return parts;
}

} // namespace ordo::test
