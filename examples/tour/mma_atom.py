# %% [markdown]
# # A matrix instruction and the copy that feeds it
#
# `mma.m16n8k16` multiplies a 16 x 16 tile of A by a 16 x 8 tile of B with one warp. The PTX manual says by formulas who
# holds what; here it is three layouts, and everything else is partitioning. No tensor core is needed: NumPy does what
# the instruction does to the registers.

# %%
import numpy as np

from cutepy import Layout, _, draw, make_fragment_like, make_tensor, make_tiled_mma
from cutepy.tensor import COPY_ATOMS, MMA_ATOMS, copy, invert_tv, make_tiled_copy_A

atom = MMA_ATOMS["sm_80.mma.m16n8k16.f32.f16.f16.f32"]
for name, layout_tv, tile in atom.operands():
    print(f"{name}: {layout_tv} over {tile}")
print("source:", atom.source)

# %% [markdown]
# A to the left, B above, C between them, as a product of matrices is written. T5 V2 is value 2 of thread 5.

# %%
draw(atom)

# %% [markdown]
# The inverse of a thread-value layout answers who has an element. Thread 13 has C[3, 3], and it is its value 1:

# %%
owner = invert_tv(atom.c, (16, 8))
assert (owner(3, 3) % 32, owner(3, 3) // 32) == (13, 1)
assert atom.c(13, 1) == 3 + 3 * 16

# %% [markdown]
# ## The registers of a warp
#
# Deal A, B and C out to 32 threads, multiply as the instruction does, and collect C.

# %%
random = np.random.default_rng(0)
A = random.integers(-4, 5, (16, 16)).astype(np.float16)
B = random.integers(-4, 5, (8, 16)).astype(np.float16)  # (N, K), as CuTe has it
C = np.zeros((16, 8), np.float32)

mma = make_tiled_mma(atom)
warp = range(mma.threads)
a, b, c = (
    np.stack([partition(make_tensor(matrix), thread)(_, 0, 0).numpy() for thread in warp])
    for partition, matrix in ((mma.partition_A, A), (mma.partition_B, B), (mma.partition_C, C))
)
print("registers of a thread:", a.shape[1], "of A,", b.shape[1], "of B,", c.shape[1], "of C")
d = atom.multiply(a.astype(np.float32), b.astype(np.float32), c)
for thread in warp:
    copy(make_tensor(d[thread]), mma.partition_C(make_tensor(C), thread)(_, 0, 0))
assert (C == A.astype(np.float32) @ B.astype(np.float32).T).all()

# %% [markdown]
# ## The copy from shared memory
#
# `ldmatrix.x4` reads rows of eight 16-bit elements, one row a thread, and leaves them in registers as `mma` wants them.
# Both sides of the instruction are layouts too: what a thread reads, and what it ends up with.

# %%
load = COPY_ATOMS["sm_75.ldmatrix.m8n8.x4.b16"]
print(f"reads {load.read}, writes {load.write} over {load.tile}")
draw(COPY_ATOMS["sm_75.ldmatrix.m8n8.x1.b16"])

# %% [markdown]
# Made for this multiply-add, the copy partitions the same tile twice: by the rows that threads name, and by the
# registers that they get.

# %%
copies = make_tiled_copy_A(load, mma)
tile = make_tensor(A)
for thread in warp:
    row = copies.partition_S(tile, thread)(_, 0, 0).numpy()
    assert (row == A[thread % 16, 8 * (thread // 16) :][:8]).all(), "a thread reads eight neighbours of one row"
    got = copies.partition_D(tile, thread).numpy()
    assert (got == mma.partition_A(tile, thread).numpy()).all(), "and gets the registers of the multiply-add"

# %% [markdown]
# ## A larger tile
#
# Four warps, 2 x 2, with a permutation of N so that each warp's columns are contiguous. The partition has the modes
# (values, rest of M, rest of N), and every element of C has one owner.

# %%
four = make_tiled_mma(atom, (2, 2, 1), (None, Layout((8, 2, 2), (1, 16, 8)), None))
print(f"{four.tile} with {four.threads} threads")
whole = make_tensor(np.arange(64 * 64, dtype=np.float32).reshape(64, 64))
parts = [four.partition_C(whole, thread) for thread in range(four.threads)]
print(f"thread 0 has {parts[0].layout}")
assert sorted(np.concatenate([part.numpy().ravel() for part in parts])) == list(range(64 * 64))
accumulators = make_fragment_like(parts[0])
assert accumulators.size == 64 * 64 // four.threads
