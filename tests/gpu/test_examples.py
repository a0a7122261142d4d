"""The examples of examples/kernels: right on the interpreter, short, and runnable as their readers run them."""

import subprocess
import sys

import example_cases
import pytest


@pytest.mark.parametrize(("name", "variant"), example_cases.CASES)
def test_interpreted(name: str, variant: str) -> None:
    example = example_cases.make(name, variant)
    assert example.run("numpy") <= example.tolerance


@pytest.mark.parametrize("name", example_cases.NAMES)
def test_as_a_script(name: str) -> None:
    def run(*options: str) -> str:
        script = example_cases.FOLDER / f"{name}.py"
        return subprocess.run([sys.executable, script, *options], capture_output=True, text=True, check=True).stdout

    assert "on the interpreter: at most" in run("--engine", "numpy")
    text = run("--wgsl")
    assert text.startswith("// ") and "@compute @workgroup_size" in text


@pytest.mark.parametrize("name", example_cases.NAMES)
def test_short_enough_to_be_read(name: str) -> None:
    text = (example_cases.FOLDER / f"{name}.py").read_text()
    kernel = text[text.index("@gpu.kernel") :]
    assert kernel[: kernel.index("\n\n\n")].count("\n") <= 40


def test_a_wrong_result_fails_the_script(monkeypatch: pytest.MonkeyPatch) -> None:
    import example as module

    wrong = example_cases.make("saxpy", "whole tiles")
    wrong.wanted = wrong.wanted + 1
    monkeypatch.setattr(sys, "argv", ["saxpy.py", "--engine", "numpy"])
    with pytest.raises(SystemExit, match="error: more than"):
        module.main(wrong)
