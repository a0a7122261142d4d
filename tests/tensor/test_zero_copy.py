"""Views of other people's memory: writing through a tensor is seen by its owner, and nothing is copied."""

import array
import copy as copies
import ctypes
import mmap
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from cutepy.errors import TensorError
from cutepy.layout import ComposedLayout, Layout, Swizzle, _
from cutepy.tensor import (
    ArrayEngine,
    copy,
    fill,
    make_gmem_ptr,
    make_identity_tensor,
    make_rmem_ptr,
    make_smem_ptr,
    make_tensor,
    recast,
)
from cutepy.tensor.dtypes import gpu_dtype


class Interface:
    """An object with `__array_interface__` alone."""

    def __init__(self, data: np.ndarray) -> None:
        self.data = data
        self.__array_interface__ = data.__array_interface__


class Dlpack:
    """An object with DLPack alone, as PyTorch and JAX arrays on the CPU are."""

    def __init__(self, data: np.ndarray) -> None:
        self.data = data

    def __dlpack__(self, **options: object) -> object:
        return self.data.__dlpack__(**options)  # type: ignore[arg-type]

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.data.__dlpack_device__()


class OnDevice(Dlpack):
    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, 0)

    def __dlpack__(self, **options: object) -> object:
        raise BufferError("the array lies on device 0")


@pytest.mark.parametrize("wrapped", [lambda x: x, memoryview, Interface, Dlpack])
@pytest.mark.parametrize("dtype", ["float32", "int32", "uint32", "float16"])
def test_writes_are_seen_by_the_owner(wrapped: Callable[[np.ndarray], object], dtype: str) -> None:
    if wrapped is memoryview and dtype == "float16":
        pytest.importorskip("numpy")
    data = np.arange(24, dtype=dtype).reshape(4, 6)
    tensor = make_tensor(wrapped(data))
    assert str(tensor.layout) == "(4,6):(6,1)" and tensor.numpy_is_view
    assert (tensor.numpy() == data).all() and tensor[2, 3] == data[2, 3]
    tensor[2, 3] = 100
    fill(tensor(0, _), 7)
    assert data[2, 3] == 100 and (data[0] == 7).all() and np.shares_memory(tensor.numpy(), data)


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x.T,
        lambda x: x[::-1],
        lambda x: x[1:, ::2],
        lambda x: x[::-2, ::-1],
        lambda x: x[:, None, 2],
        lambda x: np.broadcast_to(x[:1], (5, 6)),
        lambda x: x[2:2],
        lambda x: x[1, 2:3].reshape(()),
    ],
)
def test_strided_arrays(view: Callable[[np.ndarray], np.ndarray]) -> None:
    data = view(np.arange(24, dtype=np.float32).reshape(4, 6))
    tensor = make_tensor(data)
    assert tensor.numpy().shape == data.shape and (tensor.numpy() == data).all()
    for at in np.ndindex(data.shape):
        assert tensor[at] == data[at]
    assert tensor.engine.writable == data.flags.writeable
    assert data.size == 0 or np.shares_memory(tensor.numpy(), data)


def test_buffers() -> None:
    numbers = array.array("f", range(8))
    make_tensor(numbers, (2, 4))[1, 1] = 50
    assert numbers[3] == 50
    four = (ctypes.c_int * 4)(1, 2, 3, 4)
    make_tensor(four)[2] = 9
    assert list(four) == [1, 2, 9, 4]
    raw = bytearray(16)
    tensor = make_tensor(make_gmem_ptr(raw, "f32", name="raw"), (2, 2))
    tensor[0, 1] = 1.0
    assert raw[8:12] == np.float32(1).tobytes() and repr(tensor) == "gmem_ptr[32b](raw) o (2,2):(1,2)"
    assert not make_gmem_ptr(bytes(16), "i32").writable


def test_mapped_files(tmp_path: Path) -> None:
    path = tmp_path / "numbers"
    path.write_bytes(np.arange(64, dtype=np.float32).tobytes())
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        tensor = make_tensor(make_gmem_ptr(mapped, "f32"), (8, 8))
        tensor[1, 1] = -1
        tensor.engine.memory.base  # noqa: B018  the file stays mapped while this is alive
        del tensor
    assert np.frombuffer(path.read_bytes(), np.float32)[9] == -1


def test_a_tensor_without_strides_is_no_memory_of_another() -> None:
    """It says itself what to do: no way of NumPy's is told beside that."""
    for make in (make_smem_ptr, make_rmem_ptr):
        with pytest.raises(TensorError, match=r"no strides say this layout; copy it, np.from_dlpack\(t.numpy\(\)\)$"):
            make(make_identity_tensor((4, 8)))


