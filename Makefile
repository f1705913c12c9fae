# Everything that a user or a contributor runs. `make` alone lists the targets.
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup prerequisites jars bytecode test lint words unit integration cluster simulate demo bench evaluation docs krew clean

PYTHON ?= $(shell for python in python3.11 python3.12 python3.13 python3; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && { echo $$python; break; }; done)
JAVA := $(if $(JAVA_HOME),$(JAVA_HOME)/bin/java,java)
BIN := .venv/bin
INSTALLED := .venv/.installed
N ?= 20000
SCALE ?= laptop
EXTRAS ?= demo,dev
OUT ?= bench/results/evaluation-$(SCALE)
WORKERS ?= 2
ARGS ?=
# Where an environment forbids it, every process that a test starts would compile all of PySpark's Python again: two seconds each.
unexport PYTHONDONTWRITEBYTECODE
# Two files at a time, each worker with a Kafka, a ZooKeeper and a Spark of its own (3 GB). WORKERS=0: one test after the other.
# In the order that tests/integration/conftest.py gives: by itself, files with few tests would be last, and they are long.
INTEGRATION = $(BIN)/pytest tests/integration -n $(WORKERS) --dist loadfile --no-loadscope-reorder

WORDS = $(BIN)/codespell --ignore-regex='`[^`]*`' --dictionary
TEXTS = README.md CONTRIBUTING.md docs helm jobs/tandem/devtools/template
CODE = bench operator jobs

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo '  Options of a command go into ARGS, as in: make unit ARGS="-k merge"'

setup: prerequisites $(INSTALLED) jars bytecode ## .venv with everything installed, the jars of Kafka in the cache, Tandem's Java and Python compiled

prerequisites:
	@test -x $(BIN)/python || test -n "$(PYTHON)" || { \
		echo "Python 3.11 or newer is missing: install it, or name one as in: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@command -v "$(JAVA)" >/dev/null 2>&1 || { \
		echo "Java 17 or newer is missing ($(JAVA)): install it, or set JAVA_HOME to one" >&2; exit 1; }
	@version=$$("$(JAVA)" -version 2>&1 | sed -n 's/.*version "\(1\.\)\{0,1\}\([0-9]*\).*/\2/p' | head -n 1); \
	test "$${version:-0}" -ge 17 || { \
		echo "Java 17 or newer is needed, $(JAVA) is $${version:-of unknown version}: set JAVA_HOME to another" >&2; exit 1; }

$(BIN)/python:
	@$(PYTHON) -m venv .venv || { rm -rf .venv; \
		echo "$(PYTHON) cannot make a virtual environment: install its venv module (Debian: python3-venv)" >&2; exit 1; }

$(INSTALLED): pyproject.toml | $(BIN)/python
	@echo "Installing into .venv (once; PySpark is about 500 MB)"
	$(BIN)/python -m pip install --disable-pip-version-check --no-compile --editable '.[$(EXTRAS)]'
	@touch $@ $(if $(findstring docs,$(EXTRAS)),$(BIN)/.docs)

jars: $(INSTALLED)
	@$(BIN)/python -m tandem.engine.jvm >/dev/null
	@$(BIN)/python -m tandem.engine.jvm.classes >/dev/null
	@$(BIN)/python -m tandem.engine.class_archive >/dev/null

bytecode: $(INSTALLED)
	@$(BIN)/python -m compileall -q bench jobs operator tests

# The campaign of schedules is one long test: it begins first, and the others go on beside it.
test: setup lint ## all checks and all tests
	$(BIN)/pytest tests/simulation tests/unit -n auto --dist loadfile --no-loadscope-reorder $(ARGS)
	$(INTEGRATION) $(ARGS)

lint: $(INSTALLED) words ## style, formatting, types, import contracts, words
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/mypy --config-file tests/mypy.ini tests
	$(BIN)/lint-imports

words: ## words of .ci/words, which the field does not use, and better ones: part of lint
	$(WORDS) .ci/words/everywhere.txt $(TEXTS) $(CODE)
	$(WORDS) .ci/words/prose.txt $(TEXTS)

unit: $(INSTALLED) ## unit tests only: a minute or two
	$(BIN)/pytest tests/unit -n auto $(ARGS)

integration: setup ## integration tests only: a real Kafka, ZooKeeper and Spark
	$(INTEGRATION) $(ARGS)

cluster: ## tests on a Kubernetes with three nodes that kube-lab makes (KUBE_LAB names its command); needs root
	.ci/cluster $(ARGS)

simulate: $(INSTALLED) ## N schedules of the protocol under simulated failures, from seed FIRST on: make simulate N=200000 FIRST=0
	TANDEM_SCHEDULES=$(N) TANDEM_FIRST=$(or $(FIRST),0) $(BIN)/pytest tests/simulation -n auto --dist loadfile $(ARGS)

demo: setup ## two replicas over real data, one is killed, the other publishes on
	$(BIN)/tandem demo $(ARGS)

bench: setup ## measure beside plain Spark; tables and plots go to bench/results
	$(BIN)/python -m bench $(ARGS)

evaluation: setup ## scenarios at SCALE smoke, laptop or paper, into OUT; goes on after an interruption: make evaluation SCALE=smoke OUT=folder
	$(BIN)/python -m bench.evaluation --scale $(SCALE) --out "$(OUT)" $(ARGS)

docs: $(BIN)/.docs ## the documentation as a site in site/, with all links checked
	PYTHONPATH=operator $(BIN)/python -m reference_pages --check
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

$(BIN)/.docs: pyproject.toml | $(INSTALLED)
	$(BIN)/python -m pip install --disable-pip-version-check --quiet --editable '.[docs]'
	@touch $@

krew: $(INSTALLED) ## kubectl tandem as a krew plugin, into dist/krew: make krew ARGS="--base https://where/archives/will/be"
	PYTHONPATH=operator $(BIN)/python -m krew_plugin $(ARGS)

clean: ## remove what builds, checks and runs leave behind (not .venv, not the cache of jars)
	rm -rf build dist site demo-output spark-warehouse metastore_db derby.log .tandem
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -path ./.venv -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +
