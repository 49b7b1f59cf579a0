// SPDX-License-Identifier: MIT
#include "formats/pooling.h"

#include "core/error.h"
#include "core/utf8.h"
#include "formats/config.h"
#include "formats/tokenizer_config.h"
#include "io/json.h"
#include "model/model_file.h"

#include <algorithm>
#include <array>

namespace ordo {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_bytes = std::size_t{1} << 20;

JsonValue read_json(const fs::path& path) {
    return parse_json(read_text_file(path, most_bytes), printable_path(path), json_config_limits);
}

// Several poolings are joined there, "first+mean", which is unsupported.
std::string pooling_of(const JsonValue& config) {
    if (const JsonValue* named = find_member(config, "pooling_mode"); named != nullptr && named->string()) {
        const std::string& mode = *named->string();
        return mode == "cls" ? "first" : mode == "lasttoken" ? "last" : printable(mode);
    }
    constexpr std::array<std::pair<std::string_view, std::string_view>, 6> modes = {
        {{"pooling_mode_cls_token", "first"},
         {"pooling_mode_mean_tokens", "mean"},
         {"pooling_mode_max_tokens", "max"},
         {"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len"},
         {"pooling_mode_weightedmean_tokens", "weightedmean"},
         {"pooling_mode_lasttoken", "last"}}};
    std::string all;
    for (const auto& [key, name] : modes) {
        const JsonValue* const value = find_member(config, key);
        if (value != nullptr && value->boolean() && *value->boolean())
            all += (all.empty() ? "" : "+") + std::string(name);
    }
    return all.empty() ? "none" : all;
}

std::string string_of(const JsonValue& object, std::string_view key) {
    const JsonValue* const value = find_member(object, key);
    return value != nullptr && value->string() ? *value->string() : std::string();
}

// Whether a folder is outside the directory itself.
bool leads_outside(const std::string& name) {
    return name.empty() || name.find_first_of("/\\") != name.npos || name == "." || name == "..";
}

// "Pooling", of "sentence_transformers.models.Pooling".
std::string kind_of(const JsonValue& module) {
    const std::string type = string_of(module, "type");
    return type.substr(type.rfind('.') + 1);
}

// "torch.nn.modules.activation.Tanh"
DenseActivation dense_activation(const Config& config) {
    constexpr std::pair<std::string_view, DenseActivation> known[] = {
        {"torch.nn.modules.linear.Identity", DenseActivation::identity},
        {"torch.nn.modules.activation.Tanh", DenseActivation::tanh},
        {"torch.nn.modules.activation.ReLU", DenseActivation::relu},
        {"torch.nn.modules.activation.GELU", DenseActivation::gelu},
        {"torch.nn.modules.activation.SiLU", DenseActivation::silu},
        {"torch.nn.modules.activation.Sigmoid", DenseActivation::sigmoid}};
    const std::string name = config.text("activation_function", known[1].first);
    std::string works;
    for (const auto& [each, kind] : known) {
        if (name == each) return kind;
        works += (works.empty() ? "" : ", ") + std::string(each);
    }
    config.refuse("activation_function", "one of " + works);
}

// Gives a tensor of the folder's file the name of a tensor of the model.
void take_tensor(Source& source, const fs::path& folder, const std::string& name, const std::string& ours,
                 const std::vector<std::int64_t>& shape) {
    FileTensor* const tensor = source.tensors.find(name);
    if (!tensor || tensor->shape != shape)
        fail(ErrorCode::model, printable_path(folder), ": tensor '", name, "': expected ", shape_text(shape),
             ", found ", tensor ? shape_text(tensor->shape) : "none");
    source.tensors.rename(*tensor, ours);
}

// The module Dense in a folder of its own: a linear layer on the vector, and an activation.
void read_dense(const fs::path& folder, bool unit_input, Source& source) {
    const fs::path path = folder / "config.json";
    if (!is_there(path))
        fail(ErrorCode::model, printable_path(path),
             ": expected the file of a module that modules.json names, found "
             "none; download the folder too");
    const JsonValue object = read_json(path);
    const Config config(object, printable_path(path));
    std::vector<DenseLayer>& layers = source.blueprint.dense;
    const int before = layers.empty() ? source.blueprint.d_model : layers.back().width;
    for (const char* key : {"module_input_name", "module_output_name"}) config.only(key, "sentence_embedding");
    config.only("use_residual", false);
    if (config.integer("in_features") != before)
        config.refuse("in_features", std::to_string(before) + ", the width of the vector before it");
    const DenseLayer layer{config.integer("out_features", 1, 65536), config.flag("bias", true), unit_input,
                           dense_activation(config)};
    const std::string ours = "dense." + std::to_string(layers.size());
    add_weights(source.tensors, folder);
    take_tensor(source, folder, "linear.weight", ours + ".weight", {layer.width, before});
    if (layer.bias) take_tensor(source, folder, "linear.bias", ours + ".bias", {layer.width});
    layers.push_back(layer);
}

void read_modules(const fs::path& directory, Source& source) {
    const fs::path path = directory / "modules.json";
    const JsonValue modules = read_json(path);
    if (!modules.array()) fail(ErrorCode::model, printable_path(path), ": expected a list, found ", describe(modules));
    bool pools = false, normalises = false;
    for (const JsonValue& module : *modules.array()) {
        const std::string folder = string_of(module, "path"), kind = kind_of(module);
        const bool dense = pools && kind == "Dense";
        pools = pools || kind == "Pooling";
        if ((kind == "Pooling" || dense) && leads_outside(folder))
            fail(ErrorCode::model, printable_path(path),
                 ": 'path': expected the name of a folder in this directory, found '", printable(folder), "'");
        if (kind == "Pooling" && is_there(directory / folder / "config.json")) {
            const JsonValue config = read_json(directory / folder / "config.json");
            source.metadata[std::string(key_pooling)] = pooling_of(config);
            if (!flag_of(config, "include_prompt", true)) source.metadata[std::string(key_prompt_pooled)] = "false";
        }
        if (dense) read_dense(directory / folder, normalises, source);
        normalises = kind == "Normalize" || (normalises && !dense);
        const bool model = kind == "Transformer" || transformer_folder(directory) == directory / folder;
        if (!model && !dense && kind != "Pooling" && kind != "Normalize")
            source.warnings.push_back("modules.json: expected Transformer, Pooling, Dense and Normalize, found " +
                                      printable(string_of(module, "type")) + ", which ordo embed leaves out");
    }
    source.names.rules.push_back({"dense.#", "dense.#"});
    source.metadata[std::string(key_normalised)] = normalises ? "true" : "false";
}

// The number of tokens at which sentence-transformers cuts a text: max_seq_length of its own file, else
// model_max_length of the tokenizer.
void read_max_tokens(const fs::path& folder, Source& source) {
    std::vector<std::pair<std::string, const char*>> places;
    for (const char* name : {"bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet"})
        places.emplace_back(std::string("sentence_") + name + "_config.json", "max_seq_length");
    places.emplace_back("tokenizer_config.json", "model_max_length");
    for (const auto& [file, key] : places) {
        const JsonValue config = read_json_file(folder / file);
        const JsonValue* const most = find_member(config, key);
        if (most == nullptr || !most->unsigned_integer() || *most->unsigned_integer() > (1U << 30)) continue;
        source.metadata[std::string(key_max_tokens)] = std::to_string(*most->unsigned_integer());
        return;
    }
}

// The text that sentence-transformers puts before every text: the prompt of default_prompt_name.
void read_prompt(const fs::path& directory, Source& source) {
    constexpr const char* file = "config_sentence_transformers.json";
    const JsonValue config = read_json_file(directory / file);
    const std::string name = string_of(config, "default_prompt_name");
    if (name.empty()) return;
    const JsonValue* const prompts = find_member(config, "prompts");
    const JsonValue* const prompt = prompts == nullptr ? nullptr : find_member(*prompts, name);
    if (prompt == nullptr || !prompt->string())
        source.warnings.push_back(std::string(file) + ": 'default_prompt_name': expected one of 'prompts', found '" +
                                  printable(name) + "'; ordo embed puts no prompt before a text");
    else if (!prompt->string()->empty())
        source.metadata[std::string(key_prompt)] = *prompt->string();
}

} // namespace

