// A WebGPU device that computes nothing and records what is dispatched: each text with its entry point, the bytes bound,
// the numbers of its uniforms, its overrides and its grid. A library runs on it as on any device; all results are 0.
import {createHash} from 'node:crypto';
import {mkdirSync, rmSync, writeFileSync} from 'node:fs';

const LIMITS = {
  maxTextureDimension1D: 8192, maxTextureDimension2D: 8192, maxTextureDimension3D: 2048, maxTextureArrayLayers: 256,
  maxBindGroups: 4, maxBindGroupsPlusVertexBuffers: 24, maxBindingsPerBindGroup: 1000,
  maxDynamicUniformBuffersPerPipelineLayout: 8, maxDynamicStorageBuffersPerPipelineLayout: 4,
  maxSampledTexturesPerShaderStage: 16, maxSamplersPerShaderStage: 16, maxStorageBuffersPerShaderStage: 10,
  maxStorageTexturesPerShaderStage: 4, maxUniformBuffersPerShaderStage: 12, maxUniformBufferBindingSize: 65536,
  maxStorageBufferBindingSize: 2 ** 27, minUniformBufferOffsetAlignment: 256, minStorageBufferOffsetAlignment: 256,
  maxVertexBuffers: 8, maxBufferSize: 2 ** 28, maxVertexAttributes: 16, maxVertexBufferArrayStride: 2048,
  maxInterStageShaderVariables: 16, maxColorAttachments: 8, maxColorAttachmentBytesPerSample: 32,
  maxComputeWorkgroupStorageSize: 16384, maxComputeInvocationsPerWorkgroup: 256, maxComputeWorkgroupSizeX: 256,
  maxComputeWorkgroupSizeY: 256, maxComputeWorkgroupSizeZ: 64, maxComputeWorkgroupsPerDimension: 65535,
};
const BYTES = (data, offset = 0, size) => {
  const view = ArrayBuffer.isView(data);
  const unit = view && !(data instanceof DataView) ? data.BYTES_PER_ELEMENT : 1;
  const whole = view ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength) : new Uint8Array(data);
  return whole.slice(offset * unit, size === undefined ? undefined : (offset + size) * unit);
};

globalThis.GPUBufferUsage = {MAP_READ: 1, MAP_WRITE: 2, COPY_SRC: 4, COPY_DST: 8, INDEX: 16, VERTEX: 32, UNIFORM: 64,
  STORAGE: 128, INDIRECT: 256, QUERY_RESOLVE: 512};
globalThis.GPUTextureUsage = {COPY_SRC: 1, COPY_DST: 2, TEXTURE_BINDING: 4, STORAGE_BINDING: 8, RENDER_ATTACHMENT: 16};
globalThis.GPUShaderStage = {VERTEX: 1, FRAGMENT: 2, COMPUTE: 4};
globalThis.GPUMapMode = {READ: 1, WRITE: 2};
globalThis.GPUColorWrite = {RED: 1, GREEN: 2, BLUE: 4, ALPHA: 8, ALL: 15};
for (const name of ['Adapter', 'AdapterInfo', 'Device', 'Buffer', 'Texture', 'ShaderModule', 'Queue', 'Canvas', 'CanvasContext',
  'ComputePassEncoder', 'RenderPassEncoder', 'TextureView', 'BindGroup', 'SupportedLimits', 'ExternalTexture', 'Sampler'])
  globalThis[`GPU${name}`] ??= class {};

export const dispatches = new Map(); // by text and entry point: the first dispatch of each

