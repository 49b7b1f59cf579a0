// SPDX-License-Identifier: MIT
// fill, embed and translate on directories in Hugging Face's layout: fixtures of tests/families with a tokenizer added.
#include "model/embed_text.h"
#include "model/model_access.h"
#include "tests/model/small_models.h"
#include "tests/model/word_tokenizer.h"
#include "tests/tools/child.h"

#include <gtest/gtest.h>

namespace {

using namespace ordo;
using namespace ordo::test;

class EncoderVerbs : public testing::Test {
protected:
    std::string family(const std::string& name) const {
        const std::filesystem::path to = dir_ / name;
        std::filesystem::create_directories(to);
        std::filesystem::copy("tests/families/" + name, to,
                              std::filesystem::copy_options::recursive |
                                  std::filesystem::copy_options::overwrite_existing);
        put_file(to / "tokenizer.json", word_tokenizer());
        return to.string();
    }
    const TempDir dir_;
};

TEST_F(EncoderVerbs, FillPrintsWhatTheLibrarySays) {
    const std::string folder = family("bert");
    const Model model = Model::load(folder);
    const FilledText filled = fill(model, "the [MASK] sat", 3);
    const Json json = json_of({"fill", "-m", folder, "-p", "the [MASK] sat", "-k", "3", "--format", "json"});
    ASSERT_EQ(json.size(), 3u);
    for (std::size_t i = 0; i < 3; ++i) {
        const Candidate& expected = filled.blanks.at(0).best.at(i);
        EXPECT_EQ(json[i]["position"], 2);
        EXPECT_EQ(json[i]["id"], expected.token);
        EXPECT_EQ(json[i]["token"], model.decode({&expected.token, 1}));
        EXPECT_NEAR(json[i]["probability"].get<double>(), expected.probability, 1e-6);
    }
    const std::string text = out_of({"fill", folder, "-p", "the [MASK] sat", "-k", "1"});
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
    EXPECT_EQ(out_of({"fill", folder}, {.input = "the [MASK] sat\n"}),
              out_of({"fill", folder, "-p", "the [MASK] sat"}));
    expect_error(run_program({"fill", "-m", folder, "-p", "the cat"}), 2, "expected [MASK]");
    expect_error(run_program({"fill", "-m", folder, "-p", "[MASK]", "-k", "0"}), 2, "top-k");
    // tokenizer_config.json names the mask token.
    put_file(dir_ / "bert" / "tokenizer_config.json", R"({"mask_token":{"content":"cat"}})");
    EXPECT_EQ(json_of({"fill", "-m", folder, "-p", "the cat sat", "-k", "1", "--format", "json"}).size(), 1u);
    expect_error(run_program({"fill", "-m", folder, "-p", "the [MASK]"}), 2, "expected cat");
}

TEST_F(EncoderVerbs, EmbedPrintsAVectorForEachLine) {
    const std::string folder = family("bert");
    const std::string lines = "the cat\n\nsat\n";
    const Json json = json_of({"embed", "-m", folder, "-p", lines, "--format", "json"});
    ASSERT_EQ(json.size(), 2u);
    EXPECT_EQ(json[0]["text"], "the cat");
    EXPECT_EQ(json_of({"embed", "-m", folder, "-p", "the cat\r\n\r\nsat\r\n", "--format", "json"}), json);
    const std::vector<float> expected = embed(Model::load(folder), "the cat");
    const auto found = json[0]["vector"].get<std::vector<float>>();
    EXPECT_LE(difference(found, expected), 1e-6);
    double square = 0;
    for (const float x : found) square += static_cast<double>(x) * x;
    EXPECT_NEAR(square, 1, 1e-5);
    const std::string csv = out_of({"embed", "-m", folder, "--raw", "--pooling", "first"}, {.input = lines});
    EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 2);
    EXPECT_EQ(std::count(csv.begin(), csv.end(), ','), 2 * 31);
    EXPECT_NEAR(std::stof(csv), embed(Model::load(folder), "the cat", {Pooling::first, false}).front(), 1e-6);
    expect_error(run_program({"embed", "-m", folder, "-p", "\n"}), 2, "expected a text");
}

