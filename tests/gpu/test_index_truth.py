"""What is printed is what the layouts say: kernels over random partitions, run from their text at every invocation."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from shares import share
from wgsl_machine import Machine

from cutepy import gpu
from cutepy.gpu.matmul.kernel_fma import matmul_kernel
from cutepy.gpu.matmul.plan import Plan
from cutepy.gpu.trace.kernel import KernelFunction
from cutepy.layout import Layout, Swizzle, idx2crd, make_composed_layout, make_layout, size
from cutepy.tensor import Tensor, make_fragment_like, make_layout_tv, make_tensor
from cutepy.tensor.algorithms import copy
from cutepy.tensor.partition import local_partition, local_tile, thread_value_partition

PARTITIONS = 250
HOW = ("by value", "by partition", "through registers", "through shared memory", "in a loop")


def moving(how: str) -> KernelFunction:
    """A kernel that copies x to y tile by tile; `owned` says which elements of a tile a thread has."""

    def mine(tensor: Tensor, owned: Layout) -> Tensor:
        part = local_partition if how == "by partition" else thread_value_partition
        return part(tensor, owned)

    @gpu.kernel
    def move(x, y, *, tile, owned, staged):
        count = int(np.prod(tiles_of(x.shape, tile)))
        threads = size(owned) if how == "by partition" else size(owned, 0)
        gpu.launch(grid=1 if how == "in a loop" else count, threads=threads)
        if how == "in a loop":
            for t in gpu.loop(count):
                copy(*(mine(local_tile(tensor, tile, t), owned) for tensor in (x, y)))
            return
        source, target = (local_tile(tensor, tile, gpu.workgroup.x) for tensor in (x, y))
        if how == "through registers":
            held = make_fragment_like(mine(source, owned))
            copy(mine(source, owned), held)
            copy(held, mine(target, owned))
        elif how == "through shared memory":
            shared = gpu.shared(x, staged)
            copy(mine(source, owned), mine(shared, owned))
            gpu.barrier()
            copy(mine(shared, owned), mine(target, owned))
        else:
            copy(mine(source, owned), mine(target, owned))

    return move


KERNELS = {how: moving(how) for how in HOW}


def tiles_of(shape: tuple[object, ...], tile: tuple[int, ...]) -> list[int]:
    return [-(-Layout(extent).size // t) for extent, t in zip(shape, tile, strict=True)]


def random_shape(pick: random.Random, tile: tuple[int, ...]) -> tuple[object, ...]:
    """Modes that the tile divides, or not, and some of two factors."""
    found: list[object] = []
    for extent in tile:
        if pick.random() < 0.2:
            found.append((extent * pick.randint(1, 2), pick.randint(1, 3)))
        else:
            found.append(max(1, extent * pick.randint(1, 3) - (pick.randrange(extent) if pick.random() < 0.4 else 0)))
    return tuple(found)


def random_layout(pick: random.Random, shape: tuple[object, ...]) -> Layout:
    """A layout without overlaps: factors in any order, with gaps, and some strides negative."""
    leaves = [leaf for mode in shape for leaf in (mode if isinstance(mode, tuple) else (mode,))]
    order = list(range(len(leaves)))
    pick.shuffle(order)
    strides, step = [0] * len(leaves), 1
    for leaf in order:
        step += pick.choice([0, 0, 0, 1, 4]) if step > 1 else 0
        strides[leaf] = step * pick.choice([1, 1, 1, 1, -1])
        step *= leaves[leaf]
    given = iter(strides)
    return Layout(
        shape, tuple(tuple(next(given) for _ in mode) if isinstance(mode, tuple) else next(given) for mode in shape)
    )


def random_owned(pick: random.Random, tile: tuple[int, ...], how: str) -> Layout:
    """Threads over the tile: a layout that numbers them, or one from (thread, value) to elements."""
    threads = tuple(pick.choice([d for d in (1, 2, 3, 4, 8) if extent % d == 0]) for extent in tile)
    order = list(range(len(tile)))
    pick.shuffle(order)
    strides, step = [0] * len(tile), 1
    for mode in order:
        strides[mode] = step
        step *= threads[mode]
    if how == "by partition":
        return Layout(threads, tuple(strides))
    values = tuple(extent // t for extent, t in zip(tile, threads, strict=True))
    covered, layout = make_layout_tv(Layout(threads, tuple(strides)), Layout(values))
    assert covered == tile
    return layout


def random_staging(pick: random.Random, tile: tuple[int, ...]) -> object:
    plain = Layout(tile)
    if plain.size % 16 == 0 and pick.random() < 0.5:
        return make_composed_layout(Swizzle(2, pick.choice([0, 1]), 2), 0, plain)
    return make_layout(
        *(Layout(extent, step) for extent, step in zip(tile, (1, tile[0] + pick.choice([0, 1, 4])), strict=False))
    )


def over(layout: Layout) -> tuple[Tensor, int]:
    """A tensor over memory that just holds the layout, and the place of its offset 0."""
    table = layout.offsets()
    low, high = int(table.min()), int(table.max())
    return Tensor(make_tensor(np.zeros(high - low + 1, np.float32)).engine, layout, -low), -low


def owners(tile: tuple[int, ...], owned: Layout, how: str) -> list[tuple[int, tuple[int, ...]]]:
    """(thread, coordinate in the tile), for every value of every thread, from the layouts' own numbers."""
    if how == "by partition":
        table = owned.offsets().reshape([m.size for m in owned])
        return [
            (int(table[tuple(c % e for c, e in zip(crd, table.shape, strict=True))]), crd)
            for crd in itertools.product(*map(range, tile))
        ]
    table = owned.offsets()
    return [(t, idx2crd(int(table[t, v]), tile)) for t in range(table.shape[0]) for v in range(table.shape[1])]


