"""functional_block with each kernel at narrow, usual and wide buses, and the kernels' own promises."""

import pytest
from bridge.building import simulate
from soak import soak

PARTS = ("noc_unpack", "noc_pack", "idp_table", "noc_route", "block_store", "block_generic", "block_crc32")


@pytest.mark.parametrize(
    "parameters",
    [
        {"DATA_W": 32, "KIND": 0, "STORE_KB": 2, "MAX_PACKET": 300},
        {"DATA_W": 64, "KIND": 1, "STORE_KB": 16, "MAX_PACKET": 1514},
        soak({"DATA_W": 512, "KIND": 1, "STORE_KB": 4, "MAX_PACKET": 300}),
    ],
    ids=str,
)
def test_functional_block(parameters: dict[str, int]) -> None:
    simulate("functional_block", *PARTS, **parameters)


@pytest.mark.parametrize("width", [32, soak(64), 256])
def test_block_generic(width: int) -> None:
    simulate("block_generic", bench="bench_functional_block_generic", DATA_W=width)


@pytest.mark.parametrize("width", [32, 64, soak(128), soak(512)])
def test_block_crc32(width: int) -> None:
    simulate("block_crc32", bench="bench_functional_block_crc32", DATA_W=width)
