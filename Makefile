# make demo: run the main job. make test: the tests. make check: lint and types. make bench, make docs, make clean.
# Each makes its own .venv first (PYTHON=... chooses the Python) and is quick the second time.

VENV := .venv
BIN := $(VENV)/bin
PYTEST_FLAGS ?=

.PHONY: demo test check bench docs clean
.DELETE_ON_ERROR:

demo: $(VENV)/.cutepy-run
	@tools/drivers.sh
	$(BIN)/python examples/demo.py

test: $(VENV)/.cutepy-test
	@tools/drivers.sh
	$(BIN)/python -m pytest $(PYTEST_FLAGS)

check: $(VENV)/.cutepy-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: $(VENV)/.cutepy-test
	@tools/drivers.sh
	@set -e; for script in bench/*.py; do echo "== $$script"; $(BIN)/python $$script; done

docs: $(VENV)/.cutepy-docs
	$(BIN)/python -m pytest -q docs README.md
	$(BIN)/zensical build --clean --strict

clean:
	rm -rf $(VENV) demo site dist build .pytest_cache .hypothesis .mypy_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A stamp for each set of packages: run (none extra), test, dev, docs.
$(VENV)/.cutepy-%: pyproject.toml tools/venv.sh
	@echo "setting up $(VENV) ($*), the first time this takes a minute"
	@tools/venv.sh $(filter-out run,$*)
	@touch $@
