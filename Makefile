# Every target creates its own .venv and installs what it needs: only Python 3.11 or newer and make are required.

PYTHON ?= python3
WORKERS ?= 2
SOAK ?= 1
BIN := .venv/bin
# compilers, emulators and browsers for the tests; tests of missing ones are skipped, but not with CI set
DEBIAN := gcc g++ clang libclang-rt-dev libc6-dev nodejs chromium firefox-esr xvfb libegl1 libgl1-mesa-dri \
	fonts-dejavu-core fonts-dejavu-extra poppler-utils qemu-user qemu-system-arm \
	gcc-aarch64-linux-gnu libc6-dev-arm64-cross gcc-riscv64-linux-gnu libc6-dev-riscv64-cross \
	gcc-arm-none-eabi libnewlib-arm-none-eabi texlive-latex-base

# tests that need compilers, emulators, Node, a browser, Dask or many processes at once, and tests of pages and figures
MACHINES := tests/compiler/emit/test_c99.py tests/compiler/emit/test_control_loop.py tests/compiler/emit/test_own_functions.py tests/compiler/emit/test_objects.py \
	tests/compiler/emit/test_wasm.py tests/compiler/emit/test_step.py tests/compiler/emit/test_grid.py tests/mechanics/symbols/test_latex.py tests/compiler/kernel/test_cache.py tests/views/report \
	tests/base/environment/test_cluster.py tests/views/cli/test_faults.py tests/test_contributing.py tests/test_readme.py
# the live page and its studio server in browsers
PAGE := tests/views/web
# what needs an environment of its own
ELSEWHERE := tests/compiler/foreign tests/drake tests/gpu tests/docs
NODE := out/node/node_modules

PYTEST = PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest
tested = $(PYTEST) -n $(WORKERS) --dist worksteal
# tests that kill processes and drive browsers can fail on a machine that is busy with others: these alone are repeated, one at a time
tested_twice = $(tested) $(1) || { echo "repeating the failed tests one at a time:"; $(PYTEST) --last-failed --last-failed-no-failures none $(1); }
# of tests that repeat the same on more arms, logs or options, `make test` runs one; `make test-repeated` runs the others
FEW := -m "not repeated"

.PHONY: help help-more demo docs test-docs book book-update test test-more portable test-repeated test-machines test-page test-core test-foreign test-drake test-robots test-gpu lint lint-page format bench bench-quick soak soak-identification soak-thresholds clean
.DELETE_ON_ERROR:

help:
	@echo "make demo       a report and a live page of a two-link arm: out/demo/example-7.2.html and out/demo/live.html"
	@echo "make test       the test of the product, in at most 8 minutes on WORKERS=$(WORKERS) processes"
	@echo "make test-more  the rest: all robots, compilers, browsers, other libraries, the notebooks and the site"
	@echo "make lint       check formatting, ruff and mypy without changing files; make format changes them"
	@echo "make docs       build the documentation site and execute its code: out/site/index.html"
	@echo "make book       execute the notebooks of examples/book and compare their output"
	@echo "make bench      speed on this machine compared with other libraries: benchmarks/RESULTS.md"
	@echo "make clean      remove .venv, out and caches"
	@echo "make help-more  all other targets, such as the parts of test-more"

help-more:
	@echo "parts of make test-more:"
	@echo "  make test-repeated  the tests of make test on the arms, logs and options that it leaves out"
	@echo "  make test-machines  emitted code with compilers and emulators, reports, figures: installs these tools on Debian"
	@echo "  make test-page      the live page in Chromium and Firefox, and lint-page: installs these tools on Debian"
	@echo "  make test-robots    every URDF and xacro file of example-robot-data and rtb-data, compared with Pinocchio"
	@echo "  make test-core      the core alone, in an environment without extras"
	@echo "  make test-foreign   PyTorch and JAX on the CPU, and Pinocchio beside them"
	@echo "  make test-drake     SDF files and rotors compared with Drake"
	@echo "  make test-docs      build the documentation strictly and follow its links"
	@echo "on other machines, or for hours:"
	@echo "  make portable       the core with other Python and NumPy versions, processors and 64-bit ARM"
	@echo "  make test-gpu       tests that need a CUDA device, with the CuPy, PyTorch and JAX of PYTHON"
	@echo "  make soak           all trust checks at the scale SOAK; writes docs/trust.md. SOAK=0.02 takes minutes"
	@echo "  make soak-identification  a thousand simulated robots; SOAK scales the number"
	@echo "  make soak-thresholds  which test notices a change of each threshold; writes docs/thresholds.json"
	@echo "for development:"
	@echo "  make lint-page      check types and formatting of the page's JavaScript"
	@echo "  make book-update    rewrite the notebooks with their output"
	@echo "  make bench-quick    the page of make bench from fewer measurements: out/bench/RESULTS.md"

