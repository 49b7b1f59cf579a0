// SPDX-License-Identifier: MIT
// Reads CSV files of earlier runs.
#pragma once

#include "core/error.h"

#include <charconv>
#include <cmath>
#include <filesystem>
#include <initializer_list>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

namespace ordo::lab {

inline constexpr std::size_t most_csv = std::size_t{16} << 20; // bytes of a file

// Rows of a CSV file by column name, RFC 4180 without line breaks in fields. Throws Error naming file and line.
class Csv {
public:
    // Columns that a file may lack follow the others. Where they lack, they are empty.
    Csv(const std::filesystem::path& file, std::initializer_list<std::string_view> columns,
        std::initializer_list<std::string_view> optional = {});
    bool next(); // false at the end
    const std::string& text(std::size_t column) const {
        static const std::string none;
        return places_[column] < fields_.size() ? fields_[places_[column]] : none;
    }
    template <class Number>
    Number number(std::size_t column) const {
        const std::string& text = this->text(column);
        Number value{};
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(static_cast<double>(value)))
            refuse("expected a number, found '" + printable(text) + "'");
        return value;
    }
    [[noreturn]] void refuse(const std::string& why) const;

private:
    void split(const std::string& line);

    std::string name_;
    std::istringstream lines_;
    int number_ = 0;
    std::size_t width_ = 0;
    std::vector<std::string> fields_;
    std::vector<std::size_t> places_;
};

} // namespace ordo::lab
