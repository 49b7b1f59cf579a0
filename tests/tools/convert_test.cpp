// SPDX-License-Identifier: MIT
// ordo convert writes the same model with its weights in another type. It loses nothing and leaves no half-written
// file.
#include "core/random.h"
#include "model/model_file.h"
#include "tests/json.h"
#include "tests/tools/child.h"
#include "tests/tools/models.h"

#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <pthread.h>

namespace {

namespace fs = std::filesystem;
using namespace ordo;
using namespace ordo::test;

std::vector<float> logits_of(const Model& model) {
    const Token tokens[] = {5, 17, 200, 3, 88, 41, 9};
    Session session(model);
    const std::span<const float> logits = session.feed(tokens);
    return {logits.begin(), logits.end()};
}

std::vector<float> logits_of(const fs::path& file, const std::string& dtype = {}) {
    LoadOptions options;
    options.dtype = dtype;
    return logits_of(Model::load(file, options));
}

// The tensor data of a file.
std::string data_of(const fs::path& path) {
    const Safetensors file = Safetensors::open(path);
    std::string data;
    for (const TensorInfo& info : file.tensors()) {
        std::vector<std::byte> bytes(info.bytes);
        file.read_raw(info, bytes);
        data += info.name + info.dtype + shape_text(info.shape);
        data.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    return data;
}

class CliConvert : public testing::Test {
protected:
    std::string in() const { return model_file("random"); }
    std::string out() const { return (dir_ / "out.safetensors").string(); }
    Outcome convert(std::vector<std::string> words) {
        words.insert(words.begin(), "convert");
        return run_program(words);
    }
    void expect_done(const std::vector<std::string>& words) {
        const Outcome outcome = convert(words);
        expect_success(outcome);
        EXPECT_EQ(outcome.out, "");
    }
    // Expects the error, no new file in the folder, and the old file unchanged.
    void expect_left_alone(const Outcome& outcome, int code, const std::string& phrase) {
        expect_error(outcome, code, phrase);
        EXPECT_EQ(file_content(out()), "old");
        EXPECT_EQ(std::distance(fs::directory_iterator(dir_.path()), fs::directory_iterator()), 1);
    }

    TempDir dir_;
};

TEST_F(CliConvert, RecordsTheSamplingOfAGenerationConfig) {
    const std::string config = (dir_ / "generation_config.json").string();
    std::ofstream(config) << R"({"do_sample": true, "temperature": 0.75, "top_k": 7, "repetition_penalty": 1.1})";
    expect_done({in(), out(), "--generation-config", config});
    const Sampling sampling = Model::load(out(), {}).sampling();
    EXPECT_EQ(sampling.temperature, 0.75f);
    EXPECT_EQ(sampling.top_k, 7);
    EXPECT_EQ(sampling.top_p, 1);
    EXPECT_EQ(sampling.repeat_penalty, 1.1f);
    EXPECT_NE(Model::load(out(), {}).metadata("sampling").find("\"repetition_penalty\":1.1}"), std::string::npos);
    EXPECT_EQ(data_of(out()), data_of(in()));
    expect_done({out(), (dir_ / "again").string(), "--dtype", "f16", "--no-accuracy"});
    EXPECT_EQ(Model::load(dir_ / "again", {}).sampling().top_k, 7);

    std::ofstream(config) << R"({"do_sample": true, "temperature": 2, "num_beams": 4})";
    const Outcome beams = convert({out(), (dir_ / "again").string(), "--generation-config", config});
    expect_success(beams);
    EXPECT_NE(beams.err.find("not applied: num_beams"), std::string::npos) << beams.err;
    EXPECT_EQ(Model::load(dir_ / "again", {}).sampling().temperature, 2);
    EXPECT_EQ(Model::load(dir_ / "again", {}).sampling().top_k, 50); // the default of transformers

    expect_error(convert({in(), (dir_ / "out.gguf").string(), "--generation-config", config}), 2,
                 "expected an Ordo file as OUT");
    std::ofstream(config) << R"({"temperature": 0.75})";
    expect_error(convert({in(), out(), "--generation-config", config}), 3, "expected an object with do_sample");
    expect_error(convert({in(), out(), "--generation-config", out()}), 2, "--generation-config");
    expect_error(convert({in(), out(), "--generation-config", dir_ / "absent"}), 5, "absent");
    EXPECT_EQ(Model::load(out(), {}).sampling().top_k, 7);
}

TEST_F(CliConvert, EveryTypeRunsAsTheFirstFileDoesInThatType) {
    for (const WeightType type : writable_types) {
        const std::string name(name_of(type));
        SCOPED_TRACE(name);
        expect_done({in(), out(), "--dtype", name});
        if (type == WeightType::f16 || type == WeightType::bf16)
            EXPECT_EQ(logits_of(out()).size(), 257u); // the file stores vectors as f16, so the bits differ
        else
            EXPECT_EQ(logits_of(out()), logits_of(in(), name));
        const std::string first = data_of(out());
        expect_done({out(), (dir_ / "again").string(), "--dtype", name});
        EXPECT_EQ(data_of(dir_ / "again"), first);
    }
}

TEST_F(CliConvert, HalvesAreTheNearest) {
    const Safetensors before = Safetensors::open(in());
    for (const auto& [name, step] : {std::pair("f16", 0x1p-11f), std::pair("bf16", 0x1p-8f)}) {
        expect_done({in(), out(), "--dtype", name, "--no-accuracy"});
        const Safetensors after = Safetensors::open(out());
        ASSERT_EQ(after.tensors().size(), before.tensors().size());
        for (const TensorInfo& info : after.tensors()) {
            EXPECT_EQ(info.dtype, name == std::string("f16") ? "F16" : "BF16");
            std::vector<float> a(info.elements), b(info.elements);
            before.read(*before.find(info.name), a);
            after.read(info, b);
            for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], std::abs(a[i]) * step + 1e-7);
        }
    }
}

