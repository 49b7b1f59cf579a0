// SPDX-License-Identifier: MIT
// Left padding: what pads in front of a prompt do to the next word, with and without a mask and positions.
#include "tools/lab/shipped/weight_files.h"
#include "tools/lab/study/answers.h"

namespace ordo::lab {
namespace padding_file {

constexpr int counts[] = {1, 8, 32, 128};
constexpr std::size_t most_prompt = 24; // tokens

struct Way {
    const char *mask, *positions;
    bool masked, counted; // counted: the prompt's positions begin at 0, as without pads
};
constexpr Way ways[] = {{"yes", "from the prompt", true, true},
                        {"yes", "from the pads", true, false},
                        {"no", "from the prompt", false, true},
                        {"no", "from the pads", false, false}};

Vector next_word(Session& session, std::span<const Token> prompt, int pads, const Way& way, Token pad) {
    std::vector<Token> tokens(static_cast<std::size_t>(pads), pad);
    tokens.insert(tokens.end(), prompt.begin(), prompt.end());
    std::vector<int> positions, padding;
    for (int i = 0; i < static_cast<int>(tokens.size()); ++i) {
        positions.push_back(way.counted ? std::max(0, i - pads) : i);
        padding.push_back(way.masked && i < pads);
    }
    session.rewind(0);
    return softmax(session.feed(tokens, {.positions = positions, .padding = padding}));
}

// The models of these encodings, unless --model names others.
std::vector<Trained> models_of(const Request& request) {
    std::vector<Trained> all = trained_models(request);
    constexpr std::array usual = {"none", "sinusoidal", "learned", "rope", "alibi", "t5"};
    if (!request.arguments.has("model"))
        std::erase_if(all, [&](const Trained& one) { return std::ranges::find(usual, one.name) == usual.end(); });
    return all;
}

Result run(const Request& request) {
    const Text held = held_out(request);
    Figures figures{{"model", "pads", "mask", "positions", "variation", "half"}, {}, 3};
    Names names;
    double worst = 0;                                                // of pads that are masked and not counted
    std::map<std::tuple<std::size_t, std::size_t, int>, Mean> moved; // [model][way][pads]
    for (const Trained& trained : models_of(request)) {
        request.progress(trained.name);
        const Model model = Model::load(trained.file);
        Session session(model);
        const auto documents = documents_of(held, model, request.quick ? 8 : most_documents);
        const Token pad = std::max(0, model.end_of_text());
        for (std::size_t w = 0; w < std::size(ways); ++w)
            for (const int pads : counts) {
                Vector variations;
                for (const tools::Document& document : documents) {
                    const std::span<const Token> all = document.tokens,
                                                 prompt = all.first(std::min(most_prompt, all.size()));
                    if (pads + static_cast<int>(prompt.size()) > session.capacity()) continue;
                    const Vector plain = next_word(session, prompt, 0, ways[w], pad),
                                 padded = next_word(session, prompt, pads, ways[w], pad);
                    double sum = 0;
                    for (std::size_t i = 0; i < plain.size(); ++i) sum += std::abs(plain[i] - padded[i]) / 2;
                    variations.push_back(sum);
                }
                if (variations.empty()) continue;
                const Mean mean = mean_of(variations);
                moved[{names.size(), w, pads}] = mean;
                if (w == 0) worst = std::max(worst, mean.mean);
                add_row(figures, trained.name, pads, ways[w].mask, ways[w].positions, mean);
            }
        names.push_back(trained.name);
    }
    const auto at = [&](std::size_t w, int pads) {
        return [&moved, w, pads](std::size_t m) {
            return moved.contains({m, w, pads}) ? moved.at({m, w, pads}).mean : NAN;
        };
    };
    std::string still, move; // with the mask, and positions from the pads
    for (std::size_t m = 0; m < names.size(); ++m)
        if (const double v = at(1, 32)(m); v < 1e-3)
            append(still, in_text(names[m]));
        else
            append(move, told("{} by {} %", in_text(names[m]), fixed_text(100 * v, 0)));
    Result result;
    result.answer = told(
        "Padding changes nothing if the pads are masked and positions begin at the prompt (at most {} %). With the "
        "mask alone, 32 pads change nothing for encodings of distances ({}), and move the next word's probabilities "
        "for the others: {}. Without a mask the pads count as text. They move {} % of the probability.",
        figure(100 * worst, 1), or_none(still), or_none(move),
        ends_of(
            names, [&](std::size_t m) { return 100 * at(3, 32)(m); }, 0));
    Names pads;
    for (const int count : counts) pads.push_back(std::to_string(count));
    for (const std::size_t w : {std::size_t{1}, std::size_t{3}})
        result.pictures.push_back(
            {w == 1 ? "masked" : "unmasked",
             w == 1 ? "Masked pads that use up positions: they change nothing for encodings of distances"
                    : "Pads without a mask: part of the text for every encoding",
             "pads before the prompt", "model",
             map_of(names, pads, [&](std::size_t m, std::size_t i) { return at(w, counts[i])(m); })});
    result.tables = {
        {"variation", "How far pads before a prompt move the next word's distribution", std::move(figures)}};
    result.notes = {told("variation: half of the sum of |p - q| over all words, averaged over the beginnings of the "
                         "documents of {}, at most {} tokens each; half: half the width of the 95 % interval over "
                         "documents. The pad is the end-of-text token, as is usual for models without a pad token.",
                         held.name, most_prompt),
                    "In Hugging Face's terms: mask is attention_mask, and positions from the prompt are position_ids = "
                    "attention_mask.cumsum(-1) - 1."};
    return result;
}

} // namespace padding_file

const Experiment padding_experiment{
    .name = "padding",
    .summary = "Does left padding need a mask and position ids?",
    .details = "Pads in front of prompts, with and without a mask, and with positions that begin at the pads or at the "
               "prompt, under each encoding: the total variation of the next word's distribution.",
    .options = {"model", "corpus"},
    .seconds = {4, 2},
    .run = padding_file::run};

} // namespace ordo::lab
