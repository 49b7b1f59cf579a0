// SPDX-License-Identifier: MIT
// The same words in another order: the rows that a model receives, and whether its answer can differ.
#include "tools/lab/study/prelude.h"
#include "tools/lab/study/small_models.h"

#include <iterator>

namespace ordo::lab {
namespace order_file {

constexpr int width = 64;

using Words = std::vector<std::string>;
using Pair = std::pair<Words, Words>;

Words words_of(const std::string& sentence) {
    std::istringstream in(sentence);
    return {std::istream_iterator<std::string>(in), {}};
}

std::string quoted(const Words& words) {
    std::string sentence;
    for (const std::string& word : words) append(sentence, word, " ");
    return '"' + printable(sentence) + '"';
}

std::string names_of(const Pair& pair) {
    return quoted(pair.first) + " and " + quoted(pair.second);
}

std::vector<Pair> pairs_of(const Request& request) {
    const auto prompts = request.arguments.all("prompt");
    if (prompts.empty())
        return {{words_of("King and Queen are awesome"), words_of("Queen and King are awesome")},
                {words_of("the cat was chasing the mouse in the house"),
                 words_of("the mouse was chasing the cat in the house")}};
    if (prompts.size() > 2)
        fail(ErrorCode::usage, "lab: order: expected --prompt once or twice, found it ", prompts.size(), " times");
    const Words first = words_of(prompts[0]), second = words_of(prompts.back());
    for (const std::size_t n : {first.size(), second.size()})
        if (n < 2 || n > 256) fail(ErrorCode::usage, "lab: order: expected a sentence of 2 to 256 words, found ", n);
    if (prompts.size() == 2) return {{first, second}};
    // The last word is the query. It stays, so that the order alone differs. A reversal equal to the sentence is
    // skipped; both reversals are equal only if all words are.
    std::vector<Pair> pairs;
    for (const std::ptrdiff_t kept : {1, 0}) {
        Words reversed = first;
        std::reverse(reversed.begin(), reversed.end() - kept);
        if (reversed != first) pairs.emplace_back(first, reversed);
    }
    return pairs.empty() ? std::vector{Pair{first, first}} : pairs;
}

// Maps words to numbers. A word has the same number in both sentences.
std::vector<Token> tokens_of(const Words& words, Words& vocabulary) {
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

void add_rows(Result& result, const std::vector<Pair>& pairs, std::uint64_t seed) {
    constexpr double told_apart = 1e-4; // rounding is much smaller
    std::string sentences;              // the pairs by number
    for (const Pair& pair : pairs) append(sentences, text(&pair - pairs.data() + 1, ": ", names_of(pair)), "; ");
    Figures& figures = result.table(
        "rows",
        "Largest difference between two sentences, as sets of word vectors and after the last word; pair " + sentences,
        {"pair", "encoding", "acts_on", "rows_differ", "one_layer_logits_differ"});
    Curves curves; // of the first pair
    curves.add("", Series::Style::points);
    for (const Pair& pair : pairs) {
        Words vocabulary;
        const std::vector<Token> first = tokens_of(pair.first, vocabulary), second = tokens_of(pair.second, vocabulary);
        const Blueprint trunk = small_trunk(static_cast<int>(vocabulary.size()),
                                            static_cast<int>(std::max(first.size(), second.size())), 1);
        std::vector<float> a = vectors_of(first, width, seed), b = vectors_of(second, width, seed);
        for (const EncodingInfo* info : registered_encodings()) {
            const std::string name(info->name);
            std::string acts_on;
            for (const MomentInfo& moment : moments_of_a_pass)
                if (example_of(*info)->moments() & moment.moment) append(acts_on, moment.acts_on);
            // The rows that the first layer reads, and the logits of a one-layer model with random weights.
            std::vector<float> x = a, y = b;
            const View rows = view(x.data(), static_cast<int>(first.size()), width),
                       others = view(y.data(), static_cast<int>(second.size()), width);
            const LooseEncoding encoding(name, trunk.dims(), seed);
            encoding.embed(rows);
            encoding.embed(others);
            const Model model = random_model(trunk, name, seed);
            Session one(model), other(model);
            const auto logits = one.feed(first), other_logits = other.feed(second);
            const double differ = largest_difference(logits, other_logits);
            add_row(figures, &pair - pairs.data() + 1, name, acts_on.empty() ? "nowhere" : acts_on,
                    std::max(one_way(rows, others), one_way(others, rows)), differ);
            if (&pair != pairs.data()) continue;
            curves.series[0].add(static_cast<double>(curves.x_names.size()), differ);
            curves.x_names.push_back(name);
        }
    }
    const Vector& changes = curves.series[0].y;
    result.answer = told("{} of {} encodings change the answer of a one-layer model, some in the word vectors (such as "
                         "sinusoidal), some in attention (such as rope). Without an encoding it cannot tell the same "
                         "words in another order apart: its answer changes by {}.",
                         std::ranges::count_if(changes, [](double y) { return y > told_apart; }), changes.size() - 1,
                         figure(changes[0], 2));
    result.pictures = {
        {"answers",
         told("Change of the answer of a one-layer model from {}: 0 if it cannot tell them apart", names_of(pairs[0])),
         "encoding", "largest change of a logit", std::move(curves)}};
}

// w_n = e_n + p_n of a sentence, as the texts define it: the embedding is unscaled.
void add_trace(Result& result, const Words& words, std::uint64_t seed) {
    constexpr int d = 8, columns = 4;
    Figures& figures =
        result.table("trace", told("w_n = e_n + p_n of {}, width {}, the first {} columns", quoted(words), d, columns),
                     {"position", "word", "vector", "dim0", "dim1", "dim2", "dim3"}, 4);
    const LooseEncoding encoding("sinusoidal:scale=1", dims_of(d), seed);
    Words vocabulary;
    const std::vector<float> e = vectors_of(tokens_of(words, vocabulary), d, seed);
    std::vector<float> w = e, p(e.size());
    const int n = static_cast<int>(words.size());
    encoding.embed(view(w.data(), n, d));
    encoding.embed(view(p.data(), n, d));
    for (int i = 0; i < n; ++i)
        for (const auto& [name, values] : {std::pair{"e", &e}, {"p", &p}, {"w = e + p", &w}})
            add_row(figures, i, printable(words[i]), name, std::span(*values).subspan(i * d, columns));
}

Result run(const Request& request) {
    Result result;
    const std::vector<Pair> pairs = pairs_of(request);
    add_rows(result, pairs, request.seed);
    add_trace(result, pairs[0].first, request.seed);
    return result;
}

} // namespace order_file

const Experiment order_experiment{
    .name = "order",
    .summary = "Can a model tell the same words in another order?",
    .details = "Two sentences of the same words as rows of word vectors, with every registered encoding. Give --prompt "
               "twice for two sentences of your own. Give it once to compare a sentence with its reverse, and with all "
               "but its last word reversed.",
    .notes = {"rows_differ is the distance, as sets, of the rows that the first layer reads: of the worst row from the "
              "nearest row of the other sentence. one_layer_logits_differ is the difference after the last word, with "
              "random weights. About 1e-6 is rounding.",
              "If the last words differ, so do the logits with any encoding: a sentence of your own is therefore "
              "reversed twice, with its last word in place, and as a whole."},
    .options = {"prompt"},
    .run = order_file::run};

} // namespace ordo::lab
