"""Tables: numbers of Python's that stand in the text of a kernel, and are read at an index of the GPU.

Law: `numbers[i]` is the number that Python has there, in the one type that holds them all; an index that may lie
outside is refuted as that of any array is.
"""

import math
from collections.abc import Sequence

from ...errors import KernelError
from ...tensor.dtypes import DType, bool_
from .. import ir
from ..ir.expr import describe
from ..ir.operators import Number
from ..ir.place import user_place
from ..ir.ranges import domain
from ..ir.weak import number_of, own_type
from .registers import carried
from .state import Trace

#: The numbers of one table: WGSL promises no more in a constant array.
MOST = 2047


def looked_up(trace: Trace, name: str, numbers: Sequence[object], index: ir.Expr) -> ir.Expr:
    """The number at an index; Python's own takes the type that it meets. Raises KernelError for what is no table."""
    place = user_place()
    said = f"{place}: {name}[{describe(index)}]"
    if not 0 < len(numbers) <= MOST:
        raise KernelError(
            f"{said}: {name} has {len(numbers)} items, and a table in the text of a kernel 1 to {MOST}; give an array "
            "to the kernel as an argument"
        )
    dtype, values, weak = _table(said, numbers)
    # The same numbers are one table; -0.0 is not 0.0, nor 1.0 True.
    same = [b for b in trace.local if b.space == ir.AddressSpace.CONSTANT and b.dtype is dtype]
    table = next((b for b in same if str(b.values) == str(values)), None)
    if table is None:
        table = ir.Buffer(trace.unique(name), dtype, len(values), ir.AddressSpace.CONSTANT, values=values)
        trace.local.append(table)
    found = trace.let(name, ir.load(table, index, place=place), place=place)
    return carried(found) if weak else found


def _table(said: str, numbers: Sequence[object]) -> tuple[DType, tuple[Number, ...], bool]:
    """The type of a table, its numbers in it, and whether all of them are Python's own."""
    types, strange = {ir.SCALARS.get(type(n)) for n in numbers}, [n for n in numbers if number_of(n) is None]
    if strange or len(types) > 1:
        mixed = f"{type(strange[0]).__name__}, which is no number" if strange else "numbers of several types"
        raise KernelError(
            f"{said}: a table holds Python's numbers, or NumPy's of one type, and this one has {mixed}; copy what the "
            "GPU computes into a tensor, write rows one after the other in one tuple"
        )
    items = [n for n in map(number_of, numbers) if n is not None]
    dtype = types.pop() or (bool_ if all(isinstance(n, bool) for n in items) else own_type(items))
    for n in items:
        fits = domain(dtype)[0] <= n <= domain(dtype)[1] if dtype.kind in "iu" else math.isfinite(n)
        if not fits:
            raise KernelError(f"{said}: {n} is no {dtype} that a text can hold; give an array to the kernel instead")
    values = tuple([value.value for n in items if isinstance(value := ir.const(n, dtype), ir.Const)])
    return dtype, values, type(numbers[0]) not in ir.SCALARS
