"""What every test may use: golden files (`--update-golden` writes them anew)."""

import gc
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import HealthCheck, settings

# No test fails for the time that it takes: the machine may be busy with others.
settings.register_profile("cutepy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("cutepy")

LONGEST = "test_every_kernel.py", "test_without.py", "attention.md", "cli.md"
"""Files of half a minute and more, and pages of ten seconds, which would come in the end."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write the golden files anew from what is printed now"
    )


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """`golden(name, text)`: `text` equals the file `golden/name` beside the test."""

    def check(name: str, text: str) -> None:
        path = Path(request.path).parent / "golden" / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        assert path.exists(), f"{path} is missing: run pytest --update-golden and look at what it writes"
        assert text == path.read_text()

    return check


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Doctests stand in cutepy alone: what lies beside the tests is not imported to look for them."""
    return [found for found in (yield) if not isinstance(found, DoctestModule)]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The files that run longest go first, so that no worker waits for another one in the end."""
    items.sort(key=lambda item: item.path.name not in LONGEST)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """`--dist loadfile`, as `scheduling` does it."""
    if config.getoption("dist") != "loadfile":
        return None
    from scheduling import Scheduling

    return Scheduling(config, log)


def pytest_collection_finish() -> None:
    """What 10,000 tests are made of stays to the end: the garbage collector need not look at it each time."""
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say loudly what a green run did not test, for want of a device or a browser."""
    reasons = [str(report.longrepr[2]) for report in terminalreporter.stats.get("skipped", ())]
    for reason in sorted({reason for reason in reasons if "NOT TESTED" in reason}):
        terminalreporter.write_sep(
            "!", f"{reasons.count(reason)} tests {reason.removeprefix('Skipped: ')}", yellow=True
        )
