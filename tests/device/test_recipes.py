"""Compiled calls of unknown sizes: what a recipe gives is what the long way gives, check by check, at random calls."""

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from shares import ALL, in_share
from size_kernels import CASES

from cutepy import gpu
from cutepy.errors import CutepyError, DeviceError, KernelError
from cutepy.gpu.operations.pointwise import each_element
from cutepy.gpu.runtime import Device
from cutepy.gpu.runtime.batch import taped
from cutepy.gpu.runtime.formulas import Formula, evaluate, text_of
from cutepy.gpu.trace.kernel import KernelFunction, SizedLaunch
from cutepy.gpu.trace.recipe import Recipe, compiled
from cutepy.gpu.trace.unknown_sizes import SizeSpec, specs_of, values_of
from cutepy.layout import Layout
from cutepy.layout.values.int_tuple import as_tuple
from cutepy.layout.values.layout import _make
from cutepy.tensor import Tensor, i32, local_tile

NUMBERS = (0, 1, 2, 3, 4, 5, 7, 8, 16, 17, 60, 64, 65)
ODD = ("large", "extent", "stride", "begin", "end", "memory")
LARGE = (
    1 << 16,
    65537,
    46341,
    65535 * 64,
    65535 * 64 + 1,
    1 << 22,
    (1 << 31) - (1 << 16),
    (1 << 31) - 1,
    1 << 31,
    (1 << 31) + 4,
)


@gpu.kernel(given=["4 divides N", "M <= 1000000"])
def stated(a: "f32", x: "(M,N):(?,1)", y: "(M,N)", z: "(8,M)") -> None:  # noqa: F722, F821
    M, N = x.shape
    gpu.launch(grid=M, threads=32)
    row = gpu.workgroup.x
    for k in gpu.loop(N, start=gpu.thread, step=32):
        y[row, k] = a * x[row, k] + z[0, row]


