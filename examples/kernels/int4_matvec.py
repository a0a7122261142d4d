"""A matrix of 4-bit weights, with a scale for each 32 of a row, times a vector of f16, by dot products of bytes.

One instruction multiplies four bytes by four others and adds them up, exactly. So a group of x becomes whole numbers of
three bytes, once for all rows of a workgroup: as exact as f32, relative to the greatest of the group. No x is infinite.
"""

import numpy as np
from example import Example, main

from cutepy import _, ceil_div, copy, gpu, local_tile, make_tensor, recast, reduce, size

THREADS, GROUP, MOST, PARTS = 256, 32, 64, 512


def plan_of(rows, groups, threads=THREADS):
    """The rows and the threads of a workgroup, of at most so many threads, and how many threads share a group of x.

    Where threads are twice the groups, two share one: half of the work for x in each, and twice the rows.
    """
    shared = 64 * ceil_div(groups, 32)
    if shared <= threads and rows <= MOST * PARTS // 8:
        most = 8 if shared <= 256 else MOST // 2
        return min(most, 4 * ceil_div(rows, 2 * PARTS if shared <= 512 else PARTS)), shared, 2
    return min(MOST, 4 * ceil_div(rows, 4 * PARTS)), min(THREADS, shared // 2), 1


@gpu.kernel
def matvec(weights, scales, x, y, *, plan=None):  # (rows, columns) of i4, (rows, columns / 32), (columns), (rows)
    groups = size(x) // GROUP  # of any number of rows and columns by a plan
    rows, threads, share = plan or plan_of(size(y), groups)
    gpu.launch(grid=ceil_div(size(y), rows), threads=threads)
    words, first, own = recast(weights, "u32"), gpu.workgroup.x * rows, gpu.lane % share  # of each `share` rows its own
    sums = gpu.shared("f32", (rows, threads // 4))  # of subgroups, which have four threads at least
    together, place = 4 // share, (gpu.subgroup * gpu.subgroup_size + gpu.lane) // share
    ahead, factors, mine = make_tensor("u32", (4, together)), make_tensor("f32", together), make_tensor("u32", 4)
    for r in gpu.loop(rows, step=4):
        if gpu.lane < 4:
            sums[r + gpu.lane, gpu.subgroup] = 0.0
    for k in gpu.loop(groups, step=threads // share):
        group = gpu.minimum(k + place, groups - 1)

        def bring(r, i, group=group):
            row = gpu.minimum(first + r + share * i + own, size(y) - 1)
            copy(local_tile(words(row, _), 4, group), ahead(_, i))
            factors[i] = scales[row, group]

        for i in range(together):
            bring(0, i)
        digits, unit = in_bytes(local_tile(x, GROUP // share, share * group + own), share)
        unit = gpu.select(k + place < groups, unit, 0.0)
        for r in gpu.loop(rows, step=4):
            totals = []
            for i in range(together):
                copy(ahead(_, i), mine)
                factor = factors[i] * unit
                if r + 4 < rows:
                    bring(r + 4, i)
                totals.append(product(mine, digits) * factor)
            total = summed(totals, share)
            if gpu.lane < 4:
                sums[r + gpu.lane, gpu.subgroup] += total
    gpu.barrier()
    if gpu.thread < rows and first + gpu.thread < size(y):
        total = 0.0
        for s in gpu.loop((threads - 1) // gpu.subgroup_size + 1):
            total += sums[gpu.thread, s]
        y[first + gpu.thread] = total


def in_bytes(v, share):
    """A group, of which each of `share` threads has a part, as whole numbers in all of them: digits[place][word][half],
    bytes of every other of 8; and the unit, over 16."""
    values = make_tensor("f32", size(v))
    copy(v, values)
    top = reduce(values, 2.0**-100, lambda a, b: gpu.maximum(a, gpu.absolute(b)))
    top = gpu.maximum(top, gpu.subgroup_shuffle_xor(top, 1)) if share == 2 else top
    power = gpu.bitcast(top, "u32") & 0x7F800000  # the bits of a power of two, not above the greatest
    up = gpu.bitcast((254 + 20 << 23) - power, "f32")  # 2^20 over it
    low = 1.5 * 2.0**23 + 0x8080  # and n more is a float whose lowest bits are n, the digits 128 more
    whole = [gpu.bitcast(gpu.fma(values[i], up, low), "u32") for i in range(size(v))]
    fours = [[whole[8 * word + half : 8 * word + 8 : 2] for half in range(2)] for word in range(size(v) // 8)]
    digits = [[[packed(four, place) for four in halves] for halves in fours] for place in range(3)]
    return [exchanged(words) for words in digits] if share == 2 else digits, gpu.bitcast(power, "f32") * 2.0**-24


def exchanged(words):
    """The words of two neighbours, those of the even one first."""
    odd, other = gpu.lane % 2 == 1, [[gpu.subgroup_shuffle_xor(n, 1) for n in halves] for halves in words]
    even = [[gpu.select(odd, *pair) for pair in zip(*two, strict=True)] for two in zip(other, words, strict=True)]
    return even + [
        [gpu.select(odd, *pair) for pair in zip(*two, strict=True)] for two in zip(words, other, strict=True)
    ]


def packed(four, place):
    """The digits at a place of four numbers; the last one stands 64 too high, under half of an exponent."""
    word = gpu.pack4xU8(*[n >> 8 * place for n in four])
    return ((word | 0x80808080) - 0x40404040 if place == 2 else word) ^ 0x80808080


def product(words, digits):
    """The weights of a group, the low and the high half of each byte, times its digits: 16 times as much."""
    sums = [0, 0, 0]
    for place in range(3):
        for word in range(4):
            for half in range(2):
                part = (words[word] if half else words[word] << 4) & 0xF0F0F0F0
                sums[place] += gpu.dot4I8Packed(part, digits[place][word][half])
    low, middle, high = (gpu.cast(total, "f32") for total in sums)  # below 2^20, so exact
    return gpu.fma(high, 65536.0, gpu.fma(middle, 256.0, low))


def summed(totals, share):
    """The sum of number i over the threads of a subgroup that share alike, in those whose lane modulo 4 is `share` * i
    and less than `share` more: by halves, then by steps."""
    step = share
    while step < 4:
        upper = gpu.lane // step % 2 == 1
        pairs = zip(totals[::2], totals[1::2], strict=True)
        totals = [gpu.select(upper, b, a) + gpu.subgroup_shuffle_xor(gpu.select(upper, a, b), step) for a, b in pairs]
        step *= 2
    (total,) = totals
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
