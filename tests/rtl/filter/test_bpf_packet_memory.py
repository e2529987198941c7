"""bpf_packet_memory with as few banks as there may be, and with those of the card."""

import pytest
from filter.building import simulate


@pytest.mark.parametrize("data_w", [128, 512])
def test_bpf_packet_memory(data_w: int) -> None:
    simulate("bpf_packet_memory", "bench_bpf_packet_memory", DATA_W=data_w, ROWS=64)
