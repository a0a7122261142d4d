"""Placements and plans judged by PyTorch's DTensor and by JAX: `make mesh`, or `python tools/mesh.py [COUNT]`.

With torch and jax installed (an environment of its own: `make mesh`): COUNT random placements both ways to DTensor's
and JAX's own classes (2,000), a tenth of them with local shards on 8 processes through gloo and on 8 host devices of
JAX; COUNT / 20 random plans run step by step by DTensor's `redistribute`, and as many by JAX's `device_put`; COUNT / 2
followed element by element; COUNT / 5 against all sequences of collectives; a sharded product whose local parts are
`ops.matmul` on the device of each process; the questions about a mesh of 1,048,576 devices, timed. Ends with "N passed,
M failed".
"""

import importlib.util
import os
import random
import sys
from math import prod
from pathlib import Path
from time import perf_counter

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "mesh"))

import numpy as np
from placements import all_devices, held, random_case

from cutepy import Layout, LayoutError
from cutepy.mesh import (
    Placement,
    from_dtensor,
    from_named_sharding,
    from_partition_spec,
    redistribution,
    to_dtensor,
    to_partition_spec,
)
from cutepy.mesh.dtensor import cuts_of

#: Meshes of eight devices: one a process.
EIGHT = [(8,), (2, 4), (4, 2), (2, 2, 2)]


def torch_placements(said):
    """DTensor's own objects for what a case says."""
    from torch.distributed.tensor.placement_types import Partial, Replicate, Shard, _StridedShard

    kinds = {
        "replicate": lambda: Replicate(),
        "partial": Partial,
        "shard": Shard,
        "strided": lambda d, n: _StridedShard(d, split_factor=n),
    }
    return [kinds[what[0]](*what[1:]) for what in said]


def cut_by_torch(shape, mesh, placements, device):
    """For each dimension the indices of a device, as torch's own placements split a tensor."""
    import torch

    indices = [torch.arange(extent) for extent in shape]
    for axis, placement in enumerate(placements):
        if not placement.is_replicate() and not placement.is_partial():
            whole = indices[placement.dim].reshape([-1 if k == placement.dim else 1 for k in range(len(shape))])
            pieces, _ = placement._split_tensor(whole, mesh[axis], with_padding=False)
            indices[placement.dim] = pieces[device[axis]].flatten()
    return [list(map(int, x)) for x in indices]


def both_ways(count: int) -> tuple[int, int]:
    """Random placements to DTensor's and JAX's classes and back: the same, or refused with an element."""
    draw, passed, failed = random.Random(7), 0, 0
    tally = {"DTensor": [0, 0], "JAX": [0, 0]}
    for number in range(count):
        shape, mesh, said = case = random_case(draw, partial=number % 4 == 0)
        good = True
        try:
            placement = from_dtensor(shape, mesh, torch_placements(said))
        except LayoutError as error:
            good = "index" in str(error) or "is not a layout: at" in str(error)
            tally["DTensor"][1] += 1
            passed, failed = passed + good, failed + (not good)
            continue
        tally["DTensor"][0] += 1
        made = to_dtensor(placement)
        good = from_dtensor(shape, mesh, made) == placement
        for device in draw.sample(all_devices(mesh), min(4, placement.devices)):
            theirs = cut_by_torch(shape, mesh, made, device)
            good &= theirs == held(case, device)
            good &= not all(theirs) or theirs == list(placement.local_coordinates(device))
            good &= placement.elements(device) == prod(map(len, theirs))
        names = tuple("abcd"[: len(mesh)])
        try:
            spec = to_partition_spec(placement, names)
            back = from_partition_spec(spec, shape, mesh, names)
            good &= all(back.local_coordinates(d) == placement.local_coordinates(d) for d in all_devices(mesh))
            tally["JAX"][0] += 1
        except LayoutError as error:
            good &= "index" in str(error)
            tally["JAX"][1] += 1
        passed, failed = passed + good, failed + (not good)
        if not good:
            print("differs:", case)
    for name, (equal, refused) in tally.items():
        print(f"{name}: {equal} equal, {refused} refused with an element")
    return passed, failed


