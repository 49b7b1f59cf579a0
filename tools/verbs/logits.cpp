// SPDX-License-Identifier: MIT
// ordo logits: the numbers behind the text, as JSON.
#include "core/error.h"
#include "io/base_name.h"
#include "model/continuation.h"
#include "model/stack.h"
#include "tools/cli/inputs.h"
#include "tools/cli/machine.h"
#include "tools/opening/rope_options.h"
#include "tools/opening/weights.h"
#include "tools/terminal/output.h"

#include <algorithm>

namespace ordo::tools {

namespace logits_file {

constexpr Option options[] = {
    {Kind::integers, "tokens", "IDS", 0, std::numeric_limits<Token>::max(),
     "Feed these token ids instead of a text: 1,2,3."},
    {"all", "Print the logits after every token, and not only after the last."},
    {Kind::integer, "chunk", "N", 1, 1 << 22,
     "Feed N tokens at a time. Default: 256, or all if the model is bidirectional."},
    {Kind::integer, "c,ctx-size", "N=0", 0, 1 << 22,
     "Make room for N tokens, on which the frequencies of rope:scaling=dynamic depend, as generate -c N does; 0: for "
     "the tokens that are fed."},
    {Kind::integer, "shift", "C=0", 0, 1 << 30, "Add C to every position."},
    {Kind::integers, "segments", "IDS", 0, 1 << 22, "The segment of each token: 0,0,1."},
};
constexpr OptionGroup groups[] = {{"Text", prompt_options}, {"Logits", options}, model_group, rope_group, common_group};

template <class Number>
std::string list(std::span<const Number> values) {
    std::string out = "[";
    for (const Number value : values) {
        if (out.size() > 1) out += ',';
        if constexpr (std::is_floating_point_v<Number>)
            out += number_text(value);
        else
            out += std::to_string(value);
    }
    return out + "]";
}

std::vector<Token> read_tokens(const Arguments& arguments, const Model& model) {
    std::vector<Token> tokens;
    if (arguments.has("tokens")) {
        if (arguments.has("prompt") || arguments.has("file"))
            fail(ErrorCode::usage, "expected a text or --tokens, found both");
        for (const std::int64_t id : arguments.integers("tokens")) tokens.push_back(static_cast<Token>(id));
    } else {
        const std::string text = read_prompt(arguments, LineEnds::plain);
        warn_of_typed_start(arguments, model, text);
        const Model::Impl& impl = impl_of(model);
        tokens = impl.blueprint.bidirectional() && impl.tokenizer
                     ? encode_framed(*impl.tokenizer, text, arguments.has("special")) // as fill() and embed() do
                     : model.encode(text, {arguments.has("special"), true});
    }
    if (tokens.empty()) fail(ErrorCode::usage, "logits: expected at least one token, found an empty text");
    return tokens;
}

std::vector<int> read_segments(const Arguments& arguments, std::size_t count) {
    std::vector<int> segments;
    if (!arguments.has("segments")) return segments;
    for (const std::int64_t id : arguments.integers("segments")) segments.push_back(static_cast<int>(id));
    if (segments.size() != count)
        fail(ErrorCode::usage, "option --segments: expected one for each of ", count, " tokens, found ",
             segments.size());
    return segments;
}

// Feeds the tokens in chunks and returns the rows of logits as JSON.
std::string logits_of(Session& session, std::span<const Token> tokens, std::span<const int> segments, bool all,
                      std::size_t chunk) {
    std::string out = "[";
    for (std::size_t at = 0; at < tokens.size(); at += chunk) {
        const std::size_t n = std::min(chunk, tokens.size() - at);
        const auto part = tokens.subspan(at, n);
        const TokenRows rows{{},
                             segments.empty() ? segments : segments.subspan(at, n),
                             {},
                             static_cast<int>(tokens.size() - at - n)}; // the same for every --chunk
        if (all) {
            session.feed_all(part, rows, [&](int, View logits) {
                for (int i = 0; i < logits.rows; ++i) {
                    if (out.size() > 1) out += ',';
                    out += list(std::span<const float>(logits.row(i), static_cast<std::size_t>(logits.cols)));
                }
            });
        } else {
            const std::span<const float> last = session.feed(part, rows);
            if (at + n == tokens.size()) out += list(last);
        }
    }
    return out + "]";
}

int run(const Arguments& arguments) {
    const int shift = arguments.integer("shift");
    const Model model = open_model(arguments);
    const std::vector<Token> tokens = read_tokens(arguments, model);
    const std::vector<int> segments = read_segments(arguments, tokens.size());
    const bool all = arguments.has("all");
    const int count = static_cast<int>(tokens.size());
    const int wanted = blueprint_of(model).bidirectional() ? count : 256;
    const int chunk = std::min(arguments.has("chunk") ? arguments.integer("chunk") : wanted, count);
    const int room = arguments.integer("ctx-size");
    if (room != 0 && room < count)
        fail(ErrorCode::limit, "option --ctx-size: expected room for ", count, " tokens, found ", room);
    Session session(model, {.capacity = std::max(room, count), .chunk = chunk, .first_position = shift});
    const bool by_distance = encodings_of(model).shift_invariant_below() ==
                             std::numeric_limits<int>::max(); // if so, a shift changes nothing
    warn_beyond(arguments, model, by_distance ? count : std::int64_t{shift} + count);

    std::vector<int> positions;
    for (std::size_t i = all ? 0 : tokens.size() - 1; i < tokens.size(); ++i)
        positions.push_back(shift + static_cast<int>(i));
    const std::string logits = logits_of(session, tokens, segments, all, static_cast<std::size_t>(chunk));
    const std::string file = base_name(model_path(arguments));
    write_out("{\"model\":" + json_quoted(escaped_bytes(file)) + ",\"encoding\":" + json_quoted(model.encoding()) +
              ",\"tokens\":" + list(std::span<const Token>(tokens)) +
              ",\"positions\":" + list(std::span<const int>(positions)) + ",\"logits\":" + logits + "}\n");
    return 0;
}

} // namespace logits_file

extern const Verb logits_verb;
const Verb logits_verb{.name = "logits",
                       .operand = "MODEL",
                       .summary = "Print the logits of a text or of token ids, as JSON",
                       .details =
                           "A text is fed as generate feeds it, after the start token of the model, if it has one and "
                           "--special does not read it there. --tokens are fed as they are. The output is {\"model\", "
                           "\"encoding\", \"tokens\", \"positions\", \"logits\": [[...]]}, with the fed tokens and the "
                           "positions of the rows. Every float reads back as the same float.",
                       .groups = logits_file::groups,
                       .run = logits_file::run};

} // namespace ordo::tools
