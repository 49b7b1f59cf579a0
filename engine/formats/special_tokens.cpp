// SPDX-License-Identifier: MIT
#include "formats/special_tokens.h"

#include "core/error.h"
#include "core/number.h"
#include "encoding/base/spec.h"
#include "io/json_writer.h"

#include <cmath>
#include <limits>

namespace ordo {
namespace {

struct Field {
    const char* name;
    Token SpecialTokens::*token;
};
constexpr Field fields[] = {
    {"start", &SpecialTokens::start},   {"padding", &SpecialTokens::padding}, {"unknown", &SpecialTokens::unknown},
    {"forced", &SpecialTokens::forced}, {"first", &SpecialTokens::first},     {"separator", &SpecialTokens::separator},
    {"mask", &SpecialTokens::mask},
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
    check_keys(object, where, {"start", "forced", "padding", "unknown", "first", "separator", "mask", "end"});
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
    const auto number = [&](const char* name, float value) { // as 0.8, not as all digits of the nearest double
        const std::string text = number_text(value);
        double shortest = 0;
        std::from_chars(text.data(), text.data() + text.size(), shortest);
        out.member(name, shortest);
    };
    number("temperature", sampling.temperature);
    out.member("top_k", sampling.top_k);
    number("top_p", sampling.top_p);
    number("min_p", sampling.min_p);
    number("repetition_penalty", sampling.repeat_penalty);
    out.end_object();
    return out.take();
}

namespace {

// A number within [least, most]; an integer may be written as a fraction.
std::optional<double> usable(const JsonValue& value, double least, double most) {
    double number = 0;
    if (const auto* n = value.unsigned_integer())
        number = static_cast<double>(*n);
    else if (const auto* i = value.integer())
        number = static_cast<double>(*i);
    else if (const auto* f = value.fraction())
        number = *f;
    else
        return {};
    return number >= least && number <= most ? std::optional(number) : std::nullopt;
}

// Reads members of a generation_config.json.
class RecommendedReader {
public:
    explicit RecommendedReader(const JsonValue& object) : object_(object) {}

    // The number under a key; `otherwise` if it is missing, `off` for null.
    double number(std::string_view key, double otherwise, double off, double least, double most, bool whole = false) {
        const JsonValue* const member = find_member(object_, key);
        if (member == nullptr) return otherwise;
        named_ = true;
        if (member->is_null()) return off;
        const std::optional<double> value = usable(*member, least, most);
        if (!value || (whole && member->fraction()))
            warnings.push_back("'" + std::string(key) + "': expected a " + (whole ? "whole " : "") + "number from " +
                               decimal(least) + " to " + decimal(most) + ", found " + describe(*member));
        if (!value || (whole && *value != std::floor(*value))) {
            warnings.back() += "; not applied";
            return off;
        }
        return *value;
    }
    bool named() const { return named_; }

    std::vector<std::string> warnings;

private:
    const JsonValue& object_;
    bool named_ = false;
};

} // namespace

Recommended recommended_sampling(const JsonValue& object) {
    const JsonValue* const sample = find_member(object, "do_sample");
    if (sample == nullptr || !sample->boolean()) return {};
    RecommendedReader read(object);
    Sampling sampling;
    sampling.temperature = static_cast<float>(read.number("temperature", 1, 1, 0, 1e4));
    sampling.top_k = static_cast<int>(read.number("top_k", 50, 0, 0, 1 << 30, true));
    sampling.top_p = static_cast<float>(read.number("top_p", 1, 1, 1e-6, 1));
    sampling.min_p = static_cast<float>(read.number("min_p", 0, 0, 0, 1));
    sampling.repeat_penalty = static_cast<float>(read.number("repetition_penalty", 1, 1, 1e-6, 1e4));
    if (!read.named()) return {};
    if (!*sample->boolean()) sampling.temperature = 0;
    return {sampling, std::move(read.warnings)};
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
    Sampling sampling;
    sampling.min_p = 0;
    const auto number = [&](const char* name, float& value, double least, double most) {
        if (find_member(object, name)) value = static_cast<float>(get_number(object, name, where, least, most));
    };
    number("temperature", sampling.temperature, 0, 1e4);
    number("top_p", sampling.top_p, 1e-6, 1);
    number("min_p", sampling.min_p, 0, 1);
    number("repetition_penalty", sampling.repeat_penalty, 1e-6, 1e4);
    if (find_member(object, "top_k"))
        sampling.top_k = static_cast<int>(get_int(object, "top_k", where, 0, std::numeric_limits<int>::max()));
    return sampling;
}

} // namespace ordo
