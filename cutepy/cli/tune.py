"""`cutepy tune`: the fastest plan of products of given sizes on this machine, found by timing and kept."""

from __future__ import annotations

import re
import sys
from argparse import Namespace
from dataclasses import asdict

import numpy as np

from ..errors import CommandError
from ..gpu.array import array
from ..gpu.tuner import tune
from ..ops.movement import permute
from ..tensor.dtypes import as_dtype
from ..tensor.tensor import Tensor
from .output import write_answer


def run_tune(options: Namespace) -> None:
    """Tune each product, and say what was tried."""
    for text in options.sizes:
        a, b = operands(text, options.dtype, options.order)
        found = tune(
            a, b, seconds=options.seconds, limit=options.limit, again=options.again, progress=sys.stderr.isatty()
        )
        data = {"product": text, "plan": asdict(found.plan), "seconds": found.seconds, "known": found.cached}
        write_answer(options, str(found), data)
        sys.stdout.flush()


def operands(text: str, dtype: str, order: str) -> tuple[Tensor, Tensor]:
    """Operands on the default device of the product that a text names, "8x512x512x64"."""
    if not re.fullmatch(r"([1-9]\d*x)?[1-9]\d*x[1-9]\d*x[1-9]\d*", text):
        raise CommandError(f"{text}: write MxNxK, 4096x4096x1024, or BxMxNxK for a batch of B")
    *batch, m, n, k = map(int, text.split("x"))
    shapes = [(*batch, m, k), (*batch, k, n)]
    one, other = (_operand(shape, dtype, letter) for shape, letter in zip(shapes, order, strict=True))
    return one, other


def _operand(shape: tuple[int, ...], dtype: str, letter: str) -> Tensor:
    """Zeros of this shape; for "T" with the last two axes exchanged in memory."""
    axes = [*range(len(shape) - 2), len(shape) - 1, len(shape) - 2]
    zeros = np.zeros([shape[axis] for axis in axes] if letter == "T" else shape, as_dtype(dtype).numpy)
    return permute(array(zeros), axes) if letter == "T" else array(zeros)
