"""Golden files, for people to look at: `pytest tests/draw --update-golden` writes them anew.

Every picture of the gallery as SVG is committed in docs/img; a few of them in the other formats stand beside this file.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from cutepy.draw import Drawing

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "img"
SEVERAL = ("nested", "slice", "thread_value", "shared", "holes", "tiles", "swizzle", "tree", "composition", "corners")


def test_the_committed_pictures_are_true(
    picture: tuple[str, Callable[[], Drawing]], request: pytest.FixtureRequest
) -> None:
    name, make = picture
    path = IMAGES / f"{name}.svg"
    if request.config.getoption("--update-golden"):
        path.write_text(make().svg(), encoding="utf-8")
    assert path.is_file(), f"{path} is missing: python examples/gallery.py"
    assert make().svg() == path.read_text(encoding="utf-8"), "stale: python examples/gallery.py"


@pytest.mark.parametrize("suffix", [".txt", ".tex", ".html"])
def test_other_formats(
    picture: tuple[str, Callable[[], Drawing]], suffix: str, golden: Callable[[str, str], None]
) -> None:
    name, make = picture
    if name in SEVERAL:
        golden(f"{name}{suffix}", make().encoded(suffix).decode())
