// SPDX-License-Identifier: MIT
// A directory in the form of Hugging Face's transformers: config.json, and model.safetensors or its shards, or
// pytorch_model.bin or its shards. If they exist, tokenizer.json (or vocab.json and merges.txt, Marian's files or
// SentencePiece's), tokenizer_config.json, special_tokens_map.json, generation_config.json,
// chat_template.jinja and chat_template.json.
#include "core/error.h"
#include "core/utf8.h"
#include "formats/architecture.h"
#include "formats/hugging_face_text.h"
#include "formats/model_type.h"
#include "formats/plan_checks.h"
#include "formats/pooling.h"
#include "formats/pytorch_store.h"
#include "formats/source.h"
#include "formats/tokenizer_config.h"
#include "model/model_file.h"
#include "text/chat_template.h"

#include <set>
#include <system_error>

namespace ordo {
namespace {

namespace fs = std::filesystem;

// ---- Weights ------------------------------------------------------------------------------------

// A shard is in the directory itself: a name that leads out of it is refused.
void check_shard_name(const std::string& name, const std::string& where) {
    if (name.empty() || name.find_first_of("/\\") != name.npos || name == "." || name == "..")
        fail(ErrorCode::model, where, ": 'weight_map': expected the name of a file in this directory, found '",
             printable(name), "'");
}

// The possible weight files of a directory, in order of preference.
struct WeightFiles {
    std::string_view one, index;
    void (*add)(TensorStore& store, const fs::path& path);
};
constexpr WeightFiles weight_files[] = {
    {"model.safetensors", "model.safetensors.index.json",
     [](TensorStore& store, const fs::path& path) {
         add_safetensors(store, std::make_shared<const Safetensors>(Safetensors::open(path)));
     }},
    {"pytorch_model.bin", "pytorch_model.bin.index.json",
     [](TensorStore& store, const fs::path& path) {
         add_pytorch(store, std::make_shared<const PytorchFile>(PytorchFile::open(path)));
     }},
};

void add_shards(TensorStore& store, const fs::path& directory, const WeightFiles& files) {
    const std::string where = printable_path(directory / files.index);
    const JsonValue index = read_json_file(directory / files.index, json_header_limits.bytes);
    const JsonValue& map = get_object(index, "weight_map", where);
    std::set<std::string> names;
    for (const auto& [tensor, file] : *map.object()) {
        if (file.string() == nullptr)
            fail(ErrorCode::model, where, ": 'weight_map': '", printable(tensor), "': expected a string, found ",
                 describe(file));
        const std::string& name = *file.string();
        if (names.insert(name).second) check_shard_name(name, where);
    }
    for (const std::string& name : names) files.add(store, directory / name);
    for (const auto& [tensor, file] : *map.object()) {
        const FileTensor* found = store.find(tensor);
        const std::string expected = printable_path(directory / *file.string());
        if (found == nullptr || store.where(*found) != expected)
            fail(ErrorCode::model, where, ": tensor '", printable(tensor), "': expected in ", expected, ", found ",
                 found == nullptr ? std::string("none") : "it in " + store.where(*found));
    }
}

} // namespace

void add_weights(TensorStore& store, const fs::path& directory) {
    for (const WeightFiles& files : weight_files) {
        if (is_there(directory / files.one)) return files.add(store, directory / files.one);
        if (is_there(directory / files.index)) return add_shards(store, directory, files);
    }
    std::string expected;
    for (const WeightFiles& files : weight_files)
        for (const std::string_view name : {files.one, files.index})
            expected += (expected.empty() ? "" : name == weight_files[1].index ? " or " : ", ") + std::string(name);
    const bool original = is_there(directory / "consolidated.00.pth");
    fail(ErrorCode::model, printable_path(directory), ": expected ", expected, ", found none",
         original
             ? " but Llama's original consolidated.00.pth; download the directory of the same model for transformers"
             : "");
}

namespace {

// A template: one text, or several with names: a list, or an object. Empty if there is none.
std::string template_in(const JsonValue* value) {
    if (value == nullptr) return {};
    if (value->string()) return *value->string();
    if (const JsonValue* const named = find_member(*value, "default"); named != nullptr && named->string())
        return *named->string();
    if (!value->array()) return {};
    for (const JsonValue& named : *value->array()) {
        const std::string *const name = text_of(named, "name"), *const text = text_of(named, "template");
        if (name != nullptr && *name == "default" && text != nullptr) return *text;
    }
    return {};
}

// The chat template and the special tokens that it may name, as metadata. A file of the template's own comes before
// the tokenizer's files, and those before the file of a processor.
void read_chat(const fs::path& directory, Metadata& metadata) {
    const fs::path own = directory / "chat_template.jinja";
    const JsonValue config = read_json_file(directory / "tokenizer_config.json");
    std::string text = is_there(own) ? read_text_file(own, most_config, "a template")
                                     : template_in(find_member(config, "chat_template"));
    if (text.empty()) {
        const JsonValue processor = read_json_file(directory / "chat_template.json");
        text = template_in(find_member(processor, "chat_template"));
    }
    if (text.empty() || !utf8_valid(text)) return; // other bytes cannot be stored
    metadata["chat_template"] = std::move(text);
    const JsonValue map = read_json_file(directory / "special_tokens_map.json");
    for (const std::string_view name : chat_tokens)
        for (const JsonValue* const file : {&config, &map})
            if (const std::string* const token = text_of(*file, name); token != nullptr && !token->empty())
                metadata.try_emplace(std::string(name), *token);
}

// Whether a file needs no config.json: a GGUF, or safetensors that Ordo wrote.
bool loads_alone(const fs::path& file) {
    if (names_gguf(file)) return true;
    try {
        return file.extension() == ".safetensors" && Safetensors::open(file).metadata().contains(key_format);
    } catch (const Error&) {
        return false; // it is no safetensors file, whatever its name says
    }
}

// Refuses a directory without a config.json, with a hint about its kind.
[[noreturn]] void refuse_without_config(const fs::path& directory) {
    const std::string where = printable_path(directory);
    std::error_code error;
    if (!fs::exists(directory / "config.json", error) && error == std::errc::permission_denied)
        fail(ErrorCode::io, where, ": ", error.message());
    if (is_there(directory / "adapter_config.json"))
        fail(ErrorCode::model, where, ": expected a model, found an adapter (LoRA) for one; ",
             "merge it into its base model and give the directory of the result");
    std::set<std::string> models;
    bool weights = false;
    for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
        const fs::path& file = entry.path();
        if (loads_alone(file)) models.insert(file.filename().string());
        weights |= file.extension() == ".safetensors" || file.extension() == ".bin";
    }
    std::string names;
    for (const std::string& name : models) names.append(names.empty() ? "" : ", ").append(name);
    fail(ErrorCode::model, where, ": expected a model, found a directory without config.json",
         !names.empty() ? "; give one of its files: "
         : weights      ? "; download it too, with the tokenizer's files"
                        : "",
         printable(names, 200));
}

// Refuses weights quantised by other tools. MLX names no method.
void refuse_quantised(const Config& config) {
    constexpr const char* works =
        "none, and weights in F32, F16 or BF16 (a GGUF file of the same model may have blocks)";
    for (const char* key : {"quantization_config", "quantization"}) {
        const std::optional<Config> blocks = config.object(key);
        if (!blocks) continue;
        if (blocks->has("quant_method")) blocks->refuse("quant_method", works);
        if (!blocks->has("group_size") || !blocks->has("bits")) config.refuse(key, works);
        fail(ErrorCode::model, config.where(), ": '", key, "': expected ", works, ", found MLX's blocks of ",
             blocks->integer("bits"), " bits");
    }
}

// A directory may name classes of its own in Python, which may compute something else than the family's.
void warn_of_own_code(const Config& config, Source& source) {
    if (config.has("auto_map"))
        source.warnings.emplace_back("config.json: 'auto_map': this directory names its own code, which Ordo does not "
                                     "run: it computes what transformers' class of this model_type does");
}

} // namespace

