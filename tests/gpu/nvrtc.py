"""NVIDIA's compiler of CUDA C++ texts, which needs no GPU: the wheels nvidia-cuda-nvrtc-cu12 and -runtime-cu12."""

import ctypes
from functools import cache
from importlib.util import find_spec
from pathlib import Path

ARCHITECTURE = "compute_90"


def _folder(wheel: str) -> Path | None:
    try:
        spec = find_spec(f"nvidia.{wheel}")
    except ModuleNotFoundError:
        return None
    return None if spec is None else Path(next(iter(spec.submodule_search_locations or ()), ""))


def missing() -> str:
    """What is not installed of what compiles; "" where all is."""
    wheels = {"nvidia-cuda-nvrtc-cu12": "cuda_nvrtc", "nvidia-cuda-runtime-cu12": "cuda_runtime"}
    return ", ".join(name for name, package in wheels.items() if _folder(package) is None)


@cache
def _library() -> ctypes.CDLL:
    folder = _folder("cuda_nvrtc")
    assert folder is not None
    for path in sorted((folder / "lib").glob("libnvrtc-builtins*")):
        ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
    return ctypes.CDLL(str(next((folder / "lib").glob("libnvrtc.so*"))))


def refusal(text: str) -> str:
    """What the compiler says where it refuses a text, with its warnings; "" where it compiles without any."""
    nvrtc, headers = _library(), _folder("cuda_runtime")
    program = ctypes.c_void_p()
    assert nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernel.cu", 0, None, None) == 0
    options = [f"--gpu-architecture={ARCHITECTURE}", f"--include-path={headers}/include", "--std=c++17"]
    given = (ctypes.c_char_p * len(options))(*[option.encode() for option in options])
    failed = nvrtc.nvrtcCompileProgram(program, len(options), given)
    size = ctypes.c_size_t()
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    said = log.value.decode().strip()
    return said or ("refused" if failed else "")
