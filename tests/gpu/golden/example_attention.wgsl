// attention
// Q f32 (200,64,2):(64,1,12800)
// K f32 (200,64,2):(64,1,12800)
// V f32 (200,64,2):(64,1,12800)
// O f32 (200,64,2):(64,1,12800)
// causal True
// rows 128
// room f32 4096:1, shared by a workgroup
// sV f32 (32,64):(64,1), shared by a workgroup

@group(0) @binding(0) var<storage, read> Q: array<vec4<f32>>;  // (200,64,2):(64,1,12800)
@group(0) @binding(1) var<storage, read> K: array<vec4<f32>>;  // (200,64,2):(64,1,12800)
@group(0) @binding(2) var<storage, read> V: array<vec4<f32>>;  // (200,64,2):(64,1,12800)
@group(0) @binding(3) var<storage, read_write> O: array<vec4<f32>>;  // (200,64,2):(64,1,12800)
var<workgroup> room: array<vec4<f32>, 1024>;  // 4096:1
var<workgroup> sV: array<vec4<f32>, 512>;  // (32,64):(64,1)
var<workgroup> partial: array<f32, 1024>;  // what threads give one another

@compute @workgroup_size(128)
fn attention(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) tid: u32) {
    var infinity_bits = 2139095040u;
    var fragment0: vec4<f32>;
    var fragment1: vec4<f32>;
    var fragment2: vec4<f32>;
    var fragment3: vec4<f32>;
    var fragment4: vec4<f32>;
    var fragment5: vec4<f32>;
    var fragment6: vec4<f32>;
    var fragment7: vec4<f32>;
    var fragment8: vec4<f32>;
    var fragment9: vec4<f32>;
    var fragment10: vec4<f32>;
    var fragment11: vec4<f32>;
    var fragment12: vec4<f32>;
    var fragment13: vec4<f32>;
    var fragment14: vec4<f32>;
    var fragment15: vec4<f32>;
    var fragment_1_0 = vec4<f32>(0.0);
    var fragment_1_1 = vec4<f32>(0.0);
    var fragment_1_2 = vec4<f32>(0.0);
    var fragment_1_3 = vec4<f32>(0.0);
    var fragment_1_4 = vec4<f32>(0.0);
    var fragment_1_5 = vec4<f32>(0.0);
    var fragment_1_6 = vec4<f32>(0.0);
    var fragment_1_7 = vec4<f32>(0.0);
    var fragment_1_8 = vec4<f32>(0.0);
    var fragment_1_9 = vec4<f32>(0.0);
    var fragment_1_10 = vec4<f32>(0.0);
    var fragment_1_11 = vec4<f32>(0.0);
    var fragment_1_12 = vec4<f32>(0.0);
    var fragment_1_13 = vec4<f32>(0.0);
    var fragment_1_14 = vec4<f32>(0.0);
    var fragment_1_15 = vec4<f32>(0.0);
    let value = -bitcast<f32>(infinity_bits);
    var fragment_2_0 = vec4<f32>(value);
    var fragment_2_1 = vec4<f32>(value);
    var fragment_3_0 = vec4<f32>(0.0);
    var fragment_3_1 = vec4<f32>(0.0);
    let tid_div_8 = tid / 8u;
    let group_x_times_3200 = group.x * 3200u;
    let tid_div_8_times_16 = tid_div_8 * 16u;
    let tid_mod_8 = tid % 8u;
    let K_at = group_x_times_3200 + tid_div_8_times_16 + tid_mod_8;
    let tid_div_32 = tid / 32u;
    let room_at = tid_div_8_times_16 + (tid_mod_8 ^ tid_div_32);
    let room_at_1 = tid_div_8_times_16 + (tid_mod_8 ^ (tid_div_32 + 4u));
    let Q_at = group_x_times_3200 + tid_div_8 * 64u;
    let group_y_times_2048 = group.y * 2048u;
    let inside = tid_div_8 - group.y * 32u + 48u < 50u;
    let tid_mod_8_times_64 = tid_mod_8 * 64u;
    let group_y_times_128 = group.y * 128u;
    let index = 128u - group_y_times_128;
    let tid_mod_8_times_4 = tid_mod_8 * 4u;
    let index_1 = tid_div_8 * 4u - group_y_times_128;
    let tid_div_8_times_32 = tid_div_8 * 32u;
    let partial_at = tid_div_8_times_32 + tid_mod_8;
    let tid_div_8_mod_8 = tid_div_8 % 8u;
    let room_at_2 = tid_div_8_times_32 + (tid_mod_8 ^ tid_div_8_mod_8);
    let sV_at = tid_div_8_times_16 + tid_mod_8;
    for (var j = 0u; j < 4u - group.y * 2u; j++) {
        var K_0 = vec4<f32>(0.0);
        let j_times_64 = j * 64u;
        let index_2 = tid_div_8 + j_times_64;
        let inside_1 = index_2 < 200u;
        let K_at_1 = K_at + j * 1024u;
        if (inside_1) {
            K_0 = K[K_at_1];
        }
        var K_1 = vec4<f32>(0.0);
        let inside_2 = index_2 + 16u < 200u;
        if (inside_2) {
            K_1 = K[K_at_1 + 256u];
        }
        var K_2 = vec4<f32>(0.0);
        let inside_3 = index_2 + 32u < 200u;
        if (inside_3) {
            K_2 = K[K_at_1 + 512u];
        }
        var K_3 = vec4<f32>(0.0);
        let inside_4 = index_2 + 48u < 200u;
        if (inside_4) {
            K_3 = K[K_at_1 + 768u];
        }
        var K_4 = vec4<f32>(0.0);
        if (inside_1) {
            K_4 = K[K_at_1 + 8u];
        }
        var K_5 = vec4<f32>(0.0);
        if (inside_2) {
            K_5 = K[K_at_1 + 264u];
        }
        var K_6 = vec4<f32>(0.0);
        if (inside_3) {
            K_6 = K[K_at_1 + 520u];
        }
        var K_7 = vec4<f32>(0.0);
        if (inside_4) {
            K_7 = K[K_at_1 + 776u];
        }
        room[room_at] = K_0;
        room[room_at_1 + 256u] = K_1;
        room[room_at + 512u] = K_2;
        room[room_at_1 + 768u] = K_3;
        room[room_at + 8u] = K_4;
        room[room_at_1 + 264u] = K_5;
        room[room_at + 520u] = K_6;
        room[room_at_1 + 776u] = K_7;
        workgroupBarrier();
        fragment0 = vec4<f32>(0.0);
        fragment1 = vec4<f32>(0.0);
        fragment2 = vec4<f32>(0.0);
        fragment3 = vec4<f32>(0.0);
        fragment4 = vec4<f32>(0.0);
        fragment5 = vec4<f32>(0.0);
        fragment6 = vec4<f32>(0.0);
        fragment7 = vec4<f32>(0.0);
        fragment8 = vec4<f32>(0.0);
        fragment9 = vec4<f32>(0.0);
        fragment10 = vec4<f32>(0.0);
        fragment11 = vec4<f32>(0.0);
        fragment12 = vec4<f32>(0.0);
        fragment13 = vec4<f32>(0.0);
        fragment14 = vec4<f32>(0.0);
        fragment15 = vec4<f32>(0.0);
        for (var kk = 0u; kk < 16u; kk++) {
            let Q_at_1 = Q_at + kk - group_y_times_2048;
            let Q_0 = Q[Q_at_1 + 2048u];
            let Q_1 = Q[Q_at_1 + 2064u];
            let Q_2 = Q[Q_at_1 + 2080u];
            let Q_3 = Q[Q_at_1 + 2096u];
            var Q_4 = vec4<f32>(0.0);
            var Q_5 = vec4<f32>(0.0);
            var Q_6 = vec4<f32>(0.0);
            var Q_7 = vec4<f32>(0.0);
            if (inside) {
                Q_4 = Q[Q_at_1 + 3072u];
                Q_5 = Q[Q_at_1 + 3088u];
                Q_6 = Q[Q_at_1 + 3104u];
                Q_7 = Q[Q_at_1 + 3120u];
            }
            let room_at_3 = tid_mod_8_times_64 + (kk ^ tid_mod_8);
            let room_1 = room[room_at_3];
            let room_2 = room[room_at_3 + 16u];
            let room_3 = room[room_at_3 + 32u];
            let room_4 = room[room_at_3 + 48u];
            let room_5 = room[room_at_3 + 512u];
            let room_6 = room[room_at_3 + 528u];
            let room_7 = room[room_at_3 + 544u];
            let room_8 = room[room_at_3 + 560u];
            let room_1_vec = vec4<f32>(room_1.w, room_2.w, room_3.w, room_4.w);
            let room_1_vec_1 = vec4<f32>(room_1.z, room_2.z, room_3.z, room_4.z);
            let room_1_vec_2 = vec4<f32>(room_1.y, room_2.y, room_3.y, room_4.y);
            let room_1_vec_3 = vec4<f32>(room_1.x, room_2.x, room_3.x, room_4.x);
            fragment0 = fma(vec4<f32>(Q_0.w), room_1_vec, fma(vec4<f32>(Q_0.z), room_1_vec_1, fma(vec4<f32>(Q_0.y), room_1_vec_2, fma(vec4<f32>(Q_0.x), room_1_vec_3, fragment0))));
            let room_5_vec = vec4<f32>(room_5.w, room_6.w, room_7.w, room_8.w);
            let room_5_vec_1 = vec4<f32>(room_5.z, room_6.z, room_7.z, room_8.z);
            let room_5_vec_2 = vec4<f32>(room_5.y, room_6.y, room_7.y, room_8.y);
            let room_5_vec_3 = vec4<f32>(room_5.x, room_6.x, room_7.x, room_8.x);
            fragment1 = fma(vec4<f32>(Q_0.w), room_5_vec, fma(vec4<f32>(Q_0.z), room_5_vec_1, fma(vec4<f32>(Q_0.y), room_5_vec_2, fma(vec4<f32>(Q_0.x), room_5_vec_3, fragment1))));
            fragment2 = fma(vec4<f32>(Q_1.w), room_1_vec, fma(vec4<f32>(Q_1.z), room_1_vec_1, fma(vec4<f32>(Q_1.y), room_1_vec_2, fma(vec4<f32>(Q_1.x), room_1_vec_3, fragment2))));
            fragment3 = fma(vec4<f32>(Q_1.w), room_5_vec, fma(vec4<f32>(Q_1.z), room_5_vec_1, fma(vec4<f32>(Q_1.y), room_5_vec_2, fma(vec4<f32>(Q_1.x), room_5_vec_3, fragment3))));
            fragment4 = fma(vec4<f32>(Q_2.w), room_1_vec, fma(vec4<f32>(Q_2.z), room_1_vec_1, fma(vec4<f32>(Q_2.y), room_1_vec_2, fma(vec4<f32>(Q_2.x), room_1_vec_3, fragment4))));
            fragment5 = fma(vec4<f32>(Q_2.w), room_5_vec, fma(vec4<f32>(Q_2.z), room_5_vec_1, fma(vec4<f32>(Q_2.y), room_5_vec_2, fma(vec4<f32>(Q_2.x), room_5_vec_3, fragment5))));
            fragment6 = fma(vec4<f32>(Q_3.w), room_1_vec, fma(vec4<f32>(Q_3.z), room_1_vec_1, fma(vec4<f32>(Q_3.y), room_1_vec_2, fma(vec4<f32>(Q_3.x), room_1_vec_3, fragment6))));
            fragment7 = fma(vec4<f32>(Q_3.w), room_5_vec, fma(vec4<f32>(Q_3.z), room_5_vec_1, fma(vec4<f32>(Q_3.y), room_5_vec_2, fma(vec4<f32>(Q_3.x), room_5_vec_3, fragment7))));
            fragment8 = fma(vec4<f32>(Q_4.w), room_1_vec, fma(vec4<f32>(Q_4.z), room_1_vec_1, fma(vec4<f32>(Q_4.y), room_1_vec_2, fma(vec4<f32>(Q_4.x), room_1_vec_3, fragment8))));
            fragment9 = fma(vec4<f32>(Q_4.w), room_5_vec, fma(vec4<f32>(Q_4.z), room_5_vec_1, fma(vec4<f32>(Q_4.y), room_5_vec_2, fma(vec4<f32>(Q_4.x), room_5_vec_3, fragment9))));
            fragment10 = fma(vec4<f32>(Q_5.w), room_1_vec, fma(vec4<f32>(Q_5.z), room_1_vec_1, fma(vec4<f32>(Q_5.y), room_1_vec_2, fma(vec4<f32>(Q_5.x), room_1_vec_3, fragment10))));
            fragment11 = fma(vec4<f32>(Q_5.w), room_5_vec, fma(vec4<f32>(Q_5.z), room_5_vec_1, fma(vec4<f32>(Q_5.y), room_5_vec_2, fma(vec4<f32>(Q_5.x), room_5_vec_3, fragment11))));
            fragment12 = fma(vec4<f32>(Q_6.w), room_1_vec, fma(vec4<f32>(Q_6.z), room_1_vec_1, fma(vec4<f32>(Q_6.y), room_1_vec_2, fma(vec4<f32>(Q_6.x), room_1_vec_3, fragment12))));
            fragment13 = fma(vec4<f32>(Q_6.w), room_5_vec, fma(vec4<f32>(Q_6.z), room_5_vec_1, fma(vec4<f32>(Q_6.y), room_5_vec_2, fma(vec4<f32>(Q_6.x), room_5_vec_3, fragment13))));
            fragment14 = fma(vec4<f32>(Q_7.w), room_1_vec, fma(vec4<f32>(Q_7.z), room_1_vec_1, fma(vec4<f32>(Q_7.y), room_1_vec_2, fma(vec4<f32>(Q_7.x), room_1_vec_3, fragment14))));
            fragment15 = fma(vec4<f32>(Q_7.w), room_5_vec, fma(vec4<f32>(Q_7.z), room_5_vec_1, fma(vec4<f32>(Q_7.y), room_5_vec_2, fma(vec4<f32>(Q_7.x), room_5_vec_3, fragment15))));
        }
        workgroupBarrier();
        let index_3 = tid_mod_8_times_4 + j_times_64;
        if (j_times_64 + 64u > index) {
            fragment0 = vec4<f32>(select(value, fragment0.x, index_3 < index_1 + 129u), select(value, fragment0.y, index_3 + 1u < index_1 + 129u), select(value, fragment0.z, index_3 + 2u < index_1 + 129u), select(value, fragment0.w, index_3 + 3u < index_1 + 129u));
            fragment1 = vec4<f32>(select(value, fragment1.x, index_3 + 32u < index_1 + 129u), select(value, fragment1.y, index_3 + 33u < index_1 + 129u), select(value, fragment1.z, index_3 + 34u < index_1 + 129u), select(value, fragment1.w, index_3 + 35u < index_1 + 129u));
            fragment2 = vec4<f32>(select(value, fragment2.x, index_3 < index_1 + 130u), select(value, fragment2.y, index_3 + 1u < index_1 + 130u), select(value, fragment2.z, index_3 + 2u < index_1 + 130u), select(value, fragment2.w, index_3 + 3u < index_1 + 130u));
            fragment3 = vec4<f32>(select(value, fragment3.x, index_3 + 32u < index_1 + 130u), select(value, fragment3.y, index_3 + 33u < index_1 + 130u), select(value, fragment3.z, index_3 + 34u < index_1 + 130u), select(value, fragment3.w, index_3 + 35u < index_1 + 130u));
            fragment4 = vec4<f32>(select(value, fragment4.x, index_3 < index_1 + 131u), select(value, fragment4.y, index_3 + 1u < index_1 + 131u), select(value, fragment4.z, index_3 + 2u < index_1 + 131u), select(value, fragment4.w, index_3 + 3u < index_1 + 131u));
            fragment5 = vec4<f32>(select(value, fragment5.x, index_3 + 32u < index_1 + 131u), select(value, fragment5.y, index_3 + 33u < index_1 + 131u), select(value, fragment5.z, index_3 + 34u < index_1 + 131u), select(value, fragment5.w, index_3 + 35u < index_1 + 131u));
            fragment6 = vec4<f32>(select(value, fragment6.x, index_3 < index_1 + 132u), select(value, fragment6.y, index_3 + 1u < index_1 + 132u), select(value, fragment6.z, index_3 + 2u < index_1 + 132u), select(value, fragment6.w, index_3 + 3u < index_1 + 132u));
            fragment7 = vec4<f32>(select(value, fragment7.x, index_3 + 32u < index_1 + 132u), select(value, fragment7.y, index_3 + 33u < index_1 + 132u), select(value, fragment7.z, index_3 + 34u < index_1 + 132u), select(value, fragment7.w, index_3 + 35u < index_1 + 132u));
            fragment8 = vec4<f32>(select(value, fragment8.x, index_3 < index_1 + 193u), select(value, fragment8.y, index_3 + 1u < index_1 + 193u), select(value, fragment8.z, index_3 + 2u < index_1 + 193u), select(value, fragment8.w, index_3 + 3u < index_1 + 193u));
            fragment9 = vec4<f32>(select(value, fragment9.x, index_3 + 32u < index_1 + 193u), select(value, fragment9.y, index_3 + 33u < index_1 + 193u), select(value, fragment9.z, index_3 + 34u < index_1 + 193u), select(value, fragment9.w, index_3 + 35u < index_1 + 193u));
            fragment10 = vec4<f32>(select(value, fragment10.x, index_3 < index_1 + 194u), select(value, fragment10.y, index_3 + 1u < index_1 + 194u), select(value, fragment10.z, index_3 + 2u < index_1 + 194u), select(value, fragment10.w, index_3 + 3u < index_1 + 194u));
            fragment11 = vec4<f32>(select(value, fragment11.x, index_3 + 32u < index_1 + 194u), select(value, fragment11.y, index_3 + 33u < index_1 + 194u), select(value, fragment11.z, index_3 + 34u < index_1 + 194u), select(value, fragment11.w, index_3 + 35u < index_1 + 194u));
            fragment12 = vec4<f32>(select(value, fragment12.x, index_3 < index_1 + 195u), select(value, fragment12.y, index_3 + 1u < index_1 + 195u), select(value, fragment12.z, index_3 + 2u < index_1 + 195u), select(value, fragment12.w, index_3 + 3u < index_1 + 195u));
            fragment13 = vec4<f32>(select(value, fragment13.x, index_3 + 32u < index_1 + 195u), select(value, fragment13.y, index_3 + 33u < index_1 + 195u), select(value, fragment13.z, index_3 + 34u < index_1 + 195u), select(value, fragment13.w, index_3 + 35u < index_1 + 195u));
            fragment14 = vec4<f32>(select(value, fragment14.x, index_3 < index_1 + 196u), select(value, fragment14.y, index_3 + 1u < index_1 + 196u), select(value, fragment14.z, index_3 + 2u < index_1 + 196u), select(value, fragment14.w, index_3 + 3u < index_1 + 196u));
            fragment15 = vec4<f32>(select(value, fragment15.x, index_3 + 32u < index_1 + 196u), select(value, fragment15.y, index_3 + 33u < index_1 + 196u), select(value, fragment15.z, index_3 + 34u < index_1 + 196u), select(value, fragment15.w, index_3 + 35u < index_1 + 196u));
        }
        workgroupBarrier();
        partial[partial_at] = max(max(max(fragment0.x, fragment0.y), max(fragment0.z, fragment0.w)), max(max(fragment1.x, fragment1.y), max(fragment1.z, fragment1.w)));
        partial[partial_at + 8u] = max(max(max(fragment2.x, fragment2.y), max(fragment2.z, fragment2.w)), max(max(fragment3.x, fragment3.y), max(fragment3.z, fragment3.w)));
        partial[partial_at + 16u] = max(max(max(fragment4.x, fragment4.y), max(fragment4.z, fragment4.w)), max(max(fragment5.x, fragment5.y), max(fragment5.z, fragment5.w)));
        partial[partial_at + 24u] = max(max(max(fragment6.x, fragment6.y), max(fragment6.z, fragment6.w)), max(max(fragment7.x, fragment7.y), max(fragment7.z, fragment7.w)));
        partial[partial_at + 512u] = max(max(max(fragment8.x, fragment8.y), max(fragment8.z, fragment8.w)), max(max(fragment9.x, fragment9.y), max(fragment9.z, fragment9.w)));
        partial[partial_at + 520u] = max(max(max(fragment10.x, fragment10.y), max(fragment10.z, fragment10.w)), max(max(fragment11.x, fragment11.y), max(fragment11.z, fragment11.w)));
        partial[partial_at + 528u] = max(max(max(fragment12.x, fragment12.y), max(fragment12.z, fragment12.w)), max(max(fragment13.x, fragment13.y), max(fragment13.z, fragment13.w)));
        partial[partial_at + 536u] = max(max(max(fragment14.x, fragment14.y), max(fragment14.z, fragment14.w)), max(max(fragment15.x, fragment15.y), max(fragment15.z, fragment15.w)));
        workgroupBarrier();
        let partial_1 = partial[tid_div_8_times_32];
        let partial_2 = partial[tid_div_8_times_32 + 1u];
        let partial_3 = partial[tid_div_8_times_32 + 2u];
        let partial_4 = partial[tid_div_8_times_32 + 3u];
        let partial_5 = partial[tid_div_8_times_32 + 4u];
        let partial_6 = partial[tid_div_8_times_32 + 5u];
        let partial_7 = partial[tid_div_8_times_32 + 6u];
        let partial_8 = partial[tid_div_8_times_32 + 7u];
        let partial_9 = partial[tid_div_8_times_32 + 8u];
        let partial_10 = partial[tid_div_8_times_32 + 9u];
        let partial_11 = partial[tid_div_8_times_32 + 10u];
        let partial_12 = partial[tid_div_8_times_32 + 11u];
        let partial_13 = partial[tid_div_8_times_32 + 12u];
        let partial_14 = partial[tid_div_8_times_32 + 13u];
        let partial_15 = partial[tid_div_8_times_32 + 14u];
        let partial_16 = partial[tid_div_8_times_32 + 15u];
        let partial_17 = partial[tid_div_8_times_32 + 16u];
        let partial_18 = partial[tid_div_8_times_32 + 17u];
        let partial_19 = partial[tid_div_8_times_32 + 18u];
        let partial_20 = partial[tid_div_8_times_32 + 19u];
        let partial_21 = partial[tid_div_8_times_32 + 20u];
        let partial_22 = partial[tid_div_8_times_32 + 21u];
        let partial_23 = partial[tid_div_8_times_32 + 22u];
        let partial_24 = partial[tid_div_8_times_32 + 23u];
        let partial_25 = partial[tid_div_8_times_32 + 24u];
        let partial_26 = partial[tid_div_8_times_32 + 25u];
        let partial_27 = partial[tid_div_8_times_32 + 26u];
        let partial_28 = partial[tid_div_8_times_32 + 27u];
        let partial_29 = partial[tid_div_8_times_32 + 28u];
        let partial_30 = partial[tid_div_8_times_32 + 29u];
        let partial_31 = partial[tid_div_8_times_32 + 30u];
        let partial_32 = partial[tid_div_8_times_32 + 31u];
        let partial_33 = partial[tid_div_8_times_32 + 512u];
        let partial_34 = partial[tid_div_8_times_32 + 513u];
        let partial_35 = partial[tid_div_8_times_32 + 514u];
        let partial_36 = partial[tid_div_8_times_32 + 515u];
        let partial_37 = partial[tid_div_8_times_32 + 516u];
        let partial_38 = partial[tid_div_8_times_32 + 517u];
        let partial_39 = partial[tid_div_8_times_32 + 518u];
        let partial_40 = partial[tid_div_8_times_32 + 519u];
        let partial_41 = partial[tid_div_8_times_32 + 520u];
        let partial_42 = partial[tid_div_8_times_32 + 521u];
        let partial_43 = partial[tid_div_8_times_32 + 522u];
        let partial_44 = partial[tid_div_8_times_32 + 523u];
        let partial_45 = partial[tid_div_8_times_32 + 524u];
        let partial_46 = partial[tid_div_8_times_32 + 525u];
        let partial_47 = partial[tid_div_8_times_32 + 526u];
        let partial_48 = partial[tid_div_8_times_32 + 527u];
        let partial_49 = partial[tid_div_8_times_32 + 528u];
        let partial_50 = partial[tid_div_8_times_32 + 529u];
        let partial_51 = partial[tid_div_8_times_32 + 530u];
        let partial_52 = partial[tid_div_8_times_32 + 531u];
        let partial_53 = partial[tid_div_8_times_32 + 532u];
        let partial_54 = partial[tid_div_8_times_32 + 533u];
        let partial_55 = partial[tid_div_8_times_32 + 534u];
        let partial_56 = partial[tid_div_8_times_32 + 535u];
        let partial_57 = partial[tid_div_8_times_32 + 536u];
        let partial_58 = partial[tid_div_8_times_32 + 537u];
        let partial_59 = partial[tid_div_8_times_32 + 538u];
        let partial_60 = partial[tid_div_8_times_32 + 539u];
        let partial_61 = partial[tid_div_8_times_32 + 540u];
        let partial_62 = partial[tid_div_8_times_32 + 541u];
        let partial_63 = partial[tid_div_8_times_32 + 542u];
        let partial_64 = partial[tid_div_8_times_32 + 543u];
        let best0 = max(max(max(partial_1, partial_2), max(partial_3, partial_4)), max(max(partial_5, partial_6), max(partial_7, partial_8)));
        let best1 = max(max(max(partial_9, partial_10), max(partial_11, partial_12)), max(max(partial_13, partial_14), max(partial_15, partial_16)));
        let best2 = max(max(max(partial_17, partial_18), max(partial_19, partial_20)), max(max(partial_21, partial_22), max(partial_23, partial_24)));
        let best3 = max(max(max(partial_25, partial_26), max(partial_27, partial_28)), max(max(partial_29, partial_30), max(partial_31, partial_32)));
        let best4 = max(max(max(partial_33, partial_34), max(partial_35, partial_36)), max(max(partial_37, partial_38), max(partial_39, partial_40)));
        let best5 = max(max(max(partial_41, partial_42), max(partial_43, partial_44)), max(max(partial_45, partial_46), max(partial_47, partial_48)));
        let best6 = max(max(max(partial_49, partial_50), max(partial_51, partial_52)), max(max(partial_53, partial_54), max(partial_55, partial_56)));
        let best7 = max(max(max(partial_57, partial_58), max(partial_59, partial_60)), max(max(partial_61, partial_62), max(partial_63, partial_64)));
        let fragment_2_0_max = max(fragment_2_0.x, best0 * 0.18033688);
        fragment0 = exp2(fragment0 * vec4<f32>(0.18033688) - vec4<f32>(fragment_2_0_max));
        fragment1 = exp2(fragment1 * vec4<f32>(0.18033688) - vec4<f32>(fragment_2_0_max));
        let value_1 = exp2(fragment_2_0.x - fragment_2_0_max);
        fragment_1_0 = fragment_1_0 * vec4<f32>(value_1);
        fragment_1_1 = fragment_1_1 * vec4<f32>(value_1);
        fragment_2_0.x = fragment_2_0_max;
        fragment_3_0.x = fragment_3_0.x * value_1 + fragment0.x + fragment0.y + fragment0.z + fragment0.w + fragment1.x + fragment1.y + fragment1.z + fragment1.w;
        let fragment_2_2_max = max(fragment_2_0.y, best1 * 0.18033688);
        fragment2 = exp2(fragment2 * vec4<f32>(0.18033688) - vec4<f32>(fragment_2_2_max));
        fragment3 = exp2(fragment3 * vec4<f32>(0.18033688) - vec4<f32>(fragment_2_2_max));
        let value_2 = exp2(fragment_2_0.y - fragment_2_2_max);
        fragment_1_2 = fragment_1_2 * vec4<f32>(value_2);
        fragment_1_3 = fragment_1_3 * vec4<f32>(value_2);
        fragment_2_0.y = fragment_2_2_max;
        fragment_3_0.y = fragment_3_0.y * value_2 + fragment2.x + fragment2.y + fragment2.z + fragment2.w + fragment3.x + fragment3.y + fragment3.z + fragment3.w;
        let fragment_2_4_max = max(fragment_2_0.z, best2 * 0.18033688);
        fragment4 = exp2(fragment4 * vec4<f32>(0.18033688) - vec4<f32>(fragment_2_4_max));
        fragment5 = exp2(fragment5 * vec4<f32>(0.18033688) - vec4<f32>(fragment_2_4_max));
        let value_3 = exp2(fragment_2_0.z - fragment_2_4_max);
        fragment_1_4 = fragment_1_4 * vec4<f32>(value_3);
        fragment_1_5 = fragment_1_5 * vec4<f32>(value_3);
        fragment_2_0.z = fragment_2_4_max;
        fragment_3_0.z = fragment_3_0.z * value_3 + fragment4.x + fragment4.y + fragment4.z + fragment4.w + fragment5.x + fragment5.y + fragment5.z + fragment5.w;
        let fragment_2_6_max = max(fragment_2_0.w, best3 * 0.18033688);
        fragment6 = exp2(fragment6 * vec4<f32>(0.18033688) - vec4<f32>(fragment_2_6_max));
        fragment7 = exp2(fragment7 * vec4<f32>(0.18033688) - vec4<f32>(fragment_2_6_max));
        let value_4 = exp2(fragment_2_0.w - fragment_2_6_max);
        fragment_1_6 = fragment_1_6 * vec4<f32>(value_4);
        fragment_1_7 = fragment_1_7 * vec4<f32>(value_4);
        fragment_2_0.w = fragment_2_6_max;
        fragment_3_0.w = fragment_3_0.w * value_4 + fragment6.x + fragment6.y + fragment6.z + fragment6.w + fragment7.x + fragment7.y + fragment7.z + fragment7.w;
        let fragment_2_8_max = max(fragment_2_1.x, best4 * 0.18033688);
        fragment8 = exp2(fragment8 * vec4<f32>(0.18033688) - vec4<f32>(fragment_2_8_max));
        fragment9 = exp2(fragment9 * vec4<f32>(0.18033688) - vec4<f32>(fragment_2_8_max));
        let value_5 = exp2(fragment_2_1.x - fragment_2_8_max);
        fragment_1_8 = fragment_1_8 * vec4<f32>(value_5);
        fragment_1_9 = fragment_1_9 * vec4<f32>(value_5);
        fragment_2_1.x = fragment_2_8_max;
        fragment_3_1.x = fragment_3_1.x * value_5 + fragment8.x + fragment8.y + fragment8.z + fragment8.w + fragment9.x + fragment9.y + fragment9.z + fragment9.w;
        let fragment_2_10_max = max(fragment_2_1.y, best5 * 0.18033688);
        fragment10 = exp2(fragment10 * vec4<f32>(0.18033688) - vec4<f32>(fragment_2_10_max));
        fragment11 = exp2(fragment11 * vec4<f32>(0.18033688) - vec4<f32>(fragment_2_10_max));
        let value_6 = exp2(fragment_2_1.y - fragment_2_10_max);
        fragment_1_10 = fragment_1_10 * vec4<f32>(value_6);
        fragment_1_11 = fragment_1_11 * vec4<f32>(value_6);
        fragment_2_1.y = fragment_2_10_max;
        fragment_3_1.y = fragment_3_1.y * value_6 + fragment10.x + fragment10.y + fragment10.z + fragment10.w + fragment11.x + fragment11.y + fragment11.z + fragment11.w;
        let fragment_2_12_max = max(fragment_2_1.z, best6 * 0.18033688);
        fragment12 = exp2(fragment12 * vec4<f32>(0.18033688) - vec4<f32>(fragment_2_12_max));
        fragment13 = exp2(fragment13 * vec4<f32>(0.18033688) - vec4<f32>(fragment_2_12_max));
        let value_7 = exp2(fragment_2_1.z - fragment_2_12_max);
        fragment_1_12 = fragment_1_12 * vec4<f32>(value_7);
        fragment_1_13 = fragment_1_13 * vec4<f32>(value_7);
        fragment_2_1.z = fragment_2_12_max;
        fragment_3_1.z = fragment_3_1.z * value_7 + fragment12.x + fragment12.y + fragment12.z + fragment12.w + fragment13.x + fragment13.y + fragment13.z + fragment13.w;
        let fragment_2_14_max = max(fragment_2_1.w, best7 * 0.18033688);
        fragment14 = exp2(fragment14 * vec4<f32>(0.18033688) - vec4<f32>(fragment_2_14_max));
        fragment15 = exp2(fragment15 * vec4<f32>(0.18033688) - vec4<f32>(fragment_2_14_max));
        let value_8 = exp2(fragment_2_1.w - fragment_2_14_max);
        fragment_1_14 = fragment_1_14 * vec4<f32>(value_8);
        fragment_1_15 = fragment_1_15 * vec4<f32>(value_8);
        fragment_2_1.w = fragment_2_14_max;
        fragment_3_1.w = fragment_3_1.w * value_8 + fragment14.x + fragment14.y + fragment14.z + fragment14.w + fragment15.x + fragment15.y + fragment15.z + fragment15.w;
        room[room_at_2] = fragment0;
        room[room_at_2 + 8u] = fragment2;
        room[room_at_2 + 16u] = fragment4;
        room[room_at_2 + 24u] = fragment6;
        room[room_at_2 + 512u] = fragment8;
        room[room_at_2 + 520u] = fragment10;
        room[room_at_2 + 528u] = fragment12;
        room[room_at_2 + 536u] = fragment14;
        var V_0 = vec4<f32>(0.0);
        if (inside_1) {
            V_0 = V[K_at_1];
        }
        var V_1 = vec4<f32>(0.0);
        if (inside_2) {
            V_1 = V[K_at_1 + 256u];
        }
        var V_2 = vec4<f32>(0.0);
        if (inside_1) {
            V_2 = V[K_at_1 + 8u];
        }
        var V_3 = vec4<f32>(0.0);
        if (inside_2) {
            V_3 = V[K_at_1 + 264u];
        }
        sV[sV_at] = V_0;
        sV[sV_at + 256u] = V_1;
        sV[sV_at + 8u] = V_2;
        sV[sV_at + 264u] = V_3;
        workgroupBarrier();
        for (var kk_1 = 0u; kk_1 < 8u; kk_1++) {
            let room_at_4 = tid_div_8_times_32 + (kk_1 ^ tid_div_8_mod_8);
            let room_9 = room[room_at_4];
            let room_10 = room[room_at_4 + 8u];
            let room_11 = room[room_at_4 + 16u];
            let room_12 = room[room_at_4 + 24u];
            let room_13 = room[room_at_4 + 512u];
            let room_14 = room[room_at_4 + 520u];
            let room_15 = room[room_at_4 + 528u];
            let room_16 = room[room_at_4 + 536u];
            let sV_at_1 = tid_mod_8 + kk_1 * 64u;
            let sV_1 = sV[sV_at_1];
            let sV_2 = sV[sV_at_1 + 16u];
            let sV_3 = sV[sV_at_1 + 32u];
            let sV_4 = sV[sV_at_1 + 48u];
            let sV_5 = sV[sV_at_1 + 8u];
            let sV_6 = sV[sV_at_1 + 24u];
            let sV_7 = sV[sV_at_1 + 40u];
            let sV_8 = sV[sV_at_1 + 56u];
            fragment_1_0 = fma(vec4<f32>(room_9.w), sV_4, fma(vec4<f32>(room_9.z), sV_3, fma(vec4<f32>(room_9.y), sV_2, fma(vec4<f32>(room_9.x), sV_1, fragment_1_0))));
            fragment_1_1 = fma(vec4<f32>(room_9.w), sV_8, fma(vec4<f32>(room_9.z), sV_7, fma(vec4<f32>(room_9.y), sV_6, fma(vec4<f32>(room_9.x), sV_5, fragment_1_1))));
            fragment_1_2 = fma(vec4<f32>(room_10.w), sV_4, fma(vec4<f32>(room_10.z), sV_3, fma(vec4<f32>(room_10.y), sV_2, fma(vec4<f32>(room_10.x), sV_1, fragment_1_2))));
            fragment_1_3 = fma(vec4<f32>(room_10.w), sV_8, fma(vec4<f32>(room_10.z), sV_7, fma(vec4<f32>(room_10.y), sV_6, fma(vec4<f32>(room_10.x), sV_5, fragment_1_3))));
            fragment_1_4 = fma(vec4<f32>(room_11.w), sV_4, fma(vec4<f32>(room_11.z), sV_3, fma(vec4<f32>(room_11.y), sV_2, fma(vec4<f32>(room_11.x), sV_1, fragment_1_4))));
            fragment_1_5 = fma(vec4<f32>(room_11.w), sV_8, fma(vec4<f32>(room_11.z), sV_7, fma(vec4<f32>(room_11.y), sV_6, fma(vec4<f32>(room_11.x), sV_5, fragment_1_5))));
            fragment_1_6 = fma(vec4<f32>(room_12.w), sV_4, fma(vec4<f32>(room_12.z), sV_3, fma(vec4<f32>(room_12.y), sV_2, fma(vec4<f32>(room_12.x), sV_1, fragment_1_6))));
            fragment_1_7 = fma(vec4<f32>(room_12.w), sV_8, fma(vec4<f32>(room_12.z), sV_7, fma(vec4<f32>(room_12.y), sV_6, fma(vec4<f32>(room_12.x), sV_5, fragment_1_7))));
            fragment_1_8 = fma(vec4<f32>(room_13.w), sV_4, fma(vec4<f32>(room_13.z), sV_3, fma(vec4<f32>(room_13.y), sV_2, fma(vec4<f32>(room_13.x), sV_1, fragment_1_8))));
            fragment_1_9 = fma(vec4<f32>(room_13.w), sV_8, fma(vec4<f32>(room_13.z), sV_7, fma(vec4<f32>(room_13.y), sV_6, fma(vec4<f32>(room_13.x), sV_5, fragment_1_9))));
            fragment_1_10 = fma(vec4<f32>(room_14.w), sV_4, fma(vec4<f32>(room_14.z), sV_3, fma(vec4<f32>(room_14.y), sV_2, fma(vec4<f32>(room_14.x), sV_1, fragment_1_10))));
            fragment_1_11 = fma(vec4<f32>(room_14.w), sV_8, fma(vec4<f32>(room_14.z), sV_7, fma(vec4<f32>(room_14.y), sV_6, fma(vec4<f32>(room_14.x), sV_5, fragment_1_11))));
            fragment_1_12 = fma(vec4<f32>(room_15.w), sV_4, fma(vec4<f32>(room_15.z), sV_3, fma(vec4<f32>(room_15.y), sV_2, fma(vec4<f32>(room_15.x), sV_1, fragment_1_12))));
            fragment_1_13 = fma(vec4<f32>(room_15.w), sV_8, fma(vec4<f32>(room_15.z), sV_7, fma(vec4<f32>(room_15.y), sV_6, fma(vec4<f32>(room_15.x), sV_5, fragment_1_13))));
            fragment_1_14 = fma(vec4<f32>(room_16.w), sV_4, fma(vec4<f32>(room_16.z), sV_3, fma(vec4<f32>(room_16.y), sV_2, fma(vec4<f32>(room_16.x), sV_1, fragment_1_14))));
            fragment_1_15 = fma(vec4<f32>(room_16.w), sV_8, fma(vec4<f32>(room_16.z), sV_7, fma(vec4<f32>(room_16.y), sV_6, fma(vec4<f32>(room_16.x), sV_5, fragment_1_15))));
        }
        workgroupBarrier();
        room[room_at_2] = fragment1;
        room[room_at_2 + 8u] = fragment3;
        room[room_at_2 + 16u] = fragment5;
        room[room_at_2 + 24u] = fragment7;
        room[room_at_2 + 512u] = fragment9;
        room[room_at_2 + 520u] = fragment11;
        room[room_at_2 + 528u] = fragment13;
        room[room_at_2 + 536u] = fragment15;
        var V_4 = vec4<f32>(0.0);
        if (inside_3) {
            V_4 = V[K_at_1 + 512u];
        }
        var V_5 = vec4<f32>(0.0);
        if (inside_4) {
            V_5 = V[K_at_1 + 768u];
        }
        var V_6 = vec4<f32>(0.0);
        if (inside_3) {
            V_6 = V[K_at_1 + 520u];
        }
        var V_7 = vec4<f32>(0.0);
        if (inside_4) {
            V_7 = V[K_at_1 + 776u];
        }
        sV[sV_at] = V_4;
        sV[sV_at + 256u] = V_5;
        sV[sV_at + 8u] = V_6;
        sV[sV_at + 264u] = V_7;
        workgroupBarrier();
        for (var kk_2 = 0u; kk_2 < 8u; kk_2++) {
            let room_at_5 = tid_div_8_times_32 + (kk_2 ^ tid_div_8_mod_8);
            let room_17 = room[room_at_5];
            let room_18 = room[room_at_5 + 8u];
            let room_19 = room[room_at_5 + 16u];
            let room_20 = room[room_at_5 + 24u];
            let room_21 = room[room_at_5 + 512u];
            let room_22 = room[room_at_5 + 520u];
            let room_23 = room[room_at_5 + 528u];
            let room_24 = room[room_at_5 + 536u];
            let sV_at_2 = tid_mod_8 + kk_2 * 64u;
            let sV_9 = sV[sV_at_2];
            let sV_10 = sV[sV_at_2 + 16u];
            let sV_11 = sV[sV_at_2 + 32u];
            let sV_12 = sV[sV_at_2 + 48u];
            let sV_13 = sV[sV_at_2 + 8u];
            let sV_14 = sV[sV_at_2 + 24u];
            let sV_15 = sV[sV_at_2 + 40u];
            let sV_16 = sV[sV_at_2 + 56u];
            fragment_1_0 = fma(vec4<f32>(room_17.w), sV_12, fma(vec4<f32>(room_17.z), sV_11, fma(vec4<f32>(room_17.y), sV_10, fma(vec4<f32>(room_17.x), sV_9, fragment_1_0))));
            fragment_1_1 = fma(vec4<f32>(room_17.w), sV_16, fma(vec4<f32>(room_17.z), sV_15, fma(vec4<f32>(room_17.y), sV_14, fma(vec4<f32>(room_17.x), sV_13, fragment_1_1))));
            fragment_1_2 = fma(vec4<f32>(room_18.w), sV_12, fma(vec4<f32>(room_18.z), sV_11, fma(vec4<f32>(room_18.y), sV_10, fma(vec4<f32>(room_18.x), sV_9, fragment_1_2))));
            fragment_1_3 = fma(vec4<f32>(room_18.w), sV_16, fma(vec4<f32>(room_18.z), sV_15, fma(vec4<f32>(room_18.y), sV_14, fma(vec4<f32>(room_18.x), sV_13, fragment_1_3))));
            fragment_1_4 = fma(vec4<f32>(room_19.w), sV_12, fma(vec4<f32>(room_19.z), sV_11, fma(vec4<f32>(room_19.y), sV_10, fma(vec4<f32>(room_19.x), sV_9, fragment_1_4))));
            fragment_1_5 = fma(vec4<f32>(room_19.w), sV_16, fma(vec4<f32>(room_19.z), sV_15, fma(vec4<f32>(room_19.y), sV_14, fma(vec4<f32>(room_19.x), sV_13, fragment_1_5))));
            fragment_1_6 = fma(vec4<f32>(room_20.w), sV_12, fma(vec4<f32>(room_20.z), sV_11, fma(vec4<f32>(room_20.y), sV_10, fma(vec4<f32>(room_20.x), sV_9, fragment_1_6))));
            fragment_1_7 = fma(vec4<f32>(room_20.w), sV_16, fma(vec4<f32>(room_20.z), sV_15, fma(vec4<f32>(room_20.y), sV_14, fma(vec4<f32>(room_20.x), sV_13, fragment_1_7))));
            fragment_1_8 = fma(vec4<f32>(room_21.w), sV_12, fma(vec4<f32>(room_21.z), sV_11, fma(vec4<f32>(room_21.y), sV_10, fma(vec4<f32>(room_21.x), sV_9, fragment_1_8))));
            fragment_1_9 = fma(vec4<f32>(room_21.w), sV_16, fma(vec4<f32>(room_21.z), sV_15, fma(vec4<f32>(room_21.y), sV_14, fma(vec4<f32>(room_21.x), sV_13, fragment_1_9))));
            fragment_1_10 = fma(vec4<f32>(room_22.w), sV_12, fma(vec4<f32>(room_22.z), sV_11, fma(vec4<f32>(room_22.y), sV_10, fma(vec4<f32>(room_22.x), sV_9, fragment_1_10))));
            fragment_1_11 = fma(vec4<f32>(room_22.w), sV_16, fma(vec4<f32>(room_22.z), sV_15, fma(vec4<f32>(room_22.y), sV_14, fma(vec4<f32>(room_22.x), sV_13, fragment_1_11))));
            fragment_1_12 = fma(vec4<f32>(room_23.w), sV_12, fma(vec4<f32>(room_23.z), sV_11, fma(vec4<f32>(room_23.y), sV_10, fma(vec4<f32>(room_23.x), sV_9, fragment_1_12))));
            fragment_1_13 = fma(vec4<f32>(room_23.w), sV_16, fma(vec4<f32>(room_23.z), sV_15, fma(vec4<f32>(room_23.y), sV_14, fma(vec4<f32>(room_23.x), sV_13, fragment_1_13))));
            fragment_1_14 = fma(vec4<f32>(room_24.w), sV_12, fma(vec4<f32>(room_24.z), sV_11, fma(vec4<f32>(room_24.y), sV_10, fma(vec4<f32>(room_24.x), sV_9, fragment_1_14))));
            fragment_1_15 = fma(vec4<f32>(room_24.w), sV_16, fma(vec4<f32>(room_24.z), sV_15, fma(vec4<f32>(room_24.y), sV_14, fma(vec4<f32>(room_24.x), sV_13, fragment_1_15))));
        }
        workgroupBarrier();
    }
    let value_9 = fragment_3_0.x / 8.0;
    fragment0 = vec4<f32>(value_9);
    fragment1 = vec4<f32>(value_9);
    let value_10 = fragment_3_0.y / 8.0;
    fragment2 = vec4<f32>(value_10);
    fragment3 = vec4<f32>(value_10);
    let value_11 = fragment_3_0.z / 8.0;
    fragment4 = vec4<f32>(value_11);
    fragment5 = vec4<f32>(value_11);
    let value_12 = fragment_3_0.w / 8.0;
    fragment6 = vec4<f32>(value_12);
    fragment7 = vec4<f32>(value_12);
    let value_13 = fragment_3_1.x / 8.0;
    fragment8 = vec4<f32>(value_13);
    fragment9 = vec4<f32>(value_13);
    let value_14 = fragment_3_1.y / 8.0;
    fragment10 = vec4<f32>(value_14);
    fragment11 = vec4<f32>(value_14);
    let value_15 = fragment_3_1.z / 8.0;
    fragment12 = vec4<f32>(value_15);
    fragment13 = vec4<f32>(value_15);
    let value_16 = fragment_3_1.w / 8.0;
    fragment14 = vec4<f32>(value_16);
    fragment15 = vec4<f32>(value_16);
    workgroupBarrier();
    partial[partial_at] = fragment0.x + fragment0.y + (fragment0.z + fragment0.w) + (fragment1.x + fragment1.y + (fragment1.z + fragment1.w));
    partial[partial_at + 8u] = fragment2.x + fragment2.y + (fragment2.z + fragment2.w) + (fragment3.x + fragment3.y + (fragment3.z + fragment3.w));
    partial[partial_at + 16u] = fragment4.x + fragment4.y + (fragment4.z + fragment4.w) + (fragment5.x + fragment5.y + (fragment5.z + fragment5.w));
    partial[partial_at + 24u] = fragment6.x + fragment6.y + (fragment6.z + fragment6.w) + (fragment7.x + fragment7.y + (fragment7.z + fragment7.w));
    partial[partial_at + 512u] = fragment8.x + fragment8.y + (fragment8.z + fragment8.w) + (fragment9.x + fragment9.y + (fragment9.z + fragment9.w));
    partial[partial_at + 520u] = fragment10.x + fragment10.y + (fragment10.z + fragment10.w) + (fragment11.x + fragment11.y + (fragment11.z + fragment11.w));
    partial[partial_at + 528u] = fragment12.x + fragment12.y + (fragment12.z + fragment12.w) + (fragment13.x + fragment13.y + (fragment13.z + fragment13.w));
    partial[partial_at + 536u] = fragment14.x + fragment14.y + (fragment14.z + fragment14.w) + (fragment15.x + fragment15.y + (fragment15.z + fragment15.w));
    workgroupBarrier();
    let partial_65 = partial[tid_div_8_times_32];
    let partial_66 = partial[tid_div_8_times_32 + 1u];
    let partial_67 = partial[tid_div_8_times_32 + 2u];
    let partial_68 = partial[tid_div_8_times_32 + 3u];
    let partial_69 = partial[tid_div_8_times_32 + 4u];
    let partial_70 = partial[tid_div_8_times_32 + 5u];
    let partial_71 = partial[tid_div_8_times_32 + 6u];
    let partial_72 = partial[tid_div_8_times_32 + 7u];
    let partial_73 = partial[tid_div_8_times_32 + 8u];
    let partial_74 = partial[tid_div_8_times_32 + 9u];
    let partial_75 = partial[tid_div_8_times_32 + 10u];
    let partial_76 = partial[tid_div_8_times_32 + 11u];
    let partial_77 = partial[tid_div_8_times_32 + 12u];
    let partial_78 = partial[tid_div_8_times_32 + 13u];
    let partial_79 = partial[tid_div_8_times_32 + 14u];
    let partial_80 = partial[tid_div_8_times_32 + 15u];
    let partial_81 = partial[tid_div_8_times_32 + 16u];
    let partial_82 = partial[tid_div_8_times_32 + 17u];
    let partial_83 = partial[tid_div_8_times_32 + 18u];
    let partial_84 = partial[tid_div_8_times_32 + 19u];
    let partial_85 = partial[tid_div_8_times_32 + 20u];
    let partial_86 = partial[tid_div_8_times_32 + 21u];
    let partial_87 = partial[tid_div_8_times_32 + 22u];
    let partial_88 = partial[tid_div_8_times_32 + 23u];
    let partial_89 = partial[tid_div_8_times_32 + 24u];
    let partial_90 = partial[tid_div_8_times_32 + 25u];
    let partial_91 = partial[tid_div_8_times_32 + 26u];
    let partial_92 = partial[tid_div_8_times_32 + 27u];
    let partial_93 = partial[tid_div_8_times_32 + 28u];
    let partial_94 = partial[tid_div_8_times_32 + 29u];
    let partial_95 = partial[tid_div_8_times_32 + 30u];
    let partial_96 = partial[tid_div_8_times_32 + 31u];
    let partial_97 = partial[tid_div_8_times_32 + 512u];
    let partial_98 = partial[tid_div_8_times_32 + 513u];
    let partial_99 = partial[tid_div_8_times_32 + 514u];
    let partial_100 = partial[tid_div_8_times_32 + 515u];
    let partial_101 = partial[tid_div_8_times_32 + 516u];
    let partial_102 = partial[tid_div_8_times_32 + 517u];
    let partial_103 = partial[tid_div_8_times_32 + 518u];
    let partial_104 = partial[tid_div_8_times_32 + 519u];
    let partial_105 = partial[tid_div_8_times_32 + 520u];
    let partial_106 = partial[tid_div_8_times_32 + 521u];
    let partial_107 = partial[tid_div_8_times_32 + 522u];
    let partial_108 = partial[tid_div_8_times_32 + 523u];
    let partial_109 = partial[tid_div_8_times_32 + 524u];
    let partial_110 = partial[tid_div_8_times_32 + 525u];
    let partial_111 = partial[tid_div_8_times_32 + 526u];
    let partial_112 = partial[tid_div_8_times_32 + 527u];
    let partial_113 = partial[tid_div_8_times_32 + 528u];
    let partial_114 = partial[tid_div_8_times_32 + 529u];
    let partial_115 = partial[tid_div_8_times_32 + 530u];
    let partial_116 = partial[tid_div_8_times_32 + 531u];
    let partial_117 = partial[tid_div_8_times_32 + 532u];
    let partial_118 = partial[tid_div_8_times_32 + 533u];
    let partial_119 = partial[tid_div_8_times_32 + 534u];
    let partial_120 = partial[tid_div_8_times_32 + 535u];
    let partial_121 = partial[tid_div_8_times_32 + 536u];
    let partial_122 = partial[tid_div_8_times_32 + 537u];
    let partial_123 = partial[tid_div_8_times_32 + 538u];
    let partial_124 = partial[tid_div_8_times_32 + 539u];
    let partial_125 = partial[tid_div_8_times_32 + 540u];
    let partial_126 = partial[tid_div_8_times_32 + 541u];
    let partial_127 = partial[tid_div_8_times_32 + 542u];
    let partial_128 = partial[tid_div_8_times_32 + 543u];
    let sums0 = partial_65 + partial_66 + (partial_67 + partial_68) + (partial_69 + partial_70 + (partial_71 + partial_72));
    let sums1 = partial_73 + partial_74 + (partial_75 + partial_76) + (partial_77 + partial_78 + (partial_79 + partial_80));
    let sums2 = partial_81 + partial_82 + (partial_83 + partial_84) + (partial_85 + partial_86 + (partial_87 + partial_88));
    let sums3 = partial_89 + partial_90 + (partial_91 + partial_92) + (partial_93 + partial_94 + (partial_95 + partial_96));
    let sums4 = partial_97 + partial_98 + (partial_99 + partial_100) + (partial_101 + partial_102 + (partial_103 + partial_104));
    let sums5 = partial_105 + partial_106 + (partial_107 + partial_108) + (partial_109 + partial_110 + (partial_111 + partial_112));
    let sums6 = partial_113 + partial_114 + (partial_115 + partial_116) + (partial_117 + partial_118 + (partial_119 + partial_120));
    let sums7 = partial_121 + partial_122 + (partial_123 + partial_124) + (partial_125 + partial_126 + (partial_127 + partial_128));
    fragment_1_0 = fragment_1_0 / vec4<f32>(sums0);
    fragment_1_1 = fragment_1_1 / vec4<f32>(sums0);
    fragment_1_2 = fragment_1_2 / vec4<f32>(sums1);
    fragment_1_3 = fragment_1_3 / vec4<f32>(sums1);
    fragment_1_4 = fragment_1_4 / vec4<f32>(sums2);
    fragment_1_5 = fragment_1_5 / vec4<f32>(sums2);
    fragment_1_6 = fragment_1_6 / vec4<f32>(sums3);
    fragment_1_7 = fragment_1_7 / vec4<f32>(sums3);
    fragment_1_8 = fragment_1_8 / vec4<f32>(sums4);
    fragment_1_9 = fragment_1_9 / vec4<f32>(sums4);
    fragment_1_10 = fragment_1_10 / vec4<f32>(sums5);
    fragment_1_11 = fragment_1_11 / vec4<f32>(sums5);
    fragment_1_12 = fragment_1_12 / vec4<f32>(sums6);
    fragment_1_13 = fragment_1_13 / vec4<f32>(sums6);
    fragment_1_14 = fragment_1_14 / vec4<f32>(sums7);
    fragment_1_15 = fragment_1_15 / vec4<f32>(sums7);
    let O_at = Q_at + tid_mod_8 - group_y_times_2048;
    O[O_at + 2048u] = fragment_1_0;
    O[O_at + 2056u] = fragment_1_1;
    O[O_at + 2064u] = fragment_1_2;
    O[O_at + 2072u] = fragment_1_3;
    O[O_at + 2080u] = fragment_1_4;
    O[O_at + 2088u] = fragment_1_5;
    O[O_at + 2096u] = fragment_1_6;
    O[O_at + 2104u] = fragment_1_7;
    if (inside) {
        O[O_at + 3072u] = fragment_1_8;
        O[O_at + 3080u] = fragment_1_9;
        O[O_at + 3088u] = fragment_1_10;
        O[O_at + 3096u] = fragment_1_11;
        O[O_at + 3104u] = fragment_1_12;
        O[O_at + 3112u] = fragment_1_13;
        O[O_at + 3120u] = fragment_1_14;
        O[O_at + 3128u] = fragment_1_15;
    }
}
