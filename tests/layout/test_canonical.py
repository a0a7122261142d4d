"""Layouts that libraries write down by hand, derived from the accesses alone: free of conflicts as theirs are.

CUTLASS: the atoms of `test/unit/gemm/device/default_gemm_configuration.hpp` (SM80, and the plain tile of SIMT kernels),
and the canonical SW32, SW64 and SW128 of SM90 in both majors. Triton: the pairs of `SwizzleTest.cpp`.
"""

from math import prod

import pytest
from layout.find_cases import rounds

from cutepy import Layout, Swizzle, conflict_free, convert, make_composed_layout
from cutepy.layout.algebra.bits import layout_of_columns, mapped_layout
from cutepy.layout.values.composed import AnyLayout

UNIT = 16
"""The bytes that cp.async stores, and that a row of a matrix load has."""


def stores_and_matrices(near: int, far: int, element_bytes: int) -> list[AnyLayout]:
    """Threads store 16 bytes each along the near mode; `ldmatrix` reads 16 bytes of 8 places of the far one."""
    unit = UNIT // element_bytes
    along, lanes = near // unit, min(32, near * far // unit)
    across = lanes // along
    stores = Layout(((along, across), (unit, far // across)), ((unit, near), (1, across * near)))
    matrices = Layout((8, (unit, (along, far // 8))), (near, (1, (unit, 8 * near))))
    return [stores, matrices]


SWIZZLED = {
    "SM80 f16 K-major, 64": (64, 2, Swizzle(3, 3, 3)),
    "SM80 f16 K-major, 32": (32, 2, Swizzle(2, 3, 3)),
    "SM80 f16 M-major, 64": (64, 2, Swizzle(3, 3, 3)),
    "SM80 tf32 K-major, 32": (32, 4, Swizzle(3, 2, 3)),
    "SM80 tf32 K-major, 16": (16, 4, Swizzle(2, 2, 3)),
    "SM80 s8 K-major, 64": (64, 1, Swizzle(2, 4, 3)),
    **{
        f"SM90 SW{8 * (2 << bits) * 2} {8 * element_bytes} bit, {major}-major": (
            (UNIT << bits) // element_bytes,
            element_bytes,
            Swizzle(bits, (UNIT // element_bytes).bit_length() - 1, 3),
        )
        for bits in (1, 2, 3)
        for element_bytes in (1, 2, 4)
        for major in ("K", "MN")
    },
}


ATOMS = {atom: name for name, atom in SWIZZLED.items()}
"""With the near mode first, K-major and MN-major are one layout: what changes is which of the two is called k."""


@pytest.mark.parametrize(("near", "element_bytes", "swizzle"), ATOMS.keys(), ids=ATOMS.values())
def test_swizzled_atoms(near: int, element_bytes: int, swizzle: Swizzle) -> None:
    far = 64
    accesses = stores_and_matrices(near, far, element_bytes)
    found = conflict_free((near, far), accesses, element_bytes=element_bytes, access_bytes=UNIT)
    theirs = make_composed_layout(swizzle, 0, Layout((near, far)))
    for access, ways in zip(accesses, found.ways, strict=True):
        assert ways == rounds(found.layout, access, element_bytes, UNIT, 32) == 1
        assert rounds(theirs, access, element_bytes, UNIT, 32) == 1
    assert found.free and (found.layout == theirs or _is_simpler(found.layout, swizzle)), found


def _is_simpler(layout: AnyLayout, swizzle: Swizzle) -> bool:
    outer = getattr(layout, "outer", None)
    return outer is None or (isinstance(outer, Swizzle) and outer.bits <= swizzle.bits)


def test_scalar_fragments_of_tf32_columns() -> None:
    """SM80 tf32 M-major: stores of 16 bytes along m, and 4-byte reads of the fragment, 8 rows and 4 columns of k.

    The atom has a 2-way conflict in the reads; what is found has none.
    """
    stores = Layout(((8, 4), (4, 2)), ((4, 32), (1, 128)))
    reads = Layout(((4, 8), (4, 2)), ((32, 1), (8, 128)))
    theirs = make_composed_layout(Swizzle(3, 2, 3), 0, Layout((32, 8)))
    assert [rounds(theirs, x, 4, w, 32) for x, w in ((stores, 16), (reads, 4))] == [1, 2]
    found = conflict_free((32, 8), [stores, reads], access_bytes=[16, 4])
    assert found.free and found.ways == (1, 1) and _is_simpler(found.layout, Swizzle(3, 2, 3))


def test_simt_tiles_of_sm70_need_nothing_along_columns() -> None:
    """sgemm, column-major A: (128,8):(1,128) is what is found; along k, padding by 4 or an order of the modes."""
    columns, reads = Layout(((32, 8), 4), ((1, 128), 32)), Layout(((16, 16), 8), ((1, 0), 16))
    assert conflict_free((128, 8), [columns, reads]).layout == Layout((128, 8))
    along_k = Layout(((8, 32), 4), ((128, 1), 32))
    assert conflict_free((128, 8), [along_k, reads], pad=True).layout == Layout((128, 8), (1, 132))
    assert conflict_free((128, 8), [along_k, reads]).free


Bases = list[tuple[int, int]]
PAIRS: dict[str, tuple[int, int, tuple[Bases, Bases], tuple[Bases, Bases]]] = {
    "32x16 f32 transpose": (
        32, 4,
        ([(0, 1), (0, 2), (0, 4), (0, 8), (1, 0), (2, 0)], [(4, 0), (8, 0), (16, 0)]),
        ([(1, 0), (2, 0), (4, 0), (8, 0), (16, 0), (0, 1)], [(0, 2), (0, 4), (0, 8)]),
    ),
    "128x128 f16 transpose": (
        128, 2,
        ([(8, 0), (16, 0), (32, 0), (64, 0), (0, 1), (0, 2), (0, 4), (0, 8), (0, 16)],
         [(1, 0), (2, 0), (4, 0), (0, 32), (0, 64)]),
        ([(0, 8), (0, 16), (0, 32), (0, 64), (1, 0), (2, 0), (4, 0), (8, 0), (16, 0)],
         [(0, 1), (0, 2), (0, 4), (32, 0), (64, 0)]),
    ),
    "128x128 f8 transpose": (
        128, 1,
        ([(0, 16), (0, 32), (0, 64), (4, 0), (8, 0), (16, 0), (32, 0), (64, 0)],
         [(0, 1), (0, 2), (0, 4), (0, 8), (1, 0), (2, 0)]),
        ([(16, 0), (32, 0), (64, 0), (0, 4), (0, 8), (0, 16), (0, 32), (0, 64)],
         [(1, 0), (2, 0), (4, 0), (8, 0), (0, 1), (0, 2)]),
    ),
    "16x16 bf16 blocked to mma": (
        16, 2,
        ([(0, 8), (1, 0), (2, 0), (4, 0), (8, 0)], [(0, 1), (0, 2), (0, 4)]),
        ([(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)], [(0, 1), (8, 0), (0, 8)]),
    ),
    "16x256 u4 to mma, in bytes of two": (
        16, 1,
        ([(0, 16), (0, 32), (0, 64), (1, 0), (2, 0)], [(0, 1), (0, 2), (0, 4), (0, 8), (4, 0), (8, 0)]),
        ([(0, 4), (0, 8), (1, 0), (2, 0), (4, 0)], [(0, 1), (0, 2), (8, 0), (0, 16), (0, 32), (0, 64)]),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PAIRS)
def test_pairs_of_a_write_and_a_read(name: str) -> None:
    """Triton's tests expect no conflict in either; here too, with accesses as wide as both have elements in common."""
    rows, element_bytes, *sides = PAIRS[name]
    source, target = (_layout(rows, *side) for side in sides)
    trip = convert(source, target, element_bytes=element_bytes, through="memory").trip
    assert trip is not None and trip.found.free, name
    common = len(_span(sides[0][1]) & _span(sides[1][1]))
    assert trip.together == min(common, UNIT // element_bytes)


def _layout(rows: int, threads: Bases, values: Bases) -> AnyLayout:
    columns = tuple(row + rows * column for row, column in (*threads, *values))
    shape = (1 << len(threads), 1 << len(values))
    assert prod(shape) == 1 << len(columns)
    return layout_of_columns(columns, shape) or mapped_layout(columns, shape)


def _span(bases: Bases) -> set[tuple[int, int]]:
    found = {(0, 0)}
    for row, column in bases:
        found |= {(row ^ a, column ^ b) for a, b in found}
    return found
