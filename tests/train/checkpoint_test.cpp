// SPDX-License-Identifier: MIT
// A checkpoint is an external file. Contents that a run would not have saved are refused by name, and none of them is
// used.
#include "core/error.h"
#include "io/safetensors.h"
#include "tests/temp_dir.h"
#include "tests/words.h"
#include "tools/train/checkpoint.h"
#include "tools/train/sha256.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

namespace ordo::train {
namespace {

using test::file_content;
using test::put_file;

using Entries = std::map<std::string, std::string, std::less<>>;
constexpr double inf = std::numeric_limits<double>::infinity();

class Checkpoint : public testing::Test {
protected:
    static constexpr std::size_t size = 24;
    static constexpr std::int64_t steps = 100;

    struct Content {
        State state;
        std::map<std::string, std::vector<float>> tensors;

        Floats floats() {
            return {tensors["value"], tensors["first_moment"], tensors["second_moment"], tensors["best"]};
        }
    };

    static Content content() {
        Content c;
        c.state = {.step = 3,
                   .first_loss = 5.55,
                   .losses = {5.55, 0.1, 1e-300},
                   .evaluated = 3,
                   .validation_loss = 4.0 / 3,
                   .best_step = 2,
                   .best_loss = 5e-324,
                   .log_bytes = 71};
        for (const char* name : {"value", "first_moment", "second_moment", "best"})
            for (std::size_t i = 0; i < size; ++i)
                c.tensors[name].push_back(static_cast<float>(std::strlen(name)) + 0.1f * static_cast<float>(i));
        return c;
    }
    static Content nothing() {
        Content c;
        for (const char* name : {"value", "first_moment", "second_moment", "best"}) c.tensors[name].resize(size);
        return c;
    }
    const RunConditions run_{{"seed", "1"}};
    std::string saved(Content c) const {
        save_checkpoint(file_, run_, c.state, c.floats());
        return file_content(file_);
    }
    // The message that refuses the checkpoint.
    std::string refusal(ErrorCode code = ErrorCode::model) const {
        Content into = nothing();
        try {
            load_checkpoint(file_, run_, steps, into.floats());
        } catch (const Error& e) {
            EXPECT_EQ(e.code, code) << e.what();
            EXPECT_NE(std::string(e.what()).find("run.checkpoint"), std::string::npos) << e.what();
            return e.what();
        }
        return "no error";
    }

    // A forged file with a correct checksum, computed from the description in checkpoint.h.
    void forge(const std::function<void(Entries&, std::map<std::string, std::vector<float>>&)>& change) const {
        Content c = content();
        saved(c);
        Entries entries = Safetensors::open(file_).metadata();
        change(entries, c.tensors);
        entries.erase("sha256");
        std::string summed;
        const auto text = [&](const std::string& t) { summed += std::to_string(t.size()) + ":" + t; };
        for (const auto& [key, value] : entries) text(key), text(value);
        std::vector<StoredTensor> tensors;
        for (const auto& [name, values] : c.tensors) { // in the order of the names
            text(name);
            text(std::to_string(values.size()));
            summed.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
            tensors.push_back({name, {static_cast<std::int64_t>(values.size())}, WeightType::f32, values});
        }
        entries["sha256"] = sha256(summed);
        write_safetensors(file_, std::move(tensors), entries);
    }

