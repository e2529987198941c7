"""Runs inside of a simulation of ``pcie_core``, under cocotb: a card that moves transfers, a link that takes its time,
a root complex that answers. ``pcie_link`` starts it, and has what its settings mean.

The root complex answers each read with completions as large as can be, in the order of the requests, ``latency`` cycles
after the request has left; it takes writes as fast as the link brings them. Host memory has its addresses in it.
"""

from __future__ import annotations

import json
import os
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

from headrace.evaluate.loads.pcie_link import COMPLETION, READ_REQUEST, REQUEST, Moved, Transfers

_PAGE = 4096
_IDS = 64
_LINK_QUEUE = 16  # cycles of the link's time that wait in the hard IP
_LIMIT = 2_000_000  # cycles of a setting
_STRIDE = 1 << 17  # bytes from a transfer's beginning to the next one's
_DESCRIPTORS = 1 << 40  # where descriptors lie
_WRITES = 1 << 41
_DESCRIPTOR = 16
# Fields from the most significant bit on, as pcie_pkg has them
_REQUEST = {"write": 1, "func": 16, "tag": 8, "addr": 64, "dwords": 11, "first_be": 4, "last_be": 4}
_COMPLETION = {"tag": 8, "status": 3, "poisoned": 1, "bytes": 13, "lower_addr": 7, "dwords": 11}
_INFINITE = 7 << 28  # of credit_limit_t: credits of all kinds


def _pack(layout: dict[str, int], **values: int) -> int:
    word = 0
    for name, width in layout.items():
        word = word << width | values.get(name, 0)
    return word


def _unpack(layout: dict[str, int], word: int) -> dict[str, int]:
    values = {}
    for name, width in reversed(layout.items()):
        values[name] = word & ((1 << width) - 1)
        word >>= width
    return values


