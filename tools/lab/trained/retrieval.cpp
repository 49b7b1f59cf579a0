// SPDX-License-Identifier: MIT
// Can a model find a word at any depth of a text, and in texts longer than its training texts? The passkey task is from
// Mohtashami and Jaggi 2023, arXiv 2305.16300, at a size that trains within the experiment.
#include "tools/lab/shipped/trained.h"
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
    r.draw_each([&](std::uint64_t seed, std::uint64_t number, std::span<Token> tokens, std::span<Token> targets) {
        // A few needles are easy to distinguish, and many ask several questions of one sequence. Mixing both speeds up
        // learning.
        const int most = kind.needles == 1 ? 1 : 2 * kind.needles;
        const Random random(seed, 0x1e47);
        const auto between = [&](std::uint64_t draw, int least, int greatest) {
            return least + static_cast<int>(random.below(draw, static_cast<std::uint64_t>(greatest - least + 1)));
        };
        const int needles = between(2 * number, 1, most);
        const int length = between(2 * number + 1, Haystack::shortest(needles), plan.length);
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

// ---- Results ----------------------------------------------------------------------------------

// Correct answers over all depths at one length; -1: no positions there.
int right_of(const Right& grid, std::size_t times) {
    int sum = 0;
    for (const int right : grid[times]) sum += right;
    return grid[times][0] < 0 ? -1 : sum;
}

// The verdict of all runs if they agree, otherwise undecided. The interval of a run's own answers decides its verdict.
Verdict judge(const Plan& plan, const std::vector<Right>& seeds, std::size_t times, double bound) {
    int held = 0, missed = 0;
    for (const Right& grid : seeds) {
        if (right_of(grid, times) < 0) return Verdict::untested;
        const Verdict verdict = above(wilson(right_of(grid, times), plan.samples * depth_count), bound);
        held += verdict == Verdict::held;
        missed += verdict == Verdict::missed;
    }
    const auto all = static_cast<int>(seeds.size());
    // Longer training may change the results of --quick.
    return plan.quick      ? Verdict::undecided
           : held == all   ? Verdict::held
           : missed == all ? Verdict::missed
                           : Verdict::undecided;
}

int solved_runs(const Plan& plan, const std::vector<Right>& seeds) {
    return static_cast<int>(std::count_if(seeds.begin(), seeds.end(), [&](const Right& grid) {
        return right_of(grid, 0) >= 0 &&
               above(wilson(right_of(grid, 0), plan.samples * depth_count), solved_at) == Verdict::held;
    }));
}

// Fraction of correct answers over the seeds, at one depth or (depth_count) all; NaN: no positions.
double share(const Plan& plan, const std::vector<Right>& seeds, std::size_t times, int depth) {
    double right = 0;
    for (const Right& grid : seeds) {
        if (grid[times][0] < 0) return std::nan("");
        right += depth == depth_count ? right_of(grid, times) : grid[times][depth];
    }
    return right / (static_cast<double>(seeds.size()) * plan.samples * (depth == depth_count ? depth_count : 1));
}

std::string plain(const std::string& encoding) { // for pictures
    return encoding;
}

// "solved at 64 (3 of 3 seeds; 0.99 right); 0.97 at 128, 0.41 at 256, no positions beyond"
std::string outcome_of(const Plan& plan, const std::vector<Right>& seeds) {
    const int runs = solved_runs(plan, seeds);
    const std::string near = fixed_text(share(plan, seeds, 0, depth_count), 2);
    std::string out = plan.quick ? text("after a little training ", near, " right at ", plan.length)
                                 : text(runs == plan.seeds ? "solved at "
                                        : runs == 0        ? "unsolved at "
                                                           : "solved by some seeds at ",
                                        plan.length, " (", runs, " of ", plan.seeds, " seeds; ", near, " right)");
    for (std::size_t t = 1; t < plan.times.size(); ++t) {
        const double right = share(plan, seeds, t, depth_count);
        if (std::isnan(right)) return out + ", no positions beyond";
        out += text(t == 1 && !plan.quick ? "; " : ", ", fixed_text(right, 2), " at ", plan.times[t] * plan.length);
    }
    return out;
}

// The best and the worst encodings at one length, by their share of correct answers.
std::string extremes_at(const Plan& plan, const std::vector<std::vector<Right>>& encodings, std::size_t times) {
    double most = -1, least = 2;
    std::string best, worst;
    for (std::size_t e = 0; e < encodings.size(); ++e) {
        const double right = share(plan, encodings[e], times, depth_count);
        if (right > most) most = right, best = in_text(plan.encodings[e]);
        if (right < least) least = right, worst = in_text(plan.encodings[e]);
    }
    const std::string high = text(fixed_text(100 * most, 0), " % (", best, ")");
    return best == worst ? high : text(fixed_text(100 * least, 0), " % (", worst, ") to ", high);
}

std::string answer_of(const Plan& plan, const Grid<Right>& all) {
    const std::size_t last = plan.times.size() - 1;
    std::string out = plan.quick ? text("After ", fixed_text(100 * quick_effort, 0), " % of the training, models find ")
                                 : std::string("Models find ");
    for (std::size_t k = 0; k < std::size(kinds); ++k)
        out += text(k == 0 ? "" : "; of ", kinds[k].what, ": ", extremes_at(plan, all[k], 0),
                    " in texts of the trained ", plan.length, " tokens, and ", extremes_at(plan, all[k], last),
                    " in texts of ", plan.times[last] * plan.length);
    return out + ".";
}

// The encodings that solve it, and the encodings that find most of the needles in the longest texts.
std::string finding_of(const Plan& plan, std::size_t k, const std::vector<std::vector<Right>>& encodings,
                       std::string (*shown)(const std::string&)) {
    const std::size_t last = plan.times.size() - 1;
    std::string solvers, carried, undecided;
    for (std::size_t e = 0; e < encodings.size(); ++e) {
        if (judge(plan, encodings[e], 0, solved_at) != Verdict::held) continue;
        append(solvers, shown(plan.encodings[e]));
        const Verdict found = judge(plan, encodings[e], last, half);
        if (found == Verdict::held) append(carried, shown(plan.encodings[e]));
        if (found == Verdict::undecided) append(undecided, shown(plan.encodings[e]));
    }
    return text(
        kinds[k].name, ", trained at ", plan.length, ": ",
        plan.quick ? text(extremes_at(plan, encodings, 0), " correct there, ", extremes_at(plan, encodings, last),
                          " at ", plan.times[last] * plan.length, " (--quick trains too little for more)")
        : solvers.empty() ? "no encoding is known to solve it there"
                          : text("solved by ", solvers, "; most are found at ", plan.times[last] * plan.length, " by ",
                                 carried.empty()      ? "no encoding"
                                 : carried == solvers ? "all of them"
                                                      : carried,
                                 undecided.empty() ? "" : " (undecided for " + undecided + ")"));
}

NamedFigures table_of(const Plan& plan, std::size_t k, const std::vector<std::vector<Right>>& encodings) {
    NamedFigures out{
        kinds[k].name,
        text(finding_of(plan, k, encodings, in_text), " (correct answers by length and depth, with Wilson's interval)"),
        {{"encoding", "seed", "length", "depth", "right", "of", "share", "low", "high"}, {}, 3}};
    for (std::size_t e = 0; e < encodings.size(); ++e)
        for (std::size_t s = 0; s < encodings[e].size(); ++s)
            for (std::size_t t = 0; t < plan.times.size(); ++t)
                for (std::size_t d = 0; d < std::size(depths); ++d) {
                    const int right = encodings[e][s][t][d];
                    if (right < 0) continue;
                    const Interval interval = wilson(right, plan.samples);
                    add_row(out.figures, plan.encodings[e], s, plan.times[t] * plan.length, depths[d], right,
                            plan.samples, static_cast<double>(right) / plan.samples, interval.low, interval.high);
                }
    return out;
}

HeatMap empty_map(const Plan& plan) {
    HeatMap map{.blank = "no positions for so many tokens",
                .value_label = "share of correct answers",
                .diverging = false,
                .shares = true};
    for (const int times : plan.times) map.y_names.push_back(text(times * plan.length));
    return map;
}

Picture grid_of(const Plan& plan, std::size_t k, std::size_t e, const std::vector<Right>& seeds) {
    HeatMap map = empty_map(plan);
    for (std::size_t t = 0; t < plan.times.size(); ++t) {
        Vector& row = map.values.emplace_back();
        for (int d = 0; d < depth_count; ++d) row.push_back(share(plan, seeds, t, d));
    }
    for (const double depth : depths) map.x_names.push_back(text(depth));
    return {text(kinds[k].name, "-", plan.encodings[e]),
            text(kinds[k].name, ", ", plan.encodings[e], ": ", outcome_of(plan, seeds)),
            "depth of the hidden word (0: start of the text, 1: just before the question)", "tokens", std::move(map)};
}

// All encodings in one picture.
Picture overview_of(const Plan& plan, std::size_t k, const std::vector<std::vector<Right>>& encodings) {
    HeatMap map = empty_map(plan);
    for (std::size_t t = 0; t < plan.times.size(); ++t) {
        Vector& row = map.values.emplace_back();
        for (const auto& seeds : encodings) row.push_back(share(plan, seeds, t, depth_count));
    }
    map.x_names = plan.encodings;
    return {text(kinds[k].name, "-by-length"), finding_of(plan, k, encodings, plain), "encoding", "tokens",
            std::move(map)};
}

// ---- Expectations ------------------------------------------------------------------------------

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
        passkey.add(judge(plan, all[0][e], 0, solved_at), in_text(name));
        const auto solves = [&](std::size_t k) { return judge(plan, all[k][e], 0, solved_at) == Verdict::held; };
        const auto reversed = [](Verdict v) {
            return v == Verdict::held ? Verdict::missed : v == Verdict::missed ? Verdict::held : v;
        };
        if (name == "alibi" && solves(1)) needle.add(judge(plan, all[1][e], 1, half), name);
        if (name == "sinusoidal" && solves(1)) needle.add(reversed(judge(plan, all[1][e], 1, half)), name);
        if (name == "rope" && solves(0) && plan.times.back() == 8)
            rope.add(reversed(judge(plan, all[0][e], plan.times.size() - 1, half)), name);
    }
    expectations.write_to(result);
}

