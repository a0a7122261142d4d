"""NVIDIA's compiler of CUDA C++ texts, which needs no GPU: the wheels nvidia-cuda-nvrtc-cu12 and -runtime-cu12."""

import ctypes
from functools import cache
from importlib.util import find_spec
from pathlib import Path

ARCHITECTURE = 90


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


#: What a text is asked whose code nobody runs: whether it is C++, in the least time.
REFUSALS_ALONE = "--minimal", "--Ofast-compile=max"


def _made(text: str, architecture: str, result: str, *more: str) -> tuple[str, bytes]:
    """What the compiler says of a text, with its warnings, and what it makes: "PTX" or "CUBIN"."""
    nvrtc, headers = _library(), _folder("cuda_runtime")
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    assert nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernel.cu", 0, None, None) == 0
    options = [f"--gpu-architecture={architecture}", f"--include-path={headers}/include", "--std=c++17", *more]
    given = (ctypes.c_char_p * len(options))(*[option.encode() for option in options])
    failed = nvrtc.nvrtcCompileProgram(program, len(options), given)

    def answer(name: str) -> bytes:
        getattr(nvrtc, f"nvrtcGet{name}Size")(program, ctypes.byref(size))
        held = ctypes.create_string_buffer(size.value)
        getattr(nvrtc, f"nvrtcGet{name}")(program, held)
        return held.raw

    log, code = answer("ProgramLog").rstrip(b"\0").decode().strip(), b"" if failed else answer(result)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return log or ("refused" if failed else ""), code


def refusal(text: str) -> str:
    """What the compiler says where it refuses a text, with its warnings; "" where it compiles without any."""
    return _made(text, f"compute_{ARCHITECTURE}", "PTX", *REFUSALS_ALONE)[0]


def compiled(text: str) -> bytes:
    """The code of a text for a GPU of the architecture. Raises ValueError with what the compiler says."""
    said, code = _made(text, f"sm_{ARCHITECTURE}", "CUBIN")
    if not code:
        raise ValueError(said)
    return code
