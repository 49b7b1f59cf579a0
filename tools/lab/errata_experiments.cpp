// SPDX-License-Identifier: MIT
#include "tools/lab/encodings.h"
#include "tools/lab/errata.h"
#include "tools/lab/slips.h"
#include "tools/lab/trained.h"
#include "tools/lab/word_corpus.h"

#include "core/error.h"
#include "ops/norm.h"
#include "tools/scores.h"

#include <algorithm>

namespace ordo::lab {

namespace {

std::string reference_lines() {
    // The study's first table: sinusoidal, ALiBi, rotary, none, custom.
    constexpr double published[] = {.72238, .70442, .71397, .71689, .67857};
    const Distribution guess(40, 1.0 / 40); // of its 40 words
    std::string guesses;
    for (const std::size_t words : {3, 4, 5}) {
        Distribution next(guess.size());
        std::fill_n(next.begin(), words, 1.0 / static_cast<double>(words));
        append(guesses, figure(js_distance(guess, next), 4));
    }
    const WordCorpus corpus = built_in_corpus();
    const Distribution after = after_beginning(corpus, corpus.tokens("carbohydrates are"));
    return text("first experiment, published: ", figure(*std::min_element(published, std::end(published)), 4), " to ",
                figure(*std::max_element(published, std::end(published)), 4), ", of at most ",
                figure(std::sqrt(std::log(2.0)), 4), "; a uniform guess among its 40 words is ", guesses,
                " from 3, 4, 5 equally likely ones; third: P(food) right after \"carbohydrates are\" is ",
                figure(after[static_cast<std::size_t>(corpus.find("food"))]), " in a corpus of the kind, by chance ",
                figure(1.0 / 40));
}

std::string refusals(const std::vector<Trained>& models) {
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
    return text(refused, " of ", pairs, " pairs of shipped weights and another's encoding are refused unless forced");
}

std::string standard_start(const Request& request, const std::vector<Trained>& models) {
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
        return text(trained.name, ", trained from random weights: perplexity ", figure(std::exp(tally.mean())), " on ",
                    tally.tokens, " held-out tokens; a uniform guess has ", model.vocab_size());
    }
    return "no weights without encoding are at hand";
}

constexpr int width = 128;

std::string turns() {
    const Table table = LooseEncoding("rotate-stretch", {8, 1, 8, 1, 256}).table(38);
    const auto apart = [&](std::size_t i, std::size_t j) {
        return figure(std::abs(turned(table.rows[j][1] - table.rows[i][1])));
    };
    return text("angles of 0 and 36 are ", apart(0, 36), " rad apart, of 1 and 37 ", apart(1, 37), ", of 1 and 36 ",
                apart(1, 36));
}

std::string stretches(std::uint64_t seed) {
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
    return text("positions 5 and 41: lengths as 1 to ", figure(before), ", after RMSNorm as 1 to ",
                figure(norm(later) / norm(here), 6), ", cosine ", figure(cosine(here, later), 8),
                "; an embedding of length 1 starts at ", figure(shrunk));
}

// Pairs of neighbouring words that stand in two sentences, once the ends of sentences are gone.
std::string crossings() {
    constexpr std::string_view sentences[] = {"food is good", "carbohydrates are a type of food group"}; // of the study
    int words = 0;
    for (const std::string_view s : sentences) words += 1 + static_cast<int>(std::count(s.begin(), s.end(), ' '));
    constexpr int all_words = 91, all_sentences = 19; // of the corpus in the study's repository
    return text("its two quoted sentences make ", words - 1, " neighbours, one of them \"good carbohydrates\"; of the ",
                all_words - 1, " in the corpus ", all_sentences - 1, " run from one sentence into the next (",
                figure(100.0 * (all_sentences - 1) / (all_words - 1)), " %); prompts of two words have one distance");
}

} // namespace

std::vector<Erratum> errata_of_experiments(const Request& request) {
    const std::vector<Trained> models = trained_models(request);
    return {
        {9, study, "three experiments: custom best, sinusoidal best, custom worst",
         "all near what guessing yields; in the third the right answer has probability 0", reference_lines(),
         "ordo lab word-order"},
        {13, study_code, "all parameter files are run with one global encoding",
         "weights must name theirs, and another be refused", refusals(models), "ordo lab swap"},
        {22, study, "weights without encoding must be set as in the theorem; refusing perplexity is fishy",
         "a theorem says that weights exist; training finds some from random ones, and its authors later published "
         "language models",
         standard_start(request, models), "ordo perplexity --encoding none; ordo lab nope"},
        {23, study, "positions 1 and 36 rotate the same", "0 and 36 do, and 1 and 37", turns(), "ordo lab stretch"},
        {24, study, "the stretch tells positions apart",
         "a norm takes it away; before, it shrinks tenfold, and 4 tokens never reach its second step",
         stretches(request.seed), "ordo lab stretch"},
        {28, study_code, "sentences separated by full stops", "the data has none: sentences run together", crossings(),
         "ordo lab word-order"},
    };
}

} // namespace ordo::lab
