"""What the operations of subgroups take."""

from ...errors import KernelError
from ...tensor.dtypes import bool_
from .expr import Const, Expr
from .operators import SUBGROUP_VOTE
from .place import user_place

BALLOT = "subgroup_ballot"


def check_subgroup(name: str, value: Expr, *lane: Expr) -> None:
    """Raise KernelError unless an operation gets a number, and a lane, distance or mask if it shuffles; a bool if it is
    a vote."""
    if name in SUBGROUP_VOTE and value.dtype is not bool_:
        raise KernelError(f"{user_place()}: {name} of a {value.dtype} value; compare it, as in {name}(v != 0)")
    if name == "subgroup_broadcast" and not all(isinstance(x, Const) for x in lane):
        raise KernelError(f"{user_place()}: {name} from a lane known only on the GPU; use gpu.subgroup_shuffle")
    if value.dtype is bool_ and name not in SUBGROUP_VOTE:
        raise KernelError(f"{user_place()}: {name} is not defined on bool; use gpu.select to make a number of it")
    if any(x.dtype.kind not in "iu" or (isinstance(x, Const) and not 0 <= x.value < 128) for x in lane):
        raise KernelError(f"{user_place()}: {name} by {lane[0]} ({lane[0].dtype}); give a whole number from 0 to 127")
