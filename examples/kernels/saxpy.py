"""saxpy: y = a x + y. Tile both vectors, give each thread four neighbours of a tile, and say it once."""

import numpy as np
from example import Example, main

from cutepy import Layout, _, axpby, ceil_div, composition, gpu, local_tile, size


@gpu.kernel
def saxpy(a, x, y):
    gpu.launch(grid=ceil_div(size(x), 1024), threads=256)
    owned = Layout((256, 4), (4, 1))  # (thread, value) -> place in the tile
    tile_x, tile_y = (local_tile(t, (1024,), (gpu.workgroup.x,)) for t in (x, y))
    mine_x, mine_y = (composition(t, owned)(gpu.thread, _) for t in (tile_x, tile_y))
    axpby(a, mine_x, 1, mine_y)  # beyond the end of the last tile nothing is read or written


def example(n: int = 100_003, dtype: str = "float32", step: int = 1) -> Example:
    """Vectors of n elements, every `step`-th of a longer one."""
    g = np.random.default_rng(0)
    x, y = ((8 * g.standard_normal(n * abs(step))).astype(dtype)[::step] for _ in range(2))
    a = 2.5 if np.dtype(dtype).kind == "f" else -3
    wanted = (a * x.astype(np.float64) + y).astype(dtype)
    return Example(saxpy, (a, x, y), wanted, tolerance=1e-3 if dtype == "float16" else 1e-6)


if __name__ == "__main__":
    main(example())
