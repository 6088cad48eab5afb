SHELL := /bin/bash
# What is compiled once is read by the hundreds of processes that follow, whatever images of containers say.
unexport PYTHONDONTWRITEBYTECODE
PYTHON ?= python3
VENV := .venv
# Another Python than that of .venv has an environment of its own: `make test PYTHON=python3.13` works in .venv-3.13.
ifneq ($(origin PYTHON),file)
version = $(shell $(1) -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)
ASKED := $(or $(call version,$(PYTHON)),$(error PYTHON=$(PYTHON) is not a Python that can be run))
ifneq ($(filter-out $(ASKED),$(call version,.venv/bin/python)),)
VENV := .venv-$(ASKED)
endif
endif
BIN := $(VENV)/bin
LOCK := requirements-dev.lock
# Keyed on content, not on times: a fresh clone or a restored environment is judged by what is in it.
STAMP := $(VENV)/.installed-$(shell cat $(LOCK) pyproject.toml 2>/dev/null | cksum | tr ' ' '-')
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input
UV ?= uv
# Two processes share the tests, and tests/conftest.py says which stay together: more of them wait for each other. Four
# where there are servers and Spark, for which one of them waits most of the time.
SHARED := -n 2 --dist loadfile --no-loadscope-reorder
WAITING := $(subst -n 2,-n 4,$(SHARED))
QUICK = $(SHARED) -m "not spark and not server and not long$(if $(FEW), and not slow)" $(if $(FEW),--few)

.PHONY: help install prepare demo test test-slow quick test-properties test-sites test-long cluster fuzz coverage lint format docs build crash soak wheel-check pictures bench \
	conformance conformance-windows conformance-spark conformance-rsp lock clean
.DEFAULT_GOAL := install

help: ## this list; PYTHON=python3.13 with any of it works in an environment of that version
	@sed -n 's/^\([a-z-]*\):.* ## \(.*\)/\1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "make %-20s %s\n", $$1, $$2 }'

install: $(STAMP) ## an environment with everything the lock file names (what make does without a target)

$(STAMP):
	@if ! $(BIN)/python -m pip --version >/dev/null 2>&1; then \
		for candidate in $(PYTHON) $(if $(ASKED),,python3.14 python3.13 python3.12 python3.11); do \
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
	@$(PIP) install --quiet --require-hashes --no-deps -r $(LOCK)
	@$(PIP) install --quiet --no-deps --no-build-isolation -e .
	@rm -f $(VENV)/.installed-* && touch $@

demo: install ## a server with streams, queries and a page to look at; ends with Ctrl-C
	@exec $(BIN)/sparql-streams demo

# What starts Spark starts it in half the time, where Java can share classes.
prepare: $(VENV)/.prepared ## an archive of Spark's classes, with which it starts in half the time

# Made again where the archive that it names is gone: a server removes one that Java does not start with.
ifneq ($(shell archive=$$(cat $(VENV)/.prepared 2>/dev/null); [ -z "$$archive" ] || [ -e "$$archive" ] || echo gone),)
.PHONY: $(VENV)/.prepared
endif

