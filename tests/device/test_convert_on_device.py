"""Conversions on a device: shuffles within its own subgroups, and a refusal where they are too small."""

import random

import pytest
from layout.convert_cases import fragments, random_pair
from test_convert import case, converted

from cutepy import Layout, gpu
from cutepy.errors import DeviceError
from cutepy.gpu.runtime import Device


@pytest.mark.parametrize("seed", range(12))
def test_random_pairs(device: Device, seed: int) -> None:
    rng = random.Random(f"{seed} on a device")
    lanes = min(32, device.subgroup_size())
    source, target = random_pair(rng, rng.choice(("permuted", "linear")), lanes.bit_length() - 1, rng.randint(0, 4))
    x, y, wanted = case(source, target, 2)
    found = gpu.array(y, device=device)
    options = {"source": source, "target": target, "lanes": lanes, "through": "shuffles"}
    converted(gpu.array(x, device=device), found, **options, threads=len(x))
    assert (found.numpy() == wanted).all(), (source, target)


def test_pairs_of_fragments(device: Device) -> None:
    """Every seventh pair of matrix instructions' registers, within the device's own subgroups or through memory."""
    every = [layout for layout in fragments() if layout.size <= 512]
    pairs = [(s, t) for s in every for t in every if (s[0].size, s.cosize) == (t[0].size, t.cosize)][::7]
    for source, target in pairs:
        x, y, wanted = case(source, target)
        found = gpu.array(y, device=device)
        options = {"source": source, "target": target, "lanes": min(32, device.subgroup_size()), "through": None}
        converted(gpu.array(x, device=device), found, **options, threads=len(x))
        assert (found.numpy() == wanted).all(), (source, target)
    assert len(pairs) > 10


def test_a_trip_through_memory(device: Device) -> None:
    source, target = Layout((64, 8), (8, 1)), Layout((64, 8), (1, 64))
    x, y, wanted = case(source, target)
    found = gpu.array(y, device=device)
    converted(gpu.array(x, device=device), found, source=source, target=target, lanes=4, through=None, threads=64)
    assert (found.numpy() == wanted).all()


def test_small_subgroups_are_refused(device: Device) -> None:
    size = device.subgroup_size()
    source, target = Layout((2 * size, 2), (2, 1)), Layout((2 * size, 2), (1, 2 * size))
    x, y, _wanted = case(source, target)
    options = {"source": source, "target": target, "lanes": 2 * size, "through": "shuffles"}
    with pytest.raises(DeviceError, match=f"have {size}; give gpu.convert"):
        converted(gpu.array(x, device=device), gpu.array(y, device=device), **options, threads=len(x))
