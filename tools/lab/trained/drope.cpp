// SPDX-License-Identifier: MIT
// Rotary weights go on training without an encoding for a small part of their tokens (Gelberg et al. 2025, DroPE).
#include "tools/cli/inputs.h"
#include "tools/lab/shipped/extension_costs.h"
#include "tools/opening/weights.h"
#include "tools/train/data.h"
#include "training.h"
#include "training/schedule.h"

#include <unistd.h>

namespace ordo::lab {
namespace drope_file {

using extension::AtLength, extension::multiples;

constexpr int batch = 8;

// The arms of one part of the tokens. The last one has not had them.
enum Arm : std::size_t { dropped, kept, yarn, never, arms };
constexpr const char* arm_names[] = {"without encoding", "rope", "rope with yarn", "no encoding from the start"};
using AtMultiples = std::map<int, AtLength>;

// [part][arm] of one file.
using Seed = std::map<int, std::vector<AtMultiples>>;

struct Study {
    std::vector<int> parts{1, 2, 5}; // in percent of the tokens of the first training
    std::filesystem::path corpus;
    std::int64_t less = 1; // divides the tokens of a part
    std::size_t documents = 1000;

    std::vector<Seed> seeds = {}; // of each file
    std::int64_t most = 0;        // tokens of the largest part
    std::int64_t text = 0;        // tokens of the text

