"""Where the tensors of a test are: on the host, and on a device."""

from collections.abc import Callable

import numpy as np
import pytest

from cutepy import DeviceError, Tensor, gpu, make_tensor


@pytest.fixture(params=["host", "device"])
def home(request: pytest.FixtureRequest) -> Callable[[np.ndarray], Tensor]:
    """What makes a tensor of an array there."""
    if request.param == "host":
        return make_tensor
    try:
        gpu.default_device()
    except DeviceError as error:
        pytest.skip(f"NOT TESTED: {str(error).partition(':')[0]}")
    return gpu.array
