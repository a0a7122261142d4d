"""Plain slips in kernels get plain errors: each names its line, what is wrong, and what to write."""

import builtins
import inspect
import math
import operator
from collections.abc import Callable

import misuse
import numpy as np
import pytest

from cutepy import gpu
from cutepy.errors import CutepyError, KernelError
from cutepy.layout import Layout
from cutepy.tensor import local_tile, make_fragment_like, make_tensor, recast

X, U = np.arange(256, dtype=np.float32), np.arange(256, dtype=np.uint32)
H = X.astype(np.float16)
Body = Callable[..., object]


def inside(body: Body) -> Callable[..., None]:
    """A kernel around `body`, which gets its tensors and the element of the thread."""

    def kernel(x, u):
        gpu.launch(threads=64)
        body(x, u, x[gpu.thread])

    return kernel


SLIPS: list[tuple[Body, str]] = [
    (lambda x, u, v: max(v, 0.0), "write gpu.maximum"),
    (lambda x, u, v: min(v, 0.0, 1.0), "write gpu.minimum"),
    (lambda x, u, v: builtins.round(v), "write gpu.round"),
    (lambda x, u, v: math.exp(v), "write gpu.exp"),
    (lambda x, u, v: math.atan2(v, v), "write gpu.arctan2"),
    (lambda x, u, v: math.floor(v), "write gpu.floor"),
    (lambda x, u, v: math.pow(v, 2), "write gpu.power"),
    (lambda x, u, v: math.gamma(v), r"kernels have no math\.gamma"),
    (
        lambda x, u, v: np.cumsum(v),
        r"np\.cumsum has no meaning for values of a kernel; use operators",
    ),
    (lambda x, u, v: x.__setitem__(0, np.cumsum(x)), r"store of an array of shape \(256,\) in x, at 1 of its elements"),
    (
        lambda x, u, v: x.__setitem__(0, np.array([v, v])),
        r"an array of shape \(2,\) in x, at 1 of its elements",
    ),
    (lambda x, u, v: math.fabs(v), "write gpu.absolute"),
    (lambda x, u, v: float(v), r'write gpu\.cast\(\.\.\., "f32"\)'),
    (lambda x, u, v: int(v), r'write gpu\.cast\(\.\.\., "i32"\)'),
    (lambda x, u, v: v > 1 or v < 0 or x, "a register holds a number"),
    (lambda x, u, v: list(range(gpu.thread)), r"gpu\.loop outside a `for`"),
    (lambda x, u, v: "ab"[gpu.thread], r"make it a static \(keyword-only\) argument"),
    (lambda x, u, v: gpu.select(v, 1.0, v), r"gpu\.select by a f32 value; compare it"),
    (lambda x, u, v: gpu.when(v).__enter__(), r"gpu\.when of a f32 value; compare it, as in gpu\.when\(x_0 != 0\)"),
    (lambda x, u, v: gpu.select(v > 0, 1.5, gpu.thread), "1.5 meets a u32 value"),
    (lambda x, u, v: gpu.maximum(v, "1"), "'1' is neither a value of the kernel nor a number"),
    (lambda x, u, v: gpu.exp(), r"gpu\.exp takes 1 operands, given are 0"),
    (lambda x, u, v: gpu.select(v), "TypeError: select.. missing 2 required positional arguments"),
    (lambda x, u, v: gpu.launch(threads=64, blocks=3), "TypeError: launch.. got an unexpected keyword argument"),
    (lambda x, u, v: gpu.subgroup_add(3.0), "subgroup_add takes a value of the kernel"),
    (lambda x, u, v: gpu.subgroup_shuffle(v), "takes a value of the kernel and a lane, a distance or a mask"),
    (lambda x, u, v: gpu.subgroup_shuffle(v, v), r"subgroup_shuffle by x_0 \(f32\); give a whole number from 0 to 127"),
    (lambda x, u, v: gpu.subgroup_shuffle(v, -1), "give a whole number from 0 to 127"),
    (lambda x, u, v: gpu.subgroup_max(v > 0), "subgroup_max is not defined on bool"),
    (lambda x, u, v: len(x), r"a tensor has no len\(\); size\(x\) counts"),
    (lambda x, u, v: blockIdx.x, "blockIdx is gpu.workgroup here"),  # noqa: F821
    (lambda x, u, v: gpu.clamp(v, 0.0, 1.0), "no attribute 'clamp'; is it 'clip'"),
    (lambda x, u, v: gpu.u32(v), r"no attribute 'u32'; is it \"cast\(value, 'u32'\)\""),
    (
        lambda x, u, v: v[0],
        "argument v is a number that is known only on the GPU, and is not subscriptable; is a tensor meant",
    ),
    (
        lambda x, u, v: operator.setitem(v, gpu.thread, 1.0),
        "on the GPU,? (and )?does not support item assignment; is a tensor",
    ),
    (lambda x, u, v: v.shape, "argument v is a number that is known only on the GPU, and has no attribute .shape."),
    (lambda x, u, v: gpu.constant(1.5, "i32"), "1.5 meets a i32 value"),
    (lambda x, u, v: gpu.atomic_or(x, 0, 1.0), "it needs a shared or global tensor of i32 or u32"),
    (lambda x, u, v: gpu.atomic_add(u, v, 1), r'an index of type f32; convert it with gpu\.cast\(\.\.\., "u32"\)'),
    (lambda x, u, v: x[v], "an index of type f32"),
    (lambda x, u, v: print(v), r"print runs once, .*x_0 \(f32\) is known only on the GPU: gpu\.print"),
    (lambda x, u, v: print("v is", v, end=""), r"print runs once"),
    (lambda x, u, v: v * x, r"x is a tensor, \(256\):\(1\): write x\[i\] for an element; is a number meant"),
    (lambda x, u, v: x + 1.0, "of a tensor inside a kernel"),
    (lambda x, u, v: x[v > 0], r"\* is not defined on bool; choose by gpu.select, or cast it"),
    (lambda x, u, v: gpu.atomic_add(u, -1, 1), "coordinate -1 of"),
    (lambda x, u, v: gpu.atomic_add(u, (0, 0), 1), "it has 2 entries"),
    (lambda x, u, v: gpu.atomic_add(u, 0, v), r"an atomic on u \(u32\) with a f32 value"),
    (lambda x, u, v: x[gpu.thread, 0], "2 entries where the shape .256. has 1 modes"),
    (lambda x, u, v: gpu.barrier(3), "TypeError: barrier.. takes 0 positional arguments but 1 was given"),
    (lambda x, u, v: v + u[0], r"\+ of f32 and u32; convert one with gpu\.cast"),
    (lambda x, u, v: 2**gpu.thread, "pow is defined on f16 and f32, not on u32; cast first"),
    (lambda x, u, v: recast(local_tile(x, (48,), (5,)), "f16"), "only plain tensors are recast; recast what it is a"),
    (lambda x, u, v: Layout((4, -v)), "neither|known only|no|not"),
]


