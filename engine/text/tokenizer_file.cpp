// SPDX-License-Identifier: MIT
#include "text/tokenizer_file.h"

#include "core/error.h"

namespace ordo {
namespace {

class TokenizerEvents final : public JsonEvents {
public:
    TokenizerEvents(std::string_view where, std::size_t text_bytes)
        : where_(std::string(where) + ": model."), tree_(where, text_bytes, json_tokenizer_limits.repeats) {}

    void begin_object() override {
        if (in_ == In::vocab) wrong_id("an object");
        if (in_ == In::scored || in_ == In::score) wrong_score("an object");
        if (in_ == In::merges) begin_merge();
        if (in_ != In::rest) wrong_merge("an object");
        if (in_model() && member_ == "vocab") begin_vocab(In::vocab);
        if (depth_ == 1 && section_ == "model") file_ = {};
        ++depth_;
        tree_.begin_object();
    }
    void end_object() override {
        leave([&] { tree_.end_object(); });
    }

    void begin_array() override {
        if (in_ == In::vocab) wrong_id("an array");
        if (in_ == In::score) wrong_score("an array");
        if (in_ == In::pair) wrong_merge("an array");
        if (in_ == In::scored) {
            if (file_.ids.size() == TokenizerFile::max_entries) too_many("vocab", "entries");
            in_ = In::score;
            return;
        }
        if (in_ == In::merges) {
            begin_merge();
            in_ = In::pair;
            return;
        }
        if (in_model() && member_ == "merges") {
            in_ = In::merges;
            file_.merges = {}; // of a member that is named twice, the last one counts
            n_merges_ = 0;
        }
        if (in_model() && member_ == "vocab") begin_vocab(In::scored);
        ++depth_;
        tree_.begin_array();
    }
    void end_array() override {
        if (in_ == In::score) {
            if (file_.scores.size() != file_.vocab.size() || file_.scores.size() != file_.ids.size() + 1)
                wrong_score("an array");
            file_.ids.push_back(static_cast<int>(file_.ids.size()));
            in_ = In::scored;
            return;
        }
        if (in_ != In::pair) return leave([&] { tree_.end_array(); });
        if (file_.merges.size() % 2 != 0 || file_.merges.size() / 2 != n_merges_) wrong_merge("an array");
        in_ = In::merges;
    }

    void key(std::string&& name) override {
        if (in_ == In::vocab) {
            if (file_.vocab.size() == TokenizerFile::max_entries) too_many("vocab", "entries");
            file_.vocab.add(name);
            return;
        }
        if (depth_ == 1) {
            section_ = name;
            member_.clear();
        } else if (depth_ == 2) {
            member_ = name;
        }
        tree_.key(std::move(name));
    }

    void value(JsonValue&& scalar) override {
        switch (in_) {
        case In::rest:
            return tree_.value(std::move(scalar));
        case In::vocab:
            return add_id(scalar);
        case In::scored:
            wrong_score(describe(scalar));
        case In::score:
            return add_scored(scalar);
        case In::merges:
            begin_merge();
            return add_merge(scalar);
        case In::pair:
            if (!scalar.string() || file_.merges.size() == 2 * n_merges_) wrong_merge("an array");
            file_.merges.add(*scalar.string());
        }
    }

    TokenizerFile take() {
        file_.rest = tree_.take();
        return std::move(file_);
    }

private:
    enum class In { rest, vocab, scored, score, merges, pair };

    // Called before a value: whether it is a member of the top-level member "model".
    bool in_model() const { return depth_ == 2 && section_ == "model"; }

    void begin_vocab(In form) {
        in_ = form;
        file_.vocab = {};
        file_.ids.clear();
        file_.scores.clear();
        file_.repeats = form == In::vocab;
    }

    template <class End>
    void leave(const End& end) {
        in_ = In::rest; // the vocabulary has no nesting, and pairs in the merges have their own end
        --depth_;
        end();
    }

    void begin_merge() {
        if (n_merges_ == TokenizerFile::max_entries) too_many("merges", "merges");
        ++n_merges_;
    }
    void add_id(const JsonValue& scalar) {
        const std::uint64_t* id = scalar.unsigned_integer();
        if (!id || *id >= TokenizerFile::max_entries) wrong_id(describe(scalar));
        file_.ids.push_back(static_cast<int>(*id));
    }
    // A spelling, then its score.
    void add_scored(const JsonValue& scalar) {
        const std::size_t n = file_.ids.size();
        if (file_.vocab.size() == n && scalar.string()) return file_.vocab.add(*scalar.string());
        if (file_.vocab.size() != n + 1 || file_.scores.size() != n) wrong_score(describe(scalar));
        if (const double* fraction = scalar.fraction()) return file_.scores.push_back(*fraction);
        if (const auto* whole = scalar.unsigned_integer()) return file_.scores.push_back(static_cast<double>(*whole));
        if (const auto* negative = scalar.integer()) return file_.scores.push_back(static_cast<double>(*negative));
        wrong_score(describe(scalar));
    }
    // "left right"; newer files have [left, right].
    void add_merge(const JsonValue& merge) {
        if (!merge.string()) wrong_merge(describe(merge));
        const std::string& text = *merge.string();
        const std::size_t space = text.find(' ');
        if (space == text.npos || text.find(' ', space + 1) != text.npos)
            wrong_merge(describe(merge), " and a space between");
        file_.merges.add(std::string_view(text).substr(0, space));
        file_.merges.add(std::string_view(text).substr(space + 1));
    }

    [[noreturn]] void wrong_merge(const std::string& found, const char* more = "") const {
        fail(ErrorCode::model, where_, "merges[", n_merges_ - 1, "]: expected two tokens", more, ", found ", found);
    }
    [[noreturn]] void wrong_score(const std::string& found) const {
        fail(ErrorCode::model, where_, "vocab[", file_.ids.size(), "]: expected a token and its score, found ", found);
    }
    [[noreturn]] void wrong_id(const std::string& found) const {
        fail(ErrorCode::model, where_, "vocab: '", printable(file_.vocab[file_.vocab.size() - 1]),
             "': expected an integer from 0 to ", TokenizerFile::max_entries - 1, ", found ", found);
    }
    [[noreturn]] void too_many(const char* member, const char* things) const {
        fail(ErrorCode::model, where_, member, ": expected at most ", TokenizerFile::max_entries, " ", things,
             ", found more");
    }

    std::string where_;
    JsonTree tree_;
    TokenizerFile file_;
    In in_ = In::rest;
    int depth_ = 0;                // of the open part of the tree
    std::string section_, member_; // the last keys, at the top level and below
    std::size_t n_merges_ = 0;
};

} // namespace

TokenizerFile read_tokenizer_file(std::string_view json, std::string_view where) {
    TokenizerEvents events(where, json.size());
    parse_json(json, where, json_tokenizer_limits, events);
    return events.take();
}

} // namespace ordo
