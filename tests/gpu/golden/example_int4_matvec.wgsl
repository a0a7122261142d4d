// matvec
// weights i4 (50,1056):(1056,1)
// scales f32 (50,33):(33,1)
// x f16 (1056):(1)
// y f32 (50):(1)

enable f16;

@group(0) @binding(0) var<storage, read> weights: array<vec4<u32>>;  // (50,1056):(1056,1)
@group(0) @binding(1) var<storage, read> scales: array<f32>;  // (50,33):(33,1)
@group(0) @binding(2) var<storage, read> x: array<vec4<f16>>;  // (1056):(1)
@group(0) @binding(3) var<storage, read_write> y: array<f32>;  // (50):(1)
var<workgroup> partial: array<f32, 32>;  // what threads give one another

@compute @workgroup_size(32)
fn matvec(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) tid: u32) {
    var total = 0.0;
    let weights_at = group.x * 33u + tid;
    let lanes = vec4<u32>(268435456u, 16777216u, 1048576u, 65536u);
    let tid_times_8 = tid * 8u;
    for (var k = 0u; k < 33u; k += 32u) {
        let weights_at_1 = weights_at + k;
        let x_at = tid_times_8 + k * 8u;
        let total_1 = total;
        if (tid + k < 33u) {
            let weights_0 = weights[weights_at_1];
            let ws = bitcast<vec4<i32>>(vec4<u32>(weights_0.x) * lanes) >> vec4<u32>(28u);
            let ws_1 = bitcast<vec4<i32>>(vec4<u32>(weights_0.x * 4096u, weights_0.x * 256u, weights_0.x * 16u, weights_0.x)) >> vec4<u32>(28u);
            let ws_2 = bitcast<vec4<i32>>(vec4<u32>(weights_0.y) * lanes) >> vec4<u32>(28u);
            let ws_3 = bitcast<vec4<i32>>(vec4<u32>(weights_0.y * 4096u, weights_0.y * 256u, weights_0.y * 16u, weights_0.y)) >> vec4<u32>(28u);
            let ws_4 = bitcast<vec4<i32>>(vec4<u32>(weights_0.z) * lanes) >> vec4<u32>(28u);
            let ws_5 = bitcast<vec4<i32>>(vec4<u32>(weights_0.z * 4096u, weights_0.z * 256u, weights_0.z * 16u, weights_0.z)) >> vec4<u32>(28u);
            let ws_6 = bitcast<vec4<i32>>(vec4<u32>(weights_0.w) * lanes) >> vec4<u32>(28u);
            let ws_7 = bitcast<vec4<i32>>(vec4<u32>(weights_0.w * 4096u, weights_0.w * 256u, weights_0.w * 16u, weights_0.w)) >> vec4<u32>(28u);
            let x_0 = x[x_at];
            let x_1 = x[x_at + 1u];
            let x_2 = x[x_at + 2u];
            let x_3 = x[x_at + 3u];
            let x_4 = x[x_at + 4u];
            let x_5 = x[x_at + 5u];
            let x_6 = x[x_at + 6u];
            let x_7 = x[x_at + 7u];
            let scales_0 = scales[weights_at_1];
            total = total_1 + (0.0 + f32(ws.x) * f32(x_0.x) + f32(ws.y) * f32(x_0.y) + f32(ws.z) * f32(x_0.z) + f32(ws.w) * f32(x_0.w) + f32(ws_1.x) * f32(x_1.x) + f32(ws_1.y) * f32(x_1.y) + f32(ws_1.z) * f32(x_1.z) + f32(ws_1.w) * f32(x_1.w) + f32(ws_2.x) * f32(x_2.x) + f32(ws_2.y) * f32(x_2.y) + f32(ws_2.z) * f32(x_2.z) + f32(ws_2.w) * f32(x_2.w) + f32(ws_3.x) * f32(x_3.x) + f32(ws_3.y) * f32(x_3.y) + f32(ws_3.z) * f32(x_3.z) + f32(ws_3.w) * f32(x_3.w) + f32(ws_4.x) * f32(x_4.x) + f32(ws_4.y) * f32(x_4.y) + f32(ws_4.z) * f32(x_4.z) + f32(ws_4.w) * f32(x_4.w) + f32(ws_5.x) * f32(x_5.x) + f32(ws_5.y) * f32(x_5.y) + f32(ws_5.z) * f32(x_5.z) + f32(ws_5.w) * f32(x_5.w) + f32(ws_6.x) * f32(x_6.x) + f32(ws_6.y) * f32(x_6.y) + f32(ws_6.z) * f32(x_6.z) + f32(ws_6.w) * f32(x_6.w) + f32(ws_7.x) * f32(x_7.x) + f32(ws_7.y) * f32(x_7.y) + f32(ws_7.z) * f32(x_7.z) + f32(ws_7.w) * f32(x_7.w)) * scales_0;
        }
    }
    partial[tid] = total;
    workgroupBarrier();
    if (tid < 16u) {
        let partial_1 = partial[tid];
        let partial_2 = partial[tid + 16u];
        partial[tid] = partial_1 + partial_2;
    }
    workgroupBarrier();
    if (tid < 8u) {
        let partial_3 = partial[tid];
        let partial_4 = partial[tid + 8u];
        partial[tid] = partial_3 + partial_4;
    }
    workgroupBarrier();
    if (tid < 4u) {
        let partial_5 = partial[tid];
        let partial_6 = partial[tid + 4u];
        partial[tid] = partial_5 + partial_6;
    }
    workgroupBarrier();
    if (tid < 2u) {
        let partial_7 = partial[tid];
        let partial_8 = partial[tid + 2u];
        partial[tid] = partial_7 + partial_8;
    }
    workgroupBarrier();
    if (tid < 1u) {
        let partial_9 = partial[tid];
        let partial_10 = partial[tid + 1u];
        partial[tid] = partial_9 + partial_10;
    }
    workgroupBarrier();
    let partial_11 = partial[0u];
    if (tid == 0u) {
        y[group.x] = partial_11;
    }
}
