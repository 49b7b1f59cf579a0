// SPDX-License-Identifier: MIT
// Parsed once for all files of the library (tools/make/precompiled.mk): the standard library and the ground. No file
// includes it by name. Each file includes everything that it uses, so that it compiles without this header too.
#include "core/error.h"
#include "rows.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cmath>
#include <cstring>
#include <exception>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>
