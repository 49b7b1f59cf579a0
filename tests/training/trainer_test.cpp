// SPDX-License-Identifier: MIT
// Training through the public header, compared with Sessions and with the parts of `ordo train`.
#include "training.h"

#include "io/file.h"
#include "model/model_file.h"
#include "tests/model/small_models.h"
#include "tests/temp_dir.h"
#include "training/network.h"
#include "training/optimizer.h"

#include <gtest/gtest.h>

namespace ordo {
namespace {

using test::TempDir;

std::vector<std::vector<float>> weights_of(const Model& model) {
    const TensorMemory& tensors = *impl_of(model).tensors;
    std::vector<std::vector<float>> all;
    for (std::size_t i = 0; i < tensors.specs().size(); ++i) {
        std::size_t n = 1;
        for (const std::int64_t size : tensors.specs()[i].shape) n *= static_cast<std::size_t>(size);
        tensors.read(i, all.emplace_back(n));
    }
    return all;
}

struct Text {
    std::vector<Token> tokens, targets;
    std::vector<int> segments, positions;

    Text(int batch, int length, int vocab_size, int axes = 1)
        : tokens(random_tokens(batch * length, vocab_size, 5)), targets(random_tokens(batch * length, vocab_size, 6)) {
        for (std::size_t i = 0; i < targets.size(); i += 7) targets[i] = -1;
        for (int i = 0; i < batch * length; ++i) segments.push_back(i % length > length / 2);
        for (int i = 0; i < batch * length; ++i)
            for (int axis = 0; axis < axes; ++axis) positions.push_back((i % length) * (axis + 1) + i % length / 3);
    }
};

// The mean of -log softmax(logits)[target] over the scored targets, in double, computed by Sessions.
double session_loss(const Model& model, const Text& text, int batch, int length, bool rows, int axes) {
    double total = 0;
    int scored = 0;
    for (int s = 0; s < batch; ++s) {
        const auto first = static_cast<std::size_t>(s) * static_cast<std::size_t>(length);
        const auto n = static_cast<std::size_t>(length);
        Session session(model, {.capacity = length, .axes = axes});
        TokenRows known;
        if (rows)
            known = {Positions(text.positions, axes).subspan(first, n), std::span(text.segments).subspan(first, n)};
        session.feed_all(std::span(text.tokens).subspan(first, n), known, [&](int at, View logits) {
            for (int i = 0; i < logits.rows; ++i) {
                const Token target = text.targets[first + static_cast<std::size_t>(at + i)];
                if (target < 0) continue;
                double sum = 0;
                for (int j = 0; j < logits.cols; ++j) sum += std::exp(static_cast<double>(logits.row(i)[j]));
                total += std::log(sum) - logits.row(i)[target];
                ++scored;
            }
        });
    }
    return total / scored;
}

TEST(Trainer, ALossIsWhatSessionsSay) {
    const Blueprint b = small_blueprint();
    struct Case {
        std::string encoding;
        int length, axes;
    };
    // In a session longer than the trained context, dynamic scaling rotates with other angles.
    for (const auto& [encoding, length, axes] :
         {Case{"rope", 40, 1}, Case{"segment+learned", 40, 1}, Case{"t5+forget", 70, 1}, Case{"none", 96, 1},
          Case{"rope:scaling=dynamic,factor=2", 150, 1}, Case{"rope:sections=2/2/1", 40, 3}}) {
        SCOPED_TRACE(encoding);
        const Model model = random_model(b, encoding, 3);
        const Text text(2, length, b.vocab_size, axes);
        Trainer trainer(model, {.batch = 2, .length = length, .axes = axes});
        EXPECT_NEAR(trainer.loss(text.tokens, text.targets), session_loss(model, text, 2, length, false, 1), 1e-4);
        if (length > 90) continue;
        const double placed = trainer.loss(text.tokens, text.targets, {Positions(text.positions, axes), text.segments});
        EXPECT_NEAR(placed, session_loss(model, text, 2, length, true, axes), 1e-4);
    }
}

class TrainerSteps : public testing::TestWithParam<double> {}; // the scale of Muon, or 0

TEST_P(TrainerSteps, StepsAreThoseOfTheNetworkAndTheOptimizer) {
    const Blueprint b = small_blueprint();
    constexpr int batch = 3, length = 20;
    const Model model = random_model(b, "rope+kerple", 3);
    const Text text(batch, length, b.vocab_size);
    ModelEncodings encodings("rope+kerple", b.dims());
    Parameters parameters(b, encodings);
    for (int i = 0; i < parameters.count(); ++i) {
        const View v = parameters.value(i);
        impl_of(model).tensors->read(static_cast<std::size_t>(i), {v.data, static_cast<std::size_t>(v.rows * v.cols)});
    }
    Network network(b, encodings, parameters, batch, length);
    Optimizer optimizer(parameters, GetParam() > 0 ? hidden_matrices(b) : std::vector<MatrixRows>());
    TrainingOptions options{.batch = batch, .length = length, .weight_decay = 0.3, .clip = 0.5, .dropout = 0.1};
    options.seed = 9, options.muon = GetParam();
    Trainer trainer(model, options);
    for (std::uint64_t step = 0; step < 4; ++step) {
        std::fill(parameters.grads().begin(), parameters.grads().end(), 0.0f);
        const double loss = network.loss_and_grad({text.tokens, text.targets}, {0.1, 9, step});
        const double lr = 1e-3 * static_cast<double>(step + 1);
        optimizer.step({lr, 0.3, 0.5, lr * GetParam()});
        EXPECT_EQ(trainer.step(text.tokens, text.targets, lr), loss);
    }
    EXPECT_EQ(trainer.steps(), 4);
    const auto weights = weights_of(trainer.model());
    for (int i = 0; i < parameters.count(); ++i) {
        const View v = parameters.value(i);
        EXPECT_EQ(weights[i], std::vector<float>(v.data, v.data + static_cast<std::ptrdiff_t>(v.rows) * v.cols))
            << parameters.specs()[i].name;
    }
}

INSTANTIATE_TEST_SUITE_P(AdamWAndMuon, TrainerSteps, testing::Values(0, 2.5));

TEST(Trainer, TheLossOfATextFallsAndTheModelWritesIt) {
    Blueprint b = small_blueprint();
    b.vocab_size = byte_vocabulary;
    const Model model = random_model(b, "rope", 1);
    const std::string text = "the cat sat on the mat and the dog sat on the log.";
    const std::vector<Token> all = model.encode(text);
    const int n = static_cast<int>(all.size()) - 1;
    Trainer trainer(model, {.length = n});
    const std::span<const Token> tokens(all.data(), all.size() - 1), targets(all.data() + 1, all.size() - 1);
    const double before = trainer.loss(tokens, targets);
    for (int i = 0; i < 150; ++i) trainer.step(tokens, targets, 3e-3);
    EXPECT_LT(trainer.loss(tokens, targets), 0.1 * before);
    GenerateOptions greedy;
    greedy.max_tokens = n - 10;
    greedy.sampling.temperature = 0;
    const Model trained = trainer.model();
    Session session(trained);
    std::span<const float> logits = session.feed(std::span(all).first(8));
    std::vector<Token> written;
    for (int i = 8; i < n; ++i) {
        written.push_back(static_cast<Token>(std::max_element(logits.begin(), logits.end()) - logits.begin()));
        logits = session.feed(std::span(written).last(1));
    }
    EXPECT_EQ(trained.decode(written), text.substr(8, static_cast<std::size_t>(n) - 8));
    // The first model is unchanged.
    EXPECT_EQ(weights_of(model), weights_of(random_model(b, "rope", 1)));
}

TEST(Trainer, TakesWeightsOfAnyTypeAndWritesThem) {
    const TempDir directory;
    const Blueprint b = small_blueprint();
    const Text text(1, 30, b.vocab_size);
    for (const WeightType type : writable_types) {
        SCOPED_TRACE(name_of(type));
        const Model model = random_model(b, "alibi:trained=yes", 3, type);
        Trainer trainer(model, {.length = 30});
        EXPECT_EQ(weights_of(trainer.model()), weights_of(model));
        trainer.save(directory / "model", name_of(type));
        const Model loaded = Model::load(directory / "model");
        const auto was = weights_of(model), is = weights_of(loaded);
        const std::span<const TensorSpec> specs = tensor_specs(model);
        for (std::size_t i = 0; i < specs.size(); ++i) { // matrices of halves are not rounded a second time
            const bool exact = type == WeightType::f32 || (!quantised(type) && type_within(type, specs[i]) == type);
            EXPECT_TRUE(!exact || was[i] == is[i]) << specs[i].name;
        }
        EXPECT_NEAR(session_loss(loaded, text, 1, 30, false, 1), trainer.loss(text.tokens, text.targets), 0.1);
    }
}

TEST(Trainer, RecordsWhatWasDone) {
    const TempDir directory;
    const Blueprint b = small_blueprint();
    const Text text(2, 10, b.vocab_size);
    const Model start = random_model(b, "rope", 3);
    const Trainer untouched(start);
    EXPECT_EQ(untouched.model().metadata("fine_tune.1.steps"), "");
    Trainer first(start, {.batch = 2, .length = 10, .seed = 4});
    first.step(text.tokens, text.targets, 0.002);
    first.step(text.tokens, text.targets, 0.001);
    first.save(directory / "first", "f32");
    const Model once = Model::load(directory / "first");
    EXPECT_EQ(once.metadata("fine_tune.1.steps"), "2");
    EXPECT_EQ(once.metadata("fine_tune.1.batch"), "2");
    EXPECT_EQ(once.metadata("fine_tune.1.length"), "10");
    EXPECT_EQ(once.metadata("fine_tune.1.lr"), "0.002 to 0.001");
    EXPECT_EQ(once.metadata("fine_tune.1.seed"), "4");
    EXPECT_EQ(weights_of(once), weights_of(first.model()));
    Trainer second(once, {.batch = 2, .length = 10});
    second.step(text.tokens, text.targets, 0.001);
    const Model twice = second.model();
    EXPECT_EQ(twice.metadata("fine_tune.1.steps"), "2");
    EXPECT_EQ(twice.metadata("fine_tune.2.steps"), "1");
    EXPECT_EQ(twice.metadata("fine_tune.2.lr"), "0.001");
}

// The metadata's losses belong to weights that fine-tuning replaces.
TEST(Trainer, LossesOfOtherWeightsAreNotTakenOver) {
    const Model model = Model::load("weights/rope.safetensors");
    const std::vector<Token> all = model.encode("Once upon a time there was a cat.");
    Trainer trainer(model, {.length = static_cast<int>(all.size()) - 1});
    ASSERT_NE(model.metadata("validation_loss"), "");
    EXPECT_EQ(trainer.model().metadata("validation_loss"), model.metadata("validation_loss"));
    trainer.step(std::span(all).first(all.size() - 1), std::span(all).subspan(1), 1e-4);
    const Model tuned = trainer.model();
    EXPECT_EQ(tuned.metadata("validation_loss"), "");
    EXPECT_EQ(tuned.metadata("train_loss"), "");
    EXPECT_EQ(tuned.metadata("corpus.sha256"), model.metadata("corpus.sha256"));
    EXPECT_EQ(tuned.encode("a cat"), model.encode("a cat"));
}

// A tokenizer with fewer tokens than the embedding has rows, and the model files' settings for tokens and sampling.
TEST(Trainer, KeepsTheTextSideOfItsModel) {
    const TempDir directory;
    std::filesystem::create_directory(directory / "model");
    for (const char* name : {"config.json", "model.safetensors", "tokenizer.json"})
        std::filesystem::copy_file(std::filesystem::path("tests/hostile/convert-padded") / name,
                                   directory / "model" / name);
    test::put_file(directory / "model/generation_config.json",
                   R"({"eos_token_id": 3, "do_sample": true, "temperature": 0.5})");
    const Model model = Model::load(directory / "model");
    ASSERT_EQ(model.end_of_text(), 3);
    ASSERT_EQ(model.sampling().temperature, 0.5f);
    const std::vector<Token> text = model.encode("abba");
    Trainer trainer(model, {.length = static_cast<int>(text.size()) - 1});
    trainer.step(std::span(text).first(text.size() - 1), std::span(text).subspan(1), 1e-4);
    trainer.save(directory / "tuned", "f32");
    const Model saved = Model::load(directory / "tuned"), made = trainer.model();
    for (const Model* tuned : {&saved, &made}) {
        EXPECT_EQ(tuned->encode("abba"), text);
        EXPECT_EQ(tuned->end_of_text(), 3);
        EXPECT_EQ(tuned->sampling().temperature, 0.5f);
        EXPECT_EQ(tuned->vocab_size(), 64); // of the embedding
    }
}

// ---- Refusals -----------------------------------------------------------------------------------

template <class Call>
void expect_error(ErrorCode code, std::string_view part, const Call& call) {
    try {
        call();
        ADD_FAILURE() << "expected: " << part;
    } catch (const Error& error) {
        EXPECT_EQ(error.code, code) << error.what();
        EXPECT_NE(std::string_view(error.what()).find(part), std::string_view::npos) << error.what();
    }
}

TEST(Trainer, OptionsOutOfRangeAreRefused) {
    const Model model = random_model(small_blueprint(), "learned", 3);
    const auto refuses = [&](const TrainingOptions& options, ErrorCode code, std::string_view part) {
        expect_error(code, part, [&] { Trainer{model, options}; });
    };
    refuses({.batch = 0}, ErrorCode::usage, "batch: expected at least 1, found 0");
    refuses({.length = -3}, ErrorCode::usage, "length: expected at least 1, found -3");
    refuses({.axes = 0}, ErrorCode::usage, "axes: expected at least 1, found 0");
    refuses({.axes = -1}, ErrorCode::usage, "axes: expected at least 1, found -1");
    refuses({.weight_decay = -1}, ErrorCode::usage, "weight_decay");
    refuses({.clip = 0}, ErrorCode::usage, "clip");
    refuses({.clip = std::nan("")}, ErrorCode::usage, "clip");
    refuses({.dropout = 1}, ErrorCode::usage, "dropout");
    refuses({.muon = -1}, ErrorCode::usage, "muon");
    refuses({.axes = 17}, ErrorCode::usage, "axes: expected at most 16, found 17");
    refuses({.length = 97}, ErrorCode::limit, "learned");
    refuses({.length = std::numeric_limits<int>::max()}, ErrorCode::limit, "sequences of at most 4194304 tokens");
    refuses({.length = (1 << 22) + 1}, ErrorCode::limit, "sequences of at most 4194304 tokens");
    refuses({.batch = 1 << 30}, ErrorCode::limit, " GiB, more than the ");
    Blueprint rotated = small_blueprint(), dense = rotated;
    rotated.qk_norm = QkNorm::rotated, dense.dense = {{8}};
    for (const auto& [b, part] : {std::pair(rotated, "before their rotation"), {dense, "no dense layers"}}) {
        const Model other = random_model(b, "rope", 3);
        expect_error(ErrorCode::usage, part, [&] { Trainer{other, {}}; });
    }
}

TEST(Trainer, InputOutOfRangeIsRefused) {
    const Blueprint b = small_blueprint();
    const Model model = random_model(b, "segment+learned", 3);
    Trainer trainer(model, {.batch = 2, .length = 8});
    const Text good(2, 8, b.vocab_size);
    const auto weights = weights_of(trainer.model());
    const auto refuses = [&](const std::function<void(Text&)>& change, ErrorCode code, std::string_view part,
                             double lr = 1) {
        Text text = good;
        change(text);
        const TokenRows rows{text.positions, text.segments};
        expect_error(code, part, [&] { trainer.step(text.tokens, text.targets, lr, rows); });
        if (lr == 1) expect_error(code, part, [&] { trainer.loss(text.tokens, text.targets, rows); });
    };
    refuses([](Text& t) { t.tokens.pop_back(); }, ErrorCode::usage, "expected 16 tokens, 2 sequences of 8, found 15");
    refuses([](Text& t) { t.targets.push_back(1); }, ErrorCode::usage,
            "expected 16 targets, 2 sequences of 8, found 17");
    refuses([](Text& t) { t.segments.pop_back(); }, ErrorCode::usage, "expected 16 segments");
    refuses([](Text& t) { t.positions.pop_back(); }, ErrorCode::usage, "expected 16 positions");
    refuses([](Text& t) { t.tokens[3] = 101; }, ErrorCode::limit, "token 3: expected one from 0 to 100, found 101");
    refuses([](Text& t) { t.tokens[3] = -1; }, ErrorCode::limit, "token 3");
    refuses([](Text& t) { t.targets[4] = 101; }, ErrorCode::limit, "target 4");
    refuses([](Text& t) { t.segments[5] = 9; }, ErrorCode::limit, "segment 5");
    refuses([](Text& t) { t.segments[5] = -1; }, ErrorCode::limit, "segment 5");
    refuses([](Text& t) { t.positions[6] = 96; }, ErrorCode::limit, "position 6: expected one from 0 to 95, found 96");
    refuses([](Text& t) { t.positions[6] = -1; }, ErrorCode::limit, "position 6");
    refuses([](Text& t) { std::fill(t.targets.begin(), t.targets.end(), -1); }, ErrorCode::usage,
            "at least one target");
    for (const double lr : {-1.0, std::nan(""), std::numeric_limits<double>::infinity()})
        refuses([](Text&) {}, ErrorCode::usage, "lr: expected a finite number >= 0", lr);
    std::vector<int> planes(32, 0);
    expect_error(ErrorCode::usage, "at most 1 axes, found 2", [&] {
        trainer.loss(good.tokens, good.targets, {Positions(planes, 2), {}});
    });
    for (const int axes : {0, -1})
        expect_error(ErrorCode::usage, "at least 1", [&] {
            trainer.loss(good.tokens, good.targets, {Positions(planes, axes), {}});
        });
    EXPECT_EQ(trainer.steps(), 0);
    EXPECT_EQ(weights_of(trainer.model()), weights);
}

TEST(Trainer, ALossThatIsNotFiniteChangesNothing) {
    const TempDir directory;
    const Blueprint b = small_blueprint();
    const Text text(1, 12, b.vocab_size);
    const Model model = random_model(b, "rope", 3);
    Trainer trainer(model, {.length = 12});
    trainer.save(directory / "model", "f32");
    trainer.step(text.tokens, text.targets, 1e30);
    const auto weights = weights_of(trainer.model());
    expect_error(ErrorCode::failure, "step 2: the ", [&] { trainer.step(text.tokens, text.targets, 1); });
    EXPECT_EQ(trainer.steps(), 1);
    EXPECT_EQ(weights_of(trainer.model()), weights);
    // A value that does not fit f16 is not written as f16, and the old file stays.
    expect_error(ErrorCode::failure, "does not fit f16", [&] { trainer.save(directory / "model", "f16"); });
    EXPECT_EQ(weights_of(Model::load(directory / "model")), weights_of(model));
    expect_error(ErrorCode::usage, "found 'f64'", [&] { trainer.save(directory / "model", "f64"); });
    expect_error(ErrorCode::io, "absent", [&] { trainer.save(directory / "absent" / "model"); });
}

TEST(Trainer, IsRefusedAfterItWasMovedFrom) {
    const Model model = random_model(small_blueprint(), "rope", 3);
    const Text text(1, 12, 101);
    Trainer trainer(model, {.length = 12}), other = std::move(trainer);
    const auto refused = [](const std::function<void()>& call) { expect_error(ErrorCode::usage, "moved from", call); };
    refused([&] { trainer.step(text.tokens, text.targets, 1); });
    refused([&] { trainer.loss(text.tokens, text.targets); });
    refused([&] { trainer.steps(); });
    refused([&] { trainer.model(); });
    refused([&] { trainer.save("never"); });
    EXPECT_EQ(other.steps(), 0);
}

// The caller's own encoding has one set of tables, which the model keeps. The encoding may have any name.
TEST(Trainer, EncodingsOfTheCallersAreRefusedByName) {
    class Own final : public Encoding {
    public:
        explicit Own(std::string name) : name_(std::move(name)) {}
        std::string spec() const override { return name_; }
        unsigned moments() const override { return moment_rotate; }

    private:
        std::string name_;
    };
    for (const std::string name : {"my-rotation", "none", "rope"}) {
        const Model model = Model::load("weights/none.safetensors", std::make_unique<Own>(name));
        expect_error(ErrorCode::usage, name, [&] { Trainer{model}; });
    }
}

} // namespace
} // namespace ordo