TEST_F(CliConvert, TypesAreMixedAsTypeWithinSays) {
    expect_done({in(), out(), "--dtype", "q4_0"});
    const Safetensors file = Safetensors::open(out());
    const auto shape = [&](const char* name) { return file.find(name)->dtype + shape_text(file.find(name)->shape); };
    // 32 columns are one block: a scale of 2 bytes, then 32 or 16.
    EXPECT_EQ(shape("embedding.weight"), "U8[257, 34]");
    EXPECT_EQ(shape("head.weight"), "U8[257, 34]");
    EXPECT_EQ(shape("layers.0.attention.qkv.weight"), "U8[96, 18]");
    EXPECT_EQ(shape("final_norm.weight"), "F32[32]");
    expect_done({model_file("segments"), out(), "--dtype", "q8_0", "--no-accuracy"});
    EXPECT_EQ(Safetensors::open(out()).find("encoding.learned.weight")->dtype, "F32");
    expect_done({model_file("rope"), out(), "--dtype", "q8_0", "--no-accuracy"}); // 260 columns are not whole blocks
    EXPECT_EQ(Safetensors::open(out()).find("embedding.weight")->dtype, "F16");
}

TEST_F(CliConvert, InfoShowsWeightsAndWhatTheyCost) {
    expect_done({in(), out(), "--dtype", "q8_0"});
    const Outcome shown = run_program({"info", out(), "--format", "json"});
    expect_success(shown);
    const Json json = read_json(shown.out), old = read_json(run_program({"info", in(), "--format", "json"}).out);
    EXPECT_EQ(json["parameters"], old["parameters"]);
    int blocks = 0;
    for (const Json& tensor : json["tensors"]) {
        EXPECT_NE(tensor["dtype"], "U8");
        if (tensor["dtype"] != "q8_0") continue;
        ++blocks;
        EXPECT_EQ(tensor["bytes"].get<int>() * 32, tensor["shape"][0].get<int>() * tensor["shape"][1].get<int>() * 34);
    }
    EXPECT_EQ(blocks, 10);                  // embedding, head, and four of each layer
    EXPECT_EQ(json["record"]["seed"], "7"); // the metadata of the input stays
    EXPECT_EQ(json["record"]["accuracy.text"], "heldout.txt");
    EXPECT_EQ(json["record"]["accuracy.reference"], "random.safetensors (f32) as f32");
    EXPECT_EQ(json["record"]["accuracy.tokens"], "12"); // abcd, abca and xyzz after an end of text
    EXPECT_GT(std::stod(json["record"]["accuracy.kl"].get<std::string>()), 0);
    EXPECT_LT(std::stod(json["record"]["accuracy.kl"].get<std::string>()), 0.01);

    // New weights invalidate the old measurement. Unchanged weights keep it.
    expect_done({out(), (dir_ / "2").string(), "--dtype", "f16", "--no-accuracy"});
    EXPECT_FALSE(Safetensors::open(dir_ / "2").metadata().contains("accuracy.kl"));
    expect_done({out(), (dir_ / "3").string()});
    EXPECT_EQ(file_content(dir_ / "3"), file_content(out()));
    std::ofstream(dir_ / "config.json") << R"({"do_sample": true, "temperature": 1})";
    expect_done({out(), (dir_ / "4").string(), "--generation-config", dir_ / "config.json"});
    EXPECT_TRUE(Safetensors::open(dir_ / "4").metadata().contains("accuracy.kl"));
}

