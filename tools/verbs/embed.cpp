// SPDX-License-Identifier: MIT
// ordo embed: a vector for each line of a text.
#include "core/error.h"
#include "model/model.h"
#include "tools/cli/inputs.h"
#include "tools/cli/machine.h"
#include "tools/cli/output.h"
#include "tools/cli/weights.h"

#include <algorithm>

namespace ordo::tools {

namespace {

constexpr Option options[] = {
    {.name = "pooling",
     .kind = Kind::choice,
     .value = "WHICH",
     .fallback = "mean",
     .help = "mean|first|last: of the tokens' states; the first is BERT's [CLS]"},
    {.name = "raw",
     .help =
         "leave the vectors as they are; otherwise they are scaled to length 1, so that their products are cosines"},
    {.name = "format",
     .kind = Kind::choice,
     .value = "FORMAT",
     .fallback = "csv",
     .help = "csv|json: a row of numbers for each line, or a list of {\"text\": ..., \"vector\": [...]}"},
};
constexpr OptionGroup groups[] = {{"Text", text_options}, {"Result", options}, model_group, common_group};

Pooling pooling_of(const std::string& name) {
    return name == "first" ? Pooling::first : name == "last" ? Pooling::last : Pooling::mean;
}

std::string csv(std::span<const float> vector) {
    std::string row;
    for (const float x : vector) row += (row.empty() ? "" : ",") + number_text(x);
    return row + '\n';
}

int run(const Arguments& arguments) {
    const bool json = arguments.text("format") == "json";
    const EmbedOptions wanted{pooling_of(arguments.text("pooling")), !arguments.has("raw")};
    const std::vector<std::string> lines = read_lines(arguments);
    if (std::all_of(lines.begin(), lines.end(), [](const std::string& line) { return line.empty(); }))
        fail(ErrorCode::usage, "embed: expected a text, found an empty one");
    const Model model = open_model(arguments);
    JsonWriter out;
    out.begin_array();
    for (const std::string& line : lines) {
        if (line.empty()) continue;
        const std::vector<float> vector = embed(model, line, wanted);
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
    return 0;
}

} // namespace

extern const Verb embed_verb;
const Verb embed_verb{.name = "embed",
                      .operand = "MODEL",
                      .summary = "turns each line of a text into a vector",
                      .details = "The hidden states of a line's tokens after the last layer, pooled to one vector; of "
                                 "an encoder-decoder, those of the encoder. Empty lines are left out.",
                      .groups = groups,
                      .run = run};

} // namespace ordo::tools
