// SPDX-License-Identifier: MIT
// No verb writes to a file that it reads, even if a folder or another file names that file. Ordo can read the output of
// convert.
#include "formats/gguf/export.h"
#include "tests/tools/child.h"
#include "tests/tools/models.h"

#include <gtest/gtest.h>

namespace {

namespace fs = std::filesystem;
using namespace ordo;
using namespace ordo::test;

using Words = std::vector<std::string>;

class CliReadFiles : public testing::Test {
protected:
    std::string path(const std::string& name) const { return (dir_ / name).string(); }
    // Tries each file of a folder as OUT: by its name, as a symbolic link, and as a hard link.
    void expect_kept(const std::string& in, const fs::path& folder, const Words& more = {}) {
        for (const auto& entry : fs::directory_iterator(folder)) {
            const fs::path file = entry.path();
            SCOPED_TRACE(file);
            const std::string before = file_content(file);
            fs::create_symlink(file, dir_ / "link");
            fs::create_hard_link(file, dir_ / "hard.safetensors");
            for (const std::string& out : {file.string(), path("link"), path("hard.safetensors")}) {
                Words words{"convert", in, out};
                words.insert(words.end(), more.begin(), more.end());
                expect_error(run_program(words), 2, "expected another file than ");
                EXPECT_TRUE(file_content(file) == before) << out;
            }
            fs::remove(dir_ / "link");
            fs::remove(dir_ / "hard.safetensors");
        }
    }

