// SPDX-License-Identifier: MIT
// ordo fill: a masked language model's predictions for its mask token.
#include "core/error.h"
#include "model/model_access.h"
#include "tools/cli/inputs.h"
#include "tools/cli/machine.h"
#include "tools/opening/weights.h"
#include "tools/terminal/output.h"

namespace ordo::tools {

namespace fill_file {

constexpr Option options[] = {
    {Kind::integer, "k,top-k", "K=5", 1, 1 << 22, "Print the K likeliest tokens for each mask token."},
    {Kind::choice, "format", "FORMAT=text", "text|md|csv|json: the output."},
};
constexpr OptionGroup groups[] = {{"Text", text_options}, {"Result", options}, model_group, common_group};

int run(const Arguments& arguments) {
    const Format format = parse_format(arguments.text("format"));
    expect_model(arguments, "a model with a mask token, such as BERT");
    const std::string text = read_prompt(arguments, LineEnds::plain);
    const Model model = open_model(arguments);
    const FilledText filled = fill(model, text, arguments.integer("top-k"));
    Figures figures{
        {"position", "id", "token", "probability"}, {}, format == Format::text || format == Format::md ? 4 : -1};
    for (const Blank& blank : filled.blanks)
        for (const Candidate& candidate : blank.best)
            figures.add(std::int64_t{blank.index}, std::int64_t{candidate.token},
                        escaped_bytes(model.decode({&candidate.token, 1})), static_cast<double>(candidate.probability));
    write_out(render(figures, format));
    return 0;
}

} // namespace fill_file

extern const Verb fill_verb;
const Verb fill_verb{
    .name = "fill",
    .operand = "MODEL",
    .summary = "Predict the masked tokens of a text, as BERT does",
    .details =
        "The text holds the tokenizer's mask token in the place of each missing word. Positions count all tokens, also "
        "those that the tokenizer adds around a text. Probabilities are among all tokens of the vocabulary.",
    .groups = fill_file::groups,
    .run = fill_file::run};

} // namespace ordo::tools
