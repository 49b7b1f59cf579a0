// SPDX-License-Identifier: MIT
#pragma once

#include "core/parallel.h"

namespace ordo::tools {

// During its lifetime, the calling thread computes alone.
class OneThread {
public:
    OneThread() { set_threads(1); }
    OneThread(const OneThread&) = delete;
    OneThread& operator=(const OneThread&) = delete;
    ~OneThread() { set_threads(before_); }

private:
    int before_ = thread_count();
};

} // namespace ordo::tools
