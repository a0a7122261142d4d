"""Textures and samplers of a shader: what is read of one is any value, of what is written to one nothing is claimed.

Law: a proof holds for all that textures may hold, and a refutation is one for some of it. No two reads are taken for
equal, not even of one texel. A texel outside a texture is a value, too (WGSL, 17.7.4). An unknown value is what an
atomic update of an array that is not the shader's returns: what others did to it is an unknown to every proof.
"""

from __future__ import annotations

from ...tensor.dtypes import DType, bool_, f32, u32
from .. import ir
from .memory import HandleType, Items, Place, Value
from .syntax import SyntaxNode
from .values import ValueReader

#: The array whose updates give unknown values.
UNKNOWN = "any_value"


class TextureReader(ValueReader):
    """Functions of textures."""

    def unknown(self, dtype: DType) -> ir.Expr:
        """Any value of this type; a float is one of 0 to 1 where a shader is run."""
        if self.chance is None:
            self.chance = ir.Buffer(UNKNOWN, u32, 1, writable=True, atomic=True)
        result = ir.var("texel", u32)
        self.out.append(ir.Atomic("Or", self.chance, ir.const(0), ir.const(0), None, result, self.place))
        if dtype is bool_:
            return self.let("texel", ir.binary("!=", result, ir.const(0)))
        if dtype.kind == "f":
            return self.let("texel", ir.cast(result, dtype) * ir.const(2.0**-32, dtype))
        return self.let("texel", ir.cast(result, dtype)) if dtype is not u32 else result

    def of_texture(self, node: SyntaxNode, values: list[Value]) -> Value:
        """The value of a function of textures: any."""
        name, place = node.text, values[1 if node.text == "textureGather" and len(values) > 3 else 0]
        if not (isinstance(place, Place) and isinstance(place.type, HandleType)):
            place = next(v for v in values if isinstance(v, Place) and isinstance(v.type, HandleType))
        handle = place.type
        assert isinstance(handle, HandleType)
        if name == "textureStore":
            return 0
        if name in ("textureNumLevels", "textureNumLayers", "textureNumSamples"):
            return self.of_launch(place.variable, name.removeprefix("textureNum").lower(), u32)
        if name == "textureDimensions":
            level = values[1] if len(values) > 1 else 0
            whole = (isinstance(level, int) and level == 0) or (isinstance(level, ir.Const) and level.value == 0)
            lanes = "xyz"[: handle.dimensions]
            sizes = [self.of_launch(place.variable, lane, u32) if whole else self.unknown(u32) for lane in lanes]
            return sizes[0] if len(sizes) == 1 else Items(sizes)
        if "Compare" in name and name != "textureGatherCompare":
            return self.unknown(f32)
        if handle.name.startswith("texture_depth") and not name.startswith("textureGather"):
            return self.unknown(f32)
        return Items(self.unknown(handle.channel) for _ in range(4))
