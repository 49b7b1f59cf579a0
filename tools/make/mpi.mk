# SPDX-License-Identifier: MIT
# Training over several processes and machines.

.PHONY: mpi test-mpi
# The same ordo-train, but that mpirun may split its training: one file of it differs.
MPICXX ?= mpicxx
$(BUILD)/tools/train/ranks_mpi.o: FLAGS += $(patsubst -I%,-isystem %,$(shell $(MPICXX) --showme:compile))
$(BUILD)/mpi/ordo: $(BUILD)/ordo $(BUILD)/mpi/ordo-train
	@ln -f $< $@
$(BUILD)/mpi/ordo-train: $(call objects,tools/train.cpp tools/train/ranks_mpi.cpp) $(BUILD)/build.o $(BUILD)/libtools.a $(BUILD)/libordo.a
	@mkdir -p $(@D)
	$(call say,LINK ,$@)
	$(link) $(LIBS) $(TOOL_LIBS) $(shell $(MPICXX) --showme:link) -o $@

-include $(BUILD)/tools/train/ranks_mpi.d

mpi: ## the program as build/release/mpi/ordo, whose training mpirun may split over processes and machines
	$(call needs,$(MPICXX),libopenmpi-dev openmpi-bin)
	@$(MAKE) $(BUILD)/mpi/ordo
test-mpi: mpi ## prove it, on processes of this machine
	@scratch=$$(mktemp -d); ORDO_TEST_MPI=1 SCRATCH=$$scratch tests/mpi/run.sh $(BUILD); status=$$?; rm -rf "$$scratch"; exit $$status
