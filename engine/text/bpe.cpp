// SPDX-License-Identifier: MIT
#include "core/error.h"
#include "core/utf8.h"
#include "io/json.h"
#include "text/byte_alphabet.h"
#include "text/normalizer.h"
#include "text/token_model.h"

#include <algorithm>
#include <array>

namespace ordo {
namespace {

std::string text_or_none(const JsonValue& model, std::string_view key, const std::string& where) {
    return is_null(model, key) ? std::string() : get_string(model, key, where);
}

// Throws an error that names the merge if the vocabulary lacks one of its spellings.
std::vector<Merge> read_merges(const PackedStrings& pairs, const Vocabulary& vocabulary, const std::string& prefix,
                               const std::string& where) {
    std::vector<Merge> merges;
    merges.reserve(pairs.size() / 2);
    const auto find = [&](std::string_view spelled) {
        const Token id = vocabulary.find(spelled);
        if (id == Vocabulary::absent)
            fail(ErrorCode::model, where, "[", merges.size(), "]: \"", printable(spelled),
                 "\" is not in the vocabulary");
        return id;
    };
    std::string product;
    for (std::size_t i = 0; i < pairs.size(); i += 2) {
        const std::string_view left = pairs[i], right = pairs[i + 1];
        product.assign(left).append(right.starts_with(prefix) ? right.substr(prefix.size()) : right);
        const Token left_id = find(left), right_id = find(right);
        merges.push_back({left_id, right_id, find(product)});
    }
    return merges;
}

void check_repeats(const MergeTable& table, const std::string& where) {
    for (std::size_t i = 0; i < table.merges().size(); ++i) {
        const Merge& merge = table.merges()[i];
        if (const std::uint32_t first = table.rank(merge.left, merge.right); first != i)
            fail(ErrorCode::model, where, "[", i, "]: repeats merge ", first);
    }
}

// ignore_merges: a piece that is a token as a whole becomes that token.
class WholePieces {
public:
    WholePieces(const JsonValue& model, const ModelParts& parts)
        : vocabulary_(parts.vocabulary), wanted_(get_bool_or(model, "ignore_merges", parts.where, false)) {
        if (wanted_) special_ = parts.special;
    }
    bool wanted() const { return wanted_; }
    bool encode(std::string_view spelling, std::vector<Token>& out) const {
        const Token whole = vocabulary_.find(spelling);
        if (whole == Vocabulary::absent || special_[whole]) return false;
        out.push_back(whole);
        return true;
    }

private:
    const Vocabulary& vocabulary_;
    std::vector<bool> special_;
    bool wanted_;
};

// BPE on bytes, each of which has a token: a piece starts as its bytes.
class ByteBpe final : public TokenModel {
public:
    ByteBpe(const JsonValue& model, const ModelParts& parts, const std::array<Token, 256>& byte_ids)
        : vocabulary_(parts.vocabulary),
          merges_(read_merges(parts.file.merges, vocabulary_, "", parts.where + ".merges"), vocabulary_.size()),
          byte_ids_(byte_ids), whole_(model, parts) {
        check_repeats(merges_, parts.where + ".merges");
    }

    void encode(std::string_view piece, std::vector<Token>& out, Scratch& scratch) const override {
        if (whole_.wanted() && whole_.encode(spell_bytes(piece), out)) return;
        const std::size_t first = out.size();
        for (const char c : piece) out.push_back(byte_ids_[static_cast<unsigned char>(c)]);
        if (piece.size() > 1) merges_.apply(out, first, scratch.merges);
    }

private:
    const Vocabulary& vocabulary_;
    MergeTable merges_;
    std::array<Token, 256> byte_ids_;
    WholePieces whole_;
};

// BPE on characters.
class CharBpe final : public TokenModel {
public:
    CharBpe(const JsonValue& model, const ModelParts& parts)
        : vocabulary_(parts.vocabulary), prefix_(text_or_none(model, "continuing_subword_prefix", parts.where)),
          suffix_(text_or_none(model, "end_of_word_suffix", parts.where)),
          merges_(read_merges(parts.file.merges, vocabulary_, prefix_, parts.where + ".merges"), vocabulary_.size()),
          bytes_(vocabulary_, get_bool_or(model, "byte_fallback", parts.where, false)), whole_(model, parts),
          fuses_unknowns_(get_bool_or(model, "fuse_unk", parts.where, false)) {
        const std::string& where = parts.where;
        check_repeats(merges_, where + ".merges");
        if (is_null(model, "unk_token")) return;
        const std::string& unknown = get_string(model, "unk_token", where);
        unknown_ = vocabulary_.find(unknown);
        if (unknown_ == Vocabulary::absent)
            fail(ErrorCode::model, where, ": unk_token: \"", printable(unknown), "\" is not in the vocabulary");
    }

