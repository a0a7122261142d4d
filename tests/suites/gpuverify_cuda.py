"""Kernels of GPUVerify's suite for CUDA (mc-imperial/gpuverify, testsuite/CUDA), ported by what they access."""

from ported import Rule, asserts, floats, given_shared, global_id, ints, port, uints

from cutepy import gpu, make_tensor


@port("CUDA/align", "pass", uints(4, 2))
@gpu.kernel
def align(pairs):
    gpu.launch(grid=2, threads=2)
    i = global_id(2)
    pairs[i, 0] = gpu.thread
    pairs[i, 1] = gpu.workgroup.x


@port("CUDA/always_inline", "pass", ints(4096))
@gpu.kernel
def always_inline(out):
    gpu.launch(grid=64, threads=64)
    asserts(out, global_id(64), gpu.constant(5, "i32") == 5)


@port("CUDA/annotation_tests/test_all", "pass", ints(4096))
@gpu.kernel
def test_all(out):
    gpu.launch(grid=64, threads=64)
    asserts(out, global_id(64), gpu.subgroup_all(gpu.thread < 64))


@port("CUDA/annotation_tests/test_assert", "pass", ints(4096), 7)
@gpu.kernel
def test_assert(out, y):
    gpu.launch(grid=64, threads=64)
    if y < 100:
        asserts(out, global_id(64), y < 200)


@port("CUDA/annotation_tests/test_assume", "pass", ints(4096), 7)
@gpu.kernel
def test_assume(out, y):
    gpu.launch(grid=64, threads=64)
    if y < 100:
        asserts(out, global_id(64), y < 100)


@port("CUDA/annotation_tests/test_axiom", "pass", ints(1))
@gpu.kernel
def test_axiom(A):
    gpu.launch(grid=(64, 64), threads=64)
    if gpu.workgroup.x == 16 and gpu.workgroup.y == 16:  # the source's axiom
        if gpu.workgroup.x != 16 or gpu.workgroup.y != 16:
            A[0] = gpu.cast(gpu.thread, "i32")


@port("CUDA/annotation_tests/test_contract", "pass", ints(4096))
@gpu.kernel
def test_contract(out):
    gpu.launch(grid=64, threads=64)
    if gpu.thread == 3:
        asserts(out, global_id(64), gpu.thread == 3)


@port("CUDA/annotation_tests/test_enabled_and_uniform", "pass", ints(4096))
@gpu.kernel
def test_enabled_and_uniform(out):
    gpu.launch(grid=64, threads=64)
    n = gpu.constant(0, "i32")
    for _ in gpu.loop(1000):
        n = n + 1
    out[global_id(64)] = n


@port("CUDA/annotation_tests/test_no_readwrite", "pass", ints(16), ints(4096))
@gpu.kernel
def test_no_readwrite(x, out):
    gpu.launch(grid=64, threads=64)
    n = gpu.constant(0, "i32")
    for _ in gpu.loop(16):
        n = n + 1
    out[global_id(64)] = n


@port("CUDA/annotation_tests/test_requires", "pass", ints(4096))
@gpu.kernel
def test_requires(out):
    gpu.launch(grid=64, threads=64)
    d = gpu.constant(1, "i32")
    while d < 64:
        asserts(out, global_id(64), d > 0)
        d = d * 2


@port("CUDA/annotation_tests/test_while_loop_invariant", "pass", ints(4096, 64, 64))
@gpu.kernel
def test_while_loop_invariant(out):
    gpu.launch(grid=(64, 64), threads=(8, 8, 8))
    d = gpu.constant(1, "i32")
    while d < 64:
        d = d * 2
    out[gpu.thread, gpu.workgroup.x, gpu.workgroup.y] = d


@port("CUDA/atomics/add_one", "pass", uints(1), ints(2))
@gpu.kernel
def add_one(i, A):
    gpu.launch(grid=1, threads=2)
    j = gpu.atomic_add(i, 0, 1)
    if j < 2:  # the counter's first value is the caller's
        A[j] = gpu.cast(gpu.thread, "i32")


