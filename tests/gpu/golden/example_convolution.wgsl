// convolve
// x f32 (12,30,20,2):(1,12,360,7200)
// filters f32 (40,(12,3,3)):(108,(1,12,36))
// result f32 ((30,20,2),40):((40,1200,24000),1)
// stride 1
// dilation 1
// padding 1
// sA f32 (32,8):(1,36), shared by a workgroup
// sB f32 (32,8):(1,36), shared by a workgroup

@group(0) @binding(0) var<storage, read> x: array<vec4<f32>>;  // (12,30,20,2):(1,12,360,7200)
@group(0) @binding(1) var<storage, read> filters: array<vec4<f32>>;  // (40,(12,3,3)):(108,(1,12,36))
@group(0) @binding(2) var<storage, read_write> result: array<vec4<f32>>;  // ((30,20,2),40):((40,1200,24000),1)
var<workgroup> sA: array<f32, 284>;  // (32,8):(1,36)
var<workgroup> sB: array<f32, 284>;  // (32,8):(1,36)

@compute @workgroup_size(64)
fn convolve(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) tid: u32) {
    var acc0 = vec4<f32>(0.0);
    var acc1 = vec4<f32>(0.0);
    var acc2 = vec4<f32>(0.0);
    var acc3 = vec4<f32>(0.0);
    let group_x_mod_4 = group.x % 4u;
    let tid_div_2 = tid / 2u;
    let tid_div_2_mod_8 = tid_div_2 % 8u;
    let index = group_x_mod_4 * 8u + tid_div_2_mod_8;
    let inside = index < 30u;
    let tid_mod_2 = tid % 2u;
    let group_x_div_4 = group.x / 4u;
    let tid_div_16 = tid / 16u;
    let index_1 = (group_x_div_4 % 5u) * 4u + tid_div_16;
    let x_at = group_x_div_4 * 1440u + tid_div_16 * 360u + group_x_mod_4 * 96u + tid_div_2_mod_8 * 12u + tid_mod_2 * 4u;
    let sA_at = tid_mod_2 * 144u + tid_div_2;
    let inside_1 = group.y * 32u + tid_div_2 < 40u;
    let filters_at = group.y * 864u + tid_div_2 * 27u + tid_mod_2;
    let tid_mod_8_times_4 = (tid % 8u) * 4u;
    let tid_div_8 = tid / 8u;
    let tid_div_8_times_4 = tid_div_8 * 4u;
    for (var k = 0u; k < 18u; k++) {
        var x_0 = vec4<f32>(0.0);
        let k_mod_2 = k % 2u;
        let k_mod_2_times_2 = k_mod_2 * 2u;
        let inside_2 = tid_mod_2 + k_mod_2_times_2 < 3u;
        let k_div_2 = k / 2u;
        let k_div_2_mod_3 = k_div_2 % 3u;
        let k_div_6 = k / 6u;
        if (inside && inside_2 && (index + k_div_2_mod_3 - 1u < 30u && index_1 + k_div_6 - 1u < 20u)) {
            x_0 = x[(x_at + k_div_6 * 360u + k_div_2_mod_3 * 12u + k_mod_2 * 8u - 372u) / 4u];
        }
        sA[sA_at] = x_0.x;
        sA[sA_at + 36u] = x_0.y;
        sA[sA_at + 72u] = x_0.z;
        sA[sA_at + 108u] = x_0.w;
        var filters_0 = vec4<f32>(0.0);
        if (inside_1 && inside_2) {
            filters_0 = filters[filters_at + k_div_2 * 3u + k_mod_2_times_2];
        }
        sB[sA_at] = filters_0.x;
        sB[sA_at + 36u] = filters_0.y;
        sB[sA_at + 72u] = filters_0.z;
        sB[sA_at + 108u] = filters_0.w;
        workgroupBarrier();
        for (var kk = 0u; kk < 8u; kk++) {
            let kk_times_36 = kk * 36u;
            let sA_at_1 = tid_mod_8_times_4 + kk_times_36;
            let sA_1 = vec4<f32>(sA[sA_at_1], sA[sA_at_1 + 1u], sA[sA_at_1 + 2u], sA[sA_at_1 + 3u]);
            let sB_at = tid_div_8_times_4 + kk_times_36;
            let sB_1 = vec4<f32>(sB[sB_at], sB[sB_at + 1u], sB[sB_at + 2u], sB[sB_at + 3u]);
            acc0 = fma(sA_1, vec4<f32>(sB_1.x), acc0);
            acc1 = fma(sA_1, vec4<f32>(sB_1.y), acc1);
            acc2 = fma(sA_1, vec4<f32>(sB_1.z), acc2);
            acc3 = fma(sA_1, vec4<f32>(sB_1.w), acc3);
        }
        workgroupBarrier();
    }
    let group_y_times_8 = group.y * 8u;
    let inside_3 = group_y_times_8 + tid_div_8 < 10u;
    let result_at = group_x_div_4 * 1200u + (tid_div_2 % 4u) * 300u + group_x_mod_4 * 80u + tid_mod_2 * 40u + group_y_times_8 + tid_div_8;
    if (inside_3) {
        result[result_at] = vec4<f32>(acc0.x, acc1.x, acc2.x, acc3.x);
        result[result_at + 10u] = vec4<f32>(acc0.y, acc1.y, acc2.y, acc3.y);
    }
    if (group_x_mod_4 * 2u + tid_mod_2 < 7u && inside_3) {
        result[result_at + 20u] = vec4<f32>(acc0.z, acc1.z, acc2.z, acc3.z);
        result[result_at + 30u] = vec4<f32>(acc0.w, acc1.w, acc2.w, acc3.w);
    }
}
