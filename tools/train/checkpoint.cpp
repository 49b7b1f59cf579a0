// SPDX-License-Identifier: MIT
#include "tools/train/checkpoint.h"

#include "core/error.h"
#include "io/opened_files.h"
#include "io/safetensors.h"
#include "tools/train/sha256.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <limits>

namespace ordo::train {
namespace {

constexpr std::string_view format = "4";

const std::string prefix = "run.";

using Entries = std::map<std::string, std::string, std::less<>>;

struct Named {
    const char* name;
    std::span<float> values;
};

// In the file's order.
std::vector<Named> named(const Floats& floats, bool with_best) {
    std::vector<Named> all{
        {"first_moment", floats.first_moment}, {"second_moment", floats.second_moment}, {"value", floats.value}};
    if (with_best) all.insert(all.begin(), {"best", floats.best});
    return all;
}

// The digest of the metadata, except the digest itself, followed by the tensors. Each text is preceded by its length,
// so that no two sequences of texts give the same bytes.
class Sum {
public:
    explicit Sum(const Entries& metadata) {
        for (const auto& [key, value] : metadata)
            if (key != "sha256") text(key), text(value);
    }
    void tensor(std::string_view name, std::uint64_t elements) {
        text(name);
        text(number_text(elements));
    }
    void values(std::span<const float> v) { sum_.add({reinterpret_cast<const char*>(v.data()), v.size_bytes()}); }
    std::string hexadecimal() { return sum_.hexadecimal(); }

private:
    void text(std::string_view t) {
        sum_.add(number_text(t.size()) + ":");
        sum_.add(t);
    }
    Sha256 sum_;
};

std::string sum_of(const Safetensors& file) {
    Sum sum(file.metadata());
    std::vector<float> piece;
    for (const TensorInfo& tensor : file.tensors()) {
        sum.tensor(tensor.name, tensor.elements);
        for (std::uint64_t at = 0; at < tensor.elements; at += piece.size()) {
            piece.resize(std::min<std::uint64_t>(1 << 16, tensor.elements - at));
            file.read_part(tensor, static_cast<std::size_t>(at), piece);
            sum.values(piece);
        }
    }
    return sum.hexadecimal();
}

// The user's name of a run condition: the option, if there is one.
std::string chosen_by(std::string_view condition) {
    static constexpr std::pair<std::string_view, std::string_view> options[] = {
        {"held-out", "val"},
        {"recipe.initial.branches", "full-branches"},
        {"recipe.initial.deviation", "deviation"},
        {"recipe.optimizer", "optimizer"},
        {"recipe.optimizer.scale", "muon-scale"},
        {"recipe.products", "products"},
        {"recipe.products.attention", "products"},
        {"recipe.schedule", "schedule"},
        {"recipe.schedule.decay", "decay"},
        {"recipe.warmup", "warmup"},
        {"trunk.context", "ctx"},
        {"trunk.d_ff", "ffn"},
        {"trunk.d_model", "dim"},
        {"trunk.embedding_scale", "embedding-scale"},
        {"trunk.layers", "window"}, // of one --arch they differ in no more
        {"trunk.n_heads", "heads"},
        {"trunk.n_kv_heads", "kv-heads"},
        {"trunk.n_layers", "layers"},
        {"trunk.qk_norm", "qk-norm"},
        {"trunk.vocab_size", "vocab"},
        {"trunk.window", "window"},
    };
    for (const auto& [name, option] : options)
        if (condition == name) return "--" + std::string(option);
    const bool other = condition.find('.') != condition.npos;
    return other ? printable(condition) : "--" + printable(condition);
}

// For conditions that are digests of files: the meaning of a difference.
std::string_view another_file(std::string_view condition) {
    static constexpr std::pair<std::string_view, std::string_view> meanings[] = {
        {"corpus.sha256", "it was trained on another text"},
        {"finish.sha256", "it has another text, or none, for the end (--finish)"},
        {"init.sha256", "it started from other weights, or none (--init)"},
        {"tokenizer.sha256", "it has another tokenizer (--tokenizer, --vocab, or another text to make it from)"},
        {"trunk.sha256", "its model has another form (--arch, --window)"},
    };
    for (const auto& [name, meaning] : meanings)
        if (condition == name) return meaning;
    return {};
}

// Reads a checkpoint's metadata strictly: each entry once, in the form that save_checkpoint() writes.
class Reader {
public:
    explicit Reader(const Safetensors& file) : file_(file) {}

