// SPDX-License-Identifier: MIT
#include "model/pass.h"

#include "core/error.h"
#include "core/parallel.h"
#include "ops/finite.h"

#include <algorithm>

namespace ordo {
namespace {

int widest_input(const Stack& model) {
    int widest = 0;
    for (const Program* program : {&model.program.enter, &model.program.head})
        widest = std::max(widest, program->widest_input());
    for (const Program& program : model.program.layers) widest = std::max(widest, program.widest_input());
    return widest;
}

// The floats in each row of a slot. `active` uses the left part of `hidden`.
std::array<int, slot_count> slot_widths(const Stack& model) {
    std::array<int, slot_count> widths = model.program.widths();
    widths[static_cast<std::size_t>(Slot::active)] = 0;
    return widths;
}
int slot_rows(std::size_t slot, const PassSizes& sizes) {
    return static_cast<Slot>(slot) == Slot::logits ? sizes.head_rows : sizes.rows;
}

// One piece is more often large enough for huge pages. With separate pieces, the address sanitizer detects overflows
// from one view into the next.
#ifdef __SANITIZE_ADDRESS__
constexpr bool in_one_piece = false;
#else
constexpr bool in_one_piece = true;
#endif

// The floats of a view in the pass's memory.
std::size_t padded(int rows, int cols) {
    return cols == 0 ? 0 : static_cast<std::size_t>(rows) * static_cast<std::size_t>(row_distance(cols));
}

} // namespace

Pass::Pass(const Stack& model, std::shared_ptr<const ModelEncodings> encodings, const PassSizes& sizes)
    : model_(&model), encodings_(std::move(encodings)) {
    const std::array<int, slot_count> widths = slot_widths(model);
    SlotMemory slots;
    std::size_t floats = 0, at = 0;
    for (std::size_t i = 0; i < widths.size(); ++i) floats += padded(slot_rows(i, sizes), widths[i]);
    if (in_one_piece) memory_.emplace_back(floats, Contents::any);
    for (std::size_t i = 0; i < widths.size(); ++i) {
        const std::size_t size = padded(slot_rows(i, sizes), widths[i]);
        if (!in_one_piece) memory_.emplace_back(size, Contents::any), at = 0;
        slots[i] = {memory_.back().data() + at, slot_rows(i, sizes), widths[i], row_distance(widths[i])};
        at += size;
    }
    slots[static_cast<std::size_t>(Slot::active)] = slots[static_cast<std::size_t>(Slot::hidden)];
    const StackProgram& program = model.program;
    enter_ = lay_out(program.enter, slots);
    for (const Program& layer : program.layers) layers_.push_back(lay_out(layer, slots));
    finish_ = lay_out(program.finish, slots);
    head_ = lay_out(program.head, slots);
    int passing = 0; // floats of a row's state in a layer that has some which the cache does not keep
    for (int i = 0; i < program.n_layers(); ++i)
        if (const LayerEncodings& of = encodings_->layer(i); of.kept_floats() < of.state_floats())
            passing = std::max(passing, of.state_floats());
    attention_ =
        AttentionScratch(attention_shapes(program.layers), encodings_->reads(), std::max(sizes.capacity, sizes.memory),
                         static_cast<std::size_t>(sizes.rows) * static_cast<std::size_t>(passing));
    if (model.weights.convert_rows()) rows_scratch_ = RowScratch(sizes.rows, widest_input(model));
    experts_ = ExpertScratch(program.layers, sizes.rows);
    make_runs();
}

void Pass::make_runs() {
    runs_.clear();
    runs_.push_back(enter());
    for (int i = 0; i < model_->program.n_layers(); ++i) runs_.push_back(layer(i));
    runs_.push_back(outside(model_->program.finish, model_->weights.finish, finish_));
    runs_.push_back(outside(model_->program.head, model_->weights.head, head_, {0, model_->program.head.logits + 1}));
}

void Pass::use(std::shared_ptr<const ModelEncodings> encodings) {
    if (encodings == encodings_) return;
    encodings_ = std::move(encodings);
    make_runs();
}

std::uint64_t Pass::bytes(const Stack& model, const PassSizes& sizes) {
    return count_bytes([&] { return Pass(model, {std::shared_ptr<void>(), &model.encodings}, sizes); });
}

void Pass::not_finite(const std::string& what) const {
    fail(ErrorCode::model, model_->where, ": ", what, " yields values that are not finite");
}

LayerRun Pass::outside(const Program& program, const LayerWeights& weights, std::span<const View> values,
                       const Steps& steps) const {
    return {Layer::outside(program, weights, *encodings_), values, steps};
}
LayerRun Pass::enter() const {
    return outside(model_->program.enter, model_->weights.enter, enter_);
}
LayerRun Pass::layer(int i, const Watch* watch) const {
    const auto at = static_cast<std::size_t>(i);
    if (watch && !watch->weights && !watch->scores) watch = nullptr;
    return {{model_->program.layer(i), model_->weights.layers[at], encodings_->layer(i), i, watch},
            layers_[at % layers_.size()]};
}

template <class Body>
void Pass::run(const Body& body) {
    const int threads = std::min(attention_.slots(), thread_count());
    if (threads == 1 || detail::member.busy()) return team(threads, body); // nothing to choose
    const auto start = Clock::now();
    if (pace_.alone() && !detail::restless_now())
        alone(body);
    else
        team(threads, body);
    took_ += seconds_since(start);
}

View Pass::begin(const PassRows& in) {
    const auto rows = static_cast<int>(in.tokens.size());
    if (rows != rows_)
        pace_ = {};
    else if (took_ > 0)
        pace_.add(took_);
    rows_ = rows;
    took_ = 0;
    return rows_of(enter_.back(), 0, rows);
}

View Pass::forward(const PassRows& in, const Watch* watch) {
    const View rows = begin(in);
    if (watch)
        watched(in, rows, *watch);
    else
        run([&] { ordo::forward(std::span(runs_).first(runs_.size() - 2), in, scratch()); });
    expect_finite(in, rows);
    return rows;
}

void Pass::watched(const PassRows& in, View rows, const Watch& watch) {
    ordo::forward(enter(), in, scratch());
    if (watch.states) watch.states(-1, in.parts.front().first, rows);
    for (int i = 0; i < model_->blueprint.n_layers; ++i) {
        run([&] { ordo::forward(layer(i, &watch), in, scratch()); });
        if (watch.states) watch.states(i, in.parts.front().first, rows);
    }
}

// Values that are not finite stay so through the layers. A second pass finds the layer that produced them.
void Pass::expect_finite(const PassRows& in, View rows) {
    if (all_finite(rows)) return;
    ordo::forward(enter(), in, scratch());
    if (!all_finite(rows)) not_finite("the embedding");
    for (int i = 0; i < model_->blueprint.n_layers; ++i) {
        ordo::forward(layer(i), in, scratch());
        if (!all_finite(rows)) not_finite("layer " + std::to_string(i));
    }
}

void Pass::set_head_input(View rows) {
    finish_.front() = rows;
    if (!head_.empty()) head_.front() = rows_of(finish_.back(), 0, rows.rows);
}

View Pass::states(View rows) {
    set_head_input(rows);
    ordo::forward(runs_[runs_.size() - 2], {}, scratch());
    const View out = rows_of(finish_.back(), 0, rows.rows);
    if (!all_finite(out)) not_finite("the final norm");
    return out;
}

View Pass::head(View rows) {
    set_head_input(rows);
    run([&] { ordo::forward(std::span(runs_).last(2), {}, scratch()); });
    return logits_of(rows);
}

View Pass::logits(const PassRows& in, const Watch* watch) {
    if (in.tokens.size() > 1 || watch) {
        const View rows = forward(in, watch);
        return head(rows_of(rows, rows.rows - 1, 1));
    }
    const View rows = begin(in);
    set_head_input(rows);
    run([&] { ordo::forward(runs_, in, scratch()); });
    expect_finite(in, rows); // no step after the last layer writes to them
    return logits_of(rows);
}

// After the head's product.
View Pass::logits_of(View rows) {
    const View out = rows_of(head_.back(), 0, rows.rows);
    if (!all_finite(out)) not_finite("the head"); // before the cap, which would hide it
    ordo::forward(outside(model_->program.head, model_->weights.head, head_, {model_->program.head.logits + 1}), {},
                  scratch());
    return out;
}

} // namespace ordo