def line_of(body: Body) -> int:
    return inspect.unwrap(body).__code__.co_firstlineno


@pytest.mark.parametrize(("body", "message"), SLIPS, ids=[message[:40] for _, message in SLIPS])
def test_a_slip(body: Body, message: str) -> None:
    with pytest.raises(CutepyError, match=message) as caught:
        gpu.kernel(inside(body)).interpret(X.copy(), U.copy())
    assert str(caught.value).startswith(f"test_slips.py:{line_of(body)}: "), caught.value


NUMBERS: list[Body] = [
    lambda x, u, v: v,
    lambda x, u, v: v + 1.0,
    lambda x, u, v: -v,
    lambda x, u, v: gpu.exp(v),
    lambda x, u, v: gpu.cast(v, "u32"),
    lambda x, u, v: gpu.select(v > 0.0, v, 1.0),
    lambda x, u, v: u[gpu.thread] & 3,
    lambda x, u, v: v > 0.0,
    lambda x, u, v: gpu.thread,
    lambda x, u, v: gpu.workgroup.x + gpu.thread,
]
USES: list[Callable[..., object]] = [lambda e: e[0], lambda e: e.shape, lambda e: len(e), lambda e: e(1)]


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("number", NUMBERS)
def test_a_number_of_the_gpu_is_told_so_whatever_it_is_taken_for(number: Body, use: Callable[..., object]) -> None:
    with pytest.raises(CutepyError) as caught:
        gpu.kernel(inside(lambda x, u, v: use(number(x, u, v)))).interpret(X.copy(), U.copy())
    assert "is a number that is known only on the GPU, and " in str(caught.value)
    assert "is a tensor meant" in str(caught.value)


