// SPDX-License-Identifier: MIT
// Do encodings carry what was learnt on short sequences to longer ones? The question and the tasks are those of
// Kazemnejad et al. 2023, arXiv 2305.19466, at a size that trains on the spot.
#include "tools/lab/experiments/small_models.h"
#include "tools/lab/experiments/synthetic.h"
#include "tools/lab/math/numbers.h"

#include "core/random.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

namespace ordo::lab {
namespace {

using tools::Cell;
using tools::fixed_text;

constexpr int d_head = 16;
constexpr double full_seconds = 1800; // of all five on two cores
constexpr double solved = 0.9;        // exact match at the trained length that counts as having learnt the task

struct Plan {
    std::vector<const Task*> tasks;
    std::vector<std::string> encodings;
    std::vector<double> times; // of the trained length
    int seeds, samples;
    double effort; // share of the steps
};

// Shares of right answers; NaN where the encoding has no position for so many tokens.
struct Score {
    double exact = std::numeric_limits<double>::quiet_NaN(), token = exact;
};
// All seeds of one encoding on one task: [seed][length].
using Scores = std::vector<std::vector<Score>>;

int length_of(const Task& task, double times) {
    return static_cast<int>(std::lround(task.trained * times));
}

// ---- Training and asking ----------------------------------------------------------------------

Recipe recipe_of(const Task& task, double effort) {
    Recipe r;
    r.trunk.vocab_size = task.vocab;
    r.trunk.n_layers = 3;
    r.trunk.d_model = 64;
    r.trunk.n_heads = r.trunk.n_kv_heads = 4;
    r.trunk.d_head = d_head;
    r.trunk.d_ff = 128;
    r.trunk.context = r.length = task.tokens(task.trained) - 1;
    r.batch = task.batch;
    r.steps = static_cast<int>(task.steps * effort);
    r.lr = 2e-3;
    r.draw = [&task, length = static_cast<std::size_t>(r.length)](std::uint64_t seed, int step, std::span<Token> tokens,
                                                                  std::span<Token> targets) {
        std::fill(tokens.begin(), tokens.end(), 0);
        std::fill(targets.begin(), targets.end(), -1);
        const Random lengths(seed, 0x1e47);
        for (std::size_t i = 0; i < static_cast<std::size_t>(task.batch); ++i) {
            const std::uint64_t index = static_cast<std::uint64_t>(step) * static_cast<std::uint64_t>(task.batch) + i;
            const auto count = static_cast<std::uint64_t>(task.trained - task.shortest + 1); // each as often
            const int n = task.shortest + static_cast<int>(lengths.below(index, count));
            const Example example = task.make(seed, index, n);
            for (std::size_t j = 0; j + 1 < example.tokens.size(); ++j) {
                tokens[i * length + j] = example.tokens[j];
                if (example.scored[j + 1]) targets[i * length + j] = example.tokens[j + 1];
            }
        }
    };
    return r;
}

// Each answer token is predicted from what is right before it. All of them right is the same as an answer written
// greedily being right: up to its first mistake it is fed its own tokens.
Score score(const Model& model, const Task& task, int length, int samples, std::uint64_t seed) {
    const int fed = task.tokens(length) - 1;
    if (fed > model.max_position()) return {};
    Session session = small_session(model, fed);
    int exact = 0, right = 0, asked = 0;
    for (int i = 0; i < samples; ++i) {
        // Far from any index of training, and the same for every model.
        const std::uint64_t index =
            (std::uint64_t{1} << 40) + (static_cast<std::uint64_t>(length) << 20) + static_cast<std::uint64_t>(i);
        const Example example = task.make(seed, index, length);
        const int asked_before = asked, right_before = right;
        session.rewind(0);
        session.feed_all(std::span(example.tokens).first(static_cast<std::size_t>(fed)), TokenRows{},
                         [&](int first, View logits) {
                             for (int row = 0; row < logits.rows; ++row) {
                                 const auto next = static_cast<std::size_t>(first + row + 1);
                                 if (!example.scored[next]) continue;
                                 const float* scores = logits.row(row);
                                 const auto best = std::max_element(scores, scores + logits.cols) - scores;
                                 ++asked;
                                 right += best == example.tokens[next];
                             }
                         });
        exact += asked - asked_before == right - right_before;
    }
    return {static_cast<double>(exact) / samples, static_cast<double>(right) / asked};
}

// [task][encoding]
using AllScores = std::vector<std::vector<Scores>>;

AllScores train_all(const Plan& plan, const Request& request) {
    std::vector<Recipe> recipes;
    std::int64_t steps = 0;
    for (const Task* task : plan.tasks) {
        const Recipe& recipe = recipes.emplace_back(recipe_of(*task, plan.effort));
        steps += recipe.steps;
        for (const std::string& spec : plan.encodings) check_recipe(recipe, spec);
    }
    const auto n_encodings = static_cast<int>(plan.encodings.size()), each = n_encodings * plan.seeds;
    AllScores all(plan.tasks.size(),
                  std::vector<Scores>(plan.encodings.size(), Scores(static_cast<std::size_t>(plan.seeds))));
    Meter meter(steps * each, "training", request.progress);
    side_by_side(static_cast<int>(plan.tasks.size()) * each, [&](int run) {
        const auto t = static_cast<std::size_t>(run / each), e = static_cast<std::size_t>(run % each / plan.seeds),
                   s = static_cast<std::size_t>(run % plan.seeds);
        const Task& task = *plan.tasks[t];
        const int longest = task.tokens(length_of(task, plan.times.back()));
        const Model model = small_model(recipes[t], plan.encodings[e], request.seed + s, longest, meter);
        for (const double times : plan.times)
            all[t][e][s].push_back(score(model, task, length_of(task, times), plan.samples, request.seed));
    });
    return all;
}

// ---- What came out ----------------------------------------------------------------------------

struct Spread {
    double mean = 0, least = HUGE_VAL, most = -HUGE_VAL;
};
// Over the seeds, at one length.
Spread spread(const Scores& scores, std::size_t length, double Score::*value) {
    Spread out;
    for (const auto& seed : scores) {
        const double v = seed[length].*value;
        out.mean += v / static_cast<double>(scores.size());
        out.least = std::min(out.least, v);
        out.most = std::max(out.most, v);
    }
    return out;
}
bool is_solved(const Scores& scores) {
    return spread(scores, 0, &Score::exact).mean >= solved;
}
// Share of right tokens beyond the trained length, mean over lengths and seeds; NaN if it has no positions there.
double beyond(const Scores& scores) {
    double sum = 0;
    for (std::size_t i = 1; i < scores[0].size(); ++i) sum += spread(scores, i, &Score::token).mean;
    return sum / static_cast<double>(scores[0].size() - 1);
}

NamedFigures table_of(const Plan& plan, std::size_t t, const std::vector<Scores>& scores) {
    const Task& task = *plan.tasks[t];
    NamedFigures out{std::string(task.name),
                     std::string(task.name) + ": " + std::string(task.question) + "; trained on " +
                         std::to_string(task.shortest) + " to " + std::to_string(task.trained) + " " +
                         std::string(task.unit) + "; " + text_of(task.make(1, 0, std::min(task.trained, 4))),
                     {{"encoding", "times", std::string(task.unit), "exact", "exact_least", "exact_most", "token",
                       "token_least", "token_most"},
                      {},
                      3}};
    for (std::size_t e = 0; e < plan.encodings.size(); ++e)
        for (std::size_t i = 0; i < plan.times.size(); ++i) {
            auto& row = out.figures.rows.emplace_back();
            row = {plan.encodings[e], plan.times[i], std::int64_t{length_of(task, plan.times[i])}};
            row.resize(out.figures.columns.size()); // empty where there is no position for so many tokens
            std::size_t column = 3;
            for (const auto value : {&Score::exact, &Score::token}) {
                const Spread s = spread(scores[e], i, value);
                for (const double v : {s.mean, s.least, s.most}) {
                    if (!std::isnan(s.mean)) row[column] = v;
                    ++column;
                }
            }
        }
    return out;
}

Picture picture_of(const Plan& plan, std::size_t t, const std::vector<Scores>& scores) {
    const Task& task = *plan.tasks[t];
    Curves curves;
    for (std::size_t e = 0; e < plan.encodings.size(); ++e) {
        Series& series = curves.series.emplace_back();
        series.label = plan.encodings[e];
        series.style = Series::Style::line_points;
        for (std::size_t i = 0; i < plan.times.size(); ++i) {
            const double token = spread(scores[e], i, &Score::token).mean;
            if (std::isnan(token)) continue;
            series.x.push_back(length_of(task, plan.times[i]));
            series.y.push_back(token);
        }
    }
    curves.references = {{"guessing, 1 of " + std::to_string(task.choices), 1.0 / task.choices}};
    return {std::string(task.name) + "-by-length",
            std::string(task.name) + ": right tokens by length, trained on up to " + std::to_string(task.trained) +
                ", mean of " + std::to_string(plan.seeds) + (plan.seeds == 1 ? " seed" : " seeds"),
            "length in " + std::string(task.unit), "share of answer tokens that are right", std::move(curves)};
}

NamedFigures summary_of(const Plan& plan, const AllScores& all) {
    NamedFigures out{
        "summary",
        "Each task at its trained length (exact) and, mean over the longer ones, share of right tokens (beyond)",
        {{"encoding"}, {}, 3}};
    for (const Task* task : plan.tasks)
        for (const char* what : {"_exact", "_beyond"}) out.figures.columns.push_back(std::string(task->name) + what);
    for (std::size_t e = 0; e < plan.encodings.size(); ++e) {
        auto& row = out.figures.rows.emplace_back(out.figures.columns.size());
        row[0] = plan.encodings[e];
        for (std::size_t t = 0; t < plan.tasks.size(); ++t) {
            row[2 * t + 1] = spread(all[t][e], 0, &Score::exact).mean;
            if (const double far = beyond(all[t][e]); !std::isnan(far)) row[2 * t + 2] = far;
        }
    }
    return out;
}

// ---- What was expected ------------------------------------------------------------------------

// From best to worst beyond the trained length (Kazemnejad et al. 2023, figure 1; their rotary turns a quarter of
// a head). T5's bias, which stands beside NoPE there, is not compared.
const std::vector<std::string> published_order = {"none", "alibi", "rope:width=" + std::to_string(d_head / 4),
                                                  "sinusoidal"};
constexpr double far_times = 2;

std::vector<std::string> expected() {
    std::string order;
    for (const std::string& spec : published_order) append(order, spec);
    return {"Beyond the trained length the share of right tokens falls in the published order: " + order +
                " (Kazemnejad et al. 2023), on every task that both neighbours of the order learn.",
            "No encoding solves a task at " + tools::number_text(far_times) +
                " times the trained length or more: exact match stays below one half for models of this size.",
            "Turning a quarter of a head carries further than turning all of it."};
}

// Where, of two encodings that both learnt a task, the second does better: "copy: alibi 0.40, none 0.31".
std::string better_second(const Plan& plan, const AllScores& all, const std::string& first, const std::string& second,
                          int& compared) {
    const auto a = std::find(plan.encodings.begin(), plan.encodings.end(), first),
               b = std::find(plan.encodings.begin(), plan.encodings.end(), second);
    if (a == plan.encodings.end() || b == plan.encodings.end()) return {};
    std::string out;
    for (std::size_t t = 0; t < plan.tasks.size(); ++t) {
        const Scores &x = all[t][static_cast<std::size_t>(a - plan.encodings.begin())],
                     &y = all[t][static_cast<std::size_t>(b - plan.encodings.begin())];
        if (!is_solved(x) || !is_solved(y)) continue;
        ++compared;
        if (beyond(y) > beyond(x))
            out += "; " + std::string(plan.tasks[t]->name) + ": " + second + " " + fixed_text(beyond(y), 3) + ", " +
                   first + " " + fixed_text(beyond(x), 3);
    }
    return out;
}

std::string outcome(const char* number, int compared, const std::string& misses) {
    const std::string head = std::string("Expectation ") + number;
    if (compared == 0) return head + " could not be tested: no two encodings that it compares learnt a task.";
    if (misses.empty()) return head + " held in all of " + std::to_string(compared) + " comparisons.";
    return head + " was missed (of " + std::to_string(compared) + " comparisons)" + misses + ".";
}

std::vector<std::string> outcomes(const Plan& plan, const AllScores& all) {
    int compared = 0;
    std::string misses;
    for (std::size_t i = 0; i + 1 < published_order.size(); ++i)
        misses += better_second(plan, all, published_order[i], published_order[i + 1], compared);
    std::vector<std::string> out{outcome("1", compared, misses)};

    misses.clear();
    compared = 0;
    for (std::size_t t = 0; t < plan.tasks.size(); ++t)
        for (std::size_t e = 0; e < plan.encodings.size(); ++e)
            for (std::size_t i = 0; i < plan.times.size(); ++i) {
                const double exact = spread(all[t][e], i, &Score::exact).mean;
                if (plan.times[i] < far_times || std::isnan(exact)) continue;
                ++compared;
                if (exact >= 0.5)
                    misses += "; " + std::string(plan.tasks[t]->name) + " at " + tools::number_text(plan.times[i]) +
                              ": " + plan.encodings[e] + " " + fixed_text(exact, 2);
            }
    out.push_back(outcome("2", compared, misses));
    compared = 0;
    misses = better_second(plan, all, published_order[2], "rope", compared);
    out.push_back(outcome("3", compared, misses));
    return out;
}

std::string found_of(const Plan& plan, std::size_t t, const std::vector<Scores>& scores) {
    const auto name = [&plan](std::size_t e) { return plan.encodings[e] == "none" ? "`none`" : plan.encodings[e]; };
    std::string learnt, missed;
    std::size_t best = plan.encodings.size();
    for (std::size_t e = 0; e < plan.encodings.size(); ++e) {
        std::string& list = is_solved(scores[e]) ? learnt : missed;
        append(list, name(e));
        if (is_solved(scores[e]) && !std::isnan(beyond(scores[e])) &&
            (best == plan.encodings.size() || beyond(scores[e]) > beyond(scores[best])))
            best = e;
    }
    std::string out = std::string(plan.tasks[t]->name) + ": learnt (exact match of " + fixed_text(solved, 1) +
                      " at the trained length) by " + (learnt.empty() ? "no encoding" : learnt);
    if (!missed.empty() && !learnt.empty()) out += "; not by " + missed;
    if (best < plan.encodings.size())
        out +=
            "; of these " + name(best) + " does best beyond it, " + fixed_text(beyond(scores[best]), 3) + " of tokens";
    return out + ".";
}

std::vector<std::string> notes_of(const Plan& plan, const std::vector<std::string>& left_out) {
    std::vector<std::string> notes{
        "Every model: 3 layers, d_model 64, 4 heads of 16, gated feed-forward of 128; AdamW; the lengths that each "
        "table names, one as often as another; the same examples in the same order for each encoding. " +
            std::to_string(plan.samples) +
            " examples at each length, the same for all, through the engine's own inference. exact: all tokens of an "
            "answer right, its end included; token: each predicted from a right beginning; least and most: of " +
            std::to_string(plan.seeds) + (plan.seeds == 1 ? " seed." : " seeds."),
        "What an encoding has not learnt at the trained length says nothing of how far it would carry.",
        "Models of this size show a shape, not the published gaps.",
        "Share of the training (steps x batch x length): " + training_shares(plan.tasks) +
            ". In full, with every registered encoding and 3 seeds, all five take about " +
            fixed_text(full_seconds / 60, 0) + " minutes on two cores and the longest of them about " +
            fixed_text(full_seconds / 60 * largest_training_share(), 0) + ", of ten that each may take.",
        "Cells are empty where an encoding has no positions for so many tokens: a trained table (learned) has rows for "
        "the trained length alone."};
    if (std::find(plan.tasks.begin(), plan.tasks.end(), &find_task("parity")) != plan.tasks.end())
        notes.emplace_back(
            "parity is asked as a running parity: each token of an answer is the one before it, exclusive "
            "or the next bit. The parity of the whole is the last of them.");
    if (plan.effort < 1) notes.push_back("--quick trains " + fixed_text(100 * plan.effort, 0) + " % of the steps.");
    for (const std::string& spec : left_out)
        notes.push_back(spec + " is left out: it adds the same to every token here, and would be a second `none`.");
    return notes;
}

// ---- The experiment ---------------------------------------------------------------------------

std::vector<const Task*> wanted_tasks(const Request& request) {
    std::vector<const Task*> out;
    if (!request.arguments.has("tasks")) {
        for (const Task& task : tasks()) out.push_back(&task);
        return out;
    }
    std::istringstream list(request.arguments.text("tasks"));
    for (std::string name; std::getline(list, name, ',');) {
        const Task* task = &find_task(name);
        if (std::find(out.begin(), out.end(), task) == out.end()) out.push_back(task);
    }
    if (out.empty()) find_task("");
    return out;
}

Result run(const Request& request) {
    Plan plan{wanted_tasks(request),   {},
              {1, 1.25, 1.5, 2, 3, 4}, request.integer("seeds", request.quick ? 1 : 3),
              request.quick ? 32 : 64, request.quick ? 0.3 : 1};
    std::vector<std::string> left_out;
    for (std::string& spec : request.encodings("all;" + published_order[2] + ";rotate-stretch:period=6")) {
        const Dims dims = recipe_of(*plan.tasks[0], 1).trunk.dims();
        const bool second_none = EncodingStack(spec, dims).moments() != 0 && says_nothing_of_position(spec, dims);
        (second_none && !request.arguments.has("encodings") ? left_out : plan.encodings).push_back(std::move(spec));
    }
    const AllScores all = train_all(plan, request);
    Result result;
    result.expected = expected();
    for (std::size_t t = 0; t < plan.tasks.size(); ++t) {
        result.tables.push_back(table_of(plan, t, all[t]));
        result.pictures.push_back(picture_of(plan, t, all[t]));
        result.found.push_back(found_of(plan, t, all[t]));
    }
    result.tables.push_back(summary_of(plan, all));
    for (std::string& line : outcomes(plan, all)) result.found.push_back(std::move(line));
    result.notes = notes_of(plan, left_out);
    return result;
}

constexpr std::string_view options[] = {"tasks", "seeds", "encodings"};

} // namespace

extern const Experiment tasks_experiment;
const Experiment tasks_experiment = {
    .name = "tasks",
    .summary = "which encodings carry what was learnt on short sequences to longer ones?",
    .details = "Copy, reverse, recall, parity and addition, learnt on the spot by a small model for each encoding and "
               "seed, then asked at 1 to 4 times the trained length. After Kazemnejad et al. 2023, arXiv 2305.19466; "
               "its rotary encoding turns a quarter of each head, so that rope stands here with its full width and "
               "with a quarter. Each task takes at most ten minutes on two cores for all encodings and 3 seeds.",
    .options = options,
    .seconds = full_seconds,
    .quick_seconds = 180,
    .run = run};

} // namespace ordo::lab
