"""Mistakes in kernels and in calls of them: each is an error that names the line of the user's kernel."""

import builtins
import math
import re
from collections.abc import Callable

import numpy as np
import pytest

from cutepy import gpu
from cutepy.errors import CutepyError, DeviceError, KernelError, TensorError
from cutepy.gpu.runtime.program import Limits
from cutepy.gpu.trace import source
from cutepy.layout import Layout
from cutepy.tensor import Tensor, f32, make_fragment_like, make_identity_tensor, make_tensor
from cutepy.tensor.algorithms import axpby, clear, copy, fill, transform
from cutepy.tensor.gemm import gemm
from cutepy.tensor.partition import local_tile

X = np.zeros(64, np.float32)


def message_of(body: Callable[..., None], *arguments: object, error: type = CutepyError) -> str:
    with pytest.raises(error) as caught:
        gpu.kernel(body).interpret(*arguments)
    return str(caught.value)


def marked(body: Callable[..., None]) -> int:
    """The line of the mistake: the last one of the body."""
    return max(line for *_, line in body.__code__.co_lines() if line is not None)


def names_the_line(text: str, body: Callable[..., None]) -> bool:
    return re.match(rf"test_kernel_errors\.py:{marked(body)}: ", text) is not None


# A Python value is asked for that only the GPU knows.


def known_bool(x):
    gpu.launch(threads=64)
    bool(gpu.thread < 3)


def known_and(x):
    gpu.launch(threads=64)
    x[0] = x[1] > 0 and x[2]


def known_in(x):
    gpu.launch(threads=64)
    x[0] = gpu.thread in (1, 2)


def known_int(x):
    gpu.launch(threads=64)
    int(x[0])


def known_float(x):
    gpu.launch(threads=64)
    float(x[0])


def known_range(x):
    gpu.launch(threads=64)
    list(range(gpu.thread))


def known_index(x):
    gpu.launch(threads=64)
    "ab"[gpu.thread]


def known_math(x):
    gpu.launch(threads=64)
    math.exp(x[0])


def known_numpy(x):
    gpu.launch(threads=64)
    np.float32(x[0])


def known_min(x):
    gpu.launch(threads=64)
    builtins.min(x[0], x[1])


def known_round(x):
    gpu.launch(threads=64)
    builtins.round(x[0])


def known_items(x):
    gpu.launch(threads=64)
    _first, *_ = x[0]


def known_slice(x):
    gpu.launch(threads=64)
    x[0 : gpu.thread]


def known_tile(x):
    gpu.launch(threads=64)
    local_tile(x, (gpu.thread,), (0,))


def known_layout(x):
    gpu.launch(threads=64)
    Layout(gpu.thread)


def known_shared(x):
    gpu.launch(threads=64)
    gpu.shared("f32", gpu.thread)


def known_unroll(x):
    gpu.launch(threads=64)
    gpu.unroll(gpu.thread)


def known_launch(x):
    gpu.launch(grid=x[0], threads=64)


KNOWN = [f for name, f in globals().copy().items() if name.startswith("known_")]


@pytest.mark.parametrize("body", KNOWN, ids=lambda body: body.__name__)
def test_a_value_that_only_the_gpu_knows(body: Callable[..., None]) -> None:
    text = message_of(body, X.copy())
    assert re.match(r"test_kernel_errors\.py:\d+: ", text), text
    first = body.__code__.co_firstlineno
    assert first < int(text.split(":")[1]) <= marked(body), text
    assert "DType(" not in text, "expressions are spelled as WGSL"


def test_a_parameter_is_known_on_the_gpu_only() -> None:
    def counted(x, n):
        gpu.launch(threads=64)
        range(4)[n]

    text = message_of(counted, X.copy(), 3)
    assert names_the_line(text, counted) and "make it a static (keyword-only) argument" in text


# A read-only tensor is written.


def write_store(x):
    gpu.launch(threads=64)
    x[gpu.thread] = 1


def write_fill(x):
    gpu.launch(threads=64)
    fill(x, 1)


def write_clear(x):
    gpu.launch(threads=64)
    clear(x)


def write_copy(x):
    gpu.launch(threads=64)
    copy(make_fragment_like(x), x)


def write_axpby(x):
    gpu.launch(threads=64)
    axpby(1, make_fragment_like(x), 1, x)


def write_transform(x):
    gpu.launch(threads=64)
    transform(x, op=lambda v: v)


def write_gemm(x):
    gpu.launch(threads=64)
    gemm(x, x, x)


def write_tile(x):
    gpu.launch(threads=64)
    local_tile(x, (8,), (1,))[gpu.thread % 8] = 0


