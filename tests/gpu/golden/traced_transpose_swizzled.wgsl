// transpose
// x f32 (64,96):(96,1)
// y f32 (96,64):(64,1)
// swizzled True
// tile f32 S<5,0,5> o 0 o (32,32):(32,1), shared by a workgroup

@group(0) @binding(0) var<storage, read> x: array<f32>;  // (64,96):(96,1)
@group(0) @binding(1) var<storage, read_write> y: array<f32>;  // (96,64):(64,1)
var<workgroup> tile: array<f32, 1024>;  // S<5,0,5> o 0 o (32,32):(32,1)

@compute @workgroup_size(256)
fn transpose(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) tid: u32) {
    let tid_div_32 = tid / 32u;
    let tid_mod_32 = tid % 32u;
    let x_at = group.y * 3072u + tid_div_32 * 96u + group.x * 32u + tid_mod_32;
    let x_0 = x[x_at];
    let x_1 = x[x_at + 768u];
    let x_2 = x[x_at + 1536u];
    let x_3 = x[x_at + 2304u];
    tile[tid ^ tid_div_32] = x_0;
    tile[(tid ^ (tid_div_32 + 8u)) + 256u] = x_1;
    tile[(tid ^ (tid_div_32 + 16u)) + 512u] = x_2;
    tile[(tid ^ (tid_div_32 + 24u)) + 768u] = x_3;
    workgroupBarrier();
    let tid_mod_32_times_32 = tid_mod_32 * 32u;
    let tile_1 = tile[tid_mod_32_times_32 + (tid_div_32 ^ tid_mod_32)];
    let tile_2 = tile[tid_mod_32_times_32 + ((tid_div_32 + 8u) ^ tid_mod_32)];
    let tile_3 = tile[tid_mod_32_times_32 + ((tid_div_32 + 16u) ^ tid_mod_32)];
    let tile_4 = tile[tid_mod_32_times_32 + ((tid_div_32 + 24u) ^ tid_mod_32)];
    let y_at = group.x * 2048u + tid_div_32 * 64u + group.y * 32u + tid_mod_32;
    y[y_at] = tile_1;
    y[y_at + 512u] = tile_2;
    y[y_at + 1024u] = tile_3;
    y[y_at + 1536u] = tile_4;
}
