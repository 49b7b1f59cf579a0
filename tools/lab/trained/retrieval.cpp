// SPDX-License-Identifier: MIT
// Can a model find a word at any depth of a text, and in texts longer than its training texts? The passkey task is from
// Mohtashami and Jaggi 2023, arXiv 2305.16300, at a size that trains within the experiment.
#include "tools/lab/trained/retrieval_runs.h"

namespace ordo::lab {
namespace retrieval_file {

using namespace retrieval;

NamedFigures table_of(const RetrievalPlan& plan, std::size_t k, const std::vector<std::vector<Right>>& encodings) {
    NamedFigures out{kinds[k].name,
                     told("{}: correct answers by length and depth, with Wilson's interval", kinds[k].name),
                     {{"encoding", "seed", "length", "depth", "right", "of", "share", "low", "high"}, {}, 3}};
    for (std::size_t e = 0; e < encodings.size(); ++e)
        for (std::size_t s = 0; s < encodings[e].size(); ++s)
            for (std::size_t t = 0; t < plan.times.size(); ++t)
                for (int d = 0; d < depth_count; ++d)
                    if (const int right = encodings[e][s][t][d]; right >= 0)
                        add_row(out.figures, plan.encodings[e], s, plan.times[t] * plan.length, depths[d], right,
                                plan.samples, static_cast<double>(right) / plan.samples, wilson(right, plan.samples));
    return out;
}

// A map of all encodings by length, then one of each by length and depth.
void add_maps(const RetrievalPlan& plan, std::size_t k, const std::vector<std::vector<Right>>& encodings,
              Result& result) {
    Names lengths, places;
    for (const int times : plan.times) lengths.push_back(text(times * plan.length));
    for (const double depth : depths) places.push_back(text(depth));
    const auto add = [&](const std::string& name, const std::string& title, const char* x, HeatMap map) {
        map.blank = "no positions for this length", map.value_label = "share of correct answers";
        result.pictures.push_back({name, title, x, "tokens", std::move(map)});
    };
    const auto at = [&](std::size_t t) {
        return ends_of(plan.encodings, [&](std::size_t e) { return share(plan, encodings[e], t); });
    };
    add(text(kinds[k].name, "-by-length"),
        told("{}: share of correct answers {} at {} tokens, as trained, and {} at {}", kinds[k].name, at(0),
             plan.length, at(plan.times.size() - 1), plan.times.back() * plan.length),
        "encoding",
        map_of(lengths, plan.encodings, [&](std::size_t t, std::size_t e) { return share(plan, encodings[e], t); }));
    for (std::size_t e = 0; e < encodings.size(); ++e) {
        std::string shares;
        for (std::size_t t = 0; t < plan.times.size(); ++t)
            if (const double right = share(plan, encodings[e], t); !std::isnan(right))
                append(shares, told("{} at {}", fixed_text(right, 2), lengths[t]));
        add(text(kinds[k].name, "-", plan.encodings[e]),
            told("{}, {}: share of correct answers {}", kinds[k].name, plan.encodings[e], shares),
            "depth of the hidden word (0: start of the text, 1: just before the question)",
            map_of(lengths, places,
                   [&](std::size_t t, std::size_t d) { return share(plan, encodings[e], t, static_cast<int>(d)); }));
    }
}

void judge_all(const RetrievalPlan& plan, const Grid<Right>& all, Result& result) {
    Expectations expectations;
    Judgement& passkey = expectations.expect(
        "Every encoding, and none, solves the passkey at the trained length: the key alone tells the place.");
    Judgement& needle = expectations.expect(
        "If both solve the needle, alibi finds most at twice the trained length, and sinusoidal does not.");
    Judgement& rope =
        expectations.expect("If rope solves the passkey, it finds less than half at 8 times the trained length.");
    for (std::size_t e = 0; e < plan.encodings.size(); ++e) {
        const std::string& name = plan.encodings[e];
        const auto solves = [&](std::size_t k) { return verdict_of(plan, all[k][e], 0, solved_at); };
        const auto most = [&](std::size_t k, std::size_t t) { return verdict_of(plan, all[k][e], t, half); };
        passkey.add(solves(0), in_text(name));
        if (name == "alibi" && solves(1) == Verdict::held) needle.add(most(1, 1), name);
        if (name == "sinusoidal" && solves(1) == Verdict::held) needle.add(opposite(most(1, 1)), name);
        if (name == "rope" && solves(0) == Verdict::held) rope.add(opposite(most(0, plan.times.size() - 1)), name);
    }
    expectations.write_to(result);
}

// ---- The experiment ---------------------------------------------------------------------------

Result run(const Request& request) {
    const Model words = Model::load(trained_models(request)[0].file); // for its tokenizer
    const Haystack haystack = haystack_of(words, held_out(request));
    RetrievalPlan plan{&haystack,
                       request.encodings("none;sinusoidal;learned;rope;alibi;t5"),
                       {1, 2, 4, 8},
                       request.only("length", 64, 512),
                       request.integer("seeds", request.quick ? 1 : 3),
                       request.quick ? 16 : 40,
                       request.quick ? quick_effort : 1.0,
                       request.quick};
    const int least = Haystack::shortest(2 * kinds[1].needles);
    if (plan.length < least)
        fail(ErrorCode::usage, "option --length: expected at least ", least, " for this experiment, found ",
             plan.length);
    const Grid<Right> all = train_all(plan, request);
    Result result;
    for (std::size_t k = 0; k < std::size(kinds); ++k) {
        const auto at = [&](std::size_t t) {
            return ends_of(
                plan.encodings, [&](std::size_t e) { return 100 * share(plan, all[k][e], t); }, 0);
        };
        append(
            result.answer,
            told("Asked for {}, models are right in {} % of texts of the trained {} tokens, and in {} % of texts of {} "
                 "(guessing: {} %).",
                 kinds[k].what, at(0), plan.length, at(plan.times.size() - 1), plan.times.back() * plan.length,
                 figure(100.0 / (kinds[k].needles > 1 ? kinds[k].needles : Haystack::value_count), 2)),
            " ");
        result.tables.push_back(table_of(plan, k, all[k]));
        add_maps(plan, k, all[k], result);
    }
    if (plan.quick) // the shares of models that have hardly learned the task
        result.answer = told("Not decided in a quick run, which trains {} % of the steps.", 100 * quick_effort);
    judge_all(plan, all, result);
    result.notes = {
        told("A sequence has a start token, the {} most frequent tokens of the text in their order, and hidden words: "
             "each is a key followed by a value, words that occur nowhere else. The last token is the key of the "
             "question. Guessing has 1 of {} values, or 1 of the 3 that needle hides.",
             Haystack::hay_count, Haystack::value_count),
        told("Every model has 2 layers, d_model 64 and 4 heads of 16. All lengths up to the trained one and all depths "
             "are equally frequent. Each length and depth has {} questions, the same for all encodings.",
             plan.samples),
        told("A run solves a task if Wilson's interval of its answers is above {} at the trained length, and finds "
             "most above {}. If the runs of an encoding disagree, it is undecided, as all is with --quick, which "
             "trains {} % of the steps. An unsolved task says nothing about longer texts.",
             solved_at, half, 100 * quick_effort)};
    return result;
}

} // namespace retrieval_file

const Experiment retrieval_experiment{
    .name = "retrieval",
    .summary = "Can a model find a hidden word in a long text?",
    .details =
        "A small model for each encoding and seed learns to find a word by its key in the shipped held-out text: one "
        "hidden word (passkey), or one of three (needle). It is tested in texts of 1, 2, 4 and 8 times the trained "
        "length, at five depths. The passkey task is from Mohtashami and Jaggi 2023, arXiv 2305.16300.",
    .options = {"model", "corpus", "encodings", "seeds", "length"},
    .seconds = {500, 25},
    .run = retrieval_file::run};

} // namespace ordo::lab