def write_coordinates(x):
    gpu.launch(threads=64)
    make_identity_tensor((4, 4))[0, 0] = 1


def write_atomic(x):
    gpu.launch(threads=64)
    gpu.atomic_add(x, 0, 1)


WRITES = [f for name, f in globals().copy().items() if name.startswith("write_")]


@pytest.mark.parametrize("body", WRITES, ids=lambda body: body.__name__)
def test_a_read_only_tensor(body: Callable[..., None]) -> None:
    frozen = np.zeros(64, np.uint32 if body is write_atomic else np.float32)
    frozen.flags.writeable = False
    text = message_of(body, frozen)
    assert "it is read-only" in text and names_the_line(text, body), text
    assert not frozen.any()


# A barrier where not every thread comes.


def barrier_when_thread(x):
    gpu.launch(threads=64)
    with gpu.when(gpu.thread < 3):
        gpu.barrier()


def barrier_when_value(x):
    gpu.launch(threads=64)
    with gpu.when(x[gpu.thread] > 0):
        gpu.barrier()


def barrier_deep(x):
    gpu.launch(grid=4, threads=64)
    with gpu.when(gpu.workgroup.x < 2):
        with gpu.when(gpu.thread < 3):
            for _i in gpu.loop(3):
                gpu.barrier(storage=True)


def barrier_loop_start(x):
    gpu.launch(threads=64)
    for _i in gpu.loop(64, start=gpu.thread):
        gpu.barrier()


def barrier_loop_stop(x):
    gpu.launch(threads=64)
    for _i in gpu.loop(gpu.thread % 4):
        gpu.barrier()


def barrier_after_what_was_written(x):
    gpu.launch(threads=64)
    x[gpu.thread] = 1
    with gpu.when(x[0] > 0):
        gpu.barrier()


BARRIERS = [f for name, f in globals().copy().items() if name.startswith("barrier_")]


@pytest.mark.parametrize("body", BARRIERS, ids=lambda body: body.__name__)
def test_a_barrier_that_some_threads_miss(body: Callable[..., None]) -> None:
    text = message_of(body, X.copy(), error=KernelError)
    assert names_the_line(text, body) and "gpu.barrier inside the" in text, text
    assert re.search(r"at test_kernel_errors\.py:\d+, which threads of a workgroup may decide differently", text)


def test_a_barrier_that_all_threads_meet_is_fine() -> None:
    @gpu.kernel
    def fine(x, n):
        gpu.launch(grid=4, threads=64)
        x[gpu.thread] = 1
        with gpu.when(gpu.workgroup.x < 2):
            for _i in gpu.loop(n):
                gpu.barrier()

    fine.interpret(X.copy(), 3)


# An element type that WGSL lacks.


def dtype_shared(x):
    gpu.launch(threads=64)
    gpu.shared("f64", 4)


def dtype_fragment(x):
    gpu.launch(threads=64)
    make_tensor("double", 4)


def dtype_fragment_like(x):
    gpu.launch(threads=64)
    make_fragment_like(x, np.int64)


def dtype_cast(x):
    gpu.launch(threads=64)
    gpu.cast(x[0], np.uint8)


def dtype_constant(x):
    gpu.launch(threads=64)
    gpu.constant(1, "complex64")


DTYPES = [f for name, f in globals().copy().items() if name.startswith("dtype_")]


@pytest.mark.parametrize("body", DTYPES, ids=lambda body: body.__name__)
def test_an_unknown_element_type(body: Callable[..., None]) -> None:
    text = message_of(body, X.copy(), error=TensorError)
    assert names_the_line(text, body) and "there are f16 (float16), f32" in text, text


def plain(x, y):
    gpu.launch(threads=64)
    copy(x, y)


HERE = f"test_kernel_errors.py:{plain.__code__.co_firstlineno}: "


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((X.astype(np.float64), X.copy()), "argument x: dtype .*float64.*: no such element type"),
        ((X.copy(), X.astype(complex)), "argument y: dtype"),
        ((X.copy(), np.array([None])), "argument y: dtype"),
        ((X.copy(), "text"), "argument y"),
        ((X.copy(), None), "argument y"),
        ((X.copy(), True), "argument y is a bool"),
        ((X.copy(),), "missing a required argument: 'y'"),
        ((X.copy(), X.copy(), X.copy()), "too many positional arguments"),
    ],
)
def test_bad_arguments_name_the_definition(arguments: tuple[object, ...], message: str) -> None:
    text = message_of(plain, *arguments)
    assert text.startswith(f"{HERE}plain") and re.search(message, text), text


