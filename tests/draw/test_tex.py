"""pdflatex takes every picture of the gallery, with nothing but what Debian's texlive-pictures has."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from gallery import GALLERY

from cutepy.draw import Drawing, draw
from cutepy.errors import DrawError
from cutepy.layout import Layout


def compiled(source: str, folder: Path) -> Path:
    """The PDF of a LaTeX document; the end of its log where there is none."""
    command = shutil.which("pdflatex")
    if command is None:
        reason = "no pdflatex to compile pictures with: apt install texlive-latex-base texlive-pictures"
        if os.environ.get("CUTEPY_REQUIRE_TEX", "0") != "0":
            pytest.fail(f"CUTEPY_REQUIRE_TEX is set, but there is {reason}")
        pytest.skip(f"NOT TESTED: {reason}")
    (folder / "picture.tex").write_text(source, encoding="ascii")
    run = subprocess.run(
        [command, "-interaction=nonstopmode", "-halt-on-error", "picture.tex"],
        cwd=folder,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=120,
    )
    assert run.returncode == 0, run.stdout[-2000:]
    assert "Overfull" not in run.stdout or "article" in source
    return folder / "picture.pdf"


def test_all_pictures_in_one_document(tmp_path: Path) -> None:
    bodies = "\n\\clearpage\n".join(make().tikz(body=True) for make in GALLERY.values())
    head = "\\documentclass{article}\\usepackage{tikz}\\begin{document}\n"
    assert compiled(f"{head}{bodies}\\end{{document}}\n", tmp_path).stat().st_size > 10_000


@pytest.mark.parametrize("name", ["slice", "complement"])
def test_a_picture_is_a_page_of_its_own(name: str, tmp_path: Path) -> None:
    make: Callable[[], Drawing] = GALLERY[name]
    assert compiled(make().tikz(), tmp_path).read_bytes().startswith(b"%PDF")


def test_nasty_labels(tmp_path: Path) -> None:
    label = '\\end{document} $%&#_{}~^"<>|'
    assert compiled(draw(Layout((2, 2)), label=lambda crd, offset: label).tikz(), tmp_path)


def test_pictures_beyond_tex() -> None:
    with pytest.raises(DrawError, match="TeX's memory"):
        draw(Layout((128, 128))).tikz()


def test_a_large_picture_compiles(tmp_path: Path) -> None:
    """The largest that is allowed where TeX is required (10 seconds), a smaller one elsewhere."""
    side = 64 if os.environ.get("CUTEPY_REQUIRE_TEX", "0") != "0" else 24
    assert compiled(draw(Layout((side, side), (side, 1))).tikz(), tmp_path)
