"""The model of a driver, against a device of a few lines, and what it complains about."""

import random
import struct
from collections import defaultdict

import pytest
from host.packed import (
    AT_INDEX,
    AVAIL,
    DESCRIPTOR,
    DISABLE,
    ELEMENT,
    INDIRECT,
    NEXT,
    USED,
    WRITE,
    Broken,
    Buffer,
    Driver,
)

RING, DRIVER, DEVICE, TABLES = 0x7FF0, 0x1004, 0x100C, 1 << 40


class Bytes:
    def __init__(self) -> None:
        self.bytes: dict[int, int] = defaultdict(int)

    def read(self, address: int, count: int) -> bytes:
        return bytes(self.bytes[address + offset] for offset in range(count))

    def write(self, address: int, data: bytes) -> None:
        self.bytes.update({address + offset: byte for offset, byte in enumerate(data)})


class Device:
    """Takes a chain at a time, and uses those that it has in any order."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.index, self.wrap = driver.index, driver.wrap
        self.used_index, self.used_wrap = driver.index, driver.wrap
        self.held: list[tuple[int, int, list[Buffer]]] = []  # ID, slots, buffers

    def read(self, address: int) -> tuple[int, ...]:
        self.driver.device_reads(address, 16)
        return DESCRIPTOR.unpack(self.driver.memory.read(address, 16))

    def take(self) -> bool:
        slots, buffers, more = 0, [], True
        while more:
            address, length, number, flags = self.read(self.driver.place(self.index))
            if not slots and (bool(flags & AVAIL) != bool(self.wrap) or bool(flags & USED) == bool(self.wrap)):
                return False
            slots += 1
            self.index, self.wrap = self.driver.after(self.index, self.wrap, 1)
            more = bool(flags & NEXT)
            if flags & INDIRECT:
                entries = [self.read(address + 16 * entry) for entry in range(length // 16)]
                buffers += [Buffer(entry[0], entry[1], bool(entry[3] & WRITE)) for entry in entries]
            else:
                buffers.append(Buffer(address, length, bool(flags & WRITE)))
        self.held.append((number, slots, buffers))
        return True

    def use(self, at: int) -> None:
        number, slots, buffers = self.held.pop(at)
        room = sum(buffer.length for buffer in buffers if buffer.writable)
        written = random.randint(1, room) if room else 0
        flags = (AVAIL | USED if self.used_wrap else 0) | (WRITE if written else 0)
        self.write(self.driver.place(self.used_index) + 8, ELEMENT.pack(written, number, flags))
        self.used_index, self.used_wrap = self.driver.after(self.used_index, self.used_wrap, slots)

    def write(self, address: int, data: bytes) -> None:
        self.driver.device_writes(address, data)
        self.driver.memory.write(address, data)


def some(count: int, writable: bool) -> list[Buffer]:
    return [Buffer(random.getrandbits(48), random.randint(1, 5000), writable) for _ in range(count)]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 300])
@pytest.mark.parametrize("start", [(0, 1), (0, 0), (-1, 0), (-1, 1)])
def test_chains_arrive_and_come_back(size: int, start: tuple[int, int]) -> None:
    random.seed(size)
    order = size in (7, 300)
    driver = Driver(Bytes(), size, RING, DRIVER, DEVICE, index=start[0] % size, wrap=start[1], in_order=order)
    device = Device(driver)
    assert not device.take()
    sent, back, taken = [], [], 0
    while len(sent) < 4 * size + 40:
        if driver.room():
            indirect = random.random() < 0.3
            count = random.randint(1, 9 if indirect else min(9, driver.free))
            table = TABLES + 0x1000 * random.randrange(1 << 20) if indirect else None
            sent.append(driver.add(some(count, random.random() < 0.5), table))
        if random.random() < 0.6 and device.take():
            assert device.held[-1][2] == list(sent[taken].buffers)
            taken += 1
        if device.held and random.random() < 0.6:
            device.use(0 if order else random.randrange(len(device.held)))
        back += driver.used()
    while driver.pending:
        device.take()
        device.use(0)
        back += driver.used()
    assert sorted(used.chain.number for used in back) == [chain.number for chain in sent]
    assert driver.free == size and not device.take()


def test_a_chain_is_available_with_its_last_write_only() -> None:
    driver = Driver(Bytes(), 8, RING, DRIVER, DEVICE)
    device = Device(driver)
    steps = list(range(4))
    seen = []
    for _ in driver.steps(some(3, False)):
        steps.pop()
        seen.append(device.take())
    assert seen == [False, False, False, True] and not steps


def test_doorbells_are_asked_for_as_the_device_says() -> None:
    driver = Driver(Bytes(), 4, RING, DRIVER, DEVICE, event_index=True)
    device = Device(driver)
    answers = []
    for place, flags in ((0, 0), (0, DISABLE), (2 | 1 << 15, AT_INDEX), (2 | 1 << 15, AT_INDEX), (0, AT_INDEX)):
        device.write(DEVICE, struct.pack("<HH", place, flags))
        driver.add(some(1, False))
        answers.append(driver.notify())
        device.take()
        device.use(0)
        driver.used()
    assert answers == [True, False, True, False, True]
    assert not driver.notify()


def element(driver: Driver, length: int, number: int, flags: int) -> None:
    data = ELEMENT.pack(length, number, flags)
    driver.device_writes(driver.place(0) + 8, data)
    driver.memory.write(driver.place(0) + 8, data)
    driver.used()


@pytest.mark.parametrize(
    "wrong",
    [
        lambda driver, chain: element(driver, 0, chain.id ^ 1, AVAIL | USED),
        lambda driver, chain: element(driver, 0, chain.id, 0),
        lambda driver, chain: element(driver, 101, chain.id, AVAIL | USED | WRITE),
        lambda driver, chain: element(driver, 5, chain.id, AVAIL | USED),
        lambda driver, chain: element(driver, 0, chain.id, AVAIL | USED | NEXT),
        lambda driver, _: driver.device_writes(driver.place(1) + 8, bytes(8)),
        lambda driver, _: driver.device_writes(driver.place(0), bytes(16)),
        lambda driver, _: driver.device_writes(driver.place(4), bytes(8)),
        lambda driver, _: driver.device_writes(0x4000, bytes(101)),
        lambda driver, _: driver.device_writes(DEVICE, struct.pack("<HH", 0, 2)),
        lambda driver, _: driver.device_writes(DRIVER, bytes(4)),
        lambda driver, _: driver.device_reads(0x4000, 1),
        lambda driver, _: driver.device_reads(driver.place(4) - 1, 2),
    ],
)
def test_it_complains(wrong) -> None:  # type: ignore[no-untyped-def]
    driver = Driver(Bytes(), 4, RING, DRIVER, DEVICE)
    chain = driver.add([Buffer(0x4000, 100, True)])
    with pytest.raises(Broken):
        wrong(driver, chain)
