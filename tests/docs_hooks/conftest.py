"""A Python with the documentation tools: this one, or the one that `CUTEPY_DOCS_PYTHON` names; a loud skip without.

    python -m venv /tmp/docs && /tmp/docs/bin/pip install zensical mkdocs pymdown-extensions sphinx myst-parser
    CUTEPY_DOCS_PYTHON=/tmp/docs/bin/python pytest tests/docs_hooks

`CUTEPY_REQUIRE_DOCS=1` (CI sets it) turns the skip into a failure.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
Tool = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module", params=["zensical", "mkdocs", "sphinx"])
def tool(request: pytest.FixtureRequest) -> tuple[str, Tool]:
    """Name of a documentation tool, and a function that runs it: `run(folder, *arguments)`."""
    return request.param, _runner(request.param)


@pytest.fixture
def sphinx() -> tuple[str, Tool]:
    """Sphinx alone, run for the builders that are named; from the second one on they meet what was pickled."""
    return "sphinx", _runner("sphinx", "-c", BUILDERS)


BUILDERS = """
import sys
from sphinx.cmd.build import main
sys.exit(any([main(["-W", "-q", "-b", name, "-d", "pickled", ".", f"site/{name}"]) for name in sys.argv[1:]]))
"""


@cache
def _runner(name: str, *how: str) -> Tool:
    """Run `python -m name`, or as is said, with cutepy on its path."""
    python = os.environ.get("CUTEPY_DOCS_PYTHON", sys.executable)
    if subprocess.run([python, "-c", f"import {name}"], capture_output=True).returncode:
        reason = f"no {name} in {python}: pip install it, or set CUTEPY_DOCS_PYTHON"
        if os.environ.get("CUTEPY_REQUIRE_DOCS", "0") != "0":
            pytest.fail(f"CUTEPY_REQUIRE_DOCS is set, but there is {reason}")
        pytest.skip(f"NOT TESTED: {reason}")

    def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
        return subprocess.run(
            [python, *(how or ("-m", name)), *arguments],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
        )

    return run
