"""A model's forward through public names: GPT-2 small (12 layers of 768, 12 heads, f32, random weights).

    python bench/model.py [--layers 12] [--width 768] [--tokens 1024,17,1] [--vocab 50257] [--rounds 8]
    python bench/model.py --lengths 100 [--decode 256]
    python bench/model.py --steps 10000 --layers 2 --width 256 --vocab 1000

Wall time of a forward with one wait at its end, the host's share of it (until the last call returns), the device's own
time, and the first forward at each length with the pipelines that it made; beside torch, where it has a GPU.
With --lengths, forwards at so many random lengths of 1 to 1,024: the pipelines that were made after the first, and
what the first forward at a length takes beside the next. With --decode, a block of one layer that appends so many
tokens, one by one, to a cache of keys and values. With --steps, so many forwards at random lengths whose results are
kept and dropped at random: the memory that is held at most beside the most that was in use at once, and wrong results.
The kernels are `examples/kernels/attention.py` and `layer_norm.py`, the rest is `ops`.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "examples" / "kernels")]

import numpy as np  # noqa: E402  found by the path above
from attention import attention, rows_of  # noqa: E402
from layer_norm import layer_norm  # noqa: E402

from cutepy import Layout, Tensor, _, composition, gpu, local_tile, ops  # noqa: E402

GELU = "0.5 * s * (1 + tanh(0.7978845608028654 * (s + 0.044715 * s * s * s)))"


@gpu.kernel(sizes={"ids": "(R,?...)", "tokens": "(V,N)", "positions": "(C,N)", "out": "(R,N)"}, given=["R <= C"])
def embed(ids, tokens, positions, out):  # ids (rows,), tokens (vocab, n), positions (context, n), out (rows, n)
    """The row of each token and of its position, added; an id beyond the vocabulary is the last."""
    rows, n = out.shape
    gpu.launch(grid=rows, threads=128)
    row = gpu.minimum(ids[gpu.workgroup.x], tokens.shape[0] - 1)
    for j in gpu.loop(n, start=gpu.thread, step=128):
        out[gpu.workgroup.x, j] = tokens[row, j] + positions[gpu.workgroup.x, j]


def attend(qkv, mixed, *, rows):  # (length, 3 width) and (length, width), of heads of 64
    """Causal attention of Q, K and V that lie beside one another."""
    across = mixed.shape[1] // 64
    heads = [local_tile(x, (_, 64), (0, _)) for x in (qkv, mixed)]
    q, k, v, o = (local_tile(heads[x], (_, _, across), (0, 0, n)) for x, n in ((0, 0), (0, 1), (0, 2), (1, 0)))
    attention.function(q, k, v, o, causal=True, rows=rows)


def normal(x, gain, bias, y):  # (rows, n), (n), (n), (rows, n)
    """Layer norm of each row."""
    each = Layout(x.shape, (0, 1))
    layer_norm.function(x, composition(gain, each), composition(bias, each), y)


class Model:
    """GPT-2 with random weights, on the default device."""

    def __init__(self, layers: int, width: int, vocab: int, context: int) -> None:
        g = np.random.default_rng(0)
        self.width, self.heads = width, width // 64
        self.norm = gpu.kernel(sizes=dict.fromkeys("xy", f"(R,{width})"))(normal)
        self.attend = gpu.kernel(sizes={"qkv": f"(T,{3 * width})", "mixed": f"(T,{width})"})(attend)

        def random(*shape: int, scale: float = 0.02) -> np.ndarray:
            return (g.standard_normal(shape) * scale).astype(np.float32)

        self.host: list[dict[str, np.ndarray]] = [
            {
                "norm1": 1 + random(width), "bias1": random(width),
                "qkv": random(width, 3 * width), "qkv_bias": random(3 * width),
                "out": random(width, width), "out_bias": random(width),
                "norm2": 1 + random(width), "bias2": random(width),
                "up": random(width, 4 * width), "up_bias": random(4 * width),
                "down": random(4 * width, width), "down_bias": random(width),
            }
            for _round in range(layers)
        ]  # fmt: skip
        self.table, self.positions = random(vocab, width), random(context, width)
        self.final = {"norm": 1 + random(width), "bias": random(width)}
        self.layers = [{name: gpu.array(x) for name, x in layer.items()} for layer in self.host]
        self.device_table, self.device_positions = gpu.array(self.table), gpu.array(self.positions)
        self.last = {name: gpu.array(x) for name, x in self.final.items()}

    def normal(self, x: Tensor, gain: Tensor, bias: Tensor) -> Tensor:
        """Layer norm of each row."""
        y = gpu.empty(x.shape)
        self.norm(x, gain, bias, y)
        return y

    def forward(self, ids: Tensor) -> Tensor:
        """Scores of the vocabulary for the last token, (1, vocab)."""
        (rows,) = ids.shape
        x = gpu.empty((rows, self.width))
        embed(ids, self.device_table, self.device_positions, x)
        for layer in self.layers:
            h = self.normal(x, layer["norm1"], layer["bias1"])
            qkv = ops.matmul(h, layer["qkv"], epilogue="c + bias", bias=layer["qkv_bias"])
            mixed = gpu.empty((rows, self.width))
            self.attend(qkv, mixed, rows=rows_of(rows, self.heads))
            x = ops.matmul(mixed, layer["out"], epilogue="c + bias + x", bias=layer["out_bias"], x=x)
            h = self.normal(x, layer["norm2"], layer["bias2"])
            up = ops.matmul(h, layer["up"], epilogue=GELU.replace("s", "(c + bias)"), bias=layer["up_bias"])
            x = ops.matmul(up, layer["down"], epilogue="c + bias + x", bias=layer["down_bias"], x=x)
        h = self.normal(x, self.last["norm"], self.last["bias"])
        last = local_tile(h, (1, self.width), (rows - 1, 0))
        return ops.matmul(last, ops.permute(self.device_table, (1, 0)))

    def decode(self, x: Tensor, cache: Tensor, token: int) -> Tensor:
        """The first layer for one token more, x (1, width), whose key and value go to row `token` of the cache."""
        layer, width, heads, count = self.layers[0], self.width, self.heads, token + 1
        h = self.normal(x, layer["norm1"], layer["bias1"])
        qkv = ops.matmul(h, layer["qkv"], epilogue="c + bias", bias=layer["qkv_bias"])
        for part in (1, 2):
            stored = local_tile(cache, (1, width), (token, part - 1))
            gpu.pointwise("x")(local_tile(qkv, (1, width), (0, part)), out=stored)
        q = composition(local_tile(qkv, (1, width), (0, 0)), Layout((heads, 1, 64), (64, width, 1)))
        k, v = (Tensor(cache.engine, Layout((count, width), (2 * width, 1)), at) for at in (0, width))
        k = composition(k, Layout((heads, 64, count), (64 * count, count, 1)))
        v = composition(v, Layout((heads, count, 64), (64 * count, 1, count)))
        shares = ops.softmax(ops.matmul(q, k, epilogue="0.125 * c"))
        mixed = ops.reshape(ops.matmul(shares, v), (1, width))
        x = ops.matmul(mixed, layer["out"], epilogue="c + bias + x", bias=layer["out_bias"], x=x)
        h = self.normal(x, layer["norm2"], layer["bias2"])
        up = ops.matmul(h, layer["up"], epilogue=GELU.replace("s", "(c + bias)"), bias=layer["up_bias"])
        return ops.matmul(up, layer["down"], epilogue="c + bias + x", bias=layer["down_bias"], x=x)

    def expected(self, ids: np.ndarray) -> np.ndarray:
        """The same by NumPy in float64."""

        def normal(x: np.ndarray, gain: np.ndarray, bias: np.ndarray) -> np.ndarray:
            return (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5) * gain + bias

        x = (self.table[ids] + self.positions[: len(ids)]).astype(np.float64)
        mask = np.triu(np.full((len(ids), len(ids)), -np.inf), 1)
        for w in self.host:
            qkv = normal(x, w["norm1"], w["bias1"]) @ w["qkv"].astype(np.float64) + w["qkv_bias"]
            q, k, v = (part.reshape(len(ids), self.heads, 64).transpose(1, 0, 2) for part in np.split(qkv, 3, 1))
            s = q @ k.transpose(0, 2, 1) / 8 + mask
            e = np.exp(s - s.max(2, keepdims=True))
            mixed = (e / e.sum(2, keepdims=True)) @ v
            x = x + mixed.transpose(1, 0, 2).reshape(len(ids), -1) @ w["out"] + w["out_bias"]
            s = normal(x, w["norm2"], w["bias2"]) @ w["up"].astype(np.float64) + w["up_bias"]
            x = x + 0.5 * s * (1 + np.tanh(0.7978845608028654 * (s + 0.044715 * s**3))) @ w["down"] + w["down_bias"]
        return normal(x, self.final["norm"], self.final["bias"])[-1:] @ self.table.T.astype(np.float64)


CALLS = 5
"""Calls of a turn."""
Run = tuple[Callable[[], object], Callable[[], object]]
"""A call, and what waits until its device is done."""


def timed(runs: Sequence[Run], rounds: int) -> list[tuple[float, float]]:
    """Milliseconds of each call until the device is done, and until the host is: medians of rounds in which all take
    turns, so that what slows the machine for a while slows all of them; a turn is so many calls, and the first does not
    count."""
    whole, host = ([list[float]() for _ in runs] for _ in "ab")
    for _round in range(rounds):
        for each, (run, wait) in enumerate(runs):
            for number in range(CALLS):
                wait()
                begin = time.perf_counter()
                run()
                called = time.perf_counter()
                wait()
                if number:
                    whole[each].append(1e3 * (time.perf_counter() - begin))
                    host[each].append(1e3 * (called - begin))
    return [(statistics.median(a), statistics.median(b)) for a, b in zip(whole, host, strict=True)]


def at_lengths(model: Model, count: int, longest: int) -> str:
    """Forwards at so many random lengths: what is compiled after the first, and the wall time of a new length."""
    device, pick = gpu.default_device(), random.Random(0)
    made: list[int] = []
    ratios: list[float] = []
    for length in pick.sample(range(1, longest + 1), min(count, longest)):
        numbers = (np.arange(length) % len(model.table)).astype(np.uint32)
        ids, before, took = gpu.array(numbers), device.stats.compiled, []
        for _round in range(4):
            device.wait()
            begin = time.perf_counter()
            scores = model.forward(ids)
            device.wait()
            took.append(time.perf_counter() - begin)
        made.append(device.stats.compiled - before)
        if made[-1] or len(made) % 10 == 0:
            wanted = model.expected(numbers)
            error = float(np.abs(scores.numpy() - wanted).max() / np.abs(wanted).max())
            print(f"  length {length}: {made[-1]} pipelines, error {error:.1e}", flush=True)
        if not made[-1]:
            ratios.append(took[0] / statistics.median(took[1:]))
    new = f"{statistics.median(ratios):.2f} (median), {max(ratios):.2f} (most) of the next forward" if ratios else "-"
    return f"{len(made)} lengths: {made[0]} pipelines, then {sum(made[1:])} more; a new length takes {new}"


def decoded(model: Model, tokens: int) -> str:
    """A layer for so many tokens, one by one: what is compiled after the first, and a token's median where nothing is,
    until its calls return and until its result is read."""
    device, width = gpu.default_device(), model.width
    cache = gpu.array(np.zeros((tokens, 2 * width), np.float32))
    made: list[int] = []
    host: list[float] = []
    whole: list[float] = []
    for token in range(tokens):
        before = device.stats.compiled
        x = gpu.array(np.random.default_rng(token).standard_normal((1, width)).astype(np.float32))
        device.wait()
        begin = time.perf_counter()
        y = model.decode(x, cache, token)
        called = time.perf_counter()
        y.numpy()
        made.append(device.stats.compiled - before)
        if not made[-1]:
            host.append(called - begin)
            whole.append(time.perf_counter() - begin)
    last = max([token for token, n in enumerate(made) if n], default=0)
    told = f"{made[0]} pipelines, then {sum(made[1:])} more, the last at token {last}"
    each, calls = (statistics.median(times) * 1e3 for times in (whole, host))
    return f"{tokens} tokens: {told}; a token {each:.2f} ms, host {calls:.2f} ms (medians without compilation)"


def kept_at_random(model: Model, steps: int, longest: int) -> str:
    """Forwards at random lengths, of which some results are kept for a while and then looked at."""
    device, pick = gpu.default_device(), random.Random(1)
    kept: list[tuple[np.ndarray, Tensor]] = []
    held, wrong, looked = 0, 0, 0
    for step in range(steps):
        numbers = np.array([pick.randrange(len(model.table)) for _ in range(pick.randint(1, longest))], np.uint32)
        scores = model.forward(gpu.array(numbers))
        if pick.random() < 0.1:
            kept.append((numbers, scores))
        if len(kept) > 20 or (kept and pick.random() < 0.05):
            numbers, scores = kept.pop(pick.randrange(len(kept)))
            if looked < 200:
                looked, wanted = looked + 1, model.expected(numbers)
                wrong += float(np.abs(scores.numpy() - wanted).max()) > 1e-5 * float(np.abs(wanted).max())
        if step % 20 == 19:
            stats = device.stats
            held = max(held, stats.bytes + stats.pooled)
    peak = device.stats.peak
    return (
        f"{steps} steps: at most {held / 1e6:.1f} MB held, {peak / 1e6:.1f} MB in use at once (ratio "
        f"{held / peak:.2f}), {wrong} of {looked} results wrong"
    )


def torch_forward(model: Model, tokens: int) -> Run | None:
    """torch's forward of the same weights and its wait, where torch has a GPU."""
    try:
        import torch
        import torch.nn.functional as f
    except ImportError:
        return None
    if not torch.cuda.is_available():
        return None
    torch.backends.cuda.matmul.allow_tf32 = False

    def there(x: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(x).cuda()

    layers = [{name: there(x) for name, x in layer.items()} for layer in model.host]
    table, positions = there(model.table), there(model.positions)
    final, width, heads = {name: there(x) for name, x in model.final.items()}, model.width, model.heads
    ids = there(np.arange(tokens, dtype=np.int64) % len(model.table))

    @torch.no_grad()
    def run() -> torch.Tensor:
        x = table[ids] + positions[:tokens]
        for w in layers:
            h = f.layer_norm(x, (width,), w["norm1"], w["bias1"])
            qkv = torch.addmm(w["qkv_bias"], h, w["qkv"])
            q, k, v = (p.reshape(tokens, heads, 64).transpose(0, 1)[None] for p in qkv.split(width, 1))
            mixed = f.scaled_dot_product_attention(q, k, v, is_causal=True)[0].transpose(0, 1).reshape(tokens, width)
            x = x + torch.addmm(w["out_bias"], mixed, w["out"])
            h = f.layer_norm(x, (width,), w["norm2"], w["bias2"])
            x = x + torch.addmm(
                w["down_bias"], f.gelu(torch.addmm(w["up_bias"], h, w["up"]), approximate="tanh"), w["down"]
            )
        return f.layer_norm(x, (width,), final["norm"], final["bias"])[-1:] @ table.T

    return run, torch.cuda.synchronize


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    small = os.environ.get("EXAMPLES_SMALL") == "1"
    for name, value in (("layers", 12), ("width", 768), ("vocab", 50257), ("rounds", 8)):
        parser.add_argument(f"--{name}", type=int, default=min(value, 128) if small else value)
    parser.add_argument("--tokens", default="1024,333,17,1")
    parser.add_argument("--lengths", type=int, default=0)
    parser.add_argument("--decode", type=int, default=0)
    parser.add_argument("--steps", type=int, default=0)
    asked = parser.parse_args()
    lengths = [int(n) for n in asked.tokens.split(",")]
    device = gpu.default_device()
    model = Model(asked.layers, asked.width, asked.vocab, max(1024, *lengths))
    print(f"{device.adapter.name}: {asked.layers} layers of {asked.width}, f32", flush=True)
    if asked.lengths or asked.decode or asked.steps:
        if asked.steps:
            print(kept_at_random(model, asked.steps, 1024), flush=True)
        if asked.lengths:
            print(at_lengths(model, asked.lengths, 64 if small else 1024), flush=True)
        if asked.decode:
            print(decoded(model, asked.decode), flush=True)
        return
    told: list[str] = []
    runs: list[list[Run]] = []
    for tokens in lengths:
        numbers = (np.arange(tokens) % asked.vocab).astype(np.uint32)
        ids, before = gpu.array(numbers), device.stats.pipelines
        begin = time.perf_counter()
        scores = model.forward(ids).numpy()
        first = time.perf_counter() - begin
        wanted = model.expected(numbers)
        error = float(np.abs(scores - wanted).max() / np.abs(wanted).max())
        made = device.stats.pipelines - before
        for _round in range(3):
            model.forward(ids)
        with gpu.record() as step:
            recorded = model.forward(ids)
        step.play()
        assert np.array_equal(recorded.numpy(), scores)
        told.append(
            f"{tokens:5} tokens: {step.launches} launches, first {first:.2f} s with {made} pipelines, error {error:.1e}"
        )
        other = torch_forward(model, tokens)
        runs.append([(partial(model.forward, ids), device.wait), (step.play, device.wait), *([other] if other else [])])
    found = iter(timed([run for each in runs for run in each], asked.rounds))
    if "timestamp-query" in device.features:  # after the rest: the clock is low where the device has waited
        for number, ((forward, _), *_) in enumerate(runs):
            with device.timed() as watch:
                forward()
            told[number] += f"; device {watch.seconds * 1e3:.2f} ms"
    for line, each in zip(told, runs, strict=True):
        (wall, host), (played, played_host), *beside = (next(found) for _ in each)
        line += f"; wall {wall:.2f} ms, host {host:.2f} ms; recorded: wall {played:.2f} ms, host {played_host:.2f} ms"
        for there, there_host in beside:
            line += f"; torch wall {there:.2f} ms, host {there_host:.2f} ms, "
            line += f"ratio {there / wall:.2f} as called, {there / played:.2f} recorded"
        print(line, flush=True)


if __name__ == "__main__":
    main()
