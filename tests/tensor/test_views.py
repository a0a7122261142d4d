"""Views of host tensors reach the elements of what they were made of, and nothing else."""

from random import Random

import numpy as np
import pytest
import sympy
from tensor.views import check_views

from cutepy import gpu
from cutepy.errors import TensorError
from cutepy.layout import ComposedLayout, Layout, Swizzle, _, append, coalesce, composition
from cutepy.tensor import (
    Tensor,
    ViewEngine,
    copy,
    f32,
    fill,
    local_tile,
    make_counting_tensor,
    make_fragment_like,
    make_identity_tensor,
    make_tensor,
    make_tiled_copy_tv,
    thread_value_partition,
    transform,
    universal_copy,
)

TV = Layout(((4, 8), (2, 2)), ((32, 1), (16, 8)))
"""A thread-value layout for 16 x 8."""


@pytest.mark.parametrize("seed", range(4))
def test_random_views(seed: int) -> None:
    faults = check_views(500, seed)
    assert faults.wrong == []
    assert faults.count["right"] > 120 and faults.count["refused"] > 120


def test_memory_after_a_view_is_not_reached() -> None:
    data = np.zeros(64, np.float32)
    with pytest.raises(TensorError, match=r"composition\(.*8:1\): at 7 it reaches offset 7, which is no element of"):
        composition(make_tensor(data[:4]), Layout(8))
    with pytest.raises(TensorError, match=r"at \(23,31\) it reaches offset"):
        composition(make_tensor(np.zeros((24, 16), np.float32)), (24, 32))
    with pytest.raises(TensorError, match=r"append\(.*at \(3,2\) it reaches offset 9"):
        append(make_tensor(data[:4]), Layout(3, 3))


def test_a_thread_value_layout_for_another_tile_names_thread_coordinate_and_offset() -> None:
    tensor = make_tensor(np.arange(64, dtype=np.float32).reshape(8, 8))
    with pytest.raises(TensorError, match=r"thread_value_partition\(.*, 31\): at \(\(1,1\)\) it reaches offset 71"):
        thread_value_partition(tensor, TV, 31)
    assert thread_value_partition(tensor, TV, 0).numpy().tolist() == [0, 2, 1, 3]
    copies = make_tiled_copy_tv(universal_copy(1), TV, (8, 8))
    with pytest.raises(TensorError, match=r"partition\(.*31\): at .* it reaches offset"):
        copies.partition_S(tensor, 31)


def test_the_tile_beside_is_not_reached() -> None:
    whole = make_tensor(np.arange(384, dtype=np.float32).reshape(24, 16))
    tile = local_tile(whole, (8, 8), (0, 0))
    with pytest.raises(TensorError, match=r"it reaches offset 1\d\d, which is no element of"):
        thread_value_partition(tile, TV, 31)
    with pytest.raises(TensorError, match="no element"):
        make_tensor(tile, (8, 9), (16, 1))
    assert make_tensor(tile, (8, 4), (16, 2)).numpy()[1].tolist() == [16, 18, 20, 22]


def test_elements_between_those_of_an_array_are_not_its_own() -> None:
    data = np.arange(24, dtype=np.float32).reshape(4, 6)
    with pytest.raises(TensorError, match=r"at \(1\) it reaches offset 1, which is no element"):
        make_tensor(data[:, ::2], (2,))
    assert make_tensor(data[:, ::2], (3, 4), (2, 6)).numpy().tolist() == data[:, ::2].T.tolist()


def test_an_edge_tile_reaches_what_exists_and_no_more() -> None:
    data = np.arange(60, dtype=np.float32).reshape(10, 6)
    edge = local_tile(make_tensor(data), (4, 4), (2, 1))
    assert composition(edge, (2, 2)).numpy().tolist() == [[52, 53], [58, 59]]
    fragment = make_tensor("f32", (4, 4))
    copy(edge, fragment)
    assert fragment.numpy().sum() == 52 + 53 + 58 + 59


