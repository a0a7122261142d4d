"""Tint in this process: what it refuses, or warns of, without a browser, a driver or a GPU.

Dawn's null backend grants every feature, subgroup matrices included, and computes nothing; a shader module is parsed
and validated there as everywhere.
"""

import functools
import os
from collections.abc import Iterable, Mapping

import pytest
import wgpu

from cutepy.gpu.runtime import missing_runtimes
from cutepy.gpu.runtime.adapters import RUNTIMES
from cutepy.gpu.runtime.dawn import backend, extras
from cutepy.gpu.runtime.pipeline import BUFFER_TYPE
from cutepy.gpu.runtime.program import MATRICES, Program

FEATURES = ("shader-f16", "subgroups", MATRICES)


@functools.cache
def null_device():  # type: ignore[no-untyped-def]
    """A device of Dawn's null backend with every feature that kernels may need; a loud skip where Dawn is missing."""
    if why := missing_runtimes().get("dawn"):
        (pytest.fail if os.environ.get("CUTEPY_REQUIRE_DAWN", "0") != "0" else pytest.skip)(f"NOT TESTED: {why}")
    RUNTIMES["dawn"].adapters()  # sets the toggles of the process
    adapter = next(a for a in backend.gpu._enumerate_all_adapters() if a.info["backend_type"] == "Null")
    return extras.request_device_sync(adapter, required_features=list(FEATURES))


def verdict(text: str) -> list[str]:
    """What Tint says of a text: its errors, else its warnings; empty where it is content."""
    try:
        module = null_device().create_shader_module(code=text)
    except RUNTIMES["dawn"].errors as error:
        return [str(error)]
    messages = module.get_compilation_info_sync().messages
    return [f"{m.type}: {m.message}" for m in messages if "deprecated builtin" not in m.message]  # said of matrices


def pipeline_refusal(program: Program) -> str:
    """What Dawn says of a pipeline of a program, with the layout of its bindings; empty where it is content."""
    device, compute = null_device(), wgpu.ShaderStage.COMPUTE
    kinds = [{"type": BUFFER_TYPE[b.access], "min_binding_size": b.source_bytes} for b in program.bindings]
    try:
        bound = device.create_bind_group_layout(
            entries=[{"binding": i, "visibility": compute, "buffer": kind} for i, kind in enumerate(kinds)]
        )
        device.create_compute_pipeline(
            layout=device.create_pipeline_layout(bind_group_layouts=[bound]),
            compute={"module": device.create_shader_module(code=program.wgsl), "entry_point": program.entry},
        )
    except RUNTIMES["dawn"].errors as error:
        return str(error)
    return ""


def refusals(texts: Mapping[str, str] | Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """What Tint says, by name, where it says something."""
    return {name: found for name, text in dict(texts).items() if (found := verdict(text))}
