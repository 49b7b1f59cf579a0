// SPDX-License-Identifier: MIT
// The figures of the claims that weights and recorded training runs decide.
#include "tools/bench/predict.h"
#include "tools/lab/claims/errata.h"
#include "tools/lab/claims/study.h"
#include "tools/lab/shipped/compare_runs.h"
#include "tools/lab/shipped/probe.h"
#include "tools/opening/scores.h"
#include "tools/opening/weights.h"

namespace ordo::lab {
namespace {

// The losses of runs in bench/results. Intervals and verdicts are for all pairs of the list that compare judges.
class Recorded {
public:
    Recorded() {
        if (std::optional<KeptRuns> kept = find_kept_runs()) groups_ = std::move(kept->groups);
        take_others(groups_);
        name_groups(groups_);
        bool fixed = false;
        pairs_ = std::max<std::size_t>(1, listed_pairs(groups_, spread_of(groups_), fixed).size());
    }
    // "0.033 +- 0.011" nats a token, by which the first encoding costs more.
    std::string more(const std::string& first, const std::string& second) const {
        const auto difference = between(first, second);
        return difference ? figure(difference->mean, 2) + margin(difference->half(pairs_)) : "(no runs at hand)";
    }
    std::string verdict(const std::string& first, const std::string& second) const {
        const auto difference = between(first, second);
        return difference && difference->p(pairs_) < 0.05 ? "more than chance" : "undecided";
    }

private:
    std::optional<Comparison> between(const std::string& first, const std::string& second) const {
        const Group *a = find(first), *b = find(second);
        return a && b ? compare(*a, *b, spread_of(groups_)) : std::nullopt;
    }
    const Group* find(const std::string& name) const {
        const auto at = std::ranges::find(groups_, name, &Group::name);
        return at == groups_.end() ? nullptr : &*at;
    }
    std::vector<Group> groups_;
    std::size_t pairs_ = 1;
};

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

// The gradient that the embedding gets is that of the sum, whatever position is added.
Values differentiability(const Recorded& recorded, std::uint64_t seed) {
    const LooseEncoding waves("sinusoidal:scale=1", dims_of(16));
    const std::vector<float> out = normal_floats(32, seed, 0xe5);
    std::vector<float> in = out, x = out;
    const std::vector<int> positions = {1, 100};
    const Encoding& encoding = *waves.stack().items()[0];
    encoding.embed_backward(view(in.data(), 2, 16), view(x.data(), 2, 16), {positions, {}}, {});
    return {figure(largest_difference(in, out)), text(encoding.tensors().size()),
            recorded.more("sinusoidal", "learned"), recorded.verdict("sinusoidal", "learned")};
}

// PE(p + 99) from PE(p) by one matrix, and positions read from the states of trained weights.
Values first_and_hundredth(const Request& request, const std::vector<Trained>& models) {
    const Table table = sinusoidal_table(128, 200), angles = sinusoidal_table(128, 100, "angle");
    double off = 0;
    for (std::size_t p = 0; p < 100; ++p)
        for (std::size_t k = 0; k < 64; ++k) {
            const double sine = table.rows[p][2 * k], cosine = table.rows[p][2 * k + 1], angle = angles.rows[99][k];
            off =
                std::max(off, std::abs(sine * std::cos(angle) + cosine * std::sin(angle) - table.rows[p + 99][2 * k]));
        }
    for (const Trained& trained : models) {
        if (!trained.encoding.starts_with("sinusoidal")) continue;
        const Probe found = probe(Model::load(trained.file), held_out(request), request.quick ? 30 : 300);
        double least = HUGE_VAL;
        for (const LayerError& layer : found.layers) least = std::min(least, layer.error);
        return {text("a probe is off by ", figure(least, 2), " positions"), figure(off, 2),
                text("a linear probe reads the position from ", trained.name, " with an error of ", figure(least, 2),
                     " positions of ", trained.context, ", where guessing has ", figure(found.guess, 2))};
    }
    return {"no weights at hand", figure(off, 2), "no weights of sinusoids are at hand"};
}

Values larger_angle(const Recorded& recorded) {
    using namespace study_data;
    const auto apart = [](int period) {
        const Table table = LooseEncoding(text("rotate-stretch:period=", period), dims_of(8)).table(8);
        return figure(std::abs(turned(table.rows[7][1] - table.rows[1][1])));
    };
    return {recorded.more("rotate-stretch:period=6", "rotate-stretch:period=36"),
            fixed_text(good_is[4], 3),
            fixed_text(good_is[5], 3),
            fixed_text(lines().uniform, 3),
            apart(6),
            apart(36),
            recorded.verdict("rotate-stretch:period=6", "rotate-stretch:period=36")};
}

// The operations of encodings, in percent of those of the model's products, for a text of the trained length.
Values complications(const std::vector<Trained>& models) {
    const Blueprint b = tools::read_facts(models[0].file).blueprint;
    const bench::Workload load{.n_prompt = models[0].context};
    const double products = bench::predict(b, WeightType::f32, load, b.context).flops / b.context;
    Values out;
    for (const char* spec : {"rope", "none", "sinusoidal", "alibi"}) {
        const ModelEncodings stack(spec, b.dims());
        out.push_back(figure(100 * bench::encoding_operations(b, stack, load, b.context).sum() / products, 2));
    }
    return out;
}

} // namespace

std::map<int, Values> trained_evidence(const Request& request) {
    const std::vector<Trained> models = trained_models(request);
    const Recorded recorded;
    return {{13, refusals(models)},
            {22, standard_start(request, models)},
            {33, differentiability(recorded, request.seed)},
            {34, first_and_hundredth(request, models)},
            {35, {recorded.more("alibi", "rope"), recorded.more("alibi", "t5"), recorded.more("sinusoidal", "alibi")}},
            {36, larger_angle(recorded)},
            {37, complications(models)}};
}

} // namespace ordo::lab
