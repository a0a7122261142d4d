"""A matrix of 4-bit weights, with a scale for each 32 of a row, times a vector of f16, by dot products of bytes.

One instruction multiplies four bytes by four others and adds them up, exactly. So a group of x becomes whole numbers of
three bytes, once for all rows of a workgroup: as exact as f32, relative to the greatest of the group. No x is infinite.
"""

import numpy as np
from example import Example, main

from cutepy import _, ceil_div, copy, gpu, local_tile, make_tensor, recast, reduce, size

THREADS, GROUP, ROWS, MOST, PARTS = 256, 32, 4, 64, 512


@gpu.kernel
def matvec(weights, scales, x, y, *, plan=None):  # (rows, columns) of i4, (rows, columns / 32), (columns), (rows)
    groups = size(x) // GROUP  # of any number of rows and columns by a plan: the rows and the threads of a workgroup
    rows, threads = plan or (min(MOST, ROWS * ceil_div(size(y), ROWS * PARTS)), min(THREADS, 32 * ceil_div(groups, 32)))
    gpu.launch(grid=ceil_div(size(y), rows), threads=threads)
    words, first = recast(weights, "u32"), gpu.workgroup.x * rows
    sums = gpu.shared("f32", (rows, threads // 4))  # of subgroups, which have four threads at least
    ahead, factors, mine = make_tensor("u32", (4, ROWS)), make_tensor("f32", ROWS), make_tensor("u32", 4)
    for r in gpu.loop(rows, step=ROWS):
        if gpu.lane < ROWS:
            sums[r + gpu.lane, gpu.subgroup] = 0.0
    for k in gpu.loop(groups, step=threads):
        group = gpu.minimum(k + gpu.thread, groups - 1)

        def bring(r, i, group=group):
            row = gpu.minimum(first + r + i, size(y) - 1)
            copy(local_tile(words(row, _), 4, group), ahead(_, i))
            factors[i] = scales[row, group]

        for i in range(ROWS):
            bring(0, i)
        digits, unit = in_bytes(local_tile(x, GROUP, group))
        unit = gpu.select(k + gpu.thread < groups, unit, 0.0)
        for r in gpu.loop(rows, step=ROWS):
            totals = []
            for i in range(ROWS):
                copy(ahead(_, i), mine)
                factor = factors[i] * unit
                if r + ROWS < rows:
                    bring(r + ROWS, i)
                totals.append(product(mine, digits) * factor)
            total = summed(totals)
            if gpu.lane < ROWS:
                sums[r + gpu.lane, gpu.subgroup] += total
    gpu.barrier()
    if gpu.thread < rows and first + gpu.thread < size(y):
        total = 0.0
        for s in gpu.loop((threads - 1) // gpu.subgroup_size + 1):
            total += sums[gpu.thread, s]
        y[first + gpu.thread] = total


def in_bytes(v):
    """A group as whole numbers: digits[place][word][half], bytes of every other of 8; and the unit, over 16."""
    values = make_tensor("f32", GROUP)
    copy(v, values)
    top = reduce(values, 2.0**-100, lambda a, b: gpu.maximum(a, gpu.absolute(b)))
    power = gpu.bitcast(top, "u32") & 0x7F800000  # the bits of a power of two, not above the greatest
    up = gpu.bitcast((254 + 20 << 23) - power, "f32")  # 2^20 over it
    low = 1.5 * 2.0**23 + 0x8080  # and n more is a float whose lowest bits are n, the digits 128 more
    whole = [gpu.bitcast(gpu.fma(values[i], up, low), "u32") for i in range(GROUP)]
    fours = [[whole[8 * word + half : 8 * word + 8 : 2] for half in range(2)] for word in range(4)]
    digits = [[[packed(four, place) for four in halves] for halves in fours] for place in range(3)]
    return digits, gpu.bitcast(power, "f32") * 2.0**-24


def packed(four, place):
    """The digits at a place of four numbers; the last one stands 64 too high, under half of an exponent."""
    word = gpu.pack4xU8(*[n >> 8 * place for n in four])
    return ((word | 0x80808080) - 0x40404040 if place == 2 else word) ^ 0x80808080


def product(words, digits):
    """The weights of a group, the low and the high half of each byte, times its digits: 16 times as much."""
    found = [0, 0, 0]
    for place in range(3):
        for word in range(4):
            for half in range(2):
                part = (words[word] if half else words[word] << 4) & 0xF0F0F0F0
                found[place] += gpu.dot4I8Packed(part, digits[place][word][half])
    low = found[0] + 256 * found[1]  # below 2^28
    return gpu.cast(low, "f32") + 65536.0 * gpu.cast(found[2], "f32")


def summed(totals):
    """The sum of number i over a subgroup, in those of its threads that are i modulo 4: by halves, then by steps."""
    for step in (1, 2):
        upper = gpu.lane // step % 2 == 1
        pairs = zip(totals[::2], totals[1::2], strict=True)
        totals = [gpu.select(upper, b, a) + gpu.subgroup_shuffle_xor(gpu.select(upper, a, b), step) for a, b in pairs]
    total, step = totals[0], 4
    while step < gpu.subgroup_size:
        total += gpu.subgroup_shuffle_xor(total, step)
        step *= 2
    return total


def example(rows: int = 50, columns: int = 1056) -> Example:
    """Rows of any multiple of 32 weights."""
    g = np.random.default_rng(0)
    weights = recast(make_tensor(g.integers(0, 256, (rows, columns // 2), np.uint8)), "i4")
    scales, x = g.random((rows, columns // GROUP), np.float32), g.standard_normal(columns).astype(np.float16)
    wanted = (weights.numpy() * np.repeat(scales.astype(np.float64), GROUP, 1)) @ x
    return Example(matvec, (weights, scales, x, np.zeros(rows, np.float32)), wanted, tolerance=2e-6)


if __name__ == "__main__":
    main(example())
