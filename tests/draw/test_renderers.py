"""Every label is legible where no browser draws the picture and its <style> is gone: librsvg, CairoSVG, WeasyPrint.

A label's contrast is measured on the pixels, four to one of the picture: against the same picture without its texts.
"""

import json
import os
import re
import shutil
import subprocess
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path

import pytest
from chromium import Page

from cutepy.draw import Drawing

COMMANDS = {
    "rsvg-convert": ("rsvg-convert -z 2 1.svg -o x-1.png", "rsvg-convert -z 2 2.svg -o x-2.png"),
    "cairosvg": ("cairosvg -s 2 1.svg -o x-1.png", "cairosvg -s 2 2.svg -o x-2.png"),
    "weasyprint": ("weasyprint -q page.html x.pdf", "pdftoppm -r 192 -png x.pdf x"),
}
LEAST = 4.5
PALEST = """(async () => {
  const pixels = await Promise.all(FILES.map(async (file) => {
    const image = new Image();
    image.src = "data:image/png;base64," + file;
    await image.decode();
    const canvas = new OffscreenCanvas(image.width, image.height).getContext("2d");
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


def drawn(renderer: str, pictures: tuple[str, str], folder: Path) -> list[str]:
    """The PNGs that a renderer makes of two pictures of one size, in base64."""
    width, height = re.findall(r'(?:width|height)="(\d+)"', pictures[0])[:2]
    page = f"<style>@page{{size:{width}px {height}px;margin:0}}body{{margin:0}}img{{display:block}}</style>"
    for number, svg in enumerate(pictures, 1):
        (folder / f"{number}.svg").write_text(svg, encoding="utf-8")
        page += f'<img src="{number}.svg">'
    (folder / "page.html").write_text(page, encoding="utf-8")
    for command in COMMANDS[renderer]:
        subprocess.run(command.split(), cwd=folder, check=True, capture_output=True, timeout=120)
    return [b64encode((folder / f"x-{number}.png").read_bytes()).decode() for number in (1, 2)]


@pytest.mark.parametrize("renderer", COMMANDS)
def test_labels_are_legible_without_a_style(
    renderer: str, picture: tuple[str, Callable[[], Drawing]], page: Page, tmp_path: Path
) -> None:
    missing = [tool for tool in (line.split()[0] for line in COMMANDS[renderer]) if shutil.which(tool) is None]
    if missing:
        reason = f"no {' and no '.join(missing)} to draw pictures with: apt install librsvg2-bin cairosvg weasyprint"
        if os.environ.get("CUTEPY_REQUIRE_RENDERERS", "0") != "0":
            pytest.fail(f"CUTEPY_REQUIRE_RENDERERS is set, but there is {reason}")
        pytest.skip(f"NOT TESTED: {reason} poppler-utils")
    text = re.sub(r"<style>.*?</style>", "", picture[1]().svg(), flags=re.DOTALL)
    bare = re.sub(r"<text[^>]*>[^<]*</text>", "", text)
    assert "<text" in text and "<text" not in bare
    page.resize(1600, 1400)
    (tmp_path / "sheet.html").write_text(f'<!doctype html><body style="margin:0">{text}', encoding="utf-8")
    page.open(tmp_path / "sheet.html")
    files = json.dumps(drawn(renderer, (text, bare), tmp_path))
    assert page.evaluate(PALEST.replace("FILES", files).replace("LEAST", str(LEAST))) == []
