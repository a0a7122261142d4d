"""What reviews of proofs, kernels, layouts, arrays and the runtime found, row by row: right now, or refused in words.

A test is named by its file and row: `s1a` is row 1a of `soundness`, `k5` is F5 of `kernels`, `g3` is fault 3 of the
algebra, `a4` fault 4 of arrays, `u6` fault 6 of users, `r9` is F9 of the runtime. The laws behind the rows are in the
rooms' own folders.
"""

import inspect
import pydoc
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
import sympy

from cutepy import (
    BitMap,
    ComposedLayout,
    E,
    Layout,
    Swizzle,
    append,
    bank_conflicts,
    ceil_div,
    compatible,
    complement,
    composition,
    conflict_free,
    cosize,
    draw,
    evenly_divides,
    explain,
    gpu,
    make_tensor,
    ops,
    parse_layout,
    round_up,
    shape_div,
    size,
    thread_value_partition,
)
from cutepy.cli.main import main
from cutepy.docs import TALLEST, latex
from cutepy.errors import CutepyError, KernelError, LayoutError, TensorError, UndecidedError

F, U = np.float32, np.uint32
HERE = r"test_review_rows\.py:\d+"
M, N = sympy.symbols("M N", integer=True, positive=True)


def u(*shape: int) -> np.ndarray:
    return np.zeros(shape, U)


def f(*shape: int) -> np.ndarray:
    return np.zeros(shape, F)


def statuses(kernel: gpu.KernelFunction, *arrays: object, **static: object) -> dict[str, str]:
    """The worst status of each claim."""
    order = {"refuted": 2, "undecided": 1, "proven": 0}
    found: dict[str, str] = {}
    for verdict in kernel.verify(*arrays, **static).verdicts:
        claim, status = str(verdict.claim), str(verdict.status)
        found[claim] = max(found.get(claim, "proven"), status, key=order.__getitem__)
    return found