TEST_F(CliConvert, SaysSizesAndAccuracyOnStderr) {
    const Outcome loud = convert({in(), out(), "--dtype", "q8_0"});
    EXPECT_NE(loud.err.find(" bytes; "), std::string::npos) << loud.err;
    EXPECT_NE(loud.err.find("accuracy: KL "), std::string::npos) << loud.err;
    EXPECT_EQ(convert({in(), out(), "--dtype", "q8_0", "-q"}).err, "");
    put_file(dir_ / "text", "zyxw");
    const Outcome other =
        convert({in(), out(), "--dtype", "q8_0", "-f", (dir_ / "text").string(), "--max-tokens", "3"});
    EXPECT_NE(other.err.find("over 3 tokens of text"), std::string::npos) << other.err;
}

// Written without the writer of models, with tensors that Ordo does not know.
TEST_F(CliConvert, WhatItDoesNotKnowSurvives) {
    const Safetensors file = Safetensors::open(in());
    std::vector<RawTensor> tensors;
    for (const TensorInfo& info : file.tensors())
        tensors.push_back({info.name, info.dtype, info.shape, info.bytes, [&](const ByteSink& sink) {
                               std::vector<std::byte> bytes(info.bytes);
                               file.read_raw(info, bytes);
                               sink(bytes);
                           }});
    const auto add = [&](const std::string& name, const std::string& dtype, std::vector<std::int64_t> shape,
                         const std::string& data) {
        tensors.push_back({name, dtype, std::move(shape), data.size(),
                           [data](const ByteSink& sink) { sink(std::as_bytes(std::span(data))); }});
    };
    add("encoding.tide.weight", "F32", {1, 32}, std::string(128, '\x3f'));
    add("extra", "I64", {2}, "sixteen bytes...");
    Metadata metadata = file.metadata();
    metadata["moon"] = "1";
    write_raw_safetensors(dir_ / "tide", tensors, metadata);

    const Outcome outcome = convert({(dir_ / "tide").string(), out(), "--dtype", "q4_0"});
    expect_success(outcome);
    const Safetensors result = Safetensors::open(out());
    Metadata written = result.metadata();
    EXPECT_EQ(written.erase("weight_types"), 1u); // the types of the tensors' blocks
    EXPECT_GT(std::erase_if(written, [](const auto& entry) { return entry.first.starts_with("accuracy."); }), 0u);
    EXPECT_EQ(written, metadata);
    EXPECT_EQ(result.find("encoding.tide.weight")->dtype, "F32");
    EXPECT_EQ(result.find("extra")->dtype, "I64");
    std::string extra(16, ' ');
    result.read_raw(*result.find("extra"), std::as_writable_bytes(std::span(extra)));
    EXPECT_EQ(extra, "sixteen bytes...");
    EXPECT_EQ(result.find("layers.1.feed_forward.out.weight")->dtype, "U8");
}

// Ordo's names, layouts and parts replace those of the other format. The values stay the same.
TEST_F(CliConvert, ADirectoryOfHuggingFaceBecomesOneFile) {
    const auto logits = [](const std::string& model) {
        const Outcome outcome = run_program({"logits", model, "--tokens", "1,2,3"});
        expect_success(outcome);
        return read_json(outcome.out)["logits"];
    };
    for (const std::string family : {"tests/families/gpt2", "tests/families/bloom", "tests/families/qwen3"}) {
        expect_done({family, out()});
        EXPECT_EQ(logits(out()), logits(family)) << family;
        expect_success(run_program({"info", family}));
    }
}