def test_the_text_of_250_partitions_moves_what_the_layouts_say() -> None:
    seen = dict.fromkeys(("if (", "for (", "vec4", "vec2", " / ", " % ", " ^ ", " - ", "workgroupBarrier"), 0)
    for seed in share(range(PARTITIONS)):
        pick = random.Random(seed)
        how = HOW[seed % len(HOW)]
        tile = tuple(pick.choice([1, 2, 4, 6, 8, 12, 16]) for _ in range(pick.choice([1, 2, 2, 2])))
        shape = random_shape(pick, tile)
        from_layout, to_layout = random_layout(pick, shape), random_layout(pick, shape)
        (x, x_zero), (y, y_zero) = over(from_layout), over(to_layout)
        owned = random_owned(pick, tile, how)
        static = {"tile": tile, "owned": owned, "staged": random_staging(pick, tile)}
        program = KERNELS[how].program(x, y, **static)
        source = np.arange(len(x.engine.memory), dtype=float)
        target = np.full(len(y.engine.memory), -1.0)
        params = KERNELS[how]._bind((x, y), static).params
        machine = Machine(program.wgsl, program.grid, {"x": source, "y": target}, params).run()

        moved: dict[tuple[int, int], set[tuple[int, int]]] = {}
        wanted = np.full_like(target, -1)
        tiles = tiles_of(shape, tile)
        for number, at in enumerate(itertools.product(*(range(n) for n in tiles[::-1]))):
            for thread, inside in owners(tile, owned, how):
                crd = tuple(t * e + c for t, e, c in zip(at[::-1], tile, inside, strict=True))
                if all(c < from_layout[mode].size for mode, c in enumerate(crd)):
                    a, b = x_zero + from_layout(crd), y_zero + to_layout(crd)
                    wanted[b] = a
                    moved.setdefault((0 if how == "in a loop" else number, thread), set()).add((a, b))
        assert np.array_equal(target, wanted), f"{seed} {how} {from_layout} {to_layout}\n{program.wgsl}"
        check_owners(machine, moved)
        seen = {word: count + (word in program.wgsl) for word, count in seen.items()}
    assert min(seen.values()) >= PARTITIONS // 50, seen


def check_owners(machine: Machine, moved: dict[tuple[int, int], set[tuple[int, int]]]) -> None:
    """Each invocation writes the elements that the layouts give it, and reads the vectors in which they are."""
    for name, write, side in (("x", False, 0), ("y", True, 1)):
        width = machine.memory[name].width
        found: dict[tuple[int, int], set[int]] = {}
        for access in machine.accesses:
            if access.name == name and access.write is write:
                for group, thread in np.argwhere(access.active).tolist():
                    found.setdefault((group, thread), set()).add(int(access.first[group, thread]) // width)
        assert found == {who: {pair[side] // width for pair in pairs} for who, pairs in moved.items()}


PLANS = (
    Plan(),
    Plan((32, 32, 16), (8, 8)),
    Plan((32, 32, 8), (8, 8), stages=2),
    Plan((32, 64, 8), (8, 8), stages=2, unrolled=True),
)


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: f"{plan.tile}-{plan.stages}-{plan.unrolled}")
def test_the_text_of_matmul_multiplies_what_the_layouts_say(plan: Plan) -> None:
    pick = random.Random(str(plan))
    for m, n, k in ((1, 1, 1), (33, 65, 17), (64, 64, 32), (40, 20, 9)):
        A, B, C = (over(random_layout(pick, shape))[0] for shape in ((m, k), (n, k), (m, n)))
        g = np.random.default_rng(m)
        storage = {name: g.integers(1, 1 << 20, len(t.engine.memory)).astype(float) for name, t in (("A", A), ("B", B))}
        storage["C"] = np.full(len(C.engine.memory), -1.0)
        program = matmul_kernel.program(A, B, C, plan=plan)
        params = matmul_kernel._bind((A, B, C), {"plan": plan}).params
        machine = Machine(program.wgsl, program.grid, storage, params).run()
        a, b, c = (storage[name][t.offset + t.layout.offsets()] for name, t in (("A", A), ("B", B), ("C", C)))
        assert np.array_equal(c, a @ b.T), program.wgsl
        outside = np.ones(len(storage["C"]), bool)
        outside[C.offset + C.layout.offsets()] = False
        assert (storage["C"][outside] == -1).all()
        written = np.concatenate(
            [
                (x.first[x.active][:, None] + np.arange(x.width)).ravel()
                for x in machine.accesses
                if x.name == "C" and x.write
            ]
        )
        assert len(written) == len(set(written.tolist())) == m * n


def test_the_machine_sees_a_wrong_index() -> None:
    x, y = (make_tensor(np.zeros(64, np.float32)) for _ in range(2))
    static = {"tile": (64,), "owned": Layout((16, 4), (4, 1)), "staged": Layout(64)}
    program = KERNELS["by value"].program(x, y, **static)
    assert "y[tid] = x" in program.wgsl
    for wrong in ("y[tid ^ 1u] = x", "y[(tid + 1u) % 16u] = x"):
        memory = {"x": np.arange(64.0), "y": np.zeros(64)}
        Machine(program.wgsl.replace("y[tid] = x", wrong), program.grid, memory).run()
        assert not np.array_equal(memory["x"], memory["y"])
    with pytest.raises(AssertionError, match="y left its array"):
        memory = {"x": np.arange(64.0), "y": np.zeros(64)}
        Machine(program.wgsl.replace("y[tid] = x", "y[tid + 1u] = x"), program.grid, memory).run()
