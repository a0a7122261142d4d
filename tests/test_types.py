"""Users' programs type-check: kernels and calls on the host, without an ignore."""

import doctest
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import cutepy

ROOT = Path(__file__).parent.parent


def judged(*arguments: str) -> subprocess.CompletedProcess[str]:
    """What mypy --strict says of programs."""
    pytest.importorskip("mypy")
    return subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "MYPYPATH": str(ROOT)},
    )


def test_programs_of_users_type_check() -> None:
    result = judged("tests/typed_programs.py")
    assert result.returncode == 0, result.stdout + result.stderr


PAGES = ("README", "docs/what-is-a-layout", "docs/start", "docs/algebra/cheat-sheet", "docs/algebra/divide")
PAGES += ("docs/algebra/composition", "docs/stories/strides", "docs/stories/owners", "docs/stories/swizzle")
FENCE = re.compile(r"^```python\n((?:.*\n)*?)```$", re.MULTILINE)


def program(page: str) -> str:
    """The programs and sessions of a page in one text, but for what is there to fail."""
    found = []
    for body in FENCE.findall((ROOT / f"{page}.md").read_text()):
        if body.startswith(">>>"):
            session = doctest.DocTestParser().get_examples(body)
            body = "".join(example.source for example in session if example.exc_msg is None)
        found.append(body)
    return "\n".join(found)


NOT_STRICT = "allow-untyped-defs allow-incomplete-defs allow-untyped-calls allow-untyped-decorators allow-any-generics"
NOT_STRICT += " no-check-untyped-defs no-warn-return-any no-warn-unused-ignores no-strict-equality no-extra-checks"
AS_USERS = f"# mypy: {', '.join(NOT_STRICT.split())}\n"
"""Says of a program that it is not --strict: what mypy found out about cutepy, which is, serves for it too."""


def test_programs_on_the_pages_type_check(tmp_path: Path) -> None:
    """As users run mypy, without --strict; `from cutepy import *` is understood."""
    files = [tmp_path / f"{page.rpartition('/')[2].replace('-', '_')}.py" for page in PAGES]
    for page, file in zip(PAGES, files, strict=True):
        file.write_text(AS_USERS + program(page))
        assert len(file.read_text()) > 400, page
    result = judged("--scripts-are-modules", *map(str, files))
    assert result.returncode == 0, result.stdout + result.stderr


def test_pyright_accepts_them_too(tmp_path: Path) -> None:
    """Pyright is fetched from npm when it is first called; `CUTEPY_REQUIRE_PYRIGHT=1` (CI sets it) insists."""
    command = shutil.which("pyright", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if command is None:
        reason = "no pyright to judge users' programs: pip install pyright"
        if os.environ.get("CUTEPY_REQUIRE_PYRIGHT", "0") != "0":
            pytest.fail(f"CUTEPY_REQUIRE_PYRIGHT is set, but there is {reason}")
        pytest.skip(f"NOT TESTED: {reason}")
    for page in PAGES:
        (tmp_path / f"{page.rpartition('/')[2].replace('-', '_')}.py").write_text(program(page))
    shutil.copy(ROOT / "tests" / "typed_programs.py", tmp_path)
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({"extraPaths": [str(ROOT)]}))
    result = subprocess.run(
        [command, "-p", str(tmp_path), "--pythonpath", sys.executable], capture_output=True, text=True, timeout=300
    )
    assert result.returncode == 0 and "0 errors" in result.stdout, result.stdout + result.stderr


def test_all_is_what_dir_says() -> None:
    """`__all__` is written out for type checkers, and holds all names of the layout room but a class and helpers."""
    names = {name for name in dir(cutepy) if name == "_" or not name.startswith("_")}
    helpers = {"as_tuple", "flat_modes", "from_modes", "joined", "leaves", "map_leaves"}
    assert set(cutepy.layout.__all__) - names == {"Explanation", *helpers}
    modules = {name for name in names if isinstance(getattr(cutepy, name), ModuleType)} - {"draw", "gpu", "ops"}
    assert names - modules == set(cutepy.__all__)


def test_a_view_and_an_option_that_are_none_are_seen_by_types(tmp_path: Path) -> None:
    program = tmp_path / "wrong.py"
    program.write_text(
        "from cutepy import draw\ndraw('4:1', view='nope')\ndraw('4:1', titel='x')\ndraw('4:1', limit='x')\n"
    )
    result = judged(str(program))
    assert [f"wrong.py:{line}: error" in result.stdout for line in (2, 3, 4)] == [True] * 3, result.stdout


def test_no_file_switches_checks_off() -> None:
    marker = "# mypy" + ":"
    assert [str(path) for path in (ROOT / "cutepy").rglob("*.py") if marker in path.read_text()] == []


def test_few_casts_and_few_ignores() -> None:
    """A type is told by the code, not by force: `typing.cast` and `type: ignore`, in all of the package."""
    texts = [path.read_text() for path in (ROOT / "cutepy").rglob("*.py")]
    forced = [text for text in texts if re.search(r"^from typing import .*\bcast\b", text, re.MULTILINE)]
    assert sum(len(re.findall(r"(?<![\w.])cast\(", text)) for text in forced) <= 20
    assert sum(text.count("# type: " + "ignore") for text in texts) <= 27
