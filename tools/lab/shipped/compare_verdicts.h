// SPDX-License-Identifier: MIT
// Which encodings lose less than others, by more than chance: sentences, tables and a picture.
#pragma once

#include "tools/lab/lab.h"
#include "tools/lab/shipped/compare_runs.h"

namespace ordo::lab {

// groups: sorted, the best first.
void judge(const std::vector<Group>& groups, Result& result);

} // namespace ordo::lab
