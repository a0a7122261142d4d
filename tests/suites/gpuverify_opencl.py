"""Kernels of GPUVerify's suite for OpenCL (mc-imperial/gpuverify, testsuite/OpenCL), ported by what they access."""

import numpy as np
from ported import Rule, asserts, floats, given_shared, global_id, ints, port, uints

from cutepy import Layout, gpu, make_tensor
from cutepy.tensor import u32


@port("OpenCL/addressofinit", "pass", ints(4096))
@gpu.kernel
def addressofinit(out):
    gpu.launch(grid=64, threads=64)
    i = make_tensor("i32", 1)
    i[0] = 0
    out[global_id(64)] = i[0]


@port("OpenCL/alignment/initialisation", "pass", ints(4096))
@gpu.kernel
def alignment_initialisation(out):
    gpu.launch(grid=64, threads=64)
    c = make_tensor("i32", Layout((3, 2)))
    for k in gpu.unroll(3):
        c[k, 0] = 0
        c[k, 1] = 1 if k == 0 else 0
    asserts(out, global_id(64), (c[0, 0] == 0) & (c[0, 1] == 1))


@port("OpenCL/alignment/int3int4", "pass", uints(4096, 4))
@gpu.kernel
def int3int4(n):
    gpu.launch(grid=64, threads=64)
    for k in gpu.unroll(3):
        n[global_id(64), k] = global_id(64)


@port("OpenCL/alignment/race_location", "fail", uints(4096, 4))
@gpu.kernel
def race_location(n):
    gpu.launch(grid=64, threads=64)
    for k in gpu.unroll(3):
        n[200, k] = global_id(64)


@port("OpenCL/annotation_tests/fail/assume_true", "fail", ints(4096))
@gpu.kernel
def assume_true(out):
    gpu.launch(grid=64, threads=64)
    if gpu.constant(1, "i32") == 1:
        asserts(out, global_id(64), gpu.constant(1, "i32") == 0)


@port("OpenCL/annotation_tests/test_assert", "pass", ints(4096), 7)
@gpu.kernel
def annotation_assert(out, y):
    gpu.launch(grid=64, threads=64)
    if y < 100:
        asserts(out, global_id(64), y < 200)


@port("OpenCL/annotation_tests/test_assert_true", "pass", ints(4096))
@gpu.kernel
def annotation_assert_true(out):
    gpu.launch(grid=64, threads=64)
    asserts(out, global_id(64), gpu.constant(1, "i32") == 1)


@port("OpenCL/annotation_tests/test_assume_false", "pass", ints(4096))
@gpu.kernel
def annotation_assume_false(out):
    gpu.launch(grid=64, threads=64)
    out[global_id(64)] = 0
    if gpu.constant(1, "i32") == 0:
        asserts(out, global_id(64), gpu.constant(1, "i32") == 0)


@port("OpenCL/annotation_tests/test_axiom", "pass", ints(1))
@gpu.kernel
def annotation_axiom(A):
    gpu.launch(grid=(64, 64), threads=64)
    if gpu.workgroup.x == 16 and gpu.workgroup.y == 16:
        if gpu.workgroup.x != 16 or gpu.workgroup.y != 16:
            A[0] = gpu.cast(gpu.thread, "i32")


@port("OpenCL/annotation_tests/test_loop_invariant_then_assert", "pass", ints(4096))
@gpu.kernel
def loop_invariant_then_assert(out):
    gpu.launch(grid=64, threads=64)
    x = gpu.constant(0, "i32")
    while x < 100:
        x = x + 1
    asserts(out, global_id(64), x == 100)


@port("OpenCL/array_bounds_tests/array_in_array", "fail", uints(64), uints(64))
@gpu.kernel
def array_in_array(given, out):
    gpu.launch(grid=8, threads=8)
    L = gpu.shared("u32", 64)
    G = given_shared(given, 8)
    L[G[global_id(8)]] = 64
    out[global_id(8)] = 1


@port("OpenCL/array_bounds_tests/array_in_array_2", "pass", ints(40))
@gpu.kernel
def array_in_array_2(out):
    gpu.launch(grid=1, threads=(5, 8))
    L = make_tensor("i32", 5)
    for k in gpu.unroll(5):
        L[k] = 10 * (k + 1)
    K = make_tensor("i32", 40)
    x, y = gpu.thread % 5, gpu.thread // 5
    K[y * x] = L[y % 5]
    out[gpu.thread] = K[y * x]


@port("OpenCL/array_bounds_tests/array_in_array_param", "fail", uints(64), uints(64))
@gpu.kernel
def array_in_array_param(G, out):
    gpu.launch(grid=8, threads=8)
    L = gpu.shared("u32", 64)
    L[G[global_id(8)]] = 64
    out[global_id(8)] = 1


@port("OpenCL/array_bounds_tests/negative_index_multi_dim_fail", "fail", ints(100))
@gpu.kernel
def negative_index(out):
    gpu.launch(grid=(1, 10), threads=(1, 10))
    L = gpu.shared("i32", Layout((10, 10), (10, 1)))
    L[gpu.workgroup.x - 1, gpu.workgroup.y * 10 + gpu.thread] = 1
    out[gpu.workgroup.y * 10 + gpu.thread] = 1


@port("OpenCL/array_bounds_tests/private_array", "pass", uints(16))
@gpu.kernel
def private_array(out):
    gpu.launch(grid=4, threads=4)
    L = make_tensor("u32", 16)
    L[global_id(4)] = global_id(4) * global_id(4)
    out[global_id(4)] = L[global_id(4)]


@port("OpenCL/array_bounds_tests/realign_simple", "pass", ints(256))
@gpu.kernel
def realign_simple(out):
    gpu.launch(grid=16, threads=16)
    L = gpu.shared("u32", 256)  # 256 bytes, one a thread: as elements of their own, for u8 shares words
    L[global_id(16)] = 1
    out[global_id(16)] = 1


@port("OpenCL/array_bounds_tests/realign_simple_fail", "fail", ints(320))
@gpu.kernel
def realign_simple_fail(out):
    gpu.launch(grid=16, threads=20)
    L = gpu.shared("u32", 256)
    L[global_id(20)] = 1
    out[global_id(20)] = 1


@port("OpenCL/array_bounds_tests/simple_array", "pass", ints(64))
@gpu.kernel
def simple_array(out):
    gpu.launch(grid=8, threads=8)
    L = gpu.shared("i32", 64)
    L[global_id(8)] = 64
    out[global_id(8)] = 1


@port("OpenCL/array_bounds_tests/simple_array_fail_lower", "fail", ints(64))
@gpu.kernel
def simple_array_fail_lower(out):
    gpu.launch(grid=8, threads=8)
    L = gpu.shared("i32", 64)
    L[0 - global_id(8)] = 64
    out[global_id(8)] = 1


@port("OpenCL/array_bounds_tests/simple_array_fail_upper", "fail", ints(64))
@gpu.kernel
def simple_array_fail_upper(out):
    gpu.launch(grid=8, threads=8)
    L = gpu.shared("i32", 25)
    L[global_id(8)] = 64
    out[global_id(8)] = 1


@port("OpenCL/array_bounds_tests/simple_array_fail_var", "fail", ints(64))
@gpu.kernel
def simple_array_fail_var(out):
    gpu.launch(grid=8, threads=8)
    L = gpu.shared("u32", 20)
    x = global_id(8)
    L[x] = x * x
    out[x] = 1


@port("OpenCL/arraycopy", "pass", floats(1024), ints(1024))
@gpu.kernel
def arraycopy(src, out):
    gpu.launch(grid=64, threads=16)
    dst = gpu.shared("f32", 1024)
    i = gpu.thread + 0
    while i < 1024:
        dst[i] = src[i]
        i = i + 16
    out[global_id(16)] = 1


@port("OpenCL/asymmetric_asserts/fail", "fail", ints(1024), 40)
@gpu.kernel
def asymmetric_asserts(out, x):
    gpu.launch(grid=32, threads=32)
    if x > 32:
        i = gpu.constant(0, "i32")
        while i < x - gpu.cast(gpu.thread, "i32"):
            i = i + 1
            # the source asserts of the other thread what its loop may not have reached
            asserts(out, global_id(32), i > gpu.cast(gpu.thread, "i32"))


