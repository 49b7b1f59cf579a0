// SPDX-License-Identifier: MIT
// ordo generate: continues a prompt.
#include "core/error.h"
#include "tools/cli/inputs.h"
#include "tools/cli/machine.h"
#include "tools/cli/output.h"
#include "tools/cli/signals.h"
#include "tools/cli/weights.h"

#include <algorithm>
#include <exception>
#include <random>
#include <utility>

namespace ordo::tools {

namespace {

constexpr Option length_options[] = {
    {.letter = 'n',
     .name = "n-predict",
     .alias = "predict",
     .kind = Kind::integer,
     .value = "N",
     .fallback = "128",
     .least = -1,
     .most = 1 << 22,
     .help = "tokens to generate; -1: until the end of the text or a full context"},
    {.letter = 'c',
     .name = "ctx-size",
     .kind = Kind::integer,
     .value = "N",
     .fallback = "0",
     .least = 0,
     .most = 1 << 22,
     .help = "tokens that fit, the prompt's included; 0: as many as the model was trained with"},
    {.name = "cache-type",
     .kind = Kind::choice,
     .value = "TYPE",
     .fallback = "f32",
     .help = "f32|f16: of the keys and values that are kept; f16 takes half the memory, and rounds them"},
    {.name = "stop",
     .kind = Kind::text,
     .value = "TEXT",
     .repeatable = true,
     .help = "stop before this text would appear"},
    {.name = "no-display-prompt", .help = "print the continuation only"},
};

constexpr Option sampling_options[] = {
    {.name = "temp",
     .alias = "temperature",
     .kind = Kind::number,
     .value = "T",
     .fallback = "0.8",
     .least = 0,
     .most = 1000,
     .help = "temperature; 0: always the likeliest token"},
    {.name = "top-k",
     .kind = Kind::integer,
     .value = "K",
     .fallback = "40",
     .least = 0,
     .most = 1 << 22,
     .help = "draw from the K likeliest tokens; 0: off"},
    {.name = "top-p",
     .kind = Kind::number,
     .value = "P",
     .fallback = "0.95",
     .least = 0,
     .most = 1,
     .above = true,
     .help = "draw from the fewest tokens that together have probability P; 1: off"},
    {.name = "min-p",
     .kind = Kind::number,
     .value = "P",
     .fallback = "0.05",
     .least = 0,
     .most = 1,
     .help = "drop tokens less likely than P times the likeliest; 0: off"},
    {.name = "repeat-penalty",
     .kind = Kind::number,
     .value = "R",
     .fallback = "1.0",
     .least = 0,
     .most = 1000,
     .above = true,
     .help = "make recent tokens less likely; 1: off"},
    {.name = "repeat-last-n",
     .kind = Kind::integer,
     .value = "N",
     .fallback = "64",
     .least = -1,
     .most = 1 << 22,
     .help = "how many tokens are recent; 0: none, -1: all"},
    {.letter = 's',
     .name = "seed",
     .kind = Kind::seed,
     .value = "N",
     .help = "the same seed gives the same text, whatever the threads; by default random and printed on stderr"},
};

constexpr OptionGroup groups[] = {
    {"Prompt", prompt_options}, {"Length", length_options}, {"Sampling", sampling_options}, model_group, common_group};

GenerateOptions read_options(const Arguments& arguments) {
    GenerateOptions options;
    options.max_tokens = arguments.integer("n-predict");
    options.session.capacity = arguments.integer("ctx-size");
    if (arguments.text("cache-type") == "f16") options.session.cache = CacheType::f16;
    options.special = arguments.has("special");
    for (const std::string& text : arguments.all("stop")) {
        if (text.empty()) fail(ErrorCode::usage, "option --stop: expected a text, found nothing");
        options.stop.push_back(text);
    }
    Sampling& sampling = options.sampling;
    sampling.temperature = static_cast<float>(arguments.number("temp"));
    sampling.top_k = arguments.integer("top-k");
    sampling.top_p = static_cast<float>(arguments.number("top-p"));
    sampling.min_p = static_cast<float>(arguments.number("min-p"));
    sampling.repeat_penalty = static_cast<float>(arguments.number("repeat-penalty"));
    sampling.repeat_last_n = arguments.integer("repeat-last-n");
    // 32 random bits are enough, and short to type.
    sampling.seed = arguments.has("seed") ? parse_seed(arguments.text("seed"), "seed") : std::random_device{}();
    return options;
}

const char* reason_text(StopReason reason) {
    switch (reason) {
    case StopReason::max_tokens:
        return "the number of tokens asked for";
    case StopReason::end_of_text:
        return "end of text";
    case StopReason::stop_text:
        return "stop text";
    case StopReason::full:
        return "context full";
    case StopReason::callback:
        break;
    }
    return "interrupted";
}

std::string speed(const char* what, int tokens, double seconds) {
    std::string text = std::string(what) + std::to_string(tokens) + " tokens in " + fixed_text(seconds, 3) + " s";
    if (tokens > 0 && seconds > 0) text += ", " + fixed_text(tokens / seconds, 1) + " tokens/s";
    return text;
}

int run(const Arguments& arguments) {
    const GenerateOptions options = read_options(arguments);
    const std::string prompt = read_prompt(arguments, FinalNewline::drop);
    // Positions beyond those that are prepared for still work, more slowly.
    const Model model = open_model(arguments, std::min(options.session.capacity, 1 << 16));
    choose_threads(arguments, model);
    const bool quiet = arguments.has("quiet");

    // The seed and the prompt are shown with the first text: not at all if the model refuses the prompt.
    bool show_seed = !quiet && !arguments.has("seed") && options.sampling.temperature > 0;
    const auto begin = [&] {
        if (std::exchange(show_seed, false)) write_message("seed: " + std::to_string(options.sampling.seed));
    };
    const bool answers = model.has_encoder(); // and does not go on where the prompt ends
    std::string pending = answers || arguments.has("no-display-prompt") ? "" : prompt;
    std::exception_ptr failure; // kept from passing through the library
    const Generation result = generate(model, prompt, options, [&](std::string_view text) {
        stop_softly(); // not before: while a long prompt is taken in there is nothing to finish
        if (stop_signal()) return false;
        begin();
        try {
            write_out(pending.empty() ? text : pending + std::string(text));
        } catch (...) {
            failure = std::current_exception();
            return false;
        }
        pending.clear();
        return !stop_signal();
    });
    if (failure) std::rethrow_exception(failure);
    begin();
    write_out(pending + "\n");
    if (!quiet) {
        write_message(speed("prompt: ", result.prompt_tokens, result.prefill_seconds));
        write_message(speed("continuation: ", result.new_tokens, result.decode_seconds) +
                      "; stopped by: " + reason_text(stop_signal() ? StopReason::callback : result.reason));
    }
    return stop_signal() ? stop_code() : 0;
}

} // namespace

extern const Verb generate_verb;
const Verb generate_verb{
    .name = "generate",
    .operand = "MODEL",
    .summary = "continues a prompt",
    .details = "Prints the prompt and its continuation as it arises; of a model with an encoder, which takes the "
               "prompt in, what its decoder says. One newline at the end of a file or of piped "
               "text is dropped. A model of fewer than 4 million parameters runs on one thread unless --threads or "
               "OMP_NUM_THREADS says otherwise.",
    .groups = groups,
    .run = run};

} // namespace ordo::tools
