// SPDX-License-Identifier: MIT
// ordo translate: runs each line of a text through a model with an encoder.
#include "core/error.h"
#include "model/model_access.h"
#include "tools/cli/inputs.h"
#include "tools/cli/machine.h"
#include "tools/opening/weights.h"
#include "tools/terminal/output.h"
#include "tools/terminal/signals.h"

namespace ordo::tools {

namespace translate_file {

constexpr Option options[] = {
    {Kind::integer, "n,n-predict,predict", "N=-1", -1, 1 << 22,
     "Generate at most N tokens per answer; -1: until the text ends or the context is full."},
};
constexpr Option language_options[] = {
    {Kind::text, "from", "LANG",
     "The language of the text, as a model of many languages names it: eng_Latn (NLLB), en_XX (mBART), en (M2M100). "
     "Default: as in the model's tokenizer."},
    {Kind::text, "to", "LANG", "The language of the answer, likewise. Default: as the model's files say."},
};
constexpr OptionGroup groups[] = {
    {"Text", text_options}, {"Languages", language_options}, {"Length", options}, model_group, common_group};

int run(const Arguments& arguments) {
    expect_model(arguments, "an encoder-decoder, such as Marian or T5");
    GenerateOptions wanted;
    wanted.max_tokens = arguments.integer("n-predict");
    wanted.sampling.temperature = 0;
    wanted.from = arguments.text("from");
    wanted.to = arguments.text("to");
    const Lines lines = read_lines(arguments);
    const Model model = open_model(arguments);
    if (!model.has_encoder())
        fail(ErrorCode::usage, where_of(model),
             ": expected a model with an encoder, found one without; ordo generate continues a text");
    choose_threads(arguments, model);
    for (const std::string_view line : lines) {
        if (line.empty()) {
            write_out("\n");
            continue;
        }
        const Generation answer = generate(model, line, wanted, [](std::string_view) { return !stop_signal(); });
        if (stop_signal()) return stop_code();
        write_out(answer.text + "\n");
        stop_softly(); // after this the first line is translated
    }
    return 0;
}

} // namespace translate_file

extern const Verb translate_verb;
const Verb translate_verb{
    .name = "translate",
    .operand = "MODEL",
    .summary = "Run Marian, NLLB or T5 on each line of a text",
    .details =
        "The encoder reads a line, and the decoder prints its likeliest tokens until it ends. Marian's models "
        "translate. NLLB, M2M100 and mBART need --from and --to. T5 follows a prefix: 'translate English to German: "
        "...'. There is no beam search. Empty lines stay empty. To sample from such a model, use ordo generate.",
    .groups = translate_file::groups,
    .run = translate_file::run};

} // namespace ordo::tools
