# `make release` runs the main job on real data, `make test` passes the tests; both install first.
PYTHON ?= python3
BIN := .venv/bin
WORKERS ?= 2
export HALLMARK_HOME ?= $(CURDIR)/.hallmark

.PHONY: install release examples up test test-services test-slow test-seeds lint docs editor clean

install: .venv/.installed

.venv/.installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' || \
		{ echo "Hallmark needs Python 3.11 to 3.13; name one with: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@echo "Installing into .venv; the first time this takes some minutes."
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

# The demonstration states who publishes it, unless the home has a profile that does.
release: export HALLMARK_PROFILE ?= $(or $(wildcard $(HALLMARK_HOME)/profile.yaml),$(CURDIR)/schemas/examples/profile/demonstration.yaml)
release: install
	$(BIN)/python -m hallmark.flows.demo build/rand-hie.csv
	$(BIN)/hallmark release schemas/examples/rand-hie.yaml --out releases

# Plans and releases all example specs, in a home of their own.
examples: install
	$(BIN)/python -m hallmark.flows.examples schemas/examples build/examples

# Server mode on this machine; options as in `python -m deploy.local --help`, in UP.
up: install
	$(BIN)/python -m deploy.local $(UP)

# Files in their order: those of whole releases, which take longest, come early. One thread a worker:
# the threads of several workers on as many cores wait for each other for longer than they compute.
test test-services: export OMP_NUM_THREADS ?= 1
# Processes that tests start read the code as bytes that an earlier one compiled.
test test-services: export PYTHONDONTWRITEBYTECODE :=
# At the end, the tests are named that took longest.
TOGETHER = -n $(WORKERS) --dist loadfile --no-loadscope-reorder --durations=20 --durations-min=3
test: install
	$(BIN)/pytest $(TOGETHER)

# Needs PostgreSQL, Chromium, Prometheus, and R with its package survey; skips what needs one that is missing.
test-services: install
	$(BIN)/pytest -m "service and not slow" $(TOGETHER)

test-slow: install
	$(BIN)/pytest -m slow

# Three hundred seeds of every mechanism, for hours: before a release of Hallmark.
test-seeds: install
	HALLMARK_SEEDS=300 $(BIN)/pytest -m slow tests/mechanisms/test_many_seeds.py

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The documentation as a site that opens without a server; fails where a link leads nowhere.
docs: install
	$(BIN)/python -m docs.site.build

# The desk's spec editor, from its sources to the bundle that is committed; needs Node.js 20 or later.
editor:
	cd flows/desk/editor && npm ci --ignore-scripts --no-audit --no-fund && npm test && npm run build

clean:
	rm -rf .venv build releases
