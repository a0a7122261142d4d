"""Classic kernels, each right and with faults that are seeded by name: the label of a fault is `fail`.

`fault=""` is the kernel as it should be; every other value of `fault` changes one line of it.
"""

from ported import floats, given_shared, ints, port, uints

from cutepy import Layout, gpu


@port("classic/reduction/early barrier", "fail", floats(1024), floats(4), fault="early barrier")
@port("classic/reduction/no barrier", "fail", floats(1024), floats(4), fault="no barrier")
@port("classic/reduction/all threads", "fail", floats(1024), floats(4), fault="all threads")
@port("classic/reduction/one too far", "fail", floats(1024), floats(4), fault="one too far")
@port("classic/reduction", "pass", floats(1024), floats(4), fault="")
@gpu.kernel
def reduction(x, y, *, fault):
    gpu.launch(grid=4, threads=256)
    t = gpu.thread
    s = gpu.shared("f32", 256)
    s[t] = x[gpu.workgroup.x * 256 + t]
    if fault != "early barrier":
        gpu.barrier()
    stride = 128
    while stride > 0:
        if fault == "all threads":
            if t + stride < 256:
                s[t] = s[t] + s[t + stride]
        elif fault == "one too far":
            if t <= stride:
                s[t] = s[t] + s[t + stride]
        elif t < stride:
            s[t] = s[t] + s[t + stride]
        if fault != "no barrier":
            gpu.barrier()
        stride //= 2
    if t == 0:
        y[gpu.workgroup.x] = s[0]


@port("classic/scan/one buffer", "fail", floats(256), floats(256), fault="one buffer")
@port("classic/scan/no barrier", "fail", floats(256), floats(256), fault="no barrier")
@port("classic/scan", "pass", floats(256), floats(256), fault="")
@gpu.kernel
def scan(x, y, *, fault):
    # Hillis and Steele's scan between two buffers.
    gpu.launch(grid=1, threads=256)
    t = gpu.thread
    buffers = gpu.shared("f32", 256), gpu.shared("f32", 256)
    buffers[0][t] = x[t]
    gpu.barrier()
    for step in range(8):
        source = buffers[step % 2]
        target = source if fault == "one buffer" else buffers[1 - step % 2]
        if t >= 1 << step:
            target[t] = source[t] + source[t - (1 << step)]
        else:
            target[t] = source[t]
        if fault != "no barrier":
            gpu.barrier()
    y[t] = (buffers[0] if fault != "one buffer" else source)[t]


@port("classic/scan by one array/no second barrier", "fail", floats(256), floats(256), fault="no second barrier")
@port("classic/scan by one array", "pass", floats(256), floats(256), fault="")
@gpu.kernel
def scan_in_place(x, y, *, fault):
    gpu.launch(grid=1, threads=256)
    t = gpu.thread
    s = gpu.shared("f32", 256)
    s[t] = x[t]
    gpu.barrier()
    d = gpu.constant(1, "u32")
    while d < 256:
        v = s[t]
        if t >= d:
            v = v + s[t - d]
        gpu.barrier()
        s[t] = v
        if fault != "no second barrier":
            gpu.barrier()
        d = d * 2
    y[t] = s[t]


@port("classic/transpose/no barrier", "fail", floats(64, 96), floats(96, 64), fault="no barrier")
@port("classic/transpose/swapped groups", "fail", floats(64, 96), floats(96, 64), fault="swapped groups")
@port("classic/transpose/short tile", "fail", floats(64, 96), floats(96, 64), fault="short tile")
@port("classic/transpose", "pass", floats(64, 96), floats(96, 64), fault="")
@gpu.kernel
def transpose(x, y, *, fault):
    gpu.launch(grid=(4, 6), threads=(16, 16))
    i, j = gpu.thread % 16, gpu.thread // 16
    tile = gpu.shared("f32", Layout((16, 15 if fault == "short tile" else 16), (17, 1)))
    row, column = gpu.workgroup.x * 16 + j, gpu.workgroup.y * 16 + i
    tile[j, i] = x[row, column]
    if fault != "no barrier":
        gpu.barrier()
    if fault == "swapped groups":
        y[gpu.workgroup.x * 16 + j, gpu.workgroup.y * 16 + i] = tile[i, j]
    else:
        y[gpu.workgroup.y * 16 + j, gpu.workgroup.x * 16 + i] = tile[i, j]


