// SPDX-License-Identifier: MIT
#include "text/bpe_tokenizer.h"

#include "core/error.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <utility>

namespace ordo {
namespace {

// Remembers, for one call, where in its output the tokens of earlier pieces stand. A slot holds one
// piece and the next one that falls into it takes its place: bounded memory, nothing to tune.
class PieceCache {
public:
    explicit PieceCache(std::size_t text_size)
        : slots_(text_size < min_text ? 0 : std::bit_floor(std::min(text_size / 8, max_slots))) {}

    // Appends the tokens of piece as they were found before; false if they are not remembered.
    bool copy(std::string_view piece, std::vector<Token>& out) const {
        const Slot* slot = find(piece);
        if (slot == nullptr || slot->piece != piece) return false;
        for (std::size_t i = 0; i < slot->count; ++i) out.push_back(out[slot->first + i]);
        return true;
    }
    void remember(std::string_view piece, std::size_t first, std::size_t count) {
        if (Slot* slot = find(piece)) *slot = {piece, first, count};
    }

private:
    struct Slot {
        std::string_view piece;
        std::size_t first = 0, count = 0;
    };
    static constexpr std::size_t min_text = 4096; // shorter texts repeat too little
    static constexpr std::size_t max_slots = 1 << 16;
    static constexpr std::size_t max_piece = 64; // longer ones hardly ever come twice

    const Slot* find(std::string_view piece) const {
        if (slots_.empty() || piece.size() > max_piece) return nullptr;
        return &slots_[std::hash<std::string_view>()(piece) % slots_.size()];
    }
    Slot* find(std::string_view piece) { return const_cast<Slot*>(std::as_const(*this).find(piece)); }

    std::vector<Slot> slots_;
};

} // namespace

BpeTokenizer::BpeTokenizer(BpeParts parts)
    : tokens_(std::move(parts.tokens)), model_size_(tokens_.size()), merges_(std::move(parts.merges), model_size_),
      added_(std::move(parts.added)) {
    for (std::size_t id = 0; id < model_size_; ++id)
        if (tokens_[id].size() == 1)
            byte_ids_[static_cast<unsigned char>(tokens_[id].front())] = static_cast<Token>(id);
    for (const AddedToken& token : added_.all()) {
        const auto id = static_cast<std::size_t>(token.id);
        if (id >= tokens_.size()) tokens_.resize(id + 1);
        tokens_[id] = token.content;
    }
    for (const std::string& token : tokens_) longest_ = std::max(longest_, token.size());
    if (const AddedToken* token = added_.find(end_of_text_name)) end_of_text_ = token->id;
}

void BpeTokenizer::encode(std::string_view text, bool special, std::vector<Token>& out) const {
    if (text.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
        fail(ErrorCode::limit, "text to encode: expected at most ", std::numeric_limits<std::int32_t>::max(),
             " bytes, found ", text.size());
    PieceCache cache(text.size());
    MergeTable::Scratch scratch;
    const auto on_piece = [&](std::string_view piece) {
        if (cache.copy(piece, out)) return;
        const std::size_t first = out.size();
        for (const char c : piece) out.push_back(byte_ids_[static_cast<unsigned char>(c)]);
        if (piece.size() > 1) merges_.apply(out, first, scratch);
        cache.remember(piece, first, out.size() - first);
    };
    const auto on_text = [&](std::string_view part) {
        PreTokenizer::Walk walk(pre_tokenizer_, part);
        for (std::string_view piece = walk.next(); !piece.empty(); piece = walk.next()) on_piece(piece);
    };
    added_.split(text, special, on_text, [&](Token token) { out.push_back(token); });
}

void BpeTokenizer::append(Token token, std::string& out) const {
    if (token < 0 || token >= vocab_size())
        fail(ErrorCode::limit, "token ", token, ": expected 0 to ", vocab_size() - 1);
    out += tokens_[static_cast<std::size_t>(token)];
}

std::unique_ptr<Tokenizer> make_byte_tokenizer() {
    BpeParts parts;
    for (int byte = 0; byte < 256; ++byte) parts.tokens.emplace_back(1, static_cast<char>(byte));
    parts.tokens.emplace_back(end_of_text_name);
    parts.added.push_back({256, std::string(end_of_text_name)});
    return std::make_unique<BpeTokenizer>(std::move(parts));
}

} // namespace ordo
