// SPDX-License-Identifier: MIT
// The engine for worker.js: one function, which takes the name of a method and a request in JSON. It returns JSON:
// {"error": text}, or the answer. Long lists of numbers stay in memory for the worker to copy before its next call.
#include "core/error.h"
#include "encoding/base/model_encodings.h"
#include "encoding/base/moments.h"
#include "encoding/base/registry.h"
#include "io/json_writer.h"
#include "model/score.h"
#include "model/stack.h"
#include "tools/web/attention.h"
#include "tools/web/models.h"
#include "tools/web/writer.h"

#include <emscripten.h>

namespace ordo::web {
namespace {

constexpr const char* where = "request";
constexpr int unlimited = std::numeric_limits<int>::max();

std::map<int, Writer> writers;
int last_writer = 0;

std::string answer;
std::vector<float> numbers;

const std::string& text_of(const JsonValue& request, std::string_view key) {
    return get_string(request, key, where);
}
int integer_of(const JsonValue& request, std::string_view key, int fallback, int least, int most) {
    if (find_member(request, key) == nullptr) return fallback;
    return static_cast<int>(get_int(request, key, where, least, most));
}
const Model& model_of(const JsonValue& request) {
    return open_model(text_of(request, "file")).model;
}

// ---- What the engine has ------------------------------------------------------------------------

std::string moments_text(unsigned moments) {
    std::string text;
    for (const MomentInfo& info : moments_of_a_pass)
        if (moments & info.moment) text += (text.empty() ? "" : "+") + std::string(info.name);
    return text;
}

void write_parameter(JsonWriter& out, const Parameter& parameter) {
    out.begin_object();
    out.member("name", parameter.name);
    out.member("help", parameter.meaning);
    out.member("default", parameter.fallback);
    if (parameter.least <= parameter.most) {
        out.member("min", parameter.least);
        out.member("max", parameter.most);
        out.member("integer", parameter.whole);
    }
    if (!parameter.words.empty()) out.member("words", parameter.words);
    out.end_object();
}

// The operations that an encoding adds to a pass over 256 tokens through the layers of the shipped models, in percent
// of the operations of these layers.
double cost_of(const EncodingInfo& info) {
    constexpr int d = 128, heads = 4, layers = 5, feed_forward = 352, tokens = 256;
    constexpr double n = tokens, pairs = heads * n * (n + 1) / 2;
    const ModelEncodings stack(info.name, {d, heads, d / heads, layers, tokens});
    const Work work{n, n * heads, n * heads, pairs, tokens};
    Operations own = stack.embed_operations(work);
    for (int layer = 0; layer < layers; ++layer)
        for (const MomentInfo& moment : moments_of_a_pass)
            if (moment.moment != moment_embed) own += stack.layer(layer).operations(moment.moment, work);
    constexpr double products = n * d * (4 * d + 3 * feed_forward) + 2 * pairs * (d / heads); // of a layer
    return 100 * own.sum() / (2 * products * layers);
}

void write_encodings(const JsonValue&, JsonWriter& out) {
    out.begin_array();
    for (const EncodingInfo* info : registered_encodings()) {
        const std::unique_ptr<Encoding> example = example_of(*info);
        out.begin_object();
        out.member("name", info->name);
        out.member("summary", info->summary);
        out.member("formula", info->formula);
        out.member("paper", info->paper);
        out.member("acts", moments_text(example->moments()));
        out.member("trainable", !example->tensors().empty());
        out.member("cost", cost_of(*info));
        out.member("tables", info->name == "none" ? std::vector<std::string>() : example->table_parts());
        out.key("parameters");
        out.begin_array();
        for (const Parameter& parameter : parameters_of(*info)) write_parameter(out, parameter);
        out.end_array();
        out.end_object();
    }
    out.end_array();
}

void open(const JsonValue& request, JsonWriter& out) {
    const OpenModel& opened = open_model(text_of(request, "file"), text_of(request, "path"));
    const Model::Impl& model = impl_of(opened.model);
    const Blueprint& b = model.blueprint;
    out.begin_object();
    out.member("file", text_of(request, "file"));
    out.member("encoding", opened.model.encoding());
    out.member("dim", b.d_model);
    out.member("layers", b.n_layers);
    out.member("heads", b.n_heads);
    out.member("head_dim", b.d_head);
    out.member("vocabulary", b.vocab_size);
    out.member("trained", b.context);
    out.key("reach");
    if (opened.model.max_position() == unlimited)
        out.null();
    else
        out.value(opened.model.max_position());
    out.member("parameters", opened.parameters);
    out.end_object();
}

// ---- Writing ------------------------------------------------------------------------------------

void write_candidates(JsonWriter& out, const Model& model, std::span<const Candidate> candidates) {
    out.begin_array();
    for (const Candidate& candidate : candidates) {
        out.begin_object();
        out.member("text", token_text(model, candidate.token));
        out.member("id", candidate.token);
        out.member("probability", candidate.probability);
        out.end_object();
    }
    out.end_array();
}

void begin(const JsonValue& request, JsonWriter& out) {
    const std::string& keys = text_of(request, "scaling");
    const Model& model = keys.empty() ? model_of(request) : scaled_model(text_of(request, "file"), keys);
    Writing writing{text_of(request, "prompt"), integer_of(request, "count", 128, 0, 1 << 20),
                    integer_of(request, "capacity", 0, 0, 1 << 22), model.sampling()};
    Sampling& sampling = writing.sampling;
    const auto number = [&](std::string_view key, float& value) {
        if (find_member(request, key) != nullptr) value = static_cast<float>(get_number(request, key, where, 0, 1e6));
    };
    number("temperature", sampling.temperature);
    number("top_p", sampling.top_p);
    number("min_p", sampling.min_p);
    sampling.top_k = integer_of(request, "top_k", sampling.top_k, 0, unlimited);
    if (find_member(request, "ignore_end") != nullptr) writing.ignore_end = get_bool(request, "ignore_end", where);
    sampling.seed = static_cast<std::uint64_t>(integer_of(request, "seed", 1, 0, unlimited));
    writers.try_emplace(++last_writer, model, writing);
    out.begin_object();
    out.member("writer", last_writer);
    out.member("spec", model.encoding());
    out.end_object();
}

int writer_of(const JsonValue& request) {
    const int number = integer_of(request, "writer", 0, 1, unlimited);
    if (!writers.contains(number)) fail(ErrorCode::usage, "writer ", number, ": expected one that has begun");
    return number;
}

void write_token(JsonWriter& out, const Model& model, const WrittenToken& token) {
    out.begin_object();
    out.member("text", token.text);
    out.member("id", token.id);
    out.key("probability");
    if (token.probability)
        out.value(*token.probability);
    else
        out.null();
    out.member("position", token.position);
    out.member("beyond", token.position >= model.context());
    out.member("prompt", token.prompt);
    out.key("alternatives");
    write_candidates(out, model, token.alternatives);
    out.end_object();
}

void step(const JsonValue& request, JsonWriter& out) {
    Writer& writer = writers.at(writer_of(request));
    const bool more = writer.step();
    out.begin_object();
    out.key("tokens");
    out.begin_array();
    for (const WrittenToken& token : writer.take()) write_token(out, writer.model(), token);
    out.end_array();
    out.member("more", more);
    out.end_object();
}

void finish(const JsonValue& request, JsonWriter& out) {
    const int number = writer_of(request);
    const Generation result = writers.at(number).finish();
    writers.erase(number);
    static constexpr const char* reasons[] = {"max_tokens", "end_of_text", "stop_text", "full", "stopped"};
    out.begin_object();
    out.member("text", result.text);
    out.member("tokens", result.new_tokens);
    out.member("seconds", result.prefill_seconds + result.decode_seconds);
    out.member("rate", result.decode_seconds > 0 ? result.new_tokens / result.decode_seconds : 0.0);
    out.member("ended", reasons[static_cast<int>(result.reason)]);
    out.end_object();
}

// ---- Looking inside -----------------------------------------------------------------------------

void next(const JsonValue& request, JsonWriter& out) {
    const Model& model = model_of(request);
    const std::vector<Token> tokens = tokens_of(model, text_of(request, "text"));
    Session session(model, {.capacity = static_cast<int>(tokens.size())});
    write_candidates(out, model, likeliest(session.feed(tokens), integer_of(request, "count", 5, 1, unlimited)));
}

void tokens(const JsonValue& request, JsonWriter& out) {
    out.value(tokens_of(model_of(request), text_of(request, "text")));
}

void logits(const JsonValue& request, JsonWriter& out) {
    const Model& model = model_of(request);
    const std::vector<Token> tokens = tokens_of(model, text_of(request, "text"));
    Session session(model, {.capacity = static_cast<int>(tokens.size())});
    numbers.clear();
    session.feed_all(tokens, {}, [](int, View rows) {
        for (int i = 0; i < rows.rows; ++i) numbers.insert(numbers.end(), rows.row(i), rows.row(i) + rows.cols);
    });
    out.begin_object();
    out.member("tokens", tokens);
    out.end_object();
}

void attention(const JsonValue& request, JsonWriter& out) {
    const Model& model = model_of(request);
    const std::vector<Token> tokens = tokens_of(model, text_of(request, "text"));
    Attention seen = look(model, tokens);
    numbers = std::move(seen.numbers);
    std::vector<std::string> texts;
    for (const Token token : tokens) texts.push_back(token_text(model, token));
    out.begin_object();
    out.member("tokens", texts);
    out.member("layers", blueprint_of(model).n_layers);
    out.member("heads", blueprint_of(model).n_heads);
    out.member("adds", seen.adds);
    out.end_object();
}

void table(const JsonValue& request, JsonWriter& out) {
    TableRequest wanted{.length = integer_of(request, "rows", 8, 1, 4096),
                        .start = integer_of(request, "start", 0, 0, 1 << 30),
                        .head = integer_of(request, "head", 0, 0, 1023),
                        .part = text_of(request, "what"),
                        .layer = integer_of(request, "layer", 0, 0, 1023)};
    const int heads = integer_of(request, "heads", 8, 1, 1024);
    std::string spec = text_of(request, "spec");
    Table made;
    if (const std::string& file = text_of(request, "file"); !file.empty()) {
        const ModelEncodings& stack = encodings_of(open_model(file).model);
        wanted.width = stack.dims().d_model;
        const Encoding& encoding = encoding_in(stack, wanted.layer);
        spec = encoding.spec();
        made = encoding.table(wanted);
    } else {
        const int dim = integer_of(request, "dim", 8 * heads, 1, 65'536);
        made = encoding_table(spec, {dim, heads, std::max(1, dim / heads), wanted.layer + 1, 256}, wanted);
    }
    numbers.clear();
    for (const std::vector<double>& row : made.rows)
        for (const double value : row) numbers.push_back(static_cast<float>(value));
    out.begin_object();
    out.member("kind", wanted.part.empty() ? std::string("table") : wanted.part);
    out.member("spec", spec);
    out.member("columns", made.header);
    out.member("rows", made.rows.size());
    out.end_object();
}

constexpr struct {
    std::string_view name;
    void (*call)(const JsonValue& request, JsonWriter& out);
} methods[] = {{"encodings", write_encodings},
               {"open", open},
               {"begin", begin},
               {"step", step},
               {"finish", finish},
               {"next", next},
               {"tokens", tokens},
               {"logits", logits},
               {"attention", attention},
               {"table", table}};

std::string error_text(std::string_view text) {
    JsonWriter out;
    out.begin_object();
    out.member("error", text);
    out.end_object();
    return out.take();
}

std::string answer_to(std::string_view method, std::string_view text) {
    try {
        const JsonValue request = parse_json(text, where);
        for (const auto& each : methods) {
            if (each.name != method) continue;
            JsonWriter out;
            each.call(request, out);
            return out.take();
        }
        fail(ErrorCode::usage, "expected the name of a method, found '", printable(method), "'");
    } catch (const std::bad_alloc&) {
        return error_text("not enough memory in this browser");
    } catch (const std::exception& error) {
        return error_text(error.what());
    }
}

} // namespace
} // namespace ordo::web

extern "C" {
EMSCRIPTEN_KEEPALIVE const char* ordo_call(const char* method, const char* request) {
    ordo::web::answer = ordo::web::answer_to(method, request);
    return ordo::web::answer.c_str();
}
EMSCRIPTEN_KEEPALIVE const float* ordo_numbers() {
    return ordo::web::numbers.data();
}
EMSCRIPTEN_KEEPALIVE std::size_t ordo_number_count() {
    return ordo::web::numbers.size();
}
}