@port("OpenCL/atomics/definitions_float", "pass", floats(1), ints(1024))
@gpu.kernel
def definitions_float(F, out):
    gpu.launch(grid=1, threads=1024)
    gpu.atomic_exchange(F, 0, 10.0)
    out[gpu.thread] = 1


@port("OpenCL/atomics/displaced", "fail", ints(1025), ints(2048), 3)
@gpu.kernel
def displaced(given, out, B):
    gpu.launch(grid=2, threads=1024)
    A = given_shared(given, 1024)
    A[gpu.thread + 1] = 42
    gpu.atomic_add(A, 1, B)  # word 1: the source's byte 1 lies in words 0 and 1
    out[global_id(1024)] = 1


@port("OpenCL/atomics/refined_atomic_abstraction/bad_local_counters", "fail", uints(768), uints(1))
@gpu.kernel
def bad_local_counters(out, zero):
    gpu.launch(grid=12, threads=64)
    counter = given_shared(zero, 64)
    j = gpu.atomic_add(counter, 0, 1)
    if j < 768:
        out[j] = global_id(64)


@port("OpenCL/atomics/refined_atomic_abstraction/intra_local_counters", "pass", uints(12, 64))
@gpu.kernel
def intra_local_counters(out):
    gpu.launch(grid=12, threads=64)
    counter = gpu.shared("u32", 1)
    if gpu.thread == 0:
        gpu.atomic_store(counter, 0, 0)
    gpu.barrier()
    j = gpu.atomic_add(counter, 0, 1)
    if j < 64:
        out[gpu.workgroup.x, j] = gpu.thread


@port("OpenCL/atomics/refined_atomic_abstraction/one_access", "pass", uints(1), floats(768), floats(768))
@gpu.kernel
def one_access(global_counter, global_array, out):
    gpu.launch(grid=12, threads=64)
    local_counter = gpu.shared("u32", 1)
    local_array = gpu.shared("f32", 64)
    if gpu.thread == 0:
        gpu.atomic_store(local_counter, 0, 0)
    gpu.barrier()
    i = gpu.atomic_add(global_counter, 0, 1)
    j = gpu.atomic_add(local_counter, 0, 1)
    if i < 768:
        global_array[i] = 1.0
    if j < 64:
        local_array[j] = 1.0
    out[global_id(64)] = 1.0


@port("OpenCL/atomics/refined_atomic_abstraction/many_accesses", "pass", uints(1), floats(4096), floats(768))
@gpu.kernel
def many_accesses(global_counter, global_array, out):
    gpu.launch(grid=12, threads=64)
    for _ in gpu.unroll(5):
        i = gpu.atomic_add(global_counter, 0, 1)
        if i < 4096:
            global_array[i] = 1.0
    out[global_id(64)] = 1.0


@port("OpenCL/atomics/refined_atomic_abstraction/access_in_loop", "pass", uints(1), floats(4096), floats(768))
@gpu.kernel
def access_in_loop(global_counter, global_array, out):
    gpu.launch(grid=12, threads=64)
    for _ in gpu.loop(100):
        i = gpu.atomic_add(global_counter, 0, 1)
        if i < 4096:
            global_array[i] = 1.0
        if i > global_id(64):
            break
    out[global_id(64)] = 1.0


@port("OpenCL/atomics/refined_atomic_abstraction/intra_access_in_loop", "pass", uints(12, 64))
@gpu.kernel
def intra_access_in_loop(out):
    gpu.launch(grid=12, threads=64)
    counter = gpu.shared("u32", 1)
    if gpu.thread == 0:
        gpu.atomic_store(counter, 0, 0)
    gpu.barrier()
    for _ in gpu.loop(100):
        j = gpu.atomic_add(counter, 0, 1)
        if j < 64:
            out[gpu.workgroup.x, j] = gpu.thread
        if j > gpu.thread:
            break


@port("OpenCL/barrier_intervals/test2", "fail", ints(256))
@gpu.kernel
def barrier_intervals_2(out):
    gpu.launch(grid=16, threads=16)
    p = gpu.shared("u32", 16)
    p[gpu.thread] = gpu.thread
    if gpu.thread == 0:
        gpu.barrier()
    p[gpu.thread] = gpu.thread
    gpu.barrier()
    p[gpu.thread] = gpu.thread
    out[global_id(16)] = 1


@port("OpenCL/barrier_intervals/test4", "pass", ints(256), rule=Rule.UNIFORM)
@gpu.kernel
def barrier_intervals_4(out):
    gpu.launch(grid=16, threads=16)
    p = gpu.shared("u32", 16)
    for _ in gpu.loop(100):
        p[gpu.thread] = gpu.thread
        gpu.barrier()
    if p[0] == 22:
        gpu.barrier()
        for _ in gpu.loop(100):
            p[gpu.thread] = gpu.thread
            gpu.barrier()
    out[global_id(16)] = 1


@port("OpenCL/basic1", "pass", ints(4096))
@gpu.kernel
def basic1(out):
    gpu.launch(grid=64, threads=64)
    a = gpu.constant(2, "i32")
    b = gpu.constant(3, "i32")
    out[global_id(64)] = a + b


@port("OpenCL/basicbarrier", "pass", ints(4096))
@gpu.kernel
def basicbarrier(out):
    gpu.launch(grid=64, threads=64)
    gpu.barrier()
    out[global_id(64)] = 5


@port("OpenCL/benign_race_tests/fail/writeafterread_addition", "fail", ints(1), ints(64))
@gpu.kernel
def writeafterread_addition(given, out):
    gpu.launch(grid=1, threads=64)
    A = given_shared(given, 64)
    v = A[0]
    A[0] = v + 1
    out[gpu.thread] = 1


@port("OpenCL/benign_race_tests/fail/writeafterread_otherval", "fail", ints(1), ints(64))
@gpu.kernel
def writeafterread_otherval(given, out):
    gpu.launch(grid=1, threads=64)
    A = given_shared(given, 64)
    B = gpu.shared("i32", 64)
    B[gpu.thread] = A[0]
    A[0] = 5
    out[gpu.thread] = 1


@port("OpenCL/benign_race_tests/fail/writereadarray_equality", "fail", ints(3), ints(2))
@gpu.kernel
def writereadarray_equality(given, out):
    gpu.launch(grid=1, threads=2)
    A = given_shared(given, 2)
    A[gpu.thread] = 0
    out[gpu.thread] = A[gpu.thread + 1]


@port("OpenCL/benign_race_tests/fail/writetiddiv64_offbyone", "fail", ints(65), 3)
@gpu.kernel
def writetiddiv64_offbyone(out, i):
    gpu.launch(grid=1, threads=65)
    A = gpu.shared("u32", 16)
    if i >= 0 and i < 16:
        A[gpu.cast(i, "u32")] = gpu.thread // 64
    out[gpu.thread] = 1


@port("OpenCL/benign_race_tests/fail/writewritearray_adversarial", "fail", ints(16), ints(64), 3, 4)
@gpu.kernel
def writewritearray_adversarial(given, out, i, j):
    gpu.launch(grid=1, threads=64)
    A = gpu.shared("i32", 16)
    B = given_shared(given, 64)
    if i >= 0 and i < 16 and j >= 0 and j < 16:
        A[gpu.cast(i, "u32")] = B[gpu.cast(j, "u32")]
    out[gpu.thread] = 1


@port("OpenCL/benign_race_tests/pass/writeafterread", "pass", ints(1), ints(64), rule=Rule.SAME_VALUE)
@gpu.kernel
def writeafterread(given, out):
    gpu.launch(grid=1, threads=64)
    A = given_shared(given, 64)
    v = A[0]
    A[0] = v
    out[gpu.thread] = 1


@port("OpenCL/benign_race_tests/pass/writeinloop", "pass", ints(4096), 3, 9, rule=Rule.SAME_VALUE)
@gpu.kernel
def writeinloop(out, start, end):
    gpu.launch(grid=64, threads=64)
    A = gpu.shared("i32", 1)
    for _ in gpu.loop(end, start=start):
        A[0] = 42
    out[global_id(64)] = 1


@port("OpenCL/benign_race_tests/pass/writetiddiv64", "pass", ints(4096), 3, rule=Rule.SAME_VALUE)
@gpu.kernel
def writetiddiv64(out, i):
    gpu.launch(grid=64, threads=64)
    A = gpu.shared("u32", 16)
    if i >= 0 and i < 16:
        A[gpu.cast(i, "u32")] = gpu.thread // 64
    out[global_id(64)] = 1


