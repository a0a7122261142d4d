"""Pictures of layouts: anything becomes a `Grid` of cells, and a grid becomes text, SVG, HTML, TikZ or PNG."""

from .drawing import Drawing as Drawing
from .drawing import View as View
from .drawing import draw as draw
from .grid import Axis as Axis
from .grid import Figure as Figure
from .grid import Grid as Grid
from .look import Style as Style
