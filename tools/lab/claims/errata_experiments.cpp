// SPDX-License-Identifier: MIT
#include "tools/lab/claims/errata.h"
#include "tools/lab/claims/study.h"
#include "tools/lab/math/numbers.h"
#include "tools/lab/shipped/trained.h"
#include "tools/lab/study/encodings.h"

#include "core/error.h"
#include "ops/norm.h"
#include "tools/cli/scores.h"

#include <algorithm>
#include <cmath>

namespace ordo::lab {

namespace {

std::string range(std::span<const double> values) {
    return text(figure(*std::min_element(values.begin(), values.end())), " to ",
                figure(*std::max_element(values.begin(), values.end())));
}

Evidence reference_lines() {
    using namespace study_data;
    const Lines line = lines();
    return {text(range(food_is), "; unigram ", figure(line.unigram)),
            text("distances, 1: ", range(food_is), ", 2: ", range(good_is), "; the words of its corpus, guessed ",
                 "evenly: ", figure(line.uniform, 4), ", by their counts: ", figure(line.unigram, 4),
                 ", known by heart: ", figure(line.by_heart, 4), "; of at most ", figure(std::sqrt(std::log(2.0)), 4),
                 "; 3: P(food) ", range(food_next), ", by chance ", figure(1.0 / vocabulary), ", in the corpus 0")};
}

Evidence refusals(const std::vector<Trained>& models) {
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
    return {text(refused, " of ", pairs, " pairs refused"),
            text(refused, " of ", pairs, " pairs of shipped weights and another's encoding are refused unless forced")};
}

Evidence standard_start(const Request& request, const std::vector<Trained>& models) {
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

Evidence turns() {
    const Table table = LooseEncoding("rotate-stretch", {8, 1, 8, 1, 256}).table(38);
    const auto apart = [&](std::size_t i, std::size_t j) {
        return figure(std::abs(turned(table.rows[j][1] - table.rows[i][1])));
    };
    return {text(apart(1, 36), " rad apart; 1 and 37: ", apart(1, 37)),
            text("angles of 0 and 36 are ", apart(0, 36), " rad apart, of 1 and 37 ", apart(1, 37), ", of 1 and 36 ",
                 apart(1, 36))};
}

Evidence stretches(std::uint64_t seed) {
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
    const std::string same = figure(cosine(here, later), 8);
    return {text("5 and 41 after RMSNorm: cosine ", same),
            text("positions 5 and 41: lengths as 1 to ", figure(before), ", after RMSNorm as 1 to ",
                 figure(norm(later) / norm(here), 6), ", cosine ", same, "; an embedding of length 1 starts at ",
                 figure(shrunk))};
}

// Pairs of neighbouring words that stand in two sentences, once the ends of sentences are gone.
Evidence crossings() {
    constexpr int neighbours = study_data::words - 1, across = study_data::sentences - 1;
    const std::string share = figure(100.0 * across / neighbours);
    return {text(share, " % of neighbours cross an end"),
            text("of the ", neighbours, " pairs of neighbours in its corpus ", across, " (", share,
                 " %) stand in two sentences, such as \"food carbohydrates\"; the prompt \"good is\", which it never "
                 "has, is a context of 2 words, positions 0 and 1 of ",
                 study_data::length)};
}

Evidence best_of_three() {
    using namespace study_data;
    const double sinusoidal = food_next.front(), most = *std::max_element(food_next.begin(), food_next.end());
    return {text("table: ", tools::fixed_text(sinusoidal, 5), " and ", tools::fixed_text(most, 5)),
            text("its table has ", tools::fixed_text(sinusoidal, 5), " for sinusoidal and ", tools::fixed_text(most, 5),
                 " for its own encoding with a period of 6; an even guess has ", figure(1.0 / vocabulary))};
}

Evidence beside_is() {
    using namespace study_data;
    return {text("good ", good_beside_is, " of ", good, ", food ", food_beside_is, " of ", food),
            text("in its corpus ", good_beside_is, " of ", good, " \"good\" and ", food_beside_is, " of ", food,
                 " \"food\" stand beside \"is\"; \"good food is red\" has a \"good\" that does not")};
}

// What the study counts, and reads from its own tables.
std::vector<Erratum> errata_of_the_corpus() {
    return {
        {28,
         study_code,
         {"full stops end sentences", "sentences separated by full stops"},
         "wrong",
         "the data has none: sentences run together",
         crossings(),
         "-"},
        {31,
         study,
         {"3: sinusoidal performed best", "in experiment 3 sinusoidal performed the best"},
         "wrong",
         "not by its own table, where its own encoding with a period of 6 is above; both stand at chance",
         best_of_three(),
         "ordo lab word-order"},
        {32,
         study,
         {"good, food stand beside is",
          "all instances of \"good\" and most of \"food\" are exactly one position away from \"is\""},
         "wrong",
         "not all of \"good\", and of \"food\" fewer than a third",
         beside_is(),
         "ordo lab word-order"},
    };
}

} // namespace

std::vector<Erratum> errata_of_experiments(const Request& request) {
    const std::vector<Trained> models = trained_models(request);
    std::vector<Erratum> all = {
        {9,
         study,
         {"three experiments rank encodings",
          "1, after \"food is\" less is better: custom; 2, after \"good is\" more is better: sinusoidal; 3, P(food) "
          "after \"carbohydrates are\" should be high: sinusoidal, and custom is worst"},
         "wrong",
         "1: none is nearer than the counts of its words are; 2: an even guess has more than any of them; 3: the "
         "corpus goes on with another word, so that the lowest, custom, is the best, and the others stand near chance",
         reference_lines(),
         "ordo lab word-order"},
        {13,
         study_code,
         {"one encoding for all files", "all parameter files are run with one global encoding"},
         "wrong",
         "weights must name theirs, and another be refused",
         refusals(models),
         "ordo lab swap"},
        {22,
         study,
         {"NoPE must start as its theorem",
          "weights without encoding must be set as in the theorem; refusing perplexity is fishy"},
         "wrong",
         "a theorem says that weights exist; training finds some from random ones, and its authors later published "
         "language models",
         standard_start(request, models),
         "ordo perplexity --encoding none; ordo lab nope"},
        {23,
         study,
         {"positions 1 and 36 are alike", "positions 1 and 36 rotate the same"},
         "wrong",
         "0 and 36 do, and 1 and 37",
         turns(),
         "ordo lab stretch"},
        {24,
         study,
         {"stretch tells positions apart", "the stretch tells positions apart"},
         "partly",
         "a norm takes it away; before, it shrinks tenfold, and 4 tokens never reach its second step",
         stretches(request.seed),
         "ordo lab stretch"},
    };
    for (Erratum& erratum : errata_of_the_corpus()) all.push_back(std::move(erratum));
    return all;
}

} // namespace ordo::lab
