// SPDX-License-Identifier: MIT
// What the ways to generate share: one text, several side by side, or one after another as they are typed.
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
    bool fixed_seed = false; // or it was drawn
    bool show_prompt = true;
    bool quiet = false;
};
GenerateRequest read_request(const Arguments& arguments);
// What the model's own files recommend, where the command line says nothing.
void take_recommended(const Arguments& arguments, const Model& model, Sampling& sampling);

std::uint64_t random_seed();
// "seed: 7" on stderr, of one that was drawn, or chosen otherwise than by the user, and matters.
void show_seed(const GenerateRequest& request, bool chosen = false);

// "; -c gives more room, --context-shift leaves out its middle": what may be done about a prompt that does not fit.
std::string room_text(const GenerateRequest& request, const Model& model);

// What it makes, unless a prompt is too long for the model's context: then the refusal says by which options it would
// fit.
template <class Make>
auto saying_what_makes_room(const GenerateRequest& request, const Model& model, const Make& make) {
    try {
        return make();
    } catch (const Error& error) {
        if (error.reason != ErrorReason::prompt_too_long) throw;
        fail(error.code, error.what(), room_text(request, model));
    }
}

// Feeds a prompt, and says how far that is; what names it there: "prompt", "rope". Stops early if wanted is given and
// becomes false.
void feed_prompt(Continuation& continuation, const std::string& what, Progress& progress, bool (*wanted)() = nullptr);

// One text on stdout: in lines of whole words on a terminal, else byte for byte.
class TextOutput {
public:
    TextOutput() : display_(stdout_display()) {
        if (display_.terminal) columns_.emplace(1, display_);
    }
    void write(std::string_view text, bool prompt = false);
    void close(); // with a newline

private:
    Display display_;
    std::optional<Columns> columns_; // of a terminal
};

// Names, as a warning on stderr, what was asked for and changes nothing.
void show_idle_options(const Arguments& arguments, const GenerateRequest& request);

// What may be done about a context that is full.
std::string full_text(const GenerateRequest& request);
// "the context of 256 tokens was shifted 3 times, its keys renumbered"
std::string shifts_text(int shifts, const Continuation& continuation);
// "continuation: 128 tokens in 0.104 s, 1228.0 tokens/s"
std::string speed_text(const char* what, int tokens, double seconds);
const char* reason_text(StopReason reason);

int generate_side_by_side(const Arguments& arguments);
int generate_interactively(const Arguments& arguments);

} // namespace ordo::tools
