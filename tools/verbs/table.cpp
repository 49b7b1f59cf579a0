// SPDX-License-Identifier: MIT
// ordo table: an encoding as numbers.
#include "core/error.h"
#include "encoding/base/loose_encoding.h"
#include "encoding/base/plan.h"
#include "encoding/base/registry.h"
#include "encoding/base/spec.h"
#include "io/base_name.h"
#include "model/model_access.h"
#include "tools/cli/machine.h"
#include "tools/cli/mistakes.h"
#include "tools/opening/weights.h"
#include "tools/terminal/output.h"

#include <algorithm>
#include <array>

namespace ordo::tools {

namespace table_file {

constexpr Option options[] = {
    {Kind::integer, "len", "L=8", 1, 1 << 20, "The number of positions."},
    {Kind::integer, "start", "P=0", 0, 1 << 30, "The first position."},
    {Kind::integer, "dim", "D", 1, 65'536,
     "The width of the model. Default: 8 for each head, or the width of the weights."},
    {Kind::integer, "heads", "H", 1, 1'024, "The heads that share the width. Default: 1, and 8 for a bias."},
    {Kind::integer, "head", "h=0", 0, 1'023, "The head of the bias."},
    {Kind::integer, "layer", "i=0", 0, 65'535, "The layer, in a pattern or in weights whose layers differ."},
    {Kind::text, "part", "NAME", "Print another table of the encoding; a wrong NAME lists them."},
    {"slopes", "Print the slopes of all heads: --part slopes."},
    {"transpose", "Print positions as columns."},
    {Kind::path, "m,model", "FILE",
     "Take the width, the heads and the encoding's weights from this model. Default: the shipped one."},
    {Kind::choice, "format", "FORMAT=csv",
     "text|md|csv|json: every number reads back as the same number. In json, \"-inf\" is a string."},
};
constexpr OptionGroup groups[] = {{"Table", options}, common_group};

Dims read_dims(const Arguments& arguments, unsigned moments) {
    if (arguments.has("model")) {
        for (const char* name : {"dim", "heads"})
            if (arguments.has(name)) fail(ErrorCode::usage, "expected --model or --", name, ", found both");
        return read_facts(arguments.text("model")).blueprint.dims();
    }
    const bool by_head = (moments & ~unsigned{moment_embed | moment_rotate}) != 0;
    const int heads = arguments.has("heads") ? arguments.integer("heads") : by_head ? 8 : 1;
    const int dim = arguments.has("dim") ? arguments.integer("dim") : 8 * heads;
    // A bias does not use the width; a rotation needs heads of equal width.
    if (moments & moment_rotate) head_width(arguments, dim, heads);
    // Only an encoding with tensors uses the context, and takes it from the weights if there are any.
    return {dim, heads, std::max(1, dim / heads), 1, 256};
}

// The encoding of the spec, or of one layer of a pattern. none has no table.
const SpecItem& item_in(std::span<const SpecItem> items, const std::string& spec, int layer) {
    if (items.size() == 1 && items[0].is_pattern()) {
        const auto& elements = items[0].elements;
        return item_in(elements[static_cast<std::size_t>(layer) % elements.size()], spec, layer);
    }
    if (items.size() != 1)
        fail(ErrorCode::usage, "table: expected one encoding, found the sum '", printable(spec), "'");
    return items[0];
}

// The full spec of this encoding for a model of these sizes.
std::string spec_in(const std::string& spec, const Dims& dims, int layer) {
    const EncodingPlan plan = plan_encodings(spec, dims);
    if (plan.sums.empty() || plan.sums[0].in_layer(layer).empty())
        fail(ErrorCode::usage, "table: '", printable(spec), "' adds nothing that could be shown",
             plan.encodings.empty() ? "" : " in layer " + std::to_string(layer));
    return plan.encodings[plan.sums[0].in_layer(layer)[0]]->spec();
}

TableRequest read_table_request(const Arguments& arguments) {
    TableRequest request;
    request.length = arguments.integer("len");
    request.start = arguments.integer("start");
    request.head = arguments.integer("head");
    request.layer = arguments.integer("layer");
    request.part = arguments.text("part");
    if (arguments.has("slopes")) {
        if (arguments.has("part")) fail(ErrorCode::usage, "expected --slopes or --part, found both");
        request.part = "slopes";
    }
    return request;
}

// The first column of some tables names their rows.
bool has_names(const std::vector<std::string>& header) {
    const std::string& first = header.at(0);
    return first == "position" || first == "pair" || first == "head";
}

// Turns rows into columns. Names are those of the rows, or their positions.
void write_transposed(const Table& table, int start, Format format) {
    FigureRows figures;
    const std::size_t first = has_names(table.header) ? 1 : 0;
    if (first == 1) figures.columns.push_back(table.header[0]);
    const bool pairs =
        first == 1 && table.header.size() > 1 && table.header[1] == "pair"; // several rows for one position
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
        const std::vector<double>& row = table.rows[i];
        std::string& name = figures.columns.emplace_back("position" + std::to_string(start + static_cast<int>(i)));
        if (first == 1) name = number_text(row[0]) + (pairs ? "/" + number_text(row[1]) : "");
    }
    figures.count = static_cast<std::int64_t>(table.header.size() - first);
    figures.fill = [&table, first](std::int64_t row, std::vector<Cell>& out) {
        const std::size_t column = first + static_cast<std::size_t>(row);
        if (first == 1) out[0] = table.header[column];
        for (std::size_t i = 0; i < table.rows.size(); ++i) out[first + i] = table.rows[i][column];
    };
    write_rows(figures, format);
}

// Writes row by row: a bias of thousands of positions needs memory for only two rows.
void write_table(const TableRows& table, Format format) {
    FigureRows figures{table.header, table.count, {}};
    std::vector<double> numbers(table.header.size());
    figures.fill = [&](std::int64_t row, std::vector<Cell>& out) {
        std::fill(numbers.begin(), numbers.end(), 0);
        table.fill(row, numbers);
        std::copy(numbers.begin(), numbers.end(), out.begin());
    };
    write_rows(figures, format);
}

// Whether the numbers are in tensors or the request is wrong: an encoding without its tensors refuses both.
bool in_weights(const Encoding& unbound, TableRequest request, const Dims& dims) {
    request.width = dims.d_model;
    request.layer = 0;
    try {
        unbound.table_rows(request);
        return false;
    } catch (const Error&) {
        return true;
    }
}

// layers: the layers in which the encoding acts. warning: printed if there is a table.
void show(const Arguments& arguments, TableRequest request, const Encoding& encoding, const Dims& dims,
          std::span<const int> layers, const std::string& warning = {}) {
    request.width = dims.d_model;
    if (request.head >= dims.n_heads)
        fail(ErrorCode::usage, "option --head: expected a head below ", dims.n_heads, ", found ", request.head);
    if (std::find(layers.begin(), layers.end(), request.layer) == layers.end())
        fail(ErrorCode::usage, "option --layer: expected one that the encoding acts in, ", layers.front(), " to ",
             layers.back(), ", found ", request.layer);
    const Format format = parse_format(arguments.text("format"));
    const TableRows rows = encoding.table_rows(request);
    if (!warning.empty() && !arguments.has("quiet")) write_message(warning);
    if (arguments.has("transpose"))
        write_transposed(encoding.table(request), request.start, format);
    else
        write_table(rows, format);
}

// Shows an encoding with tensors as it is in the weights.
void show_weights(const Arguments& arguments, const std::string& spec, const TableRequest& request,
                  const std::filesystem::path& file) {
    const Model model = Model::load(file, LoadOptions{});
    const Dims dims = blueprint_of(model).dims();
    for (const auto& [name, value] : {std::pair("dim", dims.d_model), {"heads", dims.n_heads}})
        if (arguments.has(name) && arguments.integer(name) != value)
            fail(ErrorCode::usage, "option --", name, ": '", printable(spec), "' is stored in the weights ",
                 printable(base_name(file)), ": expected ", value, " or none, found ", arguments.integer(name));
    const std::string wanted = spec_in(spec, dims, request.layer);
    const ModelEncodings& encodings = encodings_of(model);
    for (std::size_t i = 0; i < encodings.items().size(); ++i)
        if (encodings.items()[i]->spec() == wanted)
            return show(arguments, request, *encodings.items()[i], dims, encodings.layers_of_item(static_cast<int>(i)));
    fail(ErrorCode::usage, "table: expected weights that have ", wanted, ", found weights trained with ",
         model.encoding());
}

int run(const Arguments& arguments) {
    const std::string& spec = arguments.operand();
    const std::vector<SpecItem> items = parse_spec(spec);
    TableRequest request = read_table_request(arguments);
    Dims dims = read_dims(arguments, example_of(find_encoding(item_in(items, spec, request.layer).name))->moments());
    const std::string item = spec_in(spec, dims, request.layer);
    dims.n_layers = 1; // used if there are no weights
    const std::vector<std::unique_ptr<Encoding>> alone = make_encodings(item, dims);
    const bool stored =
        !alone.front()->tensors().empty() && (arguments.has("model") || in_weights(*alone.front(), request, dims));
    std::optional<std::filesystem::path> file;
    if (stored && arguments.has("model"))
        file = arguments.text("model");
    else if (stored)
        file = weights_trained_with(spec);
    if (file) {
        show_weights(arguments, spec, request, *file);
        return 0;
    }
    if (items[0].is_pattern()) request.layer = 0;
    if (!stored) {
        show(arguments, request, *alone.front(), dims, std::array{0});
        return 0;
    }
    const LooseEncoding untrained(item, dims);
    show(arguments, request, *untrained.stack().items()[0], dims, std::array{0},
         "warning: " + printable(spec) +
             ": no shipped weights were trained with it; shown are the numbers that its training begins with");
    return 0;
}

} // namespace table_file

extern const Verb table_verb;
const Verb table_verb{
    .name = "table",
    .operand = "SPEC",
    .operand_needed = true,
    .summary = "Print an encoding as numbers",
    .details = "An encoding that adds to embeddings has a row for each position. For rope, each position "
               "and pair has a row with its angle, cosine and sine. A bias has a row for each query and a column "
               "for each key, for one head. rotate-stretch has an angle and a scale. A trained encoding is "
               "shown as in the shipped weights, or at the start of its training.",
    .groups = table_file::groups,
    .run = table_file::run};

} // namespace ordo::tools
