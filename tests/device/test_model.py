"""`examples/models/transformer.py` beside NumPy: a forward of all tokens, and the same tokens one by one."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cutepy.gpu.runtime import Device

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "models"
sys.path.insert(0, str(FOLDER))

from transformer import GROUP, Model, Sizes, load, quantised, random_weights, save  # noqa: E402


def dequantised(packed: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """The weights that 4-bit integers and their scales mean."""
    whole = np.stack([packed & 15, packed >> 4], -1).reshape(len(packed), -1).astype(np.int8)
    return (whole - 16 * (whole > 7)) * np.repeat(scales, GROUP, 1)


def expected(arrays: dict[str, np.ndarray], sizes: Sizes, ids: np.ndarray) -> np.ndarray:
    """The same by NumPy in float64."""
    w = {
        n: dequantised(a, arrays[f"{n}.scales"]) if a.dtype == np.uint8 else a.astype(float) for n, a in arrays.items()
    }
    half, tokens = sizes.head // 2, len(ids)
    turns = np.outer(np.arange(tokens), 1e4 ** -(np.arange(0, sizes.head, 2) / sizes.head))[:, None]

    def normal(x: np.ndarray, gain: str) -> np.ndarray:
        return x / np.sqrt((x * x).mean(1, keepdims=True) + 1e-5) * w[gain]

    def turned(x: np.ndarray) -> np.ndarray:
        a, b, x = x[..., :half], x[..., half:], np.exp(1j * turns)
        return np.concatenate([a * x.real - b * x.imag, a * x.imag + b * x.real], 2)

    x = w["embedding"][ids]
    for i in range(sizes.layers):
        h = normal(x, f"{i}.norm1")
        q, k, v = ((h @ w[f"{i}.{name}"].T).reshape(tokens, -1, sizes.head) for name in "qkv")
        q, k, v = turned(q), *(np.repeat(y, sizes.shared, 1) for y in (turned(k), v))
        scores = np.einsum("qhd,khd->hqk", q, k) / np.sqrt(sizes.head) + np.triu(np.full((tokens, tokens), -np.inf), 1)
        e = np.exp(scores - scores.max(2, keepdims=True))
        mixed = np.einsum("hqk,khd->qhd", e / e.sum(2, keepdims=True), v).reshape(tokens, -1)
        x = x + mixed @ w[f"{i}.o"].T
        h = normal(x, f"{i}.norm2")
        gate = h @ w[f"{i}.gate"].T
        x = x + (gate / (1 + np.exp(-gate)) * (h @ w[f"{i}.up"].T)) @ w[f"{i}.down"].T
    return normal(x, "norm") @ w["embedding"].T


def test_a_file_holds_what_was_saved(tmp_path: Path) -> None:
    arrays = random_weights(Sizes(layers=1))
    save(tmp_path / "x.safetensors", arrays)
    again = load(tmp_path / "x.safetensors")
    assert again.keys() == arrays.keys()
    assert all(again[n].dtype == a.dtype and np.array_equal(again[n], a) for n, a in arrays.items())
    weights = np.random.default_rng(0).standard_normal((3, 64)).astype(np.float32)
    packed, scales = quantised(weights)
    assert np.abs(dequantised(packed, scales) - weights).max() <= scales.max() / 2 + 1e-6


def test_it_has_at_most_200_lines() -> None:
    assert len((FOLDER / "transformer.py").read_text().splitlines()) <= 200


@pytest.mark.parametrize("device", ["wgpu"], indirect=True)
@pytest.mark.parametrize("tokens", [1, 17])
@pytest.mark.parametrize(
    "sizes", [Sizes(), replace(Sizes(), layers=1, width=192, heads=6, shared=3, inner=96)], ids=str
)
def test_it_is_what_numpy_gives(device: Device, tmp_path: Path, sizes: Sizes, tokens: int) -> None:
    if "shader-f16" not in device.features:
        pytest.skip("NOT TESTED: the device has no f16")
    ids = np.random.default_rng(1).integers(0, sizes.vocab, tokens)
    save(tmp_path / "model.safetensors", random_weights(sizes))
    model, wanted = (
        Model(tmp_path / "model.safetensors", sizes),
        expected(load(tmp_path / "model.safetensors"), sizes, ids),
    )
    together = model.forward(ids).numpy(copy=True)
    apart = np.concatenate([model.forward(ids[i : i + 1], i).numpy(copy=True) for i in range(tokens)])
    for got in (together, apart):
        assert np.abs(got - wanted).max() <= 3e-3 * np.abs(wanted).max()
