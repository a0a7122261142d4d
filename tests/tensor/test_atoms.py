"""Atoms against the words of the public documents: who holds which element, written as the documents write it."""

from collections.abc import Callable

import numpy as np
import pytest

from cutepy.layout import Layout, _, parse_layout
from cutepy.tensor import (
    COPY_ATOMS,
    FMA,
    MMA_ATOMS,
    MMAAtom,
    copy,
    make_counting_tensor,
    make_fragment_like,
    make_tensor,
    make_tiled_copy_A,
    make_tiled_copy_C,
    make_tiled_mma,
    universal_copy,
)
from cutepy.tensor.tiled import AXES

Place = Callable[[int, int], tuple[int, ...]]


def check_places(layout: Layout, tile: tuple[int, ...], place: Place) -> None:
    """(thread, value) lies where the document says."""
    table = layout.offsets()
    for thread in range(table.shape[0]):
        for value in range(table.shape[1]):
            index = np.ravel_multi_index(place(thread, value), tile, order="F")
            assert table[thread, value] == index, (thread, value, place(thread, value))


@pytest.mark.parametrize("name", MMA_ATOMS)
def test_every_operand_is_covered_evenly(name: str) -> None:
    atom = MMA_ATOMS[name]
    assert atom.source and atom.name == name
    for _operand, layout, tile in atom.operands():
        count = np.bincount(layout.offsets().ravel(), minlength=int(np.prod(tile)))
        assert layout[0].size == atom.threads.size and len(count) == np.prod(tile)
        assert (count == count[0]).all() and count[0] >= 1
    assert atom.c.size == np.prod(atom.tile("c"))


OPERATIONS = """
SM70_8x8x4_F16F16F16F16_TN SM70_8x8x4_F16F16F16F16_NT SM70_8x8x4_F16F16F16F16_NN SM70_8x8x4_F16F16F16F16_TT
SM70_8x8x4_F32F16F16F32_TN SM70_8x8x4_F32F16F16F32_NT SM70_8x8x4_F32F16F16F32_NN SM70_8x8x4_F32F16F16F32_TT
SM75_16x8x8_F32F16F16F32_TN SM75_8x8x16_S32S8S8S32_TN SM80_16x8x8_F16F16F16F16_TN SM80_16x8x16_F16F16F16F16_TN
SM80_16x8x8_F32F16F16F32_TN SM80_16x8x16_F32F16F16F32_TN SM80_16x8x8_F32BF16BF16F32_TN
SM80_16x8x16_F32BF16BF16F32_TN SM80_16x8x4_F32TF32TF32F32_TN SM80_16x8x8_F32TF32TF32F32_TN
SM80_8x8x4_F64F64F64F64_TN SM80_8x8x16_S32S8S8S32_TN_SATURATE SM80_16x8x16_S32S8U8S32_TN
SM80_16x8x32_S32U8S8S32_TN SM80_16x8x256_S32U1U1S32_TN_XORPOPC SM80_8x8x128_S32U1U1S32_TN_ANDPOPC
SM80_16x8x128_S32U1U1S32_TN_XORPOPC SM89_16x8x32_F32E4M3E4M3F32_TN SM89_16x8x32_F32E5M2E4M3F32_TN
SM90_16x8x4_F64F64F64F64_TN SM90_16x8x8_F64F64F64F64_TN SM90_16x8x16_F64F64F64F64_TN
SM90::GMMA::MMA_64x128x16_F32F16F16_SS SM90_64x64x16_F16F16F16_RS SM90_64x256x8_F32TF32TF32_SS_TN
SM90_64x8x32_S32S8S8_RS_TN
"""
"""Operations of CuTe's headers `mma_sm70.hpp` to `mma_sm90_gmma.hpp`."""
TRAITS = """
SM80_16x8x8_F16F16F16F16_TN ((4,8),(2,2)):((32,1),(16,8)) ((4,8),2):((16,1),8)
SM80_16x8x16_F32F16F16F32_TN ((4,8),(2,2,2)):((32,1),(16,8,128)) ((4,8),(2,2)):((16,1),(8,64))
SM80_16x8x4_F32TF32TF32F32_TN ((4,8),2):((16,1),8) ((4,8),1):((8,1),0)
SM80_8x8x4_F64F64F64F64_TN ((4,8),1):((8,1),0) ((4,8),1):((8,1),0)
SM80_16x8x32_S32U8S8S32_TN ((4,8),(4,2,2)):((64,1),(16,8,256)) ((4,8),(4,2)):((32,1),(8,128))
SM80_16x8x256_S32U1U1S32_TN_XORPOPC ((4,8),(32,2,2)):((512,1),(16,8,2048)) ((4,8),(32,2)):((256,1),(8,1024))
SM89_16x8x32_F32E4M3E4M3F32_TN ((4,8),(4,2,2)):((64,1),(16,8,256)) ((4,8),(4,2)):((32,1),(8,128))
SM90_16x8x16_F64F64F64F64_TN ((4,8),(2,4)):((16,1),(8,64)) ((4,8),4):((8,1),32)
"""
"""ALayout and BLayout of CuTe's traits; of all 16 by 8 CLayout is one."""


