"""Small hand-written programs for the tests of the runtime; `expected` in the tests says what each computes."""

from cutepy.gpu.runtime import Binding, Program, ProgramParam

THREADS = 64

AXPY_WGSL = """
struct Params { n: u32, a: f32 }
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<uniform> params: Params;
@compute @workgroup_size(64)
fn axpy(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x < params.n) { y[id.x] = params.a * x[id.x] + y[id.x]; }
}
"""

ADD_ONE_WGSL = """
@group(0) @binding(0) var<storage, read_write> x: array<u32>;
@compute @workgroup_size(64)
fn add_one(@builtin(global_invocation_id) id: vec3<u32>) { x[id.x] = x[id.x] + 1u; }
"""

ROTATE_WGSL = """
var<workgroup> tile: array<u32, 64>;
@group(0) @binding(0) var<storage, read> source: array<u32>;
@group(0) @binding(1) var<storage, read_write> target_: array<u32>;
@group(0) @binding(2) var<storage, read> unused: array<u32>;
@compute @workgroup_size(64)
fn rotate(@builtin(local_invocation_index) tid: u32, @builtin(workgroup_id) group: vec3<u32>) {
  tile[(tid + 1u) % 64u] = source[group.x * 64u + tid];
  workgroupBarrier();
  var sum = 0u;
  for (var i = 0u; i < 64u; i++) { sum += tile[i]; }
  target_[group.x * 64u + tid] = tile[tid] + sum - sum;
}
"""

COUNT_GROUPS_WGSL = """
@group(0) @binding(0) var<storage, read_write> count: atomic<u32>;
@compute @workgroup_size(1)
fn count_groups() { atomicAdd(&count, 1u); }
"""


def axpy(n: int, *, checked: bool = True) -> Program:
    """y += a * x over n floats; launched with (n, a)."""
    bindings = (Binding("x", "read", 4 * n), Binding("y", "read_write", 4 * n))
    params = (ProgramParam("n", "u32"), ProgramParam("a", "f32"))
    return Program(AXPY_WGSL, "axpy", bindings, (THREADS, 1, 1), (-(-n // THREADS), 1, 1), params, checked=checked)


def add_one(n: int) -> Program:
    """x += 1 over n (a multiple of 64) integers."""
    return Program(ADD_ONE_WGSL, "add_one", (Binding("x", "read_write", 4 * n),), (THREADS, 1, 1), (n // THREADS, 1, 1))


def rotate(n: int, *, checked: bool = True) -> Program:
    """Rotate every 64 integers by one through workgroup memory, by an index and a loop that a checked module guards."""
    bindings = (Binding("source"), Binding("target", "read_write"), Binding("unused"))
    return Program(
        ROTATE_WGSL, "rotate", bindings, (THREADS, 1, 1), (n // THREADS, 1, 1), shared_bytes=256, checked=checked
    )


COUNT_GROUPS = Program(COUNT_GROUPS_WGSL, "count_groups", (Binding("count", "read_write"),), (1, 1, 1), (1, 1, 1))
