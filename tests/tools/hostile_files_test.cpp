// SPDX-License-Identifier: MIT
// Files that once crashed the program, or took minutes or gigabytes. Each ends within 2 s and 64 MiB + 4 x its size,
// with a correct result or an error of one line. The other kinds of such files are in tests/malformed.
#include "formats/gguf/file.h"
#include "model/model_file.h"
#include "tests/model/small_models.h"
#include "tests/tools/child.h"
#include "text/tokenizer.h"

#include <gtest/gtest.h>

namespace {

namespace fs = std::filesystem;
using namespace ordo;
using namespace ordo::test;

using Words = std::vector<std::string>;

Json list_of(const Json& part, int n) {
    return std::vector<Json>(static_cast<std::size_t>(n), part);
}
Json sequence(const std::string& key, const Json& parts) {
    return {{"type", "Sequence"}, {key, parts}};
}
Json replacing(const std::string& from, const std::string& to) {
    return {{"type", "Replace"}, {"pattern", {{"String", from}}}, {"content", to}};
}
Json split_at(const std::string& pattern) {
    return {{"type", "Split"}, {"pattern", {{"Regex", pattern}}}, {"behavior", "Isolated"}, {"invert", false}};
}

// The model's tokens are the letters from a to z, a space and <unk>.
class HostileFiles : public testing::Test {
protected:
    HostileFiles() {
        for (const char* name : {"config.json", "model.safetensors", "tokenizer.json"})
            put_file(dir_ / name, file_content(fs::path("tests/hostile/convert-padded") / name));
    }
    void change_tokenizer(const std::function<void(Json&)>& change) const {
        Json tokenizer = Json::parse(file_content("tests/hostile/convert-padded/tokenizer.json"));
        change(tokenizer);
        put_file(dir_ / "tokenizer.json", tokenizer.dump());
    }
    std::string folder() const { return dir_.path().string(); }

    // Runs the program within the limits.
    Outcome run(const Words& words, const std::string& text = {}) const {
        const Outcome outcome = run_program(words, {.input = text});
        std::uint64_t bytes = text.size();
        for (const auto& entry : fs::directory_iterator(dir_.path())) bytes += entry.file_size();
        expect_bounded(outcome, bytes);
        return outcome;
    }
    Outcome tokenize(const std::string& text = std::string(32, 'a')) const { return run({"tokenize", folder()}, text); }

