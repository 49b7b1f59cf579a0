// SPDX-License-Identifier: MIT
// The C interface over ordo.h, and over nothing else.
#include "ordo_c.h"

#include "ordo.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

struct ordo_model {
    ordo::Model model;
};
struct ordo_session {
    ordo::Session session;
};
struct ordo_sampler {
    ordo::Sampler sampler;
    int vocab_size;
};

namespace {

using ordo::Error;
using ordo::ErrorCode;

// Of fixed size: an error is told even where memory is what there is none of.
struct LastError {
    ordo_status status = ORDO_OK;
    std::array<char, 1024> text{};
};
thread_local LastError last_error;

void remember(ordo_status status, const char* text) noexcept {
    last_error.status = status;
    const std::size_t length = std::min(std::strlen(text), last_error.text.size() - 1);
    std::memcpy(last_error.text.data(), text, length);
    last_error.text[length] = '\0';
}

// What compute() returns, or `failed` and the error remembered: no exception leaves the library.
template <class Result, class Compute>
Result guarded(Result failed, const Compute& compute) noexcept {
    try {
        return compute();
    } catch (const Error& error) {
        remember(static_cast<ordo_status>(error.code), error.what());
    } catch (const std::bad_alloc&) {
        remember(ORDO_LIMIT, "out of memory");
    } catch (const std::exception& error) {
        remember(ORDO_FAILURE, error.what());
    } catch (...) {
        remember(ORDO_FAILURE, "an exception that is none of std's");
    }
    return failed;
}

template <class Compute>
ordo_status status_of(const Compute& compute) noexcept {
    const bool done = guarded(false, [&] {
        compute();
        return true;
    });
    return done ? ORDO_OK : last_error.status;
}

template <class T>
T& not_null(T* pointer, const char* what) {
    if (pointer == nullptr) throw Error(ErrorCode::usage, std::string(what) + ": expected a pointer, found NULL");
    return *pointer;
}

template <class T>
std::span<T> span_of(T* data, std::size_t count, const char* what) {
    if (count != 0) not_null(data, what);
    return {data, count};
}

// A structure of the caller's, who may have been compiled when it had fewer fields: what it lacks is as by default.
template <class T>
T read(const T* given, void (*defaults)(T*), const char* what) {
    T all;
    defaults(&all);
    if (given == nullptr) return all;
    if (given->size < sizeof(std::size_t) || given->size > sizeof(T))
        throw Error(ErrorCode::usage, std::string(what) + ": size: expected at most " + std::to_string(sizeof(T)) +
                                          " (see its _defaults()), found " + std::to_string(given->size));
    std::memcpy(static_cast<void*>(&all), given, given->size);
    return all;
}

template <class From, class To>
std::ptrdiff_t copy_out(const From& from, To* out, std::size_t capacity) {
    const std::span<To> to = span_of(out, capacity, "out");
    std::copy_n(from.begin(), std::min(from.size(), to.size()), to.begin());
    return static_cast<std::ptrdiff_t>(from.size());
}

std::string text_or_empty(const char* text) {
    return text == nullptr ? std::string() : std::string(text);
}

ordo::Sampling sampling_of(const ordo_sampling& s) {
    return {s.temperature, s.top_k, s.top_p, s.min_p, s.repeat_penalty, s.repeat_last_n, s.seed};
}

ordo::SessionOptions session_options_of(const ordo_session_options& o) {
    ordo::SessionOptions options;
    options.capacity = o.capacity;
    options.chunk = o.chunk;
    options.first_position = o.first_position;
    if (o.reserved != 0) throw Error(ErrorCode::usage, "session options: expected 0 in reserved");
    if (o.half_cache != 0 && o.byte_cache != 0)
        throw Error(ErrorCode::usage, "session options: expected half_cache or byte_cache, found both");
    options.cache = o.half_cache != 0   ? ordo::CacheType::f16
                    : o.byte_cache != 0 ? ordo::CacheType::q8_0
                                        : ordo::CacheType::f32;
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

void write(const ordo::Generation& from, ordo_generation& to) {
    const ordo_generation all = {sizeof all,      reason_of(from.reason), from.prompt_tokens,
                                 from.new_tokens, from.prefill_seconds,   from.decode_seconds};
    const std::size_t size = to.size;
    if (size < sizeof(std::size_t) || size > sizeof all)
        throw Error(ErrorCode::usage,
                    "result: size: expected at most " + std::to_string(sizeof all) + ", found " + std::to_string(size));
    std::memcpy(static_cast<void*>(&to), &all, size);
    to.size = size;
}

} // namespace

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
    if (options != nullptr) *options = {sizeof *options, nullptr, 0, nullptr, 0};
}
void ordo_session_options_defaults(ordo_session_options* options) {
    const ordo::SessionOptions own;
    if (options != nullptr) *options = {sizeof *options, own.capacity, own.chunk, own.first_position, 0, 0, 0};
}
void ordo_sampling_defaults(ordo_sampling* s) {
    const ordo::Sampling own;
    if (s != nullptr)
        *s = {sizeof *s, own.temperature,    own.top_k,         own.top_p,
              own.min_p, own.repeat_penalty, own.repeat_last_n, own.seed};
}
void ordo_generate_options_defaults(ordo_generate_options* options) {
    if (options != nullptr)
        *options = {sizeof *options, ordo::GenerateOptions().max_tokens, nullptr, nullptr, nullptr, 0, 0};
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
        return new ordo_model{ordo::Model::load(&not_null(path, "path"), wanted)};
    });
}
void ordo_model_free(ordo_model* model) {
    delete model;
}

int32_t ordo_model_vocab_size(const ordo_model* model) {
    return guarded(-1, [&] { return not_null(model, "model").model.vocab_size(); });
}
int32_t ordo_model_context(const ordo_model* model) {
    return guarded(-1, [&] { return not_null(model, "model").model.context(); });
}
int32_t ordo_model_end_of_text(const ordo_model* model) {
    return guarded(-1, [&] { return not_null(model, "model").model.end_of_text(); });
}
ptrdiff_t ordo_model_encoding(const ordo_model* model, char* out, size_t capacity) {
    return guarded<ptrdiff_t>(-1, [&] {
        std::string spec = not_null(model, "model").model.encoding();
        spec += '\0';
        return copy_out(spec, out, capacity) - 1;
    });
}

ptrdiff_t ordo_encode(const ordo_model* model, const char* text, size_t length, int32_t special, int32_t* out,
                      size_t capacity) {
    return guarded<ptrdiff_t>(-1, [&] {
        const std::span<const char> bytes = span_of(text, length, "text");
        return copy_out(not_null(model, "model").model.encode({bytes.data(), bytes.size()}, special != 0), out,
                        capacity);
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
int32_t ordo_session_size(const ordo_session* session) {
    return guarded(-1, [&] { return not_null(session, "session").session.size(); });
}
int32_t ordo_session_capacity(const ordo_session* session) {
    return guarded(-1, [&] { return not_null(session, "session").session.capacity(); });
}
ordo_status ordo_session_rewind(ordo_session* session, int32_t size) {
    return status_of([&] { not_null(session, "session").session.rewind(size); });
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
        std::function<bool(std::string_view)> emit;
        if (on_text != nullptr)
            emit = [=](std::string_view text) { return on_text(text.data(), text.size(), user) != 0; };
        const ordo::Generation done = ordo::generate(not_null(model, "model").model, &not_null(prompt, "prompt"),
                                                     generate_options_of(given), emit);
        if (result != nullptr) write(done, *result);
    });
}
