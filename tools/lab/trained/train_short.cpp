// SPDX-License-Identifier: MIT
// Train short, test long: is ALiBi trained at a length as good at twice that length as sinusoids trained there, and how
// much does it save? Press, Smith and Lewis 2022, arXiv 2108.12409, section 4, claim both.
#include "core/error.h"
#include "core/memory.h"
#include "core/parallel.h"
#include "io/base_name.h"
#include "io/file.h"
#include "tools/cli/inputs.h"
#include "tools/cli/one_thread.h"
#include "tools/lab/lab.h"
#include "tools/lab/math/numbers.h"
#include "tools/lab/math/statistics.h"
#include "tools/lab/study/grid.h"
#include "tools/lab/trained/letter_source.h"
#include "tools/model/scores.h"
#include "training.h"

#include <array>
#include <ctime>
#include <malloc.h>
#include <optional>

namespace ordo::lab {
namespace {

constexpr int full_steps = 1500, rows = 1024; // rows: tokens in a step, for every sequence length
constexpr int bucket = 16;                    // positions for each point of the picture

struct Arm {
    const char* encoding;
    int times; // in short lengths
};
constexpr Arm arms[] = {{"alibi", 1}, {"sinusoidal", 2}, {"sinusoidal", 1}, {"alibi", 2}};
constexpr std::size_t short_alibi = 0, long_sinusoidal = 1, short_sinusoidal = 2, long_alibi = 3;

struct Plan {
    LetterSource source;
    std::string text; // the training text, for a sentence
    int length = 64;  // L
    int seeds = 3, steps = full_steps, windows = 256, timed = 40;
    bool quick = false;

    std::string name(std::size_t arm) const {
        return lab::text(arms[arm].encoding, " trained at ", length * arms[arm].times);
    }
};

Recipe recipe_of(const Plan& plan, const Arm& arm) {
    Recipe r;
    r.length = plan.length * arm.times;
    r.trunk = small_trunk(plan.source.vocabulary(), r.length, 2);
    r.batch = rows / r.length;
    r.steps = plan.steps;
    r.lr = 3e-3;
    r.draw = [&plan, r](std::uint64_t seed, int step, std::span<Token> tokens, std::span<Token> targets) {
        for (int i = 0; i < r.batch; ++i) {
            const auto number = static_cast<std::uint64_t>(step * r.batch + i);
            const std::vector<Token> window = plan.source.window(seed, number, r.length);
            std::copy_n(window.begin(), r.length, tokens.begin() + i * r.length);
            std::copy_n(window.begin() + 1, r.length, targets.begin() + i * r.length);
        }
    };
    return r;
}

// Nats by position in windows of 2 L, [2 L], mean over the windows.
Vector costs_of(const Plan& plan, const Model& model, std::uint64_t seed) {
    const int length = 2 * plan.length;
    Session session = small_session(model, length);
    Vector out(static_cast<std::size_t>(length));
    for (int i = 0; i < plan.windows; ++i) {
        const Vector nll =
            tools::score_window(session, plan.source.window(seed, static_cast<std::uint64_t>(i), length, true));
        for (std::size_t at = 0; at < out.size(); ++at) out[at] += nll[at] / plan.windows;
    }
    return out;
}

// [arm][seed][position]
using AllCosts = std::array<std::vector<Vector>, std::size(arms)>;

AllCosts train_all(const Plan& plan, const Request& request) {
    const GridPlan study{{recipe_of(plan, arms[short_alibi]), recipe_of(plan, arms[long_alibi])},
                         {2 * plan.length, 2 * plan.length},
                         {"alibi", "sinusoidal"},
                         plan.seeds};
    Grid<Vector> grid =
        train_grid<Vector>(study, request.seed, request.progress,
                           [&](const Model& model, const GridCell&) { return costs_of(plan, model, request.seed); });
    AllCosts all;
    for (std::size_t arm = 0; arm < std::size(arms); ++arm)
        all[arm] = std::move(grid[arms[arm].times == 1 ? 0 : 1][arms[arm].encoding == study.encodings[0] ? 0 : 1]);
    return all;
}

// ---- The cost of a step -----------------------------------------------------------------------

std::size_t memory_taken() {
    const auto heap = mallinfo2();
    return mapped_bytes() + heap.uordblks + heap.hblkhd;
}

// Time of the calling thread. On a busy machine the wall clock also measures other work.
double processor_seconds() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// A trainer of an arm's model and batch, constructed as usual.
struct Trained {
    Recipe recipe;
    std::optional<Trainer> trainer;
    std::vector<Token> tokens, targets;
    std::size_t bytes = 0;
    Vector log_seconds;