Source hugging_face_source(const fs::path& given) {
    const fs::path directory = transformer_folder(given), path = directory / "config.json";
    const std::string where = printable_path(path);
    if (!is_there(path)) refuse_without_config(directory);
    const JsonValue object = read_json_file(path);
    const Config config(object, where);
    refuse_quantised(config);
    Source source;
    source.where = printable_path(given);
    source.format = "Hugging Face directory";
    const bool named = config.has("model_type");
    if (!named) add_weights(source.tensors, directory); // which may tell the family
    const std::string type =
        named ? get_string(object, "model_type", where) : model_type_of(object, source.tensors, where);
    const Architecture& architecture = find_hugging_face(type, where);
    const HuggingFaceFamily& family = architecture.hugging_face;
    if (named) add_weights(source.tensors, directory);
    remove_level(source.tensors, example_names(architecture));
    refuse_for_all(config);
    ModelPlan plan = family.plan(config, source.tensors);
    settle_mask(config, plan.blueprint);
    source.names = family.names(plan);
    drop_missing_head(config, source.tensors, source.names, plan.blueprint);
    check(plan.blueprint, where);
    source.blueprint = std::move(plan.blueprint);
    source.encoding = std::move(plan.encoding);
    source.warnings = std::move(plan.warnings);
    warn_of_own_code(config, source);
    source.metadata["source"] = "Hugging Face directory, model_type " + type;
    read_chat(directory, source.metadata);
    read_pooling(given, source);
    add_hugging_face_text(source, directory, type);
    return source;
}

} // namespace ordo
