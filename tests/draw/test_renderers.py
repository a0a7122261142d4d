"""Every label is legible where no browser draws the picture and its <style> is gone: librsvg, CairoSVG, WeasyPrint.

Every way to draw a thing, in each of them. A label's contrast is measured on the pixels, four to one of the picture:
against the same picture without its texts.
"""

import json
import os
import re
import shutil
import subprocess
from base64 import b64encode
from pathlib import Path

import pytest
from chromium import Page
from telling import telling

from cutepy.draw import Drawing

TOOLS = {
    "rsvg-convert": ("rsvg-convert",),
    "cairosvg": ("cairosvg",),
    "weasyprint": ("weasyprint", "pdftoppm"),
}
CAIROSVG = "import cairosvg, sys; [cairosvg.svg2png(url=n, write_to=n[:-3] + 'png', scale=2) for n in sys.argv[1:]]"
LEAST = 4.5
PALEST = """(async () => {
  const pixels = await Promise.all(FILES.map(async (file) => {
    const image = new Image();
    image.src = "data:image/png;base64," + file;
    await image.decode();
    const canvas = new OffscreenCanvas(image.width, image.height).getContext("2d", {willReadFrequently: true});
    canvas.fillStyle = "#fff";
    canvas.fillRect(0, 0, image.width, image.height);
    canvas.drawImage(image, 0, 0);
    return canvas;
  }));
  const linear = Float64Array.from({length: 256}, (_, c) =>
    c <= 10 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4);
  const light = (rgb, at) =>
    0.2126 * linear[rgb[at]] + 0.7152 * linear[rgb[at + 1]] + 0.0722 * linear[rgb[at + 2]] + 0.05;
  return [...document.querySelectorAll("text")].map((text) => {
    const box = text.getBoundingClientRect();
    const [written, bare] = pixels.map((canvas) => canvas.getImageData(
      ...[box.left, box.top, box.width + 1, box.height + 1].map((pixel) => Math.round(2 * pixel))).data);
    let best = 1;
    for (let at = 0; at < bare.length; at += 4) {
      const [one, other] = [light(written, at), light(bare, at)];
      best = Math.max(best, one / other, other / one);
    }
    return [best, text.textContent];
  }).filter(([best]) => best < LEAST);
})()"""


def bare(text: str) -> str:
    """A picture without its labels."""
    return re.sub(r"<text[^>]*>[^<]*</text>", "", text)


def commands(renderer: str, pictures: dict[str, str]) -> list[list[str]]:
    """What draws each `NAME.svg` of a folder as `NAME.png`, or all of them as the pages `x-NUMBER.png`."""
    names = [f"{name}.svg" for name in pictures]
    if renderer == "rsvg-convert":
        return [[renderer, "-z", "2", name, "-o", f"{name[:-3]}png"] for name in names]
    if renderer == "cairosvg":  # by the Python that the command is a script of, which starts once
        with Path(shutil.which(renderer) or "").open() as script:
            return [[script.readline().removeprefix("#!").strip(), "-c", CAIROSVG, *names]]
    return [[renderer, "-q", "page.html", "x.pdf"], ["pdftoppm", "-r", "192", "-png", "x.pdf", "x"]]


@pytest.fixture(scope="module", params=TOOLS)
def drawn(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The PNG that a renderer makes of each picture that tells (`NAME-1`), and of it without its texts (`NAME-2`).

    It draws all at once: most of the time goes into its start.
    """
    missing = [tool for tool in TOOLS[request.param] if shutil.which(tool) is None]
    if missing:
        reason = f"no {' and no '.join(missing)} to draw pictures with: apt install librsvg2-bin cairosvg weasyprint"
        if os.environ.get("CUTEPY_REQUIRE_RENDERERS", "0") != "0":
            pytest.fail(f"CUTEPY_REQUIRE_RENDERERS is set, but there is {reason}")
        pytest.skip(f"NOT TESTED: {reason} poppler-utils")
    folder = tmp_path_factory.mktemp("drawn")
    texts = {name: unstyled(make()) for name, make in telling().items()}
    pictures = {f"{name}-{form}": text for name in texts for form, text in ((1, texts[name]), (2, bare(texts[name])))}
    page = "<style>body{margin:0}img{display:block}</style>"
    for number, (name, svg) in enumerate(pictures.items()):
        (folder / f"{name}.svg").write_text(svg, encoding="utf-8")
        width, height = re.findall(r'(?:width|height)="(\d+)"', svg)[:2]
        page += f"<style>@page p{number}{{size:{width}px {height}px;margin:0}}</style>"
        page += f'<img style="page:p{number}" src="{name}.svg">'
    (folder / "page.html").write_text(page, encoding="utf-8")
    for command in commands(request.param, pictures):
        subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=120)
    pages = sorted(folder.glob("x-*.png")) or [folder / f"{name}.png" for name in pictures]
    return {name: path.read_bytes() for name, path in zip(pictures, pages, strict=True)}


def unstyled(drawing: Drawing) -> str:
    """A picture as it is where nobody reads its `<style>`."""
    return re.sub(r"<style>.*?</style>", "", drawing.svg(), flags=re.DOTALL)


@pytest.mark.parametrize("name", telling())
def test_labels_are_legible_without_a_style(name: str, drawn: dict[str, bytes], page: Page, tmp_path: Path) -> None:
    text = unstyled(telling()[name]())
    assert "<text" in text and "<text" not in bare(text)
    page.resize(1600, 1400)
    (tmp_path / "sheet.html").write_text(f'<!doctype html><body style="margin:0">{text}', encoding="utf-8")
    page.open(tmp_path / "sheet.html")
    files = json.dumps([b64encode(drawn[f"{name}-{form}"]).decode() for form in (1, 2)])
    assert page.evaluate(PALEST.replace("FILES", files).replace("LEAST", str(LEAST))) == []