@port("OpenCL/benign_race_tests/pass/writezero", "pass", ints(4096), rule=Rule.SAME_VALUE)
@gpu.kernel
def writezero(out):
    gpu.launch(grid=64, threads=64)
    A = gpu.shared("i32", 1)
    A[0] = 0
    out[global_id(64)] = 1


@port("OpenCL/bitnot", "pass", ints(4096), 2)
@gpu.kernel
def bitnot(out, x):
    gpu.launch(grid=64, threads=64)
    out[global_id(64)] = ~x


@port("OpenCL/bitor", "pass", ints(4096), 0, 1)
@gpu.kernel
def bitor(out, x, y):
    gpu.launch(grid=64, threads=64)
    out[global_id(64)] = x | y


@port("OpenCL/bool_bv_test", "pass", ints(4096), 3)
@gpu.kernel
def bool_bv_test(out, j):
    gpu.launch(grid=64, threads=64)
    out[global_id(64)] = gpu.select(j != 0, 1, 0)


@port("OpenCL/ceil", "pass", floats(1024, 4))
@gpu.kernel
def ceil(io):
    gpu.launch(grid=1, threads=1024)
    for k in gpu.unroll(4):
        io[gpu.thread, k] = gpu.ceil(io[gpu.thread, k])


@port("OpenCL/conditional_int_test", "pass", ints(4096), 3, 4)
@gpu.kernel
def conditional_int_test(out, x, y):
    gpu.launch(grid=64, threads=64)
    r = gpu.constant(0, "i32")
    if x != 0:
        r = r + 1
    elif x == y:
        r = r + 2
    out[global_id(64)] = r


@port("OpenCL/derived_from_uniformity_analysis_bug", "pass", ints(4096))
@gpu.kernel
def uniformity_analysis_bug(out):
    gpu.launch(grid=64, threads=64)
    n = gpu.constant(0, "i32")
    for _ in gpu.loop(100, start=gpu.thread):
        n = n + 1
    j = gpu.constant(100, "i32")
    while j > 0:
        j = j - 1
    out[global_id(64)] = n + j


@port("OpenCL/derivedfrombinomialoptions", "pass", floats(256), floats(256), floats(65536), floats(65536))
@gpu.kernel
def derivedfrombinomialoptions(s, pu_by_df, call_value, call_buffer):
    gpu.launch(grid=256, threads=256)
    call_value[global_id(256)] = s[gpu.thread]
    call_buffer[global_id(256)] = pu_by_df[gpu.thread]


@port("OpenCL/divergence/race_and_divergence", "fail", ints(1024), ints(1))
@gpu.kernel
def race_and_divergence(A, B):
    gpu.launch(grid=1, threads=1024)
    t = A[gpu.thread]
    if t == 0:
        gpu.barrier(storage=True)
    B[0] = t


@port("OpenCL/enabled/dominator", "pass", ints(32))
@gpu.kernel
def dominator(out):
    gpu.launch(grid=1, threads=32)
    A = gpu.shared("i32", 32)
    for _ in gpu.loop(32, start=gpu.workgroup.x, step=32):
        A[gpu.thread] = 1
        gpu.barrier()
        for _c4 in gpu.loop(32, start=gpu.thread, step=16):
            A[31 - gpu.thread] = A[31 - gpu.thread] - 5
        gpu.barrier()
        for _c4 in gpu.loop(32, start=gpu.thread, step=16):
            out[gpu.thread] = A[gpu.thread]


@port("OpenCL/enabled/not_predicated", "pass", ints(16))
@gpu.kernel
def not_predicated(A):
    gpu.launch(grid=1, threads=16)
    asserts(A, gpu.thread, gpu.thread < 16)


@port("OpenCL/expression_simplification/and_test", "fail", floats(512), floats(512))
@gpu.kernel
def and_test(A, B):
    gpu.launch(grid=2, threads=256)
    A[global_id(256)] = 0.0
    for i in gpu.loop(42):
        B[i] = gpu.cast(global_id(256), "f32")


@port("OpenCL/float_constant_test2", "pass", floats(64, 64, 64))
@gpu.kernel
def float_constant_test2(out):
    gpu.launch(grid=(64, 64), threads=64)
    out[gpu.thread, gpu.workgroup.x, gpu.workgroup.y] = gpu.cast(gpu.constant(2, "i32"), "f32")


@port("OpenCL/function_wide/pass/uses_array_element", "pass", uints(2048), uints(2048))
@gpu.kernel
def uses_array_element(A, out):
    gpu.launch(grid=2, threads=1024)
    A[global_id(1024)] = 1
    for _ in gpu.loop(1024):
        A[global_id(1024)] = 1
    out[global_id(1024)] = A[global_id(1024)]


@port("OpenCL/get_global_id", "pass", floats(512 * 256))
@gpu.kernel
def get_global_id(A):
    gpu.launch(grid=256, threads=512)
    A[global_id(512)] = A[global_id(512)] + 1.0


@port("OpenCL/get_global_offset", "pass", ints(4160))
@gpu.kernel
def get_global_offset(out):
    gpu.launch(grid=64, threads=64)
    i = global_id(64) + 64
    asserts(out, i, i >= 64)


@port("OpenCL/globalarray/pass2", "pass", uints(8))
@gpu.kernel
def globalarray_pass2(p):
    gpu.launch(grid=1, threads=8)
    A = make_tensor("u32", 8)
    for k in gpu.unroll(8):
        A[k] = k
    if A[gpu.thread] != gpu.thread:
        p[0] = gpu.thread


@port("OpenCL/induction_variable", "pass", ints(2048))
@gpu.kernel
def induction_variable(out):
    gpu.launch(grid=2, threads=1024)
    data = gpu.shared("u32", 10240)
    j = gpu.constant(0, "u32")
    for _ in gpu.loop(10):
        data[j + gpu.thread] = gpu.thread
        j = j + 1024
    out[global_id(1024)] = 1


@port("OpenCL/inference_tests/access_means_enabled", "pass", ints(1024))
@gpu.kernel
def access_means_enabled(out):
    gpu.launch(grid=32, threads=32)
    A = gpu.shared("i32", 32)
    A[gpu.thread] = 42
    gpu.barrier()
    for j in gpu.loop(gpu.workgroup.x):
        for _k in gpu.loop(gpu.workgroup.x):
            if j > gpu.thread:
                for _i in gpu.loop(gpu.workgroup.x):
                    A[gpu.thread] = A[gpu.thread] + 42
            gpu.barrier()
    A[(gpu.thread + 1) % 32] = 1
    out[global_id(32)] = 1


@port("OpenCL/inference_tests/disabled_invariant", "pass", ints(32))
@gpu.kernel
def disabled_invariant(out):
    gpu.launch(grid=1, threads=32)
    A = gpu.shared("i32", 32)
    for _c2 in gpu.loop(32, start=gpu.workgroup.x, step=32):
        A[gpu.thread] = 1
        gpu.barrier()
        r = gpu.constant(0, "i32")
        for _c4 in gpu.loop(32, start=gpu.thread, step=16):
            r = A[31 - gpu.thread]
        gpu.barrier()
        for _c4 in gpu.loop(32, start=gpu.thread, step=16):
            r = r + A[gpu.thread]
        out[gpu.thread] = r


@port("OpenCL/inference_tests/lower_bound", "pass", ints(1024), 3, 4, 5)
@gpu.kernel
def lower_bound(out, x, y, z):
    gpu.launch(grid=32, threads=32)
    for i in gpu.loop(gpu.select(x != 0, y, z), start=gpu.constant(0, "i32")):
        asserts(out, global_id(32), i >= 0)


@port("OpenCL/inference_tests/strided_invariant", "pass", ints(1 << 20))
@gpu.kernel
def strided_invariant(out):
    gpu.launch(grid=1024, threads=1024)
    for _i in gpu.loop(100):
        for j in gpu.loop(1 << 16, step=16):
            asserts(out, global_id(1024), j % 16 == 0)


@port("OpenCL/inter_group_and_barrier_flag_tests/fail/missing_global_barrier_flag", "fail", ints(1 << 20))
@gpu.kernel
def missing_global_barrier_flag(p):
    gpu.launch(grid=1024, threads=1024)
    p[global_id(1024)] = 1
    gpu.barrier()
    if gpu.thread < 1023:
        p[global_id(1024) + 1] = 2


