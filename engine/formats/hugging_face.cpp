// SPDX-License-Identifier: MIT
// A directory as Hugging Face's transformers writes it: config.json, model.safetensors or its shards, or pytorch_model.bin or
// its shards, and, where they are there, tokenizer.json (or vocab.json and merges.txt, Marian's files or SentencePiece's), tokenizer_config.json,
// special_tokens_map.json and generation_config.json.
#include "core/error.h"
#include "core/utf8.h"
#include "formats/architecture.h"
#include "formats/plan_checks.h"
#include "formats/pooling.h"
#include "formats/pytorch_store.h"
#include "formats/source.h"
#include "formats/special_tokens.h"
#include "formats/tokenizer_config.h"
#include "formats/tokenizer_files.h"
#include "io/file_kind.h"

#include <cmath>
#include <set>
#include <system_error>

namespace ordo {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_config = std::size_t{4} << 20, most_tokenizer = json_tokenizer_limits.bytes;

// The text of a file of the directory. Some are kept as pointers to what is stored elsewhere.
std::string read_text_file(const fs::path& path, std::size_t most) {
    std::string text = read_file(path, most);
    if (const FileKind* kind = binary_kind(std::string_view(text).substr(0, file_kind_bytes)))
        fail(ErrorCode::model, printable_path(path), ": expected JSON, found ", kind->text());
    return text;
}

// A file of the directory as JSON; null if it is not there.
JsonValue read_json_file(const fs::path& path, std::size_t most = most_config) {
    if (!is_there(path)) return {};
    const std::string text = read_text_file(path, most);
    JsonValue value = parse_json(text, printable_path(path));
    if (!value.object())
        fail(ErrorCode::model, printable_path(path), ": expected a JSON object, found ", describe(value));
    return value;
}

// ---- Weights ------------------------------------------------------------------------------------

// A shard lies in the directory itself: what would lead out of it is refused.
void check_shard_name(const std::string& name, const std::string& where) {
    if (name.empty() || name.find_first_of("/\\") != name.npos || name == "." || name == "..")
        fail(ErrorCode::model, where, ": 'weight_map': expected the name of a file in this directory, found '",
             printable(name), "'");
}

// The files of weights that a directory may have, the first first.
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

// ---- Text ---------------------------------------------------------------------------------------

// The ids of a key such as eos_token_id: one, a list, or none. Those that the vocabulary does not have are none:
// configs name ids of others' tokenizers.
std::vector<Token> ids_of(const JsonValue& object, std::string_view key, int vocab_size) {
    std::vector<Token> ids;
    const auto add = [&](const JsonValue& value) {
        const std::uint64_t* const whole = value.unsigned_integer();
        const double* const fraction = value.fraction(); // 2.0
        const double id = whole != nullptr ? static_cast<double>(*whole) : fraction != nullptr ? *fraction : -1;
        if (id >= 0 && id < vocab_size && std::trunc(id) == id) ids.push_back(static_cast<Token>(id));
    };
    const JsonValue* value = find_member(object, key);
    if (value == nullptr) return ids;
    if (const JsonValue::Array* list = value->array())
        for (const JsonValue& each : *list) add(each);
    else
        add(*value);
    return ids;
}

std::vector<Token> ids_of(std::span<const JsonValue* const> objects, std::string_view key, int vocab_size) {
    for (const JsonValue* object : objects)
        if (std::vector<Token> ids = ids_of(*object, key, vocab_size); !ids.empty()) return ids;
    return {};
}

// The token that a key such as eos_token names: its spelling, or an object with it.
Token token_named(std::span<const JsonValue* const> objects, std::string_view key, const Tokenizer& tokenizer) {
    for (const JsonValue* object : objects) {
        const JsonValue* value = find_member(*object, key);
        if (value != nullptr && value->object()) value = find_member(*value, "content");
        if (value != nullptr && value->string())
            if (const Token token = tokenizer.find(*value->string()); token >= 0) return token;
    }
    return -1;
}

// What the files of a directory say of special tokens; ids in generation_config.json and config.json come before names in
// the tokenizer's own two.
class SpecialTokensOf {
public:
    SpecialTokensOf(const fs::path& directory, const JsonValue& generation, const Tokenizer& tokenizer, int vocab_size)
        : config_(read_json_file(directory / "config.json")), generation_(generation),
          tokenizer_config_(read_json_file(directory / "tokenizer_config.json")),
          map_(read_json_file(directory / "special_tokens_map.json")), tokenizer_(tokenizer), vocab_size_(vocab_size) {}

