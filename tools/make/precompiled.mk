# SPDX-License-Identifier: MIT
# The headers of a group of files are parsed once. The files of a group have the same level and the same library flags.
# Kernels have flags of their own. No file may depend on this: clang-tidy goes without.

blind := -Winvalid-pch
ifeq ($(findstring clang,$(CXX)),)
# Behind a precompiled header, g++ 12 sees overflows in std::string that are none. Its collector of garbage would walk
# through the whole header again and again.
blind += -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread --param ggc-min-heapsize=4194304
endif

# $(call precompiled,GROUP,HEADER,LEVEL,LIB_FLAGS,SOURCES)
define precompiled
$(BUILD)/precompiled/$1/precompiled.h.gch: $2 $(SETTINGS) | $(SYSROOT)
	@mkdir -p $$(@D)
	$$(call say,PCH  )
	$(Q)$$(COMPILE) -x c++-header -c $$< -o $$@
$(BUILD)/precompiled/$1/precompiled.h.gch: LEVEL := $3
$(BUILD)/precompiled/$1/precompiled.h.gch: LIB_FLAGS := $4
$(BUILD)/precompiled/$1/precompiled.h.gch: FILE_FLAGS :=
$(call objects,$5): $(BUILD)/precompiled/$1/precompiled.h.gch
$(call objects,$5): private PRECOMPILED := $(blind) -include $(BUILD)/precompiled/$1/precompiled.h
-include $(BUILD)/precompiled/$1/precompiled.h.d
endef

$(eval $(call precompiled,engine,engine/core/precompiled.h,,$(library),$(filter-out engine/kernels/%,$(LIB_SOURCES))))
$(eval $(call precompiled,tools,tools/precompiled.h,$(programs),,$(TOOL_SOURCES) $(LAB_SOURCES) $(BENCH_SOURCES) $(MAINS)))
ifeq ($(findstring clang,$(CXX)),)
$(eval $(call precompiled,tests,tests/precompiled.h,$(programs),,$(filter-out tests/kernels/amx_emulated.cpp $(ASKING),$(TEST_SOURCES))))
$(eval $(call precompiled,asking,tests/precompiled.h,$(asking),,$(filter $(ASKING),$(TEST_SOURCES))))
endif
