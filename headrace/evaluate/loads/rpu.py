"""Loads for the RPU card, and what becomes of them: full lines, programs at their limit, packets' time in the card.

Sizes count the FCS, as those of published figures do. Cycles are counted in the RTL, the same on every machine.
"""

from __future__ import annotations

import ipaddress
import random
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from headrace.card import Card
from headrace.cards.rpu import elf, program, tables
from headrace.cards.rpu.card import driver_of, open_rpu_card
from headrace.cards.rpu.driver import RpuDriver, SwapReport
from headrace.cards.rpu.swap import swap as change_accelerators
from headrace.net import pcap
from headrace.traffic import made

LINE = 100e9  # bit/s
FCS = 4
GAP = 20  # bytes of preamble and gap
MOST_LAG = 1_000  # cycles from the last byte in to the end of all work; what can't keep up ends later
PREFIXES = 1_050
PATTERNS = 1_000

_WARM = 6_000  # cycles
_SPAN = 20_000
_LEAST_PACKETS = 200  # of a span
_MAKING = 120_000  # cycles, in which a generator makes its packets' headers
_COLD = 64  # packets
_BOOTED_NS, _ENABLED_NS = 500, 200  # after a window's start and before its end


@dataclass(frozen=True)
class Full:
    """Full lines of packets of one size into ``ports`` ports: what was lost, and how long the card was behind."""

    size: int
    packets: int
    lost: int
    lag_cycles: int

    @property
    def kept_up(self) -> bool:
        """Whether nothing was lost, and the card wasn't behind at the end."""
        return not self.lost and self.lag_cycles <= MOST_LAG


@dataclass(frozen=True)
class Limit:
    """A full line into one port: packets that the units took in a span of cycles."""

    size: int
    packets: int
    cycles: int
    clock_hz: int

    @property
    def cycles_per_packet(self) -> float:
        """Of all units together."""
        return self.cycles / self.packets

    @property
    def gbit_s(self) -> float:
        """Bits of frames with FCS, without preamble and gap."""
        return 8 * self.size * self.clock_hz / self.cycles_per_packet / 1e9

    @property
    def line_share(self) -> float:
        """Of a line of 100 Gb/s, preamble and gap counted in."""
        return 8 * (self.size + GAP) * self.clock_hz / self.cycles_per_packet / LINE


@dataclass(frozen=True)
class Stay:
    """Cycles from a packet's first beat into the card to its first beat out of it, at a load (share of the line)."""

    size: int
    load: float
    packets: int
    least: float
    mean: float
    most: float
    clock_hz: int


@dataclass(frozen=True)
class Swap:
    """Units whose accelerators were changed in a full line: the card's time for it, packets that were lost, and the
    longest stay of a packet in cycles; ``most_without``: the same where the units were only disabled."""

    drain_ns: int
    swap_ns: int
    boot_ns: int
    lost: int
    most: float
    most_without: float


@dataclass(frozen=True)
class Order:
    """Packets of flows through units that come and go: how many came out behind a later one of their flow."""

    packets: int
    changes: int
    misordered: int
    lost: int


@dataclass(frozen=True)
class Verdicts:
    """A program that tells packets apart, beside an oracle: ``wrong`` packets are out where they shouldn't be, or not
    out where they should."""

    packets: int
    stopped: int  # by the oracle
    wrong: int
    cycles_per_packet: float


def run(kind: str, **arguments: Any) -> Any:
    """One of this module's loads by its name, for a list of points that has several kinds."""
    loads: dict[str, Callable[..., Any]] = {
        "build": build, "full": full, "limit": limit, "generate": generate, "stay": stay,
        "firewall": firewall, "intrusion": intrusion, "order": order, "swap": swap,
    }  # fmt: skip
    return loads[kind](**arguments)


def build(units: int) -> None:
    """Builds the card, if need be."""
    open_rpu_card(units, progress=False).close()


