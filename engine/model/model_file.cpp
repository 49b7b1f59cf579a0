// SPDX-License-Identifier: MIT
#include "model/model_file.h"

#include "core/error.h"
#include "io/json_writer.h"
#include "model/tensor_memory.h"

namespace ordo {

const std::string& required_metadata(const Safetensors& file, std::string_view key) {
    const auto found = file.metadata().find(key);
    if (found == file.metadata().end())
        fail(ErrorCode::model, file.where(), ": metadata '", key, "': expected one, found none",
             key == key_format ? " (not a model written by Ordo?)" : "");
    return found->second;
}

Blueprint read_blueprint(const Safetensors& file) {
    const std::string& format = required_metadata(file, key_format);
    if (format != model_format)
        fail(ErrorCode::model, file.where(), ": metadata '", key_format, "': expected ", model_format, ", found '",
             printable(format), "'");
    return blueprint_from_json(required_metadata(file, key_blueprint), file.where());
}

WeightType type_in_file(WeightType wanted, const TensorSpec& spec) {
    return quantised(wanted) ? type_within(wanted, spec) : wanted;
}

std::string weight_types_json(const std::map<std::string, WeightType, std::less<>>& types) {
    JsonWriter out;
    out.begin_object();
    bool any = false;
    for (const auto& [name, type] : types) {
        if (!quantised(type)) continue;
        out.member(name, name_of(type));
        any = true;
    }
    out.end_object();
    return any ? out.take() : std::string();
}

std::map<std::string, WeightType, std::less<>> weight_types_from_json(std::string_view json, std::string_view where) {
    const std::string place = std::string(where) + ": metadata '" + std::string(key_weight_types) + "'";
    const JsonValue object = parse_json(json, place);
    if (!object.object()) fail(ErrorCode::model, place, ": expected a JSON object, found ", describe(object));
    std::map<std::string, WeightType, std::less<>> types;
    for (const auto& [name, value] : *object.object()) {
        try {
            types.emplace(name, weight_type(get_string(object, name, place)));
        } catch (const Error& error) {
            fail(ErrorCode::model, place, ": '", printable(name), "': ", error.what());
        }
    }
    return types;
}

void write_model(const std::filesystem::path& path, const ModelFile& model, const FileCheck& check) {
    Metadata metadata = model.metadata;
    metadata[std::string(key_format)] = model_format;
    metadata[std::string(key_blueprint)] = to_json(model.blueprint);
    metadata[std::string(key_encoding)] = model.encoding;
    if (!model.tokenizer.empty()) metadata[std::string(key_tokenizer)] = model.tokenizer;
    std::vector<StoredTensor> tensors;
    std::map<std::string, WeightType, std::less<>> types;
    for (std::size_t i = 0; i < model.specs.size(); ++i) {
        const View v = model.values.at(i);
        if (v.stride != v.cols)
            fail(ErrorCode::failure, "tensor '", printable(model.specs[i].name), "': expected rows side by side");
        tensors.push_back({model.specs[i].name,
                           model.specs[i].shape,
                           type_in_file(model.type, model.specs[i]),
                           {v.data, static_cast<std::size_t>(v.rows) * static_cast<std::size_t>(v.cols)}});
        types[tensors.back().name] = tensors.back().type;
    }
    if (const std::string json = weight_types_json(types); !json.empty())
        metadata[std::string(key_weight_types)] = json;
    write_safetensors(path, std::move(tensors), metadata, check);
}

} // namespace ordo
