# SPDX-License-Identifier: MIT
# `make help` lists what there is to make. GNU make 4.3 or later.

# ---- Settings ---------------------------------------------------------------------------------

VERSION := $(shell awk '/define ORDO_VERSION_/ { text = text dot $$3; dot = "." } END { print text }' engine/ordo.h)
# Programs go on working with another library of this name; before 1.0 that of the next minor version is another one.
SONAME := libordo.so.$(basename $(VERSION))
MODE ?= release
BUILD := build/$(MODE)
PREFIX ?= /usr/local
DESTDIR ?=
PROMPT ?= Once upon a time
FUZZ_SECONDS ?= 60
SWEEPS ?=

ifeq ($(origin CXX),default)
CXX := g++
endif
CLANGXX ?= clang++
AR := ar
SYSROOT :=
include tools/make/arm64.mk
MACHINE := $(firstword $(subst -, ,$(shell $(CXX) -dumpmachine 2>/dev/null)))

# What Debian calls the things that the two commands install when they are missing.
RUN_PACKAGES := g++ libopenblas-openmp-dev libcxxopts-dev nlohmann-json3-dev libpcre2-dev libutf8proc-dev libmd-dev libedit-dev
TEST_PACKAGES := $(RUN_PACKAGES) libgtest-dev pkg-config cmake python3

MAKEFLAGS += -r --no-print-directory
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(shell nproc) # a -j on the command line wins
endif
Q := $(if $(V),,@)
.DELETE_ON_ERROR:
.DEFAULT_GOAL := all

