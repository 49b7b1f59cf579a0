// SPDX-License-Identifier: MIT
// Training separates documents with the end-of-text token. A tokenizer without this token is refused.
#include "model/model_file.h"
#include "model/stack.h"
#include "tests/temp_dir.h"
#include "tests/train/small_run.h"
#include "text/tokenizer.h"

namespace ordo::train {
namespace {

using test::put_file;

void expect_refused(Options o, const std::string& phrase) {
    o.on_step = [](std::int64_t) { FAIL() << "a step was made"; };
    try {
        run(o);
        FAIL() << "expected an error";
    } catch (const Error& e) {
        EXPECT_EQ(e.code, ErrorCode::model) << e.what();
        EXPECT_NE(std::string(e.what()).find(phrase), std::string::npos) << e.what();
    }
}

// Renames the end-of-text token.
std::string without_end_of_text(std::string json) {
    for (std::size_t at = 0; (at = json.find("<|endoftext|>", at)) != std::string::npos;)
        json.replace(at, 13, "<|something|>");
    return json;
}

TEST_F(Training, ATokenizerWithoutAnEndOfTextIsRefused) {
    const std::string json = without_end_of_text(make_byte_tokenizer()->to_json());
    ASSERT_EQ(tokenizer_from_json(json, "test")->end_of_text(), -1);
    put_file(dir_ / "tokenizer.json", json);
    Options o = options("run");
    o.byte_tokenizer = false;
    o.tokenizer = dir_ / "tokenizer.json";
    expect_refused(o, "tokenizer.json: tokenizer: expected the token <|endoftext|>");

    Options first = options("first");
    run(first);
    put_file(first.out, without_end_of_text(bytes(first.out)));
    o.tokenizer = first.out;
    expect_refused(o, "first.safetensors: tokenizer: expected the token <|endoftext|>");
    o.tokenizer.clear();
    o.init = first.out;
    expect_refused(o, "first.safetensors: tokenizer: expected the token <|endoftext|>");
    EXPECT_FALSE(fs::exists(o.out));
}

// The same check protects other code that cuts a text into windows.
TEST_F(Training, ACorpusHasNoTokenOutsideItsVocabulary) {
    const auto tokenizer = tokenizer_from_json(without_end_of_text(make_byte_tokenizer()->to_json()), "test");
    try {
        Corpus(dir_ / "corpus.txt", *tokenizer, 24);
        FAIL() << "expected an error";
    } catch (const Error& e) {
        EXPECT_EQ(e.code, ErrorCode::model);
        EXPECT_NE(std::string(e.what()).find("token 0: expected an id from 0 to 256, found -1"), std::string::npos)
            << e.what();
    }
}

// Converted models have rows beyond the tokenizer's tokens. These rows train like those of tokens that never occur.
TEST_F(Training, AnEmbeddingWithMoreRowsThanTokensIsGoneOnWith) {
    Options o = options("run");
    Blueprint b = o.blueprint;
    b.vocab_size = 264;
    const Model model = random_model(b, o.encoding, 5);
    ModelFile file{b, model.encoding(), make_byte_tokenizer()->to_json(), {}, {}, {}};
    std::vector<std::vector<float>> values;
    for (const TensorSpec& spec : tensor_specs(model)) {
        std::size_t n = 1;
        for (const std::int64_t size : spec.shape) n *= static_cast<std::size_t>(size);
        impl_of(model).tensors->read(file.specs.size(), values.emplace_back(n));
        file.specs.push_back(spec);
        file.values.push_back(view(values.back().data(),
                                   static_cast<int>(n / static_cast<std::size_t>(spec.shape.back())),
                                   static_cast<int>(spec.shape.back())));
    }
    o.init = dir_ / "init.safetensors";
    o.byte_tokenizer = false;
    write_model(o.init, file);
    run(o);
    EXPECT_EQ(Model::load(o.out).vocab_size(), 264);
}

} // namespace
} // namespace ordo::train
