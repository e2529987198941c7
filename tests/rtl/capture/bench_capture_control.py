"""What the registers of the engine make of sizes and addresses that it can't have, and of a restart.

Runs on capture_avalon, whose signals between the registers and the engine it reads.
"""

import random
from typing import Any

from capture.host import start
from cocotbext.axi import AxiLiteBus, AxiLiteMaster
from simulation import ROOT

from headrace.registers.compile import load_map
from headrace.testing.streams import behaviour, cycles

REGISTERS = {path: address for path, address, _ in load_map(ROOT / "regs" / "capture.rdl").walk()}
INPUTS = ("avm_read_readdatavalid", "avm_write_writeresponsevalid", "irq_ready", "time_ns")


class Bench:
    """The registers and a host that writes them."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.host = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk, dut.rst)
        for channel in (self.host.write_if, self.host.read_if):
            channel.log.disabled = True

    async def start(self) -> "Bench":
        await start(self.dut, *INPUTS)
        await cycles(self.dut.clk, 4)
        return self

    async def write(self, name: str, value: int) -> None:
        """Write a register and let it take effect."""
        await self.host.write_dword(REGISTERS[name], value)
        await cycles(self.dut.clk, 4)

    async def read(self, name: str) -> int:
        """Read a register."""
        return int(await self.host.read_dword(REGISTERS[name]))


@behaviour()
async def rings_have_256_bytes_to_2_gib_whatever_is_written(dut: Any) -> None:
    bench = await Bench(dut).start()
    for log2 in range(32):
        await bench.write("ring_size", log2)
        assert int(dut.ring_log2.value) == max(8, log2)


@behaviour()
async def descriptor_rings_have_4_to_65536_slots_whatever_is_written(dut: Any) -> None:
    bench = await Bench(dut).start()
    for log2 in range(32):
        await bench.write("descriptor_size", log2)
        assert int(dut.descriptor_log2.value) == min(max(2, log2), 16)


@behaviour()
async def the_snaplen_is_65600_at_most_whatever_is_written(dut: Any) -> None:
    bench = await Bench(dut).start()
    assert int(dut.snaplen.value) == 65_600
    for snaplen in (0, 1, 65_535, 65_536, 65_599, 65_600, 65_601, 131_071):
        await bench.write("snaplen", snaplen)
        assert int(dut.snaplen.value) == min(snaplen, 65_600)


@behaviour()
async def rings_begin_at_a_multiple_of_64_bytes_whatever_is_written(dut: Any) -> None:
    bench = await Bench(dut).start()
    for name in ("ring_base", "descriptor_base"):
        address = random.getrandbits(64) | 63
        await bench.write(name, address & 0xFFFFFFFF)
        await bench.host.write_dword(REGISTERS[name] + 4, address >> 32)
        await cycles(dut.clk, 4)
        assert int(getattr(dut, name).value) == address - 63


@behaviour()
async def a_restart_takes_the_pointers_back_and_keeps_the_settings(dut: Any) -> None:
    bench = await Bench(dut).start()
    for name, value in (("ring_size", 12), ("snaplen", 77), ("consumer", 500)):
        await bench.write(name, value)
    assert int(dut.consumer.value) == 500
    await bench.write("control", 1 << 8 | 1)
    await cycles(dut.clk, 4)
    assert int(dut.consumer.value) == 0
    assert (int(dut.ring_log2.value), int(dut.snaplen.value), int(dut.enable.value)) == (12, 77, 1)
    assert dut.idle.value and not await bench.read("status")
