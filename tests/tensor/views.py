"""Random views of views over an array between canaries, and by brute force which elements each may reach.

The array counts upwards, so the value of an element is its address: what a view reads tells where it reads. A model is
the list of the addresses of a view in colexicographic order, with None where a guard lets nothing exist.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import islice
from random import Random

import numpy as np

from cutepy.errors import CutepyError, LayoutError, TensorError
from cutepy.layout import (
    ComposedLayout,
    Layout,
    Swizzle,
    _,
    append,
    coalesce,
    composition,
    flat_divide,
    flatten,
    group_modes,
    make_ordered_layout,
    select,
    tiled_divide,
    zipped_divide,
)
from cutepy.tensor import (
    FMA,
    Tensor,
    TiledCopy,
    fill,
    inner_partition,
    local_partition,
    local_tile,
    make_gmem_ptr,
    make_tensor,
    make_tiled_copy_tv,
    make_tiled_mma,
    outer_partition,
    recast,
    thread_value_partition,
    universal_copy,
)
from cutepy.tensor.bulk import load_all, mask_table

from .cases import coordinates, flat, product

Model = list[int | None]
Step = tuple[Callable[[], object], "Model | None", str]
"""What to call, the model of its result (None where nobody can say), and how the call reads."""

MARGIN = 600
LENGTH = 400
MOST = 2000
"""Elements of a view at most: each is judged one by one."""


def canaries() -> np.ndarray:
    """Elements that count upwards, with margins on both sides of those that views are made of."""
    return np.arange(LENGTH + 2 * MARGIN, dtype=np.float32)


def random_array(random: Random, base: np.ndarray) -> np.ndarray:
    """A view of the middle of `base`: a block, with steps, reversed, transposed or broadcast."""
    middle = base[MARGIN : MARGIN + LENGTH]
    extents = [random.randint(1, 8) for _axis in range(random.choice([1, 2, 2, 3]))]
    while np.prod(extents) > LENGTH:
        extents.pop()
    array = middle[: int(np.prod(extents))].reshape(extents)
    cut = tuple(
        random.choice([slice(None)] * 4 + [slice(None, None, -1), slice(1, None), slice(None, None, 2)])
        for _axis in extents
    )
    array = array[cut]
    array = array if array.size else middle[:1]
    return array.T if random.random() < 0.4 else array


def colex(crd: tuple[int, ...], sizes: tuple[int, ...]) -> int:
    """The index of a coordinate; beyond a size it goes on in no mode but the last."""
    index, step = 0, 1
    for entry, size in zip(crd, sizes, strict=True):
        index, step = index + entry * step, step * size
    return index


def sizes_of(tensor: Tensor) -> tuple[int, ...]:
    shape = tensor.layout.shape
    return tuple(product(mode) for mode in shape) if isinstance(shape, tuple) else (product(shape),)


def entry(tensor: Tensor, model: Model, index: int) -> int | None:
    """The address of element `index`. KeyError for one beyond the size: it is another element, if any."""
    if 0 <= index < len(model):
        return model[index]
    raise KeyError(index)


def at_modes(tensor: Tensor, model: Model, crd: tuple[int, ...]) -> int | None:
    """The address at a coordinate with one entry a mode. KeyError where one is beyond its mode."""
    sizes = sizes_of(tensor)
    if all(c < s for c, s in zip(crd, sizes, strict=True)):
        return model[colex(crd, sizes)]
    raise KeyError(crd)


def modelled(make: Callable[[], Model]) -> Model | None:
    try:
        return make()
    except KeyError:
        return None


def random_inner(random: Random, size: int) -> Layout:
    """A layout of indices, about half of which stay below `size`."""
    while True:
        extents = tuple(random.choice([1, 2, 2, 3, 4, 5, 8]) for _mode in range(random.randint(1, 3)))
        steps = tuple(random.choice([0, 1, 1, 2, 3, 4, size // 2, size]) for _mode in extents)
        if random.random() < 0.6:
            order = list(range(len(extents)))
            random.shuffle(order)
            steps = flat(make_ordered_layout(extents, tuple(order)).stride)  # type: ignore[assignment]
        layout = Layout(extents, tuple(steps))
        if layout.size <= 128 and (layout.cosize > size or random.random() < 0.2):
            return layout


def composed(random: Random, tensor: Tensor, model: Model) -> Step:
    inner: Layout | ComposedLayout = random_inner(random, len(model))
    if random.random() < 0.2:
        inner = ComposedLayout(Swizzle(1, 0, 1), 0, inner)
    expected = modelled(lambda: [entry(tensor, model, inner(i)) for i in range(inner.size)])  # type: ignore[arg-type]
    return lambda: composition(tensor, inner), expected, f"composition(t, {inner})"  # type: ignore[arg-type]


def composed_by_mode(random: Random, tensor: Tensor, model: Model) -> Step:
    sizes = sizes_of(tensor)
    shape = (MOST + 1,)
    while product(shape) > MOST:
        tiler = tuple(random.choice([_, random.randint(1, s + 1), random_inner(random, s)]) for s in sizes)
        inners = [
            Layout(s) if t is _ else Layout(t) if isinstance(t, int) else t for t, s in zip(tiler, sizes, strict=True)
        ]
        shape = tuple(inner.size for inner in inners)

    def places() -> Model:
        return [
            at_modes(tensor, model, tuple(inner(c) for inner, c in zip(inners, crd, strict=True)))  # type: ignore[arg-type]
            for crd in coordinates(shape)
        ]

    return lambda: composition(tensor, tiler), modelled(places), f"composition(t, {tiler})"


def numbered(random: Random, number: int) -> int:
    """`number` as a Python or a NumPy integer."""
    return random.choice([int, int, np.int64, np.int16])(number)  # type: ignore[operator, no-any-return]


def thread_values(random: Random, tensor: Tensor, model: Model) -> Step:
    layout_tv = Layout((1, 1))
    while layout_tv.rank != 2 or layout_tv.size == 1:
        layout_tv = random_inner(random, len(model))
    thread = numbered(random, random.randrange(layout_tv[0].size))
    expected = modelled(lambda: [entry(tensor, model, layout_tv(thread, v)) for v in range(layout_tv[1].size)])
    call = f"thread_value_partition(t, {layout_tv}, {thread})"
    return lambda: thread_value_partition(tensor, layout_tv, thread), expected, call


def tiled_copies(random: Random, tensor: Tensor, model: Model) -> Step:
    sizes = sizes_of(tensor)
    tile = tuple(random.randint(1, s + 1) for s in sizes)
    layout_tv = Layout((1, 1))
    while layout_tv.rank != 2 or layout_tv.size == 1:
        layout_tv = random_inner(random, product(tile))
    copies: TiledCopy = make_tiled_copy_tv(universal_copy(1), layout_tv, tile)
    thread = random.randrange(layout_tv[0].size)
    rests = tuple(-(-s // t) for s, t in zip(sizes, tile, strict=True))

    def places() -> Model:
        found: Model = []
        for rest in coordinates(rests):
            for value in range(layout_tv[1].size):
                index = layout_tv(thread, value)
                if index >= product(tile):
                    raise KeyError(index)
                within = next(islice(coordinates(tile), index, None))
                at = tuple(r * t + w for r, t, w in zip(rest, tile, within, strict=True))  # type: ignore[arg-type]
                found.append(
                    at_modes(tensor, model, at) if all(a < s for a, s in zip(at, sizes, strict=True)) else None
                )
        return found

    side = random.choice([copies.partition_S, copies.partition_D])
    return lambda: side(tensor, thread), modelled(places), f"TiledCopy({layout_tv}, {tile}) of thread {thread}"


def tiles(random: Random, tensor: Tensor, model: Model) -> Step:
    sizes = sizes_of(tensor)
    tile = tuple(random.randint(1, s + 2) for s in sizes)
    counts = [-(-s // t) for s, t in zip(sizes, tile, strict=True)]
    which = tuple(random.randrange(count + (random.random() < 0.2)) for count in counts)
    whole = random.random() < 0.6

    def place(inner: tuple[int, ...], outer: tuple[int, ...]) -> int | None:
        at = tuple(o * t + i for o, t, i in zip(outer, tile, inner, strict=True))
        return model[colex(at, sizes)] if all(a < s for a, s in zip(at, sizes, strict=True)) else None

    absent = any(w >= c for w, c in zip(which, counts, strict=True))
    if whole:
        call = random.choice([local_tile, inner_partition])
        expected = None if absent else [place(inner, which) for inner in coordinates(tile)]  # type: ignore[arg-type]
        return lambda: call(tensor, tile, which), expected, f"{call.__name__}(t, {tile}, {which})"
    inner = tuple(random.randrange(t) for t in tile)
    expected = [place(inner, outer) for outer in coordinates(tuple(counts))]  # type: ignore[arg-type]
    if random.random() < 0.5:
        return lambda: outer_partition(tensor, tile, inner), expected, f"outer_partition(t, {tile}, {inner})"
    order = list(range(len(tile)))
    random.shuffle(order)
    threads = make_ordered_layout(tile, tuple(order))
    index = threads(inner)
    return lambda: local_partition(tensor, threads, index), expected, f"local_partition(t, {threads}, {index})"


def divided(random: Random, tensor: Tensor, model: Model) -> Step:
    """All tiles at once; with a layout as a tile only where it reaches is judged."""
    sizes = sizes_of(tensor)
    call = random.choice([zipped_divide, tiled_divide, flat_divide])
    if random.random() < 0.4:
        tiler = tuple(Layout(random.randint(1, 3), random.randint(1, 3)) for _mode in sizes)
        return lambda: call(tensor, tiler), None, f"{call.__name__}(t, {tiler})"
    tile = tuple(random.randint(1, s + 1) for s in sizes)
    counts = tuple(-(-s // t) for s, t in zip(sizes, tile, strict=True))
    expected: Model = []
    for outer in coordinates(counts):
        for inner in coordinates(tile):
            at = tuple(o * t + i for o, t, i in zip(outer, tile, inner, strict=True))  # type: ignore[arg-type]
            expected.append(model[colex(at, sizes)] if all(a < s for a, s in zip(at, sizes, strict=True)) else None)
    return lambda: call(tensor, tile), expected, f"{call.__name__}(t, {tile})"


def multiplied(random: Random, tensor: Tensor, model: Model) -> Step:
    """What a thread has of an operand; only where it reaches is judged here, which elements it has in test_atoms."""
    extents = tuple(random.choice([1, 2, 3]) for _mode in "MNK")
    dealt = tuple(random.choice([None, None, Layout((n, 2), (2, 1)), 2 * n]) for n in extents)
    mma = make_tiled_mma(FMA, extents, dealt)  # type: ignore[arg-type]
    part = random.choice([mma.partition_A, mma.partition_B, mma.partition_C])
    thread = random.randrange(mma.threads)
    return lambda: part(tensor, thread), None, f"{part.__name__}(t, {thread}) of {mma}"


def slices(random: Random, tensor: Tensor, model: Model) -> Step:
    sizes = sizes_of(tensor)
    crd = [random.choice([_, numbered(random, random.randrange(s + (random.random() < 0.2)))]) for s in sizes]
    crd[random.randrange(len(crd))] = _
    shape = tuple(s if c is _ else 1 for c, s in zip(crd, sizes, strict=True))
    start = tuple(0 if c is _ else c for c in crd)
    absent = any(c is not _ and c >= s for c, s in zip(crd, sizes, strict=True))
    expected = None
    if not absent:
        expected = [
            model[colex(tuple(a + b for a, b in zip(start, at, strict=True)), sizes)]  # type: ignore[arg-type]
            for at in coordinates(shape)
        ]
    return lambda: tensor[tuple(crd)] if isinstance(tensor.shape, tuple) else tensor[crd[0]], expected, f"t{crd}"


def rearranged(random: Random, tensor: Tensor, model: Model) -> Step:
    sizes = sizes_of(tensor)
    which = random.choice(["flatten", "coalesce", "group_modes", "select", "append"])
    if which == "select":
        order = random.sample(range(len(sizes)), random.randint(1, len(sizes)))
        shape = tuple(sizes[mode] for mode in order)
        expected = []
        for crd in coordinates(shape):
            full = dict(zip(order, crd, strict=True))  # type: ignore[arg-type]
            expected.append(model[colex(tuple(full.get(mode, 0) for mode in range(len(sizes))), sizes)])
        return lambda: select(tensor, *order), expected, f"select(t, {order})"
    if which == "append":
        mode = Layout(random.randint(1, 3), random.choice([0, 1, 1, 4]))
        expected = modelled(lambda: [a if a is None else a + mode(m) for m in range(mode.size) for a in model])
        return lambda: append(tensor, mode), expected, f"append(t, {mode})"
    calls: dict[str, Callable[[], object]] = {
        "flatten": lambda: flatten(tensor),
        "coalesce": lambda: coalesce(tensor),
        "group_modes": lambda: group_modes(tensor, 0, len(sizes)),
    }
    return calls[which], model, f"{which}(t)"


def remade(random: Random, tensor: Tensor, model: Model) -> Step:
    layout = random_inner(random, len(model))
    first = model[0]
    expected = (
        None
        if first is None or not isinstance(tensor.layout, Layout)
        else [first + layout(i) for i in range(layout.size)]
    )
    return lambda: make_tensor(tensor, layout), expected, f"make_tensor(t, {layout})"


STEPS = [
    *(3 * [composed, thread_values]),
    *(2 * [composed_by_mode, tiled_copies, remade]),
    *(multiplied, divided, tiles, slices, rearranged),
]
"""Those that may reach outside come more often, so that about half of the views that can be judged do."""


class Faults:
    """What went wrong in a run, and how often each verdict was met."""

    def __init__(self) -> None:
        self.count: Counter[str] = Counter()
        self.wrong: list[str] = []

    def note(self, kind: str, text: str) -> None:
        self.count[kind] += 1
        if kind in ("escaped", "refused though it fits", "wrong elements", "raw error"):
            self.wrong.append(f"{kind}: {text}")


def check_views(count: int, seed: int) -> Faults:
    """`count` random views, in chains of up to three, each judged by the model."""
    random, faults = Random(seed), Faults()
    base = canaries()
    while sum(faults.count.values()) < count:
        array = random_array(random, base)
        if random.random() < 0.15:
            check_memory(random, base, array, faults)
            continue
        tensor, model = swizzled(random, base) if random.random() < 0.15 else over(array)
        path = repr(tensor)
        for _step in range(random.randint(1, 3)):
            made, expected, said = random.choice(STEPS)(random, tensor, list(model))
            path += f" | {said}"
            found = judged(base, made, expected, {a for a in model if a is not None}, path, faults)
            if found is None:
                break
            tensor, model = found, addresses(found)
            if len(model) > 400:
                break
    return faults


def over(array: np.ndarray) -> tuple[Tensor, Model]:
    """The tensor of an array, and its addresses: what lies there."""
    return make_tensor(make_gmem_ptr(array, name="t")), [int(a) for a in array.ravel(order="F")]


def swizzled(random: Random, base: np.ndarray) -> tuple[Tensor, Model]:
    """A swizzled tensor, and its addresses by the definition of a swizzle."""
    shape = (random.choice([4, 8]), random.choice([4, 8, 16]))
    bits, low, shift = random.choice([(1, 0, 2), (2, 0, 2), (2, 0, 3), (1, 1, 2)])
    tensor = make_tensor(
        make_gmem_ptr(base[MARGIN : MARGIN + product(shape)], name="t"),
        ComposedLayout(Swizzle(bits, low, shift), 0, Layout(shape)),
    )
    mask = ((1 << bits) - 1) << low
    return tensor, [MARGIN + (i ^ (i >> shift & mask)) for i in range(product(shape))]


def check_memory(random: Random, base: np.ndarray, array: np.ndarray, faults: Faults) -> None:
    """A layout over an array, and a recast of it."""
    layout = random_inner(random, array.size)
    first, held = int(array.ravel()[0]), {int(a) for a in array.ravel()}
    path = f"make_tensor(array {array.shape} of strides {array.strides}, {layout})"
    judged(
        base, lambda: make_tensor(array, layout), [first + layout(i) for i in range(layout.size)], held, path, faults
    )
    wanted = random.choice(["f16", "u8", "f64", "c64", "c128", "i32"])
    try:
        found = recast(make_tensor(array), wanted)
    except (LayoutError, TensorError):
        faults.note("no layout", path)
        return
    before = base.copy()
    fill(found, 77)
    touched = (base.view(np.uint8) != before.view(np.uint8)).reshape(-1, 4).any(axis=1)
    base[:] = before
    strays = set(np.flatnonzero(touched).tolist()) - held
    faults.note("escaped" if strays else "right", f"recast({path}, {wanted}) touches {sorted(strays)[:3]}")


def judged(
    base: np.ndarray, made: Callable[[], object], expected: Model | None, held: set[int], path: str, faults: Faults
) -> Tensor | None:
    """The view, if it was made and is right; else None, and the verdict noted."""
    fits = expected is not None and all(a is None or a in held for a in expected)
    try:
        found = made()
    except TensorError as error:
        faults.note("refused though it fits" if fits else "refused", f"{path}: {error}")
        return None
    except LayoutError:
        faults.note("no layout", path)
        return None
    except CutepyError:
        raise
    except Exception as error:
        faults.note("raw error", f"{path}: {type(error).__name__}: {error}")
        return None
    if not isinstance(found, Tensor):
        return None
    try:
        seen = addresses(found)
    except Exception as error:
        faults.note("escaped", f"{path}: {type(error).__name__}: {error}")
        return None
    if not {a for a in seen if a is not None} <= held or not written(base, found) <= held:
        faults.note("escaped", path)
    elif fits and not alike(seen, expected or []):
        faults.note("wrong elements", f"{path}: {seen[:6]} for {expected[:6] if expected else expected}")
    else:
        faults.note("right", path)
        return found
    return None


def alike(seen: Model, expected: Model) -> bool:
    """Whether both are one list; where nested modes were rounded up further, more places are empty."""
    if len(seen) > len(expected):
        return [a for a in seen if a is not None] == [a for a in expected if a is not None]
    return seen == expected


def addresses(tensor: Tensor) -> Model:
    """What a view reads, in colexicographic order; None where its guard lets nothing exist."""
    values = load_all(tensor)
    mask = mask_table(tensor)
    exists = np.broadcast_to(True if mask is None else mask, values.shape).ravel(order="F")
    seen = [int(v) if e else None for v, e in zip(values.ravel(order="F"), exists, strict=True)]
    shown = np.asarray(tensor.numpy()).ravel(order="F")
    assert [int(v) for v in shown] == [0 if a is None else a for a in seen]
    return seen


def written(base: np.ndarray, tensor: Tensor) -> set[int]:
    """The addresses that a fill of the view changes; all is put back."""
    before = base.copy()
    fill(tensor, -1)
    changed = {int(a) for a in np.flatnonzero(base != before)}
    base[:] = before
    return changed
