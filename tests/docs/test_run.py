"""The Run buttons of the docs: each kernel runs, by mouse and keyboard, and without WebGPU a button says so."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from chromium import FLAGS, WEBGPU, Page, opened_tab

KERNELS = ["softmax", "matmul_kernel", "transpose", "attention"]
STATES = "[...document.querySelectorAll('.cutepy-run')].map((box) => [box.dataset.kernel, box.dataset.result ?? ''])"
SAID = """[...document.querySelectorAll('.cutepy-run')].map((box) =>
    ['button', '[role=status]', '.cutepy-ran'].map((one) => box.querySelector(one).textContent))"""
AXE = Path(__file__).parents[2] / "build" / "axe.min.js"


@pytest.fixture
def gpu_tab() -> Iterator[Page]:
    yield from opened_tab(WEBGPU)


@pytest.fixture
def tab() -> Iterator[Page]:
    yield from opened_tab(FLAGS)


axe_tab = pytest.fixture(scope="module")(opened_tab)


def waited(tab: Page, results: int) -> list[list[str]]:
    """The states of the buttons, once so many have a result."""
    for _try in range(600):
        states = tab.evaluate(STATES)
        assert isinstance(states, list)
        if sum(bool(result) for _, result in states) >= results:
            return states
        tab.evaluate("new Promise((done) => setTimeout(done, 100))")
    raise AssertionError(tab.evaluate(SAID))


def violations(tab: Page) -> list[str]:
    """What axe-core objects to on the page that is open."""
    if not AXE.exists():
        reason = "no axe-core to judge the pages' accessibility: make explorer fetches it (npm)"
        if os.environ.get("CUTEPY_REQUIRE_EXPLORER", "0") != "0":
            pytest.fail(f"CUTEPY_REQUIRE_EXPLORER is set, but there is {reason}")
        pytest.skip(f"NOT TESTED: {reason}")
    tab.evaluate(f"window.axe || eval({json.dumps(AXE.read_text(encoding='utf-8'))}), 0")
    found = tab.evaluate(
        "axe.run(document, {resultTypes: ['violations']}).then((all) => all.violations.flatMap((each) =>"
        " each.nodes.map((node) => each.id + ': ' + node.target.join(' '))))"
    )
    assert isinstance(found, list)
    return found


def test_every_kernel_of_the_page_runs_by_mouse_and_keyboard(site: Path, gpu_tab: Page) -> None:
    gpu_tab.open(site / "run.html")
    assert gpu_tab.evaluate("!!navigator.gpu") is True
    gpu_tab.evaluate("document.querySelector('.cutepy-run > button').click()")
    assert waited(gpu_tab, 1)[0] == ["softmax", "right"], gpu_tab.evaluate(SAID)
    for number in range(1, len(KERNELS)):
        gpu_tab.evaluate(f"document.querySelectorAll('.cutepy-run > button')[{number}].focus()")
        gpu_tab.press("Enter")
        waited(gpu_tab, number + 1)
    assert gpu_tab.evaluate(STATES) == [[name, "right"] for name in KERNELS], gpu_tab.evaluate(SAID)
    for button, said, figures in gpu_tab.evaluate(SAID):  # type: ignore[attr-defined]
        assert button.startswith("Run ") and said.startswith("Right") and "ms a launch" in figures
    assert violations(gpu_tab) == []


def test_tab_reaches_the_button(site: Path, gpu_tab: Page) -> None:
    gpu_tab.open(site / "run.html")
    gpu_tab.evaluate("document.querySelector('#softmax-of-each-row .headerlink').focus()")
    gpu_tab.press("Tab")
    assert gpu_tab.evaluate("document.activeElement.textContent") == "Run softmax on your GPU"


def test_without_webgpu_a_button_says_so(site: Path, tab: Page) -> None:
    tab.open(site / "run.html")
    tab.evaluate(
        "navigator.gpu && document.querySelectorAll('.cutepy-run > button').forEach((button) => button.click())"
    )
    assert waited(tab, len(KERNELS)) == [[name, "none"] for name in KERNELS]
    for button, _, _ in tab.evaluate(SAID):  # type: ignore[attr-defined]
        assert button == "No WebGPU in this browser"
    assert violations(tab) == []


@pytest.mark.parametrize(
    "name", ["index", "kernels", "benchmarks", "how-do-i", "algebra/divide", "algebra/kinds", "api/errors", "api/mesh"]
)
def test_axe_finds_no_violation(site: Path, axe_tab: Page, name: str) -> None:
    axe_tab.open(site / f"{name}.html")
    assert violations(axe_tab) == []