    TempDir dir_;
};

std::string ids(std::size_t n) {
    std::string text = "0";
    while (text.size() < 2 * n - 1) text += " 0";
    return text + "\n";
}

TEST_F(HostileFiles, ATokenizerOfThirtyThousandComponents) {
    change_tokenizer([](Json& t) {
        t["pre_tokenizer"] = sequence("pretokenizers", list_of({{"type", "WhitespaceSplit"}}, 30'000));
    });
    expect_error(tokenize(), 3, "pretokenizers[512]: expected at most 512 components");
}

TEST_F(HostileFiles, ComponentsThatDoNothing) {
    change_tokenizer([](Json& t) {
        t["normalizer"] =
            sequence("normalizers", list_of({{"type", "Precompiled"}, {"precompiled_charsmap", nullptr}}, 1));
    });
    EXPECT_EQ(tokenize().out, ids(32));
    change_tokenizer([](Json& t) {
        const Json nothing = sequence("pretokenizers", Json::array());
        t["pre_tokenizer"] = sequence("pretokenizers", Json::array({{{"type", "WhitespaceSplit"}}, nothing}));
    });
    EXPECT_EQ(tokenize().out, ids(32));
}

TEST_F(HostileFiles, DecodersThatLengthen) {
    change_tokenizer(
        [](Json& t) { t["decoder"] = sequence("decoders", list_of(replacing("a", std::string(20, 'a')), 8)); });
    for (const char* verb : {"info", "tokenize"})
        expect_error(run({verb, folder()}, "aaaa"), 4, "tokenizer.json: decoder: expected 64 bytes to become at most");
}

TEST_F(HostileFiles, AddedTokensThatLengthen) {
    change_tokenizer([](Json& t) {
        t["normalizer"] = replacing("t", std::string(60'000, 't'));
        for (int i = 0; i < 20'000; ++i)
            t["added_tokens"].push_back({{"id", 28 + i},
                                         {"content", "t" + std::to_string(10'000 + i)},
                                         {"single_word", false},
                                         {"lstrip", false},
                                         {"rstrip", false},
                                         {"normalized", true},
                                         {"special", false}});
    });
    expect_error(tokenize(), 4, "tokenizer.json: added_tokens: expected 120000 bytes to become at most");
}

TEST_F(HostileFiles, PatternsThatTakeExponentialTime) {
    change_tokenizer([](Json& t) { t["pre_tokenizer"] = split_at("(?:a|a){22}[bc]"); });
    expect_error(tokenize(std::string(2'000, 'a')), 4, "a pattern on a text of 2000 bytes: expected at most");
}

TEST_F(HostileFiles, PatternsThatFillTheHeap) {
    change_tokenizer([](Json& t) { t["pre_tokenizer"] = split_at("(?:(a)|(a)(a)|((((((((((((b)))))))))))))+"); });
    expect_error(tokenize(std::string(1'000'000, 'a')), 4, "a pattern on a text of 1000000 bytes: heap limit exceeded");
}

// One word, newlines alone, and short lines, of 10 MB each.
TEST(LongTexts, TakeFourTimesTheirSize) {
    const TempDir dir;
    constexpr std::size_t size = 10'000'000;
    std::string lines;
    while (lines.size() < size) lines += "a\n";
    for (const std::string& text : {std::string(size, 'a'), std::string(size, '\n'), lines}) {
        put_file(dir / "text", text);
        for (const char* verb : {"tokenize", "generate", "logits", "embed", "perplexity"}) {
            if (text == lines && std::string(verb) == "embed") continue; // a vector for each line
            std::vector<std::string> words{verb, "-m", "weights/rope.safetensors", "-f", dir / "text"};
            if (std::string(verb) == "perplexity") words.insert(words.end(), {"--max-tokens", "1000", "-q"});
            const Outcome outcome = run_program(words);
            EXPECT_FALSE(outcome.died || outcome.hung) << verb;
            if (!is_instrumented()) {
                EXPECT_LT(outcome.peak_kilobytes, static_cast<long>(((64u << 20) + 4 * size) >> 10))
                    << verb << ' ' << text.substr(0, 2);
            }
        }
    }
}

// 512 tokens begin at each letter. Looking for each by its letters would take 131,000 steps there.
TEST_F(HostileFiles, TokensThatBeginEachOther) {
    change_tokenizer([](Json& t) {
        Json vocab = Json::array({Json::array({"<unk>", 0})});
        for (int i = 1; i <= 512; ++i)
            vocab.push_back(Json::array({std::string(static_cast<std::size_t>(i), 'a'), -i - 0.5}));
        t["model"] = {{"type", "Unigram"}, {"unk_id", 0}, {"vocab", vocab}};
    });
    std::string expected = "512";
    for (int i = 1; i < 1024; ++i) expected += " 512";
    EXPECT_EQ(tokenize(std::string(1 << 19, 'a')).out, expected + "\n");
}

TEST_F(HostileFiles, DecodersForManyTokens) {
    const int most = is_instrumented() ? 4 : 64; // a sanitizer's time would exceed the allowance
    change_tokenizer([&](Json& t) {
        t["decoder"] = sequence("decoders", list_of(replacing("x", "x"), most));
        Json& vocab = t["model"]["vocab"] = Json::object();
        for (int i = 0; i < 20'000; ++i) vocab["t" + std::to_string(i)] = i;
    });
    EXPECT_EQ(run({"tokenize", folder(), "--decode", "7 19999"}).out, "t7t19999");
    change_tokenizer([](Json& t) { t["decoder"] = sequence("decoders", list_of({{"type", "Fuse"}}, 10'000)); });
    expect_error(run({"info", folder()}), 3, "decoders[512]: expected at most 512 components");
}

// 100,000 marks that no tag surrounds.
TEST_F(HostileFiles, ATemplateOfManyMarks) {
    std::string text = "{{ messages[0]['role'] }}{% if false %}";
    for (int i = 0; i < 100'000; ++i) text += "<|im_start|>system\n{";
    text += " {% endif %}";
    put_file(dir_ / "chat_template.jinja", text);
    expect_success(run({"generate", folder(), "--chat", "-p", "abc", "-n", "1", "-q"}));
}

// The keys of each head once took a huge page each.
TEST_F(HostileFiles, ALongContextOfManyHeads) {
    Blueprint b = small_blueprint();
    b.vocab_size = 257;
    b.context = 1 << 22;
    b.n_layers = 1;
    b.d_model = b.n_heads = b.n_kv_heads = 128;
    b.d_head = 1;
    ModelFile file{b, "alibi", make_byte_tokenizer()->to_json(), {}, tensor_list(b), {}};
    TensorMemory tensors(file.specs);
    for (std::size_t i = 0; i < file.specs.size(); ++i) file.values.push_back(tensors.view(i));
    write_model(dir_ / "long", file);
    expect_success(run({"generate", (dir_ / "long").string(), "-p", "abc", "-n", "1", "-q"}));
}

// One byte of the file once became 16 in memory. Each list is within its own limit.
TEST_F(HostileFiles, ListsOfManyNumbers) {
    GgufEntries entries{{"general.architecture", GgufValue::of("llama")}};
    for (int i = 0; i < 200; ++i)
        entries.emplace_back("llama.x" + std::to_string(i), GgufValue::of_bytes(std::string(65'536, '\1')));
    write_gguf(dir_ / "m.gguf", entries, {});
    expect_error(run({"info", (dir_ / "m.gguf").string()}), 3, "expected at most 262144 numbers in all lists of");
}

// The final norm multiplies by 3.4e38. Its eight weights end the file.
TEST_F(HostileFiles, StatesThatAreNotFinite) {
    std::string weights = file_content(dir_ / "model.safetensors");
    for (std::size_t i = 1; i <= 8; ++i) weights.replace(weights.size() - 4 * i, 4, "\xc9\xc9\x7f\x7f");
    put_file(dir_ / "model.safetensors", weights);
    for (const char* verb : {"embed", "logits", "generate"})
        expect_error(run({verb, folder(), "-p", "abc"}), 3, "yields values that are not finite");
}

} // namespace
