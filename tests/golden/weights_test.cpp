// SPDX-License-Identifier: MIT
// The shipped weights still give the texts on their cards. Other tests prove the numbers against the oracle. These only
// guard the texts, with every instruction set of the machine.
#include "core/parallel.h"
#include "io/file.h"
#include "model/stack.h"
#include "tests/kernels/sets.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ordo {
namespace {

namespace fs = std::filesystem;

const fs::path weights = "weights";
constexpr std::string_view prompt = "Once upon a time";

struct Shipped {
    const char *name, *spec;
};
constexpr Shipped shipped[] = {{"none", "none"},
                               {"sinusoidal", "sinusoidal"},
                               {"learned", "learned"},
                               {"rope", "rope"},
                               {"alibi", "alibi"},
                               {"t5", "t5"},
                               {"kerple", "kerple"},
                               {"fire", "fire"},
                               {"xpos", "xpos"},
                               {"shaw", "shaw"},
                               {"cope", "cope"},
                               {"forget", "forget"},
                               {"sandwich", "sandwich"},
                               {"sink-rope", "sink+rope"},
                               {"transformer-xl", "transformer-xl"},
                               {"deberta", "deberta"},
                               {"pope", "pope"},
                               {"canon", "canon"},
                               {"path", "path:rank=32,kernel=3"},
                               {"abacus", "abacus"},
                               {"dpb", "dpb"},
                               {"rope-log-scale", "rope+log-scale"},
                               {"selective-rope", "selective-rope"},
                               {"relative-logits", "relative-logits"},
                               {"wall", "wall"},
                               {"stick-breaking", "stick-breaking"},
                               {"rope-none", "pattern(rope,none)"},
                               {"rotate-stretch-36", "rotate-stretch:period=36"},
                               {"rotate-stretch-6", "rotate-stretch:period=6"}};

// The text between ```text and ``` after the title of the sample.
std::string sample_of(const std::string& card) {
    const std::size_t heading = card.find("\nGreedy sample");
    const std::size_t begin = card.find("```text\n", heading) + 8;
    return card.substr(begin, card.find("\n```", begin) - begin);
}

class ShippedWeights : public testing::TestWithParam<Shipped> {
protected:
    void TearDown() override { select_kernels("auto"); }
    fs::path file() const { return weights / (std::string(GetParam().name) + ".safetensors"); }
    std::string card() const { return read_file(weights / (std::string(GetParam().name) + ".md"), 1 << 20); }
};

TEST_P(ShippedWeights, AreTheSameTrunkWithAnotherEncoding) {
    const Model model = Model::load(file());
    const Model first = Model::load(weights / "none.safetensors");
    EXPECT_EQ(to_json(blueprint_of(model)), to_json(blueprint_of(first)));
    EXPECT_EQ(model.encoding(), ModelEncodings(GetParam().spec, blueprint_of(model).dims()).spec());
    for (const char* key : {"corpus", "corpus.sha256", "seed", "tokens", "batch", "lr", "recipe.optimizer",
                            "recipe.products", "recipe.tokenizer.sha256", "validation.sha256", "keep"}) {
        EXPECT_FALSE(model.metadata(key).empty()) << key;
        EXPECT_EQ(model.metadata(key), first.metadata(key)) << key;
    }
    EXPECT_EQ(model.metadata("command").find('/'), std::string::npos) << "a path";
    EXPECT_GE(std::stoll(model.metadata("tokens")), 11'990'000);
    EXPECT_EQ(model.context(), 256);
    EXPECT_LE(fs::file_size(file()), std::uintmax_t{4'000'000});
}

void expect_greedy_sample(const fs::path& file, const std::string& card) {
    const Model model = Model::load(file);
    const std::string expected = sample_of(card);
    ASSERT_GT(expected.size(), 100u);
    GenerateOptions options;
    options.max_tokens = 96;
    options.sampling = model.sampling(); // the storyteller's has a repeat penalty
    options.sampling.temperature = 0;
    for (const Kernels* set : available_kernels()) {
        select_kernels(set->name);
        EXPECT_EQ(std::string(prompt) + generate(model, prompt, options).text, expected) << set->name;
    }
}

TEST_P(ShippedWeights, SayWhatTheirCardShows) {
    expect_greedy_sample(file(), card());
}

// 40 tokens at once are two whole tiles and a rest on vectors.
TEST_P(ShippedWeights, PredictTheSameOnTiles) {
    const auto logits = [&](const char* type, const Kernels& set) {
        const test::Selected selected(set);
        LoadOptions as;
        as.dtype = type;
        const Model model = Model::load(file(), as);
        std::vector<Token> tokens = model.encode(read_file(weights / "heldout.txt", 1 << 20).substr(0, 400));
        EXPECT_GE(tokens.size(), 40u);
        tokens.resize(40);
        Session session(model);
        const auto last = session.feed(tokens);
        return std::vector<float>(last.begin(), last.end());
    };
    for (const char* type : {"q8_0", "q4_0"})
        EXPECT_EQ(logits(type, test::amx_emulated_kernels), logits(type, test::amx_emulated_vectors)) << type;
}

// This file is not one of the controlled files: it is larger, with another text and a longer context.
TEST(Storyteller, SaysWhatItsCardShows) {
    const fs::path file = weights / "storyteller.safetensors";
    expect_greedy_sample(file, read_file(weights / "storyteller.md", 1 << 20));
    select_kernels("auto");
    const Model model = Model::load(file);
    EXPECT_EQ(model.context(), 512);
    EXPECT_LE(fs::file_size(file), std::uintmax_t{12} << 20);
    EXPECT_EQ(model.metadata("command").find('/'), std::string::npos) << "a path";
}

// Uniform guessing costs ln 4096 = 8.3 nats a token.
TEST_P(ShippedWeights, HaveLearnedSomething) {
    const Model model = Model::load(file());
    const std::string text = read_file(weights / "heldout.txt", 1 << 20);
    std::vector<Token> tokens{model.end_of_text()};
    for (const Token t : model.encode(std::string_view(text).substr(0, 900))) tokens.push_back(t);
    ASSERT_LE(tokens.size(), 256u * 2);
    tokens.resize(std::min<std::size_t>(tokens.size(), 256));
    Session session(model);
    double total = 0;
    session.feed_all(tokens, TokenRows{}, [&](int first, View logits) {
        for (int i = 0; i < logits.rows && static_cast<std::size_t>(first + i) + 1 < tokens.size(); ++i) {
            double z = 0;
            for (int j = 0; j < logits.cols; ++j) z += std::exp(static_cast<double>(logits.row(i)[j]));
            total += std::log(z) - logits.row(i)[tokens[static_cast<std::size_t>(first + i) + 1]];
        }
    });
    EXPECT_LT(total / static_cast<double>(tokens.size() - 1), 4.8);
}

// Many documents make the intervals over documents narrow; a document of both texts would count twice.
TEST(HeldOutTexts, TheSecondHasManyDocumentsOfItsOwn) {
    const std::string first = read_file(weights / "heldout.txt", 1 << 20),
                      second = read_file(weights / "heldout-2.txt", 1 << 20);
    const std::string end = "\n<|endoftext|>\n";
    std::size_t documents = 0, longer = 0;
    for (std::size_t at = 0; at < second.size(); ++documents) {
        const std::size_t next = std::min(second.find(end, at), second.size());
        EXPECT_EQ(first.find(second.substr(at, 60)), std::string::npos) << second.substr(at, 60);
        EXPECT_EQ(second.find(second.substr(at, 60), at + 1), std::string::npos) << second.substr(at, 60);
        longer += next - at > 6000;
        at = next + end.size();
    }
    EXPECT_GE(documents, 60u);
    EXPECT_GE(longer, 8u);
    EXPECT_GE(second.size(), 150000u);
}

INSTANTIATE_TEST_SUITE_P(Weights, ShippedWeights, testing::ValuesIn(shipped), [](const auto& test) {
    std::string name = test.param.name;
    std::erase(name, '-');
    return name;
});

} // namespace
} // namespace ordo
