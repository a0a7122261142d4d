// top_k
// x f32 (50,1000):(1000,1)
// values f32 (50,8):(8,1)
// places u32 (50,8):(8,1)
// width None

@group(0) @binding(0) var<storage, read> x: array<f32>;  // (50,1000):(1000,1)
@group(0) @binding(1) var<storage, read_write> values: array<f32>;  // (50,8):(8,1)
@group(0) @binding(2) var<storage, read_write> places: array<u32>;  // (50,8):(8,1)
var<workgroup> partial: array<i32, 128>;  // what threads give one another
var<workgroup> partial_1: array<u32, 128>;  // what threads give one another, value 2

@compute @workgroup_size(128)
fn top_k(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) tid: u32) {
    var infinity_bits = 2139095040u;
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
    let value = -bitcast<f32>(infinity_bits);
    let mine1 = select(value, x_7, inside);
    var mine0 = vec4<f32>(x_0, x_1, x_2, x_3);
    var mine1_1 = vec4<f32>(x_4, x_5, x_6, mine1);
    let inside_1 = tid < 64u;
    let inside_2 = tid < 32u;
    let inside_3 = tid < 16u;
    let inside_4 = tid < 8u;
    let inside_5 = tid < 4u;
    let inside_6 = tid < 2u;
    let inside_7 = tid < 1u;
    let inside_8 = tid == 0u;
    let group_x_times_8 = group.x * 8u;
    for (var turn = 0u; turn < 8u; turn++) {
        workgroupBarrier();
        let value_1 = bitcast<i32>(mine1_1.w);
        let value_2 = value_1 & 2147483647i;
        let value_3 = select(select(value_2, -value_2, value_1 < 0i), 2147483647i, value_2 >= 2139095041i);
        let value_4 = bitcast<i32>(mine1_1.z);
        let value_5 = value_4 & 2147483647i;
        let value_6 = select(select(value_5, -value_5, value_4 < 0i), 2147483647i, value_5 >= 2139095041i);
        let inside_9 = value_3 > value_6;
        let value_7 = select(value_6, value_3, inside_9);
        let value_8 = bitcast<i32>(mine1_1.y);
        let value_9 = value_8 & 2147483647i;
        let value_10 = select(select(value_9, -value_9, value_8 < 0i), 2147483647i, value_9 >= 2139095041i);
        let value_11 = bitcast<i32>(mine1_1.x);
        let value_12 = value_11 & 2147483647i;
        let value_13 = select(select(value_12, -value_12, value_11 < 0i), 2147483647i, value_12 >= 2139095041i);
        let inside_10 = value_10 > value_13;
        let value_14 = select(value_13, value_10, inside_10);
        let inside_11 = value_7 > value_14;
        let value_15 = select(value_14, value_7, inside_11);
        let value_16 = bitcast<i32>(mine0.w);
        let value_17 = value_16 & 2147483647i;
        let value_18 = select(select(value_17, -value_17, value_16 < 0i), 2147483647i, value_17 >= 2139095041i);
        let value_19 = bitcast<i32>(mine0.z);
        let value_20 = value_19 & 2147483647i;
        let value_21 = select(select(value_20, -value_20, value_19 < 0i), 2147483647i, value_20 >= 2139095041i);
        let inside_12 = value_18 > value_21;
        let value_22 = select(value_21, value_18, inside_12);
        let value_23 = bitcast<i32>(mine0.y);
        let value_24 = value_23 & 2147483647i;
        let value_25 = select(select(value_24, -value_24, value_23 < 0i), 2147483647i, value_24 >= 2139095041i);
        let value_26 = bitcast<i32>(mine0.x);
        let value_27 = value_26 & 2147483647i;
        let value_28 = select(select(value_27, -value_27, value_26 < 0i), 2147483647i, value_27 >= 2139095041i);
        let inside_13 = value_25 > value_28;
        let value_29 = select(value_28, value_25, inside_13);
        let inside_14 = value_22 > value_29;
        let value_30 = select(value_29, value_22, inside_14);
        let inside_15 = value_15 > value_30;
        partial[tid] = select(value_30, value_15, inside_15);
        partial_1[tid] = select(select(select(tid, tid + 128u, inside_13), select(tid + 256u, tid + 384u, inside_12), inside_14), select(select(tid + 512u, tid + 640u, inside_10), select(tid + 768u, tid + 896u, inside_9), inside_11), inside_15);
        workgroupBarrier();
        if (inside_1) {
            let partial_2 = partial[tid];
            let partial_1_0 = partial_1[tid];
            let partial_3 = partial[tid + 64u];
            let partial_1_1 = partial_1[tid + 64u];
            let inside_16 = partial_3 > partial_2 || (!(partial_2 > partial_3) && partial_1_1 < partial_1_0);
            partial[tid] = select(partial_2, partial_3, inside_16);
            partial_1[tid] = select(partial_1_0, partial_1_1, inside_16);
        }
        workgroupBarrier();
        if (inside_2) {
            let partial_4 = partial[tid];
            let partial_1_2 = partial_1[tid];
            let partial_5 = partial[tid + 32u];
            let partial_1_3 = partial_1[tid + 32u];
            let inside_17 = partial_5 > partial_4 || (!(partial_4 > partial_5) && partial_1_3 < partial_1_2);
            partial[tid] = select(partial_4, partial_5, inside_17);
            partial_1[tid] = select(partial_1_2, partial_1_3, inside_17);
        }
        workgroupBarrier();
        if (inside_3) {
            let partial_6 = partial[tid];
            let partial_1_4 = partial_1[tid];
            let partial_7 = partial[tid + 16u];
            let partial_1_5 = partial_1[tid + 16u];
            let inside_18 = partial_7 > partial_6 || (!(partial_6 > partial_7) && partial_1_5 < partial_1_4);
            partial[tid] = select(partial_6, partial_7, inside_18);
            partial_1[tid] = select(partial_1_4, partial_1_5, inside_18);
        }
        workgroupBarrier();
        if (inside_4) {
            let partial_8 = partial[tid];
            let partial_1_6 = partial_1[tid];
            let partial_9 = partial[tid + 8u];
            let partial_1_7 = partial_1[tid + 8u];
            let inside_19 = partial_9 > partial_8 || (!(partial_8 > partial_9) && partial_1_7 < partial_1_6);
            partial[tid] = select(partial_8, partial_9, inside_19);
            partial_1[tid] = select(partial_1_6, partial_1_7, inside_19);
        }
        workgroupBarrier();
        if (inside_5) {
            let partial_10 = partial[tid];
            let partial_1_8 = partial_1[tid];
            let partial_11 = partial[tid + 4u];
            let partial_1_9 = partial_1[tid + 4u];
            let inside_20 = partial_11 > partial_10 || (!(partial_10 > partial_11) && partial_1_9 < partial_1_8);
            partial[tid] = select(partial_10, partial_11, inside_20);
            partial_1[tid] = select(partial_1_8, partial_1_9, inside_20);
        }
        workgroupBarrier();
        if (inside_6) {
            let partial_12 = partial[tid];
            let partial_1_10 = partial_1[tid];
            let partial_13 = partial[tid + 2u];
            let partial_1_11 = partial_1[tid + 2u];
            let inside_21 = partial_13 > partial_12 || (!(partial_12 > partial_13) && partial_1_11 < partial_1_10);
            partial[tid] = select(partial_12, partial_13, inside_21);
            partial_1[tid] = select(partial_1_10, partial_1_11, inside_21);
        }
        workgroupBarrier();
        if (inside_7) {
            let partial_14 = partial[tid];
            let partial_1_12 = partial_1[tid];
            let partial_15 = partial[tid + 1u];
            let partial_1_13 = partial_1[tid + 1u];
            let inside_22 = partial_15 > partial_14 || (!(partial_14 > partial_15) && partial_1_13 < partial_1_12);
            partial[tid] = select(partial_14, partial_15, inside_22);
            partial_1[tid] = select(partial_1_12, partial_1_13, inside_22);
        }
        workgroupBarrier();
        let partial_16 = partial[0u];
        let partial_1_14 = partial_1[0u];
        let values_at = group_x_times_8 + turn;
        if (inside_8) {
            values[values_at] = bitcast<f32>(select(partial_16, -partial_16 | i32(-2147483648), partial_16 < 0i));
            places[values_at] = partial_1_14;
        }
        mine0 = vec4<f32>(select(mine0.x, value, tid == partial_1_14), select(mine0.y, value, tid + 128u == partial_1_14), select(mine0.z, value, tid + 256u == partial_1_14), select(mine0.w, value, tid + 384u == partial_1_14));
        mine1_1 = vec4<f32>(select(mine1_1.x, value, tid + 512u == partial_1_14), select(mine1_1.y, value, tid + 640u == partial_1_14), select(mine1_1.z, value, tid + 768u == partial_1_14), select(mine1_1.w, value, tid + 896u == partial_1_14));
    }
}
