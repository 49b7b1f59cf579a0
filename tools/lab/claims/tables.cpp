// SPDX-License-Identifier: MIT
// A picture of every registered encoding's table.
#include "tools/lab/study/prelude.h"
#include "tools/opening/weights.h"

namespace ordo::lab {
namespace tables_file {

constexpr int most_length = 2048, most_cells = 1 << 20; // of a table shown as a picture

struct Size {
    int length, width, heads;
};

// Whether all columns hold one kind of number, as in "dim0,dim1"; "position,angle,scale" is the opposite.
bool is_matrix(std::span<const std::string> header) {
    const std::string& name = header.front();
    return !name.empty() && name.back() >= '0' && name.back() <= '9';
}

// A picture of one kind of number, with its extent in the table.
void add(Result& result, const std::string& name, const std::string& what, const std::string& x, const std::string& y,
         std::variant<Curves, HeatMap> content, const Vector& values, std::size_t rows, std::size_t columns) {
    const Sample all = sample_of(values);
    add_row(result.tables[0].figures, name, rows, columns, all.least(), all.most());
    result.pictures.push_back(
        {name, told("{}, from {} to {}", what, figure(all.least()), figure(all.most())), x, y, std::move(content)});
}

void add_map(Result& result, const std::string& name, const std::string& what, const std::string& x,
             const std::string& y, std::vector<Vector> rows, const std::string& label, int first_y = 0) {
    constexpr double turn = 2 * std::numbers::pi;
    const bool angles = label == "angle";
    Vector all;
    for (Vector& row : rows)
        for (double& value : row) {
            std::isfinite(value) ? all.push_back(value) : void(value = NAN);
            // The angles of many turns would show all slow pairs in one colour.
            if (angles) value -= turn * std::floor(value / turn);
        }
    const Sample extent = sample_of(all);
    const std::size_t height = rows.size(), width = rows[0].size();
    HeatMap map{.values = std::move(rows),
                .first_y = first_y,
                .value_label = angles ? "angle mod 2 pi, radians" : label,
                .diverging = !angles && extent.least() < 0 && extent.most() > 0};
    add(result, name, what, x, y, std::move(map), all, height, width);
}

// A picture for every kind of number in a table. A matrix has one picture. Other tables have one for each column after
// the coordinates ("position", "pair"), over these coordinates.
void add_pictures(Result& result, const std::string& name, const std::string& title, const Table& table,
                  const char* kind_of_row) {
    const std::span<const std::string> header(table.header);
    // Rows are in order, or each row's first number is its coordinate, such as a distance.
    const std::size_t begin = is_matrix(header) ? 0 : 1;
    if (header.size() > begin && is_matrix(header.subspan(begin))) {
        const bool bias = header[begin].starts_with("key");
        const std::string row_kind = bias ? "query" : begin == 0 ? kind_of_row : header[0];
        std::vector<Vector> values;
        for (const Vector& row : table.rows)
            values.emplace_back(row.begin() + static_cast<std::ptrdiff_t>(begin), row.end());
        return add_map(result, name, told("{}: a row for each {}", title, row_kind), bias ? "key" : "dimension",
                       row_kind, std::move(values), bias ? "added to the score" : "value",
                       begin == 1 ? static_cast<int>(table.rows.front().front()) : 0);
    }
    const bool pairs = header.size() > 1 && header[1] == "pair";
    for (std::size_t c = pairs ? 2 : 1; c < header.size(); ++c) {
        const std::string &column = header[c], stem = name + "-" + column;
        const std::string what = told("{}: {} at each {}{}", title, column, header[0], pairs ? " and pair" : "");
        if (pairs) {
            std::vector<Vector> values;
            for (const Vector& row : table.rows) {
                if (row[1] == 0) values.emplace_back();
                values.back().push_back(row[c]);
            }
            add_map(result, stem, what, "pair", header[0], std::move(values), column);
            continue;
        }
        Curves curves;
        Series& series = curves.add("");
        if (header[0] == "head") // no values lie between two heads
            for (const Vector& row : table.rows) curves.x_names.push_back(text(row[0]));
        if (header[0] == "head" || column == "angle") series.style = Series::Style::points; // starts again each turn
        if (column == "scale") series.style = Series::Style::steps;                         // constant within a turn
        for (const Vector& row : table.rows) series.add(row[0], row[c]);
        const Vector y = series.y;
        if (std::ranges::any_of(y, [](double value) { return value != 0; })) // else nothing to see
            add(result, stem, what, header[0], column + (column == "angle" ? ", radians" : ""), std::move(curves), y,
                y.size(), 1);
    }
}

// Shows an encoding's main table, for the first and the last head if they differ. remark is added to its title.
void add_tables(Result& result, const Encoding& encoding, const std::string& name, Size size,
                const std::string& remark = {}) {
    const Limits limits = encoding.limits();
    const auto table_of = [&](int head) {
        return encoding.table({.length = std::min(size.length, limits.given()), .head = head, .width = size.width});
    };
    const int last = size.heads - 1;
    const bool by_head = (encoding.moments() & moment_bias) && last > 0 && table_of(0).rows != table_of(last).rows;
    for (const int head : by_head ? std::vector{0, last} : std::vector{0}) {
        const std::string title = by_head ? told(", head {} of {}", head, size.heads) : "";
        // An encoding with a limit on segments has a row for each segment.
        add_pictures(result, by_head ? text(name, "-head-", head) : name, encoding.spec() + title + remark,
                     table_of(head), limits.segments < std::numeric_limits<int>::max() ? "segment" : "position");
    }
}

// Shows an encoding with tensors as trained in the shipped weights. Without such weights, shows it as initialized.
void add_trained(Result& result, const std::string& spec, const std::string& name, Size size, std::uint64_t seed) {
    const std::optional<std::filesystem::path> file = tools::weights_trained_with(spec);
    if (!file) {
        const int d_head = std::max(2, size.width / size.heads / 2 * 2); // rotations act on pairs
        const LooseEncoding loose(spec, {size.width, size.heads, d_head, 1, 256}, seed);
        add_tables(result, *loose.stack().items()[0], name, size, ", untrained");
        result.notes.push_back(spec + ": no shipped weights have its table. It is shown untrained, with the initial "
                                      "numbers of training, for --dim columns; a table of zeros is not drawn.");
        return;
    }
    const Model model = Model::load(*file, LoadOptions{});
    const Dims dims = blueprint_of(model).dims();
    for (const auto& encoding : encodings_of(model).items())
        if (!encoding->tensors().empty())
            add_tables(result, *encoding, name, {size.length, dims.d_model, dims.n_heads});
    result.notes.push_back(spec + ": as trained, in " + file->filename().string() + ".");
}

Result run(const Request& request) {
    const int heads = request.integer("heads", 8);
    const Size size{request.only("length", 48, most_length), request.integer("dim", 64), heads};
    if (size.width < 2 || size.width > most_cells / size.length)
        fail(ErrorCode::usage, "option --dim: expected 2 to ", most_cells / size.length, " for --length ", size.length,
             ", found ", size.width);
    const Dims dims{size.width, heads, size.width, 1, 256}; // encodings that rotate heads rotate --dim columns
    Result result;
    result.table("tables", "The main table of each encoding; ordo table NAME --part PART prints others",
                 {"table", "rows", "columns", "least", "most"});
    std::string embedding, rotation, score, nowhere;
    std::map<std::string, int> names; // how often each occurred: one encoding may come with several parameters
    for (const std::string& sum : request.encodings("all"))
        for (std::size_t at = 0; at < sum.size();) {
            const std::size_t end = std::min(sum.find('+', at), sum.size());
            const std::string spec = sum.substr(at, end - at);
            at = end + 1;
            request.progress(spec);
            std::string name = spec.substr(0, spec.find(':'));
            if (const int met = names[name]++; met > 0) name += text("-", met + 1);
            const unsigned moments = ModelEncodings(spec, dims).moments();
            if (moments & (moment_embed | moment_shift)) append(embedding, name);
            if (moments & moment_rotate) append(rotation, name);
            if (moments & (moment_bias | moment_rescore | moment_sink | moment_mix)) append(score, name);
            if (moments == 0) append(nowhere, in_text(name));
            for (const auto& encoding : make_encodings(spec, dims)) // the list is empty for "none"
                encoding->tensors().empty() ? add_tables(result, *encoding, name, size)
                                            : add_trained(result, spec, name, size, request.seed);
        }
    result.answer = told(
        "These act on the vectors of tokens: {}. These act on queries and keys: {}. These act on scores or weights: "
        "{}. These add nothing: {}.",
        or_none(embedding), or_none(rotation), or_none(score), or_none(nowhere));
    return result;
}

} // namespace tables_file

const Experiment tables_experiment{
    .name = "tables",
    .summary = "Where does each encoding act, and with which numbers?",
    .details = "The main table of each of --encodings (all), for --length (48) positions, --dim (64) columns and "
               "--heads (8) heads; for a bias, the first and the last head. A trained table comes from the shipped "
               "weights, or has its initial numbers.",
    .options = {"encodings", "length", "dim", "heads"},
    .seconds = {2, 2},
    .run = tables_file::run};

} // namespace ordo::lab
