// SPDX-License-Identifier: MIT
// ordo tokenize: text to token ids and back.
#include "core/error.h"
#include "formats/source.h"
#include "tools/cli/inputs.h"
#include "tools/cli/machine.h"
#include "tools/opening/weights.h"
#include "tools/terminal/output.h"

#include <utility>

namespace ordo::tools {

namespace tokenize_file {

constexpr Option options[] = {
    {Kind::integers, "decode", "IDS", 0, std::numeric_limits<Token>::max(),
     "Print the text of these ids, byte for byte."},
    {Kind::choice, "format", "FORMAT=text",
     "text|json: ids separated by spaces, or {\"ids\": [...], \"pieces\": [...]}."},
};
constexpr Option tokenizer_options[] = {
    {Kind::path, "m,model", "FILE",
     "A tokenizer.json, or a model or a directory with a tokenizer. Default: the shipped weights."},
};
constexpr OptionGroup groups[] = {
    {"Text", prompt_options}, {"Result", options}, {"Model", tokenizer_options}, plain_group};

using Tokens = std::span<const Token>;

std::unique_ptr<const Tokenizer> open_tokenizer(const Arguments& arguments) {
    const std::filesystem::path path = model_path(arguments);
    std::unique_ptr<const Tokenizer> tokenizer = ordo::open_tokenizer(path);
    if (arguments.has("verbose")) {
        write_message("tokenizer: " + printable_path(path));
        show_ignored(*tokenizer);
    }
    return tokenizer;
}

std::string text_of(const Tokenizer& tokenizer, Tokens ids) {
    std::string text;
    for (const Token& id : ids) tokenizer.append(id, text, &id == ids.data());
    return text;
}

int decode(const Arguments& arguments, bool json) {
    if (arguments.has("prompt") || arguments.has("file"))
        fail(ErrorCode::usage, "expected a text to encode or --decode, found both");
    std::vector<Token> ids;
    for (const std::int64_t id : arguments.integers("decode")) ids.push_back(static_cast<Token>(id));
    const std::string text = text_of(*open_tokenizer(arguments), ids);
    if (json) {
        JsonWriter out;
        out.begin_object();
        out.member("ids", ids);
        out.member("text", escaped_bytes(text));
        out.end_object();
        write_out(out.take() + "\n");
    } else {
        write_out(stdout_is_terminal() ? text + "\n" : text);
    }
    return 0;
}

int run(const Arguments& arguments) {
    const bool json = arguments.text("format") == "json";
    if (arguments.has("decode")) return decode(arguments, json);
    const std::string text = read_prompt(arguments, LineEnds::exact, 64u << 20);
    const std::unique_ptr<const Tokenizer> tokenizer = open_tokenizer(arguments);
    std::vector<Token> ids;
    tokenizer->encode(text, arguments.has("special"), ids);
    std::string out;
    const auto list = [&](const char* comma, const auto& item) {
        for (std::size_t i = 0; i < ids.size(); ++i) {
            out.append(i == 0 ? "" : comma).append(item(i));
            if (out.size() > std::size_t{1} << 16) write_out(std::exchange(out, {})); // not the whole at once
        }
    };
    if (json) out = "{\"ids\":[";
    list(json ? "," : " ", [&](std::size_t i) { return std::to_string(ids[i]); });
    if (json) {
        out += "],\"pieces\":[";
        list(",",
             [&](std::size_t i) { return json_quoted(escaped_bytes(text_of(*tokenizer, Tokens(ids).subspan(i, 1)))); });
        out += "]}";
    }
    write_out(out + "\n");
    return 0;
}

} // namespace tokenize_file

extern const Verb tokenize_verb;
const Verb tokenize_verb{
    .name = "tokenize",
    .operand = "MODEL",
    .summary = "Turn a text into token ids, or ids into a text",
    .details = "Every byte of the text counts, including a newline at its end. A token may end inside a character. In "
               "JSON, a byte outside a whole character is written \\xNN, and a backslash as two.",
    .groups = tokenize_file::groups,
    .run = tokenize_file::run};

} // namespace ordo::tools
