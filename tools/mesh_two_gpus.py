"""A product sharded over two GPUs, by rows and by k, moved by NCCL: `python tools/mesh_two_gpus.py [N] [--devices D]`.

One process for each GPU, which opens the adapter of its rank (`gpu.open_device(rank)`). The local parts are
`ops.matmul` of f32 on the device; what moves is what `redistribution` plans, by torch.distributed (NCCL where there
is a GPU for each process, else gloo). Elements are whole numbers of at most 3, so every sum is exact and results are
compared with `==`.
Prints the device time of the products beside one GPU's, the time of the moves, and "equal" or how many elements are
not. The exit status is 1 unless all is equal.
"""

import argparse
import os
import socket
import statistics
import sys
from datetime import timedelta
from time import perf_counter

import numpy as np

from cutepy.mesh import Collective, Partial, Placement, redistribution

#: How A and B are cut, over which axis sums are held, and how the result is cut in the end.
CASES = {
    "rows, then copies": (([[0], []], [[], []]), (), [[], []]),
    "k, then copies": (([[], [0]], [[0], []]), ((0, Partial.SUM),), [[], []]),
    "k, then rows": (([[], [0]], [[0], []]), ((0, Partial.SUM),), [[0], []]),
}
#: How often a product and a move are timed, after one that is not.
ROUNDS = 5


def device_seconds(device, left, right) -> float:
    """The median device time of a product; wall time where the device has no timestamps."""
    from cutepy import DeviceError, ops

    taken = []
    for _ in range(ROUNDS + 1):
        try:
            with device.timed() as watch:
                ops.matmul(left, right)
            taken.append(watch.seconds)
        except DeviceError:
            begin = perf_counter()
            ops.matmul(left, right)
            device.wait()
            taken.append(perf_counter() - begin)
    return statistics.median(taken[1:])


