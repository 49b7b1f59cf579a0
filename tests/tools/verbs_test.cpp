// SPDX-License-Identifier: MIT
// tokenize, logits, encodings and info. The alphabet model's expected output follows from its definition
// (models.h).
#include "encoding/base/model_encodings.h"
#include "encoding/base/registry.h"
#include "formats/gguf/file.h"
#include "model/model_file.h"
#include "tests/json.h"
#include "tests/model/small_models.h"
#include "tests/temp_dir.h"
#include "tests/tools/child.h"
#include "tests/tools/models.h"
#include "text/bpe_tokenizer.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <sstream>

namespace {

using namespace ordo;
using namespace ordo::test;

// ---- tokenize -----------------------------------------------------------------------------------------

TEST(CliTokenize, PrintsIdsAndTurnsThemBack) {
    EXPECT_EQ(out_of({"tokenize", "-p", "abc"}), "97 98 99\n");
    EXPECT_EQ(out_of({"tokenize", "-p", ""}), "\n");
    EXPECT_EQ(out_of({"tokenize"}, {.input = "a\n"}), "97 10\n"); // every byte counts
    EXPECT_EQ(out_of({"tokenize", "--decode", "97 98 99"}), "abc");
    EXPECT_EQ(out_of({"tokenize", "--decode", "97,98, 99"}), "abc");
    EXPECT_EQ(out_of({"tokenize", "--decode", "195"}), "\xc3");
    EXPECT_EQ(out_of({"tokenize", "-p", "<|endoftext|>", "--special"}), "256\n");
    EXPECT_EQ(out_of({"tokenize", "-p", "<|endoftext|>"}).substr(0, 7), "60 124 ");
    expect_error(run_program({"tokenize", "--decode", "257"}), 4, "257");
    expect_error(run_program({"tokenize", "--decode", "-1"}), 2, "-1");
}

TEST(CliTokenize, JsonHasAPieceForEachId) {
    const Json json = json_of({"tokenize", "--format", "json", "-p", "a\\\"\xc3\xa9\x1b"});
    EXPECT_EQ(json["ids"], (Json{97, 92, 34, 195, 169, 27}));
    EXPECT_EQ(json["pieces"], (Json{"a", "\\\\", "\"", "\\xc3", "\\xa9", "\x1b"}));
    EXPECT_EQ(json.size(), 2u);
    EXPECT_EQ(json_of({"tokenize", "--format", "json", "--decode", "195 169 255"})["text"], "é\\xff");
}

TEST(CliTokenize, LongTextsAreNoMatter) {
    for (const std::string& unit : {std::string("a"), std::string(" "), std::string("\xcc\x81")}) {
        std::string text;
        while (text.size() < (1 << 20)) text += unit;
        const std::string ids = out_of({"tokenize"}, {.input = text});
        EXPECT_EQ(static_cast<std::size_t>(std::count(ids.begin(), ids.end(), ' ')) + 1, text.size());
    }
}

// Tokens that share much with each other and with the text, but do not occur in it.
TEST(CliTokenize, TwentyThousandAddedTokensAreNoMatter) {
    Blueprint b = small_blueprint();
    BpeParts parts;
    for (int byte = 0; byte < 256; ++byte) parts.tokens.emplace_back(1, static_cast<char>(byte));
    const auto add = [&](std::string content) {
        parts.added.push_back({static_cast<Token>(256 + parts.added.size()), std::move(content), false});
    };
    for (int i = 0; i < 20'000; ++i) add(std::string(250, 'a') + std::to_string(10'000 + i));
    for (std::size_t n = 1; n < 254; ++n) add(std::string(n, 'a') + "b"), add("x" + std::string(n, 'y') + "y");
    b.vocab_size = static_cast<int>(256 + parts.added.size());
    ModelFile file{b, "none", make_bpe_tokenizer(parts)->to_json(), {}, tensor_list(b), {}};
    TensorMemory tensors(file.specs);
    for (std::size_t i = 0; i < file.specs.size(); ++i) file.values.push_back(tensors.view(i));
    const TempDir dir;
    write_model(dir / "m", file);
    for (const char* unit : {"a", "xz"}) {
        std::string text;
        while (text.size() < (1 << 20)) text += unit;
        const Outcome outcome = run_program({"tokenize", "-m", (dir / "m").string()}, {.input = text});
        expect_success(outcome);
        EXPECT_EQ(static_cast<std::size_t>(std::count(outcome.out.begin(), outcome.out.end(), ' ')) + 1, text.size());
        expect_in_time(outcome, 2);
    }
}

