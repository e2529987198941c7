"""accel_crc32 and accel_checksum on wide and narrow streams, and one of them behind a decoupler."""

import pytest
from rpu_accel.building import simulate


@pytest.mark.parametrize("width", [128, 512])
@pytest.mark.parametrize("block", ["accel_crc32", "accel_checksum"])
def test_sums(block: str, width: int) -> None:
    simulate(block, "bench_accel_sums", DATA_W=width)


def test_decoupled() -> None:
    simulate("rpu_accelerator", DATA_W=512, KIND=1)
