// luma.gl's GPU algorithms on the recorder: `node luma.mjs FOLDER` where @luma.gl/gpgpu and its peers are installed.
import {join} from 'node:path';
import {pathToFileURL} from 'node:url';
import {save} from './recorder.mjs';

const load = (name, file = 'index.js') => import(pathToFileURL(join(process.cwd(), 'node_modules/@luma.gl', name, 'dist', file)));
const {luma, Buffer} = await load('core');
const {webgpuAdapter} = await load('webgpu');
const core = await load('gpgpu', 'gpu-core/index.js');
const {runGPUGraphBenchmark} = await load('gpgpu', 'gpu-graph/benchmarks.js');
const device = await luma.createDevice({type: 'webgpu', adapters: [webgpuAdapter], createCanvasContext: false});
const WORDS = {uint32: 1, sint32: 1, float32: 1, uint32x2: 2, float32x2: 2, float32x3: 3, float32x4: 4, uint32x4: 4};

let number = 0;
const failed = [];
function run(name, make) {
  try {
    const graph = new core.GPUCommandGraph(device, {id: name});
    const view = (format, length) => {
      const id = `${name}-${number++}`, stride = WORDS[format] * 4, byteLength = Math.max(length * stride, 4);
      const buffer = device.createBuffer({id, byteLength, usage: Buffer.STORAGE | Buffer.COPY_SRC | Buffer.COPY_DST});
      const handle = graph.importBuffer({id, byteLength, usage: Buffer.STORAGE | Buffer.COPY_SRC | Buffer.COPY_DST}, buffer);
      return graph.createDataView(handle, {format, length});
    };
    make(view).addToGraph(graph);
    const compiled = graph.compile(), encoder = device.createCommandEncoder({id: name});
    compiled.encode(encoder, {parameters: undefined});
    device.submit(encoder.finish());
  } catch (error) { failed.push(`${name}: ${String(error.stack ?? error).split('\n').slice(0, 2).join(' ').slice(0, 160)}`); }
}
const n = 5000;
run('scan', v => new core.GPUScan({input: v('uint32', n), output: v('uint32', n)}));
run('scanInclusive', v => new core.GPUScan({input: v('uint32', n), output: v('uint32', n), mode: 'inclusive', segmentFlags: v('uint32', n)}));
for (const algorithm of ['radix', 'bitonic', 'auto'])
  run(`sort-${algorithm}`, v => new core.GPUSort({keys: v('uint32', n), values: v('uint32', n), outputKeys: v('uint32', n), outputValues: v('uint32', n), algorithm}));
run('compaction', v => new core.GPUCompaction({input: v('uint32', n), flags: v('uint32', n), output: v('uint32', n), count: v('uint32', 1)}));
for (const operation of ['sum', 'min', 'max'])
  run(`reduction-${operation}`, v => new core.GPUReduction({input: v('float32', n), output: v('float32', 1), operation}));
run('histogram', v => new core.GPUHistogram({input: v('float32', n), output: v('uint32', 64), binCount: 64, domain: [0, 1]}));
run('segmentedSort', v => new core.GPUSegmentedSort({keys: v('uint32', n), values: v('uint32', n), outputKeys: v('uint32', n), outputValues: v('uint32', n), segments: [{keysOffset: 0, valuesOffset: 0, outputKeysOffset: 0, outputValuesOffset: 0, length: 256}]}));
run('galloping', v => new core.GPUGallopingSearch({values: v('uint32', n), queries: v('uint32', 500), segments: v('uint32', 16), maximumQueryCount: 500, output: v('uint32', 500), status: v('uint32', 4)}));
run('binning', v => new core.GPUGridBinning({positions: v('float32x2', n), output: v('uint32', 32 * 32), gridSize: [32, 32], bounds: [0, 0, 1, 1]}));
run('binningSmall', v => new core.GPUGridBinning({positions: v('float32x2', n), output: v('uint32', 64), gridSize: [8, 8], bounds: [0, 0, 1, 1]}));
run('gridIndex', v => new core.GPUGridIndex({positions: v('float32x2', n), gridSize: [16, 16], bounds: [0, 0, 1, 1], cellOffsets: v('uint32', 257), objectIds: v('uint32', n), count: v('uint32', 1), overflow: v('uint32', 1)}));
run('hash', v => new core.GPUHashIndex({keys: v('uint32', n), tableKeys: v('uint32', 8192), tableValues: v('uint32', 8192), statistics: v('uint32', core.GPU_HASH_INDEX_STATISTICS_LENGTH)}));
run('transpose', v => new core.GPUTranspose({input: v('float32', 70 * 50), output: v('float32', 70 * 50), rows: 70, columns: 50}));
for (const boundary of ['zero', 'wrap'])
  run(`convolution-${boundary}`, v => new core.GPUConvolution({input: v('float32', 70 * 50), kernel: v('float32', 9), output: v('float32', 70 * 50), width: 70, height: 50, kernelWidth: 3, kernelHeight: 3, boundary, strategy: 'direct'}));
