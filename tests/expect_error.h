// SPDX-License-Identifier: MIT
// The errors of the library, in tests.
#pragma once

#include "ordo.h"

#include <functional>
#include <gtest/gtest.h>

namespace ordo {

// The error that the action throws: one line, written to what. No code if it throws none.
inline ErrorCode code_of(const std::function<void()>& action, std::string* what = nullptr) {
    try {
        action();
    } catch (const Error& error) {
        EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
        if (what != nullptr) *what = error.what();
        return error.code;
    }
    return {};
}

// Expects an Error with this code, whose line contains the phrase.
inline void expect_error(ErrorCode code, const std::string& phrase, const std::function<void()>& action) {
    std::string what;
    EXPECT_EQ(code_of(action, &what), code) << what << "; expected: " << phrase;
    EXPECT_NE(what.find(phrase), std::string::npos) << what << "; expected: " << phrase;
}

} // namespace ordo
