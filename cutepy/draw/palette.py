"""Colours: a name for every paint, a light and a dark value for every name.

A *paint* is a short name that a cell carries and that is its CSS class too: `c0` to `c31` are distinct colours, for
threads and tiles; `s` and `u` before the number fade them (values of one thread). `o0` to `o31` are ordered, for banks
and swizzles; `p` and `q` fade these. `g0` to `g15` is the ramp of offsets; `w` is plain, `x` a hole, `e` the gap of an
abbreviated picture. `h` and six hexadecimal digits are a colour of the user's own, which `i` and `j` fade.

The 32 colours were found by search: any two of them are at least 10 apart (CIE76) for readers with deuteranopia, and
neighbours whose numbers differ by 1, 2, 4, 8 or 16 at least 14. Text in `INK` has a contrast of at least 4.5 on every
one of them. `tests/draw/test_palette.py` computes both. The ramp runs through OKLCH with lightness falling steadily.
The ordered colours are a wheel of hues in OKLCH, lighter and darker in turn: an order is seen at a glance, but numbers
2, 4 or 8 apart look alike to readers with deuteranopia. A colour of the user's own that text cannot be read on is mixed
with the paper of its theme until it can.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Literal, TypeAlias

from ..errors import DrawError

Theme: TypeAlias = Literal["light", "dark"]

COLORS = 32
RAMP = 16
PLAIN, HOLE, GAP = "w", "x", "e"

_TURN = 7
"""Where a second round of colours starts, so that T0 and T32 differ and T31 and T32 do as well."""

_LIGHT = (
    "5f94da e2a556 b7cfd9 a8ba92 f2d350 dcd2fd b9a2f6 f9a041 fde4bb 74a573 cfe589 f6dbdf 58a1c5 6793f3 d7c8b6 f4fc7e "
    "df7639 c4abb2 d0ace6 dbb678 c27f9d df6864 c3de65 a4aec2 befafd dafdd9 8d9683 fbf6ae d57f0c bad697 c074ae d27e52"
).split()
_DARK = (
    "375d76 44471f 134a3e 284c7c 607871 283b45 873a02 55503d 602a07 1a2354 292010 693e5c 330e3c 234023 6a6e94 525f1e "
    "2d4c91 7b705e 2d3657 1a2e26 7a742f 242f75 12713a a1600d 261d2c 5b5e97 667383 9e5f48 1b1158 675155 3d2103 2e76b4"
).split()
_LIGHT_WHEEL = (
    "efa6bb ffc6cf f2a7a3 ffc9b7 efac8d ffcfa4 e5b37e ffd899 d4bc79 eae19a bec480 d2e9a6 a5cb90 b8efbb 8cd0a7 a1f2d3 "
    "78d1c0 94f2ec 71cfd7 95eeff 7acae9 a3e8ff 8fc3f5 bae0ff a7bbf9 d3d8ff bfb3f3 ead0ff d4ade6 fecafe e4a8d2 ffc6e8"
).split()
_DARK_WHEEL = (
    "582436 783f47 5a2424 784134 592810 744623 532e00 6a4d16 483500 5c5416 393c00 4a5a24 254112 335e37 004427 15604b "
    "004539 00605d 00434a 005d6d 003f57 1d5979 0c3a5f 36537e 283461 4b4d7e 3a2f5d 5c4776 472a54 69426a 512646 733f5a"
).split()
_LIGHT_RAMP = (
    "eef9fc e4f4f8 daeef5 d0e9f2 c6e3f0 bcdded b3d8eb aad2e9 a1cce7 99c6e5 91bfe3 89b9e1 82b2df 7cacdd 76a5db 709ed8"
).split()
_DARK_RAMP = (
    "1f222f 222636 242b3e 273046 29354e 2a3a56 2b3f5d 2c4465 2c4a6d 2b4f75 2a557d 285b85 24618c 1f6894 186e9b 0975a2"
).split()

INKS: dict[str, dict[Theme, str]] = {
    "ink": {"light": "1b1b1b", "dark": "ffffff"},
    "soft": {"light": "57606a", "dark": "9da7b3"},
    "paper": {"light": "ffffff", "dark": "0d1117"},
    "line": {"light": "6e7781", "dark": "8b949e"},
    "strong": {"light": "1b1b1b", "dark": "f0f3f6"},
    "mark": {"light": "cf222e", "dark": "ff7b72"},
}
"""Text in cells and beside them, the sheet behind, thin and strong lines, the frame of highlighted cells."""

_FIXED = INKS | {
    PLAIN: {"light": "fbfcfd", "dark": "161b22"},
    HOLE: {"light": "f0f1f3", "dark": "21262d"},
    GAP: INKS["paper"],
}
_FADES = {"c": 0, "s": 14, "u": 28, "o": 0, "p": 14, "q": 28, "h": 0, "i": 14, "j": 28}
"""How far a fade goes towards the paper, in percent."""


def color(number: int, fade: int = 0) -> str:
    """The paint of thread, tile or bank `number`; `fade` 1 and 2 are paler shades of it.

    >>> color(0), color(31), color(32), color(5, 1)
    ('c0', 'c31', 'c7', 's5')
    """
    # After 32 colours the sequence starts again _TURN further, so that n and n + 32 differ.
    lap, slot = divmod(number, COLORS)
    return f"{'csu'[fade % 3]}{(slot + _TURN * lap) % COLORS}"


def ordered(number: int, count: int = COLORS, fade: int = 0) -> str:
    """The ordered paint of `number` among `count`: fewer than 17 are spread over the wheel of hues, more go round it.

    >>> ordered(3), ordered(3, 4), ordered(33, 64), ordered(5, 32, 1)
    ('o3', 'o25', 'o1', 'p5')
    """
    slot = number % COLORS
    # Spread few numbers over the hues; lightness alternates from slot to slot, so keep the parity of the number.
    if count <= COLORS // 2:
        slot = number % count * COLORS // count // 2 * 2 + number % 2
    return f"{'opq'[fade % 3]}{slot}"


def ramp(value: int, low: int, high: int) -> str:
    """The paint of `value` on the ramp from `low` to `high`.

    >>> ramp(0, 0, 63), ramp(32, 0, 63), ramp(63, 0, 63), ramp(5, 5, 5)
    ('g0', 'g8', 'g15', 'g0')
    """
    return f"g{(value - low) * RAMP // (high - low + 1)}"


@lru_cache(maxsize=64)
def own_colors(text: str) -> tuple[str, ...]:
    """The colours that a text lists, each as six hexadecimal digits.

    >>> own_colors("#e41a1c #37b, 4daf4a")
    ('e41a1c', '3377bb', '4daf4a')

    Raises DrawError for anything else, and for more than 32 colours.
    """
    digits = [entry.removeprefix("#").lower() for entry in text.replace(",", " ").split()]
    if not 1 <= len(digits) <= COLORS or not all(
        len(d) in (3, 6) and set(d) <= set("0123456789abcdef") for d in digits
    ):
        raise DrawError(f"1 to {COLORS} colours of 3 or 6 hexadecimal digits each, as '#e41a1c #37b'")
    return tuple("".join(2 * digit for digit in entry) if len(entry) == 3 else entry for entry in digits)


def recolored(paint: str, colors: Sequence[str]) -> str:
    """A paint in one of these colours: the one of its number, in turns; on the ramp as far along them. Others stay.

    >>> recolored("c3", ("e41a1c", "377eb8")), recolored("s0", ("e41a1c",)), recolored("g8", ("e41a1c", "377eb8"))
    ('h377eb8', 'ie41a1c', 'h377eb8')
    """
    kind, number = paint[:1], paint[1:]
    if kind not in "csuopqg" or not number:
        return paint
    place = int(number) * len(colors) // RAMP if kind == "g" else int(number) % len(colors)
    return f"{'hij'[_FADES.get(kind, 0) // 14]}{colors[place]}"


def _luminance(color: bytes) -> float:
    """The relative luminance of WCAG 2, from 0 to 1."""
    linear = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (part / 255 for part in color))
    return sum(share * part for share, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def _mixed(color: bytes, paper: bytes, far: int) -> bytes:
    """A colour so many percent of the way to the paper, in sRGB, rounded to nearest."""
    return bytes((mine * (100 - far) + other * far + 50) // 100 for mine, other in zip(color, paper, strict=True))


@lru_cache(maxsize=256)
def _legible(digits: str, theme: Theme) -> str:
    """The colour nearest to this one, on the way to the paper, on which the theme's text has a contrast of 4.5."""
    ink, paper, color = (bytes.fromhex(it) for it in (INKS["ink"][theme], INKS["paper"][theme], digits))
    mixes = (_mixed(color, paper, far) for far in range(101))
    low_high = ((sorted((_luminance(ink), _luminance(mixed))), mixed) for mixed in mixes)
    return next(mixed for (low, high), mixed in low_high if (high + 0.05) / (low + 0.05) >= 4.5).hex()


