// SPDX-License-Identifier: MIT
// ordo bench and ordo info on what they refuse.
#include "tests/temp_dir.h"
#include "tests/tools/program.h"

#include <gtest/gtest.h>

namespace {

using namespace ordo::test;

TEST(CliBench, RefusesModelsThatDoNotDecodeByThemselves) {
    const auto bench = [](const std::string& family) {
        return run_program(
            {"bench", "-m", "tests/families/" + family, "-p", "4", "-n", "2", "-r", "1", "-t", "1", "-q"});
    };
    for (const char* family : {"t5", "t5-gated", "marian"}) expect_error(bench(family), 2, "found one with an encoder");
    expect_error(bench("bert"), 2, "found one that cannot decode");
    expect_success(bench("llama"));
}

// An index of shards is read in time linear in its length.
TEST(CliInfo, AnIndexOfManyTensorsIsReadAtOnce) {
    const TempDir dir;
    std::filesystem::copy("tests/families/llama", dir.path(), std::filesystem::copy_options::recursive);
    std::string index = "{\"weight_map\":{";
    for (int i = 0; i < 200'000; ++i)
        index += (i == 0 ? "\"t" : ",\"t") + std::to_string(i) + "\":\"model.safetensors\"";
    put_file(dir / "model.safetensors.index.json", index + "}}");
    std::filesystem::rename(dir / "model.safetensors", dir / "other.safetensors");
    const Outcome outcome = run_program({"info", dir.path().string()});
    expect_error(outcome, 5, "model.safetensors");
    expect_in_time(outcome, 4);
}

} // namespace
