// SPDX-License-Identifier: MIT
#include "training.h"

#include "core/blas.h"
#include "core/error.h"
#include "encoding/base/registry.h"
#include "model/model_file.h"
#include "model/sequence.h"
#include "training/step.h"

#include <algorithm>
#include <cmath>
#include <typeinfo>

namespace ordo {
namespace {

// Makes the encodings of a model's spec again, for other tensors. Refuses the caller's own encodings, even if they look
// registered.
ModelEncodings encodings_again(const Model::Impl& model) {
    const ModelEncodings& old = model.encodings;
    const auto unknown = [](const Encoding& encoding) {
        fail(ErrorCode::usage, "encoding ", printable(encoding.spec()),
             ": training makes it a second time, by its name: ",
             "expected one that register_encoding() knows, found one of the caller's own");
    };
    for (const auto& item : old.items())
        if (!is_registered(name_of(item->spec()))) unknown(*item);
    ModelEncodings made(old.spec(), model.blueprint.dims());
    for (std::size_t i = 0; i < old.items().size(); ++i) {
        const Encoding& a = *old.items()[i];
        const Encoding* const b = i < made.items().size() ? made.items()[i].get() : nullptr;
        if (b == nullptr || typeid(a) != typeid(*b)) unknown(a);
    }
    return made;
}

TrainingOptions checked(TrainingOptions o, const Model::Impl& model) {
    expect_head(model);
    if (o.length == 0) o.length = model.blueprint.context;
    if (o.input < 0 || (o.input > 0 && !model.encoder))
        fail(ErrorCode::usage, "training: input: expected ",
             model.encoder ? "0 or more" : "0 for a model without an encoder", ", found ", o.input);
    if (o.input == 0 && model.encoder) o.input = model.encoder->blueprint.context;
    const auto whole = [](const char* name, std::int64_t value) {
        if (value < 1) fail(ErrorCode::usage, "training: ", name, ": expected at least 1, found ", value);
    };
    whole("batch", o.batch);
    whole("length", o.length);
    whole("axes", o.axes);
    if (o.axes > most_axes) fail(ErrorCode::usage, "training: axes: expected at most ", most_axes, ", found ", o.axes);
    const auto number = [](const char* name, double value, double most) {
        if (!(value >= 0 && value <= most))
            fail(ErrorCode::usage, "training: ", name, ": expected a number from 0 to ", most, ", found ", value);
    };
    number("weight_decay", o.weight_decay, 1e6);
    number("clip", o.clip, 1e30);
    number("dropout", o.dropout, 0.99);
    number("muon", o.muon, 1e3);
    if (o.clip == 0) fail(ErrorCode::usage, "training: clip: expected more than 0, found 0");
    return o;
}

Sequences sequences(std::span<const Token> tokens, std::span<const Token> targets, const TokenRows& rows,
                    std::span<const Token> input) {
    if (!rows.padding.empty()) fail(ErrorCode::usage, "training: expected no padding, found some");
    return {tokens, targets, rows.segments, rows.positions, input};
}

} // namespace

struct Trainer::Impl {
    Impl(const Model::Impl& model, const TrainingOptions& given)
        : options(checked(given, model)), blueprint(model.blueprint), where(model.where), metadata(model.metadata),
          tokenizer(model.tokenizer ? model.tokenizer->to_json() : ""), special(model.special),
          sampling(model.sampling), encodings(encodings_again(model)),
          parameters((check_blas(),
                      check_training_memory(blueprint, encodings, options.batch, options.length,
                                            options.muon > 0 ? 6 : 4, options.input),
                      blueprint),
                     encodings),
          network(blueprint, encodings, parameters, options.batch, options.length, {options.axes, 0}, options.input),
          optimizer(parameters, options.muon > 0 ? hidden_matrices(blueprint) : std::vector<MatrixRows>()) {
        for (int i = 0; i < parameters.count(); ++i) {
            const View v = parameters.value(i);
            model.read(parameters.specs()[i].name, {v.data, elements(v)});
        }
    }

    static std::size_t elements(View v) { return static_cast<std::size_t>(v.rows) * static_cast<std::size_t>(v.cols); }
    void check_finite();
    TextSide text() const;
    Metadata record() const;