fs::path transformer_folder(const fs::path& directory) {
    if (is_there(directory / "config.json") || !is_there(directory / "modules.json")) return directory;
    const JsonValue modules = read_json(directory / "modules.json");
    if (!modules.array() || modules.array()->empty()) return directory;
    const std::string folder = string_of(modules.array()->front(), "path");
    return leads_outside(folder) || !is_there(directory / folder / "config.json") ? directory : directory / folder;
}

void read_pooling(const fs::path& directory, Source& source) {
    read_max_tokens(transformer_folder(directory), source);
    read_prompt(directory, source);
    if (is_there(directory / "modules.json")) return read_modules(directory, source);
    const fs::path usual = directory / "1_Pooling" / "config.json";
    if (is_there(usual)) source.metadata[std::string(key_pooling)] = pooling_of(read_json(usual));
}

void read_gguf_pooling(const Gguf& file, const std::string& architecture, Metadata& metadata) {
    // 0 is none, a vector for each token, for which there is no entry.
    constexpr std::array<std::string_view, 5> names = {"", "mean", "first", "last", "rank"};
    const auto type = file.integer(architecture + ".pooling_type", -1, 1 << 20).value_or(0);
    const auto i = static_cast<std::size_t>(type);
    if (type > 0) metadata[std::string(key_pooling)] = i < names.size() ? std::string(names[i]) : std::to_string(type);
}

} // namespace ordo
