"""The figures of a report equal what is counted over every invocation, lane by lane."""

import json
import random
from collections import defaultdict

import numpy as np
import traced
from bank_counts import disagreements
from oracle import observe
from random_kernels import Maker
from subjects import staged_copy, tv_copy

from cutepy import gpu
from cutepy.gpu.inspect.report import AccessFigures, Hardware, report
from cutepy.gpu.ir import Kernel, new_arena
from cutepy.gpu.lower import lower
from cutepy.gpu.matmul.kernel_fma import matmul_kernel
from cutepy.gpu.matmul.plan import Plan
from cutepy.gpu.verify import verify
from cutepy.layout import ComposedLayout, Layout, Swizzle, _, composition, make_composed_layout
from cutepy.tensor import copy, fill, make_layout_tv, make_tensor, thread_value_partition

Row = tuple[object, ...]


def counted(kernel: Kernel, hardware: Hardware) -> list[Row]:
    """(verb, array, times, units, perfect, ways) of each access that happens, from every invocation."""
    sites: dict[tuple[object, ...], dict[tuple[object, ...], dict[int, list[int]]]] = {}
    for e in observe(kernel).events:
        if e.buffer.space == "private":
            continue
        instance = e.group, e.thread // hardware.subgroup, e.loops
        lanes = sites.setdefault((e.site, e.verb, e.buffer), {}).setdefault(instance, defaultdict(list))
        lanes[e.thread % hardware.subgroup].append(e.element * e.buffer.dtype.bytes)
    rows = []
    for (_site, verb, buffer), instances in sites.items():
        count = _segments if buffer.space == "storage" else _rounds
        each = [count(lanes, buffer.dtype.bytes, hardware) for lanes in instances.values()]
        units, perfect, ways = (sum(x[0] for x in each), sum(x[1] for x in each), max(x[2] for x in each))
        rows.append(
            (
                "updates" if verb == "sets" else verb,
                buffer.name,
                sum(map(len, instances.values())),
                units,
                perfect,
                ways,
            )
        )
    return sorted(rows, key=str)