def test_a_guard_follows_a_coalesced_tile() -> None:
    edge = local_tile(make_tensor(np.arange(21.0), (3, 7)), (3, 3), (0, 2))
    assert coalesce(edge).shape == 9 and coalesce(edge).numpy().tolist() == [18, 19, 20, 0, 0, 0, 0, 0, 0]
    assert [coalesce(edge)[i] for i in range(3)] == [18, 19, 20]
    with pytest.raises(TensorError, match="the tile reaches beyond its tensor there"):
        coalesce(edge)[3]


def test_broadcasts_are_judged_without_a_table_of_them() -> None:
    tile = local_tile(make_tensor(np.zeros((24, 16))), (8, 8), (0, 0))
    assert make_tensor(tile, (8, 1 << 40), (16, 0)).size == 1 << 43
    with pytest.raises(TensorError, match=r"at \(0,0,8\) it reaches offset 8, which is no element"):
        make_tensor(tile, (4, 1 << 40, 9), (16, 0, 1))


def test_no_engine_leaves_its_memory() -> None:
    """The wall behind the law: whoever makes a Tensor by hand meets it."""
    memory = np.arange(16, dtype=np.float32)
    for layout, offset in ((Layout(8), 0), (Layout(4), -1), (Layout(4, -1), 2)):
        stray = Tensor(ViewEngine(memory[4:8], f32), layout, offset)
        for reach in (
            Tensor.numpy,
            lambda t: fill(t, 1),
            lambda t: t.numpy(copy=True),
            lambda t: [t[i] for i in range(t.size)],
        ):
            with pytest.raises(TensorError, match="the memory holds"):
                reach(stray)
    assert memory.tolist() == list(range(16))


def test_an_index_outside_its_mode_is_no_other_element() -> None:
    """(4,8):(8,1) goes on after its last column at its second row: elements of its own, at other coordinates."""
    tensor = make_tensor(np.arange(32, dtype=np.float32).reshape(4, 8))
    with pytest.raises(TensorError, match=r"composition\(.*\): it takes index 33 of a mode of 32, .* 0 to 31"):
        composition(tensor, Layout((2, 9), (1, 4)))
    with pytest.raises(TensorError, match="it takes index 8 of a mode of 8"):
        composition(tensor, (Layout(2), Layout(3, 4)))
    with pytest.raises(TensorError, match=r"thread_value_partition\(.*, 0\): it takes index 32 of a mode of 32"):
        thread_value_partition(tensor, Layout((4, 9), (1, 4)), 0)
    assert composition(tensor, Layout((4, 4), (1, 8))).numpy().tolist() == tensor.numpy()[:, ::2].tolist()
    assert composition(tensor, (_, Layout(2, 4))).numpy().tolist() == tensor.numpy()[:, ::4].tolist()


def test_a_slice_lies_at_one_place() -> None:
    tensor = make_tensor(np.arange(32, dtype=np.float32).reshape(4, 8))
    column = tensor(np.int64(2), _)
    assert type(column.offset) is int and column.numpy_is_view and column.numpy().tolist() == list(range(16, 24))
    with pytest.raises(TensorError, match="at 8 it reaches offset 24, which is no element"):
        composition(column, Layout(9))
    places = np.array([0, 1])
    assert tensor[places, 1].tolist() == [1, 9]  # type: ignore[attr-defined]
    for call in (
        lambda: tensor(places, _),
        lambda: local_tile(tensor, (2, 2), (places, 0)),
        lambda: thread_value_partition(tensor, Layout((4, 8)), places),
        lambda: make_tensor(np.zeros(16), ComposedLayout(Swizzle(1, 0, 2), 0, Layout((4, 4))))(places, _),
    ):
        with pytest.raises(TensorError, match="a slice is taken at one place"):
            call()


