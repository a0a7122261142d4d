"""Element types: NumPy's numbers, under WGSL's way of naming them; five of them a GPU has too.

`i8` has 8 bits, as in WGSL and Rust; NumPy's code "i8" of eight bytes is `i64`.

Law: a host tensor holds any type of `DTYPES`; what goes to a GPU passes `gpu_dtype` first.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from ..errors import TensorError


@dataclass(frozen=True, slots=True)
class DType:
    """An element type. `bits` is its width in memory; `kind` is NumPy's letter (f, i, u, b, c).

    >>> f16.bits, f16.accumulator.name, f64.on_gpu
    (16, 'f32', False)
    """

    name: str
    numpy: str
    bits: int
    kind: str
    on_gpu: bool = False

    @property
    def accumulator(self) -> "DType":
        """The type in which values of this type are computed and summed: f32 for f16, itself otherwise."""
        return f32 if self.name == "f16" else self

    @property
    def bytes(self) -> int:
        """Bytes an element takes in a buffer. A bool is stored as a u32 on a device: 4."""
        return 4 if self.kind == "b" else -(-self.bits // 8)

    @property
    def register(self) -> "DType":
        """The type in which a kernel holds such an element: i32 and u32 for integers of fewer bits."""
        return self if self.bits >= 32 or self.kind not in "iu" else i32 if self.kind == "i" else u32

    def __str__(self) -> str:
        return self.name


f16 = DType("f16", "float16", 16, "f", on_gpu=True)
f32 = DType("f32", "float32", 32, "f", on_gpu=True)
f64 = DType("f64", "float64", 64, "f")
i8 = DType("i8", "int8", 8, "i")
i16 = DType("i16", "int16", 16, "i")
i32 = DType("i32", "int32", 32, "i", on_gpu=True)
i64 = DType("i64", "int64", 64, "i")
u8 = DType("u8", "uint8", 8, "u")
u16 = DType("u16", "uint16", 16, "u")
u32 = DType("u32", "uint32", 32, "u", on_gpu=True)
u64 = DType("u64", "uint64", 64, "u")
c64 = DType("c64", "complex64", 64, "c")
c128 = DType("c128", "complex128", 128, "c")
bool_ = DType("bool", "bool", 8, "b", on_gpu=True)

DTYPES = {d.name: d for d in (f16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, c64, c128, bool_)}
#: Integers of less than a byte, several in one: what `recast` makes of others. NumPy has no arrays of them.
i4 = DType("i4", "int8", 4, "i")
u4 = DType("u4", "uint8", 4, "u")
PACKED = {"i4": i4, "u4": u4}
_SPELLINGS = DTYPES | {dtype.numpy: dtype for dtype in DTYPES.values()}


BREADTH = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3}
"""Which kinds of numbers hold others: those of a higher number hold those of a lower one."""


def as_dtype(spec: object) -> DType:
    """The element type that `spec` names: a DType, a NumPy dtype or scalar type, a Python number type, or a name.

    >>> as_dtype("float32") is f32, as_dtype("u8").numpy, as_dtype(complex).name
    (True, 'uint8', 'c128')

    Raises TensorError for anything but numbers (text, objects, dates), naming what there is.
    """
    if isinstance(spec, DType):
        return spec
    spec = {float: "f64", int: "i64", complex: "c128"}.get(spec, spec) if isinstance(spec, type) else spec
    name = spec if isinstance(spec, str) else getattr(spec, "name", None) or getattr(spec, "__name__", str(spec))
    try:
        return _SPELLINGS[str(name)]
    except KeyError:
        raise TensorError(f"dtype {spec!r}: no such element type; there are {_listed(DTYPES.values())}") from None


def gpu_dtype(spec: object) -> DType:
    """The element type that `spec` names, for what goes to a GPU.

    >>> gpu_dtype("i32") is i32
    True

    Raises TensorError for a type that WGSL lacks (f64, 8, 16 and 64-bit integers, complex), saying how to convert.
    """
    found = as_dtype(spec)
    if found.on_gpu:
        return found
    there = _listed(dtype for dtype in DTYPES.values() if dtype.on_gpu)
    pairs = ".view(np.float32) of complex64, pairs of numbers; gpu.array and kernels take complex64 itself"
    way = {"i": ".astype(np.int32)", "u": ".astype(np.uint32)", "c": pairs}
    raise TensorError(
        f"dtype {found} ({found.numpy}): no such element type on a GPU; there are {there}; "
        f"convert the array first: {way.get(found.kind, '.astype(np.float32)')}"
    )


def _listed(dtypes: Iterable[DType]) -> str:
    return ", ".join(f"{dtype.name} ({dtype.numpy})" for dtype in dtypes)
