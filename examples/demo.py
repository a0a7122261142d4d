"""The main job, end to end: a pasted layout becomes two running kernels and three pictures. `make demo` runs this.

A thread-value layout, as CuTe prints it, shares tiles of two matrices out among 64 threads. Two kernels are written
with it: the product C = A @ B and the sum of C. They run on the best adapter, or in the NumPy interpreter where there
is none, and are compared with NumPy in float64. What they are made of stays in demo/, or in the folder that is named.
"""

import sys
from pathlib import Path

import numpy as np

from cutepy import (
    DeviceError,
    Layout,
    _,
    ceil_div,
    clear,
    composition,
    copy,
    gemm,
    gpu,
    local_partition,
    local_tile,
    make_fragment_like,
    make_identity_tensor,
    make_tensor,
    parse_layout,
    reduce_tree,
    size,
)
from cutepy.draw import Drawing, ThreadValue, Tiles, draw
from cutepy.gpu.verify import Verification, verify
from cutepy.tensor import Tensor, thread_value_partition

PASTED = "((_2,_32),_4):((_128,_1),_32)"  # (thread, value) -> index in a tile of 32 x 8
TILE = (32, 32, 8)  # rows of A, rows of B^T, and how far both reach along k
FOLDER = Path(__file__).parent.parent / "demo"


@gpu.kernel
def matmul(A: Tensor, B: Tensor, C: Tensor, *, tv: Layout, tile: tuple[int, int, int]) -> None:
    """C = A B^T, for A (m,k), B (n,k), C (m,n) in any layouts; a workgroup computes one tile of C."""
    bm, bn, bk = tile
    gpu.launch(grid=(ceil_div(size(C, 1), bn), ceil_div(size(C, 0), bm)), threads=size(tv, 0))
    gA = local_tile(A, (bm, bk), (gpu.workgroup.y, _))  # (bm, bk, tiles along k)
    gB = local_tile(B, (bn, bk), (gpu.workgroup.x, _))
    gC = local_tile(C, (bm, bn), (gpu.workgroup.y, gpu.workgroup.x))
    sA, sB = gpu.shared(A, (bm, bk), pad=4), gpu.shared(B, (bn, bk), pad=4)

    threads = Layout((8, 8), (8, 1))
    mine_A, mine_B = local_partition(sA, threads, proj=(1, None)), local_partition(sB, threads, proj=(None, 1))
    mine_C = local_partition(gC, threads)
    acc = make_fragment_like(mine_C)
    clear(acc)
    for k in gpu.loop(size(gA, 2)):
        copy(thread_value_partition(gA(_, _, k), tv), thread_value_partition(sA, tv))
        copy(thread_value_partition(gB(_, _, k), tv), thread_value_partition(sB, tv))
        gpu.barrier()
        for kk in gpu.loop(bk):
            gemm(mine_A(_, kk), mine_B(_, kk), acc)
        gpu.barrier()
    copy(acc, mine_C)


@gpu.kernel
def tile_sums(X: Tensor, sums: Tensor, *, tv: Layout, tile: tuple[int, int]) -> None:
    """sums[i, j] = the sum of tile (i, j) of X: `tv` shares it out, then threads add up in pairs."""
    threads = size(tv, 0)
    gpu.launch(grid=(size(sums, 1), size(sums, 0)), threads=threads)
    row, column, tid = gpu.workgroup.y, gpu.workgroup.x, gpu.thread
    mine = thread_value_partition(local_tile(X, tile, (row, column)), tv)
    values = make_fragment_like(mine)
    copy(mine, values)
    partial = gpu.shared(X, (threads,))
    partial[tid] = reduce_tree(values, 0.0, lambda a, b: a + b)
    while threads > 1:
        threads //= 2
        gpu.barrier()
        with gpu.when(tid < threads):
            partial[tid] = partial[tid] + partial[tid + threads]
    with gpu.when(tid == 0):
        sums[row, column] = partial[0]