    TrainingOptions options;
    Blueprint blueprint;
    std::string where;
    Metadata metadata;
    std::string tokenizer; // as JSON; empty if there is none
    SpecialTokens special;
    std::optional<Sampling> sampling;
    ModelEncodings encodings;
    Parameters parameters;
    Network network;
    Optimizer optimizer;
    double first_lr = 0, last_lr = 0;
};

// Detects that the last step's rate was too large.
void Trainer::Impl::check_finite() {
    for (int i = 0; i < parameters.count(); ++i) {
        const View v = parameters.value(i);
        if (!std::all_of(v.data, v.data + elements(v), [](float x) { return std::isfinite(x); }))
            fail(ErrorCode::failure, "training: tensor '", printable(parameters.specs()[i].name),
                 "' is not finite after ", optimizer.steps, " steps; a lower learning rate may help");
    }
}

// The text side of the model from which training starts.
TextSide Trainer::Impl::text() const {
    if (tokenizer.empty()) return {};
    TextSide text(tokenizer_from_json(tokenizer, where + ": tokenizer"));
    text.padded_vocabulary = true;
    text.special = special;
    text.sampling = sampling;
    return text;
}

// Adds this fine-tuning to the metadata: weights are comparable only if they have the same history.
Metadata Trainer::Impl::record() const {
    Metadata m = metadata;
    m["encoding"] = encodings.spec(); // the spec with which it was loaded, if forced
    if (optimizer.steps == 0) return m;
    for (const char* of_other_weights : {"train_loss", "validation_loss"}) m.erase(of_other_weights);
    int n = 1;
    while (m.contains("fine_tune." + std::to_string(n) + ".steps")) ++n;
    const auto say = [&](const char* key, std::string value) {
        m["fine_tune." + std::to_string(n) + "." + key] = std::move(value);
    };
    say("steps", std::to_string(optimizer.steps));
    say("batch", std::to_string(options.batch));
    say("length", std::to_string(options.length));
    say("lr", first_lr == last_lr ? number_text(last_lr) : number_text(first_lr) + " to " + number_text(last_lr));
    if (options.muon > 0) say("muon", number_text(options.muon));
    say("weight_decay", number_text(options.weight_decay));
    say("clip", number_text(options.clip));
    say("dropout", number_text(options.dropout));
    say("seed", std::to_string(options.seed));
    return m;
}

Trainer::Trainer(const Model& model, const TrainingOptions& options)
    : impl_(std::make_unique<Impl>(impl_of(model), options)) {}
Trainer::Trainer(Trainer&&) noexcept = default;
Trainer& Trainer::operator=(Trainer&&) noexcept = default;
Trainer::~Trainer() = default;

namespace {

Trainer::Impl& of(const std::unique_ptr<Trainer::Impl>& impl) {
    if (!impl) fail(ErrorCode::usage, "training: expected a trainer with weights, found one that was moved from");
    return *impl;
}

} // namespace

double Trainer::step(std::span<const Token> tokens, std::span<const Token> targets, double lr, const TokenRows& rows,
                     std::span<const Token> input) {
    Impl& t = of(impl_);
    const Sequences in = sequences(tokens, targets, rows, input);
    if (!(lr >= 0 && lr <= 1e30)) fail(ErrorCode::usage, "training: lr: expected a finite number >= 0, found ", lr);
    const TrainingStep step =
        take_step(t.network, t.optimizer, in, {lr, t.options.weight_decay, t.options.clip, lr * t.options.muon},
                  {t.options.dropout, t.options.seed, static_cast<std::uint64_t>(t.optimizer.steps)});
    if (!step.finite())
        fail(ErrorCode::failure, "training: step ", t.optimizer.steps + 1, ": the ",
             std::isfinite(step.loss) ? "gradient" : "loss", " is not finite; the weights are as before it");
    if (t.optimizer.steps == 1) t.first_lr = lr;
    t.last_lr = lr;
    return step.loss;
}

double Trainer::loss(std::span<const Token> tokens, std::span<const Token> targets, const TokenRows& rows,
                     std::span<const Token> input) {
    const Sequences in = sequences(tokens, targets, rows, input);
    const double loss = of(impl_).network.loss(in);
    if (!std::isfinite(loss)) fail(ErrorCode::failure, "training: the loss is not finite");
    return loss;
}

std::int64_t Trainer::steps() const {
    return of(impl_).optimizer.steps;
}

Model Trainer::model() const {
    Impl& t = of(impl_);
    t.check_finite();
    ModelEncodings encodings(t.encodings.spec(), t.blueprint.dims());
    TensorMemory tensors(model_tensors(t.blueprint, encodings));
    for (int i = 0; i < t.parameters.count(); ++i) {
        const std::span<float> to = tensors.values(static_cast<std::size_t>(i));
        std::copy_n(t.parameters.value(i).data, to.size(), to.data());
    }
    return make_model(t.where, t.blueprint, std::move(encodings), std::move(tensors), t.text(), t.record(),
                      t.blueprint.context);
}

void Trainer::save(const std::filesystem::path& file, std::string_view dtype) const {
    Impl& t = of(impl_);
    ModelFile out{t.blueprint, t.encodings.spec(), t.tokenizer, t.record(), {}, {}, writable_type(dtype)};
    t.check_finite();
    for (int i = 0; i < t.parameters.count(); ++i) {
        out.specs.push_back(t.parameters.specs()[i]);
        out.values.push_back(t.parameters.value(i));
    }
    write_model(file, out);
}

} // namespace ordo
