"""`packing`: the fields of a word are what was stored in it, and no store leaves fields of a word to others."""

import numpy as np
import pytest
from expressions import evaluate
from hypothesis import given
from hypothesis import strategies as st

from cutepy.errors import KernelError
from cutepy.gpu.ir import Expr, const, var
from cutepy.gpu.ir.simplify import simplify
from cutepy.gpu.trace.packing import object_array, unpack, whole_words
from cutepy.tensor.dtypes import DType, f32, i4, i8, i16, i32, u4, u8, u16, u32

KINDS = [i4, u4, i8, u8, i16, u16, i32, u32]


def number(value: Expr) -> int:
    return evaluate(simplify(value), {})


@given(st.sampled_from(KINDS), st.integers(0, 2**32 - 1))
def test_a_field_is_its_bits_with_the_sign_of_its_type(dtype: DType, word: int) -> None:
    per = 32 // dtype.bits
    for inside in range(per):
        bits = word >> inside * dtype.bits & ((1 << dtype.bits) - 1)
        signed = bits - (1 << dtype.bits) if dtype.kind == "i" and bits >> dtype.bits - 1 else bits
        field = unpack(const(word), inside, dtype)
        assert number(field) == signed and field.dtype is (i32 if dtype.kind == "i" else u32)
        # The same where the position is known on the GPU alone.
        at = var("at", hi=per - 1)
        assert evaluate(unpack(const(word), at, dtype), {at: inside}) == signed


@given(st.sampled_from(KINDS), st.tuples(*[st.integers(0, 2**32 - 1)] * 2))
def test_words_of_their_fields_are_the_words(dtype: DType, words: tuple[int, int]) -> None:
    per = 32 // dtype.bits
    at = np.array([[w] * per for w in range(2)], object)
    inside = np.array([list(range(per))] * 2, object)
    values = unpack(np.array([[const(w)] * per for w in words], object), inside, dtype)
    indices, new, kept = whole_words((at, inside), dtype, values, None, "x")
    assert [number(x) for x in indices] == [0, 1] and kept is None
    assert [number(x) for x in new] == list(words)


def test_one_condition_keeps_a_word_or_does_not() -> None:
    fields = [const(i, i32) for i in range(4)]
    where = var("inside") < 3
    _, (word,), kept = whole_words(([0] * 4, list(range(4))), i8, fields, where, "x")
    assert kept is not None and list(kept) == [where] and number(word) == 0x03020100
    with pytest.raises(KernelError, match="store of i8 in a part of word 0u of x"):
        tests = object_array([where, where, where, var("other") < 3])
        whole_words(([0] * 4, list(range(4))), i8, fields, tests, "x")


@pytest.mark.parametrize("inside", [[0, 1, 2], [0, 1, 2, 2], [1, 2, 3, var("at", hi=3)]])
def test_a_store_of_a_part_of_a_word_is_refused(inside: list[object]) -> None:
    with pytest.raises(KernelError, match=r"a part of word 5u of x: .* let one thread write 4 neighbours"):
        whole_words(([5] * len(inside), inside), u8, const(1), None, "x")


def test_a_value_of_another_kind_is_refused() -> None:
    with pytest.raises(KernelError, match=r"store of a f32 value as i8; convert it with gpu.cast"):
        whole_words(([0] * 4, list(range(4))), i8, const(1.0, f32), None, "x")
