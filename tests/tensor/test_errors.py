"""Bad input: a clear TensorError that names the call, the numbers and a way out; the data stay as they were."""

import ast
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import sympy

import cutepy
import cutepy.gpu
from cutepy.errors import CutepyError, TensorError
from cutepy.layout import (
    ComposedLayout,
    Layout,
    Swizzle,
    _,
    blocked_product,
    complement,
    flat_product,
    logical_product,
    raked_product,
    right_inverse,
    tile_to_shape,
    tiled_product,
    zipped_product,
)
from cutepy.tensor import (
    COPY_ATOMS,
    FMA,
    Tensor,
    TensorIndexError,
    TiledCopy,
    axpby,
    clear,
    copy,
    copy_if,
    elem_less,
    fill,
    gemm,
    local_partition,
    local_tile,
    make_counting_tensor,
    make_gmem_ptr,
    make_identity_tensor,
    make_layout_tv,
    make_tensor,
    make_tiled_copy,
    make_tiled_mma,
    recast,
    thread_value_partition,
    transform,
    universal_copy,
)


def tensor(shape: object = (4, (2, 3)), dtype: str = "float32", name: str = "A") -> Tensor:
    layout = Layout(shape)  # type: ignore[arg-type]
    return make_tensor(make_gmem_ptr(np.arange(1, layout.size + 1).astype(dtype), name=name), layout)


COORDINATES = [
    ((4, (0, 0)), "coordinate 4 of gmem_ptr.*this mode has size 4, so it goes from 0 to 3"),
    ((0, (2, 0)), "coordinate 2 .* this mode has size 2"),
    ((0, 6), "coordinate 6 .* this mode has size 6"),
    ((-5, 0), "coordinate -5 .* this mode has size 4"),
    (24, "coordinate 24 .* this mode has size 24, so it goes from 0 to 23"),
    (-1, "coordinate -1"),
    (
        (0, 0, 0),
        r"coordinate .0,0,0. .* has 3 entries where the shape .* has 2 modes; give one entry a mode",
    ),
    ((0, (1, 2, 3)), r"has 3 entries where the shape \(2,3\) has 2 modes"),
    (((0, 0), 0), r"has 2 entries where the shape 4 has no modes of its own"),
    ((0,), "has 1 entry where the shape"),
    ((0.5, 0), "coordinate 0.5 of .*: give integers, nested tuples of them, or _"),
    (("a", 0), "coordinate 'a'"),
    ([0, 1], "give integers"),
    ((slice(None), 0.5), "beside a slice, `...` or None stand integers"),
    (np.array([1.5]), "its type is float64; coordinates are integers"),
    (np.array([0, 24]), "coordinate 24 "),
    ((_, 6), "coordinate 6 .* size 6"),
    ((_, _, 0), "has 3 entries"),
    ((4, _), "coordinate 4 .* size 4"),
    ((0, (_, 3)), "coordinate 3 .* size 3"),
]


@pytest.mark.parametrize(("crd", "message"), COORDINATES)
@pytest.mark.parametrize("write", [False, True])
def test_coordinates(crd: object, message: str, write: bool) -> None:
    t = tensor()
    before = t.numpy().copy()
    with pytest.raises(TensorError, match=message) as caught:
        if write and "_" not in str(crd):
            t[crd] = 7  # type: ignore[index]
        else:
            t[crd]  # type: ignore[index]
    assert isinstance(caught.value, IndexError) and isinstance(caught.value, TensorIndexError)
    assert (t.numpy() == before).all()


def read_only(**options: str) -> Tensor:
    data = np.arange(6, dtype=np.float32)
    data.flags.writeable = False
    return make_tensor(make_gmem_ptr(data, name="R"), (2, 3))


WRITES: list[Callable[[Tensor], object]] = [
    lambda t: t.__setitem__((0, 0), 1),
    lambda t: copy(tensor((2, 3)), t),
    lambda t: copy_if(np.ones((2, 3), bool), tensor((2, 3)), t),
    lambda t: fill(t, 1),
    clear,
    lambda t: axpby(1, tensor((2, 3)), 1, t),
    lambda t: gemm(tensor((2, 4)), tensor((3, 4)), t),
    lambda t: transform(t, op=np.negative),
]


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("part", [lambda t: t, lambda t: t(_, _), lambda t: local_tile(t, (2, 3), (0, 0))])
def test_writes_through_a_read_only_view(write: Callable[[Tensor], object], part: Callable[[Tensor], Tensor]) -> None:
    target = read_only()
    with pytest.raises(TensorError, match=r"store to gmem_ptr\[32b\]\(R\): it is read-only; copy it first"):
        write(part(target))
    assert target.numpy().ravel(order="F").tolist() == [0, 1, 2, 3, 4, 5]


