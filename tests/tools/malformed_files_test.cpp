// SPDX-License-Identifier: MIT
// Gives every malformed model file (tests/malformed) to the program. Each must end with the manifest's exit code and
// phrase on one line, within the time and memory limits of a refusal.
#include "tests/malformed/files.h"
#include "tests/tools/child.h"

#include <gtest/gtest.h>
#include <map>
#include <sstream>

namespace {

using namespace ordo::test;

struct Expected {
    std::string stage, phrase;
    int code = 0;
};

std::map<std::string, Expected> read_manifest() {
    std::map<std::string, Expected> manifest;
    std::istringstream in(file_content("tests/malformed/manifest.csv"));
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with('#') || line.starts_with("file,")) continue;
        std::istringstream fields(line);
        std::string name, code;
        Expected expected;
        std::getline(fields, name, ',');
        std::getline(fields, expected.stage, ',');
        std::getline(fields, code, ',');
        std::getline(fields, expected.phrase);
        expected.code = std::stoi(code);
        manifest[name] = expected;
    }
    return manifest;
}

TEST(CliMalformed, EveryFileEndsAsTheManifestSays) {
    const std::map<std::string, Expected> manifest = read_manifest();
    const TempDir dir;
    for (const MalformedFile& file : malformed_files()) {
        SCOPED_TRACE(file.name);
        const Expected& expected = manifest.at(file.name);
        const std::filesystem::path path = dir / file.name;
        put_file(path, file.content());
        const bool loads = expected.stage != "read" && expected.stage != "load";

        const Outcome generated = run_program({"generate", path.string(), "-p", "a", "-n", "2", "-q"});
        if (expected.code == 0)
            expect_success(generated);
        else
            expect_error(generated, expected.code, expected.phrase);
        const std::uint64_t size = std::filesystem::file_size(path);
        expect_bounded(generated, size);
        if (loads) {
            const Outcome json = run_program({"info", path.string(), "-q", "--format", "json"});
            expect_success(json);
            expect_bounded(json, size);
        }
        const Outcome shown = run_program({"info", path.string(), "-q"});
        if (loads)
            expect_success(shown);
        else
            expect_error(shown, expected.code, expected.phrase);
        expect_bounded(shown, size);
        for (const char c : shown.out) EXPECT_TRUE(c == '\n' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f));
        std::filesystem::remove(path);
    }
}

} // namespace
