// SPDX-License-Identifier: MIT
#include "tools/lab/study/answers.h"

#include "tools/lab/math/numbers.h"

namespace ordo::lab {

void Judgement::add(Verdict verdict, const std::string& name) {
    if (verdict == Verdict::untested) return;
    ++cases_;
    held_ += verdict == Verdict::held;
    if (verdict == Verdict::missed) append(missed_, name);
    if (verdict == Verdict::undecided) append(undecided_, name);
}

std::string Judgement::sentence(int number, const std::string& why_not) const {
    const std::string head = text("Expectation ", number);
    if (cases_ == 0) return head + " could not be tested" + why_not + ".";
    if (held_ == cases_) return text(head, " held", cases_ == 1 ? "." : text(" in all of ", cases_, " cases."));
    if (cases_ == 1)
        return text(head, missed_.empty() ? " is undecided (" + undecided_ : " was missed (" + missed_, ").");
    std::string out =
        text(head, missed_.empty() ? " is undecided" : " was missed", ": it held in ", held_, " of ", cases_);
    if (!missed_.empty()) out += "; missed by " + missed_;
    if (!undecided_.empty()) out += "; undecided for " + undecided_;
    return out + ".";
}

Judgement& Expectations::expect(std::string sentence, std::string why_not) {
    return all_.emplace_back(One{std::move(sentence), std::move(why_not), {}}).judgement;
}

void Expectations::write_to(Result& result) const {
    int number = 0;
    for (const One& one : all_) {
        result.expected.push_back(one.sentence);
        result.found.push_back(one.judgement.sentence(++number, one.why_not));
    }
}

std::string extremes_of(const Curves& curves) {
    const Series *least = nullptr, *most = nullptr;
    for (const Series& series : curves.series) {
        if (series.y.empty()) continue;
        if (!least || series.y.back() < least->y.back()) least = &series;
        if (!most || series.y.back() > most->y.back()) most = &series;
    }
    if (!least) return "nothing measured";
    int digits = 2; // or more, until the two differ
    while (digits < 4 && figure(least->y.back(), digits) == figure(most->y.back(), digits)) ++digits;
    const auto shown = [digits](const Series& series) {
        return text(figure(series.y.back(), digits), " (", series.label, ")");
    };
    if (least == most) return shown(*least);
    const bool intervals = !least->high.empty() && !most->low.empty();
    // The interval of a difference of two proportions (Newcombe 1998, method 10).
    const bool decided =
        intervals && most->y.back() - least->y.back() >
                         std::hypot(least->high.back() - least->y.back(), most->y.back() - most->low.back());
    return text("from ", shown(*least), " to ", shown(*most),
                decided     ? ""
                : intervals ? ", which is undecided"
                            : ", without an interval");
}

std::string ends_of(const Names& names, const std::function<double(std::size_t)>& value, int decimals) {
    std::optional<std::size_t> least, most;
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (std::isnan(value(i))) continue;
        if (!least || value(i) < value(*least)) least = i;
        if (!most || value(i) > value(*most)) most = i;
    }
    if (!least) return "-";
    const auto shown = [&](std::size_t i) {
        return told("{} ({})", tools::fixed_text(value(i), decimals), in_text(names[i]));
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