def test_what_is_not_in_host_memory() -> None:
    with pytest.raises(TensorError, match="the array lies on device 0; bring it into host memory first"):
        make_tensor(OnDevice(np.zeros(3, np.float32)))


class OfLibrary:
    """An array in host memory of another library, which gives `memory` or says why not."""

    def __init__(self, memory: np.ndarray, why: str = "") -> None:
        self.memory, self.why = memory, why

    def __dlpack__(self, **options: object) -> object:
        if self.why:
            raise BufferError(self.why)
        return self.memory.__dlpack__(**options)  # type: ignore[arg-type]

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


def test_what_another_library_does_not_give_is_said_with_its_way_out() -> None:
    memory = np.zeros(3, np.float32)
    for why, said in (
        (
            "Unsupported dtype in DLTensor.",
            "Unsupported dtype in DLTensor; convert its elements to a type that NumPy has",
        ),
        ("Can't export tensors that require gradient, use tensor.detach()", r"use tensor.detach\(\)$"),
    ):
        with pytest.raises(TensorError, match=said):
            make_tensor(OfLibrary(memory, why))
    with pytest.raises(TensorError, match=r"\.astype\(np.int32\), of a torch tensor \.to\(torch.int32\)"):
        gpu_dtype("i64")


def test_elements_that_are_one_memory_are_read_only() -> None:
    expanded = np.lib.stride_tricks.as_strided(np.zeros(4, np.float32), (3, 4), (0, 4), writeable=True)
    tensor = make_tensor(OfLibrary(expanded))
    assert not tensor.engine.writable and str(tensor.layout) == "(3,4):(0,1)"
    with pytest.raises(TensorError, match="read-only"):
        tensor[0, 0] = 1
    one = np.lib.stride_tricks.as_strided(np.zeros(4, np.float32), (1, 4), (0, 4), writeable=True)
    assert make_tensor(OfLibrary(one)).engine.writable  # one row, whose stride is of no element


def test_numpy_tells_when_it_copies() -> None:
    data = np.arange(48, dtype=np.float32)
    seen = {
        "(6,8):(8,1)": True,
        "((2,3),8):((1,2),6)": True,
        "((2,3),8):((1,16),2)": False,
        "(6,8):(0,1)": True,
    }
    for text, view in seen.items():
        shape, stride = text.split(":")
        tensor = make_tensor(data, Layout(eval(shape), eval(stride)))
        assert tensor.numpy_is_view is view and np.shares_memory(tensor.numpy(), data) is view
        assert not np.shares_memory(tensor.numpy(copy=True), data)
        assert np.asarray(tensor).shape == tensor.numpy().shape
        assert [tensor[i] for i in range(tensor.size)] == tensor.numpy().ravel(order="F").tolist()
    swizzled = make_tensor(data, ComposedLayout(Swizzle(1, 0, 2), 0, Layout((4, 8))))
    assert not swizzled.numpy_is_view and swizzled.numpy()[0, 1] == 5


def test_owning_tensors_are_copied_deeply_and_views_are_not() -> None:
    owner, data = make_tensor("f32", (2, 3)), np.zeros(6, np.float32)
    view = make_tensor(data, (2, 3))
    assert isinstance(owner.engine, ArrayEngine) and not isinstance(view.engine, ArrayEngine)
    twin = copies.deepcopy(owner)
    twin[0, 0] = 1
    assert owner[0, 0] == 0
    alias = copies.copy(view)
    alias[0, 0] = 1
    assert view[0, 0] == 1 == data[0]


def test_recast_sees_the_same_bytes() -> None:
    data = np.arange(32, dtype=np.float32)
    tensor = make_tensor(data, (8, 4))
    halves = recast(tensor, "f16")
    assert str(halves.layout) == "(16,4):(1,16)" and (halves.numpy().ravel(order="F") == data.view(np.float16)).all()
    assert (recast(halves, "f32").numpy() == tensor.numpy()).all()
    column = recast(tensor(_, 2), "u32")
    assert (column.numpy() == data[16:24].view(np.uint32)).all()


def test_copying_from_one_kind_to_another() -> None:
    source, target = np.arange(12, dtype=np.float32).reshape(3, 4), bytearray(48)
    copy(make_tensor(source), make_tensor(make_gmem_ptr(target, "f32"), (3, 4)))
    assert (np.frombuffer(target, np.float32).reshape(3, 4, order="F") == source).all()
