#!/usr/bin/env bash
# tools/shaders/collect.sh FOLDER: compute shaders of public projects, as texts with what their hosts bind, into FOLDER.
# The packages come from npm; their texts are theirs and are not kept in this repository. Then: judge.py FOLDER.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd); out=$(mkdir -p "$1" && cd "$1" && pwd)
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT; cd "$work"
echo '{"private": true, "type": "module"}' > package.json
npm install --silent --no-audit --no-fund --ignore-scripts --legacy-peer-deps \
  @tensorflow/tfjs-core@4.22.0 @tensorflow/tfjs-backend-webgpu@4.22.0 \
  @luma.gl/gpgpu@9.4.2 @luma.gl/core@9.4 @luma.gl/engine@9.4 @luma.gl/shadertools@9.4 @luma.gl/webgpu@9.4 \
  playcanvas@2.23.3 @babylonjs/core@9.35.0 @orillusion/core@0.9.2 pipemagic@0.1.3 @next2d/webgpu@3.0.5 \
  @ifc-lite/renderer@1.50.0 chartgpu@0.3.10 anime4k-webgpu@1.0.0
node "$here/tfjs.mjs" "$out/tfjs"
node "$here/luma.mjs" "$out/luma"
node "$here/static.mjs" "$out"
