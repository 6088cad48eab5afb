# make install | demo | test | test-sites | test-long | lint | docs | bench | conformance | conformance-windows | conformance-spark | conformance-rsp | lock | clean
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LOCK := requirements-dev.lock
# Keyed on content, not on times: a fresh clone or a restored environment is judged by what is in it.
STAMP := $(VENV)/.installed-$(shell cat $(LOCK) pyproject.toml 2>/dev/null | cksum | tr ' ' '-')
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input
UV ?= uv

.PHONY: install demo test test-sites test-long lint format docs bench conformance conformance-windows conformance-spark conformance-rsp lock clean
.DEFAULT_GOAL := install

install: $(STAMP)

$(STAMP):
	@if ! $(BIN)/python -m pip --version >/dev/null 2>&1; then \
		for candidate in $(PYTHON) python3.14 python3.13 python3.12 python3.11; do \
			if "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then found="$$candidate"; break; fi; \
		done; \
		if [ -z "$$found" ]; then \
			echo "sparql-streams needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1 || true). Try: make install PYTHON=/path/to/python3.11" >&2; exit 1; \
		fi; \
		echo "creating $(VENV) with $$("$$found" --version)"; \
		rm -rf $(VENV) && "$$found" -m venv $(VENV); \
	fi
	@$(BIN)/python -c 'import sys; sys.exit("$(VENV) has Python %d.%d, sparql-streams needs 3.11 or newer: remove $(VENV) and run make install again" % sys.version_info[:2] if sys.version_info < (3, 11) else 0)'
	@echo "installing what $(LOCK) names (the first time takes a minute or two)"
	@$(PIP) install --quiet --require-hashes -r $(LOCK)
	@$(PIP) install --quiet --no-deps --no-build-isolation -e .
	@rm -f $(VENV)/.installed-* && touch $@

demo: install
	@exec $(BIN)/sparql-streams demo

test: install
	$(BIN)/pytest

# Spark SQL gives what DuckDB gives: the queries that `make test` leaves out, and over HTTP.
test-sites: install
	$(BIN)/pytest -m long tests/server/test_sites_over_http.py tests/spark_backend/spark_sql/test_both_sites.py

# What is too long for every change: thousands of generated queries, scenarios, requests; most of an hour.
test-long: install
	$(BIN)/pytest -m long

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/deptry .

format: install
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The site, in build/docs; without a network. A warning (a reference to nothing, say) is an error.
docs: install
	$(BIN)/sphinx-build -W --keep-going -n -q docs build/docs

bench: install
	$(BIN)/python -m tests.benchmarks

conformance: install
	$(BIN)/sparql-streams conformance $(if $(SUITE),--suite-path "$(SUITE)")
	$(BIN)/sparql-streams conformance --host flask $(if $(SUITE),--suite-path "$(SUITE)") \
		sparql11/protocol sparql11/graph-store-protocol sparql11/http-rdf-update sparql11/service-description

# The same queries asked of windows, by Spark; some minutes.
conformance-windows: install
	$(BIN)/sparql-streams conformance --through-windows $(if $(SUITE),--suite-path "$(SUITE)")

# The same, with every window evaluated by Spark SQL instead of DuckDB; a quarter of an hour.
conformance-spark: install
	$(BIN)/sparql-streams conformance --through-windows --site spark $(if $(SUITE),--suite-path "$(SUITE)")

# RSP-QL itself: windows, reports, R2S, time. Needs no suite of others.
conformance-rsp: install
	$(BIN)/sparql-streams conformance rsp

# The lock files name versions and hashes for every platform; needs uv (https://docs.astral.sh/uv/).
COMPILE = $(UV) pip compile --quiet --universal --generate-hashes --no-annotate --no-emit-find-links \
	--custom-compile-command "make lock"
lock:
	$(COMPILE) pyproject.toml -o requirements.lock
	$(COMPILE) pyproject.toml --extra dev -c requirements.lock -o requirements-dev.lock

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .import_linter_cache .pytest_cache .hypothesis spark-warehouse metastore_db
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
