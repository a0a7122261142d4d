//! Launches an exported kernel with the crate wgpu, from its description.
//!
//!     cargo run -- softmax.json softmax M=5 N=300 x=x.bin y=y.bin
//!
//! Files are buffers, little-endian; what the kernel writes is written back into its file.

mod plan;

use plan::{plan, takes, variant, Numbers};
use serde_json::Value;
use std::{collections::HashMap, fs};
use wgpu::util::DeviceExt;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let all: Value = serde_json::from_slice(&fs::read(&arguments[0])?)?;
    let name = &arguments[1];
    let function = all["functions"].as_array().and_then(|some| some.iter().find(|one| one["name"] == **name));
    let function = function.ok_or("the description has no such function")?;
    let given: HashMap<&str, &str> = arguments[2..].iter().filter_map(|text| text.split_once('=')).collect();
    let numbers: Numbers =
        given.iter().filter_map(|(key, text)| Some((key.to_string(), serde_json::from_str(text).ok()?))).collect();

    if let Some(key) = given.keys().find(|key| !takes(function, key)) {
        return Err(format!("{name}: it takes no {key}").into());
    }

    let instance = wgpu::Instance::default();
    let adapter = pollster::block_on(instance.request_adapter(&wgpu::RequestAdapterOptions::default()))?;
    let mut features = wgpu::Features::empty();
    let mut names = Vec::new();
    for (name, feature) in [("subgroups", wgpu::Features::SUBGROUP), ("shader-f16", wgpu::Features::SHADER_F16)] {
        if adapter.features().contains(feature) {
            features |= feature;
            names.push(name);
        }
    }
    let chosen = variant(function, &names, 0).ok_or("the device lacks what every variant needs")?;
    let plan = plan(function, chosen, &numbers)?;
    let (device, queue) = pollster::block_on(adapter.request_device(&wgpu::DeviceDescriptor {
        required_features: features,
        required_limits: adapter.limits(),
        ..Default::default()
    }))?;

    let described: Vec<&Value> = function["buffers"].as_array().into_iter().flatten().collect();
    let mut buffers = Vec::new();
    let mut files = Vec::new();
    for (buffer, needed) in described.iter().zip(&plan.bytes) {
        let temporary = buffer["temporary"] == true;
        let path = given.get(buffer["name"].as_str().unwrap_or("")).copied().unwrap_or("");
        let mut data = if temporary { vec![0; *needed as usize] } else { fs::read(path)? };
        let own = format!("{}.", buffer["name"].as_str().unwrap_or(""));
        let longer = buffer["gaps"] == true || given.keys().any(|key| key.starts_with(&own));
        if (data.len() as u64) < *needed || (data.len() as u64 > *needed && !longer) {
            return Err(format!("{name}: {path} has {} bytes, it takes {needed}", data.len()).into());
        }
        files.push((buffer["written"] == true && !temporary).then_some((path, data.len())));
        data.resize(data.len().max(1).next_multiple_of(16), 0);
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
        buffers.push(device.create_buffer_init(&wgpu::util::BufferInitDescriptor {
            label: None,
            contents: &data,
            usage,
        }));
    }

    let mut encoder = device.create_command_encoder(&Default::default());
    for launch in &plan.launches {
        // The buffers, and after them the parameters, where there are any.
        let storage = |access: &String| wgpu::BufferBindingType::Storage { read_only: access == "read" };
        let mut kinds: Vec<_> = launch.access.iter().map(storage).collect();
        let contents: Vec<u8> = launch.params.iter().flat_map(|word| word.to_le_bytes()).collect();
        let params = (!contents.is_empty()).then(|| {
            kinds.push(wgpu::BufferBindingType::Uniform);
            device.create_buffer_init(&wgpu::util::BufferInitDescriptor {
                label: None,
                contents: &contents,
                usage: wgpu::BufferUsages::UNIFORM,
            })
        });
        let layouts: Vec<_> = (0..)
            .zip(kinds)
            .map(|(binding, ty)| wgpu::BindGroupLayoutEntry {
                binding,
                visibility: wgpu::ShaderStages::COMPUTE,
                ty: wgpu::BindingType::Buffer { ty, has_dynamic_offset: false, min_binding_size: None },
                count: None,
            })
            .collect();
        let group_layout =
            device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: None, entries: &layouts });
        let entries: Vec<_> = (0..)
            .zip(launch.buffers.iter().map(|&i| &buffers[i]).chain(&params))
            .map(|(binding, buffer)| wgpu::BindGroupEntry { binding, resource: buffer.as_entire_binding() })
            .collect();
        let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &group_layout,
            entries: &entries,
        });
        // naga knows subgroups without the directive that browsers ask for.
        let text = all["texts"][launch.text].as_str().unwrap_or("").replace("enable subgroups;\n", "");
        let source = wgpu::ShaderSource::Wgsl(text.into());
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor { label: None, source });
        let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            bind_group_layouts: &[&group_layout],
            ..Default::default()
        });
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: None,
            layout: Some(&layout),
            module: &module,
            entry_point: Some(&launch.entry),
            compilation_options: Default::default(),
            cache: None,
        });
        let mut pass = encoder.begin_compute_pass(&Default::default());
        pass.set_pipeline(&pipeline);
        pass.set_bind_group(0, &group, &[]);
        pass.dispatch_workgroups(launch.grid[0], launch.grid[1], launch.grid[2]);
    }

    let mut staged = Vec::new();
    for (buffer, file) in buffers.iter().zip(files) {
        let Some((path, bytes)) = file else { continue };
        let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
        let size = buffer.size();
        let staging =
            device.create_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false });
        encoder.copy_buffer_to_buffer(buffer, 0, &staging, 0, size);
        staged.push((staging, path, bytes));
    }
    queue.submit([encoder.finish()]);
    for (staging, _, _) in &staged {
        staging.slice(..).map_async(wgpu::MapMode::Read, |result| result.expect("the device is there"));
    }
    device.poll(wgpu::PollType::wait_indefinitely())?;
    for (staging, path, bytes) in &staged {
        fs::write(path, &staging.slice(..).get_mapped_range()[..*bytes])?;
    }
    Ok(())
}
