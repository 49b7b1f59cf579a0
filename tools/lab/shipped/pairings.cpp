// SPDX-License-Identifier: MIT
// The two pairings of rotary columns: neighbours (RoFormer, GPT-J, Llama) and halves (rotate_half: GPT-NeoX, Hugging
// Face), which differ by a permutation of the rows of the query and key matrices.
#include "tools/lab/shipped/extension_costs.h"

namespace ordo::lab {
namespace pairings_file {

// The permuted file: rows 2k and 2k + 1 of each head's query and key matrices become rows k and k + width/2, so that
// queries and keys have their columns in that order. Then the rotation of a spec.
class Permuted final : public Encoding {
public:
    Permuted(const std::string& spec, const Dims& dims, int width)
        : rope_(std::move(make_encodings(spec, dims).front())), width_(width) {}
    std::string spec() const override { return "permuted"; }
    void prepare(int n_positions) override { rope_->prepare(n_positions); }
    void rotate(View x, const HeadRows& rows) const override {
        Vector head(width_);
        for (int i = 0; i < x.rows; ++i)
            for (int first = 0; first < x.cols; first += x.cols / rows.n_heads) {
                float* columns = x.row(i) + first;
                std::copy_n(columns, width_, head.begin());
                for (int j = 0; j < width_; ++j) columns[j / 2 + j % 2 * width_ / 2] = static_cast<float>(head[j]);
            }
        rope_->rotate(x, rows);
    }

private:
    std::unique_ptr<Encoding> rope_;
    int width_;
};

struct Way {
    const char *file, *code; // how the file's rows lie, and how the code pairs columns
    bool permuted, halves;
    bool same() const { return permuted == halves; }
};
constexpr Way ways[] = {{"neighbours", "neighbours", false, false},
                        {"halves", "halves", true, true},
                        {"neighbours", "halves", false, true},
                        {"halves", "neighbours", true, false}};

std::string with_pairing(std::string spec, bool halves) {
    for (const std::string word : {"pairing=adjacent", "pairing=halves"})
        if (const std::size_t at = spec.find(word); at != spec.npos)
            spec.replace(at, word.size(), halves ? "pairing=halves" : "pairing=adjacent");
    return spec;
}

Model load(const Trained& file, const Way& way) {
    const std::string spec = with_pairing(file.encoding, way.halves);
    if (way.permuted) {
        const int width = std::stoi(spec.substr(spec.find("width=") + 6));
        const Dims dims = blueprint_of(Model::load(file.file)).dims();
        return Model::load(file.file, std::make_unique<Permuted>(spec, dims, width));
    }
    LoadOptions options;
    options.encoding = spec, options.force_encoding = true;
    return Model::load(file.file, options);
}

struct Measured {
    Vector logits, first;             // after the last and after the first token of a prompt
    std::string text;                 // that follows
    Losses losses;                    // of the first window of each document
    std::vector<tools::Tally> places; // the same by position
};

Measured measure(const Model& model, std::span<const tools::Document> documents, const std::string& prompt) {
    Measured out;
    Session session(model);
    const std::vector<Token> tokens = model.encode(prompt, {.start = true});
    const auto first = session.feed(tokens[0]);
    out.first.assign(first.begin(), first.end());
    const auto last = session.feed(std::span(tokens).subspan(1));
    out.logits.assign(last.begin(), last.end());
    GenerateOptions greedy;
    greedy.max_tokens = 24, greedy.sampling.temperature = 0;
    out.text = prompt + generate(model, prompt, greedy).text;
    out.losses = score(model, documents, static_cast<std::size_t>(model.context()) - 1);
    int place = 0;
    for (std::size_t i = 0; i < out.losses.nll.size(); ++i) {
        place = i > 0 && out.losses.document[i] == out.losses.document[i - 1] ? place + 1 : 1;
        const std::size_t bucket = tools::bucket_of(place);
        if (bucket >= out.places.size()) out.places.resize(bucket + 1);
        out.places[bucket].add(out.losses.nll[i], 1);
    }
    return out;
}

// R at position 1 for a head of 4 columns, row by row: of both pairings, next to each other.
Figures matrices() {
    Figures figures{{"row", "neighbours 0", "1", "2", "3", "halves 0", "1 ", "2 ", "3 "}, {}, 3};
    const Table one = LooseEncoding("rope", dims_of(4)).table(1, "matrix", 1),
                other = LooseEncoding("rope:pairing=halves", dims_of(4)).table(1, "matrix", 1);
    for (std::size_t i = 0; i < 4; ++i)
        add_row(figures, i, std::span(one.rows[i]).last(4), std::span(other.rows[i]).last(4));
    return figures;
}

Result run(const Request& request) {
    const Trained file = extension::rotary_models(request)[0];
    const Text held = held_out(request);
    std::vector<Measured> all;
    Figures figures{{"rows of the file", "pairs of the code", "first_logits_differ", "last_logits_differ", "nll",
                     "half", "nll_more", "half_more", "text"},
                    {},
                    3};
    Curves curves{.log_x = true};
    for (const Way& way : ways) {
        request.progress(told("{} read as {}", way.file, way.code));
        const Model model = load(file, way);
        const auto documents = documents_of(held, model, request.quick ? 8 : most_documents);
        all.push_back(measure(model, documents, "Once upon a time"));
        const Measured &one = all.back(), &own = all.front();
        add_row(figures, way.file, way.code, largest_difference(one.first, own.first),
                largest_difference(one.logits, own.logits), mean_of_clusters(one.losses.nll, one.losses.document),
                mean_of_clusters(minus(one.losses.nll, own.losses.nll), own.losses.document), one.text);
        Series& curve = curves.add(told("file: {}, code: {}", way.file, way.code), Series::Style::line_points);
        for (std::size_t b = 0; b < one.places.size(); ++b)
            curve.add(b == 0 ? 4 : 24 * (1 << (b - 1)), one.places[b].mean());
    }
    const auto loss = [&](std::size_t i) { return mean_of_clusters(all[i].losses.nll, all[i].losses.document); };
    const Mean more = mean_of_clusters(minus(all[2].losses.nll, all[0].losses.nll), all[0].losses.document);
    Result result;
    result.answer = told(
        "No. rotate_half pairs column k with column k + d/2, and the other way pairs neighbours: the same function "
        "after a permutation of the rows of the query and key matrices, up to {} in any logit. A file for one, read as "
        "the other, has its first token right (logits differ by {}). Its loss then {}: {} nats per token become {}.",
        figure(largest_difference(all[1].logits, all[0].logits), 2),
        figure(largest_difference(all[2].first, all[0].first), 2),
        worded(above(more.interval(), 0), "rises", "falls", "changes by no more than chance explains"),
        figure(loss(0).mean), figure(loss(2).mean));
    result.found = {told("A file of neighbours read as halves goes on: \"{}\"", all[2].text),
                    told("Its loss is {} nats at the first 15 positions and {} from 128 on; as trained, {} and {}.",
                         figure(all[2].places.front().mean()), figure(all[2].places.back().mean()),
                         figure(all[0].places.front().mean()), figure(all[0].places.back().mean()))};
    result.pictures = {{"positions", "A mixed-up pairing costs more, the further a text goes", "position of the token",
                        "nats per token", curves}};
    result.tables = {
        {"ways", "Each layout of the file, read with each pairing", std::move(figures)},
        {"matrices", "R at position 1 in a head of 4 columns: two pairings of the same two angles", matrices()}};
    result.notes = {
        "In code, neighbours are x[..., 0::2] and x[..., 1::2] (interleaved: RoFormer, GPT-J, Meta's Llama), and "
        "halves are x[..., :d/2] and x[..., d/2:] (rotate_half: GPT-NeoX, Hugging Face, whose conversion script "
        "permutes the rows of Llama's q_proj and k_proj).",
        told("Weights: {}; text: {}, the first window of each document. half: half the width of the 95 % interval over "
             "documents. Both differences are from the first row.",
             file.name, held.name)};
    return result;
}

} // namespace pairings_file

const Experiment pairings_experiment{
    .name = "pairings",
    .summary = "Is rotate_half a bug? Why are there two RoPE layouts?",
    .details = "One file of RoPE weights with its rows as trained and permuted, each read with neighbouring and with "
               "half-way pairs: logits, loss by position, text. Su et al. 2021, arXiv 2104.09864.",
    .options = {"model", "corpus"},
    .seconds = {3, 2},
    .run = pairings_file::run};

} // namespace ordo::lab