for (const length of [64, 1024])
  run(`fft1d-${length}`, v => new core.GPUFFT1D({input: v('float32x2', 2 * length), output: v('float32x2', 2 * length), length, batchCount: 2}));
for (const operator of ['gradient', 'divergence', 'laplacian', 'curl'])
  run(`difference-${operator}`, v => new core.GPUFiniteDifference2D({input: v(operator === 'gradient' || operator === 'laplacian' ? 'float32' : 'float32x2', 70 * 50), output: v(operator === 'gradient' ? 'float32x2' : 'float32', 70 * 50), width: 70, height: 50, spacing: [1, 1], operator}));
run('laplacian3d', v => new core.GPUFiniteDifference3D({input: v('float32', 20 * 20 * 20), output: v('float32', 8000), width: 20, height: 20, depth: 20, spacing: [1, 1, 1], operator: 'laplacian'}));
for (const operation of ['and', 'or', 'xor', 'not'])
  run(`mask-${operation}`, v => new core.GPUMask({inputs: operation === 'not' ? [v('uint32', n)] : [v('uint32', n), v('uint32', n)], output: v('uint32', n), operation}));
run('groupCount', v => new core.GPUGroupAggregation({keys: v('uint32', n), output: v('uint32', 100), operation: 'count'}));
run('groupSum', v => new core.GPUGroupAggregation({keys: v('uint32', n), values: v('float32', n), output: v('float32', 100), operation: 'sum'}));
run('gridAggregation', v => new core.GPUGridAggregation({positions: v('float32x2', n), weights: v('float32', n), output: v('float32', 64), gridSize: [8, 8], bounds: [0, 0, 1, 1], operation: 'sum'}));
run('traversal', v => new core.GPUGraphTraversal({offsets: v('uint32', 1001), neighbors: v('uint32', n), seeds: v('uint32', 1000), output: v('uint32', 1000), maxDepth: 3}));
run('bvh', v => new core.GPUBVH({minima: v('float32x3', 1000), maxima: v('float32x3', 1000), leafCapacity: 1024, nodeMinima: v('float32x3', 2047), nodeMaxima: v('float32x3', 2047), nodeChildren: v('uint32x2', 2047), leafIds: v('uint32', 1024), count: v('uint32', 1)}));
for (const name of ['runGPUWorkgroupScanBenchmark', 'runGPUWorkgroupReductionBenchmark', 'runGPUTransposeBenchmark', 'runGPUFFT1DBenchmark', 'runGPUConvolutionBenchmark', 'runGPUSpatialQueryBenchmark'])
  await core[name](device, {}).catch(() => {}); // its check of the results fails: this device computes nothing
await runGPUGraphBenchmark(device, {kind: 'scale-free', vertexCount: 500}).catch(e => failed.push(`graph: ${e.stack.slice(0, 300)}`));
console.log(`failed: ${failed.length ? `\n${failed.join('\n')}` : 'none'}`);
save(process.argv[2], '@luma.gl/gpgpu@9.4.2', d => d.label.replace(/-\d+$/, ''));
process.exit(0);
