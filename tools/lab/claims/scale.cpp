// SPDX-License-Identifier: MIT
// The lengths of the rows that are added: word vectors and waves, with the scale sqrt(d) and without it.
// Vaswani et al. 2017, arXiv 1706.03762, section 3.4.
#include "model/stack.h"
#include "tools/lab/shipped/weight_files.h"
#include "tools/lab/study/cells.h"

namespace ordo::lab {
namespace scale_file {

// Mean length of rows of N(0, 1/d), the initial embeddings.
double embedding_length(int d, std::uint64_t seed) {
    Sample lengths;
    for (std::uint64_t i = 0; i < 64; ++i)
        lengths.add(norm(normal_floats(static_cast<std::size_t>(d), seed, 0x5ca1e000 + i, 1 / std::sqrt(d))));
    return lengths.mean();
}

// Mean cosine of two random words at one position, and of one word at two positions. Rows of waves are added to rows of
// N(0, deviation^2). The cosines show how much of the word and of the position a norm and a product keep.
struct Alike {
    double waves_over_embedding = 0, same_position = 0, same_word = 0;
};

Alike alike(int d, double deviation, std::uint64_t seed) {
    constexpr std::uint64_t words = 32;
    const Table waves = LooseEncoding("sinusoidal:scale=1", dims_of(d)).table(256);
    std::vector<Vector> embedding;
    Sample position, word, lengths;
    for (std::uint64_t i = 0; i < words; ++i) {
        const std::vector<float> row = normal_floats(static_cast<std::size_t>(d), seed, 0x5ca1f000 + i, deviation);
        embedding.emplace_back(row.begin(), row.end());
        lengths.add(norm(row));
    }
    const auto at = [&](std::size_t i, std::size_t p) {
        Vector x = embedding[i];
        for (std::size_t c = 0; c < x.size(); ++c) x[c] += waves.rows[p][c];
        return x;
    };
    const Random random(seed, 0x5ca20000);
    for (std::uint64_t i = 0; i < words; ++i)
        for (std::uint64_t draw = 0; draw < 16; ++draw) {
            const auto p = static_cast<std::size_t>(random.below(2 * (16 * i + draw), 256)),
                       q = static_cast<std::size_t>(random.below(2 * (16 * i + draw) + 1, 256));
            position.add(cosine(at(i, p), at((i + 1 + draw) % words, p)));
            if (p != q) word.add(cosine(at(i, p), at(i, q)));
        }
    return {std::sqrt(d / 2.0) / lengths.mean(), position.mean(), word.mean()};
}

// For a trained model: the mean length of its embedding's rows, and of these rows as its encoding scales them.
void add_trained(const Trained& trained, Figures& figures) {
    const Model model = Model::load(trained.file);
    const Model::Impl& m = impl_of(model);
    if (!(m.encodings.moments() & moment_embed)) return;
    const int d = m.blueprint.d_model;
    Sample embeddings, scaled, changes;
    for (int token = 0; token < m.blueprint.vocab_size; token += 16) {
        std::vector<float> x(d);
        m.weights.embedding().row(token, x.data());
        embeddings.add(norm(x));
        // Encodes this row and a row of zeros. The encoded zeros are the part that does not depend on the word.
        std::vector<float> zero(x.size());
        const std::vector<int> position = {token / 16 % m.blueprint.context};
        m.encodings.embed(view(x.data(), 1, d), {position, {}});
        m.encodings.embed(view(zero.data(), 1, d), {position, {}});
        changes.add(norm(zero));
        scaled.add(distance(x, zero));
    }
    add_row(figures, trained.name, d, embeddings.mean(), scaled.mean(), changes.mean(), changes.mean() / scaled.mean());
}

Result run(const Request& request) {
    Figures table{{"width", "embedding", "waves", "waves_over_embedding", "waves_over_scaled"}, {}, 3};
    Curves curves;
    curves.log_x = curves.log_y = true;
    curves.series = {series("without the scale", Series::Style::line_points),
                     series("with sqrt(d)", Series::Style::line_points)};
    curves.references = {{"equal", 1}};
    for (const int d : {8, 32, 64, 128, 256, 512, 768, 1024}) {
        const double e = embedding_length(d, request.seed);
        const double pe = norm(LooseEncoding("sinusoidal:scale=1", dims_of(d)).table(1, {}, 7).rows[0]);
        // The engine's default encoding of a row of ones: sqrt(d) times the row, plus the waves.
        std::vector<float> ones(d, 1.0f), zeros(ones.size());
        const LooseEncoding scaled("sinusoidal", dims_of(d));
        scaled.embed(view(ones.data(), 1, d), 7);
        scaled.embed(view(zeros.data(), 1, d), 7);
        const double factor = distance(ones, zeros) / std::sqrt(d);
        add_row(table, d, e, pe, pe / e, pe / (e * factor));
        for (const auto& [curve, y] : {std::pair{0, pe / e}, {1, pe / (e * factor)}}) curves.series[curve].add(d, y);
    }
    Figures trained{{"model", "width", "embedding", "embedding_as_scaled", "added", "added_over_scaled"}, {}, 3};
    for (const Trained& one : trained_models(request)) add_trained(one, trained);

    Result result;
    Figures shadow{{"embedding", "waves_over_embedding", "same_position", "same_word"}, {}, 3};
    for (const auto& [name, deviation] : {std::pair{"N(0, 1/d)", 1 / std::sqrt(512)}, {"N(0, 1)", 1.0}}) {
        const Alike one = alike(512, deviation, request.seed);
        add_row(shadow, name, one.waves_over_embedding, one.same_position, one.same_word);
    }
    result.notes = {
        "A row of waves has the length sqrt(d/2) at every position; a row of N(0, 1/d) has a length of "
        "about 1. Embeddings drawn from N(0, 1), the default of PyTorch's nn.Embedding, have the length "
        "sqrt(d) and need no scale.",
        "Values in [-1, 1] do not keep positions from overshadowing embeddings: the embedding's size decides, "
        "not the bound (table overshadowing).",
        "Training changes lengths: the last table has the lengths in trained weights. An encoding that "
        "rotates or stretches, and adds nothing, has 0 there."};
    result.tables = {{"lengths", "Lengths of a word vector from N(0, 1/d) and of a row of waves", std::move(table)}};
    result.tables.push_back({"overshadowing",
                             "Mean cosines of sums of embedding and waves, width 512: two words at one position, and "
                             "one word at two of 256 positions",
                             std::move(shadow)});
    result.answer = with_cells(
        "Because the waves would drown the words: at width 512 a row of waves is "
        "{:lengths/width=512/waves_over_embedding|2} "
        "times as long as a new word vector from N(0, 1/d). With the word vector multiplied by sqrt(d), they are "
        "{:lengths/width=512/waves_over_scaled|2} times as long. None of the introductory texts mentions this scale.",
        result);
    if (!trained.rows.empty())
        result.tables.push_back(
            {"trained", "Mean lengths in trained weights whose encoding acts on the embedding", std::move(trained)});
    result.pictures = {{"ratio", "Without the scale sqrt(d), waves are longer than word vectors; with it, shorter",
                        "width", "|PE| / |embedding|", std::move(curves)}};
    return result;
}

} // namespace scale_file

const Experiment scale_experiment{
    .name = "scale",
    .summary = "Why are embeddings multiplied by sqrt(d) before waves?",
    .details = "Lengths of random word vectors and of rows of the sinusoidal table by width, with the scale and "
               "without it; the parts of the word and of the position in their sum; the same lengths in trained "
               "weights. Vaswani et al. 2017, arXiv 1706.03762, section 3.4.",
    .options = {"model"},
    .run = scale_file::run};

} // namespace ordo::lab
