"""Prints of several parts, as `print(TiledMMA)` and the compiler's types of atoms have them, and Triton's layouts.

Law: a linear layout of Triton maps (register, lane, warp, block), or what dimensions its text names, to the place in
the tensor, its first dimension fastest; each bit of them goes where its basis says, and XOR joins bits.
"""

from __future__ import annotations

import re

from ...errors import NotationError
from ..algebra.bits import linear_layout_of
from ..values.composed import AnyLayout

_PART = (
    r"(?m)^[ \t]*(?P<label>[A-Za-z]\w*(?: \w+)*)[ \t]*:(?!:)[ \t]*(?P<line>\S.*)"
    r"|\b(?P<name>\w+) = <(?P<quoted>\"[^\"]*\")>"
)


def parts_of(text: str) -> dict[str, str]:
    """The texts of the parts of a print, by the labels of their lines; none where it is no print of parts.

    >>> parts_of("TiledCopy\\n  Tiler_MN:       (_64,_16)\\n")
    {'Tiler_MN': '(_64,_16)'}
    """
    return {found["label"] or found["name"]: found["line"] or found["quoted"] for found in re.finditer(_PART, text)}


_BASES = r"[\"']?(\w+?)(?:_bases)?[\"']?\s*[=:]\s*\[((?:\s*\[[^\[\]]*\]\s*,?)*)\s*\]"
_STEP = r"(\w+)=(\d+) -> \(([^()]*)\)|- (\w+) is a size 1 dimension"
_SIZE = r"\(size (\d+)\)"
_LISTED = r"\[\s*(\d[\d\s,]*)\]"
_KINDS = r"\s*(?:#\w+\s*=\s*)?(?:#(?:ttg|triton_gpu|ttng)\.)?(\w+)\s*[<(]\s*\{?"
_LINEAR = ("linear", "shared_linear", "DistributedLinearLayout", "SharedLinearLayout", "LinearLayout")
_BLOCKED = ("blocked", "BlockedLayout")
_MOST_BASES = 256

Bases = list[list[tuple[int, ...]]]


def linear_layout(text: str) -> AnyLayout | None:
    """The layout that a text of Triton's is, None where it is no such text.

    >>> print(linear_layout("#ttg.linear<{register = [[0, 1]], lane = [[1, 0], [2, 0]], warp = [], block = []}>"))
    (2,4,1,1):(4,1,0,0)

    Raises NotationError for those that are rules for tensors of any shape, as swizzled_shared and matrix units.
    """
    if " -> (" in text or "is a size 1 dimension" in text:
        return _of_bases(text, _printed(text), [int(size) for size in re.findall(_SIZE, text)])
    kind = re.match(_KINDS, text)
    if kind is None:
        return None
    if kind[1] in _LINEAR:
        return _of_bases(text, [_vectors(found[2]) for found in re.finditer(_BASES, text)], [])
    if kind[1] in _BLOCKED:
        return _of_bases(text, _blocked(text), [])
    if text.lstrip().startswith("#"):
        raise NotationError(
            f"{kind[1]} of Triton is a rule for tensors of any shape, not a layout; its linear layout is one, as "
            "toLinearLayout(shape) prints it",
            text,
            kind.start(1),
        )
    return None


def _vectors(text: str) -> list[tuple[int, ...]]:
    return [tuple(map(int, re.findall(r"\d{1,18}", row))) for row in re.findall(r"\[([^\[\]]*)\]", text)]


def _printed(text: str) -> Bases:
    """The bases of each dimension, from `register=1 -> (0, 1)` line by line."""
    found: dict[str, list[tuple[int, ...]]] = {}
    for step in re.finditer(_STEP, text):
        listed = found.setdefault(step[1] or step[4], [])
        if step[1]:
            if int(step[2]) != 1 << len(listed):
                raise NotationError(f"{step[1]}={step[2]} is not the next bit, {1 << len(listed)}", text, step.start())
            listed.append(tuple(map(int, re.findall(r"\d{1,18}", step[3]))))
    return list(found.values())


def _blocked(text: str) -> Bases:
    """Registers, then lanes, then warps fill the tile, in the order that is last."""
    lists = [tuple(map(int, re.findall(r"\d{1,9}", found[1]))) for found in re.finditer(_LISTED, text)][:4]
    if len(lists) != 4 or sorted(lists[3]) != [*range(len(lists[0]))] or len({*map(len, lists)}) != 1:
        raise NotationError("a blocked layout has sizes of registers, lanes and warps, and an order", text, 0)
    reach = [1] * len(lists[3])
    bases: Bases = []
    for sizes in lists[:3]:
        if any(size < 1 or size & (size - 1) for size in sizes):
            raise NotationError(f"the sizes {list(sizes)} are no powers of two", text, 0)
        bases.append([])
        for axis in lists[3]:
            for _bit in range(sizes[axis].bit_length() - 1):
                bases[-1].append(tuple(reach[axis] if at == axis else 0 for at in range(len(reach))))
                reach[axis] *= 2
    return bases


def _of_bases(text: str, bases: Bases, sizes: list[int]) -> AnyLayout:
    """The layout whose bits go where the bases say; sizes that are not said are those that they reach."""
    vectors = [vector for listed in bases for vector in listed]
    width = len(sizes) or max(map(len, vectors), default=0)
    if not bases or len(vectors) > _MOST_BASES or any(len(vector) != width for vector in vectors):
        raise NotationError(f"a linear layout has bases of one length, here {width}, and some dimension", text, 0)
    reached = [max([vector[axis].bit_length() for vector in vectors], default=0) for axis in range(width)]
    bits = [size.bit_length() - 1 for size in sizes] or reached
    if any(more > most for more, most in zip(reached, bits, strict=True)):
        raise NotationError(f"a basis goes beyond the sizes {sizes}", text, 0)
    columns = tuple(sum(entry << sum(bits[:axis]) for axis, entry in enumerate(vector)) for vector in vectors)
    shape = tuple(1 << len(listed) for listed in bases)
    return linear_layout_of(columns, shape)
