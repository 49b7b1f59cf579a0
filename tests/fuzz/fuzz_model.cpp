// SPDX-License-Identifier: MIT
// Any bytes as a weight file. The result is an Error, or a model that computes three tokens.
#include "formats/source.h"

#include <algorithm>
#include <cstdlib>

namespace {

using namespace ordo;

void ask(const Model& model) {
    SessionOptions options;
    options.capacity = 3;
    options.chunk = 2;
    Session session(model, options);
    const Token last = model.vocab_size() - 1;
    const Token tokens[] = {0, last, last / 2};
    session.feed(std::span(tokens).first(2));
    // A bidirectional model takes its input in one call.
    if (!blueprint_of(model).bidirectional()) session.feed(std::span(tokens).last(1));
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        LoadOptions options;
        options.max_memory = std::size_t{1} << 24;
        const Safetensors file = Safetensors::parse(std::as_bytes(std::span(data, size)), "fuzz");
        ask(load_model(file, options));
    } catch (const Error& error) {
        const std::string_view what = error.what();
        if (what.size() >= 1000 || what.find('\n') != what.npos) std::abort();
    }
    return 0;
}
