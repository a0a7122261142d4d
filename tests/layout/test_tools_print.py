"""What other tools print, text by text: read as this layout, tiler or set of parts, or refused for this reason."""

from __future__ import annotations

import pytest
from layout.cases import cases, generator, random_shape

from cutepy.errors import LayoutError, NotationError
from cutepy.layout import (
    BitMap,
    ComposedLayout,
    E,
    Layout,
    Swizzle,
    _,
    from_f2,
    make_composed_layout,
    make_identity_layout,
    parse_layout,
    parse_parts,
    parse_tiler,
    recast_layout,
)
from cutepy.layout.text.parse import parse_expression
from cutepy.layout.values.bit_map import apply
from cutepy.layout.values.int_tuple import leaves, product
from cutepy.tensor import local_tile, make_identity_tensor

LAYOUT = Layout((4, (2, 2)), (1, (4, 8)))
ROWS = Layout((8, 64), (64, 1))
ELEMENTS = ComposedLayout(Swizzle(3, 4, 3), 0, ROWS)
BYTES = ComposedLayout(Swizzle(3, 3, 3), 0, ROWS)  # the swizzle of the addresses of elements of 2 bytes
IDENTITY = Layout((2, 3), (E(0), E(1)))
STARTED = make_composed_layout(make_identity_layout((46, 7)), (42, 2), make_identity_layout((4, 5)))
ACCUMULATOR = Layout(((128, 256), 1, 1), ((65536, 1), 0, 0))
DESCRIPTORS = Layout((1, 2, 4, (1, 3)), (0, 512, 2, (0, 1024)))

MMA = """TiledMMA
  ThrLayoutVMNK:  (_32,_2,_2,_1):(_1,_32,_64,_0)
  PermutationMNK: (_,_,_)
MMA_Atom
  ThrID:      _32:_1
  Shape_MNK:  (_16,_8,_16)
  LayoutA_TV: ((_4,_8),(_2,_2,_2)):((_32,_1),(_16,_8,_128))
  LayoutB_TV: ((_4,_8),(_2,_2)):((_16,_1),(_8,_64))
  LayoutC_TV: ((_4,_8),(_2,_2)):((_32,_1),(_16,_8))
"""
COPY = """TiledCopy
  Tiler_MN:       (_64,_16)
  TiledLayout_TV: ((_8,_16),_8):((_128,_1),_16)
Copy_Atom
  ThrID:        _1:_0
  ValLayoutSrc: (_1,_8):(_0,_1)
  ValLayoutDst: (_1,_8):(_0,_1)
  ValLayoutRef: (_1,_8):(_0,_1)
  ValueType:    16b
"""
TRITON = """ - register=1 -> (0, 1)
   register=2 -> (0, 2)
 - lane=1 -> (1, 0)
   lane=2 -> (2, 0)
 - warp=1 -> (4, 0)
 - block is a size 1 dimension
where out dims are: [dim0 (size 8), dim1 (size 4)]"""
THREADS = Layout((4, 4, 2, 1), (8, 1, 4, 0))  # register, lane, warp, block -> the place in 8 x 4, rows fastest