@port("CUDA/atomics/device_global", "pass", uints(1))
@gpu.kernel
def device_global(x):
    gpu.launch(grid=1, threads=2)
    gpu.atomic_add(x, 0, 1)


@port("CUDA/atomics/pointer_add", "pass", uints(1), 3)
@gpu.kernel
def pointer_add(buffer, B):
    gpu.launch(grid=2, threads=1024)
    gpu.atomic_add(buffer, 0, gpu.cast(B, "u32"))


@port("CUDA/atomics/test_abstraction_enforced", "fail", ints(1), ints(2))
@gpu.kernel
def test_abstraction_enforced(c, out):
    gpu.launch(grid=1, threads=2)
    if gpu.thread == 0:
        gpu.atomic_store(c, 0, 0)
        gpu.atomic_add(c, 0, 1)
        x = gpu.atomic_load(c, 0)
        asserts(out, gpu.thread, x == 0)


@port("CUDA/barrierconditionalkernelparam", "pass", ints(4096), 1)
@gpu.kernel
def barrier_conditional_parameter(out, x):
    gpu.launch(grid=64, threads=64)
    if x == 0:
        gpu.barrier()
    out[global_id(64)] = 1


@port("CUDA/basic1", "pass", ints(4096))
@gpu.kernel
def basic1(out):
    gpu.launch(grid=64, threads=64)
    a = 2
    b = 3
    out[global_id(64)] = a + b


@port("CUDA/basicbarrier", "pass", ints(4096))
@gpu.kernel
def basicbarrier(out):
    gpu.launch(grid=64, threads=64)
    gpu.barrier()
    out[global_id(64)] = 5


@port("CUDA/basicglobalarray", "pass", ints(64))
@gpu.kernel
def basicglobalarray(p):
    gpu.launch(grid=1, threads=64)
    p[gpu.thread] = 2


@port("CUDA/cooperative_groups/fail/divergence_thread_block", "fail", ints(34))
@gpu.kernel
def divergence_thread_block(A):
    gpu.launch(grid=1, threads=32)
    i = global_id(32)
    if i % 2 == 0:
        t = A[i + 2]
        gpu.barrier(storage=True)
        A[i] = t


@port("CUDA/fail_tests/race_on_shared", "fail", ints(16))
@gpu.kernel
def race_on_shared(out):
    gpu.launch(grid=1, threads=16)
    A = gpu.shared("u32", 16)
    A[0] = gpu.thread
    out[gpu.thread] = 1


@port("CUDA/fail_tests/shared_int", "fail", ints(4096))
@gpu.kernel
def shared_int(out):
    gpu.launch(grid=64, threads=64)
    a = gpu.shared("u32", 1)
    a[0] = gpu.thread
    out[global_id(64)] = 1


@port("CUDA/floatcastrequired", "pass", floats(4096))
@gpu.kernel
def floatcastrequired(out):
    gpu.launch(grid=64, threads=64)
    out[global_id(64)] = 10.0**2


@port("CUDA/floatrelationalop", "pass", floats(4096), 2.0, 2.0)
@gpu.kernel
def floatrelationalop(out, x, y):
    gpu.launch(grid=64, threads=64)
    if x < y:
        out[global_id(64)] = x


@port("CUDA/globalarray/fail", "fail", ints(8), floats(1))
@gpu.kernel
def globalarray_fail(A, p):
    gpu.launch(grid=1, threads=8)
    a = A[gpu.thread]
    if a != gpu.cast(gpu.thread, "i32"):
        p[0] = gpu.cast(gpu.thread, "f32")


@port("CUDA/large_constant_array", "pass", ints(4096), ints(3), ints(4096))
@gpu.kernel
def large_constant_array(A, B, out):
    gpu.launch(grid=2, threads=2048)
    out[global_id(2048)] = A[gpu.thread] + B[0]