class Buffer extends GPUBuffer {
  constructor(d) {
    super();
    Object.assign(this, {label: d.label ?? '', size: d.size, usage: d.usage, mapState: 'unmapped', bytes: new Uint8Array(d.size)});
  }
  getMappedRange(offset = 0, size) {
    return offset || size ? this.bytes.buffer.slice(offset, size ? offset + size : undefined) : this.bytes.buffer;
  }
  unmap() {}
  async mapAsync() {}
  destroy() {}
}
class Texture extends GPUTexture {
  constructor(d) {
    super();
    const [w, h = 1, n = 1] = Array.isArray(d.size) ? d.size : [d.size.width, d.size.height, d.size.depthOrArrayLayers];
    Object.assign(this, {...d, label: d.label ?? '', width: w, height: h, depthOrArrayLayers: n, mipLevelCount: d.mipLevelCount ?? 1,
      sampleCount: 1, dimension: d.dimension ?? '2d'});
  }
  createView() { return Object.assign(new GPUTextureView(), {texture: this, label: ''}); }
  destroy() {}
}
class Pass {
  constructor() { this.groups = []; this.label = ''; }
  setPipeline(p) { this.pipeline = p; }
  setBindGroup(n, group, offsets) { this.groups[n] = {group, offsets: offsets ? [...offsets] : []}; }
  dispatchWorkgroups(x, y = 1, z = 1) { this.record([x, y, z]); }
  dispatchWorkgroupsIndirect() { this.record([1, 1, 1], true); }
  end() {}
  setImmediates() {}
  pushDebugGroup() {} popDebugGroup() {} insertDebugMarker() {} writeTimestamp() {}
  record(grid, indirect = false) {
    const {module, entryPoint, constants} = this.pipeline.compute;
    const key = `${module.code}\u0000${entryPoint}`;
    if (dispatches.has(key)) return;
    const bound = [];
    this.groups.forEach(({group}, number) => {
      for (const {binding, resource} of group?.entries ?? []) {
        const buffer = resource instanceof Buffer ? resource : resource?.buffer;
        if (buffer instanceof Buffer) {
          const offset = resource.offset ?? 0, size = resource === buffer ? buffer.size : resource.size ?? buffer.size - offset;
          const uniform = (buffer.usage & GPUBufferUsage.UNIFORM) && size <= 4096;
          bound.push({group: number, binding, size, bytes: uniform ? [...buffer.bytes.slice(offset, offset + size)] : undefined});
        } else if (resource?.texture) bound.push({group: number, binding, texture: [resource.texture.width, resource.texture.height]});
      }
    });
    dispatches.set(key, {code: module.code, label: module.label, entry: entryPoint, constants: constants ?? {}, grid, indirect, bound});
  }
}
class Encoder {
  beginComputePass() { return new Pass(); }
  beginRenderPass() { return new Proxy({}, {get: () => () => {}}); }
  copyBufferToBuffer(a, from, b, to, size) {
    if (from instanceof Buffer) b.bytes.set(a.bytes); else b.bytes.set(a.bytes.slice(from, from + size), to);
  }
  copyBufferToTexture() {} copyTextureToBuffer() {} copyTextureToTexture() {} resolveQuerySet() {}
  clearBuffer(b, at = 0, size) { b.bytes.fill(0, at, size === undefined ? undefined : at + size); }
  pushDebugGroup() {} popDebugGroup() {} insertDebugMarker() {} writeTimestamp() {}
  finish() { return {}; }
}
const pipeline = d => ({...d, label: d.label ?? '', getBindGroupLayout: n => ({n})});
export class Device extends GPUDevice {
  constructor(features = []) {
    super();
    this.features = new Set(features); this.limits = LIMITS; this.label = ''; this.lost = new Promise(() => {});
    this.adapterInfo = {vendor: 'none', architecture: '', device: '', description: ''};
    this.queue = {
      submit() {}, async onSubmittedWorkDone() {}, copyExternalImageToTexture() {}, writeTexture() {},
      writeBuffer: (buffer, at, data, offset, size) => buffer.bytes.set(BYTES(data, offset, size), at),
    };
  }
  createBuffer(d) { return new Buffer(d); }
  createTexture(d) { return new Texture(d); }
  createSampler() { return new GPUSampler(); }
  createShaderModule(d) {
    return Object.assign(new GPUShaderModule(), {code: d.code, label: d.label ?? '', getCompilationInfo: async () => ({messages: []})});
  }
  createBindGroupLayout(d) { return {...d}; }
  createPipelineLayout(d) { return {...d}; }
  createBindGroup(d) { return Object.assign(new GPUBindGroup(), {...d, entries: [...d.entries]}); }
  createComputePipeline(d) {
    const names = [...d.compute.module.code.replace(/\/\/.*/g, '').matchAll(/@compute[^{]*?\bfn\s+(\w+)/g)].map(m => m[1]);
    return pipeline({...d, compute: {...d.compute, entryPoint: d.compute.entryPoint ?? names[0]}});
  }
  async createComputePipelineAsync(d) { return this.createComputePipeline(d); }
  createRenderPipeline(d) { return pipeline(d); }
  async createRenderPipelineAsync(d) { return pipeline(d); }
  createCommandEncoder() { return new Encoder(); }
  createQuerySet() { return {destroy() {}}; }
  pushErrorScope() {} async popErrorScope() { return null; }
  addEventListener() {} removeEventListener() {} dispatchEvent() {} destroy() {}
}
const info = {vendor: 'none', architecture: '', device: '', description: '', subgroupMinSize: 4, subgroupMaxSize: 128};
export const gpu = {
  getPreferredCanvasFormat: () => 'bgra8unorm', wgslLanguageFeatures: new Set(),
  requestAdapter: async () => Object.assign(new GPUAdapter(), {features: new Set(), limits: LIMITS, info, isFallbackAdapter: false,
    requestAdapterInfo: async () => info, requestDevice: async d => new Device(d?.requiredFeatures)}),
};
Object.defineProperty(globalThis, 'navigator', {value: {gpu, userAgent: 'node', platform: 'node', hardwareConcurrency: 1}, configurable: true});

// A text that differs from another in numbers alone is the same shader.
const shape = d => `${d.code.replace(/\d+/g, '0')}\u0000${d.entry.replace(/\d+/g, '0')}`;

// Write the texts of what was dispatched, and beside each what was bound, into a folder; the name is told by a function.
export function save(folder, source, name = d => d.label) {
  rmSync(folder, {recursive: true, force: true});
  mkdirSync(folder, {recursive: true});
  const seen = new Map(), shapes = new Set();
  for (const d of dispatches.values()) {
    if (shapes.has(shape(d))) continue;
    shapes.add(shape(d));
    const base = (name(d) || 'shader').replace(/[^\w.-]+/g, '_').slice(0, 60);
    const number = seen.get(base) ?? 0;
    seen.set(base, number + 1);
    const file = `${folder}/${base}${number ? `-${number}` : ''}`;
    const {code, ...rest} = d;
    writeFileSync(`${file}.wgsl`, code);
    writeFileSync(`${file}.json`, JSON.stringify({source, sha256: createHash('sha256').update(code).digest('hex'), ...rest}));
  }
  console.log(`${folder}: ${shapes.size} shaders, ${dispatches.size} with other numbers`);
}