    void encode(std::string_view piece, std::vector<Token>& out, Scratch& scratch) const override {
        if (whole_.wanted() && whole_.encode(piece, out)) return;
        const std::size_t first = out.size();
        spell(piece, out, scratch.text);
        if (out.size() > first + 1) merges_.apply(out, first, scratch.merges);
    }

private:
    // Appends the tokens of single characters. As in Hugging Face's library, an unknown one is appended only before the
    // next known one or at another unknown one, so fallback bytes in between come before it.
    void spell(std::string_view piece, std::vector<Token>& out, std::string& spelling) const {
        bool unknown_waits = false;
        for (std::size_t at = 0; at < piece.size();) {
            const std::size_t length = std::max<std::size_t>(1, utf8_length(piece.substr(at)));
            spelling.assign(at > 0 ? prefix_ : "").append(piece.substr(at, length));
            at += length;
            if (at == piece.size()) spelling += suffix_;
            const Token token = vocabulary_.find(spelling);
            if (token == Vocabulary::absent && bytes_.encode(spelling, out)) continue;
            const bool known = token != Vocabulary::absent;
            if (unknown_waits && (known || !fuses_unknowns_)) out.push_back(unknown_);
            if (known) out.push_back(token);
            unknown_waits = !known && unknown_ != Vocabulary::absent;
        }
        if (unknown_waits) out.push_back(unknown_);
    }

    const Vocabulary& vocabulary_;
    std::string prefix_, suffix_; // of spellings inside a piece, and at its end
    MergeTable merges_;
    ByteFallback bytes_;
    WholePieces whole_;
    bool fuses_unknowns_;
    Token unknown_ = Vocabulary::absent;
};

// BPE on the characters that spell bytes. Characters that training never saw have no token.
class SpelledBpe final : public TokenModel {
public:
    SpelledBpe(const JsonValue& model, const ModelParts& parts) : characters_(model, parts) {}

    void encode(std::string_view piece, std::vector<Token>& out, Scratch& scratch) const override {
        characters_.encode(spell_bytes(piece), out, scratch);
    }

private:
    CharBpe characters_;
};

// The token of each byte; absent where there is none.
std::array<Token, 256> find_bytes(const Vocabulary& vocabulary) {
    std::array<Token, 256> ids{};
    for (std::size_t byte = 0; byte < ids.size(); ++byte)
        ids[byte] = vocabulary.find(spell_bytes(std::string(1, static_cast<char>(byte))));
    return ids;
}

} // namespace

std::unique_ptr<TokenModel> make_bpe(const ModelParts& parts) {
    const std::string& where = parts.where;
    const JsonValue& model = get_object(parts.file.rest, "model", where);
    get_array(model, "merges", where);
    if (!is_null(model, "dropout") && get_number(model, "dropout", where, 0, 1) > 0)
        fail(ErrorCode::model, where, ": dropout: expected null, found ", describe(get_member(model, "dropout", where)),
             ", which is not supported");
    if (!parts.bytes) return std::make_unique<CharBpe>(model, parts);
    const std::array<Token, 256> byte_ids = find_bytes(parts.vocabulary);
    const bool whole = std::find(byte_ids.begin(), byte_ids.end(), Vocabulary::absent) == byte_ids.end();
    const bool affixed = !text_or_none(model, "continuing_subword_prefix", where).empty() ||
                         !text_or_none(model, "end_of_word_suffix", where).empty();
    if (!whole || affixed) return std::make_unique<SpelledBpe>(model, parts);
    return std::make_unique<ByteBpe>(model, parts, byte_ids);
}

ByteFallback::ByteFallback(const Vocabulary& vocabulary, bool wanted) {
    if (!wanted) return;
    for (int byte = 0; byte < 256; ++byte)
        ids_.push_back(vocabulary.find(spelling_of_byte(static_cast<unsigned char>(byte))));
}

bool ByteFallback::encode(std::string_view text, std::vector<Token>& out) const {
    const std::size_t first = out.size();
    for (const char c : text) {
        const Token id = ids_.empty() ? Vocabulary::absent : ids_[static_cast<unsigned char>(c)];
        if (id == Vocabulary::absent) {
            out.resize(first);
            return false;
        }
        out.push_back(id);
    }
    return true;
}

} // namespace ordo