READ = [
    # CuTe C++, printed
    ("(_4,(_2,_2)):(_1,(_4,_8))", LAYOUT),
    ("(4,(_2,2)):(_1,(4,_8))", LAYOUT),
    ("_4:_-1", Layout(4, -1)),
    ("():()", Layout((), ())),
    ("Sw<3,4,3> o _0 o (_8,_64):(_64,_1)", ELEMENTS),
    ("Sw<3,4,3>_smem_ptr[16b](0x7f3c) o (_8,_64):(_64,_1)", BYTES),
    ("Sw<3,4,3> o smem_ptr[16b](unset) o (_8,_64):(_64,_1)", BYTES),
    ("Sw<3,4,3>_smem_ptr[8b](0x7f) o (_8,_64):(_64,_1)", ELEMENTS),
    ("Sw<3,4,3>_smem_ptr[4b](0x7f) o (_8,_64):(_64,_1)", ComposedLayout(Swizzle(3, 5, 3), 0, ROWS)),
    ("smem_ptr[32b](0x7f) o (_8,_64):(_64,_1)", ROWS),
    ("gmem_ptr[32b](0x7ffd2c0) o (4,(2,2)):(_1,(4,8))", LAYOUT),
    ("ptr[32b](0x55d0) o (_4,(_2,_2)):(_1,(_4,_8))", LAYOUT),
    ("ArithTuple(_0,_0) o (_2,_3):(_1@0,_1@1)", IDENTITY),
    ("(4,5):(5@1@0,_1@1)", Layout((4, 5), (5 * E(0, 1), E(1)))),
    ("(46,7):(1@0,1@1) o (42,2) o (4,5):(1@0,1@1)", STARTED),
    ("ArithTuple(42,_2) o (4,5):(_1@0,_1@1)", STARTED),
    ("counting_iter(42) o (4,(2,2)):(_1,(4,8))", LAYOUT),
    ("tAcA: (0,0) o (2,3):(1@0,1@1)", IDENTITY),
    ("tmem_[32b](0x0000.0000) o ((_128,_256),_1,_1):((_65536,_1),_0,_0)", ACCUMULATOR),
    ("GMMA::DescriptorIterator o (_1,_2,_4,(_1,_3)):(_0,_512,_2,(_0,_1024))", DESCRIPTORS),
    ("subptr[4b](0x7f42.0) o (_8,_64):(_64,_1)", ROWS),
    ("tCsA:\tSw<3,4,3>_smem_ptr[16b](SMEM_ADDR_A) o (_8,_64):(_64,_1)", BYTES),
    ("tCrA :   UMMA::DescriptorIterator o (_1,_2,_4,(_1,_3)):(_0,_512,_2,(_0,_1024))", DESCRIPTORS),
    ("s2xh4     :  (4,(_2,2)):(_1,(4,_8))", LAYOUT),
    ("LayoutA_TV: ((_4,_8),(_2,_2)):((_16,_1),(_8,_64))", Layout(((4, 8), (2, 2)), ((16, 1), (8, 64)))),
    ("  ThrID:      _32:_1", Layout(32, 1)),
    # CuTe C++, source
    ("Layout<Shape<_4,Shape<_2,_2>>,Stride<_1,Stride<_4,_8>>>{}", LAYOUT),
    ("cute::Layout<cute::tuple<cute::C<4>, cute::tuple<cute::C<2>, cute::C<2>>>>", LAYOUT),
    ("make_layout(make_shape(4, make_shape(_2{}, Int<2>{})), make_stride(1, make_stride(4, 8)));", LAYOUT),
    ("make_layout(make_shape(8,64), LayoutRight{})", ROWS),
    ("composition(Swizzle<3,4,3>{}, Layout<Shape<_8,_64>,Stride<_64,_1>>{})", ELEMENTS),
    ("ComposedLayout<Swizzle<3,4,3>, smem_ptr_flag_bits<16>, Layout<Shape<_8,_64>,Stride<_64,_1>>>", BYTES),
    (
        "cute::ComposedLayout<cute::Swizzle<3,4,3>, cute::C<0>, cute::Layout<cute::tuple<cute::C<8>,cute::C<64>>,"
        "cute::tuple<cute::C<64>,cute::C<1>>>>",
        ELEMENTS,
    ),
    ("Layout<Shape<_2,_3>,Stride<E<0>,E<1>>>", IDENTITY),
    ("make_identity_layout(make_shape(2,3))", IDENTITY),
    ("make_ordered_layout(Shape<_8,_64>{}, Step<_2,_1>{})", ROWS),
    # the compiler's types
    ('!cute.layout<"(4,(2,2)):(1,(4,8))">', LAYOUT),
    ('!cute.layout<"(4):(1)">', Layout((4,), (1,))),
    ('!cute.composed_layout<"S<3,4,3> o 0 o (8,64):(64,1)">', ELEMENTS),
    ('!cute.memref<f32, gmem, align<16>, "(4,(2,2)):(1,(4,8))">', LAYOUT),
    ('!cute.memref<f16, smem, align<128>, S<3,4,3>, "(8,64):(64,1)">', BYTES),
    ('!memref_smem_f16_ = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "(8,64):(64,1)">', BYTES),
    ('!cute.memref<f8E4M3FN, smem, S<3,4,3>, "(8,64):(64,1)">', ELEMENTS),
    ('!cute.coord_tensor<"(0,0)", "(2,3):(1@0,1@1)">', IDENTITY),
    ('!cute.coord_tensor<"(42,2)", "(4,5):(1@0,1@1)">', STARTED),
    # the CuTe DSL
    ("S<3,4,3> o 0 o (8,64):(64,1)", ELEMENTS),
    ("S<3,4,3> o 2 o (10,2):(2,1)", ComposedLayout(Swizzle(3, 4, 3), 2, Layout((10, 2), (2, 1)))),
    ("tensor<ptr<f32, gmem, align<16>> o (4,(2,2)):(1,(4,8))>", LAYOUT),
    ("tensor<ptr<f16, smem, align<1024>, S<3,4,3>> o (8,64):(64,1)>", BYTES),
    ("tensor(raw_ptr(0x00007f: f32, gmem, align<16>) o (4,(2,2)):(1,(4,8)), data=[[1, 2]])", LAYOUT),
    ("tensor<(0,0) o (2,3):(1@0,1@1)>", IDENTITY),
    ("cute.make_layout((4, (2, 2)), stride=(1, (4, 8)))", LAYOUT),
    ("cute.make_composed_layout(cute.make_swizzle(3, 4, 3), 0, cute.make_layout((8, 64), stride=(64, 1)))", ELEMENTS),
    # pycute
    ("(4, (2, 2)):(1, (4, 8))", LAYOUT),
    ("Layout((4, (2, 2)),(1, (4, 8)))", LAYOUT),
    ("(4,):(1,)", Layout((4,), (1,))),
    ("SW_3_4_3 o 0 o (8, 64):(64, 1)", ELEMENTS),
    ("ComposedLayout(Swizzle(3,4,3),0,Layout((8, 64),(64, 1)))", ELEMENTS),
    # NVlabs' strides over F2
    (
        "Layout((8,8), (F2(1), F2(9)))",
        from_f2([[row >> b & 1 for row in (1, 2, 4, 9, 18, 36)] for b in range(6)], (8, 8)),
    ),
    ("(8,8):(F2(9),F2(1))", ComposedLayout(Swizzle(3, 0, 3), 0, Layout((8, 8), (8, 1)))),
    ("(4,8):(F2(1),F2(4))", Layout((4, 8))),
    # tensor-layouts, Mojo
    ("(Swizzle(3, 4, 3)) o ((8, 64) : (64, 1))", ELEMENTS),
    ("(Swizzle(3, 4, 3)) o {0} o ((8, 64) : (64, 1))", ELEMENTS),
    ("ComposedLayout(Swizzle(3, 4, 3), Layout((8, 64), (64, 1)), offset=0)", ELEMENTS),
    ("Layout((8, 64), (64, 1), swizzle=Swizzle(3, 4, 3))", ELEMENTS),
    ("Layout((8, 64) : (64, 1), swizzle=Swizzle(3, 4, 3))", ELEMENTS),
    ("(4, (2, 2)) : (1, (4, 8))", LAYOUT),
    ("((4, (2, 2)):(1, (4, 8)))", LAYOUT),
    # Triton
    (TRITON, THREADS),
    ("\n".join("// " + line for line in TRITON.splitlines()), THREADS),
    (
        "#ttg.linear<{register = [[0, 1], [0, 2]], lane = [[1, 0], [2, 0]], warp = [[4, 0]], block = []}>",
        THREADS,
    ),
    (
        "#linear = #ttg.linear<{register = [[0, 1], [0, 2]], lane = [[1, 0], [2, 0]], warp = [[4, 0]], block = []}>",
        THREADS,
    ),
    (
        "DistributedLinearLayout(reg_bases=[[0, 1], [0, 2]], lane_bases=[[1, 0], [2, 0]], warp_bases=[[4, 0]], "
        "block_bases=[], shape=[8, 4])",
        THREADS,
    ),
    (
        "#ttg.shared_linear<{offset = [[1], [3], [6]], block = []}, alignment = 16>",
        ComposedLayout(BitMap((1, 3, 6)), 0, Layout((8, 1), (1, 0))),
    ),
    (
        "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 1], warpsPerCTA = [2, 1], order = [1, 0]}>",
        Layout((4, 4, 2), (8, 1, 4)),
    ),
    (
        "BlockedLayout(size_per_thread=[1, 4], threads_per_warp=[4, 1], warps_per_cta=[2, 1], order=[1, 0])",
        Layout((4, 4, 2), (8, 1, 4)),
    ),
    # LaTeX and cutepy
    (r"S\langle 3,4,3\rangle \circ 0 \circ (8,64){:}(64,1)", ELEMENTS),
    ("F2<1,3,6> o 0 o 8:1", ComposedLayout(BitMap((1, 3, 6)), 0, Layout(8))),
    ("(4,(2,2))", LAYOUT),
]
TILERS = [
    ('!cute.tile<"[128:1;64:1]">', (Layout(128, 1), Layout(64, 1))),
    ("<_64:_1, _16:_1>", (Layout(64, 1), Layout(16, 1))),
    ('!cute.shape<"(128,64)">', (128, 64)),
    ('!cute.coord<"(1,_)">', (1, _)),
]
REFUSED = [
    ("S<3,4,3>", "swizzle alone has no shape"),
    ("!cute.ptr<f16, smem, align<128>, S<3,4,3>>", "a pointer"),
    ('!cute.tile<"[128:1;64:1]">', "parse_tiler"),
    ("!memref_gmem_f16_", "alias"),
    ("#ttg.swizzled_shared<{vec = 4, perPhase = 1, maxPhase = 8, order = [1, 0]}>", "shape"),
    ("Sw<3,4,3>_smem_ptr(0x7f) o (_8,_64):(_64,_1)", "bytes"),
    ("#ttg.nvidia_mma<{versionMajor = 2, warpsPerCTA = [4, 1], instrShape = [16, 8]}>", "shape"),
]


