// SPDX-License-Identifier: MIT
// Passes bytes that arrive token by token on as text.
#pragma once

#include "rows.h"

namespace ordo {

// Passes on whole UTF-8 sequences, up to the first stop text. Bytes that may still become part of either are held back.
// Bytes that can never become UTF-8 are passed on unchanged.
class TextStream {
public:
    using Sink = std::function<bool(std::string_view)>; // false stops; may be empty
    // Pieces of at most longest_piece bytes cause no allocation. Throws Error(usage) for an empty stop text.
    TextStream(std::vector<std::string> stop, const Sink& sink, std::size_t longest_piece = 0);

    enum class State { open, stopped, cancelled }; // stopped by a stop text, cancelled by the sink
    State append(std::string_view bytes);
    // Ends the text: passes on bytes held back for a stop text, but not an incomplete sequence.
    State finish();

    std::size_t passed() const { return passed_; } // a prefix of the bytes that arrived

private:
    State pass(std::size_t n);
    std::size_t held_back() const;

    std::vector<std::string> stop_;
    const Sink& sink_;
    std::string pending_; // arrived, but not passed on
    std::size_t passed_ = 0;
    State state_ = State::open;
};

} // namespace ordo
