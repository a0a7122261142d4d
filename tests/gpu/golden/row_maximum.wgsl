// row_maximum

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
var<workgroup> part: array<f32, 32>;

fn nan_max_f32(a: f32, b: f32) -> f32 {  // NaN if either operand is, told by its bits
    let most = max(bitcast<u32>(a) << 1u, bitcast<u32>(b) << 1u);
    return select(max(a, b), bitcast<f32>(most >> 1u), most > 0xff000000u);
}

@compute @workgroup_size(32)
fn row_maximum(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) tid: u32) {
    var infinity_bits = 2139095040u;
    var best = -bitcast<f32>(infinity_bits);
    let group_x_times_100 = group.x * 100u;
    for (var i = tid; i < 100u; i += 32u) {
        let value = x[group_x_times_100 + i];
        best = nan_max_f32(value, best);
    }
    part[tid] = best;
    workgroupBarrier();
    if (tid < 16u) {
        let merged = nan_max_f32(part[tid], part[tid + 16u]);
        part[tid] = merged;
    }
    workgroupBarrier();
    if (tid < 8u) {
        let merged_1 = nan_max_f32(part[tid], part[tid + 8u]);
        part[tid] = merged_1;
    }
    workgroupBarrier();
    if (tid < 4u) {
        let merged_2 = nan_max_f32(part[tid], part[tid + 4u]);
        part[tid] = merged_2;
    }
    workgroupBarrier();
    if (tid < 2u) {
        let merged_3 = nan_max_f32(part[tid], part[tid + 2u]);
        part[tid] = merged_3;
    }
    workgroupBarrier();
    if (tid < 1u) {
        let merged_4 = nan_max_f32(part[tid], part[tid + 1u]);
        part[tid] = merged_4;
    }
    if (tid == 0u) {
        y[group.x] = part[0u];
    }
}
