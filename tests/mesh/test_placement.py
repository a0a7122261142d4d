"""A placement holds what cutting lists gives; its questions against counting by brute force."""

import random
from itertools import product
from math import prod
from time import perf_counter

import pytest
from placements import Case, all_devices, held, random_case

from cutepy import Layout, LayoutError
from cutepy.mesh import Placement
from cutepy.mesh.dtensor import placed
from cutepy.mesh.modes import count_below, digits_of, first_doubled, first_missing


def of_case(case: Case) -> Placement:
    shape, mesh, said = case
    kinds = [None if what[0] == "replicate" else (what[1], what[2] if len(what) > 2 else 1) for what in said]
    return placed(shape, mesh, kinds, "test")


def test_every_device_holds_what_cutting_lists_gives() -> None:
    draw, equal, refused = random.Random(1), 0, 0
    for _ in range(1500):
        case = random_case(draw)
        try:
            placement = of_case(case)
        except LayoutError as error:
            refused += 1
            assert "index" in str(error) or "is not a layout: at" in str(error)
            continue
        equal += 1
        for device in all_devices(case[1]):
            indices = held(case, device)
            # Cut pieces of one device may be empty in one dimension: then it holds nothing at all.
            assert prod(map(len, placement.local_coordinates(device))) == prod(map(len, indices)), (case, device)
            if prod(map(len, indices)):
                assert list(placement.local_coordinates(device)) == indices, (case, device)
            assert placement.elements(device) == prod(map(len, indices))
    assert equal > 700 and refused > 100


def test_few_refusals_are_without_need() -> None:
    """Where cutting is refused, hardly ever do strides of the axes hold what DTensor's devices hold."""
    draw, needless, judged = random.Random(2), 0, 0
    while judged < 100:
        case = random_case(draw, devices=8)
        try:
            of_case(case)
        except LayoutError:
            judged += 1
            needless += all(linear(case, dim) for dim in range(len(case[0])))
    assert needless <= 5


def linear(case: Case, dim: int) -> bool:
    """Whether some stride a device axis, and one list for all, give each device its indices, less those outside."""
    shape, mesh, _ = case
    lists = {device: held(case, device)[dim] for device in all_devices(mesh)}
    first = lists[(0,) * len(mesh)]
    options = [range(shape[dim] + 1) if n > 1 else range(1) for n in mesh]
    for strides in product(*options):
        base = {device: sum(a * b for a, b in zip(device, strides, strict=True)) for device in lists}
        if all(lists[d] == [x + base[d] for x in first if x + base[d] < shape[dim]] for d in lists):
            return True
    return False


def test_questions_against_counting() -> None:
    draw = random.Random(3)
    for _ in range(400):
        shape = (draw.randint(1, 12), draw.randint(1, 8))
        mesh = tuple(draw.choice([1, 2, 3, 4]) for _ in range(draw.randint(1, 3)))
        dims, used = [], set()
        for extent in shape:
            strides = []
            for axis in range(len(mesh)):
                free = axis not in used and draw.random() < 0.5
                strides.append(draw.randint(1, extent) if free else 0)
                if strides[-1]:
                    used.add(axis)
            local = draw.randint(1, extent), draw.choice([1, 1, 2])
            dims.append(Layout((mesh, local[0]), (tuple(strides), local[1])))
        placement = Placement(shape, mesh, tuple(dims))
        owners: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
        for device in all_devices(mesh):
            indices = placement.local_coordinates(device)
            for element in product(*indices):
                owners.setdefault(element, []).append(device)
            assert placement.elements(device) == prod(map(len, indices))
        for element in product(*map(range, shape)):
            told = {device for holders in placement.holders(element) for device in holders}
            assert told == set(owners.get(element, ())), (placement, element)
        copies = placement.copies()
        doubled = any(len(devices) > copies for devices in owners.values())
        assert (placement.overlap() is not None) == doubled, placement
        overlap = placement.overlap()
        assert overlap is None or len(owners[overlap]) > copies
        missing = placement.missing()
        assert (missing is None) == (len(owners) == prod(shape)), placement
        assert missing is None or missing not in owners
        counts = [placement.elements(device) for device in all_devices(mesh)]
        assert placement.balance() == (min(counts), max(counts))


