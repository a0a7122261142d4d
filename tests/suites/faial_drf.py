"""Kernels of Faial's suite of data races (umb-svl Faial, examples/drf), at 16 blocks of 32 threads."""

from ported import Rule, floats, given_shared, ints, port

from cutepy import gpu, make_tensor

N = 16 * 32
A = 2.0


def index():
    return gpu.workgroup.x * 32 + gpu.thread


@port("drf/drf-2d", "pass", 500, floats(16, 32), floats(N))
@gpu.kernel
def drf_2d(n, x, y):
    gpu.launch(grid=16, threads=32)
    i = index()
    if i < gpu.cast(n, "u32"):
        y[i] = A * x[gpu.workgroup.x, gpu.thread] + y[i]


@port("drf/drf-alias", "pass", 500, floats(N), floats(N))
@gpu.kernel
def drf_alias(n, x, y):
    gpu.launch(grid=16, threads=32)
    i = index()
    if i < gpu.cast(n, "u32"):
        y[i] = A * x[i] + y[i]


@port("drf/drf-assert-loop", "pass", floats(256), 9)
@gpu.kernel
def drf_assert_loop(Qi, Bc):
    gpu.launch(grid=16, threads=16)
    tx = gpu.thread * 16 + gpu.workgroup.x
    for y in gpu.loop(Bc):
        if y >= 1:
            break
        Qi[tx] = Qi[tx + gpu.cast(y, "u32")]


@port("drf/drf-assign-exp", "pass", floats(N), floats(N))
@gpu.kernel
def drf_assign_exp(x, y):
    gpu.launch(grid=16, threads=32)
    i = j = gpu.workgroup.x * 32
    i = j + gpu.thread
    j += gpu.thread
    y[i] = A * x[i] + y[j]


@port("drf/drf-comma", "pass", floats(N), floats(N))
@gpu.kernel
def drf_comma(x, y):
    gpu.launch(grid=16, threads=32)
    i = index()
    y[i] = A * x[i] + y[(i + 1, i)[1]]


@port("drf/drf-enum-constraint", "pass", floats(34), floats(34), 1)
@gpu.kernel
def drf_enum_constraint(x, y, mode):
    gpu.launch(grid=1, threads=32)
    i = gpu.thread
    if mode >= 0 and mode <= 2:  # the values of the enumeration
        if i % 4 == 0:
            y[i + gpu.cast(mode, "u32")] = A * x[i] + y[i]


@port("drf/drf-enum-typedef", "pass", floats(N), floats(N))
@gpu.kernel
def drf_enum_typedef(x, y):
    gpu.launch(grid=16, threads=32)
    i = index()
    y[i] = A * x[i] + y[i + 0]


@port("drf/drf-field-in-param", "pass", floats(64), 7)
@gpu.kernel
def drf_field_in_param(output, x):
    gpu.launch(grid=1, threads=32)
    if x >= 0 and x <= 32:
        i = gpu.thread + gpu.cast(x, "u32")
        output[i] = 2.0 * output[i]


@port("drf/drf-inline-var", "pass", 500, floats(N), floats(N))
@gpu.kernel
def drf_inline_var(n, x, y):
    gpu.launch(grid=16, threads=32)
    i = index()
    if i < gpu.cast(n, "u32"):
        y[i] = A * x[i] + y[i]


@port("drf/drf-local-array", "pass", ints(512, 512), 500)
@gpu.kernel
def drf_local_array(out, w):
    gpu.launch(grid=(32, 32), threads=(16, 16))
    x = gpu.workgroup.x * 16 + gpu.thread % 16
    y = gpu.workgroup.y * 16 + gpu.thread // 16
    if x >= gpu.cast(w, "u32"):
        return
    own = make_tensor("f32", 1)
    own[0] = 1.0
    out[x, y] = gpu.select(own[0] > 0.0, 1, 0)


