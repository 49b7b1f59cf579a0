// SPDX-License-Identifier: MIT
// The C interface over ordo.h and generate() in steps: models, sessions, generation.
#include "c/c_interface.h"
#include "model/continuation.h"

using namespace ordo::c;

namespace {

using ordo::Error;
using ordo::ErrorCode;

ordo::Sampling sampling_of(const ordo_sampling& s) {
    return {s.temperature, s.top_k, s.top_p, s.min_p, s.repeat_penalty, s.repeat_last_n, s.seed};
}

ordo_sampling sampling_from(const ordo::Sampling& s) {
    return {sizeof(ordo_sampling), s.temperature, s.top_k, s.top_p, s.min_p, s.repeat_penalty, s.repeat_last_n, s.seed};
}

ordo::SessionOptions session_options_of(const ordo_session_options& o) {
    ordo::SessionOptions options;
    options.capacity = o.capacity;
    options.chunk = o.chunk;
    options.first_position = o.first_position;
    if ((o.half_cache != 0) + (o.byte_cache != 0) + (o.bf16_cache != 0) > 1)
        throw Error(ErrorCode::usage,
                    "session options: expected one of half_cache, byte_cache and bf16_cache, found more");
    if (o.half_cache != 0) options.cache = ordo::CacheType::f16;
    if (o.byte_cache != 0) options.cache = ordo::CacheType::q8_0;
    if (o.bf16_cache != 0) options.cache = ordo::CacheType::bf16;
    return options;
}

ordo::GenerateOptions generate_options_of(const ordo_generate_options& o) {
    ordo::GenerateOptions options;
    options.max_tokens = o.max_tokens;
    options.sampling = sampling_of(read(o.sampling, ordo_sampling_defaults, "sampling"));
    options.session = session_options_of(read(o.session, ordo_session_options_defaults, "session options"));
    for (const char* const text : span_of(o.stop, o.stop_count, "stop"))
        options.stop.emplace_back(&not_null(text, "stop text"));
    options.special = o.special != 0;
    options.context_shift = o.context_shift != 0;
    options.keep = o.keep;
    return options;
}

ordo_stop_reason reason_of(ordo::StopReason reason) {
    switch (reason) {
    case ordo::StopReason::max_tokens:
        return ORDO_STOP_MAX_TOKENS;
    case ordo::StopReason::end_of_text:
        return ORDO_STOP_END_OF_TEXT;
    case ordo::StopReason::stop_text:
        return ORDO_STOP_TEXT;
    case ordo::StopReason::full:
        return ORDO_STOP_FULL;
    case ordo::StopReason::callback:
        break;
    }
    return ORDO_STOP_CALLBACK;
}

// The size of the structure that the caller has.
template <class T>
std::size_t size_of(const T& to, const char* what) {
    if (to.size < sizeof(std::size_t) || to.size > sizeof to)
        throw Error(ErrorCode::usage, std::string(what) + ": size: expected sizeof, " + std::to_string(sizeof to) +
                                          " bytes, found " + std::to_string(to.size));
    return to.size;
}

// The fields that the caller's structure has.
template <class T>
void write(const T& all, T& to, const char* what) {
    const std::size_t size = size_of(to, what);
    std::memcpy(static_cast<void*>(&to), &all, size);
    to.size = size;
}

void write(const ordo::Generation& done, ordo_generation& to) {
    write<ordo_generation>({sizeof to, reason_of(done.reason), done.prompt_tokens, done.new_tokens,
                            done.prefill_seconds, done.decode_seconds},
                           to, "result");
}

} // namespace

struct ordo_writer {
    ordo_writer(const ordo::Model& model, std::string_view prompt, const ordo::GenerateOptions& options)
        : chunk(options.session.chunk), continuation(model, prompt, {options, false}, [this](std::string_view text) {
              piece += text;
              return true;
          }) {}
    int chunk;
    std::string piece = {};
    std::optional<ordo::Generation> done = {};
    ordo::Continuation continuation;
};

int ordo_abi_version(void) {
    return ORDO_ABI_VERSION;
}
const char* ordo_version(void) {
    return ordo::version().data();
}
const char* ordo_error_text(void) {
    return last_error.text.data();
}
ordo_status ordo_error_status(void) {
    return last_error.status;
}

// ---- Defaults ---------------------------------------------------------------------------------

void ordo_load_options_defaults(ordo_load_options* options) {
    if (options != nullptr) *options = {sizeof *options, nullptr, 0, nullptr, 0, nullptr, nullptr, nullptr};
}
void ordo_session_options_defaults(ordo_session_options* options) {
    const ordo::SessionOptions own;
    if (options != nullptr) *options = {sizeof *options, own.capacity, own.chunk, own.first_position, 0, 0, 0};
}
void ordo_sampling_defaults(ordo_sampling* s) {
    if (s != nullptr) *s = sampling_from({});
}
ordo_status ordo_model_sampling(const ordo_model* model, ordo_sampling* sampling) {
    return status_of([&] {
        write(sampling_from(not_null(model, "model").model.sampling()), not_null(sampling, "sampling"), "sampling");
    });
}
void ordo_generate_options_defaults(ordo_generate_options* options) {
    const ordo::GenerateOptions own;
    if (options != nullptr) *options = {sizeof *options, own.max_tokens, nullptr, nullptr, nullptr, 0, 0, 0, own.keep};
}