@port("CUDA/local2darrayaccess", "pass", ints(640))
@gpu.kernel
def local2darrayaccess(out):
    gpu.launch(grid=64, threads=10)
    A = gpu.shared("i32", (10, 10))
    A[0, gpu.thread] = 2
    out[global_id(10)] = 1


@port("CUDA/loop_unwind", "fail", floats(256), ints(64 * 512))
@gpu.kernel
def loop_unwind(A, out):
    gpu.launch(grid=64, threads=512)
    B = gpu.shared("f32", 256)
    for i in gpu.loop(10):
        B[i] = A[i]
    out[global_id(512)] = 1


@port("CUDA/memset/initstruct", "pass", uints(32, 4))
@gpu.kernel
def initstruct(out):
    gpu.launch(grid=1, threads=32)
    for k in gpu.unroll(4):
        out[gpu.thread, k] = 0


@port("CUDA/misc/fail/miscfail3", "fail", ints(2048), 5)
@gpu.kernel
def miscfail3(A, offset):
    gpu.launch(grid=1, threads=1024)
    o = gpu.cast(offset, "u32")
    if o < 1024:
        t = A[gpu.thread + o]
        A[gpu.thread] = A[gpu.thread] + t


@port("CUDA/misc/fail/miscfail4", "fail", ints(2048), 5)
@gpu.kernel
def miscfail4(A, offset):
    gpu.launch(grid=1, threads=1024)
    if offset >= 0 and offset < 1024:
        t = A[gpu.thread + gpu.cast(offset, "u32")]
        A[gpu.thread] = A[gpu.thread] + t


