# Thin names for the scripts and presets; see CONTRIBUTING.md. Everything built goes to build/, everything made to out/.
MAKEFLAGS += --no-print-directory
JOBS ?= $(shell nproc)
export JOBS

.DEFAULT_GOAL := build
.PHONY: build run install uninstall package dist test test-all kubernetes bench validate fuzz fmt lint lint-all coverage clean help

build: ## build the release executable, build/release/weft (what plain `make` does)
	@scripts/build.sh release

run: ## install what is missing, build, and design an example cluster into out/
	@scripts/install-deps.sh run
	@scripts/build.sh release
	@scripts/run.sh

install: ## install the release build into PREFIX (/usr/local), below DESTDIR if that is set
	@scripts/install.sh

uninstall: ## remove what make install has installed, from the same PREFIX and DESTDIR
	@scripts/install.sh --remove

package: ## build the Debian package, build/package/weft_VERSION_ARCHITECTURE.deb
	@scripts/package.sh

dist: ## build the source archive of this commit, build/dist/weft-VERSION.tar.xz
	@scripts/dist.sh

test: ## everything a change must pass: format, layers, tests, sanitizers, clang-tidy, fuzzing
	@scripts/test.sh

test-all: ## make test and its long versions: whole-tree clang-tidy and ThreadSanitizer, large searches, long fuzzing
	@scripts/test.sh all

kubernetes: ## get Kubernetes and containerd, which some tests start, into ~/.cache/weft (or WEFT_CACHE)
	@scripts/kubernetes.sh
	@scripts/containerd.sh

bench: ## build and run the benchmarks
	@scripts/bench.sh

validate: ## compare the models with published measurements
	@scripts/build.sh release weft_validation weft
	@if [ -x build/release/weft_validate ]; then build/release/weft_validate; else echo "validate: nothing to run"; fi
	@python3 tests/validate/twin.py build/release/weft
	@python3 tests/validate/goals.py build/release/weft

fuzz: ## fuzz every target for FUZZ_SECONDS each (3600), or only those in TARGETS
	@scripts/build.sh fuzz
	@FUZZ_PRESET=fuzz FUZZ_SECONDS=$${FUZZ_SECONDS:-3600} scripts/fuzz.sh $(TARGETS)

fmt: ## format the sources in place
	@scripts/format.sh

lint: ## clang-tidy on what changed since the commit in scripts/lint-baseline
	@cmake --preset dev >/dev/null
	@scripts/lint.py

lint-all: ## clang-tidy on every source
	@cmake --preset dev >/dev/null
	@scripts/lint.py --all

coverage: ## line coverage of the tests, by module and file
	@scripts/build.sh coverage
	@find build/coverage -name '*.gcda' -delete
	@ctest --preset coverage -j $(JOBS) --no-tests=error
	@scripts/coverage.py

clean: ## remove build/ and out/
	@rm -rf build out

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
