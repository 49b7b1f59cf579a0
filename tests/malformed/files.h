// SPDX-License-Identifier: MIT
// Writes files that a model loader must survive. manifest.csv lists the expected result of each.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace ordo::test {

struct MalformedFile {
    std::string name;
    std::function<std::string()> content; // the same bytes every time
};

// S1 - S33 and S35, W1 - W4, and the metadata that an Ordo file adds to the format.
std::vector<MalformedFile> malformed_files();

} // namespace ordo::test
