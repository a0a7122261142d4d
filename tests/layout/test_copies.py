"""Which thread copies what: as wide as it can be, with the fewest transactions, and why not wider."""

from math import prod

import pytest
from layout.cases import cases
from layout.copies_cases import judged, judged_any, judged_small

from cutepy import Layout, Swizzle, make_composed_layout, make_identity_layout, make_tensor, vectorised, widest_copy
from cutepy.errors import LayoutError
from cutepy.tensor import thread_value_partition
from cutepy.tensor.atoms import MMA_ATOMS


def test_random_copies() -> None:
    found = [judged(seed, most=64) for seed in range(cases(12))]
    assert not [said for said, _ratio in found if said]
    assert sum(ratio <= 1 for _said, ratio in found) >= len(found) - 1 and max(ratio for _said, ratio in found) <= 1.25


def test_few_sharings_out_of_a_small_tile_take_less() -> None:
    ratios = [judged_any(seed) for seed in range(cases(4))]
    assert sum(ratio <= 1 for ratio in ratios) >= len(ratios) - 1 and max(ratios) <= 1.25


def test_no_layout_of_a_small_tile_is_wider_or_takes_less() -> None:
    assert not [said for said, _ratio in map(judged_small, range(cases(60))) if said]


@pytest.mark.parametrize(
    ("swizzle", "layout", "threads", "most"),
    [
        (Swizzle(1, 0, 1), Layout((3, 16), (16, 1)), 12, 4),
        (Swizzle(1, 0, 4), Layout((3, 16), (20, 1)), 12, 4),
        (Swizzle(1, 0, 1), Layout((4, 2, 8), (18, 8, 1)), 4, 2),
        (Swizzle(2, 0, 3), Layout((48, 64), (64, 1)), 128, 8),
    ],
)
def test_what_a_swizzle_moves_is_taken_as_memory_has_it(
    swizzle: Swizzle, layout: Layout, threads: int, most: int
) -> None:
    """Neighbours in memory are none in the tile, and no plain layout counts them: an inverse of the memory's does."""
    both = make_composed_layout(swizzle, 0, layout)
    found = widest_copy(both, both, threads, element_bytes=1)
    assert found.elements == most and not any("no plain layout" in said for said in found.limits)
    values = found.layout_tv[1].size
    taken = [[both(found.layout_tv(thread, value)) for value in range(values)] for thread in range(threads)]
    groups = [held[at : at + most] for held in taken for at in range(0, values, most)]
    assert all(group == list(range(group[0], group[0] + most)) and group[0] % most == 0 for group in groups)
    assert sorted(at for group in groups for at in group) == sorted(both(index) for index in range(both.size))


def test_where_no_order_of_memory_is_a_layout_it_is_said_what_was_tried() -> None:
    both = make_composed_layout(Swizzle(2, 0, 2), 0, Layout((8, 4), (6, 1)))
    (*_others, said) = widest_copy(both, both, 8, element_bytes=1).limits
    assert said == "2 bytes: no plain layout gives a thread such groups, nor does a composed one that was tried"


def test_a_tile_whose_rows_are_no_powers_of_two_is_taken_as_memory_has_it() -> None:
    """8 threads take 8 neighbours in memory, where each order of digits of the index has them begin within a row."""
    both = Layout((2, 12), (12, 1))
    found = widest_copy(both, both, 8)
    assert found.reads[0] == found.reads[1] == 3 and found.writes[0] == found.writes[1] == 3
    assert str(found.layout_tv) == "(12,2):(2,1) o 0 o (8,3):(1,8)"
    tile = make_tensor(list(range(24)), Layout((2, 12)))
    taken = [thread_value_partition(tile, found.layout_tv, thread).numpy().tolist() for thread in range(8)]
    assert taken == [[found.layout_tv(thread, value) for value in range(3)] for thread in range(8)]


@pytest.mark.parametrize(
    ("source", "options", "why"),
    [
        (Layout((8, 16), (33, 1)), {}, "16 bytes: the stride 33 of the source is no multiple of 4"),
        (Layout((8, 6), (8, 1)), {}, "16 bytes: a thread has 6 of 48 elements, no multiple of 4"),
        (Layout((8, 16), (64, 2)), {}, "16 bytes: no mode of the source, (8,16):(64,2), has stride 1"),
        (Layout((16, 6), (8, 1)), {}, "16 bytes: the extent 6 of stride 1 in the source is no multiple of 4"),
        (Layout((8, 16), (16, 1)), {"align": (8, 16)}, "16 bytes: the source is known to begin at a multiple of 8"),
        (Layout((8, 16), (1, 8)), {}, "16 bytes: (0,0) and (1,0) are 1 apart in the source, 16 in the target"),
    ],
)
def test_what_forbids_a_wide_access_is_named(source: Layout, options: dict[str, tuple[int, int]], why: str) -> None:
    threads = 4 if source.size == 96 else 8
    rows, columns = source.shape
    found = widest_copy(source, Layout((rows, columns), (columns, 1)), threads, **options)
    assert found.limits[0].startswith(why) and found.elements < 4


