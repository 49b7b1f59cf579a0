// SPDX-License-Identifier: MIT
#include "tools/cli/options.h"

#include "core/error.h"
#include "encoding/base/spec.h"
#include "io/base_name.h"
#include "tools/cli/mistakes.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>

// With std::regex an argument of 100 KB would exhaust the stack.
#define CXXOPTS_NO_REGEX
#include <cxxopts.hpp>

namespace ordo::tools {

namespace {

constexpr bool is_separator(char c) {
    return c == ',' || c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

std::string plain(double value) {
    return value == std::floor(value) && std::abs(value) < 1e15 ? number_text(static_cast<std::int64_t>(value))
                                                                : number_text(value);
}

std::string names_of(const Option& option) {
    std::string names;
    if (option.letter) names = std::string(1, option.letter) + ",";
    names += option.name;
    if (!option.alias.empty()) names += "," + std::string(option.alias);
    return names;
}

void check_choice(const Option& option, std::string_view what, std::string_view value) {
    const std::vector<std::string_view> choices = choices_of(option);
    if (std::find(choices.begin(), choices.end(), value) == choices.end())
        fail(ErrorCode::usage, what, ": expected ", option.help.substr(0, option.help.find(':')), ", found '",
             printable(value), "'");
}

// Empty for -1, if that may ask for a random seed.
std::optional<std::uint64_t> seed_of(std::string_view text, std::string_view what, bool may_be_random) {
    if (may_be_random && text == "-1") return {};
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size())
        fail(ErrorCode::usage, what, ": expected ", may_be_random ? "-1 or " : "", "a whole number from 0 to ",
             std::numeric_limits<std::uint64_t>::max(), ", found '", printable(text), "'");
    return value;
}

void check_value(const Option& option, std::string_view value) {
    const std::string what = "option --" + std::string(option.name);
    const auto least = static_cast<std::int64_t>(option.least), most = static_cast<std::int64_t>(option.most);
    switch (option.kind) {
    case Kind::flag:
        if (value != "true") fail(ErrorCode::usage, what, ": takes no value, found '", printable(value), "'");
        break;
    case Kind::text:
        break;
    case Kind::path:
        if (value.empty()) fail(ErrorCode::usage, what, ": expected a file name, found nothing");
        break;
    case Kind::choice:
        check_choice(option, what, value);
        break;
    case Kind::integer:
        parse_integer(value, what, least, most);
        break;
    case Kind::amount:
        parse_amount(value, what, least, most);
        break;
    case Kind::integers:
        parse_integers(value, what, least, most);
        break;
    case Kind::number:
        parse_number(value, what, option.least, option.most, option.above);
        break;
    case Kind::seed:
        if (option.least < 0)
            parse_seed_or_random(value, what);
        else
            parse_seed(value, what);
        break;
    }
}

// The text between the quotation marks of a message of cxxopts.
std::string quoted(std::string_view message) {
    const std::size_t first = message.find(cxxopts::LQUOTE), last = message.rfind(cxxopts::RQUOTE);
    if (first == std::string_view::npos || last == std::string_view::npos) return std::string(message);
    const std::size_t begin = first + cxxopts::LQUOTE.size();
    return std::string(message.substr(begin, last - begin));
}

[[noreturn]] void bad_syntax(const Verb& verb, std::string_view argument) {
    const Option* option = argument.size() > 2 ? find_option(verb, argument.substr(1, 1)) : nullptr;
    if (option && option->kind != Kind::flag)
        fail(ErrorCode::usage, verb.name, ": '", printable(argument), "': put a space between -", option->letter,
             " and its value");
    fail(ErrorCode::usage, verb.name, ": '", printable(argument), "' is not an option; after -- it may be an argument");
}

} // namespace

const Option* find_option(const Verb& verb, std::string_view name) {
    for (const OptionGroup& group : verb.groups)
        for (const Option& option : group.options)
            if (name == option.name || (!option.alias.empty() && name == option.alias) ||
                (name.size() == 1 && name[0] == option.letter))
                return &option;
    return nullptr;
}

std::vector<std::string_view> choices_of(const Option& option) {
    std::vector<std::string_view> choices;
    std::string_view rest = option.help.substr(0, option.help.find(':'));
    while (true) {
        const std::size_t bar = std::min(rest.find('|'), rest.size());
        choices.push_back(rest.substr(0, bar));
        if (bar == rest.size()) return choices;
        rest.remove_prefix(bar + 1);
    }
}

std::size_t operand_count(const Verb& verb) {
    const auto spaces = static_cast<std::size_t>(std::count(verb.operand.begin(), verb.operand.end(), ' '));
    return verb.operand.empty() ? 0 : spaces + 1;
}

std::int64_t parse_integer(std::string_view text, std::string_view what, std::int64_t least, std::int64_t most) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || value < least || value > most)
        fail(ErrorCode::usage, what, ": expected a whole number from ", least, " to ", most, ", found '",
             printable(text), "'");
    return value;
}