TEST_F(CliConvert, RefusesBeforeItTouchesAnything) {
    put_file(out(), "old");
    expect_left_alone(convert({}), 2, "expected IN OUT");
    expect_left_alone(convert({in()}), 2, "expected IN OUT");
    expect_left_alone(convert({in(), ""}), 2, "expected IN OUT");
    expect_left_alone(convert({in(), out(), "third"}), 2, "unexpected argument 'third'");
    expect_left_alone(convert({in(), out(), "--dtype", "q5_0"}), 2, "expected f32|f16|bf16|q8_0|q4_0, found 'q5_0'");
    expect_left_alone(convert({dir_ / "absent", out(), "--dtype", "q8_0"}), 5, "absent");
    expect_left_alone(convert({dir_ / "absent", out()}), 5, "absent");
    expect_left_alone(convert({in(), dir_ / "absent" / "out", "--dtype", "f16"}), 5, "is not a directory");
    for (const std::string& other : {dir_.path().string(), (dir_ / "new/").string()})
        expect_left_alone(convert({in(), other, "--dtype", "f16"}), 2, "expected the name of a file");
    expect_left_alone(convert({dir_.path().string(), out(), "--dtype", "f16"}), 3, "a directory without config.json");
    expect_left_alone(convert({in(), out(), "--dtype", "f16", "--tokenizer", "README.md"}), 3, "README.md");
    expect_left_alone(convert({(dir_ / "out.gguf").string(), out()}), 5, "out.gguf");
    expect_left_alone(convert({in(), out(), "--dtype", "f16", "-f", dir_ / "absent"}), 5, "absent");
    put_file(out(), "old");
    expect_error(convert({"README.md", out(), "--dtype", "f16"}), 3, "README.md");
    expect_error(convert({"README.md", out()}), 3, "README.md");
    EXPECT_EQ(file_content(out()), "old");
}

TEST_F(CliConvert, WritesGgufWhereTheNameSaysSoInCapitals) {
    for (const char* name : {"OUT.GGUF", "Out.Gguf"}) {
        const std::string file = (dir_ / name).string();
        expect_success(run_program({"convert", "weights/rope.safetensors", file, "-q"}));
        EXPECT_TRUE(file_content(file).starts_with("GGUF"));
    }
}

// A file that does not load never replaces a file that does.
TEST_F(CliConvert, RefusesAModelThatDoesNotLoad) {
    const std::string good = file_content(in());
    const auto with = [&](const std::string& from, const std::string& to) {
        std::string bad = good;
        const std::size_t at = bad.find(from);
        EXPECT_NE(at, std::string::npos) << from;
        EXPECT_EQ(from.size(), to.size());
        bad.replace(at, to.size(), to);
        return bad;
    };
    std::string infinite = good;
    infinite.replace(infinite.size() - 4, 4, std::string("\0\0\x80\x7f", 4));
    put_file(out(), "old");
    const TempDir elsewhere;
    for (const std::string& bad :
         {with("rope:theta=500", "ropy:theta=500"), with("rope:theta=500", "rope:theta=-00"), infinite})
        for (const bool typed : {false, true}) {
            put_file(elsewhere / "bad.safetensors", bad);
            std::vector<std::string> words{(elsewhere / "bad.safetensors").string(), out()};
            if (typed) words.insert(words.end(), {"--dtype", "f16"});
            expect_left_alone(convert(words), 3, "bad.safetensors");
        }
}

TEST_F(CliConvert, RefusesToReplaceWhatItReads) {
    fs::copy_file(in(), out());
    fs::create_symlink(out(), dir_ / "link");
    fs::create_hard_link(out(), dir_ / "hard");
    const std::string before = file_content(out());
    for (const std::string& other : {out(), (dir_ / "link").string(), (dir_ / "hard").string(),
                                     (dir_.path() / "." / "out.safetensors").string()}) {
        expect_error(convert({out(), other, "--dtype", "f16"}), 2, "OUT: expected another file than that of IN");
        expect_error(convert({other, out()}), 2, "OUT: expected another file than that of IN");
    }
    EXPECT_EQ(file_content(out()), before);
}

TEST_F(CliConvert, RefusesToReplaceTheTextThatItMeasuresOn) {
    put_file(out(), "abcd");
    fs::create_symlink(out(), dir_ / "link");
    const std::string phrase = "OUT: expected another file than that of the text";
    expect_error(convert({in(), (dir_ / "link").string(), "--dtype", "f16", "-f", out()}), 2, phrase);
    expect_error(convert({in(), out(), "--dtype", "f16", "-f", (dir_ / "link").string()}), 2, phrase);
    expect_error(run_program({"convert", in(), out(), "--dtype", "f16", "-f", "/dev/stdin"}, {.input_file = out()}), 2,
                 phrase);
    expect_error(run_program({"convert", in(), out(), "--dtype", "f16", "-f", "-"}, {.input_file = out()}), 2, phrase);
    fs::rename(out(), dir_ / "heldout.txt");
    expect_error(run_program({"convert", in(), (dir_ / "heldout.txt").string(), "--dtype", "f16"},
                             {.environment = {{"ORDO_WEIGHTS", dir_.path().string()}}}),
                 2, phrase);
    EXPECT_EQ(file_content(dir_ / "heldout.txt"), "abcd");
}

