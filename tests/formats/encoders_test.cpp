// SPDX-License-Identifier: MIT
// The folders of tests/families whose cases have padding or an encoder's input: BERT and its relatives, T5, Marian,
// BART, mBART and M2M100, compared with the transcription in double precision (tests/families/README.md).
#include "formats/source.h"
#include "tests/formats/encoder_run.h"
#include "tests/formats/hugging_face_folder.h"

namespace ordo {
namespace {

class MaskedModels : public ::testing::TestWithParam<const char*> {};

TEST_P(MaskedModels, GiveTheLogitsAndStatesOfTheirTranscription) {
    const std::string family = GetParam();
    const Model model = Model::load("tests/families/" + family);
    EXPECT_FALSE(model.has_encoder());
    int padded = 0;
    for (const test::Json& given : test::read_cases(test::family(family))) {
        const auto tokens = static_cast<int>(given.at("tokens").size());
        SCOPED_TRACE(tokens);
        const std::vector<int> positions = test::positions_of(family, given);
        Session session(model, {.capacity = tokens});
        test::expect_rows(test::rows_of_pass(session, given, false, positions), given.at("logits"), tokens);
        session.rewind(0);
        test::expect_rows(test::rows_of_pass(session, given, true, positions), given.at("hidden"), tokens);
        padded += given.contains("padding") ? 1 : 0;
    }
    EXPECT_EQ(padded, 2);
}

INSTANTIATE_TEST_SUITE_P(Families, MaskedModels,
                         ::testing::Values("bert", "bert-gamma", "roberta", "distilbert", "modernbert", "mpnet",
                                           "nomic-bert", "electra", "electra-wide", "albert", "deberta-v3",
                                           "deberta-v2"),
                         [](const auto& each) {
                             std::string name = each.param;
                             std::replace(name.begin(), name.end(), '-', '_');
                             return name;
                         });

// Folders of sentence-transformers with dense layers. Row i of `logits` is the vector of the first i + 1 tokens.
class DenseModels : public ::testing::TestWithParam<const char*> {};

TEST_P(DenseModels, GiveTheStatesAndVectorsOfTheirTranscription) {
    LoadOptions options;
    options.dtype = "f32"; // bf16 may round activations too
    const Model model = Model::load(test::family(GetParam()), options);
    test::expect_vectors(model, GetParam());
    for (const test::Json& given : test::read_cases(test::family(GetParam()))) {
        const auto count = static_cast<int>(given.at("tokens").size());
        Session session(model, {.capacity = count});
        test::expect_rows(test::rows_of_pass(session, given, true, {}), given.at("hidden"), count);
    }
}

INSTANTIATE_TEST_SUITE_P(Families, DenseModels, ::testing::Values("embedding-gemma", "labse", "sentence-t5"),
                         [](const auto& each) {
                             std::string name = each.param;
                             std::replace(name.begin(), name.end(), '-', '_');
                             return name;
                         });

// Model types that share the class of another type. The fixture's logits must be the same under each name.
class OtherNames : public test::HuggingFace {};

TEST_F(OtherNames, OfAMaskedModelGiveTheSameLogits) {
    for (const char* type : {"xlm-roberta", "camembert"}) {
        SCOPED_TRACE(type);
        take("roberta");
        with("model_type", type);
        const Model model = Model::load(folder_.path());
        for (const test::Json& given : test::read_cases(test::family("roberta"))) {
            const auto tokens = static_cast<int>(given.at("tokens").size());
            Session session(model, {.capacity = tokens});
            test::expect_rows(test::rows_of_pass(session, given, false, test::positions_of("roberta", given)),
                              given.at("logits"), tokens);
        }
    }
}

TEST_F(OtherNames, OfT5GiveTheSameLogits) {
    take("t5-gated");
    with("model_type", "mt5");
    test::expect_encoder_cases(Model::load(folder_.path()), "t5-gated");
}

TEST_F(OtherNames, OfWhatRelativesOfBertCannotDoAreRefused) {
    expect_all_refused("deberta-v3", {{"conv_kernel_size", 3}, // the published xlarge
                                      {"embedding_size", 16},
                                      {"attention_head_size", 4},
                                      {"position_buckets", 13},
                                      {"position_buckets", 94},
                                      {"max_relative_positions", 5000},
                                      {"share_att_key", false}, // no matrices for it
                                      {"norm_rel_ebd", "none"},
                                      {"pos_att_type", "c2p|p2p"},
                                      {"tie_word_embeddings", false}});
    expect_all_refused("deberta-v2", {{"share_att_key", true}, {"norm_rel_ebd", "layer_norm"}});
    expect_all_refused("albert", {{"num_hidden_groups", 2}, {"inner_group_num", 0}, {"embedding_size", 0}});
    expect_all_refused("electra",
                       {{"hidden_act", "relu"}, {"embedding_size", 0}, {"position_embedding_type", "relative_key"}});
}

class EncoderFamilies : public ::testing::TestWithParam<const char*> {};

TEST_P(EncoderFamilies, GiveTheLogitsOfTheirTranscription) {
    const std::string family = GetParam();
    std::vector<std::string> warnings;
    LoadOptions options;
    options.on_warning = [&](std::string_view text) { warnings.emplace_back(text); };
    for (const char* dtype : {"", "f16"}) { // every weight is exact in f16
        options.dtype = dtype;
        const Model model = Model::load("tests/families/" + family, options);
        EXPECT_TRUE(model.has_encoder());
        EXPECT_TRUE(warnings.empty()) << warnings.front();
        test::expect_encoder_cases(model, family);
    }
}

INSTANTIATE_TEST_SUITE_P(Families, EncoderFamilies,
                         ::testing::Values("t5", "t5-gated", "t5-flan", "marian", "bart", "mbart", "m2m-100"),
                         [](const auto& each) {
                             std::string name = each.param;
                             std::replace(name.begin(), name.end(), '-', '_');
                             return name;
                         });

} // namespace
} // namespace ordo
