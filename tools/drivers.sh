#!/usr/bin/env bash
# See to it that there is an adapter to run kernels on: where none is found, install Debian's software Vulkan driver if
# root and apt are there, else say in one line what to install. Never fails: the NumPy interpreter runs kernels as well.
# A driver that the user chose through VK_DRIVER_FILES or VK_ICD_FILENAMES is left as it is.
set -euo pipefail
cd "$(dirname "$0")/.."

found() { .venv/bin/python -c 'from cutepy.gpu.runtime import choose_adapter; choose_adapter()' >/dev/null 2>&1; }
say() { echo "drivers: no Vulkan driver found ($1); kernels run in the NumPy interpreter"; }

if found; then
  exit 0
elif [ -n "${VK_DRIVER_FILES:-}${VK_ICD_FILENAMES:-}" ]; then
  say "VK_DRIVER_FILES=${VK_DRIVER_FILES:-} VK_ICD_FILENAMES=${VK_ICD_FILENAMES:-} name none"
elif [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "drivers: no Vulkan driver found, installing libvulkan1 and mesa-vulkan-drivers"
  log=$(mktemp)
  if { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
       libvulkan1 mesa-vulkan-drivers; } >"$log" 2>&1 && found; then
    rm -f "$log"
  else
    say "apt-get could not install one, see $log"
  fi
else
  say "install one: apt install libvulkan1 mesa-vulkan-drivers, dnf install vulkan-loader mesa-vulkan-drivers, or pacman -S vulkan-icd-loader vulkan-swrast"
fi
