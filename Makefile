# make demo: run the main job. make test: the tests. make check: lint and types. make explorer: a page that runs cutepy.
# make fuzz, make laws: more random cases. make mesh: PyTorch and JAX judge cutepy.mesh. make bench, make docs, make clean.
# Each makes its own .venv first (PYTHON=... chooses the Python) and is quick the second time.

VENV := .venv
BIN := $(VENV)/bin
# A file at a time, the longest first, then folder by folder: devices, browsers and the docs site come early, pages of
# seconds at the end. One worker more than there are cores: some wait for a browser.
WORKERS := $(shell expr `getconf _NPROCESSORS_ONLN` + 1)
PYTEST_FLAGS ?= -n $(WORKERS) --dist loadfile --no-loadscope-reorder

# Each starts some Pythons, the tests a hundred: what one compiles is there for the next, whatever the surroundings say.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test check bench docs explorer mesh fuzz laws clean
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

docs: $(VENV)/.cutepy-docs $(VENV)/.cutepy-explorer
	$(BIN)/python -m pytest -q docs README.md
	PYTHONPATH=. $(BIN)/zensical build --clean --strict
	$(BIN)/cutepy explore --links site -o site/explore.html

# Every fuzzer, for about five minutes in all.
fuzz: $(VENV)/.cutepy-test
	@tools/drivers.sh
	$(BIN)/python -m tools.fuzz all --seconds $(or $(SECONDS),300) --seed $(or $(SEED),0)

# The tests that try a share of their random cases try all of them (tests/shares.py).
laws: export CUTEPY_LAWS := all
laws: $(VENV)/.cutepy-test
	@tools/drivers.sh
	$(BIN)/python -m pytest $(PYTEST_FLAGS) $$(grep -rlE "^from shares import" tests --include="*.py")

# PyTorch and JAX judge cutepy.mesh, in an environment of their own: they take gigabytes.
mesh: .venv-mesh/.cutepy-mesh
	.venv-mesh/bin/python tools/mesh.py $(MESH_COUNT)

.venv-mesh/.cutepy-mesh: pyproject.toml
	python3 -m venv .venv-mesh
	.venv-mesh/bin/python -m pip install --quiet --disable-pip-version-check -e ".[mesh]"
	@touch $@

explorer: $(VENV)/.cutepy-explorer
	$(BIN)/cutepy explore -o explorer.html
	@echo "explorer.html: open it in a browser; it needs no network. dist/ has the wheel of the runtime."

# Python for the browser, from npm, packed into a wheel of its own.
PAGE_SOURCES := $(wildcard cutepy/*.py cutepy/layout/*.py cutepy/layout/*/*.py cutepy/draw/*.py cutepy/draw/*/*.py cutepy/explore/*.py)
$(VENV)/.cutepy-explorer: $(VENV)/.cutepy-run $(wildcard runtime/*.*) $(PAGE_SOURCES)
	$(BIN)/python runtime/pack.py
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist ./runtime
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --force-reinstall dist/cutepy_runtime-*.whl
	@touch $@

clean:
	rm -rf $(VENV) .venv-mesh demo site dist build explorer.html runtime/cutepy_runtime/*.gz .pytest_cache .hypothesis .mypy_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A stamp for each set of packages: run (none extra), test, dev, docs.
$(VENV)/.cutepy-%: pyproject.toml tools/venv.sh
	@echo "setting up $(VENV) ($*), the first time this takes a minute"
	@tools/venv.sh $(filter-out run,$*)
	@touch $@
