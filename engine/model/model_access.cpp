// SPDX-License-Identifier: MIT
// The accessors of a Model: ordo.h, model_access.h.
#include "model/model_access.h"

#include "core/error.h"
#include "encoding/base/registry.h"
#include "model/stack.h"

namespace ordo {

Model::Model(std::unique_ptr<const Impl> impl) : impl_(std::move(impl)) {}
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

struct ModelAccess {
    static const Model::Impl& of(const Model& model) {
        if (!model.impl_)
            fail(ErrorCode::usage, "model: expected one that holds weights, found one that was moved from");
        return *model.impl_;
    }
};
const Model::Impl& impl_of(const Model& model) {
    return ModelAccess::of(model);
}
const Blueprint& blueprint_of(const Model& model) {
    return impl_of(model).blueprint;
}
const ModelEncodings& encodings_of(const Model& model) {
    return impl_of(model).encodings;
}
const Tokenizer* tokenizer_of(const Model& model) {
    return impl_of(model).tokenizer.get();
}
const SpecialTokens& special_tokens_of(const Model& model) {
    return impl_of(model).special;
}
const std::string& where_of(const Model& model) {
    return impl_of(model).where;
}
const Metadata& metadata_of(const Model& model) {
    return impl_of(model).metadata;
}
std::span<const TensorSpec> tensor_specs(const Model& model) {
    return impl_of(model).tensors->specs();
}
void read_tensor(const Model& model, std::string_view name, std::span<float> out) {
    impl_of(model).read(name, out);
}

int Model::vocab_size() const {
    return impl_of(*this).blueprint.vocab_size;
}
int Model::context() const {
    return impl_of(*this).blueprint.context;
}
int Model::max_position() const {
    return impl_of(*this).encodings.limits().positions;
}
std::string Model::encoding() const {
    return impl_of(*this).encodings.spec();
}
void expect_head(const Stack& model) {
    if (model.blueprint.head) return;
    fail(ErrorCode::usage, model.where,
         ": expected a model with a language head, found a model without a language head: it gives vectors (ordo "
         "embed), "
         "no logits");
}

namespace {

void warn_of_missing(const Model::Impl& model, const ModelEncodings& encodings, const Model::OnWarning& on_warning) {
    std::size_t missing = 0;
    std::string first;
    for (const TensorSpec& wanted : model_tensors(model.blueprint, encodings)) {
        const TensorSpec* const found = model.tensors->find(wanted.name);
        if ((!found || found->shape != wanted.shape) && ++missing == 1) first = wanted.name;
    }
    if (missing == 0) return;
    const std::string others = missing == 1 ? " is" : " and " + std::to_string(missing - 1) + " more are";
    on_warning(model.where + ": tensor '" + printable(first) + "'" + others +
               " not in the weights; initial values take the place");
}

// Memory that the system refuses is a limit like any other.
Model under(const Model::Impl& model, const Model::OnWarning& on_warning,
            const std::function<ModelEncodings()>& encodings) {
    try {
        ModelEncodings stack = encodings();
        if (on_warning) warn_of_missing(model, stack, on_warning);
        return with_encodings(model, std::move(stack));
    } catch (const std::bad_alloc&) {
        fail(ErrorCode::limit, model.where, ": not enough memory for another encoding");
    }
}

} // namespace

Model Model::with_encoding(std::string_view spec, const OnWarning& on_warning) const {
    const Impl& m = impl_of(*this);
    return under(m, on_warning, [&] { return ModelEncodings(spec, m.blueprint.dims()); });
}
Model Model::with_encoding(OwnEncoding encoding, const OnWarning& on_warning) const {
    const Impl& m = impl_of(*this);
    std::vector<OwnEncoding> items;
    items.push_back(std::move(encoding));
    return under(m, on_warning, [&] { return ModelEncodings(std::move(items), m.blueprint.dims()); });
}

std::string Model::metadata(std::string_view key) const {
    const Metadata& metadata = impl_of(*this).metadata;
    const auto found = metadata.find(key);
    return found == metadata.end() ? std::string() : found->second;
}
bool Model::has_encoder() const {
    return impl_of(*this).encoder != nullptr;
}
Token Model::end_of_text() const {
    return impl_of(*this).special.end.empty() ? -1 : impl_of(*this).special.end.front();
}
Token Model::start_of_text() const {
    return impl_of(*this).special.start;
}
Sampling Model::sampling() const {
    return impl_of(*this).sampling.value_or(Sampling{});
}

std::vector<Token> Model::encode(std::string_view text, const EncodeOptions& options) const {
    if (!impl_of(*this).tokenizer) fail(ErrorCode::model, impl_of(*this).where, ": has no tokenizer");
    std::vector<Token> tokens;
    impl_of(*this).tokenizer->encode(text, options.special, tokens);
    const Token start = start_of_text();
    const bool typed = options.special && !tokens.empty() && tokens.front() == start;
    if (options.start && start >= 0 && !typed) tokens.insert(tokens.begin(), start);
    return tokens;
}

std::string Model::decode(std::span<const Token> tokens) const {
    if (!impl_of(*this).tokenizer) fail(ErrorCode::model, impl_of(*this).where, ": has no tokenizer");
    std::string text;
    for (const Token& token : tokens)
        if (token < 0 || token >= vocab_size() || token < impl_of(*this).tokenizer->vocab_size())
            impl_of(*this).tokenizer->append(token, text,
                                             &token == tokens.data()); // ids that only pad the vocabulary have no text
    return text;
}

#define TEXT_OF(number) #number
#define DOTTED(major, minor, patch) TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)
std::string_view version() {
    return DOTTED(ORDO_VERSION_MAJOR, ORDO_VERSION_MINOR, ORDO_VERSION_PATCH);
}
#undef DOTTED
#undef TEXT_OF

} // namespace ordo