@port("drf/drf-loop-aligned-1", "pass", floats(33))
@gpu.kernel
def drf_loop_aligned_1(y):
    gpu.launch(grid=1, threads=32)  # Faial judges one block
    f = gpu.constant(0.0, "f32")
    y[gpu.thread] = 0.0
    gpu.barrier(storage=True)
    for j in gpu.loop(9, start=1):
        f = f + y[j]
        gpu.barrier(storage=True)
    y[gpu.thread + 1] = f


@port("drf/drf-loop2", "pass", floats(N), floats(N + 10))
@gpu.kernel
def drf_loop2(x, y):
    gpu.launch(grid=16, threads=32)
    f = gpu.constant(0.0, "f32")
    for j in gpu.loop(10):  # n = 9
        f = f + y[j]
    y[index() + 10] = A * x[index()] + f


@port("drf/drf-loop3", "pass", floats(N), floats(N + 10), rule=Rule.SAME_VALUE)
@gpu.kernel
def drf_loop3(x, y):
    gpu.launch(grid=16, threads=32)
    f = gpu.constant(0.0, "f32")
    y[0] = 0.0
    for j in gpu.loop(10, start=1):
        f = f + y[j]
    y[index() + 10] = A * x[index()] + f


@port("drf/drf-loop4", "pass", floats(N), floats(N + 10), rule=Rule.SAME_VALUE)
@gpu.kernel
def drf_loop4(x, y):
    gpu.launch(grid=16, threads=32)
    f = gpu.constant(0.0, "f32")
    y[0] = 0.0
    j = gpu.constant(1, "i32")
    while j != 9:
        f = f + y[gpu.cast(j, "u32")]
        j = j + 1
    y[index() + 10] = A * x[index()] + f


@port("drf/drf-loop5", "pass", floats(N), floats(N + 10), rule=Rule.SAME_VALUE)
@gpu.kernel
def drf_loop5(x, y):
    gpu.launch(grid=16, threads=32)
    f = gpu.constant(0.0, "f32")
    y[0] = 0.0
    j = gpu.constant(9, "i32")
    while j > 0:
        f = f + y[gpu.cast(j, "u32")]
        j = j - 1
    y[index() + 10] = A * x[index()] + f


@port("drf/drf-saxpy", "pass", 500, floats(N), floats(N))
@gpu.kernel
def drf_saxpy(n, x, y):
    gpu.launch(grid=16, threads=32)
    i = index()
    if i < gpu.cast(n, "u32"):
        y[i] = A * x[i] + y[i]


@port("drf/drf-shared-mem", "pass", 500, floats(N), floats(N))
@gpu.kernel
def drf_shared_mem(n, x, out):
    gpu.launch(grid=16, threads=32)
    y = given_shared(x, 32)
    i = index()
    if i < gpu.cast(n, "u32"):
        y[i] = A * x[i] + y[i]
    out[i] = y[i]


@port("drf/drf-toplevel", "pass", 500, floats(N), floats(N))
@gpu.kernel
def drf_toplevel(n, x, y):
    gpu.launch(grid=16, threads=32)
    i = index()
    if i < gpu.cast(n, "u32"):
        y[i] = x[i] + y[i + 0]


@port("drf/drf-typedef", "pass", 500, floats(N), ints(N))
@gpu.kernel
def drf_typedef(n, x, y):
    gpu.launch(grid=16, threads=32)
    i = index()
    j = y[i]
    if i < gpu.cast(n, "u32"):
        if j >= 0 and j < 512:
            y[i] = gpu.cast(A * x[gpu.cast(j, "u32")], "i32") + y[i]


@port("drf/drf-warp", "pass", floats(48), rule=Rule.LOCK_STEP)
@gpu.kernel
def drf_warp(shmem):
    gpu.launch(grid=1, threads=32)
    t = gpu.thread
    v = gpu.constant(0.0, "f32")
    for by in (16, 8, 4, 2, 1):
        v = v + shmem[t + by]
        shmem[t] = v


