// SPDX-License-Identifier: MIT
#include "io/json_writer.h"
#include "text/pipeline.h"

#include <algorithm>

namespace ordo {
namespace {

// On one line, with a space after each comma and colon.
void write_line(const JsonValue& value, std::string& out) {
    const char* separator = "";
    if (const JsonValue::Object* members = value.object()) {
        out += '{';
        for (const JsonValue::Member& member : *members) {
            out += separator + json_quoted(member.key) + ": ";
            write_line(member.value, out);
            separator = ", ";
        }
        out += '}';
    } else if (const JsonValue::Array* items = value.array()) {
        out += '[';
        for (const JsonValue& item : *items) {
            out += separator;
            write_line(item, out);
            separator = ", ";
        }
        out += ']';
    } else {
        JsonWriter writer;
        writer.value(value);
        out += writer.take();
    }
}

void write_added_tokens(const AddedTokens& added, std::string& out) {
    std::vector<const AddedToken*> tokens;
    for (const AddedToken& token : added.all()) tokens.push_back(&token);
    std::sort(tokens.begin(), tokens.end(), [](auto* a, auto* b) { return a->id < b->id; });
    out += '[';
    const char* separator = "\n    ";
    const auto flag = [](bool value) { return value ? "true" : "false"; };
    for (const AddedToken* token : tokens) {
        out += separator;
        out += "{\"id\": " + std::to_string(token->id) + ", \"content\": " + json_quoted(token->content) +
               ", \"single_word\": " + flag(token->single_word) + ", \"lstrip\": " + flag(token->lstrip) +
               ", \"rstrip\": " + flag(token->rstrip) + ", \"normalized\": " + flag(token->normalized) +
               ", \"special\": " + flag(token->special) + "}";
        separator = ",\n    ";
    }
    out += "\n  ]";
}

void write_vocabulary(const Pipeline& p, std::string& out) {
    const bool scored = !p.file.scores.empty();
    const char* separator = "\n      ";
    out += scored ? '[' : '{';
    for (std::size_t id = 0; id < p.vocabulary->size(); ++id) {
        if ((*p.vocabulary)[id].empty()) continue;
        const std::string spelling = json_quoted((*p.vocabulary)[id]);
        out += separator;
        if (scored) {
            JsonWriter score;
            score.value(p.file.scores[id]);
            out += "[" + spelling + ", " + score.take() + "]";
        } else {
            out += spelling + ": " + std::to_string(id);
        }
        separator = ",\n      ";
    }
    out += scored ? "\n    ]" : "\n    }";
}

// "a b" if no token has a space, because older readers do not accept ["a", "b"].
void write_merges(const PackedStrings& merges, std::string& out) {
    bool spaces = false;
    for (std::size_t i = 0; i < merges.size(); ++i) spaces = spaces || merges[i].find(' ') != std::string_view::npos;
    const char* separator = "\n      ";
    out += '[';
    for (std::size_t i = 0; i < merges.size(); i += 2) {
        out += separator;
        out += spaces ? "[" + json_quoted(merges[i]) + ", " + json_quoted(merges[i + 1]) + "]"
                      : json_quoted(std::string(merges[i]).append(" ").append(merges[i + 1]));
        separator = ",\n      ";
    }
    out += "\n    ]";
}

void write_model(const JsonValue& model, const Pipeline& p, std::string& out) {
    out += '{';
    const char* separator = "\n    ";
    for (const JsonValue::Member& member : *model.object()) {
        out += separator + json_quoted(member.key) + ": ";
        if (member.key == "vocab") {
            write_vocabulary(p, out);
        } else if (member.key == "merges") {
            write_merges(p.file.merges, out);
        } else {
            write_line(member.value, out);
        }
        separator = ",\n    ";
    }
    out += "\n  }";
}

} // namespace

std::string write_tokenizer(const Pipeline& p) {
    std::string out = "{";
    const char* separator = "\n  ";
    for (const JsonValue::Member& member : *p.file.rest.object()) {
        out += separator + json_quoted(member.key) + ": ";
        if (member.key == "added_tokens") {
            write_added_tokens(p.added, out);
        } else if (member.key == "model") {
            write_model(member.value, p, out);
        } else {
            write_line(member.value, out);
        }
        separator = ",\n  ";
    }
    return out + "\n}\n";
}

} // namespace ordo