    // The arm without encoding less another, over seeds, or over documents if there is one seed.
    Mean more(int part, std::size_t other, int multiple) const {
        const auto pair = [&](const Seed& seed) {
            return extension::paired(seed.at(part)[dropped].at(multiple).last, seed.at(part)[other].at(multiple).last);
        };
        Vector means;
        for (const Seed& seed : seeds) means.push_back(pair(seed).mean);
        return seeds.size() > 1 ? mean_of(means) : pair(seeds[0]);
    }
    double cost(int part, std::size_t arm, int multiple) const {
        Vector means;
        for (const Seed& seed : seeds) means.push_back(seed.at(part)[arm].at(multiple).last.mean());
        return sample_of(means).mean();
    }
};

AtMultiples measure_all(const Model& model, std::span<const tools::Document> documents) {
    AtMultiples out;
    for (const int multiple : multiples)
        out[multiple] = extension::measure(model, documents, model.context(), multiple * model.context());
    return out;
}

// Trains with the rate and the optimiser that the file records.
Trainer train(const Model& model, const Metadata& record, train::Corpus& corpus, std::int64_t tokens,
              std::uint64_t seed) {
    const int length = model.context();
    const auto lr = record.find("lr"), optimizer = record.find("recipe.optimizer");
    const bool muon = optimizer != record.end() && optimizer->second == "muon";
    Trainer trainer(model, {.batch = batch, .muon = muon ? 1.0 : 0.0});
    Schedule rate{.peak = lr == record.end() ? 1e-3 : std::stod(lr->second),
                  .steps = std::max<std::int64_t>(1, tokens / (batch * length))};
    rate.warmup = rate.steps / 10;
    std::vector<Token> from(static_cast<std::size_t>(batch * length)), to = from;
    for (std::int64_t step = 0; step < rate.steps; ++step) {
        for (int i = 0; i < batch; ++i)
            corpus.window(corpus.shuffled(seed, step * batch + i), std::span(from).subspan(i * length, length),
                          std::span(to).subspan(i * length, length));
        trainer.step(from, to, rate(step));
    }
    return trainer;
}

// The costs of one file's arms after a part of its tokens.
std::vector<AtMultiples> measure_part(const Trained& file, const Metadata& record, train::Corpus& corpus,
                                      std::int64_t tokens, std::uint64_t seed,
                                      std::span<const tools::Document> documents) {
    std::vector<AtMultiples> out(arms);
    const Model bare = Model::load(file.file, {.encoding = "none", .force_encoding = true});
    out[dropped] = measure_all(train(bare, record, corpus, tokens, seed).model(), documents);
    const Trainer trainer = train(Model::load(file.file), record, corpus, tokens, seed);
    out[kept] = measure_all(trainer.model(), documents);
    Trained scaled = file;
    scaled.file = std::filesystem::temp_directory_path() / text("ordo-drope-", ::getpid(), ".safetensors");
    trainer.save(scaled.file, "f32");
    out[yarn][1] = out[kept].at(1); // a factor of 1 scales nothing
    for (const int multiple : {2, 4, 8}) {
        const Model model = extension::load(scaled, extension::methods[extension::yarn], multiple);
        out[yarn][multiple] = extension::measure(model, documents, file.context, multiple * file.context);
    }
    std::filesystem::remove(scaled.file);
    return out;
}

void measure(Study& study, const Text& held, const Request& request) {
    std::vector<AtMultiples> nevers;
    for (const Trained& file : trained_models(request)) {
        if (file.encoding != "none") continue;
        const Model model = Model::load(file.file);
        nevers.push_back(measure_all(model, extension::long_documents(held, model, study.documents)));
    }
    if (nevers.empty()) fail(ErrorCode::usage, "lab: drope: expected a file without an encoding too, found none");
    for (const Trained& file : extension::rotary_models(request, true)) {
        const Model model = Model::load(file.file);
        const Metadata record = tools::read_facts(file.file).record;
        const auto trained = record.find("tokens");
        if (trained == record.end() || tokenizer_of(model) == nullptr)
            fail(ErrorCode::usage, "lab: drope: ", file.name,
                 ": expected a tokenizer and a record of the training tokens, found none");
        const std::vector<tools::Document> documents = extension::long_documents(held, model, study.documents);
        train::Corpus corpus(study.corpus, *tokenizer_of(model), file.context);
        study.text = corpus.tokens();
        Seed& seed = study.seeds.emplace_back();
        for (const int part : study.parts) {
            request.progress(told("{}: {} % of the tokens", file.name, part));
            study.most = std::stoll(trained->second) * part / 100 / study.less;
            seed[part] = measure_part(file, record, corpus, study.most, request.seed, documents);
            seed[part][never] = nevers[(study.seeds.size() - 1) % nevers.size()];
        }
    }
}

void expect(const Study& study, bool quick, Result& result) {
    Expectations all;
    const auto add = [&](const char* sentence, std::size_t other, int multiple, bool less) {
        Judgement& cases = all.expect(sentence, quick ? ": --quick trains too little" : "");
        for (const int part : study.parts) {
            const Verdict verdict = below(study.more(part, other, multiple).interval(), 0);
            cases.add(quick ? Verdict::untested : less ? verdict : opposite(verdict), told("{} %", part));
        }
    };
    add("At 1x the weights lose more without their encoding than with it, after the same tokens.", kept, 1, false);
    add("At 1x they lose less than a model without an encoding from the start.", never, 1, true);
    add("At 4x they lose less than rope with yarn, after the same tokens.", yarn, 4, true);
    all.write_to(result);
}

void show(const Study& study, Result& result) {
    Figures table{{"percent", "weights", "of_trained", "nll", "without_less", "half"}, {}, 3};
    const int last = study.parts.back();
    Curves curves{.log_x = true};
    for (std::size_t arm = 0; arm < arms; ++arm) {
        Series& curve = curves.add(arm_names[arm], Series::Style::line_points);
        for (const int part : study.parts)
            for (const int multiple : multiples) {
                if (part == last) curve.add(multiple, study.cost(part, arm, multiple));
                add_row(table, part, arm_names[arm], multiple, study.cost(part, arm, multiple),
                        arm == dropped ? Mean{NAN, NAN} : study.more(part, arm, multiple));
            }
    }
    result.pictures = {{"curves", told("The last tokens of windows, after {} % of the tokens more", last),
                        "window, in trained lengths", "nats per token", std::move(curves)}};
    result.tables = {{"lengths", "Nats per token of the last tokens, and how much more they cost without the encoding",
                      std::move(table)}};
}

Result run(const Request& request) {
    Study study{.corpus = request.arguments.has("corpus") ? std::filesystem::path(request.arguments.text("corpus"))
                                                          : weights_file("train.txt")};
    if (request.quick) study.parts = {1}, study.less = 10, study.documents = 3;
    const Text held{"heldout.txt", tools::read_corpus(weights_file("heldout.txt").string(), tools::most_text, true)};
    measure(study, held, request);
    const auto counted = [](std::int64_t n) { return tools::grouped(static_cast<std::uint64_t>(n)); };
    const auto against = [&](std::size_t arm, int multiple) {
        const Mean mean = study.more(study.parts.back(), arm, multiple);
        return told("{}{} of {} at {}x", figure(mean.mean, 2), margin(mean.half, 2), arm_names[arm], multiple);
    };
    Result result;
    result.answer =
        request.quick
            ? told("{} tokens are too little training for an answer.", counted(study.most))
            : told("After {} tokens more without the encoding, the last tokens of a window cost this much more than "
                   "those of other weights, in nats: {}, {}, {}, {}.",
                   counted(study.most), against(kept, 1), against(never, 1), against(yarn, 4), against(yarn, 8));
    if (const auto times = study.most / study.text; times > 1)
        append(result.answer,
               told("The text has {} tokens and was read {} times, so all weights know it by heart; --corpus names a "
                    "longer one.",
                    counted(study.text), counted(times)),
               " ");
    expect(study, request.quick, result);
    show(study, result);
    result.notes = {
        told(
            "Text: {}. Rate and optimiser are those of the first training; warm-up of a tenth, cosine to a tenth. yarn "
            "has the factor of the length.",
            printable(study.corpus.filename().string())),
        "half is half the width of the 95 % interval over the rope files, or over documents if there is one."};
    return result;
}

} // namespace drope_file

const Experiment drope_experiment{
    .name = "drope",
    .summary = "Can a model drop its encoding after training?",
    .details =
        "The rope weights go on without an encoding for 1, 2 and 5 % of their tokens, next to the same tokens with "
        "rope, that with yarn, and no encoding from the start, at 1, 2, 4 and 8 times the trained length. Gelberg "
        "et al. 2025, arXiv 2512.12167. --corpus is the text to train on; --model names rope files and none files.",
    .options = {"model", "corpus"},
    .seconds = {400, 40},
    .run = drope_file::run};

} // namespace ordo::lab