class TestSoundness:
    def test_s1a_a_turn_whose_counter_wrapped_happens(self):
        @gpu.kernel
        def down(y):
            gpu.launch(threads=8)
            w = gpu.thread + 1
            while w + 2 > 0:
                gpu.atomic_add(y, w, 1)
                w = w - 1

        assert statuses(down, u(16))["in bounds"] == "refuted" and down.program(u(16)).checked

    def test_s1b_a_row_is_written_up_to_its_end(self):
        @gpu.kernel
        def hole(y):
            gpu.launch(threads=8)
            t = gpu.thread
            rows = gpu.shared("u32", Layout((8, 16), (16, 1)))
            w = t + 0
            while w != 8:
                rows[t, w] = 2
                w = w + 1
            gpu.barrier()
            with gpu.when(t == 7):
                y[rows[7, 10] - 1] = 5

        assert statuses(hole, u(2))["written before read"] == "refuted" and hole.program(u(2)).checked

    def test_s1c_a_thread_that_makes_no_turn_writes_nothing(self):
        @gpu.kernel
        def none(y):
            gpu.launch(threads=8)
            t = gpu.thread
            rows = gpu.shared("u32", Layout((8, 16), (16, 1)))
            w = t + 0
            while w - 1 <= 8:
                rows[t, t] = 1
                w = w + 3
            y[t] = rows[t, t]

        assert statuses(none, u(8))["written before read"] == "refuted"

    def test_s1d_a_suffix_is_not_refuted(self):
        @gpu.kernel
        def suffix(x, y):
            gpu.launch(grid=4, threads=64)
            i = gpu.workgroup.x * 64 + gpu.thread
            s = gpu.constant(0, "u32")
            while i != 256:
                s = s + x[i]
                i = i + 1
            y[gpu.workgroup.x * 64 + gpu.thread] = s

        assert "refuted" not in statuses(suffix, u(256), u(256)).values()

    @pytest.mark.parametrize(
        "ask",
        [
            lambda t: t in {0, 2},
            lambda t: {0: 5, 1: 6}.get(t, 9),
            lambda t: t in {0: 1}.keys(),
            lambda t: t in frozenset([0]),
            lambda t: Counter([t])[t],
            lambda t: len({t, 1}),
            lambda t: {0: 1, 1: 2}[t % 2],
            lambda t: isinstance(t, int),
        ],
    )
    def test_s2_a_value_is_no_key(self, ask):
        @gpu.kernel
        def keyed(x):
            gpu.launch(threads=4)
            x[gpu.thread] = 1 if ask(gpu.thread) else 0

        with pytest.raises(KernelError, match=HERE):
            keyed.wgsl(u(4))

    def test_s4_in_bounds_is_not_inside_its_shape(self):
        @gpu.kernel
        def row(x):
            gpu.launch(threads=8)
            x[0, gpu.thread] = 1.0

        @gpu.kernel
        def one(x):
            gpu.launch(threads=8)
            x[gpu.thread] = 1.0

        base = f(8, 8)
        assert statuses(row, base[:, :4])["inside its shape"] == "refuted"
        assert statuses(one, f(1))["inside its shape"] == "refuted"
        row(base[:, :4])
        assert base[0].tolist() == [1, 1, 1, 1, 0, 0, 0, 0]
        with pytest.raises(KernelError, match="outside its shape"):
            row.interpret(f(8, 8)[:, :4])

    def test_s4_a_partition_for_another_tile(self):
        with pytest.raises(TensorError, match="takes index 96 of a mode of 32"):
            thread_value_partition(make_tensor(f(4, 8)), Layout(((4, 8), (2, 2)), ((32, 1), (16, 8))), 3)

    def test_s3_offsets_beyond_32_bits_are_refused(self):
        @gpu.kernel
        def far(x):
            gpu.launch(threads=4)
            x[gpu.thread] = 1.0

        wide = np.lib.stride_tricks.as_strided(f(1), (2, 4), (4 << 32, 4))
        with pytest.raises(CutepyError, match="32"):
            far.verify(wide)

    def test_s5a_a_second_counter_is_proven(self):
        @gpu.kernel
        def bump(x, y):
            gpu.launch(threads=4)
            i = gpu.thread + 0
            for _turn in gpu.loop(5):
                y[i] = x[i]
                i = i + 4

        assert bump.verify(f(20), f(20)).ok

    def test_s5b_ping_pong_is_proven(self):
        @gpu.kernel
        def ping_pong(x, y):
            gpu.launch(threads=32)
            s, cur = gpu.shared("f32", Layout((2, 32), (32, 1))), gpu.constant(0, "u32")
            s[0, gpu.thread] = x[gpu.thread]
            gpu.barrier()
            for _turn in gpu.loop(5):
                s[1 - cur, gpu.thread] = s[cur, gpu.thread] + 1.0
                gpu.barrier()
                cur = 1 - cur
            y[gpu.thread] = s[cur, gpu.thread]

        assert ping_pong.verify(f(32), f(32)).ok

    def test_s5c_a_permutation_through_shared_memory_is_proven(self):
        @gpu.kernel
        def permuted(a, y):
            gpu.launch(threads=8)
            t, at, held = gpu.thread, gpu.shared("u32", 8), gpu.shared("u32", 8)
            at[t] = (t * 3 + 1) % 8
            held[t] = a[t]
            gpu.barrier()
            y[t] = held[at[(t + 1) % 8]]

        assert permuted.verify(u(8), u(8)).ok

    def test_s5d_a_race_on_the_side_of_a_number(self):
        @gpu.kernel
        def sided(x, c):
            gpu.launch(threads=8)
            if c != 0:
                x[gpu.thread // 2] = gpu.thread

        assert statuses(sided, u(8), 3)["no races"] == "refuted"

    def test_s5e_a_binary_search_needs_no_bound(self):
        @gpu.kernel
        def search(x, keys, y):
            gpu.launch(threads=8)
            low, high = gpu.constant(0, "u32"), gpu.constant(size(x), "u32")
            while low < high:
                middle = (low + high) // 2
                if x[middle] < keys[gpu.thread]:
                    low = middle + 1
                else:
                    high = middle
            y[gpu.thread] = low

        assert search.verify(f(1000), f(8), u(8)).ok

    def test_s6_floats_are_compared_as_numpy_does(self):
        one, other = np.float32([np.nan, 1, 2]), np.float32([1, np.nan, 2])
        assert ops.not_equal(gpu.array(one), gpu.array(other)).numpy().tolist() == [True, True, False]
        zeros = np.float32([0.0, -0.0])
        with np.errstate(divide="ignore"):
            assert np.signbit(np.power(zeros, np.float32(3))).tolist() == [False, True]
        assert np.signbit(ops.power(gpu.array(zeros), np.float32([3, 3])).numpy()).tolist() == [False, True]

    def test_s7_an_endless_loop_of_the_trace_ends(self):
        @gpu.kernel
        def endless(y):
            gpu.launch(threads=1)
            w = gpu.constant(0, "u32")
            while w < 20:
                w = w * 2
            y[0] = w

        with pytest.raises(KernelError, match=rf"{HERE}.*turns of a `while`"):
            endless.wgsl(u(1))

    def test_s7_odd_python(self):
        @gpu.kernel
        def odd(x):
            gpu.launch(threads=4)
            q, r = divmod(gpu.thread, 3)
            x[gpu.thread] = q * 10 + r

        x = u(4)
        odd.interpret(x)
        assert x.tolist() == [0, 1, 2, 10]

        class Holder:
            @gpu.kernel
            def method(self, x):
                gpu.launch(threads=4)
                x[gpu.thread] = 1.0

        with pytest.raises(KernelError, match="a method"):
            Holder().method(f(4))

    @pytest.mark.parametrize("wrong", [lambda t: range(t)[::-1], lambda t: np.arange(4)[t % 4]])
    def test_s7_what_python_cannot_do_with_a_value(self, wrong):
        @gpu.kernel
        def odd(x):
            gpu.launch(threads=4)
            x[gpu.thread] = wrong(gpu.thread)

        with pytest.raises(KernelError, match=HERE):
            odd.wgsl(u(4))

    @pytest.mark.parametrize("ask", [lambda t: t - 1 < 0, lambda t: 0 > 2 - t])
    def test_s7_the_sign_of_a_difference_of_u32_is_warned_of(self, ask):
        @gpu.kernel
        def signed(x):
            gpu.launch(threads=4)
            x[gpu.thread] = gpu.select(ask(gpu.thread), gpu.constant(1, "u32"), 0)

        with pytest.warns(RuntimeWarning, match=rf"{HERE}.* < 0 is False everywhere.*gpu\.cast"):
            signed.wgsl(u(4))

    def test_s7_a_range_from_0_is_right_of_what_wraps(self):
        @gpu.kernel
        def inside(x):
            gpu.launch(threads=4)
            i = gpu.thread - 1
            if 0 <= i < 2:
                x[gpu.thread] = 1

        x = u(4)
        inside.interpret(x)
        assert x.tolist() == [0, 1, 1, 0]

    def test_s7_a_difference_that_does_not_wrap_is_compared(self):
        @gpu.kernel
        def signed(x):
            gpu.launch(threads=4)
            t = gpu.thread
            x[t] = gpu.select((3 - t >= 0) & (gpu.cast(t, "i32") - 1 < 0), gpu.constant(1, "u32"), 0)

        x = u(4)
        signed.interpret(x)
        assert x.tolist() == [1, 0, 0, 0]


class TestKernels:
    @pytest.mark.parametrize(
        "sum_of",
        [
            lambda v: gpu.subgroup_add(v),
            lambda v: v + gpu.subgroup_shuffle_xor(v, 16),
            lambda v: gpu.subgroup_broadcast(v, 20),
        ],
    )
    def test_k1_what_depends_on_the_size_of_a_subgroup_is_not_proven(self, sum_of: Callable[..., gpu.Expr]):
        @gpu.kernel
        def summed(x, y):
            gpu.launch(threads=32)
            y[gpu.thread] = sum_of(x[gpu.thread])

        assert statuses(summed, f(32), f(32))["any subgroup size"] == "refuted"

    def test_k2_a_second_length_is_the_last_that_is_traced(self):
        @gpu.kernel
        def twice(x, y):
            gpu.launch(grid=ceil_div(size(x), 64), threads=64)
            i = gpu.workgroup.x * 64 + gpu.thread
            if i < size(x):
                y[i] = 2 * x[i]

        for length in (300, 301, 302, 303, 1001, 77):
            x, y = np.arange(length, dtype=F), f(length)
            twice(x, y)
            assert np.array_equal(y, 2 * x)
        assert twice.stats.traces <= 3

    def test_k3_a_loop_that_a_workgroup_leaves_together(self):
        @gpu.kernel
        def halved(x, y):
            gpu.launch(threads=64)
            v = x[gpu.thread]
            while gpu.at_most(100, gpu.workgroup_reduce(v, "max") > 1e-3):
                v = v / 2
            y[gpu.thread] = v

        x, y = np.linspace(1, 2, 64, dtype=F), f(64)
        assert "refuted" not in statuses(halved, x, y).values()
        halved.interpret(x, y)
        assert np.array_equal(y, x / 2**11)

    def test_k5_one_workgroup_is_proven_as_two_are(self):
        @gpu.kernel
        def guarded(n, x, y, *, grid):
            gpu.launch(grid=grid, threads=64)
            i = gpu.workgroup.x * 64 + gpu.thread
            if i < gpu.minimum(n[0], size(x)):
                y[i] = x[i]

        assert all(guarded.verify(u(1), u(60), u(60), grid=grid).ok for grid in (1, 2))

    def test_k6_a_further_guard_loses_no_proof(self):
        @gpu.kernel
        def segments(seg, out):
            n = size(seg)
            gpu.launch(grid=4, threads=128)
            i = gpu.workgroup.x * 128 + gpu.thread
            s = gpu.load(seg, i, where=i < n, other=0xFFFFFFFF)
            if i < n and s < size(out):
                gpu.atomic_add(out, s, 1)

        assert segments.verify(u(500), u(20)).ok

    def test_k7_accesses_are_counted_as_the_text_makes_them(self):
        @gpu.kernel
        def scalars(x, y):
            gpu.launch(threads=32)
            s, t = gpu.shared("f32", Layout((32, 4), (4, 1))), gpu.thread
            for i in range(4):
                s[i * 8 + t // 4, t % 4] = x[i * 32 + t]
            gpu.barrier()
            for i in range(4):
                y[t * 4 + i] = s[t, i]

        assert "4-way" in str(scalars.report(f(128), f(128)))

    def test_k8_gpu_is_asked_about_its_names(self):
        assert not hasattr(gpu, "thread") and len(inspect.getmembers(gpu)) > 50
        assert "kernel" in pydoc.render_doc(gpu)


class TestAlgebra:
    def test_g1_questions_of_unknown_sizes(self):
        assert evenly_divides(Layout((M, 8)).given("64 divides M"), (64, 8))
        assert compatible(Layout(M).given("M == 8"), Layout(8))
        assert compatible(Layout(M * N + N), Layout((M + 1, N)))
        assert evenly_divides((4, 8), (None, 4))
        for call in (lambda: evenly_divides(Layout(M), Layout(2, 2)), lambda: shape_div(M, 4)):
            with pytest.raises(UndecidedError, match="4 divides M"):
                call()

    def test_g2_round_up_of_tuples(self):
        assert round_up((1, 8), 4) == (4, 8) and round_up((2, 3), 6) == (6, 6)

    def test_g3_no_map_of_bits_is_better_than_the_best(self):
        accesses = [
            Layout.parse(text)
            for text in (
                "(2,(2,2)):(4,(2,1))", "F2<1,3,7> o 0 o (2,4):(1,2)", "F2<3,7,2> o 0 o (2,4):(1,2)",
                "S<1,0,2> o 0 o (2,(2,2)):(2,(4,1))",
            )
        ]  # fmt: skip
        found = conflict_free((2, 4), accesses, lanes=2, banks=2)
        other = Layout.parse("F2<1,2,5> o 0 o (2,4):(1,2)")
        ways = [bank_conflicts(composition(other, access), lanes=2, banks=2).ways for access in accesses]
        assert sum(found.ways) <= sum(ways) and max(found.ways) <= max(ways)

    def test_g4_orders_of_many_modes(self):
        access = Layout((24, 4), (1, 24))
        assert conflict_free((3, 2, 2, 2, 4), [access], access_bytes=16).free

    def test_g4_paddings_of_all_modes(self):
        accesses = [
            Layout(((2, 2), 4), ((1, 2), 4)),
            Layout(((4, 2), 2), ((4, 2), 1)),
            Layout(((2, 4), 2), ((2, 4), 1)),
        ]
        found = conflict_free((2, 2, 4), accesses, lanes=8, banks=8, pad=True)
        assert found.free and found.layout.cosize == 17

    @pytest.mark.parametrize(
        "call",
        [
            lambda: Layout.parse("ArithTuple(1,2) o (4):(1@9999999)"),
            lambda: Layout(4, E(10**9)),
            lambda: append(Layout(4), 10**8),
        ],
    )
    def test_g5_an_axis_too_far_is_refused_at_once(self, call):
        with pytest.raises(LayoutError):
            call()

    def test_g6_an_empty_layout_composes(self):
        assert composition(Layout(()), 4) == Layout(4, 0)
        for call in (cosize, lambda value: ceil_div(value, None)):
            with pytest.raises(CutepyError):
                call(1)

    def test_g7_explanations_and_pictures_name_what_there_is(self):
        assert "16 on" not in str(explain(complement, Layout((2, 2), (1, 8)), 4))
        assert "-(0,6)" in str(explain(composition, Layout((4, 8), (8, 1)), Layout(2, -24)))
        assert "T0 V1 T1 V0" in draw(Layout((4, 2), (1, 1)), over=(5, 1)).text()

    def test_g7_what_writers_write_is_read(self):
        mapped = ComposedLayout(BitMap((1, 3)), 0, Layout((2, 2)))
        assert parse_layout(mapped.to_latex()) == mapped

    def test_g8_inner_and_outer_are_those_of_cute(self):
        swizzled = ComposedLayout(Swizzle(3, 5, 4), 0, Layout((8, 4), (1, 8)))
        assert {swizzled.inner, swizzled.outer} == {Swizzle(3, 5, 4), Layout((8, 4), (1, 8))}


class TestArrays:
    @pytest.mark.parametrize("call", [lambda a: ops.add(a, a), ops.sum, lambda a: ops.astype(a, "f32")])
    def test_a1_nothing_of_a_device_computes_on_the_host(self, call):
        with pytest.raises(TensorError, match="no such element type on a GPU"):
            call(gpu.array(np.ones(8, np.uint8)))

    def test_a2_signs_of_zeros_and_infinities(self):
        zeros = gpu.array(np.float32([-0.0, -0.0]))
        assert ops.power(zeros, np.float32([-1, -3])).numpy().tolist() == [-np.inf, -np.inf]
        assert np.signbit(ops.power(zeros, np.float32([3, 3])).numpy()).all()
        assert np.signbit(ops.arctan(zeros).numpy()).all()

    def test_a4_alpha_in_an_epilogue(self):
        eye = np.eye(4, dtype=F)
        found = ops.matmul(gpu.array(eye), gpu.array(eye), epilogue="alpha * c", alpha=2.0)
        assert np.array_equal(found.numpy(), 2 * eye)

    def test_a5_odd_lengths_of_small_types(self):
        assert gpu.array(np.arange(3, dtype=np.uint8)).numpy().tolist() == [0, 1, 2]

    def test_a7_shifts_beyond_the_width(self):
        assert ops.left_shift(np.int32([1]), 33).numpy().tolist() == [0]

    def test_a8_einsum_clip_linspace(self):
        assert ops.einsum("...ij->...ji", np.ones((2, 3, 4), F)).numpy().shape == (2, 4, 3)
        assert ops.einsum("ii->i", np.eye(3, dtype=F)).numpy().tolist() == [1, 1, 1]
        assert ops.clip(np.float32([-1, 1]), 0).numpy().tolist() == [0, 1]
        with pytest.raises(TensorError):
            ops.linspace(5, 10, 3, "bool")


class TestUsers:
    def test_u4_lanes_are_asked_for(self):
        assert not hasattr(gpu, "lane") or callable(gpu.lane)

    def test_u5_a_tiler_composes_by_the_operator(self):
        layout = Layout((4, 8), (8, 1))
        assert layout @ (2, 2) == composition(layout, (2, 2)) and layout @ 4 == composition(layout, 4)

    def test_u6_a_long_vector_is_folded_in_texts_as_in_pictures(self):
        lines = draw(Layout((1, 100), (0, 3))).text().splitlines()
        assert max(map(len, lines)) < 110 and sum(line.startswith(" 0  |") for line in lines) == 7

    def test_u6_shared_elements_say_which_value_is_whose(self):
        (grid,) = draw(Layout((4, 2), (1, 1)), over=(5, 1)).figure.grids
        assert grid.labels[1] == "T0 V1\nT1 V0" and grid.shared == [1, 2, 3]

    def test_u6_steps_of_a_composition_show_where_the_right_one_points(self):
        assert "where right points" in draw("composition((6,2):(1,6), (4,3):(3,1))", view="steps").text()

    def test_u6_a_picture_has_no_background_of_its_own(self):
        assert "<rect" not in draw(Layout((4, 8))).svg()

    def test_u6_a_tall_picture_ends_above_the_footer(self):
        """TeX scales what is higher than most of a page, whatever width is asked for."""
        for said in ({}, {"width": "60%"}):
            assert rf"\resizebox{{!}}{{{TALLEST}}}" in latex(draw(Layout((16, 4))), said)

    def test_u7_notebooks_of_equal_tensors_are_equal(self):
        one, other = (make_tensor(np.arange(32, dtype=F), Layout((4, 8), (8, 1))) for _time in range(2))
        assert one._repr_mimebundle_() == other._repr_mimebundle_() and repr(one) == repr(other)
        texts = Layout((4, 8), (8, 1))._repr_mimebundle_()
        assert sum(map(len, texts.values())) < 12_000


class TestRuntime:
    def test_r6_a_mask_is_refused(self):
        with pytest.raises(TensorError, match="mask"):
            ops.sum(np.ma.masked_array([1.0, 2.0], [0, 1]))

    @pytest.mark.parametrize("name", ["storage", "read", "read_write", "uniform", "workgroup"])
    def test_r9_names_of_wgsl(self, name):
        space: dict[str, object] = {"gpu": gpu}
        exec(f"def {name}({name}_, x):\n    gpu.launch(threads=4)\n    x[gpu.thread] = {name}_[gpu.thread]", space)
        kernel, x = gpu.kernel(space[name]), np.zeros(4, F)  # type: ignore[arg-type]
        kernel(np.arange(4, dtype=F), x)
        assert x.tolist() == [0, 1, 2, 3]

    @pytest.mark.parametrize("way", ["../outside.svg", "inside/outside.svg"])
    def test_r11_a_figure_is_written_inside_its_folder(self, tmp_path, capsys, way):
        page = tmp_path / "pages" / "a.md"
        page.parent.mkdir()
        (tmp_path / "elsewhere").mkdir()
        (page.parent / "inside").symlink_to(tmp_path / "elsewhere")
        page.write_text(f"```layout\n(4,8):(8,1)\nfile: {way}\n```\n")
        assert main(["figures", str(page)]) == 2
        assert "outside of the document's folder" in capsys.readouterr().err
        assert not list(tmp_path.rglob("*.svg"))

    @pytest.mark.parametrize("text", ["a+9**9**9", "a" + "**2" * 60, "+".join(f"a{i}" for i in range(100))])
    def test_r13_formulas_that_run_away(self, text):
        with pytest.raises(KernelError):
            gpu.pointwise(text)(np.ones(3, F))

    def test_r14_interleaved_views_of_one_array(self):
        @gpu.kernel
        def both(x, y):
            gpu.launch(threads=8)
            x[gpu.thread] = x[gpu.thread] + 1
            y[gpu.thread] = y[gpu.thread] * 2

        base = np.ones(16, F)
        both(base[::2], base[1::2])
        assert base.tolist() == [2.0] * 16
