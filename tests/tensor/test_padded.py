"""`padded` on arrays: np.pad as a view, also through tiles, slices, strides and compositions. Kernels: tests/gpu."""

import sys
from pathlib import Path

import numpy as np
import pytest

from cutepy import make_tensor
from cutepy.errors import TensorError
from cutepy.tensor import copy, local_tile, padded

sys.path.append(str(Path(__file__).parents[1] / "gpu"))  # last: it has modules by the names of some here
from padding_cases import judge, written
from shares import share


def test_random_rims() -> None:
    for number in share(range(2000)):
        judge(number, traced=False)


def test_what_is_inside_is_written() -> None:
    for number in range(300):
        written(number)


def test_a_tile_of_a_padded_tensor_ends_where_the_rim_ends() -> None:
    x = np.arange(1, 6, dtype=np.float32)
    assert local_tile(padded(x, 1, value=9), (4,), (1,)).numpy().tolist() == [4, 5, 9, 0]  # 0: beyond the rim


def test_refusals() -> None:
    x = make_tensor(np.arange(6, dtype=np.float32).reshape(2, 3))
    for arguments, word in (
        ((-1,), "from 0 on"),
        (((1, 2, 3),), "each of 2 modes"),
        ((1.5,), "whole number"),
    ):
        with pytest.raises(TensorError, match=word):
            padded(x, *arguments)
    bytes_ = make_tensor(np.arange(6, dtype=np.uint8))
    for number in (300, -1, 1.5, np.nan, 1j, None, [1, 2], np.arange(2), object()):
        with pytest.raises(TensorError, match=r"padded\(.*value="):
            padded(bytes_, 1, value=number)  # type: ignore[arg-type]
    assert padded(bytes_, 1, value=np.uint8(255)).numpy().tolist() == [255, *range(6), 255]
    with pytest.raises(TensorError, match="'edge', 'reflect', 'wrap'"):
        padded(x, 1, value="mirror")  # type: ignore[arg-type]
    with pytest.raises(TensorError, match="read-only"):
        copy(make_tensor(np.zeros((4, 5), np.float32)), padded(x, 1, value="edge"))
    with pytest.raises(TensorError, match="nested"):
        padded(make_tensor(np.zeros(8, np.float32), ((2, 2), 2)), 1)
    with pytest.raises(TensorError, match="nothing to reflect"):
        padded(np.zeros((0, 3), np.float32), 1, value="reflect")
