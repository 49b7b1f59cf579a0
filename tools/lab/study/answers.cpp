// SPDX-License-Identifier: MIT
#include "tools/lab/study/answers.h"

namespace ordo::lab {

std::string ends_of(const Names& names, const std::function<double(std::size_t)>& value, int decimals) {
    std::optional<std::size_t> least, most;
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (std::isnan(value(i))) continue;
        if (!least || value(i) < value(*least)) least = i;
        if (!most || value(i) > value(*most)) most = i;
    }
    if (!least) return "-";
    const auto shown = [&](std::size_t i) {
        return told("{} ({})", fixed_text(value(i), decimals), in_text(names[i]));
    };
    return least == most ? shown(*least) : told("{} to {}", shown(*least), shown(*most));
}

Curves curves_of(const Names& names, const Vector& x,
                 const std::function<Share(std::size_t name, std::size_t x)>& share, const std::string& interval) {
    Curves curves;
    curves.interval = interval;
    for (std::size_t i = 0; i < names.size(); ++i) {
        Series& series = curves.add(names[i], Series::Style::line_points);
        for (std::size_t at = 0; at < x.size(); ++at) {
            const auto [mean, range] = share(i, at);
            if (std::isnan(mean)) continue;
            range.known() ? series.add(x[at], mean, range.low, range.high) : series.add(x[at], mean);
        }
    }
    return curves;
}

HeatMap map_of(const Names& y, const Names& x, const std::function<double(std::size_t y, std::size_t x)>& share) {
    HeatMap map{.x_names = x, .y_names = y, .diverging = false, .shares = true};
    for (std::size_t row = 0; row < y.size(); ++row) {
        Vector& values = map.values.emplace_back();
        for (std::size_t column = 0; column < x.size(); ++column) values.push_back(share(row, column));
    }
    return map;
}

} // namespace ordo::lab
