// SPDX-License-Identifier: MIT
// No positional encoding: how much the causal mask alone tells.
// Haviv et al. 2022, arXiv 2203.16634 (probes); Kazemnejad et al. 2023, arXiv 2305.19466 (theorems).
#include "tools/lab/claims/counting.h"
#include "tools/lab/shipped/probe.h"
#include "tools/lab/study/cells.h"
#include "tools/lab/study/small_models.h"

namespace ordo::lab {
namespace nope_file {

// The weights for texts of four tokens, one row of a matrix per line. Rows of zeros are left out.
void add_matrices(Result& result, std::uint64_t seed) {
    constexpr int context = 4;
    const std::vector<HandSetMatrix> matrices = hand_set_matrices(context, seed);
    std::vector<std::string> columns{"theorem", "matrix", "row"};
    std::string meanings;
    for (const auto& [theorem, name, meaning, rows] : matrices) {
        append(meanings, told("{} of theorem {}, {}", name, theorem, meaning), "; ");
        for (std::size_t j = columns.size() - 3; j < rows[0].size(); ++j) columns.push_back(text(j));
    }
    Figures& figures = result.table(
        "matrices",
        text("Hand-set weights without an encoding, as in theorems 1 and 2 of Kazemnejad et al. 2023, for ", context,
             " tokens: a layer whose state after t tokens has 1/t and t, and one whose scores depend on distances"),
        columns);
    for (const auto& [theorem, name, meaning, rows] : matrices)
        for (std::size_t i = 0; i < rows.size(); ++i) {
            Vector row = rows[i];
            for (double& weight : row) weight = std::round(1000 * weight) / 1000;
            if (norm(row) > 0) add_row(figures, theorem, name, i, row);
        }
    result.notes.push_back(told("matrices, with rows of zeros left out: {}.", meanings));
}

// The logits after each token.
std::vector<std::vector<float>> logits_of(const Model& model, const std::vector<Token>& tokens) {
    std::vector<std::vector<float>> rows;
    Session session(model);
    session.feed_all(tokens, TokenRows{}, [&](int, View all) {
        for (int i = 0; i < all.rows; ++i) rows.emplace_back(all.row(i), all.row(i) + all.cols);
    });
    return rows;
}

void count_tokens(Result& result) {
    Figures& figures = result.table("count", "The state of one layer with hand-set weights and no encoding",
                                    {"tokens", "state", "one_over_t", "position"});
    std::vector<Token> tokens(1000, 1);
    tokens[0] = counting_start;
    for (std::size_t i = 2; i < tokens.size(); i += 3) tokens[i] = 2;
    const auto logits = logits_of(counting_model(1000), tokens);
    for (const int t : {1, 2, 3, 4, 10, 100, 1000})
        add_row(figures, t, double{logits[t - 1][0]}, 1.0 / t, double{logits[t - 1][1]});
}

// Compares the model that measures distances by counts with the ALiBi model and with its own content alone.
void measure_distances(Result& result, std::uint64_t seed) {
    constexpr int most = 100;
    Figures& figures = result.table(
        "distance", "Logits of two layers with hand-set weights and no encoding, and of one layer with ALiBi",
        {"tokens", "logit", "logit_alibi", "off_alibi", "off_content"});
    std::vector<Token> tokens{counting_start};
    const Random random(seed, 0xd15);
    for (std::uint64_t i = 1; i < most; ++i) tokens.push_back(1 + random.below(i, counting_vocabulary - 1));
    const auto own = logits_of(relative_model(most, seed), tokens),
               alibi = logits_of(content_model(most, seed, relative_encoding), tokens),
               content = logits_of(content_model(most, seed, "none"), tokens);
    for (const std::size_t i : {0, 1, 2, 9, 29, most - 1})
        add_row(figures, i + 1, double{own[i][0]}, double{alibi[i][0]}, largest_difference(own[i], alibi[i]),
                largest_difference(own[i], content[i]));
}

// Does a model with random weights notice the order of the tokens before the last?
void permute(Result& result, std::uint64_t seed) {
    constexpr int length = 24;
    Figures& figures = result.table(
        "bag-of-words", "Change of the last token's logits when the tokens before it are permuted, random weights",
        {"layers", "encoding", "logits_differ_by", "largest_logit"});
    const Random random(seed, 0xba6);
    std::vector<Token> tokens;
    for (std::uint64_t i = 0; i < length; ++i) tokens.push_back(random.below(i, 97));
    std::vector<Token> permuted = tokens;
    shuffle(std::span(permuted).first(length - 1), random, 1000);
    for (const int layers : {1, 2, 4})
        for (const EncodingInfo* info : registered_encodings()) {
            const Model model = random_model(small_trunk(97, length, layers), std::string(info->name), seed);
            Session straight(model), mixed(model);
            const auto a = straight.feed(tokens), b = mixed.feed(permuted);
            add_row(figures, layers, info->name, largest_difference(a, b),
                    largest_difference(a, std::vector<float>(a.size())));
        }
}

void run_probes(Result& result, const Request& request) {
    Figures& figures = result.table("probe", "Error of a linear probe for the position, in positions",
                                    {"model", "layer", "mean_absolute_error", "standard_error", "mean_guess"}, 2);
    Curves curves{.interval = "± one standard error"};
    double none = std::nan(""); // the lowest error of the model without encoding
    int fitted = 0, kept = 0;
    const Text text_read = held_out(request);
    const std::vector<Trained> models = trained_models(request);
    for (const Trained& trained : models) {
        request.progress("probing " + trained.name);
        const Probe p = probe(Model::load(trained.file), text_read, request.quick ? 30 : 1000);
        Series curve = series(trained.name, Series::Style::line_points);
        for (std::size_t layer = 0; layer < p.layers.size(); ++layer) {
            const LayerError& e = p.layers[layer];
            add_row(figures, trained.name, layer, e.error, e.standard_error, p.guess);
            curve.add(layer, e.error, e.error - e.standard_error, e.error + e.standard_error);
        }
        if (trained.encoding == "none") none = std::ranges::min(curve.y);
        if (has_curve(trained.name, models.size())) curves.series.push_back(std::move(curve));
        if (curves.references.empty()) curves.references.push_back({"mean position", p.guess});
        fitted = p.fitted, kept = p.held_out;
    }
    result.notes.insert(
        result.notes.begin(),
        told("The probe is a ridge regression in closed form on {} windows of the trained length, tested on {} windows "
             "of other documents. It is linear: a state may hold a position that it cannot read, and an encoding that "
             "acts on queries, keys or scores need not leave one there.",
             fitted, kept));
    result.pictures = {{"probe-curve", "Mean absolute error of a linear probe, by layer", "layer (0: the embedding)",
                        "mean absolute error in positions", std::move(curves)}};
    result.answer = with_cells(
        "Permuting the earlier words changes the answer of one layer by "
        "{:bag-of-words/layers=1;encoding=none/logits_differ_by|2} (logits of "
        "{:bag-of-words/layers=1;encoding=none/largest_logit|2}), of two layers by "
        "{:bag-of-words/layers=2;encoding=none/logits_differ_by|2}: one layer reads them as an unordered bag, and more "
        "layers count words by the causal mask. A linear probe reads a position from the trained model without "
        "encoding with an error of " +
            figure(none, 2) + "; guessing has {:probe/0/mean_guess|2}.",
        result);
}

Result run(const Request& request) {
    Result result;
    add_matrices(result, request.seed);
    count_tokens(result);
    measure_distances(result, request.seed);
    permute(result, request.seed);
    run_probes(result, request);
    return result;
}

} // namespace nope_file

const Experiment nope_experiment{
    .name = "nope",
    .summary = "What can a model know of order without any encoding?",
    .details = "Hand-set weights that count tokens and that measure distances; random models of one, two and four "
               "layers that read permuted tokens; a linear probe for the position in each layer of every shipped "
               "model. Haviv et al. 2022, arXiv 2203.16634; Kazemnejad et al. 2023, arXiv 2305.19466.",
    .notes = {"The hand-set weights show that such weights exist, not that training finds them; the probe examines "
              "trained weights. A bag of words still knows its last token, which is the query: \"1 2 3\" and \"3 2 1\" "
              "differ for any model."},
    .options = {"model", "corpus"},
    .seconds = {10, 4},
    .run = nope_file::run};

} // namespace ordo::lab
