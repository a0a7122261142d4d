"""The examples with unknown sizes at random sizes on a device: right by NumPy, and how many pipelines it took.

    python tools/sizes_on_device.py [--pairs 10000] [--seed 0] [--largest 1000] [--only NAME ...]

Each example of `tests/gpu/size_judging.py` is traced for unknown sizes and called at its share of so many random pairs
(a batch, a length), half of them beside the edges of tiles. One line for each: pairs, pipelines, traces, how far from
NumPy at most in parts of the greatest element, what was traced for its sizes with the reason. 1 where one is wrong, or
takes more than two pipelines: one with vectors, one without.
"""

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "gpu")]

from size_judging import EXAMPLES, subjects  # noqa: E402  found through the path above

from cutepy import ceil_div, gpu  # noqa: E402

Array = np.ndarray
EDGES = (1, 2, 3, 4, 5, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257)


def normal(x: Array) -> tuple[Array, Array]:
    """Rows less their means over their deviations, and 1 over these."""
    x = x.astype(np.float64)
    scale = 1 / np.sqrt(x.var(1, keepdims=True) + 1e-5)
    return (x - x.mean(1, keepdims=True)) * scale, scale


def layer_norm(x: Array, gain: Array, bias: Array, y: Array) -> Array:
    return normal(x)[0] * gain + bias


def backward(x: Array, gain: Array, dy: Array, dx: Array) -> Array:
    (z, scale), d = normal(x), dy * gain.astype(np.float64)
    return (d - d.mean(1, keepdims=True) - z * (d * z).mean(1, keepdims=True)) * scale


def softmax(x: Array, y: Array) -> Array:
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def attention(Q: Array, K: Array, V: Array, O: Array, *, causal: bool = False) -> Array:
    scores = np.einsum("ich,jch->hij", Q, K, dtype=np.float64) / np.sqrt(Q.shape[1])
    scores[:, np.triu(np.full(scores.shape[1:], causal), 1)] = -np.inf
    e = np.exp(scores - scores.max(2, keepdims=True))
    return np.einsum("hij,jch->ich", e / e.sum(2, keepdims=True), V)


def part_of(x: Array, sums: Array) -> Array:
    """The part of each element: whole tiles of 1024."""
    tiles = ceil_div(ceil_div(len(x), 1024), len(sums))
    return np.arange(len(x)) // (1024 * tiles)


def sum_parts(x: Array, sums: Array) -> Array:
    return np.bincount(part_of(x, sums), x, minlength=len(sums)) % (1 << 32)


def scan_parts(x: Array, sums: Array, y: Array) -> Array:
    part, running = part_of(x, sums), np.cumsum(x, dtype=np.uint64)
    first = np.searchsorted(part, part)  # where its part begins
    before = np.concatenate([[0], np.cumsum(sums, dtype=np.uint64)])[part]
    return (running - running[first] + x[first] + before) % (1 << 32)


def products(weights: Array, scales: Array, x: Array, y: Array) -> Array:
    """Each weight times its scale and its element of x."""
    nibbles = (weights[:, :, None] >> np.arange(0, 32, 4, dtype=np.uint32) & 15).reshape(len(weights), -1)
    signed = np.where(nibbles > 7, nibbles.astype(np.int64) - 16, nibbles)
    n = min(scales.shape[1], len(x) // 32) * 32
    return signed[:, :n] * np.repeat(scales.astype(np.float64), 32, 1)[:, :n] * x[:n]


WANTED: dict[str, Callable[..., Array]] = {
    "saxpy": lambda a, x, y: a * x.astype(np.float64) + y,
    "histogram": lambda x, counts: counts + np.bincount(x % 40, minlength=40),
    "transpose": lambda x, y: x.T,
    "matmul": lambda A, B, D, C: D,
    "softmax": softmax,
    "layer_norm": layer_norm,
    "backward": backward,
    "top_k": lambda x, values, places: np.argsort(-x, axis=1, kind="stable")[:, : values.shape[1]],
    "sum_parts": sum_parts,
    "scan_parts": scan_parts,
    "matvec": lambda *args: products(*args).sum(1),
    "attention": attention,
    "causal": lambda *args: attention(*args, causal=True),
}


#: What errors are parts of, where it is not the greatest element: the terms of a gradient cancel in rows of two, and
#: those of a product in a matrix of one row; a sum of random signs is as great as the norm of its terms.
TERMS: dict[str, Callable[..., Array]] = {
    "backward": lambda x, gain, dy, dx: normal(x)[1] * gain * dy,
    "matvec": lambda *args: np.linalg.norm(products(*args), axis=1),
}


def run(name: str, pairs: int, pick: random.Random, largest: int) -> bool:
    """Call one example at random sizes; whether all was as it is to be."""
    subject, device = subjects()[f"example {name}"], gpu.default_device()
    static = dict(subject.static)
    most = min(largest, static["width"]) if "width" in static else largest  # type: ignore[type-var, call-overload]
    before, start, worst, reasons = device.stats, time.monotonic(), 0.0, Counter[str]()
    for pair in range(pairs):
        sizes = [
            min(most, pick.choice([pick.choice(EDGES), pick.randint(1, most)])) for _axis in range(subject.unknowns)
        ]
        if name in ("attention", "causal"):  # heads, length
            sizes[0] = pick.randint(1, 8)
        if name == "top_k":
            sizes[2] = pick.randint(1, min(sizes[1], 16))
        if name in ("sum_parts", "scan_parts"):
            sizes[0] *= 40
        arguments = subject.arguments(*sizes)
        arrays = [value.copy() for value in arguments if isinstance(value, np.ndarray)]
        on = [gpu.array(value, device=device) if isinstance(value, np.ndarray) else value for value in arguments]
        subject.kernel(*on, **static)
        if pair == 0:  # the first subgroups on a device are looked at by a kernel of its own
            before = device.stats
        reasons[subject.kernel.size_reason] += 1
        numbers = [value for value in arguments if not isinstance(value, np.ndarray)]
        wanted = np.asarray(WANTED[name](*numbers, *arrays), np.float64)
        found = on[-1].numpy().astype(np.float64)
        whole = TERMS[name](*numbers, *arrays) if name in TERMS else wanted
        worst = max(worst, float(np.abs(found - wanted).max()) / (float(np.abs(whole).max()) or 1.0))
    compiled = 1 + device.stats.compiled - before.compiled
    del reasons[""]
    ok = worst <= 1e-5 and compiled <= 2 and not reasons
    told = "".join(f"; {n} traced for their sizes: {reason}" for reason, n in reasons.items())
    traces = subject.kernel.stats.traces
    print(
        f"{name:12} {'ok' if ok else 'WRONG':5} {pairs} pairs, {compiled} pipelines, {traces} traces, "
        f"at most {worst:.1e} away, {time.monotonic() - start:.0f} s{told}",
        flush=True,
    )
    return ok


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--largest", type=int, default=1000)
    parser.add_argument("--only", nargs="+", choices=tuple(WANTED), default=list(WANTED))
    options = parser.parse_args()
    assert WANTED.keys() <= EXAMPLES.keys()
    print(gpu.default_device().adapter.summary)
    share = -(-options.pairs // len(options.only))
    done = [run(name, share, random.Random(f"{options.seed} {name}"), options.largest) for name in options.only]
    return int(not all(done))


if __name__ == "__main__":
    sys.exit(main())
