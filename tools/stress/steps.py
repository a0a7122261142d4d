"""Steps of a model at random lengths, of which tensors are kept and dropped at random.

    python tools/stress/steps.py [STEPS] [--seed 0] [--most 1024] [--runtime wgpu|dawn]

Each step makes a chain of results over a random number of rows, keeps some of them, views among them, and drops some of
those that were kept before. Every so often one that is kept is read again: it is what NumPy gave, and what was read
before has not changed, though the device's buffers are used again and again. The exit status is 1 where a value was
another one, or where more memory was held than 1.5 times what the largest step needed, and what is always kept.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
from dataclasses import dataclass

import numpy as np

WIDTH = 256
HELD = 24
"""Results that are kept at most."""


@dataclass
class Kept:
    """A result, what NumPy gave, and what was read of it, if it was."""

    tensor: object
    wanted: np.ndarray
    read: np.ndarray | None = None

    def wrong(self) -> bool:
        """Whether it holds another value than it should, or what was read has changed."""
        now = self.tensor.numpy(copy=True)  # type: ignore[attr-defined]
        changed = self.read is not None and not np.array_equal(self.read, now)
        self.read = now
        return changed or not np.allclose(now, self.wanted, rtol=1e-4, atol=1e-4)


def run(steps: int, most: int, seed: int) -> list[str]:
    """What was wrong with so many steps of at most so many rows."""
    from cutepy import gpu, local_tile, ops
    from cutepy.gpu.runtime.device import POOLED_ALWAYS

    pick, values = random.Random(seed), np.random.default_rng(seed)
    device = gpu.default_device()
    w = values.standard_normal((WIDTH, WIDTH)).astype(np.float32) / 16
    source = values.standard_normal((most, WIDTH)).astype(np.float32)
    weights, there = gpu.array(w), gpu.array(source)
    lengths = sorted({1, 2, 17, most, *(pick.randrange(1, most + 1) for _ in range(12))})
    kept: list[Kept] = []
    wrong: list[str] = []
    held = 0
    for step in range(steps):
        n, first = pick.choice(lengths), 0
        x, x_ = local_tile(there, (n, WIDTH), (first, 0)), source[:n]
        scale = float(pick.randrange(1, 5))
        h, h_ = ops.matmul(x, weights), x_ @ w
        g, g_ = ops.mul(ops.tanh(h), scale), np.tanh(h_) * np.float32(scale)
        s, s_ = ops.add(g, x), g_ + x_
        total, total_ = ops.sum(s, 1), s_.sum(1)
        half, half_ = local_tile(s, (n, WIDTH // 2), (0, 1)), s_[:, WIDTH // 2 :]
        made = [(h, h_), (g, g_), (s, s_), (total, total_), (half, half_)]
        kept += [Kept(tensor, wanted.copy()) for tensor, wanted in made if pick.random() < 0.3]
        while len(kept) > HELD or (kept and pick.random() < 0.3):
            kept.pop(pick.randrange(len(kept)))
        if kept and pick.random() < 0.2 and pick.choice(kept).wrong():
            wrong.append(f"step {step}: a kept result has another value")
        if step % 16 == 0:
            stats = device.stats
            held = max(held, stats.bytes + stats.pooled - POOLED_ALWAYS)
    del x, h, g, s, total, half, made
    wrong += [f"at the end: result {i} has another value" for i, each in enumerate(kept) if each.wrong()]
    peak = device.stats.peak
    print(f"{steps} steps: {held >> 20} MB held at most beside what is always kept, {peak >> 20} MB needed", flush=True)
    if held > 1.5 * peak:
        wrong.append(f"{held} bytes were held, {peak} needed")
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("steps", nargs="?", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--most", type=int, default=1024)
    parser.add_argument("--runtime", default="wgpu")
    options = parser.parse_args()
    os.environ["CUTEPY_RUNTIME"] = options.runtime
    wrong = run(options.steps, options.most, options.seed)
    print(f"{options.runtime}: {len(wrong)} wrong", *wrong[:20], sep="\n  ")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
