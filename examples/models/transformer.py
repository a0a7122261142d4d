"""A small transformer over public names: rotary positions, grouped queries, a gated MLP; f16 and 4-bit weights.

    python examples/models/transformer.py [--tokens 24]

It makes random weights, writes them to a safetensors file and reads that: a forward of all tokens, the same tokens one
by one over a cache of keys and values, and where the time of either goes.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "kernels"))
from decode import attend
from int4_matvec import matvec

from cutepy import Tensor, gpu, make_tensor, ops, recast

GROUP = 32
"""Weights of a row that share a scale."""
NAMES = {"F16": "<f2", "F32": "<f4", "U8": "u1"}


@dataclass(frozen=True)
class Sizes:
    """What the model is made of; `shared` query heads have one head of keys and values."""

    layers: int = 2
    width: int = 128
    heads: int = 4
    shared: int = 2
    inner: int = 256
    vocab: int = 256
    context: int = 64

    @property
    def head(self) -> int:
        return self.width // self.heads

    @property
    def pairs(self) -> int:
        return self.heads // self.shared


def save(path: Path, arrays: dict[str, np.ndarray]) -> None:
    """Arrays as a safetensors file: the bytes of a header, the header as JSON, the arrays."""
    codes, header, at = {np.dtype(code): name for name, code in NAMES.items()}, {}, 0
    for name, array in arrays.items():
        place = [at, at := at + array.nbytes]
        header[name] = {"dtype": codes[array.dtype], "shape": list(array.shape), "data_offsets": place}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(a.tobytes() for a in arrays.values()))


def load(path: Path) -> dict[str, np.ndarray]:
    """The arrays of a safetensors file."""
    data = path.read_bytes()
    begin = 8 + int.from_bytes(data[:8], "little")
    found = {}
    for name, told in json.loads(data[8:begin]).items():
        first, last = told["data_offsets"]
        array = np.frombuffer(data[begin + first : begin + last], NAMES[told["dtype"]])
        found[name] = array.reshape(told["shape"])
    return found


def quantised(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows of weights as 4-bit integers, two in a byte with the first below, and a scale for each `GROUP`."""
    groups = weights.reshape(len(weights), -1, GROUP)
    scales = (np.abs(groups).max(2) / 7).astype(np.float32)
    whole = np.clip(np.rint(groups / scales[..., None]), -8, 7).astype(np.int8).reshape(weights.shape) & 15
    return (whole[:, ::2] | whole[:, 1::2] << 4).astype(np.uint8), scales


def random_weights(sizes: Sizes, seed: int = 0) -> dict[str, np.ndarray]:
    """Weights by name: (out, in) of each product; those of the MLP in 4 bits."""
    g, arrays = np.random.default_rng(seed), {}
    keys = sizes.pairs * sizes.head

    def random(*shape: int) -> np.ndarray:
        return (g.standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32)

    arrays["embedding"] = random(sizes.vocab, sizes.width).astype(np.float16)
    for i in range(sizes.layers):
        arrays[f"{i}.norm1"], arrays[f"{i}.norm2"] = (1 + 0.1 * random(sizes.width) for _ in "12")
        for name, rows in (("q", sizes.width), ("k", keys), ("v", keys), ("o", sizes.width)):
            arrays[f"{i}.{name}"] = random(rows, sizes.width).astype(np.float16)
        for name, rows, columns in (("gate", *(s := (sizes.inner, sizes.width))), ("up", *s), ("down", *s[::-1])):
            arrays[f"{i}.{name}"], arrays[f"{i}.{name}.scales"] = quantised(random(rows, columns))
    arrays["norm"] = 1 + 0.1 * random(sizes.width)
    return arrays