# On the other core the tests are read: otherwise each process that shares them compiles them all, twenty seconds of each.
$(VENV)/.prepared: $(STAMP)
	@$(BIN)/pytest --collect-only -qq >/dev/null 2>&1 & \
	$(BIN)/sparql-streams prepare || echo "Spark starts without an archive of its classes"; \
	wait
	@ls -t $(VENV)/share/sparql-streams/*.jsa 2>/dev/null | head -n 1 >$@

test: prepare ## what every change must pass; some minutes
	$(BIN)/pytest $(WAITING)

# Some of these files have long ones, too.
test-slow: prepare ## servers, Spark and brokers that break and come back, heavy queries, the rest of long tables, the examples of the docs; minutes
	$(BIN)/pytest $(WAITING) -m "slow and not long"

quick: install ## of these, what starts neither Spark nor a server; FEW=1: some cases of each test
	$(BIN)/pytest $(QUICK)

test-properties: install ## the properties, with all examples that they ask for, of which `make test` tries a tenth; minutes
	$(BIN)/pytest $(SHARED) --properties

test-sites: install ## Spark SQL gives what DuckDB gives: the queries that `make test` leaves out, and over HTTP
	$(BIN)/pytest -m long tests/server/test_sites_over_http.py tests/spark_backend/spark_sql/test_both_sites.py tests/spark_backend/spark_sql/test_slices_on_spark.py tests/spark_backend/spark_sql/test_services_on_spark.py

test-long: install ## what is too long for every change: thousands of generated queries, scenarios, requests; an hour
	$(BIN)/pytest -m long

# ALL=1: all cases of RSP-QL and all queries of W3C's, a quarter of an hour and more.
cluster: install ## a master and two workers on this machine: what a server answers there, and when workers fail; minutes
	$(if $(ALL),SPARQL_STREAMS_CLUSTER_ALL=1) $(BIN)/pytest -m long tests/cluster

fuzz: install ## 100,000 fuzzed requests; half an hour
	$(BIN)/python -m tests.fuzz --requests 50000 --seed 1 --backend none --clients 4
	$(BIN)/python -m tests.fuzz --requests 50000 --seed 2 --backend engine --clients 4

coverage: install ## `make quick`, and whether it runs as much of the packages as it did (pyproject.toml says how much)
	$(BIN)/pytest $(QUICK) --cov --cov-report=

lint: install ## ruff, mypy, the imports; changes nothing
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/deptry .

format: install ## what ruff can put right
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# A warning (a reference to nothing, say) is an error.
docs: install ## the site, in build/docs; without a network
	$(BIN)/sphinx-build -W --keep-going -n -q docs build/docs

build: install ## the wheel and the source archive, in dist
	$(BIN)/python -m build --no-isolation

crash: install ## processes of a server under load killed and frozen at random: ROUNDS=100 for half an hour, SEED=2 for others
	$(BIN)/python -m tests.crash --rounds $(or $(ROUNDS),10) --seed $(or $(SEED),1)

soak: install ## a steady load for MINUTES=60 (else 5): nothing is lost, memory and latency stay; RATE=1000 on a small machine
	$(BIN)/python -m tests.soak --minutes $(or $(MINUTES),5) --rate $(or $(RATE),5000)

wheel-check: install ## the wheel in an environment of its own, away from here, answers queries
	$(BIN)/pytest -m long tests/server/test_wheel.py

pictures: install ## of the page, in build/pictures; that in the README anew. Needs Chromium
	$(BIN)/python -m tests.server.browser.page_pictures build/pictures
	cp build/pictures/page.png docs/page.png

bench: install ## figures of this machine beside what they are compared with, and the targets; half an hour
	$(BIN)/python -m tests.benchmarks

conformance: install ## W3C's suites (SUITE=DIR says where they are)
	$(BIN)/sparql-streams conformance $(if $(SUITE),--suite-path "$(SUITE)")
	$(BIN)/sparql-streams conformance --host flask $(if $(SUITE),--suite-path "$(SUITE)") \
		sparql11/protocol sparql11/graph-store-protocol sparql11/http-rdf-update sparql11/service-description

conformance-windows: install ## their queries asked of windows, by Spark; some minutes
	$(BIN)/sparql-streams conformance --through-windows $(if $(SUITE),--suite-path "$(SUITE)")

conformance-spark: install ## the same, evaluated by Spark SQL instead of DuckDB; a quarter of an hour
	$(BIN)/sparql-streams conformance --through-windows --site spark $(if $(SUITE),--suite-path "$(SUITE)")

conformance-rsp: install ## RSP-QL itself: windows, reports, R2S, time; needs no suite of others
	$(BIN)/sparql-streams conformance rsp

# The lock files name versions and hashes for every platform; needs uv (https://docs.astral.sh/uv/).
COMPILE = $(UV) pip compile --quiet --universal --generate-hashes --no-annotate --no-emit-find-links \
	--custom-compile-command "make lock"
lock: ## the lock files anew, from pyproject.toml
	$(COMPILE) pyproject.toml -o requirements.lock
	$(COMPILE) pyproject.toml --extra dev -c requirements.lock -o requirements-dev.lock

clean: ## all that was made
	rm -rf .venv .venv-3.* build dist *.egg-info .mypy_cache .ruff_cache .import_linter_cache .pytest_cache .hypothesis spark-warehouse metastore_db
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