    Trained(const Plan& plan, const Arm& arm, std::uint64_t seed, Meter& meter)
        : recipe(recipe_of(plan, arm)), tokens(static_cast<std::size_t>(rows)), targets(tokens.size()) {
        recipe.steps = 0;
        const Model model = small_model(recipe, arm.encoding, seed, recipe.length, meter);
        const std::size_t before = memory_taken();
        trainer.emplace(model, TrainingOptions{.batch = recipe.batch, .length = recipe.length});
        step(0);
        bytes = memory_taken() - before;
    }
    double step(int number) {
        recipe.draw(1, number, tokens, targets);
        const double start = processor_seconds();
        trainer->step(tokens, targets, 1e-3);
        return processor_seconds() - start;
    }
};

struct StepCosts {
    double milliseconds[2]; // of alibi at L, of sinusoidal at 2 L: medians
    Mean log_ratio;         // of the first over the second, over pairs of consecutive steps
    double bytes[2];
};

double median(Vector values) {
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
    return values[values.size() / 2];
}

// Alternates the two, so that other load on the machine affects both.
StepCosts measure_steps(const Plan& plan, const Request& request) {
    const tools::OneThread alone; // the models are also trained on one thread
    Meter meter(1, "", request.progress);
    Trained a(plan, arms[short_alibi], request.seed, meter), b(plan, arms[long_sinusoidal], request.seed, meter);
    Vector first, second, ratios;
    for (int i = 1; i <= plan.timed; ++i) {
        request.progress(text("step ", i, " of ", plan.timed));
        first.push_back(a.step(i));
        second.push_back(b.step(i));
        ratios.push_back(std::log(first.back() / second.back()));
    }
    return {{1e3 * median(first), 1e3 * median(second)},
            mean_of(ratios),
            {static_cast<double>(a.bytes), static_cast<double>(b.bytes)}};
}

// ---- Tables, pictures, sentences --------------------------------------------------------------

Vector means_of(const std::vector<Vector>& seeds) {
    Vector out;
    for (const Vector& costs : seeds) out.push_back(sample_of(costs).mean());
    return out;
}

Mean paired(const AllCosts& all, std::size_t a, std::size_t b) {
    const Vector x = means_of(all[a]), y = means_of(all[b]);
    Vector out;
    for (std::size_t i = 0; i < x.size(); ++i) out.push_back(x[i] - y[i]);
    return mean_of(out);
}

// The verdict of the interval; undecided for --quick, which trains less.
Verdict verdict_of(const Plan& plan, const Mean& difference) {
    return plan.quick ? Verdict::undecided : below(difference.interval(), 0);
}

std::string words_of(const Plan& plan, const Mean& difference) {
    const Verdict verdict = verdict_of(plan, difference);
    return verdict == Verdict::held ? "less" : verdict == Verdict::missed ? "more" : "undecided";
}

// "alibi trained at 64 costs 0.12 +- 0.03 nats a letter less than sinusoidal trained at 128"
std::string sentence_of(const Plan& plan, const AllCosts& all, std::size_t a, std::size_t b) {
    const Mean difference = paired(all, a, b);
    const std::string half = margin(difference.half) + " nats a letter ";
    if (verdict_of(plan, difference) == Verdict::undecided)
        return text("it is undecided whether ", plan.name(a), " costs less than ", plan.name(b), " (",
                    figure(std::abs(difference.mean), 2), half, difference.mean < 0 ? "less" : "more",
                    plan.quick ? "; --quick trains too little to decide)" : ")");
    return text(plan.name(a), " costs ", figure(std::abs(difference.mean), 2), half, words_of(plan, difference),
                " than ", plan.name(b));
}

Figures arm_table(const Plan& plan, const AllCosts& all) {
    Figures figures{{"model", "trained_at", "seed", "nats_at_2l", "first_half", "second_half"}, {}, 4};
    for (std::size_t arm = 0; arm < std::size(arms); ++arm)
        for (std::size_t seed = 0; seed < all[arm].size(); ++seed) {
            const std::span<const double> costs = all[arm][seed];
            const auto half = static_cast<std::size_t>(plan.length);
            figures.add(std::string(arms[arm].encoding), std::int64_t{plan.length * arms[arm].times},
                        static_cast<std::int64_t>(seed), sample_of(costs).mean(), sample_of(costs.first(half)).mean(),
                        sample_of(costs.last(half)).mean());
        }
    return figures;
}

Picture picture_of(const Plan& plan, const AllCosts& all) {
    Curves curves;
    for (std::size_t arm = 0; arm < std::size(arms); ++arm) {
        Series& curve = curves.series.emplace_back(series(plan.name(arm), Series::Style::line_points));
        for (int at = 0; at < 2 * plan.length; at += bucket) {
            Sample sample;
            for (const Vector& costs : all[arm])
                for (int i = at; i < at + bucket; ++i) sample.add(costs[static_cast<std::size_t>(i)]);
            curve.x.push_back(at + bucket / 2.0);
            curve.y.push_back(sample.mean());
        }
    }
    if (plan.source.vocabulary() == LetterSource::letters)
        curves.references = {{"the best possible", LetterSource::entropy()}};
    return {
        "by-position",
        text("In windows of ", 2 * plan.length, ", ", sentence_of(plan, all, short_alibi, long_sinusoidal)),
        text("position in windows of ", 2 * plan.length, " (trained up to ", plan.length, " or ", 2 * plan.length, ")"),
        "nats a letter", std::move(curves)};
}

// A third of the way from guessing to the entropy of the text's table.
double learnt_below() {
    const double guessing = std::log(LetterSource::letters);
    return guessing - (guessing - LetterSource::entropy()) / 3;
}

// For the bytes of a file the learnable part is unknown, so the answer is true.
bool learnt_by_all(const Plan& plan, const std::vector<Vector>& seeds) {
    const Vector means = means_of(seeds);
    return plan.source.vocabulary() != LetterSource::letters ||
           std::all_of(means.begin(), means.end(), [](double nats) { return nats < learnt_below(); });
}

void judge(const Plan& plan, const AllCosts& all, const StepCosts& steps, Result& result) {
    Figures pairs{{"model", "against", "nats_more", "half", "verdict"}, {}, 4};
    for (const auto& [a, b] : {std::pair{short_alibi, long_sinusoidal},
                               {short_alibi, long_alibi},
                               {short_sinusoidal, long_sinusoidal},
                               {long_alibi, long_sinusoidal},
                               {short_alibi, short_sinusoidal}}) {
        const Mean difference = paired(all, a, b);
        pairs.add(plan.name(a), plan.name(b), difference.mean, known(difference.half), words_of(plan, difference));
    }
    const auto sentence = [&](std::size_t a, std::size_t b) {
        return text("In windows of ", 2 * plan.length, ", ", sentence_of(plan, all, a, b), " (", plan.seeds,
                    plan.seeds == 1 ? " seed)." : " seeds).");
    };
    const auto cost = [&](std::size_t arm) { return figure(sample_of(means_of(all[arm])).mean()); };
    const char* const verdict_words[] = {"", "ALiBi is better", "chance alone could explain the difference",
                                         "sinusoids are better"};
    result.answer = text(
        plan.quick ? "After a tenth of the training, " : "In windows of twice its trained length, ",
        plan.name(short_alibi), " tokens costs ", cost(short_alibi), " nats a letter, and ", plan.name(long_sinusoidal),
        " costs ", cost(long_sinusoidal),
        plan.quick
            ? std::string("; a full run decides which is better")
            : text(": ", verdict_words[static_cast<int>(verdict_of(plan, paired(all, short_alibi, long_sinusoidal)))]),
        ". A step of ALiBi takes ", figure(steps.milliseconds[0], 2), " ms in place of ",
        figure(steps.milliseconds[1], 2), ".");
    result.found = {sentence(short_alibi, long_sinusoidal), sentence(short_alibi, long_alibi),
                    sentence(short_sinusoidal, long_sinusoidal)};
    const Mean& ratio = steps.log_ratio;
    const Verdict faster = below(ratio.interval(), 0);
    const auto percent = [](double log) { return figure(100 * (std::exp(log) - 1), 2); };
    result.found.push_back(text(
        "A step of ", rows, " tokens takes ", figure(steps.milliseconds[0]), " ms of processor time with ALiBi at ",
        plan.length, " and ", figure(steps.milliseconds[1]), " ms with sinusoids at ", 2 * plan.length, " (",
        percent(ratio.mean), " %, ", percent(ratio.low()), " to ", percent(ratio.high()), "): ",
        faster == Verdict::held     ? "ALiBi is faster"
        : faster == Verdict::missed ? "ALiBi is slower"
                                    : "it is undecided which is faster",
        ". Training takes ", figure(steps.bytes[0] / 1048576), " and ", figure(steps.bytes[1] / 1048576), " MiB (",
        figure(100 * (steps.bytes[0] / steps.bytes[1] - 1), 2), " %)."));
    const auto came = [](Verdict verdict) {
        return verdict == Verdict::undecided ? "is undecided" : verdict == Verdict::held ? "held" : "was missed";
    };
    // Untrained sinusoids are no baseline.
    const double least = sample_of(means_of(all[long_sinusoidal])).mean();
    const bool learnt = plan.quick || learnt_by_all(plan, all[long_sinusoidal]);
    const std::string not_tested =
        text(" could not be tested: ", plan.name(long_sinusoidal), " has not learnt the texts (", figure(least),
             " nats a letter; guessing costs ", figure(std::log(LetterSource::letters)),
             ", and a model that has learnt them costs at most ", figure(learnt_below()), ").");
    const Verdict verdicts[] = {verdict_of(plan, paired(all, short_alibi, long_sinusoidal)),
                                plan.quick ? Verdict::undecided
                                           : above(paired(all, short_sinusoidal, long_sinusoidal).interval(), 0)};
    for (const int i : {0, 1})
        result.found.push_back(text("Expectation ", i + 1, learnt ? text(" ", came(verdicts[i]), ".") : not_tested));
    result.found.push_back(text("Expectation 3 ", came(faster), " for time; memory is counted, not drawn, and ",
                                steps.bytes[0] < steps.bytes[1] ? "smaller." : "no smaller."));
    result.tables.push_back(
        {"pairs",
         text("In windows of ", 2 * plan.length, ", ", sentence_of(plan, all, short_alibi, long_sinusoidal),
              "; differences in cost, paired by seed"),
         std::move(pairs)});
    Figures costs{{"model", "milliseconds", "mebibytes"}, {}, 2};
    for (const std::size_t arm : {short_alibi, long_sinusoidal})
        costs.add(plan.name(arm), steps.milliseconds[arm], steps.bytes[arm] / 1048576);
    result.tables.push_back({"steps",
                             text("A step of training, ", rows, " tokens on one thread: median processor time, memory"),
                             std::move(costs)});
}

// ---- The experiment ---------------------------------------------------------------------------

Plan plan_of(const Request& request) {
    Plan plan;
    plan.quick = request.quick;
    plan.length = request.only("length", 64, 512);
    if (plan.length < bucket || rows % (2 * plan.length) != 0)
        fail(ErrorCode::usage, "option --length: expected a power of two from ", bucket, " to ", rows / 2,
             " for this experiment, found ", plan.length);
    if (request.quick) plan.steps = full_steps / 10, plan.windows = 32, plan.timed = 15;
    plan.seeds = request.integer("seeds", request.quick ? 3 : 5);
    plan.text = "made texts";
    if (request.arguments.has("corpus")) {
        const std::filesystem::path file = request.arguments.text("corpus");
        plan.text = printable(base_name(file));
        plan.source =
            LetterSource(tools::read_corpus(file.string(), std::size_t{1} << 30, request.arguments.has("quiet")),
                         plan.text, 2 * plan.length);
    }
    return plan;
}

Result run(const Request& request) {
    const Plan plan = plan_of(request);
    Result result;
    result.expected = {
        "ALiBi trained at L costs less in windows of 2 L than sinusoids trained at 2 L.",
        "Sinusoids trained at L cost more there than sinusoids trained at 2 L: they do not extrapolate.",
        "With the same number of tokens in a step, training at L takes less time and less memory than at 2 L."};
    const StepCosts steps = measure_steps(plan, request);
    const AllCosts all = train_all(plan, request);
    result.tables = {
        {"runs", text("Nats a letter in windows of ", 2 * plan.length, ", of each run"), arm_table(plan, all)}};
    result.pictures = {picture_of(plan, all)};
    judge(plan, all, steps, result);
    result.notes = {
        text("L is ", plan.length, ". Every model: 2 layers, d_model 64, 4 heads of 16; AdamW, ", plan.steps,
             " steps of ", rows, " tokens, in sequences of L or 2 L; ", plan.seeds, " seeds; measured on ",
             plan.windows,
             " windows of 2 L, the same for all. The verdicts are for this budget: an encoding that learns slowly may "
             "not have learnt to use the earlier text. If sinusoids at 2 L have not, nothing is compared with them."),
        plan.source.vocabulary() == LetterSource::letters
            ? text("The training texts are generated, with ", LetterSource::letters,
                   " letters. Each text has its own table with the two most frequent successors of each letter. Early "
                   "letters are as useful as late ones, so the cost falls along a text for a model that can use all of "
                   "it. No natural text is like that; --corpus trains on the bytes of one, without its last tenth.")
            : text("The training text is the bytes of ", plan.text, "; its last tenth is for the measurement."),
        text("Differences are paired by seed, with Student's 95 % intervals over the seeds. A result is undecided if "
             "the interval contains zero",
             plan.quick ? ", and always with --quick, which trains a tenth of the steps." : "."),
        "Steps of both kinds alternate, with the same number of tokens, and are measured in processor time; the "
        "interval is over pairs of steps. Memory is the memory of the library's trainer after its first step: weights, "
        "gradients, the optimiser's averages and activations. The engine never holds a matrix of all queries by all "
        "keys."};
    return result;
}

constexpr std::string_view options[] = {"seeds", "corpus", "length"};

} // namespace

extern const Experiment train_short_experiment;
const Experiment train_short_experiment{
    .name = "train-short",
    .summary = "Is ALiBi, trained on short texts, as good as sinusoids trained on texts twice as long?",
    .details = "Small models trained in this run: ALiBi and sinusoids, each at L and at 2 L, with the same number of "
               "tokens in a step, all measured in windows of 2 L; time and memory of a training step. The claim is "
               "from Press, Smith and Lewis 2022, arXiv 2108.12409.",
    .options = options,
    .seconds = 180,
    .quick_seconds = 15,
    .run = run};

} // namespace ordo::lab
