// SPDX-License-Identifier: MIT
#include "text/added_tokens.h"

#include "text/unicode.h"

#include <algorithm>

namespace ordo {
namespace {

bool starts_with_space(std::string_view text) {
    return unicode::is_white_space(unicode::first_char(text).point);
}
bool ends_with_space(std::string_view text) {
    return unicode::is_white_space(unicode::last_char(text).point);
}
bool stands_alone(std::string_view text, std::size_t begin, std::size_t end) {
    return (begin == 0 || !unicode::is_word(unicode::last_char(text.substr(0, begin)).point)) &&
           (end == text.size() || !unicode::is_word(unicode::first_char(text.substr(end)).point));
}

} // namespace

// ---- One set --------------------------------------------------------------------------------

AddedTokens::Set::Set(std::vector<Sought> tokens) {
    std::stable_sort(tokens.begin(), tokens.end(), [](const auto& a, const auto& b) { return a.text < b.text; });
    for (const Sought& sought : tokens) {
        if (sought.text.empty() || sought.text == entries_.back().text) continue; // nothing to find, or a duplicate
        const std::uint32_t shorter = shorter_of(sought.text);
        const Entry& next = entries_[shorter];
        const Entry& far = entries_[next.far];
        // Two jumps of equal length make one of twice the length. Otherwise the jump is a single step.
        const bool twice = shorter != 0 && next.depth - far.depth == far.depth - entries_[far.far].depth;
        entries_.push_back({sought.text, sought.token, shorter, twice ? far.far : shorter, next.depth + 1});
        longest_ = std::max(longest_, sought.text.size());
        starts_[static_cast<unsigned char>(sought.text.front())] = true;
    }
}

// The longest entry that is a prefix of a text sorted after all entries. Such a prefix is the last entry or in its
// chain.
std::uint32_t AddedTokens::Set::shorter_of(std::string_view text) const {
    auto at = static_cast<std::uint32_t>(entries_.size() - 1);
    while (!text.starts_with(entries_[at].text)) at = entries_[at].shorter;
    return at;
}

const AddedTokens::Set::Entry& AddedTokens::Set::longest_at(std::string_view text) const {
    if (!starts_[static_cast<unsigned char>(text.front())]) return entries_.front();
    text = text.substr(0, longest_);
    const auto behind = std::upper_bound(entries_.begin() + 1, entries_.end(), text,
                                         [](std::string_view key, const Entry& entry) { return key < entry.text; });
    const Entry* at = &*(behind - 1);
    const auto common = static_cast<std::size_t>(
        std::mismatch(text.begin(), text.end(), at->text.begin(), at->text.end()).first - text.begin());
    while (at->text.size() > common) {
        const Entry& far = entries_[at->far];
        at = far.text.size() > common ? &far : &entries_[at->shorter];
    }
    return *at;
}

// ---- All ------------------------------------------------------------------------------------

AddedTokens::AddedTokens(std::vector<AddedToken> tokens, const Normalizer& normalize, const std::string& where)
    : tokens_(std::move(tokens)) {
    std::sort(tokens_.begin(), tokens_.end(), [](const auto& a, const auto& b) { return a.content < b.content; });
    std::size_t bytes = 0;
    for (const AddedToken& token : tokens_) bytes += token.content.size();
    Allowance allowance(where, bytes); // for all tokens together
    for (const AddedToken& token : tokens_) {
        if (!token.normalized) continue;
        normalized_.push_back(token.content);
        if (normalize) normalize(normalized_.back(), allowance);
    }
    for (const bool normalized : {false, true})
        for (const bool special : {false, true}) {
            std::vector<Set::Sought> sought;
            std::size_t n_normalized = 0;
            for (const AddedToken& token : tokens_) {
                const std::string& text = token.normalized ? normalized_[n_normalized++] : token.content;
                if (token.normalized == normalized && (special || !token.special)) sought.push_back({text, &token});
            }
            sets_.emplace_back(std::move(sought));
        }
}

const AddedToken* AddedTokens::find(std::string_view content) const {
    const auto at = std::lower_bound(tokens_.begin(), tokens_.end(), content,
                                     [](const AddedToken& token, std::string_view key) { return token.content < key; });
    return at != tokens_.end() && at->content == content ? &*at : nullptr;
}

void AddedTokens::split(std::string_view text, bool special, bool normalized,
                        const std::function<void(std::string_view)>& on_text,
                        const std::function<void(Token)>& on_token) const {
    std::size_t begin = 0; // of the text that has not been passed on yet
    for (std::size_t i = 0; i < text.size() && !sets_.empty();) {
        const auto& found = sets_[(normalized ? 2 : 0) + (special ? 1 : 0)].longest_at(text.substr(i));
        if (found.token == nullptr) {
            ++i;
            continue;
        }
        std::size_t start = i, end = i + found.text.size();
        i = end;
        if (found.token->single_word && !stands_alone(text, start, end)) continue;
        while (found.token->lstrip && start > begin && ends_with_space(text.substr(begin, start - begin)))
            start -= unicode::last_char(text.substr(begin, start - begin)).length;
        while (found.token->rstrip && end < text.size() && starts_with_space(text.substr(end)))
            end += unicode::first_char(text.substr(end)).length;
        if (start > begin) on_text(text.substr(begin, start - begin));
        on_token(found.token->id);
        i = begin = end;
    }
    if (begin < text.size()) on_text(text.substr(begin));
}

} // namespace ordo
