"""Which thread copies what: as wide as it can be, with the fewest transactions, and why not wider."""

import pytest
from layout.copies_cases import judged

from cutepy import Layout, Swizzle, make_composed_layout, widest_copy
from cutepy.errors import LayoutError


def test_random_copies() -> None:
    found = [judged(seed, most=64) for seed in range(40)]
    assert not [said for said, _ratio in found if said]
    assert sum(ratio <= 1 for _said, ratio in found) >= 38 and max(ratio for _said, ratio in found) <= 1.25


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


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: widest_copy(Layout((4, 4)), Layout((2, 8)), 4), "differ; slice both to one tile"),
        (lambda: widest_copy(Layout((4, 4)), Layout((4, 4)), 3), "no multiple of 3 threads"),
        (
            lambda: widest_copy(Layout((4, 4), (0, 1)), Layout((4, 4)), 4),
            "two elements of the tile are one of the source",
        ),
        (lambda: widest_copy(Layout.parse("(4,n)"), Layout((4, 4)), 4), "give two layouts of known sizes"),
        (lambda: widest_copy(Layout((4, 4)), Layout((4, 4)), 4, element_bytes=3), "elements of 1, 2, 4, 8 or 16 bytes"),
        (lambda: widest_copy(Layout((4, 4)), Layout((4, 4)), 4, spaces=("gmem", "disk")), "disk"),
        (lambda: widest_copy(Layout((4, 4)), Layout((4, 4)), 0), "threads=0"),
        (
            lambda: widest_copy(Layout((4, 4)), Layout((4, 4)), 4, align=(2, 4)),
            "elements of 4 bytes begin at multiples",
        ),
        (lambda: widest_copy(Layout((256, 256)), Layout((256, 256)), 4), "at most 16384 are looked at; tile it"),
    ],
)
def test_bad_input(call, words: str) -> None:
    with pytest.raises(LayoutError, match=words):
        call()
