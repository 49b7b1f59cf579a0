// SPDX-License-Identifier: MIT
#include "tools/lab/claims/errata.h"
#include "tools/lab/claims/study.h"
#include "tools/lab/math/numbers.h"
#include "tools/lab/shipped/trained.h"
#include "tools/lab/study/encodings.h"

#include "core/error.h"
#include "ops/norm.h"
#include "tools/model/scores.h"

namespace ordo::lab {
namespace {

std::string range(std::span<const double> values) {
    return text(figure(*std::min_element(values.begin(), values.end())), " to ",
                figure(*std::max_element(values.begin(), values.end())));
}

Values reference_lines() {
    using namespace study_data;
    const Lines line = lines();
    return {range(food_is),
            figure(line.unigram),
            range(good_is),
            figure(line.uniform, 4),
            figure(line.unigram, 4),
            figure(line.by_heart, 4),
            figure(std::sqrt(std::log(2.0)), 4),
            range(food_next),
            figure(1.0 / vocabulary)};
}

Values refusals(const std::vector<Trained>& models) {
    int pairs = 0, refused = 0;
    for (const Trained& one : models)
        for (const Trained& other : models) {
            if (one.encoding == other.encoding) continue;
            ++pairs;
            LoadOptions options;
            options.encoding = other.encoding;
            try {
                Model::load(one.file, options);
            } catch (const Error&) {
                ++refused;
            }
        }
    return {text(refused), text(pairs)};
}

Values standard_start(const Request& request, const std::vector<Trained>& models) {
    for (const Trained& trained : models) {
        if (trained.encoding != "none") continue;
        const Model model = Model::load(trained.file);
        Session session(model);
        tools::Tally tally;
        for (const tools::Document& document : documents_of(held_out(request), model)) {
            const std::size_t n = std::min(document.tokens.size(), static_cast<std::size_t>(session.capacity()));
            if (n < 2 || tally.tokens > 1000) continue;
            for (const double nll : tools::score_window(session, std::span(document.tokens).first(n)))
                tally.add(nll, 0);
        }
        const std::string perplexity = figure(std::exp(tally.mean()));
        return {text("perplexity ", perplexity, " of ", model.vocab_size()),
                text(trained.name, ", trained from random weights: perplexity ", perplexity, " on ", tally.tokens,
                     " held-out tokens; a uniform guess has ", model.vocab_size())};
    }
    return {"no weights at hand", "no weights without encoding are at hand"};
}

constexpr int width = 128;

Values turns() {
    const Table table = LooseEncoding("rotate-stretch", {8, 1, 8, 1, 256}).table(38);
    const auto apart = [&](std::size_t i, std::size_t j) {
        return figure(std::abs(turned(table.rows[j][1] - table.rows[i][1])));
    };
    return {apart(1, 36), apart(1, 37), apart(0, 36)};
}

Values stretches(std::uint64_t seed) {
    const LooseEncoding stretch("rotate-stretch", {width, 1, width, 1, 256});
    std::vector<float> here = normal_floats(width, seed, 0xe4), ones(width, 1.0f);
    std::vector<float> unit = here;
    for (float& v : unit) v /= static_cast<float>(norm(here));
    const View x = view(unit.data(), 1, width);
    stretch.embed(x);
    const double shrunk = norm(unit);
    std::vector<float> later = here;
    stretch.embed(view(here.data(), 1, width), 5);
    stretch.embed(view(later.data(), 1, width), 41);
    const double before = norm(later) / norm(here);
    for (std::vector<float>* row : {&here, &later})
        rms_norm(view(row->data(), 1, width), view(ones.data(), 1, width), 1e-5f, view(row->data(), 1, width));
    return {figure(cosine(here, later), 8), figure(before), figure(norm(later) / norm(here), 6), figure(shrunk)};
}

// Pairs of neighbouring words that span two sentences, once the ends of sentences are removed.
Values crossings() {
    constexpr int neighbours = study_data::words - 1, across = study_data::sentences - 1;
    return {figure(100.0 * across / neighbours), text(neighbours), text(across), text(study_data::length)};
}

Values best_of_three() {
    using namespace study_data;
    return {tools::fixed_text(food_next.front(), 5),
            tools::fixed_text(*std::max_element(food_next.begin(), food_next.end()), 5), figure(1.0 / vocabulary)};
}

Values beside_is() {
    using namespace study_data;
    return {text(good_beside_is), text(good), text(food_beside_is), text(food)};
}

} // namespace

std::map<int, Values> evidence_of_experiments(const Request& request) {
    const std::vector<Trained> models = trained_models(request);
    return {{9, reference_lines()},
            {13, refusals(models)},
            {22, standard_start(request, models)},
            {23, turns()},
            {24, stretches(request.seed)},
            {28, crossings()},
            {31, best_of_three()},
            {32, beside_is()}};
}

} // namespace ordo::lab