def value(paint: str, theme: Theme) -> str:
    """The colour of a paint as six hexadecimal digits.

    >>> value("c0", "light"), value("g15", "dark"), value("h000080", "light")
    ('5f94da', '0975a2', '7d7dbe')

    Raises DrawError for a name that is no paint.
    """
    fixed = _FIXED.get(paint)
    if fixed is not None:
        return fixed[theme]
    kind, number = paint[:1], paint[1:]
    if number.isascii() and number.isdecimal() and len(number) < 3:
        if kind == "g" and int(number) < RAMP:
            return (_LIGHT_RAMP if theme == "light" else _DARK_RAMP)[int(number)]
        if kind in "csuopq" and int(number) < COLORS:
            wheel, distinct = (_LIGHT_WHEEL, _LIGHT) if theme == "light" else (_DARK_WHEEL, _DARK)
            return _faded((distinct if kind in "csu" else wheel)[int(number)], kind, theme)
    if kind in ("h", "i", "j") and len(number) == 6 and own_colors(number):
        return _faded(_legible(number, theme), kind, theme)
    raise DrawError(
        f"{paint!r} is no paint; there are w, x, e, g0 to g{RAMP - 1}, "
        f"c0 to c{COLORS - 1} (s, u fade), o0 to o{COLORS - 1} (p, q fade)"
    )