@port("drf/parse-gv", "pass", 4, floats(4), floats(8))
@gpu.kernel
def parse_gv(n, x, y):
    gpu.launch(grid=(2, 2, 2), threads=2)
    i = gpu.workgroup.x * 2 + gpu.thread
    if gpu.workgroup.y == 0 and gpu.workgroup.z == 0:  # one block of each row: the source's y and z write as well
        if i < gpu.cast(n, "u32"):
            y[i + 2] = A * x[i] + y[i + 2] + y[i + 2] + y[i + 2]


@port("drf/racy-alias-assign", "fail", 500, floats(N), floats(N + 1))
@gpu.kernel
def racy_alias_assign(n, x, y):
    gpu.launch(grid=16, threads=32)
    i = index()
    if i < 500:
        y[i] = A * x[i] + y[i + 1]


@port("drf/racy-alias-shmem1", "fail", floats(N), floats(N + 3), floats(N))
@gpu.kernel
def racy_alias_shmem1(x, given, out):
    gpu.launch(grid=16, threads=32)
    sram = given_shared(given, 32)
    i = index()
    if i < 500:
        sram[i] = A * x[i] + sram[i + 1]
    out[i] = 1.0


@port("drf/racy-alias-shmem2", "fail", floats(N), floats(N + 3), floats(N))
@gpu.kernel
def racy_alias_shmem2(x, given, out):
    gpu.launch(grid=16, threads=32)
    sram = given_shared(given, 32)
    i = index()
    if i < 500:
        sram[i] = A * x[i] + sram[i + 1]
    out[i] = 1.0


@port("drf/racy-alias-shmem3", "fail", floats(N), floats(3 * N + 3), floats(N))
@gpu.kernel
def racy_alias_shmem3(x, given, out):
    gpu.launch(grid=16, threads=32)
    sram = given_shared(given, 32)
    i = index()
    if i < 500:
        sram[3 * i] = A * x[i] + sram[3 * i + 3]
    out[i] = 1.0


@port("drf/racy-alias", "fail", floats(N), floats(N + 1))
@gpu.kernel
def racy_alias(x, y):
    gpu.launch(grid=16, threads=32)
    i = index()
    if i < 500:
        y[i] = A * x[i] + y[i + 1]


@port("drf/racy-cav21", "fail", floats(32), floats(64))
@gpu.kernel
def racy_cav21(x, y):
    gpu.launch(grid=1, threads=32)
    t = gpu.thread
    for _r in gpu.loop(9):
        for _i in gpu.loop(9):
            y[t] = A * x[t]
        gpu.barrier(storage=True)
        for j in gpu.loop(9):
            x[t] = y[t + j]


@port("drf/racy-comma", "fail", floats(N), floats(N + 1))
@gpu.kernel
def racy_comma(x, y):
    gpu.launch(grid=16, threads=32)
    i = index()
    f = y[i + 1]
    y[i] = f + A * x[i]


def helper(y, i, data):
    y[i] = data + y[i + 1]


@port("drf/racy-device-no-args", "fail", floats(N), floats(N + 1), floats(N))
@gpu.kernel
def racy_device_no_args(x, given, out):
    gpu.launch(grid=16, threads=32)
    y = given_shared(given, 32)
    helper(y, index(), A * x[index()])
    out[index()] = 1.0


@port("drf/racy-device", "fail", floats(N), floats(N + 1))
@gpu.kernel
def racy_device(x, y):
    gpu.launch(grid=16, threads=32)
    helper(y, index(), A * x[index()])


@port("drf/racy-funcion-call-unknowns", "fail", floats(N), floats(2 * N), 3, 5)
@gpu.kernel
def racy_function_call_unknowns(x, y, offset1, offset2):
    gpu.launch(grid=16, threads=32)
    i = index()
    if offset1 >= 0 and offset1 < 512 and offset2 >= 0 and offset2 < 512:
        y[i + gpu.cast(offset1, "u32")] = A * x[i] + y[i + gpu.cast(offset2, "u32")]


