// SPDX-License-Identifier: MIT
// The lengths of the rows that are added: word vectors and waves, with the scale sqrt(d) and without it.
// Vaswani et al. 2017, arXiv 1706.03762, section 3.4.
#include "model/stack.h"
#include "tools/lab/shipped/weight_files.h"

namespace ordo::lab {
namespace scale_file {

void add_lengths(Result& result, std::uint64_t seed) {
    Figures& table = result.table("lengths", "Lengths of a word vector from N(0, 1/d) and of a row of waves",
                                  {"width", "embedding", "waves", "waves_over_embedding", "waves_over_scaled"}, 3);
    Curves curves{.references = {{"equal", 1}}, .log_x = true, .log_y = true};
    for (const char* label : {"without the scale", "with sqrt(d)"}) curves.add(label, Series::Style::line_points);
    for (const int d : {8, 32, 64, 128, 256, 512, 768, 1024}) {
        Sample lengths; // of rows of N(0, 1/d), the initial embeddings
        for (std::uint64_t i = 0; i < 64; ++i)
            lengths.add(norm(normal_floats(static_cast<std::size_t>(d), seed, 0x5ca1e000 + i, 1 / std::sqrt(d))));
        const double e = lengths.mean();
        const double pe = norm(LooseEncoding("sinusoidal:scale=1", dims_of(d)).table(1, {}, 7).rows[0]);
        // The engine's default encoding of a row of ones: sqrt(d) times the row, plus the waves.
        std::vector<float> ones(d, 1.0f), zeros(ones.size());
        const LooseEncoding scaled("sinusoidal", dims_of(d));
        scaled.embed(view(ones.data(), 1, d), 7);
        scaled.embed(view(zeros.data(), 1, d), 7);
        const double factor = distance(ones, zeros) / std::sqrt(d);
        add_row(table, d, e, pe, pe / e, pe / (e * factor));
        curves.series[0].add(d, pe / e), curves.series[1].add(d, pe / (e * factor));
    }
    result.pictures = {{"ratio", "Without the scale sqrt(d), waves are longer than word vectors; with it, shorter",
                        "width", "|PE| / |embedding|", std::move(curves)}};
}

// Mean cosine of two random words at one position, and of one word at two positions. Rows of waves are added to rows of
// N(0, 1/d) or N(0, 1). The cosines show how much of the word and of the position a norm and a product keep.
void add_shadow(Result& result, std::uint64_t seed) {
    constexpr int d = 512;
    constexpr std::uint64_t words = 32;
    Figures& figures = result.table("overshadowing",
                                    "Mean cosines of sums of embedding and waves, width 512: two words at one "
                                    "position, and one word at two of 256 positions",
                                    {"embedding", "waves_over_embedding", "same_position", "same_word"}, 3);
    const Table waves = LooseEncoding("sinusoidal:scale=1", dims_of(d)).table(256);
    const Random random(seed, 0x5ca20000);
    for (const auto& [name, deviation] : {std::pair{"N(0, 1/d)", 1 / std::sqrt(d)}, {"N(0, 1)", 1.0}}) {
        Sample position, word, lengths;
        std::vector<std::vector<float>> embedding;
        for (std::uint64_t i = 0; i < words; ++i) {
            embedding.push_back(normal_floats(d, seed, 0x5ca1f000 + i, deviation));
            lengths.add(norm(embedding.back()));
        }
        const auto at = [&](std::size_t i, std::size_t p) {
            Vector x = waves.rows[p];
            for (std::size_t c = 0; c < x.size(); ++c) x[c] += double{embedding[i][c]};
            return x;
        };
        for (std::uint64_t draw = 0; draw < 16 * words; ++draw) {
            const std::size_t i = draw / 16, p = random.below(2 * draw, 256), q = random.below(2 * draw + 1, 256);
            position.add(cosine(at(i, p), at((i + 1 + draw % 16) % words, p)));
            if (p != q) word.add(cosine(at(i, p), at(i, q)));
        }
        add_row(figures, name, std::sqrt(d / 2.0) / lengths.mean(), position.mean(), word.mean());
    }
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
    Result result;
    add_lengths(result, request.seed);
    add_shadow(result, request.seed);
    Figures trained{{"model", "width", "embedding", "embedding_as_scaled", "added", "added_over_scaled"}, {}, 3};
    for (const Trained& one : trained_models(request)) add_trained(one, trained);
    if (!trained.rows.empty())
        result.tables.push_back(
            {"trained", "Mean lengths in trained weights whose encoding acts on the embedding", std::move(trained)});
    return result;
}

} // namespace scale_file

const Experiment scale_experiment{
    .name = "scale",
    .summary = "Why are embeddings multiplied by sqrt(d) before waves?",
    .details = "Lengths of random word vectors and of rows of the sinusoidal table by width, with the scale and "
               "without it; the parts of the word and of the position in their sum; the same lengths in trained "
               "weights. Vaswani et al. 2017, arXiv 1706.03762, section 3.4.",
    .answer = "Because the waves would drown the words: at width 512 a row of waves is "
              "{:lengths/width=512/waves_over_embedding|2} times as long as a new word vector from N(0, 1/d). With the "
              "word vector multiplied by sqrt(d), they are {:lengths/width=512/waves_over_scaled|2} times as long. "
              "None of the introductory texts mentions this scale.",
    .notes = {"A row of waves has the length sqrt(d/2) at every position; a row of N(0, 1/d) has a length of about 1. "
              "Embeddings drawn from N(0, 1), the default of PyTorch's nn.Embedding, have the length sqrt(d) and need "
              "no scale.",
              "Values in [-1, 1] do not keep positions from overshadowing embeddings: the embedding's size decides, "
              "not the bound (table overshadowing).",
              "Training changes lengths: the last table has the lengths in trained weights. An encoding that rotates "
              "or stretches, and adds nothing, has 0 there."},
    .options = {"model"},
    .run = scale_file::run};

} // namespace ordo::lab
