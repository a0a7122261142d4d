// matvec
// weights i4 (50,1056):(1056,1)
// scales f32 (50,33):(33,1)
// x f16 (1056):(1)
// y f32 (50):(1)

enable f16;

@group(0) @binding(0) var<storage, read> weights: array<vec4<u32>>;  // (50,1056):(1056,1)
@group(0) @binding(1) var<storage, read> scales: array<f32>;  // (50,33):(33,1)
@group(0) @binding(2) var<storage, read> x: array<vec4<f16>>;  // (1056):(1)
@group(0) @binding(3) var<storage, read_write> y: array<f32>;  // (50):(1)
var<workgroup> partial: array<f32, 128>;  // what threads give one another

@compute @workgroup_size(128)
fn matvec(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) tid: u32) {
    var totals = vec4<f32>(0.0);
    let tid_times_8 = tid * 8u;
    let weights_at = group.x * 132u + tid;
    let lanes = vec4<u32>(268435456u, 16777216u, 1048576u, 65536u);
    let group_x_times_4 = group.x * 4u;
    let weights_at_1 = min(group_x_times_4 + 2u, 49u) * 33u + tid;
    let weights_at_2 = min(group_x_times_4 + 3u, 49u) * 33u + tid;
    for (var k = 0u; k < 33u; k += 128u) {
        let x_at = tid_times_8 + k * 8u;
        let weights_at_3 = weights_at + k;
        let weights_at_4 = weights_at_1 + k;
        let weights_at_5 = weights_at_2 + k;
        if (tid + k < 33u) {
            let x_0 = x[x_at];
            let x_1 = x[x_at + 1u];
            let x_2 = x[x_at + 2u];
            let x_3 = x[x_at + 3u];
            let x_4 = x[x_at + 4u];
            let x_5 = x[x_at + 5u];
            let x_6 = x[x_at + 6u];
            let x_7 = x[x_at + 7u];
            let vs0 = vec4<f32>(x_0);
            let vs1 = vec4<f32>(x_1);
            let vs2 = vec4<f32>(x_2);
            let vs3 = vec4<f32>(x_3);
            let vs4 = vec4<f32>(x_4);
            let vs5 = vec4<f32>(x_5);
            let vs6 = vec4<f32>(x_6);
            let vs7 = vec4<f32>(x_7);
            let weights_0 = weights[weights_at_3];
            let ws0 = vec4<f32>(bitcast<vec4<i32>>(vec4<u32>(weights_0.x) * lanes) >> vec4<u32>(28u));
            let ws1 = vec4<f32>(bitcast<vec4<i32>>(vec4<u32>(weights_0.x * 4096u, weights_0.x * 256u, weights_0.x * 16u, weights_0.x)) >> vec4<u32>(28u));
            let ws2 = vec4<f32>(bitcast<vec4<i32>>(vec4<u32>(weights_0.y) * lanes) >> vec4<u32>(28u));
            let ws3 = vec4<f32>(bitcast<vec4<i32>>(vec4<u32>(weights_0.y * 4096u, weights_0.y * 256u, weights_0.y * 16u, weights_0.y)) >> vec4<u32>(28u));
            let ws4 = vec4<f32>(bitcast<vec4<i32>>(vec4<u32>(weights_0.z) * lanes) >> vec4<u32>(28u));
            let ws5 = vec4<f32>(bitcast<vec4<i32>>(vec4<u32>(weights_0.z * 4096u, weights_0.z * 256u, weights_0.z * 16u, weights_0.z)) >> vec4<u32>(28u));
            let ws6 = vec4<f32>(bitcast<vec4<i32>>(vec4<u32>(weights_0.w) * lanes) >> vec4<u32>(28u));
            let ws7 = vec4<f32>(bitcast<vec4<i32>>(vec4<u32>(weights_0.w * 4096u, weights_0.w * 256u, weights_0.w * 16u, weights_0.w)) >> vec4<u32>(28u));
            let weights_1 = weights[weights_at_3 + 33u];
            let ws8 = vec4<f32>(bitcast<vec4<i32>>(vec4<u32>(weights_1.x) * lanes) >> vec4<u32>(28u));
            let ws9 = vec4<f32>(bitcast<vec4<i32>>(vec4<u32>(weights_1.x * 4096u, weights_1.x * 256u, weights_1.x * 16u, weights_1.x)) >> vec4<u32>(28u));
            let ws10 = vec4<f32>(bitcast<vec4<i32>>(vec4<u32>(weights_1.y) * lanes) >> vec4<u32>(28u));
            let ws11 = vec4<f32>(bitcast<vec4<i32>>(vec4<u32>(weights_1.y * 4096u, weights_1.y * 256u, weights_1.y * 16u, weights_1.y)) >> vec4<u32>(28u));
            let ws12 = vec4<f32>(bitcast<vec4<i32>>(vec4<u32>(weights_1.z) * lanes) >> vec4<u32>(28u));
            let ws13 = vec4<f32>(bitcast<vec4<i32>>(vec4<u32>(weights_1.z * 4096u, weights_1.z * 256u, weights_1.z * 16u, weights_1.z)) >> vec4<u32>(28u));
            let ws14 = vec4<f32>(bitcast<vec4<i32>>(vec4<u32>(weights_1.w) * lanes) >> vec4<u32>(28u));
            let ws15 = vec4<f32>(bitcast<vec4<i32>>(vec4<u32>(weights_1.w * 4096u, weights_1.w * 256u, weights_1.w * 16u, weights_1.w)) >> vec4<u32>(28u));
            let weights_2 = weights[weights_at_4];
            let ws16 = vec4<f32>(bitcast<vec4<i32>>(vec4<u32>(weights_2.x) * lanes) >> vec4<u32>(28u));
            let ws17 = vec4<f32>(bitcast<vec4<i32>>(vec4<u32>(weights_2.x * 4096u, weights_2.x * 256u, weights_2.x * 16u, weights_2.x)) >> vec4<u32>(28u));
            let ws18 = vec4<f32>(bitcast<vec4<i32>>(vec4<u32>(weights_2.y) * lanes) >> vec4<u32>(28u));
            let ws19 = vec4<f32>(bitcast<vec4<i32>>(vec4<u32>(weights_2.y * 4096u, weights_2.y * 256u, weights_2.y * 16u, weights_2.y)) >> vec4<u32>(28u));
            let ws20 = vec4<f32>(bitcast<vec4<i32>>(vec4<u32>(weights_2.z) * lanes) >> vec4<u32>(28u));
            let ws21 = vec4<f32>(bitcast<vec4<i32>>(vec4<u32>(weights_2.z * 4096u, weights_2.z * 256u, weights_2.z * 16u, weights_2.z)) >> vec4<u32>(28u));
            let ws22 = vec4<f32>(bitcast<vec4<i32>>(vec4<u32>(weights_2.w) * lanes) >> vec4<u32>(28u));
            let ws23 = vec4<f32>(bitcast<vec4<i32>>(vec4<u32>(weights_2.w * 4096u, weights_2.w * 256u, weights_2.w * 16u, weights_2.w)) >> vec4<u32>(28u));
            let weights_3 = weights[weights_at_5];
            let ws24 = vec4<f32>(bitcast<vec4<i32>>(vec4<u32>(weights_3.x) * lanes) >> vec4<u32>(28u));
            let ws25 = vec4<f32>(bitcast<vec4<i32>>(vec4<u32>(weights_3.x * 4096u, weights_3.x * 256u, weights_3.x * 16u, weights_3.x)) >> vec4<u32>(28u));
            let ws26 = vec4<f32>(bitcast<vec4<i32>>(vec4<u32>(weights_3.y) * lanes) >> vec4<u32>(28u));
            let ws27 = vec4<f32>(bitcast<vec4<i32>>(vec4<u32>(weights_3.y * 4096u, weights_3.y * 256u, weights_3.y * 16u, weights_3.y)) >> vec4<u32>(28u));
            let ws28 = vec4<f32>(bitcast<vec4<i32>>(vec4<u32>(weights_3.z) * lanes) >> vec4<u32>(28u));
            let ws29 = vec4<f32>(bitcast<vec4<i32>>(vec4<u32>(weights_3.z * 4096u, weights_3.z * 256u, weights_3.z * 16u, weights_3.z)) >> vec4<u32>(28u));
            let ws30 = vec4<f32>(bitcast<vec4<i32>>(vec4<u32>(weights_3.w) * lanes) >> vec4<u32>(28u));
            let ws31 = vec4<f32>(bitcast<vec4<i32>>(vec4<u32>(weights_3.w * 4096u, weights_3.w * 256u, weights_3.w * 16u, weights_3.w)) >> vec4<u32>(28u));
            let parts = fma(vec4<f32>(ws7.w, ws15.w, ws23.w, ws31.w), vec4<f32>(vs7.w), fma(vec4<f32>(ws7.z, ws15.z, ws23.z, ws31.z), vec4<f32>(vs7.z), fma(vec4<f32>(ws7.y, ws15.y, ws23.y, ws31.y), vec4<f32>(vs7.y), fma(vec4<f32>(ws7.x, ws15.x, ws23.x, ws31.x), vec4<f32>(vs7.x), fma(vec4<f32>(ws6.w, ws14.w, ws22.w, ws30.w), vec4<f32>(vs6.w), fma(vec4<f32>(ws6.z, ws14.z, ws22.z, ws30.z), vec4<f32>(vs6.z), fma(vec4<f32>(ws6.y, ws14.y, ws22.y, ws30.y), vec4<f32>(vs6.y), fma(vec4<f32>(ws6.x, ws14.x, ws22.x, ws30.x), vec4<f32>(vs6.x), fma(vec4<f32>(ws5.w, ws13.w, ws21.w, ws29.w), vec4<f32>(vs5.w), fma(vec4<f32>(ws5.z, ws13.z, ws21.z, ws29.z), vec4<f32>(vs5.z), fma(vec4<f32>(ws5.y, ws13.y, ws21.y, ws29.y), vec4<f32>(vs5.y), fma(vec4<f32>(ws5.x, ws13.x, ws21.x, ws29.x), vec4<f32>(vs5.x), fma(vec4<f32>(ws4.w, ws12.w, ws20.w, ws28.w), vec4<f32>(vs4.w), fma(vec4<f32>(ws4.z, ws12.z, ws20.z, ws28.z), vec4<f32>(vs4.z), fma(vec4<f32>(ws4.y, ws12.y, ws20.y, ws28.y), vec4<f32>(vs4.y), fma(vec4<f32>(ws4.x, ws12.x, ws20.x, ws28.x), vec4<f32>(vs4.x), fma(vec4<f32>(ws3.w, ws11.w, ws19.w, ws27.w), vec4<f32>(vs3.w), fma(vec4<f32>(ws3.z, ws11.z, ws19.z, ws27.z), vec4<f32>(vs3.z), fma(vec4<f32>(ws3.y, ws11.y, ws19.y, ws27.y), vec4<f32>(vs3.y), fma(vec4<f32>(ws3.x, ws11.x, ws19.x, ws27.x), vec4<f32>(vs3.x), fma(vec4<f32>(ws2.w, ws10.w, ws18.w, ws26.w), vec4<f32>(vs2.w), fma(vec4<f32>(ws2.z, ws10.z, ws18.z, ws26.z), vec4<f32>(vs2.z), fma(vec4<f32>(ws2.y, ws10.y, ws18.y, ws26.y), vec4<f32>(vs2.y), fma(vec4<f32>(ws2.x, ws10.x, ws18.x, ws26.x), vec4<f32>(vs2.x), fma(vec4<f32>(ws1.w, ws9.w, ws17.w, ws25.w), vec4<f32>(vs1.w), fma(vec4<f32>(ws1.z, ws9.z, ws17.z, ws25.z), vec4<f32>(vs1.z), fma(vec4<f32>(ws1.y, ws9.y, ws17.y, ws25.y), vec4<f32>(vs1.y), fma(vec4<f32>(ws1.x, ws9.x, ws17.x, ws25.x), vec4<f32>(vs1.x), fma(vec4<f32>(ws0.w, ws8.w, ws16.w, ws24.w), vec4<f32>(vs0.w), fma(vec4<f32>(ws0.z, ws8.z, ws16.z, ws24.z), vec4<f32>(vs0.z), fma(vec4<f32>(ws0.y, ws8.y, ws16.y, ws24.y), vec4<f32>(vs0.y), fma(vec4<f32>(ws0.x, ws8.x, ws16.x, ws24.x), vec4<f32>(vs0.x), vec4<f32>(0.0)))))))))))))))))))))))))))))))));
            let scales_0 = scales[weights_at_3];
            totals.x = totals.x + parts.x * scales_0;
            let scales_1 = scales[weights_at_3 + 33u];
            totals.y = totals.y + parts.y * scales_1;
            let scales_2 = scales[weights_at_4];
            totals.z = totals.z + parts.z * scales_2;
            let scales_3 = scales[weights_at_5];
            totals.w = totals.w + parts.w * scales_3;
        }
    }
    partial[tid] = totals.x;
    workgroupBarrier();
    let inside = tid < 64u;
    if (inside) {
        let partial_1 = partial[tid];
        let partial_2 = partial[tid + 64u];
        partial[tid] = partial_1 + partial_2;
    }
    workgroupBarrier();
    let inside_1 = tid < 32u;
    if (inside_1) {
        let partial_3 = partial[tid];
        let partial_4 = partial[tid + 32u];
        partial[tid] = partial_3 + partial_4;
    }
    workgroupBarrier();
    let inside_2 = tid < 16u;
    if (inside_2) {
        let partial_5 = partial[tid];
        let partial_6 = partial[tid + 16u];
        partial[tid] = partial_5 + partial_6;
    }
    workgroupBarrier();
    let inside_3 = tid < 8u;
    if (inside_3) {
        let partial_7 = partial[tid];
        let partial_8 = partial[tid + 8u];
        partial[tid] = partial_7 + partial_8;
    }
    workgroupBarrier();
    let inside_4 = tid < 4u;
    if (inside_4) {
        let partial_9 = partial[tid];
        let partial_10 = partial[tid + 4u];
        partial[tid] = partial_9 + partial_10;
    }
    workgroupBarrier();
    let inside_5 = tid < 2u;
    if (inside_5) {
        let partial_11 = partial[tid];
        let partial_12 = partial[tid + 2u];
        partial[tid] = partial_11 + partial_12;
    }
    workgroupBarrier();
    let inside_6 = tid < 1u;
    if (inside_6) {
        let partial_13 = partial[tid];
        let partial_14 = partial[tid + 1u];
        partial[tid] = partial_13 + partial_14;
    }
    workgroupBarrier();
    let partial_15 = partial[0u];
    let inside_7 = tid == 0u;
    if (inside_7) {
        y[group_x_times_4] = partial_15;
    }
    workgroupBarrier();
    partial[tid] = totals.y;
    workgroupBarrier();
    if (inside) {
        let partial_16 = partial[tid];
        let partial_17 = partial[tid + 64u];
        partial[tid] = partial_16 + partial_17;
    }
    workgroupBarrier();
    if (inside_1) {
        let partial_18 = partial[tid];
        let partial_19 = partial[tid + 32u];
        partial[tid] = partial_18 + partial_19;
    }
    workgroupBarrier();
    if (inside_2) {
        let partial_20 = partial[tid];
        let partial_21 = partial[tid + 16u];
        partial[tid] = partial_20 + partial_21;
    }
    workgroupBarrier();
    if (inside_3) {
        let partial_22 = partial[tid];
        let partial_23 = partial[tid + 8u];
        partial[tid] = partial_22 + partial_23;
    }
    workgroupBarrier();
    if (inside_4) {
        let partial_24 = partial[tid];
        let partial_25 = partial[tid + 4u];
        partial[tid] = partial_24 + partial_25;
    }
    workgroupBarrier();
    if (inside_5) {
        let partial_26 = partial[tid];
        let partial_27 = partial[tid + 2u];
        partial[tid] = partial_26 + partial_27;
    }
    workgroupBarrier();
    if (inside_6) {
        let partial_28 = partial[tid];
        let partial_29 = partial[tid + 1u];
        partial[tid] = partial_28 + partial_29;
    }
    workgroupBarrier();
    let partial_30 = partial[0u];
    if (inside_7) {
        y[group_x_times_4 + 1u] = partial_30;
    }
    workgroupBarrier();
    partial[tid] = totals.z;
    workgroupBarrier();
    if (inside) {
        let partial_31 = partial[tid];
        let partial_32 = partial[tid + 64u];
        partial[tid] = partial_31 + partial_32;
    }
    workgroupBarrier();
    if (inside_1) {
        let partial_33 = partial[tid];
        let partial_34 = partial[tid + 32u];
        partial[tid] = partial_33 + partial_34;
    }
    workgroupBarrier();
    if (inside_2) {
        let partial_35 = partial[tid];
        let partial_36 = partial[tid + 16u];
        partial[tid] = partial_35 + partial_36;
    }
    workgroupBarrier();
    if (inside_3) {
        let partial_37 = partial[tid];
        let partial_38 = partial[tid + 8u];
        partial[tid] = partial_37 + partial_38;
    }
    workgroupBarrier();
    if (inside_4) {
        let partial_39 = partial[tid];
        let partial_40 = partial[tid + 4u];
        partial[tid] = partial_39 + partial_40;
    }
    workgroupBarrier();
    if (inside_5) {
        let partial_41 = partial[tid];
        let partial_42 = partial[tid + 2u];
        partial[tid] = partial_41 + partial_42;
    }
    workgroupBarrier();
    if (inside_6) {
        let partial_43 = partial[tid];
        let partial_44 = partial[tid + 1u];
        partial[tid] = partial_43 + partial_44;
    }
    workgroupBarrier();
    let partial_45 = partial[0u];
    let inside_8 = inside_7 && group.x < 12u;
    if (inside_8) {
        y[group_x_times_4 + 2u] = partial_45;
    }
    workgroupBarrier();
    partial[tid] = totals.w;
    workgroupBarrier();
    if (inside) {
        let partial_46 = partial[tid];
        let partial_47 = partial[tid + 64u];
        partial[tid] = partial_46 + partial_47;
    }
    workgroupBarrier();
    if (inside_1) {
        let partial_48 = partial[tid];
        let partial_49 = partial[tid + 32u];
        partial[tid] = partial_48 + partial_49;
    }
    workgroupBarrier();
    if (inside_2) {
        let partial_50 = partial[tid];
        let partial_51 = partial[tid + 16u];
        partial[tid] = partial_50 + partial_51;
    }
    workgroupBarrier();
    if (inside_3) {
        let partial_52 = partial[tid];
        let partial_53 = partial[tid + 8u];
        partial[tid] = partial_52 + partial_53;
    }
    workgroupBarrier();
    if (inside_4) {
        let partial_54 = partial[tid];
        let partial_55 = partial[tid + 4u];
        partial[tid] = partial_54 + partial_55;
    }
    workgroupBarrier();
    if (inside_5) {
        let partial_56 = partial[tid];
        let partial_57 = partial[tid + 2u];
        partial[tid] = partial_56 + partial_57;
    }
    workgroupBarrier();
    if (inside_6) {
        let partial_58 = partial[tid];
        let partial_59 = partial[tid + 1u];
        partial[tid] = partial_58 + partial_59;
    }
    workgroupBarrier();
    let partial_60 = partial[0u];
    if (inside_8) {
        y[group_x_times_4 + 3u] = partial_60;
    }
}
