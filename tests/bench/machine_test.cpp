// SPDX-License-Identifier: MIT
#include "tools/bench/machine.h"

#include <gtest/gtest.h>
#include <sstream>

namespace {

std::string model_of(const std::string& text) {
    std::istringstream info(text);
    return ordo::bench::cpu_model(info);
}

// Linux's layout: a name on x86-64, and on ARM64 the fields of the register MIDR_EL1.
TEST(Machine, NamesTheProcessor) {
    EXPECT_EQ(model_of("processor\t: 0\nvendor_id\t: GenuineIntel\nmodel\t\t: 143\n"
                       "model name\t: Intel(R) Xeon(R): 8481C\nflags\t\t: fpu sse\n\n"
                       "processor\t: 1\nmodel name\t: another\n"),
              "Intel(R) Xeon(R): 8481C");
    EXPECT_EQ(model_of("processor\t: 0\nBogoMIPS\t: 243.75\nFeatures\t: fp asimd asimddp\nCPU implementer\t: 0x41\n"
                       "CPU architecture: 8\nCPU variant\t: 0x3\nCPU part\t: 0xd0c\nCPU revision\t: 1\n"),
              "ARM64 processor of implementer 0x41 and part 0xd0c");
    EXPECT_EQ(model_of(""), "unknown processor");
    EXPECT_EQ(model_of("no colon\n:\n"), "unknown processor");
}

} // namespace