// As sentence-transformers: a text is cut to max_seq_length tokens with its frame, and no line is lost.
TEST_F(EncoderVerbs, EmbedCutsLongLines) {
    const std::string folder = family("bert");
    const std::string words = "the cat sat the cat sat", cut = "the cat sat the", more = "the cat";
    const auto vectors = [&] { // of three lines, the second one long
        const Outcome outcome = run_program({"embed", "-m", folder, "-p", "sat\n" + words + "\n" + more});
        EXPECT_EQ(outcome.code, 0);
        EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 3);
        return std::pair(outcome.out, outcome.err);
    };
    const auto separate = [&](const std::string& second) {
        std::string all;
        for (const std::string& line : {std::string("sat"), second, more})
            all += out_of({"embed", "-m", folder, "-p", line});
        return all;
    };
    EXPECT_EQ(vectors().second.find("cut"), std::string::npos);
    const std::string whole = vectors().first, expected = separate(cut);
    put_file(dir_ / "bert" / "sentence_bert_config.json", R"({"max_seq_length": 6, "do_lower_case": false})");
    const auto [out, err] = vectors();
    EXPECT_EQ(out, expected);
    EXPECT_NE(out, whole);
    EXPECT_NE(err.find("embed: 1 line was cut to 6 tokens"), std::string::npos) << err;
    EXPECT_EQ(embed(Model::load(folder), words), embed(Model::load(folder), cut));
    std::filesystem::remove(dir_ / "bert" / "sentence_bert_config.json");
    put_file(dir_ / "bert" / "tokenizer_config.json", R"({"model_max_length": 6})");
    EXPECT_EQ(vectors().first, expected);
    put_file(dir_ / "bert" / "tokenizer_config.json", R"({"model_max_length": 1000000000000000019884624838656})");
    EXPECT_EQ(vectors().first, whole);
    // The positions of the model are the limit without any of these.
    const int positions = Model::load(folder).max_position();
    std::string longest;
    for (int i = 0; i < positions; ++i) longest += "cat ";
    const Outcome outcome = run_program({"embed", "-m", folder, "-p", longest + "\nsat"});
    EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 2);
    EXPECT_NE(outcome.err.find("cut to " + std::to_string(positions) + " tokens"), std::string::npos) << outcome.err;
    // A file that convert writes remembers the limit.
    put_file(dir_ / "bert" / "sentence_bert_config.json", R"({"max_seq_length": 6})");
    const std::string file = dir_ / "bert.safetensors";
    EXPECT_EQ(run_program({"convert", folder, file}).code, 0);
    EXPECT_EQ(Model::load(file).metadata("max_tokens"), "6");
}

