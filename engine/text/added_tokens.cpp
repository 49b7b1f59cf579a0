// SPDX-License-Identifier: MIT
#include "text/added_tokens.h"

#include <algorithm>

namespace ordo {

// ---- One set --------------------------------------------------------------------------------

AddedTokens::Set::Set(const std::vector<AddedToken>& tokens, bool special, bool normalized) {
    for (const AddedToken& token : tokens) {
        if (token.normalized != normalized || (token.special && !special)) continue;
        const std::uint32_t shorter = shorter_of(token.content);
        const Entry& next = entries_[shorter];
        const Entry& far = entries_[next.far];
        // Two jumps of one length make one of twice the length; else the step is the jump.
        const bool twice = shorter != 0 && next.depth - far.depth == far.depth - entries_[far.far].depth;
        entries_.push_back({token.content, token.id, shorter, twice ? far.far : shorter, next.depth + 1});
        longest_ = std::max(longest_, token.content.size());
        starts_[static_cast<unsigned char>(token.content.front())] = true;
    }
}

// The longest entry that a content behind all of them begins with. What it shares with the last one it may
// share with others of that one's chain, and with no more.
std::uint32_t AddedTokens::Set::shorter_of(std::string_view content) const {
    auto at = static_cast<std::uint32_t>(entries_.size() - 1);
    while (!content.starts_with(entries_[at].content)) at = entries_[at].shorter;
    return at;
}

const AddedTokens::Set::Entry& AddedTokens::Set::longest_at(std::string_view text) const {
    if (!starts_[static_cast<unsigned char>(text.front())]) return entries_.front();
    text = text.substr(0, longest_);
    const auto behind = std::upper_bound(entries_.begin() + 1, entries_.end(), text,
                                         [](std::string_view key, const Entry& entry) { return key < entry.content; });
    const Entry* at = &*(behind - 1);
    const auto common = static_cast<std::size_t>(
        std::mismatch(text.begin(), text.end(), at->content.begin(), at->content.end()).first - text.begin());
    while (at->content.size() > common) {
        const Entry& far = entries_[at->far];
        at = far.content.size() > common ? &far : &entries_[at->shorter];
    }
    return *at;
}

// ---- All ------------------------------------------------------------------------------------

AddedTokens::AddedTokens(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
    std::sort(tokens_.begin(), tokens_.end(), [](const auto& a, const auto& b) { return a.content < b.content; });
    for (const bool normalized : {false, true})
        for (const bool special : {false, true}) sets_.emplace_back(tokens_, special, normalized);
}

const AddedToken* AddedTokens::find(std::string_view content) const {
    const auto at = std::lower_bound(tokens_.begin(), tokens_.end(), content,
                                     [](const AddedToken& token, std::string_view key) { return token.content < key; });
    return at != tokens_.end() && at->content == content ? &*at : nullptr;
}

void AddedTokens::split_pass(const Set& set, std::string_view text,
                             const std::function<void(std::string_view)>& on_text,
                             const std::function<void(Token)>& on_token) {
    std::size_t begin = 0;
    for (std::size_t i = 0; i < text.size();) {
        const auto& token = set.longest_at(text.substr(i));
        if (token.content.empty()) {
            ++i;
            continue;
        }
        if (i > begin) on_text(text.substr(begin, i - begin));
        on_token(token.id);
        i += token.content.size();
        begin = i;
    }
    if (begin < text.size()) on_text(text.substr(begin));
}

void AddedTokens::split(std::string_view text, bool special, const std::function<void(std::string_view)>& on_text,
                        const std::function<void(Token)>& on_token) const {
    if (sets_.empty()) {
        if (!text.empty()) on_text(text);
        return;
    }
    const std::size_t kind = special ? 1 : 0;
    split_pass(
        sets_[kind], text, [&](std::string_view rest) { split_pass(sets_[2 + kind], rest, on_text, on_token); },
        on_token);
}

} // namespace ordo
