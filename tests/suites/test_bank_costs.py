"""Bank conflicts by public figures: Faial's table, Triton's unit tests, CUTLASS's layouts, NVIDIA's guides.

Sources, of which facts alone are taken:
* Faial: umb-svl/faial, examples/bc (`faial_costs.py`).
* Triton: triton-lang/triton, unittest/Dialect/TritonGPU/SwizzleTest.cpp: conversions between two distributed layouts
  for which a swizzled tile makes stores and loads free of conflicts (`optimalSwizzlingLdSt`), and the swizzle that is
  chosen for an operand of a matrix instruction (`TestDotOperands`: vec, perPhase, maxPhase).
* CUTLASS: include/cute/atom/mma_traits_sm90_gmma.hpp, the atoms of 16-bit operands, K-major; their reads of 8 rows of
  16 bytes are free of conflicts.
* NVIDIA: CUDA C++ Programming Guide, "Shared Memory" (figure of strided accesses), and CUDA C++ Best Practices Guide,
  "Shared Memory in Matrix Multiplication" (a column of a 32 by 32 tile, and of one with a padded row).
"""

from typing import NamedTuple

import pytest
from faial_costs import Cost, Meaning, costs

from cutepy import ComposedLayout, Layout, Swizzle, bank_conflicts, composition, conflict_free, make_composed_layout

Bases = tuple[tuple[int, int], ...]
"""The coordinates in a matrix that the bits of a number stand for."""


def explained(row: Cost) -> bool:
    """The expected number relates to the cost as the row's meaning says."""
    match row.meaning:
        case Meaning.EXACT:
            return row.expected == row.cost
        case Meaning.WAYS:
            return row.expected == row.cost + 1
        case Meaning.BOUND:
            return row.expected > row.cost
        case Meaning.SHORT:
            return row.expected < row.cost


def test_reports_have_the_costs_of_faials_table() -> None:
    rows = costs()
    assert [row for row in rows if row.reported != row.cost or not explained(row)] == []
    assert len(rows) >= 45 and sum(row.meaning is Meaning.EXACT for row in rows) >= 34


class Conversion(NamedTuple):
    """A tile that is stored by one distributed layout and loaded by another: bases of registers and of lanes."""

    name: str
    shape: tuple[int, int]
    bits: int
    stored: tuple[Bases, Bases]
    loaded: tuple[Bases, Bases]
    lanes: int = 32
    banks: int = 32


def turned(bases: tuple[Bases, Bases]) -> tuple[Bases, Bases]:
    registers, lanes = (tuple((b, a) for a, b in each) for each in bases)
    return registers, lanes


