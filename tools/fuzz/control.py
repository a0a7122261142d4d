"""Random programs of control flow: plain Python, the interpreter and the default device agree.

`python tools/fuzz/control.py COUNT [SEED] [--host] [--numbers | --again | --held]` prints one line, and each program
that is wrong; `--numbers` are programs about Python's own integers, `--again` these in a loop that Python unrolls,
`--held` keep names in a list, a dictionary, an object.
"""

import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "gpu"))

from control_programs import held, met_again, numbers, outcome, program

words = [word for word in sys.argv[1:] if not word.startswith("-")]
count, first = int(words[0]), int(words[1]) if len(words) > 1 else 0
writers = {"--numbers": numbers, "--again": met_again, "--held": held}
write = next((writer for option, writer in writers.items() if option in sys.argv), program)
found: Counter[str] = Counter()
for seed in range(first, first + count):
    said = outcome(seed, device="--host" not in sys.argv, write=write)
    found[said.partition(":")[0]] += 1
    if said.startswith("wrong") or ("--refused" in sys.argv and said.startswith("refused")):
        print(f"program {seed}: {said}\n{write(seed)}")
print(f"{count} programs from {first}: {found['right']} right, {found['wrong']} wrong, {found['refused']} refused")
sys.exit(found["wrong"] > 0)
