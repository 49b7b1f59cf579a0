// SPDX-License-Identifier: MIT
// Turns the matches in a text, and the text between them, into pieces.
#pragma once

#include "text/pre_tokenizer.h"

#include <optional>

namespace ordo {

// A match is dropped; becomes a piece of its own; is joined to the text before or after it, unless that is a match too;
// or is joined with adjacent matches.
enum class Behaviour { removed, isolated, merged_with_previous, merged_with_next, contiguous };

// The member "behavior" of a component.
Behaviour behaviour_of(const JsonValue& component, const std::string& where);

// Receives the segments of a piece in order, and passes on the resulting pieces.
class Splitter {
public:
    Splitter(Behaviour behaviour, const Piece& whole, const PieceSink& sink)
        : behaviour_(behaviour), whole_(whole), sink_(sink) {}

    void segment(std::size_t begin, std::size_t end, bool match);
    void finish();

private:
    struct Segment {
        std::size_t begin, end;
        bool match;
    };
    bool joins(const Segment& next) const;
    void emit(const Segment& segment);

    Behaviour behaviour_;
    Piece whole_;
    const PieceSink& sink_;
    std::optional<Segment> held_; // may still be joined with the next one
};

// The options of Metaspace, which is a pre-tokenizer and a decoder.
struct MetaspaceOptions {
    enum class Scheme { always, first, never };
    std::string mark; // one character, which represents a space
    Scheme scheme = Scheme::always;
    bool split = true;
};
MetaspaceOptions metaspace_options(const JsonValue& component, const std::string& where);

} // namespace ordo