std::int64_t parse_amount(std::string_view text, std::string_view what, std::int64_t least, std::int64_t most) {
    constexpr std::pair<std::string_view, double> units[] = {{"k", 1e3}, {"K", 1e3}, {"m", 1e6}, {"M", 1e6},
                                                             {"g", 1e9}, {"G", 1e9}, {"b", 1e9}, {"B", 1e9}};
    double scale = 1, value = 0;
    std::string_view digits = text;
    for (const auto& [unit, factor] : units)
        if (text.size() > 1 && text.ends_with(unit)) scale = factor, digits = text.substr(0, text.size() - 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    const bool number = error == std::errc{} && end == digits.data() + digits.size();
    value *= scale; // exact: the limit is at most 2^53
    if (!number || !(value >= static_cast<double>(least) && value <= static_cast<double>(most)) ||
        value != std::floor(value))
        fail(ErrorCode::usage, what, ": expected a whole number from ", least, " to ", most,
             ", such as 12000000, 12M or 1.2e7, found '", printable(text), "'");
    return static_cast<std::int64_t>(value);
}

double parse_number(std::string_view text, std::string_view what, double least, double most, bool above) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value) || value < least ||
        value > most || (above && value == least))
        fail(ErrorCode::usage, what, ": expected a number ", above ? "above " : "from ", plain(least), " to ",
             plain(most), ", found '", printable(text), "'");
    return value;
}

std::uint64_t parse_seed(std::string_view text, std::string_view what) {
    return *seed_of(text, what, false);
}

std::optional<std::uint64_t> parse_seed_or_random(std::string_view text, std::string_view what) {
    return seed_of(text, what, true);
}

std::vector<std::int64_t> parse_integers(std::string_view text, std::string_view what, std::int64_t least,
                                         std::int64_t most) {
    std::vector<std::int64_t> values;
    std::size_t at = 0;
    while (true) {
        while (at < text.size() && is_separator(text[at]) && text[at] != ',') ++at;
        std::size_t end = at;
        while (end < text.size() && !is_separator(text[end])) ++end;
        values.push_back(parse_integer(text.substr(at, end - at), what, least, most));
        at = end;
        while (at < text.size() && is_separator(text[at]) && text[at] != ',') ++at;
        if (at == text.size()) return values;
        if (text[at] == ',') ++at;
    }
}

