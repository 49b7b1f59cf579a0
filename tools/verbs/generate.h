// SPDX-License-Identifier: MIT
// Functions shared by the ways to generate: one text, several side by side, or an interactive conversation.
#pragma once

#include "core/error.h"
#include "model/continuation.h"
#include "tools/cli/options.h"
#include "tools/terminal/columns.h"
#include "tools/terminal/output.h"

#include <optional>

namespace ordo::tools {

struct GenerateRequest {
    Continuation::Options options;
    bool fixed_seed = false; // false: drawn at random
    bool show_prompt = true;
    bool quiet = false;
};
GenerateRequest read_request(const Arguments& arguments);
// Takes the sampling that the model's files recommend, except for options on the command line.
void take_recommended(const Arguments& arguments, const Model& model, Sampling& sampling);

std::uint64_t random_seed();
// Shows "seed: 7" on stderr if the seed matters and was drawn, or if `chosen` is set.
void show_seed(const GenerateRequest& request, bool chosen = false);

// "; -c gives more room, --context-shift leaves out its middle": options for a prompt that does not fit.
std::string room_text(const GenerateRequest& request, const Model& model);

// Returns make(). If the prompt is too long for the model's context, the error also names the options that would help.
template <class Make>
auto saying_what_makes_room(const GenerateRequest& request, const Model& model, const Make& make) {
    try {
        return make();
    } catch (const Error& error) {
        if (error.reason != ErrorReason::prompt_too_long) throw;
        fail(error.code, error.what(), room_text(request, model));
    }
}

// Feeds a prompt and shows the progress, named `what`: "prompt", "rope". Stops early if wanted is given and returns
// false.
void feed_prompt(Continuation& continuation, const std::string& what, Progress& progress, bool (*wanted)() = nullptr);

// One text on stdout: lines of whole words on a terminal, otherwise the exact bytes.
class TextOutput {
public:
    TextOutput() : display_(stdout_display()) {
        if (display_.terminal) columns_.emplace(1, display_);
    }
    void write(std::string_view text, bool prompt = false);
    void close(); // adds a newline

private:
    Display display_;
    std::optional<Columns> columns_; // on a terminal
};

// Warns on stderr about given options that have no effect.
void show_idle_options(const Arguments& arguments, const GenerateRequest& request);

// The remedies for a full context.
std::string full_text(const GenerateRequest& request);
// "the context of 256 tokens was shifted 3 times, its keys renumbered"
std::string shifts_text(int shifts, const Continuation& continuation);
// "continuation: 128 tokens in 0.104 s, 1228.0 tokens/s". computed: the tokens with a pass of their own, unlike the
// first of a continuation, which is drawn from the prompt's logits; 0: no speed.
std::string speed_text(const char* what, int tokens, int computed, double seconds);
const char* reason_text(StopReason reason);

int generate_side_by_side(const Arguments& arguments);
int generate_interactively(const Arguments& arguments);

} // namespace ordo::tools
