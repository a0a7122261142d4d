// matvec
// weights i4 (50,1056):(1056,1)
// scales f32 (50,33):(33,1)
// x f16 (1056):(1)
// y f32 (50):(1)
// plan None
// sums f32 (4,32):(1,4), shared by a workgroup

enable f16;

@group(0) @binding(0) var<storage, read> weights: array<vec4<u32>>;  // (50,1056):(1056,1)
@group(0) @binding(1) var<storage, read> scales: array<f32>;  // (50,33):(33,1)
@group(0) @binding(2) var<storage, read> x: array<vec4<f16>>;  // (1056):(1)
@group(0) @binding(3) var<storage, read_write> y: array<f32>;  // (50):(1)
var<workgroup> sums: array<f32, 128>;  // (4,32):(1,4)

@compute @workgroup_size(128)
fn matvec(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) tid: u32, @builtin(subgroup_size) subgroup_size: u32, @builtin(subgroup_invocation_id) lane: u32, @builtin(subgroup_id) subgroup: u32) {
    let inside = lane < 4u;
    let sums_at = subgroup * 4u + lane;
    for (var r = 0u; r < 4u; r += 4u) {
        if (inside) {
            sums[sums_at + r] = 0.0;
        }
    }
    let lane_mod_2 = lane % 2u;
    let weights_at = group.x * 132u + lane_mod_2 * 33u;
    let weights_at_1 = (lane + subgroup * subgroup_size) / 2u;
    let group_x_times_4 = group.x * 4u;
    let weights_at_2 = min(group_x_times_4 + lane_mod_2 + 2u, 49u) * 33u;
    let lane_mod_2_times_4 = lane_mod_2 * 4u;
    let inside_1 = lane_mod_2 == 1u;
    let inside_2 = (lane / 2u) % 2u == 1u;
    for (var k = 0u; k < 33u; k += 64u) {
        let weights_at_3 = weights_at_1 + k;
        let k_min = min(weights_at_3, 32u);
        let weights_at_4 = weights_at + k_min;
        let weights_0 = weights[weights_at_4];
        let scales_0 = scales[weights_at_4];
        let weights_at_5 = weights_at_2 + k_min;
        let weights_1 = weights[weights_at_5];
        let scales_1 = scales[weights_at_5];
        let x_at = lane_mod_2_times_4 + k_min * 8u;
        let x_0 = x[x_at];
        let x_1 = x[x_at + 1u];
        let x_2 = x[x_at + 2u];
        let x_3 = x[x_at + 3u];
        let values0 = vec4<f32>(x_0);
        let values1 = vec4<f32>(x_1);
        let values2 = vec4<f32>(x_2);
        let values3 = vec4<f32>(x_3);
        let values_1_max = max(max(max(max(max(max(max(max(max(max(max(max(max(max(max(max(7.888609e-31, abs(values0.x)), abs(values0.y)), abs(values0.z)), abs(values0.w)), abs(values1.x)), abs(values1.y)), abs(values1.z)), abs(values1.w)), abs(values2.x)), abs(values2.y)), abs(values2.z)), abs(values2.w)), abs(values3.x)), abs(values3.y)), abs(values3.z)), abs(values3.w));
        let lanes_0 = subgroupShuffleXor(values_1_max, 1u);
        let index = bitcast<u32>(max(values_1_max, lanes_0)) & 2139095040u;
        let value = bitcast<f32>(0u - index - 1996488704u);
        let index_1 = bitcast<u32>(fma(values0.x, value, 12615808.0));
        let index_2 = bitcast<u32>(fma(values0.z, value, 12615808.0));
        let index_3 = bitcast<u32>(fma(values1.x, value, 12615808.0));
        let index_4 = bitcast<u32>(fma(values1.z, value, 12615808.0));
        let index_5 = pack4xU8(vec4<u32>(index_1, index_2, index_3, index_4)) ^ 2155905152u;
        let lanes_1 = subgroupShuffleXor(index_5, 1u);
        let index_6 = bitcast<u32>(fma(values0.y, value, 12615808.0));
        let index_7 = bitcast<u32>(fma(values0.w, value, 12615808.0));
        let index_8 = bitcast<u32>(fma(values1.y, value, 12615808.0));
        let index_9 = bitcast<u32>(fma(values1.w, value, 12615808.0));
        let index_10 = pack4xU8(vec4<u32>(index_6, index_7, index_8, index_9)) ^ 2155905152u;
        let lanes_2 = subgroupShuffleXor(index_10, 1u);
        let index_11 = bitcast<u32>(fma(values2.x, value, 12615808.0));
        let index_12 = bitcast<u32>(fma(values2.z, value, 12615808.0));
        let index_13 = bitcast<u32>(fma(values3.x, value, 12615808.0));
        let index_14 = bitcast<u32>(fma(values3.z, value, 12615808.0));
        let index_15 = pack4xU8(vec4<u32>(index_11, index_12, index_13, index_14)) ^ 2155905152u;
        let lanes_3 = subgroupShuffleXor(index_15, 1u);
        let index_16 = bitcast<u32>(fma(values2.y, value, 12615808.0));
        let index_17 = bitcast<u32>(fma(values2.w, value, 12615808.0));
        let index_18 = bitcast<u32>(fma(values3.y, value, 12615808.0));
        let index_19 = bitcast<u32>(fma(values3.w, value, 12615808.0));
        let index_20 = pack4xU8(vec4<u32>(index_16, index_17, index_18, index_19)) ^ 2155905152u;
        let lanes_4 = subgroupShuffleXor(index_20, 1u);
        let index_21 = pack4xU8(vec4<u32>(index_1 >> 8u, index_2 >> 8u, index_3 >> 8u, index_4 >> 8u)) ^ 2155905152u;
        let lanes_5 = subgroupShuffleXor(index_21, 1u);
        let index_22 = pack4xU8(vec4<u32>(index_6 >> 8u, index_7 >> 8u, index_8 >> 8u, index_9 >> 8u)) ^ 2155905152u;
        let lanes_6 = subgroupShuffleXor(index_22, 1u);
        let index_23 = pack4xU8(vec4<u32>(index_11 >> 8u, index_12 >> 8u, index_13 >> 8u, index_14 >> 8u)) ^ 2155905152u;
        let lanes_7 = subgroupShuffleXor(index_23, 1u);
        let index_24 = pack4xU8(vec4<u32>(index_16 >> 8u, index_17 >> 8u, index_18 >> 8u, index_19 >> 8u)) ^ 2155905152u;
        let lanes_8 = subgroupShuffleXor(index_24, 1u);
        let index_25 = ((pack4xU8(vec4<u32>(index_1 >> 16u, index_2 >> 16u, index_3 >> 16u, index_4 >> 16u)) | 2155905152u) - 1077952576u) ^ 2155905152u;
        let lanes_9 = subgroupShuffleXor(index_25, 1u);
        let index_26 = ((pack4xU8(vec4<u32>(index_6 >> 16u, index_7 >> 16u, index_8 >> 16u, index_9 >> 16u)) | 2155905152u) - 1077952576u) ^ 2155905152u;
        let lanes_10 = subgroupShuffleXor(index_26, 1u);
        let index_27 = ((pack4xU8(vec4<u32>(index_11 >> 16u, index_12 >> 16u, index_13 >> 16u, index_14 >> 16u)) | 2155905152u) - 1077952576u) ^ 2155905152u;
        let lanes_11 = subgroupShuffleXor(index_27, 1u);
        let index_28 = ((pack4xU8(vec4<u32>(index_16 >> 16u, index_17 >> 16u, index_18 >> 16u, index_19 >> 16u)) | 2155905152u) - 1077952576u) ^ 2155905152u;
        let lanes_12 = subgroupShuffleXor(index_28, 1u);
        let value_1 = select(0.0, bitcast<f32>(index) * 5.9604645e-08, weights_at_3 < 33u);
        let index_29 = (weights_0.x << 4u) & 4042322160u;
        let index_30 = select(index_25, lanes_9, inside_1);
        let index_31 = weights_0.x & 4042322160u;
        let index_32 = select(index_26, lanes_10, inside_1);
        let index_33 = (weights_0.z << 4u) & 4042322160u;
        let index_34 = select(lanes_9, index_25, inside_1);
        let index_35 = weights_0.z & 4042322160u;
        let index_36 = select(lanes_10, index_26, inside_1);
        let index_37 = (weights_0.y << 4u) & 4042322160u;
        let index_38 = select(index_27, lanes_11, inside_1);
        let index_39 = weights_0.y & 4042322160u;
        let index_40 = select(index_28, lanes_12, inside_1);
        let index_41 = (weights_0.w << 4u) & 4042322160u;
        let index_42 = select(lanes_11, index_27, inside_1);
        let index_43 = weights_0.w & 4042322160u;
        let index_44 = select(lanes_12, index_28, inside_1);
        let index_45 = dot4I8Packed(index_29, index_30) + dot4I8Packed(index_31, index_32) + dot4I8Packed(index_33, index_34) + dot4I8Packed(index_35, index_36) + dot4I8Packed(index_37, index_38) + dot4I8Packed(index_39, index_40) + dot4I8Packed(index_41, index_42) + dot4I8Packed(index_43, index_44);
        let index_46 = select(index_21, lanes_5, inside_1);
        let index_47 = select(index_22, lanes_6, inside_1);
        let index_48 = select(lanes_5, index_21, inside_1);
        let index_49 = select(lanes_6, index_22, inside_1);
        let index_50 = select(index_23, lanes_7, inside_1);
        let index_51 = select(index_24, lanes_8, inside_1);
        let index_52 = select(lanes_7, index_23, inside_1);
        let index_53 = select(lanes_8, index_24, inside_1);
        let index_54 = dot4I8Packed(index_29, index_46) + dot4I8Packed(index_31, index_47) + dot4I8Packed(index_33, index_48) + dot4I8Packed(index_35, index_49) + dot4I8Packed(index_37, index_50) + dot4I8Packed(index_39, index_51) + dot4I8Packed(index_41, index_52) + dot4I8Packed(index_43, index_53);
        let index_55 = select(index_5, lanes_1, inside_1);
        let index_56 = select(index_10, lanes_2, inside_1);
        let index_57 = select(lanes_1, index_5, inside_1);
        let index_58 = select(lanes_2, index_10, inside_1);
        let index_59 = select(index_15, lanes_3, inside_1);
        let index_60 = select(index_20, lanes_4, inside_1);
        let index_61 = select(lanes_3, index_15, inside_1);
        let index_62 = select(lanes_4, index_20, inside_1);
        let index_63 = dot4I8Packed(index_29, index_55) + dot4I8Packed(index_31, index_56) + dot4I8Packed(index_33, index_57) + dot4I8Packed(index_35, index_58) + dot4I8Packed(index_37, index_59) + dot4I8Packed(index_39, index_60) + dot4I8Packed(index_41, index_61) + dot4I8Packed(index_43, index_62);
        let index_64 = (weights_1.x << 4u) & 4042322160u;
        let index_65 = weights_1.x & 4042322160u;
        let index_66 = (weights_1.z << 4u) & 4042322160u;
        let index_67 = weights_1.z & 4042322160u;
        let index_68 = (weights_1.y << 4u) & 4042322160u;
        let index_69 = weights_1.y & 4042322160u;
        let index_70 = (weights_1.w << 4u) & 4042322160u;
        let index_71 = weights_1.w & 4042322160u;
        let index_72 = dot4I8Packed(index_64, index_30) + dot4I8Packed(index_65, index_32) + dot4I8Packed(index_66, index_34) + dot4I8Packed(index_67, index_36) + dot4I8Packed(index_68, index_38) + dot4I8Packed(index_69, index_40) + dot4I8Packed(index_70, index_42) + dot4I8Packed(index_71, index_44);
        let index_73 = dot4I8Packed(index_64, index_46) + dot4I8Packed(index_65, index_47) + dot4I8Packed(index_66, index_48) + dot4I8Packed(index_67, index_49) + dot4I8Packed(index_68, index_50) + dot4I8Packed(index_69, index_51) + dot4I8Packed(index_70, index_52) + dot4I8Packed(index_71, index_53);
        let index_74 = dot4I8Packed(index_64, index_55) + dot4I8Packed(index_65, index_56) + dot4I8Packed(index_66, index_57) + dot4I8Packed(index_67, index_58) + dot4I8Packed(index_68, index_59) + dot4I8Packed(index_69, index_60) + dot4I8Packed(index_70, index_61) + dot4I8Packed(index_71, index_62);
        for (var r_1 = 0u; r_1 < 4u; r_1 += 4u) {
            let value_2 = fma(f32(index_45), 65536.0, fma(f32(index_54), 256.0, f32(index_63))) * (scales_0 * value_1);
            let value_3 = fma(f32(index_72), 65536.0, fma(f32(index_73), 256.0, f32(index_74))) * (scales_1 * value_1);
            let lanes_13 = subgroupShuffleXor(select(value_3, value_2, inside_2), 2u);
            let total = select(value_2, value_3, inside_2) + lanes_13;
            var total_1 = total;
            var step = 4u;
            while (step < subgroup_size) {
                let lanes_14 = subgroupShuffleXor(total_1, step);
                total_1 = total_1 + lanes_14;
                step = step * 2u;
            }
            let sums_at_1 = sums_at + r_1;
            if (inside) {
                let sums_1 = sums[sums_at_1];
                sums[sums_at_1] = sums_1 + total_1;
            }
        }
    }
    workgroupBarrier();
    let index_75 = group_x_times_4 + tid;
    if (tid < 4u && index_75 < 50u) {
        var total_3 = 0.0;
        for (var s = 0u; s < 127u / subgroup_size + 1u; s++) {
            let sums_2 = sums[tid + s * 4u];
            total_3 = total_3 + sums_2;
        }
        y[index_75] = total_3;
    }
}
