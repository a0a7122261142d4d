"""Files for print and slides: the SVG as PNG, drawn by resvg, and as PDF or EPS, drawn by Cairo; both are extras.

resvg drops text without a word where it finds no font, so fonts are looked for first.
"""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

from ...errors import DrawError
from ..grid import Figure
from ..look import Style
from .svg import MONOSPACE, svg

_FONT_FOLDERS = (
    "/usr/share/fonts",
    "/usr/local/share/fonts",
    "~/.fonts",
    "~/.local/share/fonts",
    "/System/Library/Fonts",
    "/Library/Fonts",
    "~/Library/Fonts",
    "C:/Windows/Fonts",
)
_WANTED = (
    "DejaVuSansMono.ttf",
    "LiberationMono-Regular.ttf",
    "Menlo.ttc",
    "consola.ttf",
    "NotoSansMono-Regular.ttf",
    "cour.ttf",
)
_FAMILIES = {"DejaVuSansMono": "DejaVu Sans Mono", "LiberationMono-Regular": "Liberation Mono", "Menlo": "Menlo"}
_FAMILIES |= {"consola": "Consolas", "NotoSansMono-Regular": "Noto Sans Mono", "cour": "Courier New"}


_DATE = re.compile(rb"(CreationDate(?: \(D)?:) ?[^\n)]*")
"""Cairo writes the time of day; a picture in git changes only when its layout does."""


def png(figure: Figure, style: Style, scale: float = 2.0) -> bytes:
    """The figure as a PNG file, `scale` pixels to a pixel of the SVG; in the light theme unless the style says dark.

    Raises DrawError where resvg-py is not installed, or no fixed-width font is.
    """
    try:
        import resvg_py
    except ImportError:
        raise DrawError("png needs resvg-py: pip install 'cutepy[png]'; or save an SVG") from None
    if not 0.1 <= scale <= 16:
        raise DrawError(f"png(scale={scale}): from 0.1 to 16")
    font = monospace_font()
    family = _FAMILIES[font.stem]
    return bytes(
        resvg_py.svg_to_bytes(
            svg_string=_printed(figure, style, family),
            font_files=[str(font)],
            skip_system_fonts=True,
            font_family=family,
            monospace_family=family,
            zoom=scale,
        )
    )


def vector(figure: Figure, style: Style, kind: str) -> bytes:
    """The figure as a PDF or an EPS file, its text as text, in the light theme unless the style says dark.

    Raises DrawError where CairoSVG is not installed, or the Cairo library that it calls is not.
    """
    try:
        cairo = import_module("cairosvg")
    except (ImportError, OSError):  # CairoSVG raises OSError where it finds no Cairo
        raise DrawError(
            f"{kind} needs CairoSVG: pip install 'cutepy[pdf]' (and the Cairo library); or save an SVG"
        ) from None
    write = {"pdf": cairo.svg2pdf, "eps": cairo.svg2eps}[kind]
    return _DATE.sub(rb"\g<1>20000101000000Z", write(bytestring=_printed(figure, style, "monospace").encode()))


def _printed(figure: Figure, style: Style, family: str) -> str:
    """The SVG of one theme in one font."""
    text = svg(figure, style.but(theme="dark" if style.theme == "dark" else "light"))
    return text.replace(f'font-family="{MONOSPACE}"', f'font-family="{family}"', 1)


def monospace_font() -> Path:
    """A fixed-width font of this machine; DrawError where there is none that is known."""
    for folder in _FONT_FOLDERS:
        root = Path(folder).expanduser()
        if root.is_dir():
            found = {path.name: path for path in root.rglob("*") if path.name in _WANTED}
            for name in _WANTED:
                if name in found:
                    return found[name]
    raise DrawError(
        f"png: none of the fonts {', '.join(_WANTED)} is installed, so no text would be drawn; "
        "install DejaVu, or save an SVG"
    )
