// SPDX-License-Identifier: MIT
// ordo perplexity: how well a model predicts a text, by window length and by position.
//
// The protocol: each of the text's documents (documents.h) is cut into windows of `length` tokens that start `stride`
// apart; the last window of a document may be shorter. A window starts from an empty cache at position 0, and its first
// token is not scored. If windows overlap, the first window that contains a token scores it.
#include "core/error.h"
#include "io/base_name.h"
#include "model/model_access.h"
#include "tools/cli/inputs.h"
#include "tools/cli/machine.h"
#include "tools/opening/rope_options.h"
#include "tools/opening/scores.h"
#include "tools/opening/weights.h"
#include "tools/terminal/columns.h"
#include "tools/terminal/output.h"
#include "tools/terminal/wide_table.h"
#include "tools/train/documents.h"

#include <algorithm>
#include <cmath>

namespace ordo::tools {

namespace perplexity_file {

constexpr Option options[] = {
    {Kind::path, "f,file", "FILE", "Measure on this text; - is stdin. Default: the shipped heldout.txt."},
    {Kind::integers, "length", "N,N,...", 2, 1 << 22, "The tokens in a window. Default: the trained length."},
    {Kind::integer, "stride", "N", 1, 1 << 22, "The tokens between the starts of windows. Default: the length."},
    {Kind::integer, "max-tokens", "N=0", 0, 1e15, "Stop after N scored tokens; 0: score all."},
    {"by-position", "Also print the loss by position in the window."},
    {Kind::choice, "format", "FORMAT=text",
     "text|md|csv|json: nll is the loss in nats per token, stderr its standard error over tokens."},
};
constexpr OptionGroup groups[] = {{"Perplexity", options}, model_group, rope_group, common_group};

struct Scores {
    int length = 0, stride = 0;
    int longest = 0; // tokens of the longest window
    Tally all;
    std::vector<Tally> buckets;
};

struct Request {
    int length, stride;
    std::int64_t max_tokens;
};

Scores measure(const Model& model, std::span<const Document> documents, const Request& request, Progress& progress) {
    Scores scores{.length = request.length, .stride = request.stride, .longest = 0, .all = {}, .buckets = {}};
    std::size_t longest = 2;
    for (const Document& document : documents) longest = std::max(longest, document.tokens.size());
    const auto length = static_cast<std::size_t>(request.length), stride = static_cast<std::size_t>(request.stride);
    Session session(model,
                    {.capacity = static_cast<int>(std::min(length, longest)), .chunk = 256, .first_position = 0});
    for (std::size_t d = 0; d < documents.size(); ++d) {
        const Document& document = documents[d];
        progress.show("length " + std::to_string(length) + ": document " + std::to_string(d + 1) + " of " +
                      std::to_string(documents.size()));
        std::size_t scored = 0; // earlier tokens have been scored, or never will be
        for (std::size_t start = 0; start + 1 < document.tokens.size(); start += stride) {
            const std::size_t end = std::min(start + length, document.tokens.size());
            const std::vector<double> nll =
                score_window(session, std::span(document.tokens).subspan(start, end - start));
            scores.longest = std::max(scores.longest, static_cast<int>(end - start));
            for (std::size_t at = std::max(start + 1, scored); at < end; ++at) {
                if (request.max_tokens > 0 && scores.all.tokens == request.max_tokens) return scores;
                scores.all.add(nll[at - start - 1], document.bytes[at]);
                const std::size_t bucket = bucket_of(static_cast<int>(at - start));
                if (scores.buckets.size() <= bucket) scores.buckets.resize(bucket + 1);
                scores.buckets[bucket].add(nll[at - start - 1], document.bytes[at]);
            }
            scored = end;
            if (end == document.tokens.size()) break;
        }
    }
    return scores;
}

std::vector<Cell> row_of(const Scores& scores, const std::string& position, const Tally& tally) {
    return {std::int64_t{scores.length},
            std::int64_t{scores.stride},
            std::string(scores.stride == scores.length ? "disjoint" : "sliding"),
            position,
            tally.tokens,
            std::int64_t{scores.longest},
            tally.mean(),
            tally.tokens > 1 ? Cell(tally.standard_error()) : Cell(),
            std::exp(tally.mean()),
            tally.sum / std::log(2.0) / static_cast<double>(tally.bytes)};
}

void add_rows(Figures& figures, const Scores& scores, bool by_position) {
    if (scores.all.tokens == 0) return;
    figures.rows.push_back(row_of(scores, "all", scores.all));
    for (std::size_t b = 0; by_position && b < scores.buckets.size(); ++b) {
        if (scores.buckets[b].tokens == 0) continue;
        figures.rows.push_back(row_of(scores, bucket_name(b, scores.longest), scores.buckets[b]));
    }
}

constexpr std::string_view protocol =
    "documents split at <|endoftext|>; before each stands what begins a text of the model, if anything; windows of "
    "`length` tokens start `stride` apart, the last of a document may be shorter; a window starts at position 0 with "
    "nothing before it; its first token is not scored, and of overlapping windows (sliding) a token is scored by the "
    "first that holds it; nll in nats per token, standard error over tokens, bits per byte of scored text";

void print(const Arguments& arguments, const Model& model, const std::string& text, std::size_t documents,
           const Figures& figures) {
    const Format format = parse_format(arguments.text("format"));
    const std::string name = text == "-" ? "standard input" : base_name(text);
    if (format == Format::json) {
        JsonWriter out(1);
        out.begin_object();
        out.member("text", escaped_bytes(name));
        out.member("documents", documents);
        out.member("encoding", model.encoding());
        out.member("protocol", protocol);
        out.key("results");
        write_json(out, figures);
        out.end_object();
        write_out(out.take() + "\n");
        return;
    }
    std::string head;
    if (format != Format::csv)
        head = "text: " + printable(name) + ", " + std::to_string(documents) +
               (documents == 1 ? " document" : " documents") + "\nencoding: " + model.encoding() +
               "\nprotocol: " + std::string(protocol) + "\n\n";
    const Display display = stdout_display();
    if (format == Format::text && display.terminal) head = wrapped(head, display.width);
    write_out(head + (format == Format::text ? for_stdout(figures) : render(figures, format)));
}

int run(const Arguments& arguments) {
    std::vector<std::int64_t> lengths;
    if (arguments.has("length")) lengths = arguments.integers("length");
    const std::string file = arguments.has("file") ? arguments.text("file") : weights_file("heldout.txt").string();
    const std::string text = read_corpus(file, most_text, arguments.has("quiet"));
    const Model model = open_model(arguments);
    if (blueprint_of(model).bidirectional())
        fail(ErrorCode::usage, "perplexity: a bidirectional model does not predict the next token");
    if (!arguments.has("quiet") && learned_from(metadata_of(model), file))
        write_message("warning: the model learned from this text, so its loss here says nothing about other texts");
    if (lengths.empty()) lengths = {model.context()};
    std::string refused;
    for (const std::int64_t length : lengths)
        if (length > model.max_position()) refused += (refused.empty() ? "" : ", ") + std::to_string(length);
    if (!refused.empty())
        fail(ErrorCode::limit, "length ", refused, ": expected at most ", model.max_position(),
             " positions, which is what ", model.encoding(), " can encode");
    for (const std::int64_t length : lengths)
        if (arguments.has("stride") && arguments.integer("stride") > length)
            fail(ErrorCode::usage, "option --stride: expected at most the length ", length, ", found ",
                 arguments.integer("stride"));
    const std::vector<Document> documents = read_documents(text, model, file);
    std::int64_t longest = 0; // longest possible window
    for (const Document& document : documents)
        longest = std::max(longest, static_cast<std::int64_t>(document.tokens.size()));
    std::int64_t most = 0; // positions that are read
    for (const std::int64_t length : lengths) most = std::max(most, std::min(length, longest));
    warn_beyond(arguments, model, most);

    Figures figures{{"length", "stride", "protocol", "position", "tokens", "longest", "nll", "standard_error", "ppl",
                     "bits_per_byte"},
                    {},
                    4};
    {
        Progress progress(arguments.has("quiet"));
        for (const std::int64_t length : lengths) {
            const Request request{static_cast<int>(length),
                                  arguments.has("stride") ? arguments.integer("stride") : static_cast<int>(length),
                                  arguments.integer64("max-tokens")};
            add_rows(figures, measure(model, documents, request, progress), arguments.has("by-position"));
        }
    }
    if (!figures.rows.empty()) print(arguments, model, file, documents.size(), figures);
    return 0;
}

} // namespace perplexity_file

extern const Verb perplexity_verb;
const Verb perplexity_verb{.name = "perplexity",
                           .operand = "MODEL",
                           .summary = "Measure how well a model predicts a text",
                           .details =
                               "The text is split into documents at <|endoftext|>; CR LF is a newline. The start token "
                               "of the model, if it has one (the shipped models have <|endoftext|>), comes before each "
                               "document. Windows of --length tokens start --stride apart. The first token of a window "
                               "is not scored. In overlapping windows, the first window with a token scores it.",
                           .groups = perplexity_file::groups,
                           .run = perplexity_file::run};

} // namespace ordo::tools
