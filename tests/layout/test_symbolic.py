"""Unknown sizes: substituting after an operation equals operating after the substitution.

Random layouts over up to three unknowns with random facts; what is returned is compared at many substitutions, among
them the least sizes that the facts allow; what is refused for all sizes must be refused at every one of them.
"""

from __future__ import annotations

import random
from itertools import islice, pairwise, product
from math import prod

import pytest
import sympy
from layout.cases import cases, generator

from cutepy.errors import LayoutError, UndecidedError
from cutepy.layout import (
    ComposedLayout,
    E,
    Layout,
    Swizzle,
    _,
    blocked_product,
    coalesce,
    complement,
    composition,
    cosize,
    dice,
    divides,
    downcast,
    filter,
    flat_divide,
    flatten,
    group_modes,
    left_inverse,
    logical_divide,
    logical_product,
    make_layout,
    make_ordered_layout,
    nullspace,
    raked_product,
    right_inverse,
    select,
    size,
    slice_and_offset,
    tile_to_shape,
    tiled_divide,
    upcast,
    zipped_divide,
)
from cutepy.layout.symbolic import prover
from cutepy.layout.symbolic.prover import Context
from cutepy.layout.values.int_tuple import leaves
from cutepy.layout.values.size import Poly

M, N, K = SYMBOLS = sympy.symbols("M N K", integer=True, positive=True)
SOME = cases(44)

Facts = dict[sympy.Symbol, tuple[int, int]]


def random_facts(rng: random.Random) -> Facts:
    """For each unknown a divisor and a least value."""
    return {symbol: (rng.choice((1, 1, 2, 4, 6, 8)), rng.choice((1, 1, 1, 2, 5))) for symbol in SYMBOLS}


def statements(facts: Facts) -> list[object]:
    stated: list[object] = [divides(divisor, symbol) for symbol, (divisor, _low) in facts.items() if divisor > 1]
    return stated + [symbol >= low for symbol, (_divisor, low) in facts.items() if low > 1]


def stated(layout: Layout, facts: Facts) -> Layout:
    """`layout` with the facts, if it has unknown sizes."""
    return layout if layout.facts is None else layout.given(*statements(facts))


