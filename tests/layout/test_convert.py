"""From one thread-value layout to another: the law, the least number of shuffles, and what is refused."""

import pytest
from layout.cases import cases
from layout.convert_cases import fragments, judged, lacking, wrong

from cutepy import Layout, Swizzle, convert, make_composed_layout
from cutepy.errors import LayoutError
from cutepy.tensor.atoms import MMA_ATOMS


@pytest.mark.parametrize("kind", ["permuted", "linear", "copied"])
def test_random_pairs(kind: str) -> None:
    said = [judged(seed, kind, most_threads=5) for seed in range(cases(30))]
    assert not any(said), "\n".join(filter(None, said))


def test_all_pairs_of_fragments() -> None:
    every = fragments()
    pairs = [(s, t) for s in every for t in every if (s[0].size, s.cosize) == (t[0].size, t.cosize)]
    said = [f"{s} -> {t}: {bad}" for s, t in pairs if (bad := wrong(convert(s, t, min(s[0].size, 64)), s, t))]
    assert not said and len(pairs) > 150, "\n".join([str(len(pairs)), *said[:5]])


@pytest.mark.parametrize(("mixed", "values"), [(m, r) for r in range(1, 5) for m in range(1, r + 1)])
def test_the_published_count_for_transpositions(mixed: int, values: int) -> None:
    """m bits of a thread change with m bits of a value, of R values: 2 m R selects, (1 - 2**-m) R shuffles."""
    lanes, count = tuple(1 << bit for bit in range(5)), 1 << values
    rest = tuple(32 << bit for bit in range(values))
    source = Layout(((2,) * 5, (2,) * values), (lanes, rest))
    target = Layout(((2,) * 5, (2,) * values), (rest[:mixed] + lanes[mixed:], lanes[:mixed] + rest[mixed:]))
    plan = convert(source, target, through="shuffles")
    assert (plan.selects, plan.shuffles) == (2 * mixed * count, count - (count >> mixed)) and not plan.permutation
    assert not wrong(plan, source, target)


def test_an_accumulator_becomes_an_operand() -> None:
    """Two 8-column accumulators of m16n8 side by side are A of m16n8k16: only registers are renamed."""
    accumulator = Layout(((4, 8), (2, 2, 2)), ((32, 1), (16, 8, 128)))
    operand = MMA_ATOMS["sm_80.mma.m16n8k16.f32.f16.f16.f32"].a
    plan = convert(accumulator, operand)
    assert plan.shuffles == plan.selects == 0 and not wrong(plan, accumulator, operand)


def test_a_swizzled_layout_needs_selects_alone() -> None:
    source, target = Layout((8, 8), (8, 1)), make_composed_layout(Swizzle(3, 0, 3), 0, Layout((8, 8), (8, 1)))
    plan = convert(source, target)
    assert plan.shuffles == 0 and plan.selects == 24 and not wrong(plan, source, target)


def test_across_subgroups_it_goes_through_memory() -> None:
    source, target = Layout((64, 4), (4, 1)), Layout((64, 4), (1, 64))
    plan = convert(source, target)
    assert plan.trip and "free of conflicts" not in str(plan) and plan.trip.found.free
    assert not wrong(plan, source, target)


def test_a_way_through_memory_is_no_exchange_of_registers() -> None:
    plan = convert(Layout((4, 2), (2, 1)), Layout((4, 2), (1, 4)), through="memory")
    with pytest.raises(LayoutError, match="follow `trip`, or have it planned"):
        plan([0, 1], 0, lambda *_: 0, lambda *_: 0)


def test_a_tile_too_large_for_memory_is_shuffled() -> None:
    source, target = Layout((32, 4096), (4096, 1)), Layout((32, 4096), (1, 32))
    plan = convert(source, target)
    assert plan.trip is None and plan.shuffles == plan.least == lacking(source, target)
    with pytest.raises(LayoutError, match="at most 65536 are looked at"):
        convert(source, target, through="memory")


def test_bytes_go_through_memory_where_that_takes_fewer_rounds() -> None:
    source, target = Layout((32, 16), (16, 1)), Layout((32, (4, 4)), (4, (1, 128)))
    by_words, by_bytes = convert(source, target), convert(source, target, element_bytes=1)
    assert by_words.trip is None and by_bytes.trip and by_bytes.trip.rounds < by_words.shuffles
    assert lacking(source, target) == by_bytes.least == by_words.shuffles and not wrong(by_bytes, source, target)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: convert(Layout((32, 3)), Layout((32, 3))), "extents are powers of two"),
        (lambda: convert(Layout(32), Layout((32, 1))), "no map of bits from"),
        (lambda: convert(Layout((4, 4), (1, 3)), Layout((4, 4))), "no sum of its strides carries"),
        (lambda: convert("(4,4)", Layout((4, 4))), "is no layout of known sizes"),
        (lambda: convert(Layout.parse("(4,n)"), Layout((4, 4))), "is no layout of known sizes"),
        (lambda: convert(Layout((4, 4)), Layout((8, 2))), "4 threads hold the tile, and 8 want it"),
        (lambda: convert(Layout((4, 4)), Layout((4, 8))), "thread 0 wants element 16 as value 4, which no thread"),
        (lambda: convert(Layout((4, 4)), Layout((4, 4)), lanes=12), "lanes=12; a power of two"),
        (lambda: convert(Layout((4, 4)), Layout((4, 4)), element_bytes=3), "element_bytes=3"),
        (lambda: convert(Layout((4, 4)), Layout((4, 4)), through="mail"), "through='mail'"),
        (lambda: convert(Layout((64, 4), (4, 1)), Layout((64, 4)), through="shuffles"), "shuffles cannot do that"),
        (lambda: convert(Layout((2, 1 << 13)), Layout((2, 1 << 13))), "at most 4096; slice it"),
    ],
)
def test_bad_input(call, words: str) -> None:
    with pytest.raises(LayoutError, match=words):
        call()
