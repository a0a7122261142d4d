"""Colours: a name for every paint, a light and a dark value for every name.

A *paint* is a short name that a cell carries and that is its CSS class too: `c0` to `c31` are the colours of threads,
tiles and banks; `s` and `u` before the number fade them (values of one thread); `g0` to `g15` is the ramp of offsets;
`w` is plain, `x` a hole, `e` the gap of an abbreviated picture.

The 32 colours were found by search: any two of them are at least 10 apart (CIE76) for readers with deuteranopia, and
neighbours whose numbers differ by 1, 2, 4, 8 or 16 at least 14. Text in `INK` has a contrast of at least 4.5 on every
one of them. `tests/draw/test_palette.py` computes both. The ramp runs through OKLCH with lightness falling steadily.
"""

from __future__ import annotations

from collections.abc import Callable
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
_LIGHT_RAMP = (
    "eef9fc e4f4f8 daeef5 d0e9f2 c6e3f0 bcdded b3d8eb aad2e9 a1cce7 99c6e5 91bfe3 89b9e1 82b2df 7cacdd 76a5db 709ed8"
).split()
_DARK_RAMP = (
    "1f222f 222636 242b3e 273046 29354e 2a3a56 2b3f5d 2c4465 2c4a6d 2b4f75 2a557d 285b85 24618c 1f6894 186e9b 0975a2"
).split()

INK = {"light": "1b1b1b", "dark": "ffffff"}
"""Text in cells."""
SOFT_INK = {"light": "57606a", "dark": "9da7b3"}
"""Text beside cells."""
PAPER = {"light": "ffffff", "dark": "0d1117"}
LINE = {"light": "6e7781", "dark": "8b949e"}
STRONG_LINE = {"light": "1b1b1b", "dark": "f0f3f6"}
MARK = {"light": "cf222e", "dark": "ff7b72"}
"""The frame of highlighted cells."""

_FIXED = {
    PLAIN: {"light": "fbfcfd", "dark": "161b22"},
    HOLE: {"light": "f0f1f3", "dark": "21262d"},
    GAP: PAPER,
}
_FADES = {"c": 0, "s": 14, "u": 28}
"""How far a fade goes towards the paper, in percent."""


def color(number: int, fade: int = 0) -> str:
    """The paint of thread, tile or bank `number`; `fade` 1 and 2 are paler shades of it.

    >>> color(0), color(31), color(32), color(5, 1)
    ('c0', 'c31', 'c7', 's5')
    """
    turn, place = divmod(number, COLORS)
    return f"{'csu'[fade % 3]}{(place + _TURN * turn) % COLORS}"


def ramp(value: int, low: int, high: int) -> str:
    """The paint of `value` on the ramp from `low` to `high`.

    >>> ramp(0, 0, 63), ramp(32, 0, 63), ramp(63, 0, 63), ramp(5, 5, 5)
    ('g0', 'g8', 'g15', 'g0')
    """
    return f"g{(value - low) * RAMP // (high - low + 1)}"


def value(paint: str, theme: Theme) -> str:
    """The colour of a paint as six hexadecimal digits.

    >>> value("c0", "light"), value("g15", "dark")
    ('5f94da', '0975a2')

    Raises DrawError for a name that is no paint.
    """
    fixed = _FIXED.get(paint)
    if fixed is not None:
        return fixed[theme]
    kind, number = paint[:1], paint[1:]
    if number.isascii() and number.isdecimal() and len(number) < 3:
        if kind == "g" and int(number) < RAMP:
            return (_LIGHT_RAMP if theme == "light" else _DARK_RAMP)[int(number)]
        if kind in _FADES and int(number) < COLORS:
            table = _LIGHT if theme == "light" else _DARK
            return _mixed(table[int(number)], PAPER[theme], _FADES[kind])
    raise DrawError(
        f"{paint!r} is no paint; they are c0 to c{COLORS - 1} (s and u fade them), g0 to g{RAMP - 1}, w, x, e"
    )


def themed(theme: Theme | Literal["auto"], rules: Callable[[Theme], str], beside: str = "") -> str:
    """CSS rules of one theme, or ("auto") those of the light one, with the dark ones where the reader prefers them.

    `beside` stands with the light rules of "auto" only.
    """
    if theme != "auto":
        return rules(theme)
    return f"{beside}{rules('light')}@media(prefers-color-scheme:dark){{{rules('dark')}}}"


def _mixed(color: str, paper: str, percent: int) -> str:
    parts = zip(bytes.fromhex(color), bytes.fromhex(paper), strict=True)
    return bytes((mine * (100 - percent) + other * percent + 50) // 100 for mine, other in parts).hex()
