"""cutepy: CuTe-style layout algebra, from a pasted layout to a proven, running GPU kernel and to the picture in your docs."""

from . import layout as layout
