// SPDX-License-Identifier: MIT
// ordo table: an encoding as numbers.
#include "core/error.h"
#include "encoding/registry.h"
#include "model/model.h"
#include "tools/machine.h"
#include "tools/output.h"
#include "tools/weights.h"

#include <algorithm>

namespace ordo::tools {

namespace {

constexpr Option options[] = {
    {.name = "len",
     .kind = Kind::integer,
     .value = "L",
     .fallback = "8",
     .least = 1,
     .most = 1 << 20,
     .help = "how many positions"},
    {.name = "start",
     .kind = Kind::integer,
     .value = "P",
     .fallback = "0",
     .least = 0,
     .most = 1 << 30,
     .help = "the first position"},
    {.name = "dim",
     .kind = Kind::integer,
     .value = "D",
     .least = 1,
     .most = 65'536,
     .help = "the width of the model, by default 8 for each head"},
    {.name = "heads",
     .kind = Kind::integer,
     .value = "H",
     .least = 1,
     .most = 1'024,
     .help = "heads that share the width, by default 1, and 8 for a bias"},
    {.name = "head",
     .kind = Kind::integer,
     .value = "h",
     .fallback = "0",
     .least = 0,
     .most = 1'023,
     .help = "which head's bias"},
    {.name = "part",
     .kind = Kind::text,
     .value = "NAME",
     .help = "another table than the main one; a wrong NAME lists them"},
    {.name = "slopes", .help = "the slopes of all heads: --part slopes"},
    {.name = "transpose", .help = "positions in columns"},
    {.letter = 'm',
     .name = "model",
     .kind = Kind::path,
     .value = "FILE",
     .help = "take width, heads and the encoding's own weights from this model; by default the shipped one"},
    {.name = "format",
     .kind = Kind::choice,
     .value = "FORMAT",
     .fallback = "csv",
     .help = "text|md|csv|json: every number reads back as the same one"},
};
constexpr OptionGroup groups[] = {{"Table", options}, common_group};

Dims read_dims(const Arguments& arguments, unsigned moments) {
    if (arguments.has("model")) {
        for (const char* name : {"dim", "heads"})
            if (arguments.has(name)) fail(ErrorCode::usage, "expected --model or --", name, ", found both");
        return read_facts(arguments.text("model")).blueprint.dims();
    }
    const int heads = arguments.has("heads") ? arguments.integer("heads") : moments & moment_bias ? 8 : 1;
    const int dim = arguments.has("dim") ? arguments.integer("dim") : 8 * heads;
    // A bias knows nothing of the width; whoever rotates heads needs them equal.
    if (dim % heads != 0 && (moments & moment_rotate))
        fail(ErrorCode::usage, "option --heads: expected a divisor of --dim ", dim, ", found ", heads);
    // The encodings that depend on a context have tensors, and take theirs from the weights.
    return {dim, heads, std::max(1, dim / heads), 1, 256};
}

TableRequest read_request(const Arguments& arguments) {
    TableRequest request;
    request.length = arguments.integer("len");
    request.start = arguments.integer("start");
    request.head = arguments.integer("head");
    request.part = arguments.text("part");
    if (arguments.has("slopes")) {
        if (arguments.has("part")) fail(ErrorCode::usage, "expected --slopes or --part, found both");
        request.part = "slopes";
    }
    return request;
}

// The first column of some tables names their rows.
bool has_names(const Table& table) {
    const std::string& first = table.header.at(0);
    return first == "position" || first == "pair" || first == "head";
}

// Rows become columns, named by what named them or by their positions.
Figures transposed(const Table& table, int start) {
    Figures figures;
    const std::size_t first = has_names(table) ? 1 : 0;
    if (first == 1) figures.columns.push_back(table.header[0]);
    for (std::size_t i = 0; i < table.rows.size(); ++i)
        figures.columns.push_back(first == 1 ? number_text(table.rows[i][0])
                                             : "position" + std::to_string(start + static_cast<int>(i)));
    for (std::size_t column = first; column < table.header.size(); ++column) {
        std::vector<Cell>& line = figures.rows.emplace_back();
        if (first == 1) line.emplace_back(table.header[column]);
        for (const auto& row : table.rows) line.emplace_back(row[column]);
    }
    return figures;
}

Figures as_rows(const Table& table) {
    Figures figures;
    figures.columns = table.header;
    for (const auto& row : table.rows) figures.rows.emplace_back(row.begin(), row.end());
    return figures;
}

Figures make_figures(const Arguments& arguments, const Encoding& encoding, const Dims& dims) {
    TableRequest request = read_request(arguments);
    request.width = dims.d_model;
    if (request.head >= dims.n_heads)
        fail(ErrorCode::usage, "option --head: expected a head below ", dims.n_heads, ", found ", request.head);
    const Table table = encoding.table(request);
    return arguments.has("transpose") ? transposed(table, request.start) : as_rows(table);
}

// An encoding with tensors is shown as the weights have it.
Figures figures_of_weights(const Arguments& arguments, const std::string& spec) {
    const bool given = arguments.has("model");
    const Model model =
        Model::load(given ? std::filesystem::path(arguments.text("model")) : find_weights(spec, false), LoadOptions{});
    const Dims dims = model.impl().blueprint.dims();
    const std::string wanted = make_encodings(spec, dims).front()->spec();
    for (const std::unique_ptr<Encoding>& encoding : model.impl().encodings.items())
        if (encoding->spec() == wanted) return make_figures(arguments, *encoding, dims);
    fail(ErrorCode::usage, "table: expected weights that have ", wanted, ", found weights trained with ",
         model.encoding());
}

int run(const Arguments& arguments) {
    const std::string& spec = arguments.operand();
    const std::vector<SpecItem> items = parse_spec(spec);
    if (items.size() != 1)
        fail(ErrorCode::usage, "table: expected one encoding, found the sum '", printable(spec), "'");
    const Dims dims = read_dims(arguments, find_encoding(items[0].name).moments);
    const std::vector<std::unique_ptr<Encoding>> encodings = make_encodings(spec, dims);
    if (encodings.empty()) fail(ErrorCode::usage, "table: '", printable(spec), "' adds nothing that could be shown");
    const Figures figures = encodings[0]->tensors().empty() ? make_figures(arguments, *encodings[0], dims)
                                                            : figures_of_weights(arguments, spec);
    write_out(render(figures, parse_format(arguments.text("format"))));
    return 0;
}

} // namespace

extern const Verb table_verb;
const Verb table_verb{
    .name = "table",
    .operand = "SPEC",
    .operand_needed = true,
    .summary = "an encoding as numbers",
    .details =
        "What is added to the embeddings: a row for each position. rope: angle, cos and sin of each position and "
        "pair. A bias: a row for each query, a column for each key, of one head. rotate-stretch: angle and scale.",
    .groups = groups,
    .run = run};

} // namespace ordo::tools