@contextmanager
def _running(
    name: str, units: int, accelerator: str | None = None, defines: Sequence[str] = (), words: Sequence[Any] = ()
) -> Iterator[tuple[Card, RpuDriver]]:
    """A card whose units all run a program."""
    chosen = dict.fromkeys(range(units), accelerator) if accelerator else {}
    with open_rpu_card(units, chosen, progress=False) as card:
        driver = driver_of(card)
        driver.load(elf.read(program.build([name], defines=defines)))
        driver.boot(enable=False)
        if words:
            driver.load_table(words, driver.all_units())
        driver.ready()
        driver.enable(driver.all_units())
        card.sink(0, "null")
        card.sink(1, "null")
        yield card, driver


def full(
    units: int,
    sizes: Sequence[int],
    name: str = "forwarder",
    ports: int = 1,
    cycles: int = _SPAN,
    accelerator: str | None = None,
) -> list[Full]:
    """Full lines for so many cycles, size by size."""
    found = []
    with _running(name, units, accelerator) as (card, driver):
        for size in sizes:
            before = card.stats()
            count = round(cycles / card.clock_hz * LINE / 8 / (size + GAP))
            with tempfile.TemporaryDirectory() as folder:
                link = _link(name, size, count, Path(folder))
                for port in range(ports):
                    card.source(port, link)
                card.run()
            after = card.stats()
            sent, received = (_moved(stats, "tx_frames") for stats in (after, before))
            time = count * (size + GAP) * 8 / LINE * card.clock_hz
            found.append(
                Full(
                    size=size,
                    packets=ports * count,
                    lost=ports * count - (sent - received),
                    lag_cycles=round(after.cycles - before.cycles - time),
                )
            )
        assert sum(each.lost for each in found) >= sum(s.dropped for s in driver.source_counters().values())
    return found


def _moved(stats: Any, what: str) -> int:
    return sum(getattr(port, what) for port in stats.ports)


def limit(
    units: int,
    sizes: Sequence[int],
    name: str = "forwarder",
    accelerator: str | None = None,
    defines: Sequence[str] = (),
) -> list[Limit]:
    """More packets than units may be able to take."""
    found = []
    for size in sizes:
        with _running(name, units, accelerator, defines, _words(name)) as (card, driver):
            span = max(_SPAN, round(_LEAST_PACKETS * (size + GAP) * 8 / LINE * card.clock_hz * (1 + 3 * (units == 1))))
            count = round(1.2 * (_WARM + span) / card.clock_hz * LINE / 8 / (size + GAP))
            with tempfile.TemporaryDirectory() as folder:
                card.source(0, _link(name, size, count, Path(folder)))
                card.run(until=None, cycles=_WARM)
                packets, cycles = _taken(card, driver)
                card.run(until=None, cycles=span)
                packets_then, cycles_then = _taken(card, driver)
                found.append(Limit(size, packets_then - packets, cycles_then - cycles, card.clock_hz))
    return found


def _taken(card: Card, driver: RpuDriver) -> tuple[int, int]:
    cycles = card.stats().cycles
    return sum(driver.counters(unit).rx_packets for unit in driver.all_units()), cycles


def generate(units: int, sizes: Sequence[int]) -> list[Limit]:
    """Packets that the units themselves make, as fast as they can, out of one port."""
    found = []
    for size in sizes:
        with _running("generator", units, defines=[f"SIZE={size - FCS}"]) as (card, _):
            span = max(_SPAN, round(_LEAST_PACKETS * (size + GAP) * 8 / LINE * card.clock_hz))
            before = card.run(until=None, cycles=_MAKING).stats
            after = card.run(until=None, cycles=span).stats
            packets = _moved(after, "tx_frames") - _moved(before, "tx_frames")
            found.append(Limit(size, packets, after.cycles - before.cycles, card.clock_hz))
    return found


