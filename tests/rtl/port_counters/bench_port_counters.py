"""What a port's counters promise."""

import random
from typing import Any

from cocotb.triggers import RisingEdge, Timer

from headrace.testing.streams import behaviour, start

PULSES = ("rx_valid", "rx_dropped", "rx_error", "tx_valid", "tx_dropped")
NAMES = ("rx_packets", "rx_bytes", "rx_dropped", "rx_errors", "tx_packets", "tx_bytes", "tx_dropped")


@behaviour()
async def each_pulse_counts_a_packet_and_its_bytes(dut: Any) -> None:
    for name in PULSES:
        getattr(dut, name).value = 0
    await start(dut)
    due = dict.fromkeys(NAMES, 0)
    for _ in range(500):
        pulses = {name: random.random() < 0.5 for name in PULSES}
        rx, tx = (random.getrandbits(17) for _ in range(2))
        for name, high in pulses.items():
            getattr(dut, name).value = int(high)
        dut.rx_bytes.value, dut.tx_bytes.value = rx, tx
        await RisingEdge(dut.clk)
        due["rx_packets"] += pulses["rx_valid"]
        due["rx_bytes"] += rx * pulses["rx_valid"]
        due["rx_dropped"] += pulses["rx_dropped"]
        due["rx_errors"] += pulses["rx_error"]
        due["tx_packets"] += pulses["tx_valid"]
        due["tx_bytes"] += tx * pulses["tx_valid"]
        due["tx_dropped"] += pulses["tx_dropped"]
        select = random.randrange(16)
        dut.select.value = select
        await Timer(100, "ps")
        assert int(dut.value.value) == [*due.values(), *[0] * 9][select]
    assert due["tx_bytes"] > 1 << 20
