"""Colour arithmetic for the tests, apart from the code under test: contrast, CIE76, deuteranopia."""

from collections.abc import Callable

Triple = tuple[float, float, float]
Matrix = tuple[Triple, Triple, Triple]

MACHADO: Matrix = (
    (0.367322, 0.860646, -0.227968),
    (0.280085, 0.672501, 0.047413),
    (-0.011820, 0.042940, 0.968881),
)
"""Deuteranopia after Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB."""
VIENOT: Matrix = ((0.29275, 0.70725, 0.0), (0.29275, 0.70725, 0.0), (-0.02234, 0.02234, 1.0))
"""Deuteranopia after Viénot, Brettel and Mollon (1999), on linear RGB."""
_XYZ: Matrix = ((0.4124564, 0.3575761, 0.1804375), (0.2126729, 0.7151522, 0.0721750), (0.0193339, 0.1191920, 0.9503041))
_WHITE = (0.95047, 1.0, 1.08883)


def linear(color: str) -> Triple:
    """Linear RGB of six hexadecimal digits."""
    red, green, blue = (
        byte / 255 / 12.92 if byte <= 10 else ((byte / 255 + 0.055) / 1.055) ** 2.4 for byte in bytes.fromhex(color)
    )
    return red, green, blue


def times(matrix: Matrix, vector: Triple) -> Triple:
    """A matrix times a vector."""
    x, y, z = (sum(m * v for m, v in zip(row, vector, strict=True)) for row in matrix)
    return x, y, z


def lab(rgb: Triple) -> Triple:
    """CIELAB (D65) of linear RGB."""

    def f(t: float) -> float:
        return t ** (1 / 3) if t > 216 / 24389 else (24389 / 27 * t + 16) / 116

    x, y, z = (f(value / white) for value, white in zip(times(_XYZ, rgb), _WHITE, strict=True))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def clipped(rgb: Triple) -> Triple:
    """Into the gamut."""
    red, green, blue = (min(1.0, max(0.0, part)) for part in rgb)
    return red, green, blue


def difference(one: str, other: str, seen: Callable[[Triple], Triple] = lambda rgb: rgb) -> float:
    """CIE76 between two colours as `seen`."""
    pairs = zip(*(lab(clipped(seen(linear(color)))) for color in (one, other)), strict=True)
    return sum((a - b) ** 2 for a, b in pairs) ** 0.5


def deuteranope(one: str, other: str) -> float:
    """CIE76 for a reader with deuteranopia: the lesser of two models."""
    return min(difference(one, other, lambda rgb, m=model: times(m, rgb)) for model in (MACHADO, VIENOT))


def contrast(one: str, other: str) -> float:
    """The contrast ratio of WCAG 2, by its own four digits of the luminance."""
    low, high = sorted(0.2126 * r + 0.7152 * g + 0.0722 * b for r, g, b in map(linear, (one, other)))
    return (high + 0.05) / (low + 0.05)