def stay(units: int, sizes: Sequence[int], loads: Sequence[float], name: str = "forwarder") -> list[Stay]:
    """Packets in a line of some load, without the first ones, which find a cold instruction cache."""
    found = []
    for size in sizes:
        for load in loads:
            with _running(name, units) as (card, _):
                card.sink(1, "memory")
                count = _COLD + max(300, round(_SPAN * load / card.clock_hz * LINE / 8 / (size + GAP)))
                card.source(0, f"{_numbered(size, load)},count={count}")
                card.run()
                cycles = _stays(card, size, load)
                assert len(cycles) == count - _COLD
                found.append(
                    Stay(size, load, len(cycles), min(cycles), sum(cycles) / len(cycles), max(cycles), card.clock_hz)
                )
    return found


def swap(units: int, changed: int, size: int = 64) -> Swap:
    """Some units get an accelerator, one after the other, while a full line goes through all of them; and the same line
    while the same units are only disabled for as long. Stays are those of packets that leave while a unit is out: the
    first ones of a unit that has just booted find a cold instruction cache."""
    reports: list[SwapReport] = []
    forwarder = elf.read(program.build(["forwarder"]))

    def change(card: Card, driver: RpuDriver, unit: int) -> None:
        reports.extend(change_accelerators(card, driver, [unit], "crc", forwarder))

    def disable(card: Card, driver: RpuDriver, unit: int) -> None:
        driver.disable([unit])
        report = reports[unit]
        total_ns = report.drain_ns + report.swap_ns + report.boot_ns
        card.run(until=None, cycles=round(total_ns * card.clock_hz / 1e9))
        driver.enable([unit])

    most, lost = [], []
    for meanwhile in (change, disable):
        with _running("forwarder", units) as (card, driver):
            card.sink(1, "memory")
            card.source(0, _numbered(size, 1))
            card.run(until=None, cycles=_WARM)
            windows = []
            for unit in range(changed):
                start_ns = card.stats().time_ns + _BOOTED_NS
                meanwhile(card, driver, unit)
                windows.append((start_ns, card.stats().time_ns - _ENABLED_NS))
                card.run(until=None, cycles=_WARM)
            card.end_source(0)
            stats = card.run().stats
            lost.append(stats.ports[0].rx_frames - stats.ports[1].tx_frames)
            most.append(max(_stays(card, size, 1, windows)))
    return Swap(
        drain_ns=sum(report.drain_ns for report in reports),
        swap_ns=sum(report.swap_ns for report in reports),
        boot_ns=sum(report.boot_ns for report in reports),
        lost=lost[0],
        most=most[0],
        most_without=most[1],
    )


def _numbered(size: int, load: float) -> str:
    """Packets that have numbers and come at known distances."""
    return f"gen:size={size - FCS},frame=tcp,rate={round(load * LINE / 1e6)}M"


def _stays(card: Card, size: int, load: float, windows: Sequence[tuple[int, int]] = ()) -> list[float]:
    """Cycles in the card of the packets of ``_numbered`` that came out, but for the first ones; in ``windows`` of the
    card's time, if there are some.

    They leave with their time. What that is beside their arrival is known by the first one: how long that takes in an
    idle card is the harness's own measure.
    """
    frames = sorted(card.received(1), key=_number)
    gap = (size + GAP) * 8 / (load * LINE) * 1e9
    first = _first_stay(int(card.parameters["UNITS"]), size)
    chosen = [frame for frame in frames[_COLD:] if not windows or any(a <= frame.timestamp_ns <= b for a, b in windows)]
    times = [frame.timestamp_ns - frames[0].timestamp_ns - _number(frame) * gap for frame in chosen]
    return [first + time * card.clock_hz / 1e9 for time in times]


@cache
def _first_stay(units: int, size: int) -> int:
    with _running("forwarder", units) as (card, _):
        card.expect_passthrough(0, 1)
        card.source(0, f"{_numbered(size, 1)},count=1")
        latency = card.run().stats.latency_cycles
    assert latency is not None
    return latency[0]


def _number(frame: Any) -> int:
    return int.from_bytes(frame.data[38:42], "big")  # the TCP sequence number