def main(folder: Path) -> int:
    tv = parse_layout(PASTED)
    assert isinstance(tv, Layout)
    bm, _bn, bk = TILE
    random = np.random.default_rng(0)
    A = random.random((250, 120), dtype=np.float32)
    B = np.asfortranarray(random.random((120, 180), dtype=np.float32))
    C = np.zeros((250, 180), np.float32)

    print(f"layout   {PASTED}, parsed: {tv}, {size(tv, 0)} threads with {size(tv, 1)} values each over {bm} x {bk}")
    explain_partition(A, tv)
    on_device, where = engine()
    run_matmul, run_sums = (k if on_device else k.interpret for k in (matmul, tile_sums))
    run_matmul(A, B.T, C, tv=tv, tile=TILE)
    total, first = C, None
    while total.size > 1:  # the sums of the tiles are a matrix too: sum it the same way
        sums = np.zeros([ceil_div(n, t) for n, t in zip(total.shape, (bm, bk), strict=True)], np.float32)
        first = sums if first is None else first
        run_sums(total, sums, tv=tv, tile=(bm, bk))
        total = sums
    print(f"ran      {matmul.__name__} and {tile_sums.__name__} {where}")

    proofs = (verify(matmul.ir(A, B.T, C, tv=tv, tile=TILE)), verify(tile_sums.ir(C, first, tv=tv, tile=(bm, bk))))
    print("proof    " + "; ".join(said for proof in proofs for said in summary(proof)))

    exact = A.astype(np.float64) @ B.astype(np.float64)
    errors = np.linalg.norm(C - exact) / np.linalg.norm(exact), abs(total.item() - exact.sum()) / exact.sum()
    print(f"error    of the product {errors[0]:.1e}, of the sum {errors[1]:.1e}, relative to NumPy in float64")

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "matmul.wgsl").write_text(matmul.wgsl(A, B.T, C, tv=tv, tile=TILE))
    (folder / "sum.wgsl").write_text(tile_sums.wgsl(C, first, tv=tv, tile=(bm, bk)))
    for name, array in (("A", A), ("B", B), ("C", C)):
        np.save(folder / f"{name}.npy", array)
    for name, picture in pictures(make_tensor(A), tv, (bm, bk)).items():
        picture.save(folder / f"{name}.svg")
        picture.save(folder / f"{name}.txt")
    print(f"files    {folder}: {', '.join(sorted(path.name for path in folder.iterdir()))}")
    return 0 if max(errors) <= 1e-6 else 1


def engine() -> tuple[bool, str]:
    """Whether there is a device, and the words for what runs the kernels and why."""
    try:
        return True, f"on {gpu.default_device().adapter.summary}"
    except DeviceError as error:
        return False, f"in the NumPy interpreter, because: {error}"


def summary(proof: Verification) -> list[str]:
    """The name of a kernel with what is proven of it, and every claim that is not."""
    proven = dict.fromkeys(verdict.claim for verdict in proof.verdicts if verdict.status == "proven")
    return [f"{proof.kernel}: {', '.join(proven)}", *(str(v) for v in (*proof.refuted, *proof.undecided))]


def explain_partition(A: np.ndarray, tv: Layout) -> None:
    """Partition the last tile of A on the host, with the calls that the kernel makes; coordinates tell where it is."""
    bm, _bn, bk = TILE
    corner = (A.shape[0] // bm, A.shape[1] // bk - 1)
    mine = thread_value_partition(local_tile(make_tensor(A), (bm, bk), corner), tv, 5)
    where = thread_value_partition(local_tile(make_identity_tensor(A.shape), (bm, bk), corner), tv, 5)
    places = ", ".join(str(where[i]) for i in range(where.size))
    print(f"tiles    A {make_tensor(A).layout} in {corner[0] + 1} x {corner[1] + 1} tiles of {bm} x {bk}")
    print(f"thread 5 of tile {corner} has A at {places}: {mine.numpy().ravel()}")


def pictures(A: Tensor, tv: Layout, tile: tuple[int, int]) -> dict[str, Drawing]:
    """The layout as a table, the first tiles of A, and who owns which element of one tile."""
    rows, depth = tile
    corner = Layout((2 * rows, 3 * depth), A.layout.stride)
    first = local_tile(A, tile, (0, 0)).layout
    return {
        "layout": draw(tv, title=f"{tv}: (thread, value) to the index in a tile"),
        "tiling": draw(corner, view=Tiles(tile), title=f"A {A.layout}, tiles of {rows} x {depth}"),
        "partition": draw(composition(first, tv), view=ThreadValue(first), color="thread"),
    }


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER))
