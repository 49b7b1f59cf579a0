// SPDX-License-Identifier: MIT
// Shared by the functions of the C interface: handles, errors, and structures of callers with older headers.
#pragma once

#include "ordo.h"
#include "ordo_c.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
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
struct ordo_batch {
    ordo::Batch batch;
    std::vector<float> logits = {}; // side by side
};

namespace ordo::c {

// Of fixed size, so that an error can be reported when no memory is left.
struct LastError {
    ordo_status status = ORDO_OK;
    std::array<char, 1024> text{};
};
inline thread_local LastError last_error;

inline void remember(ordo_status status, const char* text) noexcept {
    last_error.status = status;
    const std::size_t length = std::min(std::strlen(text), last_error.text.size() - 1);
    std::memcpy(last_error.text.data(), text, length);
    last_error.text[length] = '\0';
}

// Returns the value of compute(), or remembers the error and returns `failed`. No exception leaves the library.
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

// Reads a structure of the caller, who may have been compiled when it had fewer fields. Missing fields are defaults.
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

inline std::string text_or_empty(const char* text) {
    return text == nullptr ? std::string() : std::string(text);
}

inline std::string_view text_of(const char* text, std::size_t length) {
    const std::span<const char> bytes = span_of(text, length, "text");
    return {bytes.data(), bytes.size()};
}

// With a terminating 0, which is not counted.
inline std::ptrdiff_t copy_text(std::string text, char* out, std::size_t capacity) {
    text += '\0';
    return copy_out(text, out, capacity) - 1;
}

} // namespace ordo::c
