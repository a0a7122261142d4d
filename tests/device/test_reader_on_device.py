"""Functions of WGSL mean for the reader what a device computes: a text is run there, and read and interpreted here."""

from __future__ import annotations

import numpy as np
import pytest

from cutepy.gpu.ir import new_arena
from cutepy.gpu.reader import Bindings, read_shader
from cutepy.gpu.runtime import Device
from cutepy.gpu.targets.interpreter import interpret

N = 64
HEAD = """
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> y: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(local_invocation_index) t: u32) {
  let a = x[t]; let b = x[(t + 1u) % 64u]; let f = f32(i32(a & 255u) - 128) / 16.0; let g = f32(b & 127u) / 32.0;
"""
#: By what they give: u32, or f32 within 1e-5.
WHOLE = {
    "extractBits u32": "extractBits(a, 5u, 9u)",
    "extractBits i32": "bitcast<u32>(extractBits(bitcast<i32>(a), 5u, 9u))",
    "extractBits computed": "extractBits(a, b % 32u, (b >> 8u) % 33u)",
    "extractBits i32 computed": "bitcast<u32>(extractBits(bitcast<i32>(a), b % 32u, (b >> 8u) % 33u))",
    "extractBits all": "extractBits(a, 0u, 32u)",
    "insertBits": "insertBits(a, b, 3u, 11u)",
    "insertBits computed": "insertBits(a, b, b % 32u, (a >> 8u) % 33u)",
    "firstLeadingBit u32": "firstLeadingBit(a >> (b % 32u))",
    "firstLeadingBit i32": "bitcast<u32>(firstLeadingBit(bitcast<i32>(a) >> (b % 32u)))",
    "firstLeadingBit of 0": "firstLeadingBit(a & 0u)",
    "firstTrailingBit": "firstTrailingBit(a << (b % 32u))",
    "unpack2x16unorm": "u32(unpack2x16unorm(a).x * 65535.0 + 0.5) + u32(unpack2x16unorm(a).y * 65535.0 + 0.5)",
    "pack2x16unorm": "pack2x16unorm(vec2f(g / 3.0, f))",
    "pack2x16snorm": "pack2x16snorm(vec2f(f / 7.3, -g / 3.0))",
}
FLOATS = {
    "unpack2x16snorm": "unpack2x16snorm(a).x + 2.0 * unpack2x16snorm(a).y",
    "smoothstep": "smoothstep(-1.0, 3.0, f)",
    "modf": "modf(f).fract + 3.0 * modf(f).whole",
    "ldexp": "ldexp(f, i32(b % 9u) - 4)",
    "faceForward": "faceForward(vec2f(f, g), vec2f(g, 1.0), vec2f(f, f)).y",
    "reflect": "reflect(vec2f(f, g), vec2f(0.6, 0.8)).x",
    "mix": "mix(vec2f(f, g), vec2f(g, 1.0), 0.3).x",
    "step": "step(0.5, f) + 2.0 * step(vec2f(g, f), vec2f(f, 1.0)).y",
    "saturate": "saturate(vec2f(f, g)).x",
    "quantizeToF16": "quantizeToF16(f / 3.0)",
    "cross": "dot(cross(vec3f(f, g, 1.0), vec3f(g, 2.0, f)), vec3f(1.0, 2.0, 4.0))",
    "distance": "distance(vec2f(f, g), vec2f(g, 1.0)) + distance(f, g)",
    "normalize": "normalize(vec3f(f, g, 1.0)).y + length(f)",
    "determinant": "determinant(mat3x3f(f, 1.0, g, 2.0, g, 3.0, f, f, 0.5))",
    "transpose": "(transpose(mat2x3f(f, g, 1.0, 2.0, 3.0, f)) * vec3f(1.0, 2.0, 3.0)).y",
}


def read(text: str, x: np.ndarray) -> np.ndarray:
    """What the interpreter computes of the text."""
    y = np.zeros(N, np.uint32)
    with new_arena():
        interpret(read_shader(text, Bindings(lengths={"x": N, "y": N})), [x, y], {})
    return y


def run(text: str, x: np.ndarray) -> np.ndarray:
    """What a device computes of it."""
    from wgpu.utils.compute import compute_with_buffers

    return np.frombuffer(compute_with_buffers({0: x}, {1: (N, "I")}, text, n=1)[1], np.uint32)


@pytest.mark.parametrize("device", ["wgpu"], indirect=True)
@pytest.mark.parametrize("name", [*WHOLE, *FLOATS])
def test_a_function_is_read_as_a_device_computes_it(name: str, device: Device) -> None:
    assert device is not None  # a loud skip where there is none
    x = np.random.default_rng(7).integers(0, 1 << 32, N, dtype=np.uint32)
    value = WHOLE[name] if name in WHOLE else f"bitcast<u32>({FLOATS[name]})"
    text = HEAD + f"  y[t] = {value};\n}}"
    ours, theirs = read(text, x), run(text, x)
    if name in WHOLE:
        np.testing.assert_array_equal(ours, theirs)
    else:
        np.testing.assert_allclose(ours.view(np.float32), theirs.view(np.float32), rtol=1e-4, atol=1e-4)


def test_what_wgsl_makes_of_its_own_functions_a_shader_does_not_change() -> None:
    """`distance` is a length: WGSL's, also in a shader with a function of that name."""
    x = np.arange(N, dtype=np.uint32)
    text = (
        "fn length(v: vec2f) -> f32 { return 7.0; }" + HEAD + "  y[t] = u32(distance(vec2f(0.0), vec2f(3.0, 4.0)));\n}"
    )
    assert set(read(text, x)) == {5} and set(read(text.replace("distance(vec2f(0.0), ", "length("), x)) == {7}
