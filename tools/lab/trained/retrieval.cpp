// SPDX-License-Identifier: MIT
// Can a model find a word at any depth of a text, and in texts longer than its training texts? The passkey task is from
// Mohtashami and Jaggi 2023, arXiv 2305.16300, at a size that trains within the experiment.
#include "tools/lab/shipped/trained.h"
#include "tools/lab/study/answers.h"
#include "tools/lab/study/grid.h"
#include "tools/lab/trained/haystack.h"

namespace ordo::lab {
namespace {

constexpr double solved_at = 0.9, half = 0.5;
constexpr double quick_effort = 0.15; // fraction of the steps
constexpr double depths[] = {0, 0.25, 0.5, 0.75, 1};
constexpr int depth_count = static_cast<int>(std::size(depths));

struct Kind {
    const char *name, *what;
    int needles, steps;
};
constexpr Kind kinds[] = {{"passkey", "a hidden word", 1, 600}, {"needle", "one of three hidden words", 3, 3000}};

struct Plan {
    const Haystack* haystack;
    std::vector<std::string> encodings;
    std::vector<int> times; // in trained lengths
    int length, seeds, samples;
    double effort; // fraction of the steps
    bool quick;
};

// Correct answers of one run, [times][depth]; -1 if the encoding lacks positions for so many tokens.
using Right = std::vector<std::array<int, depth_count>>;

// ---- Training and asking ----------------------------------------------------------------------

Recipe recipe_of(const Plan& plan, const Kind& kind) {
    Recipe r{.trunk = small_trunk(plan.haystack->vocabulary(), plan.length, 2),
             .batch = 16,
             .length = plan.length,
             .steps = static_cast<int>(kind.steps * plan.effort),
             .positions = plan.times.back() * plan.length};
    // A few needles are easy to distinguish, and many ask several questions of one sequence. Mixing both speeds up
    // learning.
    const int most = kind.needles == 1 ? 1 : 2 * kind.needles;
    r.draw_each([&plan, most](std::uint64_t seed, std::uint64_t number, auto tokens, auto targets) {
        const Random random(seed, 0x1e47);
        const int needles = 1 + static_cast<int>(random.below(2 * number, most)), least = Haystack::shortest(needles),
                  length = least + static_cast<int>(random.below(2 * number + 1, plan.length - least + 1));
        plan.haystack->train(seed, number, length, needles, tokens, targets);
    });
    return r;
}

Right ask(const Plan& plan, const Kind& kind, const Model& model, std::uint64_t seed) {
    Right grid;
    for (const int times : plan.times) {
        const int length = times * plan.length;
        auto& row = grid.emplace_back();
        row.fill(-1);
        if (length > model.max_position()) continue;
        Session session = small_session(model, length);
        for (std::size_t d = 0; d < std::size(depths); ++d) {
            row[d] = 0;
            for (int i = 0; i < plan.samples; ++i) {
                // Beyond every number of training, and the same for every model.
                const std::uint64_t number = (std::uint64_t{1} << 40) + static_cast<std::uint64_t>(i) * depth_count + d;
                const Question question = plan.haystack->ask(seed, number, length, kind.needles, depths[d]);
                session.rewind(0);
                const auto logits = session.feed(question.tokens);
                row[d] += std::max_element(logits.begin(), logits.end()) - logits.begin() == question.answer;
            }
        }
    }
    return grid;
}

Grid<Right> train_all(const Plan& plan, const Request& request) {
    GridPlan study{{}, plan.encodings, plan.seeds};
    for (const Kind& kind : kinds) study.conditions.push_back(recipe_of(plan, kind));
    return train_grid<Right>(study, request.seed, request.progress, [&](const Model& model, const GridCell& cell) {
        return ask(plan, kinds[cell.condition], model, request.seed);
    });
}

// The share of correct answers of some seeds at one length, at one depth or (depth_count) all; NaN: no positions.
double share(const Plan& plan, std::span<const Right> seeds, std::size_t times, int depth = depth_count) {
    double right = 0;
    for (const Right& run : seeds) {
        if (run[times][0] < 0) return std::nan("");
        for (int d = 0; d < depth_count; ++d) right += d == depth || depth == depth_count ? run[times][d] : 0;
    }
    return right / (static_cast<double>(seeds.size()) * plan.samples * (depth == depth_count ? depth_count : 1));
}

// Whether the runs are above a bound: their verdict if they agree, otherwise undecided. The interval of a run's own
// answers decides its verdict. Longer training may change the results of --quick.
Verdict verdict_of(const Plan& plan, std::span<const Right> seeds, std::size_t times, double bound) {
    if (std::isnan(share(plan, seeds, times))) return Verdict::untested;
    std::set<Verdict> verdicts;
    const int asked = plan.samples * depth_count;
    for (const Right& run : seeds)
        verdicts.insert(above(wilson(std::llround(share(plan, {&run, 1}, times) * asked), asked), bound));
    return plan.quick || verdicts.size() > 1 ? Verdict::undecided : *verdicts.begin();
}

NamedFigures table_of(const Plan& plan, std::size_t k, const std::vector<std::vector<Right>>& encodings) {
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
void add_maps(const Plan& plan, std::size_t k, const std::vector<std::vector<Right>>& encodings, Result& result) {
    Names lengths, places;
    for (const int times : plan.times) lengths.push_back(text(times * plan.length));
    for (const double depth : depths) places.push_back(text(depth));
    const auto add = [&](const std::string& name, const std::string& title, const char* x, HeatMap map) {
        map.blank = "no positions for so many tokens", map.value_label = "share of correct answers";
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

void judge_all(const Plan& plan, const Grid<Right>& all, Result& result) {
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
    Plan plan{&haystack,
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
            told(
                "Asked for {}, models are right in {} % of texts of the trained {} tokens, and in {} % of texts of {}.",
                kinds[k].what, at(0), plan.length, at(plan.times.size() - 1), plan.times.back() * plan.length),
            " ");
        result.tables.push_back(table_of(plan, k, all[k]));
        add_maps(plan, k, all[k], result);
    }
    judge_all(plan, all, result);
    result.notes = {
        told("A sequence has a start token, the {} most frequent tokens of the text in their order, and hidden words: "
             "each is a key followed by a value, words that occur nowhere else. The last token is the key of the "
             "question. Guessing has 1 of {} values, or 1 of the 3 that needle hides.",
             Haystack::hay_count, Haystack::value_count),
        told("Every model has 2 layers, d_model 64 and 4 heads of 16. All lengths up to the trained one and all depths "
             "are equally frequent. Each length and depth has {} questions, the same for all encodings.",
             plan.samples),
        told(
            "A run is judged by Wilson's interval of its own answers: it solves a task above {} at the trained length, "
            "and finds most above {}. If the runs of an encoding disagree, it is undecided; with --quick, which trains "
            "{} % of the steps, all is. An unsolved task says nothing about longer texts.",
            solved_at, half, 100 * quick_effort)};
    return result;
}

} // namespace

const Experiment retrieval_experiment{
    .name = "retrieval",
    .summary = "Can a model find a hidden word, at any depth and in texts longer than the trained ones?",
    .details =
        "A small model for each encoding and seed learns to find a word by its key in the shipped held-out text: one "
        "hidden word (passkey), or one of three (needle). It is tested in texts of 1, 2, 4 and 8 times the trained "
        "length, at five depths. The passkey task is from Mohtashami and Jaggi 2023, arXiv 2305.16300.",
    .options = {"model", "corpus", "encodings", "seeds", "length"},
    .seconds = {500, 25},
    .run = run};

} // namespace ordo::lab
