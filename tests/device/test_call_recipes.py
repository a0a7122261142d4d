"""Recipes of whole operations: what they launch is what the operation's Python launches, at random calls."""

import operator
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
import pytest
import z3
from shares import ALL

from cutepy import gpu, ops
from cutepy.gpu import CallCache
from cutepy.gpu.runtime import Device, call_cache
from cutepy.gpu.runtime.call_recipe import CallRecipe, compiled, launches_of
from cutepy.gpu.runtime.formulas import Formula
from cutepy.gpu.runtime.recorded_call import Recorded
from cutepy.layout import Layout
from cutepy.tensor import Tensor

OPERATIONS: dict[str, tuple[int, Callable[..., object]]] = {
    "exp": (1, ops.exp),
    "add": (2, ops.add),
    "a number": (1, lambda x: ops.multiply(x, 2.5)),
    "broadcast": (1, lambda x: ops.subtract(x, Tensor(x.engine, x.layout[-1], x.offset))),
    "where": (2, lambda x, y: ops.where(x, y, 0.0)),
    "astype": (1, lambda x: ops.astype(x, "i32")),
    "formula": (2, lambda x, y: gpu.pointwise("a + 0.5 * b")(x, y)),
    "sum of the last axis": (1, lambda x: ops.sum(x, -1)),
    "sum of the first axis": (1, lambda x: ops.sum(x, 0)),
    "sum of all": (1, ops.sum),
    "mean": (1, lambda x: ops.mean(x, -1)),
    "variance": (1, lambda x: ops.var(x, 0)),
    "argmax": (1, lambda x: ops.argmax(x, -1)),
    "logsumexp": (1, lambda x: ops.logsumexp(x, -1)),
    "softmax": (1, ops.softmax),
    "cumsum": (1, lambda x: ops.cumsum(x, -1)),
    "turned": (1, lambda x: ops.contiguous(ops.permute_dims(x, tuple(range(x.rank))[::-1]))),
    "gram": (1, lambda x: ops.matmul(x, ops.permute_dims(x, (*range(x.rank - 2), -1, -2)) if x.rank > 1 else x)),
    "product": (1, lambda x: ops.matmul(x, gpu.array(np.ones((int(x.layout[-1].size), 7), np.float32)))),
}
EXTENTS = [1, 2, 3, 4, 5, 8, 12, 16, 31, 32, 33, 60, 64, 65, 100, 128, 130, 256, 300]


def tensor(pick: random.Random, shape: list[int], device: Device) -> Tensor:
    """A tensor of this shape: compact, in another order, of a part of more, or read backwards."""
    kind = pick.choice(["compact", "compact", "compact", "turned", "part", "backwards", "still"])
    more = 3 if kind == "part" else 0
    order = list(range(len(shape)))
    if kind == "turned":
        pick.shuffle(order)
    stride, step = [0] * len(shape), 1
    for axis in order[::-1]:
        stride[axis], step = (step if shape[axis] > 1 else 0), step * (shape[axis] + more)
    length, offset = step, pick.choice([0, 1, 4]) if kind == "part" else 0
    if kind == "backwards":
        offset = (shape[0] - 1) * stride[0]
        stride[0] = -stride[0]
    if kind == "still":
        stride[0] = 0
    values = np.random.default_rng(0).standard_normal(length + offset + 4).astype(np.float32)
    return Tensor(gpu.array(values, device=device).engine, Layout(tuple(shape), tuple(stride)), offset)


def calls(name: str, device: Device, count: int) -> Iterator[tuple[Tensor, ...]]:
    """Random operands: of ranks 1 to 3, of which two of three calls have the extents of tile edges."""
    pick, (tensors, _) = random.Random(name), OPERATIONS[name]
    for _turn in range(count):
        rank = pick.choice([1, 2, 2, 3])
        while np.prod(shape := [pick.choice([*EXTENTS, pick.randint(1, 200)]) for _ in range(rank)]) > 60_000:
            pass
        yield tuple([tensor(pick, shape, device) for _ in range(tensors)])


