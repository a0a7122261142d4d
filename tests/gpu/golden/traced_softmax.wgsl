// softmax_rows
// x f32 (7,150):(150,1)
// y f32 (7,150):(150,1)
// partial f32 64:1, shared by a workgroup

@group(0) @binding(0) var<storage, read> x: array<f32>;  // (7,150):(150,1)
@group(0) @binding(1) var<storage, read_write> y: array<f32>;  // (7,150):(150,1)
var<workgroup> partial: array<f32, 64>;  // 64:1

@compute @workgroup_size(64)
fn softmax_rows(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) tid: u32) {
    let x_at = group.x * 150u + tid;
    let x_0 = x[x_at];
    let x_1 = x[x_at + 64u];
    var mine1 = -1.0e+30;
    let inside = tid + 128u < 150u;
    if (inside) {
        let x_2 = x[x_at + 128u];
        mine1 = x_2;
    }
    partial[tid] = max(-1.0e+30, max(max(x_0, x_1), mine1));
    workgroupBarrier();
    let inside_1 = tid < 32u;
    if (inside_1) {
        let partial_1 = partial[tid];
        let partial_2 = partial[tid + 32u];
        partial[tid] = max(partial_1, partial_2);
    }
    workgroupBarrier();
    let inside_2 = tid < 16u;
    if (inside_2) {
        let partial_3 = partial[tid];
        let partial_4 = partial[tid + 16u];
        partial[tid] = max(partial_3, partial_4);
    }
    workgroupBarrier();
    let inside_3 = tid < 8u;
    if (inside_3) {
        let partial_5 = partial[tid];
        let partial_6 = partial[tid + 8u];
        partial[tid] = max(partial_5, partial_6);
    }
    workgroupBarrier();
    let inside_4 = tid < 4u;
    if (inside_4) {
        let partial_7 = partial[tid];
        let partial_8 = partial[tid + 4u];
        partial[tid] = max(partial_7, partial_8);
    }
    workgroupBarrier();
    let inside_5 = tid < 2u;
    if (inside_5) {
        let partial_9 = partial[tid];
        let partial_10 = partial[tid + 2u];
        partial[tid] = max(partial_9, partial_10);
    }
    workgroupBarrier();
    let inside_6 = tid < 1u;
    if (inside_6) {
        let partial_11 = partial[tid];
        let partial_12 = partial[tid + 1u];
        partial[tid] = max(partial_11, partial_12);
    }
    workgroupBarrier();
    let partial_13 = partial[0u];
    workgroupBarrier();
    let mine0 = exp(vec2<f32>(x_0, x_1) - vec2<f32>(partial_13));
    mine1 = exp(mine1 - partial_13);
    partial[tid] = 0.0 + (mine0.x + mine0.y + mine1);
    workgroupBarrier();
    if (inside_1) {
        let partial_14 = partial[tid];
        let partial_15 = partial[tid + 32u];
        partial[tid] = partial_14 + partial_15;
    }
    workgroupBarrier();
    if (inside_2) {
        let partial_16 = partial[tid];
        let partial_17 = partial[tid + 16u];
        partial[tid] = partial_16 + partial_17;
    }
    workgroupBarrier();
    if (inside_3) {
        let partial_18 = partial[tid];
        let partial_19 = partial[tid + 8u];
        partial[tid] = partial_18 + partial_19;
    }
    workgroupBarrier();
    if (inside_4) {
        let partial_20 = partial[tid];
        let partial_21 = partial[tid + 4u];
        partial[tid] = partial_20 + partial_21;
    }
    workgroupBarrier();
    if (inside_5) {
        let partial_22 = partial[tid];
        let partial_23 = partial[tid + 2u];
        partial[tid] = partial_22 + partial_23;
    }
    workgroupBarrier();
    if (inside_6) {
        let partial_24 = partial[tid];
        let partial_25 = partial[tid + 1u];
        partial[tid] = partial_24 + partial_25;
    }
    workgroupBarrier();
    let partial_26 = partial[0u];
    workgroupBarrier();
    let mine0_1 = mine0 / vec2<f32>(partial_26);
    mine1 = mine1 / partial_26;
    y[x_at] = mine0_1.x;
    y[x_at + 64u] = mine0_1.y;
    if (inside) {
        y[x_at + 128u] = mine1;
    }
}
