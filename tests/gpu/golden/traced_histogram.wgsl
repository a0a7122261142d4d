// histogram
// x u32 (1000):(1)
// counts u32 (100):(1)
// local u32 100:1, shared by a workgroup

@group(0) @binding(0) var<storage, read> x: array<u32>;  // (1000):(1)
@group(0) @binding(1) var<storage, read_write> counts: array<atomic<u32>>;  // (100):(1)
var<workgroup> local: array<atomic<u32>, 100>;  // 100:1

@compute @workgroup_size(64)
fn histogram(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) tid: u32) {
    for (var b = tid; b < 100u; b += 64u) {
        atomicStore(&local[b], 0u);
    }
    workgroupBarrier();
    let x_at = group.x * 256u + tid;
    let x_0 = x[x_at];
    atomicAdd(&local[x_0 % 100u], 1u);
    let x_1 = x[x_at + 64u];
    atomicAdd(&local[x_1 % 100u], 1u);
    let x_2 = x[x_at + 128u];
    atomicAdd(&local[x_2 % 100u], 1u);
    if (x_at + 192u < 1000u) {
        let x_3 = x[x_at + 192u];
        atomicAdd(&local[x_3 % 100u], 1u);
    }
    workgroupBarrier();
    for (var b_1 = tid; b_1 < 100u; b_1 += 64u) {
        let local_1 = atomicLoad(&local[b_1]);
        atomicAdd(&counts[b_1], local_1);
    }
}
