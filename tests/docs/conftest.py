"""The built site, once for the session: as `make docs` builds it, in a folder of its own."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the pages. A loud skip where Zensical is not installed (`make docs` installs it)."""
    command = shutil.which("zensical", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
    if command is None:
        reason = "no zensical to build the docs with: make docs, or pip install -e .[docs]"
        if os.environ.get("CUTEPY_REQUIRE_DOCS", "0") != "0":
            pytest.fail(f"CUTEPY_REQUIRE_DOCS is set, but there is {reason}")
        pytest.skip(f"NOT TESTED: {reason}")
    folder = tmp_path_factory.mktemp("site")
    for name in ("docs", "examples", "tools"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "cutepy").symlink_to(ROOT / "cutepy")
    shutil.copy(ROOT / "zensical.toml", folder)
    no_way_out = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    variables = {**os.environ, **no_way_out, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [command, "build", "--clean", "--strict"],
        cwd=folder,
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout
    return folder / "site"