def substitutions(rng: random.Random, facts: Facts) -> list[dict[sympy.Symbol, int]]:
    """Values that satisfy the facts: the least ones, and some more."""
    choices = {}
    for symbol, (divisor, low) in facts.items():
        least = -(-low // divisor) * divisor
        choices[symbol] = [least + divisor * k for k in (0, 1, 2, 3, 5)]
    picked = [dict(zip(facts, values, strict=True)) for values in product(*([c[0], c[1]] for c in choices.values()))]
    return picked + [{symbol: rng.choice(c) for symbol, c in choices.items()} for _more in range(3)]


def random_symbolic(rng: random.Random, facts: Facts, rank: int = 4) -> Layout:
    """Extents that are numbers, unknowns or parts of unknowns; strides compact in some order, padded, or 0."""
    extents: list[object] = []
    for _mode in range(rng.randint(1, rank)):
        symbol = rng.choice(SYMBOLS)
        divisor = facts[symbol][0]
        kind = rng.random()
        if kind < 0.4:
            extents.append(rng.choice((1, 2, 3, 4, 4, 8, 8, 16)))
        elif kind < 0.7:
            extents.append(symbol)
        elif kind < 0.85:
            extents.append(symbol * rng.choice((2, 4)))
        else:
            extents.append(symbol / divisor if divisor > 1 else symbol)
    order = list(range(len(extents)))
    if rng.random() < 0.5:
        rng.shuffle(order)
    strides: list[object] = [0] * len(extents)
    running: object = 1
    for mode in order:
        if rng.random() < 0.1:
            running = running * rng.choice((2, 3, K))  # type: ignore[operator]
        strides[mode] = running if rng.random() > 0.07 else 0
        running = running * extents[mode]  # type: ignore[operator]
    shape: object = tuple(extents)
    stride: object = tuple(strides)
    if len(extents) == 1 and rng.random() < 0.5:
        shape, stride = extents[0], strides[0]
    elif len(extents) > 2 and rng.random() < 0.5:
        shape = (extents[0], tuple(extents[1:]))
        stride = (strides[0], tuple(strides[1:]))
    layout = Layout(shape, stride)  # type: ignore[arg-type]
    return stated(layout, facts)


def random_tile(rng: random.Random, facts: Facts, layout: Layout) -> Layout:
    """A right operand made from the marks of `layout`: its partial products, and their parts."""
    extents = list(leaves(layout.shape))
    marks: list[object] = [1]
    for extent in extents:
        marks.append(sympy.sympify(marks[-1] * extent))
    sizes: list[object] = [2, 4, 8, *extents, *[facts[symbol][0] for symbol in SYMBOLS]]
    modes = [(rng.choice(sizes), rng.choice([*marks[:-1], 1, 1, 2, 0])) for _mode in range(rng.randint(1, 2))]
    if len(modes) == 1:
        tile = Layout(*modes[0])  # type: ignore[arg-type]
    else:
        tile = Layout(tuple(e for e, _d in modes), tuple(d for _e, d in modes))  # type: ignore[arg-type]
    return stated(tile, facts)


def values(layout: Layout, count: int = 200) -> list[object]:
    total = prod(leaves(layout.shape))
    return [layout(i) for i in range(min(total, count))] + [total]


def spelled(result: Layout, point: dict[sympy.Symbol, int]) -> Layout:
    """The values put into the result as it is written, and nothing asked again."""
    return Layout(*(refold(tree, point) for tree in (result.shape, result.stride)))  # type: ignore[arg-type]


def refold(tree: object, point: dict[sympy.Symbol, int]) -> object:
    if isinstance(tree, tuple):
        return tuple(refold(entry, point) for entry in tree)
    return int(tree.subs(point)) if hasattr(tree, "free_symbols") else tree  # type: ignore[attr-defined]


def top_sizes(layout: Layout) -> list[int]:
    return [mode.size for mode in layout]


UNARY = [coalesce, flatten, right_inverse, left_inverse, complement, filter, nullspace]
DIVIDES = [logical_divide, zipped_divide, tiled_divide, flat_divide]
BINARY = [composition, *DIVIDES, logical_product, blocked_product, raked_product]
KEEPS_RANK = {composition, zipped_divide, logical_product, blocked_product, raked_product}


def at(thing: object, point: dict[sympy.Symbol, int]) -> object:
    if isinstance(thing, Layout):
        return thing.subs(point)
    return refold(thing, point) if not isinstance(thing, tuple) else tuple(at(entry, point) for entry in thing)


def check_law(operation: object, operands: tuple[object, ...], points: list[dict[sympy.Symbol, int]]) -> str:
    """ "decided", "undecided" or "refused"; asserts the law."""
    try:
        result = operation(*operands)  # type: ignore[operator]
    except UndecidedError as error:
        assert error.fact or "listing" in str(error)
        return "undecided"
    except LayoutError:
        for point in points:
            with pytest.raises(LayoutError):
                operation(*(at(operand, point) for operand in operands))  # type: ignore[operator]
        return "refused"
    for point in points:
        expected = operation(*(at(operand, point) for operand in operands))  # type: ignore[operator]
        put = at(result, point)
        where = (operation, operands, point, result, expected)
        assert isinstance(put, Layout) and put.facts is None
        assert put == expected or (result.facts is None and 1 in leaves(put.shape)), where
        assert [put(i) for i in range(min(put.size, 100))] == [expected(i) for i in range(min(put.size, 100))]
        general = spelled(result, point)
        assert values(general) == values(expected), where
        if operation in KEEPS_RANK:
            assert top_sizes(general) == top_sizes(expected), where
    return "decided"


@pytest.mark.parametrize("operation", UNARY, ids=[operation.__name__ for operation in UNARY])
def test_law_of_one_operand(operation: object) -> None:
    rng = generator(f"symbolic {operation.__name__}")  # type: ignore[attr-defined]
    outcomes = {"decided": 0, "undecided": 0, "refused": 0}
    for _case in range(SOME // 2):
        facts = random_facts(rng)
        outcomes[check_law(operation, (random_symbolic(rng, facts),), substitutions(rng, facts))] += 1
    assert outcomes["decided"] > SOME // 6, outcomes


@pytest.mark.parametrize("operation", BINARY, ids=[operation.__name__ for operation in BINARY])
def test_law_of_two_operands(operation: object) -> None:
    rng = generator(f"symbolic {operation.__name__}")  # type: ignore[attr-defined]
    outcomes = {"decided": 0, "undecided": 0, "refused": 0}
    for _case in range(SOME):
        facts = random_facts(rng)
        layout = random_symbolic(rng, facts, 3)
        operands = (layout, random_tile(rng, facts, layout))
        outcomes[check_law(operation, operands, substitutions(rng, facts))] += 1
    assert outcomes["decided"] > SOME // 8, outcomes


def test_law_of_tilers_and_shapes() -> None:
    rng = generator("symbolic tilers")
    outcomes = {"decided": 0, "undecided": 0, "refused": 0}
    for _case in range(SOME):
        facts = random_facts(rng)
        layout = random_symbolic(rng, facts, 2)
        entries = (_, 2, 4, facts[rng.choice(SYMBOLS)][0], rng.choice(SYMBOLS))
        tiler = tuple(rng.choice(entries) for _mode in range(layout.rank))
        points = substitutions(rng, facts)
        operation = rng.choice((composition, logical_divide, zipped_divide, flat_divide))
        outcomes[check_law(operation, (layout, tiler), points)] += 1
        target = rng.choice((M, 8 * N, M * N, 24))
        outcomes[check_law(complement, (layout, target), points)] += 1
        shape = tuple(rng.choice((8, M, 2 * N)) for _mode in range(layout.rank))
        outcomes[check_law(tile_to_shape, (layout, shape), points)] += 1
        count = rng.choice((2, 4))
        outcomes[check_law(lambda one, count=count: upcast(one, count), (layout,), points)] += 1
        outcomes[check_law(lambda one, count=count: downcast(one, count), (layout,), points)] += 1
    assert outcomes["decided"] > SOME, outcomes


def test_swizzled_layouts_of_unknown_size() -> None:
    layout = ComposedLayout(Swizzle(3, 3, 3), 0, Layout((M, 64), (64, 1)).given("8 divides M"))
    tiled = zipped_divide(layout, (8, 64))
    assert str(tiled) == "S<3,3,3> o 0 o ((8,64),(M/8,1)):((64,1),(512,64))"
    assert tiled.subs(M=32) == zipped_divide(layout.subs(M=32), (8, 64))
    sliced = layout(M - 1, _)
    assert sliced.subs({M: 16}) == layout.subs({M: 16})(15, _)


def test_the_names_of_a_layout_are_kept() -> None:
    layout = Layout((M, N), (N, 1))
    assert str(layout) == "(M,N):(N,1)" and repr(layout) == "Layout((M, N), (N, 1))"
    assert Layout.parse(str(layout)) == layout and eval(repr(layout)) == layout
    assert layout.facts is not None and Layout((4, 8)).facts is None
    assert hash(layout) == hash(Layout((M, N), (N, 1))) and layout != Layout((M, N))
    assert layout(2, 3) == 2 * N + 3 and size(layout) == M * N and layout.rank == 2
    assert str(make_layout(layout, Layout(4)).facts) == ""
    assert str(make_layout(Layout(4), layout.given("4 divides M")).facts) == "4 divides M"
    assert select(layout, 1).subs(N=3) == Layout((3,), (1,))
    assert group_modes(layout, 0, 2).facts is not None
    assert sympy.expand(cosize(layout) - (M - 1) * N - N) == 0


def test_what_is_written_is_a_fact() -> None:
    layout = Layout((M / 8, 8), (8, 1))
    assert str(layout.facts) == "8 divides M" and eval(repr(layout)) == layout
    assert layout.subs(M=32) == Layout((4, 8), (8, 1))
    with pytest.raises(LayoutError, match="8 divides M"):
        layout.subs(M=12)
    shorter = Layout(M - 3)
    assert str(shorter.facts) == "M - 3 >= 1"
    with pytest.raises(LayoutError, match="does not hold"):
        shorter.subs(M=3)
    assert coalesce(Layout((M - 3, N))).subs(M=5, N=2) == Layout(4)


@pytest.mark.parametrize(
    ("statements", "text"),
    [
        (["64 divides M", "M >= 4"], "64 divides M, M >= 4"),
        (["M > 3", "N < 9"], "M >= 4, N <= 8"),
        (["4 <= M", "M % 8 == 0"], "M >= 4, 8 divides M"),
        (["M % 8 == 5"], "8 divides M - 5"),
        (["N == 4*M", "K != M"], "N == 4*M, K != M"),
        (["N divides M"], "N divides M"),
        (["2 <= M <= 8"], "M >= 2, M <= 8"),
        ([divides(64, M), M >= 4, sympy.Eq(N, 4 * M)], "64 divides M, M >= 4, N == 4*M"),
        ([sympy.Ne(K, M), M < 9], "K != M, M <= 8"),
        ([sympy.Eq(sympy.Mod(M, 4), 0)], "4 divides M"),
    ],
)
def test_facts(statements: list[object], text: str) -> None:
    assert str(Layout((M, N, K)).given(*statements).facts) == text


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("M", "no fact"),
        ("M >=", "no text|NotationError|expected"),
        ("64 divides", "no fact"),
        (3, "no fact"),
        (M + 1, "no fact"),
        ("0 divides M", "impossible"),
        ("M >= x y", "follows"),
        (sympy.Symbol("x") > 3, "positive integer"),
    ],
)
def test_what_is_no_fact(statement: object, words: str) -> None:
    with pytest.raises(LayoutError, match=words):
        Layout(M).given(statement)