    const std::string& text(std::string_view key) {
        const auto found = file_.metadata().find(key);
        if (found == file_.metadata().end())
            fail(ErrorCode::model, file_.where(), ": metadata: expected '", key, "', found none");
        ++read_;
        return found->second;
    }
    std::int64_t integer(std::string_view key, std::int64_t least, std::int64_t most) {
        const std::string& found = text(key);
        std::int64_t value = 0;
        std::from_chars(found.data(), found.data() + found.size(), value);
        if (number_text(value) != found || value < least || value > most)
            refuse(key, "an integer from " + number_text(least) + " to " + number_text(most), found);
        return value;
    }
    double loss(std::string_view key) { return loss(key, text(key)); }
    std::vector<double> losses(std::string_view key, std::size_t count) {
        const std::string& found = text(key);
        std::vector<double> all;
        for (std::size_t at = 0; at < found.size();) {
            const std::size_t end = std::min(found.find(' ', at), found.size());
            all.push_back(loss(key, std::string_view(found).substr(at, end - at)));
            at = end + 1;
            if (at == found.size()) refuse(key, "no space at the end", found);
        }
        if (all.size() != count) refuse(key, number_text(count) + " losses", number_text(all.size()));
        return all;
    }
    void conditions(const RunConditions& run) {
        const auto check = [&](const std::string& name, const std::string& wanted) {
            if (!file_.metadata().contains(prefix + name)) another(name, wanted, "none");
            if (const std::string& found = file_.metadata().at(prefix + name); found != wanted)
                another(name, wanted, found);
        };
        // The encoding's sizes follow from three of these, so they are checked before it; and the list of layers from
        // the last, if it differs.
        for (const char* size : {"trunk.d_model", "trunk.n_heads", "trunk.context", "trunk.window"})
            if (const auto own = run.find(size); own != run.end()) check(own->first, own->second);
        for (const auto& [name, wanted] : run) check(name, wanted);
        read_ += run.size();
        for (const auto& [key, value] : file_.metadata())
            if (key.starts_with(prefix) && !run.contains(key.substr(prefix.size())))
                another(key.substr(prefix.size()), "none", value);
    }
    void expect_no_more() const {
        if (read_ != file_.metadata().size())
            fail(ErrorCode::model, file_.where(), ": metadata: expected ", read_, " entries, found ",
                 file_.metadata().size());
    }
    [[noreturn]] void refuse(std::string_view key, std::string_view expected, std::string_view found) const {
        fail(ErrorCode::model, file_.where(), ": metadata '", key, "': expected ", expected, ", found '",
             printable(found), "'");
    }

private:
    [[noreturn]] void another(const std::string& name, const std::string& expected, const std::string& found) const {
        if (const std::string_view meaning = another_file(name); !meaning.empty() && found != "none")
            fail(ErrorCode::usage, file_.where(), ": expected a checkpoint of this run; ", meaning);
        fail(ErrorCode::usage, file_.where(), ": expected a checkpoint of this run; its ", chosen_by(name),
             ": expected ", printable(expected, 200), ", found ", printable(found, 200));
    }
    double loss(std::string_view key, std::string_view text) const {
        double value = std::nan("");
        std::from_chars(text.data(), text.data() + text.size(), value);
        if (number_text(value) != text || !std::isfinite(value)) refuse(key, "a finite number", text);
        return value;
    }

