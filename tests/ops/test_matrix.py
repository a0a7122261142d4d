"""A sample of the matrix of functions, types, homes and operands; `python tools/array_matrix.py` runs all of it."""

import numpy as np
import pytest
from ops.matrix import Cell, cells, is_right, judged

from cutepy import gpu, ops
from cutepy.errors import DeviceError

SAMPLES = {"host": 240, "packed": 60, "device": 30}


@pytest.mark.parametrize("home", SAMPLES)
def test_as_numpy_or_refused_with_a_reason(home: str) -> None:
    if home == "device":
        try:
            gpu.default_device()
        except DeviceError as error:
            pytest.skip(f"NOT TESTED: {str(error).partition(':')[0]}")
    all_cells = [cell for cell in cells() if cell.home == home]
    chosen = np.random.default_rng(2024).choice(len(all_cells), SAMPLES[home], replace=False)
    wrong = {str(all_cells[at]): found for at in chosen if not is_right(found := judged(all_cells[at]))}
    assert wrong == {}


def test_the_matrix_is_whole_and_refuses_little_on_the_host() -> None:
    every = list(cells())
    assert len({*every}) == len(every) > 12_000
    assert {cell.home for cell in every} == {*SAMPLES} and len({cell.function for cell in every}) > 100
    assert judged(Cell("exp", "f32", "host", "tensor")) == "as NumPy"
    assert judged(Cell("exp", "c64", "host", "view")) == "as NumPy"
    assert judged(Cell("left_shift", "f32", "host", "tensor")) == "refused: the kind"


@pytest.mark.parametrize(
    ("planted", "seen"),
    [
        (lambda x: ops.square(x), "not"),
        (lambda x: x.numpy(), "gave ndarray"),
        (lambda x: ops.astype(ops.sqrt(x), "i32"), "type int32, not float64"),
        (lambda x: ops.ravel(ops.sqrt(x)), "shape (24,), not (4, 6)"),
        (lambda x: 1 / 0, "raised ZeroDivisionError"),
    ],
)
def test_a_planted_fault_is_seen(monkeypatch: pytest.MonkeyPatch, planted: object, seen: str) -> None:
    monkeypatch.setattr(ops, "exp", planted)
    found = judged(Cell("exp", "f32", "host", "tensor"))
    assert seen in found and not is_right(found)