def test_facts_that_contradict_each_other() -> None:
    divisors = ["2 divides M", "2 divides M - 1"]
    for statements in (["M >= 4", "M <= 3"], ["4 divides M", "M <= 3"], ["M == 4", "M == 5"], divisors):
        with pytest.raises(LayoutError, match=r"contradict|impossible"):
            Layout(M).given(*statements)
    with pytest.raises(LayoutError, match="no unknown sizes"):
        Layout(4).given("4 divides M")


NO_SIZES = [
    sympy.Symbol("x"),
    sympy.Symbol("x", integer=True),
    sympy.sqrt(M),
    sympy.pi,
    M + 0.5,
    sympy.Rational(1, 2),
    -M,
    0 * M,
]


@pytest.mark.parametrize("leaf", NO_SIZES)
def test_what_is_no_size(leaf: object) -> None:
    with pytest.raises(LayoutError):
        coalesce(Layout((leaf, 4), (1, 4)))  # type: ignore[arg-type]


@pytest.mark.parametrize("values", [{M: 0}, {M: -4}, {M: 2.5}, {M: "4"}, {M: True}, {"X": 4}, {"M": 12}])
def test_what_cannot_be_put_in(values: dict[object, object]) -> None:
    with pytest.raises(LayoutError):
        Layout((M, 8)).given("8 divides M").subs(values)


