// SPDX-License-Identifier: MIT
// Bytes that arrive token by token, passed on as text.
#pragma once

#include "ordo.h"

namespace ordo {

// Passes on whole UTF-8 sequences, and nothing from the first stop text on: what could still become
// part of either is held back. Bytes that can never become UTF-8 are passed on as they are.
class TextStream {
public:
    using Sink = std::function<bool(std::string_view)>; // false stops; may be empty
    // Pieces of at most longest_piece bytes cost no allocation. Throws Error(usage) for a stop text
    // that is empty.
    TextStream(std::vector<std::string> stop, const Sink& sink, std::size_t longest_piece = 0);

    enum class State { open, stopped, cancelled }; // stopped by a stop text, cancelled by the sink
    State append(std::string_view bytes);
    // No more will come: what was held back for a stop text is passed on. A sequence cut short is not.
    State finish();

    std::size_t passed() const { return passed_; } // bytes: the first of those that arrived

private:
    State pass(std::size_t n);
    std::size_t held_back() const;

    std::vector<std::string> stop_;
    const Sink& sink_;
    std::string pending_; // arrived and not passed on
    std::size_t passed_ = 0;
    State state_ = State::open;
};

} // namespace ordo
