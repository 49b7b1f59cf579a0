// SPDX-License-Identifier: MIT
#include "tools/cli/documents.h"

#include "core/error.h"
#include "text/tokenizer.h"

#include <algorithm>

namespace ordo::tools {

std::vector<Document> read_documents(std::string_view text, const Model& model, std::string_view name) {
    std::vector<Document> documents;
    while (!text.empty()) {
        const std::size_t mark = text.find(end_of_text_name);
        std::string_view body = text.substr(0, mark);
        text.remove_prefix(mark == std::string_view::npos ? text.size() : mark + end_of_text_name.size());
        while (body.starts_with('\n')) body.remove_prefix(1);
        while (body.ends_with('\n')) body.remove_suffix(1);
        if (body.empty()) continue;
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
