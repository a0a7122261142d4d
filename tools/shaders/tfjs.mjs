// TensorFlow.js on the recorder: `node tfjs.mjs FOLDER` where @tensorflow/tfjs-core and tfjs-backend-webgpu are installed.
import {createRequire} from 'node:module';
import {save} from './recorder.mjs';

const require = createRequire(`${process.cwd()}/`);
const tf = require('@tensorflow/tfjs-core');
require('@tensorflow/tfjs-backend-webgpu');
await tf.setBackend('webgpu');
await tf.ready();
tf.env().set('WEBGPU_CPU_FORWARD', false);
tf.env().set('WEBGPU_CPU_HANDOFF_SIZE_THRESHOLD', 0);

const x = tf.ones([33, 70]), y = tf.ones([70, 50]), v = tf.ones([1000]), i = tf.ones([1000], 'int32');
const image = tf.ones([2, 33, 35, 3]), wide = tf.ones([1, 16, 16, 8]), volume = tf.ones([1, 8, 8, 8, 4]);
const half = tf.ones([2, 16, 17, 3]), deep = tf.ones([2, 33, 35, 8]), kernel = (name, inputs, attrs) => tf.engine().runKernel(name, inputs, attrs);
const calls = {
  add: () => tf.add(v, v), addScalar: () => tf.add(x, 1), broadcast: () => tf.add(x, tf.ones([70])), relu: () => tf.relu(v),
  prelu: () => tf.prelu(x, tf.ones([70])), addN: () => tf.addN([v, v, v]), argMax: () => tf.argMax(x, 1), argMin: () => tf.argMin(x),
  sum: () => tf.sum(x, 1), sumLarge: () => tf.sum(tf.ones([100000])), mean: () => tf.mean(x), max: () => tf.max(x, 0), prod: () => tf.prod(x, 1),
  all: () => tf.all(tf.ones([100], 'bool')), any: () => tf.any(tf.ones([100], 'bool')),
  matMul: () => tf.matMul(x, y), matMulT: () => tf.matMul(x, tf.ones([50, 70]), false, true), matMulBig: () => tf.matMul(tf.ones([256, 256]), tf.ones([256, 256])),
  matMulSmall: () => tf.matMul(tf.ones([4, 4]), tf.ones([4, 4])), matMulK: () => tf.matMul(tf.ones([8, 4000]), tf.ones([4000, 8])),
  batch: () => tf.matMul(tf.ones([5, 20, 30]), tf.ones([5, 30, 20])), vector: () => tf.matMul(tf.ones([1, 500]), tf.ones([500, 300])),
  conv: () => tf.conv2d(image, tf.ones([3, 3, 3, 8]), 1, 'same'), convWide: () => tf.conv2d(wide, tf.ones([3, 3, 8, 16]), 2, 'valid'),
  conv1: () => tf.conv2d(wide, tf.ones([1, 1, 8, 16]), 1, 'same'), conv3: () => tf.conv3d(volume, tf.ones([2, 2, 2, 4, 3]), 1, 'same'),
  depth: () => tf.depthwiseConv2d(wide, tf.ones([3, 3, 8, 1]), 1, 'same'), depth2: () => tf.depthwiseConv2d(image, tf.ones([3, 3, 3, 2]), [2, 2], 'valid'),
  transposed: () => tf.conv2dTranspose(wide, tf.ones([3, 3, 4, 8]), [1, 31, 31, 4], 2, 'same'), dilation: () => tf.dilation2d(image, tf.ones([3, 3, 3]), 1, 'same'),
  maxPool: () => tf.maxPool(image, 2, 2, 'valid'), avgPool: () => tf.avgPool(image, 3, 1, 'same'), globalPool: () => tf.avgPool(wide, 16, 16, 'valid'),
  maxPool3: () => tf.maxPool3d(volume, 2, 2, 'valid'), softmax: () => tf.softmax(x), logSoftmax: () => tf.logSoftmax(x),
  batchNorm: () => tf.batchNorm(wide, tf.ones([8]), tf.ones([8]), tf.ones([8]), tf.ones([8])), clip: () => tf.clipByValue(v, 0, 1), clip3: () => tf.clipByValue(tf.ones([7]), 0, 1),
  concat: () => tf.concat([x, x], 1), cast: () => tf.cast(v, 'int32'), complexAbs: () => tf.abs(tf.complex(v, v)), complexMul: () => tf.mul(tf.complex(v, v), tf.complex(v, v)),
  crop: () => tf.image.cropAndResize(image, tf.tensor2d([[0, 0, 1, 1]]), tf.tensor1d([0], 'int32'), [8, 8]), cumsum: () => tf.cumsum(x, 1), cumprod: () => tf.cumprod(v, 0, true, true),
  depthToSpace: () => tf.depthToSpace(wide, 2, 'NHWC'), einsum: () => tf.einsum('ij,jk->ik', x, y), fft: () => tf.spectral.fft(tf.complex(tf.ones([4, 32]), tf.ones([4, 32]))),
  ifft: () => tf.spectral.ifft(tf.complex(tf.ones([4, 32]), tf.ones([4, 32]))), fill: () => tf.fill([100], 2), flip: () => tf.image.flipLeftRight(image), gather: () => tf.gather(x, tf.tensor1d([1, 2, 3], 'int32')),
  gatherND: () => tf.gatherND(x, tf.tensor2d([[1, 2], [3, 4]], [2, 2], 'int32')), mirror: () => tf.mirrorPad(x, [[1, 1], [2, 2]], 'reflect'),
  pad: () => tf.pad(x, [[1, 1], [2, 2]]), range: () => tf.range(0, 1000), resize: () => tf.image.resizeBilinear(image, [50, 60]), resizeN: () => tf.image.resizeNearestNeighbor(image, [50, 60], true),
  rotate: () => tf.image.rotateWithOffset(image, 1, 0, 0.5), scatter: () => tf.scatterND(tf.tensor2d([[1], [3]], [2, 1], 'int32'), tf.ones([2]), [8]),
  search: () => tf.searchSorted(tf.ones([4, 100]), tf.ones([4, 10])), where: () => tf.where(tf.ones([1000], 'bool'), v, v), slice: () => tf.slice(x, [1, 2], [20, 30]), strided: () => tf.stridedSlice(x, [0, 1], [30, 60], [2, 3]),
  tile: () => tf.tile(x, [2, 3]), topk: () => tf.topk(tf.ones([4, 300]), 5), topk1: () => tf.topk(tf.ones([4, 300]), 1), transform: () => tf.image.transform(image, tf.ones([1, 8])), transpose: () => tf.transpose(x),
  transpose3: () => tf.transpose(image, [0, 3, 1, 2]), segment: () => tf.unsortedSegmentSum(v, tf.zeros([1000], 'int32'), 7), bincount: () => tf.bincount(tf.zeros([1000], 'int32'), tf.ones([1000]), 10), denseBincount: () => tf.denseBincount(tf.zeros([10, 100], 'int32'), tf.ones([10, 100]), 7),
  spaceToBatch: () => tf.spaceToBatchND(tf.slice(image, [0, 0, 0, 0], [2, 32, 34, 3]), [2, 2], [[0, 0], [0, 0]]), multinomial: () => tf.multinomial(tf.ones([3, 20]), 50), oneHot: () => tf.oneHot(tf.ones([100], 'int32'), 7),
  lrn: () => tf.localResponseNormalization(wide), 
  gradMaxPool: () => kernel('MaxPoolGrad', {dy: half, input: image, output: half}, {filterSize: 2, strides: 2, pad: 'valid'}), gradAvgPool: () => kernel('AvgPoolGrad', {dy: half, input: image}, {filterSize: 2, strides: 2, pad: 'valid'}),
  gradConv: () => kernel('Conv2DBackpropFilter', {x: image, dy: deep}, {strides: 1, pad: 'same', dataFormat: 'NHWC', filterShape: [3, 3, 3, 8]}), gradInput: () => kernel('Conv2DBackpropInput', {dy: deep, filter: tf.ones([3, 3, 3, 8])}, {strides: 1, pad: 'same', dataFormat: 'NHWC', inputShape: [2, 33, 35, 3]}),
  gradDepth: () => kernel('DepthwiseConv2dNativeBackpropFilter', {x: image, dy: tf.ones([2, 33, 35, 6])}, {strides: 1, dilations: 1, pad: 'same', filterShape: [3, 3, 3, 2]}), gradDepthInput: () => kernel('DepthwiseConv2dNativeBackpropInput', {dy: tf.ones([2, 33, 35, 6]), filter: tf.ones([3, 3, 3, 2])}, {strides: 1, dilations: 1, pad: 'same', inputShape: [2, 33, 35, 3]}),
  gradResize: () => kernel('ResizeBilinearGrad', {images: image, dy: tf.ones([2, 50, 60, 3])}, {alignCorners: false}), gradNearest: () => kernel('ResizeNearestNeighborGrad', {images: image, dy: tf.ones([2, 50, 60, 3])}, {alignCorners: false}),
  gradLrn: () => kernel('LRNGrad', {x: wide, y: wide, dy: wide}, {depthRadius: 5, bias: 1, alpha: 1, beta: 0.5}), gradDilation: () => kernel('Dilation2DBackpropInput', {x: image, filter: tf.ones([3, 3, 3]), dy: image}, {strides: 1, pad: 'same', dilations: 1}),
  gradDilationFilter: () => kernel('Dilation2DBackpropFilter', {x: image, filter: tf.ones([3, 3, 3]), dy: image}, {strides: 1, pad: 'same', dilations: 1}), gradConv3: () => kernel('Conv3DBackpropFilterV2', {x: volume, dy: tf.ones([1, 8, 8, 8, 3])}, {strides: 1, pad: 'same', filterShape: [2, 2, 2, 4, 3]}),
  gradConv3Input: () => kernel('Conv3DBackpropInputV2', {dy: tf.ones([1, 8, 8, 8, 3]), filter: tf.ones([2, 2, 2, 4, 3])}, {strides: 1, pad: 'same', inputShape: [1, 8, 8, 8, 4]}), gradPool3: () => kernel('AvgPool3DGrad', {dy: tf.ones([1, 4, 4, 4, 4]), input: volume}, {filterSize: 2, strides: 2, pad: 'valid', dimRoundingMode: undefined}),
  gradMax3: () => kernel('MaxPool3DGrad', {dy: tf.ones([1, 4, 4, 4, 4]), input: volume, output: tf.ones([1, 4, 4, 4, 4])}, {filterSize: 2, strides: 2, pad: 'valid', dimRoundingMode: undefined}),
  greater: () => tf.greater(v, v), pow: () => tf.pow(v, v), modulo: () => tf.mod(v, v), atan2: () => tf.atan2(v, v), floorDiv: () => tf.floorDiv(i, i), bits: () => tf.logicalAnd(tf.ones([100], 'bool'), tf.ones([100], 'bool')),
  erf: () => tf.erf(v), elu: () => tf.elu(v), selu: () => tf.selu(v), softplus: () => tf.softplus(v), isNaN: () => tf.isNaN(v), leaky: () => tf.leakyRelu(v), lin: () => tf.linspace(0, 1, 50), fused: () => tf.fused.matMul({a: x, b: y, bias: tf.ones([50]), activation: 'relu'}),
  fusedConv: () => tf.fused.conv2d({x: wide, filter: tf.ones([3, 3, 8, 16]), strides: 1, pad: 'same', bias: tf.ones([16]), activation: 'relu6'}),
};
const failed = [];
for (const [name, call] of Object.entries(calls)) {
  try { tf.tidy(call); } catch (error) { failed.push(`${name}: ${String(error.message).slice(0, 80)}`); }
}
await new Promise(done => setTimeout(done, 500));
console.log(`${Object.keys(calls).length} calls, failed: ${failed.join('; ') || 'none'}`);
save(process.argv[2], '@tensorflow/tfjs-backend-webgpu@4.22.0');
