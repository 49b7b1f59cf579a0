// SPDX-License-Identifier: MIT
// The experiments of list.def, and the guarantees of each result.
#include "tools/lab/lab.h"

#include "core/error.h"
#include "encoding/base/registry.h"
#include "encoding/base/spec.h"
#include "tools/bench/shapes.h"
#include "tools/lab/shipped/weight_files.h"
#include "tools/lab/study/cells.h"
#include "tools/opening/weights.h"
#include "tools/train/documents.h"

#include <algorithm>
#include <set>

namespace ordo::lab {

namespace {

const Experiment* const list[] = {
#define ORDO_EXPERIMENT(name) &name##_experiment,
#include "tools/lab/list.def"
#undef ORDO_EXPERIMENT
};

// A result that breaks a guarantee is a bug in the experiment's file. Any run finds it.
void expect(bool held, const Experiment& experiment, const std::string& thing, const char* promise) {
    if (!held) fail(ErrorCode::failure, "lab ", experiment.name, ": ", printable(thing), ": expected ", promise);
}

void check(const Experiment& experiment, const Picture& picture) {
    const auto promise = [&](bool held, const char* what) { expect(held, experiment, picture.name, what); };
    promise(!picture.title.empty() && !picture.x_label.empty() && !picture.y_label.empty(), "a title and labels");
    if (const auto* curves = std::get_if<Curves>(&picture.content)) {
        promise(!curves->series.empty(), "a series");
        for (const Series& series : curves->series) {
            promise(series.x.size() == series.y.size(), "as many y as x");
            promise(series.low.size() == series.high.size(), "as many upper ends as lower ones");
            promise(series.low.empty() || series.low.size() == series.x.size(), "an interval for each point");
            promise(series.low.empty() || !curves->interval.empty(), "the meaning of its intervals");
            promise(series.names.empty() || series.names.size() == series.x.size(), "a name for each point");
        }
        return;
    }
    const auto& map = std::get<HeatMap>(picture.content);
    promise(!map.values.empty() && !map.values[0].empty(), "values");
    for (const auto& row : map.values) promise(row.size() == map.values[0].size(), "rows of one length");
    promise(map.x_names.empty() || map.x_names.size() == map.values[0].size(), "a name for each column");
    promise(map.y_names.empty() || map.y_names.size() == map.values.size(), "a name for each row");
}

// Text may come from files and models. It is printed on terminals and written into scripts and pages.
void make_printable(std::string& text) {
    std::string safe;
    for (std::size_t at = 0; at <= text.size();) { // a title may have several lines
        const std::size_t end = std::min(text.find('\n', at), text.size());
        safe += (at > 0 ? "\n" : "") + printable(std::string_view(text).substr(at, end - at), std::string::npos);
        at = end + 1;
    }
    text = std::move(safe);
}

template <class... Lists>
void make_printable(std::vector<std::string>& texts, Lists&... more) {
    for (std::string& text : texts) make_printable(text);
    (make_printable(more), ...);
}

void make_printable(Result& result) {
    make_printable(result.answer);
    make_printable(result.expected, result.found, result.notes);
    for (NamedFigures& table : result.tables) {
        make_printable(table.title);
        make_printable(table.figures.columns);
        for (auto& row : table.figures.rows)
            for (tools::Cell& cell : row)
                if (auto* text = std::get_if<std::string>(&cell)) make_printable(*text);
    }
    for (Picture& picture : result.pictures) {
        for (std::string* text : {&picture.title, &picture.x_label, &picture.y_label}) make_printable(*text);
        if (auto* map = std::get_if<HeatMap>(&picture.content)) make_printable(map->x_names, map->y_names);
        if (auto* curves = std::get_if<Curves>(&picture.content)) {
            make_printable(curves->x_names);
            for (Series& series : curves->series) make_printable(series.label), make_printable(series.names);
            for (Reference& reference : curves->references) make_printable(reference.label);
        }
    }
}

// "angles, rotary, extension": the experiments that ask about an encoding by its name.
std::string experiments_about(const std::string& encoding) {
    std::string names;
    for (const Experiment* experiment : list) {
        std::string question(experiment->summary);
        for (char& c : question)
            if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
        if (question.find(encoding) != question.npos)
            names += (names.empty() ? "" : ", ") + std::string(experiment->name);
    }
    return names;
}

// A loss on the training text is no loss on other texts.
void warn_of_learned_text(const Experiment& experiment, const Request& request, Result& result) {
    for (const std::string_view option : {"model", "corpus"})
        if (std::find(experiment.options.begin(), experiment.options.end(), option) == experiment.options.end()) return;
    if (!request.arguments.has("model")) return;
    std::string names, name;
    try {
        const std::filesystem::path text =
            request.arguments.has("corpus") ? request.arguments.text("corpus") : weights_file("heldout.txt").string();
        name = printable(text.filename().string());
        for (const Trained& model : trained_models(request))
            if (tools::learned_from(tools::read_facts(model.file).record, text))
                names += (names.empty() ? "" : ", ") + model.name;
    } catch (const Error&) { // no weights, but results of tasks, which compare joins
        return;
    }
    if (names.empty()) return;
    result.answer += " But " + name + " is a training text, so this says nothing about other texts.";
    result.found.insert(result.found.begin(), "NOT HELD OUT: " + names + " learned from " + name +
                                                  "; --corpus gives a text that they have not seen.");
}

} // namespace

std::span<const Experiment* const> experiments() {
    return list;
}

std::span<const Lesson> lessons() {
    static const std::vector<Lesson> all = [] {
        std::vector<Lesson> out;
#define ORDO_LESSON(title) out.push_back({title});
#define ORDO_EXPERIMENT(name) out.back().experiments.push_back(&name##_experiment);
#include "tools/lab/list.def"
#undef ORDO_EXPERIMENT
        return out;
    }();
    return all;
}

const Experiment& find_experiment(std::string_view name) {
    std::vector<std::string_view> names{"report"};
    for (const Experiment* experiment : list) {
        if (name == experiment->name) return *experiment;
        names.push_back(experiment->name);
    }
    const std::string_view near = nearest(name, names);
    std::string advice = near.empty() ? "ordo lab lists them" : "did you mean " + std::string(near) + "?";
    if (name == "all") advice = "ordo lab report DIR runs all of them";
    if (const std::string encoding = is_registered(name) ? std::string(name) : likely_name(name);
        is_registered(encoding)) {
        const std::string about = experiments_about(encoding);
        advice = "ordo encodings " + encoding + " explains this encoding" + (about.empty() ? "" : ", as do ") + about;
    }
    fail(ErrorCode::usage, "lab: unknown experiment '", printable(name), "'; ", advice);
}

int Request::only(std::string_view option, int fallback, int most) const {
    if (!arguments.has(option)) return fallback;
    const auto given = arguments.integers(option);
    if (given.size() != 1)
        fail(ErrorCode::usage, "option --", option, ": expected one value for this experiment, found ", given.size());
    if (given[0] > most)
        fail(ErrorCode::usage, "option --", option, ": expected at most ", most, " for this experiment, found ",
             given[0]);
    return static_cast<int>(given[0]);
}

std::vector<std::string> Request::encodings(const std::string& fallback) const {
    const auto given = arguments.all("encodings");
    std::vector<std::string> lists(given.begin(), given.end());
    if (lists.empty()) lists.push_back(fallback);
    return bench::encoding_list(lists);
}

Result run(const Experiment& experiment, const Request& request) {
    Result result = experiment.run(request);
    if (!experiment.answer.empty()) result.answer = with_cells(std::string(experiment.answer), result);
    result.notes.insert(result.notes.begin(), experiment.notes.begin(), experiment.notes.end());
    warn_of_learned_text(experiment, request, result);
    expect(!result.answer.empty(), experiment, "result", "an answer to its question");
    std::set<std::string> names;
    for (const NamedFigures& table : result.tables) {
        expect(names.insert(table.name).second, experiment, table.name, "a name of its own");
        expect(!table.title.empty(), experiment, table.name, "a title");
        for (const auto& row : table.figures.rows)
            expect(row.size() == table.figures.columns.size(), experiment, table.name, "as many cells as columns");
    }
    for (const Picture& picture : result.pictures) {
        expect(names.insert(picture.name).second, experiment, picture.name, "a name of its own");
        check(experiment, picture);
    }
    make_printable(result);
    return result;
}

} // namespace ordo::lab