def test_views_of_read_only_memory_are_read_only() -> None:
    assert not read_only().numpy().flags.writeable
    for source in (make_counting_tensor(Layout(4)), make_identity_tensor((2, 3))):
        with pytest.raises(TensorError, match="it is read-only"):
            fill(source, 0)


def test_overlap_of_source_and_target() -> None:
    data = np.arange(12, dtype=np.float32)
    ahead, behind = make_tensor(data[2:], 8), make_tensor(data, 8)
    for source, target in ((ahead, behind), (behind, ahead)):
        for call in (copy, lambda s, t: axpby(1, s, 1, t), lambda s, t: transform(s, t, op=np.negative)):
            with pytest.raises(TensorError, match="overlap, so elements would be overwritten before they are read"):
                call(source, target)
    whole = make_tensor(data[:9], (3, 3))
    with pytest.raises(TensorError, match="overlap"):
        copy(whole, make_tensor(data[:9], (3, 3), (3, 1)))
    with pytest.raises(TensorError, match="overlap"):
        gemm(whole, whole, make_tensor(data[:9], (3, 3), (3, 1)))
    with pytest.raises(TensorError, match="overlap"):
        swizzled = make_tensor(data[:8], ComposedLayout(Swizzle(1, 0, 1), 0, Layout((4, 2))))
        copy(swizzled, make_tensor(data[:8], (4, 2)))
    assert data.tolist() == list(range(12))
    copy(make_tensor(data[0::2]), make_tensor(data[1::2]))  # interleaved, not overlapping
    assert data.tolist() == [0, 0, 2, 2, 4, 4, 6, 6, 8, 8, 10, 10]
    copy(behind, make_tensor(data, 8))  # the very same elements
    transform(behind, behind, op=np.negative)
    assert data[:8].tolist() == [0, 0, -2, -2, -4, -4, -6, -6]


HOLDS = [
    ("int32", 2.5, r"store of 2.5 \(float64\) as i32: i32 cannot hold it"),
    ("int32", 2**31, "store of 2147483648 as i32: it holds -2147483648 to 2147483647"),
    ("uint32", -1, "store of -1 as u32: it holds 0 to 4294967295"),
    ("bool", 0.5, "bool cannot hold it"),
    ("bool", 2, "store of 2 as bool: it holds 0 to 1"),
    ("float32", 1j, "f32 cannot hold it"),
    ("float32", "text", "f32 cannot hold it"),
    ("int32", 2**80, "i32 cannot hold it"),
]


@pytest.mark.parametrize(("dtype", "value", "message"), HOLDS)
def test_values_that_the_type_cannot_hold(dtype: str, value: object, message: str) -> None:
    target = make_tensor(np.ones((2, 3), dtype))
    for write in (lambda: fill(target, value), lambda: target.__setitem__((0, 0), value)):
        with pytest.raises(TensorError, match=message):
            write()
    assert (target.numpy() == 1).all()


@pytest.mark.parametrize(("source", "target"), [("float32", "int32"), ("int32", "uint32"), ("float32", "bool")])
def test_copies_that_would_lose_the_kind(source: str, target: str) -> None:
    goal = make_tensor(np.ones(4, target))
    with pytest.raises(TensorError, match=r"cannot hold .* values; convert them with transform"):
        copy(make_tensor(np.zeros(4, source)), goal)
    assert (goal.numpy() == 1).all()


def test_copies_between_widths_of_floats() -> None:
    half = make_tensor("f16", 3)
    copy(make_tensor(np.float32([1.0001, 2, 3])), half)
    assert half.numpy().tolist() == [1, 2, 3]


@pytest.mark.parametrize("dtype", ["object", "S3", "U2", "datetime64[s]", "longdouble"])
def test_types_that_are_no_numbers(dtype: str) -> None:
    with pytest.raises(TensorError, match=r"no such element type; there are f16 \(float16\), .* c128 \(complex128\)"):
        make_tensor(np.zeros(3, dtype))
    with pytest.raises(TensorError, match="no such element type"):
        make_tensor(np.dtype(dtype), (2, 3))


