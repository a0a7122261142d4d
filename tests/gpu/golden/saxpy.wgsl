// saxpy
// x 1000:1

@group(0) @binding(0) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> y: array<vec4<f32>>;

struct Params {
    a: f32,
}
@group(0) @binding(2) var<uniform> params: Params;

@compute @workgroup_size(64)
fn saxpy(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) tid: u32) {
    let x_at = group.x * 128u + tid;
    let x_0 = x[x_at];
    let y_0 = y[x_at];
    y[x_at] = fma(vec4<f32>(params.a), x_0, y_0);
    var x_1 = vec4<f32>(0.0);
    var y_1 = vec4<f32>(0.0);
    if (x_at + 64u < 250u) {
        x_1 = x[x_at + 64u];
        y_1 = y[x_at + 64u];
        y[x_at + 64u] = fma(vec4<f32>(params.a), x_1, y_1);
    }
}
