// histogram

@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> h: array<atomic<u32>>;
@group(0) @binding(2) var<storage, read_write> even: array<u32>;
var<workgroup> counts: array<atomic<u32>, 8>;

@compute @workgroup_size(64)
fn histogram(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) tid: u32) {
    let inside = tid < 8u;
    if (inside) {
        atomicStore(&counts[tid], 0u);
    }
    workgroupBarrier();
    let index = group.x * 64u + tid;
    if (index < 1000u) {
        let value = x[index];
        atomicAdd(&counts[value % 8u], 1u);
        even[index] = select(0u, 1u, value % 2u == 0u);
    }
    workgroupBarrier();
    if (inside) {
        atomicAdd(&h[tid], atomicLoad(&counts[tid]));
    }
}