    SpecialTokens read() const {
        SpecialTokens special;
        special.end = ids("eos_token_id");
        if (special.end.empty())
            if (const Token named = by_name("eos_token"); named >= 0) special.end = {named};
        special.padding = one("pad_token_id", "pad_token");
        special.unknown = one("unk_token_id", "unk_token");
        special.first = one("cls_token_id", "cls_token");
        special.separator = one("sep_token_id", "sep_token");
        special.mask = one("mask_token_id", "mask_token");
        special.start = start();
        return special;
    }

private:
    std::vector<Token> ids(std::string_view key) const {
        const JsonValue* const places[] = {&generation_, &config_};
        return ids_of(places, key, vocab_size_);
    }
    Token by_name(std::string_view key) const {
        const JsonValue* const places[] = {&tokenizer_config_, &map_};
        return token_named(places, key, tokenizer_);
    }
    Token one(std::string_view id_key, std::string_view key) const {
        const std::vector<Token> found = ids(id_key);
        return found.empty() ? by_name(key) : found.front();
    }
    // What a decoder begins with beside an encoder; else what the tokenizer puts before a text, unless add_bos_token
    // says otherwise.
    Token start() const {
        if (const std::vector<Token> decoder = ids("decoder_start_token_id");
            !decoder.empty() && find_member(config_, "is_encoder_decoder") != nullptr)
            return decoder.front();
        const JsonValue* const add = find_member(tokenizer_config_, "add_bos_token");
        if (add != nullptr && add->boolean()) return *add->boolean() ? one("bos_token_id", "bos_token") : -1;
        const std::vector<Token> before = tokenizer_.frame().before();
        return before.empty() ? -1 : before.front();
    }

    JsonValue config_;
    const JsonValue& generation_;
    JsonValue tokenizer_config_, map_;
    const Tokenizer& tokenizer_;
    int vocab_size_;
};

enum class TokenizerFiles { none, json, marian, gpt2, sentence_piece };

// Those that a directory's tokenizer is read from.
TokenizerFiles files_of(const fs::path& directory, const JsonValue& config, std::string_view model_type) {
    if (is_there(directory / "tokenizer.json")) return TokenizerFiles::json;
    if (has_marian_files(directory, model_type)) return TokenizerFiles::marian;
    if (has_gpt2_files(directory, config, model_type)) return TokenizerFiles::gpt2;
    if (has_sentence_piece_file(directory, config, model_type)) return TokenizerFiles::sentence_piece;
    return TokenizerFiles::none;
}

std::unique_ptr<const Tokenizer> read_tokenizer(const fs::path& directory, std::string_view model_type) {
    const JsonValue config = read_json_file(directory / "tokenizer_config.json");
    const fs::path path = directory / "tokenizer.json";
    switch (files_of(directory, config, model_type)) {
    case TokenizerFiles::json:
        return tokenizer_from_json(read_text_file(path, most_tokenizer), printable_path(path));
    case TokenizerFiles::marian:
        return tokenizer_from_marian_files(directory);
    case TokenizerFiles::gpt2:
        return tokenizer_from_gpt2_files(directory, config, read_json_file(directory / "special_tokens_map.json"));
    case TokenizerFiles::sentence_piece:
        return tokenizer_from_sentence_piece_file(directory, config, model_type);
    case TokenizerFiles::none:
        break;
    }
    const std::string unread = unread_tokenizer_files(directory);
    fail(ErrorCode::model, printable_path(directory), ": expected a tokenizer, found none",
         unread.empty() ? "" : " but " + unread + ", not read for this model");
}

// What a file recommends that cannot be read is no reason to refuse the model. null: nothing.
JsonValue read_generation(const fs::path& directory, std::vector<std::string>* warnings = nullptr) {
    try {
        return read_json_file(directory / "generation_config.json");
    } catch (const Error& error) {
        if (warnings) warnings->push_back(std::string(generation_warning) + "not read: " + error.what());
        return {};
    }
}

void add_generation_warnings(Source& source, const fs::path& directory) {
    const JsonValue generation = read_generation(directory, &source.warnings);
    for (const std::string& warning : recommended_sampling(generation).warnings)
        source.warnings.push_back(std::string(generation_warning) + warning);
    if (const std::string idle = not_applied(generation); !idle.empty())
        source.warnings.push_back(std::string(generation_warning) + "not applied: " + idle);
}

TextSide read_text(const fs::path& directory, int vocab_size, std::string_view model_type) {
    TextSide text;
    text.padded_vocabulary = true;
    text.tokenizer = read_tokenizer(directory, model_type);
    const JsonValue generation = read_generation(directory);
    text.special = SpecialTokensOf(directory, generation, *text.tokenizer, vocab_size).read();
    text.sampling = recommended_sampling(generation).sampling;
    return text;
}

// A model without text still takes tokens, so that a file of SentencePiece's that says something else than its class stands
// for is no reason to refuse all of it.
void add_sentence_piece_text(Source& source, const fs::path& directory, const JsonValue& config,
                             const std::string& model_type) {
    const auto read = [directory, model_type, vocab = source.blueprint.vocab_size] {
        return read_text(directory, vocab, model_type);
    };
    TextSide first;
    try {
        first = read();
        if (const int found = first.tokenizer->vocab_size(); found > source.blueprint.vocab_size)
            fail(ErrorCode::model, printable_path(directory), ": tokenizer: expected at most ",
                 source.blueprint.vocab_size, " tokens, as the model has rows for, found ", found);
    } catch (const Error& error) {
        source.warnings.push_back(std::string(error.what()) + "; without text, tokens alone work");
        return;
    }
    source.text = [once = std::make_shared<TextSide>(std::move(first)), read] {
        return once->tokenizer ? std::move(*once) : read();
    };
    const JsonValue* const legacy = find_member(config, "legacy");
    if (legacy != nullptr && legacy->boolean() && !*legacy->boolean())
        source.warnings.push_back("tokenizer_config.json: 'legacy': expected true, found false: text behind an added "
                                  "token begins with a space all the same");
}

// The text side of a source, or a warning of what would be one.
void add_text(Source& source, const fs::path& directory, const std::string& model_type) {
    const JsonValue config = read_json_file(directory / "tokenizer_config.json");
    const TokenizerFiles files = files_of(directory, config, model_type);
    if (files == TokenizerFiles::none) {
        if (const std::string unread = unread_tokenizer_files(directory); !unread.empty())
            source.warnings.push_back("no tokenizer.json but " + unread +
                                      ", not read for this model: without text, tokens alone work (transformers' "
                                      "fast tokenizers save a tokenizer.json)");
        return;
    }
    add_generation_warnings(source, directory);
    if (files == TokenizerFiles::sentence_piece) return add_sentence_piece_text(source, directory, config, model_type);
    source.text = [directory, model_type, vocab = source.blueprint.vocab_size] {
        return read_text(directory, vocab, model_type);
    };
}

// A template of chats: in a file of its own, or in tokenizer_config.json. Empty: none.
std::string chat_template(const fs::path& directory) {
    const fs::path own = directory / "chat_template.jinja";
    if (is_there(own)) return read_file(own, most_config);
    const JsonValue config = read_json_file(directory / "tokenizer_config.json");
    const JsonValue* value = find_member(config, "chat_template");
    if (value == nullptr) return {};
    if (value->string()) return *value->string();
    if (!value->array()) return {};
    for (const JsonValue& named : *value->array()) { // several, by name
        const JsonValue* const name = find_member(named, "name");
        const JsonValue* const text = find_member(named, "template");
        if (name != nullptr && name->string() && *name->string() == "default" && text != nullptr && text->string())
            return *text->string();
    }
    return {};
}

// What a directory without a config.json is.
[[noreturn]] void refuse_without_config(const fs::path& directory) {
    const std::string where = printable_path(directory);
    std::error_code error;
    if (!fs::exists(directory / "config.json", error) && error == std::errc::permission_denied)
        fail(ErrorCode::io, where, ": ", error.message());
    if (is_there(directory / "adapter_config.json"))
        fail(ErrorCode::model, where, ": expected a model, found an adapter (LoRA) for one; ",
             "merge it into its base model and give the directory of the result");
    for (const char* inner : {"0_Transformer", "0_BERT", "0_RoBERTa", "0_DistilBERT"})
        if (is_there(directory / "modules.json") && is_there(directory / inner / "config.json"))
            fail(ErrorCode::model, where,
                 ": expected config.json, found an old directory of sentence-transformers; give ",
                 printable_path(directory / inner));
    std::set<std::string> models;
    for (const fs::directory_entry& entry : fs::directory_iterator(directory, error))
        if (const fs::path& file = entry.path(); file.extension() == ".safetensors" || names_gguf(file))
            models.insert(file.filename().string());
    std::string names;
    for (const std::string& name : models) names.append(names.empty() ? "" : ", ").append(name);
    fail(ErrorCode::model, where, ": expected a model, found a directory without config.json",
         names.empty() ? "" : "; give one of its files: ", printable(names, 200));
}

// Weights in blocks of others' making. MLX names no method.
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

} // namespace

