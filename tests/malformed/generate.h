// SPDX-License-Identifier: MIT
// Writes files that a model loader must survive. What each must lead to stands in manifest.csv.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace ordo::test {

struct MalformedFile {
    std::string name;
    std::function<std::string()> content; // the same bytes every time
};

// S1 - S33 and S35, W1 - W4, and what an Ordo file adds to the format: its metadata.
std::vector<MalformedFile> malformed_files();

} // namespace ordo::test
