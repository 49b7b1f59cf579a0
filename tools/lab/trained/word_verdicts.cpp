// SPDX-License-Identifier: MIT
#include "tools/lab/trained/word_questions.h"

#include "tools/lab/math/numbers.h"

namespace ordo::lab {
namespace {

constexpr double near = 0.05;     // a smaller difference of distances counts as equal
constexpr double rounding = 1e-4; // of probabilities in float

Verdict learns_conditional(const WordRow& row, const WordLines& lines) {
    if (std::isnan(lines.conditional.food_is_truth)) return Verdict::untested;
    return below(over_seeds(row.trained, truth).interval, std::min(near, lines.unigram.food_is_truth));
}
Verdict published_measure_meets_its_line(const WordRow& row, const WordLines& lines) {
    const double line = lines.conditional.food_is;
    if (std::isnan(line)) return Verdict::untested;
    return between(over_seeds(row.trained, food_is).interval, line - near, line + near);
}
Verdict food_is_not_next(const WordRow& row, const WordLines& lines) {
    if (!(lines.conditional.food_next == 0)) return Verdict::untested; // the word follows there, or nothing does
    const Verdict next = below(over_seeds(row.trained, food_next).interval, lines.uniform.food_next / 2);
    if (std::isnan(lines.conditional.food_in_place)) return next;
    return std::max(next, above(over_seeds(row.trained, in_place).interval, lines.conditional.food_in_place / 2));
}
// Only the bag of words before the last counts, so both orders look alike and half of the answers are correct. Each
// seed shows this or does not; it has no interval.
Verdict silent_is_a_bag(const WordRow& row, const WordLines&) {
    if (!row.silent) return Verdict::untested;
    return std::all_of(row.chase[0].begin(), row.chase[0].end(),
                       [](const Chase& c) { return c.accuracy == 0.5 && c.change < rounding; })
               ? Verdict::held
               : Verdict::missed;
}
Verdict others_see_order(const WordRow& row, const WordLines&) {
    return row.silent ? Verdict::untested : above(accuracy_of(row.chase[0]).interval, 0.75);
}
Verdict all_see_order_at_two(const WordRow& row, const WordLines&) {
    return above(accuracy_of(row.chase[1]).interval, 0.75);
}

} // namespace

Share over_seeds(const std::vector<Answers>& answers, const Field& field) {
    std::vector<double> values;
    for (const Answers& one : answers) values.push_back(one.*field.value);
    if (field.largest == 0) return {mean_of(values).mean, mean_of(values).interval()};
    for (double& value : values) value /= field.largest;
    if (std::isnan(values[0])) return {values[0], {}};
    const Share share = share_of(values);
    return {share.mean * field.largest, {share.interval.low * field.largest, share.interval.high * field.largest}};
}

Share accuracy_of(const std::vector<Chase>& chases) {
    std::vector<double> values;
    for (const Chase& chase : chases) values.push_back(chase.accuracy);
    return share_of(values, 4.0 * chase_kept);
}

Expectations expectations_of(const std::vector<WordRow>& rows, const WordLines& lines) {
    Expectations e;
    const auto add = [&](std::string sentence, Verdict (*judge)(const WordRow&, const WordLines&)) {
        Judgement& judgement = e.expect(std::move(sentence), " on these models and this corpus");
        for (const WordRow& row : rows) judgement.add(judge(row, lines), row.encoding);
    };
    add("Every trained model knows the corpus by heart: after \"food is\" its distance from the next words of the "
        "corpus is below 0.05, and below the distance of the word frequencies, with every encoding.",
        learns_conditional);
    add("On the published measure, the distance from the words after \"is\" anywhere, all models are therefore within "
        "0.05 of a model that knows the corpus by heart. That distance is not 0, so less is not better.",
        published_measure_meets_its_line);
    add("Right after \"carbohydrates are\", where the corpus never has \"food\", P(food) is below half of chance for "
        "every trained model. Some words later, where the corpus has it, P(food) is above one half.",
        food_is_not_next);
    add("One layer without position reads a bag of words: exchanging the two animals changes probabilities only by "
        "rounding (below 0.0001), and exactly half of its answers are correct.",
        silent_is_a_bag);
    add("With a position, one layer tells the orders apart: at least three of four answers are correct.",
        others_see_order);
    add("Two layers tell them apart even without a position, because the causal mask reveals the number of words "
        "before.",
        all_see_order_at_two);
    return e;
}

} // namespace ordo::lab