def test_some_values_leave_the_other_facts() -> None:
    layout = zipped_divide(Layout((M, N)).given("8 divides M", "4 divides N", "N >= M"), (8, 4))
    some = layout.subs(M=16)
    assert str(some) == "((8,4),(2,N/4)):((1,16),(8,64))" and str(some.facts) == "4 divides N, N >= 16"
    with pytest.raises(LayoutError, match="N >= 16"):
        some.subs(N=8)
    assert some.subs(N=16) == layout.subs({M: 16, N: 16})
    renamed = layout.subs({M: 8 * K, N: 32 * K})
    assert str(renamed) == "((8,4),(K,8*K)):((1,8*K),(8,32*K))" and str(renamed.facts) == ""


def test_undecided_names_a_fact_that_decides() -> None:
    layout = Layout((M, N), (N, 1))
    cases = [
        (lambda one: zipped_divide(one, (64, 32)), ["64 divides M", "32 divides N"]),
        (lambda one: logical_divide(one, (K, _)), ["K divides M"]),
        (lambda one: composition(one, Layout(4, 1)), []),
        (lambda one: upcast(one, 4), []),
    ]
    for operation, expected in cases:
        stated, named = layout, []
        for _step in range(6):
            try:
                operation(stated)
                break
            except UndecidedError as error:
                assert f"'{error.fact}'" in str(error) and str(stated) in str(error)
                named.append(error.fact)
                stated = stated.given(error.fact)
            except LayoutError:
                break
        else:
            raise AssertionError(named)
        assert not expected or named == expected


