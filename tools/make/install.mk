# SPDX-License-Identifier: MIT
# What is laid down in PREFIX, and removed from there.

.PHONY: install uninstall
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
LAID_DOWN = bin/ordo bin/ordo-lab lib/libordo.a $(SHELL_FILES) $(PACKAGE_FILES) \
  $(addprefix include/ordo/,$(notdir $(HEADERS))) $(addprefix share/ordo/,$(SHIPPED) $(KEPT))
OWN_FOLDERS := include/ordo lib/cmake/ordo share/ordo/weights share/ordo/bench/results share/ordo/bench share/ordo
filled_in = sed -e 's|@VERSION@|$(VERSION)|' -e 's|@LIBS@|$(LIBS)|'
install: all ## PREFIX=/usr/local DESTDIR=
	install -d $(call at,bin lib/pkgconfig lib/cmake/ordo include/ordo share/ordo/weights share/ordo/bench/results $(dir $(SHELL_FILES)))
	install -m 755 $(BUILD)/ordo $(BUILD)/ordo-lab $(call at,bin)
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

