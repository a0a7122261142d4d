"""Numbers packed in words are what NumPy says the bits are: functions, views of tensors in any memory, and stores."""

import random

import numpy as np
import pytest
from word_cases import BITS, SMALL_FLOATS, WORDS, applied, joined, matvec, one_by_one, operands, parts, spread

from cutepy import gpu
from cutepy.errors import KernelError, TensorError
from cutepy.layout import Layout, _, ceil_div, composition
from cutepy.tensor import Tensor, local_tile, make_tensor, recast
from cutepy.tensor.functions import Word

EVERY = np.concatenate(
    [
        np.arange(1 << 16, dtype=np.uint32) * 0x9E3779B1,
        (np.arange(1 << 15, dtype=np.uint32) << 17) | np.arange(1 << 15, dtype=np.uint32) << 1,
    ]
)


@pytest.mark.parametrize("function", WORDS, ids=lambda f: f.name)
def test_functions_in_a_kernel_as_on_arrays(function: Word) -> None:
    given = operands(function)
    own = getattr(gpu, function.name)
    with np.errstate(over="ignore"):
        want = own(*given)
    want = np.stack(want if isinstance(want, tuple) else (want,), axis=-1)
    out = np.zeros(want.shape, want.dtype)
    applied.interpret(tuple(given), out, name=function.name)
    np.testing.assert_array_equal(out, want)
    assert want.dtype == function.dtype.numpy and applied.verify(tuple(given), out, name=function.name).ok


def test_the_laws_by_python() -> None:
    a, b = 0x80FF017F, 0x7F80FF01
    bytes_of = [int.from_bytes([w >> s & 255], "little", signed=True) for w in (a, b) for s in (0, 8, 16, 24)]
    assert gpu.dot4I8Packed(np.uint32(a), np.uint32(b)) == sum(
        x * y for x, y in zip(bytes_of[:4], bytes_of[4:], strict=True)
    )
    assert [int(x) for x in gpu.unpack4xI8(np.uint32(a))] == bytes_of[:4]
    assert (
        gpu.pack4xI8(*map(np.int32, bytes_of[:4])) == a and gpu.pack4xU8(*map(np.uint32, (1, 2, 3, 260))) == 0x04030201
    )
    assert gpu.pack2x16float(np.float32(1), np.float32(-2)) == 0xC0003C00
    assert [float(x) for x in gpu.unpack4x8snorm(np.uint32(0x7F008180))] == [-1, -1, 0, 1]
    assert gpu.bitcast(np.float32(1), "u32") == 0x3F800000 and gpu.bitcast(np.int32(-1), "u32") == 0xFFFFFFFF


@pytest.mark.parametrize("kind", BITS)
@pytest.mark.parametrize("through", ["", "registers", "memory"])
def test_words_seen_as_their_parts(kind: str, through: str) -> None:
    words = EVERY[: 64 * 1024] if not through else EVERY[:4096]
    want = parts(words, kind)
    out = np.zeros(len(want), want.dtype)
    spread.interpret(words, out, kind=kind, through=through)
    assert np.array_equal(out.view(np.uint32), want.view(np.uint32)) or np.array_equal(out, want, equal_nan=True)
    assert spread.verify(words, out, kind=kind, through=through).ok


@pytest.mark.parametrize("kind", BITS)
def test_parts_at_places_that_data_decides(kind: str) -> None:
    words = EVERY[:40]
    want = parts(words, kind)
    at = np.random.default_rng(0).integers(0, len(want), 64).astype(np.uint32)
    out = np.zeros(64, want.dtype)
    one_by_one.interpret(words, at, out, kind=kind)
    assert np.array_equal(out, want[at], equal_nan=True) and one_by_one.verify(words, at, out, kind=kind).ok


@pytest.mark.parametrize("kind", BITS)
def test_whole_words_are_written(kind: str) -> None:
    words = EVERY[100:164] & (0xBFBFBFBF if kind in SMALL_FLOATS else 0xFFFFFFFF)  # no NaN
    want = parts(words, kind)
    if kind == "f16":
        want = np.nan_to_num(want)
        words = want.astype(np.float16).view(np.uint32)
    found = np.zeros_like(words)
    joined.interpret(want, found, kind=kind)
    assert np.array_equal(found, words) and joined.verify(want, found, kind=kind).ok


