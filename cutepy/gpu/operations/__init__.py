"""Operations on whole tensors, each a kernel over partitioned tensors: those of `ops`, `gpu.pointwise`, `gpu.copy`.

`operand` says what may be given and where results go, `domain` how several layouts are walked at once; on these rest
`pointwise` (with `elements`), `copies`, `fold`, `gather`, `reductions`, `scan`, `softmax` and `sort`.
"""

from .copies import copied, copy, filled
from .gather import taken
from .operand import ExecutionSite, place_of
from .pointwise import Pointwise
from .reductions import folded
from .scan import NAMES as SCANS
from .scan import scanned
from .sort import ordered, search_sorted

__all__ = [
    "SCANS", "ExecutionSite", "Pointwise", "copied", "copy", "filled", "folded", "ordered", "place_of", "scanned",
    "search_sorted", "taken",
]  # fmt: skip
