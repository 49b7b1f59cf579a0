// SPDX-License-Identifier: MIT
#include "core/error.h"
#include "core/utf8.h"
#include "formats/tokenizer_config.h"
#include "formats/tokenizer_files.h"
#include "io/file.h"
#include "io/json_writer.h"

#include <algorithm>
#include <map>

namespace ordo {
namespace {

namespace fs = std::filesystem;
using Form = VocabularyForm;
using Ids = std::map<std::string, std::uint64_t, std::less<>>;

constexpr std::string_view vocab_name = "vocab.json", merges_name = "merges.txt", lines_name = "vocab.txt";

// ---- Files --------------------------------------------------------------------------------------

// The lines of a text; calls each(line) without the line's end.
template <class Each>
void for_lines(const fs::path& path, const Each& each) {
    const std::string text = read_text_file(path, json_tokenizer_limits.bytes, "lines of text");
    if (!utf8_valid(text)) fail(ErrorCode::model, printable_path(path), ": expected UTF-8");
    for (std::string_view rest = text; !rest.empty();) {
        std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(rest.size(), line.size() + 1));
        if (line.ends_with('\r')) line.remove_suffix(1);
        each(line);
    }
}

struct VocabularyText {
    std::string json; // {"spelling": id, ...}
    Ids ids;
};

VocabularyText read_ids(const fs::path& path) {
    VocabularyText vocab{read_text_file(path, json_tokenizer_limits.bytes), {}};
    const JsonValue ids = parse_json(vocab.json, printable_path(path), json_tokenizer_limits);
    if (!ids.object()) fail(ErrorCode::model, printable_path(path), ": expected a JSON object, found ", describe(ids));
    for (const auto& [spelling, id] : *ids.object())
        if (id.unsigned_integer()) vocab.ids[spelling] = *id.unsigned_integer();
    return vocab;
}

// The number of a line is the id of its token. Of a token on two lines the last one counts.
VocabularyText read_lines(const fs::path& path) {
    VocabularyText vocab;
    std::uint64_t id = 0;
    for_lines(path, [&](std::string_view line) {
        if (!line.empty()) {
            vocab.json += (vocab.json.empty() ? "{" : ",") + json_quoted(line) + ":" + std::to_string(id);
            vocab.ids.insert_or_assign(std::string(line), id);
        }
        ++id;
    });
    vocab.json += vocab.json.empty() ? "{}" : "}";
    return vocab;
}

// Lines of two tokens each, after a line with the version.
std::string merges(const fs::path& path) {
    std::string all;
    for_lines(path, [&](std::string_view line) {
        if (!line.empty() && !line.starts_with("#version")) all += (all.empty() ? "" : ",") + json_quoted(line);
    });
    return "[" + all + "]";
}

// ---- Special tokens -----------------------------------------------------------------------------

// Keys of the configuration, and the spelling of the class; nullptr if it has none.
using Names = std::vector<std::pair<const char*, const char*>>;

Names names_of(Form form) {
    if (form == Form::bert)
        return {{"unk_token", "[UNK]"},
                {"sep_token", "[SEP]"},
                {"pad_token", "[PAD]"},
                {"cls_token", "[CLS]"},
                {"mask_token", "[MASK]"}};
    if (form == Form::roberta)
        return {{"bos_token", "<s>"}, {"eos_token", "</s>"},  {"unk_token", "<unk>"},  {"sep_token", "</s>"},
                {"cls_token", "<s>"}, {"pad_token", "<pad>"}, {"mask_token", "<mask>"}};
    constexpr const char* usual = "<|endoftext|>";
    return {{"bos_token", usual},   {"eos_token", usual},   {"unk_token", usual},   {"pad_token", nullptr},
            {"sep_token", nullptr}, {"cls_token", nullptr}, {"mask_token", nullptr}};
}

// The tokens of a directory: of the class, of tokenizer_config.json, special_tokens_map.json and added_tokens.json.
class TokensOf {
public:
    TokensOf(Form form, const fs::path& directory, const JsonValue& config, const Ids& ids)
        : form_(form), config_(config), map_(read_json_file(directory / "special_tokens_map.json")), ids_(ids) {
        const std::string where = printable_path(directory / "tokenizer_config.json");
        if (const JsonValue* decoder = find_member(config, "added_tokens_decoder");
            decoder != nullptr && decoder->object())
            for (const AddedTokenEntry& each : added_token_entries(*decoder, where))
                add(each.id, each.content, &each.token, true);
        const JsonValue added = read_json_file(directory / "added_tokens.json");
        if (added.object())
            for (const auto& [content, id] : *added.object())
                if (id.unsigned_integer()) later_[content] = *id.unsigned_integer();
        for (const auto& [key, usual] : names_of(form))
            if (const std::string name = named(key); !name.empty()) add_special(name, key);
        add_more(config_);
        add_more(map_);
        for (const auto& [content, id] : later_) add(id, content, nullptr, false);
    }

