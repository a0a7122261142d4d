"""What a loop carries and never moves back bounds itself, and ends the loop: searches by halves, and what looks so."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cutepy import gpu, size
from cutepy.gpu import Expr
from cutepy.tensor import Tensor

F, I, U = np.float32, np.int32, np.uint32
KEYS = 16


def statuses(kernel: gpu.KernelFunction, *arrays: object) -> dict[str, str]:
    return {f"{v.claim} {v.array}".strip(): str(v.status) for v in kernel.verify(*arrays, prover="cutepy").verdicts}


def lower_bound(
    goes_on: Callable[[Any, Any], Any], middle: Callable[[Any, Any], Any], up: int, down: int, dtype: str = "u32"
) -> gpu.KernelFunction:
    """Where a key belongs in sorted numbers: `up` and `down` are how far the ends move beyond the middle."""

    @gpu.kernel
    def search(x: Tensor, keys: Tensor, y: Tensor) -> None:
        gpu.launch(threads=KEYS)
        lo, hi, key = gpu.constant(0, dtype), gpu.constant(size(x), dtype), keys[gpu.thread]
        while goes_on(lo, hi):
            mid = middle(lo, hi)
            if x[mid] < key:
                lo = mid + up
            else:
                hi = mid - down
        y[gpu.thread] = lo

    return search


def half(lo: Any, hi: Any) -> Any:
    return (lo + hi) // 2


def half_of_the_rest(lo: Any, hi: Any) -> Any:
    return lo + (hi - lo) // 2


def shifted(lo: Any, hi: Any) -> Any:
    return (lo + hi) >> 1


def search_between(middle: Callable[[Any, Any], Any], said: tuple[int, int] | None) -> gpu.KernelFunction:
    """The same from one number of the data to another, of which bounds may be said."""

    @gpu.kernel(sizes="known")
    def search(x: Tensor, ends: Tensor, keys: Tensor, y: Tensor) -> None:
        gpu.launch(threads=KEYS)
        if said is not None:
            gpu.assume(ends, bounds=said)
        lo, hi, key = ends[0], ends[1], keys[gpu.thread]
        while lo < hi:
            mid = middle(lo, hi)
            if x[mid] < key:
                lo = mid + 1
            else:
                hi = mid
        y[gpu.thread] = lo

    return search


@pytest.mark.parametrize(
    ("middle", "said", "bounded", "inside"),
    [
        (half, (0, 1001), True, True),
        (half_of_the_rest, (0, 1001), True, True),
        (half, (0, 1003), True, False),
        (half, None, False, False),  # the sum of both may wrap
    ],
)
def test_a_search_between_numbers_of_the_data(
    middle: Callable[[Any, Any], Any], said: tuple[int, int] | None, bounded: bool, inside: bool
) -> None:
    search = search_between(middle, said)
    x = np.sort(np.random.default_rng(0).random(1000, F))
    keys, y = np.random.default_rng(1).random(KEYS, F), np.zeros(KEYS, U)
    found = statuses(search, x, np.array([0, 1000], U), keys, y)
    assert (found["bounded loops"] == "proven", found["in bounds x"] == "proven") == (bounded, inside), found
    for ends in ([0, 1000], [300, 310], [10, 9], [1000, 1000]):
        search.interpret(x, np.array(ends, U), keys, y, check=True)
        wanted = ends[0] + np.searchsorted(x[ends[0] : ends[1]], keys)
        assert (y == wanted).all()


@pytest.mark.parametrize("count", [1, 7, 1000, 1024])
@pytest.mark.parametrize("dtype", ["u32", "i32"])
@pytest.mark.parametrize("middle", [half, half_of_the_rest, shifted])
def test_a_search_by_halves_needs_no_bound(middle: Callable[[Any, Any], Any], dtype: str, count: int) -> None:
    search = lower_bound(lambda lo, hi: lo < hi, middle, 1, 0, dtype)
    x = np.sort(np.random.default_rng(count).random(count, F))
    keys, y = np.random.default_rng(1).random(KEYS, F), np.zeros(KEYS, U if dtype == "u32" else I)
    assert set(statuses(search, x, keys, y).values()) == {"proven"}
    assert not search.program(x, keys, y).checked
    search.interpret(x, keys, y)
    assert np.array_equal(y, np.searchsorted(x, keys))


def test_a_search_that_leaves_where_it_finds() -> None:
    """`lo <= hi` needs numbers below 0: a midpoint less 1 may be -1."""

    @gpu.kernel
    def find(x: Tensor, keys: Tensor, y: Tensor) -> None:
        gpu.launch(threads=KEYS)
        lo, hi, at = gpu.constant(0, "i32"), gpu.constant(size(x) - 1, "i32"), gpu.constant(-1, "i32")
        key = keys[gpu.thread]
        while lo <= hi:
            mid = (lo + hi) // 2
            v = x[mid]
            if v < key:
                lo = mid + 1
            elif v > key:
                hi = mid - 1
            else:
                at = mid
                break
        y[gpu.thread] = at

    x, y = np.arange(0, 200, 2, I), np.zeros(KEYS, I)
    keys = np.arange(KEYS, dtype=I) * 13 - 3
    assert set(statuses(find, x, keys, y).values()) == {"proven"}
    find.interpret(x, keys, y)
    assert y.tolist() == [k // 2 if 0 <= k < 200 and k % 2 == 0 else -1 for k in keys.tolist()]


def test_a_search_among_unknown_many() -> None:
    @gpu.kernel
    def search(x: "(N)", keys: "(M)", y: "(M)") -> None:  # type: ignore[name-defined]  # noqa: F821
        gpu.launch(grid=(size(keys) + 31) // 32, threads=32)
        i = gpu.workgroup.x * 32 + gpu.thread
        if i < size(keys):
            lo, hi = gpu.constant(0, "u32"), gpu.cast(size(x), "u32")
            while lo < hi:
                mid = (lo + hi) // 2
                if x[mid] < keys[i]:
                    lo = mid + 1
                else:
                    hi = mid
            y[i] = lo

    verdict = search.verify(np.zeros(1000, F), np.zeros(50, F), np.zeros(50, U), prover="cutepy")
    assert verdict.ok, verdict


def test_a_search_between_ends_that_memory_holds() -> None:
    @gpu.kernel
    def rows(starts: Tensor, x: Tensor, y: Tensor) -> None:
        gpu.launch(threads=8)
        lo, hi = gpu.minimum(starts[gpu.thread], size(x)), gpu.minimum(starts[gpu.thread + 1], size(x))
        while lo < hi:
            mid = (lo + hi) // 2
            if x[mid] < 5:
                lo = mid + 1
            else:
                hi = mid
        y[gpu.thread] = lo

    assert set(statuses(rows, np.zeros(9, U), np.zeros(100, I), np.zeros(8, U)).values()) == {"proven"}


@pytest.mark.parametrize(
    ("goes_on", "middle", "up", "down", "claim", "why"),
    [
        (lambda lo, hi: lo < hi, half, 0, 0, "bounded loops", "the lower end stays where the middle is it"),
        (lambda lo, hi: lo <= hi, half, 1, 0, "in bounds x", "the middle may be the end"),
        (lambda lo, hi: lo <= hi, half, 1, 0, "bounded loops", "the upper end stays"),
        (lambda lo, hi: lo < hi, half, 1, -1, "bounded loops", "the upper end may go back up"),
        (lambda lo, hi: lo != hi, half, 2, 0, "in bounds x", "the lower end may pass the upper one"),
        (lambda lo, hi: lo <= hi, half, 1, 1, "in bounds x", "the upper end may wrap around"),
    ],
)
def test_what_is_no_search_is_not_proven(
    goes_on: Callable[[Expr, Expr], Expr],
    middle: Callable[[Expr, Expr], Expr],
    up: int,
    down: int,
    claim: str,
    why: str,
) -> None:
    search = lower_bound(goes_on, middle, up, down)
    assert statuses(search, np.zeros(9, F), np.zeros(KEYS, F), np.zeros(KEYS, U))[claim] != "proven", why


def test_a_sum_that_may_wrap_is_no_midpoint() -> None:
    @gpu.kernel
    def wide(ends: Tensor, x: Tensor, y: Tensor) -> None:
        gpu.launch(threads=8)
        lo, hi = gpu.constant(0, "u32"), ends[gpu.thread]
        while lo < hi:
            mid = (lo + hi) // 2
            if x[mid % 8] < 5:
                lo = mid + 1
            else:
                hi = mid
        y[gpu.thread] = lo

    # 2^31 + (2^32 - 1) is 2^31 - 1 beyond 2^32: its half lies below the lower end.
    assert statuses(wide, np.zeros(8, U), np.zeros(8, I), np.zeros(8, U))["bounded loops"] == "undecided"


def test_what_others_may_write_is_not_what_was_asked() -> None:
    """A bound of a value that is read from an array that the kernel writes may hold of another read of it only."""

    @gpu.kernel
    def chase(n: Tensor, y: Tensor) -> None:
        gpu.launch(threads=8)
        at = gpu.constant(8, "u32")
        while at > 0:
            further = n[at - 1]
            if further < at:
                at = further
            n[gpu.thread] = at
        y[gpu.thread] = at

    assert statuses(chase, np.zeros(8, U), np.zeros(8, U))["bounded loops"] == "undecided"
