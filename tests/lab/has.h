// SPDX-License-Identifier: MIT
// Checks of texts and of errors.
#pragma once

#include "core/error.h"

#include <gtest/gtest.h>

namespace ordo {

inline testing::AssertionResult has(std::string_view text, std::string_view part) {
    if (text.find(part) == text.npos) return testing::AssertionFailure() << '"' << part << "\" is not in: " << text;
    return testing::AssertionSuccess() << '"' << part << "\" is in: " << text;
}

// The message of the error that `run` throws; empty without one.
template <class Run>
std::string error_of(const Run& run) {
    try {
        run();
    } catch (const Error& error) {
        return error.what();
    }
    return {};
}

} // namespace ordo
