// SPDX-License-Identifier: MIT
// Train short, test long: is ALiBi trained at a length as good at twice that length as sinusoids trained there, and how
// much does it save? Press, Smith and Lewis 2022, arXiv 2108.12409, section 4, claim both, and that at equal length it
// is ahead of sinusoids, rotary and T5's bias.
#include "core/memory.h"
#include "core/parallel.h"
#include "io/base_name.h"
#include "io/file.h"
#include "tools/cli/inputs.h"
#include "tools/cli/one_thread.h"
#include "tools/lab/study/grid.h"
#include "tools/lab/trained/letter_source.h"
#include "tools/model/scores.h"
#include "training.h"

#include <ctime>
#include <malloc.h>

namespace ordo::lab {
namespace {

constexpr int full_steps = 3000, rows = 512; // rows: tokens in a step, for every sequence length
constexpr int bucket = 8;                    // positions for each point of the picture

// Nats by position in windows of 2 L, [2 L], mean over the windows, of each seed.
using Costs = std::vector<Vector>;

struct Arm {
    int times;            // in short lengths
    std::size_t encoding; // of `encodings`
};
const std::vector<std::string> encodings{"alibi", "sinusoidal", "rope", "t5"};
constexpr Arm short_alibi{1, 0}, long_sinusoidal{2, 1}, short_sinusoidal{1, 1}, long_alibi{2, 0}, long_rope{2, 2},
    long_t5{2, 3};
constexpr Arm arms[] = {short_alibi, long_sinusoidal, short_sinusoidal, long_alibi, {1, 2}, long_rope, {1, 3}, long_t5};

constexpr std::pair<Arm, Arm> compared[] = {
    {short_alibi, long_sinusoidal}, {short_alibi, long_alibi}, {short_sinusoidal, long_sinusoidal},
    {long_alibi, long_sinusoidal},  {long_alibi, long_rope},   {long_alibi, long_t5},
    {short_alibi, short_sinusoidal}};

struct Plan {
    LetterSource source;
    std::string text; // the training text, for a sentence
    int length = 32;  // L
    int seeds = 3, steps = full_steps, windows = 256, timed = 40;
    bool quick = false;

