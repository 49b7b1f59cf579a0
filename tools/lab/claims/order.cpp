// SPDX-License-Identifier: MIT
// The same words in another order: the rows that a model receives, and whether its answer can differ.
#include "tools/lab/study/prelude.h"
#include "tools/lab/study/small_models.h"

#include <iterator>

namespace ordo::lab {
namespace order_file {

constexpr int width = 64, trace_width = 8, trace_columns = 4;

struct Pair {
    std::vector<std::string> first, second; // words
};

std::vector<std::string> words_of(const std::string& sentence) {
    std::istringstream in(sentence);
    return {std::istream_iterator<std::string>(in), {}};
}

std::string sentence_of(const std::vector<std::string>& words) {
    std::string sentence;
    for (const std::string& word : words) append(sentence, word, " ");
    return sentence;
}

std::vector<Pair> pairs_of(const Request& request) {
    const auto prompts = request.arguments.all("prompt");
    if (prompts.empty())
        return {{words_of("King and Queen are awesome"), words_of("Queen and King are awesome")},
                {words_of("the cat was chasing the mouse in the house"),
                 words_of("the mouse was chasing the cat in the house")}};
    if (prompts.size() > 2)
        fail(ErrorCode::usage, "lab: order: expected --prompt once or twice, found it ", prompts.size(), " times");
    const Pair pair{words_of(prompts[0]), words_of(prompts.back())};
    for (const auto* words : {&pair.first, &pair.second})
        if (words->size() < 2 || words->size() > 256)
            fail(ErrorCode::usage, "lab: order: expected a sentence of 2 to 256 words, found ", words->size());
    if (prompts.size() == 2) return {pair};
    // The last word is the query. It stays, so that the order alone differs. A reversal equal to the sentence is
    // skipped; both reversals are equal only if all words are.
    std::vector<Pair> pairs;
    for (const std::ptrdiff_t kept : {1, 0}) {
        Pair reversed = pair;
        std::reverse(reversed.second.begin(), reversed.second.end() - kept);
        if (reversed.first != reversed.second) pairs.push_back(std::move(reversed));
    }
    return pairs.empty() ? std::vector{pair} : pairs;
}

// Maps words to numbers. A word has the same number in both sentences.
std::vector<Token> tokens_of(const std::vector<std::string>& words, std::vector<std::string>& vocabulary) {
    std::vector<Token> tokens;
    for (const std::string& word : words) {
        const auto at = std::find(vocabulary.begin(), vocabulary.end(), word);
        tokens.push_back(at - vocabulary.begin());
        if (at == vocabulary.end()) vocabulary.push_back(word);
    }
    return tokens;
}

// Rows of word vectors [n, d], normal with variance 1/d.
std::vector<float> vectors_of(std::span<const Token> tokens, int d, std::uint64_t seed) {
    std::vector<float> rows;
    for (const Token token : tokens) {
        const std::vector<float> row = normal_floats(d, seed, 0x04d30000 + token, 1 / std::sqrt(d));
        rows.insert(rows.end(), row.begin(), row.end());
    }
    return rows;
}

// The largest distance from a row of a to the nearest row of b, by the largest difference of an element. In both
// directions it is 0 if and only if a and b are equal as sets.
double one_way(View a, View b) {
    double farthest = 0;
    for (int i = 0; i < a.rows; ++i) {
        double nearest = HUGE_VAL;
        for (int j = 0; j < b.rows; ++j)
            nearest = std::min(nearest, largest_difference(row_span(a, i), row_span(b, j)));
        farthest = std::max(farthest, nearest);
    }
    return farthest;
}

struct Contrast {
    double rows = 0;   // of the sets of rows that the first layer reads
    double logits = 0; // after the last word, for a one-layer model with random weights
};

Contrast compare(const std::string& spec, const std::vector<Token>& first, const std::vector<Token>& second,
                 int vocabulary, std::uint64_t seed) {
    const Blueprint trunk = small_trunk(vocabulary, static_cast<int>(std::max(first.size(), second.size())), 1);
    const LooseEncoding encoding(spec, trunk.dims(), seed);
    std::vector<float> a = vectors_of(first, width, seed), b = vectors_of(second, width, seed);
    const View rows = view(a.data(), static_cast<int>(first.size()), width),
               others = view(b.data(), static_cast<int>(second.size()), width);
    encoding.embed(rows);
    encoding.embed(others);
    const Model model = random_model(trunk, spec, seed);
    Session one(model), other(model);
    const auto logits = one.feed(first), other_logits = other.feed(second);
    return {std::max(one_way(rows, others), one_way(others, rows)), largest_difference(logits, other_logits)};
}

std::string acts_at(unsigned moments) {
    std::string text;
    for (const MomentInfo& info : moments_of_a_pass)
        if (moments & info.moment) append(text, info.acts_on);
    return text.empty() ? "nowhere" : text;
}

// w_n = e_n + p_n of a sentence, as the texts define it: the embedding is unscaled.
Figures trace(const std::vector<std::string>& words, std::uint64_t seed) {
    Figures figures{{"position", "word", "vector"}, {}, 4};
    for (int j = 0; j < trace_columns; ++j) figures.columns.push_back("dim" + std::to_string(j));
    const LooseEncoding encoding("sinusoidal:scale=1", dims_of(trace_width), seed);
    std::vector<std::string> vocabulary;
    const std::vector<float> e = vectors_of(tokens_of(words, vocabulary), trace_width, seed);
    std::vector<float> w = e, p(e.size());
    const int n = static_cast<int>(words.size());
    encoding.embed(view(w.data(), n, trace_width));
    encoding.embed(view(p.data(), n, trace_width));
    for (int i = 0; i < n; ++i)
        for (const auto& [name, values] : {std::pair{"e", &e}, {"p", &p}, {"w = e + p", &w}})
            add_row(figures, i, printable(words[i]), name, std::span(*values).subspan(i * trace_width, trace_columns));
    return figures;
}

std::string names_of(const Pair& pair) {
    return told("\"{}\" and \"{}\"", printable(sentence_of(pair.first)), printable(sentence_of(pair.second)));
}

Result run(const Request& request) {
    constexpr double told_apart = 1e-4; // rounding is much smaller
    Figures figures{{"pair", "encoding", "acts_on", "rows_differ", "one_layer_logits_differ"}, {}, -1};
    Curves curves; // of the first pair
    curves.add("", Series::Style::points);
    std::string sentences; // the pairs by number
    Result result;
    const std::vector<Pair> pairs = pairs_of(request);
    std::size_t number = 0;
    for (const Pair& pair : pairs) {
        ++number;
        append(sentences, told("{}: {}", number, names_of(pair)), "; ");
        std::vector<std::string> vocabulary;
        const std::vector<Token> first = tokens_of(pair.first, vocabulary), second = tokens_of(pair.second, vocabulary);
        for (const EncodingInfo* info : registered_encodings()) {
            const std::string name(info->name);
            const Contrast d = compare(name, first, second, static_cast<int>(vocabulary.size()), request.seed);
            add_row(figures, number, name, acts_at(example_of(*info)->moments()), d.rows, d.logits);
            if (number > 1) continue;
            curves.series[0].add(static_cast<double>(curves.x_names.size()), d.logits);
            curves.x_names.push_back(name);
        }
    }
    result.answer = told("{} of {} encodings change the answer of a one-layer model, some in the word vectors (such as "
                         "sinusoidal), some in attention (such as rope). Without an encoding it cannot tell the same "
                         "words in another order apart: its answer changes by {}.",
                         std::ranges::count_if(curves.series[0].y, [](double y) { return y > told_apart; }),
                         curves.x_names.size() - 1, figure(curves.series[0].y[0], 2));
    result.pictures = {
        {"answers",
         told("Change of the answer of a one-layer model from {}: 0 if it cannot tell them apart", names_of(pairs[0])),
         "encoding", "largest change of a logit", std::move(curves)}};
    result.tables = {
        {"rows",
         "Largest difference between two sentences, as sets of word vectors and after the last word; pair " + sentences,
         std::move(figures)},
        {"trace",
         told("w_n = e_n + p_n of \"{}\", width {}, the first {} columns", printable(sentence_of(pairs[0].first)),
              trace_width, trace_columns),
         trace(pairs[0].first, request.seed)}};
    result.notes = {
        "rows_differ is the distance, as sets, of the rows that the first layer reads: of the worst row from the "
        "nearest row of the other sentence. one_layer_logits_differ is the difference after the last word, with random "
        "weights. About 1e-6 is rounding.",
        "If the last words differ, so do the logits with any encoding: a sentence of your own is therefore reversed "
        "twice, with its last word in place, and as a whole."};
    return result;
}

} // namespace order_file

const Experiment order_experiment{
    .name = "order",
    .summary = "Can a model tell the same words in another order?",
    .details = "Two sentences of the same words as rows of word vectors, with every registered encoding. Give --prompt "
               "twice for two sentences of your own. Give it once to compare a sentence with its reverse, and with all "
               "but its last word reversed.",
    .options = {"prompt"},
    .run = order_file::run};

} // namespace ordo::lab
