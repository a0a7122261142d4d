"""Nothing runs away: hard inputs are answered, or refused, with bounded work and memory."""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable

import pytest

from cutepy.errors import CutepyError
from cutepy.layout import (
    ComposedLayout,
    Layout,
    Swizzle,
    composition,
    is_bijective,
    is_contiguous,
    is_injective,
    is_surjective,
    left_inverse,
    make_composed_layout,
    max_common_vector,
    right_inverse,
)


def after(swizzle: tuple[int, int, int], layout: Layout) -> ComposedLayout:
    return make_composed_layout(Swizzle(*swizzle), 0, layout)


SQUARE = after((3, 4, 3), Layout((1 << 20, 1 << 20)))
OUTSIDE = Layout((3, 5), (5, 1))
HARD: dict[str, Callable[[], object]] = {
    "bijective": lambda: is_bijective(SQUARE),
    "surjective": lambda: is_surjective(SQUARE),
    "injective": lambda: is_injective(SQUARE),
    "contiguous": lambda: is_contiguous(SQUARE),
    "cosize of 2**33": lambda: make_composed_layout(OUTSIDE, 1, Layout(1 << 33)).cosize,
    "cosize of 2**27": lambda: make_composed_layout(OUTSIDE, 1, Layout(1 << 27)).cosize,
    "bijective of 2**27": lambda: is_bijective(make_composed_layout(OUTSIDE, 1, Layout(1 << 27))),
    "cosize, high bits": lambda: after((3, 40, 3), Layout((10**6, 10**6), (10**6, 1))).cosize,
    "cosize, middle bits": lambda: after((3, 20, 20), Layout((10**4, 10**4), (10**4 + 1, 1))).cosize,
    "offsets of rank 40": lambda: Layout((2,) * 40).offsets(),
    "offsets of 2**34": lambda: Layout(1 << 34).offsets(),
    "offsets beyond 2**63": lambda: Layout(4, 1 << 63).offsets(),
    "overlapping rows": lambda: right_inverse(Layout((256, 256), (1, 255))),
    "overlapping blocks": lambda: right_inverse(Layout((100, 100, 6), (1, 50, 2000))),
    "many overlapping rows": lambda: right_inverse(Layout((4096, 4096), (1, 4095))),
    "left inverse of a lattice": lambda: left_inverse(Layout((4096, 4096), (4095, 4097))),
    "swizzled, no power of two": lambda: right_inverse(after((3, 4, 3), Layout((10**4, 3), (1, 10**4)))),
    "swizzled, left": lambda: left_inverse(after((3, 4, 3), Layout((10**6, 3), (1, 10**6)))),
    "vectors": lambda: max_common_vector(after((3, 3, 3), Layout((10**4, 8))), Layout((10**4, 8))),
    "a million devices": lambda: is_injective(Layout((1 << 20, 1 << 30), ((1 << 30) - 1, 1))),
    "devices that miss each other": lambda: is_injective(Layout((1 << 20, 1 << 20, 1 << 20), (3 << 20, 3 << 19, 3))),
    "a swizzle twice": lambda: composition(SQUARE, SQUARE),
}


@pytest.mark.parametrize("name", HARD)
def test_hard_inputs_are_answered_or_refused(name: str) -> None:
    """Within a million calls of functions, and a gigabyte."""
    calls = 0

    def counted(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    call = HARD[name]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    sys.setprofile(counted)
    try:
        call()
    except CutepyError:
        pass
    finally:
        sys.setprofile(None)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before  # in KiB
    assert calls < 1_000_000 and grown < 1 << 20, (calls, grown)


def test_bit_matrices_answer_at_any_size() -> None:
    assert is_bijective(SQUARE) and is_surjective(SQUARE) and not is_contiguous(SQUARE)
    assert after((3, 40, 3), Layout((1 << 30, 1 << 30))).cosize == 1 << 60
