// SPDX-License-Identifier: MIT
#include "model/stack.h"

#include "core/error.h"
#include "core/number.h"
#include "model/embed_text.h"
#include "model/model_file.h"
#include "model/score.h"

#include <algorithm>
#include <cmath>
#include <system_error>

namespace ordo {
namespace {

// A text in its tokenizer's frame, with a segment for each token if one is not 0.
struct Framed {
    std::vector<Token> tokens;
    std::vector<int> segments;

    TokenRows rows() const { return {{}, segments}; }
};

Framed framed(const Model& model, std::string_view text, bool special) {
    const Model::Impl& m = impl_of(model);
    if (!m.tokenizer) fail(ErrorCode::model, m.where, ": has no tokenizer");
    Framed all;
    const std::vector<Frame::Part>& parts = m.tokenizer->frame().one;
    const bool segmented = std::any_of(parts.begin(), parts.end(), [](const auto& part) { return part.segment != 0; });
    all.tokens = encode_framed(*m.tokenizer, text, special, segmented ? &all.segments : nullptr);
    if (!m.encoder && m.special.start >= 0 && (all.tokens.empty() || all.tokens.front() != m.special.start)) {
        all.tokens.insert(all.tokens.begin(), m.special.start); // as generate() does
        if (segmented) all.segments.insert(all.segments.begin(), 0);
    }
    if (all.tokens.empty()) fail(ErrorCode::usage, "text: expected at least one token, found none");
    return all;
}

// The mask token: from the model's files, or one of the two usual names.
Token mask_of(const Model::Impl& m) {
    if (m.special.mask >= 0) return m.special.mask;
    for (const char* usual : {"[MASK]", "<mask>"})
        if (const Token token = m.tokenizer->find(usual); token >= 0 && m.tokenizer->is_special(token)) return token;
    return -1;
}

// Sums rows without storing them.
class Pool {
public:
    Pool(Pooling pooling, int unpooled) : pooling_(pooling), unpooled_(pooling == Pooling::mean ? unpooled : 0) {}

