// SPDX-License-Identifier: MIT
// ordo generate: continues a prompt.
#include "tools/verbs/generate.h"

#include "core/error.h"
#include "layers/cache_format.h"
#include "tools/opening/reach.h"
#include "tools/terminal/signals.h"
#include "tools/verbs/chat.h"
#include "tools/verbs/generate_options.h"

#include <algorithm>
#include <random>

namespace ordo::tools {

std::uint64_t random_seed() {
    return std::random_device{}(); // 32 bits are enough, and short to type
}

GenerateRequest read_request(const Arguments& arguments) {
    GenerateRequest request;
    Continuation::Options& options = request.options;
    options.max_tokens = arguments.integer("n-predict");
    options.session.capacity = arguments.integer("ctx-size");
    options.session.forget_past_windows = true;
    options.session.cache = cache_type(arguments.text("cache-type"));
    options.special = arguments.has("special");
    options.ignore_end = arguments.has("ignore-eos");
    options.context_shift = arguments.has("context-shift");
    options.keep = arguments.integer("keep");
    for (const std::string& text : arguments.all("stop")) {
        if (text.empty()) fail(ErrorCode::usage, "option --stop: expected a text, found nothing");
        options.stop.push_back(text);
    }
    std::optional<std::uint64_t> seed;
    if (arguments.has("seed")) seed = parse_seed_or_random(arguments.text("seed"), "seed");
    request.fixed_seed = seed.has_value();
    options.sampling.seed = seed ? *seed : random_seed();
    request.show_prompt = !arguments.has("no-display-prompt");
    request.quiet = arguments.has("quiet");
    return request;
}

void take_recommended(const Arguments& arguments, const Model& model, Sampling& sampling) {
    const std::uint64_t seed = sampling.seed;
    sampling = model.sampling();
    sampling.seed = seed;
    const auto number = [&](const char* name, float& value) {
        if (arguments.has(name)) value = static_cast<float>(arguments.number(name));
    };
    number("temp", sampling.temperature);
    number("top-p", sampling.top_p);
    number("min-p", sampling.min_p);
    number("repeat-penalty", sampling.repeat_penalty);
    if (arguments.has("top-k")) sampling.top_k = arguments.integer("top-k");
    if (arguments.has("repeat-last-n")) sampling.repeat_last_n = arguments.integer("repeat-last-n");
}

void show_idle_options(const Arguments& arguments, const GenerateRequest& request) {
    if (request.quiet) return;
    const auto idle = [&](const char* name, const std::string& why) {
        if (arguments.has(name)) write_message("warning: option --" + std::string(name) + " changes nothing " + why);
    };
    const Sampling& sampling = request.options.sampling;
    if (sampling.temperature == 0) // the likeliest token always remains
        for (const char* name : {"top-k", "top-p", "min-p"}) idle(name, "at a temperature of 0");
    if (sampling.temperature == 0 && request.fixed_seed) idle("seed", "at a temperature of 0");
    if (sampling.repeat_penalty == 1) idle("repeat-last-n", "at a --repeat-penalty of 1");
    if (!arguments.has("chat")) idle("system", "without --chat");
    if (!request.options.context_shift) idle("keep", "without --context-shift");
    // In a conversation /encoding may force one.
    if (!arguments.has("encoding") && !arguments.has("encodings") && !arguments.has("interactive"))
        idle("force-encoding", "without --encoding");
}

void show_seed(const GenerateRequest& request, bool chosen) {
    if (!request.quiet && (chosen || !request.fixed_seed) && request.options.sampling.temperature > 0)
        write_message("seed: " + std::to_string(request.options.sampling.seed));
}

void feed_prompt(Continuation& continuation, const std::string& what, Progress& progress, bool (*wanted)()) {
    constexpr int chunk = 256; // tokens fed at once
    while (continuation.feed_prompt(chunk) && (!wanted || wanted()))
        progress.show(what + ": " + grouped(static_cast<std::uint64_t>(continuation.fed())) + " of " +
                      grouped(static_cast<std::uint64_t>(continuation.prompt_tokens())) + " tokens");
}

void TextOutput::write(std::string_view text, bool prompt) {
    if (text.empty()) return;
    if (!columns_) return write_out(text);
    columns_->append(0, text, prompt);
    columns_->show();
}

void TextOutput::close() {
    if (columns_)
        columns_->close();
    else
        write_out("\n");
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

std::string full_text(const GenerateRequest& request) {
    return request.options.context_shift ? ", of which --keep leaves no room to shift" : "; --context-shift goes on";
}

std::string room_text(const GenerateRequest& request, const Model& model) {
    const int reach = model.max_position(), asked = request.options.session.capacity,
              has = asked > 0 ? asked : std::min(model.context(), reach);
    std::string text = "; ";
    if (reach > has) {
        text += "-c gives more room";
        if (reach < unlimited) text += ", up to " + grouped(static_cast<std::uint64_t>(reach)) + " tokens";
        text += ", ";
    }
    return text + (request.options.context_shift ? "a smaller --keep" : "--context-shift") + " leaves out its middle";
}

std::string shifts_text(int shifts, const Continuation& continuation) {
    return "the context of " + grouped(static_cast<std::uint64_t>(continuation.capacity())) + " tokens was shifted " +
           std::to_string(shifts) + (shifts == 1 ? " time, " : " times, ") +
           (continuation.can_evict() ? "its keys renumbered" : "what stayed computed again");
}

std::string speed_text(const char* what, int tokens, int computed, double seconds) {
    std::string text = std::string(what) + std::to_string(tokens) + " tokens in " + fixed_text(seconds, 3) + " s";
    if (computed > 0 && seconds > 0) text += ", " + fixed_text(computed / seconds, 1) + " tokens/s";
    return text;
}

namespace generate_file {

int generate_one(const Arguments& arguments) {
    GenerateRequest request = read_request(arguments);
    std::string prompt = read_prompt(arguments, LineEnds::plain);
    const Model model = open_model(arguments, {writing_model_path(arguments), arguments.text("encoding"),
                                               arguments.has("force-encoding"), arguments.text("tokenizer")});
    choose_threads(arguments, model);
    take_recommended(arguments, model, request.options.sampling);
    show_idle_options(arguments, request);
    note_chat(arguments, model, request);
    if (!model.has_encoder()) warn_of_typed_start(arguments, model, prompt);
    if (std::optional<Chat> chat = begin_chat(arguments, model, request)) {
        chat->say(std::move(prompt));
        prompt = chat->text();
        if (arguments.has("verbose")) write_message("the chat template writes: \"" + printable(prompt, 4000) + '"');
    }

    std::string arrived;
    const auto on_text = [&](std::string_view text) {
        arrived += text;
        return true;
    };
    Continuation continuation =
        saying_what_makes_room(request, model, [&] { return Continuation(model, prompt, request.options, on_text); });
    warn_beyond(arguments, model, continuation.capacity());
    if (continuation.left_out() > 0 && !request.quiet)
        write_message("warning: " + grouped(static_cast<std::uint64_t>(continuation.left_out())) + " of the prompt's " +
                      grouped(static_cast<std::uint64_t>(continuation.prompt_tokens())) +
                      " tokens are left out, behind the first that stay, to fit the context of " +
                      grouped(static_cast<std::uint64_t>(continuation.capacity())));
    {
        Progress progress(request.quiet);
        feed_prompt(continuation, "prompt", progress);
    }
    show_seed(request); // only after the model accepted the prompt
    stop_softly();      // only now: while a prompt is read, there is nothing to finish
    TextOutput out;
    // An answer of a model with an encoder does not continue the prompt.
    std::string_view pending = request.show_prompt && !model.has_encoder() ? prompt : std::string_view();
    for (bool more = true; more && !stop_signal();) {
        more = continuation.step();
        if (arrived.empty()) continue;
        out.write(std::exchange(pending, {}), true);
        out.write(std::exchange(arrived, {}));
    }
    const Generation result = continuation.finish();
    out.write(pending, true);
    out.write(arrived);
    out.close();
    if (!request.quiet) {
        const int read = result.prompt_tokens - result.left_out;
        write_message(speed_text("prompt: ", read, read, result.prefill_seconds));
        write_message(speed_text("continuation: ", result.new_tokens, result.new_tokens - 1, result.decode_seconds) +
                      "; stopped by: " + reason_text(stop_signal() ? StopReason::callback : result.reason) +
                      (!stop_signal() && result.reason == StopReason::full ? full_text(request) : ""));
        if (result.shifts > 0) write_message(shifts_text(result.shifts, continuation));
    }
    return stop_signal() ? stop_code() : 0;
}

int run(const Arguments& arguments) {
    for (const char* other : {"raw", "encodings"})
        if (arguments.has("chat") && arguments.has(other))
            fail(ErrorCode::usage, "expected --chat or --", other, ", found both");
    if (arguments.has("interactive")) return generate_interactively(arguments);
    if (arguments.has("encodings")) return generate_side_by_side(arguments);
    return generate_one(arguments);
}

} // namespace generate_file

extern const Verb generate_verb;
const Verb generate_verb{
    .name = "generate",
    .operand = "MODEL",
    .summary = "Continue a prompt",
    .details = "Without a model and --encoding, the shipped storyteller.safetensors writes. An "
               "encoder-decoder prints only the text of its decoder. In a text from a file or a pipe, CR LF is a "
               "newline, and the last newline is dropped. Models below 4 million parameters use one thread.",
    .groups = generate_table::groups,
    .run = generate_file::run};

} // namespace ordo::tools