@pytest.mark.parametrize("use", USES)
def test_another_object_is_told_by_its_type(use: Callable[..., object]) -> None:
    with pytest.raises(CutepyError, match=r": (Type|Attribute)Error: .*'complex'"):
        gpu.kernel(inside(lambda x, u, v: use(1j))).interpret(X.copy(), U.copy())


def test_errors_of_the_users_own_pass_unchanged() -> None:
    def own(x, u, v):
        raise ValueError("mine")

    with pytest.raises(ValueError, match=r"^mine$") as caught:
        gpu.kernel(inside(own)).interpret(X.copy(), U.copy())
    assert not isinstance(caught.value, CutepyError)


# Arguments.


def sized(x, n):
    gpu.launch(grid=n, threads=64)
    x[gpu.thread] = 1.0


def laid(x, layout):
    gpu.launch(threads=64)


def static(x, *, layout):
    gpu.launch(threads=layout.size)


UNKNOWN = Layout.parse("(?,8):(8,1)")


@pytest.mark.parametrize(
    ("body", "arguments", "named", "message"),
    [
        (
            sized,
            (X, 4),
            {},
            r"gpu\.launch\(grid=params\.n\): params\.n is known only on the GPU; .*make n keyword-only",
        ),
        (sized, (X, np.uint32(4)), {}, "make n keyword-only"),
        (
            laid,
            (X, Layout(4)),
            {},
            r"argument layout is the layout 4:1; make layout keyword-only, so that it is static",
        ),
        (laid, (X, UNKNOWN), {}, "make layout keyword-only"),
        (static, (X,), {"layout": UNKNOWN}, r"has to know n0; give it a number, layout\.subs\(n0=\.\.\.\)"),
    ],
)
def test_slips_in_arguments(body: Body, arguments: tuple[object, ...], named: dict[str, object], message: str) -> None:
    with pytest.raises(KernelError, match=rf"^test_slips\.py:\d+: .*{message}"):
        gpu.kernel(body).interpret(*arguments, **named)


def test_the_names_of_several_at_once() -> None:
    @gpu.kernel
    def named(x, y):
        gpu.launch(threads=4)
        a, b = gpu.shared(x, (4,)), gpu.shared("f32", 4)
        (c, d), e = (gpu.shared("f32", 4), gpu.shared("f32", 4)), gpu.shared("f32", 4)
        f, g, h, i = gpu.shared("f32", 4), gpu.shared("f32", 4), gpu.shared("f32", 4, pad=0), gpu.shared("f32", 4)
        rA, rB = make_fragment_like(x), make_tensor("f32", 4)
        [unnamed] = [gpu.shared("f32", 4) for _ in range(1)]
        for t in (a, b, c, d, e, f, g, h, i, unnamed):
            t[gpu.thread] = 1.0
            y[gpu.thread] = t[gpu.thread]
        rA[gpu.thread], rB[gpu.thread] = 1.0, 2.0
        y[gpu.thread] = rA[gpu.thread] + rB[gpu.thread]

    kernel = named.ir(np.zeros(4, np.float32), np.zeros(4, np.float32))
    names = [b.name for b in kernel.local]
    assert names == [*"abcdefghi", "rA", "rB", "tile"]


# No call of a public function, however wrong, gets further than the kernel's line.


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_misuse_is_refused_at_its_line() -> None:
    found = misuse.misuses(600, seed=0)
    assert not found.raw, found.raw[:5]
    assert found.refused > 300 and found.traced > 20


def test_every_public_function_is_among_them() -> None:
    assert {"select", "subgroup_shuffle", "atomic_max", "barrier", "shared", "unroll", "launch"} <= set(misuse.PUBLIC)
