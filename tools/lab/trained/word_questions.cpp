// SPDX-License-Identifier: MIT
#include "tools/lab/trained/word_questions.h"

#include "io/base_name.h"
#include "io/file.h"

namespace ordo::lab {
namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();

double js_or_none(const Distribution& p, const Distribution& q) {
    return p.empty() || q.empty() ? none : js_distance(p, q);
}
double probability(const Distribution& p, Token word) {
    return p.empty() || word < 0 ? none : p[word];
}

// next(beginning) is a Distribution.
template <class Next>
Answers ask(const WordCorpus& corpus, const Prompts& prompts, const Next& next) {
    const auto after = [](const std::vector<Token>& prompt, const auto& distribution) {
        return prompt.empty() ? Distribution() : distribution(prompt);
    };
    const auto in_corpus = [&corpus](std::span<const Token> beginning) { return after_beginning(corpus, beginning); };
    const Distribution after_is = prompts.is < 0 ? Distribution() : after_word(corpus, prompts.is);
    const Distribution truth = after(prompts.carbohydrates_are, in_corpus);
    const Distribution food_is = after(prompts.food_is, next),
                       carbohydrates_are = after(prompts.carbohydrates_are, next);
    const auto right = static_cast<Token>(std::max_element(truth.begin(), truth.end()) - truth.begin());
    Answers a;
    a.food_is = js_or_none(food_is, after_is);
    a.food_is_truth = js_or_none(food_is, after(prompts.food_is, in_corpus));
    a.good_is = js_or_none(after(prompts.good_is, next), after_is);
    a.food_next = probability(carbohydrates_are, prompts.food);
    a.right_next = truth.empty() ? none : probability(carbohydrates_are, right);
    a.food_in_place = probability(after(prompts.before_food, next), prompts.food);
    double nats = 0, words = 0;
    for (const auto& sentence : corpus.sentences)
        for (std::size_t i = 0; i <= sentence.size(); ++i, ++words)
            nats -= std::log(probability(next(std::span(sentence).first(i)), i < sentence.size() ? sentence[i] : 0));
    a.loss = nats / words;
    return a;
}

} // namespace

Prompts prompts_of(const WordCorpus& corpus) {
    Prompts p{corpus.tokens("food is"), corpus.tokens("good is"), corpus.tokens("carbohydrates are"), {},
              corpus.find("food"),      corpus.find("is")};
    if (p.carbohydrates_are.empty() || p.food < 0) return p;
    for (const auto& sentence : corpus.sentences) {
        if (!p.before_food.empty() || sentence.size() < 2 ||
            !std::equal(p.carbohydrates_are.begin(), p.carbohydrates_are.end(), sentence.begin()))
            continue;
        const auto food = std::find(sentence.begin() + 2, sentence.end(), p.food);
        if (food != sentence.end()) p.before_food = {sentence.begin(), food};
    }
    return p;
}

Answers answers_of(const WordCorpus& corpus, const Prompts& prompts, const Distribution& always) {
    return ask(corpus, prompts, [&always](std::span<const Token>) { return always; });
}
Answers answers_of(const WordCorpus& corpus, const Prompts& prompts) {
    return ask(corpus, prompts,
               [&corpus](std::span<const Token> beginning) { return after_beginning(corpus, beginning); });
}
Answers answers_of(const WordCorpus& corpus, const Prompts& prompts, const Model& model) {
    Session session = small_session(model, static_cast<int>(corpus.longest) + 1);
    return ask(corpus, prompts, [&session](std::span<const Token> beginning) {
        std::vector<Token> tokens{0};
        tokens.insert(tokens.end(), beginning.begin(), beginning.end());
        session.rewind(0);
        return softmax(session.feed(tokens));
    });
}

Recipe corpus_recipe(const WordCorpus& corpus, int steps) {
    const int length = static_cast<int>(corpus.longest) + 1;
    Recipe r{.trunk = small_trunk(static_cast<int>(corpus.words.size()), length, 1, 8, 64),
             .batch = static_cast<int>(std::min<std::size_t>(32, corpus.sentences.size())),
             .length = length,
             .steps = steps};
    // Walks through the corpus step by step, and starts over at its end.
    r.draw_each([&corpus](std::uint64_t, std::uint64_t number, std::span<Token> tokens, std::span<Token> targets) {
        const std::vector<Token>& sentence = corpus.sentences[number % corpus.sentences.size()];
        for (std::size_t j = 0; j < sentence.size(); ++j) tokens[j + 1] = targets[j] = sentence[j];
        targets[sentence.size()] = 0;
    });
    return r;
}

Share over_seeds(const std::vector<Answers>& answers, const Field& field) {
    std::vector<double> values;
    for (const Answers& one : answers) values.push_back(one.*field.value);
    if (field.largest == 0) return {mean_of(values).mean, mean_of(values).interval()};
    for (double& value : values) value /= field.largest;
    if (std::isnan(values[0])) return {values[0], {}};
    const Share share = share_of(values);
    return {share.mean * field.largest, {share.interval.low * field.largest, share.interval.high * field.largest}};
}

