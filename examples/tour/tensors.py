# %% [markdown]
# # Tensors, from memory to what one thread owns
#
# The cases of CuTe's tensor document, on NumPy arrays. Each claim is an assertion. `# %%` begins a cell: run the file,
# open it as a notebook in VS Code or with jupytext, or make one with `python tools/notebook.py`.

# %%
import numpy as np

from cutepy import (
    Layout,
    LayoutRight,
    _,
    composition,
    copy,
    draw,
    flat_divide,
    inner_partition,
    local_partition,
    local_tile,
    logical_divide,
    make_fragment_like,
    make_gmem_ptr,
    make_smem_ptr,
    make_tensor,
    make_tensor_like,
    outer_partition,
    size,
    tiled_divide,
    zipped_divide,
)
from cutepy.tensor import Tensor, thread_value_partition

memory = np.arange(4096, dtype=np.float32)


def shows(tensor: Tensor, text: str) -> None:
    """The tensor's layout is this one."""
    assert str(tensor.layout) == text, f"{tensor.layout} is not {text}"


# %% [markdown]
# ## Views and owners
#
# A tensor over an array is a view: it starts where the array starts, and writes through. `A + 9` in a print-out is the
# element where a view begins.

# %%
A = make_tensor(make_gmem_ptr(memory, name="A"), (8, 16), LayoutRight)
shows(A, "(8,16):(16,1)")
shows(make_tensor(make_smem_ptr(memory, name="s"), Layout((4, 8))), "(4,8):(1,4)")
A[3, 4] = -1.0
assert memory[3 * 16 + 4] == -1.0
memory[3 * 16 + 4] = 52.0
print(A, A(3, _), sep="\n")

# %% [markdown]
# One with an element type instead of data owns its memory. `make_tensor_like` keeps the order of the strides and packs
# them; `make_fragment_like` makes registers for a partition, with its first mode contiguous.

# %%
shows(make_tensor("f32", (4, 8)), "(4,8):(1,4)")
shows(make_tensor_like(make_tensor("f32", (4, 8), (32, 2))), "(4,8):(8,1)")

# %% [markdown]
# ## Elements
#
# A coordinate may nest as the shape does, or stop anywhere: integers count through what they stand for, first mode
# fastest.

# %%
B = make_tensor(memory, ((4, 5), 13), ((12, 1), 64))
for i, coordinate in ((33, (13, 1)), (33, ((1, 3), 1))):
    assert B[i] == B[coordinate] == memory[1 * 12 + 3 * 1 + 1 * 64]
assert size(B) == 260 and size(B, 0, 1) == 5

# %% [markdown]
# ## Tiles
#
# Dividing a tensor divides its layout; the elements stay where they are.

# %%
C = make_tensor(memory, (24, 8))
shows(composition(C, (Layout(8, 3), Layout(4, 2))), "(8,4):(3,48)")
shows(logical_divide(C, (8, 4)), "((8,3),(4,2)):((1,8),(24,96))")
shows(zipped_divide(C, (8, 4)), "((8,4),(3,2)):((1,24),(8,96))")
shows(tiled_divide(C, (8, 4)), "((8,4),3,2):((1,24),8,96)")
shows(flat_divide(C, (8, 4)), "(8,4,3,2):(1,24,8,96)")
draw(C.layout, view=draw.Tiles((8, 4)))

# %% [markdown]
# ## Slices
#
# `_` keeps a mode, and inside a nested coordinate it keeps a part of one.

# %%
D = make_tensor(memory, ((3, 2), (2, 5, 2)), ((4, 1), (2, 13, 100)))
shows(D(2, _), "((2,5,2)):((2,13,100))")
shows(D(_, 5), "((3,2)):((4,1))")
shows(D((_, _), 5), "(3,2):(4,1)")
shows(D((2, _), (_, 3, _)), "(2,2,2):(1,2,100)")
draw(D.layout, highlight=((2, _), (_, 3, _)))

# %% [markdown]
# ## Partitions: tile, then slice
#
# The tile of a workgroup is a slice of the second mode of `zipped_divide` (inner partition), what a thread has is a
# slice of the first (outer partition).

# %%
shows(inner_partition(C, (8, 4), (1, 0)), "(8,4):(1,24)")
shows(outer_partition(C, (8, 4), (3, 1)), "(3,2):(8,96)")
shows(local_tile(C, (8, 4), (_, 1)), "(8,4,3):(1,24,8)")
mine = local_partition(C, Layout((8, 4), (4, 1)), 5)
assert mine[0, 0] == C[1, 1] and mine[2, 1] == C[17, 5]

# %% [markdown]
# ## Partitions by thread and value
#
# A thread-value layout says it all at once. 32 threads own four elements each of an 8 x 16 tile; the whole view is a
# composition, one thread's share a slice of it.

# %%
tv = Layout(((4, 8), 4), ((32, 1), 8))
E = make_tensor(memory, (8, 16), (16, 1))
whole = composition(E, tv)
shows(whole, "((4,8),4):((4,16),1)")
assert thread_value_partition(E, tv, 5).numpy().tolist() == whole(5, _).numpy().tolist() == [20.0, 21.0, 22.0, 23.0]
owners = np.concatenate([whole(thread, _).numpy() for thread in range(32)])
assert sorted(owners) == sorted(E.numpy().ravel()), "every element has exactly one owner"
draw(tv, view=draw.ThreadValue((8, 16)), color="thread")

# %% [markdown]
# ## Copies
#
# From the partition of each thread into registers and on into a transposed tensor. The two layouts differ; the
# coordinates agree.

# %%
target = make_tensor(np.zeros((16, 8), np.float32), (8, 16), (1, 8))
for thread in range(32):
    registers = make_fragment_like(thread_value_partition(E, tv, thread))
    copy(thread_value_partition(E, tv, thread), registers)
    copy(registers, thread_value_partition(target, tv, thread))
assert (target.numpy() == E.numpy()).all()
print("copied", target.size, "elements,", size(tv, 1), "by each of", size(tv, 0), "threads")
