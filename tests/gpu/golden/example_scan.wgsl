// scan_tiles
// x i32 (1000003):(1)
// before i32 (489):(1)
// y i32 (1000003):(1)
// s i32 S<1,2,3> o 0 o 2048:1, shared by a workgroup

@group(0) @binding(0) var<storage, read> x: array<vec2<i32>>;  // (1000003):(1)
@group(0) @binding(1) var<storage, read> before: array<i32>;  // (489):(1)
@group(0) @binding(2) var<storage, read_write> y: array<i32>;  // (1000003):(1)
var<workgroup> s: array<vec4<i32>, 512>;  // S<1,2,3> o 0 o 2048:1
var<workgroup> partial: array<i32, 256>;  // what threads give one another
var<workgroup> partial_1: array<i32, 256>;  // what threads give one another, in turn

@compute @workgroup_size(256)
fn scan_tiles(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) tid: u32) {
    var x_0 = vec2<i32>(0i);
    let index = tid - group.x * 512u;
    let inside = index + 249856u < 250001u;
    let tid_times_2 = tid * 2u;
    let x_at = tid_times_2 - group.x * 1024u;
    if (inside) {
        x_0 = x[x_at + 499712u];
    }
    var x_1 = vec2<i32>(0i);
    let inside_1 = index + 250112u < 250001u;
    if (inside_1) {
        x_1 = x[x_at + 500224u];
    }
    var x_2 = 0i;
    if (inside) {
        x_2 = x[x_at + 499713u].x;
    }
    var x_3 = 0i;
    if (inside_1) {
        x_3 = x[x_at + 500225u].x;
    }
    var x_4 = 0i;
    let inside_2 = index + 249856u < 250000u;
    if (inside_2) {
        x_4 = x[x_at + 499713u].y;
    }
    var x_5 = 0i;
    let inside_3 = index + 250112u < 250000u;
    if (inside_3) {
        x_5 = x[x_at + 500225u].y;
    }
    let s_at = tid ^ ((tid / 8u) % 2u);
    s[s_at] = vec4<i32>(x_0.x, x_0.y, x_2, x_4);
    s[s_at + 256u] = vec4<i32>(x_1.x, x_1.y, x_3, x_5);
    workgroupBarrier();
    let tid_div_4_mod_2 = (tid / 4u) % 2u;
    let s_at_1 = tid_times_2 + tid_div_4_mod_2;
    let s_1 = s[s_at_1];
    let s_at_2 = tid_times_2 + (tid_div_4_mod_2 ^ 1u);
    let s_2 = s[s_at_2];
    let value = s_1.x + s_1.y;
    let value_1 = value + s_1.z;
    let value_2 = value_1 + s_1.w;
    let value_3 = value_2 + s_2.x;
    let value_4 = value_3 + s_2.y;
    let value_5 = value_4 + s_2.z;
    let value_6 = value_5 + s_2.w;
    partial[tid] = value_6;
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
    let inside_4 = tid == 0u;
    let running0 = select(s_1.x + partial_14, s_1.x, inside_4);
    let running1 = select(value + partial_14, value, inside_4);
    let running2 = select(value_1 + partial_14, value_1, inside_4);
    let running3 = select(value_2 + partial_14, value_2, inside_4);
    let running4 = select(value_3 + partial_14, value_3, inside_4);
    let running5 = select(value_4 + partial_14, value_4, inside_4);
    let running6 = select(value_5 + partial_14, value_5, inside_4);
    let running7 = select(value_6 + partial_14, value_6, inside_4);
    let before_0 = before[488u - group.x];
    let running = vec4<i32>(running0, running1, running2, running3) + vec4<i32>(before_0);
    let running_1 = vec4<i32>(running4, running5, running6, running7) + vec4<i32>(before_0);
    s[s_at_1] = running;
    s[s_at_2] = running_1;
    workgroupBarrier();
    let s_3 = s[s_at];
    let s_4 = s[s_at + 256u];
    let y_at = tid * 4u - group.x * 2048u;
    if (inside) {
        y[y_at + 999424u] = s_3.x;
        y[y_at + 999425u] = s_3.y;
    }
    if (inside_1) {
        y[y_at + 1000448u] = s_4.x;
        y[y_at + 1000449u] = s_4.y;
    }
    if (inside) {
        y[y_at + 999426u] = s_3.z;
    }
    if (inside_1) {
        y[y_at + 1000450u] = s_4.z;
    }
    if (inside_2) {
        y[y_at + 999427u] = s_3.w;
    }
    if (inside_3) {
        y[y_at + 1000451u] = s_4.w;
    }
}
