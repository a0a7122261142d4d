// dropout
// x f32 (100003):(1)
// y f32 (100003):(1)
// keep 0.8

@group(0) @binding(0) var<storage, read> x: array<vec2<f32>>;  // (100003):(1)
@group(0) @binding(1) var<storage, read_write> y: array<f32>;  // (100003):(1)

struct Params {
    seed: u32,
}
@group(0) @binding(2) var<uniform> params: Params;

@compute @workgroup_size(256)
fn dropout(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) tid: u32) {
    var x_0 = vec2<f32>(0.0);
    var x_1 = 0.0;
    let index = group.x * 256u + tid;
    let inside = index < 25001u;
    let x_at = group.x * 512u + tid * 2u;
    if (inside) {
        x_0 = x[x_at];
        x_1 = x[x_at + 1u].x;
    }
    var x_2 = 0.0;
    let inside_1 = index < 25000u;
    if (inside_1) {
        x_2 = x[x_at + 1u].y;
    }
    let index_1 = (group.x * 13783296u + tid * 53841u + (group.x * 2052864u + tid * 8019u) / 65536u) / 65536u;
    let index_2 = ((index_1 * 52638u + (index_1 * 36183u) / 65536u) / 65536u) ^ (params.seed - 1640531527u);
    let index_3 = index_2 >> 16u;
    let index_4 = index_2 & 65535u;
    let index_5 = index_3 * 8019u + ((index_4 * 8019u) >> 16u);
    let index_6 = (index_3 * 53841u + (index_5 >> 16u) + ((index_4 * 53841u + (index_5 & 65535u)) >> 16u)) ^ (0u - params.seed * 766435501u) ^ 1993301258u;
    let index_7 = index_6 >> 16u;
    let index_8 = index_6 & 65535u;
    let index_9 = index_7 * 36183u + ((index_8 * 36183u) >> 16u);
    let index_10 = params.seed >> 16u;
    let index_11 = params.seed & 65535u;
    let index_12 = index_10 * 8019u + ((index_11 * 8019u) >> 16u);
    let index_13 = (index_10 * 53841u + (index_12 >> 16u) + ((index_11 * 53841u + (index_12 & 65535u)) >> 16u)) ^ (group.x * 1361007360u - tid * 766435501u) ^ 3144134277u;
    let index_14 = (index_7 * 52638u + (index_9 >> 16u) + ((index_8 * 52638u + (index_9 & 65535u)) >> 16u)) ^ (0u - index_13 * 845247145u) ^ (params.seed - 626627285u);
    let index_15 = index_14 >> 16u;
    let index_16 = index_14 & 65535u;
    let index_17 = index_15 * 8019u + ((index_16 * 8019u) >> 16u);
    let index_18 = index_13 >> 16u;
    let index_19 = index_13 & 65535u;
    let index_20 = index_18 * 36183u + ((index_19 * 36183u) >> 16u);
    let index_21 = (index_18 * 52638u + (index_20 >> 16u) + ((index_19 * 52638u + (index_20 & 65535u)) >> 16u)) ^ (0u - index_1 * 845247145u) ^ (params.seed + 1013904242u);
    let index_22 = (index_15 * 53841u + (index_17 >> 16u) + ((index_16 * 53841u + (index_17 & 65535u)) >> 16u)) ^ (0u - index_21 * 766435501u) ^ 3986602516u;
    let index_23 = index_22 >> 16u;
    let index_24 = index_22 & 65535u;
    let index_25 = index_23 * 36183u + ((index_24 * 36183u) >> 16u);
    let index_26 = index_21 >> 16u;
    let index_27 = index_21 & 65535u;
    let index_28 = index_26 * 8019u + ((index_27 * 8019u) >> 16u);
    let index_29 = (index_26 * 53841u + (index_28 >> 16u) + ((index_27 * 53841u + (index_28 & 65535u)) >> 16u)) ^ (0u - index_2 * 766435501u) ^ 842468239u;
    let index_30 = (index_23 * 52638u + (index_25 >> 16u) + ((index_24 * 52638u + (index_25 & 65535u)) >> 16u)) ^ (0u - index_29 * 845247145u) ^ (params.seed + 387276957u);
    let index_31 = index_30 & 65535u;
    let index_32 = index_30 >> 16u;
    let index_33 = index_32 * 8019u + ((index_31 * 8019u) >> 16u);
    let value_0 = index_31 * 53841u + (index_33 & 65535u);
    let value_1 = index_32 * 53841u + (index_33 >> 16u);
    let index_34 = index_29 >> 16u;
    let index_35 = index_29 & 65535u;
    let index_36 = index_34 * 36183u + ((index_35 * 36183u) >> 16u);
    let index_37 = (index_34 * 52638u + (index_36 >> 16u) + ((index_35 * 52638u + (index_36 & 65535u)) >> 16u)) ^ (0u - index_6 * 845247145u) ^ (params.seed + 2027808484u);
    let index_38 = index_37 >> 16u;
    let index_39 = index_37 & 65535u;
    let index_40 = index_38 * 8019u + ((index_39 * 8019u) >> 16u);
    let index_41 = (index_38 * 53841u + (index_40 >> 16u) + ((index_39 * 53841u + (index_40 & 65535u)) >> 16u)) ^ (0u - index_14 * 766435501u) ^ 2835769497u;
    let index_42 = index_41 >> 16u;
    let index_43 = index_41 & 65535u;
    let index_44 = index_42 * 36183u + ((index_43 * 36183u) >> 16u);
    let index_45 = (index_42 * 52638u + (index_44 >> 16u) + ((index_43 * 52638u + (index_44 & 65535u)) >> 16u)) ^ (0u - index_22 * 845247145u) ^ (params.seed - 1253254570u);
    let index_46 = index_45 >> 16u;
    let index_47 = index_45 & 65535u;
    let value_2 = index_46 * 8019u + ((index_47 * 8019u) >> 16u);
    let value_3 = (index_47 * 53841u + (value_2 & 65535u)) >> 16u;
    let value_4 = index_46 * 53841u + (value_2 >> 16u) + value_3;
    let index_48 = value_4 ^ (0u - index_30 * 766435501u) ^ 534103459u;
    let index_49 = index_48 & 65535u;
    let value_5 = index_49 * 36183u;
    let index_50 = index_48 >> 16u;
    let value_6 = index_50 * 36183u;
    let value_7 = index_49 * 52638u;
    let value_8 = index_50 * 52638u;
    let value_9 = 0u - index_48 * 845247145u;
    let index_51 = ((value_0 >> 16u) + value_1) ^ (0u - index_37 * 766435501u) ^ 1684936478u;
    let index_52 = index_51 >> 16u;
    let index_53 = index_51 & 65535u;
    let index_54 = index_52 * 36183u + ((index_53 * 36183u) >> 16u);
    let index_55 = (index_52 * 52638u + (index_54 >> 16u) + ((index_53 * 52638u + (index_54 & 65535u)) >> 16u)) ^ (0u - index_41 * 845247145u) ^ (params.seed + 1401181199u);
    let index_56 = index_55 >> 16u;
    let index_57 = index_55 & 65535u;
    let index_58 = index_56 * 8019u + ((index_57 * 8019u) >> 16u);
    let value_10 = (index_56 * 53841u + (index_58 >> 16u) + ((index_57 * 53841u + (index_58 & 65535u)) >> 16u)) ^ (0u - index_45 * 766435501u) ^ 3678237736u;
    let value_10_shr_16 = value_10 >> 16u;
    let value_10_and_65535 = value_10 & 65535u;
    let index_59 = value_10_shr_16 * 36183u + ((value_10_and_65535 * 36183u) >> 16u);
    let values = select(0.0, x_0.x / 0.8, ((value_10_shr_16 * 52638u + (index_59 >> 16u) + ((value_10_and_65535 * 52638u + (index_59 & 65535u)) >> 16u)) ^ value_9 ^ (params.seed - 1879881855u)) < 3435973836u);
    let values_1 = select(0.0, x_0.y / 0.8, 0u - value_10 * 845247145u < 3435973836u);
    let index_60 = (value_5 >> 16u) + value_6;
    let index_61 = ((index_60 >> 16u) + (((index_60 & 65535u) + value_7) >> 16u) + value_8) ^ (0u - index_51 * 845247145u) ^ (params.seed - 239350328u);
    let index_62 = index_61 >> 16u;
    let index_63 = index_61 & 65535u;
    let index_64 = index_62 * 8019u + ((index_63 * 8019u) >> 16u);
    let values_2 = select(0.0, x_1 / 0.8, ((index_62 * 53841u + (index_64 >> 16u) + ((index_63 * 53841u + (index_64 & 65535u)) >> 16u)) ^ (0u - index_55 * 766435501u) ^ 2527404717u) < 3435973836u);
    let values_3 = select(0.0, x_2 / 0.8, 0u - index_61 * 766435501u < 3435973836u);
    let y_at = group.x * 1024u + tid * 4u;
    if (inside) {
        y[y_at] = values;
        y[y_at + 1u] = values_1;
        y[y_at + 2u] = values_2;
    }
    if (inside_1) {
        y[y_at + 3u] = values_3;
    }
}
