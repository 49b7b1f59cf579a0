# SPDX-License-Identifier: MIT
# Ordo. `make help` lists what there is to make; GNU make 4.3 or later.

# ---- Settings ---------------------------------------------------------------------------------

VERSION := 0.1.0
MODE ?= release
PREFIX ?= /usr/local
DESTDIR ?=
BUILD := build/$(MODE)

CLANGXX ?= clang++
ifeq ($(origin CXX),default)
CXX := g++
endif
AR := ar

# The OpenMP flavour of OpenBLAS by name: plain -lopenblas may find one with threads of its own.
MULTIARCH := $(shell $(CXX) -print-multiarch 2>/dev/null)
OPENBLAS_CFLAGS ?= -isystem /usr/include/$(MULTIARCH)/openblas-openmp
OPENBLAS_DIR ?= /usr/lib/$(MULTIARCH)/openblas-openmp
OPENBLAS_LIBS ?= -L$(OPENBLAS_DIR) -Wl,-rpath,$(OPENBLAS_DIR) -lopenblas

WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wno-psabi -Werror
# Runs on any x86-64 since 2009; engine/kernels holds what newer machines are given at run time. No
# -ffast-math: masks are -inf.
BASE_FLAGS = -std=c++20 -march=x86-64-v2 -fno-math-errno -fopenmp $(WARNINGS) -Iengine -I. $(OPENBLAS_CFLAGS) -MMD -MP

MAKEFLAGS += -r --no-print-directory
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(shell nproc) # unless the command line says otherwise
endif
Q := $(if $(V),,@)
.DELETE_ON_ERROR:
.DEFAULT_GOAL := all

# ---- Modes ------------------------------------------------------------------------------------

LIBS = $(OPENBLAS_LIBS) -lpcre2-8
ifeq ($(MODE),release)
MODE_FLAGS := -O3 -DNDEBUG
else ifeq ($(MODE),debug)
MODE_FLAGS := -Og -g -D_GLIBCXX_ASSERTIONS
else ifeq ($(MODE),asan)
MODE_FLAGS := -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all -D_GLIBCXX_ASSERTIONS
else ifeq ($(MODE),tsan)
# clang: g++'s OpenMP is opaque to the thread sanitizer. OpenBLAS would be too.
override CXX := $(CLANGXX)
MODE_FLAGS := -O1 -g -fsanitize=thread -DORDO_INTERNAL_GEMM
LIBS := -lpcre2-8
else ifeq ($(MODE),fuzz)
override CXX := $(CLANGXX)
MODE_FLAGS := -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -DORDO_INTERNAL_GEMM
LIBS := -lpcre2-8
else
$(error MODE=$(MODE): expected release, debug, asan, tsan or fuzz)
endif

# ---- Rules ------------------------------------------------------------------------------------

LIB_SOURCES := $(wildcard engine/*.cpp engine/*/*.cpp models/*.cpp)
TOOL_SOURCES := $(filter-out tools/ordo.cpp,$(wildcard tools/*.cpp tools/*/*.cpp))
TEST_SOURCES := $(wildcard tests/*_test.cpp tests/*/*_test.cpp tests/*/*/*_test.cpp)
FUZZ_SOURCES := $(wildcard tests/fuzz/fuzz_*.cpp)
objects = $(patsubst %.cpp,$(BUILD)/%.o,$(1))
FUZZERS := $(patsubst tests/fuzz/%.cpp,$(BUILD)/%,$(FUZZ_SOURCES))

$(BUILD)/engine/kernels/avx2.o: FILE_FLAGS := -march=x86-64-v3
$(BUILD)/engine/kernels/avx512.o: FILE_FLAGS := -march=x86-64-v4
$(BUILD)/engine/io/%.o $(BUILD)/engine/text/%.o $(BUILD)/engine/encoding/%.o: FILE_FLAGS := -Wconversion

$(BUILD)/%.o: %.cpp Makefile
	@mkdir -p $(@D)
	@echo "  CXX   $<"
	$(Q)$(CXX) $(BASE_FLAGS) $(MODE_FLAGS) $(FILE_FLAGS) $(CXXFLAGS) -c $< -o $@

$(BUILD)/libordo.a: $(call objects,$(LIB_SOURCES))
$(BUILD)/libtools.a: $(call objects,$(TOOL_SOURCES))
$(BUILD)/%.a:
	@mkdir -p $(@D)
	@echo "  AR    $@"
	$(Q)rm -f $@ && $(AR) qcs $@ $(filter %.o,$^)

link = @echo "  LINK  $@"; $(if $(V),set -x;) $(CXX) $(MODE_FLAGS) -fopenmp $(LDFLAGS) $(filter %.o %.a,$^)

$(BUILD)/ordo: $(call objects,tools/ordo.cpp) $(BUILD)/libtools.a $(BUILD)/libordo.a
	$(link) $(LIBS) -lmd -o $@
	@[ $(MODE) != release ] || ln -sfn release/ordo build/ordo

$(BUILD)/ordo_tests: $(call objects,$(TEST_SOURCES)) $(BUILD)/libtools.a $(BUILD)/libordo.a
	$(link) $(LIBS) -lmd -lgtest_main -lgtest -pthread -o $@

-include $(patsubst %.cpp,$(BUILD)/%.d,$(LIB_SOURCES) $(TOOL_SOURCES) tools/ordo.cpp $(TEST_SOURCES) $(FUZZ_SOURCES))

# ---- Targets ----------------------------------------------------------------------------------

.PHONY: all help lib program test-binary clean
all: lib $(if $(wildcard tools/ordo.cpp),program) ## the library and the program

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' Makefile

lib: $(BUILD)/libordo.a
program: $(BUILD)/ordo
test-binary: $(BUILD)/ordo_tests

clean: ## remove build/
	rm -rf build