@port("drf/racy-grid-level", "fail", 500, floats(1024), floats(1024))
@gpu.kernel
def racy_grid_level(n, x, y):
    gpu.launch(grid=2024, threads=1024)
    i = gpu.thread
    if i < gpu.cast(n, "u32"):
        y[i] = A * x[i] + y[i]


@port("drf/racy-kernel-calls-return", "fail", ints(N), floats(N), floats(2 * N))
@gpu.kernel
def racy_kernel_calls_return(array, x, y):
    gpu.launch(grid=16, threads=32)
    i = index()
    offset = array[i]
    if offset >= 0 and offset < 512:
        y[i + gpu.cast(offset, "u32")] = A * x[i] + y[i + gpu.cast(offset, "u32")]


@port("drf/racy-loop1", "fail", floats(N), floats(N + 9))
@gpu.kernel
def racy_loop1(x, y):
    gpu.launch(grid=16, threads=32)
    f = gpu.constant(0.0, "f32")
    for j in gpu.loop(10):
        f = f + y[j]
    y[index() + 9] = f


@port("drf/racy-mutation", "fail", floats(N), floats(N + 1))
@gpu.kernel
def racy_mutation(x, y):
    gpu.launch(grid=16, threads=32)
    i = index()
    flag = gpu.constant(0, "u32")
    if i % 2 != 0:
        flag = flag + 1
    y[i] = A * x[i]
    if flag != 0:
        y[i + 1] = A * x[i]


@port("drf/racy-reduce", "fail", floats(48))
@gpu.kernel
def racy_reduce(shmem):
    gpu.launch(grid=1, threads=32)
    t = gpu.thread
    for by in (16, 8, 4, 2, 1):
        shmem[t] = shmem[t] + shmem[t + by]


@port("drf/racy-shared-mem-2", "fail", floats(N), floats(N + 1), floats(N))
@gpu.kernel
def racy_shared_mem_2(x, given, out):
    gpu.launch(grid=16, threads=32)
    y = given_shared(given, 32)
    i = index()
    if i < 500:
        y[i] = 32.0 * x[i] + y[i + 1]
    out[i] = 1.0


@port("drf/racy-shared-mem", "fail", floats(N), floats(N + 1), floats(N))
@gpu.kernel
def racy_shared_mem(x, given, out):
    gpu.launch(grid=16, threads=32)
    y = given_shared(given, 32)
    i = index()
    if i < 500:
        y[i] = A * x[i] + y[i + 1]
    out[i] = 1.0


@port("drf/racy-shared-scalar", "fail", 500, floats(N), floats(N))
@gpu.kernel
def racy_shared_scalar(n, x, y):
    gpu.launch(grid=16, threads=32)
    i = index()
    data = gpu.shared("u32", 1)
    if i < 500:
        data[0] = i
        y[i] = A * x[i] + y[i]


@port("drf/racy-struct", "fail", floats(N), floats(N + 1, 2))
@gpu.kernel
def racy_struct(x, y):
    gpu.launch(grid=16, threads=32)
    i = index()
    y[i, 0] = A * x[i] + y[i + 1, 0]


@port("drf/racy-template-alias", "fail", floats(N), floats(N + 1))
@gpu.kernel
def racy_template_alias(x, y):
    gpu.launch(grid=16, threads=32)
    i = index()
    y[i] = A * x[i] + y[i + 1]


@port("drf/racy-template", "fail", floats(N), floats(N + 1))
@gpu.kernel
def racy_template(x, y):
    gpu.launch(grid=16, threads=32)
    i = index()
    y[i] = A * x[i] + y[i + 1]


@port("drf/racy-toplevel", "fail", 500, floats(N), floats(N + 1))
@gpu.kernel
def racy_toplevel(n, x, y):
    gpu.launch(grid=16, threads=32)
    i = index()
    if i < gpu.cast(n, "u32"):
        y[i] = x[i] + y[i + 1]