// A tokenizer alone: in a folder, as a file, and as a GGUF without tensors.
TEST(CliTokenize, NeedsATokenizerAlone) {
    const TempDir dir;
    test::put_file(dir / "tokenizer.json",
                   test::file_content("tests/text/tokenizers/template-with-foreign-keys/tokenizer.json"));
    std::filesystem::copy_file(dir / "tokenizer.json", dir / "renamed");
    for (const std::string& path :
         {dir.path().string(), (dir / "tokenizer.json").string(), (dir / "renamed").string()}) {
        EXPECT_EQ(out_of({"tokenize", path, "-p", "ab<s>", "--special"}), "97 98 256\n");
        EXPECT_EQ(out_of({"tokenize", path, "--decode", "97 98"}), "ab");
    }
    const Outcome said = run_program({"tokenize", dir.path().string(), "-p", "ab", "-v"});
    EXPECT_NE(said.err.find("'use_regex', which are ignored"), std::string::npos) << said.err;
    EXPECT_EQ(run_program({"tokenize", dir.path().string(), "-p", "ab"}).err, "");
    const std::vector<std::string> tokens = {"<unk>", "<s>", "</s>", "\u2581", "a", "b"};
    write_gguf(dir / "v.gguf",
               {{"tokenizer.ggml.model", GgufValue::of("llama")},
                {"tokenizer.ggml.tokens", GgufValue::of(tokens)},
                {"tokenizer.ggml.scores", GgufValue::of(std::vector<float>(tokens.size()))}},
               {});
    EXPECT_EQ(out_of({"tokenize", (dir / "v.gguf").string(), "-p", "ab"}), "3 4 5\n");
    write_gguf(dir / "none.gguf", {{"general.architecture", GgufValue::of("llama")}}, {});
    expect_error(run_program({"tokenize", (dir / "none.gguf").string(), "-p", "ab"}), 3, "has no tokenizer");
    std::filesystem::create_directory(dir / "empty");
    expect_error(run_program({"tokenize", (dir / "empty").string(), "-p", "ab"}), 3,
                 "expected a tokenizer, found none");
}

// A GGUF with 40 GiB of weights, which take no blocks on the disk, and a directory with as many.
TEST(CliTokenize, ReadsNoWeights) {
    const TempDir dir;
    constexpr std::uint64_t floats = std::uint64_t{10} << 30;
    const auto number = [](std::uint64_t value, int bytes) {
        std::string text;
        for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> 8 * i & 255);
        return text;
    };
    const auto named = [&](const std::string& text) { return number(text.size(), 8) + text; };
    std::string start = "GGUF" + number(3, 4) + number(1, 8) + number(3, 8); // a tensor and three entries
    start += named("tokenizer.ggml.model") + number(8, 4) + named("llama");
    start += named("tokenizer.ggml.tokens") + number(9, 4) + number(8, 4) + number(5, 8);
    for (const char* token : {"<unk>", "<s>", "</s>", "\u2581", "a"}) start += named(token);
    start += named("tokenizer.ggml.scores") + number(9, 4) + number(6, 4) + number(5, 8) + std::string(20, '\0');
    start += named("token_embd.weight") + number(2, 4) + number(1024, 8) + number(floats / 1024, 8) + number(0, 12);
    start.resize((start.size() + 31) / 32 * 32);
    put_file(dir / "large.gguf", start);
    std::filesystem::create_directory(dir / "folder");
    put_file(dir / "folder/config.json", R"({"model_type": "llama"})");
    put_file(dir / "folder/model.safetensors", "");
    put_file(dir / "folder/tokenizer.json", file_content("tests/text/tokenizers/byte-missing/tokenizer.json"));
    std::error_code error;
    std::filesystem::resize_file(dir / "large.gguf", start.size() + 4 * floats, error);
    if (!error) std::filesystem::resize_file(dir / "folder/model.safetensors", 4 * floats, error);
    if (error) GTEST_SKIP() << "no file of " << 4 * floats << " bytes here: " << error.message();
    for (const auto& [name, expected] : {std::pair{"large.gguf", "3 4\n"}, {"folder", "96\n"}}) {
        const Outcome outcome = run_program({"tokenize", (dir / name).string(), "-p", "a"});
        expect_success(outcome);
        EXPECT_EQ(outcome.out, expected);
        expect_in_time(outcome, 2);
        if (!is_instrumented()) {
            EXPECT_LT(outcome.peak_kilobytes, 100'000);
        }
    }
}