def _segments(lanes: dict[int, list[int]], each: int, hardware: Hardware) -> tuple[int, int, int]:
    wanted = {first + i for starts in lanes.values() for first in starts for i in range(each)}
    touched = {b // hardware.segment_bytes for b in wanted}
    return len(touched), -(-len(wanted) // hardware.segment_bytes), 1


def _rounds(lanes: dict[int, list[int]], each: int, hardware: Hardware) -> tuple[int, int, int]:
    nbytes = each * len(next(iter(lanes.values())))
    together = hardware.subgroup * 4 // max(4, nbytes)
    units = perfect = worst = 0
    for start in range(0, hardware.subgroup, together):
        words = {b // 4 for lane in range(start, start + together) for b in lanes.get(lane, [])}
        banks: dict[int, int] = defaultdict(int)
        for word in words:
            banks[word % hardware.banks] += 1
        units += max(banks.values(), default=0)
        perfect += -(-len(words) // hardware.banks)
        worst = max(worst, *banks.values(), 0)
    return units, perfect, worst


def reported(kernel: Kernel, hardware: Hardware) -> list[Row]:
    found = report(kernel, hardware)
    assert all(a.exact for a in found.accesses)

    def row(a: AccessFigures) -> Row:
        units = a.transactions if a.space == "storage" else a.rounds
        return a.verb, a.array, a.times, units, a.perfect, a.ways or 1

    return sorted([row(a) for a in found.accesses if a.times], key=str)


HARDWARE = [Hardware(), Hardware(segment_bytes=128), Hardware(subgroup=8, banks=16, segment_bytes=64), Hardware(16, 32)]


def _random_copy(pick: random.Random) -> Kernel:
    """A copy through workgroup memory: random thread-value layouts, padding, swizzle, order, type, uneven sizes."""
    tm, tn, vm, vn = pick.choice([4, 8]), pick.choice([4, 8]), pick.choice([1, 2, 4]), pick.choice([1, 2])
    threads = Layout((tm, tn)) if pick.random() < 0.5 else Layout((tm, tn), (tn, 1))
    values = Layout((vm, vn)) if pick.random() < 0.5 else Layout((vm, vn), (vn, 1))
    tile, put = make_layout_tv(threads, values)
    elements = tile[0] * tile[1] // (tm * tn)
    take = Layout((tm * tn, elements), pick.choice([(1, tm * tn), (elements, 1)]))
    pad = pick.choice([0, 0, 0, 1, 2, 4])
    plain = pick.choice([Layout(tile, (1, tile[0] + pad)), Layout(tile, (tile[1] + pad, 1))])
    swizzle = Swizzle(pick.choice([1, 2, 3]), pick.choice([0, 1, 2]), pick.choice([3, 4]))
    shared: Layout | ComposedLayout = plain if pad or pick.random() < 0.1 else make_composed_layout(swizzle, 0, plain)
    shape = pick.choice([(2 * tile[0], tile[1]), (tile[0] + 3, 2 * tile[1]), (2 * tile[0], tile[1] + 1)])
    x = np.zeros(shape, pick.choice(["float32", "float16"]), order=pick.choice("CF"))
    y = np.zeros(shape, x.dtype, order=pick.choice("CF"))
    if pick.random() < 0.25:
        return tv_copy.ir(x, y, tile=tile, source=put, target=take)
    return staged_copy.ir(x, y, tile=tile, shared=shared, put=put, take=take)


def test_figures_equal_a_count_over_all_lanes_for_random_layouts_and_swizzles() -> None:
    pick = random.Random(0)
    swizzled = 0
    for number in range(50):
        kernel = _random_copy(pick)
        hardware = pick.choice(HARDWARE)
        swizzled += any("S<" in b.note for b in kernel.local)
        assert reported(kernel, hardware) == counted(lower(kernel), hardware), f"number {number}, {hardware}"
    assert swizzled > 12


def test_figures_equal_a_count_for_random_kernels() -> None:
    """Loops, guards, whatever addresses in bounds: nothing is left out of the sums over ids."""
    pick = random.Random(0)
    compared = 0
    for seed in range(175):
        with new_arena():
            kernel = Maker(seed).kernel()
            hardware = pick.choice([Hardware(4, 8, 16), Hardware(8, 4, 32), Hardware()])
            if all(v.status == "proven" for v in verify(kernel).verdicts if v.claim == "in bounds"):
                compared += 1
                assert reported(kernel, hardware) == counted(lower(kernel), hardware), f"seed {seed}"
    assert compared > 35


@gpu.kernel
def touch(*, layout, tv):
    gpu.launch(grid=1, threads=tv[0].size)
    tile = gpu.shared("bool", layout)
    fill(thread_value_partition(tile, tv), True)


def test_bank_conflicts_are_those_of_the_layout_itself() -> None:
    """Counted from `layout(tv(thread, value))`, without any kernel: bool is never packed into vectors."""
    pick = random.Random(1)
    for _case in range(50):
        m, n = pick.choice([(8, 16), (16, 16), (32, 8)])
        plain = pick.choice([Layout((m, n)), Layout((m, n), (n, 1)), Layout((m, n), (1, m + 1))])
        layout = plain if pick.random() < 0.4 else make_composed_layout(Swizzle(3, 0, pick.choice([3, 4])), 0, plain)
        tv = Layout((32, m * n // 32), pick.choice([(1, 32), (m * n // 32, 1)]))
        placed = composition(layout, tv)
        wanted = []
        for value in range(tv[1].size):
            words = {int(placed(thread, value)) for thread in range(32)}
            wanted.append(max(sum(w % 32 == bank for w in words) for bank in range(32)))
        found = report(touch.ir(layout=layout, tv=tv))
        assert sorted(a.ways for a in found.accesses) == sorted(wanted)


def test_reports_pictures_and_users_count_one_and_the_same() -> None:
    assert [wrong for seed in range(100) for wrong in disagreements(seed)] == []


def test_a_transpose_conflicts_unless_it_is_swizzled() -> None:
    x, y = np.zeros((64, 96), np.float32), np.zeros((96, 64), np.float32)
    plain, swizzled = (traced.transpose.report(x, y, swizzled=s) for s in (False, True))
    assert (plain.worst_conflict, swizzled.worst_conflict) == (32, 1)
    assert plain.transactions == plain.perfect_transactions == 2 * 64 * 96 * 4 // 32


def test_the_text_and_the_data_of_a_report() -> None:
    x, y = np.zeros(1000, np.float32), np.zeros(1000, np.float32)
    found = traced.saxpy.report(2.0, x, y)
    assert str(found).splitlines()[:4] == [
        "saxpy: 4 workgroups of 64 threads, 0 bytes of workgroup memory, 2,000 FLOP",
        "  array  layout      bytes read  bytes written",
        "  x      (1000):(1)       4,000              0",
        "  y      (1000):(1)       4,000          4,000",
    ]
    data = found.as_dict()
    json.dumps(data)
    assert (data["flops"], data["workgroups"], data["threads"]) == (2000, 4, 64)
    assert [a["transactions"] for a in data["accesses"]] == [125, 125, 125]
    assert "4 workgroups" in str(traced.saxpy.report(2.0, x, y, segment_bytes=128))


def test_a_matrix_product_of_any_size_is_counted_at_once() -> None:
    n = 4096
    arrays = [make_tensor(np.empty((n, n), np.float32)) for _ in range(3)]
    found = matmul_kernel.report(*arrays, plan=Plan((128, 128, 8), (8, 16), stages=2, unrolled=True))
    assert found.flops == 2 * n**3
    assert {a.name: (a.read_bytes, a.written_bytes) for a in found.arrays if a.space == "storage"} == {
        "A": (4 * n * n * n // 128, 0),
        "B": (4 * n * n * n // 128, 0),
        "C": (0, 4 * n * n),
    }
    assert found.perfect_transactions == found.transactions


@gpu.kernel
def smoothed(x, steps):
    gpu.launch(threads=64)
    s, i = gpu.shared(x, (64, 2)), gpu.thread
    s[i, 0] = x[i]
    gpu.barrier()
    for k in gpu.loop(steps):
        s[i, (k + 1) % 2] = s[2 * i % 64, k % 2] + s[(i + k) % 64, k % 2]
        gpu.barrier()
    x[i] = s[i, 0]


def test_a_loop_as_long_as_the_host_says_is_counted_by_its_kinds_of_turns() -> None:
    """Two kinds of one access, sixty-four of the other: the ways are those of a loop whose length is known."""
    x = np.zeros(64, np.float32)

    @gpu.kernel
    def known(x):
        smoothed.function(x, 128)

    ways = [
        [a.ways for a in kernel.report(x, *more).accesses]
        for kernel, more in ((smoothed, (np.uint32(9),)), (known, ()))
    ]
    assert ways[0] == ways[1] and 2 in ways[0]


def test_what_data_decide_is_said_so() -> None:
    x = np.zeros(500, np.uint32)
    found = traced.histogram.report(x, np.zeros(10, np.uint32))
    (update, *_) = [a for a in found.accesses if a.verb == "updates" and a.space == "workgroup"]
    assert (update.rounds, update.ways, update.perfect) == (None, None, None)
    assert "data decide" in str(found)
    assert sum(a.times for a in found.accesses if a.verb == "updates" and a.space == "workgroup") == 500


@gpu.kernel
def scalars_side_by_side(x, y):
    gpu.launch(threads=32)
    s, t, r = gpu.shared("f32", Layout((32, 4), (4, 1))), gpu.thread, make_tensor("f32", 4)
    for i in range(4):
        s[i * 8 + t // 4, t % 4] = x[i * 32 + t]
    gpu.barrier()
    copy(s(t, _), r)
    for i in range(4):
        y[t * 4 + i] = r[i]


@gpu.kernel
def read_twice(x, y):
    gpu.launch(threads=32)
    for k in gpu.loop(8):
        y[gpu.thread, k] = x[gpu.thread] + x[gpu.thread]


def test_accesses_are_counted_as_the_text_makes_them() -> None:
    """One scalar write makes scalars of an array: four loads, each 4-way, are no vector without a conflict."""
    x, y = np.zeros(128, np.float32), np.zeros(128, np.float32)
    text = scalars_side_by_side.wgsl(x, y)
    assert "var<workgroup> s: array<f32, 128>" in text
    reads = [a for a in scalars_side_by_side.report(x, y).accesses if (a.array, a.verb) == ("s", "reads")]
    assert [(a.width_bytes, a.ways, a.rounds) for a in reads] == [(4, 4, 4)] * 4
    rows = np.zeros((32, 8), np.float32)
    (load,) = (line for line in read_twice.wgsl(x[:32], rows).splitlines() if "x[" in line)
    (read,) = (a for a in read_twice.report(x[:32], rows).accesses if a.array == "x")
    assert read.times == 32 * (1 if load.startswith("    let") else 8)