TEST_F(CliConvert, FollowsALinkThatLeadsToNoFileYet) {
    fs::create_symlink("new", dir_ / "link");
    expect_done({in(), (dir_ / "link").string(), "--dtype", "f16", "--no-accuracy"});
    EXPECT_TRUE(fs::is_symlink(dir_ / "link"));
    EXPECT_GT(fs::file_size(dir_ / "new"), 1000u);
}

TEST_F(CliConvert, WeightsThatTheTypeCannotHoldAreNamed) {
    const Safetensors file = Safetensors::open(in());
    std::vector<std::vector<float>> values;
    std::vector<StoredTensor> tensors;
    for (const TensorInfo& info : file.tensors()) {
        file.read(info, values.emplace_back(info.elements));
        if (info.name == "layers.1.attention.out.weight") values.back()[40] = -1e9f; // scales would be 8e6, 1e8
        tensors.push_back({info.name, info.shape, WeightType::f32, values.back()});
    }
    write_safetensors(dir_ / "large", tensors, file.metadata());
    TempDir apart;
    fs::rename(dir_ / "large", apart / "large");
    put_file(out(), "old");
    for (const char* type : {"f16", "q8_0", "q4_0"})
        for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"--no-accuracy"}}) {
            std::vector<std::string> words{(apart / "large").string(), out(), "--dtype", type};
            words.insert(words.end(), more.begin(), more.end());
            expect_left_alone(convert(words), 1, "tensor 'layers.1.attention.out.weight'");
        }
    put_file(out(), "old");
    const Outcome full = run_program({"convert", in(), out(), "--dtype", "f32", "--no-accuracy"}, {.file_size = 8192});
    expect_left_alone(full, 5, "");
}

TEST_F(CliConvert, ModelsRunInTheTypeThatIsAskedFor) {
    const auto logits = [&](const std::string& file, const std::string& dtype) {
        std::vector<std::string> words{"logits", file, "--tokens", "1,2,3"};
        if (!dtype.empty()) words.insert(words.end(), {"--dtype", dtype});
        const Outcome outcome = run_program(words);
        expect_success(outcome);
        return read_json(outcome.out)["logits"];
    };
    expect_done({in(), out(), "--dtype", "q4_0", "--no-accuracy"});
    EXPECT_EQ(logits(out(), ""), logits(in(), "q4_0"));
    EXPECT_NE(logits(in(), ""), logits(in(), "q4_0"));
    expect_error(run_program({"perplexity", in(), "--dtype", "q9"}), 2, "found 'q9'");
    const std::string csv = run_program({"perplexity", in(), "--dtype", "q4_0", "--format", "csv"}).out;
    EXPECT_NE(csv, run_program({"perplexity", in(), "--format", "csv"}).out);
    EXPECT_EQ(csv, run_program({"perplexity", out(), "--format", "csv"}).out);
}

// OpenBLAS's variables of each thread take 60 KiB of it.
TEST_F(CliConvert, AThreadWithASmallStackLoadsAGgufAndEncodes) {
    if (is_instrumented()) GTEST_SKIP() << "a sanitizer needs more stack";
    const std::string file = dir_ / "small.gguf";
    expect_success(run_program({"convert", "weights/rope.safetensors", file}));
    pthread_attr_t attributes;
    ASSERT_EQ(pthread_attr_init(&attributes), 0);
    ASSERT_EQ(pthread_attr_setstacksize(&attributes, 96 << 10), 0);
    struct Loaded {
        std::string file;
        int vocabulary = 0, tokens = 0;
    } loaded{file};
    const auto load = [](void* to) -> void* {
        auto& own = *static_cast<Loaded*>(to);
        const Model model = Model::load(own.file);
        own.vocabulary = model.vocab_size();
        own.tokens = static_cast<int>(model.encode("Once upon a time").size());
        return nullptr;
    };
    pthread_t thread;
    ASSERT_EQ(pthread_create(&thread, &attributes, load, &loaded), 0);
    pthread_join(thread, nullptr);
    pthread_attr_destroy(&attributes);
    const Model same = Model::load("weights/rope.safetensors");
    EXPECT_EQ(loaded.vocabulary, same.vocab_size());
    EXPECT_EQ(loaded.tokens, static_cast<int>(same.encode("Once upon a time").size()));
}

} // namespace
