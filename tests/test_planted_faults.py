"""The faults that `tools/fuzz` plants are still there to be planted: each names a text that stands once, and a test."""

import importlib
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", ["layout_mutants", "self_mutants"])
def test_each_text_stands_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools" / "fuzz"))
    planted = importlib.import_module(name).MUTANTS
    assert len(planted) >= 30
    for mutant in planted:
        assert mutant.file(ROOT).suffix == ".py"  # ValueError where the text stands elsewhere, or twice
        for test in mutant.test.split(" "):
            file, _, function = test.partition("::")
            assert f"def {function.partition('[')[0]}" in (ROOT / file).read_text()
    sys.modules.pop(name)