@pytest.mark.parametrize("operation", OPERATIONS.split())
def test_cutes_operations_are_found_by_their_names(operation: str) -> None:
    atom = MMA_ATOMS[operation]
    shape, types, *how = operation.replace("::GMMA::MMA", "").split("_")[1:]
    assert "x".join(map(str, atom.shape)) == shape
    a, b, c = (kind.upper().replace("B1", "U1") for kind in atom.types)
    assert types in (c + a + b + c, c + a + b)
    if shape == "8x8x4" and a == "F16":
        assert (atom.a[1].stride == 8, atom.b[1].stride == 8) == (how[0][0] == "T", how[0][1] == "N")
    if shape.startswith("64"):
        assert (atom.a[0].stride == 0) is (how[0] == "SS")


@pytest.mark.parametrize("line", TRAITS.split("\n")[1:-1])
def test_cutes_traits_are_the_atoms(line: str) -> None:
    operation, *layouts = line.split()
    atom = MMA_ATOMS[operation]
    if atom.shape[0] == 16:
        assert str(atom.c) == "((4,8),(2,2)):((32,1),(16,8))"
    for found, text in zip((atom.a, atom.b), layouts, strict=True):
        assert (found.offsets().ravel(order="F") == parse_layout(text).offsets().ravel(order="F")).all()


def test_a_name_that_is_none_names_those_near_it() -> None:
    with pytest.raises(KeyError, match=r"no atom 'm16n8k16'; near it are sm_80\.mma\.m16n8k16\.f16\.f16\.f16\.f16, "):
        MMA_ATOMS["m16n8k16"]
    with pytest.raises(KeyError, match=r"near it are sm_75\.ldmatrix\.m8n8\.x1\.b16"):
        COPY_ATOMS["ldmatrix"]
    assert "ldmatrix" not in COPY_ATOMS and MMA_ATOMS.get("zzz") is None


def test_cutes_matrix_loads_are_found_by_their_names() -> None:
    for count in (1, 2, 4):
        for way, arch in (("LD", "SM75"), ("ST", "SM90")):
            plain = COPY_ATOMS[f"{arch}_U32x{count}_{way}SM_N"]
            turned = COPY_ATOMS[f"{arch}_U16x{2 * count}_{way}SM_T"]
            assert plain.registers.size == turned.registers.size == 64 * count and plain != turned
            assert plain.memory[way == "ST"] == "smem" and ".trans" in turned.name
    for unknown in ("SM80_16x8x7_F16F16F16F16_TN", "nothing"):
        assert unknown not in MMA_ATOMS and unknown not in COPY_ATOMS


@pytest.mark.parametrize("name", COPY_ATOMS)
def test_copies_write_every_element_once(name: str) -> None:
    atom = COPY_ATOMS[name]
    size = int(np.prod(atom.tile))
    assert atom.source and sorted(atom.registers.offsets().ravel()) == list(range(size))
    assert set(atom.read.offsets().ravel()) == set(atom.write.offsets().ravel()) == set(range(size))


def fragments(layout: Layout, tile: np.ndarray) -> np.ndarray:
    return tile.ravel(order="F")[layout.offsets()]


