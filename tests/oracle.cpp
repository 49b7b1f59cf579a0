// SPDX-License-Identifier: MIT
#include "tests/oracle.h"

#include <algorithm>
#include <cstdlib>

namespace ordo::reference {
namespace {

// Static objects of other files fill it. They may be initialised first, so it is a function's local static.
std::map<std::string, Registration::Make>& registered() {
    static std::map<std::string, Registration::Make> all;
    return all;
}

// Splits at separators outside parentheses.
std::vector<std::string> split(const std::string& text, char separator) {
    std::vector<std::string> pieces(1);
    int depth = 0;
    for (const char c : text) {
        if (c == '(') ++depth;
        if (c == ')') --depth;
        if (c == separator && depth == 0)
            pieces.emplace_back();
        else
            pieces.back() += c;
    }
    return pieces;
}

} // namespace

double dot(const Vector& a, const Vector& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b.at(i);
    return sum;
}

double dot(const Vector& x, const Matrix& m, int i, int first) {
    double sum = 0;
    for (std::size_t j = 0; j < x.size(); ++j) sum += x[j] * m.at(i, first + static_cast<int>(j));
    return sum;
}

double distance(const Place& query, const Place& key) {
    return query[0] > key[0] ? double(query[0]) - key[0] : double(key[0]) - query[0];
}

Item::Item(const std::string& text) : name_(text.substr(0, text.find(':'))) {
    if (name_.size() == text.size()) return;
    for (const std::string& pair : split(text.substr(name_.size() + 1), ',')) {
        const std::size_t equals = pair.find('=');
        values_[pair.substr(0, equals)] = pair.substr(equals + 1);
    }
}

const std::string& Item::word(const std::string& key) const {
    return values_.at(key);
}

double Item::number(const std::string& key) const {
    return std::strtod(word(key).c_str(), nullptr);
}

Vector Item::list(const std::string& key) const {
    Vector numbers;
    for (const std::string& number : split(word(key), '/')) numbers.push_back(std::strtod(number.c_str(), nullptr));
    return numbers;
}

Registration::Registration(const std::string& name, Make make) {
    registered()[name] = make;
}

Oracles::Oracles(const std::string& spec, const Dims& dims, const Tensors& tensors, int length) {
    const Setting setting{dims, tensors, length != 0 ? length : dims.context, ""};
    const std::string pattern = "pattern(";
    for (const std::string& term : split(spec, '+')) {
        terms_.emplace_back();
        if (term.compare(0, pattern.size(), pattern) != 0) {
            terms_.back().push_back(add_sum(term, setting));
            continue;
        }
        for (std::string element : split(term.substr(pattern.size(), term.size() - pattern.size() - 1), ',')) {
            if (element.front() == '(') element = element.substr(1, element.size() - 2);
            terms_.back().push_back(add_sum(element, setting));
        }
    }
}

Oracles::Sum Oracles::add_sum(const std::string& spec, const Setting& setting) {
    Sum sum;
    for (const std::string& text : split(spec, '+')) {
        const Item item(text);
        Setting own = setting;
        own.name = item.name();
        const auto found = registered().find(item.name());
        if (found == registered().end()) {
            missing_ = item.name();
            continue;
        }
        sum.push_back(items_.size());
        items_.push_back(found->second(item, own));
    }
    return sum;
}

std::vector<const Oracle*> Oracles::all() const {
    std::vector<const Oracle*> out;
    for (const auto& item : items_) out.push_back(item.get());
    return out;
}

std::vector<const Oracle*> Oracles::layer(int layer) const {
    std::vector<const Oracle*> out;
    for (const std::vector<Sum>& elements : terms_)
        for (const std::size_t item : elements[static_cast<std::size_t>(layer) % elements.size()])
            out.push_back(items_[item].get());
    std::stable_partition(out.begin(), out.end(), [](const Oracle* one) { return !one->scales_queries(); });
    return out;
}

} // namespace ordo::reference
