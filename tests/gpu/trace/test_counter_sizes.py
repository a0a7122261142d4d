"""Sizes at which a claim for all sizes fails: rules of `gpu/trace/counter_sizes.py`."""

from itertools import islice

import pytest
from size_judging import said_for
from size_kernels import WRONG, some, wrong_arguments

from cutepy import gpu
from cutepy.gpu.trace.counter_sizes import launches, refuted
from cutepy.gpu.verify import Status


@pytest.mark.parametrize("name", ["into_one_row", "neighbours"])
def test_what_is_refuted_fails_at_the_sizes_that_are_named(name: str) -> None:
    kernel, unknowns = WRONG[name]
    said = said_for(kernel, [some(*(20, 30)[:unknowns]) for _argument in range(2)])
    assert not isinstance(said, str)
    found = refuted(said.launch, said.verification)
    assert {v.status for v in found.refuted} == {Status.REFUTED} and found.refuted
    for verdict in found.refuted:
        where = verdict.reason.removeprefix("where ").partition(":")[0]
        sizes = {name: int(n) for name, n in (entry.split(" = ") for entry in where.split(", "))}
        known = kernel.at(**sizes).verify()
        assert (verdict.claim, verdict.array) in {(v.claim, v.array) for v in known.refuted}


def test_sizes_are_tried_from_the_smallest_on_and_are_as_stated() -> None:
    @gpu.kernel(given=("4 divides n",))
    def copied(x: "(n)", y: "(n)") -> None:  # noqa: F821
        gpu.launch(threads=32)
        for i in gpu.loop(x.shape[0], start=gpu.thread, step=32):
            y[i] = x[i]

    said = said_for(copied, [some(8), some(8)])
    assert not isinstance(said, str)
    tried = [sizes["n"] for sizes, _ in islice(launches(said.launch), 9)]
    assert tried == sorted(set(tried)) and len(tried) == 9 and not any(n % 4 for n in tried)


@pytest.mark.parametrize("name", ["one_more", "into_one_row", "step_too_short"])
def test_a_launch_at_sizes_is_that_of_packed_arrays_of_these_sizes(name: str) -> None:
    kernel, unknowns = WRONG[name]
    said = said_for(kernel, wrong_arguments(name, *(20, 32)[:unknowns]))
    assert not isinstance(said, str)
    for sizes, tried in islice(launches(said.launch), 6):
        given = said_for(kernel, wrong_arguments(name, *sizes.values()))
        assert not isinstance(given, str)
        packed = given.launch
        assert (tried.params, tried.grid) == (packed.params, packed.grid)
        assert tried.call.values.items() <= packed.call.values.items()
        assert [a.length for a in tried.call.arguments] == [a.length for a in packed.call.arguments]
