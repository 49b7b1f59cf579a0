// SPDX-License-Identifier: MIT
// The division term exp(-2k ln(10000)/d), the factor of the positions, compared with the same term as a power.
#include "tools/lab/study/prelude.h"

namespace ordo::lab {
namespace division_term_file {

struct Forms {
    std::vector<double> pair, by_exp, by_power;
};

Forms forms_of(int d) {
    Forms forms;
    for (const auto& row : sinusoidal_table(d, 1, "div_term").rows) {
        forms.pair.push_back(row[0]);
        forms.by_exp.push_back(row[1]);
    }
    for (const auto& row : sinusoidal_table(d, 1, "denominator").rows) forms.by_power.push_back(1 / row[1]);
    return forms;
}

Result run(const Request& request) {
    const int d = request.integer("dim", 512);
    NamedFigures table{"forms",
                       "The division term at several widths, as exp(-2k ln(10000)/d) and as 1 / 10000^(2k/d)",
                       {{"dimensions", "pairs", "k = 0", "the last", "largest relative difference"}, {}}};
    std::vector<int> widths{4, 6, 8, 64};
    if (std::find(widths.begin(), widths.end(), d) == widths.end()) widths.push_back(d);
    double worst = 0;
    for (const int width : widths) {
        const Forms forms = forms_of(width);
        double most = 0;
        for (std::size_t k = 0; k < forms.pair.size(); ++k)
            most = std::max(most, std::abs(forms.by_exp[k] / forms.by_power[k] - 1));
        worst = std::max(worst, most);
        add_row(table.figures, width, forms.pair.size(), forms.by_exp.front(), forms.by_exp.back(), most);
    }
    const Forms forms = forms_of(d);
    const std::string shape = std::to_string(d) + " dimensions";
    const auto curve = [&](bool log_y) {
        return Curves{.series = {{.label = "exp(-2k ln(10000)/d)", .x = forms.pair, .y = forms.by_exp}},
                      .log_y = log_y};
    };
    Result result;
    result.tables = {std::move(table)};
    result.pictures = {
        {"linear", "The division term of " + shape + " falls exponentially from 1 towards 0", "pair k",
         "radians per position", curve(false)},
        {"logarithmic",
         "On a logarithmic axis it is a straight line: each pair is slower than the last by the same factor", "pair k",
         "radians per position", curve(true)}};
    result.answer = "Yes: the two formulas are one, up to rounding (" + axis_text(worst) +
                    " of the value at most). The curve falls from 1 to " + axis_text(forms.by_exp.back()) +
                    ", each pair slower than the last by the same factor.";
    result.found = {"With " + shape + " there are " + std::to_string(forms.pair.size()) + " pairs, from " +
                    axis_text(forms.by_exp.front()) + " down to " + fixed_text(forms.by_exp.back(), 9) +
                    " radians per position, all in (0, 1]."};
    return result;
}

} // namespace division_term_file

const Experiment division_term_experiment{
    .name = "division-term",
    .summary = "Is exp(-2k ln(10000)/d) the same as the paper's power?",
    .details = "The two ways in which code computes the frequencies of Vaswani et al. 2017, arXiv 1706.03762, section "
               "3.5, at several widths and at --dim.",
    .options = {"dim"},
    .run = division_term_file::run};

} // namespace ordo::lab
