// SPDX-License-Identifier: MIT
#include "text/regex.h"

#include "core/error.h"
#include "core/thread_stack.h"
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
struct FreeMatchContext {
    void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
};
struct FreeJitStack {
    void operator()(pcre2_jit_stack* stack) const { pcre2_jit_stack_free(stack); }
};
struct FreeContext {
    void operator()(pcre2_compile_context* context) const { pcre2_compile_context_free(context); }
};

// Limits of the interpreter, which runs if the compiled code needs more than its 32 KiB of stack.
constexpr std::uint32_t heap_kilobytes = 16 << 10, deepest = 1 << 18;
// The limits of steps from one place of the text. PCRE2 does not report the steps taken. The limit is therefore doubled
// until it suffices, and each limit is charged in full. A step may scan the whole text, so that a place of a long text
// begins with fewer.
constexpr std::uint32_t first_steps = 4096, fewest_steps = 64, most_steps = std::uint32_t{1} << 30;
constexpr std::size_t scanned_bytes = std::size_t{1} << 26;
// PCRE2 calls back at each place that a search tries. A long pattern, or one that compares with a group, may take long
// at one place without a step: there it calls back at each item.
constexpr std::string_view callout = "(?C1)(?:", end_of_callout = ")";
constexpr std::size_t long_pattern = 2048;
constexpr std::size_t jit_bytes = std::size_t{32} << 10; // PCRE2's default

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
    pcre2_set_max_pattern_length(context.get(), longest_pattern + callout.size() + end_of_callout.size());
    pcre2_set_parens_nest_limit(context.get(), 51); // of the pattern 50
    const std::string whole = std::string(callout).append(pattern).append(end_of_callout);
    int error = 0;
    std::size_t offset = 0;
    const auto compiled = [&](std::uint32_t options) {
        return pcre2_compile(reinterpret_cast<PCRE2_SPTR>(whole.data()), whole.size(),
                             PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C |
                                 PCRE2_USE_OFFSET_LIMIT | options,
                             &error, &offset, context.get());
    };
    with_stack([&] {
        code_.reset(compiled(0));
        std::uint32_t references = 0;
        if (code_) pcre2_pattern_info(code_.get(), PCRE2_INFO_BACKREFMAX, &references);
        if (references > 0 || (code_ && pattern.size() > long_pattern))
            if (pcre2_real_code_8* const watched = compiled(PCRE2_AUTO_CALLOUT)) code_.reset(watched);
        // Without JIT (or without executable memory) the interpreter gives the same result.
        if (code_) pcre2_jit_compile(code_.get(), PCRE2_JIT_COMPLETE);
    });
    if (!code_ && error == PCRE2_ERROR_HEAP_FAILED) throw std::bad_alloc();
    if (!code_)
        fail(ErrorCode::model, where_, ": pattern '", printable(pattern), "': ", message_of(error), " at byte ",
             std::min(offset - std::min(offset, callout.size()), pattern.size()));
}

// ---- Searching ----------------------------------------------------------------------------------

namespace {

// The searches of one text. Each place is tried with few steps, and again with more if these are too few.
class Search {
public:
    Search(const pcre2_code* code, std::string_view text, std::string_view where, Allowance& allowance)
        : code_(code), text_(text), where_(where), allowance_(allowance),
          first_steps_(static_cast<std::uint32_t>(
              std::clamp<std::size_t>(scanned_bytes / (text.size() + 1), fewest_steps, first_steps))),
          match_(pcre2_match_data_create(1, nullptr)), context_(pcre2_match_context_create(nullptr)) {
        if (!match_ || !context_) throw std::bad_alloc();
        pcre2_set_match_limit(context_.get(), first_steps_);
        pcre2_set_depth_limit(context_.get(), deepest);
        pcre2_set_heap_limit(context_.get(), heap_kilobytes);
        pcre2_set_callout(context_.get(), at_place, this);
        if (has_stack(std::size_t{64} << 10)) return;
        stack_.reset(pcre2_jit_stack_create(jit_bytes, jit_bytes, nullptr)); // by default on the thread's own stack
        if (!stack_) throw std::bad_alloc();
        pcre2_jit_stack_assign(context_.get(), nullptr, stack_.get());
    }

