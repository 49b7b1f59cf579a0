# SPDX-License-Identifier: MIT
# Ordo in the browser: build/web, a folder of static files. The engine is WebAssembly, compiled by emscripten. The files
# of tools/web/doors take the place of engine files of the same name.

.PHONY: web test-web
EMXX ?= em++
WEB := build/web
web_doors := $(wildcard tools/web/doors/*.cpp)
web_engine := $(filter-out engine/examples/% engine/c/% engine/training/% engine/io/shipped.cpp engine/core/thread_stack.cpp $(arm64_kernels) \
  $(filter-out %/baseline.cpp,$(x86_kernels)) $(addprefix %/,$(notdir $(web_doors))), \
  $(wildcard engine/*.cpp engine/*/*.cpp engine/*/*/*.cpp models/*.cpp))
web_sources := $(web_engine) $(web_doors) $(wildcard tools/web/*.cpp)
ifneq ($(filter web test-web build/wasm/% $(WEB)/%,$(MAKECMDGOALS)),)
# Several files at a time, as elsewhere.
$(foreach w,$(shell dry=$(dry) tools/scripts/together.sh build/wasm web 6 $(filter-out $(ALONE) $(web_doors),$(web_sources))),$(eval web_$(subst =, := ,$w)))
endif
ifneq ($(dry),) # as if they were written
$(sort $(foreach f,$(web_sources),$(if $(web_$f),build/wasm/$(web_$f).cpp))): ;
endif
WEB_OBJECTS := $(sort $(foreach f,$(web_sources),build/wasm/$(or $(web_$f),$(basename $f)).o))
WEB_FLAGS := -std=c++20 -msimd128 -msse4.2 -fwasm-exceptions -fno-math-errno -DNDEBUG -DORDO_INTERNAL_GEMM \
  -Wall -Wextra -Wno-unknown-pragmas -Wno-pass-failed -Itools/web/doors -Iengine -I. -isystem build/wasm/include
# Debian's emscripten finds its packages of node there.
web_env := NODE_PATH=$${NODE_PATH:-/usr/share/nodejs}
web_compile = $(Q)$(web_env) $(EMXX) $(WEB_FLAGS) $(WEB_LEVEL) -MMD -MP

$(addprefix build/wasm/engine/,io/%.o formats/%.o text/%.o) build/wasm/models/%.o build/wasm/tools/%.o: WEB_LEVEL := -O2
build/wasm/%: WEB_LEVEL := -O3
build/wasm/flags: tools/make/web.mk
	@mkdir -p $(@D)/include
	@ln -sfn /usr/include/nlohmann $(@D)/include/nlohmann
	@echo '$(EMXX) $(WEB_FLAGS)' >$@.new; cmp -s $@.new $@ && rm $@.new || mv $@.new $@
build/wasm/precompiled.pch: engine/core/precompiled.h build/wasm/flags
	$(call say,PCH  )
	$(web_compile) -include tools/web/doors/missing.h -x c++-header $< -o $@
# The header that holds what the compiler's library lacks comes with the precompiled one.
define web_object
	@mkdir -p $(@D)
	$(call say,EM++ ,$(<:build/wasm/%=%))
	$(web_compile) -include-pch build/wasm/precompiled.pch -c $< -o $@
endef
build/wasm/%.o: %.cpp build/wasm/precompiled.pch
	$(web_object)
build/wasm/%.o: build/wasm/%.cpp build/wasm/precompiled.pch
	$(web_object)

# The stack of older versions is 5 MB, of newer ones 64 kB; a text of a million letters passes through it as 4 MB.
WEB_LINK := -O3 -fwasm-exceptions -sMODULARIZE=1 -sEXPORT_ES6=1 -sENVIRONMENT=web,worker -sALLOW_MEMORY_GROWTH=1 \
  -sTOTAL_STACK=8MB -sMAXIMUM_MEMORY=4GB -sFORCE_FILESYSTEM=1 -sEXPORTED_RUNTIME_METHODS=FS,ccall,HEAPF32 -sEXPORTED_FUNCTIONS=_malloc,_free
$(WEB)/ordo.js: $(WEB_OBJECTS)
	@mkdir -p $(@D)
	$(call say,LINK ,$@)
	$(Q)$(web_env) $(EMXX) $(WEB_LINK) $^ -o $@
-include $(WEB_OBJECTS:.o=.d) build/wasm/precompiled.d

web_site := $(wildcard tools/web/*.js tools/web/*.css)
# The address that the page will have, with a slash at its end. Previews of a link need it to find their picture.
WEB_URL ?=
$(WEB)/index.html: tools/web/index.html
	@mkdir -p $(@D)
	@sed 's|content="page.png"|content="$(WEB_URL)page.png"|' $< >$@
.PHONY: $(WEB)/index.html
web_weights := $(wildcard weights/*.safetensors)
$(WEB)/models.json: tools/scripts/web_models.mjs $(web_weights)
	@rm -rf $(@D)/weights && mkdir -p $(@D)/weights
	@cp $(web_weights) $(@D)/weights
	$(Q)node $< weights >$@

web: ## build/web: Ordo as a static site, whose engine runs in the browser; needs emscripten
	$(call needs,$(EMXX),emscripten nodejs nlohmann-json3-dev)
	@$(MAKE) $(WEB)/ordo.js $(WEB)/models.json $(WEB)/index.html
	@rm -f $(filter-out $(WEB)/ordo.js,$(wildcard $(WEB)/*.js $(WEB)/*.css))
	@cp $(web_site) tools/web/page.png weights/heldout.txt $(WEB)
	@mkdir -p $(WEB)/questions && cp tools/lab/alibi.svg tools/lab/questions/*.svg bench/results/*.svg $(WEB)/questions
	$(Q)node tools/scripts/web_questions.mjs tools/web/index.html tools/lab/questions.md >$(WEB)/questions.html
	@echo "$(WEB): a static site; to look at it: python3 -m http.server -d $(WEB)"
test-web: web program test-binary ## prove it: the module against the program, and the page in headless Chromium
	@scratch=$$(mktemp -d); ORDO_TEST_WEB=1 SCRATCH=$$scratch tests/web/run.sh $(BUILD); status=$$?; rm -rf "$$scratch"; exit $$status
