"""A product sharded over two GPUs, by rows and by k, moved by NCCL: `python tools/mesh_two_gpus.py [N] [--devices D]`.

One process for each GPU, which takes the adapter of its rank (`CUTEPY_ADAPTER`). The local parts are `ops.matmul` of
f32 on the device; what moves is what `redistribution` plans, by torch.distributed (NCCL where there is a GPU for each
process, else gloo). Prints the device time of the products beside one GPU's, and the largest difference from torch's.
"""

import argparse
import os
import socket
import statistics

import numpy as np

from cutepy.mesh import Partial, Placement, redistribution

#: How the operands are cut, and what the product then is.
CUTS = {"rows": (([[0], []], [[], []]), ()), "k": (([[], [0]], [[0], []]), ((0, Partial.SUM),))}


def product(rank: int, devices: int, n: int, port: int, results) -> None:
    """One process: its part of both products, timed; rank 0 times the whole product first."""
    import torch
    import torch.distributed as dist

    own_gpu = torch.cuda.device_count() >= devices
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    os.environ.setdefault("CUTEPY_ADAPTER", str(rank if own_gpu else 0))
    dist.init_process_group("nccl" if own_gpu else "gloo", rank=rank, world_size=devices)
    from cutepy import gpu, ops
    from cutepy.gpu import default_device

    draw = np.random.default_rng(0)
    a, b = (draw.random((n, n), np.float32) - np.float32(0.5) for _ in "ab")
    where = torch.device("cuda", rank) if own_gpu else torch.device("cpu")
    whole = torch.from_numpy(a).to(where) @ torch.from_numpy(b).to(where)

    def seconds(x: np.ndarray, y: np.ndarray) -> float:
        left, right, taken = gpu.array(x), gpu.array(y), []
        for _ in range(6):
            with default_device().timed() as watch:
                ops.matmul(left, right)
            taken.append(watch.seconds)
        return statistics.median(taken[1:])

    line = {"one": seconds(a, b) if rank == 0 else 0.0}
    dist.barrier()
    for name, (cuts, partial) in CUTS.items():
        at_a, at_b = (Placement.split((n, n), (devices,), axes) for axes in cuts)
        left, right = (x[np.ix_(*at.local_coordinates(rank))].copy() for x, at in ((a, at_a), (b, at_b)))
        line[name] = seconds(left, right)
        part = torch.from_numpy(ops.matmul(gpu.array(left), gpu.array(right)).numpy().copy()).to(where)
        result = Placement.split((n, n), (devices,), [[], []] if partial else [[0], []], partial)
        plan = redistribution(result, Placement.split((n, n), (devices,), [[], []]))
        if partial:
            dist.all_reduce(part)
        else:
            parts = [torch.empty_like(part) for _ in range(devices)]
            dist.all_gather(parts, part)
            part = torch.cat(parts)
        line[f"{name} moved"] = sum(plan.bytes(4))
        line[f"{name} differs"] = float((part - whole).abs().max())
    dist.barrier()
    dist.destroy_process_group()
    results.put((rank, line))


def main() -> None:
    """Start the processes and print what they measured."""
    import torch.multiprocessing as mp

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("n", nargs="?", type=int, default=16384)
    parser.add_argument("--devices", type=int, default=2)
    asked = parser.parse_args()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    context = mp.get_context("spawn")
    results = context.Queue()
    given = asked.devices, asked.n, port, results
    workers = [context.Process(target=product, args=(rank, *given)) for rank in range(asked.devices)]
    for worker in workers:
        worker.start()
    lines = [line for _, line in sorted((results.get(timeout=600) for _ in workers), key=lambda pair: pair[0])]
    one = lines[0]["one"]
    for name in CUTS:
        slowest, differs = (max(line[key] for line in lines) for key in (name, f"{name} differs"))
        print(f"{asked.n} by {name}: {slowest * 1e3:.2f} ms a GPU, {one * 1e3:.2f} ms on one, {one / slowest:.2f}x")
        print(f"  {lines[0][f'{name} moved'] / 1e6:.0f} MB moved, differs by at most {differs:.2e}")


if __name__ == "__main__":
    main()