@port("OpenCL/inter_group_and_barrier_flag_tests/fail/no_barrier_flags", "fail", ints(1 << 20))
@gpu.kernel
def no_barrier_flags(out):
    gpu.launch(grid=1024, threads=1024)
    p = gpu.shared("u32", 1025)
    p[gpu.thread] = global_id(1024)
    gpu.barrier(storage=True)  # orders tensors, not shared memory
    p[gpu.thread + 1] = global_id(1024)
    out[global_id(1024)] = 1


@port("OpenCL/inter_group_and_barrier_flag_tests/fail/sync_within_group_wrong_flag", "fail", ints(1 << 20))
@gpu.kernel
def sync_within_group_wrong_flag(p):
    gpu.launch(grid=1024, threads=1024)
    p[global_id(1024)] = 1
    gpu.barrier()
    if gpu.thread < 1023:
        p[global_id(1024) + 1] = 2


@port("OpenCL/inter_group_and_barrier_flag_tests/fail/bad_read_then_write", "fail", ints(1), ints(1 << 20))
@gpu.kernel
def bad_read_then_write(given, out):
    gpu.launch(grid=1024, threads=1024)
    p = given_shared(given, 1024)
    y = p[0]  # every thread reads, and no barrier orders shared memory
    if gpu.thread == 1:
        p[0] = 0
    out[global_id(1024)] = y


@port("OpenCL/inter_group_and_barrier_flag_tests/fail/bad_write_then_read", "fail", ints(1), ints(1 << 20))
@gpu.kernel
def bad_write_then_read(given, out):
    gpu.launch(grid=1024, threads=1024)
    p = given_shared(given, 1024)
    if gpu.thread == 0:
        p[0] = 1
    if gpu.thread == 1:
        out[global_id(1024)] = p[0]


@port("OpenCL/inter_group_and_barrier_flag_tests/pass/global_barrier", "pass", ints(1 << 20))
@gpu.kernel
def global_barrier(p):
    gpu.launch(grid=1024, threads=1024)
    p[global_id(1024)] = 1
    gpu.barrier(storage=True)
    if gpu.thread < 1023:
        p[global_id(1024) + 1] = 2


@port("OpenCL/inter_group_and_barrier_flag_tests/pass/sync_within_group", "pass", ints(1 << 20))
@gpu.kernel
def sync_within_group(p):
    gpu.launch(grid=1024, threads=1024)
    p[global_id(1024)] = 1
    gpu.barrier(storage=True)
    if gpu.thread < 1023:
        p[global_id(1024) + 1] = 2


@port(
    "OpenCL/inter_group_and_barrier_flag_tests/pass/local_id_benign_write_write",
    "pass",
    uints(1024),
    rule=Rule.SAME_VALUE,
)
@gpu.kernel
def local_id_benign_write_write(p):
    gpu.launch(grid=1024, threads=1024)
    p[gpu.thread] = gpu.thread


@port("OpenCL/inter_group_and_barrier_flag_tests/pass/read_then_write", "pass", ints(1), ints(1 << 20))
@gpu.kernel
def read_then_write(given, out):
    gpu.launch(grid=1024, threads=1024)
    p = given_shared(given, 1024)
    if gpu.thread == 0:
        out[global_id(1024)] = p[0]
    gpu.barrier()
    if gpu.thread == 1:
        p[0] = 0


@port("OpenCL/inter_group_and_barrier_flag_tests/pass/write_then_read", "pass", ints(1), ints(1 << 20))
@gpu.kernel
def write_then_read(given, out):
    gpu.launch(grid=1024, threads=1024)
    p = given_shared(given, 1024)
    if gpu.thread == 0:
        p[0] = 7
    gpu.barrier()
    if gpu.thread == 1:
        out[global_id(1024)] = p[0]


@port("OpenCL/misc/fail/2d_array_race", "fail", ints(256, 256))
@gpu.kernel
def array_2d_race(G):
    gpu.launch(grid=(4, 4), threads=(64, 64))
    L = gpu.shared("i32", Layout((64, 64), (64, 1)))
    x, y = gpu.thread % 64, gpu.thread // 64
    L[y, x] = G[gpu.workgroup.y * 64 + y, gpu.workgroup.x * 64 + x]
    if y < 63:
        L[y + 1, x] = L[y + 1, x] + 1
    G[gpu.workgroup.y * 64 + y, gpu.workgroup.x * 64 + x] = L[y, x]


@port("OpenCL/misc/fail/4d_array_race", "fail", ints(1024), ints(1024))
@gpu.kernel
def array_4d_race(G, out):
    gpu.launch(grid=4, threads=256)
    L = gpu.shared("i32", Layout((2, 3, 4, 5), (60, 20, 5, 1)))
    L[1, 2, 3, 3] = G[global_id(256)]
    out[global_id(256)] = 1


@port("OpenCL/misc/fail/4d_array_of_vectors_race", "fail", floats(1024, 4), ints(1024))
@gpu.kernel
def array_4d_of_vectors_race(G, out):
    gpu.launch(grid=4, threads=256)
    L = gpu.shared("f32", Layout((2, 3, 4, 5, 4), (240, 80, 20, 4, 1)))
    L[1, 2, 3, 3, 2] = G[global_id(256), 0]
    out[global_id(256)] = 1


@port("OpenCL/misc/fail/4d_array_with_casting", "fail", ints(256), ints(256))
@gpu.kernel
def array_4d_with_casting(G, out):
    gpu.launch(grid=4, threads=64)
    L = gpu.shared("i32", 120)
    if global_id(64) == 0:
        L[60 + 2 * 20 + 3 * 5 + 3] = G[0]
    if global_id(64) == 1:
        L[60 + 2 * 20 + 3 * 5 + 3] = 42  # the source writes byte 2 of that element
    out[global_id(64)] = 1


@port("OpenCL/misc/fail/loop_abstraction_traces_1", "fail", ints(2048))
@gpu.kernel
def loop_abstraction_traces_1(out):
    gpu.launch(grid=128, threads=16)
    i = gpu.constant(0, "u32")
    while i < 100:
        i = i + 1
    asserts(out, global_id(16), i > 100)  # the second loop's invariant at its entry


@port("OpenCL/misc/fail/loop_abstraction_traces_2", "fail", ints(2048))
@gpu.kernel
def loop_abstraction_traces_2(out):
    gpu.launch(grid=128, threads=16)
    i = gpu.constant(0, "u32")
    while i < 200:
        i = i + 1
    while i < 300:
        i = i + 1
        asserts(out, global_id(16), i < 300)  # the last loop's invariant at its back edge


@port("OpenCL/misc/fail/miscfail10", "fail", uints(256), uints(256), uints(256))
@gpu.kernel
def miscfail10(h1, given, out):
    gpu.launch(grid=64, threads=64)
    l = given_shared(given, 64)
    for i in gpu.loop(256):
        h1[i] = h1[i] + l[i]


@port("OpenCL/misc/fail/miscfail3", "fail", ints(16))
@gpu.kernel
def opencl_miscfail3(out):
    gpu.launch(grid=1, threads=16)
    A = gpu.shared("u32", 16)
    if gpu.thread != 0:
        A[gpu.thread] = gpu.thread
    for i in gpu.loop(100):
        if i == 1:
            A[0] = gpu.thread
    out[gpu.thread] = 1


@port("OpenCL/misc/fail/miscfail6", "fail", ints(2048), ints(1024), 5)
@gpu.kernel
def opencl_miscfail6(given, out, offset):
    gpu.launch(grid=1, threads=1024)
    A = given_shared(given, 1024)
    if offset >= 0 and offset < 1024:
        t = A[gpu.thread + gpu.cast(offset, "u32")]
        A[gpu.thread] = A[gpu.thread] + t
    out[gpu.thread] = 1


@port("OpenCL/misc/fail/miscfail7", "fail", ints(1 << 20))
@gpu.kernel
def opencl_miscfail7(out):
    gpu.launch(grid=1024, threads=1024)
    if gpu.thread != 0:
        asserts(out, global_id(1024), gpu.thread == 0)
    else:
        asserts(out, global_id(1024), gpu.thread != 0)


