"""capture_avalon as on a Cyclone V: 32 bits for the bridge to the processor, 64 bits with responses for the SDRAM's."""

import pytest
from capture.building import simulate


@pytest.mark.parametrize("parameters", [{"MEM_W": 32}, {"MEM_W": 64, "WRITE_RESPONSES": 1, "READ_BUFFER": 32}], ids=str)
def test_capture_avalon(parameters: dict[str, int]) -> None:
    simulate("capture_avalon", "bench_capture_avalon", with_registers=True, **parameters)
