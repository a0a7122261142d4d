"""A plugin of pytest: numpy, sympy and wgpu are not there; a test that asks for one is skipped, and its name told.

The last line is JSON: each test function, or module, that asked, with the packages.
"""

import json
from collections import defaultdict
from collections.abc import Generator

import pytest
from block import PACKAGES
from hypothesis import settings

asked: defaultdict[str, set[str]] = defaultdict(set)

SEEDS, CASES = 2, 8
"""Of as many seeds each law is tried, and of at most as many cases each test, from its first one to its last."""


def pytest_collection() -> None:
    """After `conftest.py`, which loads the profile of all tests, and before one of them is read."""
    settings.register_profile("few", settings(), max_examples=2, database=None)
    settings.load_profile("few")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    tests: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if seeded(item) < SEEDS:
            tests[item.nodeid.partition("[")[0]].append(item)
    items[:] = [item for cases in tests.values() for item in cases[:: -(-len(cases) // CASES)]]


def seeded(item: pytest.Item) -> int:
    """The seed that a test is given; 0 where it takes none."""
    return item.callspec.params.get("seed", 0) if isinstance(item, pytest.Function) and hasattr(item, "callspec") else 0


def told(report: pytest.TestReport | pytest.CollectReport, where: str, error: BaseException | None) -> None:
    """Skip what failed for want of a package, whatever was made of that error since."""
    while error is not None and not (isinstance(error, ModuleNotFoundError) and error.name in PACKAGES):
        error = error.__cause__ or error.__context__
    if error is not None:
        asked[where].add(error.name)
        report.outcome, report.longrepr = "skipped", (where, 0, f"it asks for {error.name}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Function, call: pytest.CallInfo[None]) -> Generator:
    report = yield
    if call.excinfo is not None and report.failed:
        told(report, f"{item.path.name}::{item.originalname}", call.excinfo.value)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator:
    report = yield
    if report.failed:
        told(report, collector.path.name, report.call.excinfo.value)
    return report


def pytest_unconfigure() -> None:
    print(json.dumps({where: " ".join(sorted(packages)) for where, packages in sorted(asked.items())}))