@port("OpenCL/misc/fail/miscfail9", "fail", floats(1), floats(1 << 20))
@gpu.kernel
def opencl_miscfail9(A, out):
    gpu.launch(grid=1024, threads=1024)
    x = gpu.cast(global_id(1024), "f32")
    A[0] = gpu.cos(x)
    out[global_id(1024)] = gpu.sin(x)


@port("OpenCL/misc/fail/vector_element_race", "fail", floats(4, 4))
@gpu.kernel
def vector_element_race(G):
    gpu.launch(grid=4, threads=64)
    G[3, 1] = gpu.cast(global_id(64), "f32")


@port("OpenCL/misc/pass/misc1", "pass", ints(4096), ints(1024), 2000)
@gpu.kernel
def opencl_misc1(given, out, offset):
    gpu.launch(grid=1, threads=1024)
    A = given_shared(given, 1024)
    if offset > 1024 and offset < 3000:
        if gpu.thread < 10:
            A[gpu.thread] = A[gpu.thread] + A[gpu.thread + gpu.cast(offset, "u32")]
    out[gpu.thread] = 1


@port("OpenCL/misc/pass/misc11", "pass", ints(128), ints(16384))
@gpu.kernel
def opencl_misc11(given, out):
    gpu.launch(grid=128, threads=128)
    A = given_shared(given, 128)
    if A[gpu.thread] == 0:
        asserts(out, global_id(128), A[gpu.thread] == 0)


@port("OpenCL/misc/pass/misc12", "pass", ints(256))
@gpu.kernel
def opencl_misc12(out):
    gpu.launch(grid=16, threads=16)
    for _ in gpu.loop(gpu.workgroup.x):
        gpu.barrier()
    out[global_id(16)] = 1


@port("OpenCL/misc/pass/misc13", "pass", ints(256))
@gpu.kernel
def opencl_misc13(B):
    gpu.launch(grid=16, threads=16)
    A = make_tensor("i32", 1)
    A[0] = 1
    B[global_id(16)] = A[0]


@port("OpenCL/misc/pass/misc14", "pass", uints(10))
@gpu.kernel
def opencl_misc14(A):
    gpu.launch(grid=1, threads=10)
    x = make_tensor("u32", 10)
    for k in gpu.unroll(10):
        x[k] = k
    A[gpu.thread] = x[gpu.thread]


@port("OpenCL/misc/pass/misc15", "pass", uints(2), ints(2))
@gpu.kernel
def opencl_misc15(A, out):
    gpu.launch(grid=1, threads=2)
    x = gpu.constant(3, "i32")  # the source is verified for that argument
    if x == 3:
        A[gpu.thread] = 3
    else:
        A[0] = gpu.thread
    out[gpu.thread] = 1


@port("OpenCL/misc/pass/misc16", "pass", floats(4096, 4), floats(4096, 4))
@gpu.kernel
def opencl_misc16(p, n):
    gpu.launch(grid=64, threads=64)
    for k in gpu.unroll(4):
        p[global_id(64), k] = p[global_id(64), k] ** n[global_id(64), k]


@port("OpenCL/misc/pass/misc17", "pass", ints(4), 3)
@gpu.kernel
def opencl_misc17(out, x):
    gpu.launch(grid=2, threads=2)
    first = gpu.maximum(0, -32 * x)
    for i in gpu.loop(100, start=first):
        asserts(out, global_id(2), i >= first)


@port("OpenCL/misc/pass/misc18", "pass", uints(2), uints(4))
@gpu.kernel
def opencl_misc18(values, output):
    gpu.launch(grid=2, threads=2)
    results = gpu.shared("f32", 64)
    results[gpu.thread] = gpu.cast(values[gpu.thread], "f32")
    output[global_id(2)] = 0
    gpu.barrier()


@port("OpenCL/misc/pass/misc2", "pass", ints(32), ints(32))
@gpu.kernel
def opencl_misc2(given, out):
    gpu.launch(grid=1, threads=32)
    shared = given_shared(given, 32)
    j = gpu.constant(1, "u32")
    while j > 0:
        other = gpu.thread ^ j
        if other > gpu.thread:
            if (gpu.thread & 2) == 0:
                shared[other] = shared[gpu.thread]
        gpu.barrier()
        j = j // 2
    out[gpu.thread] = 1


@port("OpenCL/misc/pass/misc4", "pass", floats(1 << 20), 1.0, 2.0)
@gpu.kernel
def opencl_misc4(out, x, y):
    gpu.launch(grid=1024, threads=1024)
    out[global_id(1024)] = gpu.minimum(x, y)


@port("OpenCL/misc/pass/misc5", "pass", ints(1 << 20))
@gpu.kernel
def opencl_misc5(out):
    gpu.launch(grid=1024, threads=1024)
    c = gpu.minimum(gpu.constant(1, "i32"), gpu.constant(2, "i32"))
    asserts(out, global_id(1024), c == 1)


@port("OpenCL/misc/pass/misc6", "pass", floats(100, 1024, 8))
@gpu.kernel
def opencl_misc6(p):
    gpu.launch(grid=64, threads=16)
    for i in gpu.loop(100):
        for k in gpu.unroll(8):
            p[i, global_id(16), k] = gpu.cast(global_id(16), "f32")


@port("OpenCL/misc/pass/misc7", "pass", floats(1 << 20), ints(1 << 20))
@gpu.kernel
def opencl_misc7(values, out):
    gpu.launch(grid=1024, threads=1024)
    v = values[global_id(1024)]
    if v > 1e30:
        out[global_id(1024)] = 1
    else:
        out[global_id(1024)] = 0


@port("OpenCL/modifyparam", "pass", ints(4096), 3)
@gpu.kernel
def modifyparam(out, a):
    gpu.launch(grid=64, threads=64)
    a = gpu.constant(5, "i32")
    out[global_id(64)] = a


@port("OpenCL/multidimarrays/test1", "pass", ints(4096), rule=Rule.UNDEFINED)
@gpu.kernel
def multidimarrays_1(out):
    gpu.launch(grid=64, threads=64)
    A = gpu.shared("i32", Layout((10, 5), (5, 1)))
    out[global_id(64)] = A[3, 4]


@port("OpenCL/multidimarrays/test3", "pass", ints(4096), rule=Rule.UNDEFINED)
@gpu.kernel
def multidimarrays_3(out):
    gpu.launch(grid=64, threads=64)
    A = gpu.shared("i32", Layout((40, 39, 38), (39 * 38, 38, 1)))
    out[global_id(64)] = A[5, 4, 3]


@port("OpenCL/multidimarrays/test4", "pass", ints(8))
@gpu.kernel
def multidimarrays_4(out):
    gpu.launch(grid=(2, 2, 2), threads=(16, 16, 16))
    A = gpu.shared("u32", Layout((16, 16, 16), (256, 16, 1)))
    x, y, z = gpu.thread % 16, gpu.thread // 16 % 16, gpu.thread // 256
    A[z, y, x] = x
    if gpu.thread == 0:
        out[gpu.workgroup.x + 2 * gpu.workgroup.y + 4 * gpu.workgroup.z] = 1


@port("OpenCL/no_log/fail", "fail", ints(16))
@gpu.kernel
def no_log_fail(out):
    gpu.launch(grid=1, threads=16)
    A = gpu.shared("u32", 16)
    A[gpu.thread] = gpu.thread
    asserts(out, gpu.thread, gpu.thread > 16)  # the source asserts that nothing was written


@port("OpenCL/no_log/pass", "pass", ints(16), rule=Rule.SAME_VALUE)
@gpu.kernel
def no_log_pass(out):
    gpu.launch(grid=1, threads=16)
    A = gpu.shared("u32", 16)
    A[0] = gpu.thread  # a race that the source's verifier is told not to look for
    out[gpu.thread] = 1


@port("OpenCL/noraceduetoreturn", "pass", floats(4096))
@gpu.kernel
def noraceduetoreturn(out):
    gpu.launch(grid=64, threads=64)
    A = gpu.shared("f32", 8)
    if gpu.thread != 0:
        return
    A[4] = 26.8
    out[global_id(64)] = 1.0


@port("OpenCL/pointeranalysistests/manyprocedures", "pass", *(floats((1 << 20) + 1) for _ in range(6)), 3)
@gpu.kernel
def manyprocedures(p, q, r, s, t, u, x):
    gpu.launch(grid=1024, threads=1024)
    i = global_id(1024)
    v = gpu.cast(i, "f32")
    if x > 4:
        p[i] = v
    else:
        q[i] = v
    for a in (r, s, t, t, u, s, r, r, t, t, s, t):
        a[i + 1] = v


