"""Workgroup memory has one size: what the launch checks, `verify` decides, a report says and a plan promises."""

import random

from cutepy import gpu
from cutepy.gpu.inspect.report import report
from cutepy.gpu.runtime.program import Limits
from cutepy.layout import Layout


@gpu.kernel
def fills(*, arrays):
    gpu.launch(threads=1)
    for dtype, length in arrays:
        gpu.shared(dtype, Layout(length))[gpu.thread] = 1


def test_launch_verify_and_report_count_the_same_workgroup_memory() -> None:
    """WebGPU counts each array in whole blocks of 16 bytes, a bool as 4."""
    pick = random.Random(3)
    refused = 0
    for _ in range(60):
        types = pick.choices(["f32", "f16", "u32", "bool"], k=pick.randint(1, 4))
        arrays = tuple((dtype, pick.randint(1, 4200)) for dtype in types)
        counted = sum(-(-length * (2 if dtype == "f16" else 4) // 16) * 16 for dtype, length in arrays)
        kernel, program = fills.ir(arrays=arrays), fills.program(arrays=arrays)
        assert kernel.shared_bytes == program.shared_bytes == report(kernel).workgroup_bytes == counted
        (verdict,) = [v for v in fills.verify(arrays=arrays).verdicts if v.claim == "within limits"]
        too_large = program.excesses(Limits(), frozenset(program.needs))
        assert (verdict.status == "refuted") == bool(too_large) == (counted > 16384)
        refused += verdict.status == "refuted"
    assert 10 < refused < 50


def test_two_arrays_that_fill_more_than_the_device_has_only_with_their_alignment() -> None:
    arrays = ("f32", 1), ("f32", 4095)
    assert not fills.verify(arrays=arrays).ok
    assert fills.program(arrays=arrays).excesses(Limits()) == ["16400 bytes of workgroup memory, the device has 16384"]