// ---- logits -------------------------------------------------------------------------------------------

TEST(CliLogits, AreThoseOfTheAlphabetModel) {
    const Json json = json_of({"logits", "--tokens", "97,120,33", "--all"});
    EXPECT_EQ(json["model"], "rope.safetensors");
    EXPECT_EQ(json["encoding"], "rope:theta=10000,pairing=adjacent,width=130");
    EXPECT_EQ(json["tokens"], (Json{97, 120, 33}));
    EXPECT_EQ(json["positions"], (Json{0, 1, 2}));
    ASSERT_EQ(json["logits"].size(), 3u);
    const std::vector<int> tokens{97, 120, 33};
    for (std::size_t row = 0; row < 3; ++row) {
        ASSERT_EQ(json["logits"][row].size(), 257u);
        for (int id = 0; id < 257; ++id) {
            const double expected = id == successor(tokens[row]) ? alphabet_logit() : 0;
            EXPECT_NEAR(json["logits"][row][id].get<double>(), expected, 1e-5);
        }
    }
    const Json last = json_of({"logits", "--tokens", "97,120,33"});
    EXPECT_EQ(last["positions"], (Json{2}));
    EXPECT_EQ(last["logits"], (Json{json["logits"][2]}));
}

TEST(CliLogits, ATextIsFedAsGenerateFeedsIt) {
    EXPECT_EQ(json_of({"logits", "-p", "ab"})["tokens"], (Json{256, 97, 98}));
    EXPECT_EQ(json_of({"logits", "-p", ""})["tokens"], (Json{256}));
}

TEST(CliLogits, EveryFloatReadsBack) {
    const std::string text = out_of({"logits", model_file("random"), "--tokens", "1,2,3"});
    std::istringstream in(text.substr(text.find("[[") + 2));
    int count = 0;
    for (std::string field; std::getline(in, field, ',') && count < 257; ++count) {
        const double value = std::stod(field);
        const auto nearest = static_cast<float>(value);
        // Checks the shortest decimal of a float: it is closer to this float than to any other and has at most 9
        // digits.
        EXPECT_NEAR(value, nearest, std::abs(nearest) * 6e-8);
        EXPECT_LE(std::count_if(field.begin(), field.end(), [](char c) { return c >= '0' && c <= '9'; }), 11) << field;
    }
    EXPECT_EQ(count, 257);
}

std::vector<double> flat(const Json& logits) {
    std::vector<double> values;
    for (const Json& row : logits)
        for (const Json& value : row) values.push_back(value.get<double>());
    return values;
}

double difference(const Json& a, const Json& b) {
    const std::vector<double> x = flat(a["logits"]), y = flat(b["logits"]);
    if (x.size() != y.size()) return HUGE_VAL;
    double most = 0;
    for (std::size_t i = 0; i < x.size(); ++i) most = std::max(most, std::abs(x[i] - y[i]));
    return most;
}

