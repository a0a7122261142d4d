// matmul
// A (128,64):(64,1)
// B (64,64):(64,1)
// C (128,64):(64,1)

@group(0) @binding(0) var<storage, read> A: array<f32>;
@group(0) @binding(1) var<storage, read> B: array<f32>;
@group(0) @binding(2) var<storage, read_write> C: array<vec4<f32>>;
var<workgroup> sA: array<f32, 1088>;
var<workgroup> sB: array<f32, 1088>;

@compute @workgroup_size(256)
fn matmul(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) tid: u32) {
    var acc0: vec4<f32>;
    var acc1: vec4<f32>;
    var acc2: vec4<f32>;
    var acc3: vec4<f32>;
    let tid_div_16 = tid / 16u;
    let tid_div_16_times_64 = tid_div_16 * 64u;
    let tid_mod_16 = tid % 16u;
    let A_at = group.y * 4096u + tid_div_16_times_64 + tid_mod_16;
    let sA_at = tid_mod_16 * 68u + tid_div_16;
    let B_at = tid_div_16_times_64 + tid_mod_16;
    let tid_div_16_times_4 = tid_div_16 * 4u;
    let tid_mod_16_times_4 = tid_mod_16 * 4u;
    for (var k = 0u; k < 4u; k++) {
        let k_times_16 = k * 16u;
        let A_at_1 = A_at + k_times_16;
        let A_0 = A[A_at_1];
        let A_1 = A[A_at_1 + 1024u];
        let A_2 = A[A_at_1 + 2048u];
        let A_3 = A[A_at_1 + 3072u];
        sA[sA_at] = A_0;
        sA[sA_at + 16u] = A_1;
        sA[sA_at + 32u] = A_2;
        sA[sA_at + 48u] = A_3;
        let B_at_1 = B_at + k_times_16;
        let B_0 = B[B_at_1];
        let B_1 = B[B_at_1 + 1024u];
        let B_2 = B[B_at_1 + 2048u];
        let B_3 = B[B_at_1 + 3072u];
        sB[sA_at] = B_0;
        sB[sA_at + 16u] = B_1;
        sB[sA_at + 32u] = B_2;
        sB[sA_at + 48u] = B_3;
        workgroupBarrier();
        for (var kk = 0u; kk < 16u; kk++) {
            let kk_times_68 = kk * 68u;
            let sA_at_1 = tid_div_16_times_4 + kk_times_68;
            let a = vec4<f32>(sA[sA_at_1], sA[sA_at_1 + 1u], sA[sA_at_1 + 2u], sA[sA_at_1 + 3u]);
            let sB_at = tid_mod_16_times_4 + kk_times_68;
            let b = vec4<f32>(sB[sB_at], sB[sB_at + 1u], sB[sB_at + 2u], sB[sB_at + 3u]);
            acc0 = fma(vec4<f32>(a.x), b, acc0);
            acc1 = fma(vec4<f32>(a.y), b, acc1);
            acc2 = fma(vec4<f32>(a.z), b, acc2);
            acc3 = fma(vec4<f32>(a.w), b, acc3);
        }
        workgroupBarrier();
    }
    let C_at = group.y * 1024u + tid_div_16_times_64 + tid_mod_16;
    C[C_at] = acc0;
    C[C_at + 16u] = acc1;
    C[C_at + 32u] = acc2;
    C[C_at + 48u] = acc3;
}
