// SPDX-License-Identifier: MIT
// The interface of an experiment of `ordo lab`: a function from options to tables, pictures and sentences. Other files
// print, draw and collect these (render.h, draw.h, svg.h, report.h).
#pragma once

#include "tools/cli/options.h"
#include "tools/terminal/output.h"

#include <cmath>
#include <deque>
#include <filesystem>

namespace ordo::lab {

// ---- Pictures ---------------------------------------------------------------------------------

struct Series {
    std::string label = {};
    std::vector<double> x = {}, y = {};      // of equal size
    std::vector<double> low = {}, high = {}; // the interval around y; may be empty
    std::vector<std::string> names = {};     // of points, next to each in files; may be empty
    // A value of steps holds until the next point; arrows start at (0, 0).
    enum class Style { line, points, line_points, steps, arrows } style = Style::line;

    void add(double at, double value) { x.push_back(at), y.push_back(value); }
    void add(double at, double value, double least, double most) {
        add(at, value);
        low.push_back(least), high.push_back(most);
    }
};

// A series without points.
inline Series series(std::string label, Series::Style style = Series::Style::line) {
    Series empty;
    empty.label = std::move(label);
    empty.style = style;
    return empty;
}

// A line across the picture: a bound, chance level, or a perfect result.
struct Reference {
    std::string label = {};
    double y = 0;
};

struct Curves {
    std::vector<Series> series = {};
    std::vector<Reference> references = {};
    bool log_x = false, log_y = false;
    bool square = false;                   // the same scale on both axes
    std::string interval = {};             // the meaning of Series::low and high: "95 % interval"
    std::vector<std::string> x_names = {}; // of x = 0, 1, ...; empty: numbers

    // The place of a value on an axis.
    double on_x(double x) const { return log_x ? std::log10(x) : x; }
    double on_y(double y) const { return log_y ? std::log10(y) : y; }
    Series& add(std::string label, Series::Style style = Series::Style::line) {
        return series.emplace_back(lab::series(std::move(label), style));
    }
};

// Cell (row, column) is at y = first_y + row, x = column. Row 0 is at the top.
struct HeatMap {
    std::vector<std::vector<double>> values = {}; // NaN: blank, such as a masked entry
    std::string blank = {};                       // the meaning of a blank cell: "refused"
    int first_y = 0;
    std::string value_label = {};                        // of the colour bar, with its unit
    std::vector<std::string> x_names = {}, y_names = {}; // empty: numbers
    bool diverging = true; // colours diverge from zero; otherwise they run from the smallest to the largest value
    bool shares = false;   // fractions of one: colours run from 0 to 1, and files show the numbers in the cells
    bool square = false;   // square cells in files, for a map of tokens by tokens
    // The range of the colours, for maps that are compared; empty: the range of this map's values.
    std::optional<std::pair<double, double>> scale = {};
};

struct Picture {
    std::string name;  // of its files, after the experiment's: "128x8" is heat-map-128x8.svg
    std::string title; // states the finding
    std::string x_label, y_label;
    std::variant<Curves, HeatMap> content;
};

// A number in at most three significant digits, for a sentence or an axis.
std::string axis_text(double value);

// ---- Results ----------------------------------------------------------------------------------

struct NamedFigures {
    std::string name;  // of its CSV file, after the experiment's; differs from the names of the result's pictures
    std::string title; // one line
    tools::Figures figures;
};

// The result of an experiment, in reading order.
struct Result {
    std::string answer = {};             // to the summary's question, in words, from the figures of this run
    std::vector<std::string> found = {}; // further sentences with figures
    std::vector<Picture> pictures = {};  // the most important first: it stands for the experiment
    std::deque<NamedFigures> tables = {};
    std::vector<std::string> expected = {}; // written before the run, if anything
    std::vector<std::string> notes = {};    // the limits of the figures, and the sources of published ones

    // Adds a table without rows. The reference stays valid.
    tools::Figures& table(std::string name, std::string title, std::vector<std::string> columns, int decimals = -1) {
        tables.push_back({std::move(name), std::move(title), {std::move(columns), {}, decimals}});
        return tables.back().figures;
    }
};

// The options of `ordo lab NAME`.
struct Request {
    const tools::Arguments& arguments;
    std::uint64_t seed = 1;
    bool quick = false; // less of everything that takes time: fewer seeds, tokens, lengths
    // Shows a line of progress on a terminal. Call it often, from one thread, outside of parallel loops. Here a report
    // notices Ctrl-C and throws.
    std::function<void(const std::string&)> progress = [](const std::string&) {};

    // The whole number given, or the experiment's default.
    int integer(std::string_view option, int fallback) const {
        return arguments.has(option) ? arguments.integer(option) : fallback;
    }
    // The same for an option that takes a list, where only one value makes sense. Throws Error(usage) for several
    // values, or for one above `most`.
    int only(std::string_view option, int fallback, int most) const;
    // The specs of --encodings, or the experiment's default. "all" stands for every registered encoding.
    std::vector<std::string> encodings(const std::string& fallback) const;
};

struct Experiment {
    struct Seconds {
        double full = 1, quick = 1;
    };
    std::string_view name;
    std::string_view summary; // the question, as a sentence
    std::string_view details; // the computation, with sources
    // The answer, if cells of the result are enough: {:TABLE/ROW/COLUMN}, see with_cells() of study/cells.h.
    std::string_view answer = {};
    std::vector<std::string_view> notes = {};   // those that no run changes; they precede the result's
    std::vector<std::string_view> options = {}; // names of the verb's options that it takes besides the common ones
    Seconds seconds = {};                       // approximate duration on two cores
    Result (*run)(const Request&);
};

#define ORDO_EXPERIMENT(name) extern const Experiment name##_experiment;
#include "tools/lab/list.def"
#undef ORDO_EXPERIMENT

// All experiments in the order of the report. A new one is a file and a line in list.def.
std::span<const Experiment* const> experiments();
// The same by lesson of the course.
struct Lesson {
    std::string_view title;
    std::vector<const Experiment*> experiments = {};
};
std::span<const Lesson> lessons();
// Throws Error(usage) with the nearest name.
const Experiment& find_experiment(std::string_view name);

// Runs an experiment and checks its result: as many cells as columns, as many y as x, a file name for each table and
// picture, and an answer.
Result run(const Experiment& experiment, const Request& request);

// One shell command per line: `ordo train` on --corpus for each encoding and seed, with the options of --train, and
// `ordo lab tasks` for each encoding, seed and task of --tasks. The commands write into the directory. Throws
// Error(usage) if both --corpus and --tasks are missing.
std::vector<std::string> jobs_of(const Request& request, const std::filesystem::path& directory);

} // namespace ordo::lab

namespace ordo::tools {

// The verb lab with the code that runs its experiments.
const Verb& lab_program();

} // namespace ordo::tools
