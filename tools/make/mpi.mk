# SPDX-License-Identifier: MIT
# Training over several processes and machines.

.PHONY: mpi test-mpi
# The same program, whose training may be split by mpirun: one file of it differs.
MPICXX ?= mpicxx
$(BUILD)/tools/train/ranks_mpi.o: FLAGS += $(patsubst -I%,-isystem %,$(shell $(MPICXX) --showme:compile))
$(BUILD)/mpi/ordo: $(call objects,tools/main.cpp tools/train/ranks_mpi.cpp) $(BUILD)/libtools.a $(BUILD)/libordo.a
	@mkdir -p $(@D)
	$(call say,LINK ,$@)
	$(link) $(LIBS) $(TOOL_LIBS) $(shell $(MPICXX) --showme:link) -o $@

-include $(BUILD)/tools/train/ranks_mpi.d

mpi: ## the program as build/release/mpi/ordo, whose training mpirun may split over processes and machines
	$(call needs,$(MPICXX),libopenmpi-dev openmpi-bin)
	@$(MAKE) $(BUILD)/mpi/ordo
test-mpi: mpi ## prove it, on processes of this machine
	@scratch=$$(mktemp -d); ORDO_TEST_MPI=1 SCRATCH=$$scratch tests/mpi/run.sh $(BUILD); status=$$?; rm -rf "$$scratch"; exit $$status
