"""How a picture is asked for: its colours, its labels, its style."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from inspect import signature
from typing import Literal, Protocol, TypeAlias, TypedDict, TypeVar, get_args

from ..errors import DrawError, shown
from ..layout.values.coordinates import Coordinate
from . import palette
from .grid import Figure

CellFunction: TypeAlias = Callable[[Coordinate, object], object]
"""From the coordinate of a cell and its value to a colour number or a label."""

Theme: TypeAlias = Literal["auto", "light", "dark"]
Heads: TypeAlias = Literal["nested", "index", "none"]
Palette: TypeAlias = Literal["distinct", "ordered"]
ViewName: TypeAlias = Literal[
    "grid", "memory", "tree", "tiles", "tv", "banks", "swizzle", "steps", "compare", "data", "mma", "copy"
]
"""The views, in the order of the documentation: every list of views derives from this one."""

TENSOR_VIEWS = ("data", "mma", "copy")
"""Views of tensors and atoms, of which no text of a layout is one."""
LAYOUT_VIEWS = tuple([name for name in get_args(ViewName) if name not in TENSOR_VIEWS])

SUFFIXES = (".svg", ".html", ".txt", ".tex", ".png", ".pdf", ".eps")
DRAWN_CELLS = 128 * 128
"""Pictures of more cells show their corners instead."""
LARGEST_CELL = 400
"""Pixels that a cell may be asked to have."""


@dataclass(frozen=True, slots=True)
class Style:
    """Everything about a picture but its content.

    `title`: the line above, the layout itself if None, nothing if empty. `theme`: "auto" follows the reader's system,
    "light" and "dark" do not. `heads`: coordinates beside the grid level by level ("nested"), plain indices, or none.
    `palette`: colours that tell numbers apart ("distinct", as threads and tiles have them) or that show their order
    ("ordered", as banks and swizzles have them), or colours of your own, "#e41a1c #377eb8" or a sequence of such, which
    numbers take in turns and a ramp from the first to the last. `cell_size`: pixels that a cell is wide and high at
    least, whatever it says. `legend`: what colours mean. `highlight`: a coordinate with `_`, whose cells are framed.
    `limit`: above so many cells only the corners are drawn. `background`: a sheet behind the picture, so that it can be
    read on any page.

    >>> Style(heads="index").but(theme="dark").theme, Style(palette="#e41a1c #37b").own_colors
    ('dark', ('e41a1c', '3377bb'))
    >>> try:
    ...     Style(theme="sepia")
    ... except DrawError as error:
    ...     print(error)
    theme='sepia': it is one of auto, light, dark
    """

    title: str | None = None
    theme: Theme = "auto"
    heads: Heads = "nested"
    palette: Palette | str | Sequence[str] | None = None
    cell_size: int = 0
    legend: bool = True
    highlight: Coordinate = None
    limit: int = DRAWN_CELLS
    background: bool = True

    def __post_init__(self) -> None:
        for name, allowed in (("theme", get_args(Theme)), ("heads", get_args(Heads))):
            asked = getattr(self, name)
            if not (isinstance(asked, str) and asked in allowed):
                raise DrawError(f"{name}={shown(asked)}: it is one of {', '.join(allowed)}")
        if isinstance(self.palette, (list, tuple)) and all(isinstance(one, str) for one in self.palette):
            object.__setattr__(self, "palette", " ".join(self.palette))  # as a text says it
        if not isinstance(self.palette, str | None):
            raise DrawError(f"palette={shown(self.palette)}: it is a text, or a sequence of colours")
        try:
            _ = self.own_colors
        except DrawError as error:
            raise DrawError(
                f"palette={shown(self.palette)}: it is {', '.join(get_args(Palette))}, or {error}"
            ) from None
        if not isinstance(self.title, str | None):
            raise DrawError(f"title={shown(self.title)}: it is a text, or None")
        for name in ("legend", "background"):
            if not isinstance(getattr(self, name), bool):
                raise DrawError(f"{name}={shown(getattr(self, name))}: it is True or False")
        if type(self.cell_size) is not int or not 0 <= self.cell_size <= LARGEST_CELL:
            raise DrawError(f"cell_size={shown(self.cell_size)}: the pixels are from 0 to {LARGEST_CELL}")
        if type(self.limit) is not int or not 16 <= self.limit <= 1 << 18:
            raise DrawError(f"limit={self.limit!r}: the number of cells is from 16 to {1 << 18}")

    @property
    def own_colors(self) -> tuple[str, ...]:
        """The colours of the user's own, as hexadecimal digits; none where the palette is a name."""
        named = self.palette is None or self.palette in get_args(Palette)
        return () if named else palette.own_colors(str(self.palette))

    def but(self, **changes: object) -> Style:
        """The same style with some fields changed."""
        return replace(self, **changes)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Look:
    """What a view is asked for: colours and labels by name or by function, and the style."""

    color: str | CellFunction | None = None
    label: str | CellFunction | None = None
    style: Style = Style()

    def colored_by(self, *allowed: str) -> str | CellFunction:
        """The asked-for colour, the first of `allowed` if none was asked for; DrawError for another name."""
        return _chosen("color", self.color, allowed)

    def hue(self, number: int, count: int = palette.COLORS, fade: int = 0, usual: Palette = "distinct") -> str:
        """The paint of thread, tile or bank `number` of `count`, from the palette asked for or else the `usual` one."""
        if (self.style.palette or usual) == "ordered":
            return palette.ordered(number, count, fade)
        own = self.style.own_colors
        return palette.color(number % len(own) if own else number, fade)

    def expect_none(self, *options: Literal["color", "label"]) -> None:
        """Raise DrawError for a colour or a label that is asked for of a picture that has its own."""
        for what in options:
            if (asked := getattr(self, what)) is not None:
                raise DrawError(f"{what}={shown(asked)}: this picture has {what}s of its own")

    def labelled_by(self, *allowed: str) -> str | CellFunction:
        """The asked-for label, the first of `allowed` if none was asked for; DrawError for another name."""
        return _chosen("label", self.label, allowed)


