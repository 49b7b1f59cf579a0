# SPDX-License-Identifier: MIT
# Installs files in PREFIX, and removes them from there.

.PHONY: install uninstall deb
# White space would make several paths of one, and a quote would end the quotes of the commands below.
ifneq ($(filter install uninstall,$(MAKECMDGOALS)),)
$(foreach v,PREFIX DESTDIR LIBDIR,$(if $(filter-out 1,$(words x$($v)x))$(findstring ',$($v)),$(error \
  $v: expected a path without white space and quotes, found "$($v)"; nothing was done)))
endif
# In PREFIX; a path that begins with PREFIX means the same.
LIBDIR ?= lib
libdir := $(patsubst $(PREFIX)/%,%,$(LIBDIR))
ifneq ($(filter /% %/,$(libdir))$(findstring ..,$(libdir)),)
$(error LIBDIR: expected a folder of PREFIX, such as lib/$(MULTIARCH), found "$(LIBDIR)"; nothing was done)
endif
empty :=
up := $(subst $(empty) $(empty),/,$(patsubst %,..,$(subst /, ,$(libdir)))) # from there to PREFIX
prefix := $(DESTDIR)$(PREFIX)
at = $(foreach path,$(1),'$(prefix)/$(path)')
SHIPPED := $(wildcard weights/*.safetensors weights/*.md weights/heldout*.txt)
KEPT := $(wildcard bench/results/seeds-runs.csv bench/results/seeds-documents.csv bench/results/seeds-recipe.txt)
HEADERS := $(addprefix engine/,ordo.h encoding.h encoding_tables.h rows.h training.h ordo_c.h)
SHELL_FILES := $(addprefix share/,bash-completion/completions/ordo zsh/site-functions/_ordo \
  fish/vendor_completions.d/ordo.fish man/man1/ordo.1)
PACKAGE_FILES := $(addprefix $(libdir)/,pkgconfig/ordo.pc cmake/ordo/ordo-config.cmake cmake/ordo/ordo-config-version.cmake)
# Where python3 looks for modules in PREFIX; share/ordo if it looks nowhere there.
PYTHONDIR ?= $(or $(shell python3 -c 'import sys; print(next((p[len("$(PREFIX)/"):] for p in sys.path \
  if p.startswith("$(PREFIX)/") and p.endswith("-packages") and not p.startswith("$(PREFIX)/local/")), ""))' 2>/dev/null),share/ordo)
KEPT += $(wildcard $(addprefix bench/results/heldout-2/seeds-,runs.csv documents.csv recipe.txt))
# uninstall removes files by their names, and folders of our own once they are empty.
PROGRAMS := ordo ordo-train ordo-bench ordo-lab
LAID_DOWN = $(addprefix bin/,$(PROGRAMS)) $(libdir)/libordo.a $(PYTHONDIR)/ordo.py $(SHELL_FILES) $(PACKAGE_FILES) \
  $(addprefix include/ordo/,$(notdir $(HEADERS))) $(addprefix share/ordo/,$(SHIPPED) $(KEPT))
OWN_FOLDERS = $(PYTHONDIR)/__pycache__ include/ordo $(libdir)/cmake/ordo share/ordo/weights share/ordo/bench/results/heldout-2 \
  share/ordo/bench/results share/ordo/bench share/ordo
filled_in = sed -e 's|@VERSION@|$(VERSION)|' -e 's|@LIBS@|$(LIBS)|' -e 's|@LIBDIR@|$(libdir)|' -e 's|@UP@|$(strip $(up))|'
install: all ## PREFIX=/usr/local LIBDIR=lib DESTDIR=
	install -d $(call at,bin $(libdir)/pkgconfig $(libdir)/cmake/ordo $(PYTHONDIR) include/ordo share/ordo/weights share/ordo/bench/results/heldout-2 $(dir $(SHELL_FILES)))
	install -m 755 $(addprefix $(BUILD)/,$(PROGRAMS)) $(call at,bin)
	$(BUILD)/ordo --completion bash > $(call at,share/bash-completion/completions/ordo)
	$(BUILD)/ordo --completion zsh > $(call at,share/zsh/site-functions/_ordo)
	$(BUILD)/ordo --completion fish > $(call at,share/fish/vendor_completions.d/ordo.fish)
	$(BUILD)/ordo --man > $(call at,share/man/man1/ordo.1)
	install -m 644 $(BUILD)/libordo.a $(call at,$(libdir)/libordo.a)
	install -m 755 $(BUILD)/libordo.so $(call at,$(libdir)/libordo.so.$(VERSION))
	ln -sfn libordo.so.$(VERSION) $(call at,$(libdir)/$(SONAME))
	ln -sfn $(SONAME) $(call at,$(libdir)/libordo.so)
	install -m 644 $(HEADERS) $(call at,include/ordo)
	install -m 644 engine/ordo.py $(call at,$(PYTHONDIR))
	$(filled_in) tools/scripts/ordo.pc.in > $(call at,$(libdir)/pkgconfig/ordo.pc)
	$(filled_in) tools/scripts/ordo-config.cmake.in > $(call at,$(libdir)/cmake/ordo/ordo-config.cmake)
	$(filled_in) tools/scripts/ordo-config-version.cmake.in > $(call at,$(libdir)/cmake/ordo/ordo-config-version.cmake)
	chmod 644 $(call at,$(SHELL_FILES) $(PACKAGE_FILES)) # the shell made them, by its umask
	$(if $(SHIPPED),install -m 644 $(SHIPPED) $(call at,share/ordo/weights))
	$(foreach file,$(KEPT),install -m 644 $(file) $(call at,share/ordo/$(file)) &&) true
	@$(if $(DESTDIR),,tools/scripts/register_library.sh $(PREFIX)/$(libdir) $(SONAME))
uninstall: ## remove the installed files
	rm -f $(call at,$(LAID_DOWN)) $(call at,$(libdir))/libordo.so* $(call at,$(PYTHONDIR)/__pycache__)/ordo.*.pyc
	for folder in $(call at,$(OWN_FOLDERS)); do [ ! -d "$$folder" ] || rmdir --ignore-fail-on-non-empty "$$folder"; done

DEB ?= build/ordo.deb
deb: ## a Debian package of it all, build/ordo.deb
	$(call needs,dpkg-deb,dpkg)
	@tools/scripts/install_packages.sh dpkg-dev # dpkg-shlibdeps
	@rm -rf $(BUILD)/deb
	@$(MAKE) install DESTDIR=$(BUILD)/deb PREFIX=/usr LIBDIR=lib/$(MULTIARCH) PYTHONDIR=lib/python3/dist-packages >/dev/null
	@tools/scripts/deb.sh $(BUILD)/deb $(VERSION) lib/$(MULTIARCH)/libordo.so.$(VERSION) $(DEB)
