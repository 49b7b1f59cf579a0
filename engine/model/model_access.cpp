// SPDX-License-Identifier: MIT
// What a Model tells of itself: ordo.h.
#include "core/error.h"
#include "model/model.h"

namespace ordo {

Model::Model(std::unique_ptr<const Impl> impl) : impl_(std::move(impl)) {}
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

int Model::vocab_size() const {
    return impl_->blueprint.vocab_size;
}
int Model::context() const {
    return impl_->blueprint.context;
}
int Model::max_position() const {
    return impl_->encodings.max_position();
}
std::string Model::encoding() const {
    return impl_->encodings.spec();
}
std::string Model::metadata(std::string_view key) const {
    const auto found = impl_->metadata.find(key);
    return found == impl_->metadata.end() ? std::string() : found->second;
}
bool Model::has_encoder() const {
    return impl_->encoder != nullptr;
}
Token Model::end_of_text() const {
    return impl_->special.end.empty() ? -1 : impl_->special.end.front();
}
Token Model::start_of_text() const {
    return impl_->special.start;
}
Sampling Model::sampling() const {
    return impl_->sampling.value_or(Sampling{});
}

std::vector<Token> Model::encode(std::string_view text, bool special) const {
    if (!impl_->tokenizer) fail(ErrorCode::model, impl_->where, ": has no tokenizer");
    std::vector<Token> tokens;
    impl_->tokenizer->encode(text, special, tokens);
    return tokens;
}

std::string Model::decode(std::span<const Token> tokens) const {
    if (!impl_->tokenizer) fail(ErrorCode::model, impl_->where, ": has no tokenizer");
    std::string text;
    for (const Token& token : tokens)
        if (token < 0 || token >= vocab_size() || token < impl_->tokenizer->vocab_size())
            impl_->tokenizer->append(token, text, &token == tokens.data()); // others fill up the vocabulary: no text
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