@port("CUDA/misc/pass/misc1", "pass", ints(512), floats(256), 143)
@gpu.kernel
def misc1(out, F_given, x):
    gpu.launch(grid=1, threads=512)
    S = gpu.shared("f32", 256 * 32)
    F = given_shared(F_given, 512)
    if x == 143:
        for i in gpu.loop(143, step=16):
            if i + gpu.thread // 32 < 143:
                S[(i + gpu.thread // 32) * 32 + gpu.thread % 32] = F[i + gpu.thread // 32]
    out[gpu.thread] = 1


@port("CUDA/misc/pass/misc2", "pass", ints(512))
@gpu.kernel
def misc2(p):
    gpu.launch(grid=1, threads=512)
    p[gpu.thread] = gpu.cast(gpu.thread, "i32")


@port("CUDA/misc/pass/misc4", "pass", ints(1024 * 1024), 4096, 0)
@gpu.kernel
def misc4(out, w, h):
    gpu.launch(grid=1024, threads=1024)
    if h == 0:
        for _ in gpu.loop(gpu.cast(w, "u32"), start=gpu.thread, step=1024):
            if h == 0:
                out[global_id(1024)] = 5
            else:
                asserts(out, global_id(1024), h == 0)


@port("CUDA/mul24", "pass", ints(1 << 20), ints(1 << 20))
@gpu.kernel
def mul24(A, B):
    gpu.launch(grid=1024, threads=1024)
    i = gpu.workgroup.x * 1024 + gpu.thread
    A[i] = gpu.cast(i, "i32")
    B[i] = gpu.cast(i, "i32")


@port("CUDA/multiplelocals", "pass", ints(4096))
@gpu.kernel
def multiplelocals(out):
    gpu.launch(grid=64, threads=64)
    x = 4
    y = 2
    out[global_id(64)] = x + y


@port("CUDA/nonpointerparameter2", "pass", ints(4096))
@gpu.kernel
def nonpointerparameter2(out):
    gpu.launch(grid=64, threads=64)
    out[global_id(64)] = gpu.constant(5, "i32")


@port("CUDA/notunaryoptest", "pass", ints(4096))
@gpu.kernel
def notunaryoptest(out):
    gpu.launch(grid=64, threads=64)
    x = gpu.constant(1, "i32")
    out[global_id(64)] = gpu.select(x == 0, 1, 0)


@port("CUDA/param_values/value_causing_race", "fail", floats(2000), 0)
@gpu.kernel
def value_causing_race(A, x):
    gpu.launch(grid=1, threads=512)
    if x >= 0 and x < 1000:
        if gpu.thread == 15:
            A[gpu.thread + gpu.cast(x, "u32")] = 15.0
        if gpu.thread == 200:
            A[gpu.thread] = 200.0


@port("CUDA/param_values/value_in_assert", "fail", ints(256), 12, 36, 48)
@gpu.kernel
def value_in_assert(out, a, b, c):
    gpu.launch(grid=16, threads=16)
    if a == 12 and b == 36:
        asserts(out, global_id(16), a + b != c)


@port("CUDA/pointeranalysistests/testbasicaliasing", "fail", ints(128), ints(128))
@gpu.kernel
def testbasicaliasing(p, q):
    gpu.launch(grid=64, threads=64)
    p[100] = q[100] + 1


@port("CUDA/pointeranalysistests/testinterprocedural2", "pass", ints(1), ints(1), ints(4096))
@gpu.kernel
def testinterprocedural2(p, q, out):
    gpu.launch(grid=64, threads=64)
    a = gpu.constant(0, "i32")
    if p[0] > 10:
        a = a + 1
    else:
        a = a + q[0]
    out[global_id(64)] = a


@port("CUDA/pointertests/cast", "fail", ints(2048))
@gpu.kernel
def pointer_cast(out):
    gpu.launch(grid=64, threads=32)
    x = gpu.shared("u32", 8)
    for i in gpu.loop(8):
        x[i] = gpu.thread
    out[global_id(32)] = 1


@port("CUDA/pointertests/test1", "pass", ints(64))
@gpu.kernel
def pointer_test1(p):
    gpu.launch(grid=1, threads=64)
    p[gpu.thread] = 0


@port("CUDA/pointertests/test11", "pass", ints(640))
@gpu.kernel
def pointer_test11(out):
    gpu.launch(grid=64, threads=10)
    A = gpu.shared("i32", 10)
    A[gpu.thread] = 0
    out[global_id(10)] = 1


@port("CUDA/pointertests/test3", "pass", ints(65))
@gpu.kernel
def pointer_test3(p):
    gpu.launch(grid=1, threads=64)
    p[gpu.thread + 1] = 0


def clear_own(p):
    p[gpu.thread] = 0


@port("CUDA/pointertests/test4", "pass", ints(64))
@gpu.kernel
def pointer_test4(p):
    gpu.launch(grid=1, threads=64)
    clear_own(p)


@port("CUDA/pointertests/test7", "pass", ints(4096))
@gpu.kernel
def pointer_test7(out):
    gpu.launch(grid=64, threads=64)
    a = make_tensor("i32", 1)
    a[0] = 0
    out[global_id(64)] = a[0]


@port("CUDA/pointertests/test_copy_between_pointers", "pass", ints(4096), rule=Rule.SAME_VALUE)
@gpu.kernel
def test_copy_between_pointers(p):
    gpu.launch(grid=64, threads=64)
    A = gpu.shared("i32", 10)
    p[0] = 0
    A[0] = 0


@port("CUDA/pointertests/test_pass_value_from_array", "pass", ints(1), ints(4096))
@gpu.kernel
def test_pass_value_from_array(A, out):
    gpu.launch(grid=64, threads=64)
    out[global_id(64)] = A[0]


@port("CUDA/scope", "pass", uints(4096))
@gpu.kernel
def scope(d_Result):
    gpu.launch(grid=64, threads=64)
    hist = gpu.shared("u32", 64 * 64)
    for i in gpu.loop(64):  # the source clears words of four bytes: 16 of them are 64 of these
        hist[gpu.thread + i * 64] = 0
    gpu.barrier()
    if gpu.thread < 64:
        total = gpu.constant(0, "u32")
        position = (gpu.thread & 15) * 4
        for _ in gpu.loop(64):
            total = total + hist[gpu.thread * 64 + position]
            position = position + 1
            if position == 64:
                position = gpu.constant(0, "u32")
        d_Result[gpu.workgroup.x * 64 + gpu.thread] = total


@port("CUDA/simpleparampassing", "pass", ints(4096))
@gpu.kernel
def simpleparampassing(out):
    gpu.launch(grid=64, threads=64)
    out[global_id(64)] = 2


def successor(x):
    return x + 1


@port("CUDA/simplereturn", "pass", ints(4096))
@gpu.kernel
def simplereturn(out):
    gpu.launch(grid=64, threads=64)
    out[global_id(64)] = successor(gpu.constant(2, "i32"))


@port("CUDA/ternarytest2", "pass", floats(128))
@gpu.kernel
def ternarytest2(A):
    gpu.launch(grid=1, threads=64)
    A[gpu.select(gpu.thread != 0, 2 * gpu.thread, 1)] = 2.4


@port("CUDA/test_for_get_group_id", "pass", floats(64))
@gpu.kernel
def test_for_get_group_id(A):
    gpu.launch(grid=1, threads=64)
    if gpu.workgroup.x == 0:
        A[gpu.thread] = 42.0


@port("CUDA/warpsize", "pass", uints(2048 * 64))
@gpu.kernel
def warpsize(r):
    gpu.launch(grid=64, threads=2048)
    r[global_id(2048)] = 32


@port("CUDA/warpsync/2d", "pass", floats(1600), floats(16), rule=Rule.LOCK_STEP)
@gpu.kernel
def warpsync_2d(A, given):
    gpu.launch(grid=(10, 10), threads=(4, 4))
    tile = given_shared(given, 16)
    x, y = gpu.thread % 4, gpu.thread // 4
    tile[x * 4 + y] = tile[y * 4 + x]
    gpu.barrier()
    A[(x + gpu.workgroup.y * 4) * 40 + y + gpu.workgroup.x * 4] = tile[x * 4 + y]


@port("CUDA/warpsync/bad_inter_group", "fail", ints(129 * 128))
@gpu.kernel
def bad_inter_group(A):
    gpu.launch(grid=128, threads=128)
    i = global_id(128)
    A[i] = A[i] + A[i + 128]


@port("CUDA/warpsync/equality_abstraction_issue", "fail", ints(32))
@gpu.kernel
def equality_abstraction_issue(A):
    gpu.launch(grid=1, threads=32)
    A[0] = 1
    A[1] = 1
    A[2] = 1
    A[gpu.thread] = 0


def scan_warp(A):
    lane = gpu.thread % 32
    for by in (1, 2, 4, 8, 16):
        if lane >= by:
            A[gpu.thread] = A[gpu.thread - by] + A[gpu.thread]


@port("CUDA/warpsync/scan_warp", "pass", ints(512), rule=Rule.LOCK_STEP)
@gpu.kernel
def scan_one_warp(A):
    gpu.launch(grid=1, threads=512)
    scan_warp(A)


@port("CUDA/warpsync/intragroup_scan", "pass", ints(512), rule=Rule.LOCK_STEP)
@gpu.kernel
def intragroup_scan(A):
    gpu.launch(grid=1, threads=512)
    temp = gpu.shared("i32", 32)
    scan_warp(A)
    gpu.barrier(storage=True)
    if gpu.thread % 32 == 31:
        temp[gpu.thread // 32] = A[gpu.thread]
    gpu.barrier()
    if gpu.thread // 32 == 0:
        scan_warp(temp)
    gpu.barrier()
    A[gpu.thread] = A[gpu.thread] + temp[gpu.thread // 32]


@port("CUDA/warpsync/shuffle", "pass", ints(512), rule=Rule.LOCK_STEP)
@gpu.kernel
def shuffle(A):
    gpu.launch(grid=1, threads=512)
    A[gpu.thread] = A[gpu.thread // 32 * 32 + (gpu.thread + 1) % 32]
