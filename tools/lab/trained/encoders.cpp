// SPDX-License-Identifier: MIT
// Encoders see later tokens too: which encodings still tell before from after.
#include "tools/lab/study/answers.h"
#include "tools/lab/trained/letters_before.h"

namespace ordo::lab {
namespace encoders_file {

Result run(const Request& request) {
    const LettersBefore task{.length = 24, .steps = request.quick ? 300 : 600, .mask = Mask::bidirectional};
    const GridPlan plan{
        {task.recipe()}, request.encodings("none;alibi;t5;rope;rope+alibi;xpos;learned"), request.integer("seeds", 3)};
    const auto grid =
        train_grid<double>(plan, request.seed, request.progress, [&](const Model& model, const GridCell& cell) {
            return task.right(model, cell.seed, task.length);
        });
    constexpr double told_apart = 0.9, guess = 1.0 / LettersBefore::letters;
    const double by_halves = (1 + guess) / 2; // the letter before or the one after
    std::string tell, half, other;
    Figures figures{{"encoding", "right", "low", "high", "tells_direction"}, {}, 3};
    Curves curves{.interval = "95 % interval over seeds", .x_names = plan.encodings};
    Series& series = curves.add("letters before", Series::Style::points);
    for (std::size_t e = 0; e < plan.encodings.size(); ++e) {
        const Share right = share_of(grid[0][e]);
        const Verdict yes = above(right.interval, told_apart), no = below(right.interval, by_halves + 0.1);
        append(yes == Verdict::held ? tell : no == Verdict::held ? half : other, in_text(plan.encodings[e]));
        add_row(figures, plan.encodings[e], right,
                yes == Verdict::held  ? "yes"
                : no == Verdict::held ? "no"
                                      : "undecided");
        series.add(static_cast<double>(e), right.mean, right.interval.low, right.interval.high);
    }
    curves.references = {{"before or after, by chance", by_halves}, {"guessing", guess}};
    Result result;
    result.answer =
        told("Yes, if it tells direction. Asked for the letter before each letter, these answer above {} %: "
             "{}. These stay at {} % or less, the share of a model that cannot tell before from after: {}.{}",
             100 * told_apart, or_none(tell), fixed_text(100 * by_halves + 10, 0), or_none(half),
             listed(" Undecided: ", other, "."));
    result.pictures = {{"shares",
                        told("The letter before, under a mask that shows both sides: {}",
                             ends_of(plan.encodings, [&](std::size_t e) { return share_of(grid[0][e]).mean; })),
                        "encoding", "share of right letters", curves}};
    result.tables = {{"right", "Share of letters before that are right, and whether the encoding tells direction",
                      std::move(figures)}};
    result.notes = {
        told("A bidirectional model of one layer and width 64 learns {} steps of texts of {} random letters "
             "out of {}, {} seeds. One layer: several could tell the ends of a text, and count from there.",
             task.steps, task.length, LettersBefore::letters, plan.seeds),
        "ALiBi and KERPLE lower a score with |i - j|, the same for both sides. xPos multiplies by a factor "
        "that grows to one side: with long texts it overflows there, which is why its authors use it in "
        "decoders. A causal mask tells direction by itself."};
    return result;
}

} // namespace encoders_file

const Experiment encoders_experiment{
    .name = "encoders",
    .summary = "Can ALiBi, xPos or RoPE be used in an encoder?",
    .details = "Small bidirectional models, trained in this run to repeat the letter before each letter. An encoding "
               "that knows only how far a token is cannot. 3 seeds; --encodings names other encodings.",
    .options = {"seeds", "encodings"},
    .seconds = {40, 12},
    .run = encoders_file::run};

} // namespace ordo::lab