    // The spelling of a special token; empty without one.
    std::string named(std::string_view key) const {
        for (const JsonValue* object : std::initializer_list<const JsonValue*>{&config_, &map_})
            if (const std::string* name = text_of(*object, key)) return *name;
        for (const auto& [each, usual] : names_of(form_))
            if (each == key && usual != nullptr) return usual;
        return {};
    }
    std::string json() const {
        std::string all;
        for (const auto& [id, token] : tokens_) all += (all.empty() ? "" : ",") + token;
        return "[" + all + "]";
    }

private:
    void add(std::uint64_t id, std::string_view content, const JsonValue* flags, bool special) {
        std::string text = "{\"id\":" + std::to_string(id) + ",\"content\":" + json_quoted(content);
        for (const char* key : {"single_word", "lstrip", "rstrip", "normalized", "special"}) {
            const std::string_view flag = key;
            const bool usual = flag == "special" ? special || flags != nullptr : flag == "normalized" && !special;
            const bool set = flags == nullptr ? usual : flag_of(*flags, key, usual && flag == "special");
            text += std::string(",\"") + key + "\":" + (set ? "true" : "false");
        }
        tokens_.emplace(id, text + "}");
    }
    // A special token that the vocabulary or added_tokens.json has.
    void add_special(const std::string& content, std::string_view key) {
        const Ids& from = ids_.contains(content) ? ids_ : later_;
        const auto found = from.find(content);
        if (found == from.end()) return;
        static const JsonValue before =
            parse_json(R"({"lstrip": true})", "mask"); // RoBERTa's takes the space before it
        add(found->second, content, form_ == Form::roberta && key == "mask_token" ? &before : nullptr, true);
    }
    void add_more(const JsonValue& object) {
        const JsonValue* const list = find_member(object, "additional_special_tokens");
        if (list == nullptr || !list->array()) return;
        for (const JsonValue& each : *list->array()) {
            const JsonValue* const content = each.object() ? find_member(each, "content") : &each;
            if (content != nullptr && content->string()) add_special(*content->string(), "");
        }
    }

