// SPDX-License-Identifier: MIT
#include "text/bpe_trainer.h"

#include "core/error.h"
#include "text/bpe_tokenizer.h"
#include "text/pre_tokenizer.h"

#include <cstdint>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace ordo {
namespace {

// A piece of the corpus that occurs count times, as its current tokens.
struct Word {
    std::vector<Token> ids;
    std::int64_t count = 0;
};

// Longer than almost any word. Longer pieces are cut, because each merge scans its whole words.
constexpr std::size_t longest_word = 1024; // bytes
// The memory of distinct words, with the lists of the pairs in them. Natural texts repeat words and stay far below
// this room. Once it is full, new words are not counted.
constexpr std::size_t word_bytes = 176, letter_bytes = 12, least_room = std::size_t{24} << 20;

std::vector<Word> count_words(std::string_view corpus) {
    const AddedTokens separator({{0, std::string(end_of_text_name)}});
    std::unordered_map<std::string_view, std::size_t> index;
    std::vector<Word> words; // in the order of their first occurrence
    std::size_t room = least_room + 2 * corpus.size();
    const auto on_word = [&](std::string_view piece) {
        const std::size_t bytes = word_bytes + letter_bytes * piece.size();
        if (bytes > room) {
            if (const auto known = index.find(piece); known != index.end()) ++words[known->second].count;
            return;
        }
        const auto [at, is_new] = index.try_emplace(piece, words.size());
        if (is_new) {
            Word& word = words.emplace_back();
            word.ids.reserve(piece.size());
            for (const char c : piece) word.ids.push_back(static_cast<unsigned char>(c));
            room -= bytes;
        }
        ++words[at->second].count;
    };
    const auto on_piece = [&](std::string_view piece) {
        for (; piece.size() > longest_word; piece.remove_prefix(longest_word)) on_word(piece.substr(0, longest_word));
        on_word(piece);
    };
    separator.split(
        corpus, true, false, [&](std::string_view text) { cut_gpt2(text, on_piece); }, [](Token) {});
    return words;
}

// The count of every pair, updated as words change.
class PairCounts {
public:
    explicit PairCounts(std::vector<Word> words) : words_(std::move(words)) {
        for (std::size_t w = 0; w < words_.size(); ++w) {
            const Word& word = words_[w];
            count(word, word.count, w, [](std::size_t) { return true; });
        }
        queue_changed();
    }

    // The most frequent pair; false if every pair occurs at most once.
    bool best(Token& left, Token& right) {
        for (; !queue_.empty(); queue_.pop()) {
            const Candidate top = queue_.top();
            const auto at = pairs_.find(top.key);
            if (at == pairs_.end() || at->second.count != top.count) continue; // a newer entry is in the queue
            if (top.count < 2) return false;
            left = static_cast<Token>(top.key >> 32);
            right = static_cast<Token>(top.key & 0xffffffff);
            return true;
        }
        return false;
    }

    // Replaces the pair with product, from left to right in each word that contains it.
    void merge(Token left, Token right, Token product) {
        const std::vector<std::uint32_t> where = std::move(pairs_.at(key(left, right)).words);
        for (const std::size_t w : where) {
            Word& word = words_[w];
            merged_.clear();
            replaced_.clear();
            for (std::size_t i = 0; i < word.ids.size(); ++i) {
                const bool pair = i + 1 < word.ids.size() && word.ids[i] == left && word.ids[i + 1] == right;
                merged_.push_back(pair ? product : word.ids[i]);
                replaced_.insert(replaced_.end(), pair ? 2 : 1, pair);
                i += pair ? 1 : 0;
            }
            if (merged_.size() == word.ids.size()) continue; // merged since it was recorded
            count(word, -word.count, w, [&](std::size_t i) { return replaced_[i]; });
            word.ids.assign(merged_.begin(), merged_.end());
            count(word, word.count, w, [&](std::size_t i) { return word.ids[i] == product; });
        }
        queue_changed();
    }

private:
    struct Pair {
        std::int64_t count = 0;
        std::int64_t queued = 0;          // the count of its newest entry in the queue
        bool changed = false;             // it is in the list of changed pairs
        std::vector<std::uint32_t> words; // that contain it, or once did
    };
    struct Candidate {
        std::int64_t count;
        std::uint64_t key;
        bool operator<(const Candidate& other) const {
            return std::tie(count, other.key) < std::tie(other.count, key); // the lowest key on top
        }
    };

    static std::uint64_t key(Token left, Token right) {
        return static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint64_t>(right);
    }

    // Adds to the counts of pairs with such a token.
    template <class One>
    void count(const Word& word, std::int64_t by, std::size_t at, const One& is_one) {
        for (std::size_t i = 0; i + 1 < word.ids.size(); ++i)
            if (is_one(i) || is_one(i + 1)) change(word.ids[i], word.ids[i + 1], by, at);
    }
    void change(Token left, Token right, std::int64_t by, std::size_t at) {
        const auto word = static_cast<std::uint32_t>(at); // the room for words ends long before
        const std::uint64_t k = key(left, right);
        Pair& pair = pairs_[k];
        pair.count += by;
        if (by > 0 && (pair.words.empty() || pair.words.back() != word)) pair.words.push_back(word);
        if (!std::exchange(pair.changed, true)) changed_.push_back(k);
    }

    void queue_changed() {
        for (const std::uint64_t k : changed_) {
            const auto at = pairs_.find(k);
            Pair& pair = at->second;
            pair.changed = false;
            if (pair.count == 0) {
                pairs_.erase(at);
            } else if (pair.count != pair.queued) {
                pair.queued = pair.count;
                queue_.push({pair.count, k});
            }
        }
        changed_.clear();
    }

    std::vector<Word> words_;
    std::unordered_map<std::uint64_t, Pair> pairs_;
    std::priority_queue<Candidate> queue_;
    std::vector<std::uint64_t> changed_; // pairs whose counts changed since the last queue_changed()
    std::vector<Token> merged_;
    std::vector<bool> replaced_;
};

} // namespace

std::unique_ptr<Tokenizer> train_bpe(std::string_view corpus, int vocab_size) {
    constexpr int least = 257; // the bytes and <|endoftext|>
    if (vocab_size < least || vocab_size > max_trained_vocab_size)
        fail(ErrorCode::usage, "vocabulary size: expected ", least, " to ", max_trained_vocab_size, ", found ",
             vocab_size);
    BpeParts parts;
    for (int byte = 0; byte < 256; ++byte) parts.tokens.emplace_back(1, static_cast<char>(byte));
    PairCounts pairs(count_words(corpus));
    Merge merge;
    while (static_cast<int>(parts.tokens.size()) + 1 < vocab_size && pairs.best(merge.left, merge.right)) {
        merge.product = static_cast<Token>(parts.tokens.size());
        parts.tokens.push_back(parts.tokens[merge.left] + parts.tokens[merge.right]);
        parts.merges.push_back(merge);
        pairs.merge(merge.left, merge.right, merge.product);
    }
    parts.added.push_back({static_cast<Token>(parts.tokens.size()), std::string(end_of_text_name)});
    parts.tokens.emplace_back(end_of_text_name);
    return make_bpe_tokenizer(parts);
}

} // namespace ordo
