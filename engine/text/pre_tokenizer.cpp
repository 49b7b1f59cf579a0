// SPDX-License-Identifier: MIT
#include "text/pre_tokenizer.h"

#include "core/error.h"
#include "core/utf8.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <array>
#include <new>

namespace ordo {
namespace {

// \s is spelled White_Space, which is what it means to Hugging Face's library: PCRE2's own \s also
// takes U+180E, which Unicode has not called a space since 6.3. No alternative can match nothing and
// every character starts one, so an anchored match never fails; each is a run of one class, or steps
// back one character, so none takes more than linear time or PCRE2's default limits.
constexpr char pattern[] = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\p{White_Space}\p{L}\p{N}]+)"
                           R"(|\p{White_Space}+(?!\P{White_Space})|\p{White_Space}+)";

[[noreturn]] void fail_pcre2(int code) {
    std::array<unsigned char, 128> text{};
    pcre2_get_error_message(code, text.data(), text.size());
    fail(ErrorCode::failure, "PCRE2: ", reinterpret_cast<const char*>(text.data()));
}

} // namespace

void PreTokenizer::FreeCode::operator()(pcre2_real_code_8* code) const {
    pcre2_code_free(code);
}
void PreTokenizer::Walk::FreeMatch::operator()(pcre2_real_match_data_8* data) const {
    pcre2_match_data_free(data);
}

PreTokenizer::PreTokenizer() {
    int error = 0;
    std::size_t offset = 0;
    code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern), sizeof pattern - 1,
                              PCRE2_UTF | PCRE2_UCP | PCRE2_ANCHORED, &error, &offset, nullptr));
    if (!code_) fail_pcre2(error);
    // Where there is no JIT (or no memory that may be executed) the interpreter does the same.
    pcre2_jit_compile(code_.get(), PCRE2_JIT_COMPLETE);
}

PreTokenizer::Walk::Walk(const PreTokenizer& owner, std::string_view text)
    : owner_(owner), text_(text), match_(pcre2_match_data_create(1, nullptr)) {
    if (!match_) throw std::bad_alloc();
}

std::string_view PreTokenizer::Walk::next() {
    const std::size_t begin = at_;
    if (begin == text_.size()) return {};
    if (begin == valid_end_) { // look for the next stretch that is UTF-8, or for the end of one that is not
        while (const std::size_t length = utf8_length(text_.substr(valid_end_))) valid_end_ += length;
        if (valid_end_ == begin) {
            do ++at_;
            while (at_ < text_.size() && utf8_length(text_.substr(at_)) == 0);
            valid_end_ = at_;
            return text_.substr(begin, at_ - begin);
        }
        valid_begin_ = begin;
    }
    // The subject keeps its beginning from match to match but is checked only here, once: left to
    // PCRE2, the check would start afresh at every piece.
    const auto* subject = reinterpret_cast<PCRE2_SPTR>(text_.data() + valid_begin_);
    const int found = pcre2_match(owner_.code_.get(), subject, valid_end_ - valid_begin_, begin - valid_begin_,
                                  PCRE2_NO_UTF_CHECK, match_.get(), nullptr);
    if (found < 0) fail_pcre2(found);
    at_ = valid_begin_ + pcre2_get_ovector_pointer(match_.get())[1];
    return text_.substr(begin, at_ - begin);
}

} // namespace ordo
