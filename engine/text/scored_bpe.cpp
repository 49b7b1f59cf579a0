// SPDX-License-Identifier: MIT
// SentencePiece's BPE. A text starts as its characters. Of all neighbours that form a token together, the pair with the
// best score is merged, of equal ones the leftmost. Text without a token at the end becomes its bytes.
#include "core/error.h"
#include "core/utf8.h"
#include "io/json.h"
#include "text/normalizer.h"
#include "text/token_model.h"

#include <algorithm>

namespace ordo {
namespace {

class ScoredBpe final : public TokenModel {
public:
    ScoredBpe(const JsonValue& model, const ModelParts& parts)
        : vocabulary_(parts.vocabulary), scores_(parts.file.scores), bytes_(vocabulary_, true),
          merges_(vocabulary_.size(), true) {
        const auto last = static_cast<std::int64_t>(vocabulary_.size()) - 1;
        if (!is_null(model, "unk_id")) unknown_ = static_cast<Token>(get_int(model, "unk_id", parts.where, 0, last));
        for (std::size_t id = 0; id < vocabulary_.size(); ++id) {
            merges_[id] =
                !parts.special[id] && byte_of_spelling(vocabulary_[id]) < 0 && static_cast<Token>(id) != unknown_;
            if (merges_[id]) longest_ = std::max(longest_, vocabulary_[id].size());
        }
    }

    void encode(std::string_view piece, std::vector<Token>& out, Scratch&) const override {
        std::vector<Symbol> symbols;
        for (std::size_t at = 0; at < piece.size();) {
            const std::size_t length = std::max<std::size_t>(1, utf8_length(piece.substr(at)));
            const auto i = static_cast<std::uint32_t>(symbols.size());
            symbols.push_back({piece.substr(at, length), i == 0 ? none : i - 1, i + 1});
            at += length;
        }
        symbols.back().next = none;
        merge(symbols);
        for (std::uint32_t i = 0; i != none; i = symbols[i].next) {
            const Token token = find(symbols[i].text);
            if (token != Vocabulary::absent) {
                out.push_back(token);
            } else if (!bytes_.encode(symbols[i].text, out) && unknown_ != Vocabulary::absent) {
                out.push_back(unknown_);
            }
        }
    }

private:
    static constexpr std::uint32_t none = 0xffffffff;
    struct Symbol {
        std::string_view text; // empty once it has been merged away
        std::uint32_t prev, next;
    };
    struct Candidate {
        double score;
        std::uint32_t left, right;
        std::size_t size; // of both, when it was queued
        bool operator<(const Candidate& other) const {
            return score < other.score || (score == other.score && left > other.left); // the best on top
        }
    };

    Token find(std::string_view text) const {
        if (text.size() > longest_) return Vocabulary::absent;
        const Token token = vocabulary_.find(text);
        return token != Vocabulary::absent && merges_[token] ? token : Vocabulary::absent;
    }

    void merge(std::vector<Symbol>& symbols) const {
        std::vector<Candidate> heap;
        const auto note = [&](std::uint32_t left, std::uint32_t right) {
            if (left == none || right == none) return;
            const std::string_view both(symbols[left].text.data(),
                                        symbols[left].text.size() + symbols[right].text.size());
            const Token token = find(both);
            if (token == Vocabulary::absent) return;
            heap.push_back({scores_[token], left, right, both.size()});
            std::push_heap(heap.begin(), heap.end());
        };
        for (std::uint32_t i = 0; i < symbols.size(); ++i) note(i, symbols[i].next);
        while (!heap.empty()) {
            std::pop_heap(heap.begin(), heap.end());
            const Candidate best = heap.back();
            heap.pop_back();
            Symbol& left = symbols[best.left];
            Symbol& right = symbols[best.right];
            const bool stale =
                left.text.empty() || right.text.empty() || left.text.size() + right.text.size() != best.size;
            if (stale) continue;
            left.text = {left.text.data(), best.size};
            right.text = {};
            left.next = right.next;
            if (left.next != none) symbols[left.next].prev = best.left;
            note(left.prev, best.left);
            note(best.left, left.next);
        }
    }

    const Vocabulary& vocabulary_;
    std::vector<double> scores_;
    ByteFallback bytes_;
    std::vector<bool> merges_; // of each id: text may become it
    std::size_t longest_ = 0;
    Token unknown_ = Vocabulary::absent;
};

} // namespace

std::unique_ptr<TokenModel> make_scored_bpe(const ModelParts& parts) {
    const JsonValue& model = get_object(parts.file.rest, "model", parts.where);
    return std::make_unique<ScoredBpe>(model, parts);
}

} // namespace ordo