@pytest.mark.parametrize("crd", [True, np.True_, np.array([9], dtype=object), 1.0, sympy.Integer(9)])
def test_coordinates_are_whole_numbers(crd: object) -> None:
    tensor = make_tensor(np.zeros(4, np.float32))
    with pytest.raises(TensorError):
        tensor[crd]  # type: ignore[index]


@gpu.kernel
def gathered(x: Tensor, y: Tensor, *, layout_tv: Layout) -> None:
    gpu.launch(grid=1, threads=layout_tv[0].size)
    copy(thread_value_partition(x, layout_tv), y(gpu.thread, _))


@pytest.mark.parametrize("seed", range(30))
def test_the_host_refuses_what_verify_refutes(seed: int) -> None:
    """The same partition of a whole array, at once for every thread and proven for all of them in a kernel."""
    random = Random(seed)
    x = np.arange(random.choice([16, 24, 40]), dtype=np.float32)
    threads, values = random.choice([2, 4, 8]), random.choice([1, 2, 4])
    layout_tv = Layout((threads, values), (random.choice([1, values, 3, 8]), random.choice([1, threads, 5])))
    refused = []
    for thread in range(threads):
        try:
            thread_value_partition(make_tensor(x), layout_tv, thread)
        except TensorError:
            refused.append(thread)
    verdict = gathered.verify(x, np.zeros((threads, values), np.float32), layout_tv=layout_tv)
    assert verdict.ok is not bool(refused)
    assert bool(refused) is (layout_tv.cosize > len(x))


def test_the_elements_of_an_identity_tensor_are_coordinates() -> None:
    tile = np.zeros((4, 6), np.int32)
    transform(make_identity_tensor((4, 6)), make_tensor(tile), op=lambda crd: 10 * crd[0] + crd[1])
    assert (tile == [[10 * i + j for j in range(6)] for i in range(4)]).all()
    part = local_tile(make_identity_tensor((4, 6)), (2, 3), (1, 1))
    transform(part, make_tensor(tile[:2, :3]), op=lambda crd: 10 * crd[0] + crd[1])
    assert tile[:2, :3].tolist() == [[23, 24, 25], [33, 34, 35]]


def test_elements_of_a_tensor_of_unknown_sizes() -> None:
    """A coordinate that may be inside gives the formula of its offset; one that is outside for all sizes is refused."""
    layout = Layout.parse("(M,(8,N)):(8,(1,M))")
    counted = make_counting_tensor(layout)
    for crd in ((3, (0, 0)), (0, (7, 2)), (3, 5)):
        assert counted[crd] == layout(crd)
        assert counted[crd[0], _].layout == layout(0, _) and counted[crd[0], _].layout.facts == layout.facts
    assert counted[_, (_, 0)].layout.subs(M=4) == layout(_, (_, 0)).subs(M=4)
    for outside in ((0, (8, 0)), (3, (9, 2)), (_, (8, 0))):
        with pytest.raises(TensorError):
            counted[outside]


def test_a_fragment_has_a_register_for_every_coordinate() -> None:
    """Mode 0 in its own order, then the others by their strides, also along axes; unknown sizes are refused alike."""
    for text, registers in (
        ("((4,2),8,2):((0,1),0,3)", "((4,2),8,2):((1,4),8,64)"),
        ("((2,4),3,5):((9,1),1,20)", "((2,4),3,5):((1,2),8,24)"),
        ("(2,3,5):(1,90,20)", "(2,3,5):(1,10,2)"),
        ("4:0", "4:1"),
    ):
        assert str(make_fragment_like(make_counting_tensor(Layout.parse(text))).layout) == registers
    assert str(make_fragment_like(make_identity_tensor((4, 8)), "f32").layout) == "(4,8):(1,4)"
    for text in ("(M,8):(8,1)", "M:1", "(M,N,2):(N,1,M)", "(4,M,N):(1,N,M)"):
        with pytest.raises(TensorError, match=r"^make_fragment_like\(.*sizes that are known"):
            make_fragment_like(make_counting_tensor(Layout.parse(text)))
