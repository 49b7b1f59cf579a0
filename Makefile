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
ifeq ($(MODE),arm64) # for ARM64 on another machine; on one it is MODE=release
override CXX := aarch64-linux-gnu-g++
AR := aarch64-linux-gnu-ar
SYSROOT := $(BUILD)/sysroot
SYSROOT_FLAGS = $(addprefix -isystem $(SYSROOT)/usr/include,/ /$(MULTIARCH))
# The old kind of path, by which libraries of libraries are found too.
LDFLAGS += -L$(SYSROOT)/usr/lib/$(MULTIARCH) -Wl,--disable-new-dtags,-rpath,$(abspath $(SYSROOT)/usr/lib/$(MULTIARCH))
endif
MACHINE := $(firstword $(subst -, ,$(shell $(CXX) -dumpmachine 2>/dev/null)))

# What Debian calls the things that the two commands install when they are missing.
RUN_PACKAGES := g++ libopenblas-openmp-dev libcxxopts-dev nlohmann-json3-dev libpcre2-dev libutf8proc-dev libmd-dev
TEST_PACKAGES := $(RUN_PACKAGES) libgtest-dev pkg-config cmake python3

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
# Runs on any x86-64 with SSE4.2 and any ARM64; engine/kernels holds what newer machines are given at run time. Never
# -ffast-math: masks are -inf. Outside kernels no product is fused with a sum: an x86-64-v2 cannot, and bits are to be the same.
MARCH := $(if $(filter aarch64,$(MACHINE)),-march=armv8-a -ffp-contract=off,-march=x86-64-v2)
FLAGS = -std=c++20 $(MARCH) -fno-math-errno -fopenmp $(WARNINGS) -Iengine -I. $(OPENBLAS_CFLAGS) $(SYSROOT_FLAGS)

MAKEFLAGS += -r --no-print-directory
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(shell nproc) # a -j on the command line wins
endif
Q := $(if $(V),,@)
.DELETE_ON_ERROR:
.DEFAULT_GOAL := all

# ---- Modes ------------------------------------------------------------------------------------

# Line numbers are all that a report needs: -g takes a quarter longer.
sanitized := -O1 -g1 -fno-omit-frame-pointer -fno-sanitize-recover=all -D_GLIBCXX_ASSERTIONS
undefined := undefined,float-cast-overflow
ifneq ($(filter release arm64,$(MODE)),)
MODE_FLAGS := -O3 -DNDEBUG
else ifeq ($(MODE),debug)
MODE_FLAGS := -Og -g -D_GLIBCXX_ASSERTIONS
else ifeq ($(MODE),asan)
MODE_FLAGS := $(sanitized) -fsanitize=address,$(undefined)
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

# ---- Rules ------------------------------------------------------------------------------------