def test_a_part_of_a_word_is_not_written() -> None:
    @gpu.kernel
    def bytes_apart(words: Tensor) -> None:
        gpu.launch(grid=1, threads=64)
        recast(words, "u8")[gpu.thread] = 1

    @gpu.kernel
    def half(words: Tensor) -> None:
        gpu.launch(grid=1, threads=8)
        tile = local_tile(recast(words, "i8"), (8,), (gpu.thread,))
        for j in gpu.unroll(8):
            tile[j] = j

    for kernel in (bytes_apart, half):
        with pytest.raises(KernelError, match=r"test_words\.py:\d+: store of .8 in a part of word .* of words"):
            kernel.ir(np.zeros(16, np.uint32))


@pytest.mark.parametrize("name", ["int8", "uint8", "int16", "uint16"])
def test_small_integers_are_arguments(name: str) -> None:
    @gpu.kernel
    def doubled(x: Tensor, out: Tensor) -> None:
        gpu.launch(grid=x.shape[0], threads=32)
        for j in gpu.loop(x.shape[1] // 32):
            out[gpu.workgroup.x, j * 32 + gpu.thread] = 2 * x[gpu.workgroup.x, j * 32 + gpu.thread]

    limits = np.iinfo(name)
    whole = np.random.default_rng(3).integers(limits.min, limits.max, (12, 128), name, endpoint=True)
    for x in (whole, whole[2:7], whole[::3, 32:96], np.asfortranarray(whole)):
        out = np.zeros(x.shape, np.int32 if name[0] == "i" else np.uint32)
        doubled.interpret(x, out)
        assert np.array_equal(out, 2 * x.astype(out.dtype)) and doubled.verify(x, out).ok
    with pytest.raises(KernelError, match="words of 32 bits, and it has 3 bytes; pad its memory"):
        doubled.ir(np.zeros((1, 3), np.int8), np.zeros((1, 3), np.int32))


@pytest.mark.parametrize("kind", ["i4", "u4"])
@pytest.mark.parametrize("memory", ["uint8", "uint32", "int16"])
def test_four_bits_on_the_host(kind: str, memory: str) -> None:
    data = np.frombuffer(np.random.default_rng(2).bytes(64), memory).copy()
    seen = recast(make_tensor(data), kind)
    want = parts(data.view(np.uint32), kind)
    assert np.array_equal(seen.numpy(), want) and recast(seen, memory).numpy().tolist() == data.tolist()
    rows = recast(make_tensor(data.reshape(4, -1)), kind)
    assert np.array_equal(rows.numpy(), want.reshape(4, -1)) and np.array_equal(rows(2, _).numpy(), want[64:96])
    seen[5], seen[6] = 7, 1
    want[5:7] = 7, 1
    assert np.array_equal(recast(make_tensor(data), kind).numpy(), want)
    for wrong in (16, -9, 0.5):
        with pytest.raises(TensorError, match=f"{kind} holds"):
            seen[3] = wrong
    assert np.array_equal(seen.numpy(), want)


def test_weights_of_four_bits_are_a_tensor() -> None:
    g = np.random.default_rng(0)
    values = g.integers(-8, 8, (6, 512)).astype(np.int8)
    packed = ((values[:, 0::2] & 15) | (values[:, 1::2] & 15) << 4).astype(np.uint8)
    scales, x = g.random((6, 16), np.float32), g.standard_normal(512).astype(np.float16)
    want = (values * np.repeat(scales, 32, axis=1)) @ x.astype(np.float32)
    for weights in (recast(make_tensor(packed), "i4"), values):
        y = np.zeros(6, np.float32)
        matvec.interpret(weights, scales, x, y)
        np.testing.assert_allclose(y, want, rtol=1e-4, atol=1e-4)
        assert matvec.verify(weights, scales, x, y).ok


def test_what_is_no_recast_is_refused() -> None:
    @gpu.kernel
    def wide(x: Tensor) -> None:
        gpu.launch(threads=1)
        recast(x, "f64")

    @gpu.kernel
    def half(x: Tensor) -> None:
        gpu.launch(threads=1)
        recast(x, "i4")

    with pytest.raises(TensorError, match="words of 4 bytes, which hold no whole number of f64"):
        wide.ir(np.zeros(6, np.float32))
    with pytest.raises(TensorError, match="of 32 bits in kernels"):
        half.ir(np.zeros(8, np.float16))
    with pytest.raises(KernelError, match="widths differ"):
        gpu.bitcast(np.float32(1), "f16")


def test_the_text_of_a_load() -> None:
    """A word is loaded once, and its parts are shifted out; vectors of words where they lie side by side."""
    words, out = np.zeros(128, np.uint32), np.zeros(1024, np.int32)
    text = spread.wgsl(words, out, kind="i4", through="")
    assert text.count("words[") == 1 and "vec2<u32>" in text


@gpu.kernel
def picked(words: Tensor, out: Tensor, *, kind: str, layout: Layout, start: int) -> None:
    """out = the elements of a layout over the parts of the words."""
    seen = recast(words, kind)
    view = composition(Tensor(seen.engine, seen.layout, seen.offset + start), layout)
    gpu.launch(grid=ceil_div(layout.size, 32), threads=32)
    i = gpu.workgroup.x * 32 + gpu.thread
    with gpu.when(i < layout.size):
        out[i] = view[i]


@pytest.mark.parametrize("seed", range(60))
def test_any_layout_over_the_parts(seed: int) -> None:
    rng = random.Random(f"{seed} of words")
    kind = rng.choice([*BITS])
    shape = tuple(rng.choice([1, 2, 3, 4, 5, 8]) for _ in range(rng.randint(1, 3)))
    layout = Layout(shape, tuple(rng.choice([0, 1, 2, 3, 8, 16, 31]) for _ in shape))
    start, words = rng.randint(0, 20), EVERY[: rng.randint(60, 120)] & 0x3F3F3F3F  # no NaN
    want = parts(words, kind)
    start = min(start, max(0, len(want) - layout.cosize))
    if layout.cosize > len(want):
        return
    out = np.zeros(layout.size, want.dtype)
    picked.interpret(words, out, kind=kind, layout=layout, start=start)
    assert np.array_equal(out, want[start + layout.offsets().ravel(order="F")])
    assert picked.verify(words, out, kind=kind, layout=layout, start=start).ok


def test_a_part_beyond_the_words_is_refuted() -> None:
    words, out = np.zeros(8, np.uint32), np.zeros(64, np.int32)
    layout = Layout(64)
    assert picked.verify(words, out, kind="i4", layout=layout, start=0).ok
    for start in (1, 8):
        found = picked.verify(words, out, kind="i4", layout=layout, start=start).refuted
        assert [(v.claim, v.array, v.witness.element) for v in found] == [("in bounds", "words", 8)]
        with pytest.raises(KernelError, match="reads words at element 8, it has 8"):
            picked.interpret(words, out, kind="i4", layout=layout, start=start)


def test_a_word_is_loaded_once() -> None:
    weights, scales = recast(make_tensor(np.zeros((4, 256), np.uint8)), "i4"), np.zeros((4, 16), np.float32)
    text = matvec.wgsl(weights, scales, np.zeros(512, np.float32), np.zeros(4, np.float32))
    assert text.count("= weights[") == 1

    @gpu.kernel
    def written(x: Tensor, y: Tensor) -> None:
        gpu.launch(threads=8)
        first = y[gpu.thread] + x[0]
        y[gpu.thread] = first
        y[gpu.thread] = first + y[gpu.thread] + x[0]
        if gpu.thread > 2:
            y[gpu.thread] = y[gpu.thread] + x[1]
        y[gpu.thread] = y[gpu.thread] + x[1]

    x, y = np.array([3, 5], np.float32), np.arange(8, dtype=np.float32)
    text = written.wgsl(x, y)
    # The neighbours x[0] and x[1] are one vector, which is element 0 of an array of such.
    assert text.count("= x[0u]") == 1 and text.count("x[") == 1 and text.count("= y[") == 4
    written.interpret(x, y)
    first = np.arange(8) + 3
    assert np.array_equal(y, 2 * first + 3 + 5 + 5 * (np.arange(8) > 2))