    TempDir dir_;
};

TEST_F(CliReadFiles, ConvertKeepsEachFileOfADirectory) {
    const fs::path model = dir_ / "model";
    fs::create_directory(model);
    for (const char* name : {"config.json", "model.safetensors", "tokenizer.json"})
        fs::copy_file(fs::path("tests/hostile/convert-padded") / name, model / name);
    put_file(model / "tokenizer_config.json", "{}");
    put_file(model / "generation_config.json", "{}");
    put_file(model / "chat_template.jinja", "x");
    expect_kept(model.string(), model);
    expect_kept(model.string(), model, {"--dtype", "f16"});
    // Any other name in the folder is accepted.
    for (int i = 0; i < 2; ++i) // the second run replaces the file
        expect_success(run_program({"convert", model.string(), (model / "f16.safetensors").string(), "-q"}));
}

TEST_F(CliReadFiles, ConvertKeepsEveryShard) {
    const fs::path model = dir_ / "model";
    fs::create_directory(model);
    fs::copy_file("tests/families/llama/config.json", model / "config.json");
    const Safetensors whole = Safetensors::open("tests/families/llama/model.safetensors");
    std::vector<RawTensor> shards[2];
    std::string map;
    for (std::size_t i = 0; i < whole.tensors().size(); ++i) {
        const TensorInfo& info = whole.tensors()[i];
        shards[i % 2].push_back({info.name, info.dtype, info.shape, info.bytes, [&](const ByteSink& sink) {
                                     std::vector<std::byte> bytes(info.bytes);
                                     whole.read_raw(info, bytes);
                                     sink(bytes);
                                 }});
        map += std::string(i == 0 ? "" : ",") + "\"" + info.name + "\":\"" + std::to_string(i % 2) + ".safetensors\"";
    }
    for (const int i : {0, 1}) write_raw_safetensors(model / (std::to_string(i) + ".safetensors"), shards[i], {});
    put_file(model / "model.safetensors.index.json", "{\"weight_map\":{" + map + "}}");
    expect_kept(model.string(), model, {"--dtype", "q8_0", "--no-accuracy"});
}

TEST_F(CliReadFiles, ConvertKeepsPartsAndTokenizersBesideAFile) {
    // A llama2.c file of dim 4, hidden 6, 1 layer, 2 heads, 1 key head, 3 tokens, 3 positions, as in llama2c.h.
    const fs::path folder = dir_ / "llama2c";
    fs::create_directory(folder);
    constexpr int floats = 3 * 4 + 4 + 4 * 4 + 2 * 2 * 4 + 4 * 4 + 4 + 3 * 6 * 4 + 4 + 3 * 2;
    const std::int32_t header[] = {4, 6, 1, 2, 1, 3, 3};
    std::string bytes(reinterpret_cast<const char*>(header), sizeof header), tokens("\x01\0\0\0", 4);
    put_file(folder / "model.bin", bytes + std::string(4 * floats, '\0'));
    for (const char c : {'a', 'b', 'c'}) tokens += std::string(4, '\0') + std::string("\x01\0\0\0", 4) + c;
    put_file(folder / "tokenizer.bin", tokens);
    expect_kept((folder / "model.bin").string(), folder);
    put_file(dir_ / "other.bin", tokens);
    expect_error(run_program({"convert", (folder / "model.bin").string(), path("other.bin"), "--tokenizer",
                              (folder / ".." / "other.bin").string()}),
                 2, "convert: OUT: expected another file than that of --tokenizer");
    EXPECT_EQ(file_content(dir_ / "other.bin"), tokens);
}

TEST_F(CliReadFiles, ATokenizerOfFewerTokensThanRowsIsConverted) {
    const std::string in = "tests/hostile/convert-padded";
    const Words prompt{"-p", "ab", "-n", "4", "--temp", "0", "-q"};
    const auto written = [&](const std::string& model) {
        Words words{"generate", "-m", model};
        words.insert(words.end(), prompt.begin(), prompt.end());
        return out_of(words);
    };
    const std::string expected = written(in);
    for (const Words& type : {Words{}, Words{"--dtype", "f32"}, Words{"--dtype", "f32", "--no-accuracy"}}) {
        Words words{"convert", in, path("a.safetensors"), "-q"};
        words.insert(words.end(), type.begin(), type.end());
        out_of(words);
        EXPECT_EQ(written(path("a.safetensors")), expected);
    }
    out_of({"convert", path("a.safetensors"), path("b.safetensors"), "-q"});
    EXPECT_EQ(written(path("b.safetensors")), expected);
}

// As llama.cpp's gguf-split writes the parts.
TEST_F(CliReadFiles, ConvertKeepsThePartsOfASplitModel) {
    const fs::path folder = dir_ / "split";
    fs::create_directory(folder);
    const Source source = open_source("tests/families/llama");
    const GgufExport whole = gguf_export(source, {});
    const auto half = whole.tensors.begin() + static_cast<std::ptrdiff_t>(whole.tensors.size() / 2);
    for (const char part : {0, 1}) {
        GgufEntries entries = part == 0 ? whole.metadata : GgufEntries();
        entries.emplace_back("split.no", GgufValue{GgufKind::u16, false, {part, 0}});
        entries.emplace_back("split.count", GgufValue{GgufKind::u16, false, {2, 0}});
        write_gguf(folder / ("m-0000" + std::to_string(part + 1) + "-of-00002.gguf"), entries,
                   {part == 0 ? whole.tensors.begin() : half, part == 0 ? half : whole.tensors.end()});
    }
    expect_kept((folder / "m-00001-of-00002.gguf").string(), folder, {"--dtype", "f16", "--no-accuracy"});
}

TEST_F(CliReadFiles, TheLabKeepsTheFilesThatItReads) {
    const auto run = [&](const std::string& model) {
        return run_program({"lab", "attention", "--quick", "--model", model, "--prompt", "abc", "--out", path("o"),
                            "-q", "--format", "csv"},
                           {.environment = {{"PATH", "/"}}});
    };
    EXPECT_EQ(run(model_file("rope")).code, 0);
    std::string model; // under a name that the lab writes
    for (const auto& entry : fs::directory_iterator(dir_ / "o"))
        if (entry.path().extension() == ".csv") model = entry.path().string();
    ASSERT_FALSE(model.empty());
    fs::copy_file(model_file("rope"), model, fs::copy_options::overwrite_existing);
    const std::string before = file_content(model);
    expect_error(run(model), 2, "expected another file than those that are read");
    EXPECT_TRUE(file_content(model) == before);
}

} // namespace