@pytest.mark.parametrize("name", MMA_ATOMS)
def test_registers_multiply_to_the_product(name: str) -> None:
    atom = MMA_ATOMS[name]
    rng = np.random.default_rng(1)
    A, B, C = (rng.integers(-4, 5, atom.tile(operand)).astype(np.float64) for operand in "abc")
    got = atom.multiply(fragments(atom.a, A), fragments(atom.b, B), fragments(atom.c, C))
    if atom.blocks == 1:
        expected = A @ B.T + C
    else:
        expected = np.einsum("mkz,nkz->mnz", A, B) + C
    assert (got == fragments(atom.c, expected)).all()


def lane(thread: int) -> tuple[int, int]:
    """PTX: groupID = laneid >> 2, threadID_in_group = laneid % 4."""
    return thread >> 2, thread % 4


PTX: list[tuple[str, str, Place]] = [
    (
        "sm_80.mma.m16n8k16.f32.f16.f16.f32",
        "a",
        lambda t, i: (
            lane(t)[0] + (8 if i in (2, 3, 6, 7) else 0),
            lane(t)[1] * 2 + (i & 1) + (8 if i >= 4 else 0),
        ),
    ),
    (
        "sm_80.mma.m16n8k16.f32.f16.f16.f32",
        "b",
        lambda t, i: (lane(t)[0], lane(t)[1] * 2 + (i & 1) + (8 if i >= 2 else 0)),
    ),
    (
        "sm_80.mma.m16n8k16.f32.f16.f16.f32",
        "c",
        lambda t, i: (lane(t)[0] + (8 if i >= 2 else 0), lane(t)[1] * 2 + (i & 1)),
    ),
    (
        "sm_75.mma.m16n8k8.f16.f16.f16.f16",
        "a",
        lambda t, i: (lane(t)[0] + (8 if i >= 2 else 0), lane(t)[1] * 2 + (i & 1)),
    ),
    (
        "sm_80.mma.m16n8k8.f32.tf32.tf32.f32",
        "a",
        lambda t, i: (lane(t)[0] + (8 if i in (1, 3) else 0), lane(t)[1] + (4 if i >= 2 else 0)),
    ),
    ("sm_80.mma.m16n8k4.f32.tf32.tf32.f32", "b", lambda t, i: (lane(t)[0], lane(t)[1])),
    (
        "sm_80.mma.m16n8k32.s32.s8.s8.s32",
        "a",
        lambda t, i: (
            lane(t)[0] + (0 if i < 4 or 8 <= i < 12 else 8),
            lane(t)[1] * 4 + (i & 3) + (0 if i < 8 else 16),
        ),
    ),
    (
        "sm_80.mma.m16n8k32.s32.s8.s8.s32",
        "b",
        lambda t, i: (lane(t)[0], lane(t)[1] * 4 + (i & 3) + (0 if i < 4 else 16)),
    ),
    (
        "sm_80.mma.m16n8k64.s32.s4.s4.s32",
        "a",
        lambda t, i: (
            lane(t)[0] + (0 if i < 8 or 16 <= i < 24 else 8),
            lane(t)[1] * 8 + (i & 7) + (0 if i < 16 else 32),
        ),
    ),
    (
        "sm_80.mma.m16n8k256.s32.b1.b1.s32",
        "a",
        lambda t, i: (
            lane(t)[0] + (0 if i < 32 or 64 <= i < 96 else 8),
            lane(t)[1] * 32 + (i & 31) + (0 if i < 64 else 128),
        ),
    ),
    ("sm_75.mma.m8n8k16.s32.s8.s8.s32", "a", lambda t, i: (lane(t)[0], lane(t)[1] * 4 + i)),
    ("sm_75.mma.m8n8k16.s32.s8.s8.s32", "c", lambda t, i: (lane(t)[0], lane(t)[1] * 2 + i)),
    ("sm_80.mma.m8n8k4.f64.f64.f64.f64", "a", lambda t, i: (lane(t)[0], lane(t)[1])),
    ("sm_80.mma.m8n8k4.f64.f64.f64.f64", "c", lambda t, i: (lane(t)[0], lane(t)[1] * 2 + i)),
    ("sm_90.mma.m16n8k16.f64.f64.f64.f64", "a", lambda t, i: (lane(t)[0] + 8 * (i % 2), lane(t)[1] + 4 * (i // 2))),
    (
        "sm_89.mma.m16n8k32.f32.e4m3.e5m2.f32",
        "a",
        lambda t, i: (
            lane(t)[0] + (0 if i < 4 or 8 <= i < 12 else 8),
            lane(t)[1] * 4 + (i & 3) + (0 if i < 8 else 16),
        ),
    ),
    (
        "sm_90.wgmma.m64n32k16.f32.f16.f16.rs",
        "c",
        lambda t, i: (
            16 * (t // 32) + lane(t % 32)[0] + 8 * (i // 2 % 2),
            8 * (i // 4) + lane(t % 32)[1] * 2 + (i & 1),
        ),
    ),
    (
        "sm_90.wgmma.m64n32k16.f32.f16.f16.rs",
        "a",
        lambda t, i: (
            16 * (t // 32) + lane(t % 32)[0] + 8 * (i // 2 % 2),
            lane(t % 32)[1] * 2 + (i & 1) + 8 * (i // 4),
        ),
    ),
    ("sm_100.tcgen05.mma.m128n64k16.f32.f16.f16", "c", lambda t, i: (t, i)),
]


def volta_lane(thread: int) -> int:
    """The lane of thread `thread` of the first quad pair."""
    return thread % 4 + 16 * (thread // 4)


PTX_VOLTA: list[tuple[str, str, Place]] = [
    ("sm_70.mma.m8n8k4.row.col.f32.f16.f16.f32", "a", lambda v, i: (v % 4 + (0 if v < 16 else 4), i)),
    ("sm_70.mma.m8n8k4.col.row.f32.f16.f16.f32", "a", lambda v, i: (i % 4 + (0 if v < 16 else 4), v % 4)),
    ("sm_70.mma.m8n8k4.row.col.f32.f16.f16.f32", "b", lambda v, i: (v % 4 + (0 if v < 16 else 4), i)),
    ("sm_70.mma.m8n8k4.col.row.f32.f16.f16.f32", "b", lambda v, i: (i + (0 if v < 16 else 4), v % 4)),
    ("sm_70.mma.m8n8k4.row.col.f16.f16.f16.f16", "c", lambda v, i: (v % 4 + (0 if v < 16 else 4), i)),
    (
        "sm_70.mma.m8n8k4.row.col.f32.f16.f16.f32",
        "c",
        lambda v, i: ((v & 1) + (i & 2) + (0 if v < 16 else 4), (i & 4) + (v & 2) + (i & 1)),
    ),
]


@pytest.mark.parametrize(("name", "operand", "place"), PTX)
def test_nvidia(name: str, operand: str, place: Place) -> None:
    atom = MMA_ATOMS[name]
    check_places(getattr(atom, operand), atom.tile(operand), place)


@pytest.mark.parametrize(("name", "operand", "place"), PTX_VOLTA)
def test_nvidia_quad_pairs(name: str, operand: str, place: Place) -> None:
    atom = MMA_ATOMS[name]
    assert [atom.threads(i) for i in range(8)] == [0, 1, 2, 3, 16, 17, 18, 19]
    check_places(getattr(atom, operand), atom.tile(operand), lambda t, i: place(volta_lane(t), i))


AMD: list[tuple[str, str, Place]] = [
    ("gfx908.v_mfma_f32_32x32x8_f16", "a", lambda t, i: (t % 32, 4 * (t // 32) + i)),
    ("gfx908.v_mfma_f32_32x32x8_f16", "c", lambda t, i: (8 * (i // 4) + 4 * (t // 32) + i % 4, t % 32)),
    ("gfx908.v_mfma_f32_16x16x16_f16", "b", lambda t, i: (t % 16, 4 * (t // 16) + i)),
    ("gfx908.v_mfma_f32_16x16x16_f16", "c", lambda t, i: (4 * (t // 16) + i, t % 16)),
    ("gfx908.v_mfma_f32_32x32x2_f32", "a", lambda t, i: (t % 32, t // 32)),
    ("gfx908.v_mfma_f32_4x4x1_16b_f32", "a", lambda t, i: (t % 4, 0, t // 4)),
    ("gfx908.v_mfma_f32_4x4x1_16b_f32", "c", lambda t, i: (i, t % 4, t // 4)),
    ("gfx908.v_mfma_f32_32x32x1_2b_f32", "a", lambda t, i: (t % 32, 0, t // 32)),
    (
        "gfx908.v_mfma_f32_32x32x1_2b_f32",
        "c",
        lambda t, i: (8 * (i // 4 % 4) + 4 * (t // 32) + i % 4, t % 32, i // 16),
    ),
    ("gfx908.v_mfma_f32_16x16x1_4b_f32", "c", lambda t, i: (4 * (t // 16) + i % 4, t % 16, i // 4)),
    ("gfx90a.v_mfma_f64_16x16x4_f64", "c", lambda t, i: (4 * i + t // 16, t % 16)),
    ("gfx942.v_mfma_f32_16x16x32_fp8_fp8", "a", lambda t, i: (t % 16, 8 * (t // 16) + i)),
    ("gfx11.v_wmma_f32_16x16x16_f16", "a", lambda t, i: (t % 16, i)),
    ("gfx11.v_wmma_f32_16x16x16_f16", "c", lambda t, i: (2 * i + t // 16, t % 16)),
    ("gfx12.v_wmma_f32_16x16x16_f16", "a", lambda t, i: (t % 16, 4 * (t // 16) + i % 4 + 8 * (i // 4))),
    ("gfx12.v_wmma_f32_16x16x16_fp8_fp8", "a", lambda t, i: (t % 16, 8 * (t // 16) + i)),
    ("gfx12.v_wmma_f32_16x16x16_f16", "c", lambda t, i: (8 * (t // 16) + i, t % 16)),
]


@pytest.mark.parametrize(("name", "operand", "place"), AMD)
def test_amd(name: str, operand: str, place: Place) -> None:
    check_places(getattr(MMA_ATOMS[name], operand), MMA_ATOMS[name].tile(operand), place)


INTEL: list[tuple[str, str, Place]] = [
    ("xe_hpc.dpas.8x16x16.f32.bf16", "a", lambda t, i: (i, t)),
    ("xe_hpc.dpas.8x16x16.f32.bf16", "b", lambda t, i: (t, i)),
    ("xe_hpc.dpas.8x16x16.f32.bf16", "c", lambda t, i: (i, t)),
    ("xe_hpc.dpas.8x16x32.s32.s8", "a", lambda t, i: (i // 2, 2 * t + i % 2)),
    ("xe_hpc.dpas.8x16x8.f32.tf32", "a", lambda t, i: (2 * i + t // 8, t % 8)),
    ("amx.tdpbf16ps", "a", lambda t, i: (i // 32, i % 32)),
    ("amx.tdpbf16ps", "b", lambda t, i: (i % 32 // 2, 2 * (i // 32) + i % 2)),
    ("amx.tdpbssd", "b", lambda t, i: (i % 64 // 4, 4 * (i // 64) + i % 4)),
    ("amx.tdpbssd", "c", lambda t, i: (i // 16, i % 16)),
]


@pytest.mark.parametrize(("name", "operand", "place"), INTEL)
def test_intel(name: str, operand: str, place: Place) -> None:
    check_places(getattr(MMA_ATOMS[name], operand), MMA_ATOMS[name].tile(operand), place)


def simdgroup(thread: int, value: int) -> tuple[int, int]:
    """MLX, BaseMMAFrag::get_coord: row and column of a thread's first element; the second is its right neighbour."""
    quad = thread // 4
    row = (quad & 4) + (thread // 2) % 4
    column = (quad & 2) * 2 + (thread % 2) * 2
    return row, column + value


def test_apple() -> None:
    atom = MMA_ATOMS["apple.simdgroup_float8x8"]
    check_places(atom.a, (8, 8), simdgroup)
    check_places(atom.c, (8, 8), simdgroup)
    check_places(atom.b, (8, 8), lambda t, i: simdgroup(t, i)[::-1])


@pytest.mark.parametrize("count", [1, 2, 4])
def test_matrix_loads(count: int) -> None:
    tile = (8, 8, count)

    def held(thread: int, value: int) -> tuple[int, ...]:
        return thread // 4, 2 * (thread % 4) + value % 2, value // 2

    atom = COPY_ATOMS[f"sm_75.ldmatrix.m8n8.x{count}.b16"]
    check_places(atom.write, tile, held)
    named = 8 * count
    check_places(
        Layout((named, 8), (atom.read.offsets()[1, 0], 8)) if count == 1 else atom.read,
        tile,
        lambda t, i: (t % 8, i, t // 8 % count),
    )
    turned = COPY_ATOMS[f"sm_75.ldmatrix.m8n8.x{count}.trans.b16"]
    check_places(turned.write, tile, lambda t, i: (held(t, i)[1], held(t, i)[0], i // 2))
    stored = COPY_ATOMS[f"sm_90.stmatrix.m8n8.x{count}.b16"]
    assert stored.read == atom.write and stored.write == atom.read


def test_a_matrix_load_reads_rows_and_writes_fragments() -> None:
    """The registers that `ldmatrix` fills are those that `mma` multiplies; each thread reads a row of 8."""
    mma = make_tiled_mma(MMA_ATOMS["sm_80.mma.m16n8k16.f32.f16.f16.f32"], (1, 1, 1))
    loads = make_tiled_copy_A(COPY_ATOMS["sm_75.ldmatrix.m8n8.x4.b16"], mma)
    shared = make_tensor(np.arange(16 * 32, dtype=np.float16).reshape(16, 32))
    for thread in range(32):
        read = loads.partition_S(shared, thread)
        first = read(_, 0, 0).numpy()
        assert (first == first[0] + np.arange(8)).all() and first[0] == 32 * (thread % 16) + 8 * (thread // 16)
        written = loads.partition_D(shared, thread)
        multiplied = mma.partition_A(shared, thread)
        assert (written.numpy() == multiplied.numpy()).all()


@pytest.mark.parametrize("name", ["sm_80.mma.m16n8k16.f32.f16.f16.f32", "fma", "apple.simdgroup_float8x8"])
def test_a_fragment_retiled_is_the_partition_of_the_copy(name: str) -> None:
    atom = MMA_ATOMS[name]
    arrangement = (2, 2, 1) if atom.threads.size > 1 else (4, 4, 1)
    mma = make_tiled_mma(atom, arrangement, (None, 4 * atom.shape[1] * arrangement[1], None))
    copies = make_tiled_copy_C(universal_copy(1), mma)
    C = make_tensor(np.arange(2 * 3 * mma.tile[0] * mma.tile[1], dtype=np.float32), (2 * mma.tile[0], 3 * mma.tile[1]))
    for thread in range(0, mma.threads, 5):
        fragment = make_fragment_like(mma.partition_C(C, thread))
        copy(mma.partition_C(C, thread), fragment)
        owned = copies.partition_D(C, thread)
        seen = copies.retile(fragment)
        assert seen.layout[0].size == owned.layout[0].size
        assert (seen.numpy().ravel(order="F") == owned.numpy().ravel(order="F")).all()


TILED = [
    ("sm_80.mma.m16n8k16.f32.f16.f16.f32", (2, 2, 1), (None, None, None)),
    ("sm_80.mma.m16n8k16.f32.f16.f16.f32", (1, 2, 1), (32, Layout((8, 2, 2), (1, 16, 8)), 32)),
    ("sm_70.mma.m8n8k4.row.col.f32.f16.f16.f32", (2, 2, 1), (None, None, None)),
    ("gfx908.v_mfma_f32_16x16x16_f16", (2, 1, 1), (None, 32, None)),
    ("apple.simdgroup_float8x8", (2, 2, 1), (None, None, 16)),
    ("xe_hpc.dpas.8x16x16.f32.bf16", (2, 1, 1), (None, None, None)),
    ("fma", (4, 8, 1), (Layout((4, 4), (4, 1)), None, 4)),
    ("fma", (4, 4, 2), (None, 16, None)),
]


@pytest.mark.parametrize(("name", "arrangement", "permutation"), TILED)
def test_tiled_fragments_multiply_to_the_product(
    name: str, arrangement: tuple[int, int, int], permutation: tuple[object, object, object]
) -> None:
    """Deal A, B and C out to threads, let each atom multiply its registers, and collect C."""
    atom = MMA_ATOMS[name]
    mma = make_tiled_mma(atom, arrangement, permutation)
    rng = np.random.default_rng(2)
    m, n, k = (2 * extent for extent in mma.tile)
    A, B, C = (rng.integers(-3, 4, shape).astype(np.float32) for shape in ((m, k), (n, k), (m, n)))
    expected = A @ B.T + C
    tensors = [make_tensor(array) for array in (A, B, C)]
    numbered = mma.threads_vmnk
    for place in np.ndindex(*(mode.size for mode in list(numbered)[1:])):
        threads = [int(numbered(v, *place)) for v in range(atom.threads.size)]
        parts = [
            [partition(tensor, thread) for thread in threads]
            for partition, tensor in zip((mma.partition_A, mma.partition_B, mma.partition_C), tensors, strict=True)
        ]
        if arrangement[2] > 1 and place[2]:
            continue
        multiply_parts(atom, parts, mma, place, tensors)
    assert (C == expected).all()


SM80 = "SM80_16x8x16_F32F16F16F32_TN"
CUTE_TILED = [
    ("fma", Layout((2, 3, 1)), (None, None, None)),
    ("fma", Layout((2, 3, 2)), (None, None, None)),
    ("fma", Layout((2, 3, 4)), (None, None, None)),
    ("fma", Layout((4, 4, 2), (4, 1, 16)), (None, None, None)),
    ("fma", Layout((2, 2, 2), (2, 4, 1)), (None, None, None)),
    ("fma", Layout((4, 2, 2)), (16, 8, 4)),
    (SM80, Layout((2, 2, 1)), (32, 32, 16)),
    (SM80, Layout((2, 2, 2)), (None, None, None)),
    (SM80, Layout((1, 2, 4)), (None, None, None)),
    (SM80, Layout((2, 2, 2)), (32, 32, 32)),
]
"""CuTe's own cases, test/unit/cute/core/tiled_mma.cpp."""


@pytest.mark.parametrize(("name", "arrangement", "permutation"), [*CUTE_TILED, *TILED])
def test_the_layouts_of_threads_and_values_are_the_partitions(
    name: str, arrangement: Layout | tuple[int, int, int], permutation: tuple[object, object, object]
) -> None:
    mma = make_tiled_mma(MMA_ATOMS[name], arrangement, permutation)
    for operand, axes in AXES.items():
        tile = make_counting_tensor(Layout(tuple(mma.tile[axis] for axis in axes)))
        layout_tv = mma.layout_tv(operand)
        assert layout_tv[0].size == mma.threads and layout_tv.cosize <= tile.size
        numbered = {int(thread) for thread in mma.threads_vmnk.offsets().ravel()}
        for thread in range(mma.threads) if len(numbered) == mma.threads else numbered:
            part = getattr(mma, f"partition_{operand.upper()}")(tile, thread)
            assert [layout_tv(thread, v) for v in range(layout_tv[1].size)] == [part(v) for v in range(part.size)]


def multiply_parts(atom: MMAAtom, parts: list, mma: object, place: tuple[int, ...], tensors: list) -> None:
    a, b, c = parts
    rows, columns, steps = c[0].layout[1].size, c[0].layout[2].size, a[0].layout[2].size
    k_peers = [parts[:2]]
    for other in range(1, mma.arrangement[2].size):  # type: ignore[attr-defined]
        numbered = mma.threads_vmnk  # type: ignore[attr-defined]
        threads = [int(numbered(v, *place[:2], other)) for v in range(atom.threads.size)]
        k_peers.append(
            [
                [mma.partition_A(tensors[0], thread) for thread in threads],  # type: ignore[attr-defined]
                [mma.partition_B(tensors[1], thread) for thread in threads],  # type: ignore[attr-defined]
            ]
        )
    for i in range(rows):
        for j in range(columns):
            registers = np.stack([part(_, i, j).numpy() for part in c])
            for a, b in k_peers:
                for step in range(steps):
                    left = np.stack([part(_, i, step).numpy() for part in a])
                    right = np.stack([part(_, j, step).numpy() for part in b])
                    registers = atom.multiply(left, right, registers)
            for part, held in zip(c, registers, strict=True):
                copy(make_tensor(held), part(_, i, j))


def test_an_arrangement_of_two_modes_goes_on_along_k() -> None:
    mma = make_tiled_mma(FMA, Layout((2, 2), (2, 1)))
    assert mma.arrangement == Layout((2, 2, 1), (2, 1, 0)) and mma.tile == (2, 2, 1)  # type: ignore[attr-defined]
    assert mma.tile == make_tiled_mma(FMA, Layout((2, 2, 1), (2, 1, 0))).tile
