// SPDX-License-Identifier: MIT
#include "tools/lab/study/csv.h"

#include "tools/cli/inputs.h"

#include <algorithm>

namespace ordo::lab {

Csv::Csv(const std::filesystem::path& file, std::initializer_list<std::string_view> columns,
         std::initializer_list<std::string_view> optional)
    : name_(printable(file.string())), lines_(tools::read_input(file.string(), most_csv)) {
    next();
    for (const std::string_view column : columns) {
        const auto at = std::find(fields_.begin(), fields_.end(), column);
        if (at == fields_.end()) refuse("expected a column " + std::string(column) + ", found none");
        places_.push_back(at - fields_.begin());
    }
    for (const std::string_view column : optional)
        places_.push_back(std::find(fields_.begin(), fields_.end(), column) - fields_.begin());
    width_ = fields_.size();
}

bool Csv::next() {
    std::string line;
    if (!std::getline(lines_, line)) return false;
    ++number_;
    if (line.ends_with('\r')) line.pop_back();
    split(line);
    if (width_ != 0 && fields_.size() != width_)
        refuse("expected " + std::to_string(width_) + " fields, found " + std::to_string(fields_.size()));
    return true;
}

void Csv::refuse(const std::string& why) const {
    fail(ErrorCode::usage, name_, ": line ", number_, ": ", why);
}

void Csv::split(const std::string& line) {
    fields_.assign(1, "");
    bool quoted = false;
    for (std::size_t i = 0; i < line.size(); ++i)
        if (quoted && line[i] == '"' && i + 1 < line.size() && line[i + 1] == '"')
            fields_.back() += line[++i];
        else if (line[i] == '"')
            quoted = !quoted;
        else if (line[i] == ',' && !quoted)
            fields_.emplace_back();
        else
            fields_.back() += line[i];
}

} // namespace ordo::lab
