"""Pictures: anything becomes a `Grid` of cells, and a grid becomes text, SVG, HTML, TikZ or PNG.

`cutepy.draw` is this module and can be called as `draw` itself, so that `from cutepy import draw` serves both ways.
"""

import sys
from types import ModuleType

from .drawing import Drawing as Drawing
from .drawing import draw as draw
from .drawing import svg_of as layout_repr_svg
from .grid import Axis as Axis
from .grid import Figure as Figure
from .grid import Grid as Grid
from .look import Style as Style
from .look import View as View
from .request import drawing_of as drawing_of
from .request import read_body as read_body
from .views import register as register
from .views.banks import Banks as Banks
from .views.banks import Swizzled as Swizzled
from .views.layouts import Plain as Plain
from .views.layouts import Tiles as Tiles
from .views.layouts import Tree as Tree
from .views.owners import Memory as Memory
from .views.owners import ThreadValue as ThreadValue
from .views.steps import Steps as Steps
from .views.steps import steps as steps
from .views.tensors import Copies as Copies
from .views.tensors import Data as Data
from .views.tensors import Operands as Operands


class _CallableModule(ModuleType):
    __call__ = staticmethod(draw)


sys.modules[__name__].__class__ = _CallableModule

__all__ = [
    "Axis",
    "Banks",
    "Copies",
    "Data",
    "Drawing",
    "Figure",
    "Grid",
    "Memory",
    "Operands",
    "Plain",
    "Steps",
    "Style",
    "Swizzled",
    "ThreadValue",
    "Tiles",
    "Tree",
    "View",
    "draw",
    "drawing_of",
    "layout_repr_svg",
    "read_body",
    "register",
    "steps",
]