def order(units: int = 8, count: int = 60_000, flows: int = 200, seed: int = 1) -> Order:
    """Flows on 90 % of a line under the hash policy, while units are disabled and enabled at random."""
    rng, changes = random.Random(seed), 0
    numbers = dict.fromkeys(range(flows), 0)
    frames = []
    for _ in range(count):
        flow = rng.randrange(flows)
        head = bytes(12) + b"\x08\x00" + _ipv4(0x0A000000 + flow, rng)
        frames.append(head[:42] + numbers[flow].to_bytes(4, "big") + bytes(14))
        numbers[flow] += 1
    with _running("forwarder", units) as (card, driver), tempfile.TemporaryDirectory() as folder:
        driver.set_policy("flow_hash")
        card.sink(1, "memory")
        path = Path(folder) / "in.pcap"
        _write(path, frames)
        card.source(0, f"pcap:{path}", timing=0.9 * LINE)
        while not card.run(cycles=rng.randrange(200, 3_000)).idle:
            unit = rng.randrange(1, units)
            rng.choice((driver.disable, driver.enable))([unit])
            changes += 1
        out = [frame.data for frame in card.received(1)]
    latest: dict[bytes, int] = {}
    misordered = 0
    for data in out:
        number = int.from_bytes(data[42:46], "big")
        misordered += number < latest.get(data[26:30], 0)
        latest[data[26:30]] = max(number, latest.get(data[26:30], 0))
    return Order(count, changes, misordered, count - len(out))


def firewall(count: int = 3_000, seed: int = 1) -> Verdicts:
    """One unit that drops the packets of 1,050 prefixes, in the smallest packets: half of the addresses are in one."""
    rng = random.Random(seed)
    prefixes = _prefixes(rng)
    frames = [bytes(12) + b"\x08\x00" + _ipv4(_source(rng, prefixes), rng) for _ in range(count)]
    kept = [data for data in frames if not _listed(data, tuple(prefixes))]
    return _verdicts("firewall", "blacklist", tables.blacklist_words(prefixes), frames, kept)


def intrusion(count: int = 4_000, seed: int = 1) -> Verdicts:
    """One unit that looks for 1,000 patterns in the payloads of a made capture: sessions of real protocols."""
    frames, payloads = _capture(count, seed)
    patterns = _patterns(seed)
    kept = [
        frame
        for frame, payload in zip(frames, payloads, strict=True)
        if not any(p.content.lower() in payload.lower() if p.nocase else p.content in payload for p in patterns)
    ]
    return _verdicts("intrusion", "matcher", tables.matcher_words(patterns), frames, kept)


def _verdicts(name: str, accelerator: str, words: Sequence[Any], frames: list[bytes], kept: list[bytes]) -> Verdicts:
    with _running(name, 1, accelerator, words=words) as (card, driver), tempfile.TemporaryDirectory() as folder:
        driver.set_flow_control(True)
        card.flow_control(0, True)
        card.sink(1, "memory")
        path = Path(folder) / "in.pcap"
        _write(path, frames)
        card.source(0, f"pcap:{path}")
        card.run(until=None, cycles=_WARM)
        packets, cycles = _taken(card, driver)
        card.run(until=None, cycles=_SPAN)
        packets_then, cycles_then = _taken(card, driver)
        card.run()
        out = [frame.data for frame in card.received(1)]
    wrong = sum(mine != theirs for mine, theirs in zip(out, kept, strict=False)) + abs(len(out) - len(kept))
    return Verdicts(len(frames), len(frames) - len(kept), wrong, (cycles_then - cycles) / (packets_then - packets))


# What packets carry


def _link(name: str, size: int, count: int, folder: Path) -> str:
    """So many packets, such as the program is for."""
    rng, length = random.Random(size), size - FCS
    if name == "crc":
        bodies = [rng.randbytes(length - 4) for _ in range(count)]
        frames = [body + zlib.crc32(body).to_bytes(4, "little") for body in bodies]
    elif name == "intrusion":
        text = _text()
        head = bytes(12) + b"\x08\x00" + _ipv4(0x0A000001, rng, length - 14)
        room = length - len(head)
        starts = [rng.randrange(len(text) - room) for _ in range(count)]
        frames = [head + text[start : start + room] for start in starts]
    elif name.startswith("firewall"):
        frames = [bytes(12) + b"\x08\x00" + _ipv4(rng.getrandbits(32), rng, length - 14) for _ in range(count)]
        frames = [frame.ljust(length, b"\0") for frame in frames]
    else:
        return f"gen:size={length},count={count}"
    path = folder / f"{size}.pcap"
    _write(path, frames)
    return f"pcap:{path}"