def _memory(address: int, count: int) -> bytes:
    """What host memory holds: in each DW its own number."""
    return b"".join((at // 4 & 0xFFFF_FFFF).to_bytes(4, "little") for at in range(address, address + count, 4))


@dataclass
class _Burst:
    address: int
    count: int
    transfer: int
    id: int = 0
    taken: int = 0  # bytes that have come


@dataclass
class _Answer:
    tag: int
    place: int
    end: int
    due: float


@dataclass
class _Transfer:
    """One of a direction: what is still to be asked for, and bytes that are still to come or to go."""

    reads: deque[_Burst]
    writes: deque[_Burst]
    left: int
    wait: int = 0  # bytes of its descriptor that have not come


@dataclass
class _Card:
    """A direction's transfers in their order."""

    settings: Transfers
    write: bool
    waiting: deque[_Transfer] = field(default_factory=deque)
    running: list[_Transfer] = field(default_factory=list)

    def __post_init__(self) -> None:
        one = self.settings
        for number in range(one.count):
            base = (_WRITES if self.write else 0) + number * _STRIDE
            chunk = _PAGE if self.write else READ_REQUEST
            bursts = deque(_Burst(base + at, min(chunk, one.size - at), number) for at in range(0, one.size, chunk))
            none: deque[_Burst] = deque()
            reads, writes = (none, bursts) if self.write else (bursts, none)
            self.waiting.append(_Transfer(reads, writes, one.size, _DESCRIPTOR if one.descriptor else 0))


class _Host:
    """Runs one setting."""

    def __init__(self, dut: Any, settings: Transfers) -> None:
        self.dut, self.settings = dut, settings
        self.width = len(dut.s_axi_rdata) // 8
        both = settings.direction == "both"
        kinds = [False, True] if both else [settings.direction == "write"]
        self.cards = [_Card(settings, write) for write in kinds]
        self.ar: deque[tuple[_Transfer, _Burst]] = deque()
        self.aw: deque[_Burst] = deque()
        self.beats: deque[tuple[int, int]] = deque()  # data and last
        self.by_id: list[deque[tuple[_Transfer, _Burst]]] = [deque() for _ in range(_IDS)]
        self.next_id = 0
        self.open_reads = 0
        self.answers: deque[_Answer] = deque()
        self.completion: deque[tuple[int, int, int]] = deque()
        self.up = self.down = 0.0  # when the link is free again, in cycles
        self.cycle = 0
        self.left = sum(one.left for card in self.cards for one in card.waiting)
        self.writes_due: deque[tuple[_Transfer, int]] = deque()  # bytes that are to leave on the link
        self.end = 0.0
        self.wrong = 0
        self.moved = self.left

    async def run(self) -> Moved:
        dut, edge = self.dut, RisingEdge(self.dut.clk)
        dut.max_payload.value = (self.settings.payload // 128).bit_length() - 1
        dut.s_axi_rready.value = 1
        dut.s_axi_bready.value = 1
        payload = b""
        while self.left:
            self.begin()
            read, write = self.ar[0] if self.ar else None, self.aw[0] if self.aw else None
            self.offer_address("ar", read[1] if read else None)
            self.offer_address("aw", write)
            dut.s_axi_wvalid.value = int(bool(self.beats))
            if self.beats:
                dut.s_axi_wdata.value, dut.s_axi_wlast.value = self.beats[0]
            ready = self.up - self.cycle < _LINK_QUEUE
            dut.req_ready.value = int(ready)
            self.complete()
            dut.cpl_valid.value = int(bool(self.completion))
            if self.completion:
                dut.cpl_header.value, dut.cpl_data.value, dut.cpl_last.value = self.completion.popleft()
            await edge
            self.cycle += 1
            if read and dut.s_axi_arready.value:
                self.ar.popleft()
                self.by_id[read[1].id].append(read)
            if write and dut.s_axi_awready.value:
                self.aw.popleft()
            if self.beats and dut.s_axi_wready.value:
                self.beats.popleft()
            if dut.s_axi_rvalid.value:
                self.take_beat()
            if ready and dut.req_valid.value:
                header = _unpack(_REQUEST, int(dut.req_header.value))
                if not header["write"]:
                    self.take_read(header)
                else:
                    payload += int(dut.req_data.value).to_bytes(self.width, "little")
                    if dut.req_last.value:
                        self.take_write(header, payload)
                        payload = b""
            if self.cycle > _LIMIT:
                raise AssertionError(f"no end: {self.settings}")
        for name in ("s_axi_arvalid", "s_axi_awvalid", "s_axi_wvalid", "cpl_valid"):
            getattr(dut, name).value = 0
        dut.req_ready.value = 1
        while not dut.idle.value:
            await edge
        return Moved(self.moved, round(self.end), self.wrong)

    # ------------------------------------------------------------------------------------------------------ the card
    def begin(self) -> None:
        """Asks for what may be asked for now."""
        for card in self.cards:
            card.running = [one for one in card.running if one.reads or one.writes or one.wait or one.left]
            most = 1 if self.settings.alone else _IDS
            while card.waiting and len(card.running) < most:
                one = card.waiting.popleft()
                card.running.append(one)
                if one.wait:
                    number = len(card.waiting)
                    at = _DESCRIPTORS + (_WRITES if card.write else 0) + _DESCRIPTOR * number
                    self.ask(one, _Burst(at, _DESCRIPTOR, number))
            for one in card.running:
                if one.wait:
                    continue
                while one.reads and self.open_reads < self.settings.window:
                    self.ask(one, one.reads.popleft())
                if one.reads:
                    break
                while one.writes and len(self.beats) < 2 * _PAGE // self.width:
                    self.put(one, one.writes.popleft())

    def ask(self, transfer: _Transfer, burst: _Burst) -> None:
        burst.id, self.next_id = self.next_id, (self.next_id + 1) % _IDS
        self.open_reads += 1
        self.ar.append((transfer, burst))

    def put(self, transfer: _Transfer, burst: _Burst) -> None:
        data = _memory(burst.address, burst.count)
        beats = [data[at : at + self.width] for at in range(0, len(data), self.width)]
        self.aw.append(burst)
        self.beats.extend((int.from_bytes(beat, "little"), int(beat is beats[-1])) for beat in beats)
        self.writes_due.append((transfer, burst.count))

    def offer_address(self, name: str, burst: _Burst | None) -> None:
        dut = self.dut
        getattr(dut, f"s_axi_{name}valid").value = int(burst is not None)
        if burst is None:
            return
        size = min(self.width, burst.count).bit_length() - 1
        getattr(dut, f"s_axi_{name}id").value = burst.id
        getattr(dut, f"s_axi_{name}addr").value = burst.address
        getattr(dut, f"s_axi_{name}len").value = -(-burst.count // self.width) - 1
        getattr(dut, f"s_axi_{name}size").value = size

    def take_beat(self) -> None:
        dut = self.dut
        place = self.by_id[int(dut.s_axi_rid.value)]
        transfer, burst = place[0]
        count = min(self.width, burst.count - burst.taken)
        at = (burst.address + burst.taken) % self.width
        data = int(dut.s_axi_rdata.value).to_bytes(self.width, "little")[at : at + count]
        if data != _memory(burst.address + burst.taken, count) or int(dut.s_axi_rresp.value):
            self.wrong += count
        burst.taken += count
        if transfer.wait:
            transfer.wait -= count
        else:
            transfer.left -= count
            self.left -= count
            self.end = max(self.end, float(self.cycle))
        if burst.taken == burst.count:
            place.popleft()
            self.open_reads -= 1

    # --------------------------------------------------------------------------------------- the link, and the host
    def take_read(self, header: dict[str, int]) -> None:
        self.up = max(self.up, float(self.cycle)) + REQUEST / self.settings.wire
        due = self.up + self.settings.latency
        self.answers.append(_Answer(header["tag"], header["addr"], header["addr"] + 4 * header["dwords"], due))

    def take_write(self, header: dict[str, int], payload: bytes) -> None:
        count = 4 * header["dwords"]
        if payload[:count] != _memory(header["addr"], count):
            self.wrong += count
        self.up = max(self.up, float(self.cycle)) + (count + REQUEST) / self.settings.wire
        self.end = max(self.end, self.up)
        self.left -= count
        while count:
            transfer, due = self.writes_due[0]
            part = min(due, count)
            transfer.left -= part
            count -= part
            if part == due:
                self.writes_due.popleft()
            else:
                self.writes_due[0] = (transfer, due - part)

    def complete(self) -> None:
        """Sends the next completion, if one is due and the link is free."""
        if self.completion or not self.answers or self.answers[0].due > self.cycle or self.down > self.cycle:
            return
        one, most = self.answers[0], self.settings.payload
        count = min(one.end - one.place, most - one.place % most)
        self.down = max(self.down, self.cycle - 1.0) + (count + COMPLETION) / self.settings.wire
        header = _pack(
            _COMPLETION,
            tag=one.tag,
            bytes=one.end - one.place,
            lower_addr=one.place % 128,
            dwords=count // 4,
        )
        data = _memory(one.place, count)
        for at in range(0, count, self.width):
            word = int.from_bytes(data[at : at + self.width], "little")
            self.completion.append((header, word, int(at + self.width >= count)))
        one.place += count
        if one.place == one.end:
            self.answers.popleft()


@cocotb.test()
async def transfers(dut: Any) -> None:
    """All settings, one after the other."""
    Clock(dut.clk, 4, "ns", impl="gpi").start()
    for handle in dut:
        if handle._name.startswith(
            ("s_axi_", "req_", "cpl_", "access_", "answer_", "irq_", "clear_", "msix_", "axil_")
        ):
            direction = handle._name.rsplit("_", 1)[-1]
            if direction in ("valid", "ready") or handle._name.endswith(("valid", "ready")):
                handle.value = 0
    dut.axil_rsp.value = dut.window_req.value = 0
    dut.msix_enabled.value = dut.msix_masked.value = 0
    dut.s_axi_awburst.value = dut.s_axi_arburst.value = 1
    dut.s_axi_awuser.value = dut.s_axi_aruser.value = 0
    dut.s_axi_awid.value = 0
    dut.s_axi_wstrb.value = (1 << len(dut.s_axi_wstrb)) - 1
    dut.time_ns.value = 0
    dut.timeout.value = 0
    dut.limit.value = _INFINITE
    dut.max_read_size.value = (READ_REQUEST // 128).bit_length() - 1
    dut.max_payload.value = 1
    dut.rst.value = 1
    for _ in range(3):
        await RisingEdge(dut.clk)
    dut.rst.value = 0
    for _ in range(3):
        await RisingEdge(dut.clk)
    job = json.loads(Path(os.environ["HEADRACE_PCIE_JOB"]).read_text())
    found = [await _Host(dut, Transfers(**each)).run() for each in job]
    text = json.dumps([{"bytes": each.bytes, "cycles": each.cycles, "wrong": each.wrong} for each in found])
    Path(os.environ["HEADRACE_PCIE_FOUND"]).write_text(text)
