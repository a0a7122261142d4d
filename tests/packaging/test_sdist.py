"""The source distribution holds what its README, its Makefile and its tests need; the README names real places."""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
ALWAYS = {"pyproject.toml"}  # hatchling puts it in unasked


def test_every_file_of_the_repository_is_in_it() -> None:
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("NOT TESTED: no git repository to compare the source distribution with")
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    tops = {path.partition("/")[0] for path in listed}
    included = set(PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"])
    assert tops == included | ALWAYS
    left_out = PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["exclude"]
    assert all(any(Path(path).match(pattern) for path in listed) for pattern in left_out)


def test_nothing_that_is_left_out_is_asked_for() -> None:
    for pattern in PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["exclude"]:
        for path in ROOT.glob(pattern):
            for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
                assert path.name not in page.read_text(), page


def test_the_readme_says_where_the_command_is() -> None:
    makefile, readme = (ROOT / "Makefile").read_text(), (ROOT / "README.md").read_text()
    (venv,) = re.findall(r"^VENV := (\S+)$", makefile, re.MULTILINE)
    assert f". {venv}/bin/activate" in readme and f"are in {venv}/bin" in readme
    assert "cutepy" in PROJECT["project"]["scripts"]
    targets = set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))
    for page in ("README.md", "docs/start.md", "docs/explorer.md", "CONTRIBUTING.md"):
        asked = re.findall(r"(?:^|`)make ([a-z]+)", (ROOT / page).read_text(), re.MULTILINE)
        assert set(asked) <= targets, page
    least = PROJECT["project"]["requires-python"].removeprefix(">=")
    assert f"Python {least} or newer" in readme
