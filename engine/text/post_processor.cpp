// SPDX-License-Identifier: MIT
#include "text/post_processor.h"

#include "core/error.h"
#include "text/normalizer.h"

#include <algorithm>
#include <utility>

namespace ordo {
namespace {

// Far above any model's.
constexpr int max_segment = 255;
constexpr std::size_t max_parts = 64; // of a template
constexpr std::size_t max_ids = 64;   // of a special token

class FrameReader {
public:
    FrameReader(std::size_t vocab_size, const std::string& where) : vocab_size_(vocab_size), where_(where) {}

    Token id(const JsonValue& value) const {
        const std::uint64_t* number = value.unsigned_integer();
        if (!number || *number >= vocab_size_)
            fail(ErrorCode::model, where_, ": expected the id of a token, found ", describe(value));
        return static_cast<Token>(*number);
    }

    // ["[SEP]", 102]
    Token named(const JsonValue& c, std::string_view key) const {
        const JsonValue::Array& pair = get_array(c, key, where_);
        if (pair.size() != 2) fail(ErrorCode::model, where_, ": ", key, ": expected a token and its id");
        return id(pair[1]);
    }

    std::vector<Token> special(const JsonValue& all, const std::string& name) const {
        std::vector<Token> ids;
        for (const JsonValue& each : get_array(get_object(all, name, where_), "ids", where_)) {
            if (ids.size() == max_ids)
                fail(ErrorCode::model, where_, ": special_tokens: \"", printable(name), "\": expected at most ",
                     max_ids, " ids, found more");
            ids.push_back(id(each));
        }
        return ids;
    }

    std::vector<Frame::Part> read(const JsonValue& c, std::string_view key, int texts) const {
        const JsonValue& special_tokens = get_object(c, "special_tokens", where_);
        std::vector<Frame::Part> parts;
        for (const JsonValue& piece : get_array(c, key, where_)) {
            check_keys(piece, where_, {"SpecialToken", "Sequence"});
            if (parts.size() == max_parts)
                fail(ErrorCode::model, where_, ": ", key, ": expected at most ", max_parts, " parts, found more");
            const bool is_text = find_member(piece, "Sequence") != nullptr;
            const JsonValue& inner = get_object(piece, is_text ? "Sequence" : "SpecialToken", where_);
            const std::string& name = get_string(inner, "id", where_);
            Frame::Part part;
            part.segment = static_cast<int>(get_int(inner, "type_id", where_, 0, max_segment));
            if (!is_text) {
                part.tokens = special(special_tokens, name);
            } else if (name == "A" || (name == "B" && texts == 2)) {
                part.text = name == "A" ? 0 : 1;
                const auto same = [&](const Frame::Part& other) { return other.text == part.text; };
                if (std::any_of(parts.begin(), parts.end(), same))
                    fail(ErrorCode::model, where_, ": ", key, ": text ", name, " twice is not supported");
            } else {
                fail(ErrorCode::model, where_, ": ", key, ": \"", printable(name), "\" is not supported");
            }
            parts.push_back(std::move(part));
        }
        return parts;
    }

private:
    std::size_t vocab_size_;
    const std::string& where_;
};

Frame::Part tokens(std::vector<Token> ids, int segment = 0) {
    return {-1, std::move(ids), segment};
}

// [CLS] A [SEP] B [SEP]. B and the tokens after it are in segment 1.
Frame make_bert(const JsonValue& c, const FrameReader& reader) {
    const Token sep = reader.named(c, "sep"), cls = reader.named(c, "cls");
    return {{tokens({cls}), {0, {}, 0}, tokens({sep})},
            {tokens({cls}), {0, {}, 0}, tokens({sep}), {1, {}, 1}, tokens({sep}, 1)}};
}

// <s> A </s> </s> B </s>, all in segment 0.
Frame make_roberta(const JsonValue& c, const FrameReader& reader) {
    const Token sep = reader.named(c, "sep"), cls = reader.named(c, "cls");
    return {{tokens({cls}), {0, {}, 0}, tokens({sep})},
            {tokens({cls}), {0, {}, 0}, tokens({sep, sep}), {1, {}, 0}, tokens({sep})}};
}

Frame make_template(const JsonValue& c, const FrameReader& reader) {
    return {reader.read(c, "single", 1), reader.read(c, "pair", 2)};
}

Frame make_component(const JsonValue& c, std::size_t vocab_size, const std::string& where) {
    const FrameReader reader(vocab_size, where);
    const std::string& type = type_of(c, where);
    if (type == "BertProcessing") return make_bert(c, reader);
    if (type == "RobertaProcessing") return make_roberta(c, reader);
    if (type == "TemplateProcessing") return make_template(c, reader);
    fail(ErrorCode::model, where, ": \"", printable(type),
         "\" is not supported; BertProcessing, ByteLevel, RobertaProcessing, Sequence and TemplateProcessing are");
}

} // namespace

Frame make_frame(const JsonValue& component, std::size_t vocab_size, const std::string& where) {
    Frame frame;
    bool framed = false;
    for (const Component& c : components_of(component, "processors", where)) {
        if (type_of(c.value, c.where) == "ByteLevel") continue; // it only trims offsets
        if (std::exchange(framed, true)) fail(ErrorCode::model, c.where, ": a second frame is not supported");
        frame = make_component(c.value, vocab_size, c.where);
    }
    return frame;
}

} // namespace ordo
