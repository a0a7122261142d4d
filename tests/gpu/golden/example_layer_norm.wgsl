// layer_norm
// x f32 (50,1000):(1000,1)
// gain f32 (50,1000):(0,1)
// bias f32 (50,1000):(0,1)
// y f32 (50,1000):(1000,1)
// width None

@group(0) @binding(0) var<storage, read> x: array<f32>;  // (50,1000):(1000,1)
@group(0) @binding(1) var<storage, read> gain: array<f32>;  // (50,1000):(0,1)
@group(0) @binding(2) var<storage, read> bias: array<f32>;  // (50,1000):(0,1)
@group(0) @binding(3) var<storage, read_write> y: array<f32>;  // (50,1000):(1000,1)
var<workgroup> partial: array<f32, 128>;  // what threads give one another

@compute @workgroup_size(128)
fn layer_norm(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) tid: u32) {
    let x_at = group.x * 1000u + tid;
    let x_0 = x[x_at];
    let x_1 = x[x_at + 128u];
    let x_2 = x[x_at + 256u];
    let x_3 = x[x_at + 384u];
    let x_4 = x[x_at + 512u];
    let x_5 = x[x_at + 640u];
    let x_6 = x[x_at + 768u];
    var x_7 = 0.0;
    let inside = tid + 896u < 1000u;
    if (inside) {
        x_7 = x[x_at + 896u];
    }
    partial[tid] = x_0 + x_1 + (x_2 + x_3) + (x_4 + x_5 + (x_6 + x_7));
    workgroupBarrier();
    let inside_1 = tid < 64u;
    if (inside_1) {
        let partial_1 = partial[tid];
        let partial_2 = partial[tid + 64u];
        partial[tid] = partial_1 + partial_2;
    }
    workgroupBarrier();
    let inside_2 = tid < 32u;
    if (inside_2) {
        let partial_3 = partial[tid];
        let partial_4 = partial[tid + 32u];
        partial[tid] = partial_3 + partial_4;
    }
    workgroupBarrier();
    let inside_3 = tid < 16u;
    if (inside_3) {
        let partial_5 = partial[tid];
        let partial_6 = partial[tid + 16u];
        partial[tid] = partial_5 + partial_6;
    }
    workgroupBarrier();
    let inside_4 = tid < 8u;
    if (inside_4) {
        let partial_7 = partial[tid];
        let partial_8 = partial[tid + 8u];
        partial[tid] = partial_7 + partial_8;
    }
    workgroupBarrier();
    let inside_5 = tid < 4u;
    if (inside_5) {
        let partial_9 = partial[tid];
        let partial_10 = partial[tid + 4u];
        partial[tid] = partial_9 + partial_10;
    }
    workgroupBarrier();
    let inside_6 = tid < 2u;
    if (inside_6) {
        let partial_11 = partial[tid];
        let partial_12 = partial[tid + 2u];
        partial[tid] = partial_11 + partial_12;
    }
    workgroupBarrier();
    let inside_7 = tid < 1u;
    if (inside_7) {
        let partial_13 = partial[tid];
        let partial_14 = partial[tid + 1u];
        partial[tid] = partial_13 + partial_14;
    }
    workgroupBarrier();
    let partial_15 = partial[0u];
    let value = partial_15 / 1000.0;
    let fragment0 = vec4<f32>(x_0, x_1, x_2, x_3) - vec4<f32>(value);
    let fragment1 = vec4<f32>(x_4, x_5, x_6, x_7) - vec4<f32>(value);
    let fragment1_1 = select(0.0, fragment1.w, inside);
    let squares0 = fragment0 * fragment0;
    let fragment1_vec = vec4<f32>(fragment1.x, fragment1.y, fragment1.z, fragment1_1);
    let squares1 = fragment1_vec * fragment1_vec;
    workgroupBarrier();
    partial[tid] = squares0.x + squares0.y + (squares0.z + squares0.w) + (squares1.x + squares1.y + (squares1.z + squares1.w));
    workgroupBarrier();
    if (inside_1) {
        let partial_16 = partial[tid];
        let partial_17 = partial[tid + 64u];
        partial[tid] = partial_16 + partial_17;
    }
    workgroupBarrier();
    if (inside_2) {
        let partial_18 = partial[tid];
        let partial_19 = partial[tid + 32u];
        partial[tid] = partial_18 + partial_19;
    }
    workgroupBarrier();
    if (inside_3) {
        let partial_20 = partial[tid];
        let partial_21 = partial[tid + 16u];
        partial[tid] = partial_20 + partial_21;
    }
    workgroupBarrier();
    if (inside_4) {
        let partial_22 = partial[tid];
        let partial_23 = partial[tid + 8u];
        partial[tid] = partial_22 + partial_23;
    }
    workgroupBarrier();
    if (inside_5) {
        let partial_24 = partial[tid];
        let partial_25 = partial[tid + 4u];
        partial[tid] = partial_24 + partial_25;
    }
    workgroupBarrier();
    if (inside_6) {
        let partial_26 = partial[tid];
        let partial_27 = partial[tid + 2u];
        partial[tid] = partial_26 + partial_27;
    }
    workgroupBarrier();
    if (inside_7) {
        let partial_28 = partial[tid];
        let partial_29 = partial[tid + 1u];
        partial[tid] = partial_28 + partial_29;
    }
    workgroupBarrier();
    let partial_30 = partial[0u];
    let value_1 = inverseSqrt(partial_30 / 1000.0 + 0.00001);
    let fragment0_1 = fragment0 * vec4<f32>(value_1);
    let fragment1_2 = fragment1_vec * vec4<f32>(value_1);
    let gain_0 = gain[tid];
    let gain_1 = gain[tid + 128u];
    let gain_2 = gain[tid + 256u];
    let gain_3 = gain[tid + 384u];
    let gain_4 = gain[tid + 512u];
    let gain_5 = gain[tid + 640u];
    let gain_6 = gain[tid + 768u];
    var gain_7 = 0.0;
    if (inside) {
        gain_7 = gain[tid + 896u];
    }
    let bias_0 = bias[tid];
    let bias_1 = bias[tid + 128u];
    let bias_2 = bias[tid + 256u];
    let bias_3 = bias[tid + 384u];
    let bias_4 = bias[tid + 512u];
    let bias_5 = bias[tid + 640u];
    let bias_6 = bias[tid + 768u];
    var bias_7 = 0.0;
    if (inside) {
        bias_7 = bias[tid + 896u];
    }
    let fragment0_2 = fragment0_1 * vec4<f32>(gain_0, gain_1, gain_2, gain_3) + vec4<f32>(bias_0, bias_1, bias_2, bias_3);
    let fragment1_3 = fragment1_2 * vec4<f32>(gain_4, gain_5, gain_6, gain_7) + vec4<f32>(bias_4, bias_5, bias_6, bias_7);
    y[x_at] = fragment0_2.x;
    y[x_at + 128u] = fragment0_2.y;
    y[x_at + 256u] = fragment0_2.z;
    y[x_at + 384u] = fragment0_2.w;
    y[x_at + 512u] = fragment1_3.x;
    y[x_at + 640u] = fragment1_3.y;
    y[x_at + 768u] = fragment1_3.z;
    if (inside) {
        y[x_at + 896u] = fragment1_3.w;
    }
}
