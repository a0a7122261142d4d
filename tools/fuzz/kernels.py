"""Random kernels: what `verify` says of them is true, those that are right run alike everywhere, and Tint accepts them.

    python tools/fuzz/kernels.py COUNT [SEED] [--run EVERY] [--tint MOST] [--dawn]

Each kernel is judged by running all its invocations in Python. Of EVERY kernels (default 20; 0 for none) one is taken
for the interpreter and wgpu, with Dawn too, each checked and unchecked, and printed for Tint, until it has MOST
(default 0).
"""

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "gpu")]

from judging import Wrong, judge, same_on_engines, text_for_tint  # noqa: E402  found by the path above
from tint import verdict  # noqa: E402

from cutepy.errors import KernelError  # noqa: E402
from cutepy.gpu.runtime import open_device  # noqa: E402


def main(arguments: argparse.Namespace) -> int:
    """Judge the kernels; 1 if anything is wrong."""
    counts: Counter[str] = Counter()
    wrong = ran = unprintable = 0
    texts: dict[int, str] = {}
    start = time.process_time()
    devices = [open_device()] if arguments.run else []
    if arguments.dawn:
        devices.append(open_device(runtime="dawn", checked=True))
    for seed in range(arguments.seed, arguments.seed + arguments.count):
        try:
            counts += judge(seed, wild=seed % 4 != 0, data=seed % 8 == 0, prover="cutepy")  # z3 makes up other data
            if devices and seed % arguments.run == 0:
                ran += same_on_engines(seed, *devices)
            if len(texts) < arguments.tint and (text := text_for_tint(seed)):
                texts[seed] = text
        except KernelError:
            unprintable += 1  # a constant index outside an array, say, in a place that is never reached
        except Exception as error:
            wrong += 1
            if wrong <= 20:
                print(f"{type(error).__name__}: {error}" if isinstance(error, Wrong) else f"seed {seed}: {error!r}")
    refused = tint(texts) if texts else 0
    engines = " and ".join(device.runtime.name for device in devices) or "no device"
    statuses = ", ".join(f"{n} {status}" for status, n in sorted(counts.items()))
    print(
        f"{arguments.count} kernels from seed {arguments.seed}: {wrong} wrong ({statuses}); {ran} ran alike on the "
        f"interpreter and {engines}, {unprintable} were refused; Tint refused {refused} of {len(texts)}; "
        f"{time.process_time() - start:.0f} s of CPU"
    )
    return min(wrong + refused, 1)


def tint(texts: dict[int, str]) -> int:
    """How many of these modules Tint refuses."""
    refused = {seed: messages for seed, text in texts.items() if (messages := verdict(text))}
    for seed, messages in list(refused.items())[:10]:
        print(f"seed {seed}: Tint says {messages}")
    return len(refused)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int)
    parser.add_argument("seed", type=int, nargs="?", default=0)
    parser.add_argument("--run", type=int, default=20)
    parser.add_argument("--tint", type=int, default=0)
    parser.add_argument("--dawn", action="store_true")
    sys.exit(main(parser.parse_args()))