F8 = ((0, 1), (0, 2), (0, 4), (0, 8), (1, 0), (2, 0)), ((0, 16), (0, 32), (0, 64), (4, 0), (8, 0))
CONVERSIONS = [
    Conversion("Test128x128Float8Transpose", (128, 128), 8, F8, turned(F8)),
    Conversion(
        "Test16x16Bf16BlockedMma",
        (16, 16),
        16,
        (((0, 1), (0, 2), (0, 4)), ((0, 8), (1, 0), (2, 0), (4, 0), (8, 0))),
        (((0, 1), (8, 0), (0, 8)), ((0, 2), (0, 4), (1, 0), (2, 0), (4, 0))),
    ),
    Conversion(  # of 4-bit elements two are a byte: the first register is left out, columns count bytes
        "Test16x256U4Mma",
        (16, 128),
        8,
        (((0, 1), (0, 2), (0, 4), (0, 8), (4, 0), (8, 0)), ((0, 16), (0, 32), (0, 64), (1, 0), (2, 0))),
        (((0, 1), (0, 2), (8, 0), (0, 16), (0, 32), (0, 64)), ((0, 4), (0, 8), (1, 0), (2, 0), (4, 0))),
    ),
    Conversion(
        "Test32x16F32Transpose",
        (32, 16),
        32,
        (((4, 0), (8, 0), (16, 0)), ((0, 1), (0, 2), (0, 4), (0, 8), (1, 0))),
        (((0, 2), (0, 4), (0, 8)), ((1, 0), (2, 0), (4, 0), (8, 0), (16, 0))),
    ),
    Conversion(
        "Test128x128F16Transpose",
        (128, 128),
        16,
        (((1, 0), (2, 0), (4, 0), (0, 32), (0, 64)), ((8, 0), (16, 0), (32, 0), (64, 0), (0, 1))),
        (((0, 1), (0, 2), (0, 4), (32, 0), (64, 0)), ((0, 8), (0, 16), (0, 32), (0, 64), (1, 0))),
    ),
    Conversion(
        "Test64x128F16BlockedLinear32Bank",
        (64, 128),
        16,
        (((0, 1), (0, 2), (0, 4), (16, 0), (32, 0)), ((0, 8), (0, 16), (0, 32), (0, 64), (1, 0), (2, 0))),
        (
            ((0, 1), (0, 2), (0, 8), (0, 16), (0, 32), (0, 64), (32, 0)),
            ((1, 0), (2, 0), (4, 0), (8, 0), (16, 0), (0, 4)),
        ),
        lanes=64,
    ),
    Conversion(
        "Test64x128F16BlockedMfma64Bank",
        (64, 128),
        16,
        (((1, 0), (2, 0), (0, 1), (0, 2), (0, 4)), ((0, 8), (0, 16), (0, 32), (0, 64), (4, 0), (8, 0))),
        (
            ((1, 0), (2, 0), (8, 0), (16, 0), (32, 0), (0, 32), (0, 64)),
            ((0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (4, 0)),
        ),
        lanes=64,
        banks=64,
    ),
]


def common(case: Conversion) -> Bases:
    """The registers of both sides, as many as 16 bytes hold: what a lane can take at once on either side."""
    both = tuple(base for base in case.stored[0] if base in case.loaded[0])
    return both[: (128 // case.bits).bit_length() - 1]


def access(case: Conversion, bases: tuple[Bases, Bases]) -> Layout:
    """The map from (lane, value) to the index of an element; what is taken at once comes first."""
    registers, lanes = bases
    ordered = common(case) + tuple(base for base in registers if base not in common(case))
    strides = [tuple(a + case.shape[0] * b for a, b in each) for each in (lanes, ordered)]
    return Layout(tuple((2,) * len(each) for each in strides), tuple(strides))


@pytest.mark.parametrize("case", CONVERSIONS, ids=lambda case: case.name)
def test_a_tile_that_triton_swizzles_free_of_conflicts_is_found_free_of_conflicts(case: Conversion) -> None:
    accesses = [access(case, case.stored), access(case, case.loaded)]
    size, wide = case.bits // 8, case.bits // 8 << len(common(case))
    found = conflict_free(case.shape, accesses, size, wide, case.lanes, case.banks)
    for each in accesses:
        counted = bank_conflicts(composition(found.layout, each), size, wide, case.lanes, case.banks)
        assert counted.rounds == counted.perfect


#: Columns of a row-major operand of 16-bit elements, and Triton's (vec, perPhase, maxPhase).
OPERANDS = [(64, (8, 1, 8)), (256, (8, 1, 8)), (32, (8, 2, 4)), (128, (8, 1, 8)), (16, (8, 4, 2))]


def matrix_read(columns: int, shift: int, phases: int) -> Layout | ComposedLayout:
    """Eight rows of 16 bytes, as `ldmatrix` reads them, of a tile whose chunks of 16 bytes are swizzled."""
    rows = Layout((8, 8), (columns, 1))
    bits = phases.bit_length() - 1
    return make_composed_layout(Swizzle(bits, 3, shift), 0, rows) if bits else rows


@pytest.mark.parametrize(("columns", "chosen"), OPERANDS)
def test_the_swizzle_that_triton_chooses_is_free_of_conflicts_and_no_smaller_one_is(
    columns: int, chosen: tuple[int, int, int]
) -> None:
    vec, per_phase, phases = chosen
    shift = (columns // vec * per_phase).bit_length() - 1
    assert bank_conflicts(matrix_read(columns, shift, phases), 2, 2 * vec).ways == 1
    assert bank_conflicts(matrix_read(columns, shift, phases // 2), 2, 2 * vec).ways == 2
    assert bank_conflicts(matrix_read(columns, shift, 1), 2, 2 * vec).ways == phases


#: CUTLASS's atoms of 16-bit operands, K-major: the swizzle over bytes, the bytes of a row.
ATOMS = [("INTER", 0, 16), ("SW32", 1, 32), ("SW64", 2, 64), ("SW128", 3, 128)]


@pytest.mark.parametrize(("name", "bits", "row_bytes"), ATOMS)
def test_each_atom_of_cutlass_is_read_without_conflict_and_without_its_swizzle_is_not(
    name: str, bits: int, row_bytes: int
) -> None:
    columns = row_bytes // 2
    for column in range(0, columns, 8):
        core = Layout((8, 8), (columns, 1))
        swizzled = make_composed_layout(Swizzle(bits, 3, 3), column, core)
        assert bank_conflicts(swizzled, 2, 16).ways == 1, (name, column)
        assert bank_conflicts(core, 2, 16).ways == 1 << bits


@pytest.mark.parametrize(
    ("layout", "ways"),
    [
        (Layout(32, 1), 1),  # strides of one, two and three words
        (Layout(32, 2), 2),
        (Layout(32, 3), 1),
        (Layout(32, 0), 1),  # a broadcast
        (Layout((8, 4), (1, 0)), 1),  # several lanes want one word
        (Layout(32, 32), 32),  # a column of a tile of 32 by 32, and with a padded row
        (Layout(32, 33), 1),
    ],
    ids=str,
)
def test_the_figures_of_nvidias_guides(layout: Layout, ways: int) -> None:
    assert bank_conflicts(layout).ways == ways
