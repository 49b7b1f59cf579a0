// SPDX-License-Identifier: MIT
#include "text/regex.h"

#include "core/error.h"
#include "core/utf8.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <new>

namespace ordo {
namespace {

struct FreeMatch {
    void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
};
struct FreeContext {
    void operator()(pcre2_compile_context* context) const { pcre2_compile_context_free(context); }
};

std::string message_of(int code) {
    std::array<unsigned char, 128> text{};
    pcre2_get_error_message(code, text.data(), text.size());
    return reinterpret_cast<const char*>(text.data());
}

} // namespace

void Regex::FreeCode::operator()(pcre2_real_code_8* code) const {
    pcre2_code_free(code);
}

Regex::Regex(std::string_view pattern, std::string_view where) : where_(where) {
    const std::unique_ptr<pcre2_compile_context, FreeContext> context(pcre2_compile_context_create(nullptr));
    if (!context) throw std::bad_alloc();
    pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
    pcre2_set_max_pattern_length(context.get(), 1 << 16);
    pcre2_set_parens_nest_limit(context.get(), 50);
    int error = 0;
    std::size_t offset = 0;
    code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                              PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &error, &offset,
                              context.get()));
    if (!code_ && error == PCRE2_ERROR_HEAP_FAILED) throw std::bad_alloc();
    if (!code_)
        fail(ErrorCode::model, where_, ": pattern '", printable(pattern), "': ", message_of(error), " at byte ",
             offset);
    // Where there is no JIT (or no memory that may be executed) the interpreter does the same.
    pcre2_jit_compile(code_.get(), PCRE2_JIT_COMPLETE);
}

void Regex::each(std::string_view text, const std::function<void(std::size_t, std::size_t)>& found) const {
    const std::unique_ptr<pcre2_match_data, FreeMatch> match(pcre2_match_data_create(1, nullptr));
    if (!match) throw std::bad_alloc();
    const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
    std::size_t last_end = text.npos;
    for (std::size_t at = 0; at <= text.size();) {
        // The caller has checked the UTF-8: PCRE2 would check it afresh for every match.
        int rc = pcre2_match(code_.get(), subject, text.size(), at, PCRE2_NO_UTF_CHECK, match.get(), nullptr);
        if (rc == PCRE2_ERROR_JIT_STACKLIMIT) // the interpreter has more room
            rc = pcre2_match(code_.get(), subject, text.size(), at, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, match.get(),
                             nullptr);
        if (rc == PCRE2_ERROR_NOMATCH) return;
        if (rc < 0)
            fail(ErrorCode::limit, where_, ": a pattern on a text of ", text.size(), " bytes: ", message_of(rc));
        const std::size_t* ends = pcre2_get_ovector_pointer(match.get());
        if (ends[0] > ends[1]) fail(ErrorCode::model, where_, ": a pattern whose match ends before it begins");
        if (ends[0] == ends[1] && ends[1] == last_end) {
            at += at == text.size() ? 1 : utf8_length(text.substr(at));
            continue;
        }
        at = last_end = ends[1];
        found(ends[0], ends[1]);
    }
}

} // namespace ordo