    test::TempDir dir_;
    std::filesystem::path file_ = dir_ / "run.checkpoint";
};

TEST_F(Checkpoint, ReadsBackToTheLastBit) {
    Content written = content(), read = nothing();
    saved(written);
    read.state = load_checkpoint(file_, run_, steps, read.floats());
    EXPECT_EQ(read.tensors, written.tensors);
    EXPECT_EQ(read.state.step, 3);
    EXPECT_EQ(read.state.first_loss, 5.55);
    EXPECT_EQ(read.state.losses, written.state.losses);
    EXPECT_EQ(read.state.evaluated, 3);
    EXPECT_EQ(read.state.validation_loss, 4.0 / 3);
    EXPECT_EQ(read.state.best_step, 2);
    EXPECT_EQ(read.state.best_loss, 5e-324);
    EXPECT_EQ(read.state.log_bytes, 71);
    forge([](Entries&, auto&) {}); // the forged checksum equals the real one
    EXPECT_EQ(refusal(), "no error");
}

TEST_F(Checkpoint, AnyBitThatFlippedIsRefused) {
    const std::string whole = saved(content());
    for (std::size_t at = 0; at < whole.size(); ++at)
        for (int bit = 0; bit < 8; ++bit) {
            std::string damaged = whole;
            damaged[at] = static_cast<char>(damaged[at] ^ 1 << bit);
            put_file(file_, damaged);
            ASSERT_NE(refusal(), "no error") << "byte " << at << ", bit " << bit;
        }
    for (const std::size_t length : {std::size_t{0}, std::size_t{7}, whole.size() / 2, whole.size() - 1}) {
        put_file(file_, whole.substr(0, length));
        EXPECT_NE(refusal(), "no error") << length;
    }
}

TEST_F(Checkpoint, EveryEntryIsRead) {
    const std::vector<std::string> no_integers = ordo::test::words_in(
        "|abc|5x| 3|3 |+3|03|3.0|0x3|-0|1e2|NaN|-1|101|-9223372036854775808|9223372036854775807|9223372036854775808",
        '|');
    const std::vector<std::string> no_losses =
        ordo::test::words_in("|abc|1.5x|nan|-nan|inf|-inf| 1|1 |0x1p3|1e999|1.50|+1", '|');
    const auto expect_refused = [&](const std::string& key, const std::string& value) {
        forge([&](Entries& entries, auto&) {
            ASSERT_TRUE(entries.contains(key));
            entries[key] = value;
        });
        const std::string text = refusal();
        EXPECT_NE(text.find("metadata '" + key + "': expected "), std::string::npos)
            << key << " " << value << ": " << text;
    };
    for (const char* key : {"step", "evaluated", "best_step"})
        for (const std::string& value : no_integers) expect_refused(key, value);
    for (const std::string& value : no_integers)
        if (value != "101" && value != "9223372036854775807") expect_refused("log_bytes", value);
    for (const char* key : {"first_loss", "validation_loss", "best_loss"})
        for (const std::string& value : no_losses) expect_refused(key, value);
    for (const std::string& value : no_losses) {
        expect_refused("losses", value);
        expect_refused("losses", "1 " + value + " 2");
    }
    for (const char* value : {"1 2", "1 2 3 4", "1 2 3 ", "1  2", "1,2,3"}) expect_refused("losses", value);
    expect_refused("evaluated", "4"); // after the last step
    expect_refused("best_step", "4");
    expect_refused("best_step", "0"); // there was an evaluation
}

TEST_F(Checkpoint, EntriesAreThoseOfACheckpoint) {
    saved(content());
    const Entries entries = Safetensors::open(file_).metadata();
    for (const auto& [key, value] : entries) {
        forge([&, key = key](Entries& e, auto&) { e.erase(key); });
        if (key == "sha256") continue; // the forger computes it again
        if (key.starts_with("run.")) {
            const std::string text = refusal(ErrorCode::usage);
            EXPECT_NE(text.find("expected a checkpoint of this run; its "), std::string::npos) << text;
            EXPECT_NE(text.find(key.substr(4)), std::string::npos) << text;
            EXPECT_NE(text.find("found none"), std::string::npos) << text;
            continue;
        }
        EXPECT_NE(refusal().find("expected '" + key + "', found none"), std::string::npos) << refusal();
    }
    forge([](Entries& e, auto&) { e["more"] = "1"; });
    EXPECT_NE(refusal().find("entries"), std::string::npos) << refusal();
    forge([](Entries& e, auto&) { e["ordo.checkpoint"] = "3"; });
    EXPECT_NE(refusal().find("expected a checkpoint of format 4, found format 3"), std::string::npos) << refusal();
    forge([](Entries& e, auto&) { e["run.seed"] = "another"; });
    EXPECT_NE(
        refusal(ErrorCode::usage).find("expected a checkpoint of this run; its --seed: expected 1, found another"),
        std::string::npos);
    forge([](Entries& e, auto&) { e["run.dropout"] = "0.5"; });
    EXPECT_NE(refusal(ErrorCode::usage).find("its --dropout: expected none, found 0.5"), std::string::npos);
    put_file(file_, file_content("weights/none.safetensors"));
    EXPECT_NE(refusal().find("expected 'ordo.checkpoint', found none"), std::string::npos) << refusal();
}

TEST_F(Checkpoint, NumbersAreFiniteAndSquaresAreNot) {
    using Tensors = std::map<std::string, std::vector<float>>;
    for (const char* name : {"value", "first_moment", "second_moment", "best"}) {
        for (const double bad : {inf, -inf, std::nan("")}) {
            forge([&](Entries&, Tensors& t) { t[name][size - 1] = static_cast<float>(bad); });
            const std::string text = refusal();
            EXPECT_NE(text.find("tensor " + std::string(name) + ": expected finite numbers"), std::string::npos)
                << text;
        }
        forge([&](Entries&, Tensors& t) { t[name].push_back(1); });
        EXPECT_NE(refusal().find("tensor " + std::string(name) + ": expected F32 [24], found F32 [25]"),
                  std::string::npos)
            << refusal();
        forge([&](Entries&, Tensors& t) { t.erase(name); });
        EXPECT_NE(refusal().find("expected 4 tensors, found 3"), std::string::npos) << refusal();
        forge([&](Entries&, Tensors& t) {
            t["other"] = t[name];
            t.erase(name);
        });
        EXPECT_NE(refusal().find("tensor " + std::string(name) + ": expected F32 [24], found none"), std::string::npos)
            << refusal();
    }
    forge([](Entries&, Tensors& t) { t["second_moment"][5] = -1e-30f; });
    EXPECT_NE(refusal().find("tensor second_moment: expected 0 or more"), std::string::npos) << refusal();
    forge([](Entries&, Tensors& t) { t["more"] = {1}; });
    EXPECT_NE(refusal().find("expected 4 tensors, found 5"), std::string::npos) << refusal();
}

TEST_F(Checkpoint, WhatIsNotFiniteIsNotWrittenOverWhatIs) {
    const std::string good = saved(content());
    for (const char* name : {"value", "first_moment", "second_moment", "best"}) {
        Content bad = content();
        bad.tensors[name][7] = std::nanf("");
        try {
            saved(bad);
            FAIL() << name;
        } catch (const Error& e) {
            EXPECT_EQ(e.code, ErrorCode::failure);
            EXPECT_NE(std::string(e.what()).find("step 3: " + std::string(name)), std::string::npos) << e.what();
        }
        EXPECT_EQ(file_content(file_), good);
    }
}

} // namespace
} // namespace ordo::train
