// SPDX-License-Identifier: MIT
// ordo generate --encodings: one prompt under several encodings.
#include "core/error.h"
#include "tools/bench/shapes.h"
#include "tools/cli/inputs.h"
#include "tools/cli/machine.h"
#include "tools/opening/weights.h"
#include "tools/terminal/signals.h"
#include "tools/verbs/generate.h"

#include <algorithm>
#include <deque>

namespace ordo::tools {

namespace side_by_side_file {

constexpr int least_width = 24; // of a column, in characters

// A continuation of the prompt under one encoding.
struct Voice {
    Voice(std::string spec_as_given, Model opened) : spec(std::move(spec_as_given)), model(std::move(opened)) {}

    // narrowest: the model whose encoding has the shortest reach.
    void begin(const std::string& prompt, const GenerateRequest& request, const Model& narrowest, Progress& progress) {
        saying_what_makes_room(request, narrowest, [&] {
            continuation.emplace(model, prompt, request.options, [this](std::string_view text) {
                arrived += text;
                return true;
            });
        });
        feed_prompt(*continuation, spec, progress);
    }
    // Generates one more token; false if there are none.
    bool step() {
        if (!result && !stop_signal() && continuation->step()) return true;
        if (!result) result = continuation->finish();
        return false;
    }

    std::string spec;
    Model model;
    std::optional<Continuation> continuation;
    std::string arrived; // generated text that is not shown yet
    std::optional<Generation> result;
};

std::deque<Voice> open_voices(const Arguments& arguments) {
    std::deque<Voice> voices;
    for (const std::string& spec : bench::spec_list(arguments.all("encodings"))) {
        const bool own_file = arguments.has("model") || arguments.has_operand();
        const bool force = own_file || arguments.has("force-encoding");
        voices.emplace_back(spec, open_model(arguments, {own_file ? model_path(arguments) : weights_for(spec, force),
                                                         spec, force, arguments.text("tokenizer")}));
    }
    return voices;
}

std::string speed_of(const Voice& voice) {
    const Generation& result = *voice.result;
    if (result.new_tokens < 2) return result.new_tokens == 0 ? "0 tokens" : "1 token";
    return fixed_text((result.new_tokens - 1) / result.decode_seconds, 0) + " tokens/s"; // the first is the prompt's
}

using Voices = std::span<Voice* const>;

void write_row(Voices voices, const Display& display, std::string (*text)(const Voice&)) {
    Columns row(voices.size(), display);
    for (std::size_t i = 0; i < voices.size(); ++i) row.append(i, text(*voices[i]));
    row.close();
}

// The voices generate token by token in turn, so that their columns grow together.
void show_in_columns(Voices voices, const std::string& prompt, const Display& display) {
    write_row(voices, display, [](const Voice& voice) { return voice.spec; });
    write_row(voices, display, [](const Voice& voice) { return std::string(voice.spec.size(), '-'); });
    Columns columns(voices.size(), display);
    for (std::size_t i = 0; i < voices.size(); ++i) columns.append(i, prompt, true);
    columns.show();
    for (bool any = true; any;) {
        any = false;
        for (std::size_t i = 0; i < voices.size(); ++i) {
            if (voices[i]->step())
                any = true;
            else
                columns.finish(i);
            columns.append(i, std::exchange(voices[i]->arrived, {}));
            columns.show();
        }
    }
    columns.close();
    write_out("\n");
    write_row(voices, display, speed_of);
}

void show_in_turn(Voice& voice, const std::string& prompt) {
    write_out("encoding: " + voice.spec + "\n" + prompt);
    for (bool more = true; more;) {
        more = voice.step();
        write_out(std::exchange(voice.arrived, {}));
    }
    write_out("\n\n" + std::to_string(voice.result->new_tokens) + " tokens, " + speed_of(voice) + "\n");
}

} // namespace side_by_side_file

int generate_side_by_side(const Arguments& arguments) {
    if (arguments.has("encoding")) fail(ErrorCode::usage, "expected --encoding or --encodings, found both");
    GenerateRequest request = read_request(arguments);
    const std::string prompt = read_prompt(arguments, LineEnds::plain);
    std::deque<side_by_side_file::Voice> voices = side_by_side_file::open_voices(arguments);
    choose_threads(arguments, voices.front().model);
    take_recommended(arguments, voices.front().model, request.options.sampling);
    show_idle_options(arguments, request);
    for (const side_by_side_file::Voice& voice : voices)
        warn_beyond(arguments, voice.model, request.options.session.capacity, voice.spec);
    warn_of_typed_start(arguments, voices.front().model, prompt);
    const auto reaches_less = [](const side_by_side_file::Voice& a, const side_by_side_file::Voice& b) {
        return a.model.max_position() < b.model.max_position();
    };
    const Model& narrowest = std::min_element(voices.begin(), voices.end(), reaches_less)->model;
    std::vector<side_by_side_file::Voice*> all;
    {
        Progress progress(request.quiet);
        for (side_by_side_file::Voice& voice : voices) {
            voice.begin(prompt, request, narrowest, progress);
            all.push_back(&voice);
        }
    }
    show_seed(request);
    stop_softly();
    const std::string shown = request.show_prompt ? prompt : "";
    const Display display = stdout_display();
    const std::size_t beside = display.terminal ? Columns::fitting(display, side_by_side_file::least_width) : 1;
    for (std::size_t at = 0; at < all.size(); at += beside) {
        if (at > 0) write_out("\n");
        if (display.terminal)
            side_by_side_file::show_in_columns(
                side_by_side_file::Voices(all).subspan(at, std::min(beside, all.size() - at)), shown, display);
        else
            side_by_side_file::show_in_turn(*all[at], shown);
    }
    return stop_signal() ? stop_code() : 0;
}

} // namespace ordo::tools