def orders_both_ways(count: int) -> tuple[int, int]:
    """Cuts in any order of the axes, and layouts of any strides: to DTensor and back, or an index says why not."""
    draw, passed, failed, refused = random.Random(11), 0, 0, 0
    while passed + failed < count:
        mesh = tuple(draw.choice([1, 2, 2, 3, 4]) for _ in range(draw.randint(1, 4)))
        shape = tuple(draw.choice([2, 4, 6, 8, 12, 16, 24]) for _ in range(draw.randint(1, 4)))
        try:
            if draw.random() < 0.7:
                axes: list[list[int]] = [[] for _ in shape]
                for axis in draw.sample(range(len(mesh)), len(mesh)):
                    if draw.random() < 0.8:
                        axes[draw.randrange(len(shape))].append(axis)
                placement = Placement.split(shape, mesh, axes)
            else:
                dims, dim = [], draw.randrange(len(shape))
                for j, extent in enumerate(shape):
                    strides = [draw.choice([0, 1, 2, 3, 4]) if j == dim else 0 for _ in mesh]
                    local = (draw.choice([1, 2, 3]), draw.choice([1, 2])), (1, draw.choice([2, 4, 8]))
                    dims.append(
                        Layout((mesh, local[0] if j == dim else extent), (tuple(strides), local[1] if j == dim else 1))
                    )
                placement = Placement(shape, mesh, tuple(dims))
        except LayoutError:
            continue
        try:
            made = to_dtensor(placement)
        except LayoutError as error:
            refused += 1
            good = "index" in str(error) or "is not a layout: at" in str(error)
        else:
            good = all(
                cut_by_torch(shape, mesh, made, device) == list(placement.local_coordinates(device))
                for device in all_devices(mesh)
                if placement.elements(device)
            )
        passed, failed = passed + good, failed + (not good)
        if not good:
            print("differs:", placement)
    print(f"orders and strides: {passed - refused} equal, {refused} refused with an index")
    return passed, failed


def jax_plans(count: int) -> tuple[int, int]:
    """Plans by JAX's own moves from sharding to sharding, on eight host devices; the parts after each step."""
    import jax
    from jax.sharding import Mesh, NamedSharding
    from judges import random_pair

    draw, passed, failed, other = random.Random(12), 0, 0, 0
    while passed + failed < count:
        mesh = draw.choice(EIGHT)
        old, new = random_pair(draw, mesh=mesh)
        names = tuple("xyz"[: len(mesh)])
        plan = redistribution(old, new)
        try:
            specs = [to_partition_spec(placement, names) for placement in (old, *(step.after for step in plan.steps))]
        except LayoutError:
            other += 1  # uneven, partial or strided on the way: JAX has no sharding for it
            continue
        devices = Mesh(np.array(jax.devices()).reshape(mesh), names)
        whole = np.arange(prod(old.shape)).reshape(old.shape)
        array, good = whole, True
        for spec, placement in zip(specs, (old, *(step.after for step in plan.steps)), strict=True):
            array = jax.device_put(array, NamedSharding(devices, spec))
            for shard in array.addressable_shards:
                at = placement.device(shard.device.id)
                good &= np.array_equal(np.asarray(shard.data), whole[np.ix_(*placement.local_coordinates(at))])
        passed, failed = passed + good, failed + (not good)
    print(f"JAX, plans: {passed} of {passed + failed} right after each step; {other} others have no JAX shardings")
    return passed, failed


def jax_shards(count: int) -> tuple[int, int]:
    """Local shards on JAX's eight host devices."""
    os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=8"
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    import jax
    from jax.sharding import Mesh, NamedSharding

    draw, passed, failed = random.Random(8), 0, 0
    while passed + failed < count:
        mesh = draw.choice(EIGHT)
        case = random_case(draw, mesh=mesh)
        names = tuple("xyz"[: len(mesh)])
        try:
            placement = from_dtensor(case[0], mesh, torch_placements(case[2]))
            spec = to_partition_spec(placement, names)
        except LayoutError:
            continue
        sharding = NamedSharding(Mesh(np.array(jax.devices()).reshape(mesh), names), spec)
        whole = np.arange(prod(case[0])).reshape(case[0])
        array = jax.device_put(whole, sharding)
        good = from_named_sharding(array.sharding, array.shape) == from_partition_spec(spec, case[0], mesh, names)
        for shard in array.addressable_shards:
            device = placement.device(shard.device.id)
            good &= np.array_equal(np.asarray(shard.data), whole[np.ix_(*placement.local_coordinates(device))])
        passed, failed = passed + good, failed + (not good)
    return passed, failed


def on_eight(rank: int, counts: tuple[int, int], port: int, results) -> None:
    """One of eight processes; what fails is told before it ends."""
    try:
        results.put((rank, judged_by_dtensor(rank, counts, port)))
    except BaseException as error:
        results.put((rank, f"process {rank}: {error!r}"))
        raise


