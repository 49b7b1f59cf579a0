// SPDX-License-Identifier: MIT
// What an experiment of `ordo lab` is: a function from options to tables, pictures and sentences. How
// these are printed, plotted and gathered in a report is none of its business (render.h, plot.h, report.h).
#pragma once

#include "tools/cli/options.h"
#include "tools/terminal/output.h"

namespace ordo::lab {

// ---- Pictures ---------------------------------------------------------------------------------

struct Series {
    std::string label = {};
    std::vector<double> x = {}, y = {};      // as many of each
    std::vector<double> low = {}, high = {}; // the interval around y; empty: none
    std::vector<std::string> names = {};     // of points, beside each in files; empty: none
    // A value of steps holds until the next one; arrows start at Curves::origin.
    enum class Style { line, points, line_points, steps, arrows } style = Style::line;
};

// One without points yet.
inline Series series(std::string label, Series::Style style = Series::Style::line) {
    Series empty;
    empty.label = std::move(label);
    empty.style = style;
    return empty;
}

// A line across the picture: a bound, chance, what a perfect answer would have.
struct Reference {
    std::string label = {};
    double y = 0;
};

struct Curves {
    std::vector<Series> series = {};
    std::vector<Reference> references = {};
    bool log_x = false, log_y = false;
    bool square = false;                   // the same scale on both axes
    std::string interval = {};             // what Series::low and high are: "95 % interval"
    std::vector<std::string> x_names = {}; // of x = 0, 1, ... in place of numbers; empty: numbers
    double origin_x = 0, origin_y = 0;
};

// Cell (row, column) stands at y = first_y + row, x = first_x + column; row 0 is at the top.
struct HeatMap {
    std::vector<std::vector<double>> values = {}; // not a number: left blank, as a mask is
    std::string blank = {};                       // what a cell that is left blank means: "refused"
    int first_x = 0, first_y = 0;
    std::string value_label = {};                        // of the colour bar, with its unit
    std::vector<std::string> x_names = {}, y_names = {}; // in place of numbers; empty: numbers
    bool diverging = true; // colours run both ways from zero; otherwise from least to most
    bool shares = false;   // of one: colours run from 0 to 1, and files have the numbers in the cells
    // Least and most of the colours, where maps are to be compared; empty: those of this map's values.
    std::optional<std::pair<double, double>> scale = {};
};

struct Picture {
    std::string name;  // of its files, after the experiment's: "128x8" is heat-map-128x8.svg
    std::string title; // says what is seen
    std::string x_label, y_label;
    std::variant<Curves, HeatMap> content;
};

// A number in at most three significant digits, for a sentence or an axis.
std::string axis_text(double value);

// ---- Results ----------------------------------------------------------------------------------

struct NamedFigures {
    std::string name;  // of its CSV file, after the experiment's; no picture of the result has it too
    std::string title; // one line
    tools::Figures figures;
};

// What an experiment has to say, in the order in which it is to be read.
struct Result {
    std::vector<std::string> expected = {}; // what was written down before the run, if anything
    std::vector<NamedFigures> tables = {};
    std::vector<Picture> pictures = {};
    std::vector<std::string> found;      // sentences with the figures of this run; at least one
    std::vector<std::string> notes = {}; // what the figures can and cannot mean; where published ones are from
};

// What `ordo lab NAME` was asked for.
struct Request {
    const tools::Arguments& arguments;
    std::uint64_t seed = 1;
    bool quick = false; // less of everything that takes time: fewer seeds, tokens, lengths
    // Shows a line on a terminal that says how far it is. To be called often, and from one thread outside of parallel
    // loops: it is here that a report notices Ctrl-C, and leaves by an exception.
    std::function<void(const std::string&)> progress = [](const std::string&) {};

    // A whole number as given, or what the experiment takes without one.
    int integer(std::string_view option, int fallback) const {
        return arguments.has(option) ? arguments.integer(option) : fallback;
    }
    // The same of an option that takes a list, where one value makes sense. Throws Error(usage) if several are given,
    // or one that is more than most.
    int only(std::string_view option, int fallback, int most) const;
    // The specs that --encodings names, or those that the experiment takes without it; "all" is every registered one.
    std::vector<std::string> encodings(const std::string& fallback) const;
};

struct Experiment {
    std::string_view name;
    std::string_view summary;                  // one line, the question that it answers
    std::string_view details;                  // what is computed and how, with sources
    std::span<const std::string_view> options; // names of those of the verb's that it takes beside the common ones
    double seconds = 1, quick_seconds = 1;     // about how long it takes on two cores
    Result (*run)(const Request&);
};

// All of them in the order of the report; a new one is its file and two lines in experiments.cpp.
std::span<const Experiment* const> experiments();
// Throws Error(usage) naming the nearest.
const Experiment& find_experiment(std::string_view name);

// Runs it and sees that the result can be shown: as many cells as columns, as many y as x, a name for one file
// each, at least one sentence that was found.
Result run(const Experiment& experiment, const Request& request);

} // namespace ordo::lab

namespace ordo::tools {

// The verb lab with what runs its experiments.
const Verb& lab_program();

} // namespace ordo::tools
