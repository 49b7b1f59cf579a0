// SPDX-License-Identifier: MIT
#include "text/pipeline.h"

#include "core/error.h"
#include "text/byte_alphabet.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <new>
#include <utility>

namespace ordo {
namespace {

// Caches, for one call, the places of earlier pieces' tokens in its output. A slot holds one piece and is overwritten
// by the next piece with that slot: memory is bounded.
class PieceCache {
public:
    explicit PieceCache(std::size_t text_size)
        : slots_(text_size < min_text ? 0 : std::bit_floor(std::min(text_size / 8, max_slots))) {}

    // Appends the cached tokens of a piece; false if they are not cached.
    bool copy(std::string_view piece, std::vector<Token>& out) const {
        const std::size_t at = slot_of(piece);
        if (at == slots_.size() || slots_[at].piece != piece) return false;
        for (std::size_t i = 0; i < slots_[at].count; ++i) out.push_back(out[slots_[at].first + i]);
        return true;
    }
    void remember(std::string_view piece, std::size_t first, std::size_t count) {
        const std::size_t at = slot_of(piece);
        if (at == slots_.size()) return;
        slots_[at].piece.assign(piece);
        slots_[at].first = first;
        slots_[at].count = count;
    }

private:
    struct Slot {
        std::string piece;
        std::size_t first = 0, count = 0;
    };
    static constexpr std::size_t min_text = 4096; // shorter texts repeat too little
    static constexpr std::size_t max_slots = 1 << 16;
    static constexpr std::size_t max_piece = 64; // longer pieces hardly ever repeat

    // The index of a piece's slot; slots_.size() for a piece without one.
    std::size_t slot_of(std::string_view piece) const {
        if (slots_.empty() || piece.size() > max_piece) return slots_.size();
        return std::hash<std::string_view>()(piece) % slots_.size();
    }

    std::vector<Slot> slots_;
};

class PipelineTokenizer final : public Tokenizer {
public:
    PipelineTokenizer(Pipeline pipeline, const std::string& where) : p_(std::move(pipeline)), where_(where) {
        special_.resize(p_.n_tokens);
        std::vector<const AddedToken*> added(special_.size());
        for (const AddedToken& token : p_.added.all()) {
            special_[token.id] = token.special;
            added[token.id] = &token;
        }
        const auto spelling = [&](std::size_t id) {
            if (added[id] != nullptr) return std::string_view(added[id]->content);
            return id < p_.vocabulary->size() ? (*p_.vocabulary)[id] : std::string_view();
        };
        std::size_t bytes = 0;
        for (std::size_t id = 0; id < special_.size(); ++id) bytes += 2 * spelling(id).size();
        Allowance allowance(where, bytes); // for all tokens together, each as the first and not
        for (std::size_t id = 0; id < special_.size(); ++id)
            add_text(spelling(id),
                     added[id] != nullptr && (added[id]->special || p_.decodes_bytes) && !spells_bytes(id), allowance);
        if (texts_ == first_texts_) first_texts_ = {};
    }

    int vocab_size() const override { return p_.n_tokens; }
    const Frame& frame() const override { return p_.frame; }
    std::size_t longest() const override { return longest_; }
    const std::vector<std::string>& ignored() const override { return p_.ignored; }
    std::string to_json() const override { return write_tokenizer(p_); }

    void encode(std::string_view text, bool special, std::vector<Token>& out) const override {
        try {
            append_tokens(text, special, out);
        } catch (const std::bad_alloc&) {
            fail(ErrorCode::limit, where_, ": not enough memory to encode a text of ", text.size(), " bytes");
        }
    }

    void append(Token token, std::string& out, bool first) const override {
        if (token < 0 || token >= vocab_size())
            fail(ErrorCode::limit, "token ", token, ": expected 0 to ", vocab_size() - 1);
        const PackedStrings& texts = first && first_texts_.size() > 0 ? first_texts_ : texts_;
        out += texts[token];
    }

    Token find(std::string_view spelling) const override {
        if (spelling.empty()) return -1;
        if (const AddedToken* added = p_.added.find(spelling)) return added->id;
        return p_.vocabulary->find(spelling);
    }