TEST(CliLogits, ChunksAndShiftsDoWhatTheySay) {
    const std::vector<std::string> words{"logits", model_file("random"), "--tokens", "5,17,200,3,88,41,9", "--all"};
    const auto with = [&](std::vector<std::string> more) {
        more.insert(more.begin(), words.begin(), words.end());
        return json_of(more);
    };
    const Json whole = with({});
    EXPECT_LT(difference(whole, with({"--chunk", "1"})), 1e-4);
    EXPECT_LT(difference(whole, with({"--chunk", "3"})), 1e-4);
    const Json shifted = with({"--shift", "1000"});
    EXPECT_EQ(shifted["positions"], (Json{1000, 1001, 1002, 1003, 1004, 1005, 1006}));
    EXPECT_LT(difference(whole, shifted), 1e-4); // rope depends only on distances
    EXPECT_EQ(difference(whole, with({"-t", "3"})), 0);

    const std::vector<std::string> segments{"logits", model_file("segments"), "--tokens", "5,17,200", "--all"};
    const Json plain = json_of(segments);
    auto zeros = segments, ones = segments, shifted_words = segments;
    zeros.insert(zeros.end(), {"--segments", "0,0,0"});
    ones.insert(ones.end(), {"--segments", "0,0,1"});
    shifted_words.insert(shifted_words.end(), {"--shift", "5"});
    EXPECT_EQ(difference(plain, json_of(zeros)), 0);
    EXPECT_GT(difference(plain, json_of(ones)), 1e-2);
    EXPECT_GT(difference(plain, json_of(shifted_words)), 1e-2); // learned positions are not relative
}

TEST(CliLogits, RefusesWhatCannotBeFed) {
    expect_error(run_program({"logits", "--tokens", "257"}), 4, "257");
    expect_error(run_program({"logits", "--tokens", "2147483648"}), 2, "--tokens");
    expect_error(run_program({"logits", "--tokens", "1,2", "--segments", "0"}), 2,
                 "expected one for each of 2 tokens, found 1");
    expect_error(run_program({"logits", "--tokens", "1,2", "--segments", "0,2", "--encoding", "segment+learned"}), 4,
                 "segment");
    expect_error(run_program({"logits", "--tokens", "1", "--encoding", "learned", "--shift", "64"}), 4, "learned");
    expect_success(run_program({"logits", "--tokens", "1", "--encoding", "learned", "--shift", "63"}));
}

// ---- encodings -----------------------------------------------------------------------------------

TEST(CliEncodings, ListEveryRegisteredOne) {
    const Json list = json_of({"encodings", "--format", "json", "--ctx", "99"});
    ASSERT_EQ(list.size(), registered_encodings().size());
    for (std::size_t i = 0; i < list.size(); ++i) {
        const EncodingInfo& info = *registered_encodings()[i];
        EXPECT_EQ(list[i]["name"], info.name);
        EXPECT_EQ(list[i]["paper"], info.paper);
        const std::unique_ptr<Encoding> encoding = example_of(info);
        EXPECT_EQ(list[i]["shift_invariant"], encoding->shift_invariant());
        EXPECT_EQ(list[i]["trainable"], !encoding->tensors().empty());
        // Of the encodings with moment_rotate, these also rotate the keys in the cache.
        const bool in_place = info.name == "rope" || info.name == "xpos";
        if (in_place || !(encoding->moments() & moment_rotate) || info.name == "transformer-xl" ||
            info.name == "deberta") {
            EXPECT_EQ(list[i]["key_cache"], in_place ? "rotated" : "raw") << info.name;
        }
        const int reach = ModelEncodings(info.name, {128, 4, 32, 1, 99}).limits().positions;
        EXPECT_EQ(list[i]["max_position"], reach == std::numeric_limits<int>::max() ? Json(nullptr) : Json(reach));
        if (info.name == "learned") {
            EXPECT_EQ(reach, 99); // its table has a row for each position of the context
        }
        for (const char* format : {"text", "md", "csv"})
            EXPECT_NE(out_of({"encodings", "--format", format}).find(info.summary), std::string::npos);
        const std::string text = out_of({"encodings", std::string(info.name)});
        EXPECT_NE(text.find(info.paper), std::string::npos);
        for (const Parameter& parameter : parameters_of(info)) EXPECT_NE(text.find(parameter.name), std::string::npos);
    }
}

