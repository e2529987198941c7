"""A bridge card in Python, as far as a driver can tell: registers with their side effects, host memory, packets that
take a random time on every part of their way. It is slow and has no cycles; the real card is in RTL."""

from __future__ import annotations

import random
import struct
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from headrace import paths
from headrace.cards.bridge.driver import BridgeDriver
from headrace.registers import compile as registers

MAX_PACKET = 1514
HOST_BUFFERS = 16
SLOT_BYTES = 16 * 1024
H2S_ADDRESS, S2H_ADDRESS = (0, 2), (0, 3)


@dataclass
class Item:
    """A packet: flags are level, egress and critical as in bits 31:16 of a header's word 0, without the address."""

    payload: bytes
    address: tuple[int, int]
    flags: int
    source: int
    destination: int
    epoch: int = 0


@dataclass
class Sending:
    """A host buffer that S2H works on."""

    tag: int
    items: deque[Item]
    sent: int = 0
    malformed: bool = False
    read_error: bool = False


@dataclass
class FakeSlot:
    kind: int
    store: deque[Item] = field(default_factory=deque)
    out: deque[Item] = field(default_factory=deque)


class FakeCard:
    """``step`` lets a little time pass; ``sent`` are the frames that came out of the ports."""

    def __init__(
        self, seed: int = 0, slots: tuple[int, ...] = (0, 1, 0, 1), speed: int = 4, slot_bytes: int = SLOT_BYTES
    ):
        self.rng = random.Random(seed)
        self.speed = speed
        self.load = 1.0  # of the ports
        self.slot_bytes = slot_bytes
        self.time_ns = 1000
        self.count: dict[str, int] = {}
        self.values: dict[str, int] = {}
        self.arriving: tuple[deque[bytes], deque[bytes]] = (deque(), deque())
        self.stores: tuple[deque[Item], deque[Item]] = (deque(), deque())
        self.sent: tuple[list[bytes], list[bytes]] = ([], [])
        self.slots = [FakeSlot(kind) for kind in slots]
        self.tables: dict[tuple[int, int], dict[int, tuple[int, int, Item]]] = {}
        self.noc: dict[tuple[object, tuple[int, int]], deque[Item]] = {}
        self.open: list[Item] = []
        self.opened_ns = 0
        self.flushing = False
        self.closed: deque[list[Item]] = deque()
        self.express_closed: deque[list[Item]] = deque()
        self.posted: dict[bool, deque[tuple[int, int, int]]] = {False: deque(), True: deque()}
        self.mailbox: dict[str, deque[int]] = {"h2s": deque(), "express": deque(), "s2h": deque()}
        self.jobs: deque[Sending] = deque()
        self.irqs: list[int] = []
        self.memory: dict[int, bytearray] = {}
        self.broken: set[int] = set()  # addresses of buffers that can't be reached
        self.lie: Callable[[bytes], bytes] = bytes  # changes what is written into host memory
        self.values |= {"h2s.limit": 65536, "h2s.timeout": 10_000_000}
        self.nodes: dict[int, tuple[str, int, int]] = {}
        register_map = registers.load_map(paths.share() / "regs" / "bridge.rdl")
        for path, address, node in register_map.walk():
            for word in range(node.width // 32):
                self.nodes[address + 4 * word] = path, word, node.width
        self.regs = register_map.bind(self.read, self.write)

    # Memory

    def allocate(self, size: int) -> int:
        address = 0x1_0000_0000 * (1 + len(self.memory))
        self.memory[address] = bytearray(size)
        return address

    def view(self, address: int, size: int) -> memoryview:
        return memoryview(self.memory[address])[:size]

    def driver(self, host_buffers: int = 4) -> BridgeDriver:
        def interrupts() -> Iterator[int]:
            taken, self.irqs = self.irqs, []
            return iter(taken)

        return BridgeDriver(self.regs, self, self.allocate, interrupts, self.step, lambda: self.time_ns, host_buffers)

    # Registers

    def read(self, address: int) -> int:
        self.step()
        path, word, _ = self.nodes[address]
        return self._value(path) >> 32 * word & 0xFFFF_FFFF

    def _value(self, path: str) -> int:
        fixed = {
            "card": 0x4252_0001,
            "geometry": 64 | 2 << 16 | len(self.slots) << 20,
            "buffers": 128 | 4 << 16 | HOST_BUFFERS << 24,
            "max_packet": MAX_PACKET,
        }
        if path in fixed:
            return fixed[path]
        if path == "in_flight":
            return self._in_flight(0) | self._in_flight(1) << 16
        if path.endswith("mailbox"):
            box = self.mailbox[{"h2s.mailbox": "h2s", "h2s.express_mailbox": "express", "s2h.mailbox": "s2h"}[path]]
            return box.popleft() if box else 0
        if path.startswith("slot[") and path.endswith("status"):
            number = int(path[5 : path.index("]")])
            if number >= len(self.slots):
                return 15
            slot = self.slots[number]
            return slot.kind | (not slot.store and not slot.out) << 8
        return self.values.get(path, self.count.get(path, 0))

    def write(self, address: int, value: int) -> None:
        self.step()
        path, word, _ = self.nodes[address]
        old = self.values.get(path, 0)
        self.values[path] = old & ~(0xFFFF_FFFF << 32 * word) | value << 32 * word
        if path == "table_write" and value >> 31:
            self._write_table(value)
        elif path == "h2s.control" and value >> 8 & 1:
            self.values[path] &= ~(1 << 8)
            coming = any(queue for (_, target), queue in self.noc.items() if target == H2S_ADDRESS)
            if coming:
                self.flushing = True  # after the packet that is coming in
            else:
                self._close("flush")
        elif path == "h2s.post":
            express = bool(value >> 16 & 1)
            if len(self.posted[express]) < HOST_BUFFERS:
                self.posted[express].append((value >> 28, value & 0x7FFF, self.values["h2s.address"]))
            else:
                self.add("h2s.posts_lost")
        elif path == "s2h.post":
            if len(self.jobs) < HOST_BUFFERS:
                self._fetch(value >> 28, value & 0x7FFF, self.values["s2h.address"])
            else:
                self.add("s2h.posts_lost")

    def _write_table(self, value: int) -> None:
        target = self.values["table_target"]
        table = self.tables.setdefault((value >> 2 & 15, value & 3), {})
        flags = (target >> 6 & 3) << 8 | (target >> 8 & 1) << 7 | (target >> 9 & 1) << 6
        item = Item(
            b"", (target >> 2 & 15, target & 3), flags, self.values["table_source"], self.values["table_destination"]
        )
        if target >> 10 & 1:
            table[value >> 8 & 7] = self.values["table_key"], self.values["table_mask"], item
        else:
            table.pop(value >> 8 & 7, None)

    def _look_up(self, table: tuple[int, int], key: int) -> Item | None:
        for _, (wanted, mask, item) in sorted(self.tables.get(table, {}).items(), key=lambda pair: pair[0]):
            if (key ^ wanted) & mask == 0:
                return item
        return None

    def add(self, path: str, count: int = 1) -> None:
        self.count[path] = self.count.get(path, 0) + count

    def flag(self, path: str, bit: int) -> bool:
        return bool(self.values.get(path, 0) >> bit & 1)

    @property
    def epoch(self) -> int:
        return self.values.get("epoch", 0)

    def _in_flight(self, epoch: int) -> int:
        waiting = [*self.stores, *(slot.out for slot in self.slots), *self.noc.values()]
        return sum(item.epoch == epoch for queue in waiting for item in queue)

    # Packets

    @property
    def idle(self) -> bool:
        queues = [*self.arriving, *self.stores, *self.noc.values(), self.closed, self.express_closed, self.jobs]
        return not any(queues) and not any(slot.store or slot.out for slot in self.slots)

    def step(self) -> None:
        self.time_ns += 100
        for _ in range(self.speed):
            parts = [self._ports, self._slots, self._enter, self._deliver, self._h2s, self._dma, self._s2h]
            self.rng.choice(parts)()
        armed = self.values.get("interrupt", 0)
        for vector, box in enumerate(("h2s", "express", "s2h")):
            if armed >> vector & 1 and self.mailbox[box]:
                self.irqs.append(vector)
                armed &= ~(1 << vector)
        self.values["interrupt"] = armed

    def _ports(self) -> None:
        port = self.rng.randrange(2)
        if not self.arriving[port] or self.rng.random() > self.load:
            return
        frame = self.arriving[port].popleft()
        self.add(f"port[{port}].frames")
        self.add(f"port[{port}].bytes", len(frame))
        control = self.values.get(f"port[{port}].control", 0)
        if not control & 1:
            self.add(f"port[{port}].disabled")
            return
        offset = control >> 8 & 127
        key = int.from_bytes((frame + bytes(200))[offset : offset + 4], "big")
        found = self._look_up((0, port), key)
        if found is None:
            self.add(f"port[{port}].unknown")
        else:
            self.stores[port].append(
                Item(frame, found.address, found.flags, found.source, found.destination, self.epoch)
            )

    def _slots(self) -> None:
        number = self.rng.randrange(len(self.slots))
        slot = self.slots[number]
        if self.flag(f"slot[{number}].control", 1) or not slot.store:
            return
        item = slot.store.popleft()
        found = self._look_up((1 + number // 4, number % 4), item.destination)
        if found is None:
            self.add(f"slot[{number}].unknown")
        elif slot.kind == 1 and zlib.crc32(item.payload[:-4]) != int.from_bytes(item.payload[-4:], "little"):
            self.add(f"slot[{number}].refused")
        else:
            flags = item.flags & ~0x80 | found.flags & 0x80
            slot.out.append(Item(item.payload, found.address, flags, item.destination, found.destination, self.epoch))

    def _enter(self) -> None:
        sources: list[tuple[object, deque[Item]]] = [*enumerate(self.stores)]
        sources += [(f"slot {number}", slot.out) for number, slot in enumerate(self.slots)]
        name, queue = self.rng.choice(sources)
        if queue:
            if str(name).startswith("slot"):
                self.add(f"slot[{str(name).split()[1]}].sent")
            self._into_noc(name, queue.popleft())

    def _into_noc(self, source: object, item: Item) -> None:
        item.epoch = self.epoch
        self.add("entered")
        self.noc.setdefault((source, item.address), deque()).append(item)

    def _deliver(self) -> None:
        waiting = [key for key, queue in self.noc.items() if queue]
        if not waiting:
            return
        key = self.rng.choice(waiting)
        switch, block = key[1]
        if key[1] == H2S_ADDRESS and self.flag("h2s.control", 2) and len(self.closed) >= 2:
            return  # waits for room
        item = self.noc[key].popleft()
        slot = (switch - 1) * 4 + block
        if switch and not 0 <= slot < len(self.slots):
            self.add("no_block")
            return
        self.add("delivered")
        if switch:
            self._into_slot(slot, item)
        elif block < 2:
            self.sent[block].append(item.payload)
            self.add(f"port[{block}].sent")
        else:
            self._into_batch(item)
            if self.flushing:
                self._close("flush")
            self.flushing = False

    def _into_slot(self, number: int, item: Item) -> None:
        slot = self.slots[number]
        self.add(f"slot[{number}].received")
        used = sum(len(other.payload) + 16 for other in slot.store)
        if not self.flag(f"slot[{number}].control", 0) or used + len(item.payload) + 16 > self.slot_bytes:
            self.add(f"slot[{number}].overflow")
        else:
            slot.store.append(item)

    def _into_batch(self, item: Item) -> None:
        if not self.flag("h2s.control", 0):
            self.add("h2s.disabled")
            return
        if len(self.closed) >= 2 and not self.flag("h2s.control", 2):
            self.add("h2s.no_room")
            return
        self.add("h2s.packets")
        self.add("h2s.bytes", len(item.payload))
        critical = bool(item.flags & 0x40)
        if critical and self.flag("h2s.control", 3):
            self.add("h2s.express_packets")
            self.add("h2s.express_closed")
            self.express_closed.append([item])
            return
        if not self.open:
            self.opened_ns = self.time_ns
        self.open.append(item)
        size = sum(12 + (len(item.payload) + 3 & ~3) for item in self.open)
        if self.flag("h2s.control", 1):
            self._close("single")
        elif critical:
            self._close("critical")
        elif size + 12 + 1516 > self.values["h2s.limit"]:
            self._close("full")

    def _close(self, reason: str) -> None:
        if self.open:
            self.closed.append(self.open)
            self.open = []
            self.add("h2s.closed")
            self.add(f"h2s.closed_by[{('full', 'timeout', 'critical', 'single', 'flush').index(reason)}]")

    def _h2s(self) -> None:
        timeout = self.values["h2s.timeout"]
        if self.open and timeout and self.time_ns - self.opened_ns >= timeout:
            self._close("timeout")

    def _dma(self) -> None:
        for express, queue, name in ((True, self.express_closed, "express"), (False, self.closed, "h2s")):
            if not queue or not self.posted[express]:
                continue
            tag, room, address = self.posted[express].popleft()
            data = self.lie(b"".join(_pack(item) for item in queue[0]))
            words = len(data) // 4
            if words > room:
                self.add("h2s.refused")
                self.mailbox[name].append(tag << 28 | 0x7FFF)
                continue
            packets = len(queue.popleft())
            if address in self.broken:
                self.add("h2s.write_errors", packets)
                packets = 0
            else:
                self.memory[address][: len(data)] = data
            self.mailbox[name].append(tag << 28 | packets << 15 | words)
            return

    def _fetch(self, tag: int, words: int, address: int) -> None:
        job = Sending(tag, deque(), read_error=address in self.broken)
        data = bytes(self.memory[address][: 4 * words])
        position = 4
        packets = struct.unpack_from("<I", data)[0] if words and not job.read_error else 0
        job.malformed = words == 0
        for _ in range(packets):
            if position + 12 > len(data):
                job.malformed = True
                break
            length, flags, source, destination = struct.unpack_from("<HHII", data, position)
            end = position + 12 + (length + 3 & ~3)
            if not 0 < length <= MAX_PACKET or end > len(data):
                job.malformed = True
                break
            payload = data[position + 12 : position + 12 + length]
            job.items.append(Item(payload, (flags >> 12, flags >> 10 & 3), flags & 0x3C0, source, destination))
            position = end
        self.jobs.append(job)

    def _s2h(self) -> None:
        if not self.jobs or not self.flag("s2h.control", 0):
            return
        job = self.jobs[0]
        if job.items:
            item = job.items.popleft()
            job.sent += 1
            self.add("s2h.packets")
            self.add("s2h.bytes", len(item.payload))
            self._into_noc("s2h", item)
        if not job.items:
            self.jobs.popleft()
            self.add("s2h.malformed", job.malformed)
            self.add("s2h.read_errors", job.read_error)
            bits = job.malformed << 1 | job.read_error
            self.mailbox["s2h"].append(job.tag << 28 | job.sent << 15 | 1 << 14 | bits)


def _pack(item: Item) -> bytes:
    length = len(item.payload)
    flags = item.address[0] << 12 | item.address[1] << 10 | item.flags
    header = struct.pack("<HHII", length, flags, item.source, item.destination)
    return header + item.payload + bytes(-length % 4)