demo: .venv/.installed
	$(BIN)/dalembert arms
	@echo
	$(BIN)/dalembert show planar-2r
	@echo
	$(BIN)/python examples/make_motion.py planar-2r out/demo/motion.csv
	$(BIN)/dalembert torques planar-2r out/demo/motion.csv -o out/demo/torques.csv --force
	@echo
	$(BIN)/dalembert report planar-2r --example 7.2 --out out/demo/example-7.2.html --force
	$(BIN)/dalembert page planar-2r --example 7.2 --title "Example 7.2: planar-2r" --out out/demo/live.html --force

# the pages are executed in processes of their own; those that have not changed, and the package neither, are not executed again
docs: .venv/.installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

test-docs: .venv/.installed-docs .venv/.installed-dev
	$(PYTEST) tests/docs

book: .venv/.installed-book
	$(BIN)/python tests/views/report/in_kernel.py
	$(BIN)/python examples/book/build.py --workers $(WORKERS)

book-update: .venv/.installed-book
	$(BIN)/python examples/book/build.py --workers $(WORKERS) --update

# the tests start hundreds of processes: bytecode is kept, so that assertions need not be rewritten in every run; each worker
# begins with its own half and takes from the other's end, so that fixtures shared by a file are created once
test: .venv/.installed-dev
	$(tested) $(FEW) $(addprefix --ignore=,$(MACHINES) $(PAGE) $(ELSEWHERE))

# those that use all cores one after the other, those that use one side by side
test-more:
	$(MAKE) test-machines
	$(MAKE) test-page
	$(MAKE) test-repeated
	$(MAKE) test-robots
	$(MAKE) book
	$(MAKE) --jobs=$(WORKERS) --output-sync=target test-core test-foreign test-drake test-docs docs

test-repeated: .venv/.installed-dev
	$(tested) -m repeated $(addprefix --ignore=,$(MACHINES) $(PAGE) $(ELSEWHERE))

test-machines: .venv/.installed-dev .venv/.installed-debian
	$(call tested_twice,$(MACHINES))

test-page: lint-page .venv/.installed-dev .venv/.installed-debian
	$(call tested_twice,$(PAGE))

# the checkout is copied before it is built, because pip would leave its build folder in it
test-core: .venv/.python
	@rm -rf out/core && mkdir -p out/core/source
	@cp -r pyproject.toml README.md LICENSE src out/core/source/
	$(PYTHON) -m venv out/core/venv
	out/core/venv/bin/python -m pip install --quiet --disable-pip-version-check out/core/source
	DALEMBERT_CACHE=out/core/cache out/core/venv/bin/python tests/base/environment/core.py

# torch is pinned to the CPU wheel: other wheels bring gigabytes of GPU libraries
test-foreign: out/foreign/venv/.installed
	TORCHINDUCTOR_CACHE_DIR=out/foreign/inductor out/foreign/venv/bin/python -m pytest tests/compiler/foreign \
		"tests/test_readme.py::test_blocks_print_what_the_page_says[arrays]"

out/foreign/venv/.installed: .venv/.python pyproject.toml
	$(PYTHON) -m venv out/foreign/venv
	out/foreign/venv/bin/python -m pip install --quiet --disable-pip-version-check "torch==2.13.0+cpu" || \
		out/foreign/venv/bin/python -m pip install --quiet --disable-pip-version-check "torch==2.13.0"
	out/foreign/venv/bin/python -m pip install --quiet --disable-pip-version-check "jax>=0.10" "pin>=3.1" "pytest>=8" "hypothesis>=6.100" -e ".[motion]"
	@touch $@

# 180 MB of third-party robots, read in place
test-robots: .venv/.installed-dev out/robot-data/.installed
	DALEMBERT_ROBOT_DATA=$(CURDIR)/out/robot-data PYTHONDONTWRITEBYTECODE= \
		$(BIN)/python -m pytest tests/robot_files -n $(WORKERS) --dist worksteal

out/robot-data/.installed: .venv/.installed Makefile
	@rm -rf out/robot-data
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-compile --target out/robot-data \
		"example-robot-data==6.0.0" "rtb-data==2.0.0"
	@touch $@

test-drake: out/drake/venv/.installed
	out/drake/venv/bin/python -m pytest tests/drake

out/drake/venv/.installed: .venv/.python pyproject.toml
	$(PYTHON) -m venv out/drake/venv
	out/drake/venv/bin/python -m pip install --quiet --disable-pip-version-check "drake>=1.30" "pytest>=8" "hypothesis>=6.100" -e .
	@touch $@

