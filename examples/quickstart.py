"""The README's first example: a pasted layout becomes a kernel that runs, and a picture."""

import numpy as np

from cutepy import DeviceError, axpby, draw, gpu, local_tile, parse_layout
from cutepy.tensor import thread_value_partition

tv = parse_layout("((_2,_32),_4):((_128,_1),_32)")  # (thread, value) -> index in a 32 x 8 tile, as CuTe printed it


@gpu.kernel
def saxpy(a, x, y):
    gpu.launch(grid=(25, 16), threads=64)
    tiles = (local_tile(t, (32, 8), (gpu.workgroup.y, gpu.workgroup.x)) for t in (x, y))
    mine_x, mine_y = (thread_value_partition(tile, tv) for tile in tiles)
    axpby(a, mine_x, 1, mine_y)


x, y = np.ones((500, 196), np.float32), np.arange(98000, dtype=np.float32).reshape(500, 196)
print(saxpy.wgsl(2.0, x, y))
try:
    saxpy(2.0, x, y)
except DeviceError:  # no GPU driver: the NumPy interpreter runs the same kernel
    saxpy.interpret(2.0, x, y)
print("thread 5 has", tv(5, 3), "as its value 3; y is", y[0, :3], "...", y[-1, -3:])
draw(tv, view=draw.ThreadValue((32, 8))).save("tv.svg")
