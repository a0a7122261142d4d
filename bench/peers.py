"""What `bench/gpu.py` measures beside cutepy: torch (cuBLAS) in the same process, ONNX Runtime in one of its own."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
SCRIPTS = (HERE.parents[1] / "shared/tools/peers", HERE.parent / "shared/tools/peers")
LIMIT = 150  # seconds for one process of a peer


@dataclass
class Torch:
    """torch with CUDA. Tensors are its own; times are CUDA events around a few calls."""

    torch: Any

    def tensor(self, array: np.ndarray) -> Any:
        return self.torch.from_numpy(array).cuda()

    def seconds(self, work: Callable[[], object], repeats: int) -> float:
        start, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(repeats):
            work()
        end.record()
        end.synchronize()
        return float(start.elapsed_time(end)) * 1e-3 / repeats

    @property
    def processors(self) -> int:
        return int(self.torch.cuda.get_device_properties(0).multi_processor_count)

    @property
    def clock(self) -> float:
        """The highest clock of the processors, in Hz."""
        query = ["nvidia-smi", "--query-gpu=clocks.max.sm", "--format=csv,noheader,nounits"]
        return float(subprocess.run(query, capture_output=True, text=True, check=True).stdout.split()[0]) * 1e6


def load_torch() -> Torch | None:
    """torch with TF32 off, or None, said aloud."""
    try:
        import torch
    except ImportError:
        print("SKIPPED torch (cuBLAS): it is not installed")
        return None
    if not torch.cuda.is_available():
        print("SKIPPED torch (cuBLAS): it finds no CUDA device")
        return None
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    return Torch(torch)


def onnxruntime_matmul(n: int, dtype: str, folder: Path | None) -> float | None:
    """Seconds of one product of n x n matrices in onnxruntime-webgpu, on the device; None, said aloud, without it."""
    script = next((d / "ort_webgpu.py" for d in (folder, *SCRIPTS) if d and (d / "ort_webgpu.py").exists()), None)
    if script is None:
        print("SKIPPED onnxruntime-webgpu: no ort_webgpu.py in ../shared/tools/peers; give its folder with --peers")
        return None
    command = [sys.executable, str(script), str(n), "7", dtype]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        print(f"SKIPPED onnxruntime-webgpu {n} {dtype}: more than {LIMIT} s")
        return None
    found = re.search(r"matmul on-device.*?: ([\d.]+) ms", done.stdout)
    if found is None:
        reason = (done.stderr.strip() or done.stdout.strip() or "no output").splitlines()[-1]
        print(f"SKIPPED onnxruntime-webgpu {n} {dtype}: {reason}")
        return None
    return float(found[1]) * 1e-3
