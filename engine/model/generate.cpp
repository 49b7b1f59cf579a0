// SPDX-License-Identifier: MIT
#include "model/continuation.h"

namespace ordo {

Generation generate(const Model& model, std::string_view prompt, const GenerateOptions& options,
                    const std::function<bool(std::string_view)>& on_text) {
    Continuation continuation(model, prompt, {options, false}, on_text);
    while (continuation.step()) {
    }
    return continuation.finish();
}

} // namespace ordo