def _chosen(what: str, asked: str | CellFunction | None, allowed: tuple[str, ...]) -> str | CellFunction:
    if asked is None:
        return allowed[0]
    if callable(asked):
        return _of_cells(what, asked)
    if isinstance(asked, str) and asked in allowed:
        return asked
    raise DrawError(f"{what}={shown(asked)}: this picture has {what}s by {', '.join(allowed)}, or by a function")


def _of_cells(what: str, function: CellFunction) -> CellFunction:
    """The function, which takes a coordinate and a value; DrawError where it does not."""
    refused = DrawError(f"{what}={shown(function)}: it is called with the coordinate of a cell and its value")
    try:
        signature(function).bind(0, 0)
    except TypeError:
        raise refused from None
    except ValueError:  # a builtin whose parameters nobody knows

        def call(coordinate: Coordinate, value: object) -> object:
            try:
                return function(coordinate, value)
            except TypeError as error:
                raise refused from error

        return call
    return function


class Options(TypedDict, total=False):
    """The keyword options of `draw`: the fields of `Style`, and the parameters of the views."""

    title: str | None
    theme: Theme
    heads: Heads
    palette: Palette | str | Sequence[str] | None
    cell_size: int
    legend: bool
    highlight: Coordinate
    limit: int
    background: bool
    tiler: object
    tile: object
    threads: object
    thread: int
    over: object
    width: int
    element_bytes: int
    banks: int
    bank_bytes: int


OPTIONS = {
    "view": f"what to show: {', '.join(get_args(ViewName))}",
    "color": "what colours mean: offset, thread, value, row, column, tile, bank, ...",
    "label": "what cells say: offset, coordinate, index, thread, ...",
    "title": "the line above the picture",
    "theme": "auto, light or dark",
    "heads": "what stands beside the grid: nested, index or none",
    "palette": 'distinct, ordered, or colours, "#e41a1c #377eb8"',
    "cell_size": "pixels that a cell is wide and high at least",
    "legend": "yes or no",
    "highlight": 'the slice to frame, "(1,_)"',
    "limit": "the most cells drawn; above, only the corners are",
    "background": "yes or no",
    "tiler": 'the tile of view tiles, "(4,4)"',
    "tile": 'the one tile that view tiles shows in the whole, "(1,0)"',
    "threads": "the threads of that tile, a layout of (thread, value)",
    "thread": "the thread whose elements in that tile are framed",
    "over": 'what threads and values lie over in view tv, a shape or a layout, "(8,8)"',
    "width": "offsets in a row of view memory",
    "element_bytes": "bytes of an element, for view banks",
    "banks": "how many banks there are",
    "bank_bytes": "bytes that one bank serves at once",
}
"""Every option of a picture with its help text: in Python, in a fence, on the command line."""


def expect_options(names: Iterable[str], also: Sequence[str] = ()) -> None:
    """Raise DrawError for a name that is no option, nor one of `also`, with the one that is meant."""
    for name in names:
        if name not in (*OPTIONS, *also):
            near = get_close_matches(name, (*OPTIONS, *also), 1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join((*OPTIONS, *also))}"
            raise DrawError(f"no option {shown(name)}; {hint}")


class View(Protocol):
    """A way to look at a thing.

    >>> from cutepy import draw
    >>> class Bare:
    ...     def figure(self, thing, look):
    ...         return Figure((), title=f"a picture of {thing}")
    >>> draw("(4,8):(8,1)", view=Bare()).figure.title
    'a picture of (4,8):(8,1)'
    >>> from cutepy.layout import Layout
    >>> draw.Plain().figure(Layout((4, 8)), Look()).cells
    32
    """

    def figure(self, thing: object, look: Look) -> Figure:
        """The figure of `thing`; DrawError where it is not of the kind that this view shows."""
        ...


#: The class of each view, by its name.
VIEWS: dict[str, Callable[..., View]] = {}
_Kind = TypeVar("_Kind", bound=Callable[..., View])


def named(name: ViewName) -> Callable[[_Kind], _Kind]:
    """A decorator: the class is the view called `name`, whose parameters are its fields."""

    def note(kind: _Kind) -> _Kind:
        VIEWS[name] = kind
        return kind

    return note
