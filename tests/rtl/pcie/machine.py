"""A host and a card on cocotbext-pcie's root complex: what is the same for every hard IP."""

import logging
import random
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge, Timer
from cocotbext.axi import AxiBus, AxiMaster
from cocotbext.pcie.core import RootComplex
from cocotbext.pcie.core.caps import PciCapId
from pcie.bench_pcie_registers import Registers

from headrace.testing.streams import cycles, never, until


async def reset(dut: Any) -> None:
    """Two cycles of reset, before models listen, whose own comes later."""
    dut.rst.value = 1
    for level in (0, 1, 0, 1, 0):
        dut.clk.value = level
        await Timer(2, "ns")


class Machine:
    """The card under test behind `device`, a model of its hard IP."""

    def __init__(self, dut: Any, device: Any) -> None:
        self.dut, self.device = dut, device
        self.root = RootComplex()
        self.root.max_payload_size = 1  # 256 bytes
        self.root.make_port().connect(device)
        for name in ("irq_valid", "time_ns", "timeout"):
            getattr(dut, name).value = 0
        self.registers = Registers(dut, never())
        self.functions: list[Any] = []
        for name in ("cocotb.pcie", f"cocotb.{dut._name}"):
            logging.getLogger(name).setLevel(logging.ERROR)

    async def start(self) -> None:
        """Enumerate the bus, and enable all functions and their interrupts."""
        dut = self.dut
        await cycles(dut.clk, 10)  # of the model's reset
        assert dut.rst.value
        self.memory = AxiMaster(AxiBus.from_prefix(dut, "s_axi"), dut.clk, dut.rst)
        logging.getLogger(f"cocotb.{dut._name}.s_axi").setLevel(logging.ERROR)
        await until(dut.clk, lambda: not dut.rst.value, 1000)
        cocotb.start_soon(self.registers.run())
        await self.root.enumerate()
        for one in self.device.functions:
            found = self.root.find_device(one.pcie_id)
            await found.enable_device()
            await found.set_master()
            await found.capability_write_word(PciCapId.MSIX, 2, 0x8000)
            self.functions.append(found)
        await cycles(dut.clk, 300)
        await until(dut.clk, lambda: bool(dut.idle.value), 1000)

    async def interrupt(self, func: int, vector: int) -> None:
        """The card asks for an interrupt."""
        dut = self.dut
        dut.irq_func.value, dut.irq_vector.value, dut.irq_valid.value = func, vector, 1
        await RisingEdge(dut.clk)
        while not dut.irq_ready.value:
            await RisingEdge(dut.clk)
        dut.irq_valid.value = 0

    # -------------------------------------------------------------------------------------- what every machine promises
    async def accesses_reach_registers(self) -> None:
        """Reads and writes of all sizes, to every function; writes that are longer than a register change none."""
        for _ in range(40):
            func = random.randrange(len(self.functions))
            base = self.functions[func].bar_addr[0]
            kept = self.peek(func, 0, 256)
            await self.root.mem_write(base + 4 * random.randrange(4), random.randbytes(4 * random.choice((3, 17, 60))))
            offset, size = random.choice(((4 * random.randrange(64), 4), (8 * random.randrange(32), 8)))
            if size == 4 and random.random() < 0.5:
                size = random.choice((1, 2))
                offset += size * random.randrange(4 // size)
            before = self.peek(func, offset, size)
            assert await self.root.mem_read(base + offset, size, timeout=5000, timeout_unit="ns") == before
            assert self.peek(func, 0, 256) == kept
            data = random.randbytes(size)
            await self.root.mem_write(base + offset, data)
            assert await self.root.mem_read(base + offset, size, timeout=5000, timeout_unit="ns") == data
            assert self.peek(func, offset, size) == data

    def peek(self, func: int, offset: int, size: int) -> bytes:
        """Bytes of the registers of a function's BAR 0."""
        data = b"".join(
            self.registers.read((func, 0, at)).to_bytes(4, "little") for at in range(offset // 4 * 4, offset + size, 4)
        )
        return data[offset % 4 :][:size]

    async def memory_is_read_and_written(self, count: int = 40) -> None:
        """Bursts of any length and alignment, several at once."""
        size = 1 << 16
        region = self.root.mem_pool.alloc_region(size)
        base = region.get_absolute_address(0)
        image = bytearray(random.randbytes(size))
        region[:] = image

        async def one(start: int) -> None:
            for _ in range(count // 4):
                length = random.choice((1, 3, 64, random.randint(1, 600), random.randint(1, 3000)))
                at = start + random.randrange(size // 4 - length)
                user = random.randrange(len(self.functions))
                if random.random() < 0.5:
                    data = random.randbytes(length)
                    image[at : at + length] = data
                    await self.memory.write(base + at, data, user=user)
                answer = await self.memory.read(base + at, length, user=user)
                assert answer.resp == 0 and bytes(answer.data) == bytes(image[at : at + length])

        tasks = [cocotb.start_soon(one(start)) for start in range(0, size, size // 4)]
        for task in tasks:
            await task
        assert bytes(region[:]) == bytes(image)

    async def interrupts_arrive(self) -> None:
        """Vectors of every function, as the host has programmed them; one of them masked."""
        region = self.root.mem_pool.alloc_region(4096)
        base = region.get_absolute_address(0)
        region[:] = bytes(4096)
        for func, device in enumerate(self.functions):
            table = device.bar_addr[2]
            for vector in range(4):
                place = base + 64 * func + 8 * vector
                words = (place & 0xFFFFFFFF, place >> 32, 0x1000 + 16 * func + vector, int(vector == 3))
                for number, word in enumerate(words):
                    await self.root.mem_write_dword(table + 16 * vector + 4 * number, word)
            assert await self.root.mem_read_dword(table + 8, timeout=5000, timeout_unit="ns") == 0x1000 + 16 * func
        for func in range(len(self.functions)):
            for vector in range(4):
                await self.interrupt(func, vector)
        await cycles(self.dut.clk, 300)
        for func, device in enumerate(self.functions):
            for vector in range(4):
                word = int.from_bytes(region[64 * func + 8 * vector :][:4], "little")
                assert word == (0 if vector == 3 else 0x1000 + 16 * func + vector)
            table = device.bar_addr[2]
            assert await self.root.mem_read_dword(table + 2048, timeout=5000, timeout_unit="ns") == 8
            await self.root.mem_write_dword(table + 16 * 3 + 12, 0)
        await cycles(self.dut.clk, 300)
        for func in range(len(self.functions)):
            assert int.from_bytes(region[64 * func + 24 :][:4], "little") == 0x1003 + 16 * func

    async def memory_that_is_not_there_is_an_error(self) -> None:
        """A read that the root complex answers as unsupported."""
        answer = await self.memory.read(1 << 60, 100)
        assert answer.resp == 2
