"""Domains, periods and trials: rules of `gpu/verify/model.py`, against every value."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutepy.gpu.ir import Buffer, Expr, Kernel, binary, const, new_arena, param, var
from cutepy.gpu.ir.ranges import Points
from cutepy.gpu.verify.collect import collect
from cutepy.gpu.verify.model import Model
from cutepy.gpu.verify.model import _edges as edges
from cutepy.tensor.dtypes import u32


def model_of() -> Model:
    return collect(Kernel("k", (Buffer("x", u32, 8),), (), grid=(1, 1, 1), workgroup=(4, 1, 1)))


@given(st.integers(1, 1000), st.integers(2, 40))
def test_edges_are_some_of_the_numbers_with_both_ends(extent: int, most: int) -> None:
    found = edges(extent, most).tolist()
    assert found == sorted(set(found)) and len(found) <= most and set(found) <= set(range(extent))
    assert len(found) == min(extent, most) or extent > most
    assert {0, extent - 1} <= set(found)


@settings(max_examples=200)
@given(st.data())
def test_values_come_again_after_a_period(data: st.DataObject) -> None:
    with new_arena():
        k = var("k", hi=47)
        k_like: Expr = k
        for _ in range(data.draw(st.integers(1, 3))):
            op = data.draw(st.sampled_from(["+", "*", "%", "%", "//"]))
            k_like = binary(op, k_like, const(data.draw(st.integers(1, 6))))
        period = model_of().period(k, [k_like])
        values = Points({k: np.arange(48, dtype=np.uint32)}).whole(k_like)
        values = np.broadcast_to(values, (48,))
        assert 1 <= period <= 48
        assert np.array_equal(values[period:], values[: 48 - period])


def test_a_domain_too_large_is_cut_to_its_edges() -> None:
    with new_arena():
        model, k = model_of(), var("k", hi=10**6)
        whole, part = model.domain([k], each=1), model.domain([k], each=1, most=1000)
        assert whole.complete and whole.size == 10**6 + 1
        assert not part.complete and part.size <= 1000 and part.point(part.size - 1) == {k: 10**6}


def test_chunks_are_all_combinations() -> None:
    with new_arena():
        a, b = var("a", hi=2), var("b", hi=4)
        domain = model_of().domain([a, b], each=1)
        seen = [tuple(domain.point(int(n)).values()) for numbers in domain.chunks(1 << 18) for n in numbers]
        assert sorted(seen) == [(i, j) for i in range(3) for j in range(5)]


@pytest.mark.parametrize("number", [0, 1, 6, 7, 8, 64])
def test_numbers_are_tried_near_what_they_are_compared_with(number: int) -> None:
    with new_arena():
        n, m = param("n", u32), param("m", u32)
        trials = list(model_of().trials([binary("==", n, const(7)), m]))
        assert any(trial.numbers[n] == number for trial in trials)
        assert trials[0].numbers == {n: 64, m: 64} and len(trials) <= 48


def test_without_parameters_data_are_tried_once() -> None:
    with new_arena():
        assert [trial.numbers for trial in model_of().trials([var("k")])] == [{}]


def test_numbers_of_the_launch_are_tried_together() -> None:
    """Two that must both be 3, which the kernel compares them with, are 3 in one trial."""
    n, m = param("n", u32), param("m", u32)
    with new_arena():
        tried = [tuple(data.numbers.values()) for data in model_of().trials([binary("+", n, m), const(3)])]
        assert {(3, 3), (64, 3), (3, 64), (0, 0), (4, 4), (2, 2)} <= set(tried)
