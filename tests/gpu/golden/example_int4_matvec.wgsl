// matvec
// weights i4 (50,1056):(1056,1)
// scales f32 (50,33):(33,1)
// x f16 (1056):(1)
// y f32 (50):(1)
// plan None
// sums f32 (4,16):(1,4), shared by a workgroup

enable f16;

@group(0) @binding(0) var<storage, read> weights: array<vec4<u32>>;  // (50,1056):(1056,1)
@group(0) @binding(1) var<storage, read> scales: array<f32>;  // (50,33):(33,1)
@group(0) @binding(2) var<storage, read> x: array<vec4<f16>>;  // (1056):(1)
@group(0) @binding(3) var<storage, read_write> y: array<f32>;  // (50):(1)
var<workgroup> sums: array<f32, 64>;  // (4,16):(1,4)

@compute @workgroup_size(64)
fn matvec(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) tid: u32, @builtin(subgroup_size) subgroup_size: u32, @builtin(subgroup_invocation_id) lane: u32, @builtin(subgroup_id) subgroup: u32) {
    let inside = lane < 4u;
    let sums_at = subgroup * 4u + lane;
    for (var r = 0u; r < 4u; r += 4u) {
        if (inside) {
            sums[sums_at + r] = 0.0;
        }
    }
    let group_x_times_132 = group.x * 132u;
    let group_x_times_4 = group.x * 4u;
    let weights_at = min(group_x_times_4 + 2u, 49u) * 33u;
    let weights_at_1 = min(group_x_times_4 + 3u, 49u) * 33u;
    let inside_1 = lane % 2u == 1u;
    let inside_2 = (lane / 2u) % 2u == 1u;
    for (var k = 0u; k < 33u; k += 64u) {
        let weights_at_2 = tid + k;
        let k_min = min(weights_at_2, 32u);
        let weights_at_3 = group_x_times_132 + k_min;
        let weights_0 = weights[weights_at_3];
        let scales_0 = scales[weights_at_3];
        let weights_1 = weights[weights_at_3 + 33u];
        let scales_1 = scales[weights_at_3 + 33u];
        let weights_at_4 = weights_at + k_min;
        let weights_2 = weights[weights_at_4];
        let scales_2 = scales[weights_at_4];
        let weights_at_5 = weights_at_1 + k_min;
        let weights_3 = weights[weights_at_5];
        let scales_3 = scales[weights_at_5];
        let k_min_times_8 = k_min * 8u;
        let x_0 = x[k_min_times_8];
        let x_1 = x[k_min_times_8 + 1u];
        let x_2 = x[k_min_times_8 + 2u];
        let x_3 = x[k_min_times_8 + 3u];
        let x_4 = x[k_min_times_8 + 4u];
        let x_5 = x[k_min_times_8 + 5u];
        let x_6 = x[k_min_times_8 + 6u];
        let x_7 = x[k_min_times_8 + 7u];
        let values0 = vec4<f32>(x_0);
        let values1 = vec4<f32>(x_1);
        let values2 = vec4<f32>(x_2);
        let values3 = vec4<f32>(x_3);
        let values4 = vec4<f32>(x_4);
        let values5 = vec4<f32>(x_5);
        let values6 = vec4<f32>(x_6);
        let values7 = vec4<f32>(x_7);
        let index = bitcast<u32>(max(max(max(max(max(max(max(max(max(max(max(max(max(max(max(max(max(max(max(max(max(max(max(max(max(max(max(max(max(max(max(max(7.888609e-31, abs(values0.x)), abs(values0.y)), abs(values0.z)), abs(values0.w)), abs(values1.x)), abs(values1.y)), abs(values1.z)), abs(values1.w)), abs(values2.x)), abs(values2.y)), abs(values2.z)), abs(values2.w)), abs(values3.x)), abs(values3.y)), abs(values3.z)), abs(values3.w)), abs(values4.x)), abs(values4.y)), abs(values4.z)), abs(values4.w)), abs(values5.x)), abs(values5.y)), abs(values5.z)), abs(values5.w)), abs(values6.x)), abs(values6.y)), abs(values6.z)), abs(values6.w)), abs(values7.x)), abs(values7.y)), abs(values7.z)), abs(values7.w))) & 2139095040u;
        let value = bitcast<f32>(0u - index - 1996488704u);
        let value_1 = select(0.0, bitcast<f32>(index) * 5.9604645e-08, weights_at_2 < 33u);
        let index_1 = (weights_0.x << 4u) & 4042322160u;
        let index_2 = bitcast<u32>(fma(values0.x, value, 12615808.0));
        let index_3 = bitcast<u32>(fma(values0.z, value, 12615808.0));
        let index_4 = bitcast<u32>(fma(values1.x, value, 12615808.0));
        let index_5 = bitcast<u32>(fma(values1.z, value, 12615808.0));
        let index_6 = pack4xU8(vec4<u32>(index_2 >> 8u, index_3 >> 8u, index_4 >> 8u, index_5 >> 8u)) ^ 2155905152u;
        let index_7 = weights_0.x & 4042322160u;
        let index_8 = bitcast<u32>(fma(values0.y, value, 12615808.0));
        let index_9 = bitcast<u32>(fma(values0.w, value, 12615808.0));
        let index_10 = bitcast<u32>(fma(values1.y, value, 12615808.0));
        let index_11 = bitcast<u32>(fma(values1.w, value, 12615808.0));
        let index_12 = pack4xU8(vec4<u32>(index_8 >> 8u, index_9 >> 8u, index_10 >> 8u, index_11 >> 8u)) ^ 2155905152u;
        let index_13 = pack4xU8(vec4<u32>(index_2, index_3, index_4, index_5)) ^ 2155905152u;
        let index_14 = pack4xU8(vec4<u32>(index_8, index_9, index_10, index_11)) ^ 2155905152u;
        let index_15 = (weights_0.y << 4u) & 4042322160u;
        let index_16 = bitcast<u32>(fma(values2.x, value, 12615808.0));
        let index_17 = bitcast<u32>(fma(values2.z, value, 12615808.0));
        let index_18 = bitcast<u32>(fma(values3.x, value, 12615808.0));
        let index_19 = bitcast<u32>(fma(values3.z, value, 12615808.0));
        let index_20 = pack4xU8(vec4<u32>(index_16 >> 8u, index_17 >> 8u, index_18 >> 8u, index_19 >> 8u)) ^ 2155905152u;
        let index_21 = weights_0.y & 4042322160u;
        let index_22 = bitcast<u32>(fma(values2.y, value, 12615808.0));
        let index_23 = bitcast<u32>(fma(values2.w, value, 12615808.0));
        let index_24 = bitcast<u32>(fma(values3.y, value, 12615808.0));
        let index_25 = bitcast<u32>(fma(values3.w, value, 12615808.0));
        let index_26 = pack4xU8(vec4<u32>(index_22 >> 8u, index_23 >> 8u, index_24 >> 8u, index_25 >> 8u)) ^ 2155905152u;
        let index_27 = pack4xU8(vec4<u32>(index_16, index_17, index_18, index_19)) ^ 2155905152u;
        let index_28 = pack4xU8(vec4<u32>(index_22, index_23, index_24, index_25)) ^ 2155905152u;
        let index_29 = (weights_0.z << 4u) & 4042322160u;
        let index_30 = bitcast<u32>(fma(values4.x, value, 12615808.0));
        let index_31 = bitcast<u32>(fma(values4.z, value, 12615808.0));
        let index_32 = bitcast<u32>(fma(values5.x, value, 12615808.0));
        let index_33 = bitcast<u32>(fma(values5.z, value, 12615808.0));
        let index_34 = pack4xU8(vec4<u32>(index_30 >> 8u, index_31 >> 8u, index_32 >> 8u, index_33 >> 8u)) ^ 2155905152u;
        let index_35 = weights_0.z & 4042322160u;
        let index_36 = bitcast<u32>(fma(values4.y, value, 12615808.0));
        let index_37 = bitcast<u32>(fma(values4.w, value, 12615808.0));
        let index_38 = bitcast<u32>(fma(values5.y, value, 12615808.0));
        let index_39 = bitcast<u32>(fma(values5.w, value, 12615808.0));
        let index_40 = pack4xU8(vec4<u32>(index_36 >> 8u, index_37 >> 8u, index_38 >> 8u, index_39 >> 8u)) ^ 2155905152u;
        let index_41 = pack4xU8(vec4<u32>(index_30, index_31, index_32, index_33)) ^ 2155905152u;
        let index_42 = pack4xU8(vec4<u32>(index_36, index_37, index_38, index_39)) ^ 2155905152u;
        let index_43 = (weights_0.w << 4u) & 4042322160u;
        let index_44 = bitcast<u32>(fma(values6.x, value, 12615808.0));
        let index_45 = bitcast<u32>(fma(values6.z, value, 12615808.0));
        let index_46 = bitcast<u32>(fma(values7.x, value, 12615808.0));
        let index_47 = bitcast<u32>(fma(values7.z, value, 12615808.0));
        let index_48 = pack4xU8(vec4<u32>(index_44 >> 8u, index_45 >> 8u, index_46 >> 8u, index_47 >> 8u)) ^ 2155905152u;
        let index_49 = weights_0.w & 4042322160u;
        let index_50 = bitcast<u32>(fma(values6.y, value, 12615808.0));
        let index_51 = bitcast<u32>(fma(values6.w, value, 12615808.0));
        let index_52 = bitcast<u32>(fma(values7.y, value, 12615808.0));
        let index_53 = bitcast<u32>(fma(values7.w, value, 12615808.0));
        let index_54 = pack4xU8(vec4<u32>(index_50 >> 8u, index_51 >> 8u, index_52 >> 8u, index_53 >> 8u)) ^ 2155905152u;
        let index_55 = pack4xU8(vec4<u32>(index_44, index_45, index_46, index_47)) ^ 2155905152u;
        let index_56 = pack4xU8(vec4<u32>(index_50, index_51, index_52, index_53)) ^ 2155905152u;
        let index_57 = dot4I8Packed(index_1, index_6) * 256i + dot4I8Packed(index_7, index_12) * 256i + dot4I8Packed(index_1, index_13) + dot4I8Packed(index_7, index_14) + dot4I8Packed(index_15, index_20) * 256i + dot4I8Packed(index_21, index_26) * 256i + dot4I8Packed(index_15, index_27) + dot4I8Packed(index_21, index_28) + dot4I8Packed(index_29, index_34) * 256i + dot4I8Packed(index_35, index_40) * 256i + dot4I8Packed(index_29, index_41) + dot4I8Packed(index_35, index_42) + dot4I8Packed(index_43, index_48) * 256i + dot4I8Packed(index_49, index_54) * 256i + dot4I8Packed(index_43, index_55) + dot4I8Packed(index_49, index_56);
        let index_58 = ((pack4xU8(vec4<u32>(index_2 >> 16u, index_3 >> 16u, index_4 >> 16u, index_5 >> 16u)) | 2155905152u) - 1077952576u) ^ 2155905152u;
        let index_59 = ((pack4xU8(vec4<u32>(index_8 >> 16u, index_9 >> 16u, index_10 >> 16u, index_11 >> 16u)) | 2155905152u) - 1077952576u) ^ 2155905152u;
        let index_60 = ((pack4xU8(vec4<u32>(index_16 >> 16u, index_17 >> 16u, index_18 >> 16u, index_19 >> 16u)) | 2155905152u) - 1077952576u) ^ 2155905152u;
        let index_61 = ((pack4xU8(vec4<u32>(index_22 >> 16u, index_23 >> 16u, index_24 >> 16u, index_25 >> 16u)) | 2155905152u) - 1077952576u) ^ 2155905152u;
        let index_62 = ((pack4xU8(vec4<u32>(index_30 >> 16u, index_31 >> 16u, index_32 >> 16u, index_33 >> 16u)) | 2155905152u) - 1077952576u) ^ 2155905152u;
        let index_63 = ((pack4xU8(vec4<u32>(index_36 >> 16u, index_37 >> 16u, index_38 >> 16u, index_39 >> 16u)) | 2155905152u) - 1077952576u) ^ 2155905152u;
        let index_64 = ((pack4xU8(vec4<u32>(index_44 >> 16u, index_45 >> 16u, index_46 >> 16u, index_47 >> 16u)) | 2155905152u) - 1077952576u) ^ 2155905152u;
        let index_65 = ((pack4xU8(vec4<u32>(index_50 >> 16u, index_51 >> 16u, index_52 >> 16u, index_53 >> 16u)) | 2155905152u) - 1077952576u) ^ 2155905152u;
        let index_66 = dot4I8Packed(index_1, index_58) + dot4I8Packed(index_7, index_59) + dot4I8Packed(index_15, index_60) + dot4I8Packed(index_21, index_61) + dot4I8Packed(index_29, index_62) + dot4I8Packed(index_35, index_63) + dot4I8Packed(index_43, index_64) + dot4I8Packed(index_49, index_65);
        let index_67 = (weights_1.x << 4u) & 4042322160u;
        let index_68 = weights_1.x & 4042322160u;
        let index_69 = (weights_1.y << 4u) & 4042322160u;
        let index_70 = weights_1.y & 4042322160u;
        let index_71 = (weights_1.z << 4u) & 4042322160u;
        let index_72 = weights_1.z & 4042322160u;
        let index_73 = (weights_1.w << 4u) & 4042322160u;
        let index_74 = weights_1.w & 4042322160u;
        let index_75 = dot4I8Packed(index_67, index_6) * 256i + dot4I8Packed(index_68, index_12) * 256i + dot4I8Packed(index_67, index_13) + dot4I8Packed(index_68, index_14) + dot4I8Packed(index_69, index_20) * 256i + dot4I8Packed(index_70, index_26) * 256i + dot4I8Packed(index_69, index_27) + dot4I8Packed(index_70, index_28) + dot4I8Packed(index_71, index_34) * 256i + dot4I8Packed(index_72, index_40) * 256i + dot4I8Packed(index_71, index_41) + dot4I8Packed(index_72, index_42) + dot4I8Packed(index_73, index_48) * 256i + dot4I8Packed(index_74, index_54) * 256i + dot4I8Packed(index_73, index_55) + dot4I8Packed(index_74, index_56);
        let index_76 = dot4I8Packed(index_67, index_58) + dot4I8Packed(index_68, index_59) + dot4I8Packed(index_69, index_60) + dot4I8Packed(index_70, index_61) + dot4I8Packed(index_71, index_62) + dot4I8Packed(index_72, index_63) + dot4I8Packed(index_73, index_64) + dot4I8Packed(index_74, index_65);
        let index_77 = (weights_2.x << 4u) & 4042322160u;
        let index_78 = weights_2.x & 4042322160u;
        let index_79 = (weights_2.y << 4u) & 4042322160u;
        let index_80 = weights_2.y & 4042322160u;
        let index_81 = (weights_2.z << 4u) & 4042322160u;
        let index_82 = weights_2.z & 4042322160u;
        let index_83 = (weights_2.w << 4u) & 4042322160u;
        let index_84 = weights_2.w & 4042322160u;
        let index_85 = dot4I8Packed(index_77, index_6) * 256i + dot4I8Packed(index_78, index_12) * 256i + dot4I8Packed(index_77, index_13) + dot4I8Packed(index_78, index_14) + dot4I8Packed(index_79, index_20) * 256i + dot4I8Packed(index_80, index_26) * 256i + dot4I8Packed(index_79, index_27) + dot4I8Packed(index_80, index_28) + dot4I8Packed(index_81, index_34) * 256i + dot4I8Packed(index_82, index_40) * 256i + dot4I8Packed(index_81, index_41) + dot4I8Packed(index_82, index_42) + dot4I8Packed(index_83, index_48) * 256i + dot4I8Packed(index_84, index_54) * 256i + dot4I8Packed(index_83, index_55) + dot4I8Packed(index_84, index_56);
        let index_86 = dot4I8Packed(index_77, index_58) + dot4I8Packed(index_78, index_59) + dot4I8Packed(index_79, index_60) + dot4I8Packed(index_80, index_61) + dot4I8Packed(index_81, index_62) + dot4I8Packed(index_82, index_63) + dot4I8Packed(index_83, index_64) + dot4I8Packed(index_84, index_65);
        let index_87 = (weights_3.x << 4u) & 4042322160u;
        let index_88 = weights_3.x & 4042322160u;
        let index_89 = (weights_3.y << 4u) & 4042322160u;
        let index_90 = weights_3.y & 4042322160u;
        let index_91 = (weights_3.z << 4u) & 4042322160u;
        let index_92 = weights_3.z & 4042322160u;
        let index_93 = (weights_3.w << 4u) & 4042322160u;
        let index_94 = weights_3.w & 4042322160u;
        let index_95 = dot4I8Packed(index_87, index_6) * 256i + dot4I8Packed(index_88, index_12) * 256i + dot4I8Packed(index_87, index_13) + dot4I8Packed(index_88, index_14) + dot4I8Packed(index_89, index_20) * 256i + dot4I8Packed(index_90, index_26) * 256i + dot4I8Packed(index_89, index_27) + dot4I8Packed(index_90, index_28) + dot4I8Packed(index_91, index_34) * 256i + dot4I8Packed(index_92, index_40) * 256i + dot4I8Packed(index_91, index_41) + dot4I8Packed(index_92, index_42) + dot4I8Packed(index_93, index_48) * 256i + dot4I8Packed(index_94, index_54) * 256i + dot4I8Packed(index_93, index_55) + dot4I8Packed(index_94, index_56);
        let index_96 = dot4I8Packed(index_87, index_58) + dot4I8Packed(index_88, index_59) + dot4I8Packed(index_89, index_60) + dot4I8Packed(index_90, index_61) + dot4I8Packed(index_91, index_62) + dot4I8Packed(index_92, index_63) + dot4I8Packed(index_93, index_64) + dot4I8Packed(index_94, index_65);
        for (var r_1 = 0u; r_1 < 4u; r_1 += 4u) {
            let value_2 = (f32(index_57) + 65536.0 * f32(index_66)) * (scales_0 * value_1);
            let value_3 = (f32(index_75) + 65536.0 * f32(index_76)) * (scales_1 * value_1);
            let lanes_0 = subgroupShuffleXor(select(value_3, value_2, inside_1), 1u);
            let value_4 = (f32(index_85) + 65536.0 * f32(index_86)) * (scales_2 * value_1);
            let value_5 = (f32(index_95) + 65536.0 * f32(index_96)) * (scales_3 * value_1);
            let lanes_1 = subgroupShuffleXor(select(value_5, value_4, inside_1), 1u);
            let value_6 = select(value_2, value_3, inside_1) + lanes_0;
            let value_7 = select(value_4, value_5, inside_1) + lanes_1;
            let lanes_2 = subgroupShuffleXor(select(value_7, value_6, inside_2), 2u);
            let total = select(value_6, value_7, inside_2) + lanes_2;
            var total_1 = total;
            var step = 4u;
            while (step < subgroup_size) {
                let lanes_3 = subgroupShuffleXor(total_1, step);
                total_1 = total_1 + lanes_3;
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
    let index_97 = group_x_times_4 + tid;
    if (tid < 4u && index_97 < 50u) {
        var total_3 = 0.0;
        for (var s = 0u; s < 63u / subgroup_size + 1u; s++) {
            let sums_2 = sums[tid + s * 4u];
            total_3 = total_3 + sums_2;
        }
        y[index_97] = total_3;
    }
}
