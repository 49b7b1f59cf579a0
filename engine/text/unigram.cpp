// SPDX-License-Identifier: MIT
#include "core/error.h"
#include "core/utf8.h"
#include "io/json.h"
#include "text/normalizer.h"
#include "text/prefix_index.h"
#include "text/token_model.h"

#include <algorithm>

namespace ordo {
namespace {

constexpr double unknown_penalty = 10; // below the worst score

class Unigram final : public TokenModel {
public:
    Unigram(const JsonValue& model, const ModelParts& parts)
        : vocabulary_(parts.vocabulary), index_(vocabulary_, parts.where), scores_(parts.file.scores),
          special_(parts.special), bytes_(vocabulary_, get_bool_or(model, "byte_fallback", parts.where, false)) {
        const std::string& where = parts.where;
        if (vocabulary_.size() == 0) fail(ErrorCode::model, where, ": expected a vocabulary, found an empty one");
        if (is_null(model, "unk_id"))
            fail(ErrorCode::model, where, ": unk_id: expected a token for what the vocabulary lacks, found none");
        unknown_ =
            static_cast<Token>(get_int(model, "unk_id", where, 0, static_cast<std::int64_t>(vocabulary_.size()) - 1));
        double worst = 0;
        for (const double score : scores_)
            if (score > never_taken) worst = std::min(worst, score);
        unknown_score_ = worst - unknown_penalty;
    }

    void encode(std::string_view piece, std::vector<Token>& out, Scratch& scratch) const override {
        find_ways(piece, scratch.nodes);
        // Back along the best path. Adjacent characters without a token are one unknown.
        const std::size_t first = out.size();
        scratch.parts.clear();
        for (std::size_t end = piece.size(); end > 0;) {
            const auto& node = scratch.nodes[end];
            std::size_t begin = node.begin;
            while (node.token == unknown_ && begin > 0 && scratch.nodes[begin].token == unknown_)
                begin = scratch.nodes[begin].begin;
            const std::string_view part = piece.substr(begin, end - begin);
            out.push_back(node.token == unknown_ ? ordinary(part) : node.token);
            if (out.back() == Vocabulary::absent) scratch.parts.push_back(part);
            end = begin;
        }
        std::reverse(out.begin() + static_cast<std::ptrdiff_t>(first), out.end());
        if (!scratch.parts.empty()) spell_unknowns(first, out, scratch);
    }

private:
    static constexpr std::uint32_t nowhere = 0xffffffff;

    // The token of a text if it is not special; else Vocabulary::absent.
    Token ordinary(std::string_view text) const {
        const Token token = vocabulary_.find(text);
        return token != Vocabulary::absent && special_[token] ? Vocabulary::absent : token;
    }

    // nodes[i]: the best path from the beginning of the text to byte i.
    void find_ways(std::string_view text, std::vector<Scratch::Node>& nodes) const {
        nodes.assign(text.size() + 1, {0, nowhere, Vocabulary::absent});
        for (std::size_t begin = 0; begin < text.size();) {
            const std::size_t one = std::max<std::size_t>(1, utf8_length(text.substr(begin)));
            const auto reach = [&](std::size_t end, Token token, double score) {
                Scratch::Node& node = nodes[end];
                score += nodes[begin].score;
                if (node.begin != nowhere && score <= node.score) return;
                node = {score, static_cast<std::uint32_t>(begin), token};
            };
            bool has_one = false; // whether a single character has a token
            for (const auto* entry = index_.longest(text.substr(begin)); entry != nullptr;
                 entry = index_.shorter(*entry)) {
                const auto at = static_cast<std::size_t>(entry->token);
                if (special_[at] || scores_[at] <= never_taken) continue;
                reach(begin + entry->size, entry->token, scores_[at]);
                has_one = has_one || entry->size == one;
            }
            if (!has_one) reach(begin + one, unknown_, unknown_score_);
            begin += one;
        }
    }

    // Replaces unknown tokens from `first` on with bytes or the unknown token. Their texts are in scratch.parts, in
    // reverse order.
    void spell_unknowns(std::size_t first, std::vector<Token>& out, Scratch& scratch) const {
        scratch.tokens.assign(out.begin() + static_cast<std::ptrdiff_t>(first), out.end());
        out.resize(first);
        for (const Token token : scratch.tokens) {
            if (token != Vocabulary::absent) {
                out.push_back(token);
                continue;
            }
            if (!bytes_.encode(scratch.parts.back(), out)) out.push_back(unknown_);
            scratch.parts.pop_back();
        }
    }

    const Vocabulary& vocabulary_;
    PrefixIndex index_;
    std::vector<double> scores_;
    std::vector<bool> special_;
    ByteFallback bytes_;
    Token unknown_ = 0;
    double unknown_score_ = 0;
};

} // namespace

std::unique_ptr<TokenModel> make_unigram(const ModelParts& parts) {
    const JsonValue& model = get_object(parts.file.rest, "model", parts.where);
    return std::make_unique<Unigram>(model, parts);
}

} // namespace ordo
