"""`statements`: a loop of the kernel counts as Python's range does, and says what it is where nothing reads it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutepy import KernelError, gpu
from cutepy.gpu.trace.statements import LoopRange, UnreadBlockError, When

SMALL = st.integers(-4, 9)


@settings(max_examples=120)
@given(SMALL, SMALL, st.integers(1, 4), st.tuples(*[st.booleans()] * 3))
def test_a_loop_counts_as_a_range_does(start: int, stop: int, step: int, known: tuple[bool, bool, bool]) -> None:
    """Each of its ends a number, or a value that the GPU alone knows."""

    @gpu.kernel
    def k(ends: object, y: object) -> None:
        gpu.launch(threads=1)
        first, last, by = (n if here else ends[i] for i, (n, here) in enumerate(zip(numbers, known, strict=True)))
        at = 0
        for i in gpu.loop(last, start=first, step=by):
            y[at] = i
            at += 1

    numbers = start, stop, step
    y = np.full(16, 99, np.int32)
    k.interpret(np.array(numbers, np.int32), y)
    wanted = list(range(start, stop, step))
    assert list(y) == wanted + [99] * (16 - len(wanted))


def looped(*ends: object) -> None:
    @gpu.kernel
    def k(u: object, i: object, f: object, y: object) -> None:
        gpu.launch(threads=1)
        values = {"u": u[0], "i": i[0], "f": f[0]}
        start, stop, step = (values.get(end, end) for end in ends)
        for n in gpu.loop(stop, start=start, step=step):
            y[0] = n

    k.interpret(np.ones(1, np.uint32), np.ones(1, np.int32), np.ones(1, np.float32), np.zeros(1, np.int32))


@pytest.mark.parametrize(
    ("ends", "message"),
    [
        (("u", "i", 1), "it counts in i32 and in u32; convert one with gpu.cast"),
        ((0, "f", 1), "gpu.loop counts with whole numbers"),
        ((0, 2.5, 1), "gpu.loop counts with whole numbers"),
        ((0, "i", 0), "a loop counts up by 1 or more"),
        ((4, "i", -1), "a loop counts up by 1 or more"),
        ((-1, "u", 1), "it counts in u32, from 0 to 4294967295"),
        ((0, 2**32, 1), "it counts in u32"),
        ((0, "i", 2**31), "it counts in i32"),
    ],
)
def test_what_no_loop_counts_with_is_refused(ends: tuple[object, object, object], message: str) -> None:
    with pytest.raises(KernelError, match=message):
        looped(*ends)


def test_an_end_below_all_numbers_of_the_type_gives_no_iteration() -> None:
    looped("u", -3, 1)


def test_a_range_that_is_a_loop_is_no_sequence() -> None:
    seen: list[str] = []

    @gpu.kernel
    def k(x: object, y: object) -> None:
        gpu.launch(threads=1)
        loop = gpu.loop(x[0])
        assert isinstance(loop, LoopRange)
        for ask in (len, lambda r: r[0], lambda r: 3 in r, reversed):
            try:
                ask(loop)
            except KernelError as error:
                seen.append(str(error))
        y[0] = 1

    k.interpret(np.ones(1, np.int32), np.zeros(1, np.int32))
    assert [text.partition("has no ")[2].partition(";")[0] for text in seen] == [
        "length in Python",
        "items or slices in Python",
        "`in`: compare with its ends",
        "reverse: subtract its counter from the last",
    ]


def test_a_block_that_nobody_reads_says_so() -> None:
    with pytest.raises(UnreadBlockError, match=r"k.py:1: gpu.when outside a `for` or `with` that cutepy can read"):
        When(True, "k.py:1").__enter__()
