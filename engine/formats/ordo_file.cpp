// SPDX-License-Identifier: MIT
// Ordo's own files (model/model_file.h): names and layouts need no conversion.
#include "core/error.h"
#include "formats/source.h"
#include "formats/special_tokens.h"
#include "model/model_file.h"

namespace ordo {
namespace {

using WeightTypes = std::map<std::string, WeightType, std::less<>>;

// Whether U8 may be blocks of the spec's weights.
bool has_blocks(const TensorSpec& spec) {
    return spec.shape.size() == 2 && spec.shape[1] % quant_block == 0;
}

std::vector<std::int64_t> bytes_shape(const TensorSpec& spec, WeightType type) {
    return {spec.shape[0], static_cast<std::int64_t>(row_bytes(type, spec.shape[1]))};
}

// The type in a file from before 0.2, where the bytes of a row distinguish q8_0 and q4_0.
WeightType guessed(const FileTensor& tensor, const TensorSpec& spec) {
    return tensor.shape == bytes_shape(spec, WeightType::q4_0) ? WeightType::q4_0 : WeightType::q8_0;
}

// Gives byte tensors that are blocks the type and shape of the spec. Throws Error(model) for bytes that are not blocks.
void name_blocks(TensorStore& store, std::span<const TensorSpec> specs, const WeightTypes* types) {
    for (const TensorSpec& spec : specs) {
        FileTensor* const tensor = store.find(spec.name);
        if (tensor == nullptr || tensor->dtype != "U8" || !has_blocks(spec)) continue;
        WeightType type = guessed(*tensor, spec);
        if (types != nullptr) {
            const auto found = types->find(spec.name);
            if (found == types->end()) continue; // it stays U8, which is then refused
            type = found->second;
            if (spec.shape[1] % block_size(type) != 0)
                fail(ErrorCode::model, store.name_of(*tensor), ": expected rows of whole blocks, found ", spec.shape[1],
                     " weights in ", name_of(type));
        }
        const std::vector<std::int64_t> shape = bytes_shape(spec, type);
        if (tensor->shape != shape)
            fail(ErrorCode::model, store.name_of(*tensor), ": expected ", shape_text(shape), ", found ",
                 shape_text(tensor->shape));
        tensor->type = type;
        tensor->shape = spec.shape;
        tensor->dtype = name_of(type);
    }
}

// All tensors. If this program does not know the encoding, only the others; convert then copies the encoding's tensors.
std::vector<TensorSpec> known_specs(const Source& source) {
    try {
        return source.specs();
    } catch (const Error&) {
        return tensor_list(source.blueprint);
    }
}

// vocab: rows of the embedding. A special token may be one of them that the tokenizer does not have.
TextSide text_of(const std::string& json, const Metadata& metadata, const std::string& where, int vocab) {
    TextSide text(tokenizer_from_json(json, where + ": tokenizer"));
    text.padded_vocabulary = true; // of a converted model
    if (const auto found = metadata.find(key_special_tokens); found != metadata.end())
        text.special = special_tokens_from_json(found->second, where + ": metadata 'special_tokens'", vocab);
    if (const auto found = metadata.find(key_sampling); found != metadata.end())
        text.sampling = sampling_from_json(found->second, where + ": metadata 'sampling'");
    return text;
}

} // namespace

Source ordo_source(const std::shared_ptr<const Safetensors>& file) {
    Source source;
    source.where = file->where();
    source.format = "Ordo safetensors";
    source.blueprint = read_blueprint(*file);
    source.encoding = required_metadata(*file, key_encoding);
    source.metadata = file->metadata();
    add_safetensors(source.tensors, file);
    const std::vector<TensorSpec> specs = known_specs(source);
    const auto types = source.metadata.find(key_weight_types);
    if (types == source.metadata.end()) {
        name_blocks(source.tensors, specs, nullptr);
    } else {
        const WeightTypes named = weight_types_from_json(types->second, source.where);
        name_blocks(source.tensors, specs, &named);
    }
    if (const auto json = file->metadata().find(key_tokenizer); json != file->metadata().end())
        source.text = [file, text = &json->second, vocab = source.blueprint.vocab_size] {
            return text_of(*text, file->metadata(), file->where(), vocab);
        };
    return source;
}

} // namespace ordo