def judged_by_dtensor(rank: int, counts: tuple[int, int], port: int) -> dict[str, list[int]]:
    """Local shards of DTensors, plans step by step, a product: how many are right, and how many wrong."""
    import torch
    import torch.distributed as dist
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import DTensor, distribute_tensor

    torch.set_num_threads(1)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(rank), WORLD_SIZE="8")
    dist.init_process_group("gloo", rank=rank, world_size=8)
    meshes = {mesh: init_device_mesh("cpu", mesh) for mesh in EIGHT}

    def local(placement: Placement, whole: "torch.Tensor") -> "torch.Tensor":
        held_here = placement.local_coordinates(rank)
        return whole[torch.meshgrid(*map(torch.tensor, held_here), indexing="ij")] if all(held_here) else None

    draw, outcome = random.Random(9), {kind: [0, 0] for kind in ("shards", "plans", "sums", "others", "product")}
    while sum(outcome["shards"]) < counts[0]:
        mesh = draw.choice(EIGHT)
        shape, _, said = random_case(draw, mesh=mesh)
        if any(what[0] == "strided" for what in said):
            continue  # DTensor distributes only some of these; `cut_by_torch` judges them
        try:
            placement = from_dtensor(shape, mesh, torch_placements(said))
        except LayoutError:
            continue
        whole = torch.arange(prod(shape)).reshape(shape)
        mine, theirs = local(placement, whole), distribute_tensor(whole, meshes[mesh], to_dtensor(placement)).to_local()
        good = theirs.numel() == placement.elements(rank) and (mine is None or torch.equal(mine, theirs))
        outcome["shards"][not good] += 1

    from judges import random_pair

    def whole_of(placement: Placement) -> Placement:
        return Placement(placement.shape, placement.mesh, placement.dims)

    while sum(outcome["plans"]) < counts[1]:
        old, new = random_pair(draw, mesh=draw.choice(EIGHT))
        plan = redistribution(old, new)
        try:
            first, *states = [to_dtensor(placement) for placement in (old, *(step.after for step in plan.steps))]
        except LayoutError:
            outcome["others"][0] += 1  # an order of uneven cuts that DTensor does not have
            continue
        if "StridedShard" in repr((first, states)):
            outcome["others"][0] += 1  # DTensor has some of these moves, and refuses others
            continue
        # Device d holds d + 1 times the element as its part of a sum; the parts add up to `times` the element.
        whole, held_here = torch.arange(prod(old.shape)).reshape(old.shape), whole_of(old)
        at, times = old.device(rank), prod(n * (n + 1) // 2 for n in (old.mesh[axis] for axis, _ in old.partial))
        mine = local(held_here, whole)
        if mine is None:
            mine = torch.empty([len(x) for x in held_here.local_coordinates(rank)], dtype=whole.dtype)
        mine = mine * prod(at[axis] + 1 for axis, _ in old.partial)
        tensor = DTensor.from_local(mine, meshes[old.mesh], first, shape=whole.shape, stride=whole.stride())
        for placements in states:
            tensor = tensor.redistribute(placements=placements)
        left = prod(n * (n + 1) // 2 for n in (new.mesh[axis] for axis, _ in new.partial))
        mine, theirs = local(new, whole), tensor.to_local()
        good = theirs.numel() == new.elements(rank) and (mine is None or torch.equal(mine * (times // left), theirs))
        outcome["sums" if old.partial else "plans"][not good] += 1

    outcome["product"][not sharded_product(rank, meshes[2, 4])] += 1
    dist.barrier()
    dist.destroy_process_group()
    return outcome


def sharded_product(rank: int, device_mesh) -> bool:
    """A (rows over axis 0, k over axis 1) times B (k over axis 1): the local parts are `gpu.matmul`, sums are
    DTensor's."""
    import torch
    from torch.distributed.tensor import DTensor, Partial, Replicate, Shard

    from cutepy import gpu, ops

    a, b = (torch.manual_seed(seed) and torch.randn(n, k) for seed, n, k in ((1, 64, 32), (2, 32, 48)))
    at_a = from_dtensor(a.shape, (2, 4), [Shard(0), Shard(1)])
    at_b = from_dtensor(b.shape, (2, 4), [Replicate(), Shard(0)])
    mine = [
        whole[torch.meshgrid(*map(torch.tensor, at.local_coordinates(rank)), indexing="ij")]
        for whole, at in ((a, at_a), (b, at_b))
    ]
    parts = [np.ascontiguousarray(x.numpy()) for x in mine]
    if on_device := importlib.util.find_spec("wgpu") is not None and bool(gpu.adapters()):
        parts = [gpu.array(part) for part in parts]
    part = ops.matmul(*parts)
    part = np.asarray(part.numpy() if hasattr(part, "numpy") else part)
    if rank == 0:
        print(f"local products by {gpu.default_device().adapter.summary if on_device else 'NumPy'}")
    total = DTensor.from_local(torch.from_numpy(part.copy()), device_mesh, [Shard(0), Partial("sum")])
    whole = total.redistribute(placements=[Replicate(), Replicate()]).to_local()
    return bool(torch.allclose(whole, a @ b, rtol=1e-4, atol=1e-4))


def processes(shards: int, plans: int) -> tuple[int, int]:
    """Eight processes through gloo."""
    import socket

    import torch.multiprocessing as mp

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    context = mp.get_context("spawn")
    results = context.Queue()
    workers = [context.Process(target=on_eight, args=(rank, (shards, plans), port, results)) for rank in range(8)]
    for worker in workers:
        worker.start()
    outcomes = []
    for _ in workers:
        outcomes.append(results.get(timeout=900)[1])
        if isinstance(outcomes[-1], str):
            for worker in workers:
                worker.kill()
            print(outcomes[-1])
            return 0, 1
    for worker in workers:
        worker.join(60)
    passed = failed = 0
    for kind in outcomes[0]:
        bad = max(outcome[kind][1] for outcome in outcomes)
        total = sum(outcomes[0][kind])
        if kind == "others":
            print(f"8 processes: {total} more plans have a placement on the way that DTensor does not have or move")
            continue
        print(f"8 processes, {kind}: {total - bad} of {total} right on every process")
        passed, failed = passed + total - bad, failed + bad
    return passed, failed


def plans(count: int) -> tuple[int, int]:
    """Random plans, followed element by element; and as many times 2 / 5 of others against every sequence of steps.

    A plan that is not the least is a fault, but for one that starts from sums: where uneven pieces hold one, the least
    sequence leaves placements that are no layouts. Those are printed and counted.
    """
    from judges import arrives, least, random_pair

    draw, right, judged, best, larger, faults = random.Random(10), 0, 0, 0, 0, 0
    for _ in range(count):
        right += arrives(*random_pair(draw))
    draw = random.Random(13)
    while judged < 2 * count // 5:
        old, new = random_pair(draw, devices=8)
        if prod(old.shape) > 64:
            continue
        found = least(old, new)
        if found is False:
            print(f"not the least: {redistribution(old, new)}")
            faults += not old.partial
        judged, best, larger = judged + (found is not None), best + bool(found), larger + (found is None)
    print(f"plans: {right} of {count} bring every element, bytes as counted")
    print(f"plans: {best} of {judged} ({best / judged:.1%}) the least of all; {faults} of the others start from no sum")
    print(f"{larger} more were too many steps to look at")
    return right + best, count - right + faults


def a_million_devices() -> tuple[int, int]:
    """Each question about 2**20 devices, in milliseconds."""
    mesh = 1024, 32, 32
    placement = Placement.split((1 << 30, 1 << 12, 7), mesh, [[0, 1], [2], []])
    other = Placement.split((1 << 30, 1 << 12, 7), mesh, [[0], [1, 2], []])
    questions = {
        "who holds an element": lambda: placement.holders((999_999_999, 77, 3)),
        "do parts overlap": placement.overlap,
        "is all covered": placement.missing,
        "how many elements has a device": lambda: placement.elements(123_456),
        "is it balanced": placement.balance,
        "how often is each held": placement.copies,
        "where is it (DTensor's placements)": lambda: cuts_of(placement),
        "a plan to another": lambda: redistribution(placement, other),
    }
    slow = 0
    for name, ask in questions.items():
        begin = perf_counter()
        ask()
        took = (perf_counter() - begin) * 1e3
        slow += took > 50 and not name.startswith("a plan")
        print(f"2**20 devices, {name}: {took:.2f} ms")
    return len(questions) - slow, slow


def main(count: int) -> int:
    """Everything; the exit status is that of the judges."""
    totals = [0, 0]
    for passed, failed in (
        both_ways(count),
        orders_both_ways(count),
        jax_shards(count // 10),
        jax_plans(count // 20),
        plans(count // 2),
        processes(count // 10, count // 20),
        a_million_devices(),
    ):
        totals = [totals[0] + passed, totals[1] + failed]
    print(f"{totals[0]} passed, {totals[1]} failed")
    return int(totals[1] > 0)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000))