# More than a device has: the line that asks for it.


def much_shared(x):
    gpu.launch(threads=64)
    small, large = gpu.shared("f32", 16), make_large()
    small[gpu.thread % 16] = x[gpu.thread]
    large[gpu.thread] = small[0]
    x[gpu.thread] = large[gpu.thread]


def make_large():
    return gpu.shared("f32", 1 << 20)


def many_threads(x):
    gpu.launch(threads=(2048, 2))
    x[0] = 1


def deep_threads(x):
    gpu.launch(threads=(1, 1, 128))
    x[0] = 1


def many_tensors(a, b, c, d, e, f, g, h, x):
    gpu.launch(threads=1)
    x[0] = a[0] + b[0] + c[0] + d[0] + e[0] + f[0] + g[0] + h[0]


@pytest.mark.parametrize(
    ("body", "line", "message"),
    [
        (
            much_shared,
            make_large.__code__.co_firstlineno + 1,
            r"4194\d+ bytes of workgroup memory, the device has 16384",
        ),
        (many_threads, many_threads.__code__.co_firstlineno + 1, "4096 invocations in a workgroup of 2048 x 2 x 1"),
        (deep_threads, deep_threads.__code__.co_firstlineno + 1, "workgroup size 128 along z, the device has 64"),
        (many_tensors, many_tensors.__code__.co_firstlineno, "9 storage buffers, the device has 8"),
    ],
)
def test_limits_name_the_line_that_asks_for_too_much(
    body: Callable[..., None], line: int, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Small:
        limits, features, dialect = Limits(), frozenset(), "naga"
        adapter = type("Adapter", (), {"name": "a small device"})()

    monkeypatch.setattr("cutepy.gpu.trace.kernel.default_device", Small)
    with pytest.raises(DeviceError) as caught:
        gpu.kernel(body)(*[X.copy() for _ in range(body.__code__.co_argcount)])
    text = str(caught.value)
    assert text.startswith(f"test_kernel_errors.py:{line}: {body.__name__} asks for more than a small device has"), text
    assert re.search(message, text), text


def test_a_feature_that_the_device_lacks_names_the_definition(monkeypatch: pytest.MonkeyPatch) -> None:
    class Small:
        limits, features, dialect = Limits(), frozenset(), "naga"
        adapter = type("Adapter", (), {"name": "a small device"})()

    monkeypatch.setattr("cutepy.gpu.trace.kernel.default_device", Small)
    with pytest.raises(DeviceError) as caught:
        gpu.kernel(plain)(X.astype(np.float16), X.astype(np.float16))
    assert str(caught.value).startswith(f"{HERE}plain asks for more") and "shader-f16" in str(caught.value)


def test_tensors_of_two_devices_name_the_definition() -> None:
    class Buffer:
        def __init__(self, device: str) -> None:
            self.device = device

    one, two = (Tensor(gpu.DeviceEngine(Buffer(name), f32, 64), Layout(64)) for name in ("left", "right"))
    with pytest.raises(KernelError) as caught:
        gpu.kernel(plain)(one, two)
    assert str(caught.value) == f"{HERE}plain: the tensors are on 2 devices (left, right); move them to one"


def test_a_whole_tensor_in_one_thread() -> None:
    large = np.zeros(1 << 20, np.float32)
    text = message_of(plain, large, large.copy())
    assert re.match(r"test_kernel_errors\.py:\d+: 1048576 elements of x in one thread.* partition the tensor", text)


def test_a_line_that_is_named_is_not_named_twice() -> None:
    with pytest.raises(KernelError) as caught, source.naming("/some/kernel.py", 3):
        raise KernelError("kernel.py:7: this")
    assert str(caught.value) == "kernel.py:7: this"
    with pytest.raises(KernelError) as caught, source.naming("/some/kernel.py", 3):
        raise KernelError("this")
    assert str(caught.value) == "kernel.py:3: this"


def test_other_errors_stay_what_they_are() -> None:
    def broken(x):
        gpu.launch(threads=64)
        raise KeyError("missing")

    with pytest.raises(KeyError):
        gpu.kernel(broken).interpret(X.copy())


@pytest.mark.parametrize("size", [1, 24, 256, -4, 8.0, "32"])
def test_a_size_that_no_subgroup_has_is_refused(size: object) -> None:
    kernel = gpu.kernel(plain)
    with pytest.raises(KernelError, match=re.escape(f"interpret(subgroup={size!r}): subgroups have 4, 8, 16, 32")):
        kernel.interpret(X, X.copy(), subgroup=size)  # type: ignore[arg-type]