// The prompt of default_prompt_name stands before each text; a pooling with include_prompt false leaves out its tokens.
TEST_F(EncoderVerbs, EmbedPutsTheDefaultPromptBeforeALine) {
    const std::string folder = family("bert");
    const auto of = [&](const char* line) { return out_of({"embed", "-m", folder, "--raw", "-p", line}); };
    const std::string with = of("the cat sat"), without = of("sat");
    const char* const file = "config_sentence_transformers.json";
    put_file(dir_ / "bert" / file, R"({"prompts": {"query": "the cat "}, "default_prompt_name": null})");
    EXPECT_EQ(of("sat"), without);
    put_file(dir_ / "bert" / file, R"({"prompts": {"query": "the cat "}, "default_prompt_name": "query"})");
    EXPECT_EQ(of("sat"), with);
    std::filesystem::create_directory(dir_ / "bert" / "1_Pooling");
    put_file(dir_ / "bert" / "1_Pooling" / "config.json",
             R"({"pooling_mode_mean_tokens": true, "include_prompt": false})");
    put_file(dir_ / "bert" / "modules.json",
             R"([{"path": "", "type": "sentence_transformers.models.Transformer"},
                 {"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}])");
    const Model model = Model::load(folder);
    const EmbedText text = embed_text(model, "sat");
    EXPECT_EQ(text.unpooled, 3); // [CLS] the cat
    EXPECT_NE(of("sat"), with);
    put_file(dir_ / "bert" / file, R"({"prompts": {"query": "the cat "}, "default_prompt_name": "passage"})");
    const Outcome unknown = run_program({"embed", "-m", folder, "--raw", "-p", "sat"});
    EXPECT_EQ(unknown.out, without);
    EXPECT_NE(unknown.err.find("'default_prompt_name': expected one of"), std::string::npos) << unknown.err;
}

// The model's files choose the pooling, --pooling overrides them, and -v prints the choice.
TEST_F(EncoderVerbs, EmbedPoolsAsTheFilesSayUnlessAskedOtherwise) {
    const std::string folder = family("bert");
    const auto run = [&](std::vector<std::string> more) {
        more.insert(more.begin(), {"embed", "-v", "-m", folder, "-p", "the cat"});
        const Outcome outcome = run_program(more);
        expect_success(outcome);
        return outcome;
    };
    const auto expect = [](const Outcome& outcome, const std::string& said, const Outcome& same) {
        EXPECT_NE(outcome.err.find("pooling: " + said), std::string::npos) << outcome.err;
        EXPECT_EQ(outcome.out, same.out);
    };
    const Outcome mean = run({"--pooling", "mean"}), first = run({"--pooling", "first"}),
                  as_is = run({"--pooling", "first", "--raw"});
    EXPECT_NE(mean.out, first.out);
    EXPECT_NE(first.out, as_is.out);
    expect(run({}), "mean, scaled to length 1", mean);
    std::filesystem::create_directory(dir_ / "bert/1_Pooling");
    put_file(dir_ / "bert/1_Pooling/config.json", R"({"pooling_mode_cls_token": true})");
    expect(run({}), "first, scaled to length 1", first);
    expect(run({"--pooling", "mean"}), "mean, scaled to length 1", mean);
    put_file(dir_ / "bert/modules.json", R"([{"path": "", "type": "sentence_transformers.models.Transformer"},
        {"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}])"); // and no Normalize
    expect(run({}), "first, as they are", as_is);
    expect(run({"--unit"}), "first, scaled to length 1", first);
}

// The modules Dense are part of a converted file too. GGUF has no place for them.
TEST_F(EncoderVerbs, EmbedAppliesDenseModules) {
    for (const auto& [name, width] : {std::pair("embedding-gemma", 28U), {"labse", 24U}}) {
        const std::string folder = family(name), file = dir_ / "converted.safetensors";
        const auto vectors = [](const std::string& model) {
            return json_of({"embed", "-m", model, "-p", "the cat\nsat", "--format", "json"});
        };
        const Json found = vectors(folder);
        ASSERT_EQ(found.size(), 2U);
        ASSERT_EQ(found[0]["vector"].size(), width);
        expect_success(run_program({"convert", folder, file}));
        EXPECT_EQ(vectors(file), found);
        expect_success(run_program({"convert", folder, file, "--dtype", "q8_0"}));
        EXPECT_LE(difference(vectors(file)[0]["vector"].get<std::vector<float>>(),
                             found[0]["vector"].get<std::vector<float>>()),
                  0.05);
        expect_error(run_program({"convert", folder, dir_ / "converted.gguf"}), 2, "no architecture of GGUF's");
    }
}

TEST_F(EncoderVerbs, TranslatePrintsAnAnswerToEachLine) {
    const std::string folder = family("t5-gated");
    GenerateOptions options;
    options.max_tokens = 6;
    options.sampling.temperature = 0;
    const Model model = Model::load(folder);
    const std::string one = generate(model, "the cat sat", options).text, two = generate(model, "sat", options).text;
    EXPECT_NE(one, two);
    EXPECT_EQ(out_of({"translate", "-m", folder, "-n", "6"}, {.input = "the cat sat\n\nsat\n"}),
              one + "\n\n" + two + "\n");
    EXPECT_EQ(out_of({"translate", "-m", folder, "-n", "6"}, {.input = "the cat sat\r\n\r\nsat\r\n"}),
              one + "\n\n" + two + "\n");
    EXPECT_EQ(out_of({"generate", "-m", folder, "-n", "6", "--temp", "0", "-q", "-p", "sat"}), two + "\n");
    expect_error(run_program({"translate", "-m", family("bert"), "-p", "the"}), 2, "expected a model with an encoder");
    expect_error(run_program({"logits", "-m", folder, "-p", "the"}), 2, "an input for the encoder");
}

// Of the fixtures of BART's kind: <s>, <pad>, </s>, <unk>, w4 to w61 and two names; the ids before and after a text.
std::string language_tokenizer(const std::string& first, const std::string& second, const std::vector<int>& before,
                               const std::vector<int>& after) {
    Json vocab = Json::object(), added = Json::array(), single = Json::array(), special = Json::object();
    std::vector<std::string> names = {"<s>", "<pad>", "</s>", "<unk>"};
    for (int i = 4; i < 62; ++i) names.push_back("w" + std::to_string(i));
    names.insert(names.end(), {first, second});
    for (std::size_t i = 0; i < names.size(); ++i) {
        vocab[names[i]] = i;
        if (i < 4 || i > 61)
            added.push_back({{"id", i},
                             {"content", names[i]},
                             {"single_word", false},
                             {"lstrip", false},
                             {"rstrip", false},
                             {"normalized", false},
                             {"special", true}});
    }
    const auto frame = [&](const std::vector<int>& ids) {
        for (const int id : ids) {
            const std::string& name = names[id];
            single.push_back({{"SpecialToken", {{"id", name}, {"type_id", 0}}}});
            special[name] = {{"id", name}, {"ids", {id}}, {"tokens", {name}}};
        }
    };
    frame(before);
    single.push_back({{"Sequence", {{"id", "A"}, {"type_id", 0}}}});
    frame(after);
    return Json{{"version", "1.0"},
                {"added_tokens", added},
                {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
                {"post_processor",
                 {{"type", "TemplateProcessing"},
                  {"single", single},
                  {"pair", Json::array({{{"Sequence", {{"id", "A"}, {"type_id", 0}}}}})},
                  {"special_tokens", special}}},
                {"decoder", {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}}},
                {"model",
                 {{"type", "WordPiece"},
                  {"unk_token", "<unk>"},
                  {"continuing_subword_prefix", "##"},
                  {"max_input_chars_per_word", 100},
                  {"vocab", vocab}}}}
        .dump();
}

std::string words_of(std::span<const int> ids) {
    std::string text;
    for (const int id : ids) text += (text.empty() ? "w" : " w") + std::to_string(id);
    return text;
}

// A case of a fixture as a text and its answer: the words between the encoder's special tokens, and the tokens that the
// transcription continues with.
struct TranslationCase {
    std::string text, answer;
};
TranslationCase translation_of(const std::string& name) {
    const Json given = Json::parse(file_content("tests/families/" + name + "/expected.json"))["cases"][0];
    const auto encoder = given["encoder"].get<std::vector<int>>(), greedy = given["greedy"].get<std::vector<int>>();
    return {words_of(std::span(encoder).subspan(1, encoder.size() - 2)), words_of(greedy)};
}

TEST_F(EncoderVerbs, TranslateBeginsWithTheLanguages) {
    struct {
        std::string family, from, to, first, second; // as they are asked for, and the tokens' names
    } const cases[] = {{"m2m-100", "en", "fr", "__en__", "__fr__"},
                       {"m2m-100", "eng_Latn", "fra_Latn", "eng_Latn", "fra_Latn"},
                       {"mbart", "en_XX", "fr_XX", "en_XX", "fr_XX"}};
    for (const auto& each : cases) {
        const std::string folder = family(each.family);
        const TranslationCase expected = translation_of(each.family);
        const std::string &text = expected.text, answer = expected.answer + "\n";
        const auto translated = [&](std::vector<std::string> options) {
            std::vector<std::string> all = {"translate", "-m", folder, "-p", text, "-n", "12"};
            all.insert(all.end(), options.begin(), options.end());
            return out_of(all);
        };
        // NLLB's first tokenizer.json have the language behind the text, where transformers no longer puts it.
        put_file(dir_ / each.family / "tokenizer.json", language_tokenizer(each.first, each.second, {}, {2, 62}));
        EXPECT_EQ(translated({"--from", each.from, "--to", each.to}), answer);
        EXPECT_EQ(translated({"--to", each.to}), answer);
        EXPECT_NE(translated({"--from", each.to, "--to", each.to}), answer);
        EXPECT_NE(translated({"--from", each.from}), answer);
        put_file(dir_ / each.family / "tokenizer.json", language_tokenizer(each.first, each.second, {63}, {2}));
        EXPECT_EQ(translated({"--from", each.from, "--to", each.to}), answer);
        expect_error(run_program({"translate", "-m", folder, "-p", text, "--to", "tlh"}), 2,
                     "expected the name of a special token, such as eng_Latn, en_XX or en, found 'tlh'");
        expect_error(run_program({"translate", "-m", folder, "-p", text, "--from", "w4"}), 2, "found 'w4'");
    }
}

// mBART's first models: the decoder begins with the language, and the encoder reads it last.
TEST_F(EncoderVerbs, TranslateMayStartWithTheLanguage) {
    const std::string folder = family("mbart");
    const Json given = Json::parse(file_content("tests/families/mbart/expected.json"))["cases"][3];
    const auto encoder = given["encoder"].get<std::vector<int>>();
    const auto row = given["logits"][0].get<std::vector<double>>();
    const auto likeliest = static_cast<int>(std::max_element(row.begin(), row.end()) - row.begin());
    put_file(dir_ / "mbart" / "tokenizer.json", language_tokenizer("en_XX", "fr_XX", {}, {2, 62}));
    put_file(dir_ / "mbart" / "generation_config.json", R"({"decoder_start_token_id":63})");
    const std::string text = words_of(std::span(encoder).first(encoder.size() - 2)),
                      answer = "w" + std::to_string(likeliest) + "\n";
    EXPECT_EQ(out_of({"translate", "-m", folder, "-p", text, "-n", "1"}), answer);
    EXPECT_EQ(out_of({"translate", "-m", folder, "-p", text, "-n", "1", "--from", "en_XX", "--to", "fr_XX"}), answer);
}

TEST_F(EncoderVerbs, TheFilesMayForceTheFirstToken) {
    const std::string folder = family("bart"), file = (dir_ / "bart.safetensors").string();
    put_file(dir_ / "bart" / "tokenizer.json", language_tokenizer("<a>", "<b>", {0}, {2}));
    const auto [text, answer] = translation_of("bart");
    EXPECT_EQ(out_of({"translate", "-m", folder, "-p", text, "-n", "12"}), answer + "\n");
    expect_success(run_program({"convert", folder, file, "-q"}));
    EXPECT_EQ(out_of({"translate", "-m", file, "-p", text, "-n", "12"}), answer + "\n");
    // As transformers 3 wrote it.
    Json config = Json::parse(file_content(dir_ / "bart" / "config.json"));
    config.erase("forced_bos_token_id");
    put_file(dir_ / "bart" / "config.json", config.dump());
    EXPECT_NE(out_of({"translate", "-m", folder, "-p", text, "-n", "12"}), answer + "\n");
    config["force_bos_token_to_be_generated"] = true;
    put_file(dir_ / "bart" / "config.json", config.dump());
    EXPECT_EQ(out_of({"translate", "-m", folder, "-p", text, "-n", "12"}), answer + "\n");
}

TEST_F(EncoderVerbs, AConvertedModelSaysTheSame) {
    for (const std::string name : {"bert", "t5"}) {
        const std::string folder = family(name), file = (dir_ / (name + ".safetensors")).string();
        expect_success(run_program({"convert", folder, file, "-q"}));
        if (name == "bert")
            EXPECT_EQ(out_of({"fill", "-m", folder, "-p", "the [MASK] sat"}),
                      out_of({"fill", "-m", file, "-p", "the [MASK] sat"}));
        else
            EXPECT_EQ(out_of({"translate", "-m", folder, "-p", "the cat", "-n", "8"}),
                      out_of({"translate", "-m", file, "-p", "the cat", "-n", "8"}));
        EXPECT_EQ(out_of({"embed", "-m", folder, "-p", "the cat"}), out_of({"embed", "-m", file, "-p", "the cat"}));
    }
}

} // namespace
