// SPDX-License-Identifier: MIT
#include "encoding/base/trainable.h"

#include "core/error.h"
#include "encoding/base/moments.h"
#include "encoding/base/spec.h"

namespace ordo {
namespace {

// The name of a trainable tensor; empty if there is none.
std::string trained_tensor(const Encoding& encoding) {
    for (const TensorSpec& spec : encoding.tensors())
        if (spec.trainable) return spec.name;
    return "";
}

[[noreturn]] void refuse(const Encoding& encoding, const std::string& tensor, const std::string& why) {
    fail(ErrorCode::usage, "'", printable(encoding.spec()), "' cannot be trained",
         tensor.empty() ? "" : " (tensor '" + printable(tensor) + "')", ": ", why);
}

} // namespace

unsigned backward_moments(const Encoding& encoding) {
    const unsigned moments = encoding.moments() & ~moment_positions;
    if (!trained_tensor(encoding).empty()) return moments;
    if (encoding.reads() != 0) return moments;
    return moments & ~(moments & moment_rescore ? moment_bias : moment_bias | moment_sink);
}

void check_trainable(const Encoding& encoding) {
    const std::string tensor = trained_tensor(encoding);
    if (!tensor.empty() && (encoding.moments() & ~moment_positions) == 0)
        refuse(encoding, tensor, "it acts on no moment of a pass");
    const unsigned missing = backward_moments(encoding) & ~encoding.gradients();
    for (const MomentInfo& info : moments_of_a_pass)
        if (missing & info.moment)
            refuse(encoding, tensor,
                   printable(name_of(encoding.spec())) + ": has no gradient for " + std::string(info.name));
}

} // namespace ordo
