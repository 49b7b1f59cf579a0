// SPDX-License-Identifier: MIT
#include "tools/train/documents.h"

#include "core/error.h"
#include "io/file.h"
#include "model/model_access.h"
#include "text/tokenizer.h"
#include "tools/train/sha256.h"

#include <algorithm>

namespace ordo::tools {

std::string_view without_outer_newlines(std::string_view text) {
    while (text.starts_with('\n')) text.remove_prefix(1);
    while (text.ends_with('\n')) text.remove_suffix(1);
    return text;
}

std::vector<std::string_view> split_documents(std::string_view text) {
    std::vector<std::string_view> documents;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(end_of_text_name), text.size());
        const std::string_view document = without_outer_newlines(text.substr(0, end));
        text.remove_prefix(std::min(end + end_of_text_name.size(), text.size()));
        if (!document.empty()) documents.push_back(document);
    }
    return documents;
}

namespace {

// The number of text bytes for each token. If decoding gives another text (lower case, one space for two), the text's
// bytes are distributed in proportion. So bits per byte always refer to the text's own bytes.
std::vector<std::uint16_t> bytes_by_token(const Tokenizer& tokenizer, std::span<const Token> tokens,
                                          std::size_t text_bytes) {
    std::string piece;
    const auto size_of = [&](const Token& token) {
        piece.clear();
        tokenizer.append(token, piece, &token == tokens.data());
        return piece.size();
    };
    std::size_t decoded = 0, end = 0, before = 0;
    for (const Token& token : tokens) decoded += size_of(token);
    std::vector<std::uint16_t> bytes;
    bytes.reserve(tokens.size() + 1);
    for (const Token& token : tokens) {
        end += size_of(token);
        const double share = decoded == 0 ? 0 : static_cast<double>(end) / static_cast<double>(decoded);
        const auto now =
            decoded == text_bytes ? end : static_cast<std::size_t>(share * static_cast<double>(text_bytes));
        bytes.push_back(static_cast<std::uint16_t>(std::min<std::size_t>(now - before, 65535)));
        before = now;
    }
    return bytes;
}

} // namespace

std::vector<Document> read_documents(std::string_view text, const Model& model, std::string_view name) {
    std::vector<Document> documents;
    for (const std::string_view body : split_documents(text)) {
        Document& document = documents.emplace_back();
        document.tokens = model.encode(body);
        document.bytes = bytes_by_token(*tokenizer_of(model), document.tokens, body.size());
        if (model.start_of_text() < 0) continue;
        document.tokens.insert(document.tokens.begin(), model.start_of_text());
        document.bytes.insert(document.bytes.begin(), 0);
    }
    if (std::all_of(documents.begin(), documents.end(), [](const Document& d) { return d.tokens.size() < 2; }))
        fail(ErrorCode::usage, printable(name), ": expected a text of at least two tokens, found less");
    return documents;
}

std::vector<std::vector<Token>> tokens_of(std::vector<Document> documents) {
    std::vector<std::vector<Token>> tokens;
    for (Document& document : documents) tokens.push_back(std::move(document.tokens));
    return tokens;
}

bool learned_from(const Metadata& record, const std::filesystem::path& text) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(text, error)) return false;
    const std::string digest = sha256(read_file(text, std::size_t{1} << 40));
    return std::ranges::any_of(std::initializer_list<std::string_view>{"corpus.sha256", "finish.sha256"},
                               [&](std::string_view key) {
                                   const auto found = record.find(key);
                                   return found != record.end() && found->second == digest;
                               });
}

} // namespace ordo::tools
