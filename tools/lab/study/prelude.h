// SPDX-License-Identifier: MIT
// The headers that most experiments need: their interface, models and encodings, figures, intervals and verdicts.
// A file that includes this header has the standard headers below from it.
#pragma once

#include "core/error.h"
#include "encoding/base/registry.h"
#include "model/model_access.h"
#include "tools/lab/lab.h"
#include "tools/lab/math/statistics.h"
#include "tools/lab/study/answers.h"
#include "tools/lab/study/encodings.h"

#include <array>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>

namespace ordo::lab {

using tools::fixed_text;

} // namespace ordo::lab