@gpu.kernel
def widened(weights, scales, out):  # (rows, columns) of i4, (rows, columns / 32), (rows, columns)
    """4-bit weights as numbers."""
    rows, columns = out.shape
    gpu.launch(grid=(columns // GROUP, rows), threads=GROUP)
    at = gpu.workgroup.x * GROUP + gpu.thread
    out[gpu.workgroup.y, at] = scales[gpu.workgroup.y, gpu.workgroup.x] * gpu.cast(weights[gpu.workgroup.y, at], "f32")


class Model:
    """The weights of a file on the default device, and a cache of keys and values."""

    def __init__(self, path: Path, sizes: Sizes) -> None:
        self.sizes, self.weights = sizes, {}
        for name, array in load(path).items():
            host = recast(make_tensor(array.copy()), "i4") if array.dtype == np.uint8 else array
            self.weights[name] = gpu.array(host)
        shape = sizes.context, sizes.pairs, sizes.head
        self.cache = [(gpu.empty(shape, cleared=True), gpu.empty(shape, cleared=True)) for _ in range(sizes.layers)]
        turns = np.outer(np.arange(sizes.context), 1e4 ** -(np.arange(0, sizes.head, 2) / sizes.head))[:, None]
        self.cos, self.sin = (gpu.array(f(turns).astype(np.float32)) for f in (np.cos, np.sin))

    def normal(self, x: Tensor, gain: str) -> Tensor:
        return x / ops.sqrt(ops.mean(x * x, 1, keepdims=True) + 1e-5) * self.weights[gain]

    def times(self, x: Tensor, name: str) -> Tensor:
        """x times the transpose of a matrix of f16."""
        matrix = self.weights[name]
        y = gpu.empty((x.shape[0], matrix.shape[0]))
        return ops.matmul(ops.astype(x, "f16"), ops.permute(matrix, (1, 0)), y)

    def times4(self, x: Tensor, name: str) -> Tensor:
        """x times the transpose of a matrix of 4 bits: one row by the matrix as it lies, more by it widened."""
        matrix, scales = self.weights[name], self.weights[f"{name}.scales"]
        if x.shape[0] == 1:
            y = gpu.empty((matrix.shape[0],))
            matvec(matrix, scales, ops.reshape(ops.astype(x, "f16"), (-1,)), y)
            return ops.reshape(y, (1, -1))
        wide = gpu.empty(matrix.shape)
        widened(matrix, scales, wide)
        return ops.matmul(x, ops.permute(wide, (1, 0)))

    def turned(self, x: Tensor, first: int) -> Tensor:
        """Rotary positions from `first` on, of (tokens, heads, head)."""
        cos, sin = (table[first : first + x.shape[0]] for table in (self.cos, self.sin))
        a, b = x[:, :, : self.sizes.head // 2], x[:, :, self.sizes.head // 2 :]
        return ops.concat([a * cos - b * sin, a * sin + b * cos], 2)

    def attention(self, h: Tensor, i: int, first: int) -> Tensor:
        """Each token over those before it; keys and values go to the cache."""
        s, (keys, values), tokens = self.sizes, self.cache[i], h.shape[0]
        last, heads = first + tokens, (tokens, self.sizes.pairs, self.sizes.head)
        keys[first:last] = self.turned(ops.reshape(self.times(h, f"{i}.k"), heads), first)
        values[first:last] = ops.reshape(self.times(h, f"{i}.v"), heads)
        q = self.turned(ops.reshape(self.times(h, f"{i}.q"), (tokens, s.heads, s.head)), first)
        q = ops.permute(ops.reshape(q, (tokens, s.pairs, s.shared, s.head)), (1, 2, 0, 3))
        if tokens == 1:
            mixed, seen = gpu.empty(q.shape), [ops.permute(x[:last], (0, 2, 1)) for x in (keys, values)]
            attend(ops.permute(q[:, :, 0], (2, 1, 0)), *seen, ops.permute(mixed[:, :, 0], (2, 1, 0)))
        else:
            scores = ops.matmul(ops.reshape(q, (s.pairs, -1, s.head)), ops.permute(keys[:last], (1, 2, 0)))
            scores = ops.reshape(scores, (s.pairs, s.shared, tokens, last)) * s.head**-0.5
            scores = scores + gpu.array(np.triu(np.full((tokens, last), -np.inf, np.float32), first + 1))
            shares = ops.reshape(ops.softmax(scores, 3), (s.pairs, -1, last))
            mixed = ops.reshape(ops.matmul(shares, ops.permute(values[:last], (1, 0, 2))), q.shape)
        return self.times(ops.reshape(ops.permute(mixed, (2, 0, 1, 3)), (tokens, -1)), f"{i}.o")

    def forward(self, ids: np.ndarray, first: int = 0) -> Tensor:
        """Scores of the vocabulary after each of these tokens, which come after `first` others: (tokens, vocab)."""
        x = ops.astype(ops.take(self.weights["embedding"], gpu.array(ids.astype(np.int32)), axis=0), "f32")
        for i in range(self.sizes.layers):
            x = x + self.attention(self.normal(x, f"{i}.norm1"), i, first)
            h = self.normal(x, f"{i}.norm2")
            x = x + self.times4(ops.silu(self.times4(h, f"{i}.gate")) * self.times4(h, f"{i}.up"), f"{i}.down")
        return self.times(self.normal(x, "norm"), "embedding")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tokens", type=int, default=24)
    tokens, sizes = parser.parse_args().tokens, Sizes()
    with tempfile.TemporaryDirectory() as folder:
        save(path := Path(folder) / "model.safetensors", random_weights(sizes))
        model = Model(path, sizes)
    ids = np.random.default_rng(1).integers(0, sizes.vocab, tokens)
    together = model.forward(ids).numpy(copy=True)
    apart = np.concatenate([model.forward(ids[i : i + 1], i).numpy(copy=True) for i in range(tokens)])
    print(
        f"{tokens} tokens one by one, and together: {np.abs(apart - together).max() / np.abs(together).max():.1e} apart"
    )
    with gpu.profile() as forward:
        model.forward(ids)
    with gpu.profile() as decode:
        model.forward(ids[-1:], tokens - 1)
    print(f"a forward of {tokens} tokens\n{forward}\n\na token more\n{decode}")


if __name__ == "__main__":
    main()
