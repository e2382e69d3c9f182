# Two commands for a fresh machine: `make demo` and `make test`. `make help` lists the rest.
# What they install, build and fetch is said as they do it; nothing is built or fetched twice.

SHELL := /bin/bash
PRESET ?= release
JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
CASEMATE := build/bin/casemate

.DEFAULT_GOAL := help
.PHONY: test-models help setup program build test test-full models demo bench fuzz docs install format tidy asan tsan clean distclean

help: ## this list
	@echo "Casemate. Targets:"
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 20

setup: ## install missing packages (apt) and build llama.cpp once into the cache
	@tools/setup

build: setup ## build everything; the program is build/bin/casemate
	@tools/stage "configure" cmake --preset $(PRESET)
	@tools/stage "build" cmake --build --preset $(PRESET) -j $(JOBS)

program: setup ## build the program alone, without tests
	@tools/stage "configure" cmake --preset $(PRESET)
	@tools/stage "build" cmake --build --preset $(PRESET) -j $(JOBS) --target casemate casemate-reader

models: program ## fetch the default encoder and language model
	@$(CASEMATE) models pull all-minilm-l6-v2 qwen2.5-coder-0.5b-instruct-q4_k_m

test-models: build
	@$(CASEMATE) models pull all-minilm-l6-v2 smollm2-135m-instruct-q4_1

test: test-models ## set up, build, fetch two small models, run all tests
	ctest --test-dir build/release --output-on-failure -j $(JOBS)

test-full: test-models ## the long suites too: 200 kills, real downloads, sanitizers
	CASEMATE_FULL_TESTS=1 ctest --test-dir build/release --output-on-failure -j 1 --timeout 3600
	$(MAKE) asan

asan: setup ## all tests under AddressSanitizer and UndefinedBehaviorSanitizer
	cmake --preset asan && cmake --build --preset asan -j $(JOBS)
	ctest --test-dir build/asan --output-on-failure -j $(JOBS)

tsan: setup ## tests of code with threads, the server's among them, under ThreadSanitizer
	cmake --preset tsan
	cmake --build --preset tsan -j $(JOBS) --target core_test retrieve_test store_test llama_turns_test llama_test casemate casemate-reader tiny_model
	TSAN_OPTIONS=suppressions=$(CURDIR)/tests/support/tsan.supp ctest --test-dir build/tsan --output-on-failure \
	  -j $(JOBS) -L 'core_test|retrieve_test|store_test|llama_turns_test'
	TSAN_OPTIONS=suppressions=$(CURDIR)/tests/support/tsan.supp ctest --test-dir build/tsan --output-on-failure \
	  -j $(JOBS) -R '^apps_server|^LlamaCompanyTest'

demo: ## index real documents and ask them three questions
	@tools/demo

bench: build ## benchmarks against peers; results in build/bench/results
	@bench/run

fuzz: setup ## build the fuzz targets (clang) and run each for a minute
	@tools/fuzz

docs: ## check that links inside the docs lead somewhere
	@python3 tools/check_docs.py

install: build ## install the program, library and headers under PREFIX
	cmake --install build/release --prefix $(PREFIX)

format: ## clang-format all sources
	@command -v clang-format-14 >/dev/null || { echo "needs the package clang-format-14" >&2; exit 3; }
	git ls-files '*.h' '*.cpp' '*.c' | xargs clang-format-14 -i

tidy: ## clang-tidy over the sources
	@command -v clang-tidy-14 >/dev/null || { echo "needs the package clang-tidy-14" >&2; exit 3; }
	git ls-files 'src/*.cpp' 'apps/*.cpp' | xargs -n 8 -P $(JOBS) clang-tidy-14 -p build/release --quiet

clean: ## remove build/
	rm -rf build

distclean: clean ## remove build/ and everything Casemate has in the cache (models too)
	rm -rf "$${XDG_CACHE_HOME:-$$HOME/.cache}/casemate"
