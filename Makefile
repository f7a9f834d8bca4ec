# Shortcuts for common tasks; CMakeLists.txt defines the build. `make help` lists the targets.
#
# Variables: BUILD (build folder), CC, JOBS, PREFIX and DESTDIR (install), WERROR=ON.

BUILD  ?= build
PREFIX ?= /usr/local
JOBS   ?= $(shell nproc)
WERROR ?= $(if $(CI),ON,OFF)
CMAKE  ?= cmake
CTEST  ?= ctest

# The stamp is outside the build folder, so that `make clean` does not trigger apt again.
SETUP   = .setup-stamp
VENV    = .venv/.stamp
SITE    = .venv-site/.stamp
SOURCES = $(shell find $(wildcard include src cli tests examples bench site) -name '*.[ch]')
# configure(folder, options)
configure = mkdir -p $(1) && \
  { $(CMAKE) -G Ninja -S . -B $(1) -DLANGEVIN_WERROR=$(WERROR) $(2) >$(1)/configure.log 2>&1 || \
    { cat $(1)/configure.log; exit 1; }; }
COMMA := ,
# Instrumented builds compile quickly, stay close to the source, and keep asserts.
O1 = -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_C_FLAGS_RELWITHDEBINFO="-O1 -g"
run_tests = $(CTEST) --test-dir $(1) --output-on-failure -j $(JOBS)

.PHONY: all help setup setup-python build run run-atari bench-atari bench-peers bench-check \
  bench-growth golden test test-report test-all test-asan test-tsan test-clang test-kills \
  test-valgrind test-arm test-slurm test-wheel test-wheel-arm test-site site wheel deb release fuzz \
  mutants coverage lint static torture trust soak abi abi-check format check-format install clean

all: build

help: ## print this list
	@awk -F ': *[^#]*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile

setup: ## install missing Debian packages
	@scripts/setup
	@touch $(SETUP)

$(SETUP): scripts/setup
	@scripts/setup
	@touch $@

setup-python: $(SETUP) ## create .venv, a virtual environment with Gymnasium
	@scripts/setup-python

# Without it, the tests of the bridge are skipped with a message; if CI is set, they must run.
$(VENV): scripts/setup-python pyproject.toml | $(SETUP)
	@scripts/setup-python || { test -z "$(CI)" && echo "the tests of the Gymnasium bridge will be skipped"; }

$(SITE): scripts/setup-site packaging/lock/site.txt | $(SETUP)
	@scripts/setup-site

build: $(SETUP) ## build the libraries and build/langevin
	@$(call configure,$(BUILD),-DCMAKE_INSTALL_PREFIX=$(PREFIX))
	@$(CMAKE) --build $(BUILD) -j $(JOBS) --target langevin_product

run: build ## run a first experiment: Adam LMCDQN and DQN on the N-Chain, a table and a plot
	@scripts/demo $(BUILD)/langevin runs/demo

run-atari: build setup-python ## train Adam LMCDQN on Freeway for a few minutes, a table and a plot
	@LANGEVIN_PYTHON=$(CURDIR)/.venv/bin/python scripts/demo-atari $(BUILD)/langevin runs/atari-demo

bench-atari: build setup-python ## compare training on Freeway with the same loop in PyTorch, one core each
	@bench/peers/setup
	@python3 bench/peers/atari.py --langevin $(BUILD)/langevin

bench-peers: build ## compare the speed with PyTorch, JAX, NumPy, tianshou and Stable-Baselines3
	@bench/peers/setup
	@.venv-peers/bin/python bench/peers/peers.py --langevin $(BUILD)/langevin

bench-check: build ## compare instruction counts with bench/instructions.json (needs valgrind)
	@python3 bench/check.py --langevin $(BUILD)/langevin

golden: build $(VENV) ## compare the results of every agent with the digests in tests/golden/
	@scripts/golden --langevin $(BUILD)/langevin

bench-growth: build ## measure how costs grow with sizes and draw docs/figures/growth.png
	@bench/peers/setup
	@.venv-peers/bin/python bench/growth.py --langevin $(BUILD)/langevin

test: build check-format $(VENV) ## build everything, check the formatting, run the quick tests
	@if test -n "$(CI)"; then scripts/setup chromium clang lld wasi-libc libclang-rt-dev-wasm32 nodejs || \
	  echo "the tests of reports in Chromium and of WebAssembly will be skipped"; fi
	@$(CMAKE) --build $(BUILD) -j $(JOBS)
	@$(call run_tests,$(BUILD)) -LE slow

test-report: build ## install Chromium and open a report in it
	@scripts/setup chromium
	@$(CMAKE) --build $(BUILD) -j $(JOBS)
	@$(CTEST) --test-dir $(BUILD) --output-on-failure -R report

test-all: build check-format $(VENV) ## run all tests, including the slow ones
	@$(CMAKE) --build $(BUILD) -j $(JOBS)
	@$(call run_tests,$(BUILD))