def test_a_swizzled_target_is_written_without_conflicts() -> None:
    source, swizzled = Layout((64, 64), (1, 1024)), make_composed_layout(Swizzle(3, 3, 3), 0, Layout((64, 64)))
    found = widest_copy(source, swizzled, 128, element_bytes=2)
    assert found.access_bytes == 16 and not found.limits
    assert found.writes[0] == found.writes[1] and found.reads[0] == found.reads[1]


def test_what_a_swizzle_moves_within_an_access_is_followed() -> None:
    """Both sides move the same bits: what is side by side in memory is not so in the tile, and is moved at once."""
    both = make_composed_layout(Swizzle(1, 0, 2), 0, Layout(32))
    found = widest_copy(both, both, 8)
    assert found.access_bytes == 16
    assert [both(found.layout_tv(1, value)) for value in range(4)] == [4, 5, 6, 7]


@pytest.mark.parametrize("loads", [True, False])
@pytest.mark.parametrize("near", [0, 1])
def test_registers_of_matrix_instructions(near: int, loads: bool) -> None:
    """Each thread keeps its elements; those of an access are neighbours, and no order of the values has more."""
    widths = set()
    operands = {(layout, tile): name for name, atom in MMA_ATOMS.items() for _, layout, tile in atom.operands()}
    for (layout, tile), name in operands.items():
        if type(layout.size) is int and layout.size <= 256:
            memory = Layout(tile, tuple(prod(tile[at + 1 :] if near else tile[:at]) for at in range(len(tile))))
            sides = (memory, layout) if loads else (layout, memory)
            spaces = ("smem", "rmem") if loads else ("rmem", "gmem")
            found = widest_copy(*sides, layout[0].size, element_bytes=2, spaces=spaces)
            count, values = found.elements, layout[1].size
            for thread in range(layout[0].size):
                at = [memory(found.layout_tv(thread, value)) for value in range(values)]
                assert sorted(at) == sorted(memory(layout(thread, value)) for value in range(values)), name
                groups = [at[first : first + count] for first in range(0, values, count)]
                assert all(g == list(range(g[0], g[0] + count)) and g[0] % count == 0 for g in groups)
            assert found.elements == vectorised(layout, memory, element_bytes=2).possible, name
            assert bool(found.reads[0]) is loads and bool(found.writes[0]) is not loads
            widths.add(count)
    assert len(widths) > 2


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: widest_copy(Layout((4, 4)), Layout((2, 8)), 4), "differ; slice both to one tile"),
        (lambda: widest_copy(Layout((4, 4)), Layout((4, 4)), 3), "no multiple of 3 threads"),
        (
            lambda: widest_copy(Layout((4, 4), (0, 1)), Layout((4, 4)), 4),
            "two elements of the tile are one of the source",
        ),
        (lambda: widest_copy(Layout.parse("(4,n)"), Layout((4, 4)), 4), "is no layout of known sizes"),
        (lambda: widest_copy(Layout((4, 4)), Layout((4, 4)), 4, element_bytes=3), "elements of 1, 2, 4, 8 or 16 bytes"),
        (lambda: widest_copy(Layout((4, 4)), Layout((4, 4)), 4, spaces=("gmem", "disk")), "disk"),
        (lambda: widest_copy(Layout((4, 4)), Layout((4, 4)), 0), "threads=0"),
        (
            lambda: widest_copy(Layout((4, 4)), Layout((4, 4)), 4, align=(2, 4)),
            "elements of 4 bytes begin at multiples",
        ),
        (lambda: widest_copy(Layout(8), Layout((4, 2)), 2, spaces=("smem", "rmem")), "has 4 threads, not 2"),
        (
            lambda: widest_copy(Layout(8), Layout((4, 4)), 4, spaces=("smem", "rmem")),
            "at lane 0, value 2 it is 8; elements are 0 to 7",
        ),
        (
            lambda: widest_copy(Layout((4, 2)), Layout((4, 2)), 4, spaces=("rmem", "rmem")),
            "convert.source, target. says",
        ),
        (lambda: widest_copy(Layout(8), Layout((4, 2)), 4, spaces=("disk", "rmem")), "disk"),
        (lambda: widest_copy(Layout(8), Layout((4, 2)), 4, spaces=("smem", "rmem"), lanes=0), "lanes=0"),
        (lambda: widest_copy(Layout(8), Layout((4, 2)), 4, spaces=("smem", "rmem"), align=(0, 4)), "align=0"),
        (lambda: widest_copy((4, 2), Layout((4, 2)), 4, spaces=("smem", "rmem")), "is no layout of known sizes"),
        (lambda: widest_copy(Layout(8), Layout(8), 4, align=16), "align=16; a pair, for the source and for the target"),
        (lambda: widest_copy(Layout(8), Layout(8), 4, spaces=("smem",)), "a pair, for the source and for the target"),
        (lambda: widest_copy(make_identity_layout((4, 2)), Layout((4, 2)), 4), "elements are numbers"),
        (lambda: widest_copy(Layout((256, 256)), Layout((256, 256)), 4), "at most 16384 are looked at; tile it"),
    ],
)
def test_bad_input(call, words: str) -> None:
    with pytest.raises(LayoutError, match=words):
        call()