@port("classic/bitonic sort/both write", "fail", ints(256), fault="both write")
@port("classic/bitonic sort/no barrier", "fail", ints(256), fault="no barrier")
@port("classic/bitonic sort", "pass", ints(256), fault="")
@gpu.kernel
def bitonic_sort(x, *, fault):
    gpu.launch(grid=1, threads=256)
    t = gpu.thread
    s = gpu.shared("i32", 256)
    s[t] = x[t]
    gpu.barrier()
    k = 2
    while k <= 256:
        j = k // 2
        while j > 0:
            other = t ^ j
            if fault == "both write" or other > t:
                a, b = s[t], s[other]
                up = (t & k) == 0
                if (a > b) == up:
                    s[t] = b
                    s[other] = a
            if fault != "no barrier":
                gpu.barrier()
            j //= 2
        k *= 2
    x[t] = s[t]


@port("classic/odd-even sort/no barrier", "fail", ints(128), fault="no barrier")
@port("classic/odd-even sort/one too far", "fail", ints(128), fault="one too far")
@port("classic/odd-even sort", "pass", ints(128), fault="")
@gpu.kernel
def odd_even_sort(x, *, fault):
    gpu.launch(grid=1, threads=64)
    s = given_shared(x, 64)
    for turn in gpu.loop(128):
        i = 2 * gpu.thread + turn % 2
        if i + 1 < (129 if fault == "one too far" else 128):
            a, b = s[i], s[i + 1]
            if a > b:
                s[i] = b
                s[i + 1] = a
        if fault != "no barrier":
            gpu.barrier()
    x[gpu.thread] = s[gpu.thread]
    x[gpu.thread + 64] = s[gpu.thread + 64]


@port("classic/histogram/no atomic", "fail", uints(4096), uints(16), fault="no atomic")
@port("classic/histogram/no clear", "fail", uints(4096), uints(16), fault="no clear")
@port("classic/histogram/no barrier", "fail", uints(4096), uints(16), fault="no barrier")
@port("classic/histogram", "pass", uints(4096), uints(16), fault="")
@gpu.kernel
def histogram(x, counts, *, fault):
    gpu.launch(grid=16, threads=256)
    t = gpu.thread
    bins = gpu.shared("u32", 16)
    if fault != "no clear":
        if t < 16:
            gpu.atomic_store(bins, t, 0)
    if fault != "no barrier":
        gpu.barrier()
    v = x[gpu.workgroup.x * 256 + t] & 15
    gpu.atomic_add(bins, v, 1)
    gpu.barrier()
    if t < 16:
        if fault == "no atomic":
            counts[t] = counts[t] + gpu.atomic_load(bins, t)
        else:
            gpu.atomic_add(counts, t, gpu.atomic_load(bins, t))


@port("classic/stencil/no halo", "fail", floats(1024), floats(1024), fault="no halo")
@port("classic/stencil/in place", "fail", floats(1024), floats(1024), fault="in place")
@port("classic/stencil/no right guard", "fail", floats(1024), floats(1024), fault="no right guard")
@port("classic/stencil/no barrier", "fail", floats(1024), floats(1024), fault="no barrier")
@port("classic/stencil", "pass", floats(1024), floats(1024), fault="")
@gpu.kernel
def stencil(x, y, *, fault):
    gpu.launch(grid=8, threads=128)
    t, i = gpu.thread, gpu.workgroup.x * 128 + gpu.thread
    s = gpu.shared("f32", 130)
    s[t + 1] = x[i]
    if fault != "no halo":
        if t == 0:
            s[0] = gpu.load(x, i - 1, where=i > 0, other=0.0)
        if t == 127:
            s[129] = x[i + 1] if fault == "no right guard" else gpu.load(x, i + 1, where=i < 1023, other=0.0)
    if fault != "no barrier":
        gpu.barrier()
    if fault == "in place":
        s[t + 1] = s[t] + s[t + 1] + s[t + 2]
        y[i] = s[t + 1]
    else:
        y[i] = s[t] + s[t + 1] + s[t + 2]