@gpu.kernel(often=["8 divides N", "2 * M <= N"])
def in_tiles(x: "(M,N)", y: "(M,N)") -> None:  # noqa: F821
    M, N = x.shape
    gpu.launch(grid=(-(-N // 8), M), threads=8)
    j = gpu.workgroup.x * 8 + gpu.thread
    if j < N:
        y[gpu.workgroup.y, j] = x[gpu.workgroup.y, j]


@gpu.kernel(often=["8 divides N"])
def into_others(x: "(M,N)", y: "(K,N)") -> None:  # noqa: F821
    """Where the fact holds its proof asks for M <= K, and what that refuses goes by the form for all sizes."""
    M, N = x.shape
    gpu.launch(grid=M, threads=8)
    row = gpu.workgroup.x if isinstance(N % 8, int) else gpu.minimum(gpu.workgroup.x, y.shape[0])
    for j in gpu.loop(N, start=gpu.thread, step=8):
        if isinstance(N % 8, int):
            y[row, j] = x[row, j]
        elif row < y.shape[0]:
            y[row, j] = x[row, j]


@gpu.kernel
def copied(x: "(?,?)", y: "(?,?)") -> None:  # noqa: F722
    M, N = x.shape
    gpu.launch(grid=M, threads=32)
    for j in gpu.loop(N, start=gpu.thread, step=32):
        y[gpu.workgroup.x, j] = x[gpu.workgroup.x, j]


@gpu.kernel
def flat(x: "(M,N)", y: "(M,N)") -> None:  # noqa: F821
    M, N = x.shape
    gpu.launch(grid=-(-M * N // 64), threads=64)
    i = gpu.workgroup.x * 64 + gpu.thread
    if i < M * N:
        y[i // N, i % N] = x[i // N, i % N]


@gpu.kernel
def summed(x: "(M,N)", y: "(M,N)", z: "(M,N)") -> None:  # noqa: F821
    M, N = x.shape
    gpu.launch(grid=M, threads=32)
    for j in gpu.loop(N, start=gpu.thread, step=32):
        z[gpu.workgroup.x, j] = x[gpu.workgroup.x, j] + y[gpu.workgroup.x, j]


@gpu.kernel
def of_any_rank(x: "(...)", y: "(...)") -> None:
    each_element([x], [y], lambda value: (value,), None)


@gpu.kernel
def shifted(n: "u32", x: "(N)", y: "(N)") -> None:  # noqa: F821
    gpu.launch(grid=-(-x.shape[0] // 64), threads=64)
    i = gpu.workgroup.x * 64 + gpu.thread
    if (i < x.shape[0]) & (i >= n):
        y[i] = x[i - n]


KERNELS: dict[str, tuple[KernelFunction, tuple[float, ...], tuple[int, ...]]] = {
    "scale": (CASES["scale"].kernel, (2.0,), (1, 1)),
    "axpy": (CASES["axpy"].kernel, (2.0,), (2, 2)),
    "product": (CASES["product"].kernel, (), (2, 2, 2)),
    "transposed": (CASES["transposed"].kernel, (), (2, 2)),
    "counted": (CASES["counted"].kernel, (), (1, 1)),
    "stated": (stated, (2.0,), (2, 2, 2)),
    "in_tiles": (in_tiles, (), (2, 2)),
    "into_others": (into_others, (), (2, 2)),
    "copied": (copied, (), (2, 2)),
    "flat": (flat, (), (2, 2)),
    "of_any_rank": (of_any_rank, (), (3, 1)),
    "shifted": (shifted, (5,), (1, 1)),
}


#: All but two: the classes of a tensor of any rank say more than some checks, and of two shapes that are independent of
#: one another few random ones meet the checks behind the first.
PLANTED = [name for name in KERNELS if name not in ("of_any_rank", "copied")]


class Calls:
    """Random calls of a kernel over buffers that are never launched over: sizes, strides, offsets and lengths are
    such as annotations say, or changed in few places."""

    def __init__(self, name: str, device: Device, seed: int) -> None:
        self.kernel, self.numbers, self.ranks = KERNELS[name]
        self.pick = random.Random(f"{name}{seed}")
        kind = np.uint32 if name == "counted" else np.float32
        self.memory = [gpu.array(np.zeros(64, kind), device=device) for _ in self.ranks]

    def call(self) -> tuple[object, ...]:
        rank = max(1, self.pick.choice(self.ranks))
        pick, letters = self.pick, {}
        four, count = pick.random() < 0.4, len(self.ranks)
        # What is odd, of which tensor: most calls have one such thing, some have more, some none.
        odd = {(pick.choice(ODD), pick.randrange(count)) for _ in range(pick.choice([0, 1, 1, 1, 3]))}
        tensors: list[Tensor] = []
        for i, (spec, memory) in enumerate(zip(self.kernel._specs.values(), self.memory, strict=True)):
            shape = []
            spec = spec.of_rank(rank)
            for axis, n in enumerate(spec.shape):
                size = pick.choice(LARGE) if ("large", i) in odd and pick.random() < 0.6 else pick.choice(NUMBERS)
                size -= size % 4 if four and (axis + 1 == len(spec.shape) or pick.random() < 0.7) else 0
                shape.append(
                    n
                    if isinstance(n, int)
                    else size
                    if n == "?" and pick.random() < 0.6
                    else letters.setdefault(n + str(axis) * (n == "?"), size)
                )
            if ("extent", i) in odd:
                shape[pick.randrange(len(shape))] = pick.choice(NUMBERS)
            order = list(range(len(shape)))[:: pick.choice([1, 1, -1])]
            stride, reach = [0] * len(shape), 1
            for axis in reversed(order):
                stride[axis] = reach * pick.choice([1, 1, 1, -1] if reach > 1 else [1] * 9 + [2, -1])
                reach = abs(stride[axis]) * max(1, shape[axis]) + pick.choice([0, 0, 4, 1])
            if ("stride", i) in odd:
                stride[pick.randrange(len(shape))] = pick.choice([0, 1, 2, 3, 4, -1, 1 << 33])
            ends = [(n - 1) * s for n, s in zip(shape, stride, strict=True)]
            low, high = sum(min(0, e) for e in ends), sum(max(0, e) for e in ends)
            offset = -low + (pick.choice([-1, -4]) if ("begin", i) in odd else pick.choice([0, 0, 4, 1]))
            length = offset + high + (0 if ("end", i) in odd else pick.choice([1, 1, 2, 100]))
            layout = _make(tuple(shape), tuple(stride))
            one = Tensor(replace(memory.engine, length=length), layout, offset)
            tensors.append(tensors[0] if ("memory", i) in odd and tensors else one)
        numbers = [pick.choice((n, n, 0, 1 << 31, -1)) if type(n) is int else n for n in self.numbers]
        return (*numbers, *tensors)


def specs(kernel: KernelFunction, args: tuple[object, ...]) -> dict[str, SizeSpec]:
    return specs_of(kernel._bind(args, {}), kernel._specs)


def long_way(kernel: KernelFunction, args: tuple[object, ...], device: Device) -> SizedLaunch | str:
    """The launch of the long way, or why there is none."""
    try:
        found = kernel._sized(kernel._bind(args, {}), device)
    except KernelError as error:
        return str(error)
    return kernel.size_reason if found is None else found


def recipes_of(calls: Calls, device: Device) -> list[Recipe]:
    """The recipes of the classes that random calls over memories of their own have."""
    found: dict[object, Recipe] = {}
    for _turn in range(400):
        args = calls.call()
        if len({*map(id, args)}) < len(args):
            continue
        sized = long_way(calls.kernel, args, device)
        if not isinstance(sized, str) and sized.exact is not None and sized.exact.key not in found:
            program = sized.traced.program(device.dialect, sized.traced.checked("auto"))
            recipe = calls.kernel._recipe(sized, args, specs(calls.kernel, args), program, device)
            if recipe is not None:
                found[sized.exact.key] = recipe
    assert found
    return list(found.values())


def first_broken(recipe: Recipe, kernel: KernelFunction, args: tuple[object, ...]) -> int | None:
    """The first check that does not hold, by formulas as the host reads them."""
    values = values_of(kernel._bind(args, {}), specs(kernel, args))
    return next((i for i, (form, _) in enumerate(recipe.checks) if not evaluate(form, values)), None)


def disagreements(recipes: list[Recipe], calls: Calls, device: Device, count: int) -> Iterator[str]:
    """Calls at which a recipe gives something else than the long way, or names another check."""
    kernel = calls.kernel
    for _turn in range(count):
        args = calls.call()
        try:
            kernel._bind(args, {})
        except KernelError:
            continue
        sized = long_way(kernel, args, device)
        answers = [answer for recipe in recipes if (answer := recipe.run(args)) not in (None, -1)]
        if len(answers) > 1:
            yield f"{args}: two classes"
        for recipe in recipes:
            launched = recipe.run(args)
            if isinstance(launched, int):
                broken = first_broken(recipe, kernel, args)
                # What the quick test of elements does not tell apart, the long way may.
                quick = launched >= 0 and recipe.checks[launched][1].startswith("no two coordinates")
                if launched >= 0 and launched != broken:
                    yield f"{args}: check {launched}, not {broken}"
                # A form for fewer calls whose proof asks for more leaves a call to that for all.
                elif not isinstance(sized, str) and not quick and sized.exact is not None:
                    yield f"{args}: {recipe.checks[launched]} does not hold, and the long way launches"
            elif launched is not None:
                _, _, params, *grid = launched
                if isinstance(sized, str):
                    yield f"{args}: launched, and the long way says {sized}"
                    continue
                values = {**sized.call.params, **sized.params}
                packed = recipe.program.pack([values[p.name] for p in recipe.program.params])
                same = params[: len(packed)] == packed and not any(params[len(packed) :])
                if not same or tuple(grid) != sized.grid or recipe.program.wgsl != program_of(sized, device):
                    yield f"{args}: {launched} is not {packed!r}, {sized.grid}"
        if (
            not any(recipe.run(args) for recipe in recipes)
            and not isinstance(sized, str)
            and len({id(t) for t in args}) == len(args)
        ):
            if sized.exact is not None and any(recipe.of == (sized.exact.key, device.uid) for recipe in recipes):
                yield f"{args}: no recipe serves it"


def program_of(sized: SizedLaunch, device: Device) -> str:
    return sized.traced.program(device.dialect, sized.traced.checked("auto")).wgsl


@pytest.mark.on_dawn("scale")
@pytest.mark.parametrize("name", KERNELS)
def test_a_recipe_gives_the_launch_of_the_long_way(device: Device, name: str) -> None:
    recipes = recipes_of(Calls(name, device, 0), device)
    calls = Calls(name, device, 1)
    assert list(disagreements(recipes, calls, device, 800 if ALL else 200)) == []


def other_kind(args: tuple[object, ...], calls: Calls) -> tuple[object, ...]:
    """A call with one tensor of another type, that nobody may write, or of another rank."""
    at = len(args) - 1 - calls.pick.randrange(len(calls.ranks))
    one = args[at]
    assert isinstance(one, Tensor)
    changed = calls.pick.choice([
        Tensor(replace(one.engine, dtype=i32), one.layout, one.offset),
        Tensor(replace(one.engine, writable=False), one.layout, one.offset),
        Tensor(one.engine, _make((3, *as_tuple(one.shape)), (1, *as_tuple(one.stride))), one.offset),
    ])  # fmt: skip
    return (*args[:at], changed, *args[at + 1 :])


def faults_of(line: str, launched: list[tuple[object, ...]]) -> list[str]:
    """A line of a recipe with a fault: a check left out, a stride of an extent that is 1 in some call that it launches
    not normalised, a parameter that is not reduced."""
    faults = []
    if re.search(r"if .*: return (\d+|None)$", line) and not re.search(r" type\(\w+\)|facts|uid !=", line):
        faults.append(re.sub(r"if .*:", "if False:", line))
    if found := re.search(r"if n(\d+)_(\d+) == 1: s", line):
        faults += [""] * any(as_tuple(args[int(found[1])].shape)[int(found[2])] == 1 for args in launched)  # type: ignore[attr-defined]
    reduced = re.sub(r"(\bs\d+_\d+( // 4\))?) % 4294967296", r"\1 % 4294967295", line)
    return faults + [reduced] * (reduced != line)


@pytest.mark.on_dawn("scale")
@pytest.mark.parametrize("name", PLANTED)
def test_planted_faults_in_each_check_are_noticed(device: Device, name: str) -> None:
    """What a recipe gives at random calls, of which another test says that it is right, it gives no more: at one of
    12,000, of which so many are made as it takes."""
    for recipe in recipes_of(Calls(name, device, 0), device)[:2]:
        calls, lines = Calls(name, device, 2), recipe.text.splitlines()
        noticed: dict[tuple[int, str], bool] = {}
        for _turn in range(6):
            met = [calls.call() for _ in range(2000)]
            met += [other_kind(args, calls) for args in met if not isinstance(recipe.run(args) or 0, int)]
            answers = [recipe.run(args) for args in met]
            launched = [args for args, answer in zip(met, answers, strict=True) if isinstance(answer, tuple)]
            for at, line in enumerate(lines):
                for fault in faults_of(line, launched):
                    if not noticed.get((at, fault)):
                        run = compiled("\n".join([*lines[:at], fault, *lines[at + 1 :]]) + "\n", recipe.scope)
                        noticed[at, fault] = any(run(args) != answer for args, answer in zip(met, answers, strict=True))
            if noticed and all(noticed.values()):
                break
        unnoticed = [f"{lines[at].strip()} -> {fault.strip()}" for (at, fault), seen in noticed.items() if not seen]
        assert noticed and unnoticed == [], chr(10).join([*unnoticed, str(recipe.plan.serves)])


def test_a_buffer_that_was_freed_is_refused(device: Device) -> None:
    scale = CASES["scale"].kernel
    for turn in range(3):
        x, y = (gpu.array(np.zeros(7 + turn, np.float32), device=device) for _ in range(2))
        scale(2.0, x, y)
        x.engine.buffer.free()  # type: ignore[union-attr]
        with pytest.raises(DeviceError, match="freed"):
            scale(2.0, x, y)


def recipe_of(kernel: KernelFunction, args: tuple[object, ...], device: Device) -> Recipe:
    """The recipe of the class of this call."""
    sized = long_way(kernel, args, device)
    assert isinstance(sized, SizedLaunch), sized
    program = sized.traced.program(device.dialect, sized.traced.checked("auto"))
    recipe = kernel._recipe(sized, args, specs(kernel, args), program, device)
    assert recipe is not None
    return recipe


def test_a_recipe_of_one_memory_serves_one_layout_alone(device: Device) -> None:
    kernel = KERNELS["copied"][0]
    memory = gpu.array(np.arange(64, dtype=np.float32), device=device)
    one, turned = (Tensor(memory.engine, Layout((6, 8), stride), 4) for stride in ((8, 1), (1, 6)))
    other = Tensor(gpu.array(np.zeros(64, np.float32), device=device).engine, one.layout, 4)
    recipe = recipe_of(kernel, (one, one), device)
    assert isinstance(recipe.run((one, one)), tuple)
    assert [recipe.run(pair) for pair in ((one, turned), (one, other), (other, one))] == [None] * 3
    longer = Tensor(replace(memory.engine, length=63), one.layout, 4)
    later = Tensor(memory.engine, one.layout, 8)
    assert [recipe.run((one, two)) for two in (longer, later)] == [None] * 2
    # The long way refuses what is written under two layouts, also where a form for one is there.
    for two in (turned, later):
        assert long_way(kernel, (one, two), device) == "x and y are one memory under two layouts"


def test_a_recipe_of_views_writes_none_of_them(device: Device) -> None:
    """Views that are read have any layouts; the memory that is written is another, or the recipe does not serve."""
    memory, written = (gpu.array(np.arange(64, dtype=np.float32), device=device).engine for _ in range(2))
    one, turned, later, after = (
        Tensor(memory, Layout((3, 5), stride), at)
        for stride, at in (((9, 1), 1), ((1, 7), 2), ((7, 1), 9), ((1, 9), 5))
    )
    y = Tensor(written, Layout((3, 5), (5, 1)))
    recipe = recipe_of(summed, (one, later, y), device)
    assert all(isinstance(recipe.run(args), tuple) for args in ((one, later, y), (later, one, y)))
    here = Tensor(memory, y.layout)
    for args in ((one, later, here), (one, later, later), (one, y, here), (y, one, here), (one, y, later)):
        assert recipe.run(args) is None
        assert "are one memory under two layouts" in str(long_way(summed, args, device))
    mixed = recipe_of(summed, (one, turned, y), device)
    assert isinstance(mixed.run((later, after, y)), tuple) and mixed.run((later, after, here)) is None
    assert recipe.run((one, turned, y)) is None and mixed.run((one, later, y)) is None


@gpu.kernel(sizes="known")
def blended(a: float, n: "u32", x: Tensor, y: Tensor, z: Tensor, *, times: int = 1) -> None:  # noqa: F821
    """z += a * x + n * y, element by element."""
    gpu.launch(grid=1, threads=8)
    z[gpu.thread] += times * (a * x[gpu.thread] + gpu.cast(n, "f32") * y[gpu.thread])


class KnownCalls:
    """Random calls of `blended`: over few memories, of few layouts, offsets and lengths, some frozen or freed."""

    def __init__(self, device: Device, seed: int) -> None:
        self.pick, memory = random.Random(seed), [gpu.array(np.ones(64, np.float32), device=device) for _ in range(4)]
        short = gpu.array(np.ones(16, np.float32), device=device).engine
        freed = replace(short, buffer=device.allocate(256, pooled=False))
        freed.buffer.free()  # type: ignore[union-attr]
        usual = [t.engine for t in memory[:3]]
        self.engines = [*usual * 4, *[replace(e, length=60) for e in usual], replace(usual[0], writable=False)]
        self.engines += [replace(usual[1], dtype=i32), replace(short, length=64), freed]

    def call(self) -> tuple[object, ...]:
        pick, tensors = self.pick.choice, []
        for _ in "xyz":
            layout = pick([Layout(8)] * 12 + [Layout((8,)), Layout(8, 3), Layout((2, 4)), Layout((2, 4), (4, 1))])
            tensors.append(Tensor(pick(self.engines), layout, pick([0] * 9 + [4])))
        if pick([False, False, True]):
            tensors[pick([0, 1])] = tensors[2]
        return pick([0.5, -2.0, 0.25, 1e300, np.float32(3), 2]), pick([1, 7, 9, -1, 1 << 31, np.int32(4)]), *tensors


def asked_of(device: Device, call: Callable[[], object]) -> object:
    """The launches of a call, or why it is refused."""
    with taped(device) as tape, np.errstate(over="ignore"):
        try:
            call()
        except CutepyError as error:
            return str(error)
    packed = [[np.float32(p) if isinstance(p, float) else p for p in params] for _, _, params in tape.launches]
    return [(p.wgsl, p.grid, [*map(id, buffers)]) for p, buffers, _ in tape.launches], packed


def test_a_recipe_of_known_sizes_gives_the_launch_of_the_long_way(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever varies of a call: its memories and which of them are one, layouts, types, numbers, static arguments."""
    kernel, calls = gpu.kernel(sizes="known")(blended.function), KnownCalls(device, 0)
    launch, served = Recipe.launch, list[Recipe]()
    monkeypatch.setattr(Recipe, "launch", lambda recipe, given: served.append(recipe) or launch(recipe, given))
    given = [(calls.call(), calls.pick.choice([{}, {}, {}, {"times": 2}])) for _ in range(60)]
    for _turn in range(in_share(3000)):
        args, static = calls.pick.choice(given)
        found = asked_of(device, partial(kernel, *args, **static))
        assert found == asked_of(device, partial(kernel._launch, args, "auto", static)), (args, static)
    assert len(served) > 40


def test_a_memory_too_small_for_one_layout_is_served_by_the_recipe_of_another(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    @gpu.kernel(sizes="known")
    def doubled(x: Tensor) -> None:
        gpu.launch(grid=1, threads=8)
        x[gpu.thread] *= 2.0

    every = [gpu.array(np.ones(n, np.float32), device=device) for n in (8, 1 << 10, 1 << 16)]
    for x in every:
        doubled(x)
    monkeypatch.setattr(KernelFunction, "_launch", lambda *_: pytest.fail("the long way"))
    for x in every:
        doubled(x)
    assert all((x.numpy()[:8] == 4).all() for x in every)


def test_planted_faults_in_each_check_of_known_sizes_are_noticed(device: Device) -> None:
    """A check that is left out lets a call pass that is of another class, or is refused: random ones, and those that
    differ from the recipe's in one thing of one tensor."""
    kernel, calls = gpu.kernel(sizes="known")(blended.function), KnownCalls(device, 1)
    x, y, z = (Tensor(engine, Layout(8)) for engine in calls.engines[:3])
    guard, other = local_tile(Tensor(x.engine, Layout(4)), (8,), (0,)).guard, gpu.open_device(device.adapter)
    calls.engines.append(gpu.array(np.ones(64, np.float32), device=other).engine)

    def others(t: Tensor) -> list[Tensor]:
        engines = [replace(t.engine, **fields) for fields in ({"dtype": i32}, {"writable": False}, {"length": 60})]  # type: ignore[arg-type]
        views = [Tensor(t.engine, t.layout, 4), Tensor(t.engine, Layout(8, 3)), Tensor(t.engine, t.layout, 0, guard)]
        return [*views, *[Tensor(engine, t.layout) for engine in (*engines, *calls.engines)]]

    met = [calls.call() for _ in range(1000)]
    for call in ((x, y, z), (x, z, z)):
        kernel(0.5, 7, *call)
        met += [(0.5, 7, *call[:at], t, *call[at + 1 :]) for at in range(3) for t in others(call[at])]
    recipes = kernel._recipes[kernel._beside(met[0], "auto", {})]
    assert len(recipes) == 2
    for recipe in recipes:
        answers, lines = [recipe.run(args) for args in met], recipe.text.splitlines()
        assert {*map(type, answers)} == {tuple, int, type(None)}
        for at, line in enumerate(lines):
            if "return " not in line or at > len(lines) - 4 or re.search("facts|type\\(l|type\\(e|if not 1:", line):
                continue
            without = compiled("\n".join([*lines[:at], *lines[at + 1 :]]) + "\n", recipe.scope)
            assert [without(args) for args in met] != answers, line
    other.close()


@gpu.kernel
def taken(n: "u32", x: "(N)", y: "(M)") -> None:  # noqa: F821
    gpu.launch(grid=-(-x.shape[0] // 64), threads=64)
    i = gpu.workgroup.x * 64 + gpu.thread
    if i < n:
        y[i] = x[i]


@pytest.mark.parametrize("name", ["axpy", "taken"])
def test_what_a_recipe_keeps_of_the_call_before_serves_equal_sizes_alone(device: Device, name: str) -> None:
    """Whatever one number of a tensor, or a whole number, is another than before; and of a recipe that compares one
    thing less this notices it."""
    kernel, numbers, rank = {"axpy": (CASES["axpy"].kernel, (2.0,), 2), "taken": (taken, (8,), 1)}[name]
    x, y = (gpu.array(np.zeros(400, np.float32), device=device).engine for _ in "xy")
    shape, stride = ((8, 12), (16, 1)) if rank == 2 else (8, 2)
    usual = [Tensor(engine, Layout(shape, stride), 4) for engine in (x, y)]
    met = [(*numbers, *usual)]
    for at, t in enumerate(usual):
        others = [Tensor(t.engine, Layout(*two), 4) for two in (((8, 8), (16, 1)), ((8, 12), (20, 1)))]
        others = others if rank == 2 else [Tensor(t.engine, Layout(*two), 4) for two in ((7, 2), (8, 4))]
        others += [Tensor(t.engine, t.layout, 8), Tensor(replace(t.engine, length=9), t.layout, 4)]
        met += [(*numbers, *usual[:at], other, *usual[at + 1 :]) for other in others]
    met += [(9, *usual)] * (name == "taken")
    recipe = recipe_of(kernel, met[0], device)

    def answers(text: str, *, again: bool) -> list[object]:
        runs = [compiled(text, {**recipe.scope, "last": [((None,), ())]}) for _ in met]
        return [runs[at * (not again)](args) for at, call in enumerate(met) for args in (met[0], call)]

    right = answers(recipe.text, again=False)[1::2]
    assert answers(recipe.text, again=True)[1::2] == right
    line = next(line for line in recipe.text.splitlines() if "sizes = (" in line)
    names = re.findall(r"[\w.]+(?=, )", line)
    assert len(names) == 8 + (name == "taken")
    for name in names:
        text = recipe.text.replace(line, line.replace(f"{name}, ", "", 1))
        assert answers(text, again=True)[1::2] != right, name


@gpu.kernel(sizes={"x": "(M,N)", "more": "(M,N)", "y": "(M,N)"})
def all_of(x: Tensor, more: object, y: Tensor) -> None:
    """y = x + all that `more` holds."""
    M, N = x.shape
    parts = more.values() if isinstance(more, dict) else more
    held = [t for part in parts for t in (part if isinstance(part, tuple) else (part,))]  # type: ignore[attr-defined]
    gpu.launch(grid=M, threads=32)
    for j in gpu.loop(N, start=gpu.thread, step=32):
        total = x[gpu.workgroup.x, j]
        for t in held:
            total = total + t[gpu.workgroup.x, j]
        y[gpu.workgroup.x, j] = total


HOLDERS: dict[str, Callable[[list[Tensor]], object]] = {
    "nothing": lambda t: (),
    "a tuple": lambda t: (t[0],),
    "a list": lambda t: [t[0]],
    "two": lambda t: (t[0], t[1]),
    "one in another": lambda t: ((t[0],), t[1]),
    "a dictionary": lambda t: {"b": t[0], "a": t[1]},
    "other keys": lambda t: {"a": t[0], "b": t[1]},
}


def test_a_recipe_reads_tuples_lists_and_dictionaries(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls that hold their tensors alike are one class, whatever the sizes, and no others are of it."""

    def call(kind: str, m: int, n: int) -> tuple[object, ...]:
        made = [gpu.array(np.full((m, n), value, np.float32), device=device) for value in (1, 10, 100, 0)]
        return made[0], HOLDERS[kind](made[1:3]), made[3]

    recipes = {kind: recipe_of(all_of, call(kind, 5, 7), device) for kind in HOLDERS}
    for kind in HOLDERS:
        args = call(kind, 6, 9)
        sized = long_way(all_of, args, device)
        assert isinstance(sized, SizedLaunch)
        for other, recipe in recipes.items():
            launched = recipe.run(args)
            assert (launched is not None) is (other == kind), (other, kind)
            if launched is not None:
                assert not isinstance(launched, int) and launched[3:] == sized.grid
                recipe.launch(launched)
        wanted = {"nothing": 1, "a tuple": 11, "a list": 11}.get(kind, 111)
        assert (args[-1].numpy() == wanted).all()  # type: ignore[attr-defined]
    # Another call than the first of a class goes by its recipe.
    all_of(*call("two", 5, 7))
    monkeypatch.setattr(KernelFunction, "_launch", lambda *_: pytest.fail("the long way"))
    all_of(*(args := call("two", 9, 11)))
    assert (args[-1].numpy() == 111).all()  # type: ignore[attr-defined]


def test_formulas_read_in_python_as_they_are_evaluated() -> None:
    pick, cases = random.Random(3), []

    def formula(depth: int) -> Formula:
        if not depth or pick.random() < 0.2:
            return pick.choice(["a", "b", pick.randint(-9, 9)])
        op = pick.choice(["+", "*", "//", "%", "abs", "<="])
        if op == "<=":
            return "*", condition(0), formula(depth - 1)
        if op in ("//", "%"):
            return op, formula(depth - 1), pick.choice([1, 2, 7, -3])
        return op, *[formula(depth - 1) for _ in range(1 if op == "abs" else pick.randint(1, 3))]

    def condition(depth: int) -> Formula:
        op = pick.choice(["and", "or", "not"] * (depth > 0) + ["==", "<="])
        if op in ("==", "<="):
            return op, formula(2), formula(2)
        return op, *[condition(depth - 1) for _ in range(1 if op == "not" else pick.randint(1, 3))]

    for _turn in range(300):
        form, values = pick.choice([formula, condition])(3), {"a": pick.randint(-20, 20), "b": pick.randint(0, 99)}
        cases.append((form, values, text_of(form, lambda part: part if isinstance(part, str) else None)))
    found = [int(eval(text, dict(values))) for _, values, text in cases]
    assert found == [evaluate(form, values) for form, values, _ in cases]
