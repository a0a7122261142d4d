// Texts that stand in packages as strings: `node static.mjs FOLDER`, run where the packages are installed. Their own
// preprocessors (#if, #include, {NAME}) are followed with what their hosts set; what a host binds is chosen by judge.py.
import {createHash} from 'node:crypto';
import {existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {pathToFileURL} from 'node:url';

const [out] = process.argv.slice(2), modules = join(process.cwd(), 'node_modules');
const version = name => JSON.parse(readFileSync(join(modules, name, 'package.json'), 'utf8')).version;
// What hosts bind, where their code says it: sums of sums and arguments of draws have one workgroup.
const ONE = {grid: [1, 1, 1]};
const HOSTS = {
  gsSortScanSums: ONE, gpsScanSums: ONE, 'compute-gsplat-projector-write-indirect-args': ONE, 'compute-gsplat-shadow-indirect-args': ONE,
  'compute-gsplat-write-indirect-args': ONE,
  'compute-prefix-sum.reduce_downsweep': {lengths: {items: 4000, blockSums: 8}, numbers: {'uniforms.elementCount': 4000}, grid: [8, 1, 1]},
  'compute-prefix-sum.add_block_sums': {lengths: {items: 4000, blockSums: 8}, numbers: {'uniforms.elementCount': 4000}, grid: [8, 1, 1]},
};
let count = 0;
const shapes = new Set();

function save(project, source, name, code) {
  const entries = [...code.replace(/\/\/.*|\/\*[^]*?\*\//g, '').matchAll(/@compute\b[^;{}]*?\bfn\s+(\w+)/g)].map(m => m[1]);
  const folder = join(out, project);
  mkdirSync(folder, {recursive: true});
  for (const entry of entries) {
    const shape = `${code.replace(/\d+/g, '0')}\u0000${entry}`; // numbers alone make no other shader
    if (shapes.has(shape)) continue;
    shapes.add(shape);
    const base = join(folder, entries.length > 1 ? `${name}.${entry}` : name);
    writeFileSync(`${base}.wgsl`, code);
    const sha256 = createHash('sha256').update(code).digest('hex');
    writeFileSync(`${base}.json`, JSON.stringify({source, sha256, label: name, entry, host: HOSTS[base.split('/').pop()] ?? null}));
    count += 1;
  }
}

// #include, #define, #if, #ifdef, #ifndef, #else, #endif as the engines' preprocessors have them.
function preprocess(code, defines, include) {
  for (let turn = 0; turn < 20; turn++) {
    const next = code.replace(/^[ \t]*#include[ \t]*[<"'`]([^>"'`]+)[>"'`].*$/gm, (_, name) => include(name.trim()) ?? '');
    if (next === code) break;
    code = next;
  }
  const lines = [], states = [];
  const live = () => states.every(s => s.taken);
  const holds = text => {
    const plain = text.replace(/defined\s*\(?\s*(\w+)\s*\)?/g, (_, n) => (n in defines ? '1' : '0'))
      .replace(/[A-Za-z_]\w*/g, n => String(defines[n] === undefined || defines[n] === '' ? (n in defines ? 1 : 0) : defines[n]));
    return /^[\d\s()!&|<>=+*.-]*$/.test(plain) && Boolean(Function(`return (${plain || 0})`)());
  };
  for (const line of code.split('\n')) {
    const m = line.match(/^\s*#(ifdef|ifndef|if|elif|else|endif|define|undef)\b[ \t]*(.*)$/);
    if (!m) { if (live()) lines.push(line); continue; }
    const [, word, rest] = m, text = rest.replace(/\/\/.*/, '').trim();
    if (word === 'ifdef') { const taken = text in defines; states.push({taken, done: taken}); }
    else if (word === 'ifndef') { const taken = !(text in defines); states.push({taken, done: taken}); }
    else if (word === 'if') { const taken = holds(text); states.push({taken, done: taken}); }
    else if (word === 'elif') { const s = states.at(-1); s.taken = !s.done && holds(text); s.done ||= s.taken; }
    else if (word === 'else') { const s = states.at(-1); s.taken = !s.done; s.done = true; }
    else if (word === 'endif') states.pop();
    else if (live() && word === 'define') { const [, n, v] = text.match(/^(\w+)\s*(.*)$/) ?? []; if (n) defines[n] = v.replace(/;$/, ''); }
  }
  code = lines.join('\n');
  for (const [name, value] of Object.entries(defines)) if (value !== '') code = code.replace(new RegExp(`\\b${name}\\b`, 'g'), value);
  return code;
}

// The template literals of a text that hold an entry point, and what stands before each.
function* literals(text) {
  for (let at = text.indexOf('`'); at >= 0; at = text.indexOf('`', at)) {
    let end = at + 1, holes = 0;
    for (; end < text.length && text[end] !== '`'; end++) {
      if (text[end] === '\\') end++;
      else if (text[end] === '$' && text[end + 1] === '{') { holes++; let depth = 1; for (end += 2; depth; end++) depth += text[end] === '{' ? 1 : text[end] === '}' ? -1 : 0; end--; }
    }
    const body = text.slice(at + 1, end).replace(/\\(.)/g, '$1');
    if (/@compute/.test(body)) yield {body, holes, before: text.slice(Math.max(0, at - 80), at)};
    at = end + 1;
  }
}
const named = (before, otherwise) => (before.match(/([\w$]+)\s*(?:=|\(\)\s*\{\s*return)\s*\(?\s*(?:\/\*\s*wgsl\s*\*\/)?\s*$/) ?? [])[1] ?? otherwise;
const shader = file => [...literals(readFileSync(file, 'utf8'))];

if (existsSync(join(modules, '@babylonjs/core'))) {
  const folder = join(modules, '@babylonjs/core/ShadersWGSL');
  const text = file => (existsSync(file) ? readFileSync(file, 'utf8').match(/const shader = `([^]*?)`;/)?.[1].replace(/\\(.)/g, '$1') : undefined);
  const include = name => text(join(folder, 'ShadersInclude', `${name}.js`));
  for (const file of readdirSync(folder).filter(f => f.endsWith('.compute.js')))
    save('babylon', `@babylonjs/core@${version('@babylonjs/core')}`, file.replace('.compute.js', ''),
      preprocess(text(join(folder, file)), {NUM_BONE_INFLUENCERS: '4', BOXEMITTER: '', HALF_PRECISION: '', SM_NUM_CASCADES: '4'}, include));
}
if (existsSync(join(modules, 'playcanvas'))) {
  const folder = join(modules, 'playcanvas/build/playcanvas/src/scene/shader-lib/wgsl/chunks');
  const evaluated = async file => Object.values(await import(pathToFileURL(file))).find(v => typeof v === 'string');
  const chunks = {};
  for (const part of ['radix-sort', 'gsplat', 'common/comp', 'common/frag', 'particle'])
    for (const file of existsSync(join(folder, part)) ? readdirSync(join(folder, part)) : [])
      if (file.endsWith('.js')) chunks[file.replace('.js', '')] ??= await evaluated(join(folder, part, file));
  const chunk = name => chunks[name];
  const includes = {halfTypesCS: 'half-types'};
  const include = name => chunk(includes[name.split(',')[0]] ?? name) ?? chunk(name.replace(/CS$/, '').replace(/([A-Z])/g, s => `-${s.toLowerCase()}`)) ?? chunk(`compute-${name.replace(/CS$/, '').replace(/([A-Z])/g, s => `-${s.toLowerCase()}`)}`) ?? `// ${name} is not found`;
  const given = {WORKGROUP_SIZE_X: 16, WORKGROUP_SIZE_Y: 16, THREADS_PER_WORKGROUP: 256, ITEMS_PER_WORKGROUP: 512, CURRENT_BIT: 4, ELEMENTS_PER_THREAD: 8, IS_FIRST_PASS: 0, IS_LAST_PASS: 0, WORKGROUP_SIZE: 256, INSTANCE_SIZE: 128, CACHE_STRIDE: 8,
    KEYGEN_THREADS_PER_WORKGROUP: 256, MAX_WORKGROUPS_PER_DIM: 65535, D_DIM: 256, KEYS_PER_THREAD: 15, MAX_SUBGROUPS: 64, G_HIST_DIM: 128, G_HIST_PART_SIZE: 32768, PART_SIZE: 256};
  for (const part of ['radix-sort', 'gsplat'])
    for (const file of readdirSync(join(folder, part)).filter(f => f.endsWith('.js'))) {
      const name = file.replace('.js', ''), code = chunk(name);
      if (code && /@compute/.test(code))
        save('playcanvas', `playcanvas@${version('playcanvas')}`, name, preprocess(code, {SH_BANDS: '0', GSPLAT_AA: '0'}, include).replace(/\{([A-Z_]+)\}/g, (all, n) => given[n] ?? all));
    }
}
const bundles = {
  pipemagic: ['pipemagic', 'dist/index.js'], next2d: ['@next2d/webgpu', 'src/Compute/ComputePipelineManager.js'],
  ifc: ['@ifc-lite/renderer', 'dist/deviation/deviation-shader.wgsl.js'], orillusion: ['@orillusion/core', 'dist/orillusion.es.max.js'],
};
for (const [project, [pack, file]] of Object.entries(bundles)) {
  if (!existsSync(join(modules, pack))) continue;
  const text = readFileSync(join(modules, pack, file), 'utf8');
  // Orillusion registers its own includes: let Name = `...` with ShaderLib.register("Name", Name).
  const include = name => { const m = text.match(new RegExp(`register\\("${name}",\\s*([\\w$.]+)`)); const v = m && m[1].split('.').pop(); const b = v && text.match(new RegExp(`(?:let|static|const) ${v.replace('$', '\\$')}\\s*=\\s*\\(?\\s*(?:/\\*\\s*wgsl\\s*\\*/)?\\s*\`([^]*?)\``)); return b ? b[1].replace(/\\(.)/g, '$1') : ''; };
  let number = 0;
  for (const {body, holes, before} of shader(join(modules, pack, file))) {
    const constant = body.replace(/\$\{([^{}]*)\}/g, (all, e) => (/^[\d\s+*()]+$/.test(e) ? String(Function(`return ${e}`)()) : all));
    if (/\$\{/.test(constant)) continue; // built from parts that only the running engine has
    save(project, `${pack}@${version(pack)}`, named(before, `${project}${number++}`), preprocess(constant, {}, include));
  }
}
if (existsSync(join(modules, 'chartgpu'))) {
  const file = readdirSync(join(modules, 'chartgpu/dist')).filter(f => /^index.*\.js$/.test(f)).sort()[0];
  let number = 0;
  for (const {body} of shader(join(modules, 'chartgpu/dist', file))) if (!/\$\{/.test(body)) save('chartgpu', `chartgpu@${version('chartgpu')}`, `chartgpu${number++}`, body);
}
if (existsSync(join(modules, 'anime4k-webgpu'))) {
  const text = readFileSync(join(modules, 'anime4k-webgpu/lib/index.js'), 'utf8');
  const strings = [...text.matchAll(/"((?:[^"\\]|\\.)*@compute(?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*@compute(?:[^'\\]|\\.)*)'/g)].map(m => { try { return JSON.parse(`"${(m[1] ?? m[2]).replace(/\\'/g, "'").replace(/(?<!\\)"/g, '\\"')}"`); } catch { return ''; } });
  // One of each length class: the nets repeat one layer with other weights.
  const short = strings.filter(s => s && s.length < 9000).sort((a, b) => a.length - b.length);
  [...new Set(short)].filter((_, i, all) => i % Math.ceil(all.length / 10) === 0).forEach((s, i) => save('anime4k', `anime4k-webgpu@${version('anime4k-webgpu')}`, `layer${i}`, s));
}
console.log(`${count} entry points`);