    Form form_;
    const JsonValue& config_;
    const JsonValue map_;
    const Ids& ids_;
    Ids later_; // of added_tokens.json
    std::map<std::uint64_t, std::string> tokens_;
};

// ---- The parts of a tokenizer.json --------------------------------------------------------------

const char* spelled(bool value) {
    return value ? "true" : "false";
}

std::string byte_level(bool prefix) {
    return std::string(R"({"type":"ByteLevel","trim_offsets":true,"use_regex":true,"add_prefix_space":)") +
           spelled(prefix) + "}";
}

// The names of the keys in the class of BERT's tokenizer, and its values without them.
std::string bert_normalizer(const JsonValue& config) {
    const JsonValue* const strips = find_member(config, "strip_accents");
    return std::string(R"({"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":)") +
           spelled(flag_of(config, "tokenize_chinese_chars", true)) + R"(,"strip_accents":)" +
           (strips != nullptr && strips->boolean() ? spelled(*strips->boolean()) : "null") + R"(,"lowercase":)" +
           spelled(flag_of(config, "do_lower_case", true)) + "}";
}

// [CLS] a [SEP] b [SEP], or <s> a </s></s> b </s>.
std::string frame(Form form, const TokensOf& tokens, const Ids& ids, bool prefix, const std::string& where) {
    if (form == Form::gpt2) return "null";
    const auto pair = [&](const char* key) {
        const std::string name = tokens.named(key);
        const auto found = ids.find(name);
        if (found == ids.end())
            fail(ErrorCode::model, where, ": '", key, "': expected a token of the vocabulary, found \"",
                 printable(name), '"');
        return "[" + json_quoted(name) + "," + std::to_string(found->second) + "]";
    };
    const std::string both = R"("sep":)" + pair("sep_token") + R"(,"cls":)" + pair("cls_token");
    if (form == Form::bert) return R"({"type":"BertProcessing",)" + both + "}";
    return R"({"type":"RobertaProcessing",)" + both + R"(,"trim_offsets":true,"add_prefix_space":)" + spelled(prefix) +
           "}";
}

// The form of a class of transformers; gpt2 for no others than its own, since later classes cut a text differently.
Form form_of_class(std::string_view name) {
    if (name.ends_with("Fast")) name.remove_suffix(4);
    for (const char* each : {"BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer", "MobileBertTokenizer",
                             "ConvBertTokenizer", "LayoutLMTokenizer"})
        if (name == each) return Form::bert;
    for (const char* each : {"RobertaTokenizer", "BartTokenizer", "LongformerTokenizer"})
        if (name == each) return Form::roberta;
    return name == "GPT2Tokenizer" ? Form::gpt2 : Form::none;
}

Form form_of_type(std::string_view model_type) {
    for (const char* each : {"bert", "distilbert", "electra"})
        if (model_type == each) return Form::bert;
    for (const char* each : {"roberta", "bart"})
        if (model_type == each) return Form::roberta;
    for (const char* each : {"gpt2", "opt", "gpt_neo", "gptj"})
        if (model_type == each) return Form::gpt2;
    return Form::none;
}

} // namespace

VocabularyForm vocabulary_form(const fs::path& directory, const JsonValue& tokenizer_config,
                               std::string_view model_type) {
    const bool lines = is_there(directory / lines_name),
               pairs = is_there(directory / vocab_name) && is_there(directory / merges_name);
    if (!lines && !pairs) return Form::none;
    const JsonValue config = read_json_file(directory / "config.json");
    const std::string* name = text_of(tokenizer_config, "tokenizer_class");
    if (name == nullptr) name = text_of(config, "tokenizer_class");
    Form form = name != nullptr ? form_of_class(*name) : form_of_type(model_type);
    if (name == nullptr && model_type.empty() && lines) form = Form::bert; // a tokenizer alone
    return (form == Form::bert ? lines : pairs) ? form : Form::none;
}

std::unique_ptr<Tokenizer> tokenizer_from_vocabulary(VocabularyForm form, const fs::path& directory,
                                                     const JsonValue& config) {
    const bool bert = form == Form::bert, prefix = flag_of(config, "add_prefix_space", false);
    const VocabularyText vocab = bert ? read_lines(directory / lines_name) : read_ids(directory / vocab_name);
    const std::string where = printable_path(directory) + (bert ? ": vocab.txt" : ": vocab.json and merges.txt");
    const TokensOf tokens(form, directory, config, vocab.ids);
    const std::string model =
        bert ? R"("WordPiece","continuing_subword_prefix":"##","max_input_chars_per_word":100,"unk_token":)" +
                   json_quoted(tokens.named("unk_token"))
             : R"("BPE","merges":)" + merges(directory / merges_name);
    const std::string json =
        R"({"version":"1.0","truncation":null,"padding":null,"normalizer":)" +
        (bert ? bert_normalizer(config) : std::string("null")) + R"(,"pre_tokenizer":)" +
        (bert ? std::string(R"({"type":"BertPreTokenizer"})") : byte_level(prefix)) + R"(,"post_processor":)" +
        frame(form, tokens, vocab.ids, prefix, where) + R"(,"decoder":)" +
        (bert ? std::string(R"({"type":"WordPiece","prefix":"##","cleanup":true})") : byte_level(true)) +
        R"(,"added_tokens":)" + tokens.json() + R"(,"model":{"type":)" + model + R"(,"vocab":)" + vocab.json + "}}";
    return tokenizer_from_json(json, where);
}

} // namespace ordo