def test_sums_of_modes_against_listing() -> None:
    draw = random.Random(4)
    for _ in range(2000):
        modes = [(draw.randint(1, 4), draw.randint(1, 9)) for _ in range(draw.randint(0, 4))]
        bound = draw.randint(0, 40)
        sums = [
            sum(d * s for d, (_, s) in zip(digits, modes, strict=True))
            for digits in product(*(range(n) for n, _ in modes))
        ]
        assert count_below(modes, bound) == sum(x < bound for x in sums)
        assert first_missing(modes) == next(x for x in range(1000) if x not in sums)
        doubled = [x for x in sorted(set(sums)) if sums.count(x) > 1 and x < bound]
        assert first_doubled(modes, bound) == (doubled[0] if doubled else None)
        assert len(list(digits_of(modes, 7))) == sums.count(7)


def test_layouts_of_the_whole_array() -> None:
    tiles = Layout(((8, 4), (128, 128)), ((128, 131072), (1, 1024)))
    placement = Placement.of_layout(tiles, (1024, 512))
    assert placement.layout.size == tiles.size
    draw = random.Random(5)
    for _ in range(300):
        device, i, j = (draw.randrange(8), draw.randrange(4)), draw.randrange(128), draw.randrange(128)
        assert placement.layout(device, (i, j)) == tiles(device, (i, j))


def test_a_mesh_of_a_million_devices() -> None:
    """Each question in milliseconds: no question lists devices."""
    placement = Placement.split((1 << 30, 1 << 12, 7), (1024, 32, 32), [[0, 1], [2], []])
    begin = perf_counter()
    assert [str(h) for h in placement.holders((999_999_999, 77, 3))] == ["(953, 21, 0)"]
    assert placement.overlap() is None and placement.missing() is None
    assert placement.balance() == (placement.elements(0), placement.elements(placement.devices - 1))
    assert placement.copies() == 1
    assert perf_counter() - begin < 2  # a hang, not a figure: tools/mesh.py times it


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: Placement.split((8,), (2,), [[1]]), "axis 1; the mesh has axes 0 to 0"),
        (lambda: Placement.split((8, 8), (2,), [[0], [0]]), "axis 0 of the mesh splits dimension 0 and dimension 1"),
        (lambda: Placement.split((8,), (2,), [[0, 0]]), "cut twice along one axis"),
        (
            lambda: Placement.split((8,), (0,), [[0]]),
            "the extent 0; extents of arrays and meshes are whole numbers from 1 on",
        ),
        (lambda: Placement.split((9,), (2, 2), [[0, 1]]), "5 indices of a device are cut into 2 chunks of 3"),
        (lambda: Placement.split((14,), (4, 2), [[0, 1]]), "index 13 changes its device"),
        (lambda: Placement((8,), (2,), (Layout((4, 2), (2, 1)),)), "no mode (2,) for the devices"),
        (lambda: Placement((8,), (2,), ()), "0 layouts for 1 dimensions"),
        (lambda: Placement.split((8,), (2,), [[0]]).holders((8,)), "no element (8,)"),
        (lambda: Placement.split((8,), (2,), [[0]]).device(2), "device 2 of a mesh 2"),
        (lambda: Placement.of_layout(Layout((2, 8), (8, 2)), (8, 2)), "does not stay in one dimension"),
    ],
)
def test_bad_input_is_refused_with_the_numbers(call, told) -> None:
    with pytest.raises(LayoutError, match=".*" + "".join("\\" + c if c in "()." else c for c in told)):
        call()