@pytest.mark.parametrize(
    "product",
    [
        logical_product, zipped_product, tiled_product, flat_product, blocked_product, raked_product,
        lambda t, tiler: tile_to_shape(t, (8, 12)),
    ],
)  # fmt: skip
def test_products_of_a_tensor(product: Callable[..., object]) -> None:
    with pytest.raises(TensorError, match=r"would reach elements outside of it; take the product of \.layout"):
        product(tensor(), Layout((2, 2)))


@pytest.mark.parametrize("operation", [complement, right_inverse])
def test_other_layout_operations_of_a_tensor(operation: Callable[..., object]) -> None:
    with pytest.raises(TensorError, match=f"{operation.__name__} acts on layouts; take .layout"):
        operation(tensor())


def test_unknown_sizes_in_an_owning_tensor() -> None:
    m = sympy.Symbol("m", integer=True, positive=True)
    for layout in (Layout((4, m)), Layout((4, 8), (m, 1))):
        with pytest.raises(TensorError, match="an owning tensor needs sizes that are known; substitute numbers"):
            make_tensor("f32", layout)


def loads() -> TiledCopy:
    return make_tiled_copy(COPY_ATOMS["sm_75.ldmatrix.m8n8.x1.b16"], Layout((8, 4), (4, 1)), Layout((1, 2)))


CALLS = [
    (
        lambda: make_tensor(np.zeros(10, "f4"), (4, 3)),
        r"at \(3,2\) it reaches offset 11, which is no element of ptr.*its offsets: 0 to 9",
    ),
    (lambda: make_tensor(np.zeros(10, "f4"), 4, -1), r"at 3 it reaches offset -3, which is no element"),
    (lambda: make_tensor(np.zeros(10, "f4"), Layout(4), 2), "the layout has its strides already"),
    (lambda: make_tensor("f32"), "make_tensor needs a layout or a shape here"),
    (lambda: make_tensor(3, (2, 2)), "a view of int: it has no buffer"),
    (lambda: copy(tensor((2, 3)), tensor((2, 2))), "the sizes 6 and 4 differ; slice or tile one of them"),
    (lambda: copy(np.zeros(3), tensor((3,))), "ndarray is not a tensor"),
    (lambda: copy_if(np.ones(5, bool), tensor((2, 3)), tensor((2, 3))), "the predicate has 5 entries"),
    (lambda: gemm(tensor((2, 3)), tensor((4, 5)), tensor((2, 4))), "mode K has size 3 in A and 5 in B"),
    (lambda: gemm(tensor((2, 3)), tensor((4, 3)), tensor((3, 4))), "mode M has size 2 in A and 3 in C"),
    (
        lambda: gemm(tensor((2, 3, 4)), tensor((4, 3)), tensor((3, 4))),
        r"no form has the ranks 3, 2, 2; there are \(V\)",
    ),
    (lambda: transform(op=abs), "give a target"),
    (lambda: local_tile(tensor((8, 8)), (4, 4), (2, 0)), "coordinate 2 .* size 2"),
    (lambda: local_tile(tensor((8, 8)), (4, 4), (0, 0), (1, None, 1)), "the projection .* must have one entry"),
    (lambda: local_partition(tensor((8, 8)), Layout((2, 2)), 4), "thread 4 of 0 to 3"),
    (lambda: local_partition(tensor((8, 8)), Layout((2, 2), (1, 4)), 0), "gives no thread the number 2"),
    (lambda: thread_value_partition(tensor((4, 8)), Layout((8, 4)), 8), "coordinate 8 .* size 8"),
    (lambda: make_layout_tv(Layout((2, 2), (1, 4)), Layout(2)), "does not number its 4 places without gaps"),
    (lambda: universal_copy(5), "a thread copies 1 to 4 elements at once"),
    (lambda: make_tiled_copy(universal_copy(4), Layout(8), Layout(2)), "are no whole atoms"),
    (lambda: make_tiled_mma(FMA, (4, 4, 1, 1)), "give one entry each for M, N and K"),  # type: ignore[arg-type]
    (lambda: make_tiled_mma(FMA, (4, 4, 1), (6, None, None)), "M deals out 6 at once, .* multiple of 4 atoms of 1"),
    (lambda: make_tiled_mma(FMA, (4, 4, 1)).partition_A(tensor((8,)), 0), r"it needs the modes \(M, K\)"),
    (lambda: make_tiled_mma(FMA, (4, 4, 1)).partition_A(tensor((8, 8)), 16), "thread 16 of 0 to 15"),
    (
        lambda: make_tiled_copy(universal_copy(1), Layout((4, 2))).partition_S(tensor((8,)), 0),
        "it has 1 modes, the tile",
    ),
    (lambda: make_tiled_copy(universal_copy(1), Layout((4, 2))).partition_S(tensor((8, 8)), 8), "thread 8 of 0 to 7"),
    (lambda: loads().partition_S(tensor((16, 16), "float16"), 0), r"ldmatrix\S* reads smem, but gmem_ptr.* is in gmem"),
    (lambda: elem_less(tensor((2, 3)), (2, 3)), "the first operand is no identity tensor"),
    (lambda: elem_less(make_identity_tensor((2, 3)), (2, 3, 4)), "a coordinate has 2 entries"),
    (lambda: recast(tensor((3,), "float16"), "f32"), "3 elements of 2 bytes are no whole number of 4"),
    (lambda: (recast(tensor((4,), "float16")(_), "f32"), recast(tensor((5,), "float16")((_,)), "f32")), "no whole"),
    (lambda: recast(make_counting_tensor(Layout(4)), "f16"), "only plain tensors in host memory"),
    (lambda: tensor().__setitem__((_, 0), 1), "one element is written at a time; use copy or fill on the slice"),
    (
        lambda: make_tensor(np.zeros(8, "f4"), ComposedLayout(Swizzle(1, 0, 2), 0, Layout(8))).stride,
        "a swizzled layout",
    ),
    (lambda: make_tensor(np.arange(8, dtype="f4"), ((2, 2), 2), ((1, 4), 2)).numpy(copy=False), "no NumPy strides say"),
    (lambda: make_tensor(np.zeros((4, 3), "u1")[:, :2].view("f2")), "no multiples of 2; copy the array first"),
    (lambda: make_gmem_ptr(np.zeros(4, "f4"), "f16"), "only raw bytes are reinterpreted; use recast"),
    (lambda: make_gmem_ptr(b"12345", "f32"), "5 bytes as f32: it takes a multiple of 4"),
]