    const Safetensors& file_;
    std::size_t read_ = 0; // entries
};

State read_state(Reader& reader, std::int64_t steps) {
    State state;
    state.step = reader.integer("step", 0, steps);
    state.first_loss = reader.loss("first_loss");
    state.evaluated = reader.integer("evaluated", 0, state.step);
    state.best_step = reader.integer("best_step", state.evaluated > 0 ? 1 : 0, state.evaluated);
    state.validation_loss = reader.loss("validation_loss");
    state.best_loss = reader.loss("best_loss");
    state.losses = reader.losses("losses", std::min(static_cast<std::size_t>(state.step), State::kept_losses));
    state.log_bytes = reader.integer("log_bytes", 0, std::numeric_limits<std::int64_t>::max());
    return state;
}

void read_values(const Safetensors& file, const Named& tensor) {
    const TensorInfo* info = file.find(tensor.name);
    const std::vector shape{static_cast<std::int64_t>(tensor.values.size())};
    if (!info || info->shape != shape || info->dtype != "F32")
        fail(ErrorCode::model, file.where(), ": tensor ", tensor.name, ": expected F32 ", shape_text(shape), ", found ",
             info ? info->dtype + " " + shape_text(info->shape) : "none");
    file.read(*info, tensor.values);
    if (const std::size_t i = first_not_finite(tensor.values); i < tensor.values.size())
        fail(ErrorCode::model, file.where(), ": tensor ", tensor.name, ": expected finite numbers, found ",
             tensor.values[i], " at ", i);
    if (std::string_view(tensor.name) != "second_moment") return;
    const auto negative = std::find_if(tensor.values.begin(), tensor.values.end(), [](float v) { return v < 0; });
    if (negative != tensor.values.end()) // the mean of squares is never negative
        fail(ErrorCode::model, file.where(), ": tensor ", tensor.name, ": expected 0 or more, found ", *negative,
             " at ", negative - tensor.values.begin());
}

} // namespace

std::size_t first_not_finite(std::span<const float> values) {
    return static_cast<std::size_t>(
        std::find_if(values.begin(), values.end(), [](float v) { return !std::isfinite(v); }) - values.begin());
}

void save_checkpoint(const std::filesystem::path& file, const RunConditions& run, const State& state,
                     const Floats& floats) {
    std::string losses;
    for (const double loss : state.losses) losses += (losses.empty() ? "" : " ") + number_text(loss);
    Entries metadata{{"ordo.checkpoint", std::string(format)},
                     {"step", number_text(state.step)},
                     {"first_loss", number_text(state.first_loss)},
                     {"evaluated", number_text(state.evaluated)},
                     {"validation_loss", number_text(state.validation_loss)},
                     {"best_step", number_text(state.best_step)},
                     {"best_loss", number_text(state.best_loss)},
                     {"losses", losses},
                     {"log_bytes", number_text(state.log_bytes)}};
    for (const auto& [name, value] : run) metadata.emplace(prefix + name, value);
    Sum sum(metadata);
    std::vector<StoredTensor> tensors;
    for (const auto& [name, values] : named(floats, state.best_step > 0 && !floats.best.empty())) {
        if (const std::size_t i = first_not_finite(values); i < values.size())
            fail(ErrorCode::failure, "step ", state.step, ": ", name, ": not finite at ", i, "; ", printable_path(file),
                 " is as it was");
        sum.tensor(name, values.size());
        sum.values(values);
        tensors.push_back({name, {static_cast<std::int64_t>(values.size())}, WeightType::f32, values});
    }
    metadata.emplace("sha256", sum.hexadecimal());
    write_safetensors(file, std::move(tensors), metadata);
}

// The metadata come first, in the order of their keys: the losses, then the format.
bool is_checkpoint(const std::filesystem::path& file) {
    constexpr std::size_t most = 4096, length = 8;
    std::ifstream in(file, std::ios::binary);
    std::string begin(most, '\0');
    in.read(begin.data(), most);
    begin.resize(in.gcount());
    if (begin.empty()) return in.eof();
    const std::string_view header = std::string_view(begin).substr(std::min(length, begin.size()));
    return header.starts_with("{\"__metadata__\":{") && header.find("\"ordo.checkpoint\":\"") != header.npos;
}

State load_checkpoint(const std::filesystem::path& file, const RunConditions& run, std::int64_t steps,
                      const Floats& floats) {
    const OpenedFiles apart; // the file is read now and replaced by the next checkpoint
    const Safetensors saved = Safetensors::open(file);
    const std::string& where = saved.where();
    Reader reader(saved);
    if (const std::string& found = reader.text("ordo.checkpoint"); found != format)
        fail(ErrorCode::model, where, ": expected a checkpoint of format ", format, ", found format ", printable(found),
             "; only the version that wrote it goes on from it");
    if (sum_of(saved) != reader.text("sha256"))
        fail(ErrorCode::model, where, ": expected what its sha256 says, found other content: the file is damaged");
    reader.conditions(run);
    const State state = read_state(reader, steps);
    reader.expect_no_more();
    const std::vector<Named> tensors = named(floats, state.best_step > 0 && !floats.best.empty());
    if (saved.tensors().size() != tensors.size())
        fail(ErrorCode::model, where, ": expected ", tensors.size(), " tensors, found ", saved.tensors().size());
    for (const Named& tensor : tensors) read_values(saved, tensor);
    return state;
}

} // namespace ordo::train