    bool made() const { return source.vocabulary() == LetterSource::letters; } // whether the texts are made here
    std::string name(const Arm& arm) const {
        return lab::text(encodings[arm.encoding], " trained at ", length * arm.times);
    }
};

Recipe recipe_of(const Plan& plan, int times) {
    const int length = plan.length * times;
    Recipe r{.trunk = small_trunk(plan.source.vocabulary(), length, 2),
             .batch = rows / length,
             .length = length,
             .steps = plan.steps,
             .positions = 2 * plan.length};
    r.draw_each([&, length](std::uint64_t seed, std::uint64_t number, std::span<Token> tokens, auto targets) {
        const std::vector<Token> window = plan.source.window(seed, number, length);
        std::copy_n(window.begin(), length, tokens.begin());
        std::copy_n(window.begin() + 1, length, targets.begin());
    });
    return r;
}

Vector costs_of(const Plan& plan, const Model& model, std::uint64_t seed) {
    const int length = 2 * plan.length;
    Session session = small_session(model, length);
    Vector out(length);
    for (int i = 0; i < plan.windows; ++i) {
        const Vector nll = tools::score_window(session, plan.source.window(seed, i, length, true));
        for (std::size_t at = 0; at < out.size(); ++at) out[at] += nll[at] / plan.windows;
    }
    return out;
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
struct TimedTrainer {
    Recipe recipe;
    std::optional<Trainer> trainer;
    std::vector<Token> tokens, targets;
    double bytes = 0;
    Vector milliseconds;

    TimedTrainer(const Plan& plan, const Arm& arm, std::uint64_t seed, Meter& meter)
        : recipe(recipe_of(plan, arm.times)), tokens(rows), targets(rows) {
        recipe.steps = 0;
        const Model model = small_model(recipe, encodings[arm.encoding], seed, meter);
        const std::size_t before = memory_taken();
        trainer.emplace(model, TrainingOptions{.batch = recipe.batch, .length = recipe.length});
        step(0);
        bytes = static_cast<double>(memory_taken() - before);
        milliseconds.clear(); // the first step also fills caches
    }
    void step(int number) {
        recipe.draw(1, number, tokens, targets);
        const double start = processor_seconds();
        trainer->step(tokens, targets, 1e-3);
        milliseconds.push_back(1e3 * (processor_seconds() - start));
    }
};

// Of alibi at L, and of sinusoidal at 2 L.
struct StepCosts {
    double milliseconds[2]; // medians
    double mebibytes[2];
    Mean log_ratio; // of the first time over the second, over pairs of consecutive steps
};

double median(Vector values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

// Alternates the two, so that other load on the machine affects both.
StepCosts measure_steps(const Plan& plan, const Request& request) {
    const tools::OneThread alone; // the models are also trained on one thread
    Meter meter(1, "", request.progress);
    TimedTrainer a(plan, short_alibi, request.seed, meter), b(plan, long_sinusoidal, request.seed, meter);
    Vector ratios;
    for (int i = 1; i <= plan.timed; ++i) {
        request.progress(text("step ", i, " of ", plan.timed));
        a.step(i), b.step(i);
        ratios.push_back(std::log(a.milliseconds.back() / b.milliseconds.back()));
    }
    return {{median(a.milliseconds), median(b.milliseconds)}, {a.bytes / 1048576, b.bytes / 1048576}, mean_of(ratios)};
}

// ---- Comparisons ------------------------------------------------------------------------------

// A model that costs less has learnt most of a text's table: two thirds of the way from guessing to its entropy.
double learnt_below() {
    const double guessing = std::log(LetterSource::letters);
    return guessing - 2 * (guessing - LetterSource::entropy()) / 3;
}

// The costs of all arms, and their differences, paired by seed.
struct Study {
    const Plan& plan;
    Grid<Vector> grid; // [times - 1][encoding][seed]

    Study(const Plan& the_plan, const Request& request) : plan(the_plan) {
        const GridPlan cells{{recipe_of(plan, 1), recipe_of(plan, 2)}, encodings, plan.seeds};
        grid = train_grid<Vector>(cells, request.seed, request.progress, [&](const Model& model, const GridCell&) {
            return costs_of(plan, model, request.seed);
        });
    }
    const Costs& costs(const Arm& arm) const { return grid[arm.times - 1][arm.encoding]; }
    Vector means(const Arm& arm) const {
        Vector out;
        for (const Vector& nats : costs(arm)) out.push_back(sample_of(nats).mean());
        return out;
    }
    Mean difference(const Arm& a, const Arm& b) const { return mean_of(minus(means(a), means(b))); }
    // Whether a seed has learnt the texts, up to its trained length. For the bytes of a file the learnable part is
    // unknown, and the answer is true.
    bool learnt(const Arm& arm, std::span<const double> nats) const {
        const auto trained = static_cast<std::size_t>(plan.length * arm.times);
        return !plan.made() || sample_of(nats.first(trained)).mean() < learnt_below();
    }
    // Whether a costs less than b, if every seed of both has learnt the texts; undecided for --quick, which trains
    // less.
    Verdict less(const Arm& a, const Arm& b) const {
        for (const Arm& arm : {a, b})
            for (const Vector& nats : costs(arm))
                if (!learnt(arm, nats)) return Verdict::untested;
        return plan.quick ? Verdict::undecided : below(difference(a, b).interval(), 0);
    }
    const char* word(const Arm& a, const Arm& b) const {
        const Verdict verdict = less(a, b);
        return verdict == Verdict::untested ? "not learnt" : worded(verdict, "less", "more", "undecided");
    }
    // "alibi trained at 64 less sinusoidal trained at 128, nats a letter in windows of 128: -0.12 +- 0.03 (less)"
    std::string sentence(const Arm& a, const Arm& b) const {
        const Mean d = difference(a, b);
        return told("{} less {}, nats a letter in windows of {}: {}{} ({})", plan.name(a), plan.name(b),
                    2 * plan.length, figure(d.mean, 2), margin(d.half), word(a, b));
    }
};

// ---- Tables and a picture ---------------------------------------------------------------------

Figures runs_of(const Study& study) {
    Figures figures{{"model", "trained_at", "seed", "nats_at_2l", "first_half", "second_half", "learnt"}, {}, 4};
    const auto mean = [](std::span<const double> costs) { return sample_of(costs).mean(); };
    const auto half = static_cast<std::size_t>(study.plan.length);
    for (const Arm& arm : arms)
        for (std::size_t seed = 0; seed < study.costs(arm).size(); ++seed) {
            const std::span<const double> costs = study.costs(arm)[seed];
            add_row(figures, encodings[arm.encoding], study.plan.length * arm.times, seed, mean(costs),
                    mean(costs.first(half)), mean(costs.last(half)), study.learnt(arm, costs));
        }
    return figures;
}

Picture picture_of(const Study& study) {
    const Plan& plan = study.plan;
    Curves curves;
    for (const Arm& arm : arms) {
        Series& curve = curves.add(plan.name(arm), Series::Style::line_points);
        for (int at = 0; at < 2 * plan.length; at += bucket) {
            Sample sample;
            for (const Vector& costs : study.costs(arm))
                for (int i = at; i < at + bucket; ++i) sample.add(costs[i]);
            curve.add(at + bucket / 2.0, sample.mean());
        }
    }
    if (plan.made()) curves.references = {{"the best possible", LetterSource::entropy()}};
    return {"by-position", study.sentence(short_alibi, long_sinusoidal),
            told("position in windows of {} (trained up to {} or {})", 2 * plan.length, plan.length, 2 * plan.length),
            "nats a letter", std::move(curves)};
}

// Models that have not learnt the texts are no baseline.
Expectations expectations_of(const Study& study, const StepCosts& steps) {
    Expectations all;
    const auto expect = [&](const char* sentence, const std::vector<Arm>& of) { // the first, less than each other
        Judgement& cases = all.expect(sentence, ": a model has not learnt the texts");
        for (const Arm& other : std::span(of).subspan(1)) cases.add(study.less(of[0], other), study.plan.name(other));
    };
    expect("ALiBi trained at L costs less in windows of 2 L than sinusoids trained at 2 L.",
           {short_alibi, long_sinusoidal});
    expect("Sinusoids trained at 2 L cost less there than sinusoids trained at L: they do not extrapolate.",
           {long_sinusoidal, short_sinusoidal});
    expect("Trained at 2 L, ALiBi costs less than sinusoids, RoPE and T5's bias.",
           {long_alibi, long_sinusoidal, long_rope, long_t5});
    Judgement& cheaper = all.expect("With the same number of tokens in a step, training ALiBi at L takes less time and "
                                    "less memory than training sinusoids at 2 L.");
    cheaper.add(below(steps.log_ratio.interval(), 0), "time");
    cheaper.add(steps.mebibytes[0] < steps.mebibytes[1] ? Verdict::held : Verdict::missed, "memory");
    return all;
}

// ---- The experiment ---------------------------------------------------------------------------

Plan plan_of(const Request& request) {
    Plan plan;
    plan.quick = request.quick;
    plan.length = request.only("length", 32, 256);
    if (plan.length < bucket || rows % (2 * plan.length) != 0)
        fail(ErrorCode::usage, "option --length: expected a power of two from ", bucket, " to ", rows / 2,
             " for this experiment, found ", plan.length);
    if (request.quick) plan.steps = full_steps / 20, plan.windows = 32, plan.timed = 15;
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
    const StepCosts steps = measure_steps(plan, request);
    const Study study(plan, request);
    const auto mean = [&](const Arm& arm) { return figure(mean_of(study.means(arm)).mean); };
    const auto percent = [](double log) { return figure(100 * (std::exp(log) - 1), 2); };
    Result result;
    result.answer = told("In windows of twice its trained length, {} tokens costs {} nats a letter, and {} costs {} "
                         "(the verdict is: {}). A step of training takes {} ms in place of {}.",
                         plan.name(short_alibi), mean(short_alibi), plan.name(long_sinusoidal), mean(long_sinusoidal),
                         study.word(short_alibi, long_sinusoidal), figure(steps.milliseconds[0], 2),
                         figure(steps.milliseconds[1], 2));
    Figures pairs{{"model", "against", "nats_more", "half", "verdict"}, {}, 4};
    for (const auto& [a, b] : compared) {
        result.found.push_back(study.sentence(a, b) + ".");
        add_row(pairs, plan.name(a), plan.name(b), study.difference(a, b), study.word(a, b));
    }
    result.found.push_back(told("A step of {} tokens with {} takes {} ms of processor time, with {} {} ms ({} %, {} to "
                                "{} %), and {} and {} MiB.",
                                rows, plan.name(short_alibi), figure(steps.milliseconds[0]), plan.name(long_sinusoidal),
                                figure(steps.milliseconds[1]), percent(steps.log_ratio.mean),
                                percent(steps.log_ratio.low()), percent(steps.log_ratio.high()),
                                figure(steps.mebibytes[0]), figure(steps.mebibytes[1])));
    expectations_of(study, steps).write_to(result);
    Figures costs{{"model", "milliseconds", "mebibytes"}, {}, 2};
    for (const std::size_t i : {0, 1}) add_row(costs, plan.name(arms[i]), steps.milliseconds[i], steps.mebibytes[i]);
    result.tables = {{"runs", "Nats a letter of each run, in windows of 2 L", runs_of(study)},
                     {"pairs", "Differences in cost, paired by seed", std::move(pairs)},
                     {"steps", told("A step of training, {} tokens on one thread: median processor time, memory", rows),
                      std::move(costs)}};
    result.pictures = {picture_of(study)};
    result.notes = {
        told("L is {}. Every model: 2 layers, d_model 64, 4 heads of 16; {} steps of {} tokens, in sequences of L or 2 "
             "L; {} seeds; measured on {} windows of 2 L, the same for all. An encoding that learns slowly may not "
             "have learnt to use the earlier text.",
             plan.length, plan.steps, rows, plan.seeds, plan.windows),
        told("The training text: {}. Made texts have {} letters, and each has its own table of the letter that follows "
             "each letter in {} % of cases. The cost falls along a text for a model that finds this table in it. No "
             "natural text is like that; --corpus trains on the bytes of one, without its last tenth, which is for "
             "the measurement.",
             plan.text, LetterSource::letters, 100 * LetterSource::regular),
        told("Differences have Student's 95 % intervals over the seeds. They are undecided if the interval contains "
             "zero, and with --quick, which trains a twentieth of the steps. A pair is \"not learnt\" if a seed costs "
             "more than {} nats a letter up to its trained length: two thirds of the way from guessing, {}, to the "
             "best possible.",
             figure(learnt_below()), figure(std::log(LetterSource::letters))),
        "Steps of both kinds alternate, in processor time; the interval is over pairs of steps. Memory is that of the "
        "library's trainer after its first step: weights, gradients, the optimiser's averages and activations. The "
        "engine never holds a matrix of all queries by all keys."};
    return result;
}

} // namespace

const Experiment train_short_experiment{
    .name = "train-short",
    .summary = "Is ALiBi, trained on short texts, as good as sinusoids trained on texts twice as long?",
    .details = "Small models trained in this run: ALiBi, sinusoids, RoPE and T5's bias, each at L and at 2 L, with the "
               "same number of tokens in a step, all measured in windows of 2 L; time and memory of a training step. "
               "The claim is "
               "from Press, Smith and Lewis 2022, arXiv 2108.12409.",
    .options = {"seeds", "corpus", "length"},
    .seconds = {300, 15},
    .run = run};

} // namespace ordo::lab
