// SPDX-License-Identifier: MIT
// Any bytes as a header and as a vocabulary of llama2.c. The result is an Error(model) of one line or usable contents.
#include "formats/llama2c.h"

#include <cstdlib>

namespace {

using namespace ordo;

void require(bool holds) {
    if (!holds) std::abort();
}

template <class Act>
void attempt(const Act& act) {
    try {
        act();
    } catch (const Error& error) {
        const std::string_view text = error.what();
        require(error.code == ErrorCode::model && text.size() < 1000 && text.find('\n') == text.npos);
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto bytes = std::as_bytes(std::span(data, size));
    attempt([&] {
        const Llama2cHeader header = llama2c_header(bytes, "fuzz");
        require(header.bytes > header.header_bytes() && header.blueprint.d_head > 0);
    });
    if (size == 0) return 0;
    const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
    attempt([&] {
        const Llama2cVocabulary read = llama2c_vocabulary(text, data[0], "fuzz");
        require(read.tokens.size() == data[0] && read.scores.size() == data[0]);
    });
    return 0;
}