def _faded(digits: str, kind: str, theme: Theme) -> str:
    return _mixed(bytes.fromhex(digits), bytes.fromhex(INKS["paper"][theme]), _FADES[kind]).hex()


@lru_cache(maxsize=1024)
def css(paint: str, theme: Theme) -> str:
    """The colour of a paint as CSS and SVG have it, as short as it can be.

    >>> css("c0", "light"), css("paper", "light")
    ('#5f94da', '#fff')
    """
    color = value(paint, theme)
    return f"#{color[::2] if color[::2] == color[1::2] else color}"


_DARK_PAGES = "[data-theme=dark],[data-jp-theme-light=false],.quarto-dark"
"""How pages say that their switch is at dark, where they do not say it by `color-scheme`, as Material and Furo do."""


def styles(theme: Theme | Literal["auto"], selector: str, rules: Iterable[tuple[str, str, str]]) -> str:
    """CSS of rules, each what is below `selector`, a property and a paint; of theme "auto" it follows the page.

    A page says by its switch, or by `color-scheme`, whether it is dark; a picture alone asks the reader's system.
    Readers of CSS that know no `light-dark` skip all of it.

    >>> styles("dark", ".a", [(" td", "color", "ink")])
    '.a td{color:#fff}'
    """
    if theme != "auto":
        return "".join(f"{selector}{below}{{{name}:{css(paint, theme)}}}" for below, name, paint in rules)
    declarations = (
        f"{below.strip()}{{{declared}}}" if below else f"{declared};"
        for below, name, paint in rules
        for declared in [f"{name}:light-dark({css(paint, 'light')},{css(paint, 'dark')})"]
    )
    return (
        f"@supports(color:light-dark(red,red)){{:root{selector}{{color-scheme:light dark}}"
        f":is({_DARK_PAGES}) {selector}{{color-scheme:dark}}{selector}{{{''.join(declarations)}}}}}"
    )