test-asan: $(SETUP) $(VENV) ## run the quick tests under the address and UB sanitizers
	@$(call configure,build-asan,-DLANGEVIN_SANITIZE=address$(COMMA)undefined)
	@$(CMAKE) --build build-asan -j $(JOBS)
	@$(call run_tests,build-asan) -LE slow

# All of them take more than an hour: `make trust` runs agents, programs and their workers, and the
# others apart.
PART ?= all
TSAN_PART_all      = -LE '^slow$$'
TSAN_PART_agents   = -L '^agent$$'
TSAN_PART_programs = -L '^(cli|bench|env)$$'
TSAN_PART_others   = -LE '^(slow|agent|cli|bench|env)$$'

test-tsan: $(SETUP) $(VENV) ## run the quick tests under the thread sanitizer (PART=agents, programs or others: some of them)
	@$(call configure,build-tsan,-DLANGEVIN_SANITIZE=thread)
	@$(CMAKE) --build build-tsan -j $(JOBS)
	@$(call run_tests,build-tsan) $(TSAN_PART_$(PART))

# Valgrind is about fifty times slower than the processor. VALGRIND_NOT leaves out tests that start
# other programs (valgrind neither looks into them nor reports that they failed to start), tests that
# would take hours (networks that learn, products of all shapes, every agent, thousands of files) and
# tests that compare with long double, which valgrind computes in 64 bits: lmc_underdamped,
# portable_math. The address sanitizer covers all of these.
VALGRIND_TESTS ?= ^(test_|fuzz_)
VALGRIND_NOT   ?= ^test_(agent_export|bench|cli|dqn_(learn|precision|returns)|env_(atari|gym|remote)|kernel_block$$|lmc_underdamped|net(_bf16)?$$|portable_math|resume|run_(envs|hostile|kills|precision|trainer)|smoke)

test-valgrind: $(SETUP) ## run three quarters of the quick C tests under valgrind's memcheck
	@scripts/setup valgrind
	@$(call configure,build-valgrind,$(O1))
	@$(CMAKE) --build build-valgrind -j $(JOBS)
	@scripts/valgrind-tests build-valgrind '$(VALGRIND_TESTS)' '$(VALGRIND_NOT)' $(JOBS)

# qemu-user emulates vectors of floats number by number: a test of networks takes a hundred times as
# long. ARM_NOT leaves out
#   tests that start other programs, since those of ARM cannot be started from an emulated one:
#     ac_export and agent_export (a compiler), cli*, env_atari, env_gym*, env_remote (workers and their timeouts);
#   tests that measure time: bench;
#   tests of networks and of many runs that take minutes there.
ARM_TESTS ?= ^(test_|fuzz_|example_)
ARM_NOT   ?= ^(test_(ac_export|agent_(export|masks)|bench|cli|env_(atari|gym|remote)|episode_limit|matmul_threads|net$$|pathwise_circles|resume|smoke)|test_dqn_(ensemble|hyperagent|images|learn|masks|networks|returns)|test_run_(disk|envs|evaluations|hostile|kills|numbers|trainer)|example_own_(features|mask|pictures))

# ARM_DIGESTS compare their digests with those of this machine's build.
ARM_DIGESTS = test_portable test_run_precision

test-arm: build ## cross-build for 64-bit ARM and run most quick C tests under qemu-user
	@scripts/setup-arm
	@$(call configure,build-arm,-DCMAKE_TOOLCHAIN_FILE=cmake/aarch64-linux-gnu.cmake -DLANGEVIN_PLOTS=OFF)
	@$(CMAKE) --build build-arm -j $(JOBS)
	@$(CMAKE) --build $(BUILD) -j $(JOBS) --target $(ARM_DIGESTS)
	@for test in $(ARM_DIGESTS); do \
	  LANGEVIN_DIGESTS_WRITE=build-arm/digests $(BUILD)/$$test || exit 1; done
	@LANGEVIN_DIGESTS=$(CURDIR)/build-arm/digests $(call run_tests,build-arm) -R '$(ARM_TESTS)' -E '$(ARM_NOT)'

SECONDS_EACH ?= 60
fuzz: $(SETUP) ## run every fuzz target for a minute (SECONDS_EACH=900: longer)
	@scripts/setup clang libclang-rt-dev
	@$(call configure,build-libfuzzer,-DCMAKE_C_COMPILER=clang -DLANGEVIN_FUZZ=ON $(O1) \
	  -DLANGEVIN_SANITIZE=address$(COMMA)undefined$(COMMA)float-cast-overflow$(COMMA)fuzzer-no-link)
	@$(CMAKE) --build build-libfuzzer -j $(JOBS) --target fuzz_targets
	@scripts/fuzz build-libfuzzer $(SECONDS_EACH)

mutants: $(SETUP) ## insert mistakes one at a time; a test must notice each of them
	@scripts/mutants

