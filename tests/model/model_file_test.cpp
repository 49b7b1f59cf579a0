// SPDX-License-Identifier: MIT
#include "model/model_file.h"
#include "tests/model/small_models.h"
#include "tests/temp_dir.h"

#include <cmath>
#include <deque>
#include <gtest/gtest.h>

namespace ordo {
namespace {

class ModelFiles : public ::testing::Test {
protected:
    // The content of a model's file, for a test to corrupt.
    ModelFile content(const Model& model) {
        TensorMemory& tensors = floats_.emplace_back(floats_of(model));
        ModelFile file;
        file.blueprint = blueprint_of(model);
        file.encoding = model.encoding();
        file.specs.assign(tensors.specs().begin(), tensors.specs().end());
        for (std::size_t i = 0; i < file.specs.size(); ++i) file.values.push_back(tensors.view(i));
        return file;
    }
    static std::size_t index_of(const ModelFile& file, std::string_view name) {
        for (std::size_t i = 0; i < file.specs.size(); ++i)
            if (file.specs[i].name == name) return i;
        ADD_FAILURE() << name;
        return 0;
    }
    void expect_load_error(ErrorCode code, const std::string& phrase, const LoadOptions& options = {},
                           ErrorReason reason = ErrorReason::other) {
        try {
            Model::load(path_, options);
            ADD_FAILURE() << "expected an error saying '" << phrase << "'";
        } catch (const Error& error) {
            const std::string what = error.what();
            EXPECT_TRUE(error.code == code && error.reason == reason) << what;
            EXPECT_NE(what.find(phrase), std::string::npos) << what;
            EXPECT_NE(what.find(path_.string()), std::string::npos) << what;
            EXPECT_EQ(what.find('\n'), std::string::npos) << what;
        }
    }
    Rows logits(const Model& model) { return logits_of(model, tokens_); }
    LoadOptions asking(const std::string& encoding, bool force = false) {
        LoadOptions options;
        options.encoding = encoding;
        options.force_encoding = force;
        options.on_warning = [this](std::string_view text) { warnings_.emplace_back(text); };
        return options;
    }

