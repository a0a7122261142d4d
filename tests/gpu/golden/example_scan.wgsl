// scan_parts
// x i32 (1000003):(1)
// sums i32 (49):(1)
// y i32 (1000003):(1)

@group(0) @binding(0) var<storage, read> x: array<vec2<i32>>;  // (1000003):(1)
@group(0) @binding(1) var<storage, read> sums: array<i32>;  // (49):(1)
@group(0) @binding(2) var<storage, read_write> y: array<i32>;  // (1000003):(1)
var<workgroup> partial: array<i32, 256>;  // what threads give one another
var<workgroup> partial_18: array<i32, 256>;  // what threads give one another, in turn

@compute @workgroup_size(256)
fn scan_parts(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) tid: u32) {
    var before = 0i;
    for (var p = tid; p < group.x; p += 256u) {
        let sums_0 = sums[p];
        before = before + sums_0;
    }
    partial[tid] = before;
    workgroupBarrier();
    if (tid < 128u) {
        let partial_1 = partial[tid];
        let partial_2 = partial[tid + 128u];
        partial[tid] = partial_1 + partial_2;
    }
    workgroupBarrier();
    if (tid < 64u) {
        let partial_3 = partial[tid];
        let partial_4 = partial[tid + 64u];
        partial[tid] = partial_3 + partial_4;
    }
    workgroupBarrier();
    if (tid < 32u) {
        let partial_5 = partial[tid];
        let partial_6 = partial[tid + 32u];
        partial[tid] = partial_5 + partial_6;
    }
    workgroupBarrier();
    if (tid < 16u) {
        let partial_7 = partial[tid];
        let partial_8 = partial[tid + 16u];
        partial[tid] = partial_7 + partial_8;
    }
    workgroupBarrier();
    if (tid < 8u) {
        let partial_9 = partial[tid];
        let partial_10 = partial[tid + 8u];
        partial[tid] = partial_9 + partial_10;
    }
    workgroupBarrier();
    if (tid < 4u) {
        let partial_11 = partial[tid];
        let partial_12 = partial[tid + 4u];
        partial[tid] = partial_11 + partial_12;
    }
    workgroupBarrier();
    if (tid < 2u) {
        let partial_13 = partial[tid];
        let partial_14 = partial[tid + 2u];
        partial[tid] = partial_13 + partial_14;
    }
    workgroupBarrier();
    if (tid < 1u) {
        let partial_15 = partial[tid];
        let partial_16 = partial[tid + 1u];
        partial[tid] = partial_15 + partial_16;
    }
    workgroupBarrier();
    let partial_17 = partial[0u];
    var carry = partial_17;
    let index = group.x * 5120u + tid;
    let x_at = group.x * 10240u + tid * 2u;
    let inside = tid >= 1u;
    let inside_1 = tid >= 2u;
    let inside_2 = tid >= 4u;
    let inside_3 = tid >= 8u;
    let inside_4 = tid >= 16u;
    let inside_5 = tid >= 32u;
    let inside_6 = tid >= 64u;
    let inside_7 = tid >= 128u;
    let partial_at = max(tid, 1u);
    let inside_8 = tid == 0u;
    let y_at = group.x * 20480u + tid * 4u;
    for (var t = 0u; t < 20u; t++) {
        var x_0 = vec2<i32>(0i);
        var x_1 = 0i;
        let index_1 = index + t * 256u;
        let inside_9 = index_1 < 250001u;
        let x_at_1 = x_at + t * 512u;
        if (inside_9) {
            x_0 = x[x_at_1];
            x_1 = x[x_at_1 + 1u].x;
        }
        var x_2 = 0i;
        let inside_10 = index_1 < 250000u;
        if (inside_10) {
            x_2 = x[x_at_1 + 1u].y;
        }
        workgroupBarrier();
        let value = x_0.x + x_0.y;
        let value_1 = value + x_1;
        let value_2 = value_1 + x_2;
        partial[tid] = value_2;
        workgroupBarrier();
        if (inside) {
            let partial_19 = partial[tid - 1u];
            let partial_20 = partial[tid];
            partial_18[tid] = partial_19 + partial_20;
        } else {
            let partial_21 = partial[tid];
            partial_18[tid] = partial_21;
        }
        workgroupBarrier();
        if (inside_1) {
            let partial_18_0 = partial_18[tid - 2u];
            let partial_18_1 = partial_18[tid];
            partial[tid] = partial_18_0 + partial_18_1;
        } else {
            let partial_18_2 = partial_18[tid];
            partial[tid] = partial_18_2;
        }
        workgroupBarrier();
        if (inside_2) {
            let partial_22 = partial[tid - 4u];
            let partial_23 = partial[tid];
            partial_18[tid] = partial_22 + partial_23;
        } else {
            let partial_24 = partial[tid];
            partial_18[tid] = partial_24;
        }
        workgroupBarrier();
        if (inside_3) {
            let partial_18_3 = partial_18[tid - 8u];
            let partial_18_4 = partial_18[tid];
            partial[tid] = partial_18_3 + partial_18_4;
        } else {
            let partial_18_5 = partial_18[tid];
            partial[tid] = partial_18_5;
        }
        workgroupBarrier();
        if (inside_4) {
            let partial_25 = partial[tid - 16u];
            let partial_26 = partial[tid];
            partial_18[tid] = partial_25 + partial_26;
        } else {
            let partial_27 = partial[tid];
            partial_18[tid] = partial_27;
        }
        workgroupBarrier();
        if (inside_5) {
            let partial_18_6 = partial_18[tid - 32u];
            let partial_18_7 = partial_18[tid];
            partial[tid] = partial_18_6 + partial_18_7;
        } else {
            let partial_18_8 = partial_18[tid];
            partial[tid] = partial_18_8;
        }
        workgroupBarrier();
        if (inside_6) {
            let partial_28 = partial[tid - 64u];
            let partial_29 = partial[tid];
            partial_18[tid] = partial_28 + partial_29;
        } else {
            let partial_30 = partial[tid];
            partial_18[tid] = partial_30;
        }
        workgroupBarrier();
        if (inside_7) {
            let partial_18_9 = partial_18[tid - 128u];
            let partial_18_10 = partial_18[tid];
            partial[tid] = partial_18_9 + partial_18_10;
        } else {
            let partial_18_11 = partial_18[tid];
            partial[tid] = partial_18_11;
        }
        workgroupBarrier();
        let partial_31 = partial[partial_at - 1u];
        let partial_32 = partial[255u];
        let index_2 = select(carry + partial_31, carry, inside_8);
        let fragment0 = x_0.x + index_2;
        let fragment1 = value + index_2;
        let fragment2 = value_1 + index_2;
        let fragment3 = value_2 + index_2;
        let y_at_1 = y_at + t * 1024u;
        if (inside_9) {
            y[y_at_1] = fragment0;
            y[y_at_1 + 1u] = fragment1;
            y[y_at_1 + 2u] = fragment2;
        }
        if (inside_10) {
            y[y_at_1 + 3u] = fragment3;
        }
        carry = carry + partial_32;
    }
}