# gcov's counters add names of their own to the libraries, and the faults of torture, which also hit
# the files of the counters, would corrupt those of all tests.
COVERAGE_NOT = ^(abi|exports|install|torture)$$

coverage: $(SETUP) $(VENV) ## show which lines of src/ the quick tests run; fail below 97 %
	@$(call configure,build-coverage,-DCMAKE_C_FLAGS=--coverage $(O1))
	@$(CMAKE) --build build-coverage -j $(JOBS)
	@find build-coverage -name '*.gcda' -delete
	@$(call run_tests,build-coverage) -LE slow -E '$(COVERAGE_NOT)'
	@scripts/coverage build-coverage 97

torture: build $(VENV) ## fail or delay single calls of the C library under the sub-commands
	@$(CMAKE) --build $(BUILD) -j $(JOBS) --target torture_shim
	@scripts/torture $(BUILD)/langevin $(BUILD)/libtorture_shim.so

lint: $(SETUP) $(VENV) ## clang-tidy, gcc -fanalyzer, cppcheck, ruff and mypy must find nothing
	@scripts/setup clang clang-tidy cppcheck
	@JOBS=$(JOBS) scripts/lint

static: build ## build build-static/langevin, one file without dependencies (musl), and compare its runs
	@scripts/static $(BUILD)/langevin

STAGES ?=
trust: $(SETUP) ## run the stages of docs/reliability.md that have not passed for this tree (STAGES="lint torture": only these)
	@scripts/trust $(STAGES)

MINUTES ?= 60
soak: build $(VENV) ## run a sweep for an hour (MINUTES=5: shorter); its memory must not grow
	@nice -n 10 scripts/soak $(BUILD)/langevin $(MINUTES) $(BUILD)/soak

test-clang: $(SETUP) $(VENV) ## run the quick tests, compiled by clang
	@scripts/setup clang
	@$(call configure,build-clang,-DCMAKE_C_COMPILER=clang)
	@$(CMAKE) --build build-clang -j $(JOBS)
	@$(call run_tests,build-clang) -LE slow

test-kills: build ## kill runs two hundred times (LANGEVIN_KILLS=N: more often, LANGEVIN_KILLS_SEED=S: at other moments)
	@$(CMAKE) --build $(BUILD) -j $(JOBS) --target slow_kills
	@$(BUILD)/slow_kills

test-slurm: build ## run a sweep on a Slurm cluster of one node, started for the test (needs root)
	@scripts/setup-slurm
	@$(CTEST) --test-dir $(BUILD) --output-on-failure --verbose -L slurm

wheel: $(SETUP) ## build the Python wheel for other machines and the source distribution into dist/
	@scripts/wheel dist

deb: $(SETUP) ## build the Debian packages into dist/ and check them with lintian
	@PATH="$(CURDIR)/.venv/bin:$$PATH" scripts/deb dist

release: build $(VENV) $(SITE) ## build all of a release into dist/ and check its version; publish nothing
	@PATH="$(CURDIR)/.venv/bin:$$PATH" scripts/release dist

test-wheel: $(SETUP) ## build the Python wheel and test it in a fresh virtual environment
	@tests/whole/wheel_test.sh

test-wheel-arm: build $(VENV) ## cross-build the wheel for 64-bit ARM and use it under qemu-user
	@tests/whole/wheel_arm_test.sh $(CURDIR)/.venv/bin/python

site: build $(SITE) ## build the site of docs/ and the generated pages into build-site/
	@scripts/browser
	@LANGEVIN=$(abspath $(BUILD))/langevin NO_MKDOCS_2_WARNING=1 .venv-site/bin/mkdocs build --quiet -f site/mkdocs.yml
	@echo "open build-site/index.html, or, for its search: python3 -m http.server --directory build-site"

test-site: build $(SITE) ## open the pages of the site in Chromium and check their accessibility
	@scripts/setup chromium nodejs
	@$(CMAKE) --build $(BUILD) -j $(JOBS) --target browser_digests
	@$(CTEST) --test-dir $(BUILD) --output-on-failure -R '^(browser|site_pages|python_site)$$'

abi: build ## describe the binary interface in abi/langevin.abi: with a change of it that is intended
	@$(BUILD)/abi_test --write

abi-check: build ## compare the binary interface with abi/langevin.abi
	@$(BUILD)/abi_test

format: ## let clang-format rewrite the sources
	@clang-format -i $(SOURCES)

check-format: $(SETUP)
	@clang-format --dry-run -Werror $(SOURCES)

install: build ## install into PREFIX (default /usr/local), below DESTDIR if set
	@$(CMAKE) --install $(BUILD) --prefix $(PREFIX)

clean: ## remove the build folders
	@rm -rf $(BUILD) build-asan build-tsan build-clang build-valgrind build-libfuzzer build-mutants \
	  build-coverage build-arm build-lint build-static build-trust build-site build-browser
