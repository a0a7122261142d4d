"""A transformer block by public names, as a model has it twelve times, and the same by NumPy in float64."""

import sys
from pathlib import Path

import numpy as np

from cutepy import Layout, Tensor, composition, gpu, local_tile, ops

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "kernels"))
from attention import attention
from layer_norm import layer_norm

HEAD = 32
GELU = (
    "0.5 * (c + bias) * (1 + tanh(0.7978845608028654 * ((c + bias) + 0.044715 * (c + bias) * (c + bias) * (c + bias))))"
)


def weights(width: int) -> dict[str, np.ndarray]:
    """Random weights of a block."""
    g = np.random.default_rng(5)
    shapes = {
        "norm1": (width,), "bias1": (width,), "qkv": (width, 3 * width), "qkv_bias": (3 * width,),
        "out": (width, width), "out_bias": (width,), "norm2": (width,), "bias2": (width,),
        "up": (width, 4 * width), "up_bias": (4 * width,), "down": (4 * width, width), "down_bias": (width,),
    }  # fmt: skip
    return {name: (0.2 * g.standard_normal(shape)).astype(np.float32) for name, shape in shapes.items()}


def block(x: Tensor, w: dict[str, Tensor]) -> Tensor:
    """Causal attention and a feed-forward, each after a layer norm and added to what it was given."""
    rows, width = x.shape
    heads, device = width // HEAD, x.engine.buffer.device

    def normal(x: Tensor, gain: Tensor, bias: Tensor) -> Tensor:
        y, along = gpu.empty(x.shape, device=device), Layout(x.shape, (0, 1))
        layer_norm(x, composition(gain, along), composition(bias, along), y)
        return y

    def split(x: Tensor) -> Tensor:
        return composition(x, Layout((rows, HEAD, heads), (1, rows, HEAD * rows)))

    qkv = ops.matmul(normal(x, w["norm1"], w["bias1"]), w["qkv"], epilogue="c + bias", bias=w["qkv_bias"])
    mixed = gpu.empty((rows, width), device=device)
    attention(*[split(local_tile(qkv, (rows, width), (0, i))) for i in range(3)], split(mixed), causal=True)
    x = ops.matmul(mixed, w["out"], epilogue="c + bias + x", bias=w["out_bias"], x=x)
    up = ops.matmul(normal(x, w["norm2"], w["bias2"]), w["up"], epilogue=GELU, bias=w["up_bias"])
    return ops.matmul(up, w["down"], epilogue="c + bias + x", bias=w["down_bias"], x=x)


def expected(x: np.ndarray, w: dict[str, np.ndarray]) -> np.ndarray:
    """The same by NumPy in float64."""

    def normal(x: np.ndarray, gain: np.ndarray, bias: np.ndarray) -> np.ndarray:
        return (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5) * gain + bias

    x = x.astype(np.float64)
    rows, width = x.shape
    qkv = normal(x, w["norm1"], w["bias1"]) @ w["qkv"].astype(np.float64) + w["qkv_bias"]
    q, k, v = (part.reshape(rows, width // HEAD, HEAD).transpose(1, 0, 2) for part in np.split(qkv, 3, 1))
    s = q @ k.transpose(0, 2, 1) / HEAD**0.5 + np.triu(np.full((rows, rows), -np.inf), 1)
    e = np.exp(s - s.max(2, keepdims=True))
    mixed = (e / e.sum(2, keepdims=True)) @ v
    x = x + mixed.transpose(1, 0, 2).reshape(rows, -1) @ w["out"] + w["out_bias"]
    s = normal(x, w["norm2"], w["bias2"]) @ w["up"].astype(np.float64) + w["up_bias"]
    return x + 0.5 * s * (1 + np.tanh(0.7978845608028654 * (s + 0.044715 * s**3))) @ w["down"] + w["down_bias"]
