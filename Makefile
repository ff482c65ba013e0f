# Everything a newcomer needs: `make demo` and `make test` set up .venv themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-slow test-browser lint clean

demo: $(VENV)/ready  ## train a reward on Random ABC, evaluate it, draw: a few minutes, into ./demo
	$(BIN)/orexis demo --out demo

test: $(VENV)/ready  ## the fast suite
	$(BIN)/python -m pytest -q -n 2 -m "not slow"

test-slow: $(VENV)/ready  ## learning and long checks
	$(BIN)/python -m pytest -q -n 2 -m "slow and not browser"

test-browser: $(VENV)/ready  ## the viewer's page in a Chromium; needs one, and fetches Playwright if it is not there
	$(BIN)/python -c 'import playwright' 2>/dev/null || $(BIN)/python -m pip install --quiet --disable-pip-version-check "playwright>=1.50,<2"
	$(BIN)/python -m pytest -q -m browser

lint: $(VENV)/ready  ## style, format and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

$(VENV)/ready: requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("Orexis needs Python 3.11 or newer: make PYTHON=python3.11 ...") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@

clean:
	rm -rf $(VENV) demo .pytest_cache .ruff_cache .mypy_cache .hypothesis
