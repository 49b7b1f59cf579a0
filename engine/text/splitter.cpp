// SPDX-License-Identifier: MIT
#include "text/splitter.h"

#include "core/error.h"
#include "text/normalizer.h"
#include "text/unicode.h"

namespace ordo {

Behaviour behaviour_of(const JsonValue& component, const std::string& where) {
    static constexpr std::string_view names[] = {"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext",
                                                 "Contiguous"};
    const std::string& name = get_string(component, "behavior", where);
    for (std::size_t i = 0; i < std::size(names); ++i)
        if (name == names[i]) return static_cast<Behaviour>(i);
    fail(ErrorCode::model, where, ": behavior: \"", printable(name), "\" is not supported");
}

bool Splitter::joins(const Segment& next) const {
    switch (behaviour_) {
    case Behaviour::merged_with_previous:
        return !held_->match && next.match;
    case Behaviour::merged_with_next:
        return held_->match && !next.match;
    case Behaviour::contiguous:
        return held_->match == next.match;
    default:
        return false;
    }
}

void Splitter::segment(std::size_t begin, std::size_t end, bool match) {
    const Segment next{begin, end, match};
    if (held_ && joins(next)) {
        held_->end = end;
        // A joined match is not extended further.
        if (behaviour_ != Behaviour::contiguous) finish();
        return;
    }
    finish();
    held_ = next;
}

void Splitter::finish() {
    if (held_) emit(*held_);
    held_.reset();
}

void Splitter::emit(const Segment& segment) {
    if (segment.end == segment.begin || (segment.match && behaviour_ == Behaviour::removed)) return;
    sink_({whole_.text.substr(segment.begin, segment.end - segment.begin), whole_.first && segment.begin == 0});
}

MetaspaceOptions metaspace_options(const JsonValue& c, const std::string& where) {
    MetaspaceOptions options;
    options.mark = get_string(c, "replacement", where);
    if (options.mark.empty() || unicode::first_char(options.mark).length != options.mark.size())
        fail(ErrorCode::model, where, ": replacement: expected one character, found \"", printable(options.mark), '"');
    options.split = get_bool_or(c, "split", where, true);
    if (!is_null(c, "prepend_scheme")) {
        const std::string& scheme = get_string(c, "prepend_scheme", where);
        if (scheme != "always" && scheme != "first" && scheme != "never")
            fail(ErrorCode::model, where, ": prepend_scheme: expected always, first or never, found \"",
                 printable(scheme), '"');
        options.scheme = scheme == "always"  ? MetaspaceOptions::Scheme::always
                         : scheme == "first" ? MetaspaceOptions::Scheme::first
                                             : MetaspaceOptions::Scheme::never;
    }
    if (!get_bool_or(c, "add_prefix_space", where, true)) options.scheme = MetaspaceOptions::Scheme::never;
    return options;
}

} // namespace ordo
