// SPDX-License-Identifier: MIT
// No positional encoding: how much the causal mask alone tells.
// Haviv et al. 2022, arXiv 2203.16634 (probes); Kazemnejad et al. 2023, arXiv 2305.19466 (theorems).
#include "tools/lab/claims/counting.h"
#include "tools/lab/shipped/probe.h"
#include "tools/lab/study/cells.h"

namespace ordo::lab {
namespace nope_file {

// The answers of the counting model, at some of the tokens.
void count_tokens(Figures& figures) {
    constexpr int most = 1000;
    const Model model = counting_model(most);
    Session session(model);
    std::vector<Token> tokens(most, 1);
    tokens[0] = counting_start;
    for (std::size_t i = 2; i < tokens.size(); i += 3) tokens[i] = 2;
    session.feed_all(tokens, TokenRows{}, [&](int first, View logits) {
        for (int i = 0; i < logits.rows; ++i)
            if (const int t = first + i + 1; t <= 4 || t == 10 || t == 100 || t == most)
                add_row(figures, t, double{logits.row(i)[0]}, 1.0 / t, double{logits.row(i)[1]});
    });
}

// The weights for texts of four tokens, one row of a matrix per line. Rows of zeros are left out.
constexpr int shown_context = 4;
Figures table_of(const std::vector<HandSetMatrix>& matrices) {
    Figures figures{{"theorem", "matrix", "row"}, {}, -1};
    for (const HandSetMatrix& matrix : matrices)
        for (std::size_t j = figures.columns.size() - 3; j < matrix.rows[0].size(); ++j)
            figures.columns.push_back(text(j));
    for (const HandSetMatrix& matrix : matrices)
        for (std::size_t i = 0; i < matrix.rows.size(); ++i) {
            Vector row = matrix.rows[i];
            for (double& weight : row) weight = std::round(1000 * weight) / 1000;
            if (norm(row) > 0) add_row(figures, matrix.theorem, matrix.name, i, row);
        }
    return figures;
}

// Compares the model that measures distances by counts with the ALiBi model and with its own content alone.
void measure_distances(const Request& request, Figures& figures) {
    constexpr int most = 100;
    const auto logits = [&](const Model& model) {
        std::vector<Token> tokens{counting_start};
        const Random random(request.seed, 0xd15);
        for (std::uint64_t i = 1; i < most; ++i) tokens.push_back(1 + random.below(i, counting_vocabulary - 1));
        std::vector<std::vector<float>> rows;
        Session session(model);
        session.feed_all(tokens, TokenRows{}, [&](int, View all) {
            for (int i = 0; i < all.rows; ++i) rows.emplace_back(all.row(i), all.row(i) + all.cols);
        });
        return rows;
    };
    const auto own = logits(relative_model(most, request.seed)),
               alibi = logits(content_model(most, request.seed, relative_encoding)),
               content = logits(content_model(most, request.seed, "none"));
    for (const std::size_t i : {0, 1, 2, 9, 29, most - 1})
        add_row(figures, i + 1, double{own[i][0]}, double{alibi[i][0]}, largest_difference(own[i], alibi[i]),
                largest_difference(own[i], content[i]));
}

void bags(const Request& request, Figures& figures) {
    for (const int layers : {1, 2, 4})
        for (const EncodingInfo* info : registered_encodings()) {
            const Permuted p = permute(std::string(info->name), layers, request.seed);
            add_row(figures, layers, info->name, p.difference, p.scale);
        }
}

struct Probes {
    Figures figures{{"model", "layer", "mean_absolute_error", "standard_error", "mean_guess"}, {}, 2};
    Curves curves;
    std::string best;           // the lowest error of each model
    double none = std::nan(""); // the smallest error for the model without encoding
    int fitted = 0, held_out = 0;
};

Probes run_probes(const Request& request) {
    Probes probes;
    probes.curves.interval = "± one standard error";
    const Text text_read = held_out(request);
    for (const Trained& trained : trained_models(request)) {
        request.progress("probing " + trained.name);
        const Model model = Model::load(trained.file);
        const Probe p = probe(model, text_read, request.quick ? 30 : 1000);
        Series& curve = probes.curves.add(trained.name, Series::Style::line_points);
        std::size_t best = 0;
        for (std::size_t layer = 0; layer < p.layers.size(); ++layer) {
            const LayerError& e = p.layers[layer];
            add_row(probes.figures, trained.name, layer, e.error, e.standard_error, p.guess);
            curve.add(layer, e.error, e.error - e.standard_error, e.error + e.standard_error);
            if (e.error < p.layers[best].error) best = layer;
        }
        append(probes.best, told("{} {} in layer {}", trained.name, figure(p.layers[best].error), best), "; ");
        if (trained.encoding == "none") probes.none = p.layers[best].error;
        if (probes.curves.references.empty()) probes.curves.references.push_back({"mean position", p.guess});
        probes.fitted = p.fitted;
        probes.held_out = p.held_out;
    }
    return probes;
}

Result run(const Request& request) {
    Figures counts{{"tokens", "state", "one_over_t", "position"}, {}, -1};
    Figures bag_table{{"layers", "encoding", "logits_differ_by", "largest_logit"}, {}, -1};
    Figures distances{{"tokens", "logit", "logit_alibi", "off_alibi", "off_content"}, {}, -1};
    count_tokens(counts);
    measure_distances(request, distances);
    bags(request, bag_table);
    Probes probes = run_probes(request);
    Result result;
    result.notes = {
        "The hand-set weights show that such weights exist, not that training finds them; the probe examines trained "
        "weights. A bag of words still knows its last token, which is the query: \"1 2 3\" and \"3 2 1\" differ for "
        "any model.",
        told("The probe is a ridge regression in closed form on {} windows of the trained length, tested on {} windows "
             "of other documents. It is linear: a state may hold a position that it cannot read, and an encoding that "
             "acts on queries, keys or scores need not leave one there.",
             probes.fitted, probes.held_out)};
    const std::vector<HandSetMatrix> matrices = hand_set_matrices(shown_context, request.seed);
    std::string meanings;
    for (const HandSetMatrix& matrix : matrices)
        append(meanings, told("{} of theorem {}, {}", matrix.name, matrix.theorem, matrix.meaning), "; ");
    result.notes.push_back(told("matrices, with rows of zeros left out: {}.", meanings));
    result.tables = {
        {"matrices",
         text("Hand-set weights without an encoding, as in theorems 1 and 2 of Kazemnejad et al. 2023, for ",
              shown_context,
              " tokens: a layer whose state after t tokens has 1/t and t, and one whose scores depend on distances"),
         table_of(matrices)},
        {"count", "The state of one layer with hand-set weights and no encoding", std::move(counts)},
        {"distance", "Logits of two layers with hand-set weights and no encoding, and of one layer with ALiBi",
         std::move(distances)},
        {"bag-of-words", "Change of the last token's logits when the tokens before it are permuted, random weights",
         std::move(bag_table)},
        {"probe", "Error of a linear probe for the position, in positions", std::move(probes.figures)}};
    result.pictures = {{"probe-curve", told("Mean absolute error of a linear probe in its best layer: {}", probes.best),
                        "layer (0: the embedding)", "mean absolute error in positions", std::move(probes.curves)}};
    result.answer = with_cells(
        "Permuting the earlier words changes the answer of one layer by "
        "{:bag-of-words/layers=1;encoding=none/logits_differ_by|2} (logits of "
        "{:bag-of-words/layers=1;encoding=none/largest_logit|2}), of two layers by "
        "{:bag-of-words/layers=2;encoding=none/logits_differ_by|2}: one layer reads them as an unordered bag, and more "
        "layers count words by the causal mask. A linear probe reads a position from the trained model without "
        "encoding "
        "with an error of " +
            figure(probes.none, 2) + "; guessing has {:probe/0/mean_guess|2}.",
        result);
    return result;
}

} // namespace nope_file

const Experiment nope_experiment{
    .name = "nope",
    .summary = "What can a model know of order without any encoding?",
    .details = "Hand-set weights that count tokens and that measure distances; random models of one, two and four "
               "layers that read permuted tokens; a linear probe for the position in each layer of every shipped "
               "model. Haviv et al. 2022, arXiv 2203.16634; Kazemnejad et al. 2023, arXiv 2305.19466.",
    .options = {"model", "corpus"},
    .seconds = {10, 4},
    .run = nope_file::run};

} // namespace ordo::lab
