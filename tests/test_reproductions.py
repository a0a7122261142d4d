"""What reviewers found broken, row by row: each reproduction is right now, or refused with a line that helps.

The names follow the reviews' sections. `pytest -v tests/test_reproductions.py` prints them as a table; the laws
behind each row, and the random tests that hold them, are in the folders of their rooms.
"""

import io
import math
from contextlib import redirect_stderr, redirect_stdout

import numpy as np
import pytest

from cutepy import (
    CutepyError,
    Layout,
    Swizzle,
    ceil_div,
    composition,
    cosize,
    draw,
    evenly_divides,
    gpu,
    left_inverse,
    local_tile,
    make_composed_layout,
    make_identity_layout,
    make_tensor,
    max_common_vector,
    ops,
    recast_layout,
    reduce,
    size,
    thread_value_partition,
)
from cutepy.cli.main import main
from cutepy.errors import KernelError, LayoutError, TensorError
from cutepy.gpu.runtime import default_device
from cutepy.gpu.runtime.program import Limits
from cutepy.layout import bank_conflicts

F, U, I32 = np.float32, np.uint32, np.int32
HERE = r"test_reproductions\.py:\d+"
LANES = np.arange(64)


def ones(n: int) -> np.ndarray:
    return np.ones(n, F)


def u(n: int) -> np.ndarray:
    return np.zeros(n, U)


def f(n: int) -> np.ndarray:
    return np.zeros(n, F)


def both(kernel: gpu.Kernel, want: np.ndarray, *arrays: np.ndarray, **static: object) -> None:
    """The last array is `want` after the kernel ran in the interpreter, and on the device that there is."""
    for run in (kernel.interpret, kernel):
        copies = [a.copy() for a in arrays]
        run(*copies, **static)
        np.testing.assert_array_equal(copies[-1], want)