def test_the_facts_of_the_readme_style_example() -> None:
    layout = Layout((M, N), (N, 1)).given("128 divides M", "64 divides N")
    tiles = zipped_divide(layout, (128, 64))
    assert (
        str(tiles) == "((128,64),(M/128,N/64)):((N,1),(128*N,64))" and str(tiles.facts) == "128 divides M, 64 divides N"
    )
    assert tiles.subs(M=256, N=192) == zipped_divide(Layout((256, 192), (192, 1)), (128, 64))


def test_formula() -> None:
    layout = zipped_divide(Layout((M, N), (N, 1)).given("8 divides M", "4 divides N"), (8, 4))
    formula = layout.formula()
    assert str(formula).startswith("L(i, j) = ") and formula.latex().startswith("L(i, j) = ")
    assert formula._repr_latex_() == f"${formula.latex()}$"
    known = layout.subs(M=16, N=12)
    i, j = formula.coordinate
    for a, b in product(range(32), range(6)):
        assert formula.expression.subs({M: 16, N: 12, i: a, j: b}) == known(a, b)
    assert str(Layout(8, 3).formula()) == "L(i) = 3*i"
    assert str(Layout((8,), (3,)).formula()) == "L(i) = 3*i"
    assert str(Layout((2,) * 16).formula()).count("i") >= 16
    j_size = sympy.Symbol("i", integer=True, positive=True)
    assert str(Layout((j_size, 4), (4, 1)).formula()) == "L(j, k) = 4*j + k"
    with pytest.raises(LayoutError, match="axis_layout"):
        Layout((2, 2), (E(0), E(1))).formula()


def test_basis_strides_of_unknown_sizes() -> None:
    layout = Layout((M, N), (E(0), E(1))).given("8 divides M")
    tiled = zipped_divide(layout, (8, _))
    assert str(tiled) == "((8,N),(M/8,1)):((1@0,1@1),(8@0,0))"
    assert tiled.subs(M=16, N=3) == zipped_divide(Layout((16, 3), (E(0), E(1))), (8, _))
    assert Layout((2, 3), (M * E(0), E(1))).subs(M=5) == Layout((2, 3), (5 * E(0), E(1)))


def test_ordered_layouts_and_offsets() -> None:
    assert str(make_ordered_layout((M, N, 4), (2, 0, 1))) == "(M,N,4):(4*N,1,N)"
    with pytest.raises(LayoutError, match="subs"):
        Layout((M, 4)).offsets()
    assert list(islice(leaves(Layout((M, (N, 4))).shape), 2)) == [M, N]


def test_conclusions_that_need_no_fact() -> None:
    assert str(coalesce(Layout((M, N, 4)))) == "4*M*N:1"
    assert str(coalesce(Layout((M, N), (1, K)))) == "(M,N):(1,K)"
    assert str(complement(Layout(4, 2), M)) == "(2,ceiling(M/8)):(1,8)"
    assert str(right_inverse(Layout((M, N), (N, 1)))) == "(N,M):(M,1)"
    assert str(composition(Layout((M, N), (N, 1)), Layout(N, M))) == "N:1"