@port(
    "classic/product/no first barrier", "fail", floats(64, 48), floats(48, 64), floats(64, 64), fault="no first barrier"
)
@port(
    "classic/product/no second barrier",
    "fail",
    floats(64, 48),
    floats(48, 64),
    floats(64, 64),
    fault="no second barrier",
)
@port(
    "classic/product/one step too many",
    "fail",
    floats(64, 48),
    floats(48, 64),
    floats(64, 64),
    fault="one step too many",
)
@port("classic/product/same rows", "fail", floats(64, 48), floats(48, 64), floats(64, 64), fault="same rows")
@port("classic/product", "pass", floats(64, 48), floats(48, 64), floats(64, 64), fault="")
@gpu.kernel
def product(a, b, c, *, fault):
    gpu.launch(grid=(4, 4), threads=(16, 16))
    i, j = gpu.thread % 16, gpu.thread // 16
    sa, sb = gpu.shared("f32", Layout((16, 16))), gpu.shared("f32", Layout((16, 16)))
    total = gpu.constant(0.0, "f32")
    for k in gpu.loop(4 if fault == "one step too many" else 3):
        sa[j, i] = a[gpu.workgroup.x * 16 + j, k * 16 + i]
        sb[j, i] = b[k * 16 + j, gpu.workgroup.y * 16 + i]
        if fault != "no first barrier":
            gpu.barrier()
        for n in gpu.loop(16):
            total = total + sa[j, n] * sb[n, i]
        if fault != "no second barrier":
            gpu.barrier()
    row = gpu.workgroup.x * 16 + (j // 2 if fault == "same rows" else j)
    c[row, gpu.workgroup.y * 16 + i] = total


@port("classic/compaction/no atomic", "fail", uints(1024), uints(1024), uints(1), fault="no atomic")
@port("classic/compaction", "pass", uints(1024), uints(1024), uints(1), fault="")
@gpu.kernel
def compaction(x, out, count, *, fault):
    # The numbers that an atomic addition of 1 gives are distinct.
    gpu.launch(grid=4, threads=256)
    v = x[gpu.workgroup.x * 256 + gpu.thread]
    if v > 100:
        at = count[0] if fault == "no atomic" else gpu.atomic_add(count, 0, 1)
        if fault == "no atomic":
            count[0] = at + 1
        if at < 1024:
            out[at] = v


@port("classic/queue of a workgroup/no barrier", "fail", uints(256), uints(256), fault="no barrier")
@port("classic/queue of a workgroup", "pass", uints(256), uints(256), fault="")
@gpu.kernel
def queue(x, out, *, fault):
    gpu.launch(grid=1, threads=256)
    items, end = gpu.shared("u32", 256), gpu.shared("u32", 1)
    items[gpu.thread] = 0
    if gpu.thread == 0:
        gpu.atomic_store(end, 0, 0)
    gpu.barrier()
    if x[gpu.thread] > 7:
        at = gpu.atomic_add(end, 0, 1)
        if at < 256:
            items[at] = x[gpu.thread]
    if fault != "no barrier":
        gpu.barrier()
    out[gpu.thread] = items[gpu.thread]


@port("classic/double buffer/one buffer", "fail", floats(8, 128), floats(128), fault="one buffer")
@port("classic/double buffer/no barrier", "fail", floats(8, 128), floats(128), fault="no barrier")
@port("classic/double buffer", "pass", floats(8, 128), floats(128), fault="")
@gpu.kernel
def double_buffer(x, y, *, fault):
    gpu.launch(grid=1, threads=128)
    t = gpu.thread
    s = gpu.shared("f32", Layout((128, 2)))
    s[t, 0] = x[0, t]
    gpu.barrier()
    total = gpu.constant(0.0, "f32")
    for k in gpu.loop(7):
        into = 0 if fault == "one buffer" else (k + 1) % 2
        s[t, into] = x[k + 1, t]
        total = total + s[127 - t, 0 if fault == "one buffer" else k % 2]
        if fault != "no barrier":
            gpu.barrier()
    y[t] = total


@port("classic/grid stride/short step", "fail", floats(5000), floats(5000), fault="short step")
@port("classic/grid stride/no bound", "fail", floats(5000), floats(5000), fault="no bound")
@port("classic/grid stride", "pass", floats(5000), floats(5000), fault="")
@gpu.kernel
def grid_stride(x, y, *, fault):
    gpu.launch(grid=4, threads=256)
    i = gpu.workgroup.x * 256 + gpu.thread
    for k in gpu.loop(5120 if fault == "no bound" else 5000, start=i, step=256 if fault == "short step" else 1024):
        y[k] = x[k] * 2.0


@port("classic/row sums/shared by warps", "fail", floats(64, 128), floats(64), fault="shared by warps")
@port("classic/row sums", "pass", floats(64, 128), floats(64), fault="")
@gpu.kernel
def row_sums(x, y, *, fault):
    gpu.launch(grid=16, threads=128)
    warp, lane = gpu.thread // 32, gpu.thread % 32
    row = gpu.workgroup.x * 4 + warp
    parts = gpu.shared("f32", 128)
    total = gpu.constant(0.0, "f32")
    for k in gpu.loop(4):
        total = total + x[row, k * 32 + lane]
    parts[lane if fault == "shared by warps" else gpu.thread] = total
    gpu.barrier()
    if lane == 0:
        total = gpu.constant(0.0, "f32")
        for k in gpu.loop(32):
            total = total + parts[k if fault == "shared by warps" else warp * 32 + k]
        y[row] = total


@port("classic/butterfly/neighbour", "fail", floats(64), fault="neighbour")
@port("classic/butterfly", "pass", floats(64), fault="")
@gpu.kernel
def butterfly(x, *, fault):
    gpu.launch(grid=1, threads=32)
    s = given_shared(x, 32)
    for step in range(6):
        half = 1 << step
        i = gpu.thread // half * (2 * half) + gpu.thread % half
        partner = i + (1 if fault == "neighbour" else half)
        a, b = s[i], s[partner]
        s[i] = a + b
        s[partner] = a - b
        gpu.barrier()
    x[gpu.thread] = s[gpu.thread]
    x[gpu.thread + 32] = s[gpu.thread + 32]


@port("classic/LU/no barrier", "fail", floats(16, 16), fault="no barrier")
@port("classic/LU/wrong guard", "fail", floats(16, 16), fault="wrong guard")
@port("classic/LU", "pass", floats(16, 16), fault="")
@gpu.kernel
def lu(a, *, fault):
    gpu.launch(grid=1, threads=(16, 16))
    i, j = gpu.thread % 16, gpu.thread // 16
    s = gpu.shared("f32", Layout((16, 16)))
    s[i, j] = a[i, j]
    gpu.barrier()
    for k in gpu.loop(16):
        if i > k and j == k:
            s[i, k] = s[i, k] / s[k, k]
        if fault != "no barrier":
            gpu.barrier()
        if (i >= k if fault == "wrong guard" else i > k) and j > k:
            s[i, j] = s[i, j] - s[i, k] * s[k, j]
        gpu.barrier()
    a[i, j] = s[i, j]