@port("OpenCL/pointeranalysistests/testbasicaliasing", "pass", floats(1 << 20), floats(1 << 20))
@gpu.kernel
def opencl_testbasicaliasing(p, q):
    gpu.launch(grid=1024, threads=1024)
    for _ in gpu.loop(100):
        p[global_id(1024)] = p[global_id(1024)] + 1.0
    gpu.barrier(storage=True)
    for _ in gpu.loop(100):
        q[global_id(1024)] = q[global_id(1024)] + 1.0


@port("OpenCL/pointeranalysistests/testbasicaliasing2", "pass", floats(64), floats(4096))
@gpu.kernel
def testbasicaliasing2(given, out):
    gpu.launch(grid=64, threads=64)
    p, q = given_shared(given, 64), given_shared(given, 64)
    for _ in gpu.loop(100):
        p[gpu.thread] = p[gpu.thread] + 1.0
    gpu.barrier()
    for _ in gpu.loop(100):
        q[gpu.thread] = q[gpu.thread] + 1.0
    out[global_id(64)] = p[gpu.thread] + q[gpu.thread]


@port("OpenCL/pointeranalysistests/testbasicpointerarithmetic", "pass", floats(256 * 128 + 10))
@gpu.kernel
def testbasicpointerarithmetic(p):
    gpu.launch(grid=128, threads=256)
    for _ in gpu.loop(100):
        p[global_id(256) + 10] = p[global_id(256) + 10] + 1.0


@port(
    "OpenCL/pointertests/test_copy_between_memory_spaces",
    "pass",
    floats(1),
    floats(10),
    ints(4096),
    rule=Rule.SAME_VALUE,
)
@gpu.kernel
def test_copy_between_memory_spaces(A, given, out):
    gpu.launch(grid=64, threads=64)
    B = given_shared(given, 64)
    x = gpu.constant(0, "i32")
    if B[0] > 0.0:
        x = x + 1
    gpu.barrier()
    if A[0] > 0.0:
        B[0] = A[0]
    out[global_id(64)] = x


@port("OpenCL/pointertests/test_return_pointer", "pass", ints(65536))
@gpu.kernel
def test_return_pointer(out):
    gpu.launch(grid=64, threads=1024)
    A = gpu.shared("u32", 1024)
    A[gpu.thread] = gpu.thread
    out[global_id(1024)] = 1


@port("OpenCL/pow2/64bit_loopcounter", "pass", floats(64), 100)
@gpu.kernel
def loopcounter_64bit(A, n):
    gpu.launch(grid=2, threads=32)
    i = n + 0
    while i > 0:
        A[global_id(32)] = 0.0
        i = i >> 1


@port("OpenCL/pow2/64bit_relational", "pass", floats(64), 100)
@gpu.kernel
def relational_64bit(A, n):
    gpu.launch(grid=2, threads=32)
    i, j = n + 0, gpu.constant(1, "i32")
    while i > 0:
        A[global_id(32)] = 0.0
        j = j * 2
        i = i >> 1


@port("OpenCL/privatememoryaccess/privatevariabletest", "pass", ints(4096))
@gpu.kernel
def privatevariabletest(out):
    gpu.launch(grid=64, threads=64)
    x = gpu.constant(10, "i32")
    asserts(out, global_id(64), x == 10)


@port("OpenCL/privatememoryaccess/privatevariabletest2", "pass", ints(4096))
@gpu.kernel
def privatevariabletest2(out):
    gpu.launch(grid=64, threads=64)
    x = make_tensor("i32", 1)
    x[0] = 10
    x[0] = 20
    asserts(out, global_id(64), x[0] == 20)


@port("OpenCL/reducedstrength_generalised", "pass", ints(2048))
@gpu.kernel
def reducedstrength_generalised(out):
    gpu.launch(grid=2, threads=1024)
    data = gpu.shared("u32", 10240)
    for i in gpu.loop(10240, step=1024):
        for j in gpu.loop(10240, start=i, step=1024):
            data[j + gpu.thread] = gpu.thread
    out[global_id(1024)] = 1


@port("OpenCL/report_global_id/test2", "fail", ints(16), 0)
@gpu.kernel
def report_global_id(p, x):
    gpu.launch(grid=5, threads=2)
    if global_id(2) == 0:
        p[global_id(2)] = 0
    if global_id(2) == 7:
        if x >= 0 and x < 16:
            p[gpu.cast(x, "u32")] = 45


@port("OpenCL/return_tests/multiloop_return", "pass", uints(4096))
@gpu.kernel
def multiloop_return(out):
    gpu.launch(grid=64, threads=64)
    result = gpu.constant(0, "u32")
    for j in gpu.loop(100):
        result = result + j
    for k in gpu.loop(100):
        result = result + k
        for w in gpu.loop(gpu.thread):
            result = result + w
            if result > 1000:
                return
    for q in gpu.loop(100):
        result = result + q
    out[global_id(64)] = result


@port("OpenCL/rightshiftequals", "pass", uints(4096))
@gpu.kernel
def rightshiftequals(out):
    gpu.launch(grid=64, threads=64)
    x = gpu.constant(1, "u32")
    y = gpu.constant(2, "u32")
    out[global_id(64)] = (x >> x) + (y >> x)


@port("OpenCL/saturate/ssub", "pass", ints(1024), ints(1024))
@gpu.kernel
def saturate_ssub(A, B):
    gpu.launch(grid=1, threads=1024)
    a, b = A[gpu.thread], B[gpu.thread]
    A[gpu.thread] = gpu.select((b > 0) & (a < b - 2147483647 - 1), -2147483648, a - b)


@port("OpenCL/saturate/uadd", "pass", uints(1024), uints(1024))
@gpu.kernel
def saturate_uadd(A, B):
    gpu.launch(grid=1, threads=1024)
    A[gpu.thread] = gpu.select(A[gpu.thread] > 4294967295 - B[gpu.thread], 4294967295, A[gpu.thread] + B[gpu.thread])


@port("OpenCL/saturate/usub", "pass", uints(1024), uints(1024))
@gpu.kernel
def saturate_usub(A, B):
    gpu.launch(grid=1, threads=1024)
    A[gpu.thread] = gpu.select(A[gpu.thread] < B[gpu.thread], 0, A[gpu.thread] - B[gpu.thread])


@port("OpenCL/shared_int", "fail", ints(4096))
@gpu.kernel
def opencl_shared_int(out):
    gpu.launch(grid=64, threads=64)
    a = gpu.shared("u32", 1)
    a[0] = gpu.thread
    out[global_id(64)] = 1


@port("OpenCL/shuffle/shuffle2", "pass", ints(1024, 4), ints(1024, 4), ints(1024, 8), uints(8))
@gpu.kernel
def shuffle2(A, B, C, mask):
    gpu.launch(grid=1, threads=1024)
    lanes = make_tensor("i32", 8)
    for k in gpu.unroll(4):
        lanes[k] = A[gpu.thread, k]
        lanes[4 + k] = B[gpu.thread, k]
    for k in gpu.unroll(8):
        C[gpu.thread, k] = lanes[mask[k] & 7]


@port("OpenCL/skeletonbinomialoptions", "pass", ints(4096))
@gpu.kernel
def skeletonbinomialoptions(out):
    gpu.launch(grid=64, threads=64)
    i = gpu.constant(1024, "i32")
    while i > 0:
        base = gpu.constant(0, "i32")
        while base < i:
            gpu.barrier()
            for _ in gpu.loop(16):
                gpu.barrier()
            gpu.barrier()
            base = base + 240
        i = i - 16
    out[global_id(64)] = 1


@port("OpenCL/sourcelocation_tests/assert", "fail", ints(4096))
@gpu.kernel
def sourcelocation_assert(out):
    gpu.launch(grid=64, threads=64)
    x = gpu.constant(0, "i32")
    while x < 100:
        x = x + 1
    asserts(out, global_id(64), x == 101)


@port("OpenCL/sourcelocation_tests/barrier_divergence/pass", "pass", ints(1 << 20))
@gpu.kernel
def barrier_divergence_pass(out):
    gpu.launch(grid=1024, threads=1024)
    a, b = gpu.shared("u32", 1024), gpu.shared("u32", 1024)
    a[gpu.thread] = gpu.thread
    gpu.barrier(storage=True)
    b[gpu.thread] = gpu.thread
    out[global_id(1024)] = 1


