// SPDX-License-Identifier: MIT
// Train short, test long: is ALiBi trained at a length as good at twice that length as sinusoids trained there, and how
// much does it save? Press, Smith and Lewis 2022, arXiv 2108.12409, section 4, claim both, and that at equal length it
// is ahead of sinusoids, rotary and T5's bias.
#include "tools/lab/trained/short_study.h"

namespace ordo::lab {
namespace train_short_file {

using namespace train_short;

// ---- Tables and a picture ---------------------------------------------------------------------

Figures runs_of(const ShortStudy& study) {
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

Picture picture_of(const ShortStudy& study) {
    const ShortPlan& plan = study.plan;
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
Expectations expectations_of(const ShortStudy& study, const StepCosts& steps) {
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

Result run(const Request& request) {
    const ShortPlan plan = short_plan(request);
    const StepCosts steps = measure_steps(plan, request);
    const ShortStudy study(plan, request);
    const auto mean = [&](const Arm& arm) { return figure(mean_of(study.means(arm)).mean); };
    const auto percent = [](double log) { return figure(100 * (std::exp(log) - 1), 2); };
    const auto decided = std::count_if(std::begin(compared), std::end(compared), [&](const auto& pair) {
        const Verdict verdict = study.less(pair.first, pair.second);
        return verdict == Verdict::held || verdict == Verdict::missed;
    });
    const Verdict first = study.less(short_alibi, long_sinusoidal);
    Result result;
    result.answer = told("In windows of twice its trained length, {} tokens costs {} nats a letter, and {} costs {} "
                         "(guessing: {}). {} Of {} comparisons, {} seeds decide {} (5 % each, without correction). A "
                         "step of training takes {} ms in place of {}.",
                         plan.name(short_alibi), mean(short_alibi), plan.name(long_sinusoidal), mean(long_sinusoidal),
                         figure(std::log(plan.source.vocabulary())),
                         first == Verdict::untested ? "This run trains too little to compare them."
                         : first == Verdict::held   ? "So ALiBi on short texts is better."
                         : first == Verdict::missed ? "So ALiBi on short texts is worse."
                                                    : "Their difference is undecided.",
                         std::size(compared), plan.seeds, decided, figure(steps.milliseconds[0], 2),
                         figure(steps.milliseconds[1], 2));
    Figures pairs{{"model", "against", "nats_more", "half", "verdict"}, {}, 4};
    for (const auto& [a, b] : compared) {
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
             "L; {} seeds; measured on the same {} windows of 2 L.",
             plan.length, plan.steps, rows, plan.seeds, plan.windows),
        told("The training text: {}. Made texts have {} letters, and each has its own table of the letter that follows "
             "each letter in {} % of cases: the cost falls along a text for a model that finds this table in it. "
             "--corpus trains on the bytes of a file, without its last tenth, which is for the measurement.",
             plan.text, LetterSource::letters, 100 * LetterSource::regular),
        told("Intervals are Student's 95 % over the seeds; they are undecided with --quick, which trains a twentieth "
             "of the steps. A pair is \"not learnt\" if a seed costs more than {} nats a letter up to its trained "
             "length: two thirds of the way from guessing, {}, to the best possible.",
             figure(learnt_below()), figure(std::log(LetterSource::letters))),
        "Steps of both kinds alternate, in processor time; the interval is over pairs of steps. Memory is that of the "
        "library's trainer after its first step. The engine never holds a matrix of all queries by all keys."};
    return result;
}

} // namespace train_short_file

const Experiment train_short_experiment{
    .name = "train-short",
    .summary = "Is ALiBi on short texts as good as waves on long ones?",
    .details = "Small models trained in this run: ALiBi, sinusoids, RoPE and T5's bias, each at L and at 2 L, with the "
               "same number of tokens in a step, all measured in windows of 2 L; time and memory of a training step. "
               "The claim is from Press, Smith and Lewis 2022, arXiv 2108.12409.",
    .options = {"seeds", "corpus", "length"},
    .seconds = {300, 15},
    .run = train_short_file::run};

} // namespace ordo::lab