Arguments::Arguments(const Verb& verb, std::span<const char* const> args) : verb_(&verb) {
    cxxopts::Options parser("ordo", "");
    for (const OptionGroup& group : verb.groups)
        for (const Option& option : group.options) {
            auto value = cxxopts::value<std::string>();
            parser.add_options()(names_of(option), "",
                                 option.kind == Kind::flag ? value->implicit_value("true") : value);
        }
    check_words(verb, args);
    std::vector<const char*> argv{"ordo"};
    argv.insert(argv.end(), args.begin(), args.end());
    try {
        const cxxopts::ParseResult result = parser.parse(static_cast<int>(argv.size()), argv.data());
        for (const cxxopts::KeyValue& given : result.arguments()) store(*find_option(verb, given.key()), given.value());
        operands_ = result.unmatched();
        if (!operands_.empty()) expect_commas(verb, args);
        if (const std::size_t allowed = operand_count(verb); operands_.size() > allowed)
            fail(ErrorCode::usage, verb.name, ": unexpected argument '", printable(operands_[allowed]), "'",
                 offers("prompt") ? "; a text goes after -p" : "");
    } catch (const cxxopts::exceptions::no_such_option& e) {
        unknown_option(verb, quoted(e.what()));
    } catch (const cxxopts::exceptions::missing_argument& e) {
        const std::string name = quoted(e.what());
        fail(ErrorCode::usage, verb.name, ": option ", name.size() == 1 ? "-" : "--", name, " needs a value");
    } catch (const cxxopts::exceptions::invalid_option_syntax& e) {
        bad_syntax(verb, quoted(e.what()));
    } catch (const cxxopts::exceptions::exception& e) {
        fail(ErrorCode::usage, verb.name, ": ", printable(e.what()));
    }
    if (!verb.operand_needed || has("help") || has("version")) return;
    for (std::size_t i = 0; i < operand_count(verb); ++i)
        if (operand(i).empty())
            fail(ErrorCode::usage, verb.name, ": expected ", verb.operand, "; see ordo ", verb.name, " --help");
}

void Arguments::store(const Option& option, std::string value) {
    check_value(option, value);
    std::vector<std::string>& values = values_[option.name];
    if (!values.empty() && !option.repeatable && option.kind != Kind::flag)
        fail(ErrorCode::usage, "option --", option.name, " is given twice: '", printable(values.front()), "' and '",
             printable(value), "'");
    values.push_back(value);
    sequence_.emplace_back(&option, std::move(value));
}

const Option& Arguments::option(std::string_view name) const {
    const Option* found = find_option(*verb_, name);
    if (!found) fail(ErrorCode::failure, "the table of ", verb_->name, " has no option ", name);
    return *found;
}

bool Arguments::offers(std::string_view name) const {
    return find_option(*verb_, name) != nullptr;
}

bool Arguments::has(std::string_view name) const {
    return values_.contains(option(name).name);
}

std::string Arguments::text(std::string_view name) const {
    const auto found = values_.find(option(name).name);
    return found == values_.end() ? std::string(option(name).fallback) : found->second.front();
}

std::int64_t Arguments::integer64(std::string_view name) const {
    const Option& o = option(name);
    return (o.kind == Kind::amount ? parse_amount : parse_integer)(
        text(name), o.name, static_cast<std::int64_t>(o.least), static_cast<std::int64_t>(o.most));
}

int Arguments::integer(std::string_view name) const {
    return static_cast<int>(integer64(name));
}

double Arguments::number(std::string_view name) const {
    const Option& o = option(name);
    return parse_number(text(name), o.name, o.least, o.most, o.above);
}

std::vector<std::int64_t> Arguments::integers(std::string_view name) const {
    const Option& o = option(name);
    return parse_integers(text(name), o.name, static_cast<std::int64_t>(o.least), static_cast<std::int64_t>(o.most));
}

std::span<const std::string> Arguments::all(std::string_view name) const {
    const auto found = values_.find(option(name).name);
    if (found == values_.end()) return {};
    return found->second;
}

std::string Arguments::command() const {
    std::string line = "ordo " + std::string(verb_->name);
    for (const auto& [given, value] : sequence_) {
        line += " --" + std::string(given->name);
        if (given->kind == Kind::flag) continue;
        line += " " + (given->kind == Kind::path ? base_name(value) : value);
    }
    for (const std::string& operand : operands_) line += " " + base_name(operand);
    return line;
}

} // namespace ordo::tools
