"""What a workgroup does together, by a device's own subgroups and without them."""

import sys
from pathlib import Path

import numpy as np
import pytest

from cutepy import gpu
from cutepy.gpu.runtime import Device

sys.path.insert(0, str(Path(__file__).parents[1] / "gpu"))
from collective_cases import NUMPY, SCANS, data, handed_on, moments, reduced, scanned, searched, voted, votes

SHAPES = [(4, 64, 1), (2, 256, 3), (2, 37, 2), (2, 96, 1)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "int32", "uint32"])
def test_it_is_numpy(device: Device, shape: tuple[int, int, int], dtype: str) -> None:
    """A third of the operations: each type meets all of them, shape by shape."""
    third = slice((SHAPES.index(shape) + len(dtype)) % 3, None, 3)
    for seed, (op, wanted) in list(enumerate(NUMPY.items()))[third]:
        x = (
            np.nan_to_num(data(shape, dtype, seed), posinf=1, neginf=2)
            if op in ("sum", "prod")
            else data(shape, dtype, seed)
        )
        for arrays in ([x, np.zeros(shape[:2], dtype)],):
            out = gpu.array(arrays[1], device=device)
            reduced(gpu.array(x, device=device), out, op=op, rows=2)
            expected = np.array([wanted(row) for row in x], dtype)
            np.testing.assert_array_equal(out.numpy(), np.broadcast_to(expected[:, None], arrays[1].shape), op)
    for seed, (op, wanted) in list(enumerate(SCANS.items()))[third]:
        x = np.nan_to_num(data(shape, dtype, seed), posinf=1, neginf=2)
        out = gpu.array(np.zeros_like(x), device=device)
        scanned(gpu.array(x, device=device), out, op=op, exclusive=False)
        rows = x.reshape(shape[0], -1)
        with np.errstate(all="ignore"):
            expected = np.stack([wanted.accumulate(row) for row in rows])
        np.testing.assert_array_equal(out.numpy().reshape(rows.shape), expected, op)
        out, last = (gpu.array(t, device=device) for t in (np.zeros_like(x), np.zeros(shape[1], dtype)))
        handed_on(gpu.array(x, device=device), out, last, op=op, exclusive=True)
        with np.errstate(all="ignore"):
            expected = wanted.accumulate(np.concatenate([[2], x.ravel()]).astype(dtype))
        np.testing.assert_array_equal(out.numpy().ravel(), expected[:-1], op)
        np.testing.assert_array_equal(last.numpy(), np.full(shape[1], expected[-1]), op)
    for greatest in (True, False):
        x = data(shape, dtype, 5)
        best, at = (
            gpu.array(np.zeros(shape[:2], dtype), device=device),
            gpu.array(np.zeros(shape[:2], np.uint32), device=device),
        )
        searched(gpu.array(x, device=device), best, at, greatest=greatest)
        rows = x.reshape(shape[0], -1)
        places = (np.argmax if greatest else np.argmin)(rows, axis=1)
        np.testing.assert_array_equal(at.numpy(), np.broadcast_to(places[:, None], shape[:2]))
        np.testing.assert_array_equal(best.numpy(), np.broadcast_to(rows[range(len(rows)), places][:, None], shape[:2]))


def test_a_function_of_several_values(device: Device) -> None:
    x = np.random.default_rng(0).standard_normal((3, 96), dtype=np.float32)
    out = gpu.array(np.zeros((3, 96, 3), np.float32), device=device)
    moments(gpu.array(x, device=device), out)
    expected = np.stack([np.full(3, 96.0), x.mean(1), x.var(1) * 96], axis=1)
    np.testing.assert_allclose(out.numpy(), np.broadcast_to(expected[:, None], (3, 96, 3)), rtol=1e-4, atol=1e-5)


def test_both_forms_run(device: Device) -> None:
    """With the device's subgroups, if it has them, and through memory: called on host arrays and on the device's."""
    x, out = data((4, 64, 1), "int32", 0), np.zeros((4, 64), np.int32)
    program = reduced.program(gpu.array(x, device=device), gpu.array(out, device=device), op="sum", rows=2)
    assert program.needs == (("subgroups",) if "subgroups" in device.features else ())
    form = reduced._form(reduced._bind((x, out), {"op": "sum", "rows": 2}), subgroups=False)
    buffers = [device.upload(a) for a in (x, out)]
    device.launch(form.program(device.dialect, form.checked("auto")), buffers, [])
    found = device.read(buffers[1], np.int32).reshape(4, 64)
    assert np.array_equal(found, np.broadcast_to(x.sum((1, 2))[:, None], (4, 64)))


def test_votes(device: Device) -> None:
    if "subgroups" not in device.features:
        pytest.skip("NOT TESTED: the device has no subgroups")
    x = np.random.default_rng(1).integers(0, 9, 128).astype(np.uint32)
    out = gpu.array(np.zeros((128, 7), np.uint32), device=device)
    votes(gpu.array(x, device=device), out)
    assert np.array_equal(out.numpy(), voted(x, device.subgroup_size()))