class Watched:
    """What the caches of calls do: the recipes that were made, and each call that one served, beside what its Python
    launches."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.made: list[CallRecipe] = []
        self.served: list[tuple[CallRecipe, list[int], Recorded]] = []
        self.known: list[Recorded] = []
        self.failed = 0
        make, record = call_cache.call_recipe, call_cache.recorded

        def noted(*args: Any, **named: Any) -> CallRecipe | None:
            recipe = make(*args, **named)
            if recipe is None:
                self.failed += 1
                return None
            self.made.append(recipe)

            def run(numbers: list[int], recipe: CallRecipe = recipe) -> Recorded | None:
                found = recipe.run(numbers)
                if found is not None:
                    self.served.append((recipe, [*numbers], found))
                return found

            return replace(recipe, run=run)

        def kept(*args: Any, **named: Any) -> Recorded | None:
            found = record(*args, **named)
            if found is not None:
                self.known.append(found)
            return found

        monkeypatch.setattr(call_cache, "call_recipe", noted)
        monkeypatch.setattr(call_cache, "recorded", kept)

    def long_way(self, call: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> Recorded:
        """What the Python of a call launches."""
        for cache in call_cache._CACHES:
            cache.recorded.clear()
        with monkeypatch.context() as patch:
            patch.setattr(call_cache, "sized_call", lambda key: None)
            call()
        return self.known[-1]


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Watched:
    CallCache.clear_all()
    return Watched(monkeypatch)


def texts(call: Recorded) -> Any:
    """What is compared of two calls: their launches by the texts of their programs."""
    made, launches, *rest = launches_of(call)
    return made, [(program.compiled, *more) for program, *more in launches], *rest


@pytest.mark.on_dawn("exp", "sum of the last axis")
@pytest.mark.parametrize("name", OPERATIONS)
def test_a_recipe_gives_the_launches_of_the_operation(
    device: Device, name: str, watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, operation = OPERATIONS[name]
    compared = 0
    for operands in calls(name, device, 80 if ALL else 40):
        before = len(watched.served)
        operation(*operands)
        if len(watched.served) == before:
            continue
        _, _, found = watched.served[-1]
        wanted = watched.long_way(lambda operands=operands: operation(*operands), monkeypatch)  # type: ignore[misc]
        assert texts(found) == texts(wanted), [str(x) for x in operands]
        compared += 1
    assert compared > (10 if ALL else 3)
    assert watched.failed <= 6


def as_integers(formula: Formula, names: dict[str, Any]) -> Any:
    """A formula over the integers of z3; what a choice of Python gives is any truth."""
    if isinstance(formula, int):
        return z3.IntVal(formula)
    if isinstance(formula, str):
        return names[formula]
    op, *rest = formula
    if op in ("chosen", "float"):
        return z3.FreshInt("any") if op == "float" else z3.If(z3.FreshBool("chosen"), z3.IntVal(1), z3.IntVal(0))
    parts = [as_integers(part, names) for part in rest]
    truths = {
        "and": lambda: z3.And(*[part != 0 for part in parts]),
        "or": lambda: z3.Or(*[part != 0 for part in parts]),
        "not": lambda: parts[0] == 0,
        "==": lambda: parts[0] == parts[1],
        "<=": lambda: parts[0] <= parts[1],
    }
    if op in truths:
        return z3.If(truths[op](), z3.IntVal(1), z3.IntVal(0))
    if op == "abs":
        return z3.Abs(parts[0])
    return reduce({"+": operator.add, "*": operator.mul, "//": operator.truediv, "%": operator.mod}[op], parts)


def divisors(formula: Formula) -> Iterator[Formula]:
    """What a formula divides by, beside numbers."""
    if isinstance(formula, tuple):
        if formula[0] in ("//", "%") and not isinstance(formula[2], int):
            yield formula[2]
        for part in formula[1:]:
            yield from divisors(part)


def without(recipe: CallRecipe, lines: set[str]) -> Callable[[list[int]], object]:
    """The recipe with these lines left out."""
    kept = [line for line in recipe.text.splitlines() if line not in lines]
    return compiled("\n".join(kept) + "\n", recipe.scope)


def broken_alone(recipe: CallRecipe, count: int, at: int) -> list[int] | None:
    """Numbers of which each condition holds but this one, and none divides by 0, which a recipe refuses; None where it
    follows from the others."""
    names = {f"n{i}": z3.Int(f"n{i}") for i in range(count)}
    for most in (1 << 8, 1 << 40):  # small numbers are found sooner, and none of the greater ones says that it follows
        solver = z3.SolverFor("QF_NIA")
        solver.set("timeout", 20_000)
        solver.add(*[z3.And(n <= most, n >= -most) for n in names.values()])
        for i, condition in enumerate(recipe.conditions):
            holds = as_integers(condition, names) != 0
            solver.add(z3.Not(holds) if i == at else holds)
            solver.add(*[as_integers(divisor, names) != 0 for divisor in divisors(condition)])
        found = solver.check()
        if found == z3.sat:
            model = solver.model()
            return [model.eval(n, model_completion=True).as_long() for n in names.values()]
    assert found == z3.unsat, f"z3 does not say whether {recipe.conditions[at]} follows from the others"
    return None


@pytest.mark.on_dawn("exp")
@pytest.mark.parametrize("name", ["exp", "sum of the last axis", "softmax", "gram", "turned"])
def test_planted_faults_in_what_a_recipe_gives_are_noticed(
    device: Device, name: str, watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each number of its last line, greater; each condition left out: then it serves calls that it did not, unless z3
    says that the condition follows from the others. What Python chose between plans is asked at random calls alone."""
    _, operation = OPERATIONS[name]
    pick = random.Random(name)
    numbers: list[list[int]] = []
    sized = call_cache.sized_call

    def noted(key: Any) -> Any:
        found = sized(key)
        if found is not None:
            numbers.append(found.numbers)
        return found

    monkeypatch.setattr(call_cache, "sized_call", noted)
    for operands in calls(name, device, 60):
        operation(*operands)
    needed = 0
    for recipe in watched.made[:4]:
        own = [n for n in numbers if len(n) == recipe.text.count(", ", 0, recipe.text.index("= numbers"))]
        served = [n for n in own if recipe.run(n) is not None]
        for n in list(served[:4]):
            for at in range(len(n)):
                changed = [0, 1, 2, -1, n[at] - 1, n[at] + 1, n[at] * 2, -n[at], 1 << 21, pick.choice(n)]
                own += [[*n[:at], other, *n[at + 1 :]] for other in changed]
        *conditions, last = [line for line in recipe.text.splitlines() if "return " in line and "try" not in line][:-1]
        for hit in list(re.finditer(r"\b(n\d+|t\d+)\b", last)):
            planted = f"{last[: hit.start()]}(4096 + {hit[0]}){last[hit.end() :]}"
            wrong = compiled(recipe.text.replace(last, planted), recipe.scope)
            assert any(str(wrong(n)) != str(recipe.run(n)) for n in served), planted
        assert len(conditions) == len(recipe.conditions)
        # Choices of Python are asked last; z3 knows nothing of them, and they are left out where it answers.
        chosen = {line for line, form in zip(conditions, recipe.conditions, strict=True) if "chosen" in str(form)}
        free = without(recipe, chosen)
        for at, line in enumerate(conditions):
            open_ = without(recipe, {line})
            if any(open_(n) is not None and recipe.run(n) is None for n in own):
                needed += 1
            elif line not in chosen and (alone := broken_alone(recipe, len(served[0]), at)) is not None:
                assert free(alone) is None and without(recipe, {*chosen, line})(alone) is not None, line
                needed += 1
    assert needed >= 8


