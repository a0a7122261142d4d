"""Reading matrices from .npy files; nothing is ever unpickled.

Law: an array is returned only if the whole file agrees with its header.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy

from ..errors import CommandError

Matrix = npt.NDArray[np.float32]

_VIEW = re.compile(r"\s*(?:\.T|\[(?P<inside>[^\[\]]*)\])$")
_SLICE = re.compile(r"\s*(-?\d{1,18})?\s*:\s*(-?\d{1,18})?\s*(?::\s*(-?\d{1,18})?\s*)?")


def read_matrix(text: str, name: str) -> Matrix:
    """The float32 matrix that `text` names: a .npy file, transposed or sliced by what follows it (`.T`, `[::2,1:]`).

    Raises CommandError for a missing, truncated or foreign file, another type or rank, and a slice that is none.
    """
    views: list[str] = []
    path = text
    while not Path(path).exists() and (view := _VIEW.search(path)):
        path = path[: view.start()]
        views.append(view["inside"] if view["inside"] is not None else "T")
    matrix = _load(Path(path), name)
    for view_text in reversed(views):
        matrix = matrix.T if view_text == "T" else matrix[_slices(view_text, text, name)]
    return matrix


def _slices(inside: str, text: str, name: str) -> tuple[slice, ...]:
    found = [_SLICE.fullmatch(part) for part in inside.split(",")]
    numbers = [[int(n) if n else None for n in match.groups()] for match in found if match]
    if len(numbers) != len(found) or len(numbers) > 2 or any(entry[2] == 0 for entry in numbers):
        raise CommandError(f"{name}, {text}: [{inside}] is not one or two slices; write [::2] or [:64,::-1]")
    return tuple(slice(*entry) for entry in numbers)


def _load(path: Path, name: str) -> Matrix:
    where = f"{name}, {path}"
    try:
        with path.open("rb") as file:
            shape, dtype = _header(file, where)
            _check_kind(shape, dtype, where)
            length, needed = path.stat().st_size, int(np.prod(shape, dtype=object)) * dtype.itemsize + file.tell()
            if path.is_file() and length < needed:
                raise CommandError(f"{where}: truncated: the file has {length} bytes, its header promises {needed}")
            file.seek(0)
            array = npy.read_array(file, allow_pickle=False)
    except FileNotFoundError:
        raise CommandError(f"{where}: there is no such file") from None
    except CommandError:
        raise
    except ValueError as error:
        raise CommandError(f"{where}: {error}") from None
    return array.astype(np.float32, copy=False)  # the other byte order becomes this machine's


def _header(file: BinaryIO, where: str) -> tuple[tuple[int, ...], np.dtype[np.generic]]:
    start = file.read(8)
    if start[:6] != b"\x93NUMPY":
        kind = "an .npz archive" if start[:2] == b"PK" else "empty" if not start else "something else"
        raise CommandError(f"{where}: not a .npy file, but {kind}; numpy.save writes one")
    file.seek(0)
    try:
        version = npy.read_magic(file)
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, _, dtype = read(file)
    except (ValueError, EOFError, SyntaxError) as error:
        raise CommandError(f"{where}: a truncated or damaged .npy header ({str(error).splitlines()[0]})") from None
    return shape, dtype


def _check_kind(shape: tuple[int, ...], dtype: np.dtype[np.generic], where: str) -> None:
    if dtype.hasobject:
        raise CommandError(f"{where}: an array of Python objects is never loaded; save it as float32")
    if dtype != np.dtype(np.float32) and dtype.newbyteorder("=") != np.dtype(np.float32):
        hint = (
            "take its real part or multiply four times" if dtype.kind == "c" else "convert it with .astype('float32')"
        )
        raise CommandError(f"{where}: the type is {dtype}, a matmul takes float32; {hint}")
    if len(shape) != 2:
        raise CommandError(f"{where}: rank {len(shape)}, shape {shape}; a matrix has rank 2, so reshape it")
