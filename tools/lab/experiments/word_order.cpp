// SPDX-License-Identifier: MIT
// Does a model know word order? The three questions of Ben Kurzion's "Investigating Transformer Positional
// Encodings", asked of models whose attention is causal and whose gradients are right, beside the lines without
// which the answers mean nothing; and a question that only order can answer.
#include "io/file.h"
#include "tools/lab/experiments/study.h"
#include "tools/lab/experiments/word_questions.h"
#include "tools/lab/math/numbers.h"
#include "tools/lab/math/statistics.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

namespace ordo::lab {

namespace {

using tools::Cell;
using tools::fixed_text;

constexpr int layer_counts[] = {1, 2}; // for the question of order; the three prompts have one layer
constexpr std::size_t depths = std::size(layer_counts);

// What all seeds of one encoding answered.
struct Row {
    std::string encoding;
    bool silent = false; // says nothing of position
    std::vector<Answers> trained, untrained;
    std::vector<Chase> chase[depths];
};

struct Field {
    const char* name;
    double Answers::*value;
};
constexpr Field published[] = {
    {"js_food_is", &Answers::food_is}, {"js_good_is", &Answers::good_is}, {"p_food_next", &Answers::food_next}};
constexpr Field fuller[] = {{"js_to_conditional", &Answers::food_is_truth},
                            {"p_right_next", &Answers::right_next},
                            {"p_food_in_place", &Answers::food_in_place},
                            {"nats_per_word", &Answers::loss}};

template <class Item>
Mean mean_over(const std::vector<Item>& items, double Item::*value) {
    std::vector<double> values;
    for (const Item& item : items) values.push_back(item.*value);
    return mean_of(values);
}

// ---- Training ---------------------------------------------------------------------------------

struct Plan {
    WordCorpus corpus;
    Prompts prompts;
    int seeds, corpus_steps, chase_steps;
};

Plan plan_of(const Request& request) {
    Plan plan;
    if (request.arguments.has("corpus")) {
        const std::string file = request.arguments.text("corpus");
        plan.corpus =
            parse_corpus(read_file(file, std::size_t{1} << 20), std::filesystem::path(file).filename().string());
    } else {
        plan.corpus = built_in_corpus();
    }
    plan.prompts = prompts_of(plan.corpus);
    plan.seeds = request.integer("seeds", request.quick ? 3 : 10);
    // So long that a model can know the corpus by heart.
    plan.corpus_steps = 120 + 4 * static_cast<int>(plan.corpus.sentences.size());
    plan.chase_steps = 350;
    return plan;
}

std::vector<Row> train_all(const Plan& plan, const Request& request) {
    const Recipe by_heart = corpus_recipe(plan.corpus, plan.corpus_steps);
    const auto chase = [&](std::size_t depth) { return chase_recipe(layer_counts[depth], plan.chase_steps); };
    Recipe as_it_starts = by_heart;
    as_it_starts.steps = 0;
    std::vector<Row> rows;
    for (const std::string& spec : request.encodings("all;rotate-stretch:period=6")) {
        Row row{spec, says_nothing_of_position(spec, by_heart.trunk.dims()), {}, {}, {}};
        for (const Recipe& recipe : {by_heart, chase(0)}) check_recipe(recipe, spec);
        const auto n = static_cast<std::size_t>(plan.seeds);
        row.trained.resize(n);
        row.untrained.resize(n);
        for (auto& answers : row.chase) answers.resize(n);
        rows.push_back(std::move(row));
    }
    const int runs = static_cast<int>(rows.size()) * plan.seeds;
    Meter meter(std::int64_t{runs} * (plan.corpus_steps + std::int64_t{depths} * plan.chase_steps), "training",
                request.progress);
    side_by_side(runs, [&](int run) {
        Row& row = rows[static_cast<std::size_t>(run / plan.seeds)];
        const auto i = static_cast<std::size_t>(run % plan.seeds);
        const std::uint64_t seed = request.seed + i;
        const auto train = [&](const Recipe& recipe) {
            return small_model(recipe, row.encoding, seed, recipe.length, meter);
        };
        row.untrained[i] = answers_of(plan.corpus, plan.prompts, train(as_it_starts));
        row.trained[i] = answers_of(plan.corpus, plan.prompts, train(by_heart));
        for (std::size_t d = 0; d < depths; ++d) row.chase[d][i] = ask_chase(train(chase(d)), seed);
    });
    return rows;
}

// ---- Tables and pictures ----------------------------------------------------------------------

// The lines that the trained models are to be read beside.
struct Lines {
    Answers uniform, unigram, conditional;
    std::vector<Answers> untrained; // of all encodings and seeds
};

Lines lines_of(const Plan& plan, const std::vector<Row>& rows) {
    Lines lines{answers_of(plan.corpus, plan.prompts, uniform(plan.corpus)),
                answers_of(plan.corpus, plan.prompts, unigram(plan.corpus)),
                answers_of(plan.corpus, plan.prompts),
                {}};
    for (const Row& row : rows)
        lines.untrained.insert(lines.untrained.end(), row.untrained.begin(), row.untrained.end());
    return lines;
}

Cell cell(double value) {
    return std::isnan(value) ? Cell{} : Cell{value};
}

NamedFigures table_of(const char* name, const char* title, std::span<const Field> fields, const std::vector<Row>& rows,
                      const Lines& lines) {
    NamedFigures out{name, title, {{"model"}, {}, 4}};
    for (const Field& field : fields) {
        out.figures.columns.emplace_back(field.name);
        out.figures.columns.push_back(std::string(field.name) + "_ci95");
    }
    const auto add = [&](const std::string& label, const std::vector<Answers>& answers) {
        auto& cells = out.figures.rows.emplace_back(std::vector<Cell>{label});
        for (const Field& field : fields) {
            const Mean mean = mean_over(answers, field.value);
            cells.push_back(cell(mean.mean));
            cells.push_back(cell(mean.half));
        }
    };
    for (const Row& row : rows) add(row.encoding, row.trained);
    add("(untrained)", lines.untrained);
    add("(uniform)", {lines.uniform});
    add("(unigram)", {lines.unigram});
    add("(corpus by heart)", {lines.conditional});
    return out;
}

// A point for each encoding. What cannot be asked of this corpus has no picture.
void add_picture(std::vector<Picture>& pictures, const char* name, std::string title, double Answers::*value,
                 const std::vector<Row>& rows, const Lines& lines) {
    const bool distance = value != &Answers::food_next;
    Curves curves;
    curves.interval = "95 % interval over the seeds";
    for (const Row& row : rows) {
        const Mean mean = mean_over(row.trained, value);
        if (std::isnan(mean.mean)) return;
        Series& series = curves.series.emplace_back();
        series.label = row.encoding;
        series.style = Series::Style::points;
        series.x = {static_cast<double>(curves.series.size())};
        series.y = {mean.mean};
        if (!std::isnan(mean.half)) {
            series.low = {mean.low()};
            series.high = {mean.high()};
        }
    }
    const auto add = [&curves](const char* label, double y) {
        if (!std::isnan(y)) curves.references.push_back({label, y});
    };
    add("corpus by heart", lines.conditional.*value);
    add("unigram", lines.unigram.*value);
    add("uniform", lines.uniform.*value);
    add("untrained", mean_over(lines.untrained, value).mean);
    if (distance) add("largest possible", std::sqrt(std::numbers::ln2));
    pictures.push_back({name, std::move(title), "encoding, in the order of the table",
                        distance ? "Jensen-Shannon distance" : "P(food)", std::move(curves)});
}

NamedFigures chase_table(const std::vector<Row>& rows) {
    NamedFigures out{"order",
                     "Who hunts, who is hunted: share of right answers on pairs kept back, and the largest change of a "
                     "word's probability when the two animals change places",
                     {{"model"}, {}, 4}};
    for (const int layers : layer_counts)
        for (const char* column : {"accuracy", "accuracy_ci95", "most_change"})
            out.figures.columns.push_back(std::string(column) + "_" + std::to_string(layers));
    for (const Row& row : rows) {
        auto& cells = out.figures.rows.emplace_back(std::vector<Cell>{row.encoding});
        for (const auto& chase : row.chase) {
            const Mean accuracy = mean_over(chase, &Chase::accuracy);
            double change = 0;
            for (const Chase& c : chase) change = std::max(change, c.change);
            cells.push_back(accuracy.mean);
            cells.push_back(cell(accuracy.half));
            cells.push_back(change);
        }
    }
    return out;
}

// ---- What was expected ------------------------------------------------------------------------

constexpr double near = 0.05;     // of distances that count as the same
constexpr double rounding = 1e-4; // of probabilities in float

// Empty: this cannot be asked of the model, or not of this corpus.
using Held = std::optional<bool>;

// Each expectation with the models that miss it.
class Expectations {
public:
    void add(std::string text, Held (*held)(const Row&, const Lines&), const std::vector<Row>& rows,
             const Lines& lines) {
        std::string misses;
        int asked = 0;
        for (const Row& row : rows) {
            const Held answer = held(row, lines);
            asked += answer.has_value();
            if (answer == false) append(misses, row.encoding);
        }
        const std::string number = "Expectation " + std::to_string(texts.size() + 1);
        outcome.push_back(asked == 0       ? number + " could not be tested on these models and this corpus."
                          : misses.empty() ? number + " held for all of " + std::to_string(asked) + " models asked."
                                           : number + " was missed by " + misses + ", of " + std::to_string(asked) +
                                                 " models asked.");
        texts.push_back(std::move(text));
    }
    std::vector<std::string> texts, outcome;
};

Held learns_conditional(const Row& row, const Lines& lines) {
    if (std::isnan(lines.conditional.food_is_truth)) return {};
    return mean_over(row.trained, &Answers::food_is_truth).mean < near &&
           mean_over(row.trained, &Answers::food_is_truth).mean < lines.unigram.food_is_truth;
}
Held published_measure_meets_its_line(const Row& row, const Lines& lines) {
    if (std::isnan(lines.conditional.food_is)) return {};
    return std::abs(mean_over(row.trained, &Answers::food_is).mean - lines.conditional.food_is) < near;
}
Held food_is_not_next(const Row& row, const Lines& lines) {
    if (!(lines.conditional.food_next == 0)) return {}; // the corpus has it there, or nothing
    return mean_over(row.trained, &Answers::food_next).mean < lines.uniform.food_next / 2 &&
           (std::isnan(lines.conditional.food_in_place) ||
            mean_over(row.trained, &Answers::food_in_place).mean > lines.conditional.food_in_place / 2);
}
// The bag of the words before the last decides all: the two orders are one, and half of the answers are right.
Held silent_is_a_bag(const Row& row, const Lines&) {
    if (!row.silent) return {};
    return std::all_of(row.chase[0].begin(), row.chase[0].end(),
                       [](const Chase& c) { return c.accuracy == 0.5 && c.change < rounding; });
}
Held others_see_order(const Row& row, const Lines&) {
    if (row.silent) return {};
    return mean_over(row.chase[0], &Chase::accuracy).mean >= 0.75;
}
Held all_see_order_at_two(const Row& row, const Lines&) {
    return mean_over(row.chase[1], &Chase::accuracy).mean >= 0.75;
}

Expectations expectations_of(const std::vector<Row>& rows, const Lines& lines) {
    Expectations e;
    e.add("Every trained model knows the corpus by heart: after \"food is\" its distance from what the corpus goes on "
          "with is below 0.05, and below that of the words' frequencies, whatever its encoding.",
          learns_conditional, rows, lines);
    e.add("On the published measure, the distance from the words after \"is\" anywhere, all models therefore stand "
          "within 0.05 of the line of a model that knows the corpus by heart, which is not 0: less is not better.",
          published_measure_meets_its_line, rows, lines);
    e.add("P(food) right after \"carbohydrates are\", where the corpus never has it, is below half of chance for every "
          "trained model, and where the corpus has it, some words later, above one half.",
          food_is_not_next, rows, lines);
    e.add("One layer without position reads a bag of words: exchanging the two animals changes no probability but by "
          "rounding (below 0.0001) and exactly half of its answers are right.",
          silent_is_a_bag, rows, lines);
    e.add("With a position one layer tells the orders apart: at least three of four answers are right.",
          others_see_order, rows, lines);
    e.add("Two layers tell them apart without one too, since the causal mask gives the words before them away.",
          all_see_order_at_two, rows, lines);
    return e;
}

// "0.1 to 0.2"; "-" where this corpus does not let it be asked.
std::string number_of(double value, int decimals) {
    return std::isnan(value) ? "-" : fixed_text(value, decimals);
}
std::string range_text(const std::vector<Row>& rows, double Answers::*value, int decimals) {
    double least = HUGE_VAL, most = -HUGE_VAL;
    for (const Row& row : rows) {
        const double mean = mean_over(row.trained, value).mean;
        least = std::min(least, mean);
        most = std::max(most, mean);
    }
    return least > most ? "-" : fixed_text(least, decimals) + " to " + fixed_text(most, decimals);
}

std::vector<std::string> notes_of(const Plan& plan, const std::vector<Row>& rows, const Lines& lines) {
    std::vector<std::string> notes{
        "js_food_is and js_good_is: distance of the model's next word after the prompt from the words that follow "
        "\"is\" anywhere in the corpus; js_to_conditional: from those that follow in sentences that begin so. "
        "Distances are square roots of the Jensen-Shannon divergence in nats and at most sqrt(ln 2) = 0.8326. _ci95: "
        "half of the 95 % confidence interval of the mean over " +
            std::to_string(plan.seeds) + (plan.seeds == 1 ? " seed: none." : " seeds (t distribution)."),
        "js_food_is cannot rank encodings: a model that predicts nothing but what follows \"is\", deaf to \"food\", "
        "would have 0, and one that knows each sentence stands at the line of the corpus.",
        "js_good_is cannot rank them either: if no sentence begins with \"good is\" nothing in training says what "
        "follows, a great distance is as likely a sign of noise as of insight, and an untrained network has one for "
        "free.",
        lines.conditional.food_next == 0
            ? "p_food_next: the corpus goes on with another word, so the right answer is 0, not a high one; "
              "p_right_next and p_food_in_place ask for what is there."
            : "p_food_next: P(food) in this corpus is " + number_of(lines.conditional.food_next, 4) +
                  " there (-: no sentence begins so); p_right_next and p_food_in_place ask for what is there.",
        study_data::beside(),
        "order: what ends in _1 is of models of one layer, in _2 of two; most_change is the largest over all seeds.",
        "Each model is the engine's own block: attention of eight heads and a gated feed-forward layer, d_model 64, "
        "trained for " +
            std::to_string(plan.corpus_steps) + " steps (" + std::to_string(plan.chase_steps) +
            " on the question of order) and asked through the engine's own inference. The published one has attention "
            "alone, of 16 heads on 128."};
    if (std::any_of(rows.begin(), rows.end(), [](const Row& row) { return row.encoding == "segment"; }))
        notes.emplace_back("A sentence has one segment, so that segment adds the same to each word: it stands here as "
                           "a second `none` with another start.");
    return notes;
}

Result run(const Request& request) {
    const Plan plan = plan_of(request);
    const std::vector<Row> rows = train_all(plan, request);
    const Lines lines = lines_of(plan, rows);
    Expectations expectations = expectations_of(rows, lines);
    Result result;
    result.expected = std::move(expectations.texts);
    result.tables = {table_of("published", "The three questions as they were published", published, rows, lines),
                     table_of("fuller", "What the corpus itself has in these places", fuller, rows, lines),
                     chase_table(rows)};
    add_picture(result.pictures, "food-is",
                "After \"food is\": distance from the words that follow \"is\", 95 % intervals", &Answers::food_is,
                rows, lines);
    add_picture(result.pictures, "good-is",
                std::string("After \"good is\"") +
                    (std::isnan(lines.conditional.good_is) ? ", which begins no sentence of the corpus" : "") +
                    ": distance from the words that follow \"is\"",
                &Answers::good_is, rows, lines);
    add_picture(result.pictures, "carbohydrates-are",
                std::string("P(food) right after \"carbohydrates are\", ") +
                    (std::isnan(lines.conditional.food_next) ? "which begins no sentence of the corpus"
                                                             : "beside what the corpus has there"),
                &Answers::food_next, rows, lines);
    if (const std::string missing = missing_words(plan.corpus); !missing.empty())
        result.found.push_back("The corpus lacks " + missing +
                               ": what needs these words was skipped. The question of "
                               "order has sentences of its own.");
    const auto untrained = [&lines](double Answers::*value) {
        return number_of(mean_over(lines.untrained, value).mean, 3);
    };
    if (!plan.prompts.food_is.empty())
        result.found.push_back("After \"food is\" all models stand at " + range_text(rows, &Answers::food_is, 3) +
                               ", the corpus known by heart at " + number_of(lines.conditional.food_is, 3) +
                               ", an untrained network at " + untrained(&Answers::food_is) + ".");
    if (!plan.prompts.good_is.empty())
        result.found.push_back("After \"good is\" all models stand at " + range_text(rows, &Answers::good_is, 3) +
                               ", an untrained network at " + untrained(&Answers::good_is) + ".");
    if (!plan.prompts.carbohydrates_are.empty() && plan.prompts.food >= 0)
        result.found.push_back("P(food) right after \"carbohydrates are\" is " +
                               range_text(rows, &Answers::food_next, 4) + " (chance " +
                               number_of(lines.uniform.food_next, 4) + "), and where the corpus has it " +
                               range_text(rows, &Answers::food_in_place, 4) + ".");
    for (std::string& outcome : expectations.outcome) result.found.push_back(std::move(outcome));
    result.notes = notes_of(plan, rows, lines);
    return result;
}

constexpr std::string_view options[] = {"seeds", "corpus", "encodings"};

} // namespace

extern const Experiment word_order_experiment;
const Experiment word_order_experiment = {
    .name = "word-order",
    .summary = "what can three questions about the next word tell, and which encodings tell the order of words?",
    .details = "For each encoding and seed a model of one layer learns twenty sentences (--corpus for others: a "
               "sentence a line; what needs words that it lacks is skipped) and is asked for the next word after "
               "\"food is\", \"good is\" and \"carbohydrates "
               "are\", as in Ben Kurzion, Investigating Transformer Positional Encodings "
               "(github.com/benkurzion/Transformer), beside what guessing, word counts, an untrained network and the "
               "corpus itself answer. Then models of one and two layers learn \"cat chases mouse hunter cat\" and "
               "\"... prey mouse\" over ordered pairs of ten animals and are asked about pairs that they never saw.",
    .options = options,
    .seconds = 90,
    .quick_seconds = 30,
    .run = run};

} // namespace ordo::lab
