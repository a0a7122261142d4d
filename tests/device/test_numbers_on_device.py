"""Numbers as launch parameters, the functions of values, and changed captures, on a device as in the interpreter."""

import numpy as np
import pytest

from cutepy import gpu
from cutepy.errors import KernelError
from cutepy.gpu.ir.operators import FUNCTIONS, Function
from cutepy.gpu.runtime import Device

X = np.linspace(-0.9, 0.9, 64).astype(np.float32)
Y = np.linspace(0.25, 3, 64).astype(np.float32)
SCALE = 2.0


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.name)
def test_functions(device: Device, function: Function) -> None:
    own = getattr(gpu, function.name)

    @gpu.kernel
    def applied(x, y, out):
        gpu.launch(threads=64)
        out[gpu.thread] = own(*[x[gpu.thread], y[gpu.thread], 2.0][: function.operands])

    operands = (Y + 1, Y + 2) if function.name in ("arccosh", "log", "log2", "power", "rsqrt", "sqrt") else (X, Y)
    x, y, out = [gpu.array(a, device=device) for a in (*operands, np.zeros(64, np.float32))]
    applied(x, y, out)
    want = np.zeros(64, np.float32)
    applied.interpret(*operands, want)
    np.testing.assert_allclose(out.numpy(), want, rtol=1e-3, atol=1e-3)


def test_one_number_in_several_types(device: Device) -> None:
    @gpu.kernel
    def spread(a, b, x, k):
        gpu.launch(threads=64)
        x[gpu.thread] = x[gpu.thread] * a + b
        k[gpu.thread] = k[gpu.thread] - a

    x, k = [gpu.array(np.ones(64, dtype), device=device) for dtype in (np.float32, np.int32)]
    for a in (3, -2, 3):  # the third time by the quick path
        spread(a, np.float16(0.1), x, k)
    half = np.float32(np.float16(0.1))
    assert k.numpy()[0] == 1 - 4
    np.testing.assert_allclose(x.numpy()[0], ((3 + half) * -2 + half) * 3 + half, rtol=1e-6)


def test_a_number_beyond_its_type_is_refused_also_by_the_quick_path(device: Device) -> None:
    @gpu.kernel
    def seeded(seed, k):
        gpu.launch(threads=64)
        k[gpu.thread] = seed + gpu.thread

    k = gpu.array(np.zeros(64, np.uint32), device=device)
    for _ in range(2):
        seeded(1, k)
        with pytest.raises(
            KernelError, match=r"test_numbers_on_device\.py:\d+: seeded: argument seed is -1, which u32"
        ):
            seeded(-1, k)
    assert k.numpy()[:2].tolist() == [1, 2]


def test_a_changed_global_is_seen_by_the_quick_path(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    @gpu.kernel
    def scaled(x):
        gpu.launch(threads=64)
        x[gpu.thread] = SCALE

    x = gpu.array(X, device=device)
    for value in (2.0, 2.0, 5.0, 2.0):
        monkeypatch.setitem(globals(), "SCALE", value)
        scaled(x)
        assert x.numpy()[0] == value


def test_tensors_by_name_and_in_tuples(device: Device) -> None:
    @gpu.kernel
    def added(xs, out):
        gpu.launch(threads=64)
        out[gpu.thread] = sum(x[gpu.thread] for x in xs)

    x, y, out = [gpu.array(a, device=device) for a in (X, Y, np.zeros(64, np.float32))]
    for _ in range(2):
        added((x, y), out=out)
        np.testing.assert_array_equal(out.numpy(), X + Y)
        added((y, y), out=out)
        np.testing.assert_array_equal(out.numpy(), Y + Y)


def test_defaults_are_not_forgotten_by_the_quick_path(device: Device) -> None:
    @gpu.kernel
    def weighed(x, a=3.0, *, weights=[1.0]):  # noqa: B006  a default that changes is what is tested
        gpu.launch(threads=64)
        x[gpu.thread] = a * sum(weights)

    x = gpu.array(X, device=device)
    for weights in ([1.0], [1.0], [2.0, 3.0]):
        weighed.function.__kwdefaults__["weights"][:] = weights
        for a in ((), (), (5.0,), (7.0,)):
            weighed(x, *a)
            assert x.numpy()[0] == (a or (3.0,))[0] * sum(weights)
