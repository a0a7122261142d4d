"""One access to workgroup memory as `bank_conflicts`, a picture and a kernel's report count it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

from layout.bank_cases import Access, perfect_rounds, random_access, ways

from cutepy import gpu
from cutepy.draw import Banks, draw
from cutepy.gpu.inspect.report import Hardware, report
from cutepy.layout import ComposedLayout, Layout, Swizzle, _, bank_conflicts, make_composed_layout, select
from cutepy.layout.values.int_tuple import leaves, map_leaves
from cutepy.tensor import fill

AnyLayout = Layout | ComposedLayout
TYPES = {2: ("f16", 1), 4: ("bool", 1), 8: ("f32", 2), 16: ("u32", 4)}
"""For so many bytes an access: the type of an element, and how many a lane takes at once. A bool is never packed."""


@gpu.kernel
def touch(*, layout, dtype):  # layout: (lane, neighbour) -> element
    gpu.launch(grid=1, threads=layout[0].size)
    tile = gpu.shared(dtype, layout)
    fill(tile[gpu.thread, _], 1)


def disagreements(seed: int) -> Iterator[str]:
    """What differs from a count byte by byte, for one random layout."""
    access = random_access(random.Random(seed))
    found = bank_conflicts(access.layout, access.each, None, access.lanes, access.banks)
    if (list(found.phases), found.perfect) != (ways(access), perfect_rounds(access)):
        yield f"{access}: bank_conflicts {found.phases}, counted {ways(access)}"
    rest = (0,) * (access.layout.rank - 2)
    panel = access.layout(_, _, *rest) if rest else access.layout
    shown = replace(access, layout=panel, lanes=32)
    notes = draw(panel, view=Banks(access.each, access.banks)).figure.notes[1:]
    if list(notes) != list(_notes(shown)):
        yield f"{shown}: the picture says {notes}"
    lanes = replace(access, layout=_lanes(panel))
    asked = _packed(lanes.layout, access.each) if access.each in TYPES else None
    if asked is not None:
        kernel = touch.ir(layout=asked, dtype=TYPES[access.each][0])
        (told,) = report(kernel, Hardware(access.lanes, access.banks)).accesses
        counted = access.each, max(ways(lanes)), sum(ways(lanes)), perfect_rounds(lanes)
        if (told.width_bytes, told.ways, told.rounds, told.perfect) != counted:
            yield f"{lanes}: the report says {told}, counted {counted}"


def _notes(access: Access) -> Iterator[str]:
    layouts = {"along a row": access.layout}
    if access.layout.rank > 1:
        layouts = {"down a column": access.layout, "along a row": select(access.layout, 1, 0)}
    for name, layout in layouts.items():
        worst = max(ways(replace(access, layout=layout)))
        yield f"{name}: {'no conflict' if worst == 1 else f'{worst}-way conflict'}"


def _lanes(layout: AnyLayout) -> AnyLayout:
    """The lanes of a layout at its first value, as its only mode."""
    inner = layout.inner if isinstance(layout, ComposedLayout) else layout
    mode = Layout((inner[0].shape,), (inner[0].stride,))
    return mode if inner is layout else make_composed_layout(layout.outer, layout.offset, mode)


def _packed(lanes: AnyLayout, each: int) -> AnyLayout | None:
    """(lane, neighbour) -> scalar, for the lanes' wide elements; None where a kernel has no such layout."""
    count = TYPES[each][1]
    inner = lanes.inner if isinstance(lanes, ComposedLayout) else lanes
    if any(step < 0 for step in leaves(inner.stride)):
        return None
    ((shape,), (stride,)) = inner.shape, inner.stride
    plain = Layout((shape, count), (map_leaves(lambda step: step * count, stride), 1))
    if inner is lanes:
        return plain
    if count == 1:
        return make_composed_layout(lanes.outer, lanes.offset, plain)
    if not isinstance(lanes.outer, Swizzle):
        return None
    swizzle = lanes.outer
    wider = Swizzle(swizzle.bits, swizzle.base + count.bit_length() - 1, swizzle.shift)
    return make_composed_layout(wider, lanes.offset * count, plain)
