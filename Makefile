# Everything a newcomer needs: `make demo` and `make test` set up their environment themselves.
PYTHON ?= python3
# python3's environment is .venv; an interpreter that PYTHON names has one of its own, for example .venv-3.13.
ifeq ($(origin PYTHON),file)
VENV ?= .venv
else
VERSION := $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')
$(if $(VERSION),,$(error PYTHON=$(PYTHON) does not start))
VENV ?= .venv-$(VERSION)
endif
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet
LOCKED := --extra dev --extra docs --extra tensorboard --extra notebooks --extra browser

.PHONY: demo test test-slow test-browser test-slurm smoke lint docs lock clean

demo: $(VENV)/ready  ## train a reward on Random ABC, evaluate it, draw: a few minutes, into ./demo
	$(BIN)/orexis demo --out demo

test: $(VENV)/ready  ## the fast suite; PYTHON=python3.13 for another interpreter
	$(BIN)/python -m pytest -q -n 2 -m "not slow and not slurm"

test-slow: $(VENV)/ready  ## learning and long checks
	$(BIN)/python -m pytest -q -n 2 -m "slow and not browser"

test-browser: $(VENV)/ready  ## the viewer's page in a Chromium; needs one
	$(BIN)/python -m pytest -q -rs -m browser # skips and says why where the browser is missing

smoke: $(VENV)/ready  ## a few tests of everything, for one more interpreter
	$(BIN)/python -m pytest -q -n 2 -m smoke

test-slurm: $(VENV)/ready  ## docs/how-to/cluster.md under a Slurm of its own; needs Debian's slurm-wlm and munge
	$(BIN)/python -m pytest -q -m slurm

lint: $(VENV)/ready  ## style, format and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(VENV)/ready  ## the site, into build/docs: warnings are errors, every link inside it is followed
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet --fresh-env -b html docs build/docs
	PYTHONPATH=docs $(BIN)/python -m orexis_docs.check build/docs

lock: $(VENV)/ready  ## requirements.lock anew from pyproject.toml; UPGRADE=--upgrade for the newest versions
	$(BIN)/uv pip compile --quiet pyproject.toml $(LOCKED) --universal --python-version 3.11 --generate-hashes \
	  --custom-compile-command "make lock" --output-file requirements.lock $(UPGRADE)

$(VENV)/ready: requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("Orexis needs Python 3.11 or newer: make PYTHON=python3.11 ...") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(PIP) --require-hashes --only-binary :all: -r requirements.lock
	$(PIP) --no-index --no-deps --no-build-isolation --editable .
	touch $@

clean:
	rm -rf .venv .venv-* demo dist build docs/generated .pytest_cache .ruff_cache .mypy_cache .hypothesis
