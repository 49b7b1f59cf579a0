// SPDX-License-Identifier: MIT
#include "formats/special_tokens.h"

#include "core/error.h"
#include "io/json_writer.h"

namespace ordo {
namespace {

struct Field {
    const char* name;
    Token SpecialTokens::*token;
};
constexpr Field fields[] = {
    {"start", &SpecialTokens::start}, {"padding", &SpecialTokens::padding},     {"unknown", &SpecialTokens::unknown},
    {"first", &SpecialTokens::first}, {"separator", &SpecialTokens::separator}, {"mask", &SpecialTokens::mask},
};

} // namespace

std::string to_json(const SpecialTokens& special) {
    JsonWriter out;
    out.begin_object();
    for (const Field& field : fields)
        if (special.*field.token >= 0) out.member(field.name, special.*field.token);
    out.member("end", special.end);
    out.end_object();
    return out.take();
}

SpecialTokens special_tokens_from_json(std::string_view json, std::string_view where, int vocab_size) {
    const JsonValue object = parse_json(json, where);
    check_keys(object, where, {"start", "padding", "unknown", "first", "separator", "mask", "end"});
    SpecialTokens special;
    for (const Field& field : fields)
        if (find_member(object, field.name))
            special.*field.token = static_cast<Token>(get_int(object, field.name, where, 0, vocab_size - 1));
    for (const JsonValue& id : get_array(object, "end", where)) {
        const std::uint64_t* value = id.unsigned_integer();
        if (value == nullptr || *value >= static_cast<std::uint64_t>(vocab_size))
            fail(ErrorCode::model, where, ": 'end': expected ids from 0 to ", vocab_size - 1, ", found ", describe(id));
        special.end.push_back(static_cast<Token>(*value));
    }
    return special;
}

std::string to_json(const Sampling& sampling) {
    JsonWriter out;
    out.begin_object();
    const auto number = [&](const char* name, float value) { out.member(name, static_cast<double>(value)); };
    number("temperature", sampling.temperature);
    out.member("top_k", sampling.top_k);
    number("top_p", sampling.top_p);
    number("min_p", sampling.min_p);
    number("repetition_penalty", sampling.repeat_penalty);
    out.end_object();
    return out.take();
}

std::optional<Sampling> sampling_from(const JsonValue& object, std::string_view where) {
    Sampling sampling;
    sampling.min_p = 0; // what others do not know
    bool any = false;
    const auto number = [&](const char* name, float& value, double least, double most) {
        const JsonValue* member = find_member(object, name);
        if (member == nullptr || member->is_null()) return;
        value = static_cast<float>(get_number(object, name, where, least, most));
        any = true;
    };
    number("temperature", sampling.temperature, 0, 1e4);
    number("top_p", sampling.top_p, 1e-6, 1);
    number("min_p", sampling.min_p, 0, 1);
    number("repetition_penalty", sampling.repeat_penalty, 1e-6, 1e4);
    if (const JsonValue* k = find_member(object, "top_k"); k != nullptr && !k->is_null()) {
        sampling.top_k = static_cast<int>(get_int(object, "top_k", where, 0, std::numeric_limits<int>::max()));
        any = true;
    }
    if (const JsonValue* sample = find_member(object, "do_sample");
        sample != nullptr && sample->boolean() && !*sample->boolean())
        sampling.temperature = 0, any = true;
    if (!any) return std::nullopt;
    return sampling;
}

std::string not_applied(const JsonValue& object) {
    std::string found;
    const auto add = [&](std::string_view key) { found.append(found.empty() ? "" : ", ").append(key); };
    const auto more_than = [&](std::string_view key, std::uint64_t idle) {
        const JsonValue* const value = find_member(object, key);
        if (value != nullptr && value->unsigned_integer() && *value->unsigned_integer() > idle) add(key);
    };
    more_than("num_beams", 1);
    more_than("no_repeat_ngram_size", 0);
    for (const std::string_view key : {"forced_bos_token_id", "forced_eos_token_id", "forced_decoder_ids",
                                       "bad_words_ids", "suppress_tokens", "begin_suppress_tokens"}) {
        const JsonValue* const value = find_member(object, key);
        const bool none = value == nullptr || value->is_null() || (value->array() && value->array()->empty());
        if (!none) add(key);
    }
    return found;
}

Sampling sampling_from_json(std::string_view json, std::string_view where) {
    const JsonValue object = parse_json(json, where);
    if (!object.object()) fail(ErrorCode::model, where, ": expected a JSON object, found ", describe(object));
    return sampling_from(object, where).value_or(Sampling{});
}

} // namespace ordo