@pytest.mark.parametrize(("call", "message"), CALLS, ids=[str(number) for number in range(len(CALLS))])
def test_calls(call: Callable[[], object], message: str) -> None:
    with pytest.raises(TensorError, match=message):
        call()


def test_a_tile_beyond_its_tensor() -> None:
    t = tensor((5, 3))
    tile = local_tile(t, (4, 2), (1, 1))
    for crd in ((1, 0), (0, 1), 7):
        with pytest.raises(TensorIndexError, match="the tile reaches beyond its tensor there; copy and fill skip"):
            tile[crd]
        with pytest.raises(TensorIndexError, match="beyond its tensor"):
            tile[crd] = 5
    before = t.numpy().copy()
    fill(tile, 100)
    before[4, 2] = 100
    assert (t.numpy() == before).all()


def names_in(tree: ast.AST) -> tuple[set[str], set[str]]:
    """The exceptions that a module raises by their class, and those that it catches."""
    raised, caught = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and node.exc is not None:
            raised.add(ast.unparse(node.exc.func if isinstance(node.exc, ast.Call) else node.exc))
        if isinstance(node, ast.ExceptHandler) and node.type is not None:
            caught |= {ast.unparse(kind) for kind in getattr(node.type, "elts", [node.type])}
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "suppress":
            caught |= set(map(ast.unparse, node.args))
    return {name for name in raised if name.rpartition(".")[2][0].isupper()}, caught


def test_every_error_is_a_cutepy_error() -> None:
    """What a module raises is a kind of CutepyError, or a signal that the package catches itself."""
    allowed = {
        "AssertionError",  # what cannot happen
        "AttributeError",  # Python's own protocol of modules and of `getattr`
        "nodes.SkipNode",  # docutils' and Markdown's own
        "SuperFencesException",
        "Unfollowed",  # a recipe of a call catches whatever comes of following its numbers
    }
    raised, caught = set(), set()
    for path in Path(cutepy.__file__).parent.rglob("*.py"):
        more, these = names_in(ast.parse(path.read_text()))
        raised, caught = raised | more, caught | these
    kinds, todo = set(), [CutepyError]
    while todo:
        kind = todo.pop()
        kinds.add(kind.__name__)
        todo += kind.__subclasses__()
        assert kind is CutepyError or issubclass(kind, (ValueError, IndexError, RuntimeError)), kind
    assert "TensorIndexError" in kinds and "LayoutError" in raised
    assert raised - kinds - caught <= allowed, raised - kinds - caught - allowed