class TestSoundness:
    def test_01_a_float_guard_proves_nothing(self):
        @gpu.kernel
        def guard(x, y):
            gpu.launch(threads=62)
            with gpu.when(gpu.exp(gpu.cast(gpu.thread, "f32") * 0.37 + 0.11) < 7076181504.0):
                y[gpu.thread] = x[gpu.thread] + 1.0

        assert not guard.verify(f(61), f(62)).ok

    def test_02_a_difference_that_wraps_decides_no_comparison(self):
        @gpu.kernel
        def bad(z, x, y):
            gpu.launch(threads=64)
            sg = gpu.subgroup_size
            a = (sg // sg) * 0x1000_0000 + gpu.thread
            b = gpu.maximum(z[gpu.thread], 0x7000_0000) - 0x7000_0000
            y[gpu.thread] = 1.0
            with gpu.when(a >= b):
                y[gpu.thread] = x[gpu.thread + 0x0F00_0000]

        assert not bad.verify(u(64), f(64), f(64)).ok

        @gpu.kernel
        def hashed(s, y):
            gpu.launch(threads=64)
            h = (s[gpu.thread] | 0x8000_0000) - 0x8000_0000
            y[gpu.thread] = gpu.select(h < gpu.thread + 1, gpu.constant(1, "u32"), 0)

        both(hashed, np.ones(64, U), u(64), u(64))

    def test_03_captured_values_and_static_ones_are_read_again(self):
        tile = 32

        @gpu.kernel
        def tiled(x, y, *, s=(2,)):
            gpu.launch(grid=ceil_div(size(x), tile), threads=tile)
            i = gpu.workgroup.x * tile + gpu.thread
            with gpu.when(i < size(x)):
                y[i] = gpu.cast(gpu.thread, "f32") + x[i] / s[0]

        x = ones(32)
        for tile in (32, 16):
            for s in ((2,), (2.0,), (-0.5,)):
                both(tiled, (np.arange(32) % tile + 1 / F(s[0])).astype(F), x, f(32), s=s)

    def test_04_a_shift_of_a_negative_number_rounds_down(self):
        @gpu.kernel
        def shifts(x, s, y, z):
            gpu.launch(threads=4)
            t = gpu.thread
            y[t] = (x[t] >> 1) + (x[t] << s[t])
            z[t] = gpu.cast(x[t] << 2, "f32")

        x, s = np.array([-3, -1, 5, -8], I32), np.array([1, 2, 3, 4], I32)
        for run in (shifts.interpret, shifts):
            y, z = np.zeros(4, I32), f(4)
            run(x, s, y, z)
            assert (y == (x >> 1) + (x << s)).all() and (z == (x << 2)).all()

    def test_05_a_kernel_is_used_for_its_own_edge(self):
        @gpu.kernel
        def fill_all(t):
            gpu.launch(threads=64)
            t[gpu.thread] = 1.0

        for outer in ((10, 10), (10, 9)):
            base = np.zeros((10, 10), F)
            fill_all.interpret(local_tile(local_tile(make_tensor(base), outer, (0, 0)), (8, 8), (1, 1)))
            assert base.sum() == (outer[0] - 8) * (outer[1] - 8)

    @pytest.mark.parametrize("numbers", [(-3, 0, 1), (4, -2, 1), (4, 0, -1), (8, 2, 3)])
    def test_06_a_loop_counts_as_range(self, numbers):
        stop, start, step = numbers
        turns = range(start, stop, step)

        @gpu.kernel
        def counted(y, *, stop, start, step):
            gpu.launch(threads=1)
            for k in gpu.loop(stop, start=start, step=step):
                y[0] = y[0] + gpu.cast(k, "i32") + 100

        both(
            counted, np.array([sum(turns) + 100 * len(turns)], I32), np.zeros(1, I32), stop=stop, start=start, step=step
        )

    def test_06_a_loop_that_counts_down_is_refused(self):
        @gpu.kernel
        def backwards(y):
            gpu.launch(threads=1)
            for k in gpu.loop(0, start=4, step=-1):
                y[k] = 1.0

        with pytest.raises(KernelError, match=HERE):
            backwards.wgsl(f(8))

    def test_07_values_that_cancel_are_traced(self):
        @gpu.kernel
        def cancels(x):
            gpu.launch(threads=64)
            part = make_tensor("u32", 1)
            part[0] = x[gpu.thread]
            v = part[0]
            x[gpu.thread] = v - v
            part[0] = x[gpu.thread]
            x[gpu.thread] = part[0] + (v & 7) // 8 + 7

        both(cancels, np.full(64, 7, U), np.arange(64, dtype=U))

    def test_08_an_index_by_way_of_a_float_is_judged(self):
        @gpu.kernel
        def halves(x):
            gpu.launch(threads=64)
            x[gpu.cast(gpu.cast(gpu.thread, "f32") * 0.5, "u32")] = 1.0

        assert not halves.verify(f(64)).ok
        both(halves, (np.arange(64) < 32).astype(F), f(64))

    def test_09_the_old_value_at_an_edge_is_a_number(self):
        @gpu.kernel
        def old(x, y):
            gpu.launch(threads=64)
            y[gpu.thread] = gpu.atomic_add(local_tile(x, (64,), (0,)), gpu.thread, 1)

        both(old, np.where(LANES < 40, 5, 0).astype(U), np.full(40, 5, U), u(64))

    def test_10_a_counter_after_its_loop_is_refused(self):
        @gpu.kernel
        def outlives(x):
            gpu.launch(threads=4)
            for k in gpu.loop(4):
                x[k] = 1.0
            x[k] = 2.0

        with pytest.raises(KernelError, match=HERE):
            outlives.verify(f(8))

    def test_11_division_by_what_is_0_and_an_index_beyond(self):
        @gpu.kernel
        def divided(x):
            gpu.launch(threads=64)
            x[gpu.thread] = gpu.thread // (gpu.thread // 64) // 2

        both(divided, (np.arange(64) // 2).astype(U), u(64))

        @gpu.kernel
        def beyond(x):
            gpu.launch(threads=64)
            part = make_tensor("f32", 4)
            part[gpu.thread // 64 + 4] = 1.0
            x[gpu.thread] = part[0]

        with pytest.raises(CutepyError, match=HERE):
            beyond.verify(f(64))

    def test_12_an_unchecked_program_keeps_its_grid(self):
        @gpu.kernel
        def one(x):
            gpu.launch(grid=1, threads=64)
            x[gpu.workgroup.x * 64 + gpu.thread] = 1.0

        device = default_device()
        x = gpu.array(f(64))
        program = one.program(x)
        assert not program.checked
        with pytest.raises(CutepyError, match="grid"):
            device.launch(program, [x.engine.buffer], grid=(60000, 1, 1))

    def test_13_threads_that_take_no_part_end_no_loop(self):
        @gpu.kernel
        def stepped(x):
            gpu.launch(threads=4)
            with gpu.when(gpu.thread > 0):
                for k in gpu.loop(10, step=gpu.thread):
                    x[gpu.thread] = x[gpu.thread] + 1 + 0 * k

        both(stepped, np.array([0, 10, 5, 4], U), u(4))

    def test_13_infinity_becomes_the_largest_float_below(self):
        @gpu.kernel
        def cast(x, y):
            gpu.launch(threads=2)
            y[gpu.thread] = gpu.cast(x[gpu.thread], "u32")

        both(cast, np.array([4294967040, 0], U), np.array([np.inf, -np.inf], F), u(2))

    def test_13_a_mode_that_is_not_there(self):
        @gpu.kernel
        def third(x):
            gpu.launch(threads=size(x, 2))
            x[gpu.thread] = 1.0

        with pytest.raises(CutepyError, match=HERE):
            third.wgsl(np.zeros((4, 4), F))


class TestKernels:
    def test_d1_names_are_carried_through_blocks(self):
        @gpu.kernel
        def doubled(x):
            gpu.launch(threads=64)
            v = x[gpu.thread]
            for _ in gpu.loop(4):
                v = v * 2.0
            x[gpu.thread] = v

        @gpu.kernel
        def conditional(x):
            gpu.launch(threads=64)
            v = x[gpu.thread]
            with gpu.when(gpu.thread > 31):
                v = v * 2.0
            x[gpu.thread] = v

        @gpu.kernel
        def partial_sum(x, y):
            gpu.launch(threads=64)
            s = 0.0
            for k in gpu.loop(64):
                s = s + x[k]
            y[gpu.thread] = s

        @gpu.kernel
        def toggled(x):
            gpu.launch(threads=64)
            s = gpu.shared("f32", (64, 2))
            side = 0
            s[gpu.thread, 0] = x[gpu.thread]
            for _ in gpu.loop(3):
                gpu.barrier()
                s[gpu.thread, 1 - side] = s[gpu.thread, side] + 1.0
                side = 1 - side
            gpu.barrier()
            x[gpu.thread] = s[gpu.thread, side]

        x = np.arange(1, 65, dtype=F)
        both(doubled, x * 16, x)
        both(conditional, np.where(LANES > 31, 2 * x, x), x)
        both(partial_sum, np.full(64, x.sum(), F), x, x)
        both(toggled, x + 3, x)

    def test_d1_a_return_inside_a_block(self):
        @gpu.kernel
        def early(x):
            gpu.launch(threads=64)
            with gpu.when(gpu.thread >= 32):
                return
            x[gpu.thread] = 0.0

        x = np.arange(1, 65, dtype=F)
        try:
            both(early, np.where(LANES < 32, 0, x), x)
        except KernelError as error:
            assert "test_reproductions.py" in str(error)

    def test_d3_shared_subexpressions_cost_once(self):
        @gpu.kernel
        def mix(x, y):
            gpu.launch(threads=64)
            v = x[gpu.thread]
            for _ in range(40):
                v = (v ^ (v >> 7)) * (v + 12345)
            y[gpu.thread] = v

        x = np.arange(64, dtype=U)
        want = x.copy()
        for _ in range(40):
            want = (want ^ (want >> U(7))) * (want + U(12345))
        both(mix, want, x, u(64))

    def test_d4_an_old_value_used_twice(self):
        @gpu.kernel
        def twice(u, y):
            gpu.launch(threads=64)
            at = gpu.atomic_add(u, 0, 1)
            y[at % 64] = y[at % 64 + 64]

        both(twice, np.tile(np.arange(64, 128), 2).astype(U), u(4), np.arange(128, dtype=U))

    def test_d5_nested_loops_of_varying_length_end(self):
        @gpu.kernel
        def triangle(x):
            gpu.launch(grid=2, threads=1)
            w = gpu.workgroup.x
            for t in gpu.loop(w + 1):
                for _ in gpu.loop(gpu.minimum(w - t, 30_000)):
                    x[w] = x[w] + 1.0

        both(triangle, np.array([0, 1], F), f(2))

    def test_d6_a_value_is_computed_once(self):
        @gpu.kernel
        def stored(x, w, y, m):
            gpu.launch(threads=64)
            t = gpu.thread
            v = (w[t] * 3) ^ (w[t] >> 5)
            v = v * (v >> 7)
            y[t] = gpu.select(gpu.cast(v >> 8, "f32") >= 0.5, x[t], 0.0)
            m[t] = v >> 8

        assert stored.wgsl(f(64), u(64), f(64), u(64)).count("* 3u") == 1

    @pytest.mark.parametrize("kind", ["wrap", "unsigned", "signed", "signed index"])
    def test_d7_guards_of_a_halo_prove_its_reads(self, kind):
        @gpu.kernel
        def shift(x, y, *, kind):
            gpu.launch(grid=ceil_div(size(x), 64), threads=64)
            at = gpu.workgroup.x * 64 + gpu.thread
            left = make_tensor("f32", 1)
            left[0] = 0.0
            i = gpu.cast(at, "i32") - 1
            if kind == "wrap":
                with gpu.when(at - 1 < size(x)):
                    left[0] = x[at - 1]
            elif kind == "unsigned":
                with gpu.when((at >= 1) & (at <= size(x))):
                    left[0] = x[at - 1]
            else:
                with gpu.when((i >= 0) & (i < size(x))):
                    left[0] = x[i if kind == "signed index" else gpu.cast(i, "u32")]
            with gpu.when(at < size(x)):
                y[at] = left[0]

        for n in (1000, 50_000_001):
            verdicts = shift.verify(np.empty(n, F), np.empty(n, F), kind=kind).verdicts
            assert all(v.status == "proven" for v in verdicts if v.claim != "within limits")

    def test_d8_reduce_is_the_left_fold(self):
        assert reduce(make_tensor(np.arange(6, dtype=F)), 0.0, lambda a, b: a + b * b) == 55

    @pytest.mark.parametrize("number", [2, 2.0, -5, np.int32(5)])
    def test_d9_a_number_takes_the_type_it_meets(self, number):
        @gpu.kernel
        def saxpy(a, x, y):
            gpu.launch(threads=64)
            y[gpu.thread] = a * x[gpu.thread] + y[gpu.thread]

        dtype = I32 if isinstance(number, np.int32) else F
        for run in (saxpy.interpret, saxpy):
            y = np.ones(64, dtype)
            run(number, np.ones(64, dtype), y)
            assert (y == number + 1).all()

    @pytest.mark.parametrize(
        ("slip", "says"),
        [
            (lambda v: np.round(v) * 2.0**v, None),
            (lambda v: max(v, 0.0), "gpu.maximum"),
            (lambda v: math.exp(v), "gpu.exp"),
        ],
    )
    def test_d10_slips_are_right_or_say_what_to_write(self, slip, says):
        @gpu.kernel
        def slipped(x):
            gpu.launch(threads=64)
            x[gpu.thread] = slip(x[gpu.thread])

        x = np.linspace(-2, 3, 64, dtype=F)
        if says is None:
            y = x.copy()
            slipped.interpret(y)
            np.testing.assert_allclose(y, np.round(x) * 2.0**x, rtol=1e-6)
        else:
            with pytest.raises(CutepyError, match=says) as caught:
                slipped.wgsl(x)
            assert "test_reproductions.py" in str(caught.value)


class TestUsers:
    def test_1_1_host_tensors_keep_to_their_memory(self):
        memory = np.zeros(65536, F)
        with pytest.raises(TensorError):
            composition(make_tensor(memory[:4]), Layout(8))
        taller = Layout(((4, 8), (2, 2)), ((32, 1), (16, 8)))  # for 16 x 8
        with pytest.raises(TensorError, match=r"31.* reaches offset 71"):
            thread_value_partition(make_tensor(np.zeros((8, 8), F)), taller, 31)
        with pytest.raises(TensorError):
            thread_value_partition(local_tile(make_tensor(np.zeros((24, 16), F)), (8, 8), (0, 0)), taller, 31)
        with pytest.raises(TensorError):
            composition(make_tensor(np.zeros((24, 16), F)), (32, 16))

    def test_row_2_the_types_of_numpy_are_those_of_host_tensors(self):
        for dtype in (np.float64, np.int64, np.int8, np.uint8, np.complex64):
            assert make_tensor(np.zeros((4, 4), dtype)).numpy().dtype == dtype
        assert make_tensor([[1, 2], [3, 4]])(1, 0) == 3

    def test_row_9_an_array_where_a_tensor_is_meant(self):
        with pytest.raises(TensorError, match="make_tensor"):
            local_tile(np.zeros((4, 4), F), (2, 2), (0, 0))

    def test_row_10_brackets_for_parentheses(self):
        with pytest.raises(CutepyError, match=r"L\(0, ?1\)|\(0, 1\)"):
            Layout((4, 8), (8, 1))[0, 1]

    @pytest.mark.parametrize("shape", [[4, 8], np.array([4, 8]), "(4,8):(8,1)"])
    def test_row_11_lists_text_and_arrays(self, shape):
        try:
            assert Layout(shape).shape == (4, 8)
        except CutepyError as error:
            assert "tuple" in str(error) or "Layout.parse" in str(error)

    def test_row_20_a_kernel_that_writes_nothing(self):
        @gpu.kernel
        def nothing(x):
            gpu.launch(threads=64)
            np.sin(x[gpu.thread])

        with pytest.raises(KernelError, match="writes no argument"):
            nothing.verify(f(64))


class TestHouse:
    def test_2_1_the_picture_and_the_function_count_the_same_conflicts(self):
        wide = Layout((1, 32), (32, 1))
        ways = bank_conflicts(wide, element_bytes=16).ways
        assert ways == 1
        assert "conflict" not in draw(wide, view=draw.Banks(element_bytes=16)).text().replace("no conflict", "")

    @pytest.mark.parametrize(
        "call",
        [
            lambda lib, **o: plus(lib, np.ones(3, U), -3, **o),
            lambda lib, **o: plus(lib, np.ones(3, U), 2**33, **o),
            lambda lib, **o: plus(lib, np.ones(3, np.float16), F(2.5), **o),
            lambda lib, **o: plus(lib, np.ones(3, I32), U(3), **o),
            lambda lib, **o: plus(lib, np.ones(3, bool), 3, **o),
            lambda lib, **o: lib.sum(np.ones(3, bool), **o),
            lambda lib, **o: lib.sum(np.ones(3, np.float16), **o),
            lambda lib, **o: lib.sum([1, 2, 3], **o),
        ],
    )
    def test_2_2_ops_and_gpu_keep_one_set_of_rules(self, call):
        def told(lib, **options):
            try:
                result = np.asarray(call(lib, **options))
            except CutepyError as error:
                return type(error), str(error).rpartition(":")[2]
            return result.dtype, result.shape, result.tolist()

        assert told(ops) == told(ops, engine="interpreter")

    def test_2_3_what_print_writes_is_read_by_every_command(self):
        for text in (
            "S<3,4,3> o 0 o (8,64):(64,1)",
            "coalesce((2,4):(1,2))",
            "make_layout(coalesce((2,4):(1,2)), 3:8)",
        ):
            code, written, _ = command("print", "--to", "cpp", text)
            assert code == 0
            again = command("print", written.strip())
            assert again[0] == 0 and again[1] == command("print", text)[1]

    def test_2_4_shared_bytes_are_counted_once(self):
        @gpu.kernel
        def two(x):
            gpu.launch(threads=64)
            one, many = gpu.shared("f32", 1), gpu.shared("f32", 4095)
            many[gpu.thread] = x[gpu.thread]
            with gpu.when(gpu.thread < 1):
                one[gpu.thread] = 1.0
            gpu.barrier()
            x[gpu.thread] = many[gpu.thread] + one[0]

        limits = [v for v in two.verify(f(64)).verdicts if v.claim == "within limits"]
        assert [v.status for v in limits] == ["refuted"]
        assert two.program(f(64)).excesses(Limits()) == ["16400 bytes of workgroup memory, the device has 16384"]

    def test_2_5_ops_inside_a_kernel(self):
        @gpu.kernel
        def inside(x):
            gpu.launch(threads=64)
            part = make_tensor("f32", 1)
            part[0] = x[gpu.thread]
            x[gpu.thread] = ops.exp(part)[0]

        with pytest.raises(CutepyError, match=HERE):
            inside.wgsl(f(64))


def plus(lib, x, number, **options):
    """`x + number` by the operations of the host, or as a pointwise kernel."""
    return lib.add(x, number) if lib is ops else lib.pointwise("a + b")(x, number, **options)


def command(*words: str) -> tuple[int, str, str]:
    """The exit code, output and errors of `cutepy WORDS`."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            code = main(list(words))
        except SystemExit as stop:
            code = stop.code
    return code or 0, out.getvalue(), err.getvalue()


class TestAlgebra:
    def test_a1_recast_moves_the_swizzle_to_the_new_unit(self):
        swizzled = make_composed_layout(Swizzle(3, 3, 3), 0, Layout((8, 64), (64, 1)))
        for bits, per in ((32, 2), (64, 4), (128, 8)):
            coarse = recast_layout(bits, 16, swizzled)
            assert all(coarse(i, j) == swizzled(i, j * per) // per for i in range(8) for j in range(64 // per))
        with pytest.raises(LayoutError):
            recast_layout(256, 16, swizzled)  # reaches into the swizzled bits

    def test_a2_common_vectors_of_swizzled_layouts(self):
        plain, swizzled = Layout((64, 8)), make_composed_layout(Swizzle(3, 3, 3), 0, Layout((64, 8)))
        for pair in ((swizzled, plain), (plain, swizzled)):
            try:
                assert max_common_vector(*pair) == 64
            except CutepyError as error:
                assert "swizzle" in str(error).lower() or "composed" in str(error).lower()

    def test_a3_compositions_go_on_beyond_the_outer_size(self):
        for a, b in (
            (Layout((4, 4), (4, 1)), make_composed_layout(Layout(4, 1), 4, Layout(4))),
            (Layout((16, 8), (8, 1)), make_composed_layout(Layout((8, 8), (8, 1)), 0, Layout((8, 16)))),
        ):
            both_of_them = composition(a, b)
            assert [both_of_them(i) for i in range(size(b))] == [a(b(i)) for i in range(size(b))]

    def test_a4_basis_strides_of_size_one(self):
        of_one = composition(make_identity_layout((4, 8)), Layout((2, 1), (1, 5)))
        assert str(of_one) == "(2,1):(1@0,0)"
        assert [of_one(i) for i in range(2)] == [(0,), (1,)]

    def test_a5_evenly_divides_is_what_a_divide_asks(self):
        assert not evenly_divides((32, 64), (Layout(8, 3), 32))
        assert evenly_divides(16, (16,))

    def test_a6_each_int_of_a_type_is_another_unknown(self):
        text = "cute::Layout<cute::tuple<int,int>,cute::tuple<cute::C<1>,int>>"
        layout = Layout.parse(text)
        assert len({str(part) for part in (*layout.shape, layout.stride[1])}) == 3

    def test_a7_a_search_that_ends_early_says_so(self):
        layout = Layout(((2, 8), 4), ((2, 5), 600))
        try:
            back = left_inverse(layout)
        except LayoutError as error:
            assert "no layout" not in str(error)
        else:
            assert all(back(layout(i)) == i for i in range(size(layout))) and cosize(layout) > 0
