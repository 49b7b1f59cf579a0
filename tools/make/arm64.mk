# SPDX-License-Identifier: MIT
# For ARM64 on another machine; on one, it is MODE=release.

ifeq ($(MODE),arm64) # for ARM64 on another machine; on one it is MODE=release
override CXX := aarch64-linux-gnu-g++
AR := aarch64-linux-gnu-ar
SYSROOT := $(BUILD)/sysroot
SYSROOT_FLAGS = $(addprefix -isystem $(SYSROOT)/usr/include,/ /$(MULTIARCH))
# The old kind of path, by which libraries of libraries are found too.
LDFLAGS += -L$(SYSROOT)/usr/lib/$(MULTIARCH) -Wl,--disable-new-dtags,-rpath,$(abspath $(SYSROOT)/usr/lib/$(MULTIARCH))
endif

.PHONY: test-arm64
test-arm64: ## cross-compile for ARM64 and prove the engine under qemu; SWEEPS=1 for all unit tests
	$(call needs,aarch64-linux-gnu-g++,g++-aarch64-linux-gnu)
	$(call needs,qemu-aarch64,qemu-user)
	@$(MAKE) MODE=arm64 program test-binary
	@SWEEPS="$(SWEEPS)" tests/run.sh build/arm64

ifneq ($(SYSROOT),)
$(SYSROOT):
	@tools/scripts/arm64_sysroot.sh $@
endif

