"""`kernel`: what a kernel keeps of its calls."""

import importlib

import numpy as np
import pytest

from cutepy import gpu


def test_a_kernel_keeps_the_forms_of_its_last_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    @gpu.kernel
    def filled(y, *, number):
        gpu.launch(threads=4)
        y[gpu.thread] = number

    monkeypatch.setattr(importlib.import_module("cutepy.gpu.trace.kernel"), "KEPT", 3)
    kept: dict[int, object] = {}  # the last one last
    everything: list[object] = []
    for number in (0, 1, 2, 3, 1, 2, 4, 0, 3):
        form = filled.ir(np.zeros(4, np.float32), number=number)
        assert form is kept.pop(number) if number in kept else all(form is not other for other in everything)
        everything.append(form)
        kept = dict([*kept.items(), (number, form)][-3:])
