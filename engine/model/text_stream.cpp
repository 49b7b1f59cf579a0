// SPDX-License-Identifier: MIT
#include "model/text_stream.h"

#include "core/error.h"
#include "core/utf8.h"

#include <algorithm>

namespace ordo {

TextStream::TextStream(std::vector<std::string> stop, const Sink& sink, std::size_t longest_piece)
    : stop_(std::move(stop)), sink_(sink) {
    std::size_t longest_stop = 0;
    for (const std::string& text : stop_) {
        if (text.empty()) fail(ErrorCode::usage, "stop: expected a text, found an empty one");
        longest_stop = std::max(longest_stop, text.size());
    }
    // At most a stop text and the three bytes of an incomplete sequence are held back.
    pending_.reserve(longest_stop + 3 + longest_piece);
}

// Passes on the first n pending bytes, or as many of them as are whole sequences.
TextStream::State TextStream::pass(std::size_t n) {
    n = utf8_complete_prefix(std::string_view(pending_).substr(0, n));
    if (n == 0) return state_;
    passed_ += n;
    if (sink_ && !sink_(std::string_view(pending_).substr(0, n))) state_ = State::cancelled;
    pending_.erase(0, n);
    return state_;
}

// The number of bytes at the end of the pending text that are a prefix of a stop text.
std::size_t TextStream::held_back() const {
    std::size_t longest = 0;
    for (const std::string& stop : stop_)
        for (std::size_t n = std::min(stop.size() - 1, pending_.size()); n > longest; --n)
            if (std::string_view(pending_).ends_with(std::string_view(stop).substr(0, n))) longest = n;
    return longest;
}

TextStream::State TextStream::append(std::string_view bytes) {
    if (state_ != State::open) return state_;
    pending_ += bytes;
    std::size_t first = std::string::npos;
    for (const std::string& stop : stop_) first = std::min(first, pending_.find(stop));
    if (first == std::string::npos) return pass(pending_.size() - held_back());
    pending_.resize(first);
    if (pass(first) == State::open) state_ = State::stopped;
    return state_;
}

TextStream::State TextStream::finish() {
    return state_ == State::open ? pass(pending_.size()) : state_;
}

} // namespace ordo