TEST(CliEncodings, SayWhatASpecMeansInAModel) {
    const Json json = json_of({"encodings", "rope:theta=500", "--dim", "24", "--heads", "3", "--format", "json"});
    EXPECT_EQ(json["spec"], "rope:theta=500,pairing=adjacent,width=8");
    EXPECT_EQ(json_of({"encodings", "learned", "-m", model_file("rope"), "--format", "json"})["max_position"],
              model_context);
    EXPECT_EQ(json_of({"encodings", "segment+learned", "--format", "json"})["encodings"].size(), 2u);
    const auto trainable = [](const char* spec) {
        return json_of({"encodings", spec, "--format", "json"})["encodings"][0]["trainable"].get<bool>();
    };
    EXPECT_TRUE(trainable("alibi:trained=yes"));
    EXPECT_FALSE(trainable("alibi:max=4"));
    EXPECT_TRUE(trainable("pattern(alibi,(alibi:trained=yes))")); // trainable outside layer 0
    EXPECT_NE(out_of({"encodings", "alibi:trained=yes"}).find("trained tensors: yes"), std::string::npos);
    EXPECT_NE(out_of({"encodings", "deberta"}).find("cached keys: raw"), std::string::npos);
    expect_error(run_program({"encodings", "roape"}), 2, "nearest: rope");
    expect_error(run_program({"encodings", "rope:base=3"}), 2, "base");
    expect_error(run_program({"encodings", "rope", "--dim", "10", "--heads", "4"}), 2, "divisor");
    expect_error(run_program({"encodings", "rope", "--format", "csv"}), 2, "text or json");
}

// ---- info ------------------------------------------------------------------------------------------------

TEST(CliInfo, ShowsWhatIsInTheFile) {
    const Json json = json_of({"info", model_file("rope"), "--format", "json"});
    EXPECT_EQ(json["file"], "rope.safetensors");
    EXPECT_EQ(json["bytes"], std::filesystem::file_size(model_file("rope")));
    EXPECT_EQ(json["encoding"], "rope:theta=10000,pairing=adjacent,width=130");
    EXPECT_EQ(json["blueprint"]["d_model"], 260);
    EXPECT_EQ(json["blueprint"]["final_softcap"], 0); // shown though the file does not set it
    EXPECT_EQ(json["tokenizer"]["vocab_size"], 257);
    EXPECT_EQ(json["record"]["seed"], "7");
    bool found = false;
    for (const Json& tensor : json["tensors"])
        if (tensor["name"] == "head.weight") {
            found = true;
            EXPECT_EQ(tensor["shape"], (Json{257, 260}));
            EXPECT_EQ(tensor["dtype"], "F32");
        }
    EXPECT_TRUE(found);

    // Compares with sha256sum of coreutils, if it is installed.
    FILE* pipe = ::popen(("sha256sum " + model_file("rope") + " 2>/dev/null").c_str(), "r");
    char digest[65] = {};
    const bool told = pipe && std::fread(digest, 1, 64, pipe) == 64;
    if (pipe) ::pclose(pipe);
    if (told) {
        EXPECT_EQ(json["sha256"], digest);
    }
    const std::string text = out_of({"info", model_file("rope")});
    for (const std::string& phrase : {std::string("sha256: ") + digest, std::string("d_model: 260"),
                                      std::string("[257, 260]"), std::string("seed: 7")})
        EXPECT_NE(text.find(phrase), std::string::npos) << phrase;
}

} // namespace