    // The first match from a place on; false if there is none.
    bool next(std::size_t from) {
        while (from <= text_.size()) {
            allowance_.check_time(where_);
            int rc = run(from, PCRE2_UNSET);
            if (rc == PCRE2_ERROR_MATCHLIMIT) {
                from = place_;
                rc = insist(from);
            } else if (rc < 0) {
                return false;
            }
            if (rc >= 0) return true; // 0: the pattern has groups, whose places are not kept
            from = after(from);
        }
        return false;
    }
    std::size_t begin() const { return pcre2_get_ovector_pointer(match_.get())[0]; }
    std::size_t end() const { return pcre2_get_ovector_pointer(match_.get())[1]; }

private:
    static int at_place(pcre2_callout_block* block, void* user) {
        Search& own = *static_cast<Search*>(user);
        own.place_ = block->start_match;
        return ++own.called_ % 4 == 0 && own.allowance_.is_late() ? PCRE2_ERROR_CALLOUT : 0;
    }

    // Finds a match that begins at one of these places. The caller has checked the UTF-8, which PCRE2 would repeat at
    // each call.
    int run(std::size_t from, std::size_t last) {
        pcre2_set_offset_limit(context_.get(), last);
        int rc = call(from, PCRE2_NO_UTF_CHECK);
        if (rc == PCRE2_ERROR_JIT_STACKLIMIT) rc = call(from, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT);
        if (rc == PCRE2_ERROR_CALLOUT) allowance_.refuse_time(where_);
        if (rc < 0 && rc != PCRE2_ERROR_NOMATCH && rc != PCRE2_ERROR_MATCHLIMIT)
            fail(ErrorCode::limit, where_, ": a pattern on a text of ", text_.size(), " bytes: ", message_of(rc));
        return rc;
    }
    int call(std::size_t from, std::uint32_t options) {
        return pcre2_match(code_, reinterpret_cast<PCRE2_SPTR>(text_.data()), text_.size(), from, options, match_.get(),
                           context_.get());
    }
    // The place of the next character.
    std::size_t after(std::size_t place) const {
        do ++place;
        while (place < text_.size() && (static_cast<unsigned char>(text_[place]) & 0xc0) == 0x80);
        return place;
    }
    // Tries one place with as many steps as it needs.
    int insist(std::size_t place) {
        int rc = PCRE2_ERROR_MATCHLIMIT;
        for (std::uint32_t steps = first_steps_; rc == PCRE2_ERROR_MATCHLIMIT;) {
            steps = std::min(2 * steps, most_steps);
            allowance_.step(steps, where_);
            if (allowance_.is_late()) allowance_.refuse_time(where_);
            pcre2_set_match_limit(context_.get(), steps);
            rc = run(place, place);
        }
        pcre2_set_match_limit(context_.get(), first_steps_);
        return rc;
    }

    const pcre2_code* code_;
    std::string_view text_, where_;
    Allowance& allowance_;
    std::uint32_t first_steps_;
    std::unique_ptr<pcre2_match_data, FreeMatch> match_;
    std::unique_ptr<pcre2_match_context, FreeMatchContext> context_;
    std::unique_ptr<pcre2_jit_stack, FreeJitStack> stack_; // empty: the thread's
    std::size_t place_ = 0;                                // that is being tried
    std::uint32_t called_ = 0;
};

} // namespace

void Regex::each(std::string_view text, Allowance& allowance,
                 const std::function<void(std::size_t, std::size_t)>& found) const {
    Search search(code_.get(), text, where_, allowance);
    std::size_t last_end = text.npos;
    for (std::size_t at = 0; search.next(at);) {
        const std::size_t begin = search.begin(), end = search.end();
        if (begin > end) fail(ErrorCode::model, where_, ": a pattern whose match ends before it begins");
        if (begin == end && end == last_end) {
            at += at == text.size() ? 1 : utf8_length(text.substr(at));
            continue;
        }
        at = last_end = end;
        found(begin, end);
    }
}

} // namespace ordo