x86_kernels := $(wildcard $(addprefix engine/kernels/,baseline.cpp avx*.cpp amx.cpp tile_permission.cpp))
arm64_kernels := $(addprefix engine/kernels/,neon.cpp dotprod.cpp)
OTHER_KERNELS := $(if $(filter aarch64,$(MACHINE)),$(x86_kernels),$(arm64_kernels))
LIB_SOURCES := $(filter-out engine/examples/% $(OTHER_KERNELS),$(wildcard engine/*.cpp engine/*/*.cpp engine/*/*/*.cpp models/*.cpp))
TOOL_SOURCES := $(filter-out %_mpi.cpp,$(wildcard tools/*/*.cpp tools/*/*/*.cpp bench/*.cpp)) bench/programs/program.cpp
TEST_SOURCES := $(filter-out tests/fuzz/% tests/install/%,$(wildcard tests/*.cpp tests/*/*.cpp))
ifeq ($(MACHINE),aarch64) # who may use tiles
TEST_SOURCES := $(filter-out tests/kernels/tiles_test.cpp,$(TEST_SOURCES))
endif
ifeq ($(MODE),tsan) # only these are run
TEST_SOURCES := $(filter-out %_test.cpp,$(TEST_SOURCES)) $(shell grep -l Thread $(filter %_test.cpp,$(TEST_SOURCES)))
endif
# Under the address sanitizer the tests and the lab, which computes by the engine, are the release's objects: to instrument them
# takes longer than all else. What tests the lab, or takes malloc's place, is left out. make sweeps has it all.
ifeq ($(MODE)$(SWEEPS),asan)
RELEASED := tests/% tools/lab/%
TEST_SOURCES := $(filter-out tests/lab/% tests/model/allocation_test.cpp,$(TEST_SOURCES))
endif
FUZZ_SOURCES := $(wildcard tests/fuzz/fuzz_*.cpp)
BENCH_SOURCES := $(filter-out bench/programs/program.cpp,$(wildcard bench/programs/*.cpp))
SOURCES := $(LIB_SOURCES) $(TOOL_SOURCES) $(TEST_SOURCES) $(FUZZ_SOURCES) $(BENCH_SOURCES) tools/main.cpp tests/fuzz/replay.cpp
FUZZERS := $(FUZZ_SOURCES:tests/fuzz/%.cpp=$(BUILD)/%)
TIDIED := $(patsubst %,build/tidy/%,$(wildcard $(if $(SWEEPS),$(SOURCES),$(filter-out tests/% tools/lab/%,$(SOURCES)))))
BENCHES := $(BENCH_SOURCES:bench/programs/%.cpp=$(BUILD)/bench_%)
objects = $(patsubst %.cpp,$(BUILD)/%.o,$(filter-out $(RELEASED),$(1))) $(patsubst %.cpp,build/release/%.o,$(filter $(RELEASED),$(1)))

%/engine/kernels/avx2.o %/engine/kernels/avx2.cpp: FILE_FLAGS := -march=x86-64-v3
%/engine/kernels/avxvnni.o %/engine/kernels/avxvnni.cpp: FILE_FLAGS := -march=x86-64-v3 -mavxvnni
ifeq ($(findstring clang,$(CXX)),)
INTRINSICS := -Wno-uninitialized -Wno-maybe-uninitialized # g++ 12 warns of its own header (GCC bug 105593)
endif
%/engine/kernels/avx512.o %/engine/kernels/avx512.cpp: FILE_FLAGS := -march=x86-64-v4 $(INTRINSICS)
%/engine/kernels/avx512vnni.o %/engine/kernels/avx512vnni.cpp: FILE_FLAGS := -march=x86-64-v4 -mavx512vnni $(INTRINSICS)
%/engine/kernels/avx512bf16.o %/engine/kernels/avx512bf16.cpp: FILE_FLAGS := -march=x86-64-v4 -mavx512vnni -mavx512bf16 $(INTRINSICS)
%/engine/kernels/amx.o %/engine/kernels/amx.cpp: FILE_FLAGS := -march=x86-64-v4 -mavx512vnni -mavx512bf16 -mamx-tile -mamx-int8 -mamx-bf16 $(INTRINSICS)
$(BUILD)/engine/kernels/neon.o: FILE_FLAGS := -ffp-contract=fast
$(BUILD)/engine/kernels/dotprod.o: FILE_FLAGS := -march=armv8.2-a+dotprod -ffp-contract=fast
$(foreach f,io text encoding formats/gguf formats/sentence_piece,$(BUILD)/engine/$f/%.o): FILE_FLAGS := -Wconversion
$(BUILD)/tools/cli/line_reader.o: FILE_FLAGS := $(if $(EDIT_LIBS),-DORDO_LIBEDIT)
ifeq ($(MODE),asan)
WARNINGS += -Wno-maybe-uninitialized # with sanitizers g++ 12 sees some that are none, in std::regex and std::optional
endif
# What computes for long is the library and the oracles: all else is built as fast as it can be, where nobody measures it.
ifneq ($(filter release arm64 asan,$(MODE)),)
$(BUILD)/tests/%.o: FILE_FLAGS := $(if $(filter asan,$(MODE)),-O0,-O1)
$(BUILD)/tests/oracles/%.o $(BUILD)/tests/oracle.o $(BUILD)/tests/reference.o: FILE_FLAGS := -O1
$(BUILD)/tests/kernels/amx_emulated.o: FILE_FLAGS := -O3
endif
ifneq ($(filter asan tsan,$(MODE)),)
$(BUILD)/tools/%.o $(BUILD)/bench/%.o: FILE_FLAGS := -O0
endif

# For libordo.so, which shows the public interface alone; what the library calls of its own is bound when it is linked.
$(BUILD)/engine/%.o $(BUILD)/models/%.o: LIB_FLAGS := -fPIC -fvisibility=hidden -fno-semantic-interposition

ifneq ($(RELEASED),)
build/release/%.o: released ;
.PHONY: released
released:
	@$(MAKE) MODE=release test-binary
endif

ifneq ($(SYSROOT),)
$(SYSROOT):
	@tools/scripts/arm64_sysroot.sh $@
endif

$(BUILD)/%.o: %.cpp Makefile | $(SYSROOT)
	@mkdir -p $(@D)
	@echo "  CXX   $<"
	$(Q)$(CXX) $(FLAGS) $(MODE_FLAGS) $(LIB_FLAGS) $(FILE_FLAGS) $(CXXFLAGS) -MMD -MP -c $< -o $@

$(BUILD)/libordo.a: $(call objects,$(LIB_SOURCES))
# All of tools/ and bench/ but their mains, so that tests reach it too.
$(BUILD)/libtools.a: $(call objects,$(TOOL_SOURCES))
$(BUILD)/%.a:
	@mkdir -p $(@D)
	@echo "  AR    $@"
	$(Q)rm -f $@ && $(AR) qcs $@ $(filter %.o,$^)

link = $(Q)$(CXX) $(MODE_FLAGS) -fopenmp $(LDFLAGS) $(filter %.o %.a,$^)

EXPORTS := tools/scripts/libordo.map
# It stays after dlclose(): OpenMP's threads go on waiting in its code.
$(BUILD)/libordo.so: $(call objects,$(LIB_SOURCES)) $(EXPORTS)
	@echo "  LINK  $@"
	$(link) -shared -Wl,-z,nodelete -Wl,-soname,$(SONAME) -Wl,--version-script=$(EXPORTS) -Wl,--no-undefined $(LIBS) -o $@

$(BUILD)/ordo: $(call objects,tools/main.cpp) $(BUILD)/libtools.a $(BUILD)/libordo.a
	@echo "  LINK  $@"
	$(link) $(LIBS) $(TOOL_LIBS) -o $@
	@[ $(BUILD) != build/release ] || ln -sfn release/ordo build/ordo

# The same program, whose training may be split by mpirun: one file of it differs.
MPICXX ?= mpicxx
$(BUILD)/tools/train/ranks_mpi.o: FLAGS += $(patsubst -I%,-isystem %,$(shell $(MPICXX) --showme:compile))
$(BUILD)/mpi/ordo: $(call objects,tools/main.cpp tools/train/ranks_mpi.cpp) $(BUILD)/libtools.a $(BUILD)/libordo.a
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(link) $(LIBS) $(TOOL_LIBS) $(shell $(MPICXX) --showme:link) -o $@

# What may be instrumented comes first: of an inline function that several objects have, the linker takes the first.
$(BUILD)/ordo_tests: $(call objects,$(LIB_SOURCES) $(TOOL_SOURCES) $(TEST_SOURCES))
	@echo "  LINK  $@"
	$(link) $(LIBS) $(TOOL_LIBS) -lgtest_main -lgtest -pthread -o $@

$(BUILD)/bench_%: $(BUILD)/bench/programs/%.o $(BUILD)/libtools.a $(BUILD)/libordo.a
	@echo "  LINK  $@"
	$(link) $(LIBS) $(TOOL_LIBS) -o $@

# A fuzz target runs under libFuzzer in fuzz mode, and over files that were kept in all others.
$(BUILD)/fuzz_%: $(BUILD)/tests/fuzz/fuzz_%.o $(if $(filter fuzz,$(MODE)),,$(BUILD)/tests/fuzz/replay.o) $(BUILD)/libordo.a
	@echo "  LINK  $@"
	$(link) $(if $(filter fuzz,$(MODE)),-fsanitize=fuzzer) $(LIBS) -o $@

# Waits for the object, which is made again whenever a header changes.
build/tidy/%.cpp: %.cpp build/release/%.o .clang-tidy
	@mkdir -p $(@D)
	@echo "  TIDY  $<"
	$(Q)clang-tidy --quiet $< -- $(filter-out -W%,$(FLAGS) $(FILE_FLAGS)) 2>$@.log || { cat $@.log >&2; false; }
	@touch $@

# Kept, and made again when one is missing, as .SECONDARY would not.
.PRECIOUS: $(BUILD)/%.o
-include $(patsubst %.cpp,$(BUILD)/%.d,$(SOURCES) tools/train/ranks_mpi.cpp)

# ---- Targets ----------------------------------------------------------------------------------

.PHONY: all run test weights seeds mpi test-mpi test-arm64 bench results lint format asan sweeps tsan fuzz test-add-encoding install uninstall clean help
.PHONY: lib program test-binary fuzzers tidy
all: lib program ## libordo.a, libordo.so and the program ordo
lib: $(BUILD)/libordo.a $(if $(filter release,$(MODE)),$(BUILD)/libordo.so)
program: $(BUILD)/ordo
test-binary: $(BUILD)/ordo_tests
fuzzers: $(FUZZERS)
tidy: $(TIDIED)

# These two start with nothing but make: they install what is missing, then call make again, which finds it.
run: ## install what is missing, build, and write a story
	@tools/scripts/install_packages.sh $(RUN_PACKAGES)
	@$(MAKE) program
	@$(BUILD)/ordo generate -p "$(PROMPT)" -n 256

test: ## install what is missing, build, and prove everything; MODE=asan or tsan under a sanitizer
	@tools/scripts/install_packages.sh $(TEST_PACKAGES)
	@$(MAKE) program test-binary $(if $(filter tsan,$(MODE)),,fuzzers) $(if $(filter release,$(MODE)),$(BENCHES))
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
mpi: ## the program as build/release/mpi/ordo, whose training mpirun may split over processes and machines
	$(call needs,$(MPICXX),libopenmpi-dev openmpi-bin)
	@$(MAKE) $(BUILD)/mpi/ordo
test-mpi: mpi ## prove it, on processes of this machine
	@scratch=$$(mktemp -d); ORDO_TEST_MPI=1 SCRATCH=$$scratch tests/mpi/run.sh $(BUILD); status=$$?; rm -rf "$$scratch"; exit $$status
test-arm64: ## cross-compile for ARM64 and prove the engine under qemu; SWEEPS=1 for all unit tests
	$(call needs,aarch64-linux-gnu-g++,g++-aarch64-linux-gnu)
	$(call needs,qemu-aarch64,qemu-user)
	@$(MAKE) MODE=arm64 program test-binary
	@SWEEPS="$(SWEEPS)" tests/run.sh build/arm64
test-add-encoding: program test-binary ## prove that a new encoding is one file, one line and one oracle
	@tests/add_encoding.sh

weights: program ## CORPUS=DIR: train the shipped weights again, by way of build/weights, two at a time
	@[ -n "$(CORPUS)" ] || { echo "make weights: expected CORPUS=DIR, the folder with simple.train.txt" >&2; exit 1; }
	@tools/scripts/weights.sh $(BUILD)/ordo "$(CORPUS)" weights
	@bench/results.sh $(BUILD) losses heldout accuracy
	@tools/scripts/readme_table.sh
seeds: program ## CORPUS=DIR: train two more seeds of six encodings, and take bench/results/seeds*.csv and the README's table again
	@[ -n "$(CORPUS)" ] || { echo "make seeds: expected CORPUS=DIR, the folder with simple.train.txt" >&2; exit 1; }
	@bench/seeds.sh $(BUILD) "$(CORPUS)"
	@tools/scripts/readme_table.sh
bench: program $(BENCHES) ## what each encoding costs on this machine, and how fast it trains
	@$(BUILD)/ordo bench --encodings all
	@$(BUILD)/bench_training
results: program $(BENCHES) ## take bench/results and the README's table again, on a quiet machine
	@bench/results.sh $(BUILD)
	@tools/scripts/readme_table.sh

lint: ## format, clang-tidy, floors, sizes, README, words
	$(call needs,clang-format,clang-format)
	$(call needs,clang-tidy,clang-tidy libomp-dev)
	@tools/scripts/install_packages.sh $(TEST_PACKAGES)
	@tools/scripts/floors.sh
	@git ls-files '*.cpp' '*.h' | xargs clang-format --dry-run -Werror
	@$(MAKE) tidy program
	@[ ! -e README.md ] || tools/scripts/readme_table.sh --check
	@tools/scripts/words.sh
	@echo "lint: nothing to object to"
format: ## clang-format everything
	@git ls-files '*.cpp' '*.h' | xargs clang-format -i

# White space would make several paths of one, and a quote would end the quotes of the commands below.
ifneq ($(filter install uninstall,$(MAKECMDGOALS)),)
$(foreach v,PREFIX DESTDIR,$(if $(filter-out 1,$(words x$($v)x))$(findstring ',$($v)),$(error \
  $v: expected a path without white space and quotes, found "$($v)"; nothing was done)))
endif
prefix := $(DESTDIR)$(PREFIX)
at = $(foreach path,$(1),'$(prefix)/$(path)')
SHIPPED := $(wildcard weights/*.safetensors weights/*.md weights/heldout.txt)
KEPT := $(wildcard bench/results/seeds-runs.csv bench/results/seeds-documents.csv bench/results/seeds-recipe.txt)
HEADERS := $(addprefix engine/,ordo.h encoding.h training.h ordo_c.h)
SHELL_FILES := $(addprefix share/,bash-completion/completions/ordo zsh/site-functions/_ordo \
  fish/vendor_completions.d/ordo.fish man/man1/ordo.1)
PACKAGE_FILES := lib/pkgconfig/ordo.pc lib/cmake/ordo/ordo-config.cmake lib/cmake/ordo/ordo-config-version.cmake
# What uninstall removes: files by their names, and folders of our own once they are empty.
LAID_DOWN = bin/ordo lib/libordo.a $(SHELL_FILES) $(PACKAGE_FILES) \
  $(addprefix include/ordo/,$(notdir $(HEADERS))) $(addprefix share/ordo/,$(SHIPPED) $(KEPT))
OWN_FOLDERS := include/ordo lib/cmake/ordo share/ordo/weights share/ordo/bench/results share/ordo/bench share/ordo
filled_in = sed -e 's|@VERSION@|$(VERSION)|' -e 's|@LIBS@|$(LIBS)|'
install: all ## PREFIX=/usr/local DESTDIR=
	install -d $(call at,bin lib/pkgconfig lib/cmake/ordo include/ordo share/ordo/weights share/ordo/bench/results $(dir $(SHELL_FILES)))
	install -m 755 $(BUILD)/ordo $(call at,bin/ordo)
	$(BUILD)/ordo --completion bash > $(call at,share/bash-completion/completions/ordo)
	$(BUILD)/ordo --completion zsh > $(call at,share/zsh/site-functions/_ordo)
	$(BUILD)/ordo --completion fish > $(call at,share/fish/vendor_completions.d/ordo.fish)
	$(BUILD)/ordo --man > $(call at,share/man/man1/ordo.1)
	install -m 644 $(BUILD)/libordo.a $(call at,lib/libordo.a)
	install -m 755 $(BUILD)/libordo.so $(call at,lib/libordo.so.$(VERSION))
	ln -sfn libordo.so.$(VERSION) $(call at,lib/$(SONAME))
	ln -sfn $(SONAME) $(call at,lib/libordo.so)
	install -m 644 $(HEADERS) $(call at,include/ordo)
	$(filled_in) tools/scripts/ordo.pc.in > $(call at,lib/pkgconfig/ordo.pc)
	$(filled_in) tools/scripts/ordo-config.cmake.in > $(call at,lib/cmake/ordo/ordo-config.cmake)
	$(filled_in) tools/scripts/ordo-config-version.cmake.in > $(call at,lib/cmake/ordo/ordo-config-version.cmake)
	$(if $(SHIPPED),install -m 644 $(SHIPPED) $(call at,share/ordo/weights))
	$(if $(KEPT),install -m 644 $(KEPT) $(call at,share/ordo/bench/results))
uninstall: ## what install laid down
	rm -f $(call at,$(LAID_DOWN)) $(call at,lib)/libordo.so*
	for folder in $(call at,$(OWN_FOLDERS)); do [ ! -d "$$folder" ] || rmdir --ignore-fail-on-non-empty "$$folder"; done

clean: ## remove build/
	rm -rf build
help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-18s %s\n", $$1, $$2 }' Makefile
