# SPDX-License-Identifier: MIT
# How each file is compiled: all objects depend on this file.

# The OpenMP flavour of OpenBLAS by its folder: plain -lopenblas may find one with threads of its own.
MULTIARCH := $(shell $(CXX) -print-multiarch 2>/dev/null)
OPENBLAS_CFLAGS ?= -isystem $(SYSROOT)/usr/include/$(MULTIARCH)/openblas-openmp
OPENBLAS_DIR ?= $(abspath $(SYSROOT)/usr/lib/$(MULTIARCH)/openblas-openmp)
OPENBLAS_LIBS ?= -L$(OPENBLAS_DIR) -Wl,-rpath,$(OPENBLAS_DIR) -lopenblas
LIBS = $(OPENBLAS_LIBS) -lpcre2-8 -lutf8proc
# Lines that are typed may be edited where libedit-dev is installed; the program does without.
EDIT_LIBS := $(if $(wildcard $(SYSROOT)/usr/include/histedit.h),-ledit)
TOOL_LIBS := -lmd $(EDIT_LIBS)

WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wno-psabi -Werror
# Runs on any x86-64 with SSE4.2 and any ARM64; engine/kernels has code for newer machines, chosen at run time. Never
# -ffast-math: masks are -inf. Outside kernels no product is fused with a sum: an x86-64-v2 cannot, and bits are to be the same.
MARCH := $(if $(filter aarch64,$(MACHINE)),-march=armv8-a -ffp-contract=off,-march=x86-64-v2)
FLAGS = -std=c++20 $(MARCH) -fno-math-errno -fopenmp $(WARNINGS) -Iengine -I. $(OPENBLAS_CFLAGS) $(SYSROOT_FLAGS)

# ---- Modes ------------------------------------------------------------------------------------

# Line numbers are all that a report needs: -g takes a quarter longer.
sanitized := -O1 -g1 -fno-omit-frame-pointer -fno-sanitize-recover=all -D_GLIBCXX_ASSERTIONS
undefined := undefined,float-cast-overflow
ifneq ($(filter release arm64,$(MODE)),)
MODE_FLAGS := -O3 -DNDEBUG
else ifeq ($(MODE),debug)
MODE_FLAGS := -Og -g -D_GLIBCXX_ASSERTIONS
else ifeq ($(MODE),asan)
# At a fixed address, since the descriptions of globals would be two million relocations at each start of a program.
MODE_FLAGS := $(sanitized) -fsanitize=address,$(undefined) -fno-pie -no-pie
else ifeq ($(MODE),tsan)
# clang, because g++'s OpenMP looks like a race to the sanitizer, and without OpenBLAS, which it cannot see into.
MODE_FLAGS := $(sanitized) -fsanitize=thread -DORDO_INTERNAL_GEMM
else ifeq ($(MODE),fuzz)
MODE_FLAGS := $(sanitized) -fsanitize=address,$(undefined),fuzzer-no-link -DORDO_INTERNAL_GEMM
else
$(error MODE=$(MODE): expected release, debug, asan, tsan, fuzz or arm64)
endif
ifneq ($(filter tsan fuzz,$(MODE)),)
override CXX := $(CLANGXX)
OPENBLAS_LIBS :=
endif
ifneq ($(findstring clang,$(CXX)),)
WARNINGS += -Wno-pass-failed # -O1 leaves loops alone that we ask to vectorise
else
WARNINGS += -Wno-restrict # g++ 12 sees overlaps inside std::string (GCC bug 105651)
endif

ifeq ($(findstring clang,$(CXX)),)
INTRINSICS := -Wno-uninitialized -Wno-maybe-uninitialized # g++ 12 warns of its own header (GCC bug 105593)
# Some tunings of g++ (-march=native on a Zen, and by its sources the default of later versions) fuse an addition in one loop
# and not in another. Rows then have other bits alone than together.
FUSED := --param=avoid-fma-max-bits=0
endif
%/engine/kernels/avx2.o %/engine/kernels/avx2.cpp: FILE_FLAGS := -march=x86-64-v3 $(FUSED)
%/engine/kernels/avxvnni.o %/engine/kernels/avxvnni.cpp: FILE_FLAGS := -march=x86-64-v3 -mavxvnni $(FUSED)
%/engine/kernels/avx512.o %/engine/kernels/avx512.cpp: FILE_FLAGS := -march=x86-64-v4 $(FUSED) $(INTRINSICS)
%/engine/kernels/avx512vnni.o %/engine/kernels/avx512vnni.cpp: FILE_FLAGS := -march=x86-64-v4 -mavx512vnni $(FUSED) $(INTRINSICS)
%/engine/kernels/avx512bf16.o %/engine/kernels/avx512bf16.cpp: FILE_FLAGS := -march=x86-64-v4 -mavx512vnni -mavx512bf16 $(FUSED) $(INTRINSICS)
%/engine/kernels/amx.o %/engine/kernels/amx.cpp: FILE_FLAGS := -march=x86-64-v4 -mavx512vnni -mavx512bf16 -mamx-tile -mamx-int8 -mamx-bf16 $(FUSED) $(INTRINSICS)
$(BUILD)/engine/kernels/neon.o $(if $(filter aarch64,$(MACHINE)),$(BUILD)/tests/kernels/amx_emulated.o): FILE_FLAGS := -ffp-contract=fast
$(BUILD)/engine/kernels/dotprod.o: FILE_FLAGS := -march=armv8.2-a+dotprod -ffp-contract=fast
$(foreach f,io text encoding formats/gguf formats/sentence_piece,$(BUILD)/engine/$f/%.o): FILE_FLAGS := -Wconversion -Wno-sign-conversion
$(BUILD)/tools/terminal/line_reader.o: FILE_FLAGS := $(if $(EDIT_LIBS),-DORDO_LIBEDIT)
ifeq ($(MODE),asan)
WARNINGS += -Wno-maybe-uninitialized # with sanitizers g++ 12 sees some that are none, in std::regex and std::optional
endif

# The engine computes, and has -O3 from its mode. A file that reads or prints compiles faster with less.
ifneq ($(filter release arm64,$(MODE)),)
reading := -O1
programs := -O1
# Tests that compute little themselves.
asking := -O0
$(BUILD)/tests/kernels/amx_emulated.o: LEVEL := -O3
else ifneq ($(filter asan tsan,$(MODE)),)
programs := -O0
asking := -O0
endif
$(addprefix $(BUILD)/,engine/io/%.o engine/formats/%.o engine/text/%.o models/%.o): LEVEL := $(reading)
$(BUILD)/engine/io/json_parser.o: LEVEL := $(if $(reading),-O2) # 7 % fewer instructions in a start
$(addprefix $(BUILD)/,tools/%.o bench/%.o tests/%.o): LEVEL := $(programs)
ASKING := $(addprefix tests/,tools/% train/% formats/% text/% io/% malformed/% model/% bench/% core/% lab/% golden/% conformance/%)
$(ASKING:%=$(BUILD)/%.o): LEVEL := $(asking)

# For libordo.so, which exports the public interface alone; calls inside the library are bound when it is linked.
ifneq ($(MODE),asan)
library := -fPIC -fvisibility=hidden -fno-semantic-interposition
$(BUILD)/engine/%.o $(BUILD)/models/%.o: LIB_FLAGS := $(library)
endif

COMPILE = $(CXX) $(PRECOMPILED) $(FLAGS) $(MODE_FLAGS) $(LEVEL) $(LIB_FLAGS) $(FILE_FLAGS) $(CXXFLAGS) -MMD -MP