Expectations expectations_of(const std::vector<WordRow>& rows, const WordLines& lines) {
    constexpr double near = 0.05;     // a smaller difference of distances counts as equal
    constexpr double rounding = 1e-4; // of probabilities in float
    const Answers& heart = lines.conditional;
    Expectations e;
    const auto add = [&](std::string sentence, bool asked, const auto& judge) {
        Judgement& judgement = e.expect(std::move(sentence), " on these models and this corpus");
        for (const WordRow& row : rows) judgement.add(asked ? judge(row) : Verdict::untested, row.encoding);
    };
    add("Every trained model knows the corpus by heart: after \"food is\" its distance from the next words of the "
        "corpus is below 0.05, and below the distance of the word frequencies, with every encoding.",
        !std::isnan(heart.food_is_truth), [&](const WordRow& row) {
            return below(over_seeds(row.trained, truth).interval, std::min(near, lines.unigram.food_is_truth));
        });
    add("On the published measure, the distance from the words after \"is\" anywhere, all models are therefore within "
        "0.05 of a model that knows the corpus by heart. That distance is not 0, so less is not better.",
        !std::isnan(heart.food_is), [&](const WordRow& row) {
            return between(over_seeds(row.trained, food_is).interval, heart.food_is - near, heart.food_is + near);
        });
    // Not asked if the word follows there, or nothing does.
    add("Right after \"carbohydrates are\", where the corpus never has \"food\", P(food) is below half of chance for "
        "every trained model. Some words later, where the corpus has it, P(food) is above one half.",
        heart.food_next == 0, [&](const WordRow& row) {
            const Verdict next = below(over_seeds(row.trained, food_next).interval, lines.uniform.food_next / 2);
            if (std::isnan(heart.food_in_place)) return next;
            return std::max(next, above(over_seeds(row.trained, in_place).interval, heart.food_in_place / 2));
        });
    // Both orders look alike, so half of the answers are correct. Each seed shows this or does not; it has no interval.
    add("One layer without position reads a bag of words: exchanging the two animals changes probabilities only by "
        "rounding (below 0.0001), and exactly half of its answers are correct.",
        true, [&](const WordRow& row) {
            const auto bag = [&](const Chase& c) { return c.accuracy == 0.5 && c.change < rounding; };
            return !row.silent                              ? Verdict::untested
                   : std::ranges::all_of(row.chase[0], bag) ? Verdict::held
                                                            : Verdict::missed;
        });
    add("With a position, one layer tells the orders apart: at least three of four answers are correct.", true,
        [](const WordRow& row) {
            return row.silent ? Verdict::untested : above(accuracy_of(row.chase[0]).interval, 0.75);
        });
    add("Two layers tell them apart even without a position, because the causal mask reveals the number of words "
        "before.",
        true, [](const WordRow& row) { return above(accuracy_of(row.chase[1]).interval, 0.75); });
    return e;
}

WordPlan word_plan(const Request& request) {
    WordPlan plan;
    if (request.arguments.has("corpus")) {
        const std::string file = request.arguments.text("corpus");
        plan.corpus = parse_corpus(read_file(file, std::size_t{1} << 20), base_name(file));
    } else {
        plan.corpus = built_in_corpus();
    }
    plan.prompts = prompts_of(plan.corpus);
    plan.seeds = request.integer("seeds", request.quick ? 3 : 10);
    // Enough steps for a model to learn the corpus by heart.
    plan.corpus_steps = 120 + 4 * static_cast<int>(plan.corpus.sentences.size());
    plan.chase_steps = 350;
    return plan;
}

namespace {

// Each condition fills one of the two.
struct Asked {
    Answers answers;
    Chase chase;
};

} // namespace

std::vector<WordRow> train_all(const WordPlan& plan, const Request& request) {
    const Recipe by_heart = corpus_recipe(plan.corpus, plan.corpus_steps);
    GridPlan study{{by_heart, by_heart}, request.encodings("all;rotate-stretch:period=6"), plan.seeds};
    study.conditions[0].steps = 0; // untrained
    for (const int layers : layer_counts) study.conditions.push_back(chase_recipe(layers, plan.chase_steps));
    const auto grid =
        train_grid<Asked>(study, request.seed, request.progress, [&](const Model& model, const GridCell& cell) {
            return cell.condition < 2 ? Asked{answers_of(plan.corpus, plan.prompts, model), {}}
                                      : Asked{{}, ask_chase(model, cell.seed)};
        });
    std::vector<WordRow> rows;
    for (std::size_t e = 0; e < study.encodings.size(); ++e) {
        const std::string& spec = study.encodings[e];
        WordRow& row = rows.emplace_back();
        row.encoding = spec, row.silent = says_nothing_of_position(spec, by_heart.trunk.dims());
        for (const Asked& one : grid[0][e]) row.untrained.push_back(one.answers);
        for (const Asked& one : grid[1][e]) row.trained.push_back(one.answers);
        for (std::size_t d = 0; d < model_depths; ++d)
            for (const Asked& one : grid[2 + d][e]) row.chase[d].push_back(one.chase);
    }
    return rows;
}

WordLines lines_of(const WordPlan& plan, const std::vector<WordRow>& rows) {
    WordLines lines{answers_of(plan.corpus, plan.prompts, uniform(plan.corpus)),
                    answers_of(plan.corpus, plan.prompts, unigram(plan.corpus)),
                    answers_of(plan.corpus, plan.prompts),
                    {}};
    for (const WordRow& row : rows)
        lines.untrained.insert(lines.untrained.end(), row.untrained.begin(), row.untrained.end());
    return lines;
}

} // namespace ordo::lab