std::unique_ptr<const Tokenizer> hugging_face_tokenizer(const fs::path& directory) {
    const JsonValue config = read_json_file(directory / "config.json");
    const std::string* const type = text_of(config, "model_type");
    return read_tokenizer(directory, type != nullptr ? *type : "");
}

Source hugging_face_source(const fs::path& directory) {
    const fs::path path = directory / "config.json";
    const std::string where = printable_path(path);
    if (!is_there(path)) refuse_without_config(directory);
    const JsonValue object = read_json_file(path);
    const Config config(object, where);
    refuse_quantised(config);
    const std::string& type = get_string(object, "model_type", where);
    const HuggingFaceFamily& family = find_hugging_face(type, where).hugging_face;

    Source source;
    source.where = printable_path(directory);
    source.format = "Hugging Face directory";
    add_weights(source.tensors, directory);
    refuse_for_all(config);
    ModelPlan plan = family.plan(config, source.tensors);
    settle_mask(config, plan.blueprint);
    source.names = family.names(plan);
    drop_missing_head(config, source.tensors, source.names, plan.blueprint);
    check(plan.blueprint, where);
    source.blueprint = std::move(plan.blueprint);
    source.encoding = std::move(plan.encoding);
    source.warnings = std::move(plan.warnings);
    source.metadata["source"] = "Hugging Face directory, model_type " + type;
    if (std::string chat = chat_template(directory); !chat.empty() && utf8_valid(chat)) // or it could not be stored
        source.metadata["chat_template"] = std::move(chat);
    read_pooling(directory, source);
    add_text(source, directory, type);
    return source;
}

} // namespace ordo