    bool is_special(Token token) const override { return token >= 0 && token < vocab_size() && special_[token]; }

private:
    void append_tokens(std::string_view text, bool special, std::vector<Token>& out) const {
        if (text.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
            fail(ErrorCode::limit, "text to encode: expected at most ", std::numeric_limits<std::int32_t>::max(),
                 " bytes, found ", text.size());
        Allowance allowance("text to encode", text.size());
        // The ids of a long text would take twice their memory while they grow. Untouched memory is not resident.
        constexpr std::size_t least = std::size_t{1} << 20, most = std::size_t{64} << 20, frame = 16;
        if (text.size() >= least && text.size() <= most) out.reserve(out.size() + text.size() + frame);
        PieceCache cache(text.size());
        TokenModel::Scratch scratch;
        const auto on_token = [&](Token token) { out.push_back(token); };
        const PieceSink on_piece = [&](const Piece& piece) {
            if (cache.copy(piece.text, out)) return;
            const std::size_t first = out.size();
            p_.model->encode(piece.text, out, scratch);
            cache.remember(piece.text, first, out.size() - first);
        };
        // The text between added tokens is normalised and split on its own.
        const auto on_part = [&](std::string_view part) {
            const bool first = part.data() == text.data();
            std::string changed;
            if (p_.normalize) {
                changed = part;
                p_.normalize(changed, allowance);
                part = changed;
            }
            const char* const begin = part.data();
            const auto on_text = [&](std::string_view rest) {
                const Piece piece{rest, first && rest.data() == begin};
                p_.cut ? p_.cut(piece, allowance, on_piece) : on_piece(piece);
            };
            p_.added.split(part, special, true, on_text, on_token);
        };
        p_.added.split(text, special, false, on_part, on_token);
    }

    // Whether an entry of the vocabulary spells other bytes. It stands for these even if the same token was added, such
    // as SmolLM2's "\u00ef\u00bf\u00bd" for the bytes of U+FFFD.
    bool spells_bytes(std::size_t id) const {
        if (!p_.decodes_bytes || id >= p_.vocabulary->size()) return false;
        const std::string_view entry = (*p_.vocabulary)[id];
        const auto bytes = unspell_bytes(entry);
        return bytes && *bytes != entry;
    }

    // exact: the text is the spelling, apart from spaces that a decoder may put before it. This holds for special
    // tokens, and for added tokens if the others spell bytes.
    void add_text(std::string_view spelling, bool exact, Allowance& allowance) {
        std::string text(spelling), first_text(spelling);
        if (!spelling.empty()) { // an unused id has no text
            p_.decode(text, false, allowance);
            p_.decode(first_text, true, allowance);
        }
        if (exact && first_text != spelling) text = first_text = spelling;
        longest_ = std::max({longest_, text.size(), first_text.size()});
        texts_.add(text);
        first_texts_.add(first_text);
    }

    Pipeline p_;
    std::string where_;
    std::vector<bool> special_;         // of each id
    PackedStrings texts_, first_texts_; // of each id; first_texts_ is empty if both are the same
    std::size_t longest_ = 0;           // in bytes
};

std::vector<Token> put_together(const Tokenizer& tokenizer, const std::vector<Frame::Part>& parts,
                                std::string_view text, std::string_view second, bool special,
                                std::vector<int>* segments) {
    std::vector<Token> tokens;
    if (segments != nullptr) segments->clear();
    for (const Frame::Part& part : parts) {
        if (part.text < 0) {
            tokens.insert(tokens.end(), part.tokens.begin(), part.tokens.end());
        } else {
            tokenizer.encode(part.text == 0 ? text : second, special, tokens);
        }
        if (segments != nullptr) segments->resize(tokens.size(), part.segment);
    }
    return tokens;
}

} // namespace

std::vector<Token> Frame::before() const {
    std::vector<Token> tokens;
    for (const Part& part : one) {
        if (part.text >= 0) break;
        tokens.insert(tokens.end(), part.tokens.begin(), part.tokens.end());
    }
    return tokens;
}

std::vector<Token> Frame::after() const {
    std::vector<Token> tokens;
    for (auto part = one.rbegin(); part != one.rend() && part->text < 0; ++part)
        tokens.insert(tokens.begin(), part->tokens.begin(), part->tokens.end());
    return tokens;
}

std::vector<Token> encode_framed(const Tokenizer& tokenizer, std::string_view text, bool special,
                                 std::vector<int>* segments) {
    return put_together(tokenizer, tokenizer.frame().one, text, {}, special, segments);
}

std::vector<Token> encode_framed(const Tokenizer& tokenizer, std::string_view text, std::string_view second,
                                 bool special, std::vector<int>* segments) {
    return put_together(tokenizer, tokenizer.frame().two, text, second, special, segments);
}

std::unique_ptr<Tokenizer> make_tokenizer(Pipeline pipeline, const std::string& where) {
    return std::make_unique<PipelineTokenizer>(std::move(pipeline), where);
}

} // namespace ordo