@pytest.mark.parametrize(("text", "layout"), READ, ids=[text[:48] for text, _layout in READ])
def test_a_print_is_read_as_its_layout(text: str, layout: object) -> None:
    assert parse_layout(text) == layout
    assert parse_expression(text).value == layout
    assert parse_layout(f"\n{text}\n") == layout


@pytest.mark.parametrize(("text", "tiler"), TILERS, ids=[text for text, _tiler in TILERS])
def test_a_tiler_is_read_as_one(text: str, tiler: object) -> None:
    assert parse_tiler(text) == tiler


def test_tensors_of_coordinates_are_read_back() -> None:
    rng = generator("origins")
    for _case in range(cases(100)):
        sizes = [rng.randint(1, 40) for _axis in range(rng.randint(2, 3))]
        tiles = tuple(rng.randint(1, size) for size in sizes)
        places = tuple(rng.randrange(-(-size // tile)) for size, tile in zip(sizes, tiles, strict=True))
        tile = local_tile(make_identity_tensor(tuple(sizes)), tiles, places)
        read = parse_layout(str(tile))
        starts = [place * tile for place, tile in zip(places, tiles, strict=True)]
        for index in range(product(tiles)):
            rest = index
            expected = []
            for start, extent in zip(starts, tiles, strict=True):
                expected.append(start + rest % extent)
                rest //= extent
            assert read(index) == tuple(expected), (str(tile), index)


def test_prints_of_atoms_are_read_part_by_part() -> None:
    mma = parse_parts(MMA)
    assert list(mma) == [
        "ThrLayoutVMNK", "PermutationMNK", "ThrID", "Shape_MNK", "LayoutA_TV", "LayoutB_TV", "LayoutC_TV",
    ]  # fmt: skip
    assert mma["PermutationMNK"] == (_, _, _) and mma["Shape_MNK"] == (16, 8, 16)
    assert mma["LayoutB_TV"] == Layout(((4, 8), (2, 2)), ((16, 1), (8, 64)))
    copy = parse_parts(COPY)
    assert copy["Tiler_MN"] == (64, 16) and copy["ValueType"] == "16b"
    assert copy["TiledLayout_TV"] == Layout(((8, 16), 8), ((128, 1), 16))
    named = parse_parts(
        '!cute.tiled_copy<!cute_nvgpu.atom.universal_copy<f16>, layout_copy_tv = <"((32,4),(32,1)):((4,1),(128,0))">, '
        'tiler_mn = <"[(4,32):(32,1);32:1]">>'
    )
    assert named["layout_copy_tv"] == Layout(((32, 4), (32, 1)), ((4, 1), (128, 0)))
    assert named["tiler_mn"] == (Layout((4, 32), (32, 1)), Layout(32, 1))
    dsl = parse_parts("Tiled MMA\n  Thr Layout VMNK: (32,2,2,1):(1,32,64,0)\n  TV Layout A:     (32,4):(4,1)\n")
    assert dsl["TV Layout A"] == Layout((32, 4), (4, 1))
    log = parse_parts("tCsA:\tSw<3,4,3>_smem_ptr[16b](A) o (_8,_64):(_64,_1)\ntile: (_128,_64)\ns8  :  _8:_1\n")
    assert log == {"tCsA": BYTES, "tile": (128, 64), "s8": Layout(8)}
    for text in (MMA, COPY):
        with pytest.raises(NotationError, match="parse_parts"):
            parse_layout(text)
    with pytest.raises(NotationError, match="parts"):
        parse_parts("(4,8):(1,4)")


@pytest.mark.parametrize(("text", "words"), REFUSED, ids=[text[:40] for text, _words in REFUSED])
def test_what_is_no_layout_is_refused_for_its_reason(text: str, words: str) -> None:
    with pytest.raises(NotationError, match=words):
        parse_layout(text)


def test_the_table_is_that_of_the_bar() -> None:
    assert len(READ) + len(TILERS) + 3 >= 71 and len(REFUSED) <= 8


def test_a_pointers_swizzle_is_that_of_bytes() -> None:
    """The address of an element moves as CuTe moves it: the swizzle acts on bytes."""
    for width in (8, 16, 32, 64):
        rows = Layout((8, 1024 // width), (1024 // width, 1))
        found = parse_layout(f"Sw<3,4,3>_smem_ptr[{width}b](0x0) o {rows}")
        as_bytes = make_composed_layout(Swizzle(3, 4, 3), 0, recast_layout(8, width, rows))
        size = width // 8
        assert all(
            found(c // rows.shape[1], c % rows.shape[1]) * size  # type: ignore[index,operator]
            == as_bytes(c // rows.shape[1], c % rows.shape[1] * size)  # type: ignore[index,operator]
            for c in range(rows.size)
        )


def carryless(left: int, right: int) -> int:
    """The product of two polynomials over F2."""
    total = 0
    while left:
        total, left, right = total ^ (right if left & 1 else 0), left >> 1, right << 1
    return total


def test_strides_over_f2_are_carryless_products() -> None:
    rng = generator("strides over F2")
    for _case in range(cases(200)):
        shape = random_shape(rng, 64, depth=2, rank=3)
        steps = [rng.randrange(40) for _leaf in leaves(shape)]
        text = f"Layout({tuple(leaves(shape))}, ({','.join(f'F2({step})' for step in steps)},))"
        found = parse_layout(text)
        flat = leaves(shape)
        for index in range(product(shape)):
            rest, offset = index, 0
            for extent, step in zip(flat, steps, strict=True):
                offset ^= carryless(rest % extent, step)
                rest //= extent
            assert found(index) == offset, (text, index)


def test_any_linear_layout_is_written_with_strides_over_f2() -> None:
    rng = generator("written over F2")
    for _case in range(cases(200)):
        bits = rng.randint(1, 7)
        columns = [rng.randrange(1 << bits) for _bit in range(bits)]
        matrix = [[column >> bit & 1 for column in columns] for bit in range(bits)]
        split = rng.randint(0, bits)
        layout = from_f2(matrix, (1 << split, 1 << bits - split))
        read = parse_layout(layout.to_f2_strides())
        assert [read(i) for i in range(read.size)] == [apply(columns, i) for i in range(1 << bits)]
    swizzled = ComposedLayout(Swizzle(3, 0, 3), 0, Layout((8, 8), (8, 1)))
    assert swizzled.to_f2_strides() == "Layout((8, 8), (F2(9), F2(1)))"
    with pytest.raises(LayoutError, match="to_f2"):
        Layout((3, 8)).to_f2_strides()
    with pytest.raises(NotationError, match="F2"):
        parse_layout("Layout((8, 8), (F2(9), 3))")


def test_linear_layouts_of_triton_keep_their_bases() -> None:
    """Each basis vector is where the text says, whatever the XORs."""
    rng = generator("linear layouts")
    for _case in range(cases(100)):
        sizes = [rng.randint(0, 4) for _dim in range(rng.randint(1, 3))]
        dims = {name: rng.randint(0, 3) for name in ("register", "lane", "warp")}
        bases = {name: [[rng.randrange(1 << size) for size in sizes] for _bit in range(n)] for name, n in dims.items()}
        lines = []
        for name, listed in bases.items():
            rows = [f"{name}={1 << bit} -> ({', '.join(map(str, base))})" for bit, base in enumerate(listed)]
            lines.append(" - " + "\n   ".join(rows or [f"{name} is a size 1 dimension"]))
        lines.append("where out dims are: [" + ", ".join(f"dim{i} (size {1 << s})" for i, s in enumerate(sizes)) + "]")
        layout = parse_layout("\n".join(lines))
        assert layout.shape == tuple(1 << n for n in dims.values()) or leaves(layout.shape)
        columns = [
            sum(entry << sum(sizes[:dim]) for dim, entry in enumerate(base))
            for listed in bases.values()
            for base in listed
        ]
        assert [layout(i) for i in range(layout.size)] == [apply(columns, i) for i in range(1 << len(columns))]
