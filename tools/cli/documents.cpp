// SPDX-License-Identifier: MIT
#include "tools/cli/documents.h"

#include "core/error.h"
#include "text/tokenizer.h"

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

std::vector<Document> read_documents(std::string_view text, const Model& model, std::string_view name) {
    std::vector<Document> documents;
    for (const std::string_view body : split_documents(text)) {
        Document& document = documents.emplace_back();
        if (model.start_of_text() >= 0) document.tokens.push_back(model.start_of_text());
        for (const Token token : model.encode(body)) document.tokens.push_back(token);
        for (const Token token : document.tokens)
            document.bytes.push_back(static_cast<int>(model.decode({&token, 1}).size()));
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

} // namespace ordo::tools