def _write(path: Path, frames: Sequence[bytes]) -> None:
    with path.open("wb") as file, pcap.begin(file) as writer:
        for frame in frames:
            writer.write_packet(frame, sec=0, usec=0)


@cache
def _words(name: str) -> Sequence[Any]:
    """The table that a program's accelerator loads."""
    if name == "firewall":
        return tables.blacklist_words(_prefixes(random.Random(1)))
    return tables.matcher_words(_patterns(1)) if name == "intrusion" else ()


def _prefixes(rng: random.Random) -> list[ipaddress.IPv4Network]:
    found: dict[ipaddress.IPv4Network, None] = {}
    while len(found) < PREFIXES:
        length = rng.choice((12, 16, 20, 22, 24, 24, 24, 28, 32, 32))
        found[ipaddress.IPv4Network((rng.getrandbits(length) << 32 - length, length))] = None
    return list(found)


def _source(rng: random.Random, prefixes: Sequence[ipaddress.IPv4Network]) -> int:
    if rng.random() < 0.5:
        return rng.getrandbits(32)
    prefix = rng.choice(prefixes)
    return int(prefix.network_address) + rng.randrange(prefix.num_addresses)


def _listed(frame: bytes, prefixes: tuple[ipaddress.IPv4Network, ...]) -> bool:
    address = ipaddress.IPv4Address(frame[26:30])
    return any(address in prefix for prefix in prefixes)


def _ipv4(source: int, rng: random.Random, length: int = 46) -> bytes:
    """Headers of a UDP packet of so many bytes, which are filled up to the shortest frame's."""
    head = b"\x45\0" + length.to_bytes(2, "big") + rng.randbytes(2) + b"\0\0\x40\x11\0\0"
    head += source.to_bytes(4, "big") + b"\x0a\0\0\1"
    return (head + b"\0\x09\0\x09" + (length - 20).to_bytes(2, "big") + b"\0\0").ljust(min(length, 46), b"\0")[:length]


@cache
def _capture(count: int, seed: int) -> tuple[list[bytes], list[bytes]]:
    """Frames of a made capture, and what they carry behind their TCP and UDP headers, as scapy sees it."""
    from scapy.layers.inet import IP, TCP, UDP
    from scapy.layers.l2 import Ether
    from scapy.utils import RawPcapReader

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "made.pcap"
        made.make(path, count, seed=seed)
        with RawPcapReader(str(path)) as reader:
            frames = [data for data, _ in reader]
    payloads = []
    for frame in frames:
        packet = Ether(frame)
        carried = b""
        if IP in packet:
            inner = packet[IP]
            whole = bytes(inner)[: inner.len]
            above = inner.getlayer(TCP) or inner.getlayer(UDP)
            carried = whole[4 * inner.ihl :] if above is None or inner.frag else whole[4 * inner.ihl :][_head(above) :]
        payloads.append(carried)
    return frames, payloads


def _head(above: Any) -> int:
    return 4 * above.dataofs if above.name == "TCP" else 8


@cache
def _text() -> bytes:
    """What sessions of a made capture carry, in a row."""
    return b"".join(_capture(4_000, 1)[1])


@cache
def _patterns(seed: int) -> list[tables.Pattern]:
    """A tenth of them occur in the capture, each in few places."""
    rng = random.Random(seed)
    text = _text()
    found: dict[bytes, tables.Pattern] = {}
    while len(found) < PATTERNS:
        length = rng.randint(4, 24)
        start = rng.randrange(len(text) - length)
        content = text[start : start + length] if len(found) < PATTERNS // 10 else rng.randbytes(length)
        if text.count(content) <= 3:
            found[content] = tables.Pattern(content, rng.random() < 0.3)
    return list(found.values())
