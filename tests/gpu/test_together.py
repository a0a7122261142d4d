"""The kernels of `examples/kernels/together.py`: right, proven but for forward progress, accepted by Tint and naga."""

from collections.abc import Callable
from typing import Any

import example_cases
import numpy as np
import pytest
from tint import refusals

from cutepy.gpu import default_device
from cutepy.gpu.runtime.driver_faults import faults_of
from cutepy.gpu.verify import Claim

Array = np.ndarray
together = __import__("together")  # of examples/kernels, which example_cases has put on the path
WAITS = {Claim.FORWARD_PROGRESS, Claim.BOUNDED_LOOPS}
MATRIX = 3 * np.eye(64) - np.eye(64, k=1) - np.eye(64, k=-1)


def select_data(rng: np.random.Generator) -> Array:
    x = rng.integers(0, 1 << 32, (700, 4), dtype=np.uint32)
    x[:, 1], x[:, 2] = x[:, 1] % 1000, 5
    return x


def solved(b: Array, x: Array, turns: Array) -> bool:
    error = np.abs(MATRIX @ x.reshape(2, 64).T - b.reshape(2, 64).T).max()
    return bool(error < 1e-4 and turns[0] > 10 and (turns[64:] == 1).all())


def cases(rng: np.random.Generator) -> dict[str, tuple[tuple[Array, ...], Callable[..., Any], dict[str, Any]]]:
    """Arguments, what is to hold of them afterwards, and static arguments."""
    f, u = np.float32, np.uint32
    A, B, x = rng.random((96, 80), f), rng.random((64, 80), f), rng.integers(0, 99, 1500).astype(u)
    b = np.concatenate([rng.random(64), np.zeros(64)]).astype(f)
    return {
        "queue": (
            (np.arange(7, dtype=f), np.zeros(1, u), np.zeros(448, f)),
            lambda j, c, y: (y == (j[:, None] + np.arange(64)).ravel()).all(),
            {"groups": 3},
        ),
        "jacobi": ((b, np.zeros(128, f), np.zeros(128, u)), solved, {"most": 200, "tolerance": 1e-5}),
        "select": (
            (select_data(rng), np.zeros(4, u)),
            lambda x, out: (out == np.sort(x, axis=0)[123]).all(),
            {"k": 123},
        ),
        "stream_k": ((A, B, np.zeros((96, 64), f)), lambda A, B, C: np.allclose(C, A @ B.T, rtol=1e-5), {"groups": 5}),
        "look_back": (
            (x, np.zeros(1500, u), np.zeros(6, u), np.zeros(1, u)),
            lambda x, y, state, counter: (y == np.cumsum(x)).all(),
            {},
        ),
    }


@pytest.mark.parametrize("name", cases(np.random.default_rng(0)))
def test_it_is_right_and_proven(name: str) -> None:
    given, holds, static = cases(np.random.default_rng(1))[name]
    kernel = getattr(together, name)

    def right(run: Callable[..., Any]) -> bool:
        arrays = [x.copy() for x in given]
        run(*arrays, **static)
        return bool(holds(*arrays))

    assert right(lambda *a, **s: kernel.interpret(*a, **s, check=True))
    if name == "look_back" and any(fault.name == "loops end early" for fault in faults_of(default_device().adapter)):
        # The driver may end a wait; it says so, and a launch that it lets wait is right.
        with pytest.warns(RuntimeWarning, match=r"the loop at .* waits for other invocations"):
            assert any(right(kernel) for _ in range(50))
    else:
        assert right(kernel)
    found = kernel.verify(*given, **static, prover="cutepy")
    open_ = {v.claim for v in (*found.undecided, *found.refuted)}
    assert open_ == (WAITS if name == "look_back" else set()), found
    assert refusals({name: kernel.wgsl(*given, dialect="tint", **static)}) == {}


@pytest.mark.parametrize("name", cases(np.random.default_rng(0)))
def test_it_is_short(name: str) -> None:
    text = (example_cases.FOLDER / "together.py").read_text()
    kernel = text[text.index(f"def {name}") :].split("\n\n\n")[0].rstrip()
    assert kernel.count("\n") <= 30


def test_stream_k_is_in_bounds_at_a_size_of_which_not_every_workgroup_is_tried() -> None:
    """Its counters begin where sums may wrap; guards bound what they name, and quotients of it are rounded down."""
    blocks = [np.zeros((2048, 2048), np.float32) for _ in "ABC"]
    found = together.stream_k.verify(*blocks, groups=33, prover="cutepy")
    assert not [v for v in (*found.undecided, *found.refuted) if v.claim == Claim.IN_BOUNDS], found