// ---- Models -----------------------------------------------------------------------------------

ordo_model* ordo_model_load(const char* path, const ordo_load_options* options) {
    return guarded<ordo_model*>(nullptr, [&] {
        const ordo_load_options given = read(options, ordo_load_options_defaults, "load options");
        ordo::LoadOptions wanted;
        wanted.encoding = text_or_empty(given.encoding);
        wanted.force_encoding = given.force_encoding != 0;
        wanted.dtype = text_or_empty(given.dtype);
        wanted.max_memory = given.max_memory;
        wanted.rope = text_or_empty(given.rope);
        if (given.on_warning != nullptr)
            wanted.on_warning = [&](std::string_view text) { given.on_warning(std::string(text).c_str(), given.user); };
        return new ordo_model{ordo::Model::load(&not_null(path, "path"), wanted)};
    });
}
void ordo_model_free(ordo_model* model) {
    delete model;
}
ordo_model* ordo_model_with_encoding(const ordo_model* model, const char* spec) {
    return guarded<ordo_model*>(
        nullptr, [&] { return new ordo_model{not_null(model, "model").model.with_encoding(&not_null(spec, "spec"))}; });
}
ptrdiff_t ordo_weights_file(const char* name, char* out, size_t capacity) {
    return guarded<ptrdiff_t>(
        -1, [&] { return copy_text(ordo::weights_file(&not_null(name, "name")).string(), out, capacity); });
}

int32_t ordo_model_vocab_size(const ordo_model* model) {
    return guarded(-1, [&] { return not_null(model, "model").model.vocab_size(); });
}
int32_t ordo_model_context(const ordo_model* model) {
    return guarded(-1, [&] { return not_null(model, "model").model.context(); });
}
int32_t ordo_model_start_of_text(const ordo_model* model) {
    return guarded(-1, [&] { return not_null(model, "model").model.start_of_text(); });
}
int32_t ordo_model_end_of_text(const ordo_model* model) {
    return guarded(-1, [&] { return not_null(model, "model").model.end_of_text(); });
}
ptrdiff_t ordo_model_encoding(const ordo_model* model, char* out, size_t capacity) {
    return guarded<ptrdiff_t>(-1, [&] { return copy_text(not_null(model, "model").model.encoding(), out, capacity); });
}

ptrdiff_t ordo_encode(const ordo_model* model, const char* text, size_t length, int32_t flags, int32_t* out,
                      size_t capacity) {
    return guarded<ptrdiff_t>(-1, [&] {
        if ((flags & ~(ORDO_SPECIAL | ORDO_START)) != 0)
            throw Error(ErrorCode::usage,
                        "encode: flags: expected a sum of ORDO_SPECIAL and ORDO_START, found " + std::to_string(flags));
        const ordo::EncodeOptions options{(flags & ORDO_SPECIAL) != 0, (flags & ORDO_START) != 0};
        return copy_out(not_null(model, "model").model.encode(text_of(text, length), options), out, capacity);
    });
}
ptrdiff_t ordo_decode(const ordo_model* model, const int32_t* tokens, size_t count, char* out, size_t capacity) {
    return guarded<ptrdiff_t>(-1, [&] {
        return copy_out(not_null(model, "model").model.decode(span_of(tokens, count, "tokens")), out, capacity);
    });
}

// ---- Sessions ---------------------------------------------------------------------------------

ordo_session* ordo_session_new(const ordo_model* model, const ordo_session_options* options) {
    return guarded<ordo_session*>(nullptr, [&] {
        const ordo_session_options given = read(options, ordo_session_options_defaults, "session options");
        return new ordo_session{ordo::Session(not_null(model, "model").model, session_options_of(given))};
    });
}
void ordo_session_free(ordo_session* session) {
    delete session;
}