    void operator()(ConstView states) {
        for (int i = 0; i < states.rows; ++i) {
            if (unpooled_-- > 0) continue;
            if (pooling_ == Pooling::last || rows_ == 0) sum_.assign(states.cols, 0);
            if (pooling_ != Pooling::first || rows_ == 0)
                for (int j = 0; j < states.cols; ++j) sum_[j] += states.row(i)[j];
            ++rows_;
        }
    }
    std::vector<double> vector() const {
        std::vector<double> out = sum_;
        if (pooling_ == Pooling::mean)
            for (double& x : out) x /= rows_;
        return out;
    }

private:
    Pooling pooling_;
    int unpooled_; // rows at the beginning that are still to come
    std::vector<double> sum_;
    int rows_ = 0;
};

void scale_to_unit(std::vector<double>& vector) {
    double square = 0;
    for (const double x : vector) square += x * x;
    if (square > 0)
        for (double& x : vector) x /= std::sqrt(square);
}

double activated(DenseActivation kind, double x) {
    switch (kind) {
    case DenseActivation::tanh:
        return std::tanh(x);
    case DenseActivation::relu:
        return std::max(x, 0.0);
    case DenseActivation::gelu:
        return 0.5 * x * (1 + std::erf(x * std::sqrt(0.5)));
    case DenseActivation::silu:
        return x / (1 + std::exp(-x));
    case DenseActivation::sigmoid:
        return 1 / (1 + std::exp(-x));
    default:
        return x;
    }
}

// The vector after the model's dense layers.
std::vector<double> through_dense(const Model::Impl& m, std::vector<double> vector) {
    for (std::size_t i = 0; i < m.dense.size(); ++i) {
        const DenseLayer& layer = m.blueprint.dense[i];
        if (layer.unit_input) scale_to_unit(vector);
        std::vector<float> in(vector.begin(), vector.end()), out(static_cast<std::size_t>(layer.width));
        RowScratch scratch(1, static_cast<int>(in.size()));
        linear(view(in.data(), 1, static_cast<int>(in.size())), m.dense[i], scratch, view(out.data(), 1, layer.width),
               Bf16Rows::floats);
        vector.clear();
        for (const float x : out) vector.push_back(activated(layer.activation, static_cast<double>(x)));
        if (!std::all_of(vector.begin(), vector.end(), [](double x) { return std::isfinite(x); }))
            fail(ErrorCode::model, m.where, ": dense layer ", i, " yields values that are not finite");
    }
    return vector;
}

} // namespace

FilledText fill(const Model& model, std::string_view text, int candidates) {
    const Model::Impl& m = impl_of(model);
    if (candidates < 1) fail(ErrorCode::usage, "fill: candidates: expected 1 or more, found ", candidates);
    if (!m.blueprint.bidirectional())
        fail(ErrorCode::usage, m.where,
             ": expected a bidirectional model, which predicts masked tokens, found a causal one");
    expect_head(m);
    Framed all = framed(model, text, true);
    const Token mask = mask_of(m);
    if (mask < 0) fail(ErrorCode::model, m.where, ": expected a tokenizer with a mask token, found none");
    std::string name;
    m.tokenizer->append(mask, name, true);
    if (std::find(all.tokens.begin(), all.tokens.end(), mask) == all.tokens.end())
        fail(ErrorCode::usage, "text: expected ", printable(name), " in the place of a word, found none");

    FilledText filled{std::move(all.tokens), {}};
    Session session(model, {.capacity = static_cast<int>(filled.tokens.size())});
    session.feed_all(filled.tokens, all.rows(), [&](int first, View logits) {
        for (int i = 0; i < logits.rows; ++i)
            if (filled.tokens[first + i] == mask)
                filled.blanks.push_back(
                    {first + i, likeliest({logits.row(i), static_cast<std::size_t>(logits.cols)}, candidates)});
    });
    return filled;
}

EmbedOptions embed_options(const Model& model, std::optional<Pooling> pooling) {
    EmbedOptions options;
    const std::string own = model.metadata(key_pooling);
    if (pooling)
        options.pooling = *pooling;
    else if (own == "first" || own == "last")
        options.pooling = own == "first" ? Pooling::first : Pooling::last;
    else if (!own.empty() && own != "mean")
        fail(ErrorCode::model, impl_of(model).where, ": pooling: expected mean, first or last, found '", printable(own),
             "' (ordo embed --pooling chooses another)");
    options.normalised = model.metadata(key_normalised) != "false";
    return options;
}

EmbedText embed_text(const Model& model, std::string_view text) {
    const std::string prompt = model.metadata(key_prompt), limit = model.metadata(key_max_tokens);
    Framed all = framed(model, prompt + std::string(text), false);
    int most = model.max_position();
    if (int given = 0; std::from_chars(limit.data(), limit.data() + limit.size(), given).ec == std::errc() && given > 0)
        most = std::min(most, given);
    EmbedText out;
    const auto count = static_cast<int>(all.tokens.size());
    const auto after = static_cast<int>(impl_of(model).tokenizer->frame().after().size());
    if (count > most && most > after) {
        out.left_out = count - most;
        all.tokens.erase(all.tokens.begin() + most - after, all.tokens.end() - after);
        if (!all.segments.empty()) all.segments.erase(all.segments.begin() + most - after, all.segments.end() - after);
    }
    // As sentence-transformers counts: all tokens of the prompt in its frame but the last.
    if (!prompt.empty() && model.metadata(key_prompt_pooled) == "false")
        out.unpooled =
            std::min(static_cast<int>(framed(model, prompt, false).tokens.size()), std::min(count, most)) - 1;
    out.tokens = std::move(all.tokens);
    out.segments = std::move(all.segments);
    return out;
}

namespace {

void check(const EmbedOptions& options) {
    if (options.pooling != Pooling::mean && options.pooling != Pooling::first && options.pooling != Pooling::last)
        fail(ErrorCode::usage, "embed: pooling: expected one of Pooling, found ", static_cast<int>(options.pooling));
}

} // namespace

std::vector<float> embed(const Model& model, const EmbedText& text, const EmbedOptions& options) {
    check(options);
    const auto count = static_cast<int>(text.tokens.size());
    const TokenRows rows{{}, text.segments};
    Pool pool(options.pooling, text.unpooled);
    if (model.has_encoder()) {
        Session session(model, {.capacity = 1, .input = count});
        pool(session.encode(text.tokens, rows));
    } else {
        Session session(model, {.capacity = count});
        session.feed_states(text.tokens, rows, [&](int, ConstView states) { pool(states); });
    }
    std::vector<double> vector = through_dense(impl_of(model), pool.vector());
    if (options.normalised) scale_to_unit(vector);
    return {vector.begin(), vector.end()};
}

std::vector<float> embed(const Model& model, std::string_view text, const EmbedOptions& options) {
    check(options);
    return embed(model, embed_text(model, text), options);
}

} // namespace ordo