def test_a_call_of_another_class_is_made_by_python(device: Device, watched: Watched) -> None:
    """A second order of axes, an offset, a memory of another length: each is right, whatever recipes there are."""
    rng = np.random.default_rng(1)
    for n in (40, 41, 42, 44):
        x = gpu.array(rng.standard_normal((n, 50)).astype(np.float32), device=device)
        np.testing.assert_allclose(ops.sum(x, 0).numpy(), x.numpy().sum(0), rtol=1e-4, atol=1e-4)
        y = Tensor(x.engine, Layout((n - 2, 50), (50, 1)), 100)
        np.testing.assert_allclose(ops.sum(y, 0).numpy(), x.numpy()[2:].sum(0), rtol=1e-4, atol=1e-4)
        z = ops.permute_dims(x, (1, 0))
        np.testing.assert_allclose(ops.sum(z, 0).numpy(), x.numpy().sum(1), rtol=1e-4, atol=1e-4)
    assert watched.served


def test_classes_without_end_are_not_kept_without_end(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """A class is of what a call depends on beside sizes: a number that is no parameter makes one each."""
    monkeypatch.setattr(call_cache, "KEPT", 8)
    kept = CallCache()
    x = gpu.array(np.ones(8, np.float32), device=device)
    for number in range(20):
        kept.call((x,), ops.exp, key=lambda number=number: (number,))  # type: ignore[misc]
        assert 0 < len(kept.recipes) <= 8 and 0 < len(kept.recorded) <= 8


def test_numbers_of_a_call_vary_with_its_sizes(device: Device, watched: Watched) -> None:
    axpy = gpu.pointwise("a + alpha * b")
    for n, alpha in ((10, 0.5), (11, 2.0), (12, -1.0), (13, 3.5), (14, float("inf"))):
        a = np.arange(n, dtype=np.float32) + 1
        x = gpu.array(a, device=device)
        np.testing.assert_array_equal(axpy(x, alpha, x).numpy(), a + np.float32(alpha) * a)
    assert watched.served


def test_what_is_refused_is_refused_at_every_size(device: Device) -> None:
    """A recipe serves no call that Python refuses."""
    for n in range(20, 26):
        x, y = (gpu.array(np.ones((n, m), np.float32), device=device) for m in (7, 8))
        ops.add(x, x)
        with pytest.raises(Exception, match="do not broadcast"):
            ops.add(x, y)
        with pytest.raises(Exception, match="out has the shape"):
            gpu.pointwise("a + b")(x, x, out=y)


def test_what_cannot_be_followed_has_no_recipe(device: Device, watched: Watched) -> None:
    """An operation that keeps its sizes as a key, or looks at elements, is computed by its Python each time."""
    sizes: dict[int, int] = {}

    @gpu.cached_launches
    def counted(x: Tensor) -> Tensor:
        sizes[x.shape[0]] = sizes.get(x.shape[0], 0) + 1  # type: ignore[index]
        return ops.exp(x)

    for n in (10, 11, 12, 13):
        np.testing.assert_allclose(counted(gpu.array(np.zeros(n, np.float32), device=device)).numpy(), np.ones(n))
    assert sizes == {10: 1, 11: 1, 12: 1, 13: 1}
    assert watched.failed == 3


def test_products_of_other_sizes_are_of_few_classes(device: Device, watched: Watched) -> None:
    """What has no say for a launch is not asked of its sizes: each answer would be a class with a recipe of its own."""
    pick = random.Random(0)
    for _ in range(120):
        m, n, k = (pick.randint(33, 300) for _ in range(3))
        a, b = (gpu.array(np.zeros(shape, np.float32), device=device) for shape in ((m, k), (k, n)))
        ops.matmul(a, b)
    assert len(watched.made) <= 16 and not watched.failed
    assert len(watched.served) >= 100
