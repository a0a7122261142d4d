"""Numbers as launch parameters, the functions of values, and changed captures, on a device as in the interpreter."""

import numpy as np
import pytest
from gpu.function_cases import BITS, SPECIAL, close, edges, operands_of, special_operands
from ops import signs
from swiftshader import needs_f16, needs_special_values

from cutepy import gpu, ops
from cutepy.errors import KernelError
from cutepy.gpu.runtime import Device
from cutepy.tensor.functions import FUNCTIONS, Function

X = np.linspace(-0.9, 0.9, 64).astype(np.float32)
Y = np.linspace(0.25, 3, 64).astype(np.float32)
SCALE = 2.0


ROWS = [f for f in FUNCTIONS.values() if "f" in f.takes and not f.conditional]
#: How far WGSL lets a device be from the exact value, absolute; or so many units in the last place.
ABSOLUTE = {"sin": 2**-11, "cos": 2**-11, "tan": 2**-11, "arcsin": 2**-11, "arccos": 2**-11, "sinh": 1e-6, "tanh": 1e-6}
UNITS = {"arctan": 4096, "arctan2": 4096, "tan": 16384, "power": 512, "exp": 256, "exp2": 256, "cosh": 256, "sinh": 256}


@pytest.mark.parametrize("function", ROWS, ids=lambda f: f.name)
def test_functions(device: Device, function: Function) -> None:
    if function.name == "log1p":
        needs_special_values(device)  # 1.4e-4 off
    own = getattr(gpu, function.in_kernels)

    @gpu.kernel
    def applied(x, y, z, out):
        gpu.launch(threads=64)
        found = own(*[x[gpu.thread], y[gpu.thread], z[gpu.thread]][: function.arity])
        out[gpu.thread] = gpu.cast(found, "f32")

    operands = operands_of(function)
    given = [gpu.array(operands[min(i, function.arity - 1)], device=device) for i in range(3)]
    out = gpu.array(np.zeros(64, np.float32), device=device)
    applied(*given, out)
    with np.errstate(all="ignore"):
        want = np.asarray(function.numpy(*operands), np.float32)
    assert close(out.numpy(), want, UNITS.get(function.name, 64), ABSOLUTE.get(function.name, 3e-6))


@pytest.mark.parametrize("function", ROWS, ids=lambda f: f.name)
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_functions_at_special_values(device: Device, function: Function, dtype: str) -> None:
    needs_special_values(device, function.name)
    if dtype == "float16":
        needs_f16(device)
    given = special_operands(function, dtype)
    with np.errstate(all="ignore"):
        want = np.asarray(function.numpy(*[x.astype(np.float32) for x in given]))
        want = want if function.gives == "bool" else want.astype(dtype)
    formula = gpu.pointwise(f"{function.name}({', '.join('abc'[: function.arity])})")
    found = formula(*[gpu.array(x, device=device) for x in given]).numpy()
    assert found.dtype == want.dtype
    assert close(found, want, UNITS.get(function.name, 64), ABSOLUTE.get(function.name, 0))


@pytest.mark.parametrize("function", [f for f in ROWS if f.arity == 2 and not f.python], ids=lambda f: f.name)
@pytest.mark.parametrize("operands", ["a, -a", "-a, a", "a, a", "a, 0.0", "a, -0.0", "0.0, a"])
def test_functions_that_a_compiler_sees_through(device: Device, function: Function, operands: str) -> None:
    """An operand that is a number of the text, or the other one turned round."""
    needs_special_values(device, function.name)
    a = SPECIAL.astype(np.float32)
    given = [np.broadcast_to(np.float32(eval(text)), a.shape) for text in operands.split(", ")]
    with np.errstate(all="ignore"):
        want = function.numpy(*given)
    gpu.pointwise("a + 1")(gpu.array(a, device=device))  # what a store that is left out would leave behind
    found = gpu.pointwise(f"{function.name}({operands})")(gpu.array(a, device=device)).numpy()
    assert close(found, want, UNITS.get(function.name, 64))


@pytest.mark.parametrize("zero", ["0.0", "-0.0"])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_what_is_divided_by_a_literal_0_is_stored(device: Device, zero: str, dtype: str) -> None:
    needs_special_values(device)
    a = SPECIAL[np.abs(SPECIAL) != 0].astype(dtype)
    gpu.pointwise("a + 1")(gpu.array(a, device=device))
    found = gpu.pointwise(f"a / {zero}")(gpu.array(a, device=device)).numpy()
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(found, a / np.dtype(dtype).type(float(zero)))


@pytest.mark.parametrize("dtype", ["int32", "uint32"])
@pytest.mark.parametrize("name", [*BITS, "mulhi", "mod", "floordiv", "sign", "signbit", "fmin", "clip"])
def test_functions_of_integers(device: Device, name: str, dtype: str) -> None:
    x, y = edges(dtype)
    given = [x, y, np.roll(y, 3)][: FUNCTIONS[name].arity]
    found = getattr(ops, name)(*[gpu.array(v, device=device) for v in given])
    assert np.array_equal(found.numpy(), getattr(ops, name)(*given).numpy())


def test_one_number_in_several_types(device: Device) -> None:
    needs_f16(device)

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


@pytest.mark.parametrize("function", signs.OF_FLOATS, ids=lambda f: f.name)
def test_signs_of_zeros_and_infinities(device: Device, function: Function) -> None:
    needs_special_values(device)
    assert signs.wrong_edges(function, "wgpu") == []


@pytest.mark.parametrize("name", ["left_shift", "right_shift"])
@pytest.mark.parametrize("dtype", ["int32", "uint32"])
def test_shifts_by_any_amount(device: Device, name: str, dtype: str) -> None:
    values = np.array([0, 1, 2, 100, np.iinfo(dtype).max, np.iinfo(dtype).min], dtype)
    x, by = (t.ravel() for t in np.meshgrid(values, signs.SHIFTS.astype(dtype)))
    found = getattr(ops, name)(gpu.array(x, device=device), by).numpy()
    np.testing.assert_array_equal(found, getattr(np, name)(x, by))


@pytest.mark.parametrize("count", [1, 2, 3, 5, 7, 13])
@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "uint16"])
def test_any_length_of_small_types(device: Device, count: int, dtype: str) -> None:
    x = np.arange(count, dtype=dtype) + 1
    np.testing.assert_array_equal(gpu.array(x, device=device).numpy(), x)
    both = np.arange(3 * count, dtype=dtype).reshape(3, count)
    np.testing.assert_array_equal(gpu.array(both.T[::-1], device=device).numpy(), both.T[::-1])
