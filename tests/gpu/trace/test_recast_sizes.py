"""Words of unknown sizes seen as their parts: one trace and one proof for all sizes, the elements those of NumPy."""

from contextlib import suppress

import numpy as np
import pytest
from word_cases import parts

from cutepy import _, ceil_div, copy, gpu, local_tile, recast
from cutepy.errors import CutepyError
from cutepy.tensor import Tensor

PER = {"i4": 8, "u4": 8, "i8": 4, "u16": 2, "f16": 2, "bf16": 2, "e4m3": 4, "f32": 1}


@gpu.kernel(sizes={"words": "(M,N)", "out": "(M,?)"})
def opened(words: Tensor, out: Tensor, *, kind: str, late: bool) -> None:
    """The elements of each row, those of a word a thread; `late`, a row is recast, else the whole tensor."""
    M, N = words.shape
    gpu.launch(grid=(ceil_div(N, 32), M), threads=32)
    i, j = gpu.workgroup.y, gpu.workgroup.x * 32 + gpu.thread
    row = recast(words(i, _), kind) if late else recast(recast(words, "u16"), kind)(i, _)
    if j < N:
        copy(local_tile(row, PER[kind], j), local_tile(out(i, _), PER[kind], j))


@gpu.kernel(sizes={"values": "(M,?)", "words": "(M,N)"})
def closed(values: Tensor, words: Tensor, *, kind: str) -> None:
    """The words of elements."""
    M, N = words.shape
    gpu.launch(grid=(ceil_div(N, 32), M), threads=32)
    i, j = gpu.workgroup.y, gpu.workgroup.x * 32 + gpu.thread
    if j < N:
        copy(local_tile(values(i, _), PER[kind], j), local_tile(recast(words, kind)(i, _), PER[kind], j))


@pytest.mark.parametrize("kind", PER)
@pytest.mark.parametrize("late", [True, False])
def test_the_parts_of_words_for_all_sizes(kind: str, late: bool) -> None:
    if not late and PER[kind] == 1:
        kind = "u16"  # what was narrowed is not widened again
    before = opened.stats.traces
    for rows, columns, pitch in ((3, 5, 5), (2, 40, 44), (1, 1, 3), (4, 33, 33), (5, 64, 64)):
        whole = np.random.default_rng(rows).integers(0, 2**32, (rows, pitch), np.uint32) & 0x3F3F3F3F
        words = whole[:, :columns]
        wanted = parts(words.ravel(), kind).reshape(rows, -1)
        out = np.zeros_like(wanted)
        opened.interpret(words, out, kind=kind, late=late)
        assert np.array_equal(out, wanted) and opened.verify(words, out, kind=kind, late=late).ok
        again = np.zeros((rows, pitch), np.uint32)
        closed.interpret(out, again[:, :columns], kind=kind)
        assert np.array_equal(again[:, :columns], words) and not again[:, columns:].any()
        assert closed.verify(out, again[:, :columns], kind=kind).ok
        assert not opened.size_reason and not closed.size_reason
    assert opened.stats.traces - before <= 2  # where 4 divides sizes, and where it does not


@pytest.mark.parametrize(
    ("cut", "said"),
    [
        (lambda x: recast(x(_, 0), "i8"), "no mode along the axis of stride 1"),
        (lambda x: recast(recast(x, "i8"), "i32"), "to as many bits or fewer"),
    ],
)
def test_what_has_no_parts_along_the_axis_is_refused(cut: object, said: str) -> None:
    @gpu.kernel(sizes={"x": "(M,N)", "y": "(M,N)"})
    def refused(x: Tensor, y: Tensor) -> None:
        gpu.launch(threads=1)
        seen: Tensor = cut(x)  # type: ignore[operator]
        y[0, 0] = gpu.cast(seen[(0,) * seen.rank], "u32")

    given = np.ones((4, 4), np.uint32), np.zeros((4, 4), np.uint32)
    with suppress(CutepyError):  # a kernel of these sizes alone may know how
        refused.interpret(*given)
    assert said in refused.size_reason