def moved(part, step, devices: int):
    """The collective of a step by torch.distributed; the parts along dimension 0 have one size."""
    import torch
    import torch.distributed as dist

    match step.collective:
        case Collective.ALL_REDUCE:
            whole = part.clone()
            dist.all_reduce(whole)
            return whole
        case Collective.ALL_GATHER:
            whole = torch.empty((part.shape[0] * devices, *part.shape[1:]), dtype=part.dtype, device=part.device)
            dist.all_gather_into_tensor(whole, part)
            return whole
        case Collective.REDUCE_SCATTER:
            mine = torch.empty((part.shape[0] // devices, *part.shape[1:]), dtype=part.dtype, device=part.device)
            dist.reduce_scatter_tensor(mine, part.contiguous())
            return mine
    raise NotImplementedError(str(step))


def move_seconds(part, step, devices: int, group) -> float:
    """The median wall time of a move, the devices' queues empty before and after."""
    import torch
    import torch.distributed as dist

    taken = []
    for _ in range(ROUNDS + 1):
        wait = torch.cuda.synchronize if part.is_cuda else lambda: None
        wait()
        dist.barrier(group)
        begin = perf_counter()
        moved(part, step, devices)
        wait()
        taken.append(perf_counter() - begin)
    return statistics.median(taken[1:])


def judged(rank: int, devices: int, n: int, port: int, results) -> None:
    """One process: its part of each product, timed, moved and compared; rank 0 times the whole product first."""
    try:
        results.put((rank, measured(rank, devices, n, port)))
    except BaseException as error:
        results.put((rank, f"process {rank}: {error!r}"))
        raise


def measured(rank: int, devices: int, n: int, port: int) -> dict[str, object]:
    """What one process measured."""
    import torch
    import torch.distributed as dist

    own_gpu = torch.cuda.device_count() >= devices
    # Multicast over NVLink stays off: a fault in it can take the host's other GPUs with it.
    os.environ.setdefault("NCCL_NVLS_ENABLE", "0")
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    where = torch.device("cuda", rank) if own_gpu else torch.device("cpu")
    if own_gpu:
        torch.cuda.set_device(where)
    options = {"rank": rank, "world_size": devices, "timeout": timedelta(seconds=240)}
    dist.init_process_group("nccl" if own_gpu else "gloo", **options)
    # Processes wait for one another on their CPUs: a barrier of NCCL would keep the waiting GPU busy.
    group = dist.new_group(backend="gloo")
    from cutepy import gpu, ops

    device = gpu.open_device(rank if own_gpu else 0)
    beside = torch.cuda.get_device_name(where) if own_gpu else "CPU"
    print(f"process {rank}: {device.adapter.summary}; torch: {beside}", flush=True)
    draw = np.random.default_rng(0)
    a, b = (draw.integers(-3, 4, (n, n), np.int8).astype(np.float32) for _ in "ab")
    whole = torch.from_numpy(a).to(where) @ torch.from_numpy(b).to(where)
    if own_gpu:
        torch.cuda.synchronize()

    line: dict[str, object] = {
        "one": device_seconds(device, gpu.array(a, device=device), gpu.array(b, device=device)) if rank == 0 else 0.0
    }
    for name, (cuts, partial, end) in CASES.items():
        at_a, at_b = (Placement.split((n, n), (devices,), axes) for axes in cuts)
        left, right = (
            gpu.array(x[np.ix_(*at.local_coordinates(rank))].copy(), device=device) for x, at in ((a, at_a), (b, at_b))
        )
        device.wait()
        dist.barrier(group)
        line[name] = device_seconds(device, left, right)
        part = torch.from_numpy(ops.matmul(left, right).numpy().copy()).to(where)
        del left, right
        result = Placement.split((n, n), (devices,), [[], []] if partial else [[0], []], partial)
        plan = redistribution(result, Placement.split((n, n), (devices,), end))
        (step,) = plan.steps
        line[f"{name} step"], line[f"{name} bytes"] = step.collective.value, sum(plan.bytes(4))
        line[f"{name} move"] = move_seconds(part, step, devices, group)
        first, last = (plan.new.local_coordinates(rank)[0][k] for k in (0, -1))
        line[f"{name} differs"] = int((moved(part, step, devices) != whole[first : last + 1]).sum())
        del part
    dist.barrier(group)
    dist.destroy_process_group()
    return line


def main() -> int:
    """Start the processes and print what they measured; the exit status."""
    import torch.multiprocessing as mp

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("n", nargs="?", type=int, default=16384)
    parser.add_argument("--devices", type=int, default=2)
    asked = parser.parse_args()
    if asked.n % asked.devices:
        parser.error(f"{asked.devices} devices do not divide {asked.n}")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    context = mp.get_context("spawn")
    results = context.Queue()
    given = asked.devices, asked.n, port, results
    workers = [context.Process(target=judged, args=(rank, *given)) for rank in range(asked.devices)]
    for worker in workers:
        worker.start()
    lines: dict[int, dict[str, object]] = {}
    for _ in workers:
        rank, line = results.get(timeout=460)
        if isinstance(line, str):
            print(line)
            for worker in workers:
                worker.kill()
            return 1
        lines[rank] = line
    one, failed = lines[0]["one"], 0
    print(f"{asked.n} on one device: {one * 1e3:.2f} ms, {2 * asked.n**3 / one / 1e12:.2f} TFLOP/s")
    for name in CASES:
        slowest, move = (max(line[key] for line in lines.values()) for key in (name, f"{name} move"))
        differs = sum(line[f"{name} differs"] for line in lines.values())
        failed += differs > 0
        count = lines[0][f"{name} bytes"]
        print(
            f"{asked.n} by {name}: {slowest * 1e3:.2f} ms of the slowest of {asked.devices}, {one / slowest:.2f}x; "
            f"{lines[0][f'{name} step']} of {count / 1e6:.1f} MB in {move * 1e3:.2f} ms, "
            f"{count / asked.devices / move / 1e9:.1f} GB/s into each; "
            f"{f'{differs} elements differ' if differs else 'equal'}"
        )
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