    test::TempDir folder_;
    const std::filesystem::path path_ = folder_ / "model.safetensors";
    std::vector<Token> tokens_ = random_tokens(30, small_blueprint().vocab_size, 1);
    std::vector<std::string> warnings_;
    std::deque<TensorMemory> floats_; // referenced by the contents
};

TEST_F(ModelFiles, WhatIsWrittenIsWhatIsRead) {
    const Model model = random_model(small_blueprint(), "segment+learned", 2);
    ModelFile file = content(model);
    file.metadata = {{"corpus", "tales"}, {"loss", "1.25"}};
    write_model(path_, file);
    const Model read = Model::load(path_);
    EXPECT_EQ(read.encoding(), model.encoding());
    EXPECT_EQ(to_json(blueprint_of(read)), to_json(blueprint_of(model)));
    EXPECT_EQ(read.metadata("corpus"), "tales");
    EXPECT_EQ(read.metadata("loss"), "1.25");
    EXPECT_EQ(read.metadata("ordo.format"), "1");
    EXPECT_EQ(read.metadata("nothing"), "");
    EXPECT_EQ(read.vocab_size(), small_blueprint().vocab_size);
    EXPECT_EQ(read.context(), small_blueprint().context);
    EXPECT_EQ(difference(logits(read), logits(model)), 0);
}

TEST_F(ModelFiles, HalvesAreTheNearestToWhatWasWritten) {
    const Model model = random_model(small_blueprint(), "rope", 3);
    ModelFile file = content(model);
    for (const auto& [type, step] : {std::pair(WeightType::f16, 0x1p-11), std::pair(WeightType::bf16, 0x1p-8)}) {
        file.type = type;
        write_model(path_, file);
        LoadOptions as_floats;
        as_floats.dtype = "f32";
        const Model read = Model::load(path_, as_floats);
        const reference::Tensors before = tensors_of(model), after = tensors_of(read);
        for (const auto& [name, matrix] : before)
            for (std::size_t i = 0; i < matrix.values.size(); ++i)
                ASSERT_NEAR(after.at(name).values[i], matrix.values[i], std::abs(matrix.values[i]) * step + 1e-7)
                    << name;
        EXPECT_GT(difference(logits(read), logits(model)), 0);
        EXPECT_LT(difference(logits(read), logits(model)), 0.2);
    }
}

TEST_F(ModelFiles, BlocksAreWrittenAsLoadingWouldMakeThem) {
    Blueprint b = small_blueprint();
    b.d_model = 64; // feed_forward.out has 52 columns, not a multiple of a block
    b.d_head = 16;
    const Model model = random_model(b, "learned", 3);
    ModelFile file = content(model);
    for (const WeightType type : {WeightType::q8_0, WeightType::q4_0}) {
        file.type = WeightType::f32;
        write_model(path_, file);
        LoadOptions options;
        options.dtype = name_of(type);
        const Rows expected = logits(Model::load(path_, options));
        file.type = type;
        write_model(path_, file);
        EXPECT_EQ(difference(logits(Model::load(path_)), expected), 0);
        const Safetensors written = Safetensors::open(path_);
        EXPECT_EQ(written.find("layers.0.attention.qkv.weight")->dtype, "U8");
        EXPECT_EQ(written.find("layers.0.feed_forward.out.weight")->dtype, "F16");
        EXPECT_EQ(written.find("encoding.learned.weight")->dtype, "F32");
    }
    const std::string before = test::file_content(path_);
    for (const float bad : {1e9f, std::nanf(""), HUGE_VALF}) {
        View& view = file.values[index_of(file, "layers.1.attention.qkv.weight")];
        std::vector<float> values(view.data, view.data + static_cast<std::ptrdiff_t>(view.rows) * view.cols);
        values[70] = bad;
        const View old = std::exchange(view, ordo::view(values.data(), view.rows, view.cols));
        try {
            write_model(path_, file);
            ADD_FAILURE() << bad;
        } catch (const Error& error) {
            EXPECT_NE(std::string(error.what()).find("tensor 'layers.1.attention.qkv.weight'"), std::string::npos);
        }
        view = old;
        EXPECT_EQ(test::file_content(path_), before);
    }
}

TEST_F(ModelFiles, TheTokenizerComesAlong) {
    Blueprint b = small_blueprint();
    b.vocab_size = byte_vocabulary;
    const Model model = random_model(b, "rope", 4);
    ModelFile file = content(model);
    file.tokenizer = make_byte_tokenizer()->to_json();
    write_model(path_, file);
    const Model read = Model::load(path_);
    EXPECT_EQ(read.end_of_text(), 256);
    EXPECT_EQ(read.decode(read.encode("h\xc3\xa9llo")), "h\xc3\xa9llo");
    EXPECT_EQ(read.encode("<|endoftext|>", {.special = true}), std::vector<Token>{256});
    EXPECT_THROW(read.decode(std::vector<Token>{257}), Error);
    file.tokenizer = "{}";
    write_model(path_, file, {});
    expect_load_error(ErrorCode::model, "tokenizer");
}

TEST_F(ModelFiles, ATokenizerOfAnotherSizeIsRefused) {
    const Model model = random_model(small_blueprint(), "rope", 4);
    ModelFile file = content(model);
    file.tokenizer = make_byte_tokenizer()->to_json();
    write_model(path_, file, {});
    expect_load_error(ErrorCode::model, "vocab_size = 101, found 257");
}

TEST_F(ModelFiles, AFileThatDoesNotOpenTakesNoPlace) {
    const Model model = random_model(small_blueprint(), "rope", 4);
    write_model(path_, content(model));
    const std::string before = test::file_content(path_);
    ModelFile file = content(model);
    file.tokenizer = make_byte_tokenizer()->to_json();
    EXPECT_THROW(write_model(path_, file), Error);
    EXPECT_TRUE(test::file_content(path_) == before);
}

TEST_F(ModelFiles, WithoutATokenizerTextIsRefused) {
    const Model model = random_model(small_blueprint(), "rope", 4);
    write_model(path_, content(model));
    const Model read = Model::load(path_);
    EXPECT_EQ(read.end_of_text(), -1);
    EXPECT_THROW(read.encode("a"), Error);
    EXPECT_THROW(read.decode(tokens_), Error);
}

// ---- Encodings --------------------------------------------------------------------------------

TEST_F(ModelFiles, AnotherEncodingMustBeForced) {
    const Model model = random_model(small_blueprint(), "rope", 5);
    write_model(path_, content(model));
    for (const std::string other :
         {"none", "alibi", "sinusoidal", "rope+alibi", "rope:pairing=halves", "rope:width=4", "rope:theta=500000"}) {
        warnings_.clear();
        expect_load_error(ErrorCode::usage, "force it", asking(other), ErrorReason::other_encoding);
        EXPECT_TRUE(warnings_.empty());
        const Model forced = Model::load(path_, asking(other, true));
        EXPECT_EQ(forced.encoding(), ModelEncodings(other, blueprint_of(model).dims()).spec());
        EXPECT_EQ(warnings_.size(), 1u);
        EXPECT_GT(difference(logits(forced), logits(model)), 1e-3) << other;
    }
}

TEST_F(ModelFiles, TheTrainedEncodingGoesByManyNames) {
    const Model model = random_model(small_blueprint(), "rope", 5);
    write_model(path_, content(model));
    for (const std::string same :
         {"", "rope", "rope:theta=10000", "rope:pairing=adjacent,theta=10000.0", "none+rope"}) {
        EXPECT_EQ(difference(logits(Model::load(path_, asking(same))), logits(model)), 0) << same;
        EXPECT_TRUE(warnings_.empty());
    }
}

// A refusal prints the error alone, without warnings.
TEST_F(ModelFiles, NothingIsWarnedOfBeforeTheModelIsLoaded) {
    const Model model = random_model(small_blueprint(), "rope", 6);
    ModelFile file = content(model);
    float extra[] = {1, 2};
    file.specs.push_back({"spare", {2}});
    file.values.push_back(view(extra, 1, 2));
    write_model(path_, file);
    LoadOptions options = asking("alibi", true);
    options.max_memory = 1000;
    expect_load_error(ErrorCode::limit, "more than the 1000", options);
    EXPECT_TRUE(warnings_.empty());
    options.max_memory = 0;
    Model::load(path_, options);
    ASSERT_EQ(warnings_.size(), 2u);
    EXPECT_NE(warnings_[0].find("spare"), std::string::npos) << warnings_[0];
    EXPECT_NE(warnings_[1].find("running with 'alibi"), std::string::npos) << warnings_[1];
}

TEST_F(ModelFiles, TensorsThatTheFileLacksCannotBeForced) {
    const Model model = random_model(small_blueprint(), "rope", 7);
    write_model(path_, content(model));
    expect_load_error(ErrorCode::usage, "encoding.learned.weight", asking("learned", true));
    EXPECT_TRUE(warnings_.empty());
    const Model learned = random_model(small_blueprint(), "learned", 7);
    write_model(path_, content(learned));
    expect_load_error(ErrorCode::usage, "expected [200, 40], found [96, 40]", asking("learned:length=200", true));
    // If the forced encoding does not need a table of the file, no warning follows.
    warnings_.clear();
    Model::load(path_, asking("alibi", true));
    EXPECT_EQ(warnings_.size(), 1u);
}

TEST_F(ModelFiles, SpecsThatCannotBeUnderstoodAreUsageErrors) {
    const Model model = random_model(small_blueprint(), "rope", 7);
    write_model(path_, content(model));
    for (const std::string bad : {"ropes", "rope:thta=1", "rope:theta=1e4", "rope+", "rope:width=3"}) {
        try {
            Model::load(path_, asking(bad, true));
            ADD_FAILURE() << bad;
        } catch (const Error& error) {
            EXPECT_EQ(error.code, ErrorCode::usage) << error.what();
        }
    }
}

TEST_F(ModelFiles, AnEncodingOfTheCallersOwn) {
    class Own final : public Encoding {
    public:
        std::string spec() const override { return "own:factor=2"; }
        std::vector<TensorSpec> tensors() const override { return {{"weight", {40}}}; }
        void bind(int, std::span<const View> tensors) override { weight_ = tensors[0]; }
        void embed(View x, const TokenRows& rows) const override {
            for (int i = 0; i < x.rows; ++i)
                for (int j = 0; j < x.cols; ++j) x.row(i)[j] += weight_.data[j] * static_cast<float>(rows.positions[i]);
        }

    private:
        View weight_;
    };
    std::vector<OwnEncoding> items;
    items.push_back(std::make_unique<Own>());
    const Model model =
        random_model(small_blueprint(), ModelEncodings(std::move(items), small_blueprint().n_layers), 8);
    ModelFile file = content(model);
    file.encoding = "none"; // a spec cannot name the caller's encoding
    write_model(path_, file);
    const Model read = Model::load(path_, std::make_unique<Own>());
    EXPECT_EQ(read.encoding(), "own:factor=2");
    EXPECT_EQ(difference(logits(read), logits(model)), 0);
    const Model without = random_model(small_blueprint(), "none", 8);
    write_model(path_, content(without));
    try {
        Model::load(path_, std::make_unique<Own>());
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.code, ErrorCode::usage);
        EXPECT_NE(std::string(error.what()).find("encoding.own.weight"), std::string::npos);
    }
}

// ---- Bad files ------------------------------------------------------------------------------

TEST_F(ModelFiles, WeightsThatAreNotFiniteAreRefusedByTensorAndIndex) {
    const Model model = random_model(small_blueprint(), "learned", 9);
    for (const std::string name : {"layers.1.attention.qkv.weight", "final_norm.weight", "encoding.learned.weight"})
        for (const float bad : {std::nanf(""), HUGE_VALF, -HUGE_VALF}) {
            ModelFile file = content(model);
            View& view = file.values[index_of(file, name)];
            std::vector<float> values(view.data, view.data + static_cast<std::ptrdiff_t>(view.rows) * view.cols);
            values[7] = bad;
            view.data = values.data();
            write_model(path_, file);
            expect_load_error(ErrorCode::model, "tensor '" + name + "': element 7 is ");
        }
}

TEST_F(ModelFiles, MissingMisshapenAndUnknownTensors) {
    const Model model = random_model(small_blueprint(), "learned", 10);
    ModelFile file = content(model);
    const std::size_t at = index_of(file, "layers.0.feed_forward.out.weight");
    file.specs[at].name = "layers.0.feed_forward.out.weights";
    write_model(path_, file, {});
    expect_load_error(ErrorCode::model, "tensor 'layers.0.feed_forward.out.weight': expected [40, 52], found none");

    file = content(model); // transposed
    file.specs[at].shape = {52, 40};
    std::swap(file.values[at].rows, file.values[at].cols);
    file.values[at].stride = file.values[at].cols;
    write_model(path_, file, {});
    expect_load_error(ErrorCode::model, "expected [40, 52], found [52, 40]");

    file = content(model);
    file.specs[index_of(file, "encoding.learned.weight")].name = "encoding.learnt.weight";
    write_model(path_, file, {});
    expect_load_error(ErrorCode::model, "encoding.learned.weight");

    file = content(model);
    float extra[] = {1, 2};
    file.specs.push_back({"layers.0.attention.rel", {2}});
    file.values.push_back(view(extra, 1, 2));
    write_model(path_, file, {});
    Model::load(path_, asking(""));
    ASSERT_EQ(warnings_.size(), 1u);
    EXPECT_NE(warnings_[0].find("layers.0.attention.rel"), std::string::npos) << warnings_[0];
}

TEST_F(ModelFiles, MetadataThatIsMissingOrWrong) {
    const Model model = random_model(small_blueprint(), "rope", 11);
    ModelFile file = content(model);
    // write_model() always writes the keys that it knows. A file without one must be written by hand.
    std::vector<StoredTensor> tensors;
    for (std::size_t i = 0; i < file.specs.size(); ++i)
        tensors.push_back({file.specs[i].name,
                           file.specs[i].shape,
                           WeightType::f32,
                           {file.values[i].data, static_cast<std::size_t>(file.values[i].rows) *
                                                     static_cast<std::size_t>(file.values[i].cols)}});
    const Metadata good = {{"ordo.format", "1"}, {"blueprint", to_json(file.blueprint)}, {"encoding", file.encoding}};
    const auto expect = [&](const std::string& key, const std::string* value, const std::string& phrase) {
        Metadata metadata = good;
        if (value != nullptr)
            metadata[key] = *value;
        else
            metadata.erase(key);
        write_safetensors(path_, tensors, metadata);
        expect_load_error(ErrorCode::model, phrase);
    };
    for (const std::string key : {"ordo.format", "blueprint", "encoding"}) expect(key, nullptr, "'" + key + "'");
    const std::string two = "2", broken = "{", unknown = "ropes", odd = "rope:width=3";
    expect("ordo.format", &two, "expected 1, found '2'");
    expect("blueprint", &broken, "blueprint");
    expect("encoding", &unknown, "ropes"); // the file's fault, not the caller's
    expect("encoding", &odd, "width");
    Blueprint other = file.blueprint;
    other.n_layers = 3;
    const std::string more_layers = to_json(other);
    expect("blueprint", &more_layers, "layers.2.attention_norm.weight");
    write_safetensors(path_, tensors, good);
    EXPECT_EQ(difference(logits(Model::load(path_)), logits(model)), 0);
}

TEST_F(ModelFiles, MemoryIsLimited) {
    const Model model = random_model(small_blueprint(), "rope", 12);
    write_model(path_, content(model));
    LoadOptions options;
    options.max_memory = 1000;
    expect_load_error(ErrorCode::limit, "more than the 1000", options);
    options.max_memory = 10'000'000;
    EXPECT_NO_THROW(Model::load(path_, options));
}

// A file may claim any context. The weights bound the memory that is prepared for it, and positions beyond that work.
TEST_F(ModelFiles, AnEnormousContextLoadsAndFarPositionsWork) {
    Blueprint b = small_blueprint();
    b.context = 1 << 22;
    const Model trained = random_model(small_blueprint(), "none", 13);
    ModelFile file = content(trained);
    file.blueprint = b;
    file.encoding = ModelEncodings("sinusoidal", b.dims()).spec();
    write_model(path_, file);
    const Model model = Model::load(path_);
    EXPECT_EQ(model.context(), 1 << 22);
    Session session(model, {4, 4, 4'000'000});
    EXPECT_NO_THROW(session.feed(std::vector<Token>{1, 2, 3}));
}

TEST_F(ModelFiles, WhatIsNotAModelIsSaidToBeNone) {
    test::put_file(path_, "hello");
    expect_load_error(ErrorCode::model, "");
    std::filesystem::remove(path_);
    expect_load_error(ErrorCode::io, "");
}

} // namespace
} // namespace ordo
