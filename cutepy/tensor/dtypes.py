"""Element types: the five that WGSL and NumPy share, under WGSL's names.

Imports only the standard library, so that layouts, kernels and tensors can all name a type.
"""

from dataclasses import dataclass

from ..errors import TensorError


@dataclass(frozen=True, slots=True)
class DType:
    """An element type. `bits` is its width in memory; `kind` is NumPy's letter (f, i, u, b).

    >>> f16.bits, f16.accumulator.name
    (16, 'f32')
    """

    name: str
    numpy: str
    bits: int
    kind: str

    @property
    def accumulator(self) -> "DType":
        """The type in which values of this type are computed and summed: f32 for f16, itself otherwise."""
        return f32 if self.name == "f16" else self

    @property
    def bytes(self) -> int:
        """Bytes an element takes in a buffer. A bool is stored as a u32 on a device: 4."""
        return 4 if self.kind == "b" else self.bits // 8

    def __str__(self) -> str:
        return self.name


f16 = DType("f16", "float16", 16, "f")
f32 = DType("f32", "float32", 32, "f")
i32 = DType("i32", "int32", 32, "i")
u32 = DType("u32", "uint32", 32, "u")
bool_ = DType("bool", "bool", 8, "b")

DTYPES = {dtype.name: dtype for dtype in (f16, f32, i32, u32, bool_)}
_SPELLINGS = DTYPES | {dtype.numpy: dtype for dtype in DTYPES.values()}


def as_dtype(spec: object) -> DType:
    """The element type that `spec` names: a DType, a NumPy dtype or scalar type, or a name.

    >>> as_dtype("float32") is f32, as_dtype("u32") is u32
    (True, True)

    Raises TensorError for a type that WGSL lacks (f64, i64, complex, object), naming the ones it has.
    """
    if isinstance(spec, DType):
        return spec
    name = spec if isinstance(spec, str) else getattr(spec, "name", None) or getattr(spec, "__name__", str(spec))
    try:
        return _SPELLINGS[str(name)]
    except KeyError:
        known = ", ".join(f"{d.name} ({d.numpy})" for d in DTYPES.values())
        raise TensorError(f"dtype {spec!r}: no such element type on a GPU; there are {known}") from None
