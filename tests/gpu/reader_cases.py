"""Compute shaders as people write them, each with what is bound and the verdict that WGSL's rules give."""

from typing import NamedTuple

from cutepy.gpu.reader import Bindings


class Shader(NamedTuple):
    """A text, what is bound, and `proven`, `refuted` or `undecided`."""

    name: str
    text: str
    given: Bindings
    verdict: str


X = "@group(0) @binding(0) var<storage, read> x: array<f32>;\n"
Y = "@group(0) @binding(1) var<storage, read_write> y: array<f32>;\n"
ID = "@builtin(global_invocation_id) id: vec3<u32>"
LOCAL = "@builtin(local_invocation_id) local: vec3u, @builtin(workgroup_id) group: vec3u"
HUNDRED = Bindings(lengths={"x": 100, "y": 100}, grid=(2, 1, 1))


def body(statements: str, inputs: str = ID, size: str = "64") -> str:
    return f"{X}{Y}@compute @workgroup_size({size}) fn main({inputs}) {{ {statements} }}"


SHADERS = [
    Shader("plain", body("y[id.x] = x[id.x];"), HUNDRED, "refuted"),
    Shader("early return", body("if (id.x >= arrayLength(&x)) { return; } y[id.x] = x[id.x];"), HUNDRED, "proven"),
    Shader("early return, off by one", body("if (id.x > 100u) { return; } y[id.x] = x[id.x];"), HUNDRED, "refuted"),
    Shader("guarded", body("let i = id.x; if i < 100 { y[i] = x[i] * 2; }"), HUNDRED, "proven"),
    Shader("lazy and", body("let i = id.x; if (i < 100u && x[i] > 0.0) { y[i] = 1.0; }"), HUNDRED, "proven"),
    Shader("and the other way", body("let i = id.x; if (x[i] > 0.0 && i < 100u) { y[i] = 1.0; }"), HUNDRED, "refuted"),
    Shader("lazy or", body("let i = id.x; if (i >= 100u || x[i] > 0.0) { return; } y[i] = 1.0;"), HUNDRED, "proven"),
    Shader("everybody writes 0", body("y[id.x / 64u] = 1.0;"), HUNDRED, "refuted"),
    Shader("one thread writes", body("if (id.x == 5u) { y[0] = 1.0; }"), HUNDRED, "proven"),
    Shader(
        "a loop", body("var s = 0.0; for (var k = 0u; k < 100u; k++) { s += x[k]; } if (id.x == 0u) { y[0] = s; }"),
        HUNDRED, "proven",
    ),
    Shader(
        "a loop one turn too long",
        body("var s = 0.0; for (var k = 0u; k <= 100u; k++) { s += x[k]; } if (id.x == 0u) { y[0] = s; }"),
        HUNDRED, "refuted",
    ),
    Shader(
        "while", body("var k = 0u; while (k < 100u) { if (id.x == 0u) { y[k] = x[k]; } k += 3u; }"), HUNDRED, "proven"
    ),
    Shader(
        "loop and continuing",
        body("var k = id.x; loop { if (k >= 100u) { break; } y[k] = x[k]; continuing { k += 128u; } }"),
        HUNDRED, "proven",
    ),
    Shader(
        "break if",
        body("var k = 0u; loop { if (id.x == 0u) { y[k] = 1.0; } continuing { k++; break if k >= 101u; } }"),
        HUNDRED, "refuted",
    ),
    Shader(
        "continue skips",
        body("for (var k = 0u; k < 200u; k++) { if (k >= 100u) { continue; } y[k] = x[k]; }", size="1"),
        Bindings(lengths={"x": 100, "y": 100}), "proven",
    ),
    Shader(
        "continue inside a block skips",
        body("for (var k = 0u; k < 200u; k++) { if (k > 5u) { if (k >= 100u) { continue; } } y[k] = x[k]; }", size="1"),
        Bindings(lengths={"x": 100, "y": 100}), "proven",
    ),
    Shader(
        "break inside a block leaves",
        body("for (var k = 0u; k < 200u; k++) { if (x[0] > 0.0) { if (k >= 100u) { break; } } y[k] = 1.0; }", size="1"),
        Bindings(lengths={"x": 100, "y": 100}), "refuted",
    ),
    Shader(
        "return inside a loop",
        body("for (var k = 0u; k < 200u; k++) { if (k >= 100u) { return; } y[k] = x[k]; }", size="1"),
        Bindings(lengths={"x": 100, "y": 100}), "proven",
    ),
    Shader(  # no prover follows the flag of the return through the loop, and none may say that the store happens
        "behind a return inside a loop",
        body("for (var k = 0u; k < 200u; k++) { if (k >= 100u) { return; } y[k] = x[k]; } y[500] = 1.0;", size="1"),
        Bindings(lengths={"x": 100, "y": 100}), "undecided",
    ),
    Shader(
        "switch",
        body(
            "var i = 200u; switch (id.x) { case 0u, 1u: { i = id.x; } case 2: { i = 7u; } default: { return; } }"
            "y[i] = 1.0;"
        ),
        HUNDRED, "proven",
    ),
    Shader(
        "a function with early returns",
        X + Y + "fn kept(i: u32) -> u32 { if (i < 100u) { return i; } return 0u; }"
        "@compute @workgroup_size(64) fn main(" + ID + ") { let v = x[kept(id.x)]; if (id.x < 100u) { y[id.x] = v; } }",
        HUNDRED, "proven",
    ),
    Shader(
        "a pointer keeps its index",
        X + Y + "fn put(p: ptr<storage, f32, read_write>, i: ptr<function, u32>) { *i = 1000u; *p = 1.0; }"
        "@compute @workgroup_size(1) fn main() { var i = 3u; put(&y[i], &i); }",
        Bindings(lengths={"x": 100, "y": 100}), "proven",
    ),
    Shader(
        "a value before a call that changes it",
        X + Y + "fn next(i: ptr<function, u32>) -> u32 { *i += 60u; return *i; }"
        "@compute @workgroup_size(1) fn main() { var i = 30u; y[i + next(&i) - 60u] = 1.0; }",
        Bindings(lengths={"x": 100, "y": 100}), "proven",
    ),
    Shader(
        "struct of arrays and arrays of structs",
        "struct Cell { at: vec3f, n: u32, more: array<u32, 4> } struct All { count: u32, cells: array<Cell> }\n"
        "@group(0) @binding(0) var<storage, read_write> all: All;"
        "@compute @workgroup_size(64) fn main(" + ID + ") { if (id.x >= arrayLength(&all.cells)) { return; }"
        "all.cells[id.x].more[all.cells[id.x].n % 4u] = 1u; all.cells[id.x].at = vec3f(f32(id.x)); }",
        Bindings(lengths={"all": 100}, grid=(2, 1, 1)), "proven",
    ),
    Shader(
        "beyond an inner array",
        "@group(0) @binding(0) var<storage, read_write> y: array<array<u32, 4>, 16>;"
        "@compute @workgroup_size(4) fn main(" + ID + ") { y[id.x][id.x + 1u] = 1u; }",
        Bindings(), "refuted",
    ),
    Shader(
        "a lane of a vector",
        "@group(0) @binding(0) var<storage, read_write> y: array<vec4<f32>>;"
        "@compute @workgroup_size(4) fn main(" + ID + ") { y[0][id.x] = 1.0; }",
        Bindings(lengths={"y": 1}), "proven",
    ),
    Shader(
        "workgroup memory behind a barrier",
        X + Y + "var<workgroup> s: array<f32, 64>; @compute @workgroup_size(64) fn main(" + LOCAL + ") {"
        "s[local.x] = x[local.x]; workgroupBarrier(); if (group.x == 0) { y[local.x] = s[63u - local.x]; } }",
        HUNDRED, "proven",
    ),
    Shader(
        "workgroup memory without a barrier",
        X + Y + "var<workgroup> s: array<f32, 64>; @compute @workgroup_size(64) fn main(" + LOCAL + ") {"
        "s[local.x] = x[local.x]; if (group.x == 0) { y[local.x] = s[63u - local.x]; } }",
        HUNDRED, "refuted",
    ),
    Shader(
        "a barrier after an early return",
        X + Y + "@compute @workgroup_size(64) fn main(" + ID + ") {"
        "if (id.x >= 100u) { return; } workgroupBarrier(); y[id.x] = 1.0; }",
        HUNDRED, "refuted",
    ),
    Shader(
        "atomics",
        "@group(0) @binding(0) var<storage, read_write> n: array<atomic<u32>, 8>;"
        "@compute @workgroup_size(64) fn main(" + ID + ") { let old = atomicAdd(&n[id.x % 8u], 1u); _ = old; }",
        Bindings(grid=(4, 1, 1)), "proven",
    ),
    Shader(
        "an override and constants",
        "override size = 8u; const N = 4 * 2; alias F = f32;"
        "@group(0) @binding(0) var<storage, read_write> y: array<F, N>;"
        "@compute @workgroup_size(size) fn main(" + ID + ") { y[id.x] = F(1); }",
        Bindings(numbers={"size": 8}), "proven",
    ),
    Shader(
        "an override too large",
        "override size = 8u; @group(0) @binding(0) var<storage, read_write> y: array<f32, 8>;"
        "@compute @workgroup_size(size) fn main(" + ID + ") { y[id.x] = 1f; }",
        Bindings(numbers={"size": 9}), "refuted",
    ),
    Shader(
        "a uniform of any value",
        "struct P { n: u32 } @group(0) @binding(2) var<uniform> p: P;\n"
        + body("if (id.x < p.n) { y[id.x] = x[id.x]; }"), HUNDRED, "refuted",
    ),
    Shader(
        "a uniform that is bound",
        "struct P { n: u32 } @group(0) @binding(2) var<uniform> p: P;\n"
        + body("if (id.x < p.n) { y[id.x] = x[id.x]; }"),
        Bindings({"x": 100, "y": 100}, {"p.n": 100}, (2, 1, 1)), "proven",
    ),
    Shader(
        "a switch that is left from inside a block",
        body(
            "var i = 0u; switch (id.x) { case 0u: { if (x[0] > 0.0) { break; } i = 7u; } default: { i = id.x; } }"
            "if (id.x == 0u && i < 8u) { y[i] = 1.0; }"
        ),
        HUNDRED, "proven",
    ),
    Shader(
        "a switch that is left keeps the names of the shader",
        body(
            "let turn = 1000u + id.x; switch (id.x) {"
            "case 0u: { if (x[0] > 0.0) { break; } } case 1u: { y[turn] = 1.0; } default: {} }"
        ),
        HUNDRED, "refuted",
    ),
    Shader(
        "a return from a case",
        body("switch (id.x) { case 0u: { if (x[0] > 0.0) { return; } } default: {} } y[id.x] = 1.0;"),
        HUNDRED, "refuted",
    ),
    Shader(
        "what a texture holds is any value",
        "@group(0) @binding(2) var t: texture_2d<u32>;"
        "@group(0) @binding(3) var out: texture_storage_2d<r32uint, write>;\n"
        + body(
            "let size = textureDimensions(t); let i = textureLoad(t, vec2u(id.x % size.x, 0u), 0).x;"
            "textureStore(out, id.xy, vec4u(i)); if (i < 100u && id.x == 0u) { y[i] = 1.0; }"
        ),
        HUNDRED, "proven",
    ),
    Shader(
        "a texture gives no index",
        "@group(0) @binding(2) var t: texture_2d<u32>;\n"
        + body("if (id.x == 0u) { y[textureLoad(t, vec2u(0u), 0).x] = 1.0; }"), HUNDRED, "undecided",
    ),
    Shader(
        "two texels are not equal",
        "@group(0) @binding(2) var t: texture_2d<f32>; @group(0) @binding(3) var s: sampler;\n"
        + body(
            "let a = textureSampleLevel(t, s, vec2f(0.5), 0.0).r; let b = textureSampleLevel(t, s, vec2f(0.5), 0.0).r;"
            "if (a != b) { y[id.x] = 1.0; }"
        ),
        HUNDRED, "undecided",
    ),
    Shader(
        "bits of an index",
        body("y[insertBits(0u, id.x, 1u, 5u)] = x[extractBits(id.x, 0u, 6u)];", size="32"),
        Bindings(lengths={"x": 64, "y": 63}), "proven",
    ),
    Shader(
        "bits of an index, one element less",
        body("y[insertBits(0u, id.x, 1u, 5u)] = x[extractBits(id.x, 0u, 6u)];", size="32"),
        Bindings(lengths={"x": 64, "y": 62}), "refuted",
    ),
    Shader(
        "workgroup memory starts with zeros",
        Y + "var<workgroup> n: atomic<u32>; @compute @workgroup_size(64) fn main(" + LOCAL + ") {"
        "atomicAdd(&n, 1u); workgroupBarrier(); if (local.x == 0u && group.x == 0u) { y[0] = f32(atomicLoad(&n)); } }",
        HUNDRED, "proven",
    ),
    Shader(
        "private variables start with what they are set to",
        X + Y + "var<private> i: u32 = 7u; var<private> v: vec2u; @compute @workgroup_size(1) fn main() {"
        "y[i + v.y] = 1.0; i += 100u; }",
        Bindings(lengths={"x": 8, "y": 8}), "proven",
    ),
    Shader(
        "a lane of a vector of the launch at an index",
        "struct P { n: vec4<u32> } @group(0) @binding(2) var<uniform> p: P;\n"
        + body("y[id.x + p.n[id.x % 4u]] = 1.0;", size="4"),
        Bindings({"x": 100, "y": 100}, {"p.n.x": 1, "p.n.y": 2, "p.n.z": 3, "p.n.w": 96}), "proven",
    ),
    Shader(
        "a struct whose name begins like a vector",
        "struct vec5 { x: u32, w: u32 } struct material { i: u32 }\n"
        + body("let v = vec5(3u, 4u); let m = material(5u); if (id.x == 0u) { y[v.w + m.i] = 1.0; }"),
        HUNDRED, "proven",
    ),
    Shader(
        "sizes that are computed",
        "override n = 8u; const m = max(4u, n); const k = 1u << 3u; var<workgroup> s: array<f32, m * k>;\n"
        + body("s[id.x] = 1.0; if (id.x < 8u) { y[id.x] = s[id.x]; }", size="64"),
        Bindings({"x": 8, "y": 8}, {"n": 8}), "proven",
    ),
]  # fmt: skip
