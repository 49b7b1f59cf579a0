// SPDX-License-Identifier: MIT
// ordo embed: a vector for each line of a text.
#include "core/error.h"
#include "model/embed_text.h"
#include "model/model_access.h"
#include "tools/cli/inputs.h"
#include "tools/cli/machine.h"
#include "tools/opening/weights.h"
#include "tools/terminal/output.h"

namespace ordo::tools {

namespace embed_file {

constexpr Option options[] = {
    {Kind::choice, "pooling", "WHICH=model",
     "model|mean|first|last: how to pool the states of the tokens. first is BERT's [CLS]; model is as the files say, "
     "or the mean."},
    {"raw", "Leave the vectors as they are."},
    {"unit", "Scale the vectors to length 1, so that their products are cosines. Without --raw and --unit, the model's "
             "files decide, or the vectors are scaled."},
    {Kind::choice, "format", "FORMAT=csv",
     "csv|json: a row of numbers for each line, or a list of {\"text\": ..., \"vector\": [...]}."},
};
constexpr OptionGroup groups[] = {{"Text", text_options}, {"Result", options}, model_group, common_group};

constexpr const char* pooling_names[] = {"mean", "first", "last"};

EmbedOptions options_of(const Arguments& arguments, const Model& model) {
    std::optional<Pooling> pooling;
    for (int i = 0; i < 3; ++i)
        if (arguments.text("pooling") == pooling_names[i]) pooling = static_cast<Pooling>(i);
    EmbedOptions wanted = embed_options(model, pooling);
    if (arguments.has("raw") || arguments.has("unit")) wanted.normalised = arguments.has("unit");
    return wanted;
}

std::string csv(std::span<const float> vector) {
    std::string row;
    for (const float x : vector) row += (row.empty() ? "" : ",") + number_text(x);
    return row + '\n';
}

int run(const Arguments& arguments) {
    const bool json = arguments.text("format") == "json";
    if (arguments.has("raw") && arguments.has("unit"))
        fail(ErrorCode::usage, "--raw: expected without --unit, found both");
    const Lines lines = read_lines(arguments);
    if (lines.empty()) fail(ErrorCode::usage, "embed: expected a text, found an empty one");
    const Model model = open_model(arguments);
    const EmbedOptions wanted = options_of(arguments, model);
    if (arguments.has("verbose"))
        write_message(std::string("pooling: ") + pooling_names[static_cast<int>(wanted.pooling)] +
                      (wanted.normalised ? ", scaled to length 1" : ", as they are"));
    JsonWriter out;
    std::size_t cut = 0, longest = 0; // lines that were cut, and their tokens
    out.begin_array();
    for (const std::string_view line : lines) {
        if (line.empty()) continue;
        const EmbedText text = embed_text(model, line);
        if (text.left_out > 0) ++cut, longest = text.tokens.size();
        const std::vector<float> vector = embed(model, text, wanted);
        if (!json) {
            write_out(csv(vector));
            continue;
        }
        out.begin_object();
        out.member("text", escaped_bytes(line));
        out.member("vector", vector);
        out.end_object();
    }
    out.end_array();
    if (json) write_out(out.take() + "\n");
    if (cut > 0)
        write_message("embed: " + std::to_string(cut) + (cut == 1 ? " line was" : " lines were") + " cut to " +
                      std::to_string(longest) + " tokens, the most that the model takes");
    return 0;
}

} // namespace embed_file

extern const Verb embed_verb;
const Verb embed_verb{
    .name = "embed",
    .operand = "MODEL",
    .summary = "Turn each line of a text into a vector",
    .details = "The vector pools the hidden states of the line's tokens after the last layer; an encoder-decoder gives "
               "those of its encoder. The dense layers of the model's files follow. Empty lines are skipped. A line is "
               "cut to the tokens that the model's files or "
               "its positions allow, and a default prompt of the files stands before it.",
    .groups = embed_file::groups,
    .run = embed_file::run};

} // namespace ordo::tools