@port("OpenCL/sourcelocation_tests/ensures/fail", "fail", ints(1 << 20))
@gpu.kernel
def ensures_fail(out):
    gpu.launch(grid=1024, threads=1024)
    a = gpu.constant(1, "i32")  # the callee promises a / 2 > 0 for every a > 0
    asserts(out, global_id(1024), a // 2 > 0)


@port("OpenCL/sourcelocation_tests/ensures/pass", "pass", ints(4096))
@gpu.kernel
def ensures_pass(out):
    gpu.launch(grid=64, threads=64)
    x = gpu.constant(5, "i32") // 2
    asserts(out, global_id(64), x >= 0)


@port("OpenCL/sourcelocation_tests/needs_source_location_ensures", "pass", uints(1))
@gpu.kernel
def needs_source_location_ensures(p):
    gpu.launch(grid=1024, threads=1024)
    if global_id(1024) == 24:
        p[0] = global_id(1024)


@port("OpenCL/sourcelocation_tests/needs_source_location_requires", "pass", uints(32))
@gpu.kernel
def needs_source_location_requires(p):
    gpu.launch(grid=1024, threads=1024)
    i = gpu.constant(0, "u32")
    while i < global_id(1024):
        i = i + 1
    if global_id(1024) == 24:
        p[i] = global_id(1024)


@port("OpenCL/sourcelocation_tests/race_from_call", "fail", ints(17), ints(32))
@gpu.kernel
def race_from_call(given, out):
    gpu.launch(grid=2, threads=16)
    p = given_shared(given, 16)
    out[global_id(16)] = p[gpu.thread]
    p[gpu.thread + 1] = 1


@port("OpenCL/sourcelocation_tests/race_from_call_in_loop", "fail", ints(17), ints(32))
@gpu.kernel
def race_from_call_in_loop(given, out):
    gpu.launch(grid=2, threads=16)
    p = given_shared(given, 16)
    for _ in gpu.loop(100):
        out[global_id(16)] = p[gpu.thread]
    p[gpu.thread + 1] = 1


@port("OpenCL/sourcelocation_tests/race_with_loop", "fail", ints(1024), ints(2048))
@gpu.kernel
def race_with_loop(given, out):
    gpu.launch(grid=2, threads=1024)
    p = given_shared(given, 1024)
    x = gpu.constant(0, "i32")
    for i in gpu.loop(100):
        x = x + p[i]
        x = x + p[i + 1]
    p[gpu.thread] = x
    out[global_id(1024)] = x


@port("OpenCL/sourcelocation_tests/races/fail/read_write", "fail", ints(1024), ints(1 << 20))
@gpu.kernel
def races_read_write(given, out):
    gpu.launch(grid=1024, threads=1024)
    a = given_shared(given, 1024)
    b = gpu.shared("i32", 1024)
    b[gpu.thread] = a[8]
    a[gpu.thread] = 1
    out[global_id(1024)] = 1


@port("OpenCL/sourcelocation_tests/races/fail/write_read", "fail", ints(1024), ints(1 << 20))
@gpu.kernel
def races_write_read(given, out):
    gpu.launch(grid=1024, threads=1024)
    a = given_shared(given, 1024)
    b = gpu.shared("i32", 1024)
    a[gpu.thread] = 1
    b[gpu.thread] = a[3]
    out[global_id(1024)] = 1


@port("OpenCL/sourcelocation_tests/races/fail/write_write/elem_width_16", "fail", uints(4))
@gpu.kernel
def write_write_elem_width_16(q):
    gpu.launch(grid=1024, threads=1024)
    q[3] = gpu.thread


@port("OpenCL/sourcelocation_tests/races/fail/write_write/loop", "fail", ints(1 << 20))
@gpu.kernel
def write_write_loop(out):
    gpu.launch(grid=1024, threads=1024)
    p = gpu.shared("u32", 1024)
    for _ in gpu.loop(100):
        if gpu.thread == 5:
            p[gpu.thread] = gpu.thread
        if gpu.thread == 4:
            p[gpu.thread + 1] = gpu.thread
    out[global_id(1024)] = 1


@port("OpenCL/sourcelocation_tests/races/fail/write_write/normal", "fail", ints(1 << 20))
@gpu.kernel
def write_write_normal(out):
    gpu.launch(grid=1024, threads=1024)
    a = gpu.shared("u32", 1024)
    a[gpu.thread] = gpu.thread
    if gpu.thread == 0:
        a[7] = 0
    out[global_id(1024)] = 1


@port("OpenCL/sourcelocation_tests/races/pass/no_race", "pass", ints(1024), ints(1 << 20))
@gpu.kernel
def races_no_race(given, out):
    gpu.launch(grid=1024, threads=1024)
    p, q = given_shared(given, 1024), given_shared(given, 1024)
    r = gpu.shared("i32", 1024)
    if gpu.thread > 10:
        p[gpu.thread] = q[gpu.thread]
    if gpu.thread <= 10:
        r[gpu.thread] = p[gpu.thread]
    out[global_id(1024)] = 1


@port("OpenCL/sourcelocation_tests/races/pass/read_read", "pass", ints(1024), ints(1 << 20))
@gpu.kernel
def races_read_read(given, out):
    gpu.launch(grid=1024, threads=1024)
    q = given_shared(given, 1024)
    p, r = gpu.shared("i32", 1024), gpu.shared("i32", 1024)
    p[gpu.thread] = q[gpu.thread]
    r[gpu.thread] = q[gpu.thread]
    out[global_id(1024)] = 1


@port("OpenCL/sourcelocation_tests/requires", "fail", ints(1 << 20))
@gpu.kernel
def sourcelocation_requires(out):
    gpu.launch(grid=1024, threads=1024)
    a = gpu.constant(0, "i32")
    asserts(out, global_id(1024), a > 0)


@port("OpenCL/ternarytest2", "pass", floats(4096))
@gpu.kernel
def opencl_ternarytest2(out):
    gpu.launch(grid=64, threads=64)
    A = gpu.shared("f32", 128)
    A[gpu.select(gpu.thread != 0, 2 * gpu.thread, 1)] = 2.4
    out[global_id(64)] = 1.0


@port("OpenCL/test_2d_global_index_inference", "pass", ints(256), ints(256))
@gpu.kernel
def test_2d_global_index_inference(A, B):
    gpu.launch(grid=4, threads=64)
    for _ in gpu.loop(100):
        A[gpu.workgroup.y * 256 + global_id(64)] = B[gpu.workgroup.y * 256 + global_id(64)] + 2
        B[global_id(64)] = B[global_id(64)] + 1


@port("OpenCL/test_for_benign_read_write_bug", "fail", ints(1))
@gpu.kernel
def test_for_benign_read_write_bug(p):
    gpu.launch(grid=64, threads=64)
    p[0] = p[0] + 1


@port("OpenCL/test_for_uniformity_bug", "pass", ints(4))
@gpu.kernel
def test_for_uniformity_bug(out):
    gpu.launch(grid=1, threads=4)
    for i in gpu.loop(4):
        if gpu.thread < 4:
            if i == 3:
                out[gpu.thread] = 1
        gpu.barrier()


@port("OpenCL/test_global_id_inference", "pass", ints(2048), ints(2048))
@gpu.kernel
def test_global_id_inference(A, B):
    gpu.launch(grid=16, threads=128)
    i = gpu.workgroup.x * 128 + gpu.thread
    for _ in gpu.loop(100):
        A[i] = B[i] + 2
        B[i] = B[i] + 1


@port("OpenCL/test_line_number_problem", "fail", ints(1024), ints(65536))
@gpu.kernel
def test_line_number_problem(given, out):
    gpu.launch(grid=64, threads=1024)
    A = given_shared(given, 1024)
    i = gpu.constant(1, "u32")
    while i < 1024:
        t = gpu.constant(0, "i32")
        if i < gpu.thread:
            t = A[gpu.thread - i]
        gpu.barrier()
        if i < gpu.thread:
            A[gpu.thread] = A[gpu.thread] + t
        i = i * 2
    out[global_id(1024)] = 1


@port("OpenCL/test_local_id_inference", "pass", ints(4096))
@gpu.kernel
def test_local_id_inference(out):
    gpu.launch(grid=64, threads=64)
    A = gpu.shared("i32", 64)
    A[gpu.thread] = 0
    for _ in gpu.loop(100):
        A[gpu.thread] = A[gpu.thread] + 1
    out[global_id(64)] = A[gpu.thread]


@port("OpenCL/test_mod_invariants/local_direct", "pass", ints(128))
@gpu.kernel
def local_direct(out):
    gpu.launch(grid=8, threads=16)
    A, B = gpu.shared("u32", 255 * 256), gpu.shared("u32", 255 * 256)
    for i in gpu.loop(255):
        A[i * 256 + gpu.thread] = gpu.thread
        B[gpu.thread + 256 * i] = A[i * 256 + gpu.thread]
    out[global_id(16)] = 1


@port("OpenCL/test_mod_invariants/local_reduce_strength", "pass", ints(1024))
@gpu.kernel
def local_reduce_strength(out):
    gpu.launch(grid=64, threads=16)
    A, B, C = gpu.shared("u32", 1024), gpu.shared("u32", 1034), gpu.shared("u32", 1044)
    for i in gpu.loop(1024, start=gpu.thread, step=16):
        A[i] = gpu.thread
        B[i + 10] = gpu.thread
        C[i + 20] = gpu.thread
    out[global_id(16)] = 1


@port("OpenCL/test_nooverflowing_add", "pass", uints(4096), np.uint32(3), np.uint32(4))
@gpu.kernel
def test_nooverflowing_add(out, x: u32, y: u32):
    gpu.launch(grid=64, threads=64)
    if x < 1 << 31 and y < 1 << 31:
        asserts(out, global_id(64), (x + y >= x) & (x + y >= y))


@port("OpenCL/test_part_load_store/load_ptr_and_int", "pass", ints(2048, 2), ints(2048, 2))
@gpu.kernel
def load_ptr_and_int(q1, q2):
    gpu.launch(grid=2, threads=1024)
    for k in gpu.unroll(2):
        q2[global_id(1024), k] = q1[global_id(1024), k]


@port("OpenCL/test_part_load_store/store_ptr_and_int", "pass", ints(2048, 2))
@gpu.kernel
def store_ptr_and_int(q):
    gpu.launch(grid=2, threads=1024)
    q[global_id(1024), 1] = 42
    q[global_id(1024), 0] = 7


@port("OpenCL/test_part_load_store/store_ptr_array_and_int", "pass", ints(2048, 6))
@gpu.kernel
def store_ptr_array_and_int(q):
    gpu.launch(grid=2, threads=1024)
    q[global_id(1024), 5] = 42
    q[global_id(1024), 3] = 7


@port("OpenCL/test_relational_inference", "pass", ints(64), ints(64))
@gpu.kernel
def test_relational_inference(given, out):
    gpu.launch(grid=1, threads=64)
    A = given_shared(given, 64)
    offset, d = gpu.constant(1, "u32"), gpu.constant(32, "u32")
    while d > 0:
        gpu.barrier()
        offset = offset * 2
        if gpu.thread < d:
            a = offset // 2 * (2 * gpu.thread + 1) - 1
            b = offset // 2 * (2 * gpu.thread + 2) - 1
            A[b] = A[b] + A[a]
        d = d >> 1
    out[gpu.thread] = 1


@port("OpenCL/test_structs/store_element", "pass", ints(2048 * 64), ints(2048 * 64))
@gpu.kernel
def store_element(p, out):
    gpu.launch(grid=64, threads=2048)
    q = make_tensor("i32", 2)
    q[1] = p[global_id(2048)]
    out[global_id(2048)] = q[1]


@port("OpenCL/test_structs/store_array_element", "pass", ints(2048 * 64), ints(2048 * 64))
@gpu.kernel
def store_array_element(p, out):
    gpu.launch(grid=64, threads=2048)
    q = make_tensor("i32", 5)
    q[3] = p[global_id(2048)]
    out[global_id(2048)] = q[3]


@port("OpenCL/test_structs/store_ptr_element", "pass", ints(2048 * 64))
@gpu.kernel
def store_ptr_element(p):
    gpu.launch(grid=64, threads=2048)
    p[global_id(2048)] = 5


@port("OpenCL/test_structs/use_element", "pass", ints(2048 * 64), 1, 2)
@gpu.kernel
def use_element(p, a, b):
    gpu.launch(grid=64, threads=2048)
    p[global_id(2048)] = b


@port("OpenCL/transitiveclosuresimplified", "pass", uints(64, 64))
@gpu.kernel
def transitive_closure(graph):
    gpu.launch(grid=1, threads=(8, 8))
    block = gpu.shared("u32", Layout((8, 8), (8, 1)))
    x, y = gpu.thread % 8, gpu.thread // 8
    block[y, x] = graph[32 + y, 32 + x]
    gpu.barrier()
    for k in gpu.loop(8):
        if block[y, x] == 0:
            if block[y, k] != 0 and block[k, x] != 0:
                block[y, x] = 32 + k + 2
        gpu.barrier()
    graph[32 + y, 32 + x] = block[y, x]


@port("OpenCL/transitiveclosuresimplified2", "pass", uints(64, 64), 4, rule=Rule.SAME_VALUE)
@gpu.kernel
def transitive_closure_2(graph, passnum):
    gpu.launch(grid=1, threads=(8, 8))
    block = gpu.shared("u32", Layout((8, 8), (8, 1)))
    x, y = gpu.thread % 8, gpu.thread // 8
    if passnum >= 0 and passnum < 8:
        at = gpu.cast(passnum, "u32") * 8
        block[y, x] = graph[at + y, at + x]
        gpu.barrier()
        for k in gpu.loop(8):
            if block[y, x] == 0:
                if block[y, k] != 0 and block[k, x] != 0:
                    block[y, x] = at + k + 2
            gpu.barrier()
        graph[at + y, at + x] = block[y, x]


@port("OpenCL/vectortests/double2arithmetic", "pass", floats(1024 * 64, 4))
@gpu.kernel
def vector_arithmetic(p):
    gpu.launch(grid=64, threads=1024)
    for k in gpu.unroll(4):
        p[global_id(1024), k] = p[global_id(1024), k] + p[global_id(1024), k]


@port("OpenCL/vectortests/float16simpleaccess", "pass", floats(4096))
@gpu.kernel
def float16simpleaccess(out):
    gpu.launch(grid=64, threads=64)
    v = make_tensor("f32", 16)
    for k in gpu.unroll(16):
        v[k] = 42.0
    out[global_id(64)] = v[15]


@port("OpenCL/vectortests/int3arrayaccess", "pass", ints(65536), ints(65536))
@gpu.kernel
def int3arrayaccess(p, out):
    gpu.launch(grid=64, threads=1024)
    vs = gpu.shared("i32", Layout((1024, 4), (4, 1)))
    vs[gpu.thread, 0] = p[global_id(1024)]
    out[global_id(1024)] = vs[gpu.thread, 0]


@port("OpenCL/vectortests/int4initialisation", "pass", ints(4096))
@gpu.kernel
def int4initialisation(out):
    gpu.launch(grid=64, threads=64)
    a = make_tensor("i32", 4)
    for k in gpu.unroll(4):
        a[k] = k
    asserts(out, global_id(64), a[0] + a[1] + a[2] + a[3] == 6)


@port("OpenCL/vectortests/select", "pass", floats(4096, 4), floats(4096, 4), floats(4096, 4))
@gpu.kernel
def vector_select(a, b, c):
    gpu.launch(grid=64, threads=64)
    for k in gpu.unroll(4):
        i = global_id(64)
        a[i, k] = gpu.select(c[i, k] <= 0.1, b[i, k], a[i, k])


@port("OpenCL/vectortests/test_paren", "pass", floats(64, 4), rule=Rule.SAME_VALUE)
@gpu.kernel
def test_paren(acc):
    gpu.launch(grid=64, threads=64)
    for k in gpu.unroll(4):
        acc[gpu.thread, k] = 1.0 + k


@port("OpenCL/warpsync/broken_shuffle", "fail", ints(1024), ints(1024))
@gpu.kernel
def broken_shuffle(given, out):
    gpu.launch(grid=1, threads=1024)
    A = given_shared(given, 1024)
    A[gpu.thread] = A[gpu.thread // 32 * 32 + (gpu.thread + 1) % 32]
    out[gpu.thread] = 1