const float* ordo_session_feed(ordo_session* session, const int32_t* tokens, size_t count) {
    return guarded<const float*>(
        nullptr, [&] { return not_null(session, "session").session.feed(span_of(tokens, count, "tokens")).data(); });
}
ordo_status ordo_session_feed_all(ordo_session* session, const int32_t* tokens, size_t count,
                                  ordo_logits_callback on_logits, void* user) {
    return status_of([&] {
        if (on_logits == nullptr) throw Error(ErrorCode::usage, "on_logits: expected a function, found NULL");
        not_null(session, "session")
            .session.feed_all(span_of(tokens, count, "tokens"), {}, [&](int first, ordo::View logits) {
                for (int i = 0; i < logits.rows; ++i) on_logits(static_cast<size_t>(first + i), logits.row(i), user);
            });
    });
}
ordo_status ordo_session_feed_into(ordo_session* session, const int32_t* tokens, size_t count, float* out) {
    return status_of([&] {
        float* to = &not_null(out, "out");
        not_null(session, "session")
            .session.feed_all(span_of(tokens, count, "tokens"), {}, [&](int, ordo::View logits) {
                for (int i = 0; i < logits.rows; ++i) to = std::copy_n(logits.row(i), logits.cols, to);
            });
    });
}
int32_t ordo_session_size(const ordo_session* session) {
    return guarded(-1, [&] { return not_null(session, "session").session.size(); });
}
int32_t ordo_session_capacity(const ordo_session* session) {
    return guarded(-1, [&] { return not_null(session, "session").session.capacity(); });
}
ordo_status ordo_session_rewind(ordo_session* session, int32_t size) {
    return status_of([&] { not_null(session, "session").session.rewind(size); });
}

// ---- Batches ----------------------------------------------------------------------------------

ordo_batch* ordo_batch_new(const ordo_model* model, int32_t max_sessions, int32_t max_tokens) {
    return guarded<ordo_batch*>(
        nullptr, [&] { return new ordo_batch{ordo::Batch(not_null(model, "model").model, max_sessions, max_tokens)}; });
}
void ordo_batch_free(ordo_batch* batch) {
    delete batch;
}
const float* ordo_batch_feed(ordo_batch* batch, ordo_session* const* sessions, const int32_t* tokens, size_t count) {
    return guarded<const float*>(nullptr, [&] {
        ordo_batch& own = not_null(batch, "batch");
        std::vector<ordo::Session*> all;
        for (ordo_session* const each : span_of(sessions, count, "sessions"))
            all.push_back(&not_null(each, "session").session);
        const ordo::View logits = own.batch.feed(all, span_of(tokens, count, "tokens"));
        own.logits.clear();
        for (int i = 0; i < logits.rows; ++i)
            own.logits.insert(own.logits.end(), logits.row(i), logits.row(i) + logits.cols);
        return own.logits.data();
    });
}

// ---- Sampling and generation ------------------------------------------------------------------

ordo_sampler* ordo_sampler_new(const ordo_sampling* sampling, int32_t vocab_size) {
    return guarded<ordo_sampler*>(nullptr, [&] {
        const ordo_sampling given = read(sampling, ordo_sampling_defaults, "sampling");
        return new ordo_sampler{ordo::Sampler(sampling_of(given), vocab_size), vocab_size};
    });
}
void ordo_sampler_free(ordo_sampler* sampler) {
    delete sampler;
}
int32_t ordo_sample(ordo_sampler* sampler, const float* logits, const int32_t* history, size_t count, uint64_t draw) {
    return guarded(-1, [&] {
        ordo_sampler& own = not_null(sampler, "sampler");
        return own.sampler.sample(span_of(logits, static_cast<std::size_t>(own.vocab_size), "logits"),
                                  span_of(history, count, "history"), draw);
    });
}

ordo_status ordo_generate(const ordo_model* model, const char* prompt, const ordo_generate_options* options,
                          ordo_text_callback on_text, void* user, ordo_generation* result) {
    return status_of([&] {
        const ordo_generate_options given = read(options, ordo_generate_options_defaults, "generate options");
        if (result != nullptr) size_of(*result, "result");
        std::function<bool(std::string_view)> emit;
        if (on_text != nullptr)
            emit = [=](std::string_view text) { return on_text(text.data(), text.size(), user) != 0; };
        const ordo::Generation done = ordo::generate(not_null(model, "model").model, &not_null(prompt, "prompt"),
                                                     generate_options_of(given), emit);
        if (result != nullptr) write(done, *result);
    });
}

ordo_writer* ordo_writer_new(const ordo_model* model, const char* prompt, size_t length,
                             const ordo_generate_options* options) {
    return guarded<ordo_writer*>(nullptr, [&] {
        const ordo_generate_options given = read(options, ordo_generate_options_defaults, "generate options");
        return new ordo_writer(not_null(model, "model").model, text_of(prompt, length), generate_options_of(given));
    });
}
void ordo_writer_free(ordo_writer* writer) {
    delete writer;
}
ptrdiff_t ordo_writer_next(ordo_writer* writer, const char** text, ordo_generation* result) {
    return guarded<ptrdiff_t>(-1, [&] {
        ordo_writer& own = not_null(writer, "writer");
        const char*& out = not_null(text, "text");
        if (result != nullptr) size_of(*result, "result");
        out = nullptr;
        own.piece.clear();
        if (own.done) {
            if (result != nullptr) write(*own.done, *result);
            return std::ptrdiff_t{0};
        }
        if (!own.continuation.feed_prompt(own.chunk) && !own.continuation.step()) own.done = own.continuation.finish();
        out = own.piece.data();
        return static_cast<std::ptrdiff_t>(own.piece.size());
    });
}
