"""Pictures: anything becomes a `Grid` of cells, and a grid becomes text, SVG, HTML, TikZ or PNG.

`cutepy.draw` is this module and can be called as `draw` itself, so that `from cutepy import draw` serves both ways.
"""

from inspect import cleandoc as _cleandoc
from sys import modules as _modules
from types import ModuleType as _ModuleType

from .drawing import Drawing as Drawing
from .drawing import draw as draw
from .drawing import drawing_of as drawing_of
from .drawing import read_body as read_body
from .grid import Axis as Axis
from .grid import Figure as Figure
from .grid import Grid as Grid
from .look import Style as Style
from .look import View as View
from .views import register as register
from .views.banks import Banks as Banks
from .views.banks import Bits as Bits
from .views.banks import Swizzled as Swizzled
from .views.layouts import Plain as Plain
from .views.layouts import Tree as Tree
from .views.owners import Memory as Memory
from .views.owners import ThreadValue as ThreadValue
from .views.steps import Steps as Steps
from .views.steps import steps as steps
from .views.tensors import Copies as Copies
from .views.tensors import Data as Data
from .views.tensors import Operands as Operands
from .views.tiles import Tiles as Tiles


class _CallableModule(_ModuleType):
    __call__ = staticmethod(draw)


_modules[__name__].__class__ = _CallableModule

__doc__ = (
    "draw(thing, *, view=None, color=None, label=None, style=None, **options) -> Drawing\n\n"
    f"{_cleandoc(draw.__doc__ or '')}"
)
"""What `help(draw)` shows: without `__all__`, and with names from other modules alone, it is one screen."""


def __dir__() -> list[str]:
    return sorted(name for name, it in globals().items() if name[0] != "_" and not isinstance(it, _ModuleType))
