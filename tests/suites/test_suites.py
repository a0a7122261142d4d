"""No kernel of other verifiers' suites is proven or refuted against its label; few are undecided."""

import pytest
from ported import PORTS, Port, all_ports

from cutepy import gpu

#: The share of ports that may stay undecided.
UNDECIDED = 0.05


@pytest.mark.parametrize("port", all_ports(), ids=lambda port: port.source)
def test_no_verdict_is_false(port: Port) -> None:
    assert port.outcome in ("right", "undecided"), port.verdict


def test_few_are_undecided() -> None:
    outcomes = [port.outcome for port in all_ports()]
    assert len(outcomes) >= 250
    assert outcomes.count("undecided") <= UNDECIDED * len(outcomes)


def test_names_are_distinct() -> None:
    names = [port.source for port in PORTS]
    assert len(names) == len(set(names))


def test_a_wrong_label_is_noticed() -> None:
    @gpu.kernel
    def everybody_writes(y):
        gpu.launch(threads=8)
        y[0] = gpu.thread

    import numpy as np

    y = np.zeros(8, np.uint32)
    assert Port("planted", "pass", (y,), everybody_writes, None, {}).outcome == "false refutation"

    @gpu.kernel
    def own(y):
        gpu.launch(threads=8)
        y[gpu.thread] = gpu.thread

    assert Port("planted", "fail", (y,), own, None, {}).outcome == "false proof"
