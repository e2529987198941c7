"""Both ways to meet a full memory, both kinds of memory, 8 to 512 bits; and cocotbext-axi as an independent opinion."""

import pytest
from simulation import simulate


@pytest.mark.parametrize(
    "parameters",
    [
        {"DATA_W": 8, "USER_W": 1, "DEPTH": 4, "DROP_WHEN_FULL": 1},
        {"DATA_W": 8, "USER_W": 1, "DEPTH": 4, "DROP_WHEN_FULL": 0},
        {"DATA_W": 64, "USER_W": 33, "DEPTH": 32, "DROP_WHEN_FULL": 1, "BLOCK_RAM": 1},
        {"DATA_W": 64, "USER_W": 33, "DEPTH": 32, "DROP_WHEN_FULL": 0, "BLOCK_RAM": 1},
        {"DATA_W": 16, "USER_W": 210, "DEPTH": 16, "DROP_WHEN_FULL": 0, "BLOCK_RAM": 0},
        {"DATA_W": 512, "USER_W": 33, "DEPTH": 256, "DROP_WHEN_FULL": 1},
    ],
)
def test_packet_fifo(parameters: dict[str, int]) -> None:
    simulate("packet_fifo", **parameters)


@pytest.mark.parametrize("drop_when_full", [0, 1])
def test_packet_fifo_with_cocotbext_axi(drop_when_full: int) -> None:
    simulate(
        "packet_fifo",
        "bench_packet_fifo_axi",
        DATA_W=64,
        USER_W=33,
        DEPTH=32,
        DROP_WHEN_FULL=drop_when_full,
        BLOCK_RAM=1,
    )
