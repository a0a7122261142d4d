# %% [markdown]
# # Choosing a swizzle for a transpose
#
# A 32 x 32 tile of floats goes through shared memory: written by rows, read by columns. 32 banks of 4 bytes serve it; a
# warp that meets one bank n times waits n times. Which layout of the tile serves both?

# %%
from itertools import product

import numpy as np

from cutepy import (
    DeviceError,
    Layout,
    Swizzle,
    bank_conflicts,
    ceil_div,
    composition,
    copy,
    draw,
    gpu,
    is_injective,
    local_partition,
    local_tile,
    make_composed_layout,
    select,
    size,
)

N = 32
ROWS = Layout((N, N), (N, 1))


def conflicts(tile):
    """The worst warp that writes a row, and the worst that reads a column: lanes are the first mode."""
    return bank_conflicts(select(tile, 1, 0)).ways, bank_conflicts(tile).ways


print("rows as they are", conflicts(ROWS))
assert conflicts(ROWS) == (1, 32)
print(bank_conflicts(ROWS))
draw(ROWS, view="banks", heads="none")

# %% [markdown]
# ## Padding
#
# One unused column shifts each row by a bank. It costs 31 words, and rows no longer begin at multiples of four, so no
# vector of four can be written.

# %%
padded = Layout((N, N), (N + 1, 1))
print("padded", conflicts(padded), padded.cosize - padded.size, "words unused")
assert conflicts(padded) == (1, 1)

# %% [markdown]
# ## Searching
#
# A swizzle `S<B,M,S>` flips B bits of the offset, from bit M on, with the B bits S places above. There are few that
# make sense for 1,024 offsets: try all.

# %%
found = []
for bits, base, shift in product(range(6), range(6), range(1, 6)):
    if shift < bits or bits + base + shift > 10:
        continue
    tile = make_composed_layout(Swizzle(bits, base, shift), 0, ROWS)
    found.append((conflicts(tile), -base, str(tile.outer)))
found.sort(key=lambda entry: (sum(entry[0]), entry))
print(len(found), "tried; the best:", *(f"{name} {worst}" for worst, _base, name in found[:3]))
assert found[0] == ((1, 1), 0, "S<5,0,5>")

# %% [markdown]
# Only one is free of conflicts on both sides: all five bits of the row flip all five bits of the column.

# %%
best = make_composed_layout(Swizzle(5, 0, 5), 0, ROWS)
assert is_injective(best) and best.cosize == ROWS.size, "nothing is lost and nothing unused"
draw(best, view="banks", heads="none")

# %% [markdown]
# ## Vectors of four
#
# If a thread writes four neighbours at a time, the lowest two bits must stay: `M >= 2`. Then a column has eight banks
# left, so its 32 elements meet each of them four times at least.

# %%
with_vectors = [entry for entry in found if entry[1] <= -2]
print("with vectors of four:", *(f"{name} {worst}" for worst, _base, name in with_vectors[:3]))
assert with_vectors[0][0] == (1, 4) and with_vectors[0][2] == "S<3,2,3>"


# %% [markdown]
# ## In a kernel
#
# The tile is an argument. Nothing else changes: the swizzle is part of the layout, so partitions, slices and the proof
# go through it.


# %%
@gpu.kernel
def transpose(x, y, *, tile):
    gpu.launch(grid=(ceil_div(size(x, 1), N), ceil_div(size(x, 0), N)), threads=256)
    i, j = gpu.workgroup.y, gpu.workgroup.x
    staged = gpu.shared(x, tile)
    turned = composition(staged, ROWS)  # the same tile with its modes exchanged
    warps = Layout((8, N), (N, 1))
    copy(local_partition(local_tile(x, (N, N), (i, j)), warps), local_partition(staged, warps))
    gpu.barrier()
    copy(local_partition(turned, warps), local_partition(local_tile(y, (N, N), (j, i)), warps))


x = np.random.default_rng(0).random((200, 100), np.float32)
for name, tile in (("rows", ROWS), ("padded", padded), ("swizzled", best)):
    y = np.zeros((100, 200), np.float32)
    try:
        transpose(x, y, tile=tile)
        where = gpu.default_device().adapter.summary
    except DeviceError:
        transpose.interpret(x, y, tile=tile)
        where = "the interpreter, for there is no GPU driver"
    assert (y == x.T).all()
    report = transpose.report(x, y, tile=tile)
    assert report.worst_conflict == max(conflicts(tile)), "the kernel's own count"
    print(f"{name:8} {tile}: {report.worst_conflict}-way, equal to NumPy's transpose on {where}")