# in separate environments under out/portable; missing interpreters come from Debian's later releases
portable: .venv/.installed .venv/.installed-debian
	$(BIN)/python tests/portable/environments.py

# GPU array libraries take gigabytes: those of PYTHON are used, with or without its pytest
test-gpu:
	PYTHONPATH=src $(PYTHON) tests/gpu/test_devices.py

soak: .venv/.installed-dev
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[soak]" || \
		echo "atheris cannot be installed here; a corpus is mutated at random instead"
	$(BIN)/python tests/soak.py $(SOAK) --workers $(WORKERS)

soak-identification: .venv/.installed-dev
	OMP_NUM_THREADS=1 $(BIN)/python tests/soak_identification/run.py $(SOAK) --workers $(WORKERS)

soak-thresholds: .venv/.installed-dev
	$(BIN)/python tests/soak_thresholds/search.py --workers $(WORKERS)

lint: .venv/.installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/mypy --strict --config-file= --follow-imports=silent --disable-error-code=import-untyped --python-version 3.11 examples/*.py

lint-page: $(NODE)/.installed
	$(NODE)/.bin/tsc -p .
	$(NODE)/.bin/prettier --check "src/dalembert/views/web/js/**/*.{js,ts,css}"

# Debian packages npm separately; elsewhere it comes with Node
$(NODE)/.installed: package.json .venv/.installed-debian
	@command -v npm >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && \
		apt-get install -y -qq --no-install-recommends npm >/dev/null; } || \
		{ echo "error: there is no 'npm'; on Debian: apt-get install npm"; exit 1; }
	@mkdir -p out/node && cp package.json out/node/
	npm install --prefix out/node --no-package-lock --no-audit --no-fund --silent
	@touch $@

format: .venv/.installed-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	@! [ -e $(NODE)/.installed ] || $(NODE)/.bin/prettier --log-level warn --write "src/dalembert/views/web/js/**/*.{js,ts,css}"

bench: .venv/.installed-dev .venv/.installed-debian
	$(BIN)/python benchmarks/page.py
	$(BIN)/python benchmarks/closed_chains.py
	$(BIN)/python benchmarks/cluster.py
	$(BIN)/python benchmarks/drives.py
	$(BIN)/python benchmarks/elementary.py
	$(BIN)/python benchmarks/formulations.py
	$(BIN)/python benchmarks/friction.py
	$(BIN)/python benchmarks/growth.py
	$(BIN)/python benchmarks/identification.py
	$(BIN)/python benchmarks/live_page.py --write
	$(BIN)/python benchmarks/map.py
	$(BIN)/python benchmarks/microcontrollers.py
	$(BIN)/python benchmarks/regressor.py
	$(BIN)/python benchmarks/rollout.py
	$(BIN)/python benchmarks/threads.py
	$(BIN)/python benchmarks/time_optimal.py

bench-quick: .venv/.installed-dev
	$(BIN)/python benchmarks/page.py --quick

clean:
	rm -rf .venv out build dist .pytest_cache .hypothesis .ruff_cache .mypy_cache src/*.egg-info
	find src tests examples benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/.python:
	@command -v $(PYTHON) >/dev/null || { echo "error: there is no '$(PYTHON)'; on Debian: apt-get install python3 python3-venv"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "error: dalembert needs Python 3.11 or newer and '$(PYTHON)' is older; choose another with: make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
		{ echo "error: this Python cannot create virtual environments; on Debian: apt-get install python3-venv"; exit 1; }
	$(PYTHON) -m venv .venv
	@touch $@

.venv/.installed: .venv/.python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[full]"
	@touch $@

.venv/.installed-book: .venv/.installed pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[book]"
	@touch $@

.venv/.installed-docs: .venv/.installed pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[docs]"
	@touch $@

.venv/.installed-dev: .venv/.installed pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[test,dev]"
	@touch $@

# 200 MB and a minute, once; only as root and only with apt
.venv/.installed-debian: .venv/.python Makefile
	@missing=$$(for name in $(DEBIAN); do dpkg-query -W -f '$${Status}' $$name 2>/dev/null | grep -q "ok installed" || echo $$name; done); \
	if [ -z "$$missing" ]; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		{ apt-get install -y -qq --no-install-recommends $$missing >/dev/null || \
		{ apt-get update -qq && apt-get install -y -qq --no-install-recommends $$missing >/dev/null; }; } || \
		echo "some of these could not be installed, and tests that need them are skipped:" $$missing; \
	else echo "tests that need these are skipped; on Debian: apt-get install" $$missing; fi
	@touch $@
