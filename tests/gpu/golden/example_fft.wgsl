// fft
// x c64 (256,50):(1,256)
// roots c64 (256):(1)
// y c64 (256,50):(1,256)
// layout None
// tile f32 (256,2):(1,256), shared by a workgroup

@group(0) @binding(0) var<storage, read> x: array<vec2<f32>>;  // (256,50):(1,256)
@group(0) @binding(1) var<storage, read> roots: array<vec2<f32>>;  // (256):(1)
@group(0) @binding(2) var<storage, read_write> y: array<vec2<f32>>;  // (256,50):(1,256)
var<workgroup> tile: array<f32, 512>;  // (256,2):(1,256)

@compute @workgroup_size(64)
fn fft(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) tid: u32) {
    let x_at = group.x * 256u + tid;
    let x_0 = x[x_at];
    let x_1 = x[x_at + 64u];
    let x_2 = x[x_at + 128u];
    let x_3 = x[x_at + 192u];
    workgroupBarrier();
    let value = x_0.x + x_2.x;
    let value_1 = x_1.x + x_3.x;
    let tid_times_4 = tid * 4u;
    tile[tid_times_4] = value + value_1;
    let value_2 = x_0.y + x_2.y;
    let value_3 = x_1.y + x_3.y;
    tile[tid_times_4 + 256u] = value_2 + value_3;
    let value_4 = x_0.x - x_2.x;
    let value_5 = x_1.y - x_3.y;
    tile[tid_times_4 + 1u] = value_4 + value_5;
    let value_6 = x_0.y - x_2.y;
    let value_7 = x_3.x - x_1.x;
    tile[tid_times_4 + 257u] = value_6 + value_7;
    tile[tid_times_4 + 2u] = value - value_1;
    tile[tid_times_4 + 258u] = value_2 - value_3;
    tile[tid_times_4 + 3u] = value_4 - value_5;
    tile[tid_times_4 + 259u] = value_6 - value_7;
    workgroupBarrier();
    let tile_1 = tile[tid];
    let tile_2 = tile[tid + 256u];
    let tile_3 = tile[tid + 64u];
    let tile_4 = tile[tid + 320u];
    let tile_5 = tile[tid + 128u];
    let tile_6 = tile[tid + 384u];
    let tile_7 = tile[tid + 192u];
    let tile_8 = tile[tid + 448u];
    let tid_mod_4 = tid % 4u;
    let roots_0 = roots[tid_mod_4 * 16u];
    let roots_1 = roots[tid_mod_4 * 32u];
    let roots_2 = roots[tid_mod_4 * 48u];
    workgroupBarrier();
    let value_8 = tile_5 * roots_1.x - tile_6 * roots_1.y;
    let value_9 = tile_1 + value_8;
    let value_10 = tile_3 * roots_0.x - tile_4 * roots_0.y;
    let value_11 = tile_7 * roots_2.x - tile_8 * roots_2.y;
    let value_12 = value_10 + value_11;
    let tile_at = (tid / 4u) * 16u + tid_mod_4;
    tile[tile_at] = value_9 + value_12;
    let value_13 = tile_5 * roots_1.y + tile_6 * roots_1.x;
    let value_14 = tile_2 + value_13;
    let value_15 = tile_3 * roots_0.y + tile_4 * roots_0.x;
    let value_16 = tile_7 * roots_2.y + tile_8 * roots_2.x;
    let value_17 = value_15 + value_16;
    tile[tile_at + 256u] = value_14 + value_17;
    let value_18 = tile_1 - value_8;
    let value_19 = value_15 - value_16;
    tile[tile_at + 4u] = value_18 + value_19;
    let value_20 = tile_2 - value_13;
    let value_21 = value_11 - value_10;
    tile[tile_at + 260u] = value_20 + value_21;
    tile[tile_at + 8u] = value_9 - value_12;
    tile[tile_at + 264u] = value_14 - value_17;
    tile[tile_at + 12u] = value_18 - value_19;
    tile[tile_at + 268u] = value_20 - value_21;
    workgroupBarrier();
    let tile_9 = tile[tid];
    let tile_10 = tile[tid + 256u];
    let tile_11 = tile[tid + 64u];
    let tile_12 = tile[tid + 320u];
    let tile_13 = tile[tid + 128u];
    let tile_14 = tile[tid + 384u];
    let tile_15 = tile[tid + 192u];
    let tile_16 = tile[tid + 448u];
    let tid_mod_16 = tid % 16u;
    let roots_3 = roots[tid_mod_16 * 4u];
    let roots_4 = roots[tid_mod_16 * 8u];
    let roots_5 = roots[tid_mod_16 * 12u];
    workgroupBarrier();
    let value_22 = tile_13 * roots_4.x - tile_14 * roots_4.y;
    let value_23 = tile_9 + value_22;
    let value_24 = tile_11 * roots_3.x - tile_12 * roots_3.y;
    let value_25 = tile_15 * roots_5.x - tile_16 * roots_5.y;
    let value_26 = value_24 + value_25;
    let tile_at_1 = (tid / 16u) * 64u + tid_mod_16;
    tile[tile_at_1] = value_23 + value_26;
    let value_27 = tile_13 * roots_4.y + tile_14 * roots_4.x;
    let value_28 = tile_10 + value_27;
    let value_29 = tile_11 * roots_3.y + tile_12 * roots_3.x;
    let value_30 = tile_15 * roots_5.y + tile_16 * roots_5.x;
    let value_31 = value_29 + value_30;
    tile[tile_at_1 + 256u] = value_28 + value_31;
    let value_32 = tile_9 - value_22;
    let value_33 = value_29 - value_30;
    tile[tile_at_1 + 16u] = value_32 + value_33;
    let value_34 = tile_10 - value_27;
    let value_35 = value_25 - value_24;
    tile[tile_at_1 + 272u] = value_34 + value_35;
    tile[tile_at_1 + 32u] = value_23 - value_26;
    tile[tile_at_1 + 288u] = value_28 - value_31;
    tile[tile_at_1 + 48u] = value_32 - value_33;
    tile[tile_at_1 + 304u] = value_34 - value_35;
    workgroupBarrier();
    let tile_17 = tile[tid];
    let tile_18 = tile[tid + 256u];
    let tile_19 = tile[tid + 64u];
    let tile_20 = tile[tid + 320u];
    let tile_21 = tile[tid + 128u];
    let tile_22 = tile[tid + 384u];
    let tile_23 = tile[tid + 192u];
    let tile_24 = tile[tid + 448u];
    let roots_6 = roots[tid];
    let roots_7 = roots[tid * 2u];
    let roots_8 = roots[tid * 3u];
    workgroupBarrier();
    let lanes = vec2<f32>(tile_21 * roots_7.x - tile_22 * roots_7.y, tile_21 * roots_7.y + tile_22 * roots_7.x);
    let tile_17_vec = vec2<f32>(tile_17, tile_18);
    let value_36 = tile_17_vec + lanes;
    let value_37 = tile_19 * roots_6.x - tile_20 * roots_6.y;
    let value_38 = tile_19 * roots_6.y + tile_20 * roots_6.x;
    let value_39 = tile_23 * roots_8.x - tile_24 * roots_8.y;
    let value_40 = tile_23 * roots_8.y + tile_24 * roots_8.x;
    let value_41 = vec2<f32>(value_37, value_38) + vec2<f32>(value_39, value_40);
    y[x_at] = value_36 + value_41;
    let value_42 = tile_17_vec - lanes;
    let value_43 = vec2<f32>(value_38, value_39) - vec2<f32>(value_40, value_37);
    y[x_at + 64u] = value_42 + value_43;
    y[x_at + 128u] = value_36 - value_41;
    y[x_at + 192u] = value_42 - value_43;
    workgroupBarrier();
}