include tools/make/flags.mk
# Objects depend on the flags that they were compiled with, and on no other text of the Makefile.
SETTINGS := $(BUILD)/flags tools/make/flags.mk tools/make/precompiled.mk
dry := $(findstring n,$(filter-out --%,$(firstword -$(MAKEFLAGS))))# make -n writes nothing
ifeq ($(dry)$(filter help clean uninstall format,$(MAKECMDGOALS)),)
$(shell mkdir -p $(BUILD); new=$(BUILD)/flags.$$$$; echo '$(CXX) $(FLAGS) $(MODE_FLAGS) $(CXXFLAGS)' >$$new; \
  cmp -s $$new $(BUILD)/flags && rm $$new || { rm -f $(BUILD)/*.groups; mv $$new $(BUILD)/flags; })
endif

# ---- Rules ------------------------------------------------------------------------------------

x86_kernels := $(wildcard $(addprefix engine/kernels/,baseline.cpp avx*.cpp amx.cpp tile_permission.cpp))
arm64_kernels := $(addprefix engine/kernels/,neon.cpp dotprod.cpp)
OTHER_KERNELS := $(if $(filter aarch64,$(MACHINE)),$(x86_kernels),$(arm64_kernels))
LIB_SOURCES := $(filter-out engine/examples/% $(OTHER_KERNELS),$(wildcard engine/*.cpp engine/*/*.cpp engine/*/*/*.cpp models/*.cpp))
MAINS := tools/main.cpp tools/train.cpp tools/bench.cpp tools/lab/main.cpp
LAB_SOURCES := $(filter-out $(MAINS),$(wildcard tools/lab/*.cpp tools/lab/*/*.cpp))
TOOL_SOURCES := $(filter-out %_mpi.cpp $(MAINS) tools/lab/% tools/web/%,$(wildcard tools/*/*.cpp)) bench/programs/frame.cpp
TEST_SOURCES := $(filter-out tests/fuzz/% tests/install/%,$(wildcard tests/*.cpp tests/*/*.cpp))
ifeq ($(MACHINE),aarch64) # who may use tiles
TEST_SOURCES := $(filter-out tests/kernels/tiles_test.cpp,$(TEST_SOURCES))
endif
ifeq ($(MODE),tsan) # only these are run; the lab has no threads of its own
TEST_SOURCES := $(filter-out %_test.cpp,$(TEST_SOURCES)) $(filter-out tests/lab/%,$(shell grep -l Thread $(filter %_test.cpp,$(TEST_SOURCES))))
endif
# Under the address sanitizer the tests and the lab, which computes by the engine, are the release's objects: to instrument them
# takes longer than all else. What tests the lab, or takes malloc's place, is left out. make sweeps has it all.
GROUPED_TESTS := $(TEST_SOURCES)
ifeq ($(MODE)$(SWEEPS),asan)
RELEASED := tests/% tools/lab/%
TEST_SOURCES := $(filter-out tests/lab/% tests/model/allocation_test.cpp,$(TEST_SOURCES))
endif
FUZZ_SOURCES := $(wildcard tests/fuzz/fuzz_*.cpp)
BENCH_SOURCES := $(filter-out bench/programs/frame.cpp,$(wildcard bench/programs/*.cpp))
SOURCES := $(LIB_SOURCES) $(TOOL_SOURCES) $(LAB_SOURCES) $(MAINS) $(TEST_SOURCES) $(FUZZ_SOURCES) $(BENCH_SOURCES) tests/fuzz/replay.cpp
FUZZERS := $(FUZZ_SOURCES:tests/fuzz/%.cpp=$(BUILD)/%)
BENCHES := $(BENCH_SOURCES:bench/programs/%.cpp=$(BUILD)/bench_%)

# Sources that `make run` does not build.
LATER := engine/training/% engine/c/% tools/verbs/train.cpp tools/verbs/bench.cpp tools/verbs/bench_result.cpp bench/% \
  $(filter-out %/documents.cpp %/sha256.cpp,$(wildcard tools/train/*.cpp)) \
  $(filter-out %/accuracy.cpp %/shapes.cpp,$(wildcard tools/bench/*.cpp))

# Files of a folder are compiled six at a time (tests eight), so that their headers are compiled once. A file is compiled
# alone if it has flags of its own, is left out by some modes, has changed since the first build, or serves several
# experiments of the lab (its names may be those of another file).
ALONE := engine/kernels/% $(MAINS) $(shell grep -L '_experiment{' tools/lab/*.cpp tools/lab/*/*.cpp) bench/% tests/fuzz/% engine/core/blas.cpp tools/terminal/line_reader.cpp \
  tests/kernels/amx_emulated.cpp tests/model/allocation_test.cpp
object = $(if $(filter $(RELEASED),$1),build/release,$(BUILD))/$(or $(together_$1),$(basename $1)).o
objects = $(sort $(foreach f,$1,$(call object,$f)))
ifeq ($(filter help clean uninstall format,$(MAKECMDGOALS)),)
TOGETHER := $(filter-out $(ALONE),$(SOURCES))
home := $(if $(RELEASED),build/release,$(BUILD))
together := dry=$(dry) tools/scripts/together.sh
$(foreach w,$(shell $(together) $(BUILD) program 6 $(filter-out tests/% tools/lab/% $(LATER),$(TOGETHER)); \
  $(together) $(BUILD) later 6 $(filter $(LATER),$(TOGETHER)); $(together) $(home) lab 6 $(filter tools/lab/%,$(TOGETHER)); \
  $(together) $(home) tests 8 $(filter-out $(ALONE),$(GROUPED_TESTS))),$(eval together_$(subst =, := ,$w)))
endif

# What clang-tidy reads: the file, or the group that it is compiled with. make sweeps reads each file by itself.
unit = $(if $(SWEEPS),$1,$(if $(together_$1),$(BUILD)/$(together_$1).cpp,$1))
TO_TIDY := $(wildcard $(if $(SWEEPS),$(SOURCES),$(filter-out tests/% tools/lab/%,$(SOURCES))))
TIDIED := $(sort $(foreach f,$(TO_TIDY),build/tidy/$(call unit,$f)))

$(BUILD)/tests/%.o: FILE_FLAGS := -Wno-shadow # of constants of other files

include tools/make/precompiled.mk
ifneq ($(RELEASED),)
build/release/%.o: released ;
.PHONY: released
released:
	@$(MAKE) MODE=release test-binary
endif

# With STEPS, the number of lines to come, each line says which one it is: several are written at a time.
say = @$(if $(STEPS),echo $$$$ >>$(BUILD)/steps; printf '  [%d/%d] %s %s\n' $$(grep -nx $$$$ $(BUILD)/steps | tail -n 1 | cut -d: -f1) $(STEPS) '$1' $(or $2,$<),echo "  $1 $(or $2,$<)")

define compile
	@mkdir -p $(@D)
	$(call say,CXX  ,$(<:$(BUILD)/%=%))
	$(Q)$(COMPILE) -c $< -o $@
endef
$(BUILD)/%.o: %.cpp $(SETTINGS) | $(SYSROOT)
	$(compile)
$(BUILD)/%.o: $(BUILD)/%.cpp $(SETTINGS) | $(SYSROOT)
	$(compile)

ifneq ($(dry),) # as if they were written
$(BUILD)/flags $(addprefix $(BUILD)/,$(addsuffix .cpp,$(sort $(foreach f,$(TOGETHER),$(together_$f))))): ;
endif

$(BUILD)/libordo.a: $(call objects,$(LIB_SOURCES))
# All of tools/ but the mains, so that tests reach it too.
$(BUILD)/libtools.a: $(call objects,$(TOOL_SOURCES))
# The code of `ordo` itself, without training and measurements of speed.
$(BUILD)/libquick.a: $(call objects,$(filter-out $(LATER),$(LIB_SOURCES) $(TOOL_SOURCES)))
$(BUILD)/liblab.a: $(call objects,$(LAB_SOURCES))
$(BUILD)/%.a:
	@mkdir -p $(@D)
	$(call say,AR   ,$@)
	$(Q)rm -f $@ && $(AR) qcs $@ $(filter %.o,$^)

link = $(Q)$(CXX) $(MODE_FLAGS) -fopenmp $(LDFLAGS) $(filter %.o %.a,$^)
# `ordo` itself holds OpenBLAS, OpenMP and the C++ library, where their archives are installed. Then it starts faster,
# and OpenMP waits as tools/cli/process.cpp says.
openmp := $(if $(filter release,$(MODE)),$(filter /%,$(shell $(CXX) -print-file-name=libgomp.a)))
openblas := $(if $(filter file,$(origin OPENBLAS_LIBS)),$(wildcard $(OPENBLAS_DIR)/libopenblas.a))
held := $(if $(openmp),$(if $(openblas),$(openblas) $(openmp)))
hold = $(if $(held),$(Q)$(CXX) $(MODE_FLAGS) -pthread -static-libstdc++ -static-libgcc $(LDFLAGS) $(filter %.o %.a,$^) $(held) $(filter-out $(OPENBLAS_LIBS),$(LIBS)),$(link) $(LIBS))

EXPORTS := tools/scripts/libordo.map
# It stays after dlclose(): OpenMP's threads go on waiting in its code.
$(BUILD)/libordo.so: $(call objects,$(LIB_SOURCES)) $(EXPORTS)
	$(call say,LINK ,$@)
	$(link) -shared -Wl,-z,nodelete -Wl,-soname,$(SONAME) -Wl,--version-script=$(EXPORTS) -Wl,--no-undefined $(LIBS) -o $@

# The checksum of the code that all programs share: ordo warns of a program that was built from other code.
$(BUILD)/build.o: $(BUILD)/libquick.a
	$(Q)printf 'extern "C" { extern const char ordo_build[]; const char ordo_build[] = "ordo build %s"; }' "$$(cksum <$<)" | \
	  $(CXX) $(MODE_FLAGS) -x c++ -c -o $@ -

$(BUILD)/ordo: $(call objects,tools/main.cpp) $(BUILD)/build.o $(BUILD)/libquick.a
	$(call say,LINK ,$@)
	$(hold) $(TOOL_LIBS) -o $@
	@[ $(BUILD) != build/release ] || ln -sfn release/ordo build/ordo

# `ordo train` and `ordo bench`, which `ordo` starts.
$(BUILD)/ordo-train $(BUILD)/ordo-bench: $(BUILD)/ordo-%: $(BUILD)/tools/%.o $(BUILD)/build.o $(BUILD)/libtools.a $(BUILD)/libordo.a
	$(call say,LINK ,$@)
	$(link) $(LIBS) $(TOOL_LIBS) -o $@

# The experiments, which `ordo lab` starts.
$(BUILD)/ordo-lab: $(call objects,tools/lab/main.cpp) $(BUILD)/build.o $(BUILD)/liblab.a $(BUILD)/libtools.a $(BUILD)/libordo.a
	$(call say,LINK ,$@)
	$(link) $(LIBS) $(TOOL_LIBS) -o $@

# What may be instrumented comes first: of an inline function that several objects have, the linker takes the first.
$(BUILD)/ordo_tests: $(call objects,$(LIB_SOURCES) $(TOOL_SOURCES) $(if $(filter tsan,$(MODE)),,$(LAB_SOURCES)) $(TEST_SOURCES))
	$(call say,LINK ,$@)
	$(link) $(LIBS) $(TOOL_LIBS) -lgtest_main -lgtest -pthread -o $@

$(BUILD)/bench_%: $(BUILD)/bench/programs/%.o $(BUILD)/libtools.a $(BUILD)/libordo.a
	$(call say,LINK ,$@)
	$(link) $(LIBS) $(TOOL_LIBS) -o $@

# A fuzz target runs under libFuzzer in fuzz mode, and over files that were kept in all others.
$(BUILD)/fuzz_%: $(BUILD)/tests/fuzz/fuzz_%.o $(if $(filter fuzz,$(MODE)),,$(BUILD)/tests/fuzz/replay.o) $(BUILD)/libordo.a
	$(call say,LINK ,$@)
	$(link) $(if $(filter fuzz,$(MODE)),-fsanitize=fuzzer) $(LIBS) -o $@

# Waits for the object, which is made again whenever a header changes. Names of one file of a group may be in another.
build/tidy/%.cpp: %.cpp .clang-tidy
	@mkdir -p $(@D)
	$(call say,TIDY ,$(<:$(BUILD)/%=%))
	$(Q)clang-tidy --quiet $< -- $(filter-out -Werror --param=%,$(FLAGS) $(FILE_FLAGS)) \
	  -Wno-unknown-warning-option $(if $(filter $(BUILD)/%,$<),-Wno-shadow) 2>$@.log || { cat $@.log >&2; false; }
	@touch $@

$(foreach f,$(TO_TIDY),$(eval build/tidy/$(call unit,$f): $f $(if $(filter release,$(MODE)),$(call object,$f))))

# Kept, and made again when one is missing, as .SECONDARY would not.
.PRECIOUS: $(BUILD)/%.o
-include $(patsubst %.o,%.d,$(filter $(BUILD)/%,$(call objects,$(SOURCES))))

# ---- Targets ----------------------------------------------------------------------------------

.PHONY: all run test bench lint format asan sweeps tsan fuzz test-add-encoding clean help
.PHONY: lib program programs lab test-binary fuzzers tidy
all: lib programs lab ## libordo.a, libordo.so, and the programs ordo, ordo-train, ordo-bench and ordo-lab
lib: $(BUILD)/libordo.a $(if $(filter release,$(MODE)),$(BUILD)/libordo.so)
program: $(BUILD)/ordo
programs: $(addprefix $(BUILD)/,ordo ordo-train ordo-bench)
lab: $(BUILD)/ordo-lab
test-binary: $(BUILD)/ordo_tests
fuzzers: $(FUZZERS)
tidy: $(TIDIED)

# These two start with nothing but make: they install what is missing, then call make again, which finds it.
run: ## install what is missing, build, and write a story
	@tools/scripts/install_packages.sh $(RUN_PACKAGES)
	@rm -f $(BUILD)/steps
	@begin=$$(date +%s); $(MAKE) program STEPS="$$($(MAKE) -n program V=1 STEPS= | grep -c '^echo')" && \
	  echo "make run: built in $$(($$(date +%s) - begin)) s" && $(BUILD)/ordo generate -p "$(PROMPT)" -n 256 -s 1
	@printf '%s\n' '' 'Try next:' '  build/ordo generate -p "$(PROMPT)" -n 60 -s 1 --encodings none,rope,alibi' \
	  '  build/ordo generate -i' '  make && build/ordo lab'

test: ## install what is missing, build, and prove everything; MODE=asan or tsan under a sanitizer
	@tools/scripts/install_packages.sh $(TEST_PACKAGES)
	@$(MAKE) programs test-binary $(if $(filter tsan,$(MODE)),,lab fuzzers) $(if $(filter release,$(MODE)),$(BENCHES))
	@CXX="$(CXX)" SWEEPS="$(SWEEPS)" tests/run.sh $(BUILD)

needs = @command -v $(firstword $(1)) >/dev/null || { echo "make $@: $(1) not found: apt-get install $(2)" >&2; exit 1; }

asan: ## the tests under the address and undefined-behaviour sanitizers
	@$(MAKE) MODE=asan test
sweeps: ## asan with what it leaves out for its length, and clang-tidy over the lab and the tests
	@$(MAKE) SWEEPS=1 tidy
	@$(MAKE) MODE=asan SWEEPS=1 test
tsan: ## the threaded tests under clang's thread sanitizer
	$(call needs,clang++,clang libclang-rt-dev libomp-dev)
	@$(MAKE) MODE=tsan test
fuzz: ## run each fuzz target for FUZZ_SECONDS (60); what it finds new joins its corpus
	$(call needs,clang++,clang libclang-rt-dev libomp-dev)
	@$(MAKE) MODE=fuzz fuzzers
	@tests/fuzz/run.sh build/fuzz $(FUZZ_SECONDS)
test-add-encoding: programs test-binary ## prove that a new encoding is one file, one line and one oracle
	@tests/add_encoding.sh

bench: programs $(BENCHES) ## what each encoding costs on this machine, and how fast it trains
	@$(BUILD)/ordo bench --encodings all
	@$(BUILD)/bench_training
lint: ## format, clang-tidy, floors, sizes, README, questions, words
	$(call needs,clang-format,clang-format)
	$(call needs,clang-tidy,clang-tidy libomp-dev)
	@tools/scripts/install_packages.sh $(TEST_PACKAGES)
	@tools/scripts/floors.sh
	@git ls-files '*.cpp' '*.h' | xargs clang-format --dry-run -Werror
	@$(MAKE) tidy programs lab
	@[ ! -e README.md ] || { tools/scripts/readme_table.sh --check && tools/scripts/weights_table.sh --check; }
	@tools/scripts/questions.py --check
	@tools/scripts/words.sh
	@echo "lint: nothing to object to"
format: ## clang-format everything
	@git ls-files '*.cpp' '*.h' | xargs clang-format -i

include tools/make/install.mk tools/make/weights.mk tools/make/mpi.mk tools/make/web.mk

clean: ## remove build/
	rm -rf build
help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-18s %s\n", $$1, $$2 }' $(filter Makefile %.mk,$(MAKEFILE_LIST))
