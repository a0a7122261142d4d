"""Names and runaway texts: right, or refused by name, in a second and 100 MB.

    python tools/stress/texts.py [NAMES] [TEXTS] [--runtime wgpu|dawn]

NAMES kernels have arguments, results, shared arrays or themselves called by words of WGSL, GLSL, HLSL, MSL or by
letters of any script; TEXTS formulas grow without bound. The exit status is 1 where anything was wrong.
"""

from __future__ import annotations

import argparse
import linecache
import os
import random
import resource
import sys
import time
from itertools import count

import numpy as np

WORDS = (
    "storage read write read_write uniform workgroup private function handle builtin workgroup_id"
    " num_workgroups group local_invocation_index global_invocation_id position Params params group_ tid"
    " inside index compute binding align size location invariant interpolate must_use vec2 vec3u vec4f"
    " mat2x2f atomicAdd workgroupBarrier subgroupAdd array subgroup_size arrayLength pack2x16float bitcast"
    " f16 i32 bool select texture_storage_2d rgba8unorm ptr atomic u32 sampler f32 fma clamp min max abs"
    " enable requires diagnostic alias override let var const fn struct switch loop discard main int uint"
    " float double half void in_ out inout layout buffer kernel device thread constant metal cbuffer"
    " register SV_Position gl_Position numthreads groupshared precision highp x_ _x __x a__b xé größe 变量 δ"
).split()
PLACES = ("kernel", "argument", "result", "number", "shared", "local")
SECONDS, BYTES = 1.0, 100 << 20
_files = count()

SOURCE = """
@gpu.kernel
def {kernel}({argument}, {result}, {number}):
    gpu.launch(grid=1, threads=64)
    {shared} = gpu.shared("f32", 64)
    {shared}[gpu.thread] = {argument}[gpu.thread] * {number}
    gpu.barrier()
    {local} = {shared}[63 - gpu.thread]
    {local} = {local} + 1
    {result}[gpu.thread] = {local}
"""
PLAIN = {"kernel": "k", "argument": "x", "result": "y", "number": "c", "shared": "s", "local": "v"}


def kernel_of(names: dict[str, str]) -> object:
    """The kernel with these names, from a file of its own."""
    from cutepy import gpu

    text, file = SOURCE.format(**names), f"<names {next(_files)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    room = {"gpu": gpu}
    exec(compile(text, file, "exec"), room)
    return room[names["kernel"]]


def names(total: int, seed: int = 0) -> list[str]:
    """What was wrong with kernels of so many names: each once alone, then several at once."""
    from cutepy import gpu
    from cutepy.errors import CutepyError

    pick, wrong = random.Random(seed), []
    x = np.arange(64, dtype=np.float32)
    dx, dy = gpu.array(x), gpu.array(x)
    for turn in range(total):
        chosen = dict(PLAIN)
        places = [PLACES[turn % len(PLACES)]] if turn < len(WORDS) * len(PLACES) else pick.sample(PLACES, 3)
        words = [WORDS[turn // len(PLACES) % len(WORDS)]] if len(places) == 1 else pick.sample(WORDS, 3)
        chosen |= dict(zip(places, words, strict=True))
        if len({*chosen.values()}) < len(chosen):
            continue
        try:
            kernel_of(chosen)(dx, dy, 2.0)
            if not np.array_equal(dy.numpy(), 2 * x[::-1] + 1):
                wrong.append(f"{chosen}: wrong values")
        except CutepyError as error:
            if not any(word in str(error) for word in words) or "please report" in str(error):
                wrong.append(f"{chosen}: {str(error)[:200]}")
        except SyntaxError:
            continue  # Python's own words
        except Exception as error:
            wrong.append(f"{chosen}: {type(error).__name__}: {str(error)[:200]}")
    return wrong


def runaway(pick: random.Random) -> str:
    """A formula that grows: in depth, length, operands, or in what its numbers come to."""
    n = pick.choice((10, 60, 300, 3000, 50_000))
    big = pick.choice(("9**9**9", "(1<<100000000)", "2**2**2**2**2**2", "9" * n, "1e999", "0." + "0" * n + "1"))
    return pick.choice(
        (
            "(" * n + "a" + ")" * n,
            "+".join(["a"] * n),
            "-" * n + "a",
            "a" + "**2" * n,
            "a" + "<<3" * min(n, 300),
            "exp(" * min(n, 3000) + "a" + ")" * min(n, 3000),
            "+".join(f"a{i}" for i in range(n)),
            "a if a < 1 else " * min(n, 3000) + "a",
            "a" + "<a" * n,
            f"a+{big}",
            f"a*{big}",
            f"{big}**a",
            "*".join([big] * 5) + "+a",
            "a+'x'*10**9",
            "a" * n,
            "a+[0]*10**9",
            "a+" + "*".join(["9" * 300] * 40),
        )
    )


def texts(total: int, seed: int = 0) -> list[str]:
    """What was wrong with so many formulas."""
    from cutepy import gpu
    from cutepy.errors import CutepyError

    pick, wrong = random.Random(seed), []
    one = np.ones(4, np.float32)
    gpu.pointwise("a+1")(one, engine="interpreter")
    sys.set_int_max_str_digits(0)
    for turn in range(total):
        text, start = runaway(pick), time.perf_counter()
        held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        said = "computed"
        try:
            formula = gpu.pointwise(text)
            if len(formula.names) <= 4:
                formula(*[one] * len(formula.names), engine="interpreter")
        except CutepyError as error:
            said = "refused"
            if len(str(error)) > 2000:
                wrong.append(f"{turn}, {text[:40]!r}: a message of {len(str(error))} characters")
        except Exception as error:
            wrong.append(f"{turn}, {text[:40]!r} of {len(text)}: {type(error).__name__}: {str(error)[:100]}")
        lasted = time.perf_counter() - start
        more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - held) << 10
        if lasted > SECONDS or more > BYTES:
            wrong.append(f"{turn}, {text[:40]!r} of {len(text)}: {said} in {lasted:.1f} s, {more >> 20} MB")
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="?", type=int, default=2000)
    parser.add_argument("texts", nargs="?", type=int, default=200)
    parser.add_argument("--runtime", default="wgpu")
    options = parser.parse_args()
    os.environ["CUTEPY_RUNTIME"] = options.runtime
    wrong = texts(options.texts) + names(options.names)
    print(f"{options.names} names, {options.texts} texts: {len(wrong)} wrong", *wrong[:30], sep="\n  ")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
