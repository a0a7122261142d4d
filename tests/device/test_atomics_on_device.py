"""Atomics on a device: what thousands of threads update at once is what NumPy adds up in turn."""

import sys
from pathlib import Path

import numpy as np
import pytest

from cutepy import gpu
from cutepy.gpu.runtime import Device

sys.path.insert(0, str(Path(__file__).parents[1] / "gpu"))
from atomic_cases import floats, locked, summed

COUNT = 4096
KEYS = np.random.default_rng(1).integers(0, 16, COUNT).astype(np.uint32)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "int32", "uint32"])
def test_updates(device: Device, dtype: str, shared: bool) -> None:
    values = np.random.default_rng(2).integers(0, 9, COUNT).astype(dtype)
    for op, numpys in (("add", np.add), ("max", np.maximum), ("min", np.minimum)):
        out, olds = (gpu.array(np.zeros(n, dtype), device=device) for n in (16, COUNT))
        summed(gpu.array(KEYS, device=device), gpu.array(values, device=device), out, olds, op=op, shared=shared)
        want = np.zeros(16, dtype)
        numpys.at(want, KEYS, values)
        assert np.array_equal(out.numpy(), want)
        if op == "add" and not shared:  # the values before are a running sum of each key, in some order
            found = olds.numpy()
            for key in range(16):
                mine = np.sort(found[KEYS == key])
                assert mine[0] == 0 and (np.diff(mine) <= 8).all()


def test_a_set_by_compare_exchange(device: Device) -> None:
    keys = np.random.default_rng(3).integers(1, 300, COUNT).astype(np.uint32)
    table, wins = (gpu.array(np.zeros(n, np.uint32), device=device) for n in (512, COUNT))
    locked(gpu.array(keys, device=device), table, wins)
    held = table.numpy()
    assert sorted(held[held > 0].tolist()) == sorted(set(keys.tolist()))
    assert (wins.numpy() == 1).sum() == len(set(keys.tolist()))


def test_floats(device: Device) -> None:
    y = gpu.array(np.zeros(8, np.float32), device=device)
    floats(gpu.array(np.array([1.5, -2.0, 7.0, 9.0], np.float32), device=device), y)
    assert y.numpy().tolist() == [6.5, 1.5, 1.5, -2.0, 1.0, 7.0, 0.0, 0.0]
