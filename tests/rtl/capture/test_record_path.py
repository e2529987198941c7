"""record_builder and byte_packer: headers of four beats, of one, and below the first data."""

import pytest
from capture.building import simulate
from soak import soak


@pytest.mark.parametrize("mem_w", [32, soak(128), soak(256), 512])
def test_record_path(mem_w: int) -> None:
    simulate("record_path", "bench_record_path", MEM_W=mem_w)
