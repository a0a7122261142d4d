#!/usr/bin/env bash
# Make .venv with the first Python >= 3.11 of this machine and install cutepy into it with the extra $1 (or none).
set -euo pipefail
cd "$(dirname "$0")/.."
extra="${1:-}"

suits() { "$1" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

if [ ! -x .venv/bin/python ]; then
  for python in "${PYTHON:-}" python3 python3.14 python3.13 python3.12 python3.11; do
    if [ -n "$python" ] && suits "$python"; then
      "$python" -m venv .venv
      break
    fi
  done
fi
if [ ! -x .venv/bin/python ]; then
  echo "cutepy needs Python 3.11 or newer with venv: apt install python3 python3-venv, or name one: make PYTHON=/path/to/python" >&2
  exit 1
fi
.venv/bin/python -m pip install --quiet --disable-pip-version-check -e ".${extra:+[$extra]}"
