"""A browser for the tests of this folder: one for the session, and a loud skip where there is none.

`CUTEPY_REQUIRE_BROWSER=1` (CI sets it) turns the skip into a failure.
"""

import os
from collections.abc import Iterator

import pytest
from harness import Browser, find_chromium


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """`browser.run(program, inputs, params)`."""
    command = find_chromium()
    if command is None:
        reason = "no Chromium to run kernels in: apt install chromium, or set CUTEPY_CHROMIUM"
        if os.environ.get("CUTEPY_REQUIRE_BROWSER", "0") != "0":
            pytest.fail(f"CUTEPY_REQUIRE_BROWSER is set, but there is {reason}")
        pytest.skip(f"NOT TESTED: {reason}")
    opened = Browser(command)
    yield opened
    opened.close()
