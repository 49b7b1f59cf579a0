// SPDX-License-Identifier: MIT
#include "formats/architecture.h"

#include "core/error.h"
#include "encoding/base/spec.h"

#include <algorithm>

namespace ordo {
namespace {

template <class NamesOf>
const Architecture& find(std::string_view name, std::string_view where, const char* key, const NamesOf& names_of) {
    std::vector<std::string_view> known;
    for (const Architecture& each : architectures())
        for (const std::string_view own : names_of(each)) {
            if (own == name) return each;
            known.push_back(own);
        }
    const std::string_view near = nearest(name, known, 4); // lama: llama, but not deberta: roberta
    fail(ErrorCode::model, where, ": '", key, "': found '", printable(name), "', which is not supported",
         near.empty() ? "" : "; did you mean ", near, near.empty() ? "" : "?",
         "; ordo info --families lists the names that are");
}

} // namespace

const Architecture& find_hugging_face(std::string_view model_type, std::string_view where) {
    return find(
        model_type, where, "model_type",
        [](const Architecture& each) -> const auto& { return each.hugging_face.model_types; });
}

const Architecture& find_gguf(std::string_view architecture, std::string_view where) {
    for (const Architecture& each : architectures()) {
        const std::vector<std::string_view>& others = each.hugging_face.not_from_gguf;
        if (std::find(others.begin(), others.end(), architecture) != others.end())
            fail(ErrorCode::model, where, ": 'general.architecture': '", architecture,
                 "' is not read from a GGUF file; the same model works as a directory of Hugging Face's, with "
                 "config.json and safetensors");
    }
    return find(
        architecture, where, "general.architecture",
        [](const Architecture& each) -> const auto& { return each.gguf.architectures; });
}

} // namespace ordo
