// SPDX-License-Identifier: MIT
// Does a model know word order? The three questions of Ben Kurzion's "Investigating Transformer Positional Encodings",
// with causal attention and correct gradients. Baselines, without which the answers mean nothing, accompany them.
// A fourth question needs word order for its answer.
#include "tools/lab/claims/study.h"
#include "tools/lab/trained/word_questions.h"

namespace ordo::lab {
namespace word_order_file {

void add_answers(Result& result, const char* name, const char* title, std::initializer_list<Field> fields,
                 const std::vector<WordRow>& rows, const WordLines& lines) {
    Figures& figures = result.table(name, title, {"model"}, 4);
    for (const Field& field : fields)
        for (const char* part : {"", "_low", "_high"}) figures.columns.push_back(std::string(field.name) + part);
    const auto add = [&](const std::string& label, const std::vector<Answers>& answers) {
        std::vector<Share> shares;
        for (const Field& field : fields) shares.push_back(over_seeds(answers, field));
        add_row(figures, label, shares);
    };
    for (const WordRow& row : rows) add(row.encoding, row.trained);
    add("(untrained)", lines.untrained);
    add("(uniform)", {lines.uniform});
    add("(unigram)", {lines.unigram});
    add("(corpus by heart)", {lines.conditional});
}

Names names_of(const std::vector<WordRow>& rows) {
    Names names;
    for (const WordRow& row : rows) names.push_back(row.encoding);
    return names;
}

// The smallest and the largest value of the trained models.
std::string range_of(const std::vector<WordRow>& rows, const Field& field, int decimals) {
    return ends_of(
        names_of(rows), [&](std::size_t i) { return over_seeds(rows[i].trained, field).mean; }, decimals);
}
std::string accuracies_of(const std::vector<WordRow>& rows, std::size_t depth) {
    return ends_of(names_of(rows), [&](std::size_t i) { return accuracy_of(rows[i].chase[depth]).mean; });
}

// The share of correct answers on the order of two animals, by encoding, the best with one layer first.
Picture order_picture(std::vector<WordRow> rows) {
    std::stable_sort(rows.begin(), rows.end(), [](const WordRow& a, const WordRow& b) {
        return accuracy_of(a.chase[0]).mean > accuracy_of(b.chase[0]).mean;
    });
    Curves curves;
    curves.interval = "95 % interval over the seeds";
    curves.x_names = names_of(rows);
    for (std::size_t d = 0; d < model_depths; ++d) {
        Series& one = curves.add(d == 0 ? "one layer" : "two layers", Series::Style::points);
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const auto [mean, interval] = accuracy_of(rows[i].chase[d]);
            const double at = static_cast<double>(i) + 0.15 * (2.0 * static_cast<double>(d) - 1);
            interval.known() ? one.add(at, mean, interval.low, interval.high) : one.add(at, mean);
        }
    }
    curves.references = {{"guessing", 0.5}};
    return {"order-by-encoding",
            told("Who hunts whom? Correct answers with one layer: {}; with two layers: {}", accuracies_of(rows, 0),
                 accuracies_of(rows, 1)),
            "encoding", "share of correct answers", std::move(curves)};
}

// The published distances of all models, and of the baselines. NaN, of a question that the corpus cannot ask, has no
// point.
Picture published_picture(const std::vector<WordRow>& rows, const WordLines& lines) {
    Curves curves;
    curves.x_names = {"after \"food is\"", "after \"good is\""};
    for (const char* label :
         {"trained models", "untrained models", "even guess", "word frequencies", "corpus by heart"})
        curves.add(label, Series::Style::points);
    for (std::size_t x = 0; x < 2; ++x) {
        const Field& field = x == 0 ? food_is : good_is;
        const auto at = static_cast<double>(x);
        for (const WordRow& row : rows) curves.series[0].add(at, over_seeds(row.trained, field).mean);
        curves.series[1].add(at, over_seeds(lines.untrained, field).mean);
        curves.series[2].add(at, lines.uniform.*field.value);
        curves.series[3].add(at, lines.unigram.*field.value);
        curves.series[4].add(at, lines.conditional.*field.value);
    }
    return {"published-distances",
            told("The published distances hardly differ between encodings: after \"food is\" {}",
                 range_of(rows, food_is, 3)),
            "prompt", "Jensen-Shannon distance from the words after \"is\"", std::move(curves)};
}

void add_chase(Result& result, const std::vector<WordRow>& rows) {
    Figures& figures = result.table(
        "order",
        told("Who hunts whom: share of correct answers on pairs that were not trained, with one layer ({}) and with "
             "two ({}), and the largest change of a word's probability when the two animals change places",
             accuracies_of(rows, 0), accuracies_of(rows, 1)),
        {"model", "accuracy_1", "accuracy_low_1", "accuracy_high_1", "most_change_1", "accuracy_2", "accuracy_low_2",
         "accuracy_high_2", "most_change_2"},
        4);
    const auto change = [](const std::vector<Chase>& chases) {
        return std::ranges::max(chases, {}, &Chase::change).change;
    };
    for (const WordRow& row : rows)
        add_row(figures, row.encoding, accuracy_of(row.chase[0]), change(row.chase[0]), accuracy_of(row.chase[1]),
                change(row.chase[1]));
}

const std::vector<std::string> notes{
    "js_food_is and js_good_is are the distances of the model's next word after the prompt from the words after \"is\" "
    "anywhere in the corpus, js_to_conditional from the next words in sentences with the same beginning: square roots "
    "of the Jensen-Shannon divergence in nats, at most 0.8326. _low and _high are the 95 % interval of the mean over "
    "seeds.",
    "js_food_is cannot rank encodings: a model that ignores \"food\" and predicts the words after \"is\" would have 0, "
    "and a model that knows each sentence has the distance of the corpus. Nor can js_good_is: if no sentence begins "
    "with \"good is\", training says nothing about the next word, and an untrained network has a large distance, too.",
    "p_food_next: if the corpus goes on with another word there, the correct answer is 0, not a high one. Questions "
    "with words that a corpus lacks are empty.",
    study_data::beside(),
    "Table order: _1 and _2 are models of one layer and of two; most_change is the largest over all seeds.",
    "Each model has attention of eight heads and a gated feed-forward layer, d_model 64. The published model has "
    "attention alone, with 16 heads and a width of 128."};

Result run(const Request& request) {
    const WordPlan plan = word_plan(request);
    const std::vector<WordRow> rows = train_all(plan, request);
    const WordLines lines = lines_of(plan, rows);
    Result result;
    add_answers(result, "published", "The three published questions", {food_is, good_is, food_next}, rows, lines);
    add_answers(result, "fuller", "The same places, compared with the corpus itself",
                {truth, right_next, in_place, loss}, rows, lines);
    add_chase(result, rows);
    result.pictures = {order_picture(rows), published_picture(rows, lines)};
    // Judged by intervals, as the expectations are.
    std::size_t told_apart[model_depths] = {};
    std::string cannot[model_depths], open[model_depths];
    for (const WordRow& row : rows)
        for (std::size_t d = 0; d < model_depths; ++d) {
            const Verdict verdict = above(accuracy_of(row.chase[d]).interval, 0.75);
            told_apart[d] += verdict == Verdict::held;
            if (verdict != Verdict::held)
                append(verdict == Verdict::missed ? cannot[d] : open[d], in_text(row.encoding));
        }
    const auto rest = [&](std::size_t d) {
        return listed(" These do not: ", cannot[d], ".") + listed(" These are undecided: ", open[d], ".");
    };
    result.answer = told("Models learn who hunts whom, and three answers of four have to be right. With one layer, {} "
                         "of {} models can tell.{} With two layers, {} can.{} The three published questions about the "
                         "next word do not rank encodings.",
                         told_apart[0], rows.size(), rest(0), told_apart[1], rest(1));
    expectations_of(rows, lines).write_to(result);
    result.notes = notes;
    return result;
}

} // namespace word_order_file

const Experiment word_order_experiment{
    .name = "word-order",
    .summary = "Which encodings learn the order of words?",
    .details = "Models of one and two layers learn \"cat chases mouse hunter cat\" and \"cat chases mouse prey mouse\" "
               "over ordered pairs of ten animals and answer for pairs that they never saw. For each encoding and "
               "seed, a model of one layer also learns twenty sentences (--corpus for others, a sentence a line) and "
               "predicts the next word after \"food is\", \"good is\" and \"carbohydrates are\", as in Ben Kurzion, "
               "Investigating Transformer Positional Encodings (github.com/benkurzion/Transformer). Guessing, word "
               "counts, an untrained network and the corpus itself are the baselines.",
    .options = {"seeds", "corpus", "encodings"},
    .seconds = {280, 85},
    .run = word_order_file::run};

} // namespace ordo::lab