def test_conclusions_from_facts() -> None:
    layout = Layout((64, N), (1, 100))
    assert str(composition(layout, Layout(M).given("64 divides M"))) == "(64,M/64):(1,100)"
    assert str(composition(layout, Layout(M).given("M <= 64"))) == "M:1"
    assert str(logical_divide(Layout((M, N)).given("64 divides M*N"), 64)) == "(64,M*N/64):(1,64)"
    assert str(logical_divide(Layout((64, 32)), Layout(N).given("N divides 64"))) == "(N,2048/N):(1,N)"
    assert str(coalesce(Layout((M, N), (1, K)).given("K == M"))) == "M*N:1"
    assert str(coalesce(Layout((M, 4, N)).given("M % 8 == 5"))) == "4*M*N:1"
    with pytest.raises(LayoutError, match="divides"):
        logical_divide(Layout(M).given("8 divides M - 4"), 8)


def test_a_slice_of_a_result_is_not_the_result() -> None:
    layout = Layout((M, N), (N, 1)).given("8 divides M")
    tiles = zipped_divide(layout, (8, _))
    assert tiles[1].subs(M=8, N=2) == tiles.subs(M=8, N=2)[1]
    assert tiles(0, _).subs({M: 8, N: 2}).size == 1
    some = coalesce(Layout((M, 8, N), (1, 100, 1000)))
    assert some.subs(M=1).subs(N=3) == coalesce(Layout((1, 8, 3), (1, 100, 1000))) == Layout((8, 3), (100, 1000))
    assert some.subs(N=3).subs(M=1) == some.subs(M=1, N=3)


def test_a_chain_of_facts_is_followed_three_steps_and_no_further():
    context = Context()
    numbers = [context.number(1) for _fact in range(5)]
    one = [Poly.unknown(number) for number in numbers]
    context.at_least = [later - earlier for earlier, later in pairwise(one)]
    for steps in range(1, 4):
        assert context.not_negative(one[steps] - one[0]), steps
    assert not context.not_negative(one[4] - one[0])
    assert not context.not_negative(one[0] - one[1])


def test_a_polynomial_above_its_least_values_is_the_same_there() -> None:
    """With `x + low` in the place of each unknown: by evaluation, and none of its coefficients is 0."""
    rng = random.Random("above")
    for _case in range(200):
        poly, lows = Poly(), {number: rng.choice([0, 1, 1, 3, -2]) for number in range(3)}
        for _term in range(rng.randint(0, 4)):
            term = Poly.of(rng.choice([1, -1, 2, -64]))
            for _factor in range(rng.randint(0, 3)):
                term = term * Poly.unknown(rng.randrange(3))
            poly = poly + term
        above = poly.shifted(lows)
        assert 0 not in above.values()
        assert poly.is_not_negative(lows) == all(c > 0 for c in above.values())
        for _try in range(5):
            at = {number: rng.randint(-9, 9) for number in range(3)}
            moved = {number: x + lows[number] for number, x in at.items()}
            assert value_of(above, at) == value_of(poly, moved)


def test_equal_polynomials_have_one_hash() -> None:
    """In whatever order their terms were added."""
    rng = random.Random("hash")
    for _case in range(100):
        terms = [Poly.unknown(rng.randrange(3)) * rng.choice([1, -1, 2]) + rng.randint(0, 2) for _term in range(5)]
        one, other = Poly(), Poly()
        for term in terms:
            one = one + term
        for term in rng.sample(terms, len(terms)):
            other = other + term
        assert one == other and hash(one) == hash(other) and len({one, other, one + 1}) == 2


def test_an_answer_is_about_what_is_known_when_it_is_asked() -> None:
    """Also where the same was asked before, with less known."""
    context = Context()
    n, m = (Poly.unknown(context.number(1)) for _size in range(2))
    assert not context.not_negative(n - m)
    context.at_least.append(n - m)
    assert context.not_negative(n - m) and not context.not_negative(n - 2)
    context.lows[0] += 1
    assert context.not_negative(n - 2)
    assert not Context({0: 1, 1: 1}).not_negative(n - m)


