// scan_of_select

@group(0) @binding(0) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(96)
fn scan_of_select(@builtin(local_invocation_index) tid: u32) {
    var stack: array<f32, 4>;
    for (var i = 0u; i < tid % 5u; i++) {
        stack[i % 4u] = f32(i) + 1.0;
    }
    let value = stack[tid % 4u];
    let value_1 = (i32(tid) - 40i) / 7i;
    y[tid] = select(value, f32(select(value_1, value_1 - 1i, i32(tid) - 40i - value_1 * 7i < 0i)), tid % 3u >= 2u);
}