// ---- The experiment ---------------------------------------------------------------------------

Result run(const Request& request) {
    const Model words = Model::load(trained_models(request)[0].file); // for its tokenizer
    const Text held = held_out(request);
    std::vector<Token> hay;
    for (const tools::Document& document : documents_of(held, words))
        hay.insert(hay.end(), document.tokens.begin(), document.tokens.end());
    const Haystack haystack(hay, words.vocab_size(), words.start_of_text(), [&](Token token) {
        const Token one[] = {token};
        return words.decode(one);
    });
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
    result.answer = answer_of(plan, all);
    for (std::size_t k = 0; k < std::size(kinds); ++k)
        result.found.push_back(finding_of(plan, k, all[k], in_text) + ".");
    for (std::size_t k = 0; k < std::size(kinds); ++k) {
        result.tables.push_back(table_of(plan, k, all[k]));
        result.pictures.push_back(overview_of(plan, k, all[k]));
        for (std::size_t e = 0; e < plan.encodings.size(); ++e) {
            result.pictures.push_back(grid_of(plan, k, e, all[k][e]));
            result.found.push_back(
                text(kinds[k].name, ", ", in_text(plan.encodings[e]), ": ", outcome_of(plan, all[k][e]), "."));
        }
    }
    judge_all(plan, all, result);
    result.notes = {
        text("A sequence has a start token, the ", Haystack::hay_count, " most frequent tokens of ", held.name,
             " in their order, and hidden words: each is a key followed by a value, words that occur nowhere else. "
             "passkey hides one word. needle hides three, so that the model must tell the value from two others. The "
             "last token is the key of the question. Guessing has 1 of ",
             Haystack::value_count, " values, or 1 of the 3 in the text."),
        text("Every model has 2 layers, d_model 64 and 4 heads of 16, and is trained with AdamW on sequences of up to ",
             plan.length,
             " tokens. All lengths and depths are equally frequent, and the same for each encoding. Each length and "
             "depth has ",
             plan.samples, " questions, the same for all."),
        text("A run is judged by Wilson's interval of its own answers (solved: above ", solved_at,
             " at the trained length; finds most: above ", half,
             "). If the runs of an encoding disagree, it is undecided. With --quick, which trains ",
             fixed_text(100 * quick_effort, 0),
             " % of the steps, all is undecided. A task that is unsolved at the trained length says nothing about "
             "longer texts.")};
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