def random_context(rng: random.Random) -> Context:
    """Sizes, what is stated of them, and some of them rounded down."""
    context = Context()
    sizes = [Poly.unknown(context.number(rng.randint(0, 3))) for _size in range(3)]
    for _fact in range(rng.randint(0, 3)):
        one, other = rng.sample(sizes, 2)
        context.at_least.append(rng.choice([one - other * rng.randint(1, 4), -one + 64 * rng.randint(1, 9), one - 8]))
    for _division in range(rng.randint(0, 2)):
        context.floor(rng.choice(sizes), rng.choice([Poly.of(4), Poly.of(32)]))
    return context


def test_known_facts_hold_at_their_points_and_a_point_changes_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """By evaluation, and beside the search alone; what a point shows to be below 0 is not searched for."""
    rng = random.Random("points")
    searches: list[Poly] = []
    search = prover._follows
    monkeypatch.setattr(prover, "_follows", lambda poly, *facts: searches.append(poly) or search(poly, *facts))
    with_points = refuted = 0
    for _case in range(300):
        context = random_context(rng)
        lows, at_least = tuple(context.lows.items()), tuple(context.at_least)
        points = prover.points(lows, at_least)
        for point in points:
            assert all(point[number] >= low for number, low in lows), (lows, at_least, point)
            assert all(value_of(fact, point) >= 0 for fact in at_least), (lows, at_least, point)
        with_points += bool(points)
        for _question in range(4):
            asked = sum((Poly.unknown(rng.randrange(len(lows))) * rng.choice([1, -1, 4]) for _term in "two"), Poly())
            asked = asked + rng.randint(-9, 9)
            searches.clear()
            answer = prover._not_negative.__wrapped__(asked, lows, at_least)
            below = any(value_of(asked, point) < 0 for point in points)
            assert bool(searches) == (not below)
            refuted += below
            assert answer == search(asked, dict(lows), at_least, 3), (lows, at_least, asked)
    assert with_points > 200 and refuted > 300, (with_points, refuted)


def value_of(poly: Poly, at: dict[int, int]) -> int:
    return sum(c * prod(at[number] ** exponent for number, exponent in monomial) for monomial, c in poly.items())


@pytest.mark.parametrize("seed", range(20))
def test_a_layout_of_known_sizes_has_no_facts(seed: int) -> None:
    """Whatever part of a layout it is: its offsets can be listed, as those of any other."""
    rng = random.Random(seed)
    rank = rng.randint(2, 4)
    sizes, steps = ([rng.choice((M, N, 2 * K, 1, 2, 8)) for _mode in range(rank)] for _either in range(2))
    whole = Layout(((*sizes,), M), ((*steps,), 1)).given("M >= 2")
    crd = (tuple(rng.choice((0, _)) for _mode in range(rank)), _)
    parts = [*whole, *whole[0], slice_and_offset(crd, whole)[0], whole(*crd), dice(crd, whole), flatten(whole)]
    parts += [select(whole[0], mode) for mode in range(rank)] + [group_modes(whole[0], 0, 2)]
    for part in parts:
        known = all(type(leaf) is int for leaf in (*leaves(part.shape), *leaves(part.stride)))
        assert (part.facts is None) == known, part
        if known:
            assert part.offsets().size == part.size


def test_a_size_that_no_values_make_a_size_is_refused() -> None:
    """Refused exactly where no value of M makes the size a whole number from 1, or the stride a whole number."""
    half = sympy.Rational(1, 2)
    for term in (
        -M,
        1 - M,
        2 - M,
        M - 5,
        M + half,
        M / 2,
        M / 2 + half,
        -M / 2,
        3 - 2 * M,
        M + 1,
        -M * M,
        3 * M / 2 - 1,
    ):
        values = [term.subs(M, value) for value in range(1, 13)]
        whole = [value for value in values if value.is_Integer]
        for possible, make in ((max(whole, default=0) >= 1, lambda: Layout(term)), (whole, lambda: Layout(4, term))):  # noqa: B023
            if possible:
                assert make().facts is not None, term
            else:
                with pytest.raises(LayoutError, match=r"never holds; a (size|stride) is a whole number"):
                    make()
