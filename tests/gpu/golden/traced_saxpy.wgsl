// saxpy
// x f32 (1000):(1)
// y f32 (1000):(1)

@group(0) @binding(0) var<storage, read> x: array<vec4<f32>>;  // (1000):(1)
@group(0) @binding(1) var<storage, read_write> y: array<vec4<f32>>;  // (1000):(1)

struct Params {
    a: f32,
}
@group(0) @binding(2) var<uniform> params: Params;

@compute @workgroup_size(64)
fn saxpy(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) tid: u32) {
    var x_0 = vec4<f32>(0.0);
    var y_0 = vec4<f32>(0.0);
    let index = group.x * 64u + tid;
    if (index < 250u) {
        x_0 = x[index];
        y_0 = y[index];
        y[index] = vec4<f32>(params.a) * x_0 + y_0;
    }
}
