// scan_tiles
// x i32 (1000003):(1)
// y i32 (1000003):(1)
// sums i32 (977):(1)

@group(0) @binding(0) var<storage, read> x: array<vec2<i32>>;  // (1000003):(1)
@group(0) @binding(1) var<storage, read_write> y: array<i32>;  // (1000003):(1)
@group(0) @binding(2) var<storage, read_write> sums: array<i32>;  // (977):(1)
var<workgroup> partial: array<i32, 256>;  // what threads give one another
var<workgroup> partial_1: array<i32, 256>;  // what threads give one another, in turn

@compute @workgroup_size(256)
fn scan_tiles(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) tid: u32) {
    var x_0 = vec2<i32>(0i);
    var x_1 = 0i;
    let index = group.x * 256u + tid;
    let inside = index < 250001u;
    let x_at = group.x * 512u + tid * 2u;
    if (inside) {
        x_0 = x[x_at];
        x_1 = x[x_at + 1u].x;
    }
    var x_2 = 0i;
    let inside_1 = index < 250000u;
    if (inside_1) {
        x_2 = x[x_at + 1u].y;
    }
    let value = x_0.x + x_0.y;
    let value_1 = value + x_1;
    let value_2 = value_1 + x_2;
    partial[tid] = value_2;
    workgroupBarrier();
    if (tid >= 1u) {
        let partial_2 = partial[tid - 1u];
        let partial_3 = partial[tid];
        partial_1[tid] = partial_2 + partial_3;
    } else {
        let partial_4 = partial[tid];
        partial_1[tid] = partial_4;
    }
    workgroupBarrier();
    if (tid >= 2u) {
        let partial_1_0 = partial_1[tid - 2u];
        let partial_1_1 = partial_1[tid];
        partial[tid] = partial_1_0 + partial_1_1;
    } else {
        let partial_1_2 = partial_1[tid];
        partial[tid] = partial_1_2;
    }
    workgroupBarrier();
    if (tid >= 4u) {
        let partial_5 = partial[tid - 4u];
        let partial_6 = partial[tid];
        partial_1[tid] = partial_5 + partial_6;
    } else {
        let partial_7 = partial[tid];
        partial_1[tid] = partial_7;
    }
    workgroupBarrier();
    if (tid >= 8u) {
        let partial_1_3 = partial_1[tid - 8u];
        let partial_1_4 = partial_1[tid];
        partial[tid] = partial_1_3 + partial_1_4;
    } else {
        let partial_1_5 = partial_1[tid];
        partial[tid] = partial_1_5;
    }
    workgroupBarrier();
    if (tid >= 16u) {
        let partial_8 = partial[tid - 16u];
        let partial_9 = partial[tid];
        partial_1[tid] = partial_8 + partial_9;
    } else {
        let partial_10 = partial[tid];
        partial_1[tid] = partial_10;
    }
    workgroupBarrier();
    if (tid >= 32u) {
        let partial_1_6 = partial_1[tid - 32u];
        let partial_1_7 = partial_1[tid];
        partial[tid] = partial_1_6 + partial_1_7;
    } else {
        let partial_1_8 = partial_1[tid];
        partial[tid] = partial_1_8;
    }
    workgroupBarrier();
    if (tid >= 64u) {
        let partial_11 = partial[tid - 64u];
        let partial_12 = partial[tid];
        partial_1[tid] = partial_11 + partial_12;
    } else {
        let partial_13 = partial[tid];
        partial_1[tid] = partial_13;
    }
    workgroupBarrier();
    if (tid >= 128u) {
        let partial_1_9 = partial_1[tid - 128u];
        let partial_1_10 = partial_1[tid];
        partial[tid] = partial_1_9 + partial_1_10;
    } else {
        let partial_1_11 = partial_1[tid];
        partial[tid] = partial_1_11;
    }
    workgroupBarrier();
    let partial_14 = partial[max(tid, 1u) - 1u];
    let inside_2 = tid == 0u;
    let running0 = select(x_0.x + partial_14, x_0.x, inside_2);
    let running1 = select(value + partial_14, value, inside_2);
    let running2 = select(value_1 + partial_14, value_1, inside_2);
    let running3 = select(value_2 + partial_14, value_2, inside_2);
    let y_at = group.x * 1024u + tid * 4u;
    if (inside) {
        y[y_at] = running0;
        y[y_at + 1u] = running1;
        y[y_at + 2u] = running2;
    }
    if (inside_1) {
        y[y_at + 3u] = running3;
    }
    if (tid == 255u) {
        sums[group.x] = running3;
    }
}
